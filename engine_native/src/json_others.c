/* json_others.c - the strings that are none of a few: keys that an object does not declare.
 *
 * Their automaton is that of all strings, where a second path runs beside its
 * body: the states of the taken strings' automaton.  Each of these is the body but
 * for the characters with which a taken string goes on, and for the quote where
 * one ends:
 *
 *        "         n         a         (no quote here)
 *   o -----> keys ----> n.. ----> na.. ---- any other character ----> body
 *
 * That serves for strings of characters that are spelled as themselves; for others
 * the difference is computed (direct.h, or by subsets).
 *
 * Objects of a large schema are mostly never entered: so the rule is named by its
 * strings, and its automaton is made when the parser first predicts it (names.c).
 * That of the first object, which is nearly always entered, is made at once.
 *
 * Cost: a dozen edges for each byte of the strings. */
#include "direct.h"
#include "fsm_product.h"
#include "json_text.h"
#include "words.h"

static bool is_plain(const char *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\') return false;
    return true;
}

/* The automaton of all taken strings, without quotes. */
static const fsm *taken_strings(builder *b, const char *const *taken, const uint32_t *length, uint32_t n) {
    arena *mem = &b->w->mem;
    word *words = arena_alloc(mem, n, sizeof *words);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *symbols = arena_alloc(mem, (size_t)length[i] + 1, sizeof *symbols);
        for (uint32_t k = 0; k < length[i]; k++) symbols[k] = (uint8_t)taken[i][k];
        words[i] = (word){symbols, length[i]};
    }
    return words_expr(b, words, n)->u.automaton;
}

typedef struct beside {
    fsm *out;
    const fsm *all, *taken;
    uint32_t body;            /* of `all` */
    uint32_t *number;         /* of the states of `all`, then of `taken`: + 1, once they are met */
    VEC(uint32_t) queue;
} beside;

static void lead(beside *d, uint32_t from, uint32_t lo, uint32_t hi, uint32_t state) {
    if (d->number[state] == 0) {
        vec_push(&d->out->w->mem, &d->queue, state);
        d->number[state] = d->queue.n;
    }
    vec_push(&d->out->w->mem, &d->out->edges, (fsm_edge){from, lo, hi, d->number[state] - 1});
}

/* The edges of the body, but where `state` of the taken strings has some, these. */
static void lead_beside(beside *d, uint32_t from, uint32_t state) {
    uint32_t n = fsm_size(d->all), k = d->taken->first[state], end = d->taken->first[state + 1];
    for (uint32_t e = d->all->first[d->body]; e < d->all->first[d->body + 1]; e++) {
        fsm_edge g = d->all->edges.at[e];
        if (g.lo == '"' && d->taken->final.at[state]) continue;
        for (uint32_t lo = g.lo; lo <= g.hi;) {
            if (k == end || d->taken->edges.at[k].lo > g.hi) {
                lead(d, from, lo, g.hi, g.to);
                break;
            }
            fsm_edge own = d->taken->edges.at[k++]; /* within this edge: plain characters stand in one */
            if (own.lo > lo) lead(d, from, lo, own.lo - 1, g.to);
            lead(d, from, own.lo, own.hi, n + own.to);
            lo = own.hi + 1;
        }
    }
}

static fsm *beside_all(builder *b, const fsm *all, const fsm *taken) {
    arena *mem = &b->w->mem;
    uint32_t n = fsm_size(all);
    beside d = {.out = fsm_new(b->w), .all = all, .taken = taken};
    VEC(uint32_t) first = {0};
    d.number = arena_alloc(mem, (size_t)n + fsm_size(taken), sizeof *d.number);
    vec_push(mem, &d.queue, all->start);
    d.number[all->start] = 1;
    d.body = all->edges.at[all->first[all->start]].to; /* the start has one edge: the quote */
    for (uint32_t s = 0; s < d.queue.n; s++) {
        uint32_t state = d.queue.at[s];
        if (s > 0) fsm_state(d.out);
        vec_push(mem, &first, d.out->edges.n);
        if (state >= n) {
            lead_beside(&d, s, state - n);
            continue;
        }
        d.out->final.at[s] = all->final.at[state];
        for (uint32_t e = all->first[state]; e < all->first[state + 1]; e++) {
            fsm_edge g = all->edges.at[e];
            lead(&d, s, g.lo, g.hi, state == all->start ? n + taken->start : g.to);
        }
    }
    vec_push(mem, &first, d.out->edges.n);
    d.out->first = first.at;
    d.out->reduced = true;
    return d.out;
}

expr *json_other_string_now(builder *b, const char *const *taken, const uint32_t *length, uint32_t n) {
    arena *mem = &b->w->mem;
    fsm *all = json_fixed_strings(b), *others = n == 0 ? all : NULL;
    bool plain = true;
    for (uint32_t i = 0; i < n; i++) plain = plain && is_plain(taken[i], length[i]);
    if (others == NULL && plain) others = beside_all(b, all, taken_strings(b, taken, length, n));
    if (others == NULL) {
        expr **parts = arena_alloc(mem, n, sizeof *parts);
        for (uint32_t i = 0; i < n; i++) parts[i] = json_fixed_string(b, taken[i], length[i]);
        expr *strings = expr_choice(b, parts, n);
        others = expr_direct_others(b, all, strings);
        if (others == NULL) others = fsm_difference(all, expr_automaton(b, strings));
    }
    return expr_rule(b, rule_of(b, expr_fsm(b, others)));
}

/* Of a name: OTHERS, and for each string its length, lowest byte first, and itself. */
#define LENGTH_BYTES 4
#define MOST_OTHERS 16384 /* bytes of a name: what they describe is sure to be within the limits */

expr *json_other_string(builder *b, const char *const *taken, const uint32_t *length, uint32_t n) {
    size_t size = 1;
    for (uint32_t i = 0; i < n && size <= MOST_OTHERS; i++) size += LENGTH_BYTES + length[i];
    if (size > MOST_OTHERS || b->names == NULL) return json_other_string_now(b, taken, length, n);
    char *name = arena_alloc(&b->w->mem, size, 1), *at = name;
    *at++ = OTHERS;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < LENGTH_BYTES; k++) *at++ = (char)(length[i] >> 8 * k & 0xFF);
        memcpy(at, taken[i], length[i]);
        at += length[i];
    }
    work_charge(b->w, size); /* limits hold as if it were made here */
    if (b->met_others) return expr_to_name(b, name, size, (int)b->escapes);
    b->met_others = true;
    expr *known = expr_named(b, name, size, (int)b->escapes);
    return known != NULL ? known : expr_share(b, name, size, (int)b->escapes, json_other_string_now(b, taken, length, n));
}

void json_other_front(builder *b, const char *name, size_t n) {
    const char **taken = arena_alloc(&b->w->mem, n / LENGTH_BYTES + 1, sizeof *taken);
    uint32_t *length = arena_alloc(&b->w->mem, n / LENGTH_BYTES + 1, sizeof *length), count = 0;
    for (size_t at = 1; at < n; at += length[count++]) {
        length[count] = 0;
        for (uint32_t k = 0; k < LENGTH_BYTES; k++) length[count] |= (uint32_t)(uint8_t)name[at++] << 8 * k;
        taken[count] = name + at;
    }
    b->root = json_other_string_now(b, taken, length, count)->u.id;
}
