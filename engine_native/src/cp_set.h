/* cp_set.h - sets of code points, as lists of ranges. */
#ifndef STE_CP_SET_H
#define STE_CP_SET_H

#include "expr.h"

typedef struct cp_set {
    cp_range *at;
    uint32_t n, cap;
} cp_set;

void cp_set_add(arena *mem, cp_set *s, uint32_t lo, uint32_t hi);
void cp_set_add_all(arena *mem, cp_set *s, cp_set more);
void cp_set_normalise(cp_set *s); /* sorted and disjoint */
cp_set cp_set_complement(arena *mem, cp_set *s);
/* Any of the characters; the set is normalised. */
expr *cp_set_expr(builder *b, cp_set *s);

#endif
