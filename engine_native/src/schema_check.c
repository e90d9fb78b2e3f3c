/* schema_check.c - are the keywords of a schema well formed, and can all of them be enforced?
 *
 * The pass goes over everything the root can reach before anything is lowered,
 * so that a schema is refused as a whole and at once. */
#include "decimal.h"
#include "format.h"
#include "schema.h"

typedef VEC(const json *) node_stack;

typedef struct checker {
    schema_context *c;
    node_stack todo;
} checker;

bool schema_key_is(const json *member, const char *key) {
    return member->key_n == strlen(key) && memcmp(member->key, key, member->key_n) == 0;
}

static bool is_schema(const json *at) { return at->kind == JSON_OBJECT || json_is_bool(at); }

static void require(checker *k, const json *at, bool fine, const char *what) {
    if (!fine) json_escape(k->c->b->w, at, STE_ERR_SCHEMA, "%s must be %s", at->key, what);
}

static void visit(checker *k, const json *schema) {
    if (!is_schema(schema)) json_escape(k->c->b->w, schema, STE_ERR_SCHEMA, "a schema must be an object or a boolean");
    if (schema->kind == JSON_OBJECT) vec_push(&k->c->b->w->mem, &k->todo, schema);
}

/* ---- forms of values ---- */

static void check_type(checker *k, const json *at) {
    require(k, at, at->kind == JSON_STRING || at->kind == JSON_ARRAY, "a type name or a list of them");
    const json *items = at->kind == JSON_ARRAY ? at->u.items : at;
    if (json_is_text(at, "any")) { /* JSON Schema draft 3, 5.1; tool schemas still have it */
        char pointer[160];
        json_pointer(at, pointer, sizeof pointer);
        builder_note(k->c->b, "%s: \"any\" is no type since draft 4, and is read as no restriction", pointer);
        return;
    }
    for (uint32_t i = 0; i < (at->kind == JSON_ARRAY ? at->n : 1); i++) {
        static const char *const type_names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
        bool known = false;
        for (size_t t = 0; t < sizeof type_names / sizeof *type_names; t++) known = known || json_is_text(&items[i], type_names[t]);
        const char *quote = items[i].kind == JSON_STRING ? "\"" : "", *name = items[i].kind == JSON_STRING ? items[i].u.text : "";
        if (!known) json_escape(k->c->b->w, &items[i], STE_ERR_SCHEMA, "unknown type %s%.80s%s", quote, name, quote);
    }
}

static void check_schema(checker *k, const json *at) {
    require(k, at, is_schema(at), "a schema");
    visit(k, at);
}

static void check_schema_list(checker *k, const json *at) {
    require(k, at, at->kind == JSON_ARRAY && at->n != 0, "a list of schemas that is not empty");
    for (uint32_t i = 0; i < at->n; i++) visit(k, &at->u.items[i]);
}

static void check_schema_map(checker *k, const json *at) {
    require(k, at, at->kind == JSON_OBJECT, "an object of schemas");
    for (uint32_t i = 0; i < at->n; i++) visit(k, &at->u.items[i]);
}

static void check_strings(checker *k, const json *at) {
    bool fine = at->kind == JSON_ARRAY;
    for (uint32_t i = 0; fine && i < at->n; i++) fine = at->u.items[i].kind == JSON_STRING;
    require(k, at, fine, "a list of strings");
}

static void check_string(checker *k, const json *at) { require(k, at, at->kind == JSON_STRING, "a string"); }
static void check_boolean(checker *k, const json *at) { require(k, at, json_is_bool(at), "a boolean"); }
static void check_list(checker *k, const json *at) { require(k, at, at->kind == JSON_ARRAY, "a list of values"); }

static void check_count(checker *k, const json *at) {
    uint32_t n;
    require(k, at, json_count(at, &n), "an integer of at least 0");
}

