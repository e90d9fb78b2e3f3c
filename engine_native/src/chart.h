/* chart.h - the textbook's Earley chart of one text: every set with its position.
 *
 * Sets (set.h) are interned and know no positions, which is what makes masks
 * cheap; where in the text a rule began and ended has to be found by parsing
 * the text again.  The chart does that over the same rules, position by
 * position, and can be cut back to any earlier one.
 *
 *   item     (state, register, origin): the text since position `origin` leads
 *            the state's rule to this state
 *   wait     the items of one position that wait for one rule, in the order
 *            in which they came; the first of them began the rule there
 *   span     what one captured rule matched, and the spans before and inside
 *            it: lists that share their beginnings
 *
 * Each item keeps one derivation, the first that was found: of it, the spans
 * since the origin that are finished.  All order is the order of the text and
 * of the rules' edges, so the same text always gives the same spans.
 *
 * Invariants
 *   H1  items, waits, waiters and spans of a position stand together, after
 *       those of the position before;
 *   H2  an item's spans are made before the item, so lists have no cycles;
 *   H3  the first waiter for a rule came before the rule's first item there,
 *       so going from an item to the first waiter for its rule at its origin,
 *       and so on, ends at the root;
 *   H4  a span list that is not empty holds a captured rule, and so does each
 *       of the two lists that a span without a rule joins. */
#ifndef STE_CHART_H
#define STE_CHART_H

#include "store.h"

typedef struct chart_item {
    const state *state;
    uint64_t reg;
    uint32_t origin;
    uint32_t spans; /* + 1 */
} chart_item;

typedef struct chart_span {
    const rule *rule;        /* NULL: joins two lists */
    uint32_t before, inside; /* lists, + 1 */
    uint32_t begin, end;
    uint32_t count;          /* captured rules in the list that ends here */
} chart_span;

typedef struct chart_waiter {
    uint32_t item, edge; /* the rule edge; of no meaning in a repeat */
    uint32_t next;       /* + 1 */
} chart_waiter;

typedef struct chart_wait {
    const rule *on;
    uint32_t first, last; /* waiters, + 1 */
    uint32_t empty;       /* item, + 1, that completed the rule where it began */
} chart_wait;

/* How many there are up to this position and with it. */
typedef struct chart_position {
    uint32_t items, waits, waiters, spans;
} chart_position;

/* A hash table of the items, or waits, of the position at hand; a slot with another stamp is free. */
typedef struct chart_index {
    uint64_t *slots; /* stamp, number */
    uint32_t n;
} chart_index;

typedef struct chart {
    use *user;
    const rule *root;
    VEC(chart_item) items;
    VEC(chart_wait) waits;
    VEC(chart_waiter) waiters;
    VEC(chart_span) spans;
    VEC(chart_position) positions;
    chart_index item_index, wait_index;
    uint32_t stamp;
    uint64_t bytes, work; /* held; items and waiters that may still be tried */
    bool failed;
} chart;

/* A part of the text that was accepted in one piece: positions begin .. end. */
typedef struct chart_step {
    uint32_t begin, end;
    uint32_t token; /* that was accepted, or TRIE_NO_TOKEN */
    bool by_bytes;  /* it may be read byte by byte */
} chart_step;

/* A zeroed chart is empty.  These want the gate held for reading and return false when they fail, with the
 * reason in u->code; then the chart is as before.  The first one makes position 0. */
bool chart_begin(chart *c, use *u, const rule *root);
bool chart_extend(chart *c, use *u, const uint8_t *text, chart_step step);
/* Forget what comes after position `end`. */
void chart_cut(chart *c, uint32_t end);
void chart_free(chart *c, store *s);

static inline uint32_t chart_items_before(const chart *c, uint32_t position) {
    return position == 0 ? 0 : c->positions.at[position - 1].items;
}
static inline uint32_t chart_span_count(const chart *c, uint32_t list) {
    return list == 0 ? 0 : c->spans.at[list - 1].count;
}
/* The item that waits for the rule of i; NULL if that is the whole text's. */
const chart_item *chart_parent(const chart *c, const chart_item *i);

#endif
