/* mask.c - from a set to the row of tokens that may come next.
 *
 * Steps are linear: what follows a set is the union of what follows its scan
 * items.  So the row of a set is put together from what each item can do:
 *
 *   1. The *local* part of an item: the item alone, in an unknown context
 *      (origin top).  A walk over the vocabulary trie gives the tokens that end
 *      inside the item's rule or exactly with it (both are allowed in every
 *      context, since whoever began the rule waits for it), and the *exits*:
 *      the children of trie nodes where the rule is complete, by their byte.
 *      It depends on the rule alone, so all grammars share it.
 *   2. From the exits with a byte that the real context takes the walk goes on there.
 *
 * Where a set is a loop (loops.c) most tokens are settled by word operations and
 * the walk keeps to the subtrees that hold the others.
 *
 * Within elements of distinct rules (distinct.h) the canonical set gives a row
 * that is right but for nodes where a token repeats a value, or might; there
 * the tokens are stepped one by one from the set itself.
 *
 * The walk goes through the trie in pre-order and skips every subtree whose
 * first byte the set at hand refuses.  Cost: a copy when the set's row is known;
 * else one OR per item plus the nodes visited after exits; and, once per rule
 * state and process, the nodes visited for its local part. */
#include <stdlib.h>

#include "cover.h"
#include "distinct.h"
#include "meter.h"

typedef struct node_list {
    uint32_t *at, n, cap;
} node_list;

static bool node_list_add(store *s, node_list *l, uint32_t node) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap == 0 ? 64 : l->cap * 2;
        uint32_t *grown = store_alloc(s, cap * sizeof *grown);
        if (grown == NULL) return false;
        if (l->n != 0) memcpy(grown, l->at, l->n * sizeof *grown);
        store_free(s, l->at, l->cap * sizeof *l->at);
        l->at = grown;
        l->cap = cap;
    }
    l->at[l->n++] = node;
    return true;
}

static void node_list_free(store *s, node_list *l) { store_free(s, l->at, l->cap * sizeof *l->at); }

/* What is left of a node's children: of the trie, or of a region. */
typedef struct place {
    set *at;
    uint32_t i, end;
    const region *in;  /* NULL: nodes of the trie.  Else of this region, whose tokens are allowed already ... */
    const cover *first; /* ... or of the trie, and these bytes begin what is allowed already; then: */
    uint32_t k;        /* the next node of the region that is not before i */
} place;

typedef struct walker {
    use *u;
    store *s; /* u's */
    uint32_t few[ROW_FEW], n_few, most_few; /* tokens, while they are few ... */
    const row *base;                         /* ... besides those of this row, if it is not NULL; no list ... */
    uint32_t *words;                         /* ... and then all bits; NULL before */
    const row *near;                         /* NULL, or a row that may differ little from words */
    const leavers *loop;                     /* NULL, or what the set loops on */
    const row *same;                         /* or: the row is this one */
    node_list exits;
    node_list unsure; /* nodes below and at which a canonical set does not know enough */
    place *path;     /* at each depth of walk_subtree, then as many for walk_paths; NULL until one of them runs */
    uint32_t depth;  /* deepest */
    bool want_exits;
} walker;

static void walker_init(walker *w, use *u, bool want_exits) {
    store *s = u->s;
    w->u = u;
    w->s = s;
    w->n_few = 0;
    w->most_few = row_few(s);
    w->words = NULL;
    w->exits = w->unsure = (node_list){0};
    w->base = w->near = w->same = NULL;
    w->loop = NULL;
    w->depth = s->vocab->ordinary.max_length + 2;
    w->want_exits = want_exits;
    w->path = NULL;
}

static bool has_path(walker *w) {
    if (w->path == NULL) w->path = store_take(w->s, 2 * w->depth * sizeof *w->path);
    return w->path != NULL;
}

static void walker_free(walker *w) {
    store_free(w->s, w->path, 2 * w->depth * sizeof *w->path);
    node_list_free(w->s, &w->exits);
    node_list_free(w->s, &w->unsure);
    store_free(w->s, w->words, w->s->vocab->words * sizeof *w->words);
}

static bool make_dense(walker *w) {
    if (w->words != NULL) return true;
    size_t size = w->s->vocab->words * sizeof *w->words;
    w->words = store_take(w->s, size);
    if (w->words == NULL) return false;
    if (w->base != NULL)
        row_write(w->s, w->base, w->words);
    else
        memset(w->words, 0, size);
    w->near = w->base;
    for (uint32_t i = 0; i < w->n_few; i++) bit_set(w->words, w->few[i]);
    return true;
}

static bool allow_slow(walker *w, uint32_t token) {
    if (w->words == NULL && w->base != NULL && row_has(w->base, token)) return true;
    if (w->words == NULL && w->n_few == w->most_few && !make_dense(w)) return false;
    if (w->words != NULL)
        bit_set(w->words, token);
    else
        w->few[w->n_few++] = token;
    return true;
}

/* Every token that ends at node i. */
static bool allow_tokens(walker *w, const trie *t, uint32_t i) {
    for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token]) {
        if (w->words != NULL)
            bit_set(w->words, token);
        else if (!allow_slow(w, token))
            return false;
    }
    return true;
}

/* ... and leads to the set `to`. */
static bool allow_node(walker *w, const trie *t, uint32_t i, const set *to) {
    return (to->flags & SET_CUT) != 0 || allow_tokens(w, t, i);
}

