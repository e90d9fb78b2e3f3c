/* schema_resource.c - see schema_resource.h. */
#include "metaschema.h"
#include "schema_resource.h"

static uint32_t number_in(const node_map *m, const json *at) {
    for (; at != NULL && m->size != 0; at = at->parent) {
        uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)at) & (m->size - 1);
        for (; m->keys[slot] != NULL; slot = (slot + 1) & (m->size - 1))
            if (m->keys[slot] == at) return (uint32_t)(uintptr_t)m->values[slot] - 1;
    }
    return UINT32_MAX;
}

uint32_t schema_resource_of(const schema_context *c, const json *at) {
    uint32_t number = number_in(&c->references->numbers, at);
    return number == UINT32_MAX ? 0 : number;
}

dialect schema_draft(const schema_context *c, const json *node) {
    return c->mixed ? c->references->resources.at[schema_resource_of(c, node)].draft : c->draft;
}

void schema_adopt(schema_context *c, const json *node, const json *model) {
    if (!c->mixed) return;
    uint32_t number = schema_resource_of(c, model);
    *node_map_slot(c->b->w, &c->references->numbers, node) = (void *)(uintptr_t)(number + 1);
}

static void set_number(schema_context *c, node_map *m, const json *node, uint32_t number) {
    *node_map_slot(c->b->w, m, node) = (void *)(uintptr_t)(number + 1);
}

uint32_t schema_add_resource(schema_context *c, const json *node, schema_resource r) {
    struct schema_references *all = c->references;
    uint32_t number = all->resources.n;
    if (r.of == UINT32_MAX) r.of = number;
    vec_push(&c->b->w->mem, &all->resources, r);
    if (r.of != number && r.scope == 0) return number; /* another name */
    set_number(c, r.fallback ? &all->fallbacks : &all->numbers, node, number);
    if (r.draft != c->draft) c->mixed = true;
    return number;
}

static void add_anchor(schema_context *c, const json *node, const char *name, bool dynamic, bool fallback) {
    uint32_t resource = fallback ? number_in(&c->references->fallbacks, node) : UINT32_MAX;
    if (resource == UINT32_MAX) resource = schema_resource_of(c, node);
    vec_push(&c->b->w->mem, &c->references->anchors, (schema_anchor){node, name, resource, dynamic, fallback});
}

static const char *text_of(const json *node, const char *key) {
    const json *at = json_get(node, key);
    return at != NULL && at->kind == JSON_STRING ? at->u.text : NULL;
}

dialect schema_named_dialect(const json *node, dialect otherwise) {
    static const struct {
        const char *part;
        dialect draft;
    } known[] = {{"draft-04", DRAFT_4}, {"draft-06", DRAFT_6}, {"draft-07", DRAFT_7}, {"2019-09", DRAFT_2019}, {"2020-12", DRAFT_2020}};
    const char *uri_text = text_of(node, "$schema");
    for (size_t i = 0; uri_text != NULL && i < sizeof known / sizeof *known; i++)
        if (strstr(uri_text, known[i].part) != NULL) return known[i].draft;
    return otherwise;
}

static bool names_anchor(const uri *u) { return u->fragment != NULL && u->fragment[0] != '\0' && u->fragment[0] != '/'; }

static void look_at_fallback(schema_context *c, const json *node) {
    const char *id = text_of(node, "id");
    if (id == NULL || text_of(node, "$id") != NULL) return;
    uri u = uri_parse(id);
    if (id[0] != '#') {
        uint32_t around = number_in(&c->references->fallbacks, node->parent);
        if (around == UINT32_MAX) around = schema_resource_of(c, node);
        const char *base = c->references->resources.at[around].uri;
        schema_resource r = {.node = node, .uri = uri_resolve(c->b->w, base, &u), .draft = c->draft, .of = UINT32_MAX, .fallback = true};
        schema_add_resource(c, node, r);
    }
    if (names_anchor(&u)) add_anchor(c, node, u.fragment, false, true);
}

/* root: the document of which node is a part; its retrieval URI. */
static void look_at(schema_context *c, const json *node, const json *root, const char *retrieved) {
    if (node != root && schema_overridden(c, node)) return;
    uint32_t around = schema_resource_of(c, node);
    dialect draft = node == c->root ? c->draft : node == root ? c->draft : c->references->resources.at[around].draft;
    if (node == root && node != c->root) draft = schema_named_dialect(node, draft);
    const char *id = text_of(node, draft == DRAFT_4 ? "id" : "$id");
    if (id == NULL && node == c->root) id = text_of(node, "$id");
    if (id == NULL && node == c->root) id = text_of(node, "id");
    if (id != NULL && node != root) draft = schema_named_dialect(node, draft);
    uri u = uri_parse(id == NULL ? "" : id);
    if (node == root || (id != NULL && (id[0] != '#' || id[1] == '\0'))) {
        const char *base = node == root ? retrieved : c->references->resources.at[around].uri;
        schema_resource r = {.node = node, .uri = uri_resolve(c->b->w, base, &u), .draft = draft, .of = UINT32_MAX};
        uint32_t number = schema_add_resource(c, node, r);
        if (node == root && retrieved[0] != '\0' && strcmp(r.uri, retrieved) != 0) {
            r.uri = retrieved;
            r.of = number;
            schema_add_resource(c, node, r);
        }
    }
    if (names_anchor(&u)) add_anchor(c, node, u.fragment, false, false);
    const char *name = draft >= DRAFT_2019 ? text_of(node, "$anchor") : NULL;
    if (name != NULL) add_anchor(c, node, name, false, false);
    name = draft == DRAFT_2020 ? text_of(node, "$dynamicAnchor") : NULL;
    if (name != NULL) add_anchor(c, node, name, true, false);
    const json *recursive = draft == DRAFT_2019 ? json_get(node, "$recursiveAnchor") : NULL;
    if (recursive != NULL && recursive->kind == JSON_TRUE) add_anchor(c, node, "", true, false);
    if (node != root && text_of(root, "$schema") == NULL) look_at_fallback(c, node);
}

