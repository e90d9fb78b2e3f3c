/* test_regex.c - automata over code points: products, and the texts in which a pattern matches. */
#include "front.h"
#include "fsm_product.h"
#include "harness.h"
#include "utf8.h"

typedef struct bench {
    work w;
    builder b;
} bench;

static void bench_init(bench *t) {
    memset(t, 0, sizeof *t);
    ste_limits_default(&t->w.limits);
    t->w.deadline = monotonic_seconds() + t->w.limits.compile_seconds;
    arena_init(&t->w.mem, &mem_default_allocator, &t->w.out, t->w.limits.compile_bytes);
    builder_init(&t->b, &t->w, NULL);
}

/* NULL and *code != STE_OK when the compile escaped. */
static fsm *texts(bench *t, const char *pattern, bool search, int *code) {
    *code = STE_OK;
    if (setjmp(t->w.out.env) != 0) {
        *code = t->w.out.error.code;
        return NULL;
    }
    return regex_text_automaton(&t->b, pattern, strlen(pattern), search);
}

static bool accepts(const fsm *f, const char *text) {
    if (f == NULL) return false;
    uint32_t at = f->start;
    for (size_t i = 0, n = strlen(text); i < n;) {
        uint32_t cp, e = f->first[at];
        i += utf8_decode((const uint8_t *)text + i, n - i, &cp);
        while (e < f->first[at + 1] && f->edges.at[e].hi < cp) e++;
        if (e == f->first[at + 1] || f->edges.at[e].lo > cp) return false;
        at = f->edges.at[e].to;
    }
    return f->final.at[at] != 0;
}

/* Every text over {a, b, line feed} of at most five characters, the empty one first; NULL after the last. */
static const char *next_text(char text[6]) {
    size_t i = strlen(text);
    while (i > 0 && text[i - 1] == '\n') text[--i] = 'a';
    if (i > 0) {
        text[i - 1] = text[i - 1] == 'a' ? 'b' : '\n';
        return text;
    }
    i = strlen(text);
    if (i == 5) return NULL;
    memset(text, 'a', i + 1);
    text[i + 1] = '\0';
    return text;
}

static const char *const patterns[] = {"a*b",    "[ab]{2}", "(a|ba)*", ".*",      "^a|b$",   "a\\b",       "(?=.*b)a.*",
                                       "(?!ab)..", "(?<=a)b", "[^b]+",   "\\n",    "(?m:^b$)", "a{0,2}(?!b)", "(?<!a\\n)b"};
#define N_PATTERNS (sizeof patterns / sizeof *patterns)

TEST(products__all_pairs_of_patterns__agree_with_the_parts_on_every_short_text) {
    bench t;
    int code;
    bench_init(&t);
    for (size_t i = 0; i < N_PATTERNS; i++)
        for (size_t k = 0; k < N_PATTERNS; k++) {
            fsm *a = texts(&t, patterns[i], false, &code), *b = texts(&t, patterns[k], true, &code);
            fsm *both = fsm_intersection(a, b), *only = fsm_difference(a, b);
            fsm *none = fsm_complement(&t.w, a, 0, UTF8_MAX), *small = fsm_reduce(both);
            char buffer[6] = "";
            for (const char *text = buffer; text != NULL; text = next_text(buffer)) {
                bool in_a = accepts(a, text), in_b = accepts(b, text);
                CHECK(accepts(both, text) == (in_a && in_b));
                CHECK(accepts(small, text) == (in_a && in_b));
                CHECK(accepts(only, text) == (in_a && !in_b));
                CHECK(accepts(none, text) == !in_a);
            }
        }
    arena_free(&t.w.mem);
}

TEST(products__empty_language__is_null) {
    bench t;
    int code;
    bench_init(&t);
    fsm *a = texts(&t, "a", false, &code), *b = texts(&t, "b", false, &code);
    CHECK(fsm_reduce(fsm_intersection(a, b)) == NULL);
    CHECK(fsm_reduce(fsm_difference(a, a)) == NULL);
    CHECK(fsm_intersection(a, NULL) == NULL);
    CHECK(fsm_difference(NULL, a) == NULL);
    CHECK(accepts(fsm_difference(a, NULL), "a"));
    CHECK(accepts(fsm_complement(&t.w, NULL, 0, UTF8_MAX), "any"));
    CHECK(texts(&t, "a^b", false, &code) == NULL && code == STE_OK);
    arena_free(&t.w.mem);
}

