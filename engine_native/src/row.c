/* row.c - equal mask rows are stored once. */
#include "store.h"

static size_t row_size(const store *s) { return sizeof(row) + s->vocab->words * sizeof(uint32_t); }

row *row_intern(store *s, const uint32_t *words) {
    size_t n = s->vocab->words * sizeof(uint32_t);
    uint64_t hash = hash_bytes(words, n, 3);
    pthread_mutex_lock(&s->grow);
    row *r = NULL;
    if (!table_reserve(s, &s->rows)) goto done;
    for (r = s->rows.slots[hash & (s->rows.size - 1)]; r != NULL; r = r->chain)
        if (r->hash == hash && memcmp(r->words, words, n) == 0) {
            r->references++;
            goto done;
        }
    r = store_alloc(s, row_size(s));
    if (r == NULL) goto done;
    r->hash = hash;
    r->references = 1;
    memcpy(r->words, words, n);
    uint32_t set_bits = 0;
    for (uint32_t i = 0; i < s->vocab->words; i++) set_bits += (uint32_t)__builtin_popcount(words[i]);
    r->full = set_bits == s->vocab->size;
    r->chain = s->rows.slots[hash & (s->rows.size - 1)];
    s->rows.slots[hash & (s->rows.size - 1)] = r;
    s->rows.count++;
done:
    pthread_mutex_unlock(&s->grow);
    return r;
}

void row_release(store *s, row *r) {
    if (--r->references > 0) return;
    row **at = (row **)(void *)&s->rows.slots[r->hash & (s->rows.size - 1)];
    while (*at != r) at = &(*at)->chain;
    *at = r->chain;
    s->rows.count--;
    store_free(s, r, row_size(s));
}
