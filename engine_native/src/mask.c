/* mask.c - from a set to the row of tokens that may come next.
 *
 * Steps are linear: what follows a set is the union of what follows its scan
 * items.  So the row of a set is put together from what each item can do:
 *
 *   1. The *local* part of an item: the item alone, in an unknown context
 *      (origin top).  A walk over the vocabulary trie gives the tokens that end
 *      inside the item's rule or exactly with it (both are allowed in every
 *      context, since whoever began the rule waits for it), and the *exits*:
 *      trie nodes where the rule is complete and longer tokens exist.  It
 *      depends on the rule alone, so all grammars share it.
 *   2. From each exit the walk goes on in the real context.
 *
 * Where a set is a loop (loops.c) most tokens are settled by word operations and
 * the walk keeps to the subtrees that hold the others.
 *
 * The walk goes through the trie in pre-order and skips every subtree whose
 * first byte the set at hand refuses.  Cost: a copy when the set's row is known;
 * else one OR per item plus the nodes visited after exits; and, once per rule
 * state and process, the nodes visited for its local part. */
#include "store.h"

typedef struct walker {
    use *u;
    store *s; /* u's */
    uint32_t *words;
    uint32_t *exits, n_exits, cap_exits;
    set **path;      /* the set at each depth of walk_subtree; then as many for walk_others */
    uint32_t *ends;  /* where the subtree at each depth ends; likewise */
    uint32_t depth;  /* deepest */
    bool want_exits;
} walker;

static bool walker_init(walker *w, use *u, uint32_t *words, bool want_exits) {
    store *s = u->s;
    *w = (walker){.u = u, .s = s, .words = words, .depth = s->vocab->ordinary.max_length + 2, .want_exits = want_exits};
    w->path = store_alloc(s, 2 * w->depth * sizeof *w->path);
    w->ends = store_alloc(s, 2 * w->depth * sizeof *w->ends);
    return w->path != NULL && w->ends != NULL;
}

static void walker_free(walker *w) {
    store_free(w->s, w->path, 2 * w->depth * sizeof *w->path);
    store_free(w->s, w->ends, 2 * w->depth * sizeof *w->ends);
    store_free(w->s, w->exits, w->cap_exits * sizeof *w->exits);
}

static bool add_exit(walker *w, uint32_t node) {
    if (w->n_exits == w->cap_exits) {
        uint32_t cap = w->cap_exits == 0 ? 64 : w->cap_exits * 2;
        uint32_t *grown = store_alloc(w->s, cap * sizeof *grown);
        if (grown == NULL) return false;
        if (w->n_exits != 0) memcpy(grown, w->exits, w->n_exits * sizeof *grown);
        store_free(w->s, w->exits, w->cap_exits * sizeof *w->exits);
        w->exits = grown;
        w->cap_exits = cap;
    }
    w->exits[w->n_exits++] = node;
    return true;
}

/* Allow every token below node (not at it) whose bytes can follow `from`. */
static bool walk_subtree(walker *w, uint32_t node, set *from) {
    const trie *t = &w->s->vocab->ordinary;
    const trie_node *nodes = t->nodes;
    uint32_t depth = 0, i = node + 1;
    set *at = from;
    w->ends[0] = node + nodes[node].size;
    if (byteset_empty(&at->allow)) return true;
    for (;;) {
        while (i == w->ends[depth]) {
            if (depth == 0) return true;
            at = w->path[--depth];
        }
        uint32_t byte = nodes[i].byte;
        if (!byteset_has(&at->allow, byte)) {
            i += nodes[i].size;
            continue;
        }
        set *next = set_step(w->u, at, byte);
        if (next == NULL) return false;
        for (uint32_t token = nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_set(w->words, token);
        if (nodes[i].size > 1) {
            if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exit(w, i)) return false;
            if (!byteset_empty(&next->allow)) {
                w->path[depth] = at;
                w->ends[++depth] = i + nodes[i].size;
                at = next;
                i++;
                continue;
            }
        }
        i += nodes[i].size;
    }
}

