/* row.c - equal mask rows are stored once; a row of few tokens as their list.
 *
 * Layout: a row is a header and either its tokens, rising, or all words of the
 * mask.  Which of the two depends on the number of tokens alone (row_few: at most
 * ROW_FEW, and no more than an eighth of the words), so equal rows are equal
 * bytes and one comparison confirms a hash.
 *
 * Invariants
 *   M1  two different rows of a store differ;
 *   M2  references counts who holds the row: sets, bands (budget.c), callers; at
 *       0 it is gone.
 *
 * Cost of writing a row: a copy of all words, or clearing them and a bit per token. */
#include "store.h"

#define DENSE UINT32_MAX

uint32_t row_few(const store *s) {
    uint32_t eighth = s->vocab->words / 8;
    return eighth < ROW_FEW ? eighth : ROW_FEW;
}

static size_t row_size(const store *s, uint32_t n) {
    return sizeof(row) + (n == DENSE ? s->vocab->words : n) * sizeof(uint32_t);
}

/* at: n token ids, rising; or, for DENSE, all words. */
static row *intern(store *s, const uint32_t *at, uint32_t n) {
    size_t size = (n == DENSE ? s->vocab->words : n) * sizeof(uint32_t);
    uint64_t hash = hash_bytes(at, size, n);
    pthread_mutex_lock(&s->grow);
    row *r = NULL;
    if (!table_reserve(s, &s->rows)) goto done;
    for (r = table_first(&s->rows, hash); r != NULL; r = r->chain)
        if (r->hash == hash && r->n == n && (size == 0 || memcmp(r->at, at, size) == 0)) {
            r->references++;
            goto done;
        }
    r = store_alloc(s, row_size(s, n));
    if (r == NULL) goto done;
    r->hash = hash;
    r->references = 1;
    r->n = n;
    if (size != 0) memcpy(r->at, at, size);
    table_add(&s->rows, r);
done:
    pthread_mutex_unlock(&s->grow);
    return r;
}

row *row_intern(store *s, const uint32_t *words) {
    uint32_t few[ROW_FEW], n = 0, most = row_few(s);
    for (uint32_t i = 0; i < s->vocab->words; i++)
        for (uint32_t rest = words[i]; rest != 0; rest &= rest - 1) {
            if (n == most) return intern(s, words, DENSE);
            few[n++] = i * 32 + (uint32_t)__builtin_ctz(rest);
        }
    return intern(s, few, n);
}

row *row_intern_few(store *s, uint32_t *tokens, uint32_t n) {
    assert(n <= row_few(s));
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            uint32_t token = tokens[i], j = i;
            for (; j >= gap && tokens[j - gap] > token; j -= gap) tokens[j] = tokens[j - gap];
            tokens[j] = token;
        }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || tokens[i] != tokens[kept - 1]) tokens[kept++] = tokens[i];
    return intern(s, tokens, kept);
}

size_t row_bytes(const store *s, const row *r) { return row_size(s, r->n); }

bool row_is_few(const row *r) { return r->n != DENSE; }

void row_write(const store *s, const row *r, uint32_t *words) {
    if (r->n == DENSE) {
        memcpy(words, r->at, s->vocab->words * sizeof *words);
        return;
    }
    memset(words, 0, s->vocab->words * sizeof *words);
    for (uint32_t i = 0; i < r->n; i++) bit_set(words, r->at[i]);
}

void row_or(const store *s, const row *r, uint32_t *words) {
    if (r->n == DENSE) {
        bits_or(words, r->at, s->vocab->words);
        return;
    }
    for (uint32_t i = 0; i < r->n; i++) bit_set(words, r->at[i]);
}

void row_release(store *s, row *r) {
    if (--r->references > 0) return;
    table_remove(&s->rows, r);
    store_free(s, r, row_size(s, r->n));
}
