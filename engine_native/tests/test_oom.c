/* test_oom.c - the n-th allocation fails, for every n: nothing leaks, nothing changes, nothing crashes. */
#include "fixture.h"
#include "harness.h"

/* Ten keys with null. */
#define TEN(a)                                                                                             \
    "\"" a "0\":{\"enum\":[null]},\"" a "1\":{\"enum\":[null]},\"" a "2\":{\"enum\":[null]},\"" a "3\":{\"enum\":[null]},\"" a \
    "4\":{\"enum\":[null]},\"" a "5\":{\"enum\":[null]},\"" a "6\":{\"enum\":[null]},\"" a "7\":{\"enum\":[null]},\"" a     \
    "8\":{\"enum\":[null]},\"" a "9\":{\"enum\":[null]}"

static const struct {
    int kind;
    const char *text, *feed;
    uint64_t budget; /* of tokens, set at the start; 0: none */
    int order;       /* of keys */
    const char *documents;
} scenarios[] = {
    {STE_KIND_JSON_SCHEMA,
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":30},\"b\":{\"type\":\"array\",\"items\":"
     "{\"$ref\":\"#\"},\"maxItems\":3},\"c\":{\"type\":\"number\",\"minimum\":0.5}},\"required\":[\"a\"]}",
     "{\"a\": \"xy\", \"b\": [{\"a\":\"\"}]", 0, 0, NULL},
    {STE_KIND_STRUCTURAL_TAG,
     "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":[{\"begin\":\"<a>\",\"content\":{\"type\":"
     "\"json_schema\",\"json_schema\":{\"enum\":[1,\"x\",null]}},\"end\":\"</a>\"}]}}",
     "go <a>\"x\"</a> on", 0, 0, NULL},
    {STE_KIND_STRUCTURAL_TAG,
     "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":[{\"begin\":\"<a>\",\"capture\":\"tag\","
     "\"content\":{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
     "\"capture\":\"value\"},\"end\":\"</a>\"}]}}",
     "go <a>[12, 3, 4, 5, 6, 7, 8, 9]</a> on <a>[]</a> and on and on and on and on", 0, 0, NULL},
    {STE_KIND_STRUCTURAL_TAG,
     "{\"format\":{\"type\":\"dispatch\",\"rules\":[[\"<f\",{\"type\":\"json_schema\",\"style\":\"kimi_k3_xml\",\"json_schema\":{"
     "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":40},\"b\":{}}}}],[\"<f>\",{"
     "\"type\":\"any_text\",\"max_tokens\":3,\"max_chars\":9}]]}}",
     "x <f<|open|>argument key=\"a\" type=\"string\"<|sep|>ab<|close|>argument<|sep|> <f>ab", 0, 0, NULL},
    {STE_KIND_STRUCTURAL_TAG,
     "{\"format\":{\"type\":\"tag\",\"begin\":{\"type\":\"token\",\"token\":97},\"content\":{\"type\":\"token_dispatch\",\"rules\":[["
     "98,{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"string\",\"maxLength\":3},\"excludes\":[\"xx\"]}]]},\"end\":\"c\"}}",
     "", 0, 0, NULL},
    {STE_KIND_EBNF, "root ::= a | b\na ::= \"(\" b \")\" | root \"x\"\nb ::= [a-z\\u{e9}]{2,90}", "(abc)xx", 0, 0, NULL},
    {STE_KIND_EBNF, "root ::= a | b\na ::= \"(\" b \")\" | root \"x\"\nb ::= [a-z\\u{e9}]{2,90} | \"true\" \"<|x|>\"?",
     "(abc)xx", 7, 0, NULL},
    {STE_KIND_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"enum\":[1,true,\"ab\"]},\"minItems\":2}", "[1,true]", 8, 0, NULL},
    {STE_KIND_STRUCTURAL_TAG,
     "{\"format\":{\"type\":\"triggered_tags\",\"triggers\":[\"<a\"],\"tags\":[{\"begin\":\"<a>\",\"content\":{\"type\":"
     "\"json_schema\",\"json_schema\":{\"enum\":[1,\"x\",null]}},\"end\":\"</a>\"}]}}",
     "go <a>\"x\"</a> on", 16, 0, NULL},
    {STE_KIND_EBNF,
     "root ::= r TagDispatch((\"<\", s), excludes=(\"no\"))\nr[lazy, capture] ::= [a-z;]{1,70} \";\"\ns ::= Substring(\"a\", "
     "\"b\", \"a\") Regex(\"[0-9]\", json_string=true) <[3]>?",
     "ab;<b1", 0, 0, NULL},
    {STE_KIND_LARK,
     "%import common.WS\n%ignore WS\nstart: (f | list{\"x\"})* n::2\nn::_: \"a\" n::decr(_) %if gt(_, 0) | \"\"\nf: T %json "
     "{\"type\":\"integer\"}\nlist{p}: p (\",\" p)*\nT: /[a-z]+/ & ~/x+/\n",
     "ab 12 x, x a ", 0, 0, NULL},
    {STE_KIND_LARK,
     "{\"grammars\":[{\"lark_grammar\":\"start: (W @n)+\\nW: /[a-z]+(?![a-z]|-x)/ | /=\\\\b/\\n%ignore / /\"},{\"name\":\"n\","
     "\"json_schema\":{\"type\":[\"integer\",\"string\"],\"x-guidance\":{\"json_allowed_escapes\":\"nu\","
     "\"whitespace_pattern\":\" ?\",\"item_separator\":\", \"}}}]}",
     "ab 12 x\"\\u001f\"", 0, 0, NULL},
    {STE_KIND_LARK, "start: f* t\nt: T\nh[suffix=\"<f>\"]: T\nf: h %lark { start: \"b\" }\nT: /(.|\\n)*/\n", "x<f>by", 0, 0, NULL},
    {STE_KIND_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"array\"],\"uniqueItems\":true},\"uniqueItems\":true}",
     "[\"abc\",\"ab\",[1,12],[1", 0, 0, NULL},
    {STE_KIND_JSON_SCHEMA,
     "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"}},\"additionalProperties\":false},"
     "\"uniqueItems\":true}",
     "[{},{\"a\":true},{\"a\":f", 0, 0, NULL},
    {STE_KIND_JSON_SCHEMA,
     "{\"type\":\"object\",\"minProperties\":3,\"properties\":{\"a\":{}},\"not\":{\"unevaluatedProperties\":{\"type\":\"null\"}},"
     "\"patternProperties\":{\"^x\":{\"enum\":[{\"k\":1,\"l\":2}]}}}",
     "{\"a\":1,\"b\":2,\"bc\":3,\"x\":{\"l\":2", 0, 0, NULL},
    {STE_KIND_JSON_SCHEMA,
     "{\"properties\":{" TEN("a") "," TEN("b") "," TEN("c") "," TEN("d") "," TEN("e") "," TEN("f") "," TEN("g") "},\"required\":"
     "[\"g9\"],\"type\":\"object\"}",
     "{\"g9\":null,\"a0\":null,\"c3\":null", 0, STE_ORDER_ANY, NULL},
    {STE_KIND_JSON_SCHEMA,
     "{\"$ref\":\"x:words\",\"$defs\":{\"w\":{\"$id\":\"x:words\",\"$ref\":\"x:list\",\"$defs\":{\"i\":{\"$dynamicAnchor\":\"i\","
     "\"type\":\"string\"}}},\"m\":{\"$ref\":\"https://json-schema.org/draft/2020-12/meta/content\"}}}",
     "[\"a\"", 0, STE_ORDER_DECLARED,
     "{\"x:list\":{\"type\":\"array\",\"items\":{\"$dynamicRef\":\"#i\"},\"$defs\":{\"i\":{\"$dynamicAnchor\":\"i\"}}}}"},
    {STE_KIND_REGEX, "(?i)(?=.{2,5}$)(?!.*--)[\\p{Greek}a-]+(?<!\\ba)-|x{2,90}\\b.", "aA-", 0, 0, NULL},
    {STE_KIND_REGEX, "(?<q>a|-b{0,2})((x|y)\\3)*(?!\\1\\k<q>)(?i:\\1)", "axxa", 0, 0, NULL},
    {STE_KIND_CHOICE, "[\"abc\",\"abd\",\"b<|x|>\",\"\",\"xbd\",\"abc\"]", "abd", 0, 0, NULL},
};

/* Out of memory is reported, and leaves the matcher usable. */
static int read_captures(ste_matcher *m, counting_allocator *counter) {
    ste_capture found[8];
    int64_t n = ste_matcher_captures(m, found, 8, NULL);
    if (n >= 0) return 1;
    CHECK(n == STE_ERR_NO_MEMORY);
    counter->fail_at = -1;
    CHECK(ste_matcher_captures(m, found, 8, NULL) >= 0);
    return 0;
}

/* Runs one scenario with the allocation `fail_at` failing; true if it went through. */
static int attempt(size_t scenario, long fail_at) {
    counting_allocator counter = {.fail_at = -1};
    const ste_allocator allocator = {counting_resize, &counter};
    ste_limits limits;
    ste_limits_default(&limits);
    ste_vocab *vocab = NULL;
    ste_compiler *compiler = NULL;
    ste_grammar *grammar = NULL;
    ste_matcher *matcher = NULL, *fork = NULL;
    uint32_t row[N_WORDS], before[N_WORDS];
    int through = 0;
    counter.fail_at = fail_at;
    if (fixture_vocab(&allocator, &vocab, NULL) != STE_OK) goto done;
    if (ste_compiler_new(vocab, 1 << 20, &limits, &compiler, NULL) != STE_OK) goto done;
    const char *text = scenarios[scenario].text;
    const ste_options options = {.property_order = scenarios[scenario].order, .documents = scenarios[scenario].documents};
    int code = ste_compile(compiler, scenarios[scenario].kind, text, strlen(text), &options, &grammar, NULL);
    CHECK(code == STE_OK || code == STE_ERR_NO_MEMORY);
    CHECK((code == STE_OK) == (grammar != NULL));
    if (code != STE_OK || ste_matcher_new(grammar, NULL, 0, &matcher, NULL) != STE_OK) goto done;
    uint64_t budget = scenarios[scenario].budget;
    if (budget != 0 && (code = ste_matcher_set_token_budget(matcher, budget, NULL)) != STE_OK) {
        CHECK(code == STE_ERR_NO_MEMORY);
        counter.fail_at = -1; /* nothing has changed: it can be set now */
        CHECK(ste_matcher_set_token_budget(matcher, budget, NULL) == STE_OK);
        goto done;
    }
    for (const char *p = scenarios[scenario].feed; *p != '\0'; p++) {
        memset(before, 0xA5, sizeof before);
        memcpy(row, before, sizeof row);
        code = ste_matcher_fill(matcher, row, N_WORDS);
        if (code < 0) {
            CHECK(code == STE_ERR_NO_MEMORY);
            CHECK(memcmp(row, before, sizeof row) == 0); /* nothing was written */
            goto done;
        }
        CHECK(allowed(row, (uint8_t)*p));
        code = ste_matcher_accept_token(matcher, (uint8_t)*p);
        if (code < 0) {
            CHECK(code == STE_ERR_NO_MEMORY);
            counter.fail_at = -1; /* the matcher has not moved: the same token is accepted now */
            CHECK(ste_matcher_accept_token(matcher, (uint8_t)*p) == 1);
            goto done;
        }
        CHECK(code == 1);
        if (!read_captures(matcher, &counter)) goto done;
    }
    if (budget != 0) CHECK(ste_matcher_accept_token(matcher, 'x') == 0); /* it was used up */
    if (ste_matcher_fork(matcher, &fork, NULL) != STE_OK) goto done;
    if (!read_captures(fork, &counter)) goto done;
    through = 1;
done:
    ste_matcher_free(fork);
    ste_grammar_free(grammar);
    ste_compiler_free(compiler);
    ste_matcher_free(matcher);
    ste_vocab_free(vocab);
    CHECK(counter.live_blocks == 0);
    CHECK(counter.live_bytes == 0);
    return through;
}

TEST(every_call__each_allocation_fails_in_turn__no_leak_no_change) {
    for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
        long n = 0;
        while (!attempt(s, n) && !test_broken) n++;
        CHECK(n > 50); /* the scenario did allocate */
        printf("scenario %zu: %ld allocations\n", s, n);
    }
}

int main(void) {
    RUN(every_call__each_allocation_fails_in_turn__no_leak_no_change);
    return finish();
}
