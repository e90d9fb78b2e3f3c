/* tag_value.c - formats that constrain a text by itself: constants, patterns, grammars, schemas. */
#include "json_text.h"
#include "schema.h"
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

expr *grammar(tagger *t, const json *at, ends outer) {
    (void)outer;
    const json *at_text = filled_field(t, at, "grammar"), *syntax = json_get(at, "syntax");
    if (syntax != NULL && json_is_text(syntax, "lark"))
        json_escape(t->b->w, syntax, STE_ERR_UNSUPPORTED, "syntax \"lark\" is not supported");
    if (syntax != NULL && !json_is_text(syntax, "ebnf")) tag_bad(t, syntax, "syntax must be \"ebnf\" or \"lark\"");
    const source text = {t->b->w, at_text->u.text, at_text->n, at_text};
    return ebnf_expr(t->b, &text, "root");
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
    if (!layout_any_order(layout) && schema_plain(schema)) return expr_to_name(t->b, text, n, layout);
    expr *made = schema_expr(context_of(t, layout), schema);
    assert(made->kind == EXPR_RULE);
    vec_push(&t->b->w->mem, &t->b->texts, (text_rule){made->u.id, schema, text, n, layout});
    return made;
}

expr *schema_or_text(tagger *t, const json *schema) {
    if (schema->kind == JSON_RAW || json_is_bool(schema)) return schema_rule(t, schema, t->layout);
    if (schema->kind != JSON_STRING) tag_bad(t, schema, "schema must be an object, a boolean or the text of one");
    json *inner = (json *)(uintptr_t)json_parse(t->b->w, schema->u.text, schema->n);
    if (inner->kind != JSON_OBJECT && !json_is_bool(inner)) tag_bad(t, schema, "schema must be an object, a boolean or the text of one");
    inner->parent = schema->parent; /* so that errors are told as if it stood here */
    inner->key = schema->key;
    inner->key_n = schema->key_n;
    return schema_expr(schema_context_new(t->b, t->layout), inner);
}

expr *json_schema(tagger *t, const json *at, ends outer) {
    (void)outer;
    const json *schema = field(t, at, "json_schema");
    if (schema->kind != JSON_RAW && !json_is_bool(schema)) tag_bad(t, schema, "json_schema must be an object or a boolean");
    int layout = flag_field(t, at, "any_order", false) ? layout_with_any_order(t->layout) : t->layout;
    return schema_rule(t, schema, layout);
}

expr *qwen_xml_parameter(tagger *t, const json *at, ends outer) { return json_schema(t, at, outer); }