/* Is it enough for a token that its last byte may follow `from`?  Where nothing counts what is within a token. */
static bool is_simple(const set *from) { return (from->flags & SET_REGISTERS) == 0; }

static bool allow_row(walker *w, const row *r) {
    for (uint32_t i = 0; row_is_few(r) && i < r->n; i++)
        if (!allow_slow(w, r->at[i])) return false;
    if (row_is_few(r) || r == w->base) return true;
    if (w->words == NULL && w->base == NULL) {
        w->base = r;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < w->n_few; i++)
            if (!row_has(r, w->few[i])) w->few[kept++] = w->few[i];
        w->n_few = kept;
        return true;
    }
    if (!make_dense(w)) return false;
    row_or(w->s, r, w->words);
    return true;
}

static row *walker_row(walker *w) {
    if (w->words != NULL && w->loop != NULL) return row_intern_loop(w->s, w->words, w->loop);
    if (w->words != NULL) return row_intern(w->s, w->words, w->near);
    return w->base != NULL ? row_intern_more(w->s, w->base, w->few, w->n_few) : row_intern_few(w->s, w->few, w->n_few);
}

/* The rule is complete at node: its children are exits. */
static bool add_exits(walker *w, uint32_t node) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    for (uint32_t c = node + 1; c < node + nodes[node].size; c += nodes[c].size)
        if (!node_list_add(w->s, &w->exits, c)) return false;
    return true;
}

/* Has a young element come to where an earlier one's value matters?  It has not before its first byte, nor in the
 * middle of a string with room for all values.  1, 0, or negative: failed. */
static int element_is_unsure(use *u, const set *at) {
    if ((at->flags & SET_UNSURE) != 0) return 1;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (!at->scan[i].state->inside) continue;
        const progress *p = progress_of(&at->scan[i]);
        const progress *start = atomic_load_explicit(&p->of->start, memory_order_acquire);
        if (p->kind != YOUNG || p->at == start->at) continue;
        int endless = set_is_endless(u, p->at);
        if (endless != 1) return endless < 0 ? endless : 1;
    }
    return 0;
}

/* Whether the tokens at and below a node are left for later; negative: failed. */
static int leave_unsure(walker *w, const set *at, uint32_t node) {
    if ((at->flags & (SET_YOUNG | SET_UNSURE)) == 0) return 0;
    int unsure = element_is_unsure(w->u, at);
    return unsure == 1 && !node_list_add(w->s, &w->unsure, node) ? -1 : unsure;
}

/* ---- regions: what an item of the set allows as a run of characters (cover.c, regions.c) ---- */

/* Smaller subtrees are walked. */
#define LEAST_COVERED 400

static bool allow_list(walker *w, const uint32_t *tokens, uint32_t n) {
    if (w->words == NULL && n > w->most_few / 4 && !make_dense(w)) return false;
    for (uint32_t i = 0; w->words != NULL && i < n; i++) bit_set(w->words, tokens[i]);
    for (uint32_t i = 0; w->words == NULL && i < n; i++)
        if (!allow_slow(w, tokens[i])) return false;
    return true;
}

static bool allow_region(walker *w, const region *r) {
    if (r->row == NULL) return allow_list(w, r->tokens, r->n_tokens);
    if (!make_dense(w)) return false;
    bits_or(w->words, r->row, w->s->vocab->words);
    return true;
}

/* The children of the region's root with which no run may begin: how large they are in all. */
static uint32_t excluded_nodes(const trie *t, const region *r, const cover *c) {
    uint32_t n = 0, end = r->root + t->nodes[r->root].size;
    for (uint32_t i = r->root + 1; i < end; i += t->nodes[i].size)
        if (!byteset_has(&c->first, t->nodes[i].byte)) n += t->nodes[i].size;
    return n;
}

/* All tokens of the region that begin with one of the cover's bytes. */
static bool allow_first(walker *w, const region *r, const cover *c) {
    const trie *t = &w->s->vocab->ordinary;
    node_list before = {0}; /* tokens that were not allowed, and stay so */
    uint32_t end = r->root + t->nodes[r->root].size;
    bool fine = make_dense(w);
    for (uint32_t i = r->root + 1; fine && i < end; i += t->nodes[i].size) {
        if (byteset_has(&c->first, t->nodes[i].byte)) continue;
        for (uint32_t k = i; fine && k < i + t->nodes[i].size; k++)
            for (uint32_t token = t->nodes[k].token; fine && token != TRIE_NO_TOKEN; token = t->next_same[token])
                if (!bit_get(w->words, token)) fine = node_list_add(w->s, &before, token);
    }
    fine = fine && allow_region(w, r);
    for (uint32_t i = 0; fine && i < before.n; i++) bit_clear(w->words, before.at[i]);
    node_list_free(w->s, &before);
    return fine;
}

