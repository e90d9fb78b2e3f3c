/* fsm.c - see fsm.h: edges by range, subset construction, trimming, minimisation.
 *
 * Determinise.  Subsets are interned; the edges of a subset come from one sweep
 * over the ends of its members' ranges.  Cost: the edges looked at; past
 * SUBSET_WORK, or four subsets a state and 2,000, fsm_determinise keeps the
 * nondeterminism and fsm_determinise_fully leaves with STE_ERR_LIMIT.
 *
 * Minimise.  Strongly connected components are taken callees first.  A state
 * outside cycles is equal to another exactly if its signature (final or not, and
 * its edges with classes as targets) is, so one look is enough; within a
 * component classes are refined until signatures agree.  A component of more
 * than LARGE_COMPONENT states keeps the states where its cycles close apart:
 * the result is equivalent, but may not be the smallest. */
#include "fsm.h"

#include "utf8.h"

void work_charge(work *w, uint64_t n) {
    uint64_t before = w->states;
    w->states += n;
    if (w->states > w->limits.states)
        escape(&w->out, STE_ERR_LIMIT, 0, "grammar needs more than %llu automaton states",
               (unsigned long long)w->limits.states);
    if (before >> 12 != w->states >> 12 && monotonic_seconds() > w->deadline)
        escape(&w->out, STE_ERR_LIMIT, 0, "compile takes longer than %g seconds", w->limits.compile_seconds);
}

fsm *fsm_new(work *w) {
    fsm *f = arena_alloc(&w->mem, 1, sizeof *f);
    f->w = w;
    fsm_state(f);
    return f;
}

uint32_t fsm_state(fsm *f) {
    work_charge(f->w, 1);
    f->reduced = false;
    vec_push(&f->w->mem, &f->final, 0);
    return f->final.n - 1;
}

void fsm_edge_add(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    f->reduced = false;
    vec_push(&f->w->mem, &f->edges, (fsm_edge){from, lo, hi, to});
}

void fsm_empty_add(fsm *f, uint32_t from, uint32_t to) {
    if (from != to) vec_push(&f->w->mem, &f->empties, (fsm_empty){from, to});
}

void fsm_insert(fsm *f, const fsm *part, uint32_t from, uint32_t to) {
    uint32_t n = fsm_size(part);
    uint32_t *number = arena_alloc(&f->w->mem, n, sizeof *number);
    for (uint32_t s = 0; s < n; s++) number[s] = fsm_state(f);
    fsm_empty_add(f, from, number[part->start]);
    for (uint32_t i = 0; i < part->edges.n; i++) {
        fsm_edge g = part->edges.at[i];
        fsm_edge_add(f, number[g.from], g.lo, g.hi, number[g.to]);
    }
    for (uint32_t i = 0; i < part->empties.n; i++)
        fsm_empty_add(f, number[part->empties.at[i].from], number[part->empties.at[i].to]);
    for (uint32_t s = 0; s < n; s++)
        if (part->final.at[s]) fsm_empty_add(f, number[s], to);
}

typedef struct utf8_target {
    fsm *f;
    uint32_t from, to;
} utf8_target;

static void add_span(void *ctx, const utf8_span *span) {
    utf8_target *t = ctx;
    uint32_t at = t->from;
    for (uint32_t i = 0; i < span->length; i++) {
        uint32_t next = i + 1 == span->length ? t->to : fsm_state(t->f);
        fsm_edge_add(t->f, at, span->lo[i], span->hi[i], next);
        at = next;
    }
}

void fsm_utf8_add(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    utf8_target t = {f, from, to};
    utf8_ranges(lo, hi, add_span, &t);
}

fsm *fsm_keep(fsm *f, arena_mark since) {
    arena *mem = &f->w->mem;
    if (!arena_has_grown(mem, since)) return f;
    size_t n = fsm_size(f), edges_at = (sizeof *f + 15) & ~(size_t)15;
    size_t first_at = edges_at + f->edges.n * sizeof *f->edges.at;
    size_t final_at = first_at + (f->first == NULL ? 0 : (n + 1) * sizeof *f->first);
    char *block = arena_detach(mem, final_at + n);
    fsm *out = (fsm *)(void *)block;
    assert(f->empties.n == 0);
    *out = (fsm){.w = f->w, .start = f->start, .reduced = f->reduced};
    out->edges.at = (fsm_edge *)(void *)(block + edges_at);
    out->edges.n = out->edges.cap = f->edges.n;
    if (f->edges.n != 0) memcpy(out->edges.at, f->edges.at, f->edges.n * sizeof *f->edges.at);
    if (f->first != NULL) out->first = memcpy(block + first_at, f->first, (n + 1) * sizeof *f->first);
    out->final.at = memcpy(block + final_at, f->final.at, n);
    out->final.n = out->final.cap = (uint32_t)n;
    arena_rewind(mem, since, block);
    return out;
}

/* ---- index: edges sorted by (from, lo, to) ---- */

