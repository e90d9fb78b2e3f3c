/* onces.c - see onces.h. */
#include "onces.h"

static bool has(const uint64_t *words, uint32_t which) { return (words[which / 64] >> which % 64 & 1) != 0; }

static const uint64_t *words_of(uint64_t reg) { return reg == 0 ? NULL : ((const passed *)(uintptr_t)reg)->words; }

static bool all_passed(const uint64_t *wanted, uint32_t n, const uint64_t *have) {
    for (uint32_t i = 0; i < n; i++)
        if ((wanted[i] & ~(have == NULL ? 0 : have[i])) != 0) return false;
    return true;
}

bool many_dead(const state *st, uint64_t reg) {
    const rule *r = st->rule;
    const uint64_t *have = words_of(reg);
    return all_passed(st->ahead.many, r->once_words, have) && !(st->ends && all_passed(r->required.many, r->once_words, have));
}

/* The interned set with one more; 0 when out of memory. */
static uint64_t passed_with(store *s, uint64_t reg, uint32_t n, uint32_t which) {
    size_t size = sizeof(passed) + n * sizeof(uint64_t);
    passed *fresh = table_reserve(s, &s->passed) ? store_alloc(s, size) : NULL;
    if (fresh == NULL) return 0;
    fresh->n = n;
    if (reg != 0) memcpy(fresh->words, words_of(reg), n * sizeof(uint64_t));
    fresh->words[which / 64] |= UINT64_C(1) << which % 64;
    fresh->hash = hash_bytes(fresh->words, n * sizeof(uint64_t), n);
    for (passed *p = table_first(&s->passed, fresh->hash); p != NULL; p = p->chain)
        if (p->hash == fresh->hash && p->n == n && memcmp(p->words, fresh->words, n * sizeof(uint64_t)) == 0) {
            store_free(s, fresh, size);
            return (uint64_t)(uintptr_t)p;
        }
    table_add(&s->passed, fresh);
    return (uint64_t)(uintptr_t)fresh;
}

int pass_once(store *s, const state *st, const once_edge *e, uint64_t *reg) {
    const rule *r = st->rule;
    if (r->once_words == 0) {
        if (e->which == MAX_ONCE) return (r->required.few & ~*reg) == 0;
        uint64_t bit = UINT64_C(1) << e->which;
        if ((*reg & bit) != 0) return 0;
        *reg |= bit;
        return 1;
    }
    const uint64_t *have = words_of(*reg);
    if (e->which == MAX_ONCE) return all_passed(r->required.many, r->once_words, have);
    if (have != NULL && has(have, e->which)) return 0;
    uint64_t with = passed_with(s, *reg, r->once_words, e->which);
    if (with == 0) return STE_ERR_NO_MEMORY;
    *reg = with;
    return 1;
}

void passed_mark(const rule *r, uint64_t reg) {
    if (r->once_words != 0 && reg != 0) ((passed *)(uintptr_t)reg)->mark = true;
}

void passed_sweep(store *s) {
    for (uint32_t i = 0; i < table_size(&s->passed); i++)
        for (passed **at = (passed **)(void *)table_at(&s->passed, i); *at != NULL;) {
            passed *here = *at;
            if (here->mark) {
                here->mark = false;
                at = &here->chain;
                continue;
            }
            *at = here->chain;
            s->passed.count--;
            store_free(s, here, sizeof *here + here->n * sizeof(uint64_t));
        }
}
