/* state_table.c - see state_table.h. */
#include "state_table.h"

static uint32_t *probe(const state_table *t, const uint8_t *keys, size_t size, const void *key) {
    uint32_t at = (uint32_t)hash_bytes(key, size, 0) & t->mask;
    for (; t->slots[at] != 0; at = (at + 1) & t->mask)
        if (memcmp(keys + (size_t)(t->slots[at] - 1) * size, key, size) == 0) break;
    return &t->slots[at];
}

uint32_t state_table_find(arena *mem, state_table *t, const void *keys, uint32_t n, size_t size, const void *key,
                          uint32_t **slot) {
    const uint8_t *bytes = keys;
    if (n * 2 >= t->mask) {
        uint32_t slots = t->slots == NULL ? 64 : (t->mask + 1) * 2;
        *t = (state_table){arena_alloc(mem, slots, sizeof *t->slots), slots - 1};
        for (uint32_t i = 0; i < n; i++) *probe(t, bytes, size, bytes + (size_t)i * size) = i + 1;
    }
    *slot = probe(t, bytes, size, key);
    return **slot == 0 ? UINT32_MAX : **slot - 1;
}