/* The tokens that begin with one byte. */
static bool walk_first(walker *w, set *from, uint32_t byte) {
    const trie *t = &w->s->vocab->ordinary;
    uint32_t node = t->child[byte];
    if (node == 0 || !byteset_has(&from->allow, byte)) return true;
    set *next = set_step(w->u, from, byte);
    if (next == NULL) return false;
    for (uint32_t token = t->nodes[node].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
        bit_set(w->words, token);
    if (t->nodes[node].size == 1) return true;
    if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exit(w, node)) return false;
    return walk_subtree(w, node, next);
}

static bool walk_root(walker *w, set *from) {
    for (uint32_t byte = 0; byte < 256; byte++)
        if (!walk_first(w, from, byte)) return false;
    return true;
}

/* As walk_root, for a set whose tokens of loop characters are settled already: down along loop
 * characters only towards tokens that are not, and from the first other byte on like any walk. */
static bool walk_others(walker *w, const loop *l, set *from) {
    const trie *t = &w->s->vocab->ordinary;
    const trie_node *nodes = t->nodes;
    const uint64_t *classes = w->s->vocab->index.classes;
    set **path = w->path + w->depth, *at = from;
    uint32_t *ends = w->ends + w->depth, depth = 0, i = 1;
    ends[0] = nodes[0].size;
    for (;;) {
        while (i == ends[depth] && depth > 0) at = path[--depth];
        if (i == ends[depth]) return true;
        uint32_t byte = nodes[i].byte, size = nodes[i].size;
        if ((classes[i] & l->others) == 0 || !byteset_has(&at->allow, byte)) {
            i += size;
            continue;
        }
        set *next = set_step(w->u, at, byte);
        if (next == NULL) return false;
        for (uint32_t token = nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_set(w->words, token);
        bool on_loop = byte < 128 ? byteset_has(&l->ascii, byte) : l->utf8;
        if (!on_loop && size > 1) {
            if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exit(w, i)) return false;
            if (!walk_subtree(w, i, next)) return false;
        } else if (on_loop && size > 1 && !byteset_empty(&next->allow)) {
            path[depth] = at;
            ends[++depth] = i + size;
            at = next;
            i++;
            continue;
        }
        i += size;
    }
}

/* The tokens of a loop in its own context: word operations, then the rest. */
static bool fill_loop(set *at, const loop *l, uint64_t most, walker *w) {
    loop_tokens(w->s, l, most, w->words);
    return walk_others(w, l, at);
}

static void add_token_edges(const state *st, uint32_t *words) {
    for (uint32_t e = 0; e < st->n_tokens; e++) bits_set_range(words, st->tokens[e].lo, st->tokens[e].hi);
}

/* Keep what one of several threads has made; frees the other.  Returns the one kept. */
static row *publish_row(store *s, set *at, row *r) {
    pthread_mutex_lock(&s->grow);
    row *other = atomic_load_explicit(&at->row, memory_order_relaxed);
    if (other == NULL) {
        atomic_store_explicit(&at->row, r, memory_order_release);
    } else {
        row_release(s, r);
        r = other;
    }
    pthread_mutex_unlock(&s->grow);
    return r;
}

static exit_list *publish_exits(store *s, set *at, const walker *w) {
    exit_list *e = store_alloc(s, sizeof *e + w->n_exits * sizeof *e->nodes);
    if (e == NULL) return NULL;
    e->n = w->n_exits;
    if (w->n_exits != 0) memcpy(e->nodes, w->exits, w->n_exits * sizeof *e->nodes);
    pthread_mutex_lock(&s->grow);
    exit_list *other = atomic_load_explicit(&at->exits, memory_order_relaxed);
    if (other == NULL) atomic_store_explicit(&at->exits, e, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    if (other == NULL) return e;
    store_free(s, e, sizeof *e + e->n * sizeof *e->nodes);
    return other;
}

/* ---- the local part of an item ---- */

/* The state after one byte if there is exactly one. */
static const state *only_target(const state *st, uint32_t byte) {
    const state *found = NULL;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        if (byte < st->bytes[e].lo || byte > st->bytes[e].hi) continue;
        if (found != NULL) return NULL;
        found = st->bytes[e].to;
    }
    return found;
}

