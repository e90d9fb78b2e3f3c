/* schema_judge.c - does a given JSON value satisfy a schema?
 *
 * For values that a schema lists (enum, const), which the rest of the schema
 * may exclude, and for keys that it named under patterns.  Plain recursion over
 * value and schema, after the definition of each keyword. */
#include "decimal.h"
#include "format.h"
#include "schema.h"

static bool in_list(const json *v, const json *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (json_equal(v, &list->u.items[i])) return true;
    return false;
}

static bool count_holds(const schema_context *c, const json *node, const char *min_name, const char *max_name, uint32_t n) {
    const json *min = schema_get(c, node, min_name), *max = schema_get(c, node, max_name);
    uint32_t k;
    if (min != NULL && json_count(min, &k) && n < k) return false;
    return !(max != NULL && json_count(max, &k) && n > k);
}

static bool number_holds(schema_context *c, const json *v, const json *node) {
    decimal x, y;
    if (!decimal_parse(v->u.text, v->n, &x))
        json_escape(c->b->w, v, STE_ERR_UNSUPPORTED, "the number %.60s has more digits than can be compared", v->u.text);
    const json *limit;
    bool exclusive;
    if (schema_low(node, &limit, &exclusive) && decimal_parse(limit->u.text, limit->n, &y)) {
        int r = decimal_compare(&x, &y);
        if (r < 0 || (r == 0 && exclusive)) return false;
    }
    if (schema_high(node, &limit, &exclusive) && decimal_parse(limit->u.text, limit->n, &y)) {
        int r = decimal_compare(&x, &y);
        if (r > 0 || (r == 0 && exclusive)) return false;
    }
    limit = json_get(node, "multipleOf");
    if (limit == NULL || !decimal_parse(limit->u.text, limit->n, &y)) return true;
    bool multiple;
    if (!decimal_is_multiple(&x, &y, &multiple))
        json_escape(c->b->w, limit, STE_ERR_UNSUPPORTED, "multipleOf: %.60s has too many digits", limit->u.text);
    return multiple;
}

static uint32_t code_points(const json *string) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < string->n; i++) n += ((uint8_t)string->u.text[i] & 0xC0) != 0x80;
    return n;
}

static bool string_holds(schema_context *c, const json *v, const json *node) {
    if (!count_holds(c, node, "minLength", "maxLength", code_points(v))) return false;
    const json *pattern = json_get(node, "pattern"), *named = json_get(node, "format");
    if (pattern != NULL && !schema_accepts(schema_pattern(c, pattern), v->u.text, v->n)) return false;
    const fsm *automaton = named == NULL ? NULL : schema_format(c, named);
    if (automaton == NULL || schema_accepts(automaton, v->u.text, v->n)) return true;
    if (format_is_nested(named->u.text)) /* it may be one all the same */
        json_escape(c->b->w, named, STE_ERR_UNSUPPORTED, "keyword \"format\": whether \"%.60s\" is a %s is not known", v->u.text, named->u.text);
    return false;
}

static bool array_holds(schema_context *c, const json *v, const json *node) {
    if (!count_holds(c, node, "minItems", "maxItems", v->n)) return false;
    for (uint32_t i = 0; i < v->n; i++) {
        const json *schema = schema_item(c, node, i);
        if (schema != NULL && !schema_valid(c, &v->u.items[i], schema)) return false;
    }
    const json *contains = schema_get(c, node, "contains"), *unique = json_get(node, "uniqueItems");
    if (contains != NULL) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < v->n; i++) n += schema_valid(c, &v->u.items[i], contains);
        if (n == 0 && schema_get(c, node, "minContains") == NULL) return false;
        if (!count_holds(c, node, "minContains", "maxContains", n)) return false;
    }
    for (uint32_t i = 0; unique != NULL && unique->kind == JSON_TRUE && i < v->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (json_equal(&v->u.items[i], &v->u.items[k])) return false;
    return true;
}

