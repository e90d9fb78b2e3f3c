/* tag_value.c - formats that constrain a text by itself: constants, patterns, grammars, schemas. */
#include "json_text.h"
#include "schema_style.h"
#include "tag.h"

expr *const_string(tagger *t, const json *at, ends outer) {
    (void)outer;
    return tag_literal(t, text_field(t, at, "value"));
}

static const json *filled_field(tagger *t, const json *at, const char *name) {
    const json *text = text_field(t, at, name);
    if (text->n == 0) json_escape(t->b->w, text, STE_ERR_TAG, "%s must not be empty", name);
    return text;
}

expr *regex(tagger *t, const json *at, ends outer) {
    (void)outer;
    const json *pattern = filled_field(t, at, "pattern");
    return regex_expr(t->b, pattern->u.text, pattern->n, pattern);
}

static expr *lower_lark(builder *b, const source *text) { return lark_expr(b, text, NULL, NULL); }
static expr *lower_ebnf(builder *b, const source *text) { return ebnf_expr(b, text, "root"); }

expr *grammar(tagger *t, const json *at, ends outer) {
    (void)outer;
    const json *at_text = filled_field(t, at, "grammar"), *syntax = json_get(at, "syntax"), *written = json_get(at, "written");
    bool lark = syntax != NULL && json_is_text(syntax, "lark"), string = written != NULL && json_is_text(written, "json_string");
    if (syntax != NULL && !lark && !json_is_text(syntax, "ebnf")) tag_bad(t, syntax, "syntax must be \"ebnf\" or \"lark\"");
    if (written != NULL && !string && !json_is_text(written, "text")) tag_bad(t, written, "written must be \"text\" or \"json_string\"");
    const source text = {t->b->w, at_text->u.text, at_text->n, at_text};
    grammar_front lower = lark ? lower_lark : lower_ebnf;
    const json *excludes = json_get(at, "excludes");
    with_strings(t, (ends){0}, excludes);
    bool without = excludes != NULL && excludes->n != 0;
    if (string && without) json_escape(t->b->w, excludes, STE_ERR_UNSUPPORTED, "excludes is not supported where the grammar is written as a JSON string");
    if (string) return spelled_grammar(t, at_text, lower, &text);
    return without ? grammar_without(t, at_text, lower, &text, excludes) : lower(t->b, &text);
}

/* ---- schemas ---- */

static schema_context *context_of(tagger *t, int layout) {
    for (uint32_t i = 0; i < t->contexts.n; i++)
        if (t->contexts.at[i].layout == layout) return t->contexts.at[i].schemas;
    style_context made = {layout, schema_context_new(t->b, layout)};
    vec_push(&t->b->w->mem, &t->contexts, made);
    return made.schemas;
}

/* The rule of a schema by its text (names.c). */
expr *schema_rule(tagger *t, const json *schema, int layout) {
    const char *text = t->text + schema->offset;
    size_t n = schema->end - schema->offset;
    expr *known = expr_named(t->b, text, n, layout);
    if (known != NULL) return known;
    json_expand(t->b->w, t->text, schema);
    if (!layout_any_order(layout) && layout_style(layout) == 0 && schema_plain(schema)) return expr_to_name(t->b, text, n, layout);
    expr *made = schema_expr(context_of(t, layout), schema);
    assert(made->kind == EXPR_RULE);
    vec_push(&t->b->w->mem, &t->b->texts, (text_rule){made->u.id, schema, text, n, layout});
    return made;
}

expr *schema_or_text(tagger *t, const json *schema) {
    if (schema->kind == JSON_RAW || json_is_bool(schema)) return schema_rule(t, schema, t->layout);
    if (schema->kind != JSON_STRING) tag_bad(t, schema, "schema must be an object, a boolean or the text of one");
    const json *inner = json_parse_inside(t->b->w, schema);
    if (inner->kind != JSON_OBJECT && !json_is_bool(inner)) tag_bad(t, schema, "schema must be an object, a boolean or the text of one");
    return schema_expr(schema_context_new(t->b, t->layout), inner);
}

static uint32_t style_of(tagger *t, const json *style) {
    if (style == NULL) return 0;
    uint32_t n = style->kind == JSON_STRING ? style_number(style->u.text) : UINT32_MAX;
    if (n == UINT32_MAX) json_escape(t->b->w, style, STE_ERR_TAG, "style must be one of %s", style_names());
    return n;
}

static uint32_t whitespace_count(tagger *t, const json *at) {
    uint32_t n;
    if (at == NULL || at->kind == JSON_NULL) return 0;
    if (at->kind != JSON_NUMBER || !json_count(at, &n) || n == 0) tag_bad(t, at, "max_whitespace_cnt must be null or a positive integer");
    if (n > MAX_WHITESPACE_COUNT)
        json_escape(t->b->w, at, STE_ERR_UNSUPPORTED, "max_whitespace_cnt is supported up to %d", MAX_WHITESPACE_COUNT);
    return n;
}

static bool is_blank(char ch) { return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r'; }

/* The strings that must not occur; NULL: none. */
static const json *excluded_strings(tagger *t, const json *list, uint32_t style) {
    with_strings(t, (ends){0}, list);
    if (list == NULL || list->n == 0) return NULL;
    const char *name = style == 0 ? "json" : style >= style_number("pythonic") ? "text" : "";
    if (style == style_number("cohere_xml") || style == style_number("minimax_m3_xml"))
        json_escape(t->b->w, list, STE_ERR_UNSUPPORTED, "excludes is not supported in this style");
    for (uint32_t i = 0; i < list->n && *name == '\0'; i++) {
        const json *one = &list->u.items[i];
        if (is_blank(one->u.text[0]) || is_blank(one->u.text[one->n - 1]))
            json_escape(t->b->w, one, STE_ERR_UNSUPPORTED, "in this style an excluded string must not begin or end with white space");
    }
    return list;
}

static expr *styled_schema(tagger *t, const json *at, uint32_t style) {
    const json *schema = field(t, at, "json_schema"), *excludes = excluded_strings(t, json_get(at, "excludes"), style);
    if (schema->kind != JSON_RAW && !json_is_bool(schema)) tag_bad(t, schema, "json_schema must be an object or a boolean");
    int layout = layout_with_style(t->layout, style);
    layout = layout_with_whitespace_count(layout, whitespace_count(t, json_get(at, "max_whitespace_cnt")));
    if (flag_field(t, at, "any_order", false)) layout = layout_with_any_order(layout);
    if (excludes == NULL) return schema_rule(t, schema, layout);
    schema_context *c = schema_context_new(t->b, layout);
    c->excludes = excludes;
    json_expand(t->b->w, t->text, schema);
    return schema_expr(c, schema);
}

expr *json_schema(tagger *t, const json *at, ends outer) {
    (void)outer;
    return styled_schema(t, at, style_of(t, json_get(at, "style")));
}

expr *qwen_xml_parameter(tagger *t, const json *at, ends outer) {
    (void)outer;
    return styled_schema(t, at, style_number("qwen_xml"));
}
