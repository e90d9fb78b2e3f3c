/* bits.h - word operations on mask rows, and sets of byte values (inline; compilers vectorise them).
 *
 * A row is an array of 32-bit words as ste.h describes; the caller knows how
 * many.  Nothing here checks a bound. */
#ifndef STE_BITS_H
#define STE_BITS_H

#include "base.h"

static inline bool bit_get(const uint32_t *row, uint32_t i) { return (row[i >> 5] >> (i & 31)) & 1; }
static inline void bit_set(uint32_t *row, uint32_t i) { row[i >> 5] |= UINT32_C(1) << (i & 31); }
static inline void bit_clear(uint32_t *row, uint32_t i) { row[i >> 5] &= ~(UINT32_C(1) << (i & 31)); }

static inline void bits_or(uint32_t *restrict to, const uint32_t *restrict from, uint32_t words) {
    for (uint32_t i = 0; i < words; i++) to[i] |= from[i];
}

/* Bits lo..hi, both included. */
static inline void bits_set_range(uint32_t *row, uint32_t lo, uint32_t hi) {
    uint32_t first = lo >> 5, last = hi >> 5, head = UINT32_MAX << (lo & 31), tail = UINT32_MAX >> (31 - (hi & 31));
    if (first == last) {
        row[first] |= head & tail;
        return;
    }
    row[first] |= head;
    for (uint32_t i = first + 1; i < last; i++) row[i] = UINT32_MAX;
    row[last] |= tail;
}

/* A set of byte values. */
typedef struct byteset {
    uint64_t w[4];
} byteset;

static inline bool byteset_has(const byteset *s, uint32_t b) { return (s->w[b >> 6] >> (b & 63)) & 1; }
static inline void byteset_add_range(byteset *s, uint32_t lo, uint32_t hi) {
    for (uint32_t i = lo >> 6; i <= hi >> 6; i++) {
        uint64_t all = UINT64_MAX;
        if (i == lo >> 6) all &= UINT64_MAX << (lo & 63);
        if (i == hi >> 6) all &= UINT64_MAX >> (63 - (hi & 63));
        s->w[i] |= all;
    }
}
static inline void byteset_or(byteset *to, const byteset *from) {
    for (int i = 0; i < 4; i++) to->w[i] |= from->w[i];
}
static inline uint32_t byteset_size(const byteset *s) {
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) n += (uint32_t)__builtin_popcountll(s->w[i]);
    return n;
}
static inline uint32_t byteset_ascii_size(const byteset *s) {
    return (uint32_t)__builtin_popcountll(s->w[0]) + (uint32_t)__builtin_popcountll(s->w[1]);
}
static inline bool byteset_empty(const byteset *s) { return (s->w[0] | s->w[1] | s->w[2] | s->w[3]) == 0; }

#endif