static bool member_holds(schema_context *c, const json *v, const json *member, const json *node) {
    const json *properties = json_get(node, "properties"), *patterns = json_get(node, "patternProperties");
    const json *named = schema_get(c, node, "propertyNames"), *other = json_get(node, "additionalProperties");
    if (named != NULL && !schema_valid(c, schema_string(c, v, member->key, member->key_n), named)) return false;
    const json *own = properties == NULL ? NULL : json_member(properties, member->key, member->key_n);
    bool known = own != NULL;
    if (own != NULL && !schema_valid(c, member, own)) return false;
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++) {
        if (!schema_accepts(schema_pattern(c, &patterns->u.items[i]), member->key, member->key_n)) continue;
        known = true;
        if (!schema_valid(c, member, &patterns->u.items[i])) return false;
    }
    return known || other == NULL || schema_valid(c, member, other);
}

static bool has(const json *v, const json *name) { return json_member(v, name->u.text, name->n) != NULL; }

static bool dependents_hold(schema_context *c, const json *v, const json *map) {
    for (uint32_t i = 0; map != NULL && i < map->n; i++) {
        const json *one = &map->u.items[i];
        if (json_member(v, one->key, one->key_n) == NULL) continue;
        if (one->kind == JSON_STRING && !has(v, one)) return false;
        if (one->kind == JSON_ARRAY)
            for (uint32_t k = 0; k < one->n; k++)
                if (!has(v, &one->u.items[k])) return false;
        if ((one->kind == JSON_OBJECT || json_is_bool(one)) && !schema_valid(c, v, one)) return false;
    }
    return true;
}

static bool object_holds(schema_context *c, const json *v, const json *node) {
    const json *required = json_get(node, "required");
    for (uint32_t i = 0; required != NULL && required->kind == JSON_ARRAY && i < required->n; i++)
        if (!has(v, &required->u.items[i])) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const json *member = &v->u.items[i];
        if (json_member(v, member->key, member->key_n) != member) continue; /* of equal keys the last counts */
        n++;
        if (!member_holds(c, v, member, node)) return false;
    }
    if (!count_holds(c, node, "minProperties", "maxProperties", n)) return false;
    return dependents_hold(c, v, json_get(node, "dependencies")) &&
           dependents_hold(c, v, schema_get(c, node, "dependentRequired")) &&
           dependents_hold(c, v, schema_get(c, node, "dependentSchemas"));
}

/* ---- unevaluated... ---- */

static bool evaluates(schema_context *c, const json *v, const json *part, const json *node, bool own_rest);

static bool any_evaluates(schema_context *c, const json *v, const json *part, const json *list) {
    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (evaluates(c, v, part, &list->u.items[i], true)) return true;
    return false;
}

static bool dependent_evaluates(schema_context *c, const json *v, const json *part, const json *map) {
    for (uint32_t i = 0; map != NULL && i < map->n; i++) {
        const json *one = &map->u.items[i];
        if (json_member(v, one->key, one->key_n) != NULL && evaluates(c, v, part, one, true)) return true;
    }
    return false;
}

static bool item_evaluated(schema_context *c, const json *v, const json *item, const json *node) {
    const json *contains = schema_get(c, node, "contains");
    if (schema_item(c, node, (uint32_t)(item - v->u.items)) != NULL) return true;
    return contains != NULL && schema_draft(c, node) == DRAFT_2020 && schema_valid(c, item, contains);
}

static bool member_evaluated(schema_context *c, const json *member, const json *node) {
    const json *properties = json_get(node, "properties"), *patterns = json_get(node, "patternProperties");
    if (json_get(node, "additionalProperties") != NULL) return true;
    if (properties != NULL && json_member(properties, member->key, member->key_n) != NULL) return true;
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++)
        if (schema_accepts(schema_pattern(c, &patterns->u.items[i]), member->key, member->key_n)) return true;
    return false;
}

