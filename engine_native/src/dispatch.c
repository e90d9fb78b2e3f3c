/* dispatch.c - free text watched by an Aho-Corasick automaton.
 *
 * States are pairs (trie state, UTF-8 phase): the trie state is the longest
 * suffix of the text that begins a pattern, the phase says which continuation
 * bytes the current character still needs, so that the text is valid UTF-8.
 * Text may end wherever a character ends and no pattern is complete.  Where a
 * pattern completes, its `then` is the only way on (a pattern without one is
 * excluded); then text again, or the end.
 *
 * Special tokens are symbols of the alphabet: they occur only inside patterns. */
#include "expr.h"

typedef struct ac_state {
    uint32_t fail, parent, symbol;
    uint32_t pattern;  /* that completes here, by itself or through fail links; UINT32_MAX is none */
    bool excluded;
} ac_state;

typedef struct ac {
    arena *mem;
    VEC(ac_state) states;
    VEC(fsm_edge) next; /* from, symbol, symbol, to */
} ac;

static uint32_t ac_child(const ac *a, uint32_t s, uint32_t symbol) {
    for (uint32_t i = 0; i < a->next.n; i++)
        if (a->next.at[i].from == s && a->next.at[i].lo == symbol) return a->next.at[i].to;
    return UINT32_MAX;
}

static uint32_t ac_step(const ac *a, uint32_t s, uint32_t symbol) {
    for (;;) {
        uint32_t to = ac_child(a, s, symbol);
        if (to != UINT32_MAX) return to;
        if (s == 0) return 0;
        s = a->states.at[s].fail;
    }
}

static void ac_build(ac *a, const expr *e) {
    vec_push(a->mem, &a->states, (ac_state){.pattern = UINT32_MAX});
    for (uint32_t p = 0; p < e->n; p++) {
        const dispatch_pattern *pattern = &e->u.dispatch.patterns[p];
        uint32_t s = 0;
        for (uint32_t i = 0; i < pattern->n; i++) {
            uint32_t to = ac_child(a, s, pattern->symbols[i]);
            if (to == UINT32_MAX) {
                to = a->states.n;
                vec_push(a->mem, &a->states, (ac_state){.parent = s, .symbol = pattern->symbols[i], .pattern = UINT32_MAX});
                vec_push(a->mem, &a->next, (fsm_edge){s, pattern->symbols[i], pattern->symbols[i], to});
            }
            s = to;
        }
        if (pattern->then == NULL)
            a->states.at[s].excluded = true;
        else
            a->states.at[s].pattern = p;
    }
    /* Fail links in order of depth: states of one pattern are numbered in rising depth, but
     * patterns follow each other, so go level by level. */
    VEC(uint32_t) queue = {0};
    for (uint32_t i = 0; i < a->next.n; i++)
        if (a->next.at[i].from == 0) vec_push(a->mem, &queue, a->next.at[i].to);
    for (uint32_t q = 0; q < queue.n; q++) {
        uint32_t s = queue.at[q];
        ac_state *state = &a->states.at[s];
        if (state->parent != 0) state->fail = ac_step(a, a->states.at[state->parent].fail, state->symbol);
        const ac_state *f = &a->states.at[state->fail];
        state->excluded = state->excluded || f->excluded;
        if (state->pattern == UINT32_MAX) state->pattern = f->pattern;
        for (uint32_t i = 0; i < a->next.n; i++)
            if (a->next.at[i].from == s) vec_push(a->mem, &queue, a->next.at[i].to);
    }
}

/* UTF-8 phases: 0 between characters, 1..3 continuation bytes needed, and the four
 * restricted second bytes (RFC 3629, section 4: E0, ED, F0, F4). */
