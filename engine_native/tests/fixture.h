/* fixture.h - a small vocabulary and an allocator that can be made to fail.
 *
 * The vocabulary is all single bytes (id = byte) and a few longer tokens; 260 is
 * special, 261 is the stop token. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ste.h"

#define T_OPEN 256    /* {" */
#define T_TRUE 257    /* true */
#define T_CLOSE 258   /* "} */
#define T_AB 259      /* ab */
#define T_SPECIAL 260 /* <|x|>, special */
#define T_STOP 261    /* </s>, special */
#define N_TOKENS 262
#define N_WORDS ((N_TOKENS + 31) / 32)

/* Counts live bytes and blocks; the request number `fail_at` (from 0) fails, and every later one too. */
typedef struct counting_allocator {
    _Atomic long live_blocks, live_bytes, requests;
    long fail_at; /* -1: never */
} counting_allocator;

static inline void *counting_resize(void *ctx, void *p, size_t old_size, size_t new_size) {
    counting_allocator *c = ctx;
    if (new_size == 0) {
        c->live_blocks -= p != NULL;
        c->live_bytes -= (long)old_size;
        free(p);
        return NULL;
    }
    long request = c->requests++;
    if (c->fail_at >= 0 && request >= c->fail_at) return NULL;
    void *q = realloc(p, new_size);
    if (q == NULL) return NULL;
    c->live_blocks += p == NULL;
    c->live_bytes += (long)new_size - (long)old_size;
    return q;
}

static inline int fixture_vocab(const ste_allocator *allocator, ste_vocab **out, ste_error *err) {
    static const char *const words[] = {"{\"", "true", "\"}", "ab", "<|x|>", "</s>"};
    uint8_t bytes[512];
    uint64_t offsets[N_TOKENS + 1];
    size_t n = 0;
    for (uint32_t t = 0; t < N_TOKENS; t++) {
        offsets[t] = n;
        if (t < 256) {
            bytes[n++] = (uint8_t)t;
        } else {
            size_t k = strlen(words[t - 256]);
            memcpy(bytes + n, words[t - 256], k);
            n += k;
        }
    }
    offsets[N_TOKENS] = n;
    const uint32_t special[] = {T_SPECIAL, T_STOP}, stop[] = {T_STOP};
    return ste_vocab_new_with(allocator, bytes, offsets, N_TOKENS, N_TOKENS, special, 2, stop, 1, out, err);
}

static inline int allowed(const uint32_t *row, uint32_t token) { return (row[token / 32] >> (token % 32)) & 1; }

#endif