/* Many states step into a loop on most bytes: text after the first bytes of a trigger, keys that
 * still could be a declared one.  They differ from the loop only on a few first bytes. */
static const state *loop_nearby(const ste_vocab *v, const state *st, byteset *differ) {
    const state *home = only_target(st, 'e');
    if (st->rule->kind != RULE_PLAIN || home == NULL || home == st || home->n_rules != 0 || only_target(home, 'e') != home)
        return NULL;
    for (uint32_t e = 0; e < home->n_tokens; e++) /* these can be told from what bytes allow */
        if (home->tokens[e].lo != home->tokens[e].hi || !bit_get(v->special, home->tokens[e].lo)) return NULL;
    memset(differ, 0, sizeof *differ);
    uint32_t same = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        const state *to = only_target(st, byte), *other = only_target(home, byte);
        bool equal = to == other && (to != NULL || (!byteset_has(&st->allow, byte) && !byteset_has(&home->allow, byte)));
        if (equal)
            same++;
        else
            byteset_add_range(differ, byte, byte);
    }
    return same >= 128 ? home : NULL;
}

typedef struct local_part {
    const row *row;
    const exit_list *exits; /* NULL where they were not wanted */
} local_part;

static bool local_of(use *u, item it, bool want_exits, local_part *out);

/* From the part of the nearby loop: drop what begins with a byte on which they differ, walk that instead. */
static bool fill_nearby(set *at, const state *home, const byteset *differ, walker *w) {
    store *s = w->s;
    const trie *t = &s->vocab->ordinary;
    local_part near;
    if (!local_of(w->u, (item){home, s->top, 0}, w->want_exits, &near)) return false;
    memcpy(w->words, near.row->words, s->vocab->words * sizeof *w->words);
    for (uint32_t e = 0; e < home->n_tokens; e++) bit_clear(w->words, home->tokens[e].lo);
    for (uint32_t k = 0; w->want_exits && k < near.exits->n; k++) {
        /* A node's first byte is that of the child of the root whose subtree holds it. */
        uint32_t node = near.exits->nodes[k];
        bool keep = true;
        for (uint32_t byte = 0; byte < 256 && keep; byte++) {
            uint32_t child = byteset_has(differ, byte) ? t->child[byte] : 0;
            keep = child == 0 || node < child || node >= child + t->nodes[child].size;
        }
        if (keep && !add_exit(w, node)) return false;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t child = byteset_has(differ, byte) ? t->child[byte] : 0;
        if (child == 0) continue;
        for (uint32_t i = child; i < child + t->nodes[child].size; i++)
            for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
                bit_clear(w->words, token);
        if (!walk_first(w, at, byte)) return false;
    }
    return true;
}

static bool fill_local(set *at, const state *st, walker *w) {
    const loop *l = set_loop(w->u, at);
    if (l == NULL) return false;
    byteset differ;
    /* A loop that is complete everywhere (free text) has an exit at every node: if those are
     * wanted there is no way around the whole trie. */
    if (l->is_loop && !(w->want_exits && (at->flags & SET_EXITS) != 0)) return fill_loop(at, l, UINT64_MAX, w);
    const state *home = l->is_loop ? NULL : loop_nearby(w->s->vocab, st, &differ);
    if (home != NULL && !(w->want_exits && home->final)) return fill_nearby(at, home, &differ, w);
    return walk_root(w, at);
}