static bool edge_before(const fsm_edge *a, const fsm_edge *b) {
    if (a->from != b->from) return a->from < b->from;
    if (a->lo != b->lo) return a->lo < b->lo;
    if (a->hi != b->hi) return a->hi < b->hi;
    return a->to < b->to;
}

void fsm_sort_edges(arena *mem, fsm_edge *at, uint32_t n) {
    fsm_edge *spare = NULL;
    uint32_t sorted = 1;
    while (sorted < n && !edge_before(&at[sorted], &at[sorted - 1])) sorted++;
    if (sorted >= n) return; /* most constructions emit their edges in order */
    for (uint32_t lo = 0; lo < n; lo += 8) { /* insertion sort of short runs, then merge */
        uint32_t hi = lo + 8 < n ? lo + 8 : n;
        for (uint32_t i = lo + 1; i < hi; i++) {
            fsm_edge e = at[i];
            uint32_t j = i;
            for (; j > lo && edge_before(&e, &at[j - 1]); j--) at[j] = at[j - 1];
            at[j] = e;
        }
    }
    if (n > 8) spare = arena_alloc(mem, n, sizeof *spare);
    fsm_edge *from = at, *to = spare;
    for (uint32_t width = 8; width < n; width *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            uint32_t i = lo, j = mid, k = lo;
            while (i < mid && j < hi) {
                if (edge_before(&from[j], &from[i]))
                    to[k++] = from[j++];
                else
                    to[k++] = from[i++];
            }
            while (i < mid) to[k++] = from[i++];
            while (j < hi) to[k++] = from[j++];
        }
        fsm_edge *swap = from;
        from = to;
        to = swap;
    }
    if (from != at) memcpy(at, from, (size_t)n * sizeof *at);
}

void fsm_index(fsm *f) {
    uint32_t n = fsm_size(f), *first = arena_alloc(&f->w->mem, (size_t)n + 2, sizeof *first);
    bool rising = true;
    for (uint32_t e = 0; e < f->edges.n; e++) {
        first[f->edges.at[e].from + 2]++;
        rising = rising && (e == 0 || f->edges.at[e - 1].from <= f->edges.at[e].from);
    }
    for (uint32_t s = 0; s < n; s++) first[s + 2] += first[s + 1];
    if (!rising && f->edges.n != 0) { /* by `from`; first[s + 1] moves from the beginning of s to its end */
        fsm_edge *to = arena_alloc(&f->w->mem, f->edges.n, sizeof *to);
        for (uint32_t e = 0; e < f->edges.n; e++) to[first[f->edges.at[e].from + 1]++] = f->edges.at[e];
        f->edges.at = to;
        f->edges.cap = f->edges.n;
    } else {
        for (uint32_t s = 0; s < n; s++) first[s + 1] = first[s + 2];
    }
    f->first = first;
    for (uint32_t s = 0; s < n && f->edges.n != 0; s++)
        fsm_sort_edges(&f->w->mem, f->edges.at + first[s], first[s + 1] - first[s]);
}

/* ---- subset construction ---- */

typedef struct subset {
    uint32_t n;
    uint32_t *states; /* sorted */
    uint64_t hash;
} subset;

#define NOTHING UINT32_MAX

typedef struct determiniser {
    fsm *in, *out;
    uint32_t *empty_first; /* empties of in, by from */
    uint32_t *empty_to;
    uint32_t *stamp, round;
    uint32_t *alone; /* state of out, + 1, for the subset of one state of in; such subsets are not in the table */
    uint32_t *after; /* state of out, + 1, for a state of in and what empty edges reach from it; or NOTHING */
    VEC(uint32_t) gathered;
    VEC(subset) subsets; /* of out's states */
    uint32_t *table, mask;
    uint8_t *accepts_all; /* NULL, or of each state of in: every text of letters is accepted from here */
} determiniser;

static void index_empties(determiniser *d) {
    fsm *f = d->in;
    arena *mem = &f->w->mem;
    uint32_t n = fsm_size(f);
    d->empty_first = arena_alloc(mem, (size_t)n + 2, sizeof *d->empty_first);
    d->empty_to = arena_alloc(mem, f->empties.n + 1, sizeof *d->empty_to);
    for (uint32_t i = 0; i < f->empties.n; i++) d->empty_first[f->empties.at[i].from + 2]++;
    for (uint32_t s = 0; s < n; s++) d->empty_first[s + 2] += d->empty_first[s + 1];
    for (uint32_t i = 0; i < f->empties.n; i++) {
        fsm_empty e = f->empties.at[i];
        d->empty_to[d->empty_first[e.from + 1]++] = e.to;
    }
}

