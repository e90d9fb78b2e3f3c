/* onces.h - onces: edges that consume nothing and may be passed once in a match of their rule.
 *
 * The register of an item tells which ones have been passed:
 *
 *   few   (at most FEW_ONCES) a bit for each
 *   many  0 for none, else a *passed*: the set as words, interned, so that equal
 *         registers are equal sets
 *
 * An item is *dead*, and in no set, if none of the onces ahead is left and its
 * rule cannot end.  That decides exactly, provided that behind a once every other
 * one and the end are possible again (docs/decisions/0005).
 *
 * Life: a passed that no live set needs goes with a collection.  It is immutable
 * but for its mark; the table is under `grow`. */
#ifndef STE_ONCES_H
#define STE_ONCES_H

#include "store.h"

typedef struct passed {
    uint64_t hash;
    struct passed *chain;
    uint32_t n; /* words */
    bool mark;
    uint64_t words[];
} passed;

/* Of a rule with many onces. */
bool many_dead(const state *st, uint64_t reg);

static inline bool item_dead(const state *st, uint64_t reg) {
    const rule *r = st->rule;
    if (r->n_onces == 0) return false;
    if (r->once_words != 0) return many_dead(st, reg);
    return (st->ahead.few & ~reg) == 0 && !(st->ends && (r->required.few & ~reg) == 0);
}

/* Passes an edge of st: 0 if it may not be passed, else 1, and *reg knows of it; negative: out of memory.  Under
 * `grow` if the rule has many. */
int pass_once(store *s, const state *st, const once_edge *e, uint64_t *reg);

/* For a collection: keep what the register of an item of the rule needs; free what was not kept. */
void passed_mark(const rule *r, uint64_t reg);
void passed_sweep(store *s);

#endif
