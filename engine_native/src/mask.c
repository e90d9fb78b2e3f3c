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
 * The walk goes through the trie in pre-order and skips every subtree whose
 * first byte the set at hand refuses.  Cost: a copy when the set's row is known;
 * else one OR per item plus the nodes visited after exits; and, once per rule
 * state and process, the nodes visited for its local part. */
#include "store.h"

typedef struct walker {
    store *s;
    uint32_t *words;
    uint32_t *exits, n_exits, cap_exits;
    set **path;      /* the set at each depth */
    uint32_t *ends;  /* where the subtree at each depth ends */
    uint32_t depth;  /* capacity of both */
    bool want_exits;
} walker;

static bool walker_init(walker *w, store *s, uint32_t *words, bool want_exits) {
    *w = (walker){.s = s, .words = words, .depth = s->vocab->ordinary.max_length + 2, .want_exits = want_exits};
    w->path = store_alloc(s, w->depth * sizeof *w->path);
    w->ends = store_alloc(s, w->depth * sizeof *w->ends);
    return w->path != NULL && w->ends != NULL;
}

static void walker_free(walker *w) {
    store_free(w->s, w->path, w->depth * sizeof *w->path);
    store_free(w->s, w->ends, w->depth * sizeof *w->ends);
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
        set *next = set_step(w->s, at, byte);
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

/* As walk_subtree for the root: only the children that the set allows are looked at. */
static bool walk_root(walker *w, set *from) {
    const trie *t = &w->s->vocab->ordinary;
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (!byteset_has(&from->allow, byte) || t->child[byte] == 0) continue;
        uint32_t node = t->child[byte];
        set *next = set_step(w->s, from, byte);
        if (next == NULL) return false;
        for (uint32_t token = t->nodes[node].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_set(w->words, token);
        if (t->nodes[node].size == 1) continue;
        if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exit(w, node)) return false;
        if (!walk_subtree(w, node, next)) return false;
    }
    return true;
}

static local *local_of(store *s, const item *it) {
    set *at = set_local(s, it->state, it->reg);
    if (at == NULL) return NULL;
    local *known = atomic_load_explicit(&at->local, memory_order_acquire);
    if (known != NULL) {
        atomic_fetch_add_explicit(&s->stats.local_hits, 1, memory_order_relaxed);
        return known;
    }
    atomic_fetch_add_explicit(&s->stats.local_misses, 1, memory_order_relaxed);
    uint32_t words_n = s->vocab->words;
    uint32_t *words = store_alloc(s, words_n * sizeof *words);
    local *out = NULL;
    walker w;
    if (walker_init(&w, s, words, true) && words != NULL && walk_root(&w, at)) {
        for (uint32_t e = 0; e < it->state->n_tokens; e++) bit_set(words, it->state->tokens[e].token);
        row *r = row_intern(s, words);
        if (r != NULL) {
            out = store_alloc(s, sizeof *out + w.n_exits * sizeof *out->exits);
            pthread_mutex_lock(&s->grow);
            local *other = atomic_load_explicit(&at->local, memory_order_relaxed);
            if (out != NULL && other == NULL) {
                out->row = r;
                out->n_exits = w.n_exits;
                if (w.n_exits != 0) memcpy(out->exits, w.exits, w.n_exits * sizeof *out->exits);
                atomic_store_explicit(&at->local, out, memory_order_release);
            } else {
                row_release(s, r);
                store_free(s, out, sizeof *out + w.n_exits * sizeof *out->exits);
                out = other;
            }
            pthread_mutex_unlock(&s->grow);
        }
    }
    walker_free(&w);
    store_free(s, words, words_n * sizeof *words);
    return out;
}

static bool fill(store *s, set *at, walker *w) {
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        const local *l = local_of(s, it);
        if (l == NULL) return false;
        bits_or(w->words, l->row->words, s->vocab->words);
        if (l->n_exits == 0 || it->origin == s->bottom) continue;
        set *after = set_after(s, at, it->origin, it->state->rule);
        if (after == NULL) return false;
        for (uint32_t e = 0; e < l->n_exits; e++)
            if (!walk_subtree(w, l->exits[e], after)) return false;
    }
    return true;
}

row *mask_row(store *s, set *at) {
    row *known = atomic_load_explicit(&at->row, memory_order_acquire);
    if (known != NULL) {
        atomic_fetch_add_explicit(&s->stats.row_hits, 1, memory_order_relaxed);
        return known;
    }
    atomic_fetch_add_explicit(&s->stats.row_misses, 1, memory_order_relaxed);
    set *canonical = set_canonical(s, at);
    if (canonical == NULL) return NULL;
    row *out = NULL;
    uint32_t words_n = s->vocab->words;
    uint32_t *words = NULL;
    if (canonical != at) {
        out = mask_row(s, canonical); /* a canonical set is its own: one level deep */
        if (out == NULL) return NULL;
        pthread_mutex_lock(&s->grow);
        out->references++;
        pthread_mutex_unlock(&s->grow);
    } else {
        words = store_alloc(s, words_n * sizeof *words);
        walker w;
        if (walker_init(&w, s, words, false) && words != NULL && fill(s, at, &w)) out = row_intern(s, words);
        walker_free(&w);
        store_free(s, words, words_n * sizeof *words);
        if (out == NULL) return NULL;
    }
    pthread_mutex_lock(&s->grow);
    row *other = atomic_load_explicit(&at->row, memory_order_relaxed);
    if (other == NULL) {
        atomic_store_explicit(&at->row, out, memory_order_release);
    } else {
        row_release(s, out);
        out = other;
    }
    pthread_mutex_unlock(&s->grow);
    return out;
}