static void look_around(schema_context *c, const json *root, const char *retrieved) {
    static const char *const schemas[] = {"additionalProperties", "items", "not", "contains", "propertyNames", "if", "then",
                                          "else", "additionalItems", "unevaluatedItems", "unevaluatedProperties",
                                          "anyOf", "allOf", "oneOf", "prefixItems", NULL};
    static const char *const maps[] = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
                                       "dependencies", NULL};
    arena *mem = &c->b->w->mem;
    VEC(const json *) todo = {0};
    vec_push(mem, &todo, root);
    while (todo.n > 0) {
        const json *node = todo.at[--todo.n];
        if (node->kind != JSON_OBJECT) continue;
        work_charge(c->b->w, 1);
        look_at(c, node, root, retrieved);
        for (uint32_t i = 0; i < node->n; i++) {
            const json *at = &node->u.items[i];
            bool one = false, map = false;
            if (at->kind < JSON_ARRAY) continue;
            for (const char *const *name = schemas; *name != NULL && !one; name++) one = schema_key_is(at, *name);
            for (const char *const *name = maps; *name != NULL && !map && !one; name++) map = schema_key_is(at, *name);
            if (one && at->kind == JSON_OBJECT) vec_push(mem, &todo, at);
            for (uint32_t k = 0; ((one && at->kind == JSON_ARRAY) || (map && at->kind == JSON_OBJECT)) && k < at->n; k++)
                vec_push(mem, &todo, &at->u.items[k]);
        }
    }
}

void schema_find_resources(schema_context *c) {
    if (c->references != NULL) return;
    c->references = arena_alloc(&c->b->w->mem, 1, sizeof *c->references);
    look_around(c, c->root, "");
    for (uint32_t i = 0; c->documents != NULL && i < c->documents->n; i++) {
        const json *document = &c->documents->u.items[i];
        uri u = uri_parse(document->key);
        look_around(c, document, uri_resolve(c->b->w, "", &u)); /* without an empty fragment */
    }
}

const schema_anchor *schema_find_anchor(const schema_context *c, uint32_t resource, const char *name, bool dynamic) {
    const schema_anchor *fallback = NULL;
    for (uint32_t i = 0; i < c->references->anchors.n; i++) {
        const schema_anchor *a = &c->references->anchors.at[i];
        if (a->resource != resource || strcmp(a->name, name) != 0 || (dynamic && !a->dynamic)) continue;
        if (!a->fallback) return a;
        if (fallback == NULL) fallback = a;
    }
    return fallback;
}

/* ---- documents ---- */

static const json *metaschema_of(schema_context *c, const char *uri_text) {
    for (uint32_t i = 0; i < n_metaschemas; i++) {
        const metaschema *m = &metaschemas[i];
        if (strcmp(m->uri, uri_text) != 0) continue;
        size_t n = 0;
        for (uint32_t k = 0; k < METASCHEMA_PARTS && m->parts[k] != NULL; k++) n += strlen(m->parts[k]);
        char *text = arena_alloc(&c->b->w->mem, n + 1, 1), *to = text;
        for (uint32_t k = 0; k < METASCHEMA_PARTS && m->parts[k] != NULL; k++) {
            size_t length = strlen(m->parts[k]);
            memcpy(to, m->parts[k], length);
            to += length;
        }
        return json_parse(c->b->w, text, n);
    }
    return NULL;
}

static uint32_t named(const schema_context *c, const char *uri_text, bool fallback) {
    const struct schema_references *r = c->references;
    for (uint32_t i = 0; i < r->resources.n; i++)
        if (r->resources.at[i].scope == 0 && r->resources.at[i].fallback == fallback && strcmp(r->resources.at[i].uri, uri_text) == 0)
            return r->resources.at[i].of;
    return UINT32_MAX;
}

const char *schema_fallback_base(const schema_context *c, const json *at) {
    uint32_t number = number_in(&c->references->fallbacks, at);
    return number == UINT32_MAX ? NULL : c->references->resources.at[number].uri;
}

uint32_t schema_find_resource(schema_context *c, const char *uri_text) {
    uint32_t found = named(c, uri_text, false);
    if (found == UINT32_MAX) found = named(c, uri_text, true);
    if (found != UINT32_MAX) return found;
    const json *document = metaschema_of(c, uri_text);
    if (document == NULL) return UINT32_MAX;
    look_around(c, document, uri_text);
    return named(c, uri_text, false);
}
