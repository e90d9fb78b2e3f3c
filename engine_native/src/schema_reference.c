/* schema_reference.c - what $ref, $dynamicRef and $recursiveRef mean.
 *
 * A reference is resolved against the resource around it and must lead to a
 * resource that is known (schema_resource.h).  The fragment is a JSON pointer or
 * an anchor.
 *
 * A dynamic reference goes to the first of the resources entered on the way to
 * it (the *dynamic scope*) that has the anchor.  The document itself is always
 * first; so if it has the anchor, or only one resource has, the target is known.
 * Else the schema that is lowered is a copy: resources are copied once for each
 * scope in which they are entered, and a reference in a copy leads to a copy.
 * Of a scope only the first resource with each anchor matters, so there are
 * finitely many. */
#include "schema_resource.h"

#define MAX_COPIES 2000

/* ---- fragments ---- */

static int hex_digit(char ch) {
    if (ch >= '0' && ch <= '9') return ch - '0';
    if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
    return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

static const json *member_at(const json *at, const char *part, size_t n) {
    if (at->kind == JSON_OBJECT) return json_member(at, part, n);
    if (at->kind != JSON_ARRAY || n == 0 || n > 9) return NULL;
    uint32_t index = 0;
    for (size_t i = 0; i < n; i++) {
        if (part[i] < '0' || part[i] > '9') return NULL;
        index = index * 10 + (uint32_t)(part[i] - '0');
    }
    return index < at->n && (n == 1 || part[0] != '0') ? &at->u.items[index] : NULL;
}

/* "/a~1b/0": RFC 6901 within a URI; NULL if it points to nothing. */
static const json *follow_pointer(work *w, const json *at, const char *s) {
    while (at != NULL && *s == '/') {
        char *part = arena_alloc(&w->mem, strlen(s) + 1, 1);
        size_t n = 0;
        for (s++; *s != '\0' && *s != '/'; s++) {
            char ch = *s;
            if (ch == '%' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0) {
                ch = (char)(hex_digit(s[1]) * 16 + hex_digit(s[2]));
                s += 2;
            }
            if (ch == '~' && (s[1] == '0' || s[1] == '1')) ch = *++s == '0' ? '~' : '/';
            part[n++] = ch;
        }
        at = member_at(at, part, n);
    }
    return at;
}

/* ---- dynamic scopes and copies ---- */

static uint32_t name_number(schema_context *c, const char *name) {
    struct schema_references *r = c->references;
    uint32_t i = 0;
    while (i < r->dynamic.n && strcmp(r->dynamic.at[i], name) != 0) i++;
    if (i == r->dynamic.n) vec_push(&c->b->w->mem, &r->dynamic, name);
    return i;
}

/* The scope (0: empty) after the resource has been entered. */
static uint32_t enter(schema_context *c, uint32_t scope, uint32_t resource) {
    struct schema_references *r = c->references;
    size_t size = (r->dynamic.n + 1) * sizeof(uint32_t);
    uint32_t *next = arena_alloc(&c->b->w->mem, r->dynamic.n + 1, sizeof *next);
    work_charge(c->b->w, 1 + ((uint64_t)r->dynamic.n * r->anchors.n + (uint64_t)r->scopes.n * r->dynamic.n) / 64);
    if (scope != 0) memcpy(next, r->scopes.at[scope - 1], size);
    for (uint32_t i = 0; i < r->dynamic.n; i++)
        if (next[i] == 0 && schema_find_anchor(c, resource, r->dynamic.at[i], true) != NULL) next[i] = resource + 1;
    uint32_t k = 0;
    while (k < r->scopes.n && memcmp(r->scopes.at[k], next, size) != 0) k++;
    if (k == r->scopes.n) vec_push(&c->b->w->mem, &r->scopes, next);
    return k + 1;
}

static void copy_tree(schema_context *c, const json *from, json *to, const json *parent, uint32_t resource, uint32_t scope) {
    uint32_t here = schema_resource_of(c, from);
    *to = *from;
    to->parent = parent;
    work_charge(c->b->w, 1);
    if (here != resource) { /* a resource within */
        scope = enter(c, scope, here);
        resource = here;
    }
    if (c->references->resources.at[here].node == from) {
        schema_resource copy = c->references->resources.at[here];
        if (c->references->resources.n > MAX_COPIES)
            json_escape(c->b->w, from, STE_ERR_LIMIT, "dynamic references have more than %d meanings", MAX_COPIES);
        copy.node = to;
        copy.of = here;
        copy.scope = scope;
        schema_add_resource(c, to, copy);
    }
    if (from->kind < JSON_ARRAY || from->n == 0) return;
    json *items = arena_alloc(&c->b->w->mem, from->n, sizeof *items);
    to->u.items = items;
    for (uint32_t i = 0; i < from->n; i++) copy_tree(c, &from->u.items[i], &items[i], to, resource, scope);
}

/* The copy of a node of a source for this scope, its resource being entered. */
static const json *copy_of(schema_context *c, const json *at, uint32_t scope) {
    struct schema_references *r = c->references;
    uint32_t of = schema_resource_of(c, at), i = 0;
    const json *top = r->resources.at[of].node, *copy = NULL;
    while (i < r->resources.n && !(r->resources.at[i].of == of && r->resources.at[i].scope == scope)) i++;
    if (i < r->resources.n) {
        copy = r->resources.at[i].node;
    } else {
        json *made = arena_alloc(&c->b->w->mem, 1, sizeof *made);
        copy_tree(c, top, made, top->parent, of, scope);
        copy = made;
    }
    VEC(uint32_t) path = {0};
    for (; at != top; at = at->parent) vec_push(&c->b->w->mem, &path, at->index);
    for (uint32_t k = path.n; k-- > 0;) copy = &copy->u.items[path.at[k]];
    return copy;
}

const json *schema_lowered_root(schema_context *c, const json *schema) {
    struct schema_references *r = c->references;
    if (r == NULL || schema->kind != JSON_OBJECT) return schema;
    for (uint32_t i = 0; i < r->dynamic.n; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < r->anchors.n; k++) n += r->anchors.at[k].dynamic && strcmp(r->anchors.at[k].name, r->dynamic.at[i]) == 0;
        if (n > 1 && schema_find_anchor(c, 0, r->dynamic.at[i], true) == NULL) r->scoped = true;
    }
    return r->scoped ? copy_of(c, schema, enter(c, 0, 0)) : schema;
}

