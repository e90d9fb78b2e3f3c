/* distinct.h - arrays whose elements differ: what has been seen, and how far the element at hand has come.
 *
 * The elements of such an array (RULE_DISTINCT) are no rules to the parser.
 * The item within an element stands for all of it:
 *
 *   register    a *progress*: `at`, the set that the element's rule reaches by
 *               itself (origin top), shared with everything; the text of the
 *               element, as a chain of progresses; the *rivals*, earlier values
 *               that this text may still become; and the bytes that may follow
 *   step        `at` steps; if the element is complete there and its value is
 *               no rival's, the item also goes on behind it
 *
 * The registers of all other states of the rule tell the values seen: 0 for
 * none, a `seen` (the last value, and what was before it), or, in canonical
 * sets, a count.
 *
 * No way leads into a dead end: a byte may follow if some text that goes on
 * like this has a value that no rival has.  Nearly always the next byte leaves
 * the path of all rivals, and whatever comes is another value: an element's
 * rule can always end.  Where all bytes keep to rivals, their paths are
 * searched (distinct.c).  So nothing need be known about the element's rule,
 * and nothing is compiled while matching.
 *
 * Masks.  A canonical set forgets texts and values: within an element it says
 * what the element's rule and the rest of the array allow.  element.c takes from
 * this what rivals rule out, and looks closer where a token goes through a
 * whole second element, of which a canonical set knows too little:
 *
 *   READ       the text is known; an element without rivals is like any other
 *   FORGOTTEN  in canonical sets: the element at hand
 *   YOUNG      in canonical sets: an element that began after it
 *
 * Life: progresses and seens that no live set or rule needs go with a
 * collection.  All are immutable but for marks. */
#ifndef STE_DISTINCT_H
#define STE_DISTINCT_H

#include "store.h"

typedef enum progress_kind { READ, FORGOTTEN, YOUNG } progress_kind;

/* After one byte more: `within`, NULL if nothing can follow inside it; `done` if it may be complete, and then
 * `seen`. */
typedef struct element_step {
    progress *within;
    bool done;
    uint64_t seen;
} element_step;

/* A step that was taken: sets within elements do not remember theirs. */
typedef struct taken {
    struct taken *next;
    uint32_t byte;
    element_step step;
} taken;

struct progress {
    uint64_t hash;
    progress *chain;
    set *at;
    const rule *of;         /* the distinct rule */
    const progress *before; /* READ: one byte earlier; NULL at the beginning */
    uint64_t seen;          /* register: the values before this element */
    const seen **rivals;    /* NULL: all values seen */
    uint32_t n_rivals, own_rivals; /* own_rivals: the array is this one's, with so many places */
    uint32_t length;        /* READ: bytes of text */
    uint8_t byte, kind;
    uint8_t depth;          /* of elements within elements: a step recurses through them */
    bool mark;
    byteset allow;
    taken *taken;           /* READ; under grow */
};

struct seen {
    seen *next;           /* in the store's list */
    const seen *before;   /* NULL: the first value */
    progress *start;      /* of the next element; NULL: there is no other value, or no room */
    uint32_t count, size; /* values; bytes of the last one */
    bool mark;
    uint8_t value[];      /* as json_value has it */
};

/* Registers that are counts. */
static inline bool seen_is_count(uint64_t reg) { return (reg & 1) != 0; }
static inline uint64_t seen_from_count(uint64_t n) { return n << 1 | 1; }
static inline uint64_t seen_count(uint64_t reg) {
    if (seen_is_count(reg)) return reg >> 1;
    return reg == 0 ? 0 : ((const seen *)(uintptr_t)reg)->count;
}
static inline progress *progress_of(const item *it) { return (progress *)(uintptr_t)it->reg; }

/* A byte that p allows.  Wants the gate, and no lock; false with the reason in u->code. */
bool element_take(use *u, progress *p, uint32_t byte, element_step *out);
/* Make the rule's start. */
bool element_begin(use *u, rule *r);
/* These want `grow`; NULL when out of memory.  The canonical progress, given the canonical set of p->at; a young
 * element after so many. */
progress *progress_forgotten(store *s, const progress *p, set *canonical);
progress *progress_young(store *s, const rule *r, uint64_t seen);
/* The register of a canonical set. */
uint64_t seen_canonical(const store *s, const rule *r, uint64_t reg);
/* May what is left to choose from run out within a token's reach? */
bool seen_is_tight(const store *s, const rule *r, uint64_t reg);

/* Trie nodes below which p's rivals rule something out that p->at allows: found(ctx, node) for each, and nothing
 * below it. */
bool element_conflicts(use *u, const progress *p, bool (*found)(void *ctx, uint32_t node), void *ctx);

size_t progress_bytes(const progress *p);

/* For a collection: mark what p, or a register, needs; sets that it needs are given to each(ctx, set). */
void progress_mark(progress *p, void (*each)(void *ctx, set *at), void *ctx);
void seen_mark(uint64_t reg, void (*each)(void *ctx, set *at), void *ctx);
/* ... and free what is not marked. */
void distinct_sweep(store *s);

#endif
