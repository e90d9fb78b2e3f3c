/* abundance.c - how many values a rule of JSON values has, at least.
 *
 * Texts are endless where their values need not be: white space repeats, and so
 * do the zeros of 1.000.  But a cycle that consumes any other character makes
 * longer and longer strings, arrays, objects or numbers, and so do counted
 * repeats.  Every edge of a rule is part of some text, so one such rule anywhere
 * below will do.  Of rules that are not built yet only their names count.
 *
 * Cost: the edges of all rules that are reached. */
#include "store.h"

/* Rules that are reached, in a table by address; solid: they consume a character that makes a difference. */
typedef struct reached {
    builder *b;
    VEC(const rule *) rules;
    VEC(uint8_t) solid;
    uint32_t *slots, n_slots; /* + 1 */
    bool endless; /* one that is not built yet has endlessly many texts */
} reached;

static uint32_t slot_of(const reached *q, const rule *r) {
    uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)r) & (q->n_slots - 1);
    while (q->slots[slot] != 0 && q->rules.at[q->slots[slot] - 1] != r) slot = (slot + 1) & (q->n_slots - 1);
    return slot;
}

/* What stands for a rule; NULL if it is not built yet. */
static const rule *built(const rule *r) { return r->kind == RULE_NAMED ? r->repeated : r; }

static void reach(reached *q, const rule *referenced) {
    arena *mem = &q->b->w->mem;
    const rule *r = built(referenced);
    if (r == NULL) q->endless = q->endless || name_is_endless(referenced);
    if (r == NULL) return;
    if (q->rules.n * 2 >= q->n_slots) {
        q->n_slots = q->n_slots == 0 ? 64 : q->n_slots * 2;
        q->slots = arena_alloc(mem, q->n_slots, sizeof *q->slots);
        for (uint32_t i = 0; i < q->rules.n; i++) q->slots[slot_of(q, q->rules.at[i])] = i + 1;
    }
    uint32_t slot = slot_of(q, r);
    if (q->slots[slot] != 0) return;
    vec_push(mem, &q->rules, r);
    vec_push(mem, &q->solid, 0);
    q->slots[slot] = q->rules.n;
}

static bool is_solid(const reached *q, const rule *referenced) {
    const rule *r = built(referenced);
    return r != NULL && q->solid.at[q->slots[slot_of(q, r)] - 1] != 0;
}

static bool makes_difference(const byte_edge *e) {
    for (uint32_t byte = e->lo; byte <= e->hi; byte++)
        if (byte == 0 || strchr(" \t\n\r0", (int)byte) == NULL) return true;
    return false;
}

/* Edges of a state in a row: bytes, then references. */
static const state *target(const state *st, uint32_t e) { return e < st->n_bytes ? st->bytes[e].to : st->rules[e - st->n_bytes].to; }

static bool edge_is_solid(const reached *q, const state *st, uint32_t e) {
    return e < st->n_bytes ? makes_difference(&st->bytes[e]) : is_solid(q, st->rules[e - st->n_bytes].rule);
}

typedef struct frame {
    uint32_t state, edge;
} frame;

/* Is a solid edge part of a cycle?  Strongly connected components (Tarjan), without recursion. */
static bool has_cycle(const reached *q, const rule *r) {
    arena *mem = &q->b->w->mem;
    uint32_t n = r->n_states, depth = 0, height = 0, counter = 0;
    uint32_t *index = arena_alloc(mem, n, sizeof *index), *low = arena_alloc(mem, n, sizeof *low);
    uint32_t *component = arena_alloc(mem, n, sizeof *component), *stack = arena_alloc(mem, n, sizeof *stack);
    frame *frames = arena_alloc(mem, n, sizeof *frames);
    work_charge(q->b->w, (r->n_bytes + r->n_rules) / 16 + 1);
    frames[depth++] = (frame){0, 0};
    while (depth > 0) {
        frame *at = &frames[depth - 1];
        uint32_t s = at->state;
        const state *st = &r->states[s];
        if (index[s] == 0) {
            index[s] = low[s] = ++counter;
            stack[height++] = s;
        }
        if (at->edge < st->n_bytes + st->n_rules) {
            uint32_t to = (uint32_t)(target(st, at->edge++) - r->states);
            if (index[to] == 0)
                frames[depth++] = (frame){to, 0};
            else if (component[to] == 0 && index[to] < low[s])
                low[s] = index[to];
            continue;
        }
        if (low[s] == index[s]) {
            uint32_t member;
            do {
                member = stack[--height];
                component[member] = index[s];
            } while (member != s);
        }
        depth--;
        if (depth > 0 && low[s] < low[frames[depth - 1].state]) low[frames[depth - 1].state] = low[s];
    }
    for (uint32_t s = 0; s < n; s++) {
        const state *st = &r->states[s];
        for (uint32_t e = 0; component[s] != 0 && e < st->n_bytes + st->n_rules; e++)
            if (component[s] == component[target(st, e) - r->states] && edge_is_solid(q, st, e)) return true;
    }
    return false;
}

