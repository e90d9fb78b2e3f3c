/* schema_outline.c - see schema_outline.h. */
#include "schema_outline.h"

/* ---- what kinds a schema admits ---- */

static uint32_t may_be(schema_context *c, const json *node, uint32_t depth);

static uint32_t may_be_any(schema_context *c, const json *list, uint32_t depth) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < list->n && bits != TYPE_ANY; i++) bits |= may_be(c, &list->u.items[i], depth);
    return bits;
}

static uint32_t may_be(schema_context *c, const json *node, uint32_t depth) {
    if (node->kind != JSON_OBJECT) return node->kind == JSON_TRUE ? TYPE_ANY : 0;
    if (node->n == 0 || depth == 0) return TYPE_ANY;
    void **slot = node_map_slot(c->b->w, &c->types, node);
    if (*slot != NULL) return (uint32_t)(uintptr_t)*slot - 1;
    *slot = (void *)(uintptr_t)(TYPE_ANY + 1); /* met again in a cycle: anything */
    uint32_t bits = TYPE_ANY;
    const json *ref = json_get(node, "$ref");
    if (ref != NULL && ref->kind == JSON_STRING) bits &= may_be(c, schema_target(c, ref), depth - 1);
    if (!schema_overridden(c, node)) {
        bits &= schema_types(node);
        const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum"), *at;
        if (one != NULL) bits &= schema_value_type(one);
        if (list != NULL) {
            uint32_t values = 0;
            for (uint32_t i = 0; i < list->n; i++) values |= schema_value_type(&list->u.items[i]);
            bits &= values;
        }
        if ((at = json_get(node, "allOf")) != NULL)
            for (uint32_t i = 0; i < at->n; i++) bits &= may_be(c, &at->u.items[i], depth - 1);
        if ((at = json_get(node, "anyOf")) != NULL) bits &= may_be_any(c, at, depth - 1);
        if ((at = json_get(node, "oneOf")) != NULL) bits &= may_be_any(c, at, depth - 1);
        at = json_get(node, "not");
        if (at != NULL && at->kind == JSON_OBJECT && at->n == 1 && json_get(at, "type") != NULL) bits &= ~schema_types(at);
        if (at != NULL && schema_says_nothing(at)) bits = 0;
    }
    slot = node_map_slot(c->b->w, &c->types, node);
    *slot = (void *)(uintptr_t)(bits + 1);
    return bits;
}

uint32_t schema_may_be(schema_context *c, const json *node) { return may_be(c, node, 16); }

/* Does any own keyword of the node say something about this kind (beyond that it is allowed)? */
bool schema_own_matters(const schema_context *c, const json *node, uint32_t kind) {
    static const char *const of_string[] = {"minLength", "maxLength", "pattern", "format", NULL};
    static const char *const of_number[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", NULL};
    static const char *const of_array[] = {"items", "prefixItems", "additionalItems", "contains", "minItems", "maxItems",
                                           "uniqueItems", "unevaluatedItems", NULL};
    static const char *const of_object[] = {"properties", "required", "patternProperties", "additionalProperties",
                                            "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties", NULL};
    const char *const *keywords = kind == TYPE_STRING  ? of_string
                               : kind == TYPE_ARRAY ? of_array
                               : kind == TYPE_OBJECT ? of_object
                                                     : of_number;
    if ((kind & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) != 0) return false;
    if (kind == TYPE_NUMBER && (schema_types(node) & kind) != kind) return true;
    if (schema_get(c, node, "const") != NULL || json_get(node, "enum") != NULL) return true;
    for (; *keywords != NULL; keywords++)
        if (schema_get(c, node, *keywords) != NULL) return true;
    return false;
}

/* ---- are two schemas plainly apart? ---- */

/* The nodes that hold wherever `node` holds. */
void outline_add(schema_context *c, const json *node, outline *out) {
    uint32_t from = out->n;
    if (out->n < OUTLINE_NODES) out->at[out->n++] = node;
    for (uint32_t i = from; i < out->n; i++) {
        const json *at = out->at[i];
        if (at->kind != JSON_OBJECT) continue;
        const json *ref = json_get(at, "$ref"), *all = json_get(at, "allOf");
        if (ref != NULL && ref->kind == JSON_STRING) {
            const json *target = schema_target(c, ref);
            bool known = false;
            for (uint32_t k = 0; k < out->n; k++) known = known || out->at[k] == target;
            if (!known && out->n < OUTLINE_NODES) out->at[out->n++] = target;
        }
        if (all != NULL && !schema_overridden(c, at))
            for (uint32_t k = 0; k < all->n && out->n < OUTLINE_NODES; k++) out->at[out->n++] = &all->u.items[k];
    }
}

static bool plain(const schema_context *c, const json *node) {
    return node->kind == JSON_OBJECT && !schema_overridden(c, node);
}

static bool is_required(const schema_context *c, const outline *f, const char *key, uint32_t n) {
    for (uint32_t i = 0; i < f->n; i++) {
        const json *list = plain(c, f->at[i]) ? json_get(f->at[i], "required") : NULL;
        for (uint32_t k = 0; list != NULL && list->kind == JSON_ARRAY && k < list->n; k++)
            if (json_equal_bytes(&list->u.items[k], key, n)) return true;
    }
    return false;
}

/* The schemas that the values of a key must satisfy; false if the key cannot be there. */
static bool values_of(schema_context *c, const outline *f, const char *key, uint32_t n, outline *out) {
    out->n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (!plain(c, f->at[i])) continue;
        const json *map = json_get(f->at[i], "properties"), *own = map == NULL ? NULL : json_member(map, key, n);
        if (own != NULL) {
            outline_add(c, own, out);
        } else {
            const json *other = json_get(f->at[i], "additionalProperties");
            if (other != NULL && other->kind == JSON_FALSE && json_get(f->at[i], "patternProperties") == NULL) return false;
        }
    }
    return true;
}