/* Add s and what empty edges reach from it; only states that do something are kept. */
static void gather(determiniser *d, uint32_t s) {
    arena *mem = &d->in->w->mem;
    if (d->stamp[s] == d->round) return;
    d->stamp[s] = d->round;
    uint32_t base = d->gathered.n;
    vec_push(mem, &d->gathered, s);
    uint32_t keep = base;
    for (uint32_t i = base; i < d->gathered.n; i++) {
        uint32_t at = d->gathered.at[i];
        for (uint32_t e = d->empty_first[at]; e < d->empty_first[at + 1]; e++) {
            uint32_t to = d->empty_to[e];
            if (d->stamp[to] == d->round) continue;
            d->stamp[to] = d->round;
            vec_push(mem, &d->gathered, to);
        }
    }
    for (uint32_t i = base; i < d->gathered.n; i++) {
        uint32_t at = d->gathered.at[i];
        if (d->in->final.at[at] || d->in->first[at] != d->in->first[at + 1]) d->gathered.at[keep++] = at;
    }
    d->gathered.n = keep;
}

/* A state that accepts everything says all that the others could. */
static void keep_accepting(determiniser *d) {
    for (uint32_t i = 0; i < d->gathered.n; i++)
        if (d->accepts_all[d->gathered.at[i]]) {
            uint32_t only = d->gathered.at[i];
            d->gathered.n = 0;
            d->round++;
            gather(d, only); /* with the final state behind its empty edges */
            return;
        }
}

void sort_u32(uint32_t *at, uint32_t n) {
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            uint32_t v = at[i], j = i;
            for (; j >= gap && at[j - gap] > v; j -= gap) at[j] = at[j - gap];
            at[j] = v;
        }
}

static void grow_table(determiniser *d) {
    uint32_t size = d->mask == 0 ? 64 : (d->mask + 1) * 2;
    d->table = arena_alloc(&d->in->w->mem, size, sizeof *d->table);
    d->mask = size - 1;
    for (uint32_t i = 0; i < d->subsets.n; i++) {
        if (d->subsets.at[i].n == 1) continue;
        uint32_t slot = (uint32_t)d->subsets.at[i].hash & d->mask;
        while (d->table[slot] != 0) slot = (slot + 1) & d->mask;
        d->table[slot] = i + 1;
    }
}

/* A new state of out. */
static uint32_t add_subset(determiniser *d, subset s) {
    uint32_t id = d->subsets.n == 0 ? 0 : fsm_state(d->out);
    uint8_t final = 0;
    for (uint32_t i = 0; i < s.n; i++) final |= d->in->final.at[s.states[i]];
    d->out->final.at[id] = final;
    vec_push(&d->in->w->mem, &d->subsets, s);
    return id;
}

/* The state of out for the gathered set. */
static uint32_t intern_subset(determiniser *d) {
    arena *mem = &d->in->w->mem;
    if (d->gathered.n == 1) {
        uint32_t *alone = &d->alone[d->gathered.at[0]];
        if (*alone == 0) *alone = add_subset(d, (subset){1, arena_copy(mem, d->gathered.at, sizeof(uint32_t)), 0}) + 1;
        return *alone - 1;
    }
    if (d->subsets.n * 2 >= d->mask) grow_table(d);
    sort_u32(d->gathered.at, d->gathered.n);
    uint64_t hash = hash_bytes(d->gathered.at, d->gathered.n * sizeof(uint32_t), 1);
    uint32_t slot = (uint32_t)hash & d->mask;
    for (; d->table[slot] != 0; slot = (slot + 1) & d->mask) {
        const subset *s = &d->subsets.at[d->table[slot] - 1];
        if (s->hash == hash && s->n == d->gathered.n &&
            memcmp(s->states, d->gathered.at, s->n * sizeof(uint32_t)) == 0)
            return d->table[slot] - 1;
    }
    uint32_t id = add_subset(d, (subset){d->gathered.n, arena_copy(mem, d->gathered.at, d->gathered.n * sizeof(uint32_t)), hash});
    d->table[slot] = id + 1;
    return id;
}

/* State `to` of out after symbols lo..hi from state id. */
static void add_edge(determiniser *d, uint32_t id, uint32_t lo, uint32_t hi, uint32_t to) {
    fsm_edge *back = d->out->edges.n != 0 ? &d->out->edges.at[d->out->edges.n - 1] : NULL;
    if (back != NULL && back->from == id && back->to == to && back->hi + 1 == lo && sym_has_ranges(lo))
        back->hi = hi;
    else
        fsm_edge_add(d->out, id, lo, hi, to);
}

/* A subset of one state whose edges do not overlap, as in a trie. */
static bool is_simple(const determiniser *d, const subset *s) {
    if (s->n != 1) return false;
    const fsm *f = d->in;
    for (uint32_t e = f->first[s->states[0]]; e + 1 < f->first[s->states[0] + 1]; e++)
        if (f->edges.at[e + 1].lo <= f->edges.at[e].hi) return false;
    return true;
}

typedef struct sweep {
    VEC(fsm_edge) edges;   /* of one subset, by lo */
    VEC(uint32_t) points;  /* where the set of covering edges changes */
    VEC(uint32_t) active;  /* indices into edges */
    VEC(uint32_t) targets; /* of the active ones */
} sweep;

static void gather_from(determiniser *d, const uint32_t *targets, uint32_t n) {
    d->gathered.n = 0;
    d->round++;
    for (uint32_t i = 0; i < n; i++) gather(d, targets[i]);
    if (d->accepts_all != NULL) keep_accepting(d);
}

