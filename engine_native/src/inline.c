/* inline.c - see inline.h.
 *
 * Rules are dealt with once all rules that they refer to are.  Where only
 * cycles are left, the rule that most others wait for is *cut*: references to
 * it stay, and the others go on.  An automaton with parts put in is kept if the
 * subset construction stays within a budget; else the references stay. */
#include "inline.h"

#define SMALL 32      /* states of an automaton that is put in place of references */
#define MOST_PARTS 512 /* states of an automaton with such parts, before the subset construction */
#define MOST_CUTS 64
/* A rule that loops on more symbols than this in one range (a name, a string) stays a rule: what tokens do inside it is
 * worked out once for all places where it stands. */
#define WIDE_LOOP 16
/* Work of the subset construction (fsm.h) with parts put in: about 1.5 ms for one rule, 5 ms for all. */
#define WORK_OF_ONE UINT64_C(30000)
#define WORK_OF_ALL UINT64_C(100000)

typedef struct inliner {
    builder *b;
    uint32_t *first, *from; /* rule -> rules that refer to it */
    uint32_t *waits;        /* references of a rule to rules that have not been dealt with */
    uint8_t *done;          /* dealt with, or cut */
    fsm **small;            /* automata that are put in place of references to a rule */
    VEC(fsm_empty) pairs;   /* to refers to from */
    VEC(uint32_t) ready, cut;
    uint64_t work;          /* left for all */
} inliner;

static void note_references(inliner *l, const expr *e, uint32_t rule) {
    switch (e->kind) {
    case EXPR_RULE:
        vec_push(&l->b->w->mem, &l->pairs, (fsm_empty){e->u.id, rule});
        return;
    case EXPR_SEQUENCE:
    case EXPR_CHOICE:
        for (uint32_t i = 0; i < e->n; i++) note_references(l, e->u.parts[i], rule);
        return;
    case EXPR_REPEAT:
        note_references(l, e->u.repeat.body, rule);
        return;
    case EXPR_DISPATCH:
        for (uint32_t i = 0; i < e->n; i++)
            if (e->u.dispatch.patterns[i].then != NULL) note_references(l, e->u.dispatch.patterns[i].then, rule);
        return;
    default:
        return;
    }
}

/* Who refers to whom, and how many references each rule waits for. */
static void index_references(inliner *l) {
    builder *b = l->b;
    arena *mem = &b->w->mem;
    uint32_t n = b->rules.n;
    for (uint32_t i = 0; i < n; i++)
        if (b->rules.at[i].kind == RULE_PLAIN) note_references(l, b->rules.at[i].body, i);
    l->first = arena_alloc(mem, (size_t)n + 2, sizeof *l->first);
    l->from = arena_alloc(mem, (size_t)l->pairs.n + 1, sizeof *l->from);
    l->waits = arena_alloc(mem, (size_t)n + 1, sizeof *l->waits);
    for (uint32_t i = 0; i < l->pairs.n; i++) {
        l->first[l->pairs.at[i].from + 2]++;
        l->waits[l->pairs.at[i].to]++;
    }
    for (uint32_t i = 0; i < n; i++) l->first[i + 2] += l->first[i + 1];
    for (uint32_t i = 0; i < l->pairs.n; i++) l->from[l->first[l->pairs.at[i].from + 1]++] = l->pairs.at[i].to;
}

/* Nobody waits for the rule any more. */
static void release(inliner *l, uint32_t rule) {
    if (l->done[rule]) return;
    l->done[rule] = 1;
    for (uint32_t r = l->first[rule]; r < l->first[rule + 1]; r++) {
        uint32_t other = l->from[r];
        if (--l->waits[other] == 0 && !l->done[other]) vec_push(&l->b->w->mem, &l->ready, other);
    }
}

/* Cut the rule that most others wait for; false if none is left. */
static bool cut_one(inliner *l) {
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < l->b->rules.n; i++) {
        if (l->done[i]) continue;
        uint32_t waiting = 0;
        for (uint32_t r = l->first[i]; r < l->first[i + 1]; r++) waiting += !l->done[l->from[r]];
        if (best == UINT32_MAX || waiting > most) {
            best = i;
            most = waiting;
        }
    }
    if (best == UINT32_MAX) return false;
    vec_push(&l->b->w->mem, &l->cut, best);
    release(l, best);
    return true;
}

