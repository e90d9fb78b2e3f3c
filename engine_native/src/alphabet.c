/* alphabet.c - see alphabet.h. */
#include "alphabet.h"

#include "utf8.h"

void alphabet_init(alphabet *a, work *w) { *a = (alphabet){.w = w}; }

static void grow(alphabet *a) {
    uint32_t size = a->table == NULL ? 64 : (a->mask + 1) * 2;
    a->table = arena_alloc(&a->w->mem, size, sizeof *a->table);
    a->mask = size - 1;
    for (uint32_t i = 0; i < a->sets.n; i++) {
        uint32_t slot = (uint32_t)a->sets.at[i].hash & a->mask;
        while (a->table[slot] != 0) slot = (slot + 1) & a->mask;
        a->table[slot] = i + 1;
    }
}

uint32_t alphabet_add(alphabet *a, const cp_range *ranges, uint32_t n) {
    if (a->table == NULL || a->sets.n * 2 >= a->mask) grow(a);
    uint64_t hash = hash_bytes(ranges, n * sizeof *ranges, 3);
    uint32_t slot = (uint32_t)hash & a->mask;
    for (; a->table[slot] != 0; slot = (slot + 1) & a->mask) {
        const alphabet_set *s = &a->sets.at[a->table[slot] - 1];
        if (s->hash == hash && s->n_ranges == n && memcmp(s->ranges, ranges, n * sizeof *ranges) == 0)
            return a->table[slot] - 1;
    }
    alphabet_set made = {.ranges = ranges, .n_ranges = n, .hash = hash};
    vec_push(&a->w->mem, &a->sets, made);
    a->table[slot] = a->sets.n;
    return a->sets.n - 1;
}

/* ---- the partition ---- */