/* The edges of subset id.  Returns what that cost: edges looked at. */
static uint64_t expand_subset(determiniser *d, uint32_t id, sweep *w) {
    arena *mem = &d->in->w->mem;
    subset s = d->subsets.at[id];
    if (is_simple(d, &s)) {
        uint32_t first = d->in->first[s.states[0]], end = d->in->first[s.states[0] + 1];
        for (uint32_t e = first; e < end; e++) {
            fsm_edge edge = d->in->edges.at[e];
            uint32_t *after = &d->after[edge.to];
            if (*after == 0) {
                gather_from(d, &edge.to, 1);
                *after = d->gathered.n == 0 ? NOTHING : intern_subset(d) + 1;
            }
            if (*after != NOTHING) add_edge(d, id, edge.lo, edge.hi, *after - 1);
        }
        return end - first;
    }
    w->edges.n = w->points.n = w->active.n = w->targets.n = 0;
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t e = d->in->first[s.states[i]]; e < d->in->first[s.states[i] + 1]; e++) {
            fsm_edge edge = d->in->edges.at[e];
            edge.from = 0; /* so that sorting goes by lo */
            vec_push(mem, &w->edges, edge);
            vec_push(mem, &w->points, edge.lo);
            vec_push(mem, &w->points, edge.hi + 1);
        }
    uint64_t cost = w->edges.n;
    fsm_sort_edges(mem, w->edges.at, w->edges.n);
    sort_u32(w->points.at, w->points.n);
    uint32_t next = 0;
    for (uint32_t p = 0; p + 1 < w->points.n; p++) {
        uint32_t lo = w->points.at[p], hi = w->points.at[p + 1];
        if (lo == hi) continue;
        uint32_t keep = 0;
        for (uint32_t i = 0; i < w->active.n; i++)
            if (w->edges.at[w->active.at[i]].hi >= lo) w->active.at[keep++] = w->active.at[i];
        w->active.n = keep;
        for (; next < w->edges.n && w->edges.at[next].lo == lo; next++) vec_push(mem, &w->active, next);
        if (w->active.n == 0) continue;
        cost += w->active.n;
        w->targets.n = 0;
        for (uint32_t i = 0; i < w->active.n; i++) vec_push(mem, &w->targets, w->edges.at[w->active.at[i]].to);
        gather_from(d, w->targets.at, w->targets.n);
        if (d->gathered.n != 0) add_edge(d, id, lo, hi - 1, intern_subset(d)); /* else nothing can follow or end here */
    }
    return cost;
}

/* Equal language, same states, no empty edges. */
static fsm *remove_empties(determiniser *d) {
    fsm *f = d->in, *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        d->gathered.n = 0;
        d->round++;
        gather(d, s);
        for (uint32_t i = 0; i < d->gathered.n; i++) {
            uint32_t at = d->gathered.at[i];
            out->final.at[s] |= f->final.at[at];
            work_charge(f->w, (f->first[at + 1] - f->first[at]) / 4);
            for (uint32_t e = f->first[at]; e < f->first[at + 1]; e++) {
                fsm_edge edge = f->edges.at[e];
                fsm_edge_add(out, s, edge.lo, edge.hi, edge.to);
            }
        }
    }
    fsm_index(out);
    return out;
}

/* Which states end a text and go to themselves only, on all of 0 .. letters - 1. */
static uint8_t *accepting_all(determiniser *d, uint32_t letters) {
    fsm *f = d->in;
    uint8_t *out = arena_alloc(&f->w->mem, fsm_size(f), 1);
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        uint32_t next = 0; /* the lowest letter that is not known to lead back here */
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            if (g.to == s && g.lo <= next && g.hi >= next) next = g.hi + 1;
        }
        if (next < letters) continue;
        d->gathered.n = 0;
        d->round++;
        gather(d, s);
        for (uint32_t i = 0; i < d->gathered.n; i++) out[s] |= f->final.at[d->gathered.at[i]];
    }
    return out;
}

static void determiniser_init(determiniser *d, fsm *f) {
    *d = (determiniser){.in = f, .out = fsm_new(f->w)};
    d->stamp = arena_alloc(&f->w->mem, fsm_size(f), sizeof *d->stamp);
    d->alone = arena_alloc(&f->w->mem, fsm_size(f), sizeof *d->alone);
    d->after = arena_alloc(&f->w->mem, fsm_size(f), sizeof *d->after);
    index_empties(d);
    d->round = 1;
    gather(d, f->start);
    intern_subset(d);
}

/* Edges that all subsets may look at, and what a subset costs besides: about half a second of work. */
#define SUBSET_WORK UINT64_C(10000000)
#define SUBSET_COST 16

