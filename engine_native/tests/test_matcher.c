/* test_matcher.c - compile and match through the public API. */
#include "fixture.h"
#include "harness.h"

typedef struct fixture {
    counting_allocator counter;
    ste_allocator allocator;
    ste_vocab *vocab;
    ste_compiler *compiler;
} fixture;

static void open_fixture(fixture *f, uint64_t cache_bytes) {
    *f = (fixture){.counter = {.fail_at = -1}};
    f->allocator = (ste_allocator){counting_resize, &f->counter};
    ste_limits limits;
    ste_limits_default(&limits);
    CHECK(fixture_vocab(&f->allocator, &f->vocab, NULL) == STE_OK);
    CHECK(ste_compiler_new(f->vocab, cache_bytes, &limits, &f->compiler, NULL) == STE_OK);
}

static void close_fixture(fixture *f) {
    ste_compiler_free(f->compiler);
    ste_vocab_free(f->vocab);
    CHECK(f->counter.live_blocks == 0);
    CHECK(f->counter.live_bytes == 0);
}

static ste_matcher *matcher_for(fixture *f, int kind, const char *text) {
    ste_grammar *g = NULL;
    ste_matcher *m = NULL;
    ste_error err;
    int code = ste_compile(f->compiler, kind, text, strlen(text), NULL, &g, &err);
    if (code != STE_OK) printf("%d %s: %s\n", code, err.path, err.message);
    CHECK(code == STE_OK);
    if (code != STE_OK) return NULL;
    CHECK(ste_matcher_new(g, NULL, 0, &m, NULL) == STE_OK);
    ste_grammar_free(g);
    return m;
}

static int feed(ste_matcher *m, const char *text) { return ste_matcher_accept_bytes(m, (const uint8_t *)text, strlen(text)); }

