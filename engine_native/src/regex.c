/* regex.c - regular expressions: from a tree to expressions, or to an automaton over texts.
 *
 * A pattern without assertions (regex_anchor.c removes most) becomes an
 * expression, in which long counted repeats stay counted.  With assertions it
 * becomes an automaton over code points (regex_text.c), spelled in UTF-8. */
#include "front.h"
#include "regex_tree.h"
#include "text_automaton.h"
#include "utf8.h"

static bool is_one_character(const regex_node *e) {
    return e->kind == REGEX_CLASS && e->n == 1 && e->u.ranges[0].lo == e->u.ranges[0].hi;
}

static expr *lower(builder *b, const regex_node *e);

static expr *lower_sequence(builder *b, const regex_node *e) {
    arena *mem = &b->w->mem;
    VEC(expr *) parts = {0};
    for (uint32_t i = 0; i < e->n;) {
        VEC(uint8_t) bytes = {0};
        for (; i < e->n && is_one_character(e->u.parts[i]); i++) {
            uint8_t spelled[4];
            uint32_t n = utf8_encode(e->u.parts[i]->u.ranges[0].lo, spelled);
            for (uint32_t k = 0; k < n; k++) vec_push(mem, &bytes, spelled[k]);
        }
        expr *part = bytes.n > 0 ? expr_bytes(b, bytes.at, bytes.n) : lower(b, e->u.parts[i++]);
        vec_push(mem, &parts, part);
    }
    return expr_sequence(b, parts.at, parts.n);
}

static expr *lower(builder *b, const regex_node *e) {
    switch (e->kind) {
    case REGEX_EMPTY:
        return expr_empty(b);
    case REGEX_CLASS:
        return expr_class(b, e->u.ranges, e->n);
    case REGEX_SEQUENCE:
        return lower_sequence(b, e);
    case REGEX_CHOICE: {
        expr **parts = arena_alloc(&b->w->mem, e->n, sizeof *parts);
        for (uint32_t i = 0; i < e->n; i++) parts[i] = lower(b, e->u.parts[i]);
        return expr_choice(b, parts, e->n);
    }
    case REGEX_REPEAT:
        return expr_repeat(b, lower(b, e->u.repeat.body), e->u.repeat.min, e->u.repeat.max);
    default:
        return expr_never(b);
    }
}

/* The same texts in UTF-8. */
static fsm *spell_utf8(const fsm *f) {
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) out->final.at[s] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) fsm_utf8_add(out, f->edges.at[e].from, f->edges.at[e].lo, f->edges.at[e].hi, f->edges.at[e].to);
    return out;
}

static expr *whole_match(builder *b, regex_node *e) {
    e = regex_resolve(&b->w->mem, e);
    return e->asserts ? text_automaton_expr(b, regex_text(b, e, false)) : lower(b, e);
}

expr *text_automaton_expr(builder *b, const fsm *f) { return f == NULL ? expr_never(b) : expr_fsm(b, spell_utf8(f)); }

expr *regex_expr(builder *b, const char *text, size_t n, const json *place) {
    return whole_match(b, regex_parse(b, text, n, place));
}

expr *regex_part_expr(builder *b, const regex_part *p) {
    regex_node *e = regex_parse_part(b, p, true);
    if (!e->asserts || regex_looks_outside(b->w, e) == 0) return whole_match(b, e);
    fsm *f = regex_text_before(b, e, p);
    return f == NULL ? expr_never(b) : expr_fsm(b, f);
}

bool regex_part_is_lazy(builder *b, const regex_part *p) {
    const regex_node *e = regex_parse_part(b, p, true);
    if (e->asserts && regex_looks_outside(b->w, e) != 0) return false;
    e = regex_resolve(&b->w->mem, regex_parse_part(b, p, false));
    return e->lazy && !e->asserts;
}

fsm *regex_part_before(builder *b, const regex_part *p, fsm *rest) {
    regex_node *e = regex_resolve(&b->w->mem, regex_parse_part(b, p, false));
    return e->asserts ? text_concat(b->w, regex_text(b, e, true), rest) : regex_lazy_before(b, e, rest);
}

fsm *regex_part_automaton(builder *b, const regex_part *p) {
    return regex_text(b, regex_resolve(&b->w->mem, regex_parse_part(b, p, false)), true);
}

fsm *regex_text_automaton(builder *b, const char *pattern, size_t n, bool search) {
    arena *mem = &b->w->mem;
    regex_node *e = regex_parse(b, pattern, n, NULL);
    return regex_text(b, regex_resolve(mem, search ? regex_search(mem, e) : e), true);
}

fsm *regex_text_at(builder *b, const json *pattern) {
    return regex_text(b, regex_resolve(&b->w->mem, regex_parse(b, pattern->u.text, pattern->n, pattern)), true);
}

void regex_front(builder *b, const char *text, size_t n) { b->root = rule_of(b, regex_expr(b, text, n, NULL)); }