TEST(text_automaton__search__a_part_matches_and_anchors_mean_the_whole_text) {
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"b", "abc", "ac"},           {"^b", "bc", "abc"},         {"b$", "ab", "abc"},
        {"^b|c$", "ac", "acb"},       {"(^|,)b", "a,b", "ab"},     {"(?:b|^)c", "abc", "ac"},
        {"b{2,3}", "abbbbc", "abcb"}, {"\\bb\\b", "a b c", "abc"}, {"b(?!c)", "bcb", "abc"},
        {"(?<!a)b", "abb", "ab"},     {"(?<=^a)b", "ab", "aab"},   {"(?m)^b$", "a\nb\nc", "ab"},
        {"\xc3\xa9", "a\xc3\xa9", "e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench t;
        int code;
        bench_init(&t);
        fsm *f = texts(&t, cases[i].pattern, true, &code);
        CHECK(code == STE_OK);
        CHECK(accepts(f, cases[i].yes));
        CHECK(!accepts(f, cases[i].no));
        arena_free(&t.w.mem);
    }
}

TEST(text_automaton__any_pattern__is_deterministic_and_without_surrogates) {
    bench t;
    int code;
    bench_init(&t);
    for (size_t i = 0; i < N_PATTERNS; i++) {
        fsm *f = texts(&t, patterns[i], i % 2 == 0, &code);
        for (uint32_t s = 0; s < fsm_size(f); s++)
            for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
                CHECK(e == f->first[s] || f->edges.at[e].lo > f->edges.at[e - 1].hi);
                CHECK(f->edges.at[e].hi < 0xD800 || f->edges.at[e].lo > 0xDFFF);
            }
    }
    arena_free(&t.w.mem);
}

TEST(text_automaton__two_spellings_of_a_language__differ_in_nothing) {
    static const char *const same[][2] = {
        {"(a|b)*", "[ab]*"}, {"a(?=b)b", "ab"}, {"(?!a).", "[^a\\n\\r\\u2028\\u2029]"}, {"x*(x|y)*y?", "[xy]*"}, {"a+b|b", "a*b"},
        {"(a|b)x\\1", "axa|bxb"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        bench t;
        int code;
        bench_init(&t);
        fsm *a = texts(&t, same[i][0], false, &code), *b = texts(&t, same[i][1], false, &code);
        CHECK(fsm_reduce(fsm_difference(a, b)) == NULL && fsm_reduce(fsm_difference(b, a)) == NULL);
        arena_free(&t.w.mem);
    }
}

TEST(text_automaton__errors__have_a_code_and_an_offset) {
    static const struct {
        const char *pattern;
        int code;
        uint64_t offset;
    } cases[] = {
        {"ab(", STE_ERR_SYNTAX, 2},
        {"(a+)\\1", STE_ERR_UNSUPPORTED, 4},
        {"a{100001}", STE_ERR_LIMIT, 8},
        {"(a|b)*a(a|b){30}", STE_ERR_LIMIT, 0},
        {"(?:ab?){0,100000}{2}", STE_ERR_SYNTAX, 17},
        {"(?:(?:ab?){5,1000}c){5,1000}", STE_ERR_LIMIT, 0},
        {"(?<=a.{25})b", STE_ERR_LIMIT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench t;
        int code;
        bench_init(&t);
        CHECK(texts(&t, cases[i].pattern, false, &code) == NULL);
        CHECK(code == cases[i].code);
        CHECK(t.w.out.error.offset == cases[i].offset);
        arena_free(&t.w.mem);
    }
}

int main(void) {
    RUN(products__all_pairs_of_patterns__agree_with_the_parts_on_every_short_text);
    RUN(products__empty_language__is_null);
    RUN(text_automaton__search__a_part_matches_and_anchors_mean_the_whole_text);
    RUN(text_automaton__any_pattern__is_deterministic_and_without_surrogates);
    RUN(text_automaton__two_spellings_of_a_language__differ_in_nothing);
    RUN(text_automaton__errors__have_a_code_and_an_offset);
    return finish();
}
