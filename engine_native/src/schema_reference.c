/* schema_reference.c - what $ref, $dynamicRef and $recursiveRef mean.
 *
 * A *resource* is the document or a subschema with an $id of its own; its URI
 * is the $id resolved against the resource around it (RFC 3986, 5.2).  A
 * reference is resolved in the same way and must lead to a resource of this
 * document: nothing is fetched.  The fragment is a JSON pointer or an anchor.
 *
 * A dynamic reference goes to the outermost resource of the dynamic scope that
 * has the anchor.  The document itself is always outermost; so if it has the
 * anchor, or only one resource has, the target is known now. */
#include "schema.h"

typedef struct uri {
    const char *scheme, *authority, *path, *query; /* NULL: absent; not zero-terminated */
    size_t scheme_n, authority_n, path_n, query_n;
    const char *fragment; /* zero-terminated; NULL: absent */
} uri;

typedef struct anchor {
    const json *node;
    const char *name;
    uint32_t resource;
    bool dynamic;
} anchor;

struct schema_resource {
    const json *node;
    const char *uri; /* without fragment */
};

struct schema_references {
    VEC(struct schema_resource) resources;
    VEC(anchor) anchors;
    node_map numbers; /* node -> number of the resource it begins, + 1 */
};

/* ---- RFC 3986 ---- */

static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

static uri uri_parse(const char *s) {
    uri u = {0};
    size_t n = 0;
    if (is_letter(s[0]))
        while (is_letter(s[n]) || (s[n] >= '0' && s[n] <= '9') || s[n] == '+' || s[n] == '-' || s[n] == '.') n++;
    if (n > 0 && s[n] == ':') {
        u.scheme = s;
        u.scheme_n = n;
        s += n + 1;
    }
    if (s[0] == '/' && s[1] == '/') {
        u.authority = s + 2;
        u.authority_n = strcspn(u.authority, "/?#");
        s = u.authority + u.authority_n;
    }
    u.path = s;
    u.path_n = strcspn(s, "?#");
    s += u.path_n;
    if (*s == '?') {
        u.query = s + 1;
        u.query_n = strcspn(u.query, "#");
        s = u.query + u.query_n;
    }
    if (*s == '#') u.fragment = s + 1;
    return u;
}

/* "a/./b" and "a/c/../b" are "a/b" (5.2.4), in place; returns the length. */
static size_t remove_dots(char *path, size_t n) {
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + (path[i] == '/');
        while (end < n && path[end] != '/') end++;
        const char *part = path + i + (path[i] == '/');
        size_t length = (size_t)(path + end - part);
        bool one = length == 1 && part[0] == '.', two = length == 2 && part[0] == '.' && part[1] == '.';
        if (two)
            while (out > 0 && path[--out] != '/') {}
        if (!one && !two) {
            memmove(path + out, path + i, end - i);
            out += end - i;
        } else if (end == n) {
            path[out++] = '/';
        }
        i = end;
    }
    return out;
}

static size_t append(char *out, size_t at, const char *s, size_t n) {
    if (n > 0) memcpy(out + at, s, n);
    return at + n;
}