/* Does the node, if v is valid by it, evaluate this member or item of v?  own_rest: by its own "unevaluated..." too. */
static bool evaluates(schema_context *c, const json *v, const json *part, const json *node, bool own_rest) {
    static const char *const references[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    const json *at;
    if (node->kind != JSON_OBJECT || (own_rest && !schema_valid(c, v, node))) return false;
    if (own_rest && schema_get(c, node, v->kind == JSON_OBJECT ? "unevaluatedProperties" : "unevaluatedItems") != NULL) return true;
    if (v->kind == JSON_OBJECT ? member_evaluated(c, part, node) : item_evaluated(c, v, part, node)) return true;
    for (int i = 0; i < 3; i++)
        if ((at = schema_get(c, node, references[i])) != NULL && at->kind == JSON_STRING &&
            evaluates(c, v, part, schema_target(c, at), true))
            return true;
    if (any_evaluates(c, v, part, json_get(node, "allOf")) || any_evaluates(c, v, part, json_get(node, "anyOf")) ||
        any_evaluates(c, v, part, json_get(node, "oneOf")))
        return true;
    if ((at = schema_get(c, node, "if")) != NULL) {
        const json *then = json_get(node, schema_valid(c, v, at) ? "then" : "else");
        if (evaluates(c, v, part, at, true) || (then != NULL && evaluates(c, v, part, then, true))) return true;
    }
    return v->kind == JSON_OBJECT && dependent_evaluates(c, v, part, schema_get(c, node, "dependentSchemas"));
}

static bool rest_holds(schema_context *c, const json *v, const json *node, const char *key) {
    const json *rest = schema_get(c, node, key);
    for (uint32_t i = 0; rest != NULL && !schema_says_nothing(rest) && i < v->n; i++) {
        const json *part = &v->u.items[i];
        if (v->kind == JSON_OBJECT && json_member(v, part->key, part->key_n) != part) continue;
        if (!schema_valid(c, part, rest) && !evaluates(c, v, part, node, false)) return false;
    }
    return true;
}

static bool own_holds(schema_context *c, const json *v, const json *node) {
    uint32_t type = schema_value_type(v);
    if ((schema_types(node) & type) == 0) return false;
    const json *list = json_get(node, "enum"), *one = schema_get(c, node, "const");
    if (one != NULL && !json_equal(v, one)) return false;
    if (list != NULL && v->parent != list) { /* its own members need no look */
        work_charge(c->b->w, 1 + list->n / 16);
        if (!in_list(v, list)) return false;
    }
    switch (v->kind) {
    case JSON_NUMBER:
        return number_holds(c, v, node);
    case JSON_STRING:
        return string_holds(c, v, node);
    case JSON_ARRAY:
        return array_holds(c, v, node);
    case JSON_OBJECT:
        return object_holds(c, v, node);
    default:
        return true;
    }
}

static bool unevaluated_hold(schema_context *c, const json *v, const json *node) {
    if (v->kind == JSON_ARRAY) return rest_holds(c, v, node, "unevaluatedItems");
    return v->kind != JSON_OBJECT || rest_holds(c, v, node, "unevaluatedProperties");
}

bool schema_own_holds(schema_context *c, const json *v, const json *node) {
    return own_holds(c, v, node) && unevaluated_hold(c, v, node);
}

bool schema_only_rest_fails(schema_context *c, const json *v, const json *node) {
    return own_holds(c, v, node) && !unevaluated_hold(c, v, node);
}

static uint32_t how_many(schema_context *c, const json *v, const json *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) n += schema_valid(c, v, &list->u.items[i]);
    return n;
}

static bool valid(schema_context *c, const json *v, const json *node) {
    if (node->kind != JSON_OBJECT) return node->kind == JSON_TRUE;
    static const char *const references[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    const json *at;
    for (int i = 0; i < 3; i++)
        if ((at = schema_get(c, node, references[i])) != NULL && at->kind == JSON_STRING &&
            !schema_valid(c, v, schema_target(c, at)))
            return false;
    if (schema_overridden(c, node)) return true;
    if (!schema_own_holds(c, v, node)) return false;
    if ((at = json_get(node, "allOf")) != NULL && how_many(c, v, at) != at->n) return false;
    if ((at = json_get(node, "anyOf")) != NULL && how_many(c, v, at) == 0) return false;
    if ((at = json_get(node, "oneOf")) != NULL) {
        uint32_t n = how_many(c, v, at);
        if (c->any_for_one ? n == 0 : n != 1) return false;
    }
    if ((at = json_get(node, "not")) != NULL && schema_valid(c, v, at)) return false;
    if ((at = schema_get(c, node, "if")) != NULL) {
        const json *then = json_get(node, schema_valid(c, v, at) ? "then" : "else");
        if (then != NULL && !schema_valid(c, v, then)) return false;
    }
    return true;
}

bool schema_valid(schema_context *c, const json *v, const json *node) {
    work *w = c->b->w;
    work_charge(w, 1);
    if (++c->depth > w->limits.depth * 2)
        json_escape(w, node, STE_ERR_SCHEMA, "a schema refers to itself without a value in between");
    bool fine = valid(c, v, node);
    c->depth--;
    return fine;
}
