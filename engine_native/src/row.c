/* row.c - mask rows, stored once: as a list of tokens, as all words, or as another row with some tokens changed.
 *
 * A string body allows a hundred thousand tokens, and the same ones wherever it
 * is but for those that close it: such rows are kept as their difference from the
 * row that they have in common, in a twentieth of the memory.
 *
 * Layout: a header and
 *   list     n tokens, rising                      (base is NULL)
 *   words    all words of the mask                 (n is DENSE)
 *   changes  n tokens, rising, that are not as in base, which is a row of words
 *
 * Invariants
 *   M1  two rows of a store differ in their bytes or in base; rows of few tokens
 *       are lists;
 *   M2  references counts who holds the row: sets, bands (budget.c), rows with
 *       changes, callers; at 0 it is gone.
 *
 * Cost of writing a row: a copy of all words, or clearing them, and a bit per listed token. */
#include "store.h"

#define DENSE UINT32_MAX

uint32_t row_few(const store *s) {
    uint32_t eighth = s->vocab->words / 8;
    return eighth < 2 ? 2 : eighth < ROW_FEW ? eighth : ROW_FEW;
}

static size_t row_size(const store *s, uint32_t n) {
    return sizeof(row) + (n == DENSE ? s->vocab->words : n) * sizeof(uint32_t);
}

/* at: n token ids, rising; or, for DENSE, all words. */
static row *intern(store *s, row *base, const uint32_t *at, uint32_t n) {
    size_t size = (n == DENSE ? s->vocab->words : n) * sizeof(uint32_t);
    uint64_t hash = hash_bytes(at, size, hash_mix(n, (uint64_t)(uintptr_t)base));
    pthread_mutex_lock(&s->grow);
    row *r = NULL;
    if (!table_reserve(s, &s->rows)) goto done;
    for (r = table_first(&s->rows, hash); r != NULL; r = r->chain)
        if (r->hash == hash && r->n == n && r->base == base && (size == 0 || memcmp(r->at, at, size) == 0)) {
            r->references++;
            goto done;
        }
    r = store_take(s, row_size(s, n));
    if (r == NULL) goto done;
    *r = (row){.hash = hash, .references = 1, .n = n, .base = base};
    if (size != 0) memcpy(r->at, at, size);
    if (base != NULL) base->references++;
    table_add(&s->rows, r);
done:
    pthread_mutex_unlock(&s->grow);
    return r;
}

row *row_retain(store *s, const row *r) {
    row *held = (row *)(uintptr_t)r;
    pthread_mutex_lock(&s->grow);
    held->references++;
    pthread_mutex_unlock(&s->grow);
    return held;
}

void row_release(store *s, row *r) {
    if (--r->references > 0) return;
    row *base = r->base;
    table_remove(&s->rows, r);
    store_free(s, r, row_size(s, r->n));
    if (base != NULL) row_release(s, base);
}

/* The tokens of the words in which they differ from others, NULL standing for zeros; false if they are more than most. */
static bool differences(const store *s, const uint32_t *words, const uint32_t *others, uint32_t most, uint32_t *out, uint32_t *n) {
    *n = 0;
    for (uint32_t i = 0; i < s->vocab->words; i++)
        for (uint32_t rest = others == NULL ? words[i] : words[i] ^ others[i]; rest != 0; rest &= rest - 1) {
            if (*n == most) return false;
            out[(*n)++] = i * 32 + (uint32_t)__builtin_ctz(rest);
        }
    return true;
}

row *row_intern(store *s, const uint32_t *words, const row *near) {
    uint32_t few[ROW_FEW], n, most = row_few(s);
    if (differences(s, words, NULL, most, few, &n)) return intern(s, NULL, few, n);
    const row *base = near == NULL || near->base == NULL ? near : near->base;
    if (base == NULL || base->n != DENSE || !differences(s, words, base->at, most, few, &n)) return intern(s, NULL, words, DENSE);
    return n == 0 ? row_retain(s, base) : intern(s, (row *)(uintptr_t)base, few, n);
}

row *row_intern_loop(store *s, const uint32_t *words, const void *chars) {
    pthread_mutex_lock(&s->grow);
    row *near = NULL;
    for (int i = 0; i < LOOP_ROWS; i++)
        if (s->loop_rows[i].of == chars) near = s->loop_rows[i].row;
    if (near != NULL) near->references++;
    pthread_mutex_unlock(&s->grow);
    row *r = row_intern(s, words, near);
    pthread_mutex_lock(&s->grow);
    if (near != NULL) row_release(s, near);
    if (r != NULL && r->n == DENSE && r != near) {
        uint32_t i = 0;
        while (i < LOOP_ROWS && s->loop_rows[i].of != chars) i++;
        if (i == LOOP_ROWS) i = s->next_loop_row++ % LOOP_ROWS;
        if (s->loop_rows[i].of != NULL) row_release(s, s->loop_rows[i].row);
        r->references++;
        s->loop_rows[i] = (loop_row){chars, r};
    }
    pthread_mutex_unlock(&s->grow);
    return r;
}