/* The reference against the base, without its fragment. */
static const char *uri_resolve(work *w, const char *base, const uri *r) {
    uri b = uri_parse(base), t = *r;
    size_t room = strlen(base) + r->scheme_n + r->authority_n + r->path_n + r->query_n + 8;
    char *path = arena_alloc(&w->mem, room, 1), *out = arena_alloc(&w->mem, room, 1);
    size_t n = 0, at = 0;
    if (r->scheme == NULL) {
        t.scheme = b.scheme;
        t.scheme_n = b.scheme_n;
        if (r->authority == NULL) {
            t.authority = b.authority;
            t.authority_n = b.authority_n;
            if (r->path_n == 0) {
                n = append(path, 0, b.path, b.path_n);
                if (r->query == NULL) {
                    t.query = b.query;
                    t.query_n = b.query_n;
                }
            } else if (r->path[0] != '/') {
                size_t keep = b.path_n;
                while (keep > 0 && b.path[keep - 1] != '/') keep--;
                if (b.authority != NULL && b.path_n == 0) path[n++] = '/';
                n = append(path, n, b.path, keep);
            }
        }
    }
    if (r->path_n != 0) n = remove_dots(path, append(path, n, r->path, r->path_n));
    if (t.scheme != NULL) {
        at = append(out, at, t.scheme, t.scheme_n);
        out[at++] = ':';
    }
    if (t.authority != NULL) {
        at = append(out, at, "//", 2);
        at = append(out, at, t.authority, t.authority_n);
    }
    at = append(out, at, path, n);
    if (t.query != NULL) {
        out[at++] = '?';
        at = append(out, at, t.query, t.query_n);
    }
    out[at] = '\0';
    return out;
}

/* ---- resources and anchors ---- */

static uint32_t resource_of(const schema_context *c, const json *at) {
    const node_map *m = &c->references->numbers;
    for (; at != NULL; at = at->parent) {
        uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)at) & (m->size - 1);
        for (; m->keys[slot] != NULL; slot = (slot + 1) & (m->size - 1))
            if (m->keys[slot] == at) return (uint32_t)(uintptr_t)m->values[slot] - 1;
    }
    return 0;
}

static void add_resource(schema_context *c, const json *node, const char *uri_text) {
    struct schema_references *r = c->references;
    vec_push(&c->b->w->mem, &r->resources, (struct schema_resource){node, uri_text});
    void **slot = node_map_slot(c->b->w, &r->numbers, node);
    *slot = (void *)(uintptr_t)r->resources.n;
}

static void add_anchor(schema_context *c, const json *node, const char *name, bool dynamic) {
    vec_push(&c->b->w->mem, &c->references->anchors, (anchor){node, name, resource_of(c, node), dynamic});
}

static const char *text_of(const json *node, const char *key) {
    const json *at = json_get(node, key);
    return at != NULL && at->kind == JSON_STRING ? at->u.text : NULL;
}

static void look_at(schema_context *c, const json *node) {
    if (schema_overridden(c, node) && node != c->root) return;
    const char *id = text_of(node, c->draft == DRAFT_4 ? "id" : "$id");
    if (id == NULL && node == c->root) id = text_of(node, "$id");
    if (id == NULL && node == c->root) id = text_of(node, "id");
    uri u = uri_parse(id == NULL ? "" : id);
    bool only_fragment = id != NULL && id[0] == '#' && id[1] != '\0';
    if (node == c->root)
        add_resource(c, node, uri_resolve(c->b->w, "", &u));
    else if (id != NULL && !only_fragment)
        add_resource(c, node, uri_resolve(c->b->w, c->references->resources.at[resource_of(c, node)].uri, &u));
    if (id != NULL && u.fragment != NULL && u.fragment[0] != '\0' && u.fragment[0] != '/')
        add_anchor(c, node, u.fragment, false);
    const char *name = c->draft >= DRAFT_2019 ? text_of(node, "$anchor") : NULL;
    if (name != NULL) add_anchor(c, node, name, false);
    name = c->draft == DRAFT_2020 ? text_of(node, "$dynamicAnchor") : NULL;
    if (name != NULL) add_anchor(c, node, name, true);
    const json *recursive = c->draft == DRAFT_2019 ? json_get(node, "$recursiveAnchor") : NULL;
    if (recursive != NULL && recursive->kind == JSON_TRUE) add_anchor(c, node, "", true);
}

