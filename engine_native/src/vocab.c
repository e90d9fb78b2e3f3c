/* vocab.c - see vocab.h. */
#include "vocab.h"

static void destroy(ste_vocab *v) {
    const ste_allocator a = v->allocator;
    mem_free(&a, v->bytes, v->n_bytes, 1);
    mem_free(&a, v->offsets, (size_t)v->n_tokens + 1, sizeof *v->offsets);
    mem_free(&a, v->special, v->words, sizeof *v->special);
    mem_free(&a, v->stop, v->n_stop, sizeof *v->stop);
    trie_free(&v->ordinary, &a);
    trie_free(&v->specials, &a);
    mem_free(&a, v, 1, sizeof *v);
}

static int check(const uint64_t *offsets, uint32_t n_tokens, uint32_t vocab_size, const uint32_t *special,
                 uint32_t n_special, const uint32_t *stop, uint32_t n_stop, ste_error *err) {
    if (n_tokens == 0) return fail(err, STE_ERR_ARGUMENT, 0, "vocabulary without tokens");
    if (vocab_size < n_tokens || vocab_size > (1u << 30))
        return fail(err, STE_ERR_ARGUMENT, 0, "vocabulary size %u for %u tokens", vocab_size, n_tokens);
    for (uint32_t t = 0; t < n_tokens; t++)
        if (offsets[t] > offsets[t + 1])
            return fail(err, STE_ERR_ARGUMENT, 0, "offsets decrease at token %u", t);
    for (uint32_t i = 0; i < n_special; i++)
        if (special[i] >= vocab_size)
            return fail(err, STE_ERR_ARGUMENT, 0, "special token %u outside the vocabulary of %u", special[i], vocab_size);
    for (uint32_t i = 0; i < n_stop; i++)
        if (stop[i] >= vocab_size)
            return fail(err, STE_ERR_ARGUMENT, 0, "stop token %u outside the vocabulary of %u", stop[i], vocab_size);
    return STE_OK;
}

int ste_vocab_new_with(const ste_allocator *allocator, const uint8_t *bytes, const uint64_t *offsets,
                       uint32_t n_tokens, uint32_t vocab_size, const uint32_t *special, uint32_t n_special,
                       const uint32_t *stop, uint32_t n_stop, ste_vocab **out, ste_error *err) {
    int code = check(offsets, n_tokens, vocab_size, special, n_special, stop, n_stop, err);
    if (code != STE_OK) return code;
    const ste_allocator a = *allocator;
    uint32_t *ids = NULL;
    ste_vocab *v = mem_new(&a, 1, sizeof *v);
    if (v == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
    v->allocator = a;
    atomic_init(&v->references, 1);
    v->n_tokens = n_tokens;
    v->size = vocab_size;
    v->words = (vocab_size + 31) / 32;
    v->n_bytes = offsets[n_tokens];
    v->n_stop = n_stop;
    v->bytes = mem_new(&a, v->n_bytes, 1);
    v->offsets = mem_new(&a, (size_t)n_tokens + 1, sizeof *v->offsets);
    v->special = mem_new(&a, v->words, sizeof *v->special);
    v->stop = mem_new(&a, n_stop, sizeof *v->stop);
    ids = mem_new(&a, n_tokens, sizeof *ids);
    if (v->bytes == NULL || v->offsets == NULL || v->special == NULL || v->stop == NULL || ids == NULL) {
        code = fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
        goto failed;
    }
    if (v->n_bytes != 0) memcpy(v->bytes, bytes, v->n_bytes);
    memcpy(v->offsets, offsets, ((size_t)n_tokens + 1) * sizeof *offsets);
    if (n_stop != 0) memcpy(v->stop, stop, n_stop * sizeof *stop);
    for (uint32_t i = 0; i < n_special; i++) bit_set(v->special, special[i]);

    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t t = 0; t < n_tokens; t++)
            if (offsets[t + 1] > offsets[t] && bit_get(v->special, t) == (pass == 1)) ids[n++] = t;
        code = trie_build(pass == 0 ? &v->ordinary : &v->specials, &a, v->bytes, v->offsets, ids, n, n_tokens, err);
        if (code != STE_OK) goto failed;
    }
    mem_free(&a, ids, n_tokens, sizeof *ids);
    *out = v;
    return STE_OK;

failed:
    mem_free(&a, ids, n_tokens, sizeof *ids);
    destroy(v);
    return code;
}

int ste_vocab_new(const uint8_t *bytes, const uint64_t *offsets, uint32_t n_tokens, uint32_t vocab_size,
                  const uint32_t *special, uint32_t n_special, const uint32_t *stop, uint32_t n_stop,
                  ste_vocab **out, ste_error *err) {
    return ste_vocab_new_with(&mem_default_allocator, bytes, offsets, n_tokens, vocab_size, special, n_special, stop,
                              n_stop, out, err);
}

ste_vocab *vocab_retain(ste_vocab *v) {
    atomic_fetch_add_explicit(&v->references, 1, memory_order_relaxed);
    return v;
}

void ste_vocab_free(ste_vocab *v) {
    if (v != NULL && atomic_fetch_sub_explicit(&v->references, 1, memory_order_acq_rel) == 1) destroy(v);
}

uint32_t ste_vocab_size(const ste_vocab *v) { return v->size; }
uint32_t ste_vocab_mask_words(const ste_vocab *v) { return v->words; }
