/* total.c - states from which any text of a JSON string's plain characters may follow.
 *
 * A pattern is a search, so the states of `[0-9a-f]{8}-` inside a string go to
 * one another and never refuse a character: no state is a loop (loops.c), yet
 * every token of plain characters is allowed in all of them.  A state is
 * *total* if on each plain character it can go to a total state, and the rule
 * is not complete on the way: the greatest such set, found by taking states
 * out until nothing changes.  Characters beyond ASCII take several bytes, so
 * the search is over (state, UTF-8 phase).
 *
 * Kept per rule, as a bit per state; only for rules small enough that the
 * search costs less than a walk over the vocabulary. */
#include "store.h"

#define MOST_STATES 400

/* Phases: 0 between characters, then what the next byte must be (RFC 3629, section 4). */
enum { PHASES = 8 };
static const struct {
    uint8_t phase, lo, hi, to;
} steps[] = {
    {0, 0xC2, 0xDF, 1}, {0, 0xE0, 0xE0, 4}, {0, 0xE1, 0xEC, 2}, {0, 0xED, 0xED, 5}, {0, 0xEE, 0xEF, 2},
    {0, 0xF0, 0xF0, 6}, {0, 0xF1, 0xF3, 3}, {0, 0xF4, 0xF4, 7}, {1, 0x80, 0xBF, 0}, {2, 0x80, 0xBF, 1},
    {3, 0x80, 0xBF, 2}, {4, 0xA0, 0xBF, 1}, {5, 0x80, 0x9F, 1}, {6, 0x90, 0xBF, 2}, {7, 0x80, 0x8F, 2},
};

/* Does every byte of lo..hi lead from st to a state that is in `alive` in phase `to`? */
static bool all_lead(const rule *r, const uint8_t *alive, const state *st, uint32_t lo, uint32_t hi, uint32_t to) {
    for (uint32_t byte = lo; byte <= hi;) {
        uint32_t covered = byte;
        for (uint32_t e = 0; e < st->n_bytes; e++) {
            const byte_edge *edge = &st->bytes[e];
            if (edge->lo <= byte && byte <= edge->hi && alive[(uint32_t)(edge->to - r->states) * PHASES + to] && edge->hi >= covered)
                covered = edge->hi + 1u;
        }
        if (covered == byte) return false;
        byte = covered;
    }
    return true;
}

static bool stays_total(const rule *r, const uint8_t *alive, const state *st, uint32_t phase) {
    if (phase == 0 && (st->final || !all_lead(r, alive, st, 0x20, '"' - 1, 0) || !all_lead(r, alive, st, '"' + 1, '\\' - 1, 0) ||
                       !all_lead(r, alive, st, '\\' + 1, 0x7F, 0)))
        return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].phase == phase && !all_lead(r, alive, st, steps[i].lo, steps[i].hi, steps[i].to)) return false;
    return true;
}

static void find_total(const rule *r, uint8_t *alive) {
    memset(alive, 1, (size_t)r->n_states * PHASES);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < r->n_states * PHASES; k++) {
            if (!alive[k] || stays_total(r, alive, &r->states[k / PHASES], k % PHASES)) continue;
            alive[k] = 0;
            changed = true;
        }
    }
}

int state_is_total(store *s, const state *st) {
    rule *r = st->rule;
    if (r->kind != RULE_PLAIN || r->n_states > MOST_STATES || r->n_onces != 0 || r->metered) return 0;
    uint32_t *total = atomic_load_explicit(&r->total, memory_order_acquire);
    if (total == NULL) {
        uint32_t words = (r->n_states + 31) / 32;
        uint8_t *alive = store_alloc(s, (size_t)r->n_states * PHASES);
        total = store_alloc(s, words * sizeof *total);
        if (alive == NULL || total == NULL) {
            store_free(s, alive, (size_t)r->n_states * PHASES);
            store_free(s, total, words * sizeof *total);
            return STE_ERR_NO_MEMORY;
        }
        find_total(r, alive);
        for (uint32_t i = 0; i < r->n_states; i++)
            if (alive[i * PHASES]) bit_set(total, i);
        store_free(s, alive, (size_t)r->n_states * PHASES);
        uint32_t *other = NULL;
        if (!atomic_compare_exchange_strong_explicit(&r->total, &other, total, memory_order_acq_rel, memory_order_acquire)) {
            store_free(s, total, words * sizeof *total); /* another thread was faster */
            total = other;
        }
    }
    return bit_get(total, (uint32_t)(st - r->states));
}
