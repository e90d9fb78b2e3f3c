/* state_table.h - finds the states of an automaton that is made as they are met: keys in an array, found by hash.
 * Slots hold index + 1, 0 is free; at most half of them are taken. */
#ifndef STE_STATE_TABLE_H
#define STE_STATE_TABLE_H

#include "mem.h"

typedef struct state_table {
    uint32_t *slots, mask;
} state_table;

/* The index of `key` among the n keys of `size` bytes at `keys`; or UINT32_MAX and *slot, which takes n + 1 once the
 * key has been appended.  Keys have no padding. */
uint32_t state_table_find(arena *mem, state_table *t, const void *keys, uint32_t n, size_t size, const void *key,
                          uint32_t **slot);

#endif
