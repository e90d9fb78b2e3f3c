/* test_captures.c - spans of captured formats through the public API. */
#include "fixture.h"
#include "harness.h"

typedef struct fixture {
    counting_allocator counter;
    ste_allocator allocator;
    ste_vocab *vocab;
    ste_compiler *compiler;
} fixture;

static void open_fixture(fixture *f, const ste_limits *limits) {
    *f = (fixture){.counter = {.fail_at = -1}};
    f->allocator = (ste_allocator){counting_resize, &f->counter};
    CHECK(fixture_vocab(&f->allocator, &f->vocab, NULL) == STE_OK);
    CHECK(ste_compiler_new(f->vocab, 1 << 20, limits, &f->compiler, NULL) == STE_OK);
}

static void close_fixture(fixture *f) {
    ste_compiler_free(f->compiler);
    ste_vocab_free(f->vocab);
    CHECK(f->counter.live_blocks == 0);
    CHECK(f->counter.live_bytes == 0);
}

static ste_limits default_limits(void) {
    ste_limits limits;
    ste_limits_default(&limits);
    return limits;
}

static ste_matcher *matcher_for(fixture *f, const char *format) {
    char text[2048];
    int n = snprintf(text, sizeof text, "{\"format\":%s}", format);
    ste_grammar *g = NULL;
    ste_matcher *m = NULL;
    ste_error err;
    int code = ste_compile(f->compiler, STE_KIND_STRUCTURAL_TAG, text, (size_t)n, NULL, &g, &err);
    if (code != STE_OK) printf("%d %s: %s\n", code, err.path, err.message);
    CHECK(code == STE_OK);
    CHECK(ste_matcher_new(g, NULL, 0, &m, NULL) == STE_OK);
    ste_grammar_free(g); /* names live as long as the matcher needs them */
    return m;
}

static int feed(ste_matcher *m, const char *text) { return ste_matcher_accept_bytes(m, (const uint8_t *)text, strlen(text)); }

/* "name=text" of each capture, a * after open ones. */
static const char *told(ste_matcher *m) {
    static char out[1024];
    ste_capture found[16];
    int64_t n = ste_matcher_captures(m, found, 16, NULL);
    size_t at = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < n && i < 16; i++) {
        uint8_t bytes[256] = {0};
        CHECK(found[i].end - found[i].begin < sizeof bytes);
        CHECK(ste_matcher_copy_text(m, found[i].begin, found[i].end, bytes) == STE_OK);
        CHECK(strlen(found[i].name) == found[i].name_length);
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%s=%s%s", i == 0 ? "" : " ", found[i].name, (char *)bytes,
                               found[i].open ? "*" : "");
    }
    if (n < 0) snprintf(out, sizeof out, "error %d", (int)n);
    return out;
}

#define TOLD(m, text) CHECK(strcmp(told(m), text) == 0)

#define TAG_X "{\"type\":\"tag\",\"begin\":\"<x>\",\"content\":{\"type\":\"any_text\",\"capture\":\"c\"},\"end\":\"</x>\"}"

