/* schema_regex.c - "format": "regex" beside other constraints: expressions that nest a little.
 *
 * Parentheses nest, so regular expressions are no regular language, and by
 * itself the format is a rule that refers to itself (schema_string.c).  Where
 * texts have to be intersected, or stand for keys, an automaton takes those with
 * parentheses in at most MAX_NESTED levels: fewer than are valid, so it must not
 * be negated. */
#include "format.h"
#include "fsm_product.h"
#include "schema.h"

#define MAX_NESTED 2

/* f with `inner` in place of what is nested. */
static fsm *nest(const fsm *f, const fsm *inner) {
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) out->final.at[s] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (g.lo != FORMAT_NESTED) {
            fsm_edge_add(out, g.from, g.lo, g.hi, g.to);
            continue;
        }
        uint32_t base = fsm_size(out);
        for (uint32_t s = 0; s < fsm_size(inner); s++) {
            fsm_state(out);
            if (inner->final.at[s]) fsm_empty_add(out, base + s, g.to);
        }
        for (uint32_t i = 0; i < inner->edges.n; i++) {
            fsm_edge h = inner->edges.at[i];
            fsm_edge_add(out, base + h.from, h.lo, h.hi, base + h.to);
        }
        fsm_empty_add(out, g.from, base + inner->start);
    }
    return fsm_reduce(fsm_determinise_fully(out));
}

fsm *schema_flat_regex(schema_context *c, const json *at) {
    if (c->negated > 0)
        json_escape(c->b->w, at, STE_ERR_UNSUPPORTED, "keyword \"format\": \"%s\" is not supported under a negation", at->u.text);
    if (c->flat_regex != NULL) return c->flat_regex;
    char *text = format_regex_pattern(&c->b->w->mem);
    fsm *whole = regex_text_automaton(c->b, text, strlen(text), false), *inner = fsm_new(c->b->w);
    inner->final.at[0] = 1; /* nothing in the innermost parentheses */
    fsm_index(inner);
    for (int i = 0; i <= MAX_NESTED; i++) inner = nest(whole, inner);
    c->flat_regex = inner;
    return inner;
}