/* The place of node's children, `at` being the set after it; tokens of runs are allowed then. */
static bool enter(walker *w, uint32_t node, set *at, place *out) {
    const ste_vocab *v = w->s->vocab;
    const trie *t = &v->ordinary;
    uint32_t size = t->nodes[node].size;
    *out = (place){.at = at, .i = node + 1, .end = node + size};
    if (size < LEAST_COVERED || (w->want_exits && (at->n_scan != 1 || at->n_waiters != 0))) return true;
    const cover *c = set_cover(w->u, at);
    if (c == NULL) return false;
    if (c->chars == NULL || (w->want_exits && c->ends)) return true; /* there would be exits inside the region */
    region_part part = region_find(v, c->chars, node);
    if (part.in == NULL) return true;
    const region_node *n = &part.in->nodes[part.at];
    if (c->any && part.whole) {
        out->i = out->end;
        for (uint32_t i = node + 1; i < node + size; i++)
            if (!allow_tokens(w, t, i)) return false;
    } else if (c->any) {
        *out = (place){.at = at, .i = part.at + 1, .end = part.at + n->size, .in = part.in};
        return part.at == 0 ? allow_region(w, part.in) : allow_list(w, part.in->tokens + n->first, n->last - n->first);
    } else if (part.at == 0 && !part.whole && excluded_nodes(t, part.in, c) < part.in->n_tokens / 8) {
        out->in = part.in;
        out->first = c;
        out->k = 1;
        return allow_first(w, part.in, c);
    }
    return true;
}

/* Allow every token below node (not at it) whose bytes can follow `from`. */
static bool walk_subtree(walker *w, uint32_t node, set *from) {
    const trie *t = &w->s->vocab->ordinary;
    const trie_node *nodes = t->nodes;
    uint32_t depth = 0;
    place here;
    if (byteset_empty(&from->allow)) return true;
    if (!has_path(w) || !enter(w, node, from, &here)) return false;
    for (;;) {
        while (here.i == here.end) {
            if (depth == 0) return true;
            here = w->path[--depth];
        }
        uint32_t i = here.i, byte, size;
        place inner = {.in = NULL};
        if (here.in == NULL) {
            byte = nodes[i].byte;
            size = nodes[i].size;
            here.i += size;
        } else {
            const region_node *k = &here.in->nodes[here.first != NULL ? here.k : i];
            if (here.first != NULL) {
                const region_node *end = here.in->nodes + here.in->n_nodes;
                while (k < end && k->node < i) k += k->size;
                here.k = (uint32_t)(k - here.in->nodes);
                byte = nodes[i].byte;
                here.i += nodes[i].size;
                bool known = k < end && k->node == i;
                if (byteset_has(&here.first->first, byte)) {
                    if (!known) continue;
                    inner.in = here.in;
                }
            } else {
                here.i += k->size;
                byte = k->byte;
                i = k->node;
                if (k->inside) inner.in = here.in;
            }
            size = nodes[i].size;
            if (inner.in != NULL) {
                inner.i = (uint32_t)(k - here.in->nodes) + 1;
                inner.end = inner.i - 1 + k->size;
            }
        }
        if (!byteset_has(&here.at->allow, byte)) continue;
        if (size == 1 && is_simple(here.at)) {
            if (!allow_tokens(w, t, i)) return false;
            continue;
        }
        set *next = set_step(w->u, here.at, byte);
        if (next == NULL) return false;
        int unsure = leave_unsure(w, next, i);
        if (unsure < 0) return false;
        if (unsure == 1) continue;
        if (inner.in == NULL) {
            if (!allow_node(w, t, i, next)) return false;
            if (size == 1) continue;
            if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, i)) return false;
            if (byteset_empty(&next->allow)) continue;
            if (!enter(w, i, next, &inner)) return false;
        }
        inner.at = next;
        w->path[depth++] = here;
        here = inner;
    }
}

/* The tokens that begin with one byte. */
static bool walk_first(walker *w, set *from, uint32_t byte) {
    const trie *t = &w->s->vocab->ordinary;
    uint32_t node = t->child[byte];
    if (node == 0 || !byteset_has(&from->allow, byte)) return true;
    set *next = set_step(w->u, from, byte);
    if (next == NULL) return false;
    if (!allow_node(w, t, node, next)) return false;
    if (t->nodes[node].size == 1) return true;
    if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, node)) return false;
    return walk_subtree(w, node, next);
}

static bool walk_root(walker *w, set *from) {
    if (is_simple(from)) return walk_subtree(w, 0, from);
    for (uint32_t i = 0; i < 4; i++)
        for (uint64_t left = from->allow.w[i]; left != 0; left &= left - 1)
            if (!walk_first(w, from, 64 * i + (uint32_t)__builtin_ctzll(left))) return false;
    return true;
}

/* As walk_root, for a set in which all characters of JSON strings are allowed but may lead to different places: along
 * them in the trie of tokens that have others, and from the first other byte on like any walk. */
static bool walk_paths(walker *w, const leavers *l, set *from) {
    const trie *t = &w->s->vocab->ordinary;
    if (!has_path(w)) return false;
    place *path = w->path + w->depth, here = {.at = from, .end = l->n_paths};
    for (uint32_t i = 0, depth = 0;;) {
        while (i == here.end && depth > 0) here = path[--depth];
        if (i == here.end) return true;
        uint32_t byte = l->paths[i].byte, size = l->paths[i].size, node = l->paths[i].node;
        if (!byteset_has(&here.at->allow, byte)) {
            i += size;
            continue;
        }
        set *next = set_step(w->u, here.at, byte);
        if (next == NULL || !allow_node(w, t, node, next)) return false;
        if (byte < 128 ? byteset_has(&l->ascii, byte) : l->utf8) {
            if (size > 1 && !byteset_empty(&next->allow)) {
                path[depth++] = here;
                here = (place){.at = next, .end = i + size};
                i++;
                continue;
            }
        } else if (t->nodes[node].size > 1) {
            if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, node)) return false;
            if (!walk_subtree(w, node, next)) return false;
        }
        i += size;
    }
}

