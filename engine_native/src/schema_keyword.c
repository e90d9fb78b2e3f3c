/* schema_keyword.c - what one node says by its own keywords, in its dialect.
 *
 * Also: which nodes are equal (schema_canonical: annotations aside, one node
 * stands for all of them), and nodes that no text has, which the expansion of
 * combinators and negations needs. */
#include "decimal.h"
#include "schema.h"

void **node_map_slot(work *w, node_map *m, const json *key) {
    if (m->n * 2 >= m->size) {
        node_map grown = {.size = m->size == 0 ? 64 : m->size * 2, .n = m->n};
        grown.keys = arena_alloc(&w->mem, grown.size, sizeof *grown.keys);
        grown.values = arena_alloc(&w->mem, grown.size, sizeof *grown.values);
        for (uint32_t i = 0; i < m->size; i++) {
            if (m->keys[i] == NULL) continue;
            uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)m->keys[i]) & (grown.size - 1);
            while (grown.keys[slot] != NULL) slot = (slot + 1) & (grown.size - 1);
            grown.keys[slot] = m->keys[i];
            grown.values[slot] = m->values[i];
        }
        *m = grown;
    }
    uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)key) & (m->size - 1);
    for (; m->keys[slot] != NULL; slot = (slot + 1) & (m->size - 1))
        if (m->keys[slot] == key) return &m->values[slot];
    m->keys[slot] = key;
    m->n++;
    return &m->values[slot];
}

/* ---- equal schemas ---- */

struct same_nodes {
    const json **at; /* open addressing by hash */
    uint32_t size, n;
};

/* Says nothing about values; only as a keyword of the node itself, deeper down it may be a key. */
static bool annotates(const json *member) {
    static const char *const names_of[] = {"title", "description", "default", "examples", "$comment", NULL};
    for (const char *const *name = names_of; *name != NULL; name++)
        if (schema_key_is(member, *name)) return true;
    return false;
}

/* Of what is deeper down only how much it is: each node would be hashed once for each level above it. */
static uint64_t hash_text(const json *at, uint64_t h, uint32_t depth) {
    h = hash_mix(h, (uint64_t)at->kind << 32 | at->n);
    if (at->kind == JSON_STRING || at->kind == JSON_NUMBER) return hash_bytes(at->u.text, at->n, h);
    for (uint32_t i = 0; at->kind >= JSON_ARRAY && i < at->n && depth > 0; i++) {
        if (at->kind == JSON_OBJECT) h = hash_bytes(at->u.items[i].key, at->u.items[i].key_n, h);
        h = hash_text(&at->u.items[i], h, depth - 1);
    }
    return h;
}

/* Equal, and in the same order: the order of keys matters. */
static bool same_text(const json *a, const json *b) {
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind == JSON_STRING || a->kind == JSON_NUMBER) return memcmp(a->u.text, b->u.text, a->n) == 0;
    for (uint32_t i = 0; a->kind >= JSON_ARRAY && i < a->n; i++) {
        const json *x = &a->u.items[i], *y = &b->u.items[i];
        if (a->kind == JSON_OBJECT && (x->key_n != y->key_n || memcmp(x->key, y->key, x->key_n) != 0)) return false;
        if (!same_text(x, y)) return false;
    }
    return true;
}

static uint64_t hash_schema(const json *at) {
    uint64_t h = 7;
    for (uint32_t i = 0; i < at->n; i++)
        if (!annotates(&at->u.items[i])) h = hash_text(&at->u.items[i], hash_bytes(at->u.items[i].key, at->u.items[i].key_n, h), 2);
    return h;
}

static bool same_schema(const json *a, const json *b) {
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->n && annotates(&a->u.items[i])) i++;
        while (k < b->n && annotates(&b->u.items[k])) k++;
        if (i == a->n || k == b->n) return i == a->n && k == b->n;
        const json *x = &a->u.items[i], *y = &b->u.items[k];
        if (x->key_n != y->key_n || memcmp(x->key, y->key, x->key_n) != 0 || !same_text(x, y)) return false;
    }
}

