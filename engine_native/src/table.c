/* table.c - a growing table of chained entries, each starting with {uint64_t hash; T *chain}.
 *
 * The size is 0 or a power of two, an entry is in the list of slot
 * hash % size.  Callers find, insert and remove by themselves; this file only
 * doubles the table once there are as many entries as slots. */
#include "store.h"

typedef struct entry {
    uint64_t hash;
    struct entry *chain;
} entry;

bool table_reserve(store *s, table *t) {
    if (t->count < t->size) return true;
    uint32_t size = t->size == 0 ? 256 : t->size * 2;
    void **slots = store_alloc(s, size * sizeof *slots);
    if (slots == NULL) return t->size != 0; /* crowded, but working */
    for (uint32_t i = 0; i < t->size; i++)
        for (entry *e = t->slots[i]; e != NULL;) {
            entry *next = e->chain;
            e->chain = slots[e->hash & (size - 1)];
            slots[e->hash & (size - 1)] = e;
            e = next;
        }
    store_free(s, t->slots, t->size * sizeof *t->slots);
    t->slots = slots;
    t->size = size;
    return true;
}