/* Of n departures by chars, the first with so many. */
static uint32_t first_with(const departure *at, uint32_t n, uint64_t chars) {
    uint32_t lo = 0;
    while (lo < n) {
        uint32_t mid = (lo + n) / 2;
        if (at[mid].chars < chars)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* Tokens that leave the loop after lo..hi of its characters, home being the set after these, by a byte it takes. */
static bool walk_exit(walker *w, const loop_exit *e, uint32_t byte, set *home, uint64_t lo, uint64_t hi) {
    const departure *tokens = e->at, *nodes = e->at + e->n_tokens;
    set *next = set_step(w->u, home, byte);
    if (next == NULL) return false;
    bool cut = (next->flags & SET_CUT) != 0;
    for (uint32_t i = first_with(tokens, e->n_tokens, lo); !cut && i < e->n_tokens && tokens[i].chars <= hi; i++)
        bit_set(w->words, tokens[i].at);
    bool exits = w->want_exits && (next->flags & SET_EXITS) != 0;
    if (!exits && byteset_empty(&next->allow)) return true;
    for (uint32_t i = first_with(nodes, e->n_nodes, lo); i < e->n_nodes && nodes[i].chars <= hi; i++) {
        if (exits && !add_exits(w, nodes[i].at)) return false;
        if (!walk_subtree(w, nodes[i].at, next)) return false;
    }
    return true;
}

static bool counts_tokens(const set *at) {
    for (uint32_t i = 0; i < at->n_scan; i++)
        if (at->scan[i].state->rule->meter.most_tokens != 0 && meter_tokens(at->scan[i].reg) != TOKENS_FREE) return true;
    return false;
}

/* Tokens that end inside a character: whether one can end there matters where tokens are counted. */
static bool walk_cut(walker *w, const leavers *l, uint64_t most, set *at) {
    const ste_vocab *v = w->s->vocab;
    for (uint32_t i = 0; i < l->n_cut && l->cut[i].chars < most; i++) {
        uint32_t token = l->cut[i].at;
        set *to = at;
        for (uint64_t k = v->offsets[token]; k < v->offsets[token + 1] && byteset_has(&to->allow, v->bytes[k]); k++)
            if ((to = set_step(w->u, to, v->bytes[k])) == NULL) return false;
        if ((to->flags & SET_CUT) == 0) bit_set(w->words, token);
    }
    return true;
}

/* From `at`, where the characters of the loop go on to each other: the tokens that leave it.  most: so many characters
 * there may be; then each of them counts. */
static bool walk_loop(walker *w, const leavers *l, bool stays, uint64_t most, set *at) {
    bool counted = most != UINT64_MAX;
    byteset leaving = {{~l->ascii.w[0], ~l->ascii.w[1], l->utf8 ? 0 : UINT64_MAX, l->utf8 ? 0 : UINT64_MAX}};
    for (uint32_t byte = 0; byte < 256; byte++)
        if (byteset_has(&leaving, byte) && !walk_first(w, at, byte)) return false;
    uint32_t character = 0;
    while (!byteset_has(&l->ascii, character)) character++;
    bool tokens = counts_tokens(at);
    if (tokens && !walk_cut(w, l, most, at)) return false;
    for (uint32_t i = 0; !tokens && i < l->n_cut && l->cut[i].chars < most; i++) bit_set(w->words, l->cut[i].at);
    uint64_t last = !counted ? 1 : most < w->s->reach ? most : w->s->reach;
    set *home = at;
    for (uint64_t k = 1; k <= last; k++) {
        if (!stays || counted) {
            if (!byteset_has(&home->allow, character)) return true;
            home = set_step(w->u, home, character);
            if (home == NULL) return false;
        }
        for (uint32_t byte = 0; byte < 256; byte++) {
            if (!byteset_has(&leaving, byte) || !byteset_has(&home->allow, byte)) continue;
            const loop_exit *e = leavers_exit(w->s->vocab, l, byte);
            if (e == NULL || !walk_exit(w, e, byte, home, k, counted ? k : UINT64_MAX)) return false;
        }
    }
    return true;
}

/* The tokens of a loop in its own context: word operations, then the rest. */
static bool fill_loop(set *at, const loop *l, uint64_t most, walker *w) {
    const leavers *leaving = loop_leavers(w->s, l);
    if (leaving == NULL) return walk_root(w, at);
    assert(w->n_few == 0);
    if (!make_dense(w)) return false;
    w->loop = leaving;
    loop_tokens(w->s, leaving, most, w->words);
    return l == &w->s->json ? walk_paths(w, leaving, at) : walk_loop(w, leaving, l->stays, most, at);
}

static bool add_token_edges(walker *w, const state *st, uint64_t reg) {
    for (uint32_t e = 0; e < st->n_tokens; e++) {
        const token_edge *edge = &st->tokens[e];
        if (!meter_may_enter(edge->to, reg)) continue;
        if (edge->hi - edge->lo < w->most_few) {
            for (uint32_t token = edge->lo; token <= edge->hi; token++)
                if (!allow_slow(w, token)) return false;
        } else {
            if (!make_dense(w)) return false;
            bits_set_range(w->words, edge->lo, edge->hi);
        }
    }
    return true;
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
    exit_list *e = store_alloc(s, sizeof *e + ((size_t)w->exits.n + w->unsure.n) * sizeof *e->nodes);
    if (e == NULL) return NULL;
    const trie_node *nodes = s->vocab->ordinary.nodes;
    uint32_t first[257] = {0};
    e->n = w->exits.n;
    e->n_unsure = w->unsure.n;
    if (e->n_unsure != 0) memcpy(e->nodes + e->n, w->unsure.at, e->n_unsure * sizeof *e->nodes);
    for (uint32_t i = 0; i < e->n; i++) first[nodes[w->exits.at[i]].byte + 1]++;
    for (uint32_t b = 0; b < 256; b++) first[b + 1] += first[b];
    for (uint32_t i = 0; i < e->n; i++) e->nodes[first[nodes[w->exits.at[i]].byte]++] = w->exits.at[i];
    pthread_mutex_lock(&s->grow);
    exit_list *other = atomic_load_explicit(&at->exits, memory_order_relaxed);
    if (other == NULL) atomic_store_explicit(&at->exits, e, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    if (other == NULL) return e;
    store_free(s, e, exit_list_size(e));
    return other;
}

/* ---- the local part of an item ---- */

/* Many states step into a loop on most bytes: text after the first bytes of a trigger, keys that
 * still could be a declared one.  They differ from the loop on few bytes, and after most of those
 * again on few: only the paths of such bytes are walked. */

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

/* Where most bytes lead. */
static const state *common_target(const state *st) {
    const state *found = NULL;
    uint32_t most = 0;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < st->n_bytes; k++)
            if (st->bytes[k].to == st->bytes[e].to) n += st->bytes[k].hi - st->bytes[k].lo + 1u;
        if (n <= most) continue;
        most = n;
        found = st->bytes[e].to;
    }
    return found;
}

/* Bytes on which two states go to different places; false if one of them goes to several at once. */
static bool differing(const state *a, const state *b, byteset *out) {
    const state *sides[2] = {a, b};
    const byte_edge *edge[2] = {a->bytes, b->bytes};
    memset(out, 0, sizeof *out);
    for (int k = 0; k < 2; k++)
        for (uint32_t e = 1; e < sides[k]->n_bytes; e++)
            if (edge[k][e].lo <= edge[k][e - 1].hi) return false;
    for (uint32_t byte = 0, last; byte < 256; byte = last + 1) {
        const state *to[2];
        last = 255; /* up to here nothing changes */
        for (int k = 0; k < 2; k++) {
            const byte_edge *end = sides[k]->bytes + sides[k]->n_bytes;
            while (edge[k] < end && edge[k]->hi < byte) edge[k]++;
            bool inside = edge[k] < end && edge[k]->lo <= byte;
            to[k] = inside ? edge[k]->to : NULL;
            uint32_t until = edge[k] == end ? 255 : inside ? edge[k]->hi : edge[k]->lo - 1u;
            if (until < last) last = until;
        }
        if (to[0] != to[1]) byteset_add_range(out, byte, last);
    }
    return true;
}

static const state *loop_nearby(const ste_vocab *v, const state *st, byteset *differ) {
    const state *home = byteset_size(&st->allow) < 128 ? NULL : common_target(st);
    if (st->rule->kind != RULE_PLAIN || home == NULL || home == st || home->n_rules != 0 || common_target(home) != home)
        return NULL;
    for (uint32_t e = 0; e < home->n_tokens; e++) /* these can be told from what bytes allow */
        if (home->tokens[e].lo != home->tokens[e].hi || !bit_get(v->special, home->tokens[e].lo)) return NULL;
    return differing(st, home, differ) && byteset_size(differ) <= 128 ? home : NULL;
}

typedef struct local_part {
    const row *row;
    const exit_list *exits; /* NULL where they were not wanted */
} local_part;

static bool local_of(use *u, item it, bool want_exits, local_part *out);

typedef struct near_frame {
    const state *st;
    set *at;       /* st by itself */
    uint32_t end;  /* of the subtree */
    byteset differ;
} near_frame;

/* What the loop allows below and at a node is not what is allowed: look again. */
static bool walk_again(walker *w, const near_frame *f, uint32_t node) {
    const trie *t = &w->s->vocab->ordinary;
    for (uint32_t i = node; i < node + t->nodes[node].size; i++)
        for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_clear(w->words, token);
    if (!byteset_has(&f->at->allow, t->nodes[node].byte)) return true;
    set *next = set_step(w->u, f->at, t->nodes[node].byte);
    if (next == NULL || !allow_node(w, t, node, next)) return false;
    if (t->nodes[node].size == 1) return true;
    if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, node)) return false;
    return walk_subtree(w, node, next);
}

