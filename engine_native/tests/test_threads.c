/* test_threads.c - matchers of several threads share one compiler; run under ThreadSanitizer. */
#include <pthread.h>

#include "fixture.h"
#include "harness.h"

#define THREADS 4
#define ROUNDS 30

#define GRAMMARS 4

static const int kinds[GRAMMARS] = {STE_KIND_EBNF, STE_KIND_EBNF, STE_KIND_STRUCTURAL_TAG, STE_KIND_JSON_SCHEMA};
static const char *const grammars[GRAMMARS] = {
    "root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]{1,40} | [a-f]+",
    "root ::= [a-z]{0,90} (\"[\" root \"]\")?",
    "{\"format\":{\"type\":\"tag\",\"begin\":\"<a>\",\"content\":{\"type\":\"json_schema\",\"json_schema\":{\"type\":"
    "\"object\",\"properties\":{\"x\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":2}},\"required\":"
    "[\"x\"]}},\"end\":\"</a>\"}}",
    "{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"integer\"]},\"uniqueItems\":true}",
};
static const char *const texts[GRAMMARS] = {"[12,[abc,[7,[]]],8]", "abcdefgh[ijk[lmnopqrstuvwxyz]]",
                                            "<a>{\"x\": [\"true\", \"\"]}</a>", "[\"ab\",\"abc\",12,\"a\"]"};

typedef struct job {
    ste_compiler *compiler;
    int number;
    uint32_t rows[2][GRAMMARS][40][N_WORDS]; /* the masks along the texts, without and with a budget */
    int failures;
} job;

static void *work(void *argument) {
    job *j = argument;
    for (int round = 0; round < ROUNDS; round++) {
        int k = (round + j->number) % GRAMMARS, budgeted = round / GRAMMARS % 2;
        ste_grammar *g = NULL;
        ste_matcher *m = NULL;
        if (ste_compile(j->compiler, kinds[k], grammars[k], strlen(grammars[k]), NULL, &g, NULL) != STE_OK ||
            ste_matcher_new(g, NULL, 0, &m, NULL) != STE_OK) {
            j->failures++;
            return NULL;
        }
        ste_grammar_free(g);
        if (budgeted && kinds[k] != STE_KIND_JSON_SCHEMA && ste_matcher_set_token_budget(m, strlen(texts[k]), NULL) != STE_OK) j->failures++;
        for (size_t i = 0; texts[k][i] != '\0'; i++) {
            if (ste_matcher_fill(m, j->rows[budgeted][k][i], N_WORDS) < 0) j->failures++;
            if (ste_matcher_accept_token(m, (uint8_t)texts[k][i]) != 1) j->failures++;
        }
        if (ste_matcher_can_terminate(m) != 1) j->failures++;
        ste_matcher_free(m);
        if (round % 7 == j->number) ste_compiler_clear(j->compiler);
    }
    return NULL;
}

static void run_threads(uint64_t cache_bytes) {
    const ste_allocator allocator = {counting_resize, &(counting_allocator){.fail_at = -1}};
    static job jobs[THREADS];
    ste_vocab *vocab = NULL;
    ste_compiler *compiler = NULL;
    ste_limits limits;
    ste_limits_default(&limits);
    CHECK(fixture_vocab(&allocator, &vocab, NULL) == STE_OK);
    CHECK(ste_compiler_new(vocab, cache_bytes, &limits, &compiler, NULL) == STE_OK);
    memset(jobs, 0, sizeof jobs);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        jobs[t].compiler = compiler;
        jobs[t].number = t;
        CHECK(pthread_create(&threads[t], NULL, work, &jobs[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        CHECK(jobs[t].failures == 0);
        CHECK(memcmp(jobs[t].rows, jobs[0].rows, sizeof jobs[t].rows) == 0);
    }
    ste_compiler_free(compiler);
    ste_vocab_free(vocab);
}

TEST(threads__one_compiler__masks_are_those_of_one_thread) { run_threads(16 << 20); }
TEST(threads__tiny_budget__masks_are_those_of_one_thread) { run_threads(1); }

int main(void) {
    RUN(threads__one_compiler__masks_are_those_of_one_thread);
    RUN(threads__tiny_budget__masks_are_those_of_one_thread);
    return finish();
}
