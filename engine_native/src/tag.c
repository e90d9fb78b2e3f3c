/* tag.c - structural tags: the JSON description of what stands around and between constrained parts.
 *
 * The table of formats, and those that put others together; see tag.h. */
#include "tag.h"

static expr *sequence(tagger *t, const json *at, ends outer);
static expr *alternatives(tagger *t, const json *at, ends outer);
static expr *optional(tagger *t, const json *at, ends outer);
static expr *plus(tagger *t, const json *at, ends outer);
static expr *star(tagger *t, const json *at, ends outer);
static expr *repeat(tagger *t, const json *at, ends outer);

/* Where a type is missing it is the first one here whose required fields are all there and that knows all others;
 * those with `by_name` always need one. */
static const struct format {
    const char *type, *required, *optional;
    bool by_name;
    expr *(*lower)(tagger *t, const json *at, ends outer);
} formats[] = {
    {"tag", "begin content end", "", false, tag_format},
    {"const_string", "value", "", false, const_string},
    {"json_schema", "json_schema", "style any_order max_whitespace_cnt excludes", false, json_schema},
    {"sequence", "elements", "", false, sequence},
    {"or", "elements", "", false, alternatives},
    {"triggered_tags", "triggers tags", "at_least_one stop_after_first excludes", false, triggered_tags},
    {"tags_with_separator", "tags separator", "at_least_one stop_after_first", false, tags_with_separator},
    {"optional", "content", "", false, optional},
    {"plus", "content", "", false, plus},
    {"star", "content", "", false, star},
    {"repeat", "min max content", "", false, repeat},
    {"dispatch", "rules", "loop excludes", false, dispatch},
    {"token_dispatch", "rules", "loop exclude_tokens", false, token_dispatch},
    {"any_text", "", "excludes max_tokens max_chars", true, any_text},
    {"regex", "pattern", "", true, regex},
    {"grammar", "grammar", "syntax written excludes", true, grammar},
    {"token", "token", "", true, one_token},
    {"exclude_token", "", "exclude_tokens", true, exclude_token},
    {"any_tokens", "", "exclude_tokens max_tokens", true, any_tokens},
    {"token_triggered_tags", "trigger_tokens tags", "exclude_tokens at_least_one stop_after_first", true, token_triggered_tags},
    {"qwen_xml_parameter", "json_schema", "", true, qwen_xml_parameter},
};

#define N_FORMATS (sizeof formats / sizeof *formats)

/* ---- which format ---- */

/* Has the object all required fields, and none that the format does not know? */
static bool fits(const struct format *f, const json *at) {
    for (const char *word = f->required; *word != '\0';) {
        size_t n = strcspn(word, " ");
        if (json_member(at, word, n) == NULL) return false;
        word += n;
        word += *word == ' ';
    }
    for (uint32_t i = 0; i < at->n; i++) {
        const json *one = &at->u.items[i];
        if (!in_words(f->required, one->key, one->key_n) && !in_words(f->optional, one->key, one->key_n) &&
            !in_words("capture", one->key, one->key_n))
            return false;
    }
    return true;
}

static const struct format *format_of(tagger *t, const json *at) {
    if (at->kind != JSON_OBJECT) tag_bad(t, at, "a format must be an object");
    const json *type = json_get(at, "type");
    for (size_t i = 0; i < N_FORMATS && type == NULL; i++)
        if (!formats[i].by_name && fits(&formats[i], at)) return &formats[i];
    if (type == NULL) tag_bad(t, at, "field \"type\" is missing");
    if (type->kind != JSON_STRING) tag_bad(t, type, "type must be a string");
    for (size_t i = 0; i < N_FORMATS; i++)
        if (json_is_text(type, formats[i].type)) return &formats[i];
    json_escape(t->b->w, type, STE_ERR_TAG, "unknown format type \"%.80s\"", type->u.text);
}