/* From the part of the loop `home`; again: nodes whose subtrees differ, in order. */
static bool walk_near(walker *w, const state *home, near_frame *frames, node_list *again) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    uint32_t depth = 0, i = 1;
    for (;;) {
        while (i == frames[depth].end && depth > 0) depth--;
        near_frame *f = &frames[depth];
        if (i == f->end) return true;
        uint32_t byte = nodes[i].byte;
        if (!byteset_has(&f->differ, byte)) {
            i += nodes[i].size;
            continue;
        }
        const state *to = only_target(f->st, byte);
        near_frame *inner = f + 1;
        if (to != NULL && only_target(home, byte) == home && to->final == home->final && to->n_rules == 0 &&
            to->n_tokens == 0 && differing(to, home, &inner->differ)) { /* still near the loop, allowed like it */
            if (nodes[i].size > 1) {
                inner->st = to;
                inner->at = set_step(w->u, f->at, byte);
                inner->end = i + nodes[i].size;
                if (inner->at == NULL) return false;
                depth++;
            }
            i++;
            continue;
        }
        if (!node_list_add(w->s, again, i) || !walk_again(w, f, i)) return false;
        i += nodes[i].size;
    }
}

static bool fill_nearby(set *at, const state *st, const state *home, const byteset *differ, walker *w) {
    store *s = w->s;
    const trie *t = &s->vocab->ordinary;
    local_part near;
    if (!local_of(w->u, (item){home, s->top, at->scan[0].reg}, w->want_exits, &near) || !make_dense(w)) return false;
    row_write(s, near.row, w->words);
    w->near = near.row;
    for (uint32_t e = 0; e < home->n_tokens; e++) bit_clear(w->words, home->tokens[e].lo);
    near_frame *frames = store_alloc(s, w->depth * sizeof *frames);
    node_list again = {0};
    bool fine = frames != NULL;
    if (fine) {
        frames[0] = (near_frame){st, at, t->nodes[0].size, *differ};
        fine = walk_near(w, home, frames, &again);
    }
    for (uint32_t k = 0; fine && w->want_exits && k < near.exits->n; k++) {
        uint32_t node = near.exits->nodes[k];
        uint32_t lo = 0, hi = again.n; /* the last one that begins at node or before */
        while (lo < hi) {
            uint32_t mid = (lo + hi) / 2;
            if (again.at[mid] <= node)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == 0 || node >= again.at[lo - 1] + t->nodes[again.at[lo - 1]].size) fine = node_list_add(s, &w->exits, node);
    }
    node_list_free(s, &again);
    store_free(s, frames, w->depth * sizeof *frames);
    return fine;
}

