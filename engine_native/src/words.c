/* words.c - see words.h. */
#include "words.h"

typedef struct open_state {
    VEC(fsm_edge) edges; /* sorted; the last one leads to the next open state */
    bool final;
} open_state;

typedef struct word_register {
    fsm *f;
    VEC(uint32_t) first;   /* state -> its edges; one more at the end */
    uint32_t *table, mask; /* finished states + 1 */
    VEC(open_state) open;  /* along the current word: the first `depth`; the others keep their storage */
    uint32_t depth;
} word_register;

static int compare(const word *a, const word *b) {
    uint32_t n = a->n < b->n ? a->n : b->n;
    for (uint32_t i = 0; i < n; i++)
        if (a->symbols[i] != b->symbols[i]) return a->symbols[i] < b->symbols[i] ? -1 : 1;
    return a->n == b->n ? 0 : a->n < b->n ? -1 : 1;
}

/* Merge sort; sorted input costs one pass. */
static void sort_words(arena *mem, word *at, uint32_t n) {
    uint32_t sorted = 1;
    while (sorted < n && compare(&at[sorted - 1], &at[sorted]) <= 0) sorted++;
    if (sorted >= n) return;
    word *from = at, *to = arena_alloc(mem, n, sizeof *to);
    for (uint32_t width = 1; width < n; width = width > n / 2 ? n : width * 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = n - lo < width ? n : lo + width, hi = n - mid < width ? n : mid + width;
            for (uint32_t i = lo, k = mid, out = lo; out < hi; out++)
                to[out] = k == hi || (i < mid && compare(&from[i], &from[k]) <= 0) ? from[i++] : from[k++];
            if (hi == n) break;
        }
        word *swap = from;
        from = to;
        to = swap;
    }
    if (from != at) memcpy(at, from, n * sizeof *at);
}

/* ---- the register of finished states ---- */

static uint64_t state_hash(const fsm_edge *edges, uint32_t n, bool final) {
    uint64_t hash = final;
    for (uint32_t i = 0; i < n; i++) hash = hash_mix(hash_mix(hash, (uint64_t)edges[i].lo << 32 | edges[i].hi), edges[i].to);
    return hash;
}

static bool state_equals(const word_register *r, uint32_t state, const open_state *o) {
    uint32_t first = r->first.at[state], n = r->first.at[state + 1] - first;
    if (n != o->edges.n || (r->f->final.at[state] != 0) != o->final) return false;
    for (uint32_t i = 0; i < n; i++) {
        const fsm_edge *a = &r->f->edges.at[first + i], *b = &o->edges.at[i];
        if (a->lo != b->lo || a->hi != b->hi || a->to != b->to) return false;
    }
    return true;
}

static void grow(word_register *r) {
    uint32_t size = r->table == NULL ? 64 : (r->mask + 1) * 2, n = r->first.n - 1;
    r->table = arena_alloc(&r->f->w->mem, size, sizeof *r->table);
    r->mask = size - 1;
    for (uint32_t s = 0; s < n; s++) {
        const fsm_edge *edges = r->f->edges.at + r->first.at[s];
        uint32_t slot = (uint32_t)state_hash(edges, r->first.at[s + 1] - r->first.at[s], r->f->final.at[s] != 0) & r->mask;
        while (r->table[slot] != 0) slot = (slot + 1) & r->mask;
        r->table[slot] = s + 1;
    }
}

/* The finished state equal to o. */
static uint32_t finish(word_register *r, const open_state *o) {
    arena *mem = &r->f->w->mem;
    if (r->table == NULL || r->first.n * 2 >= r->mask) grow(r);
    uint32_t slot = (uint32_t)state_hash(o->edges.at, o->edges.n, o->final) & r->mask;
    for (; r->table[slot] != 0; slot = (slot + 1) & r->mask)
        if (state_equals(r, r->table[slot] - 1, o)) return r->table[slot] - 1;
    uint32_t state = fsm_state(r->f);
    r->f->final.at[state] = o->final;
    for (uint32_t i = 0; i < o->edges.n; i++) fsm_edge_add(r->f, state, o->edges.at[i].lo, o->edges.at[i].hi, o->edges.at[i].to);
    vec_push(mem, &r->first, r->f->edges.n);
    r->table[slot] = state + 1;
    return state;
}

/* ---- words ---- */

/* The edge of the last open state but one gets its target; beside an edge to the same it is one with it. */
static void close_last(word_register *r) {
    uint32_t to = finish(r, &r->open.at[r->depth - 1]);
    open_state *parent = &r->open.at[--r->depth - 1];
    fsm_edge *last = &parent->edges.at[parent->edges.n - 1];
    last->to = to;
    if (parent->edges.n > 1 && last[-1].to == to && last[-1].hi + 1 == last->lo && last->lo < SYM_RULE) {
        last[-1].hi = last->hi;
        parent->edges.n--;
    }
}

static void open_next(word_register *r, uint32_t symbol) {
    arena *mem = &r->f->w->mem;
    if (r->depth > 0) vec_push(mem, &r->open.at[r->depth - 1].edges, (fsm_edge){0, symbol, symbol, 0});
    if (r->depth == r->open.n) vec_push(mem, &r->open, (open_state){.final = false});
    open_state *made = &r->open.at[r->depth++];
    made->edges.n = 0;
    made->final = false;
}

/* Special tokens with equal text: each of them will do. */
static void add_equal_tokens(builder *b, fsm *f) {
    const uint32_t *next_same = b->vocab->specials.next_same;
    for (uint32_t e = 0, n = f->edges.n; e < n; e++) {
        fsm_edge g = f->edges.at[e];
        if (!sym_is_token(g.lo)) continue;
        for (uint32_t t = next_same[g.lo - SYM_TOKEN]; t != TRIE_NO_TOKEN; t = next_same[t])
            fsm_edge_add(f, g.from, SYM_TOKEN + t, SYM_TOKEN + t, g.to);
    }
}

expr *words_expr(builder *b, word *words, uint32_t n) {
    arena *mem = &b->w->mem;
    word_register r = {.f = fsm_new(b->w)};
    r.f->final.n = 0; /* states are numbered as they are finished */
    vec_push(mem, &r.first, 0);
    sort_words(mem, words, n);
    open_next(&r, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t shared = 0;
        while (i > 0 && shared < words[i].n && shared < words[i - 1].n && words[i].symbols[shared] == words[i - 1].symbols[shared])
            shared++;
        while (r.depth > shared + 1) close_last(&r);
        while (r.depth < words[i].n + 1) open_next(&r, words[i].symbols[r.depth - 1]);
        r.open.at[r.depth - 1].final = true;
    }
    while (r.depth > 1) close_last(&r);
    r.f->start = finish(&r, &r.open.at[0]);
    add_equal_tokens(b, r.f);
    fsm_index(r.f);
    r.f->reduced = true;
    return expr_fsm(b, r.f);
}