static bool any_value_fits(schema_context *c, const json *values, uint32_t n, uint32_t kind, const outline *f) {
    for (uint32_t i = 0; i < n; i++) {
        bool fits = (schema_value_type(&values[i]) & kind) != 0;
        for (uint32_t k = 0; k < f->n && fits; k++) fits = schema_valid(c, &values[i], f->at[k]);
        if (fits) return true;
    }
    return false;
}

/* The values that a list of nodes admits at most, if it lists any. */
static const json *listed(schema_context *c, const outline *f, uint32_t *n) {
    for (uint32_t i = 0; i < f->n; i++) {
        if (!plain(c, f->at[i])) continue;
        const json *one = schema_get(c, f->at[i], "const"), *list = json_get(f->at[i], "enum");
        *n = one != NULL ? 1 : list != NULL ? list->n : 0;
        if (one != NULL) return one;
        if (list != NULL) return list->u.items;
    }
    return NULL;
}

static bool apart_any(schema_context *c, const outline *a, const outline *b, uint32_t depth);

static bool required_keys_apart(schema_context *c, const outline *a, const outline *b, uint32_t depth) {
    for (uint32_t i = 0; i < a->n; i++) {
        const json *list = plain(c, a->at[i]) ? json_get(a->at[i], "required") : NULL;
        for (uint32_t k = 0; list != NULL && list->kind == JSON_ARRAY && k < list->n; k++) {
            outline of_a, of_b;
            const json *key = &list->u.items[k];
            if (!values_of(c, b, key->u.text, key->n, &of_b)) return true;
            if (of_b.n == 0 || !values_of(c, a, key->u.text, key->n, &of_a)) continue;
            if (apart_any(c, &of_a, &of_b, depth)) return true;
        }
    }
    return false;
}

bool outlines_apart(schema_context *c, uint32_t kind, const outline *a, const outline *b, uint32_t depth) {
    work_charge(c->b->w, 1);
    if ((kind & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) != 0) return false; /* the kind is the value */
    uint32_t n;
    const json *values = listed(c, a, &n);
    if (values != NULL && !any_value_fits(c, values, n, kind, b)) return true;
    values = listed(c, b, &n);
    if (values != NULL && !any_value_fits(c, values, n, kind, a)) return true;
    if (kind != TYPE_OBJECT || depth == 0) return false;
    return required_keys_apart(c, a, b, depth - 1) || required_keys_apart(c, b, a, depth - 1);
}

static bool apart_any(schema_context *c, const outline *a, const outline *b, uint32_t depth) {
    uint32_t bits = TYPE_ANY;
    for (uint32_t i = 0; i < a->n; i++) bits &= schema_may_be(c, a->at[i]);
    for (uint32_t i = 0; i < b->n; i++) bits &= schema_may_be(c, b->at[i]);
    static const uint32_t kinds[] = {TYPE_NULL, TYPE_FALSE, TYPE_TRUE, TYPE_NUMBER, TYPE_STRING, TYPE_ARRAY, TYPE_OBJECT};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if ((bits & kinds[k]) != 0 && !outlines_apart(c, kinds[k], a, b, depth)) return false;
    return true;
}

bool schema_apart(schema_context *c, uint32_t kind, const json *a, const json *b) {
    outline fa = {.n = 0}, fb = {.n = 0};
    outline_add(c, a, &fa);
    outline_add(c, b, &fb);
    uint32_t bits = kind;
    for (uint32_t i = 0; i < fa.n; i++) bits &= schema_may_be(c, fa.at[i]);
    for (uint32_t i = 0; i < fb.n; i++) bits &= schema_may_be(c, fb.at[i]);
    return bits == 0 || outlines_apart(c, kind, &fa, &fb, OUTLINE_DEPTH);
}