/* f with the automata of small rules in place of references to them; NULL if there are none, or too much of them. */
static fsm *with_parts(const inliner *l, const fsm *f) {
    uint32_t states = fsm_size(f), parts = 0;
    for (uint32_t i = 0; i < f->edges.n; i++) {
        const fsm *part = sym_is_rule(f->edges.at[i].lo) ? l->small[f->edges.at[i].lo - SYM_RULE] : NULL;
        if (part == NULL) continue;
        states += fsm_size(part);
        parts++;
    }
    if (parts == 0 || states > MOST_PARTS) return NULL;
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    for (uint32_t s = 0; s < fsm_size(f); s++) out->final.at[s] = f->final.at[s];
    for (uint32_t i = 0; i < f->empties.n; i++) fsm_empty_add(out, f->empties.at[i].from, f->empties.at[i].to);
    for (uint32_t i = 0; i < f->edges.n; i++) {
        fsm_edge g = f->edges.at[i];
        const fsm *part = sym_is_rule(g.lo) ? l->small[g.lo - SYM_RULE] : NULL;
        if (part != NULL)
            fsm_insert(out, part, g.from, g.to);
        else
            fsm_edge_add(out, g.from, g.lo, g.hi, g.to);
    }
    return out;
}

static bool every_edge(void *ctx, const fsm_edge *e) {
    (void)ctx;
    (void)e;
    return true;
}

/* NULL: f is NULL, or nothing matches. */
static fsm *reduce(fsm *f) {
    fsm *trimmed = f == NULL ? NULL : fsm_trim(f, every_edge, NULL);
    return trimmed == NULL ? NULL : fsm_minimise(trimmed);
}

static fsm *determinise_parts(inliner *l, fsm *f) {
    uint64_t given = l->work < WORK_OF_ONE ? l->work : WORK_OF_ONE, left = given;
    if (f == NULL || given == 0) return NULL;
    fsm *out = fsm_determinise_within(f, &left);
    l->work -= given - left;
    return out;
}

/* The automaton of a rule, with parts put in where that is fine; others get it if it is small. */
static void settle(inliner *l, uint32_t number, bool is_cut) {
    builder *b = l->b;
    draft_rule *rule = &b->rules.at[number];
    if (rule->kind != RULE_PLAIN || rule->body->size > MOST_PARTS) return;
    fsm *f = fsm_new(b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    expr_build(b, rule->body, f, f->start, end);
    fsm *reduced = reduce(determinise_parts(l, with_parts(l, f)));
    if (reduced == NULL) reduced = reduce(fsm_determinise(f));
    if (reduced == NULL) return;
    bool plain = true, wide = false;
    for (uint32_t e = 0; e < reduced->edges.n; e++) {
        const fsm_edge *g = &reduced->edges.at[e];
        plain &= !sym_is_rule(g->lo);
        wide |= g->from == g->to && g->hi - g->lo >= WIDE_LOOP;
    }
    reduced->reduced = plain;
    rule->body = expr_fsm(b, reduced);
    if (!is_cut && !wide && rule->capture.name == NULL && !meter_counts(&rule->meter) && fsm_size(reduced) <= SMALL) l->small[number] = reduced;
}

void inline_rules(builder *b) {
    arena *mem = &b->w->mem;
    uint32_t n = b->rules.n, next = 0;
    inliner l = {.b = b, .work = WORK_OF_ALL};
    index_references(&l);
    l.done = arena_alloc(mem, (size_t)n + 1, 1);
    l.small = arena_alloc(mem, (size_t)n + 1, sizeof(fsm *));
    for (uint32_t i = 0; i < n; i++)
        if (l.waits[i] == 0) vec_push(mem, &l.ready, i);
    for (bool more = true; more; more = l.cut.n < MOST_CUTS && cut_one(&l))
        for (; next < l.ready.n; next++) {
            if (l.done[l.ready.at[next]]) continue;
            settle(&l, l.ready.at[next], false);
            release(&l, l.ready.at[next]);
        }
    for (uint32_t i = 0; i < n; i++)
        if (!l.done[i]) settle(&l, i, true);
    for (uint32_t i = 0; i < l.cut.n; i++) settle(&l, l.cut.at[i], true);
}