fsm *fsm_determinise(fsm *f) {
    determiniser d;
    fsm_index(f); /* stays with f */
    arena_mark here = arena_here(&f->w->mem);
    determiniser_init(&d, f);
    uint64_t spent = 0;
    uint32_t cap = fsm_size(f) * 4 + 2000;
    sweep w = {0};
    for (uint32_t id = 0; id < d.subsets.n; id++) {
        if (d.subsets.n > cap || spent > SUBSET_WORK) return fsm_keep(remove_empties(&d), here);
        spent += expand_subset(&d, id, &w) + SUBSET_COST;
    }
    fsm_index(d.out);
    return fsm_keep(d.out, here);
}

fsm *fsm_determinise_within(fsm *f, uint64_t *budget) {
    determiniser d;
    fsm_index(f);
    arena_mark here = arena_here(&f->w->mem);
    determiniser_init(&d, f);
    sweep w = {0};
    for (uint32_t id = 0; id < d.subsets.n; id++) {
        uint64_t cost = expand_subset(&d, id, &w) + SUBSET_COST;
        *budget -= cost < *budget ? cost : *budget;
        if (*budget == 0) {
            arena_rewind(&f->w->mem, here, NULL);
            return NULL;
        }
    }
    fsm_index(d.out);
    return fsm_keep(d.out, here);
}

fsm *fsm_determinise_fully(fsm *f) { return fsm_determinise_letters(f, 0); }

fsm *fsm_determinise_letters(fsm *f, uint32_t letters) {
    determiniser d;
    fsm_index(f);
    arena_mark here = arena_here(&f->w->mem);
    determiniser_init(&d, f);
    if (letters > 0) d.accepts_all = accepting_all(&d, letters);
    sweep w = {0};
    uint64_t spent = 0;
    for (uint32_t id = 0; id < d.subsets.n; id++) {
        uint64_t cost = expand_subset(&d, id, &w) + SUBSET_COST;
        spent += cost;
        work_charge(f->w, cost / 16);
        if (spent > SUBSET_WORK)
            escape(&f->w->out, STE_ERR_LIMIT, 0, "a deterministic automaton needs more than %u states", d.subsets.n);
    }
    fsm_index(d.out);
    return fsm_keep(d.out, here);
}

/* ---- trim ---- */

fsm *fsm_trim(fsm *f, bool (*keep)(void *ctx, const fsm_edge *e), void *ctx) {
    arena *mem = &f->w->mem;
    arena_mark here = arena_here(mem);
    uint32_t n = fsm_size(f);
    uint8_t *forward = arena_alloc(mem, n, 1), *useful = arena_alloc(mem, n, 1);
    uint32_t *stack = arena_alloc(mem, n, sizeof *stack), depth = 0;
    uint8_t *kept = arena_alloc(mem, f->edges.n + 1, 1);
    for (uint32_t e = 0; e < f->edges.n; e++) kept[e] = keep(ctx, &f->edges.at[e]);

    forward[f->start] = 1;
    stack[depth++] = f->start;
    while (depth > 0) {
        uint32_t s = stack[--depth];
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
            if (kept[e] && !forward[f->edges.at[e].to]) {
                forward[f->edges.at[e].to] = 1;
                stack[depth++] = f->edges.at[e].to;
            }
    }
    uint32_t *back_first = arena_alloc(mem, (size_t)n + 2, sizeof *back_first);
    uint32_t *back = arena_alloc(mem, f->edges.n + 1, sizeof *back);
    for (uint32_t e = 0; e < f->edges.n; e++) back_first[f->edges.at[e].to + 2]++;
    for (uint32_t s = 0; s < n; s++) back_first[s + 2] += back_first[s + 1];
    for (uint32_t e = 0; e < f->edges.n; e++) back[back_first[f->edges.at[e].to + 1]++] = e;
    for (uint32_t s = 0; s < n; s++)
        if (f->final.at[s] && forward[s]) {
            useful[s] = 1;
            stack[depth++] = s;
        }
    while (depth > 0) {
        uint32_t s = stack[--depth];
        for (uint32_t i = back_first[s]; i < back_first[s + 1]; i++) {
            uint32_t from = f->edges.at[back[i]].from;
            if (kept[back[i]] && forward[from] && !useful[from]) {
                useful[from] = 1;
                stack[depth++] = from;
            }
        }
    }
    if (!useful[f->start]) return NULL;
    bool whole = true;
    for (uint32_t s = 0; s < n && whole; s++) whole = useful[s];
    for (uint32_t e = 0; e < f->edges.n && whole; e++) whole = kept[e];
    if (whole) {
        arena_rewind(mem, here, NULL);
        return f;
    }

    fsm *out = fsm_new(f->w);
    uint32_t *number = arena_alloc(mem, n, sizeof *number), made = 0;
    for (uint32_t s = 0; s < n; s++) /* in order, so that the edges stay sorted */
        if (useful[s]) number[s] = made++ == 0 ? 0 : fsm_state(out);
    out->start = number[f->start];
    for (uint32_t s = 0; s < n; s++)
        if (useful[s]) out->final.at[number[s]] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (kept[e] && useful[g.from] && useful[g.to]) fsm_edge_add(out, number[g.from], g.lo, g.hi, number[g.to]);
    }
    fsm_index(out);
    return fsm_keep(out, here);
}