static void sort_cuts(arena *mem, uint32_t *at, uint32_t n) {
    uint32_t *spare = arena_alloc(mem, n, sizeof *spare), *from = at, *to = spare;
    for (uint32_t shift = 0; shift < 21; shift += 7) { /* 21 bits, radix 128 */
        uint32_t count[129] = {0};
        for (uint32_t i = 0; i < n; i++) count[(from[i] >> shift & 127) + 1]++;
        for (uint32_t d = 0; d < 128; d++) count[d + 1] += count[d];
        for (uint32_t i = 0; i < n; i++) to[count[from[i] >> shift & 127]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    memcpy(at, from, n * sizeof *at); /* after three passes the result is in spare */
}

static void cut(alphabet *a) {
    arena *mem = &a->w->mem;
    VEC(uint32_t) cuts = {0};
    static const uint32_t fixed[] = {0, 0xD800, 0xE000, UTF8_MAX + 1};
    for (uint32_t i = 0; i < 4; i++) vec_push(mem, &cuts, fixed[i]);
    for (uint32_t s = 0; s < a->sets.n; s++)
        for (uint32_t i = 0; i < a->sets.at[s].n_ranges; i++) {
            vec_push(mem, &cuts, a->sets.at[s].ranges[i].lo);
            vec_push(mem, &cuts, a->sets.at[s].ranges[i].hi + 1);
        }
    sort_cuts(mem, cuts.at, cuts.n);
    uint32_t k = 0;
    for (uint32_t i = 0; i < cuts.n; i++)
        if (k == 0 || cuts.at[k - 1] != cuts.at[i]) cuts.at[k++] = cuts.at[i];
    a->from = cuts.at;
    a->n = k - 1;
}

/* The interval that begins at cp. */
static uint32_t interval_at(const alphabet *a, uint32_t cp) {
    uint32_t lo = 0, hi = a->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (a->from[mid] < cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

typedef struct splitter {
    uint32_t *size, *inside; /* of each block: intervals; how many of them are in the set at hand */
    uint32_t *part;          /* the block that takes those, or the block itself */
    uint32_t *touched;
} splitter;

/* Split the blocks that lie partly in the set. */
static void split(alphabet *a, const alphabet_set *s, splitter *p) {
    uint32_t n = 0;
    for (uint32_t r = 0; r < s->n_ranges; r++)
        for (uint32_t i = interval_at(a, s->ranges[r].lo); a->from[i] <= s->ranges[r].hi; i++) {
            uint32_t block = a->class_of[i];
            if (block != NO_CLASS && p->inside[block]++ == 0) p->touched[n++] = block;
        }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t block = p->touched[k];
        p->part[block] = p->inside[block] == p->size[block] ? block : a->n_classes++;
    }
    for (uint32_t r = 0; r < s->n_ranges; r++)
        for (uint32_t i = interval_at(a, s->ranges[r].lo); a->from[i] <= s->ranges[r].hi; i++) {
            uint32_t block = a->class_of[i];
            if (block == NO_CLASS) continue;
            a->class_of[i] = p->part[block];
            p->size[block]--;
            p->size[p->part[block]]++;
        }
    for (uint32_t k = 0; k < n; k++) p->inside[p->touched[k]] = 0;
}

void alphabet_finish(alphabet *a) {
    arena *mem = &a->w->mem;
    cut(a);
    a->class_of = arena_alloc(mem, a->n, sizeof *a->class_of);
    splitter p;
    p.size = arena_alloc(mem, a->n, sizeof *p.size);
    p.inside = arena_alloc(mem, a->n, sizeof *p.inside);
    p.part = arena_alloc(mem, a->n, sizeof *p.part);
    p.touched = arena_alloc(mem, a->n, sizeof *p.touched);
    for (uint32_t i = 0; i < a->n; i++) {
        bool surrogate = a->from[i] >= 0xD800 && a->from[i] < 0xE000;
        a->class_of[i] = surrogate ? NO_CLASS : 0;
        p.size[0] += !surrogate;
    }
    a->n_classes = 1;
    for (uint32_t s = 0; s < a->sets.n; s++) {
        work_charge(a->w, a->sets.at[s].n_ranges / 16);
        split(a, &a->sets.at[s], &p);
    }
    uint32_t named = 0, *renamed = p.part; /* by first code point */
    for (uint32_t c = 0; c < a->n_classes; c++) renamed[c] = NO_CLASS;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->class_of[i] == NO_CLASS) continue;
        if (renamed[a->class_of[i]] == NO_CLASS) renamed[a->class_of[i]] = named++;
        a->class_of[i] = renamed[a->class_of[i]];
    }
    uint32_t *seen = p.inside; /* all 0 */
    for (uint32_t s = 0; s < a->sets.n; s++) {
        cp_set symbols = {0};
        alphabet_set *set = &a->sets.at[s];
        for (uint32_t r = 0; r < set->n_ranges; r++)
            for (uint32_t i = interval_at(a, set->ranges[r].lo); a->from[i] <= set->ranges[r].hi; i++) {
                uint32_t c = a->class_of[i];
                if (c == NO_CLASS || seen[c] == s + 1) continue;
                seen[c] = s + 1;
                cp_set_add(mem, &symbols, c, c);
            }
        cp_set_normalise(&symbols);
        set->symbols = symbols.at;
        set->n_symbols = symbols.n;
    }
}

/* ---- back to code points ---- */

fsm *alphabet_spell(const alphabet *a, const fsm *f) {
    arena *mem = &a->w->mem;
    fsm *out = fsm_new(a->w);
    uint32_t *first = arena_alloc(mem, (size_t)a->n_classes + 2, sizeof *first); /* intervals by class */
    uint32_t *interval = arena_alloc(mem, a->n, sizeof *interval);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->class_of[i] != NO_CLASS) first[a->class_of[i] + 2]++;
    for (uint32_t c = 0; c < a->n_classes; c++) first[c + 2] += first[c + 1];
    for (uint32_t i = 0; i < a->n; i++)
        if (a->class_of[i] != NO_CLASS) interval[first[a->class_of[i] + 1]++] = i;
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    VEC(fsm_edge) edges = {0}; /* of one state, an interval each */
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        out->final.at[s] = f->final.at[s];
        edges.n = 0;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
            for (uint32_t c = f->edges.at[e].lo; c <= f->edges.at[e].hi; c++)
                for (uint32_t i = first[c]; i < first[c + 1]; i++)
                    vec_push(mem, &edges, (fsm_edge){s, a->from[interval[i]], a->from[interval[i] + 1] - 1, f->edges.at[e].to});
        work_charge(a->w, edges.n / 64);
        fsm_sort_edges(mem, edges.at, edges.n);
        for (uint32_t i = 0; i < edges.n; i++) {
            fsm_edge g = edges.at[i];
            fsm_edge *back = out->edges.n > 0 ? &out->edges.at[out->edges.n - 1] : NULL;
            if (back != NULL && back->from == s && back->to == g.to && back->hi + 1 == g.lo)
                back->hi = g.hi;
            else
                fsm_edge_add(out, s, g.lo, g.hi, g.to);
        }
    }
    fsm_index(out);
    return out;
}