void schema_each_dynamic_target(schema_context *c, void (*each)(void *ctx, const json *node), void *ctx) {
    struct schema_references *r = c->references;
    for (uint32_t i = 0; r != NULL && i < r->anchors.n; i++)
        for (uint32_t k = 0; k < r->dynamic.n; k++)
            if (r->anchors.at[i].dynamic && strcmp(r->anchors.at[i].name, r->dynamic.at[k]) == 0) each(ctx, r->anchors.at[i].node);
}

/* ---- targets ---- */

/* The target of a dynamic reference whose own resource has the anchor, from a resource with this scope. */
static const json *dynamic_target(schema_context *c, const schema_anchor *own, uint32_t scope) {
    uint32_t name = name_number(c, own->name), first = scope == 0 ? 0 : c->references->scopes.at[scope - 1][name];
    const schema_anchor *found = schema_find_anchor(c, first == 0 ? 0 : first - 1, own->name, true);
    return found == NULL || (scope != 0 && first == 0) ? own->node : found->node;
}

static const json *find_target(schema_context *c, const json *ref) {
    work *w = c->b->w;
    struct schema_references *r = c->references;
    work_charge(w, 1 + (r->resources.n + r->anchors.n) / 64);
    uri u = uri_parse(ref->u.text);
    uint32_t from = schema_resource_of(c, ref->parent), scope = r->resources.at[from].scope;
    const char *full = uri_resolve(w, r->resources.at[from].uri, &u);
    uint32_t resource = schema_find_resource(c, full);
    const char *base = schema_fallback_base(c, ref->parent);
    if (resource == UINT32_MAX && base != NULL) resource = schema_find_resource(c, uri_resolve(w, base, &u));
    if (resource == UINT32_MAX)
        json_escape(w, ref, STE_ERR_UNSUPPORTED, "keyword \"%s\": \"%.200s\" does not point into this schema", ref->key, ref->u.text);
    const json *at = r->resources.at[resource].node;
    const char *fragment = u.fragment == NULL ? "" : u.fragment;
    const schema_anchor *own = NULL;
    if (fragment[0] == '/') {
        at = follow_pointer(w, at, fragment);
    } else if (fragment[0] != '\0') {
        own = schema_find_anchor(c, resource, fragment, false);
        at = own == NULL ? NULL : own->node;
    }
    if (at == NULL) json_escape(w, ref, STE_ERR_SCHEMA, "%s \"%.200s\" points to nothing", ref->key, ref->u.text);
    if (schema_key_is(ref, "$dynamicRef") && own != NULL && (own = schema_find_anchor(c, resource, fragment, true)) != NULL)
        at = dynamic_target(c, own, scope);
    if (schema_key_is(ref, "$recursiveRef") && (own = schema_find_anchor(c, resource, "", true)) != NULL) at = dynamic_target(c, own, scope);
    if (at->kind != JSON_OBJECT && !json_is_bool(at))
        json_escape(w, ref, STE_ERR_SCHEMA, "%s \"%.200s\" points to something that is no schema", ref->key, ref->u.text);
    return scope == 0 ? at : copy_of(c, at, enter(c, scope, schema_resource_of(c, at)));
}

bool schema_single_resource(const schema_context *c) { return c->references == NULL || c->references->resources.n == 1; }

const json *schema_target(schema_context *c, const json *ref) {
    void **slot = node_map_slot(c->b->w, &c->targets, ref);
    if (*slot != NULL) return *slot;
    schema_find_resources(c);
    const json *target = find_target(c, ref);
    slot = node_map_slot(c->b->w, &c->targets, ref);
    *slot = (void *)(uintptr_t)target;
    return target;
}
