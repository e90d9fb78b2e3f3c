/* lark_terminal.c - terminals, and rules that are matched like one.
 *
 * A terminal is an expression without rules of the grammar; & and ~ work on its
 * automaton.  A rule with lazy, suffix or stop is cut off where its text is
 * complete for the first time:
 *
 *   lazy         the texts of the body that do not go on after another one
 *   suffix, stop the same of the body and the suffix after it
 *
 * A terminal with a lazy repeat (regex_lazy.c) is one automaton over code points,
 * made from its end to its beginning: what a part may be depends on what follows.
 *
 * A captured rule does not include its suffix: with T = body suffix, cut off,
 * what stands before the suffix w is { x : x w in T }, the automaton of T that
 * ends where w leads to an end.  Needs one w. */
#include "fsm_product.h"
#include "lark.h"
#include "regular.h"
#include "text_automaton.h"
#include "utf8.h"

enum { NEW, BUSY, DONE };

/* Terminals of at most this many states are part of the rules they stand in; others are rules. */
#define INLINE_SIZE 24

static fsm *automaton(lark_lowering *l, const expr *e, size_t at) {
    const char *why = NULL;
    fsm *f = regular_automaton(l->b, e, &why);
    if (why != NULL) lark_bad(l->r, at, STE_ERR_UNSUPPORTED, "%s", why);
    return f;
}

static expr *of_automaton(builder *b, fsm *f) { return f == NULL ? expr_never(b) : expr_fsm(b, f); }