static bool fill_local(set *at, const state *st, walker *w) {
    const loop *l = set_loop(w->u, at);
    if (l == NULL) return false;
    /* A loop that is complete everywhere (free text) has an exit at every node: if those are
     * wanted there is no way around the whole trie. */
    if (l->is_loop && !(w->want_exits && l->exits)) return fill_loop(at, l, UINT64_MAX, w);
    byteset differ;
    uint64_t left;
    const item *metered;
    set *unmetered = l->is_loop || !st->rule->metered ? at : set_unmetered(w->u, at, &left, &metered);
    const loop *beyond = unmetered == NULL ? NULL : set_loop(w->u, unmetered);
    if (beyond == NULL) return false;
    if (unmetered != at && beyond->is_loop && beyond->stays && !beyond->exits)
        return fill_loop(at, beyond, left == UINT64_MAX ? left - 1 : left, w); /* each character counts */
    bool counts = st->rule->metered && !meter_is_free(at->scan[0].reg);
    const state *home = l->is_loop || counts ? NULL : loop_nearby(w->s->vocab, st, &differ);
    if (home != NULL && !(w->want_exits && home->final)) return fill_nearby(at, st, home, &differ, w);
    int total = byteset_size(&at->allow) < 128 ? 0 : state_is_total(w->s, st);
    if (total < 0) return false;
    return total == 1 ? fill_loop(at, &w->s->json, UINT64_MAX, w) : walk_root(w, at);
}

