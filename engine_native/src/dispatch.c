/* dispatch.c - free text watched by an Aho-Corasick automaton.
 *
 * States are pairs (trie state, UTF-8 phase): the trie state is the longest
 * suffix of the text that begins a pattern, the phase says which continuation
 * bytes the current character still needs, so that the text is valid UTF-8.
 * Text may end wherever a character ends and no pattern is complete.  Where a
 * pattern completes, its `then` is the only way on (of several that complete
 * together, each), but for longer patterns that begin with it: those may be
 * gone on with, to their end.  An excluded pattern that completes wins over
 * everything.  After `then` comes text again, or the end.
 *
 * Special tokens are symbols of the alphabet and never free text: a state whose
 * suffix contains one may neither end the text nor be left in a way that drops
 * the token from the suffix.
 *
 * Cost: a step of the trie for each byte of each pair that is reached; inside a
 * character that is only the root and trie states that end inside one. */
#include "expr.h"
#include "state_table.h"

typedef struct ac_state {
    uint32_t fail, parent, symbol, first_child, n_children;
    uint32_t tokens;   /* special tokens in the suffix */
    uint32_t pattern;  /* first of those that are exactly the suffix, + 1; 0 is none */
    uint32_t output;   /* the nearest state along fail links, itself included, with a pattern; 0 is none */
    bool excluded;
    uint32_t first_step, n_steps; /* of `steps`; the root has none */
} ac_state;

typedef struct ac_edge {
    uint32_t symbol, to;
} ac_edge;

typedef struct ac {
    arena *mem;
    VEC(ac_state) states;
    uint32_t *next_pattern; /* patterns with equal symbols, + 1 */
    uint32_t *table, mask;  /* (state, symbol) -> child */
    uint32_t *children;     /* states by parent */
    VEC(ac_edge) steps;     /* of each state, by rising symbol: where it does not go with the root */
    uint32_t root[256];     /* the root's steps by bytes */
} ac;

#define AC_DEAD UINT32_MAX

static uint32_t ac_slot(const ac *a, uint32_t s, uint32_t symbol) {
    uint32_t slot = (uint32_t)hash_mix(s, symbol) & a->mask;
    while (a->table[slot] != 0) {
        const ac_state *c = &a->states.at[a->table[slot]];
        if (c->parent == s && c->symbol == symbol) break;
        slot = (slot + 1) & a->mask;
    }
    return slot;
}

/* The state after one more symbol; AC_DEAD if that would make a special token free text. */
static uint32_t ac_step(const ac *a, uint32_t s, uint32_t symbol) {
    const ac_state *state = &a->states.at[s];
    uint32_t lo = state->first_step, hi = lo + state->n_steps;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (a->steps.at[mid].symbol < symbol)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < state->first_step + state->n_steps && a->steps.at[lo].symbol == symbol) return a->steps.at[lo].to;
    if (state->tokens != 0) return AC_DEAD;
    uint32_t to = a->table[ac_slot(a, 0, symbol)];
    return to == 0 && sym_is_token(symbol) ? AC_DEAD : to;
}

/* ac_step for all bytes. */
static void ac_row(const ac *a, uint32_t s, uint32_t row[256]) {
    const ac_state *state = &a->states.at[s];
    for (uint32_t byte = 0; byte < 256; byte++) row[byte] = state->tokens != 0 ? AC_DEAD : a->root[byte];
    for (uint32_t i = 0; i < state->n_steps; i++) {
        ac_edge e = a->steps.at[state->first_step + i];
        if (e.symbol < 256) row[e.symbol] = e.to;
    }
}

/* The steps of s that are not the root's: to its own children, and else those of its fail link. */
static void ac_find_steps(ac *a, work *w, uint32_t s) {
    ac_state *state = &a->states.at[s];
    const ac_state *fail = &a->states.at[state->fail];
    uint32_t *own = a->children + state->first_child, i = 0, k = 0;
    for (uint32_t c = 1; c < state->n_children; c++) /* few, or many that are met once */
        for (uint32_t j = c; j > 0 && a->states.at[own[j]].symbol < a->states.at[own[j - 1]].symbol; j--) {
            uint32_t swap = own[j];
            own[j] = own[j - 1];
            own[j - 1] = swap;
        }
    uint32_t inherited = fail->tokens == state->tokens ? fail->n_steps : 0;
    state->first_step = a->steps.n;
    while (i < state->n_children || k < inherited) {
        uint32_t mine = i < state->n_children ? a->states.at[own[i]].symbol : UINT32_MAX;
        ac_edge other = k < inherited ? a->steps.at[fail->first_step + k] : (ac_edge){UINT32_MAX, 0};
        if (mine <= other.symbol)
            vec_push(a->mem, &a->steps, (ac_edge){mine, own[i++]});
        else
            vec_push(a->mem, &a->steps, other);
        if (other.symbol <= mine) k++;
    }
    state->n_steps = a->steps.n - state->first_step;
    work_charge(w, 1 + state->n_steps / 16);
}