static uint32_t same_slot(const struct same_nodes *t, const json *node) {
    uint32_t slot = (uint32_t)hash_schema(node) & (t->size - 1);
    while (t->at[slot] != NULL && !same_schema(t->at[slot], node)) slot = (slot + 1) & (t->size - 1);
    return slot;
}

const json *schema_canonical(schema_context *c, const json *node) {
    arena *mem = &c->b->w->mem;
    if (node->kind != JSON_OBJECT || node->n == 0 || !schema_single_resource(c)) return node;
    void **slot = node_map_slot(c->b->w, &c->canonical, node);
    if (*slot != NULL) return *slot;
    struct same_nodes *t = c->same;
    if (t == NULL) t = c->same = arena_alloc(mem, 1, sizeof *t);
    if (t->n * 2 >= t->size) {
        struct same_nodes grown = {.size = t->size == 0 ? 64 : t->size * 2, .n = t->n};
        grown.at = arena_alloc(mem, grown.size, sizeof *grown.at);
        for (uint32_t i = 0; i < t->size; i++)
            if (t->at[i] != NULL) grown.at[same_slot(&grown, t->at[i])] = t->at[i];
        *t = grown;
    }
    uint32_t at = same_slot(t, node);
    if (t->at[at] == NULL) {
        t->at[at] = node;
        t->n++;
    }
    *slot = (void *)(uintptr_t)t->at[at];
    return t->at[at];
}

/* Keywords that some dialects do not know. */
static const struct {
    const char *name;
    dialect since, until;
} limited[] = {
    {"const", DRAFT_6, DRAFT_2020},
    {"contains", DRAFT_6, DRAFT_2020},
    {"propertyNames", DRAFT_6, DRAFT_2020},
    {"if", DRAFT_7, DRAFT_2020},
    {"minContains", DRAFT_2019, DRAFT_2020},
    {"maxContains", DRAFT_2019, DRAFT_2020},
    {"dependentRequired", DRAFT_2019, DRAFT_2020},
    {"dependentSchemas", DRAFT_2019, DRAFT_2020},
    {"unevaluatedItems", DRAFT_2019, DRAFT_2020},
    {"unevaluatedProperties", DRAFT_2019, DRAFT_2020},
    {"$recursiveRef", DRAFT_2019, DRAFT_2019},
    {"$dynamicRef", DRAFT_2020, DRAFT_2020},
    {"prefixItems", DRAFT_2020, DRAFT_2020},
};

static bool is_known(dialect draft, size_t i) { return draft >= limited[i].since && draft <= limited[i].until; }

const json *schema_get(const schema_context *c, const json *node, const char *key) {
    const json *at = json_get(node, key);
    if (at == NULL) return NULL;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++)
        if (strcmp(key, limited[i].name) == 0) return is_known(schema_draft(c, node), i) ? at : NULL;
    return at;
}

bool schema_says_nothing(const json *node) {
    return node->kind == JSON_TRUE || (node->kind == JSON_OBJECT && node->n == 0);
}

static uint32_t type_bits(const json *name) {
    static const struct {
        const char *name;
        uint32_t bits;
    } types[] = {{"null", TYPE_NULL},
                 {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"integer", TYPE_INTEGER},
                 {"number", TYPE_NUMBER},
                 {"string", TYPE_STRING},
                 {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT},
                 {"any", TYPE_ANY}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is_text(name, types[i].name)) return types[i].bits;
    return 0;
}

uint32_t schema_types(const json *node) {
    const json *type = json_get(node, "type");
    if (type == NULL) return TYPE_ANY;
    if (type->kind == JSON_STRING) return type_bits(type);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < type->n; i++) bits |= type_bits(&type->u.items[i]);
    return bits;
}