/* The local row of an item, and its exits if they are wanted. */
static bool local_of(use *u, item it, bool want_exits, local_part *out) {
    store *s = u->s;
    set *at = set_local(u, it.state, it.reg);
    if (at == NULL) return false;
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    if (atomic_load_explicit(&at->used, memory_order_relaxed) != epoch)
        atomic_store_explicit(&at->used, epoch, memory_order_relaxed);
    out->row = atomic_load_explicit(&at->row, memory_order_acquire);
    out->exits = atomic_load_explicit(&at->exits, memory_order_acquire);
    if (out->row != NULL && (!want_exits || out->exits != NULL)) {
        atomic_fetch_add_explicit(&s->stats.local_hits, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add_explicit(&s->stats.local_misses, 1, memory_order_relaxed);
    walker w;
    walker_init(&w, u, want_exits);
    bool fine = fill_local(at, it.state, &w) && add_token_edges(&w, it.state, it.reg);
    if (fine && want_exits) fine = (out->exits = publish_exits(s, at, &w)) != NULL;
    row *r = fine ? walker_row(&w) : NULL;
    if (r != NULL) out->row = publish_row(s, at, r);
    walker_free(&w);
    return r != NULL;
}

/* On from the exits, in the set after them. */
static bool walk_exits(walker *w, const exit_list *exits, set *after) {
    const trie *t = &w->s->vocab->ordinary;
    uint32_t e = 0;
    for (uint32_t byte = 0; byte < 256 && e < exits->n; byte++) {
        if (!byteset_has(&after->allow, byte)) continue;
        for (uint32_t hi = exits->n; e < hi;) { /* the first exit with this byte or a later one */
            uint32_t mid = (e + hi) / 2;
            if (t->nodes[exits->nodes[mid]].byte < byte)
                e = mid + 1;
            else
                hi = mid;
        }
        if (e == exits->n || t->nodes[exits->nodes[e]].byte != byte) continue;
        set *next = set_step(w->u, after, byte);
        if (next == NULL) return false;
        bool complete = w->want_exits && (next->flags & SET_EXITS) != 0;
        for (; e < exits->n && t->nodes[exits->nodes[e]].byte == byte; e++) {
            uint32_t node = exits->nodes[e];
            int unsure = leave_unsure(w, next, node);
            if (unsure < 0) return false;
            if (unsure == 1) continue;
            if (!allow_node(w, t, node, next) || (complete && !add_exits(w, node))) return false;
            if (t->nodes[node].size > 1 && !walk_subtree(w, node, next)) return false;
        }
    }
    return true;
}

static bool part_of(use *u, set *at, bool want_exits, local_part *out);

/* What the element's rule allows by itself, and from its exits on what may follow the element. */
static bool fill_element(const item *it, walker *w) {
    local_part part;
    progress *p = progress_of(it);
    if (!part_of(w->u, p->at, true, &part) || !allow_row(w, part.row)) return false;
    for (uint32_t k = 0; k < part.exits->n_unsure; k++)
        if (!node_list_add(w->s, &w->unsure, part.exits->nodes[part.exits->n + k])) return false;
    if (part.exits->n == 0) return true;
    set *after = set_after_element(w->u, it, seen_from_count(seen_count(p->seen) + 1));
    return after != NULL && walk_exits(w, part.exits, after);
}

static bool fill_items(set *at, walker *w) {
    store *s = w->s;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        local_part part;
        if (it->state->inside) {
            if (!fill_element(it, w)) return false;
            continue;
        }
        if (!local_of(w->u, *it, it->origin != s->bottom, &part)) return false;
        bool whole = it->origin == s->bottom || part.exits->n == 0;
        if (whole && at->n_scan == 1) {
            w->same = part.row;
            return true;
        }
        if (!allow_row(w, part.row)) return false;
        if (whole) continue;
        set *after = set_after(w->u, at, it->origin, it->state->rule);
        if (after == NULL) return false;
        for (uint32_t k = 0; w->want_exits && (after->flags & SET_EXITS) != 0 && k < part.exits->n; k++)
            if (!node_list_add(s, &w->exits, part.exits->nodes[k])) return false;
        if (!walk_exits(w, part.exits, after)) return false;
    }
    return true;
}

static bool takes_loop(const byteset *allow, const loop *l) {
    byteset repeats = l->ascii;
    if (l->utf8) byteset_add_range(&repeats, 0x80, 0xFF);
    uint64_t common = 0;
    for (int i = 0; i < 4; i++) common |= repeats.w[i] & allow->w[i];
    return common != 0;
}

/* Can what follows the rule begin with a character of the loop?  Negative: out of memory. */
static int overlaps(use *u, set *at, set *origin, rule *r, const loop *l) {
    set *after = set_after(u, at, origin, r);
    return after == NULL ? -1 : takes_loop(&after->allow, l);
}

/* Are as many characters needed after one of the loop as before it, so that what a bound leaves can be told from `at`?
 * Negative: out of memory. */
static int keeps_need(use *u, set *at, const item *metered, const loop *l) {
    if (l->stays) return 1;
    for (uint32_t byte = 0; byte < 128; byte++) {
        if (!byteset_has(&l->ascii, byte)) continue;
        set *home = set_step(u, at, byte);
        if (home == NULL) return -1;
        for (uint32_t i = 0; i < home->n_scan; i++)
            if (home->scan[i].state->rule == metered->state->rule) return home->scan[i].state->need == metered->state->need;
        return 0;
    }
    return 0;
}

/* A loop in this context whose items are none by themselves: a repeated rule; or are, but may end anywhere. */
static bool fill(set *at, walker *w) {
    if ((at->flags & SET_INSIDE) != 0) return fill_items(at, w);
    uint64_t most;
    const waiter *counter;
    const item *metered = NULL;
    set *unbounded = set_unbounded(w->u, at, &most, &counter);
    if (unbounded != NULL && counter == NULL) unbounded = set_unmetered(w->u, at, &most, &metered);
    if (unbounded == NULL) return false;
    const loop *l = set_loop(w->u, unbounded);
    if (l == NULL) return false;
    bool direct = l->is_loop && !(w->want_exits && l->exits);
    if (unbounded != at && most == UINT64_MAX) most--; /* without an upper bound, but each character counts */
    if (direct && metered != NULL && most < UINT64_MAX - 1) {
        int kept = keeps_need(w->u, unbounded, metered, l);
        if (kept < 0) return false;
        direct = kept == 1;
    }
    for (uint32_t i = 0; i < at->n_scan && direct; i++) {
        set *alone = set_local(w->u, at->scan[i].state, at->scan[i].reg);
        const loop *by_itself = alone == NULL ? NULL : set_loop(w->u, alone);
        if (by_itself == NULL) return false;
        direct = (!by_itself->is_loop || (by_itself->exits && counter == NULL)) && at->scan[i].state->n_tokens == 0;
        /* Near the bound nothing else may take the characters: no other reading of the text so far. */
        bool other = metered != NULL ? metered != &at->scan[i] : at->scan[i].origin != NULL;
        if (other && (counter != NULL || most < w->s->reach)) direct = direct && !takes_loop(&at->scan[i].state->allow, l);
    }
    /* Nor may what follows: past the least count of a repeat it could take them too. */
    if (direct && (counter != NULL || most < w->s->reach)) {
        int overlap = counter != NULL ? overlaps(w->u, at, counter->origin, counter->target->rule, l)
                                      : overlaps(w->u, at, metered->origin, metered->state->rule, l);
        if (overlap < 0) return false;
        direct = overlap == 0;
    }
    if (direct) return fill_loop(at, l, most, w);
    /* Parts with an exit at every node are of no use: it is all walked again in this context. */
    int open = w->want_exits ? 0 : set_is_open(w->u, at);
    if (open < 0) return false;
    if (open == 0) return fill_items(at, w);
    for (uint32_t i = 0; i < at->n_scan; i++)
        if (!add_token_edges(w, at->scan[i].state, at->scan[i].reg)) return false;
    return walk_root(w, at);
}

/* Row and exits of a whole set; the exits are those of the rule under top. */
static bool part_of(use *u, set *at, bool want_exits, local_part *out) {
    out->row = atomic_load_explicit(&at->row, memory_order_acquire);
    out->exits = atomic_load_explicit(&at->exits, memory_order_acquire);
    if (out->row != NULL && (!want_exits || out->exits != NULL)) return true;
    walker w;
    row *r = NULL;
    walker_init(&w, u, want_exits);
    bool fine = fill(at, &w);
    if (fine && (want_exits || w.unsure.n != 0)) fine = (out->exits = publish_exits(u->s, at, &w)) != NULL;
    if (fine) r = w.same != NULL ? row_retain(u->s, w.same) : walker_row(&w);
    walker_free(&w);
    if (r != NULL) out->row = publish_row(u->s, at, r);
    return r != NULL;
}

/* ---- sets within elements ---- */

typedef struct recheck {
    walker *w;
    node_list nodes;
} recheck;

static bool add_recheck(void *ctx, uint32_t node) {
    recheck *r = ctx;
    return node_list_add(r->w->s, &r->nodes, node);
}

/* Where rivals rule out what the canonical set allows. */
static bool add_conflicts(recheck *r, const set *at) {
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (!at->scan[i].state->inside) continue;
        const progress *p = progress_of(&at->scan[i]);
        if (p->n_rivals != 0 && !element_conflicts(r->w->u, p, add_recheck, r)) return false;
        if ((p->at->flags & SET_RIVALS) != 0 && !add_conflicts(r, p->at)) return false;
    }
    return true;
}

