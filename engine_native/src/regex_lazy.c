/* regex_lazy.c - lazy repeats where a pattern is a terminal of a grammar.
 *
 * As a set of texts x*? is x*.  A grammar's author means more: /"(.*?)"/ ends at
 * its first quote, because a lexer tries few repetitions before many.  With R
 * for all that follows in the terminal, x*? R is
 *
 *   { x r : r in R, and no shorter run x' of the repeat has a text of R after it in x r }
 *
 * To subtract what has a shorter run, a mark # is put between the two:
 *
 *   wanted     X # R                       X: the runs of the repeat
 *   unwanted   X { y # r : y not empty, y r in R followed by anything }
 *
 * and taken out of the difference.  What stands after the terminal is not
 * looked at.  A lazy repeat inside another repeat counts as a greedy one. */
#include "fsm_product.h"
#include "regex_tree.h"
#include "text_automaton.h"
#include "utf8.h"

#define MARK (UTF8_MAX + 1)

static fsm *reduce(fsm *f) { return fsm_reduce(fsm_determinise_fully(f)); }

/* X # R */
static fsm *marked(work *w, const fsm *runs, const fsm *rest) {
    fsm *f = fsm_new(w);
    uint32_t before = fsm_state(f), after = fsm_state(f), end = fsm_state(f);
    f->final.at[end] = 1;
    fsm_insert(f, runs, f->start, before);
    fsm_edge_add(f, before, MARK, MARK, after);
    fsm_insert(f, rest, after, end);
    return fsm_determinise_fully(f);
}

/* X { y # r : y not empty, y r in f }: three copies of f, before and after a first character and after the mark. */
static fsm *marked_later(work *w, const fsm *runs, const fsm *f) {
    fsm *out = fsm_new(w);
    uint32_t n = fsm_size(f), base = fsm_size(out), end;
    for (uint32_t s = 0; s < 3 * n; s++) fsm_state(out);
    end = fsm_state(out);
    out->final.at[end] = 1;
    fsm_insert(out, runs, out->start, base + f->start);
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        fsm_edge_add(out, base + g.from, g.lo, g.hi, base + n + g.to);
        fsm_edge_add(out, base + n + g.from, g.lo, g.hi, base + n + g.to);
        fsm_edge_add(out, base + 2 * n + g.from, g.lo, g.hi, base + 2 * n + g.to);
    }
    for (uint32_t s = 0; s < n; s++) {
        fsm_edge_add(out, base + n + s, MARK, MARK, base + 2 * n + s);
        if (f->final.at[s]) fsm_empty_add(out, base + 2 * n + s, end);
    }
    return fsm_determinise_fully(out);
}

static fsm *without_mark(const fsm *f) {
    if (f == NULL) return NULL;
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) out->final.at[s] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (g.lo == MARK)
            fsm_empty_add(out, g.from, g.to);
        else
            fsm_edge_add(out, g.from, g.lo, g.hi, g.to);
    }
    return reduce(out);
}

/* A run of the repeat, as short as it can be, and then rest. */
static fsm *shortest_run(work *w, const fsm *runs, fsm *rest) {
    if (runs == NULL || rest == NULL) return NULL;
    fsm *going_on = text_concat(w, rest, text_any(w));
    return without_mark(fsm_reduce(fsm_difference(marked(w, runs, rest), marked_later(w, runs, going_on))));
}

static fsm *sequence_before(builder *b, regex_node *e, fsm *rest) {
    for (uint32_t i = e->n; i-- > 0;) {
        uint32_t end = i + 1;
        if (e->u.parts[i]->lazy) {
            rest = regex_lazy_before(b, e->u.parts[i], rest);
            continue;
        }
        while (i > 0 && !e->u.parts[i - 1]->lazy) i--;
        rest = text_concat(b->w, regex_text(b, regex_sequence(&b->w->mem, e->u.parts + i, end - i), true), rest);
    }
    return rest;
}

fsm *regex_lazy_before(builder *b, regex_node *e, fsm *rest) {
    work *w = b->w;
    if (!e->lazy) return text_concat(w, regex_text(b, e, true), rest);
    if (e->kind == REGEX_SEQUENCE) return sequence_before(b, e, rest);
    if (e->kind == REGEX_CHOICE) {
        fsm *all = NULL;
        for (uint32_t i = 0; i < e->n; i++) all = text_union(w, all, regex_lazy_before(b, e->u.parts[i], rest));
        return all;
    }
    fsm *runs = regex_text(b, e, true);
    return e->u.repeat.lazy ? shortest_run(w, runs, rest) : text_concat(w, runs, rest);
}
