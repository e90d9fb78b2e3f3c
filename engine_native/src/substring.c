/* substring.c - see substring.h. */
#include "substring.h"

#define NONE UINT32_MAX

typedef struct suffix_edge {
    uint32_t from, letter, to, next; /* next edge of the same state, + 1 */
} suffix_edge;

typedef struct suffix_state {
    uint32_t length, link, edges; /* link: NONE for the start; edges: the last one, + 1 */
} suffix_state;

typedef struct suffixes {
    arena *mem;
    VEC(suffix_state) states;
    VEC(suffix_edge) edges;
    uint32_t *table, mask; /* (state, letter) -> edge + 1 */
} suffixes;

static uint32_t edge_slot(const suffixes *a, uint32_t from, uint32_t letter) {
    uint32_t slot = (uint32_t)hash_mix(from, letter) & a->mask;
    for (; a->table[slot] != 0; slot = (slot + 1) & a->mask) {
        const suffix_edge *e = &a->edges.at[a->table[slot] - 1];
        if (e->from == from && e->letter == letter) break;
    }
    return slot;
}

static void set_edge(suffixes *a, uint32_t from, uint32_t letter, uint32_t to) {
    uint32_t slot = edge_slot(a, from, letter);
    if (a->table[slot] != 0) {
        a->edges.at[a->table[slot] - 1].to = to;
        return;
    }
    vec_push(a->mem, &a->edges, (suffix_edge){from, letter, to, a->states.at[from].edges});
    a->table[slot] = a->states.at[from].edges = a->edges.n;
}

static uint32_t add_state(suffixes *a, uint32_t length, uint32_t link) {
    vec_push(a->mem, &a->states, (suffix_state){length, link, 0});
    return a->states.n - 1;
}

/* The state for what `p` and a letter lead to by way of `q`, with the length that fits. */
static uint32_t split(suffixes *a, uint32_t p, uint32_t q, uint32_t letter) {
    if (a->states.at[p].length + 1 == a->states.at[q].length) return q;
    uint32_t twin = add_state(a, a->states.at[p].length + 1, a->states.at[q].link);
    for (uint32_t e = a->states.at[q].edges; e != 0; e = a->edges.at[e - 1].next) set_edge(a, twin, a->edges.at[e - 1].letter, a->edges.at[e - 1].to);
    a->states.at[q].link = twin;
    for (; p != NONE; p = a->states.at[p].link) {
        uint32_t slot = edge_slot(a, p, letter);
        if (a->table[slot] == 0 || a->edges.at[a->table[slot] - 1].to != q) break;
        a->edges.at[a->table[slot] - 1].to = twin;
    }
    return twin;
}

static uint32_t extend(suffixes *a, uint32_t last, uint32_t letter) {
    uint32_t next = add_state(a, a->states.at[last].length + 1, 0), p = last;
    for (; p != NONE; p = a->states.at[p].link) {
        uint32_t slot = edge_slot(a, p, letter);
        if (a->table[slot] != 0) {
            uint32_t link = split(a, p, a->edges.at[a->table[slot] - 1].to, letter);
            a->states.at[next].link = link;
            return next;
        }
        set_edge(a, p, letter, next);
    }
    return next;
}

/* Equal chunks get equal numbers: the first of them. */
static uint32_t *chunk_letters(arena *mem, const chunk *chunks, uint32_t n) {
    uint32_t size = 64;
    while (size < n * 2) size *= 2;
    uint32_t *table = arena_alloc(mem, size, sizeof *table), *letters = arena_alloc(mem, (size_t)n + 1, sizeof *letters);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)hash_bytes(chunks[i].text, chunks[i].n, 0) & (size - 1);
        for (; table[slot] != 0; slot = (slot + 1) & (size - 1)) {
            const chunk *other = &chunks[table[slot] - 1];
            if (other->n == chunks[i].n && memcmp(other->text, chunks[i].text, other->n) == 0) break;
        }
        if (table[slot] == 0) table[slot] = i + 1;
        letters[i] = table[slot] - 1;
    }
    return letters;
}

/* The edges as automaton: each letter is the text of its chunk. */
static fsm *spell(builder *b, const suffixes *a, const chunk *chunks) {
    fsm *f = fsm_new(b->w);
    for (uint32_t s = 1; s < a->states.n; s++) fsm_state(f);
    for (uint32_t s = 0; s < a->states.n; s++) f->final.at[s] = 1;
    for (uint32_t e = 0; e < a->edges.n; e++) {
        suffix_edge g = a->edges.at[e];
        expr_build(b, expr_literal(b, chunks[g.letter].text, chunks[g.letter].n), f, g.from, g.to);
    }
    return f;
}

expr *substring_expr(builder *b, const chunk *chunks, uint32_t n) {
    arena *mem = &b->w->mem;
    suffixes a = {.mem = mem};
    uint32_t size = 64;
    while (size < n * 8) size *= 2; /* at most 3n edges */
    a.table = arena_alloc(mem, size, sizeof *a.table);
    a.mask = size - 1;
    uint32_t *letters = chunk_letters(mem, chunks, n), last = add_state(&a, 0, NONE);
    for (uint32_t i = 0; i < n; i++) {
        work_charge(b->w, 1);
        if (chunks[i].n > 0) last = extend(&a, last, letters[i]);
    }
    fsm *f = fsm_determinise(spell(b, &a, chunks));
    return expr_fsm(b, f);
}