/* The local row of an item, and its exits if they are wanted. */
static bool local_of(use *u, item it, bool want_exits, local_part *out) {
    store *s = u->s;
    set *at = set_local(u, it.state, it.reg);
    if (at == NULL) return false;
    out->row = atomic_load_explicit(&at->row, memory_order_acquire);
    out->exits = atomic_load_explicit(&at->exits, memory_order_acquire);
    if (out->row != NULL && (!want_exits || out->exits != NULL)) {
        atomic_fetch_add_explicit(&s->stats.local_hits, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add_explicit(&s->stats.local_misses, 1, memory_order_relaxed);
    uint32_t words_n = s->vocab->words;
    uint32_t *words = store_alloc(s, words_n * sizeof *words);
    walker w;
    bool fine = walker_init(&w, u, words, want_exits) && words != NULL && fill_local(at, it.state, &w);
    if (fine) add_token_edges(it.state, words);
    if (fine && want_exits) fine = (out->exits = publish_exits(s, at, &w)) != NULL;
    row *r = fine ? row_intern(s, words) : NULL;
    if (r != NULL) out->row = publish_row(s, at, r);
    walker_free(&w);
    store_free(s, words, words_n * sizeof *words);
    return r != NULL;
}

static bool fill_items(set *at, walker *w) {
    store *s = w->s;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        local_part part;
        if (!local_of(w->u, *it, it->origin != s->bottom, &part)) return false;
        bits_or(w->words, part.row->words, s->vocab->words);
        if (it->origin == s->bottom || part.exits->n == 0) continue;
        set *after = set_after(w->u, at, it->origin, it->state->rule);
        if (after == NULL) return false;
        for (uint32_t e = 0; e < part.exits->n; e++)
            if (!walk_subtree(w, part.exits->nodes[e], after)) return false;
    }
    return true;
}

/* Can what follows the repeat begin with a character that repeats it?  Negative: out of memory. */
static int overlaps(use *u, set *at, const waiter *counter, const loop *l) {
    set *after = set_after(u, at, counter->origin, counter->target->rule);
    if (after == NULL) return -1;
    byteset repeats = l->ascii;
    if (l->utf8) byteset_add_range(&repeats, 0x80, 0xFF);
    uint64_t common = 0;
    for (int i = 0; i < 4; i++) common |= repeats.w[i] & after->allow.w[i];
    return common != 0;
}

/* A loop in this context whose items are none by themselves: a repeated rule. */
static bool fill(set *at, walker *w) {
    uint64_t most;
    const waiter *counter;
    set *unbounded = set_unbounded(w->u, at, &most, &counter);
    if (unbounded == NULL) return false;
    const loop *l = set_loop(w->u, unbounded);
    if (l == NULL) return false;
    bool direct = l->is_loop;
    for (uint32_t i = 0; i < at->n_scan && direct; i++) {
        set *alone = set_local(w->u, at->scan[i].state, at->scan[i].reg);
        const loop *by_itself = alone == NULL ? NULL : set_loop(w->u, alone);
        if (by_itself == NULL) return false;
        direct = !by_itself->is_loop && at->scan[i].state->n_tokens == 0;
    }
    if (direct && counter != NULL && most < w->s->reach) {
        int overlap = overlaps(w->u, at, counter, l);
        if (overlap < 0) return false;
        direct = overlap == 0;
    }
    return direct ? fill_loop(at, l, most, w) : fill_items(at, w);
}

row *mask_row(use *u, set *at) {
    store *s = u->s;
    row *known = atomic_load_explicit(&at->row, memory_order_acquire);
    if (known != NULL) {
        atomic_fetch_add_explicit(&s->stats.row_hits, 1, memory_order_relaxed);
        return known;
    }
    atomic_fetch_add_explicit(&s->stats.row_misses, 1, memory_order_relaxed);
    set *canonical = set_canonical(u, at);
    if (canonical == NULL) return NULL;
    row *out = NULL;
    uint32_t words_n = s->vocab->words;
    if (canonical != at) {
        out = mask_row(u, canonical); /* a canonical set is its own: one level deep */
        if (out == NULL) return NULL;
        pthread_mutex_lock(&s->grow);
        out->references++;
        pthread_mutex_unlock(&s->grow);
    } else {
        uint32_t *words = store_alloc(s, words_n * sizeof *words);
        walker w;
        if (walker_init(&w, u, words, false) && words != NULL && fill(at, &w)) out = row_intern(s, words);
        walker_free(&w);
        store_free(s, words, words_n * sizeof *words);
        if (out == NULL) return NULL;
    }
    return publish_row(s, at, out);
}