enum { PHASES = 8 };
static const struct {
    uint8_t phase, lo, hi, to;
} utf8_steps[] = {
    {0, 0x00, 0x7F, 0}, {0, 0xC2, 0xDF, 1}, {0, 0xE0, 0xE0, 4}, {0, 0xE1, 0xEC, 2}, {0, 0xED, 0xED, 5},
    {0, 0xEE, 0xEF, 2}, {0, 0xF0, 0xF0, 6}, {0, 0xF1, 0xF3, 3}, {0, 0xF4, 0xF4, 7}, {1, 0x80, 0xBF, 0},
    {2, 0x80, 0xBF, 1}, {3, 0x80, 0xBF, 2}, {4, 0xA0, 0xBF, 1}, {5, 0x80, 0x9F, 1}, {6, 0x90, 0xBF, 2},
    {7, 0x80, 0x8F, 2},
};

typedef struct dispatcher {
    ac a;
    fsm *f;
    uint32_t *number; /* (state, phase) -> state of f + 1 */
    VEC(uint32_t) queue;
} dispatcher;

static uint32_t text_state(dispatcher *d, uint32_t s, uint32_t phase) {
    uint32_t key = s * PHASES + phase;
    if (d->number[key] == 0) {
        d->number[key] = fsm_state(d->f) + 1;
        vec_push(d->a.mem, &d->queue, key);
    }
    return d->number[key] - 1;
}

void dispatch_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    dispatcher d = {.a = {.mem = &b->w->mem}, .f = f};
    ac_build(&d.a, e);
    uint32_t n = d.a.states.n;
    d.number = arena_alloc(&b->w->mem, (size_t)n * PHASES, sizeof *d.number);
    uint32_t *begin = arena_alloc(&b->w->mem, e->n + 1, sizeof *begin); /* of each pattern's `then`, + 1 */
    fsm_empty_add(f, from, text_state(&d, 0, 0));
    for (uint32_t q = 0; q < d.queue.n; q++) {
        uint32_t s = d.queue.at[q] / PHASES, phase = d.queue.at[q] % PHASES, at = d.number[d.queue.at[q]] - 1;
        const ac_state *state = &d.a.states.at[s];
        if (phase == 0 && state->pattern != UINT32_MAX) {
            uint32_t p = state->pattern;
            if (begin[p] == 0) {
                begin[p] = fsm_state(f) + 1;
                uint32_t end = e->u.dispatch.loop ? text_state(&d, 0, 0) : to;
                expr_build(b, e->u.dispatch.patterns[p].then, f, begin[p] - 1, end);
            }
            fsm_empty_add(f, at, begin[p] - 1);
            continue;
        }
        if (phase == 0) fsm_empty_add(f, at, to);
        for (uint32_t k = 0; k < sizeof utf8_steps / sizeof *utf8_steps; k++) {
            if (utf8_steps[k].phase != phase) continue;
            uint32_t run = utf8_steps[k].lo, run_to = UINT32_MAX;
            for (uint32_t byte = run; byte <= (uint32_t)utf8_steps[k].hi + 1; byte++) {
                uint32_t next = UINT32_MAX;
                if (byte <= utf8_steps[k].hi) {
                    uint32_t t = ac_step(&d.a, s, byte);
                    if (!d.a.states.at[t].excluded) next = text_state(&d, t, utf8_steps[k].to);
                }
                if (next != run_to || byte > utf8_steps[k].hi) {
                    if (run_to != UINT32_MAX) fsm_edge_add(f, at, run, byte - 1, run_to);
                    run = byte;
                    run_to = next;
                }
            }
        }
        for (uint32_t i = 0; phase == 0 && i < d.a.next.n; i++) {
            uint32_t symbol = d.a.next.at[i].lo;
            if (!sym_is_token(symbol)) continue;
            uint32_t t = ac_step(&d.a, s, symbol);
            if (t == 0 || d.a.states.at[t].excluded) continue; /* a special token is never free text */
            fsm_edge_add(f, at, symbol, symbol, text_state(&d, t, 0));
        }
    }
}
