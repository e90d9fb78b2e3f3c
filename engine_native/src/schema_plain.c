/* schema_plain.c - which schemas are sure to give a rule, without building it.
 *
 * A plain schema says only: types, properties, required, additionalProperties,
 * items, enums of scalars, counts and bounds that obviously leave something, formats, or
 * anyOf and nothing beside it; each of them well-formed.  Nothing in it can be refused, no value of it is
 * impossible, and its automaton is about as long as its text.  The answer "no"
 * costs nothing but the build at once; "yes" must be right. */
#include <stdlib.h>

#include "format.h"
#include "front.h"

/* A longer text is built at once, inside the limits of its compile. */
#define MAX_PLAIN_BYTES 32768

static bool plain(const json *at, uint32_t depth);

static const char *const harmless[] = {"title", "description", "default", "examples", "example", "$comment",
                                       "deprecated", "readOnly", "writeOnly", NULL};

/* Keywords with a meaning, in some draft, that this file does not judge. */
static const char *const meaningful[] = {
    "$ref", "$dynamicRef", "$recursiveRef", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor",
    "$vocabulary", "$defs", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const", "format",
    "pattern", "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired",
    "dependentSchemas", "dependencies", "prefixItems", "additionalItems", "contains", "minContains", "maxContains",
    "uniqueItems", "unevaluatedItems", "unevaluatedProperties", "multipleOf", "exclusiveMinimum", "exclusiveMaximum",
    "contentMediaType", "contentEncoding", "contentSchema", "extends", "disallow", "divisibleBy", "nullable", "x-guidance", NULL};

static bool among(const char *const *list, const json *member) {
    for (; *list != NULL; list++)
        if (strlen(*list) == member->key_n && memcmp(*list, member->key, member->key_n) == 0) return true;
    return false;
}

static bool key_is(const json *member, const char *key) {
    return member->key_n == strlen(key) && memcmp(member->key, key, member->key_n) == 0;
}

static const char *const types[] = {"null", "boolean", "integer", "number", "string", "array", "object", NULL};

static bool is_type(const json *at) {
    for (const char *const *t = types; at->kind == JSON_STRING && *t != NULL; t++)
        if (json_is_text(at, *t)) return true;
    return false;
}

static bool plain_type(const json *at) {
    if (at->kind != JSON_ARRAY) return is_type(at);
    for (uint32_t i = 0; i < at->n; i++)
        if (!is_type(&at->u.items[i])) return false;
    return at->n != 0;
}

static bool all_plain(const json *members, uint32_t depth) {
    for (uint32_t i = 0; i < members->n; i++)
        if (!plain(&members->u.items[i], depth)) return false;
    return true;
}

/* Every required key may be there. */
static bool plain_required(const json *at, const json *schema) {
    if (at->kind != JSON_ARRAY) return false;
    const json *properties = json_get(schema, "properties"), *other = json_get(schema, "additionalProperties");
    for (uint32_t i = 0; i < at->n; i++) {
        const json *key = &at->u.items[i];
        if (key->kind != JSON_STRING) return false;
        if (other == NULL || other->kind != JSON_FALSE) continue;
        if (properties == NULL || json_member(properties, key->u.text, key->n) == NULL) return false;
    }
    return true;
}

static bool type_allows(const json *type, const char *name) {
    if (type == NULL || json_is_text(type, name)) return true;
    for (uint32_t i = 0; type->kind == JSON_ARRAY && i < type->n; i++)
        if (json_is_text(&type->u.items[i], name)) return true;
    return false;
}