/* Does `node` plainly hold for every object for which all of `f` hold? */
bool outline_implies(schema_context *c, const outline *f, const json *node, uint32_t depth) {
    if (schema_says_nothing(node)) return true;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->at[i] == node) return true;
    if (!plain(c, node) || depth == 0 || (schema_types(node) & TYPE_OBJECT) == 0) return false;
    for (uint32_t i = 0; i < node->n; i++) {
        const json *at = &node->u.items[i];
        if (schema_key_is(at, "type")) continue;
        if (schema_key_is(at, "required") && at->kind == JSON_ARRAY) {
            for (uint32_t k = 0; k < at->n; k++)
                if (!is_required(c, f, at->u.items[k].u.text, at->u.items[k].n)) return false;
        } else if (schema_key_is(at, "properties")) {
            for (uint32_t k = 0; k < at->n; k++) {
                outline values;
                uint32_t n = 0;
                const json *schema = &at->u.items[k];
                if (!values_of(c, f, schema->key, schema->key_n, &values)) continue;
                const json *finite = listed(c, &values, &n);
                bool fine = schema_says_nothing(schema) || finite != NULL;
                for (uint32_t v = 0; v < values.n && !fine; v++) fine = values.at[v] == schema;
                for (uint32_t v = 0; finite != NULL && v < n && fine; v++) fine = schema_valid(c, &finite[v], schema);
                if (!fine) return false;
            }
        } else if (schema_key_is(at, "allOf")) {
            for (uint32_t k = 0; k < at->n; k++)
                if (!outline_implies(c, f, &at->u.items[k], depth - 1)) return false;
        } else if (schema_key_is(at, "anyOf")) {
            bool any = false;
            for (uint32_t k = 0; k < at->n && !any; k++) any = outline_implies(c, f, &at->u.items[k], depth - 1);
            if (!any) return false;
        } else if (schema_own_matters(c, node, TYPE_OBJECT) || json_get(node, "oneOf") != NULL || json_get(node, "not") != NULL ||
                   json_get(node, "if") != NULL || json_get(node, "$ref") != NULL || json_get(node, "dependencies") != NULL ||
                   json_get(node, "dependentSchemas") != NULL || json_get(node, "dependentRequired") != NULL ||
                   json_get(node, "$dynamicRef") != NULL || json_get(node, "$recursiveRef") != NULL) {
            static const char *const harmless[] = {"title", "description", "default", "$comment", "$id", "id", "examples", NULL};
            bool fine = false;
            for (const char *const *name = harmless; *name != NULL && !fine; name++) fine = schema_key_is(at, *name);
            if (!fine) return false;
        }
    }
    return true;
}

/* ---- finitely many values ---- */

typedef VEC(json) value_list;

static bool collect(schema_context *c, const json *node, value_list *out, uint32_t depth) {
    arena *mem = &c->b->w->mem;
    outline f = {.n = 0};
    uint32_t n, bits = TYPE_ANY;
    outline_add(c, node, &f);
    const json *values = listed(c, &f, &n);
    for (uint32_t i = 0; values != NULL && i < n; i++) vec_push(mem, out, values[i]);
    if (values != NULL) return true;
    for (uint32_t i = 0; i < f.n; i++) bits &= schema_may_be(c, f.at[i]);
    if ((bits & ~(uint32_t)(TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) == 0) {
        static const json_kind constants[] = {JSON_NULL, JSON_FALSE, JSON_TRUE};
        for (int i = 0; i < 3; i++)
            if ((bits >> i & 1) != 0) vec_push(mem, out, (json){.kind = constants[i]});
        return true;
    }
    static const char *const unions[] = {"anyOf", "oneOf"};
    for (uint32_t i = 0; i < f.n && depth > 0; i++)
        for (int u = 0; u < 2; u++) {
            const json *list = plain(c, f.at[i]) ? json_get(f.at[i], unions[u]) : NULL;
            uint32_t before = out->n;
            bool all = list != NULL;
            for (uint32_t k = 0; all && k < list->n; k++) all = collect(c, &list->u.items[k], out, depth - 1);
            if (all) return true;
            out->n = before;
        }
    return false;
}

bool schema_finite(schema_context *c, const literal *literals, uint32_t n, json **values, uint32_t *n_values) {
    value_list found = {0};
    bool finite = false;
    for (uint32_t i = 0; i < n && !finite; i++)
        finite = literals[i].sign == HOLDS && collect(c, literals[i].node, &found, 4);
    if (!finite) return false;
    uint32_t keep = 0;
    for (uint32_t i = 0; i < found.n; i++) {
        bool fits = true;
        for (uint32_t k = 0; k < n && fits; k++)
            fits = schema_valid(c, &found.at[i], literals[k].node) == (literals[k].sign == HOLDS);
        if (fits) found.at[keep++] = found.at[i];
    }
    *values = found.at;
    *n_values = keep;
    return true;
}