/* The set after the bytes of a trie node; NULL with code 0: refused. */
static set *step_to_node(walker *w, set *at, uint32_t node, int *code) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    *code = 0;
    for (uint32_t i = 0, child = 1; at != NULL && i != node;) {
        if (node >= child + nodes[child].size) {
            child += nodes[child].size;
            continue;
        }
        if (!byteset_has(&at->allow, nodes[child].byte)) return NULL;
        at = set_step(w->u, at, nodes[child].byte);
        if (at == NULL) *code = -1;
        i = child++;
    }
    return at;
}

static bool step_again(walker *w, set *from, uint32_t node) {
    const trie *t = &w->s->vocab->ordinary;
    for (uint32_t i = node; i < node + t->nodes[node].size; i++)
        for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_clear(w->words, token);
    int code;
    set *at = step_to_node(w, from, node, &code);
    if (at == NULL) return code == 0;
    return allow_node(w, t, node, at) && walk_subtree(w, node, at);
}

static int compare_nodes(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The row of a set, given that of its canonical one. */
static bool fill_again(set *at, const local_part *base, walker *w) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    recheck r = {.w = w};
    bool fine = allow_row(w, base->row) && make_dense(w);
    uint32_t unsure = base->exits == NULL ? 0 : base->exits->n_unsure;
    for (uint32_t k = 0; fine && k < unsure; k++) fine = add_recheck(&r, base->exits->nodes[base->exits->n + k]);
    fine = fine && add_conflicts(&r, at);
    if (r.nodes.n > 1) qsort(r.nodes.at, r.nodes.n, sizeof *r.nodes.at, compare_nodes);
    for (uint32_t k = 0, end = 0; fine && k < r.nodes.n; k++) {
        uint32_t node = r.nodes.at[k];
        if (node < end) continue; /* in the subtree of one before */
        end = node + nodes[node].size;
        fine = step_again(w, at, node);
    }
    node_list_free(w->s, &r.nodes);
    return fine;
}

static row *row_within_element(use *u, set *at, set *canonical) {
    row *out = NULL;
    local_part base;
    if ((at->flags & SET_TIGHT) == 0) {
        if (!part_of(u, canonical, false, &base)) return NULL;
        bool unsure = base.exits != NULL && base.exits->n_unsure != 0;
        if (!unsure && (at->flags & SET_RIVALS) == 0) return publish_row(u->s, at, row_retain(u->s, base.row));
    }
    walker w;
    walker_init(&w, u, false);
    if ((at->flags & SET_TIGHT) != 0 ? walk_root(&w, at) : fill_again(at, &base, &w)) out = walker_row(&w);
    walker_free(&w);
    return out == NULL ? NULL : publish_row(u->s, at, out);
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
    if ((at->flags & SET_ELEMENTS) != 0) return row_within_element(u, at, canonical);
    if (canonical != at) {
        out = mask_row(u, canonical); /* a canonical set is its own: one level deep */
        return out == NULL ? NULL : publish_row(s, at, row_retain(s, out));
    }
    walker w;
    walker_init(&w, u, false);
    if (fill(at, &w))
        out = w.same != NULL ? row_retain(s, w.same) : walker_row(&w);
    walker_free(&w);
    return out == NULL ? NULL : publish_row(s, at, out);
}