/* ---- minimise ---- */

typedef struct merger {
    fsm *f;
    uint32_t *class; /* of each state */
    uint32_t *table, mask;
    VEC(fsm_edge) signature; /* edges with classes, one run per table entry */
    VEC(uint32_t) first;     /* entry -> its run; one more at the end */
    VEC(uint32_t) final;     /* entry -> final flag (and, in refinement, old class) */
    uint32_t *number;        /* state -> member of the component at hand + 1; else 0 */
} merger;

static void merger_clear(merger *m, uint32_t n) {
    arena *mem = &m->f->w->mem;
    uint32_t size = 64;
    while (size < n * 2 + 2) size *= 2;
    if (m->mask + 1 < size || m->table == NULL) {
        m->table = arena_alloc(mem, size, sizeof *m->table);
        m->mask = size - 1;
    } else {
        memset(m->table, 0, ((size_t)m->mask + 1) * sizeof *m->table);
    }
    m->signature.n = m->first.n = m->final.n = 0;
    vec_push(mem, &m->first, 0);
}

/* Number of the signature of s: its tag and its edges, with classes as targets. */
static uint32_t merger_entry(merger *m, uint32_t s, uint32_t tag) {
    fsm *f = m->f;
    arena *mem = &f->w->mem;
    uint32_t base = m->signature.n;
    for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
        fsm_edge g = f->edges.at[e];
        fsm_edge *back = m->signature.n > base ? &m->signature.at[m->signature.n - 1] : NULL;
        if (back != NULL && back->to == m->class[g.to] && back->hi + 1 == g.lo && sym_has_ranges(g.lo))
            back->hi = g.hi;
        else
            vec_push(mem, &m->signature, (fsm_edge){0, g.lo, g.hi, m->class[g.to]});
    }
    uint32_t n = m->signature.n - base;
    uint64_t hash = n == 0 ? hash_mix(7, tag) : hash_bytes(m->signature.at + base, n * sizeof(fsm_edge), tag);
    uint32_t slot = (uint32_t)hash & m->mask;
    for (; m->table[slot] != 0; slot = (slot + 1) & m->mask) {
        uint32_t k = m->table[slot] - 1;
        if (m->final.at[k] == tag && m->first.at[k + 1] - m->first.at[k] == n &&
            (n == 0 || memcmp(m->signature.at + m->first.at[k], m->signature.at + base, n * sizeof(fsm_edge)) == 0)) {
            m->signature.n = base;
            return k;
        }
    }
    vec_push(mem, &m->final, tag);
    vec_push(mem, &m->first, m->signature.n);
    m->table[slot] = m->final.n;
    return m->final.n - 1;
}

/* Tarjan's algorithm, without recursion. */
uint32_t fsm_components(const fsm *f, uint32_t *order, uint8_t *last) {
    arena *mem = &f->w->mem;
    uint32_t n = fsm_size(f), depth = 0, on_stack = 0, counter = 0, done = 0;
    uint32_t *index = arena_alloc(mem, n, sizeof *index), *low = arena_alloc(mem, n, sizeof *low);
    uint32_t *path = arena_alloc(mem, n, sizeof *path), *edge = arena_alloc(mem, n, sizeof *edge);
    uint32_t *stack = arena_alloc(mem, n, sizeof *stack);
    uint8_t *open = arena_alloc(mem, n, 1);
    path[depth] = f->start;
    edge[depth++] = f->first[f->start];
    while (depth > 0) {
        uint32_t s = path[depth - 1];
        if (index[s] == 0) {
            index[s] = low[s] = ++counter;
            stack[on_stack++] = s;
            open[s] = 1;
        }
        if (edge[depth - 1] < f->first[s + 1]) {
            uint32_t to = f->edges.at[edge[depth - 1]++].to;
            if (index[to] == 0) {
                path[depth] = to;
                edge[depth++] = f->first[to];
            } else if (open[to] && index[to] < low[s]) {
                low[s] = index[to];
            }
            continue;
        }
        if (low[s] == index[s]) {
            uint32_t member;
            do {
                member = stack[--on_stack];
                open[member] = 0;
                order[done++] = member;
            } while (member != s);
            last[done - 1] = 1;
        }
        if (--depth > 0 && low[s] < low[path[depth - 1]]) low[path[depth - 1]] = low[s];
    }
    return done;
}

