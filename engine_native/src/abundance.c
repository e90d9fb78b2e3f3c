/* abundance.c - how many values a rule of JSON values has, at least.
 *
 * Texts are endless where their values need not be: white space repeats, and so
 * do the zeros of 1.000.  But a cycle that consumes any other character makes
 * longer and longer strings, arrays, objects or numbers, and so do counted
 * repeats.  Every edge of a finished automaton is part of some text, so one
 * such rule anywhere below will do.
 *
 * Cost: the edges of all rules that are reached. */
#include "expr.h"

typedef struct frame {
    uint32_t state, edge;
} frame;

/* Does the edge consume a character that makes a difference?  A reference is taken to if its rule is marked. */
static bool makes_difference(const fsm_edge *e, const uint8_t *solid) {
    if (sym_is_rule(e->lo)) return solid[e->lo - SYM_RULE] != 0;
    if (e->lo > 255) return false;
    for (uint32_t byte = e->lo; byte <= e->hi; byte++)
        if (strchr(" \t\n\r0", (int)byte) == NULL || byte == 0) return true;
    return false;
}

/* Is such an edge part of a cycle?  Strongly connected components (Tarjan), without recursion. */
static bool has_cycle(builder *b, const fsm *f, const uint8_t *solid) {
    arena *mem = &b->w->mem;
    uint32_t n = fsm_size(f), depth = 0, height = 0, counter = 0;
    uint32_t *index = arena_alloc(mem, n, sizeof *index), *low = arena_alloc(mem, n, sizeof *low);
    uint32_t *component = arena_alloc(mem, n, sizeof *component), *stack = arena_alloc(mem, n, sizeof *stack);
    frame *frames = arena_alloc(mem, n, sizeof *frames);
    work_charge(b->w, f->edges.n / 16 + 1);
    frames[depth++] = (frame){f->start, f->first[f->start]};
    while (depth > 0) {
        frame *at = &frames[depth - 1];
        uint32_t s = at->state;
        if (index[s] == 0) {
            index[s] = low[s] = ++counter;
            stack[height++] = s;
        }
        if (at->edge < f->first[s + 1]) {
            uint32_t to = f->edges.at[at->edge++].to;
            if (index[to] == 0)
                frames[depth++] = (frame){to, f->first[to]};
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
    for (uint32_t e = 0; e < f->edges.n; e++) {
        const fsm_edge *g = &f->edges.at[e];
        if (component[g->from] != 0 && component[g->from] == component[g->to] && makes_difference(g, solid)) return true;
    }
    return false;
}

/* Digits that one state takes: each makes another number, or another string. */
static uint32_t most_digits(const fsm *f) {
    uint32_t most = 0;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        uint32_t n = 0;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            const fsm_edge *g = &f->edges.at[e];
            uint32_t lo = g->lo < '1' ? '1' : g->lo, hi = g->hi > '9' ? '9' : g->hi;
            if (g->lo < 256 && lo <= hi) n += hi - lo + 1;
        }
        if (n > most) most = n > 9 ? 9 : n; /* several ways to go on with one digit */
    }
    return most;
}

/* Letters that a repeated rule can begin with; all of them make different strings. */
static uint32_t first_letters(const fsm *f) {
    uint32_t n = 0;
    for (uint32_t e = f->first[f->start]; e < f->first[f->start + 1]; e++) {
        const fsm_edge *g = &f->edges.at[e];
        uint32_t lo = g->lo < 'a' ? 'a' : g->lo, hi = g->hi > 'z' ? 'z' : g->hi;
        if (g->lo < 256 && lo <= hi) n += hi - lo + 1;
    }
    return n > 26 ? 26 : n;
}

static uint32_t power(uint32_t of, uint32_t n) {
    uint64_t out = 1;
    for (; of > 1 && n > 0 && out < UINT32_MAX; n--) out *= of;
    return out < UINT32_MAX ? (uint32_t)out : UINT32_MAX;
}

static uint32_t own_values(builder *b, const draft_rule *r, const uint8_t *solid) {
    if (r->kind == RULE_REPEAT) {
        const draft_rule *of = &b->rules.at[r->repeated];
        if (r->max == REPEAT_INFINITE) return solid[r->repeated] != 0 ? UINT32_MAX : 1;
        return of->automaton == NULL ? 1 : power(first_letters(of->automaton), r->max);
    }
    if (r->kind != RULE_PLAIN || r->automaton == NULL) return 1;
    return has_cycle(b, r->automaton, solid) ? UINT32_MAX : most_digits(r->automaton);
}

uint32_t rule_values(builder *b, uint32_t rule) {
    arena *mem = &b->w->mem;
    uint32_t n = b->rules.n, most = 1;
    uint8_t *solid = arena_alloc(mem, n, 1), *met = arena_alloc(mem, n, 1);
    VEC(uint32_t) queue = {0};
    met[rule] = 1;
    vec_push(mem, &queue, rule);
    for (uint32_t i = 0; i < queue.n; i++) {
        const draft_rule *r = &b->rules.at[queue.at[i]];
        if (r->kind == RULE_REPEAT && r->max != 0 && met[r->repeated] == 0) {
            met[r->repeated] = 1;
            vec_push(mem, &queue, r->repeated);
        }
        if (r->kind == RULE_REPEAT || r->automaton == NULL) continue;
        for (uint32_t e = 0; e < r->automaton->edges.n; e++) {
            const fsm_edge *g = &r->automaton->edges.at[e];
            if (!sym_is_rule(g->lo)) {
                if (makes_difference(g, solid)) solid[queue.at[i]] = 1;
            } else if (met[g->lo - SYM_RULE] == 0) {
                met[g->lo - SYM_RULE] = 1;
                vec_push(mem, &queue, g->lo - SYM_RULE);
            }
        }
    }
    for (bool changed = true; changed;) { /* a rule is also solid through what it refers to */
        changed = false;
        for (uint32_t i = queue.n; i-- > 0;) {
            const draft_rule *r = &b->rules.at[queue.at[i]];
            if (solid[queue.at[i]] != 0) continue;
            bool now = r->kind == RULE_REPEAT && r->max != 0 && solid[r->repeated] != 0;
            for (uint32_t e = 0; r->kind != RULE_REPEAT && r->automaton != NULL && e < r->automaton->edges.n && !now; e++)
                now = sym_is_rule(r->automaton->edges.at[e].lo) && makes_difference(&r->automaton->edges.at[e], solid);
            if (!now) continue;
            solid[queue.at[i]] = 1;
            changed = true;
        }
    }
    for (uint32_t i = 0; i < queue.n && most < UINT32_MAX; i++) {
        uint32_t own = own_values(b, &b->rules.at[queue.at[i]], solid);
        if (own > most) most = own;
    }
    return most;
}