TEST(captures__text_in_a_tag__grows_and_leaves_out_what_may_be_the_end) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, TAG_X);
    TOLD(m, "");
    CHECK(feed(m, "<x>") == 1);
    TOLD(m, "c=");
    CHECK(feed(m, "ab</") == 1);
    TOLD(m, "c=ab");
    CHECK(feed(m, "y") == 1);
    TOLD(m, "c=ab</y");
    CHECK(feed(m, "</x>") == 1);
    TOLD(m, "c=ab</y");
    CHECK(ste_matcher_accept_token(m, T_STOP) == 1);
    TOLD(m, "c=ab</y");
    CHECK(ste_matcher_rollback(m, 2) == STE_OK);
    CHECK(feed(m, "z</x>") == 1);
    TOLD(m, "c=ab</yz");
    CHECK(ste_matcher_reset(m) == STE_OK);
    TOLD(m, "");
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(captures__tags_of_triggers__span_begins_with_the_trigger) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(
        &f, "{\"type\":\"triggered_tags\",\"triggers\":[\"<t\"],\"tags\":[{\"begin\":\"<tool>\",\"capture\":\"call\",\"content\":"
            "{\"type\":\"regex\",\"pattern\":\"[0-9]+\",\"capture\":\"n\"},\"end\":\"</>\"}]}");
    CHECK(feed(m, "<<t") == 1);
    TOLD(m, "call=<t*");
    CHECK(feed(m, "ool>12") == 1);
    TOLD(m, "call=<tool>12* n=12");
    CHECK(feed(m, "</>x<tool>7") == 1);
    TOLD(m, "call=<tool>12</> n=12 call=<tool>7* n=7");
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(captures__special_token__is_part_of_the_text) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, "{\"type\":\"sequence\",\"capture\":\"all\",\"elements\":[{\"type\":\"const_string\",\"value\":"
                                     "\"a<|x|>b\",\"capture\":\"c\"},{\"type\":\"const_string\",\"value\":\"</s>\",\"capture\":\"end\"}]}");
    CHECK(feed(m, "a") == 1);
    CHECK(ste_matcher_accept_token(m, T_SPECIAL) == 1);
    TOLD(m, "all=a<|x|>* c=a<|x|>*");
    CHECK(feed(m, "b") == 1);
    CHECK(ste_matcher_accept_token(m, T_STOP) == 1); /* here it is content */
    TOLD(m, "all=a<|x|>b</s> c=a<|x|>b end=</s>");
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(captures__little_capacity__counts_all_and_writes_the_first) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, "{\"type\":\"star\",\"content\":{\"type\":\"const_string\",\"value\":\"ab\",\"capture\":\"w\"}}");
    CHECK(feed(m, "ababab") == 1);
    ste_capture found[2] = {{0}, {.name = "kept"}};
    CHECK(ste_matcher_captures(m, NULL, 0, NULL) == 3);
    CHECK(ste_matcher_captures(m, found, 1, NULL) == 3);
    CHECK(found[0].begin == 0 && found[0].end == 2 && !found[0].open);
    CHECK(strcmp(found[1].name, "kept") == 0);
    uint8_t bytes[8];
    CHECK(ste_matcher_copy_text(m, 2, 6, bytes) == STE_OK && memcmp(bytes, "abab", 4) == 0);
    CHECK(ste_matcher_copy_text(m, 2, 7, bytes) == STE_ERR_ARGUMENT);
    CHECK(ste_matcher_copy_text(m, 3, 2, bytes) == STE_ERR_ARGUMENT);
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(captures__grammar_without__has_none_and_keeps_no_text) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, "{\"type\":\"any_text\"}");
    CHECK(feed(m, "abc") == 1);
    TOLD(m, "");
    uint8_t byte;
    CHECK(ste_matcher_copy_text(m, 0, 0, &byte) == STE_OK);
    CHECK(ste_matcher_copy_text(m, 0, 1, &byte) == STE_ERR_ARGUMENT);
    ste_matcher_free(m);
    close_fixture(&f);
}

/* Free text costs the matcher nothing: it stays in one set. */
static void meets_limit(ste_limits limits) {
    fixture f;
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, TAG_X);
    CHECK(feed(m, "<x>ab") == 1);
    TOLD(m, "c=ab");
    for (int i = 0; i < 3000; i++) CHECK(ste_matcher_accept_token(m, 'x') == 1);
    ste_error err = {0};
    CHECK(ste_matcher_captures(m, NULL, 0, &err) == STE_ERR_LIMIT);
    CHECK(err.code == STE_ERR_LIMIT && err.message[0] != '\0');
    CHECK(ste_matcher_captures(m, NULL, 0, NULL) == STE_ERR_LIMIT);
    CHECK(ste_matcher_error(m, NULL) == STE_OK); /* only the captures are out of reach */
    CHECK(ste_matcher_accept_token(m, 'x') == 1);
    CHECK(ste_matcher_rollback(m, 3001) == STE_OK);
    TOLD(m, "c=ab");
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(captures__chart_over_the_bytes_of_a_matcher__limit_and_matching_goes_on) {
    ste_limits limits = default_limits();
    limits.matcher_bytes = 100000;
    meets_limit(limits);
}

TEST(captures__chart_over_the_work_of_a_matcher__limit_and_matching_goes_on) {
    ste_limits limits = default_limits();
    limits.match_items = 2000;
    limits.match_items_per_token = 1;
    meets_limit(limits);
}