/* The quotient by m->class, states numbered breadth first from the start. */
static fsm *quotient(merger *m, uint32_t n_classes) {
    fsm *f = m->f, *out = fsm_new(f->w);
    arena *mem = &f->w->mem;
    uint32_t *member = arena_alloc(mem, n_classes, sizeof *member), *number = arena_alloc(mem, n_classes, sizeof *number);
    uint32_t *queue = arena_alloc(mem, n_classes, sizeof *queue), head = 0, tail = 0;
    for (uint32_t s = fsm_size(f); s-- > 0;) member[m->class[s]] = s;
    number[m->class[f->start]] = 1; /* number + 1 */
    queue[tail++] = m->class[f->start];
    while (head < tail) {
        uint32_t c = queue[head++], s = member[c], from = number[c] - 1;
        out->final.at[from] = f->final.at[s];
        uint32_t base = out->edges.n;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            uint32_t k = m->class[g.to];
            if (number[k] == 0) {
                number[k] = fsm_state(out) + 1;
                queue[tail++] = k;
            }
            fsm_edge *back = out->edges.n > base ? &out->edges.at[out->edges.n - 1] : NULL;
            if (back != NULL && back->to == number[k] - 1 && back->hi + 1 == g.lo && sym_has_ranges(g.lo))
                back->hi = g.hi;
            else
                fsm_edge_add(out, from, g.lo, g.hi, number[k] - 1);
        }
    }
    fsm_index(out);
    return out;
}

#define SELF UINT32_MAX            /* class of a state in its own signature */
#define WITHIN (UINT32_C(1) << 31) /* classes of the component at hand, while it is refined */

static bool self_loop(const fsm *f, uint32_t s) {
    for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
        if (f->edges.at[e].to == s) return true;
    return false;
}

/* Refinement of one component.  Members are numbered 0 .. n; a class is a list of members. */
typedef struct refiner {
    merger *m;
    merger inner;             /* signatures of one round */
    const uint32_t *members;
    uint32_t n, n_classes;
    uint32_t *back_first, *back; /* member -> members with an edge to it */
    uint32_t *head, *count, *touched; /* per class: first member + 1, members, dirty ones in this round */
    uint32_t *next, *previous;
    uint8_t *dirty;
    VEC(uint32_t) now, later; /* dirty members */
} refiner;

static void index_back(refiner *r) {
    fsm *f = r->m->f;
    arena *mem = &f->w->mem;
    uint32_t *number = r->m->number;
    for (uint32_t i = 0; i < r->n; i++) number[r->members[i]] = i + 1;
    r->back_first = arena_alloc(mem, (size_t)r->n + 2, sizeof *r->back_first);
    uint32_t total = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t e = f->first[r->members[i]]; e < f->first[r->members[i] + 1]; e++)
            if (number[f->edges.at[e].to] != 0) r->back_first[number[f->edges.at[e].to] + 1]++, total++;
    for (uint32_t i = 0; i < r->n; i++) r->back_first[i + 2] += r->back_first[i + 1];
    r->back = arena_alloc(mem, total + 1, sizeof *r->back);
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t e = f->first[r->members[i]]; e < f->first[r->members[i] + 1]; e++) {
            uint32_t to = number[f->edges.at[e].to];
            if (to != 0) r->back[r->back_first[to]++] = i;
        }
    for (uint32_t i = 0; i < r->n; i++) number[r->members[i]] = 0;
}

static void set_class(refiner *r, uint32_t i, uint32_t class) {
    r->m->class[r->members[i]] = WITHIN | class;
    r->count[class]++;
    r->previous[i] = 0;
    r->next[i] = r->head[class];
    if (r->head[class] != 0) r->previous[r->head[class] - 1] = i + 1;
    r->head[class] = i + 1;
}

static void leave_class(refiner *r, uint32_t i, uint32_t class) {
    r->count[class]--;
    *(r->previous[i] != 0 ? &r->next[r->previous[i] - 1] : &r->head[class]) = r->next[i];
    if (r->next[i] != 0) r->previous[r->next[i] - 1] = r->previous[i];
}

static uint32_t class_of(const refiner *r, uint32_t i) { return r->m->class[r->members[i]] & ~WITHIN; }

/* Split the classes of the members that are dirty now: those whose signatures still agree stay
 * together, and with those that are not dirty. */
static void refine_round(refiner *r) {
    arena *mem = &r->m->f->w->mem;
    merger_clear(&r->inner, r->now.n * 2);
    work_charge(r->m->f->w, r->now.n / 16);
    for (uint32_t k = 0; k < r->now.n; k++) r->touched[class_of(r, r->now.at[k])]++;
    uint32_t *entry = arena_alloc(mem, r->now.n + 1, sizeof *entry);
    uint32_t *class = arena_alloc(mem, (size_t)r->now.n * 2 + 1, sizeof *class); /* of an entry, + 1 */
    for (uint32_t k = 0; k < r->now.n; k++) {
        uint32_t i = r->now.at[k], c = class_of(r, i);
        if (r->touched[c] != 0 && r->touched[c] < r->count[c]) { /* once per class: one that is not dirty stands for them */
            uint32_t calm = r->head[c];
            while (r->dirty[calm - 1]) calm = r->next[calm - 1];
            class[merger_entry(&r->inner, r->members[calm - 1], c)] = c + 1;
        }
        if (r->touched[c] == r->count[c]) class[merger_entry(&r->inner, r->members[i], c)] = c + 1;
        r->touched[c] = 0;
        entry[k] = merger_entry(&r->inner, r->members[i], c);
    }
    for (uint32_t k = 0; k < r->now.n; k++) {
        uint32_t i = r->now.at[k], c = class_of(r, i);
        r->dirty[i] = 0;
        if (class[entry[k]] == 0) class[entry[k]] = ++r->n_classes;
        if (class[entry[k]] == c + 1) continue;
        leave_class(r, i, c);
        entry[k] |= WITHIN; /* it moves, once all signatures are taken */
    }
    for (uint32_t k = 0; k < r->now.n; k++)
        if ((entry[k] & WITHIN) != 0) set_class(r, r->now.at[k], class[entry[k] & ~WITHIN] - 1);
    r->later.n = 0;
    for (uint32_t k = 0; k < r->now.n; k++) {
        if ((entry[k] & WITHIN) == 0) continue;
        uint32_t i = r->now.at[k];
        for (uint32_t e = r->back_first[i]; e < r->back_first[i + 1]; e++) {
            uint32_t from = r->back[e];
            if (r->dirty[from]) continue;
            r->dirty[from] = 1;
            vec_push(mem, &r->later, from);
        }
    }
    r->now.n = 0;
    for (uint32_t k = 0; k < r->later.n; k++) vec_push(mem, &r->now, r->later.at[k]);
}