static void check_number(checker *k, const json *at) {
    decimal d;
    require(k, at, at->kind == JSON_NUMBER, "a number");
    if (!decimal_parse(at->u.text, at->n, &d))
        json_escape(k->c->b->w, at, STE_ERR_UNSUPPORTED, "%s: %.60s has more digits than can be compared", at->key, at->u.text);
}

static void check_exclusive(checker *k, const json *at) {
    if (json_is_bool(at)) return; /* draft 4: a flag of the plain bound */
    check_number(k, at);
}

static void check_multiple(checker *k, const json *at) {
    decimal d;
    check_number(k, at);
    decimal_parse(at->u.text, at->n, &d);
    require(k, at, !d.negative && !decimal_is_zero(&d), "a number above 0");
}

static void check_required(checker *k, const json *at) {
    if (schema_draft(k->c, at->parent) == DRAFT_4 && json_is_bool(at)) return; /* draft 3's spelling, an annotation since */
    check_strings(k, at);
}

static void check_items(checker *k, const json *at) {
    if (at->kind == JSON_ARRAY)
        for (uint32_t i = 0; i < at->n; i++) visit(k, &at->u.items[i]);
    else
        check_schema(k, at);
}

static void check_pattern(checker *k, const json *at) {
    check_string(k, at);
    schema_pattern(k->c, at);
}

static void check_pattern_map(checker *k, const json *at) {
    check_schema_map(k, at);
    for (uint32_t i = 0; i < at->n; i++) schema_pattern(k->c, &at->u.items[i]);
}

static void check_format(checker *k, const json *at) {
    check_string(k, at);
    const char *reason = format_refusal(at->u.text);
    if (reason != NULL) json_escape(k->c->b->w, at, STE_ERR_UNSUPPORTED, "keyword \"format\": \"%.60s\" %s", at->u.text, reason);
    if (format_find(at->u.text) != NULL) return;
    char pointer[160];
    json_pointer(at, pointer, sizeof pointer);
    builder_note(k->c->b, "%s: unknown format \"%.60s\" is an annotation", pointer, at->u.text);
}

static void check_dependencies(checker *k, const json *at) {
    require(k, at, at->kind == JSON_OBJECT, "an object of schemas and lists of strings");
    for (uint32_t i = 0; i < at->n; i++) {
        const json *one = &at->u.items[i];
        if (one->kind == JSON_ARRAY)
            check_strings(k, one);
        else if (one->kind != JSON_STRING) /* draft 3: one name */
            visit(k, one);
    }
}

static void check_dependent_required(checker *k, const json *at) {
    require(k, at, at->kind == JSON_OBJECT, "an object of lists of strings");
    for (uint32_t i = 0; i < at->n; i++) check_strings(k, &at->u.items[i]);
}

static void check_reference(checker *k, const json *at) {
    check_string(k, at);
    visit(k, schema_target(k->c, at));
}

/* ---- keywords ---- */

typedef struct keyword {
    const char *name;
    void (*check)(checker *k, const json *at);
    dialect since, until;
} keyword;

