/* table.c - a table of chained entries that grows slot by slot (linear hashing, Litwin 1980).
 *
 * There are base + split slots, base a power of two: the slots below `split` have
 * been split, their entries being in i or base + i by one more bit of the hash.
 * Each new entry splits one slot, so no call has to move all entries at once. */
#include "store.h"

static bool add_segment(store *s, table *t, uint32_t segment) {
    if (segment == t->n_segments) {
        uint32_t n = t->n_segments == 0 ? 8 : t->n_segments * 2;
        void ***grown = store_alloc(s, n * sizeof *grown);
        if (grown == NULL) return false;
        if (t->n_segments != 0) memcpy(grown, t->segments, t->n_segments * sizeof *grown);
        store_free(s, t->segments, t->n_segments * sizeof *t->segments);
        t->segments = grown;
        t->n_segments = n;
    }
    if (t->segments[segment] == NULL) t->segments[segment] = store_alloc(s, TABLE_SEGMENT * sizeof(void *));
    return t->segments[segment] != NULL;
}

bool table_reserve(store *s, table *t) {
    if (t->count < table_size(t)) return true;
    if (!add_segment(s, t, table_size(t) / TABLE_SEGMENT)) return t->base != 0; /* crowded, but working */
    if (t->base == 0) {
        t->base = TABLE_SEGMENT;
        return true;
    }
    table_entry *e = *table_at(t, t->split);
    void **low = table_at(t, t->split), **high = table_at(t, t->base + t->split);
    *low = *high = NULL;
    while (e != NULL) {
        table_entry *next = e->chain;
        void **slot = (e->hash & t->base) != 0 ? high : low;
        e->chain = *slot;
        *slot = e;
        e = next;
    }
    if (++t->split == t->base) {
        t->base *= 2;
        t->split = 0;
    }
    return true;
}

void table_add(table *t, void *p) {
    table_entry *e = p;
    void **slot = table_slot(t, e->hash);
    e->chain = *slot;
    *slot = e;
    t->count++;
}

void table_remove(table *t, const void *p) {
    if (t->base == 0) return;
    void **at = table_slot(t, ((const table_entry *)p)->hash);
    while (*at != NULL && *at != p) at = (void **)&((table_entry *)*at)->chain;
    if (*at == NULL) return;
    *at = ((const table_entry *)p)->chain;
    t->count--;
}

void table_free(store *s, table *t) {
    for (uint32_t i = 0; i < t->n_segments; i++) store_free(s, t->segments[i], TABLE_SEGMENT * sizeof(void *));
    store_free(s, t->segments, t->n_segments * sizeof *t->segments);
}