/* A component with inner cycles: split classes until signatures agree within each. */
static void refine(merger *m, const uint32_t *members, uint32_t n) {
    fsm *f = m->f;
    arena *mem = &f->w->mem;
    refiner r = {.m = m, .inner = {.f = f, .class = m->class}, .members = members, .n = n, .n_classes = 2};
    index_back(&r);
    r.head = arena_alloc(mem, (size_t)n + 2, sizeof *r.head);
    r.count = arena_alloc(mem, (size_t)n + 2, sizeof *r.count);
    r.touched = arena_alloc(mem, (size_t)n + 2, sizeof *r.touched);
    r.next = arena_alloc(mem, n, sizeof *r.next);
    r.previous = arena_alloc(mem, n, sizeof *r.previous);
    r.dirty = arena_alloc(mem, n, 1);
    for (uint32_t i = 0; i < n; i++) {
        set_class(&r, i, f->final.at[members[i]]);
        r.dirty[i] = 1;
        vec_push(mem, &r.now, i);
    }
    while (r.now.n != 0) refine_round(&r);
    for (uint32_t i = 0; i < n; i++) m->class[members[i]] = m->final.n + class_of(&r, i);
    for (uint32_t i = 0; i < r.n_classes; i++) { /* entries without a signature: nothing else is equal to them */
        vec_push(mem, &m->final, UINT32_MAX);
        vec_push(mem, &m->first, m->signature.n);
    }
}

/* A component so large that refining it is slow: the places where its cycles close stay states of
 * their own, and then one look at the signature is exact for all others. */
#define LARGE_COMPONENT 2000

static void merge_between(merger *m, const uint32_t *members, uint32_t n) {
    fsm *f = m->f;
    arena *mem = &f->w->mem;
    uint32_t *place = m->number; /* in members: callees first */
    uint8_t *closes = arena_alloc(mem, n, 1);
    for (uint32_t i = 0; i < n; i++) place[members[i]] = i + 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = f->first[members[i]]; e < f->first[members[i] + 1]; e++) {
            uint32_t to = place[f->edges.at[e].to];
            if (to > i) closes[to - 1] = 1; /* a later one, or itself */
        }
    for (uint32_t i = 0; i < n; i++) {
        place[members[i]] = 0;
        if (closes[i] == 0) continue;
        m->class[members[i]] = m->final.n;
        vec_push(mem, &m->final, UINT32_MAX);
        vec_push(mem, &m->first, m->signature.n);
    }
    for (uint32_t i = 0; i < n; i++)
        if (closes[i] == 0) m->class[members[i]] = merger_entry(m, members[i], f->final.at[members[i]]);
}

/* Component by component, callees first: outside cycles one look at the signature is exact. */
fsm *fsm_minimise(fsm *f) {
    arena *mem = &f->w->mem;
    arena_mark here = arena_here(mem);
    uint32_t n = fsm_size(f);
    merger m = {.f = f, .class = arena_alloc(mem, n, sizeof(uint32_t)), .number = arena_alloc(mem, n, sizeof(uint32_t))};
    uint32_t *order = arena_alloc(mem, n, sizeof *order);
    uint8_t *last = arena_alloc(mem, n, 1);
    fsm_components(f, order, last); /* trimmed: every state is reached */
    merger_clear(&m, n);
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; !last[to - 1]; to++) {}
        uint32_t s = order[from];
        if (to - from > LARGE_COMPONENT) {
            merge_between(&m, order + from, to - from);
            continue;
        }
        if (to - from > 1) {
            refine(&m, order + from, to - from);
            continue;
        }
        bool loops = self_loop(f, s);
        m.class[s] = SELF;
        m.class[s] = merger_entry(&m, s, f->final.at[s] | (loops ? 2u : 0u));
    }
    return fsm_keep(quotient(&m, m.final.n), here);
}