uint32_t schema_value_type(const json *v) {
    decimal d;
    switch (v->kind) {
    case JSON_NULL:
        return TYPE_NULL;
    case JSON_FALSE:
        return TYPE_FALSE;
    case JSON_TRUE:
        return TYPE_TRUE;
    case JSON_NUMBER:
        return decimal_parse(v->u.text, v->n, &d) && d.fraction_n == 0 ? TYPE_INTEGER : TYPE_FRACTION;
    case JSON_STRING:
        return TYPE_STRING;
    case JSON_ARRAY:
        return TYPE_ARRAY;
    case JSON_OBJECT:
        return TYPE_OBJECT;
    case JSON_RAW: /* schemas are read whole */
        break;
    }
    return 0;
}

/* ---- arrays ---- */

/* A list under "items" is the older spelling of "prefixItems"; 2020-12 has no other meaning for it. */
static const json *prefix_of(const schema_context *c, const json *node) {
    const json *items = json_get(node, "items");
    if (items != NULL && items->kind == JSON_ARRAY) return items;
    return schema_draft(c, node) == DRAFT_2020 ? json_get(node, "prefixItems") : NULL;
}

uint32_t schema_prefix_length(const schema_context *c, const json *node) {
    const json *prefix = prefix_of(c, node);
    return prefix == NULL ? 0 : prefix->n;
}

const json *schema_item(const schema_context *c, const json *node, uint32_t index) {
    const json *prefix = prefix_of(c, node);
    if (prefix != NULL && index < prefix->n) return &prefix->u.items[index];
    return json_get(node, prefix != NULL && schema_key_is(prefix, "items") ? "additionalItems" : "items");
}

/* ---- bounds of numbers ---- */

static bool bound(const json *node, const char *name, const char *exclusive_name, int direction,
                  const json **value, bool *exclusive) {
    const json *plain = json_get(node, name), *strict = json_get(node, exclusive_name);
    *exclusive = false;
    *value = plain;
    if (strict == NULL) return plain != NULL;
    if (json_is_bool(strict)) { /* draft 4: a flag of the plain bound */
        *exclusive = strict->kind == JSON_TRUE;
        return plain != NULL;
    }
    decimal a, b;
    if (plain != NULL && decimal_parse(plain->u.text, plain->n, &a) && decimal_parse(strict->u.text, strict->n, &b) &&
        decimal_compare(&a, &b) * direction > 0)
        return true; /* the plain bound is the narrower one */
    *value = strict;
    *exclusive = true;
    return true;
}

bool schema_low(const json *node, const json **value, bool *exclusive) {
    return bound(node, "minimum", "exclusiveMinimum", 1, value, exclusive);
}

bool schema_high(const json *node, const json **value, bool *exclusive) {
    return bound(node, "maximum", "exclusiveMaximum", -1, value, exclusive);
}

/* ---- made-up nodes: they stand where their model stands ---- */

static json *made(schema_context *c, const json *model, json_kind kind, uint32_t n) {
    json *node = arena_alloc(&c->b->w->mem, 1, sizeof *node);
    *node = *model;
    node->kind = kind;
    node->n = n;
    node->u.items = n == 0 ? NULL : arena_alloc(&c->b->w->mem, n, sizeof *node);
    schema_adopt(c, node, model);
    return node;
}

static void set_member(json *of, uint32_t i, const char *key, size_t key_n, const json *value) {
    json *at = (json *)(uintptr_t)&of->u.items[i];
    *at = *value;
    at->key = key;
    at->key_n = (uint32_t)key_n;
    at->index = i;
}

const json *schema_string(schema_context *c, const json *model, const char *text, uint32_t n) {
    json *node = made(c, model, JSON_STRING, 0);
    node->u.text = text;
    node->n = n;
    return node;
}

/* {"required": [key]} */
const json *schema_requires(schema_context *c, const json *model, const char *key, uint32_t n) {
    json *node = made(c, model, JSON_OBJECT, 1), *list = made(c, model, JSON_ARRAY, 1);
    set_member(list, 0, NULL, 0, schema_string(c, model, key, n));
    set_member(node, 0, "required", 8, list);
    return node;
}

