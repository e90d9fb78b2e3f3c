/* fuzz_vocab.c - any bytes as a vocabulary: masks and acceptance agree for every token. */
#include "../tests/fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char grammar[] = "root ::= ([a-c] | \"\\x00\" | [\\u0080-\\uffff])* \"ab\" root?";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MOST = 64 };
    uint64_t offsets[MOST + 1] = {0};
    uint32_t n = 0, special = 0, stop = 0;
    if (size < 2) return 0;
    for (size_t at = 1; at < size && n < MOST; n++) { /* a length, then that many bytes */
        size_t length = data[at] % 6;
        if (length > size - at - 1) length = size - at - 1;
        offsets[n + 1] = offsets[n] + length;
        at += length + 1;
    }
    uint8_t *bytes = malloc(size);
    if (bytes == NULL || n == 0) {
        free(bytes);
        return 0;
    }
    for (uint32_t i = 0, at = 1; i < n; i++) {
        memcpy(bytes + offsets[i], data + at + 1, offsets[i + 1] - offsets[i]);
        at += (uint32_t)(offsets[i + 1] - offsets[i]) + 1;
    }
    special = data[0] % n;
    stop = data[0] / 3 % n;
    ste_vocab *vocab = NULL;
    ste_compiler *compiler = NULL;
    ste_grammar *g = NULL;
    ste_matcher *m = NULL;
    ste_limits limits;
    ste_limits_default(&limits);
    uint32_t size_padded = n + data[0] % 40, words = (size_padded + 31) / 32, row[4];
    if (ste_vocab_new(bytes, offsets, n, size_padded, &special, 1, &stop, 1, &vocab, NULL) != STE_OK) abort();
    if (ste_compiler_new(vocab, 1 << 20, &limits, &compiler, NULL) != STE_OK) abort();
    if (ste_compile(compiler, STE_KIND_EBNF, grammar, sizeof grammar - 1, NULL, &g, NULL) != STE_OK) abort();
    if (ste_matcher_new(g, NULL, 0, &m, NULL) != STE_OK) abort();
    for (int step = 0; step < 6 && !ste_matcher_is_terminated(m); step++) {
        if (ste_matcher_fill(m, row, words) < 0) abort();
        uint32_t chosen = size_padded;
        for (uint32_t t = 0; t < size_padded; t++) {
            int valid = ste_matcher_validate(m, &t, 1) == 1;
            if (valid != allowed(row, t)) abort();
            if (valid && (chosen == size_padded || data[step % size] % 3 == 0)) chosen = t;
        }
        if (chosen == size_padded || ste_matcher_accept_token(m, chosen) != 1) break;
    }
    ste_matcher_free(m);
    ste_grammar_free(g);
    ste_compiler_free(compiler);
    ste_vocab_free(vocab);
    free(bytes);
    return 0;
}