static const keyword keywords[] = {
    {"type", check_type, DRAFT_4, DRAFT_2020},
    {"properties", check_schema_map, DRAFT_4, DRAFT_2020},
    {"required", check_required, DRAFT_4, DRAFT_2020},
    {"items", check_items, DRAFT_4, DRAFT_2020},
    {"enum", check_list, DRAFT_4, DRAFT_2020},
    {"$ref", check_reference, DRAFT_4, DRAFT_2020},
    {"additionalProperties", check_schema, DRAFT_4, DRAFT_2020},
    {"anyOf", check_schema_list, DRAFT_4, DRAFT_2020},
    {"allOf", check_schema_list, DRAFT_4, DRAFT_2020},
    {"oneOf", check_schema_list, DRAFT_4, DRAFT_2020},
    {"not", check_schema, DRAFT_4, DRAFT_2020},
    {"pattern", check_pattern, DRAFT_4, DRAFT_2020},
    {"format", check_format, DRAFT_4, DRAFT_2020},
    {"minLength", check_count, DRAFT_4, DRAFT_2020},
    {"maxLength", check_count, DRAFT_4, DRAFT_2020},
    {"minItems", check_count, DRAFT_4, DRAFT_2020},
    {"maxItems", check_count, DRAFT_4, DRAFT_2020},
    {"minProperties", check_count, DRAFT_4, DRAFT_2020},
    {"maxProperties", check_count, DRAFT_4, DRAFT_2020},
    {"minContains", check_count, DRAFT_2019, DRAFT_2020},
    {"maxContains", check_count, DRAFT_2019, DRAFT_2020},
    {"minimum", check_number, DRAFT_4, DRAFT_2020},
    {"maximum", check_number, DRAFT_4, DRAFT_2020},
    {"exclusiveMinimum", check_exclusive, DRAFT_4, DRAFT_2020},
    {"exclusiveMaximum", check_exclusive, DRAFT_4, DRAFT_2020},
    {"multipleOf", check_multiple, DRAFT_4, DRAFT_2020},
    {"patternProperties", check_pattern_map, DRAFT_4, DRAFT_2020},
    {"propertyNames", check_schema, DRAFT_6, DRAFT_2020},
    {"contains", check_schema, DRAFT_6, DRAFT_2020},
    {"uniqueItems", check_boolean, DRAFT_4, DRAFT_2020},
    {"prefixItems", check_schema_list, DRAFT_2020, DRAFT_2020},
    {"additionalItems", check_schema, DRAFT_4, DRAFT_2020},
    {"if", check_schema, DRAFT_7, DRAFT_2020},
    {"then", check_schema, DRAFT_7, DRAFT_2020},
    {"else", check_schema, DRAFT_7, DRAFT_2020},
    {"dependencies", check_dependencies, DRAFT_4, DRAFT_2020},
    {"dependentRequired", check_dependent_required, DRAFT_2019, DRAFT_2020},
    {"dependentSchemas", check_schema_map, DRAFT_2019, DRAFT_2020},
    {"unevaluatedItems", check_schema, DRAFT_2019, DRAFT_2020},
    {"unevaluatedProperties", check_schema, DRAFT_2019, DRAFT_2020},
    {"$dynamicRef", check_reference, DRAFT_2020, DRAFT_2020},
    {"$recursiveRef", check_reference, DRAFT_2019, DRAFT_2019},
};

static void check_keyword(checker *k, const json *at) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (!schema_key_is(at, keywords[i].name)) continue;
        dialect draft = schema_draft(k->c, at->parent);
        if (draft >= keywords[i].since && draft <= keywords[i].until) keywords[i].check(k, at);
        return;
    }
    /* Anything else is unknown to JSON Schema: an annotation. */
}

bool schema_overridden(const schema_context *c, const json *node) {
    if (schema_draft(c, node) > DRAFT_7) return false;
    const json *ref = json_get(node, "$ref");
    return ref != NULL && ref->kind == JSON_STRING;
}

static void visit_target(void *ctx, const json *node) { visit(ctx, node); }

static void check_all(checker *k) {
    schema_context *c = k->c;
    while (k->todo.n > 0) {
        const json *node = k->todo.at[--k->todo.n];
        void **seen = node_map_slot(c->b->w, &c->checked, node);
        if (*seen != NULL) continue;
        *seen = c;
        work_charge(c->b->w, 1);
        if (node != c->root && json_get(node, "$schema") != NULL) schema_find_resources(c); /* perhaps of another dialect */
        if (schema_overridden(c, node))
            check_keyword(k, json_get(node, "$ref"));
        else
            for (uint32_t i = 0; i < node->n; i++) check_keyword(k, &node->u.items[i]);
    }
}

void schema_check(schema_context *c, const json *schema) {
    checker k = {.c = c};
    visit(&k, schema);
    for (uint32_t n = UINT32_MAX; n != c->checked.n;) { /* dynamic references may lead to what was met only later */
        n = c->checked.n;
        check_all(&k);
        schema_each_dynamic_target(c, visit_target, &k);
        check_all(&k);
    }
}