TEST(captures__empty_repetitions_that_multiply__limit) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    char format[2048] = "{\"type\":\"regex\",\"pattern\":\"a?\",\"capture\":\"c\"}", outer[2048];
    for (int i = 0; i < 7; i++) { /* 30 to the 7th */
        snprintf(outer, sizeof outer, "{\"type\":\"repeat\",\"min\":30,\"max\":30,\"capture\":\"r\",\"content\":%.1900s}", format);
        memcpy(format, outer, sizeof format);
    }
    ste_matcher *m = matcher_for(&f, format);
    CHECK(ste_matcher_captures(m, NULL, 0, NULL) == STE_ERR_LIMIT);
    CHECK(feed(m, "aaa") == 1);
    ste_matcher_free(m);
    close_fixture(&f);
}

TEST(rules__equal_but_for_the_capture__are_different_rules) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_stats stats;
    ste_matcher *m[4];
    static const char *const captures[] = {"", ",\"capture\":\"a\"", ",\"capture\":\"ab\"", ",\"capture\":\"ab\""};
    static const char *const expected[] = {"", "a=x*", "ab=x*", "ab=x*"};
    uint64_t rules[4];
    for (int i = 0; i < 4; i++) {
        char format[256];
        snprintf(format, sizeof format, "{\"type\":\"sequence\",\"elements\":[{\"type\":\"star\",\"content\":{\"type\":\"regex\","
                                        "\"pattern\":\"x|y\"}%s},{\"type\":\"const_string\",\"value\":\"%s\"}]}",
                 captures[i], i == 3 ? "!" : "."); /* the last is a new grammar around a known rule */
        m[i] = matcher_for(&f, format);
        ste_compiler_stats(f.compiler, &stats);
        rules[i] = stats.rules;
        CHECK(feed(m[i], "x") == 1);
        ste_capture found;
        int64_t n = ste_matcher_captures(m[i], &found, 1, NULL);
        CHECK(n == (i == 0 ? 0 : 1));
        if (n == 1) CHECK(strlen(expected[i]) == found.name_length + 3 && strncmp(found.name, expected[i], found.name_length) == 0);
    }
    CHECK(rules[1] == rules[0] + 2); /* the captured rule, and the one that mentions it */
    CHECK(rules[2] == rules[1] + 2);
    CHECK(rules[3] == rules[2] + 1);
    for (int i = 0; i < 4; i++) ste_matcher_free(m[i]);
    close_fixture(&f);
}

TEST(fork__with_captures__lives_its_own_life) {
    fixture f;
    ste_limits limits = default_limits();
    open_fixture(&f, &limits);
    ste_matcher *m = matcher_for(&f, TAG_X), *fork = NULL;
    CHECK(feed(m, "<x>ab") == 1);
    TOLD(m, "c=ab");
    CHECK(ste_matcher_fork(m, &fork, NULL) == STE_OK);
    CHECK(feed(m, "1") == 1 && feed(fork, "2") == 1);
    TOLD(fork, "c=ab2");
    TOLD(m, "c=ab1");
    ste_matcher_free(m);
    CHECK(ste_matcher_rollback(fork, 1) == STE_OK);
    TOLD(fork, "c=ab");
    ste_matcher_free(fork);
    close_fixture(&f);
}

int main(void) {
    RUN(captures__text_in_a_tag__grows_and_leaves_out_what_may_be_the_end);
    RUN(captures__tags_of_triggers__span_begins_with_the_trigger);
    RUN(captures__special_token__is_part_of_the_text);
    RUN(captures__little_capacity__counts_all_and_writes_the_first);
    RUN(captures__grammar_without__has_none_and_keeps_no_text);
    RUN(captures__chart_over_the_bytes_of_a_matcher__limit_and_matching_goes_on);
    RUN(captures__chart_over_the_work_of_a_matcher__limit_and_matching_goes_on);
    RUN(captures__empty_repetitions_that_multiply__limit);
    RUN(rules__equal_but_for_the_capture__are_different_rules);
    RUN(fork__with_captures__lives_its_own_life);
    return finish();
}