void row_forget_loops(store *s) {
    for (int i = 0; i < LOOP_ROWS; i++)
        if (s->loop_rows[i].of != NULL) row_release(s, s->loop_rows[i].row);
    memset(s->loop_rows, 0, sizeof s->loop_rows);
}

/* Sorted, each once; returns how many that are. */
static uint32_t sort_tokens(uint32_t *tokens, uint32_t n) {
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            uint32_t token = tokens[i], j = i;
            for (; j >= gap && tokens[j - gap] > token; j -= gap) tokens[j] = tokens[j - gap];
            tokens[j] = token;
        }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || tokens[i] != tokens[kept - 1]) tokens[kept++] = tokens[i];
    return kept;
}

row *row_intern_few(store *s, uint32_t *tokens, uint32_t n) {
    assert(n <= row_few(s));
    return intern(s, NULL, tokens, sort_tokens(tokens, n));
}

static bool listed(const row *r, uint32_t token) {
    uint32_t lo = 0, hi = r->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (r->at[mid] < token)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->n && r->at[lo] == token;
}

bool row_has(const row *r, uint32_t token) {
    if (r->n == DENSE) return bit_get(r->at, token);
    return listed(r, token) != (r->base != NULL && bit_get(r->base->at, token));
}

/* The tokens that are in one of two rising lists, as far as they fit; returns how many that are. */
static uint32_t in_one(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b, uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < n_a || k < n_b;) {
        uint32_t x = i < n_a ? a[i] : UINT32_MAX, y = k < n_b ? b[k] : UINT32_MAX;
        i += x <= y;
        k += y <= x;
        if (x != y && n < ROW_FEW) out[n] = x < y ? x : y;
        n += x != y;
    }
    return n;
}

row *row_intern_more(store *s, const row *r, uint32_t *tokens, uint32_t n) {
    uint32_t all[ROW_FEW];
    assert(!row_is_few(r) && n <= row_few(s));
    n = sort_tokens(tokens, n);
    if (n == 0) return row_retain(s, r);
    if (r->n == DENSE) return intern(s, (row *)(uintptr_t)r, tokens, n);
    uint32_t changes = in_one(r->at, r->n, tokens, n, all);
    if (changes == 0) return row_retain(s, r->base);
    if (changes <= row_few(s)) return intern(s, r->base, all, changes);
    uint32_t *words = store_take(s, s->vocab->words * sizeof *words);
    if (words == NULL) return NULL;
    row_write(s, r, words);
    for (uint32_t i = 0; i < n; i++) bit_set(words, tokens[i]);
    row *out = intern(s, NULL, words, DENSE);
    store_free(s, words, s->vocab->words * sizeof *words);
    return out;
}

size_t row_bytes(const store *s, const row *r) { return row_size(s, r->n); }

bool row_is_few(const row *r) { return r->n != DENSE && r->base == NULL; }

void row_write(const store *s, const row *r, uint32_t *words) {
    size_t size = s->vocab->words * sizeof *words;
    const row *whole = r->base != NULL ? r->base : r;
    if (whole->n == DENSE)
        memcpy(words, whole->at, size);
    else
        memset(words, 0, size);
    for (uint32_t i = 0; r->n != DENSE && i < r->n; i++) words[r->at[i] / 32] ^= UINT32_C(1) << r->at[i] % 32;
}

void row_or(const store *s, const row *r, uint32_t *words) {
    uint32_t kept[ROW_FEW / 32] = {0}; /* what words say of tokens that the base has and r has not */
    const row *whole = r->base != NULL ? r->base : r;
    for (uint32_t i = 0; r->base != NULL && i < r->n; i++)
        if (bit_get(words, r->at[i]) || !bit_get(whole->at, r->at[i])) bit_set(kept, i);
    if (whole->n == DENSE) bits_or(words, whole->at, s->vocab->words);
    for (uint32_t i = 0; r->n != DENSE && i < r->n; i++) {
        if (r->base == NULL || bit_get(kept, i))
            bit_set(words, r->at[i]);
        else
            bit_clear(words, r->at[i]);
    }
}
