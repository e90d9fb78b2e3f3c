/* cp_set.c - see cp_set.h. */
#include "cp_set.h"

#include "utf8.h"

void cp_set_add(arena *mem, cp_set *s, uint32_t lo, uint32_t hi) { vec_push(mem, s, (cp_range){lo, hi}); }

void cp_set_add_all(arena *mem, cp_set *s, cp_set more) {
    for (uint32_t i = 0; i < more.n; i++) cp_set_add(mem, s, more.at[i].lo, more.at[i].hi);
}

void cp_set_normalise(cp_set *s) {
    for (uint32_t gap = s->n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < s->n; i++) {
            cp_range v = s->at[i];
            uint32_t j = i;
            for (; j >= gap && s->at[j - gap].lo > v.lo; j -= gap) s->at[j] = s->at[j - gap];
            s->at[j] = v;
        }
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (k > 0 && s->at[i].lo <= s->at[k - 1].hi + 1) {
            if (s->at[i].hi > s->at[k - 1].hi) s->at[k - 1].hi = s->at[i].hi;
        } else {
            s->at[k++] = s->at[i];
        }
    }
    s->n = k;
}

cp_set cp_set_complement(arena *mem, cp_set *s) {
    cp_set out = {0};
    uint32_t from = 0;
    cp_set_normalise(s);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->at[i].lo > from) cp_set_add(mem, &out, from, s->at[i].lo - 1);
        from = s->at[i].hi + 1;
    }
    if (from <= UTF8_MAX) cp_set_add(mem, &out, from, UTF8_MAX);
    return out;
}

expr *cp_set_expr(builder *b, cp_set *s) {
    cp_set_normalise(s);
    return expr_class(b, s->at, s->n);
}