/* Scalars, one of which has a type that is allowed; and nothing else that could rule it out. */
static bool plain_enum(const json *at, const json *schema) {
    if (at->kind != JSON_ARRAY) return false;
    bool fits = false;
    const json *type = json_get(schema, "type");
    for (uint32_t i = 0; i < at->n; i++) {
        const json *v = &at->u.items[i];
        if (v->kind == JSON_STRING)
            fits = fits || type_allows(type, "string");
        else if (v->kind == JSON_NUMBER)
            fits = fits || type_allows(type, "number");
        else if (json_is_bool(v))
            fits = fits || type_allows(type, "boolean");
        else if (v->kind == JSON_NULL)
            fits = fits || type_allows(type, "null");
        else
            return false;
    }
    for (uint32_t i = 0; i < schema->n; i++) {
        const json *other = &schema->u.items[i];
        static const char *const bounds[] = {"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                             "format", NULL};
        if (among(bounds, other)) return false;
    }
    return fits;
}

static bool plain_counts(const json *schema, const char *min_name, const char *max_name) {
    const json *min = json_get(schema, min_name), *max = json_get(schema, max_name);
    uint32_t low = 0, high = UINT32_MAX;
    if (min != NULL && !json_count(min, &low)) return false;
    if (max != NULL && !json_count(max, &high)) return false;
    return low <= high && low < 1000000;
}

/* Bounds that are short numbers, with room for an integer between them. */
static bool plain_bounds(const json *schema) {
    static const char *const ends[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"};
    double low = -1e15, high = 1e15, room = 1;
    for (int i = 0; i < 4; i++) {
        const json *bound = json_get(schema, ends[i]);
        if (bound == NULL) continue;
        if (bound->kind != JSON_NUMBER || bound->n > 16 || strpbrk(bound->u.text, "eE") != NULL) return false;
        double value = strtod(bound->u.text, NULL);
        if (i < 2 && value > low) low = value;
        if (i >= 2 && value < high) high = value;
        room += i % 2; /* an end that does not count */
    }
    return low + room <= high;
}

/* A known format, and nothing else said about the string. */
static bool plain_format(const json *at, const json *schema) {
    static const char *const others[] = {"minLength", "maxLength", "enum", NULL};
    if (at->kind != JSON_STRING || !type_allows(json_get(schema, "type"), "string")) return false;
    for (uint32_t i = 0; i < schema->n; i++)
        if (among(others, &schema->u.items[i])) return false;
    return format_find(at->u.text) != NULL && format_refusal(at->u.text) == NULL && !format_is_nested(at->u.text);
}

/* Names are strings anyway. */
static bool plain_names(const json *at) {
    for (uint32_t i = 0; at->kind == JSON_OBJECT && i < at->n; i++) {
        const json *member = &at->u.items[i];
        if (!among(harmless, member) && !(key_is(member, "type") && json_is_text(member, "string"))) return false;
    }
    return at->kind == JSON_OBJECT || at->kind == JSON_TRUE;
}

/* The dialects agree about plain keywords. */
static bool plain_dialect(const json *at) {
    return at->kind == JSON_STRING && strstr(at->u.text, "json-schema.org/") != NULL;
}

/* Each alternative is plain, and nothing beside them could rule them all out. */
static bool plain_any_of(const json *at, const json *schema, uint32_t depth) {
    for (uint32_t i = 0; i < schema->n; i++) {
        const json *other = &schema->u.items[i];
        if (other != at && !among(harmless, other) && !key_is(other, "$schema")) return false;
    }
    return at->kind == JSON_ARRAY && at->n != 0 && all_plain(at, depth);
}

static bool plain_keyword(const json *at, const json *schema, uint32_t depth) {
    if (key_is(at, "type")) return plain_type(at);
    if (key_is(at, "properties")) return at->kind == JSON_OBJECT && all_plain(at, depth);
    if (key_is(at, "required")) return plain_required(at, schema);
    if (key_is(at, "additionalProperties")) return json_is_bool(at) || plain(at, depth);
    if (key_is(at, "items")) return at->kind == JSON_TRUE || plain(at, depth);
    if (key_is(at, "enum")) return plain_enum(at, schema);
    if (key_is(at, "minItems") || key_is(at, "maxItems")) return plain_counts(schema, "minItems", "maxItems");
    if (key_is(at, "minLength") || key_is(at, "maxLength")) return plain_counts(schema, "minLength", "maxLength");
    if (key_is(at, "minimum") || key_is(at, "maximum") || key_is(at, "exclusiveMinimum") || key_is(at, "exclusiveMaximum"))
        return plain_bounds(schema);
    if (key_is(at, "format")) return plain_format(at, schema);
    if (key_is(at, "propertyNames")) return plain_names(at);
    if (key_is(at, "$schema")) return plain_dialect(at);
    if (key_is(at, "anyOf")) return plain_any_of(at, schema, depth);
    return among(harmless, at) || !among(meaningful, at);
}

static bool plain(const json *at, uint32_t depth) {
    if (at->kind == JSON_TRUE) return true;
    if (at->kind != JSON_OBJECT || depth == 0) return false;
    for (uint32_t i = 0; i < at->n; i++)
        if (!plain_keyword(&at->u.items[i], at, depth - 1)) return false;
    return true;
}

bool schema_plain(const json *schema) { return schema->end - schema->offset <= MAX_PLAIN_BYTES && plain(schema, 64); }