/* As ac_step, without regard to tokens: for the fail links. */
static uint32_t ac_fail(const ac *a, uint32_t s, uint32_t symbol) {
    for (;;) {
        uint32_t to = a->table[ac_slot(a, s, symbol)];
        if (to != 0 || s == 0) return to;
        s = a->states.at[s].fail;
    }
}

static void ac_build(ac *a, work *w, const expr *e) {
    uint32_t total = 0, size = 64;
    for (uint32_t p = 0; p < e->n; p++) total += e->u.dispatch.patterns[p].n;
    while (size < total * 2 + 2) size *= 2;
    a->table = arena_alloc(a->mem, size, sizeof *a->table);
    a->mask = size - 1;
    a->next_pattern = arena_alloc(a->mem, e->n + 1, sizeof *a->next_pattern);
    vec_push(a->mem, &a->states, (ac_state){0});
    for (uint32_t p = 0; p < e->n; p++) {
        const dispatch_pattern *pattern = &e->u.dispatch.patterns[p];
        uint32_t s = 0;
        for (uint32_t i = 0; i < pattern->n; i++) {
            uint32_t symbol = pattern->symbols[i], slot = ac_slot(a, s, symbol);
            if (a->table[slot] == 0) {
                a->table[slot] = a->states.n;
                uint32_t tokens = a->states.at[s].tokens + sym_is_token(symbol);
                vec_push(a->mem, &a->states, (ac_state){.parent = s, .symbol = symbol, .tokens = tokens});
                a->states.at[s].n_children++;
            }
            s = a->table[slot];
        }
        ac_state *end = &a->states.at[s];
        if (pattern->then == NULL) {
            end->excluded = true;
        } else {
            a->next_pattern[p] = end->pattern;
            end->pattern = p + 1;
        }
    }
    uint32_t n = a->states.n;
    a->children = arena_alloc(a->mem, n, sizeof *a->children);
    for (uint32_t s = 0, at = 0; s < n; s++) {
        a->states.at[s].first_child = at;
        at += a->states.at[s].n_children;
        a->states.at[s].n_children = 0;
    }
    for (uint32_t s = 1; s < n; s++) {
        ac_state *parent = &a->states.at[a->states.at[s].parent];
        a->children[parent->first_child + parent->n_children++] = s;
    }
    for (uint32_t byte = 0; byte < 256; byte++) a->root[byte] = a->table[ac_slot(a, 0, byte)];
    uint32_t *queue = arena_alloc(a->mem, n, sizeof *queue), head = 0, tail = 1; /* level by level from the root */
    while (head < tail) {
        uint32_t s = queue[head++];
        ac_state *state = &a->states.at[s];
        if (s != 0) {
            if (state->parent != 0) state->fail = ac_fail(a, a->states.at[state->parent].fail, state->symbol);
            const ac_state *fail = &a->states.at[state->fail];
            state->excluded = state->excluded || fail->excluded;
            /* A shorter pattern counts only if it holds all special tokens of the suffix. */
            state->output = state->pattern != 0 ? s : fail->tokens == state->tokens ? fail->output : 0;
            ac_find_steps(a, w, s);
        }
        for (uint32_t i = 0; i < state->n_children; i++) queue[tail++] = a->children[state->first_child + i];
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

/* A place inside a longer pattern: how far it is, and the state of all the text. */
typedef struct inner {
    uint32_t pattern, text; /* states of the trie */
} inner;

typedef struct dispatcher {
    builder *b;
    const expr *e;
    ac a;
    fsm *f;
    uint32_t to;
    uint32_t *number; /* (state, phase) -> state of f, + 1 */
    uint32_t *begin;  /* of each pattern's `then`, + 1 */
    VEC(inner) longer; /* places inside longer patterns ... */
    VEC(uint32_t) number_of_inner; /* ... and their states of f */
    state_table inner_table;
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

/* The patterns that are exactly s go on with their `then`. */
static void complete_patterns(dispatcher *d, uint32_t s, uint32_t at) {
    for (uint32_t p = d->a.states.at[s].pattern; p != 0; p = d->a.next_pattern[p - 1]) {
        if (d->begin[p - 1] == 0) {
            d->begin[p - 1] = fsm_state(d->f) + 1;
            uint32_t end = d->e->u.dispatch.loop ? text_state(d, 0, 0) : d->to;
            expr_build(d->b, d->e->u.dispatch.patterns[p - 1].then, d->f, d->begin[p - 1] - 1, end);
        }
        fsm_empty_add(d->f, at, d->begin[p - 1] - 1);
    }
}

/* Every pattern that completes in s, the nearest of which is `output`. */
static void add_completions(dispatcher *d, uint32_t output, uint32_t at) {
    for (uint32_t s = output; s != 0; s = d->a.states.at[d->a.states.at[s].fail].output) {
        complete_patterns(d, s, at);
        if (d->a.states.at[d->a.states.at[s].fail].tokens != d->a.states.at[s].tokens) break;
    }
}

static uint32_t inner_state(dispatcher *d, uint32_t pattern, uint32_t text) {
    uint32_t *slot;
    inner place = {pattern, text};
    uint32_t known = state_table_find(d->a.mem, &d->inner_table, d->longer.at, d->longer.n, sizeof place, &place, &slot);
    if (known != UINT32_MAX) return d->number_of_inner.at[known];
    vec_push(d->a.mem, &d->longer, place);
    vec_push(d->a.mem, &d->number_of_inner, fsm_state(d->f));
    *slot = d->longer.n;
    return d->number_of_inner.at[d->longer.n - 1];
}

/* From a place where the pattern of s is complete, on inside the longer ones that begin with it. */
static void add_longer(dispatcher *d, uint32_t s, uint32_t text, uint32_t at) {
    const ac_state *state = &d->a.states.at[s];
    for (uint32_t i = 0; i < state->n_children; i++) {
        uint32_t child = d->a.children[state->first_child + i], symbol = d->a.states.at[child].symbol;
        uint32_t next = ac_step(&d->a, text, symbol); /* at least the child's text */
        if (next == AC_DEAD || d->a.states.at[next].excluded) continue;
        uint32_t to = inner_state(d, child, next);
        if (!sym_is_token(symbol)) {
            fsm_edge_add(d->f, at, symbol, symbol, to);
            continue;
        }
        for (uint32_t t = symbol - SYM_TOKEN; t != TRIE_NO_TOKEN; t = d->b->vocab->specials.next_same[t])
            fsm_edge_add(d->f, at, SYM_TOKEN + t, SYM_TOKEN + t, to);
    }
}

static void add_bytes(dispatcher *d, uint32_t s, uint32_t phase, uint32_t at) {
    uint32_t row[256];
    ac_row(&d->a, s, row);
    for (uint32_t k = 0; k < sizeof utf8_steps / sizeof *utf8_steps; k++) {
        if (utf8_steps[k].phase != phase) continue;
        uint32_t run = utf8_steps[k].lo, run_to = UINT32_MAX;
        for (uint32_t byte = run; byte <= (uint32_t)utf8_steps[k].hi + 1; byte++) {
            uint32_t next = UINT32_MAX;
            if (byte <= utf8_steps[k].hi) {
                uint32_t t = row[byte];
                if (t != AC_DEAD && !d->a.states.at[t].excluded) next = text_state(d, t, utf8_steps[k].to);
            }
            if (next != run_to || byte > utf8_steps[k].hi) {
                if (run_to != UINT32_MAX) fsm_edge_add(d->f, at, run, byte - 1, run_to);
                run = byte;
                run_to = next;
            }
        }
    }
}

/* Special tokens with equal text are one symbol of the automaton; each of them has its edge. */
static void add_token_step(dispatcher *d, ac_edge e, uint32_t at) {
    if (!sym_is_token(e.symbol) || d->a.states.at[e.to].excluded) return;
    for (uint32_t t = e.symbol - SYM_TOKEN; t != TRIE_NO_TOKEN; t = d->b->vocab->specials.next_same[t])
        fsm_edge_add(d->f, at, SYM_TOKEN + t, SYM_TOKEN + t, text_state(d, e.to, 0));
}

static void add_tokens(dispatcher *d, uint32_t s, uint32_t at) {
    const ac_state *state = &d->a.states.at[s], *root = &d->a.states.at[0];
    for (uint32_t i = 0; i < state->n_steps; i++) add_token_step(d, d->a.steps.at[state->first_step + i], at);
    for (uint32_t i = 0; i < root->n_children && state->tokens == 0; i++) {
        uint32_t child = d->a.children[root->first_child + i], symbol = d->a.states.at[child].symbol;
        if (sym_is_token(symbol) && ac_step(&d->a, s, symbol) == child) add_token_step(d, (ac_edge){symbol, child}, at);
    }
}

void dispatch_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    dispatcher d = {.b = b, .e = e, .a = {.mem = &b->w->mem}, .f = f, .to = to};
    ac_build(&d.a, b->w, e);
    d.number = arena_alloc(&b->w->mem, (size_t)d.a.states.n * PHASES, sizeof *d.number);
    d.begin = arena_alloc(&b->w->mem, e->n + 1, sizeof *d.begin);
    fsm_empty_add(f, from, text_state(&d, 0, 0));
    for (uint32_t q = 0, l = 0; q < d.queue.n || l < d.longer.n;) {
        if (l < d.longer.n) { /* inside a longer pattern there is nothing but that */
            inner place = d.longer.at[l];
            uint32_t at = d.number_of_inner.at[l++];
            complete_patterns(&d, place.pattern, at);
            add_longer(&d, place.pattern, place.text, at);
            continue;
        }
        uint32_t s = d.queue.at[q] / PHASES, phase = d.queue.at[q] % PHASES, at = d.number[d.queue.at[q]] - 1;
        uint32_t output = d.a.states.at[s].output;
        q++;
        if (phase == 0 && output != 0) {
            add_completions(&d, output, at);
            add_longer(&d, output, s, at);
            continue;
        }
        if (phase == 0 && d.a.states.at[s].tokens == 0) fsm_empty_add(f, at, to);
        add_bytes(&d, s, phase, at);
        if (phase == 0) add_tokens(&d, s, at);
    }
}

/* The first pattern that is an end of the text of s, and, if `proper`, is not all of it. */
static uint32_t ending_in(const ac *a, const dispatch_pattern *patterns, uint32_t n, uint32_t s, bool proper) {
    uint32_t symbols = 0;
    for (uint32_t at = s; at != 0; at = a->states.at[at].parent) symbols++;
    for (uint32_t p = 0; p < n; p++) {
        if (patterns[p].n > symbols || (proper && patterns[p].n == symbols)) continue;
        uint32_t at = s, k = patterns[p].n;
        while (k > 0 && a->states.at[at].symbol == patterns[p].symbols[k - 1]) {
            at = a->states.at[at].parent;
            k--;
        }
        if (k == 0) return p;
    }
    return n;
}

bool dispatch_clashes(builder *b, const dispatch_pattern *patterns, uint32_t n, dispatch_clash *out) {
    const expr *e = expr_dispatch(b, patterns, n, true);
    ac a = {.mem = &b->w->mem};
    ac_build(&a, b->w, e);
    for (uint32_t p = 0; p < n; p++) {
        if (patterns[p].then == NULL) continue;
        out->pattern = p;
        uint32_t s = 0;
        for (uint32_t i = 0; i < patterns[p].n; i++) {
            s = a.table[ac_slot(&a, s, patterns[p].symbols[i])];
            const ac_state *state = &a.states.at[s];
            if (state->excluded || (i + 1 < patterns[p].n && a.states.at[state->fail].output != 0)) {
                /* One that is excluded may be all of the text; others that are not are longer patterns' beginnings. */
                out->by = ending_in(&a, patterns, n, s, !state->excluded);
                while (state->excluded && out->by < n && patterns[out->by].then != NULL)
                    out->by += 1 + ending_in(&a, patterns + out->by + 1, n - out->by - 1, s, false);
                return true;
            }
        }
        if (a.next_pattern[p] != 0) {
            out->by = a.next_pattern[p] - 1;
            return true;
        }
    }
    return false;
}
