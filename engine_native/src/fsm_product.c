/* fsm_product.c - see fsm_product.h. */
#include "fsm_product.h"

#define MAX_PAIRS 100000 /* twice what any schema of the benchmarks needs; a pair takes some 300 bytes while it is made */
#define GONE UINT32_MAX /* b has no state here: it rejects whatever follows */

typedef struct product {
    const fsm *a, *b;
    bool difference;
    fsm *out;
    uint32_t *table, mask; /* hash of pairs: state of out + 1 */
    VEC(fsm_empty) pairs;  /* of out's states */
} product;

static uint32_t pair_slot(const product *p, uint32_t a, uint32_t b) {
    uint32_t slot = (uint32_t)hash_mix(1, (uint64_t)a << 32 | b) & p->mask;
    while (p->table[slot] != 0) {
        fsm_empty have = p->pairs.at[p->table[slot] - 1];
        if (have.from == a && have.to == b) break;
        slot = (slot + 1) & p->mask;
    }
    return slot;
}

static void grow_pairs(product *p) {
    uint32_t size = p->table == NULL ? 64 : (p->mask + 1) * 2;
    p->table = arena_alloc(&p->out->w->mem, size, sizeof *p->table);
    p->mask = size - 1;
    for (uint32_t i = 0; i < p->pairs.n; i++) p->table[pair_slot(p, p->pairs.at[i].from, p->pairs.at[i].to)] = i + 1;
}

static uint32_t pair_state(product *p, uint32_t a, uint32_t b) {
    if (p->pairs.n * 2 >= p->mask) grow_pairs(p);
    uint32_t slot = pair_slot(p, a, b);
    if (p->table[slot] != 0) return p->table[slot] - 1;
    if (p->pairs.n == MAX_PAIRS)
        escape(&p->out->w->out, STE_ERR_LIMIT, 0, "strings or numbers that must satisfy several constraints need more than %d states", MAX_PAIRS);
    uint32_t s = p->pairs.n == 0 ? p->out->start : fsm_state(p->out);
    bool in_b = b != GONE && p->b->final.at[b];
    p->out->final.at[s] = p->a->final.at[a] && in_b != p->difference;
    vec_push(&p->out->w->mem, &p->pairs, (fsm_empty){a, b});
    p->table[slot] = s + 1;
    return s;
}

/* The edges of one pair: those of a, cut where b's edges begin and end. */
static void expand_pair(product *p, uint32_t at) {
    uint32_t sa = p->pairs.at[at].from, sb = p->pairs.at[at].to, before = p->out->edges.n;
    for (uint32_t e = p->a->first[sa], k = sb == GONE ? 0 : p->b->first[sb]; e < p->a->first[sa + 1]; e++) {
        fsm_edge g = p->a->edges.at[e];
        uint32_t end = sb == GONE ? 0 : p->b->first[sb + 1];
        for (uint32_t lo = g.lo; lo <= g.hi;) {
            while (k < end && p->b->edges.at[k].hi < lo) k++;
            bool inside = k < end && p->b->edges.at[k].lo <= lo;
            uint32_t hi = inside ? p->b->edges.at[k].hi : k < end ? p->b->edges.at[k].lo - 1 : g.hi;
            if (hi > g.hi) hi = g.hi;
            if (inside || p->difference) {
                uint32_t to = pair_state(p, g.to, inside ? p->b->edges.at[k].to : GONE);
                fsm_edge_add(p->out, at, lo, hi, to);
            }
            lo = hi + 1;
        }
    }
    work_charge(p->out->w, (p->out->edges.n - before) / 8);
}

static fsm *build(work *w, const fsm *a, const fsm *b, bool difference) {
    arena_mark here = arena_here(&w->mem);
    product p = {.a = a, .b = b, .difference = difference, .out = fsm_new(w)};
    pair_state(&p, a->start, b == NULL ? GONE : b->start);
    for (uint32_t at = 0; at < p.pairs.n; at++) expand_pair(&p, at);
    fsm_index(p.out);
    return fsm_keep(p.out, here);
}

fsm *fsm_intersection(const fsm *a, const fsm *b) {
    return a == NULL || b == NULL ? NULL : build(a->w, a, b, false);
}

fsm *fsm_difference(const fsm *a, const fsm *b) { return a == NULL ? NULL : build(a->w, a, b, true); }

fsm *fsm_complement(work *w, const fsm *a, uint32_t lo, uint32_t hi) {
    fsm *all = fsm_new(w);
    all->final.at[all->start] = 1;
    fsm_edge_add(all, all->start, lo, hi, all->start);
    fsm_index(all);
    return fsm_difference(all, a);
}

static bool every_edge(void *ctx, const fsm_edge *e) {
    (void)ctx;
    (void)e;
    return true;
}

fsm *fsm_reduce(fsm *f) {
    fsm *trimmed = f == NULL ? NULL : fsm_trim(f, every_edge, NULL);
    if (trimmed == NULL) return NULL;
    fsm *out = fsm_minimise(trimmed);
    out->reduced = true;
    return out;
}
