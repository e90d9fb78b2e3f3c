/* regular.c - see regular.h. */
#include "regular.h"

#include "fsm_product.h"
#include "utf8.h"

typedef struct flattener {
    builder *b;
    fsm **of;      /* rules that are done: their automata */
    uint8_t *state;
    uint32_t depth;
    const char *why;
} flattener;

enum { UNKNOWN, BUSY, DONE };

static fsm *reduce(fsm *f) { return fsm_reduce(fsm_determinise_fully(f)); }

/* The texts of f without the empty one; f is deterministic. */
static fsm *without_empty(const fsm *f) {
    fsm *out = fsm_new(f->w);
    uint32_t first = fsm_state(out), end = fsm_state(out); /* states of f follow */
    out->final.at[end] = 1;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        uint32_t at = fsm_state(out);
        if (f->final.at[s]) fsm_empty_add(out, at, end);
    }
    fsm_empty_add(out, out->start, first);
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        fsm_edge_add(out, end + 1 + g.from, g.lo, g.hi, end + 1 + g.to);
        if (g.from == f->start) fsm_edge_add(out, first, g.lo, g.hi, end + 1 + g.to);
    }
    return reduce(out);
}

fsm *regular_copies(work *w, const fsm *body, uint32_t min, uint32_t max) {
    fsm *f = fsm_new(w);
    uint32_t at = f->start, end = fsm_state(f);
    f->final.at[end] = 1;
    if (body == NULL) {
        if (min > 0) return NULL;
        max = 0;
    } else if (body->final.at[body->start]) {
        min = 0;
        body = without_empty(body); /* else the places after each copy would run into one another */
        if (body == NULL) max = 0;
    }
    for (uint32_t i = 0; i < min; i++) {
        uint32_t next = fsm_state(f);
        fsm_insert(f, body, at, next);
        at = next;
    }
    fsm_empty_add(f, at, end);
    if (max == REPEAT_INFINITE) {
        uint32_t loop = fsm_state(f);
        fsm_empty_add(f, at, loop);
        fsm_insert(f, body, loop, loop);
        fsm_empty_add(f, loop, end);
        return reduce(f);
    }
    for (uint32_t i = min; i < max; i++) {
        uint32_t next = fsm_state(f);
        fsm_insert(f, body, at, next);
        fsm_empty_add(f, next, end);
        at = next;
    }
    return reduce(f);
}

static fsm *flatten(flattener *r, const expr *e);

static fsm *rule_automaton(flattener *r, uint32_t number) {
    const draft_rule *rule = &r->b->rules.at[number];
    if (r->state[number] == DONE) return r->of[number];
    if (r->state[number] == BUSY) r->why = "it refers to itself, so it is no regular expression";
    if (rule->kind == RULE_NAMED) r->why = "a JSON schema is no regular expression";
    if (rule->capture.name != NULL) r->why = "a capture inside it is not supported";
    if (meter_counts(&rule->meter)) r->why = "a text of limited length inside it is not supported";
    if (r->why != NULL) return NULL;
    if (++r->depth > r->b->w->limits.depth) escape(&r->b->w->out, STE_ERR_LIMIT, 0, "rules refer to one another too deep");
    r->state[number] = BUSY;
    fsm *f;
    if (rule->kind == RULE_REPEAT) {
        const fsm *body = rule_automaton(r, rule->repeated);
        rule = &r->b->rules.at[number];
        f = r->why == NULL ? regular_copies(r->b->w, body, rule->min, rule->max) : NULL;
    } else {
        f = flatten(r, rule->body);
    }
    r->depth--;
    r->state[number] = DONE;
    return r->of[number] = f;
}

static fsm *flatten(flattener *r, const expr *e) {
    fsm *f = fsm_new(r->b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    expr_build(r->b, e, f, f->start, end);
    fsm *out = fsm_new(r->b->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->final.at[end] = 1;
    for (uint32_t i = 0; i < f->empties.n; i++) fsm_empty_add(out, f->empties.at[i].from, f->empties.at[i].to);
    for (uint32_t i = 0; i < f->edges.n && r->why == NULL; i++) {
        fsm_edge g = f->edges.at[i];
        if (sym_is_once(g.lo)) r->why = "it is no regular expression";
        if (sym_is_ahead(g.lo)) r->why = "a pattern that looks at what follows it cannot stand here";
        fsm *part = sym_is_rule(g.lo) ? rule_automaton(r, g.lo - SYM_RULE) : NULL;
        if (part != NULL)
            fsm_insert(out, part, g.from, g.to);
        else if (!sym_is_rule(g.lo))
            fsm_edge_add(out, g.from, g.lo, g.hi, g.to);
    }
    return r->why == NULL ? reduce(out) : NULL;
}

fsm *regular_automaton(builder *b, const expr *e, const char **why) {
    uint32_t n = b->rules.n;
    flattener r = {.b = b};
    r.of = arena_alloc(&b->w->mem, (size_t)n + 1, sizeof(fsm *));
    r.state = arena_alloc(&b->w->mem, (size_t)n + 1, 1);
    fsm *f = flatten(&r, e);
    *why = r.why;
    return f;
}

static bool before_a_text(void *ctx, const fsm_edge *e) {
    const fsm *f = ctx;
    return !f->final.at[e->from];
}

fsm *regular_shortest(fsm *f) { return f == NULL ? NULL : fsm_reduce(fsm_trim(f, before_a_text, f)); }

fsm *regular_text(builder *b) {
    fsm *f = fsm_new(b->w);
    f->final.at[f->start] = 1;
    fsm_utf8_add(f, f->start, 0, UTF8_MAX, f->start);
    return reduce(f);
}

fsm *regular_at_most(builder *b, fsm *f, uint32_t n, const char **why) {
    if (f == NULL) return NULL;
    for (uint32_t i = 0; i < f->edges.n; i++)
        if (sym_is_token(f->edges.at[i].lo)) *why = "max_chars of a rule with special tokens is not supported";
    if (*why != NULL) return NULL;
    fsm *count = fsm_new(b->w);
    count->final.at[count->start] = 1;
    for (uint32_t i = 0, at = count->start; i < n; i++) {
        uint32_t next = fsm_state(count);
        count->final.at[next] = 1;
        fsm_utf8_add(count, at, 0, UTF8_MAX, next);
        at = next;
    }
    return fsm_reduce(fsm_intersection(f, reduce(count)));
}