/* How many of the characters lo..hi begin an edge of the state. */
static uint32_t count_characters(const state *st, uint32_t lo, uint32_t hi) {
    uint32_t n = 0;
    for (uint32_t byte = lo; byte <= hi; byte++) n += byteset_has(&st->allow, byte);
    return n;
}

static uint32_t power(uint32_t of, uint32_t n) {
    uint64_t out = 1;
    for (; of > 1 && n > 0 && out < UINT32_MAX; n--) out *= of;
    return out < UINT32_MAX ? (uint32_t)out : UINT32_MAX;
}

#define MOST_STEPS 64

/* Texts of a metered rule that have at most as many bytes as it admits characters: at least so many, counted up to MOST_STEPS. */
static uint32_t short_texts(const reached *q, const rule *r) {
    arena *mem = &q->b->w->mem;
    uint64_t *now = arena_alloc(mem, r->n_states, sizeof *now), *next = arena_alloc(mem, r->n_states, sizeof *next), found = 0;
    now[0] = 1;
    for (uint32_t step = 0; step < r->meter.most_chars && step < MOST_STEPS && found < UINT32_MAX; step++) {
        work_charge(q->b->w, (r->n_bytes + r->n_rules) / 16 + 1);
        memset(next, 0, r->n_states * sizeof *next);
        for (uint32_t s = 0; s < r->n_states; s++) {
            const state *st = &r->states[s];
            for (uint32_t e = 0; now[s] != 0 && e < st->n_bytes + st->n_rules; e++) {
                uint64_t *to = &next[target(st, e) - r->states], width = e < st->n_bytes ? st->bytes[e].hi - st->bytes[e].lo + 1u : 1;
                *to += now[s] * width;
                if (*to > UINT32_MAX) *to = UINT32_MAX;
            }
        }
        for (uint32_t s = 0; s < r->n_states; s++)
            if (r->states[s].final && step + 1 >= r->meter.least_chars) found += next[s];
        uint64_t *swap = now;
        now = next;
        next = swap;
    }
    return found < UINT32_MAX ? (uint32_t)found : UINT32_MAX;
}

static uint32_t own_values(const reached *q, const rule *r) {
    if (r->kind == RULE_REPEAT) {
        const rule *of = r->max == 0 ? NULL : built(r->repeated);
        if (of == NULL) return 1;
        if (r->max == REPEAT_INFINITE) return is_solid(q, of) ? UINT32_MAX : 1;
        return power(count_characters(&of->states[0], 'a', 'z'), r->max); /* each makes another string */
    }
    if (r->kind != RULE_PLAIN) return 1;
    if (r->metered && r->meter.most_chars != 0) return short_texts(q, r);
    if (has_cycle(q, r)) return UINT32_MAX;
    uint32_t most = 1;
    for (uint32_t s = 0; s < r->n_states; s++) { /* each digit makes another number, or another string */
        uint32_t digits = count_characters(&r->states[s], '1', '9');
        if (digits > most) most = digits;
    }
    return most;
}

static bool consumes(const reached *q, const rule *r) {
    for (uint32_t e = 0; e < r->n_bytes; e++)
        if (makes_difference(&r->bytes[e])) return true;
    for (uint32_t e = 0; e < r->n_rules; e++)
        if (is_solid(q, r->rules[e].rule)) return true;
    return r->kind == RULE_REPEAT && r->max != 0 && is_solid(q, r->repeated);
}

uint32_t rule_values(builder *b, const rule *r) {
    reached q = {.b = b};
    reach(&q, r);
    for (uint32_t i = 0; i < q.rules.n; i++) {
        const rule *at = q.rules.at[i];
        if (at->kind == RULE_REPEAT && at->max != 0) reach(&q, at->repeated);
        for (uint32_t e = 0; e < at->n_rules; e++) reach(&q, at->rules[e].rule);
    }
    if (q.endless) return UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = q.rules.n; i-- > 0;) {
            if (q.solid.at[i] != 0 || !consumes(&q, q.rules.at[i])) continue;
            q.solid.at[i] = 1;
            changed = true;
        }
    }
    uint32_t most = 1;
    for (uint32_t i = 0; i < q.rules.n && most < UINT32_MAX; i++) {
        uint32_t own = own_values(&q, q.rules.at[i]);
        if (own > most) most = own;
    }
    return most;
}