TEST(schema__object__tokens_cross_structure) {
    fixture f;
    open_fixture(&f, 1 << 20);
    ste_matcher *m = matcher_for(&f, STE_KIND_JSON_SCHEMA,
                                 "{\"type\":\"object\",\"properties\":{\"ab\":{\"enum\":[true,\"ab\"]}},\"required\":[\"ab\"],"
                                 "\"additionalProperties\":false}");
    uint32_t row[N_WORDS];
    CHECK(ste_matcher_fill(m, row, N_WORDS) == 1);
    CHECK(allowed(row, '{') && allowed(row, T_OPEN) && !allowed(row, T_TRUE) && !allowed(row, T_STOP));
    CHECK(ste_matcher_accept_token(m, T_OPEN) == 1);
    CHECK(ste_matcher_accept_token(m, T_CLOSE) == 0);
    CHECK(ste_matcher_accept_token(m, T_AB) == 1);
    CHECK(feed(m, "\":") == 1);
    CHECK(ste_matcher_fill(m, row, N_WORDS) == 1);
    CHECK(allowed(row, T_TRUE) && allowed(row, '"') && !allowed(row, 'f'));
    CHECK(feed(m, "\"ab") == 1);
    CHECK(ste_matcher_accept_token(m, T_CLOSE) == 1);
    CHECK(ste_matcher_can_terminate(m) == 1);
    CHECK(ste_matcher_accept_token(m, T_STOP) == 1);
    CHECK(ste_matcher_is_terminated(m) == 1);
    CHECK(ste_matcher_accept_token(m, T_AB) == 0);
    CHECK(ste_matcher_fill(m, row, N_WORDS) == 1 && allowed(row, T_STOP) && !allowed(row, 'a'));
    CHECK(ste_matcher_rollback(m, 2) == STE_OK && ste_matcher_is_terminated(m) == 0);
    CHECK(ste_matcher_accept_token(m, T_CLOSE) == 1);
    CHECK(ste_matcher_rollback(m, 100) == STE_ERR_ARGUMENT);
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(tag__special_token_in_a_literal__is_one_token_and_never_text) {
    fixture f;
    open_fixture(&f, 1 << 20);
    ste_matcher *m = matcher_for(&f, STE_KIND_STRUCTURAL_TAG,
                                 "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<|x|>\"],\"tags\":[{\"begin\":\"<|x|>a\","
                                 "\"content\":{\"type\":\"regex\",\"pattern\":\"[0-9]+\"},\"end\":\"b\"}]}}");
    CHECK(feed(m, "text <|x|> is only text") == 1);
    CHECK(ste_matcher_accept_token(m, T_SPECIAL) == 1);
    CHECK(ste_matcher_can_terminate(m) == 0);
    CHECK(feed(m, "x") == 0);
    CHECK(feed(m, "a12b and on") == 1);
    CHECK(ste_matcher_can_terminate(m) == 1);
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(compile__every_kind_of_bad_text__error_has_its_place) {
    static const struct {
        int kind;
        const char *text;
        int code;
        const char *path;
    } cases[] = {
        {STE_KIND_JSON_SCHEMA, "{\"type\":", STE_ERR_SYNTAX, ""},
        {STE_KIND_JSON_SCHEMA, "{\"properties\":{\"a/b\":{\"$ref\":\"http://e/x\"}}}", STE_ERR_UNSUPPORTED, "/properties/a~1b/$ref"},
        {STE_KIND_JSON_SCHEMA, "{\"items\":{\"type\":\"text\"}}", STE_ERR_SCHEMA, "/items/type"},
        {STE_KIND_JSON_SCHEMA, "false", STE_ERR_SCHEMA, ""},
        {STE_KIND_JSON_SCHEMA, "{\"$ref\":\"#\"}", STE_ERR_SCHEMA, ""},
        {STE_KIND_STRUCTURAL_TAG, "{\"format\":{\"type\":\"tag\",\"begin\":\"a\",\"content\":{\"type\":\"any_text\"},\"end\":\"\"}}",
         STE_ERR_TAG, "/format/end"},
        {STE_KIND_REGEX, "a(b", STE_ERR_SYNTAX, ""},
        {STE_KIND_REGEX, "(a+)\\1", STE_ERR_UNSUPPORTED, ""},
        {STE_KIND_EBNF, "root ::= x", STE_ERR_SYNTAX, ""},
        {STE_KIND_CHOICE, "[\"a\",1]", STE_ERR_SYNTAX, "/1"},
    };
    fixture f;
    open_fixture(&f, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ste_grammar *g = NULL;
        ste_error err;
        CHECK(ste_compile(f.compiler, cases[i].kind, cases[i].text, strlen(cases[i].text), NULL, &g, &err) == cases[i].code);
        CHECK(g == NULL && err.code == cases[i].code && strcmp(err.path, cases[i].path) == 0 && err.message[0] != '\0');
    }
    close_fixture(&f);
}

TEST(collect__tiny_budget__matchers_go_on_as_before) {
    fixture f;
    open_fixture(&f, 1);
    ste_matcher *m = matcher_for(&f, STE_KIND_EBNF, "root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]{1,40}");
    uint32_t row[N_WORDS];
    for (int i = 0; i < 60; i++) {
        CHECK(feed(m, i % 3 == 2 ? "12," : "[") == 1);
        CHECK(ste_matcher_fill(m, row, N_WORDS) == 1);
        CHECK(allowed(row, '[') && allowed(row, '7') && !allowed(row, 'x'));
        ste_compiler_clear(f.compiler);
    }
    ste_stats stats;
    ste_compiler_stats(f.compiler, &stats);
    CHECK(stats.evictions > 0);
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(rules__equal_parts_of_different_grammars__are_one_rule) {
    fixture f;
    open_fixture(&f, 1 << 20);
    /* Mutual recursion under other names, in another order; words keep a rule from becoming part of another one. */
    ste_matcher *a = matcher_for(&f, STE_KIND_EBNF, "root ::= \"a\" x\nx ::= \"(\" y \")\" | \"1\"\ny ::= x [a-z]* \",\" x");
    ste_stats before, after;
    ste_compiler_stats(f.compiler, &before);
    ste_matcher *b = matcher_for(&f, STE_KIND_EBNF, "q ::= p [a-z]* \",\" p\nroot ::= \"b\" p\np ::= \"(\" q \")\" | \"1\"");
    ste_compiler_stats(f.compiler, &after);
    CHECK(after.rules == before.rules + 1); /* the root only */
    CHECK(after.rule_hits == before.rule_hits + 2);
    CHECK(feed(b, "b(1,(1,1))") == 1 && ste_matcher_can_terminate(b) == 1);
    ste_matcher_free(a);
    ste_matcher_free(b);
    close_fixture(&f);
}

TEST(apply__every_kernel_and_type__equals_the_scalar_one) {
    enum { SIZE = 333, WORDS = (SIZE + 31) / 32 };
    uint32_t mask[WORDS];
    for (uint32_t i = 0; i < WORDS; i++) mask[i] = i % 4 == 0 ? UINT32_MAX : i % 4 == 1 ? 0 : 0x9E3779B9u * (i + 1);
    for (int dtype = STE_FLOAT32; dtype <= STE_BFLOAT16; dtype++) {
        size_t width = dtype == STE_FLOAT32 ? 4 : 2;
        uint8_t wanted[4 * (SIZE + 8)], got[4 * (SIZE + 8)];
        for (int level = 0; level <= 2; level++) {
            uint8_t *to = level == 0 ? wanted : got;
            for (size_t i = 0; i < sizeof wanted; i++) to[i] = (uint8_t)(i * 7);
            ste_apply_kernel(level);
            CHECK(ste_apply_bitmask(dtype, to, SIZE, SIZE, mask, WORDS, NULL, NULL, 1) == STE_OK);
            if (level > 0) CHECK(memcmp(wanted, got, sizeof wanted) == 0);
        }
        for (size_t t = 0; t < SIZE; t++) {
            uint32_t v = 0;
            memcpy(&v, wanted + t * width, width);
            uint32_t infinity = dtype == STE_FLOAT32 ? 0xFF800000u : dtype == STE_FLOAT16 ? 0xFC00u : 0xFF80u;
            if (!allowed(mask, (uint32_t)t)) CHECK(v == infinity);
            if (allowed(mask, (uint32_t)t)) CHECK(v != infinity);
        }
        CHECK(wanted[SIZE * width] == (uint8_t)(SIZE * width * 7)); /* nothing past the row */
    }
    ste_apply_kernel(2);
}

int main(void) {
    RUN(schema__object__tokens_cross_structure);
    RUN(tag__special_token_in_a_literal__is_one_token_and_never_text);
    RUN(compile__every_kind_of_bad_text__error_has_its_place);
    RUN(collect__tiny_budget__matchers_go_on_as_before);
    RUN(rules__equal_parts_of_different_grammars__are_one_rule);
    RUN(apply__every_kernel_and_type__equals_the_scalar_one);
    return finish();
}