/* {"properties": {key: false}} */
const json *schema_forbids(schema_context *c, const json *model, const char *key, uint32_t n) {
    json *node = made(c, model, JSON_OBJECT, 1), *map = made(c, model, JSON_OBJECT, 1);
    set_member(map, 0, key, n, made(c, model, JSON_FALSE, 0));
    set_member(node, 0, "properties", 10, map);
    return node;
}

/* {"enum": [value]}; every dialect knows it. */
const json *schema_only(schema_context *c, const json *value) {
    json *node = made(c, value, JSON_OBJECT, 1), *list = made(c, value, JSON_ARRAY, 1);
    set_member(list, 0, NULL, 0, value);
    set_member(node, 0, "enum", 4, list);
    return node;
}

const json schema_never = {.kind = JSON_FALSE};

const json *schema_any_of(schema_context *c, const json *model, const json *list, uint32_t n) {
    for (uint32_t i = 0; i < c->unions.n; i++) {
        const json *members = &c->unions.at[i]->u.items[0];
        bool same = members->n == n;
        for (uint32_t k = 0; k < n && same; k++)
            same = members->u.items[k].offset == list[k].offset && members->u.items[k].u.items == list[k].u.items;
        if (same) return c->unions.at[i];
    }
    json *node = made(c, model, JSON_OBJECT, 1), *members = made(c, model, JSON_ARRAY, n);
    for (uint32_t k = 0; k < n; k++) set_member(members, k, NULL, 0, &list[k]);
    set_member(node, 0, "anyOf", 5, members);
    vec_push(&c->b->w->mem, &c->unions, node);
    return node;
}

/* An array: its items, no more and no fewer.  An object: its keys, all of them, and no others. */
const json *schema_exactly(schema_context *c, const json *value) {
    bool object = value->kind == JSON_OBJECT, items_array = schema_draft(c, value) < DRAFT_2020;
    json *node = made(c, value, JSON_OBJECT, 3u + object), *parts = made(c, value, value->kind, value->n);
    json *no = made(c, value, JSON_FALSE, 0), *keys = made(c, value, JSON_ARRAY, value->n);
    for (uint32_t i = 0; i < value->n; i++) {
        const json *member = &value->u.items[i];
        set_member(parts, i, member->key, member->key_n, schema_only(c, member));
        if (object) set_member(keys, i, NULL, 0, schema_string(c, value, member->key, member->key_n));
    }
    if (object) {
        set_member(node, 0, "properties", 10, parts);
        set_member(node, 1, "required", 8, keys);
        set_member(node, 2, "additionalProperties", 20, no);
        set_member(node, 3, UNORDERED, sizeof UNORDERED - 1, no);
        return node;
    }
    char *digits = arena_alloc(&c->b->w->mem, 12, 1);
    uint32_t n = 0, at = 11;
    for (uint32_t v = value->n; v != 0 || n == 0; v /= 10, n++) digits[--at] = (char)('0' + v % 10);
    json *count = made(c, value, JSON_NUMBER, 0);
    count->u.text = digits + at;
    count->n = n;
    set_member(node, 0, items_array ? "items" : "prefixItems", items_array ? 5 : 11, parts);
    set_member(node, 1, items_array ? "additionalItems" : "items", items_array ? 15 : 5, no);
    set_member(node, 2, "minItems", 8, count);
    return node;
}

const json *schema_select(schema_context *c, const json *node, const char *const *keys, bool listed) {
    json *out = made(c, node, JSON_OBJECT, node->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->n; i++) {
        const json *member = &node->u.items[i];
        bool found = false;
        for (const char *const *key = keys; *key != NULL; key++) found = found || schema_key_is(member, *key);
        if (found == listed) set_member(out, n++, member->key, member->key_n, member);
    }
    out->n = n;
    return out;
}
