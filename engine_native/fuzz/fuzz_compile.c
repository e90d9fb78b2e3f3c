/* fuzz_compile.c - any bytes as any kind of grammar text: an error with a code, or a grammar that works.
 *
 * The first byte chooses the kind and the layout of JSON, the rest is the text. */
#include "../tests/fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ste_compiler *compiler(void) {
    static ste_compiler *one;
    if (one != NULL) return one;
    static counting_allocator counter = {.fail_at = -1};
    const ste_allocator allocator = {counting_resize, &counter};
    ste_limits limits;
    ste_limits_default(&limits);
    limits.input_bytes = 4096;
    limits.states = 50000;
    limits.compile_bytes = 64 << 20;
    limits.compile_seconds = 2;
    ste_vocab *vocab = NULL;
    if (fixture_vocab(&allocator, &vocab, NULL) != STE_OK) abort();
    if (ste_compiler_new(vocab, 4 << 20, &limits, &one, NULL) != STE_OK) abort();
    return one;
}

/* What the mask allows must be accepted, and nothing else; a few steps deep. */
static void walk(ste_matcher *m, const uint8_t *data, size_t size) {
    uint32_t row[N_WORDS];
    for (size_t step = 0; step < 12 && !ste_matcher_is_terminated(m); step++) {
        if (ste_matcher_fill(m, row, N_WORDS) < 0) abort();
        if (ste_matcher_error(m, NULL) != STE_OK) return; /* too ambiguous */
        uint32_t pick = size == 0 ? 0 : data[(step * 7) % size] * 3u % N_TOKENS, chosen = N_TOKENS;
        for (uint32_t i = 0; i < N_TOKENS; i++) {
            uint32_t t = (pick + i) % N_TOKENS;
            int valid = ste_matcher_validate(m, &t, 1) == 1;
            if (ste_matcher_error(m, NULL) != STE_OK) return;
            if (valid != allowed(row, t)) abort();
            if (valid && chosen == N_TOKENS) chosen = t;
        }
        int64_t captures = ste_matcher_captures(m, NULL, 0, NULL); /* the chart follows the sets, or its assertions fail */
        if (captures < 0 && captures != STE_ERR_LIMIT) abort();
        if (chosen == N_TOKENS) abort(); /* every prefix has a continuation */
        if (ste_matcher_accept_token(m, chosen) != 1) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    ste_options options = {.whitespace = data[0] / 8 % 4, .property_order = data[0] / 32 % 2, .spaces = {1, 2, 0, 1}};
    ste_grammar *g = NULL;
    ste_error err;
    int code = ste_compile(compiler(), data[0] % 6, (const char *)data + 1, size - 1, &options, &g, &err);
    if (code != STE_OK) {
        if (g != NULL || err.code != code || err.message[0] == '\0') abort();
        return 0;
    }
    ste_matcher *m = NULL;
    code = ste_matcher_new(g, NULL, 0, &m, NULL);
    if (code == STE_OK)
        walk(m, data, size);
    else if (code != STE_ERR_LIMIT)
        abort();
    ste_matcher_free(m);
    ste_grammar_free(g);
    return 0;
}