static expr *literal(builder *b, const lark_node *node) {
    if (!node->u.text.ignore_case) return expr_literal(b, node->u.text.bytes, node->n);
    expr **parts = arena_alloc(&b->w->mem, (size_t)node->n + 1, sizeof *parts);
    for (uint32_t i = 0; i < node->n; i++) {
        uint8_t c = (uint8_t)node->u.text.bytes[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        const cp_range both[2] = {{c & ~0x20u, c & ~0x20u}, {c | 0x20u, c | 0x20u}}, one = {c, c};
        parts[i] = letter ? expr_class(b, both, 2) : expr_class(b, &one, 1);
    }
    return expr_sequence(b, parts, node->n);
}

static expr *both(lark_lowering *l, lark_scope *s, const lark_node *node) {
    fsm *f = NULL;
    for (uint32_t i = 0; i < node->n; i++) {
        fsm *one = automaton(l, lark_whole_terminal(l, s, node->u.parts[i]), node->u.parts[i]->at);
        f = i == 0 ? one : fsm_reduce(fsm_intersection(f, one));
    }
    return of_automaton(l->b, f);
}

static expr *named(lark_lowering *l, lark_scope *s, const lark_node *node) {
    lark_definition *d = lark_find(s, node->u.name.name, node->n);
    if (d->state == BUSY) lark_bad(l->r, node->at, STE_ERR_SYNTAX, "a terminal must not refer to itself");
    if (d->state == DONE) return d->lowered;
    if (++l->r->depth > l->b->w->limits.depth) lark_bad(l->r, node->at, STE_ERR_LIMIT, "terminals refer to one another too deep");
    if (d->declared)
        lark_bad(l->r, node->at, STE_ERR_UNSUPPORTED, "%.*s is declared only: its texts come from code that is not part of the grammar",
                 d->n < 80 ? (int)d->n : 80, d->name);
    if (d->n_parameters > 0) lark_bad(l->r, d->at, STE_ERR_UNSUPPORTED, "templates of terminals are not supported");
    d->state = BUSY;
    expr *e = lark_terminal(l, s, d->body);
    d->state = DONE;
    d->lowered = e->size <= INLINE_SIZE ? e : expr_rule(l->b, rule_of(l->b, e));
    l->r->depth--;
    return d->lowered;
}

expr *lark_terminal(lark_lowering *l, lark_scope *s, const lark_node *node) {
    builder *b = l->b;
    switch (node->kind) {
    case LARK_TEXT:
        return literal(b, node);
    case LARK_RANGE:
        return expr_class(b, &(cp_range){node->u.range.lo, node->u.range.hi}, 1);
    case LARK_REGEX:
        return regex_part_expr(b, &node->u.regex);
    case LARK_SUBSTRING:
        return substring_expr(b, node->u.chunks, node->n);
    case LARK_NAME:
        if (!lark_find(s, node->u.name.name, node->n)->terminal)
            lark_bad(l->r, node->at, STE_ERR_SYNTAX, "a rule cannot stand here: the text must be a terminal's");
        return named(l, s, node);
    case LARK_SEQUENCE:
    case LARK_CHOICE: {
        expr **parts = arena_alloc(&b->w->mem, (size_t)node->n + 1, sizeof *parts);
        for (uint32_t i = 0; i < node->n; i++) parts[i] = lark_terminal(l, s, node->u.parts[i]);
        return node->kind == LARK_SEQUENCE ? expr_sequence(b, parts, node->n) : expr_choice(b, parts, node->n);
    }
    case LARK_REPEAT:
        return expr_repeat(b, lark_terminal(l, s, node->u.repeat.body), node->u.repeat.min, node->u.repeat.max);
    case LARK_BOTH:
        return both(l, s, node);
    case LARK_NOT: {
        fsm *f = automaton(l, lark_whole_terminal(l, s, node->u.negated), node->at);
        return of_automaton(b, fsm_reduce(fsm_difference(regular_text(b), f)));
    }
    default:
        lark_bad(l->r, node->at, STE_ERR_SYNTAX, "this cannot be used in terminals");
    }
}

/* ---- terminals with lazy repeats ---- */

static bool is_lazy(lark_lowering *l, lark_scope *s, const lark_node *node);

static bool is_lazy_definition(lark_lowering *l, lark_scope *s, lark_definition *d) {
    if (d->laziness == 0 && !d->declared) {
        d->laziness = 1; /* a terminal that refers to itself is refused elsewhere */
        if (++l->r->depth > l->b->w->limits.depth) lark_bad(l->r, d->at, STE_ERR_LIMIT, "terminals refer to one another too deep");
        if (is_lazy(l, s, d->body)) d->laziness = 2;
        l->r->depth--;
    }
    return d->laziness == 2;
}

/* Does a lazy repeat in it see what follows it?  Inside & and ~ it sees its operand only. */
static bool is_lazy(lark_lowering *l, lark_scope *s, const lark_node *node) {
    switch (node->kind) {
    case LARK_REGEX:
        return regex_part_is_lazy(l->b, &node->u.regex);
    case LARK_NAME:
        return is_lazy_definition(l, s, lark_find(s, node->u.name.name, node->n));
    case LARK_SEQUENCE:
    case LARK_CHOICE:
        for (uint32_t i = 0; i < node->n; i++)
            if (is_lazy(l, s, node->u.parts[i])) return true;
        return false;
    case LARK_REPEAT:
        return is_lazy(l, s, node->u.repeat.body);
    default:
        return false;
    }
}

static fsm *text_before(lark_lowering *l, const lark_node *node, fsm *rest) {
    work *w = l->b->w;
    fsm *f = fsm_new(w);
    uint32_t at = f->start;
    for (size_t i = 0; i < node->n;) {
        uint32_t cp = 0, next = fsm_state(f);
        i += utf8_decode((const uint8_t *)node->u.text.bytes + i, node->n - i, &cp);
        bool letter = node->u.text.ignore_case && (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z';
        fsm_edge_add(f, at, cp, cp, next);
        if (letter) fsm_edge_add(f, at, cp ^ 0x20, cp ^ 0x20, next);
        at = next;
    }
    f->final.at[at] = 1;
    return text_concat(w, f, rest);
}

/* The texts of node and then one of rest, over code points. */
static fsm *before(lark_lowering *l, lark_scope *s, const lark_node *node, fsm *rest) {
    work *w = l->b->w;
    fsm *all = NULL;
    switch (node->kind) {
    case LARK_TEXT:
        return text_before(l, node, rest);
    case LARK_RANGE:
        return text_concat(w, text_range(w, node->u.range.lo, node->u.range.hi), rest);
    case LARK_REGEX:
        return regex_part_before(l->b, &node->u.regex, rest);
    case LARK_NAME:
        return before(l, s, lark_find(s, node->u.name.name, node->n)->body, rest);
    case LARK_SEQUENCE:
        for (uint32_t i = node->n; i-- > 0;) rest = before(l, s, node->u.parts[i], rest);
        return rest;
    case LARK_CHOICE:
        for (uint32_t i = 0; i < node->n; i++) all = text_union(w, all, before(l, s, node->u.parts[i], rest));
        return all;
    case LARK_REPEAT: { /* of what is lazy inside it only itself is seen, unless it is optional */
        if (node->u.repeat.min == 0 && node->u.repeat.max == 1) return text_union(w, rest, before(l, s, node->u.repeat.body, rest));
        fsm *body = before(l, s, node->u.repeat.body, text_empty(w));
        return text_concat(w, regular_copies(w, body, node->u.repeat.min, node->u.repeat.max), rest);
    }
    default:
        lark_bad(l->r, node->at, STE_ERR_UNSUPPORTED, "this and a lazy repeat in one terminal are not supported");
    }
}

expr *lark_whole_terminal(lark_lowering *l, lark_scope *s, const lark_node *node) {
    expr *plain = lark_terminal(l, s, node); /* it is well formed, then */
    if (!is_lazy(l, s, node)) return plain;
    lark_definition *d = node->kind == LARK_NAME ? lark_find(s, node->u.name.name, node->n) : NULL;
    if (d != NULL && d->whole != NULL) return d->whole;
    expr *e = text_automaton_expr(l->b, before(l, s, node, text_empty(l->b->w)));
    if (d != NULL) d->whole = e = expr_rule(l->b, rule_of(l->b, e));
    return e;
}

/* ---- rules that are matched like a terminal ---- */

bool lark_has_end(const lark_attributes *a) { return a->lazy || a->end != NULL || a->max_chars != REPEAT_INFINITE; }

static uint32_t step(const fsm *f, uint32_t s, uint32_t symbol) {
    for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
        if (f->edges.at[e].lo <= symbol && symbol <= f->edges.at[e].hi) return f->edges.at[e].to;
    return UINT32_MAX;
}

/* The texts x with x w in f. */
static fsm *before_suffix(const fsm *f, const uint32_t *w, uint32_t n) {
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        uint32_t at = s;
        for (uint32_t i = 0; i < n && at != UINT32_MAX; i++) at = step(f, at, w[i]);
        out->final.at[s] = at != UINT32_MAX && f->final.at[at];
    }
    for (uint32_t e = 0; e < f->edges.n; e++) fsm_edge_add(out, f->edges.at[e].from, f->edges.at[e].lo, f->edges.at[e].hi, f->edges.at[e].to);
    fsm_index(out);
    return fsm_reduce(out);
}

static expr *captured(builder *b, expr *e, const char *name) {
    return name == NULL ? e : expr_capture(b, e, (capture){name, (uint32_t)strlen(name), 0});
}

/* A token that is special cannot be inside the text before it: nothing has to be cut off. */
static expr *ended_by_token(lark_lowering *l, lark_scope *s, const lark_node *body) {
    if (body->kind != LARK_SEQUENCE || body->u.parts[body->n - 1]->kind != LARK_TOKENS) return NULL;
    const lark_node *tokens = body->u.parts[body->n - 1];
    const ste_vocab *v = l->b->vocab;
    bool special = !tokens->u.tokens.negated;
    for (uint32_t w = 0; w < v->n_tokens / 32 + 1 && special; w++) special = (tokens->u.tokens.set.bits[w] & ~v->special[w]) == 0;
    if (!special) lark_bad(l->r, tokens->at, STE_ERR_UNSUPPORTED, "only special tokens can end a lazy rule");
    expr **parts = arena_alloc(&l->b->w->mem, body->n, sizeof *parts);
    for (uint32_t i = 0; i + 1 < body->n; i++) parts[i] = lark_whole_terminal(l, s, body->u.parts[i]);
    parts[body->n - 1] = token_set_expr(l->b, &tokens->u.tokens.set, true);
    return expr_sequence(l->b, parts, body->n);
}

expr *lark_attributed(lark_lowering *l, lark_scope *s, const lark_definition *d) {
    builder *b = l->b;
    const lark_attributes *a = &d->attributes;
    expr *e = a->lazy && a->end == NULL ? ended_by_token(l, s, d->body) : NULL;
    if (e != NULL) return captured(b, e, a->capture);
    e = lark_whole_terminal(l, s, d->body);
    const char *why = NULL;
    if (a->max_chars != REPEAT_INFINITE) {
        e = of_automaton(b, regular_at_most(b, automaton(l, e, d->at), a->max_chars, &why));
        if (why != NULL) lark_bad(l->r, d->at, STE_ERR_UNSUPPORTED, "%s", why);
    }
    if (!a->lazy && a->end == NULL) return captured(b, e, a->capture);
    if (a->end != NULL) e = expr_pair(b, e, lark_whole_terminal(l, s, a->end));
    fsm *f = regular_shortest(automaton(l, e, d->at));
    if (a->end == NULL || (a->capture == NULL && a->stop_capture == NULL) || f == NULL) return captured(b, of_automaton(b, f), a->capture);
    if (a->end->kind != LARK_TEXT || a->end->u.text.ignore_case)
        lark_bad(l->r, a->end->at, STE_ERR_UNSUPPORTED, "a capture needs a suffix that is one string");
    const uint32_t *w;
    uint32_t n = literal_symbols(b, a->end->u.text.bytes, a->end->n, &w);
    expr *head = of_automaton(b, before_suffix(f, w, n));
    return expr_pair(b, captured(b, head, a->capture), captured(b, literal(b, a->end), a->stop_capture));
}