static void check_format(tagger *t, const json *at, const struct format *f) {
    char words[128];
    size_t n = strlen(f->required), m = strlen(f->optional);
    assert(n + m + 2 <= sizeof words);
    memcpy(words, f->required, n);
    words[n] = ' ';
    memcpy(words + n + 1, f->optional, m + 1);
    check_fields(t, at, f->type, n == 0 ? f->optional : words, true);
}

expr *captured(tagger *t, const json *at, expr *e, uint32_t lead) {
    const json *name = json_get(at, "capture");
    if (name == NULL) return e;
    if (name->kind != JSON_STRING || name->n == 0) tag_bad(t, name, "capture must be a string that is not empty");
    return expr_capture(t->b, e, (capture){name->u.text, name->n, lead});
}

expr *format_expr(tagger *t, const json *at, ends outer) {
    const struct format *f = format_of(t, at);
    check_format(t, at, f);
    return captured(t, at, f->lower(t, at, outer), 0);
}

/* ---- formats made of others ---- */

static expr **elements(tagger *t, const json *at, ends outer, uint32_t *n) {
    const json *list = list_field(t, at, "elements", "formats");
    expr **parts = arena_alloc(&t->b->w->mem, list->n, sizeof *parts);
    *n = list->n;
    for (uint32_t i = 0; i < list->n; i++) parts[i] = format_expr(t, &list->u.items[i], outer);
    return parts;
}

static expr *sequence(tagger *t, const json *at, ends outer) {
    uint32_t n;
    expr **parts = elements(t, at, outer, &n);
    return expr_sequence(t->b, parts, n);
}

static expr *alternatives(tagger *t, const json *at, ends outer) {
    uint32_t n;
    expr **parts = elements(t, at, outer, &n);
    return expr_choice(t->b, parts, n);
}

static expr *content(tagger *t, const json *at, ends outer) { return format_expr(t, field(t, at, "content"), outer); }

static expr *optional(tagger *t, const json *at, ends outer) { return expr_optional(t->b, content(t, at, outer)); }
static expr *plus(tagger *t, const json *at, ends outer) { return expr_repeat(t->b, content(t, at, outer), 1, REPEAT_INFINITE); }
static expr *star(tagger *t, const json *at, ends outer) { return expr_repeat(t->b, content(t, at, outer), 0, REPEAT_INFINITE); }

static expr *repeat(tagger *t, const json *at, ends outer) {
    uint32_t min, max = REPEAT_INFINITE;
    const json *low = field(t, at, "min"), *high = field(t, at, "max");
    if (!json_count(low, &min) || min > INT32_MAX) tag_bad(t, low, "min must be an integer from 0 to 2^31 - 1");
    bool infinite = high->kind == JSON_NUMBER && strcmp(high->u.text, "-1") == 0;
    if (!infinite && (!json_count(high, &max) || max > INT32_MAX)) tag_bad(t, high, "max must be -1 or an integer from 0 to 2^31 - 1");
    if (max < min) tag_bad(t, high, "max is less than min");
    return expr_repeat(t->b, content(t, at, outer), min, max);
}

/* ---- the whole ---- */

void tag_front(builder *b, const char *text, size_t n, int layout) {
    static const char *const schemas[] = {"json_schema", "schema", NULL};
    const json *at = json_parse_around(b->w, text, n, schemas);
    tagger t = {.b = b, .text = text, .layout = layout};
    if (at->kind != JSON_OBJECT) tag_bad(&t, at, "a structural tag must be an object");
    const json *type = json_get(at, "type");
    if (type != NULL && !json_is_text(type, "structural_tag")) tag_bad(&t, type, "type must be \"structural_tag\"");
    expr *root;
    if (json_get(at, "triggers") != NULL || json_get(at, "structures") != NULL) {
        root = legacy_tags(&t, at);
    } else {
        check_fields(&t, at, "structural_tag", "format", false);
        root = format_expr(&t, field(&t, at, "format"), (ends){0});
    }
    b->root = rule_of(b, root);
}