static void look_around(schema_context *c) {
    static const char *const schemas[] = {"additionalProperties", "items", "not", "contains", "propertyNames", "if", "then",
                                          "else", "additionalItems", "unevaluatedItems", "unevaluatedProperties",
                                          "anyOf", "allOf", "oneOf", "prefixItems", NULL};
    static const char *const maps[] = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
                                       "dependencies", NULL};
    arena *mem = &c->b->w->mem;
    VEC(const json *) todo = {0};
    vec_push(mem, &todo, c->root);
    while (todo.n > 0) {
        const json *node = todo.at[--todo.n];
        if (node->kind != JSON_OBJECT) continue;
        work_charge(c->b->w, 1);
        look_at(c, node);
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

static const anchor *find_anchor(const schema_context *c, uint32_t resource, const char *name, bool dynamic) {
    for (uint32_t i = 0; i < c->references->anchors.n; i++) {
        const anchor *a = &c->references->anchors.at[i];
        if (a->resource == resource && strcmp(a->name, name) == 0 && (!dynamic || a->dynamic)) return a;
    }
    return NULL;
}

/* The target of a dynamic reference whose own resource has the anchor. */
static const json *outermost(schema_context *c, const json *ref, const char *name, const anchor *own) {
    const anchor *root = find_anchor(c, 0, name, true);
    if (root != NULL) return root->node;
    for (uint32_t i = 0; i < c->references->anchors.n; i++) {
        const anchor *a = &c->references->anchors.at[i];
        if (a != own && a->dynamic && strcmp(a->name, name) == 0)
            json_escape(c->b->w, ref, STE_ERR_UNSUPPORTED,
                        "keyword \"%s\": several subschemas have the anchor and none of them is the whole schema", ref->key);
    }
    return own->node;
}

static const json *find_target(schema_context *c, const json *ref) {
    work *w = c->b->w;
    struct schema_references *r = c->references;
    uri u = uri_parse(ref->u.text);
    const char *full = uri_resolve(w, r->resources.at[resource_of(c, ref->parent)].uri, &u);
    uint32_t resource = 0;
    while (resource < r->resources.n && strcmp(r->resources.at[resource].uri, full) != 0) resource++;
    if (resource == r->resources.n)
        json_escape(w, ref, STE_ERR_UNSUPPORTED, "keyword \"%s\": \"%.200s\" does not point into this schema", ref->key, ref->u.text);
    const json *at = r->resources.at[resource].node;
    const char *fragment = u.fragment == NULL ? "" : u.fragment;
    const anchor *own = NULL;
    if (fragment[0] == '/') {
        at = follow_pointer(w, at, fragment);
    } else if (fragment[0] != '\0') {
        own = find_anchor(c, resource, fragment, false);
        at = own == NULL ? NULL : own->node;
    }
    if (at == NULL) json_escape(w, ref, STE_ERR_SCHEMA, "%s \"%.200s\" points to nothing", ref->key, ref->u.text);
    if (schema_key_is(ref, "$dynamicRef") && own != NULL && (own = find_anchor(c, resource, fragment, true)) != NULL)
        at = outermost(c, ref, fragment, own);
    if (schema_key_is(ref, "$recursiveRef") && (own = find_anchor(c, resource, "", true)) != NULL) at = outermost(c, ref, "", own);
    if (at->kind != JSON_OBJECT && !json_is_bool(at))
        json_escape(w, ref, STE_ERR_SCHEMA, "%s \"%.200s\" points to something that is no schema", ref->key, ref->u.text);
    return at;
}

bool schema_single_resource(const schema_context *c) { return c->references == NULL || c->references->resources.n == 1; }

const json *schema_target(schema_context *c, const json *ref) {
    void **slot = node_map_slot(c->b->w, &c->targets, ref);
    if (*slot != NULL) return *slot;
    if (c->references == NULL) {
        c->references = arena_alloc(&c->b->w->mem, 1, sizeof *c->references);
        look_around(c);
    }
    const json *target = find_target(c, ref);
    slot = node_map_slot(c->b->w, &c->targets, ref);
    *slot = (void *)(uintptr_t)target;
    return target;
}
