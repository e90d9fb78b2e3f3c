/* schema.c - see schema.h. */
#include "schema.h"

#include "decimal.h"

#define MAX_BRANCHES 20000

/* ---- keywords ---- */

static const char *const annotations[] = {
    "title", "description", "default", "examples", "example", "$schema", "$comment", "deprecated", "readOnly", "writeOnly",
    "contentMediaType", "contentEncoding", "contentSchema", "$defs", "definitions", "$vocabulary", NULL};

static const char *const not_yet[] = {
    "patternProperties", "pattern", "oneOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies",
    "propertyNames", "minProperties", "maxProperties", "uniqueItems", "contains", "minContains", "maxContains",
    "unevaluatedItems", "unevaluatedProperties", "multipleOf", "$dynamicRef", "$recursiveRef", NULL};

static const char *const formats[] = {
    "date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri",
    "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex", NULL};

static bool listed(const char *const *list, const json *at, bool key) {
    for (; *list != NULL; list++)
        if (key ? at->key_n == strlen(*list) && memcmp(at->key, *list, at->key_n) == 0 : json_is_text(at, *list)) return true;
    return false;
}

static bool key_is(const json *member, const char *key) {
    return member->key_n == strlen(key) && memcmp(member->key, key, member->key_n) == 0;
}

static void require(schema_context *c, const json *at, bool fine, const char *what) {
    if (!fine) json_escape(c->b->w, at, STE_ERR_SCHEMA, "%s must be %s", at->key, what);
}

static bool is_schema(const json *at) { return at->kind == JSON_OBJECT || json_is_bool(at); }

static bool all_of_kind(const json *list, json_kind kind) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->u.items[i].kind != kind) return false;
    return true;
}

static uint32_t type_bits(const json *name) {
    static const struct {
        const char *name;
        uint32_t bits;
    } types[] = {{"null", TYPE_NULL},
                 {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"integer", TYPE_INTEGER},
                 {"number", TYPE_INTEGER | TYPE_FRACTION},
                 {"string", TYPE_STRING},
                 {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is_text(name, types[i].name)) return types[i].bits;
    return 0;
}

static void check_type(schema_context *c, const json *at) {
    require(c, at, at->kind == JSON_STRING || at->kind == JSON_ARRAY, "a type name or a list of them");
    const json *items = at->kind == JSON_ARRAY ? at->u.items : at;
    for (uint32_t i = 0; i < (at->kind == JSON_ARRAY ? at->n : 1); i++)
        if (items[i].kind != JSON_STRING || type_bits(&items[i]) == 0)
            json_escape(c->b->w, &items[i], STE_ERR_SCHEMA, "unknown type%s%s%s", items[i].kind == JSON_STRING ? " \"" : "",
                        items[i].kind == JSON_STRING ? items[i].u.text : "", items[i].kind == JSON_STRING ? "\"" : "");
}

static void check_schema_list(schema_context *c, const json *at) {
    require(c, at, at->kind == JSON_ARRAY && at->n != 0, "a list of schemas that is not empty");
    for (uint32_t i = 0; i < at->n; i++)
        if (!is_schema(&at->u.items[i])) json_escape(c->b->w, &at->u.items[i], STE_ERR_SCHEMA, "a schema must be an object or a boolean");
}

static void check_count(schema_context *c, const json *at) {
    uint32_t n;
    require(c, at, json_count(at, &n), "an integer of at least 0");
}

static void check_bound(schema_context *c, const json *at) {
    bool flag = c->draft == DRAFT_4 && (key_is(at, "exclusiveMinimum") || key_is(at, "exclusiveMaximum"));
    require(c, at, at->kind == JSON_NUMBER || (flag && json_is_bool(at)), flag ? "a boolean" : "a number");
    decimal d;
    if (at->kind == JSON_NUMBER && !decimal_parse(at->u.text, at->n, &d))
        json_escape(c->b->w, at, STE_ERR_UNSUPPORTED, "%s: %s has more digits than can be compared", at->key, at->u.text);
}

static void check_keyword(schema_context *c, const json *at) {
    work *w = c->b->w;
    if (listed(annotations, at, true)) return;
    if (key_is(at, "type")) {
        check_type(c, at);
    } else if (key_is(at, "properties")) {
        require(c, at, at->kind == JSON_OBJECT, "an object of schemas");
        for (uint32_t i = 0; i < at->n; i++)
            if (!is_schema(&at->u.items[i])) json_escape(w, &at->u.items[i], STE_ERR_SCHEMA, "a schema must be an object or a boolean");
    } else if (key_is(at, "required")) {
        if (c->draft == DRAFT_4 && json_is_bool(at)) return; /* draft 3's spelling, an annotation since */
        require(c, at, at->kind == JSON_ARRAY && all_of_kind(at, JSON_STRING), "a list of strings");
    } else if (key_is(at, "additionalProperties")) {
        require(c, at, is_schema(at), "a schema");
    } else if (key_is(at, "items")) {
        if (at->kind == JSON_ARRAY && c->draft < DRAFT_2020) {
            for (uint32_t i = 0; i < at->n; i++)
                if (!is_schema(&at->u.items[i])) json_escape(w, &at->u.items[i], STE_ERR_SCHEMA, "a schema must be an object or a boolean");
        } else {
            require(c, at, is_schema(at), "a schema");
        }
    } else if (key_is(at, "additionalItems")) {
        if (c->draft < DRAFT_2020) require(c, at, is_schema(at), "a schema");
    } else if (key_is(at, "prefixItems")) {
        if (c->draft == DRAFT_2020) check_schema_list(c, at);
    } else if (key_is(at, "anyOf") || key_is(at, "allOf")) {
        check_schema_list(c, at);
    } else if (key_is(at, "enum")) {
        require(c, at, at->kind == JSON_ARRAY, "a list of values");
    } else if (key_is(at, "minItems") || key_is(at, "maxItems") || key_is(at, "minLength") || key_is(at, "maxLength")) {
        check_count(c, at);
    } else if (key_is(at, "minimum") || key_is(at, "maximum") || key_is(at, "exclusiveMinimum") || key_is(at, "exclusiveMaximum")) {
        check_bound(c, at);
    } else if (key_is(at, "$ref")) {
        require(c, at, at->kind == JSON_STRING, "a string");
    } else if (key_is(at, "format")) {
        require(c, at, at->kind == JSON_STRING, "a string");
        if (listed(formats, at, false))
            json_escape(w, at, STE_ERR_UNSUPPORTED, "keyword \"format\": \"%s\" is not supported", at->u.text);
        char pointer[160];
        json_pointer(at, pointer, sizeof pointer);
        builder_note(c->b, "%s: unknown format \"%.60s\" is an annotation", pointer, at->u.text);
    } else if (key_is(at, "uniqueItems")) {
        require(c, at, json_is_bool(at), "a boolean");
        if (at->kind == JSON_TRUE) json_escape(w, at, STE_ERR_UNSUPPORTED, "keyword \"uniqueItems\" is not supported");
    } else if (key_is(at, "if")) {
        if (json_get(at->parent, "then") != NULL || json_get(at->parent, "else") != NULL)
            json_escape(w, at, STE_ERR_UNSUPPORTED, "keyword \"if\" is not supported");
    } else if ((key_is(at, "$id") || key_is(at, "id")) && at->kind == JSON_STRING) {
        if (at->parent != c->root && at->u.text[0] != '#')
            json_escape(w, at, STE_ERR_UNSUPPORTED, "keyword \"%s\" below the root is not supported", at->key);
    } else if (listed(not_yet, at, true)) {
        json_escape(w, at, STE_ERR_UNSUPPORTED, "keyword \"%s\" is not supported", at->key);
    }
    /* Anything else is unknown to JSON Schema: an annotation. */
}

static bool overrides_siblings(const schema_context *c, const json *node) {
    const json *ref = json_get(node, "$ref");
    return ref != NULL && ref->kind == JSON_STRING && c->draft <= DRAFT_7;
}

static void check_keywords(schema_context *c, const json *node) {
    arena *mem = &c->b->w->mem;
    if (c->n_checked * 2 >= c->checked_size) {
        uint32_t size = c->checked_size == 0 ? 64 : c->checked_size * 2;
        const json **grown = arena_alloc(mem, size, sizeof *grown);
        for (uint32_t i = 0; i < c->checked_size; i++) {
            if (c->checked[i] == NULL) continue;
            uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)c->checked[i]) & (size - 1);
            while (grown[slot] != NULL) slot = (slot + 1) & (size - 1);
            grown[slot] = c->checked[i];
        }
        c->checked = grown;
        c->checked_size = size;
    }
    uint32_t slot = (uint32_t)hash_mix(0, (uint64_t)(uintptr_t)node) & (c->checked_size - 1);
    for (; c->checked[slot] != NULL; slot = (slot + 1) & (c->checked_size - 1))
        if (c->checked[slot] == node) return;
    c->checked[slot] = node;
    c->n_checked++;
    if (overrides_siblings(c, node)) {
        check_keyword(c, json_get(node, "$ref"));
        return;
    }
    for (uint32_t i = 0; i < node->n; i++) check_keyword(c, &node->u.items[i]);
}

/* ---- references ---- */

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

/* "#", "#/pointer", or the document's own $id before either. */
static const json *resolve(schema_context *c, const json *ref) {
    work *w = c->b->w;
    const char *s = ref->u.text;
    const json *id = json_get(c->root, "$id");
    if (id == NULL) id = json_get(c->root, "id");
    if (id != NULL && id->kind == JSON_STRING && id->n > 0) {
        size_t n = id->n;
        while (n > 0 && id->u.text[n - 1] == '#') n--;
        if (n > 0 && strncmp(s, id->u.text, n) == 0 && (s[n] == '#' || s[n] == '\0')) s += n;
        if (*s == '\0') return c->root;
    }
    if (s[0] != '#' || (s[1] != '\0' && s[1] != '/'))
        json_escape(w, ref, STE_ERR_UNSUPPORTED, "keyword \"$ref\": \"%.200s\" does not point into this schema", ref->u.text);
    const json *at = c->root;
    for (s++; *s == '/';) {
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
        if (at == NULL) json_escape(w, ref, STE_ERR_SCHEMA, "$ref \"%.200s\" points to nothing", ref->u.text);
    }
    if (!is_schema(at)) json_escape(w, ref, STE_ERR_SCHEMA, "$ref \"%.200s\" points to something that is no schema", ref->u.text);
    return at;
}

/* ---- expansion into branches ---- */

typedef struct pending {
    const json *node;
    const struct pending *next;
    const struct pending *because; /* the pending node that brought this one in */
} pending;

typedef struct chosen {
    const json *node;
    const struct chosen *before;
    uint32_t n;
} chosen;

static const pending *push(schema_context *c, const json *node, const pending *next, const pending *because) {
    pending *p = arena_alloc(&c->b->w->mem, 1, sizeof *p);
    *p = (pending){node, next, because};
    return p;
}

static void emit(schema_context *c, schema_branches *out, const chosen *list) {
    arena *mem = &c->b->w->mem;
    if (++c->branches > MAX_BRANCHES)
        escape(&c->b->w->out, STE_ERR_LIMIT, 0, "the alternatives of this schema multiply to more than %d", MAX_BRANCHES);
    schema_nodes nodes = {arena_alloc(mem, list == NULL ? 1 : list->n, sizeof *nodes.at), list == NULL ? 0 : list->n};
    for (uint32_t i = nodes.n; i-- > 0; list = list->before) nodes.at[i] = list->node;
    vec_push(mem, out, nodes);
}

static void expand(schema_context *c, schema_branches *out, const pending *todo, const chosen *list, uint32_t depth) {
    work *w = c->b->w;
    if (depth > w->limits.depth) escape(&w->out, STE_ERR_LIMIT, 0, "alternatives are nested deeper than %u levels", w->limits.depth);
    while (todo != NULL) {
        const pending *p = todo;
        const json *node = p->node;
        todo = p->next;
        if (node->kind == JSON_TRUE) continue;
        if (node->kind == JSON_FALSE) return;
        if (node->kind != JSON_OBJECT) json_escape(w, node, STE_ERR_SCHEMA, "a schema must be an object or a boolean");
        for (const pending *q = p->because; q != NULL; q = q->because)
            if (q->node == node) json_escape(w, node, STE_ERR_SCHEMA, "a schema refers to itself without a value in between");
        bool known = false;
        for (const chosen *k = list; k != NULL && !known; k = k->before) known = k->node == node;
        if (known) continue;
        check_keywords(c, node);
        work_charge(w, 1);
        const json *ref = json_get(node, "$ref"), *all = json_get(node, "allOf"), *any = json_get(node, "anyOf");
        if (ref != NULL) {
            todo = push(c, resolve(c, ref), todo, p);
            if (c->draft <= DRAFT_7) continue;
        }
        if (all != NULL)
            for (uint32_t i = all->n; i-- > 0;) todo = push(c, &all->u.items[i], todo, p);
        chosen *one = arena_alloc(&w->mem, 1, sizeof *one);
        *one = (chosen){node, list, list == NULL ? 1 : list->n + 1};
        list = one;
        if (any != NULL) {
            for (uint32_t i = 0; i < any->n; i++) expand(c, out, push(c, &any->u.items[i], todo, p), list, depth + 1);
            return;
        }
    }
    emit(c, out, list);
}

schema_branches schema_expand(schema_context *c, schema_nodes conjunction) {
    schema_branches out = {0};
    const pending *todo = NULL;
    for (uint32_t i = conjunction.n; i-- > 0;) todo = push(c, conjunction.at[i], todo, NULL);
    expand(c, &out, todo, NULL, 0);
    return out;
}

/* ---- keywords by meaning ---- */

uint32_t schema_types(schema_context *c, const json *node) {
    (void)c;
    const json *type = json_get(node, "type");
    if (type == NULL) return TYPE_ANY;
    if (type->kind == JSON_STRING) return type_bits(type);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < type->n; i++) bits |= type_bits(&type->u.items[i]);
    return bits;
}

static const json *prefix_of(const schema_context *c, const json *node) {
    if (c->draft == DRAFT_2020) return json_get(node, "prefixItems");
    const json *items = json_get(node, "items");
    return items != NULL && items->kind == JSON_ARRAY ? items : NULL;
}

uint32_t schema_prefix_length(const schema_context *c, const json *node) {
    const json *prefix = prefix_of(c, node);
    return prefix == NULL ? 0 : prefix->n;
}

const json *schema_item(const schema_context *c, const json *node, uint32_t index) {
    const json *prefix = prefix_of(c, node);
    if (prefix != NULL && index < prefix->n) return &prefix->u.items[index];
    if (c->draft == DRAFT_2020) return json_get(node, "items");
    return json_get(node, prefix != NULL ? "additionalItems" : "items");
}

const json *schema_property(const json *node, const char *key, size_t n) {
    const json *properties = json_get(node, "properties");
    const json *own = properties == NULL ? NULL : json_member(properties, key, n);
    return own != NULL ? own : json_get(node, "additionalProperties");
}

static bool bound(const schema_context *c, const json *node, const char *name, const char *exclusive_name, int sign,
                  const json **value, bool *exclusive) {
    const json *plain = json_get(node, name), *strict = json_get(node, exclusive_name);
    *exclusive = false;
    *value = plain;
    if (strict == NULL) return plain != NULL;
    if (c->draft == DRAFT_4 && json_is_bool(strict)) {
        *exclusive = strict->kind == JSON_TRUE;
        return plain != NULL;
    }
    decimal a, b;
    if (plain != NULL && decimal_parse(plain->u.text, plain->n, &a) && decimal_parse(strict->u.text, strict->n, &b) &&
        decimal_compare(&a, &b) * sign > 0)
        return true; /* the plain bound is the narrower one */
    *value = strict;
    *exclusive = true;
    return true;
}

bool schema_low(const schema_context *c, const json *node, const json **value, bool *exclusive) {
    return bound(c, node, "minimum", "exclusiveMinimum", 1, value, exclusive);
}

bool schema_high(const schema_context *c, const json *node, const json **value, bool *exclusive) {
    return bound(c, node, "maximum", "exclusiveMaximum", -1, value, exclusive);
}

/* ---- the judge of values: which of the listed enum values satisfy the rest ---- */

static uint32_t value_type(const json *v) {
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

static bool holds_count(const json *node, const char *min_name, const char *max_name, uint32_t n) {
    const json *min = json_get(node, min_name), *max = json_get(node, max_name);
    uint32_t k;
    if (min != NULL && json_count(min, &k) && n < k) return false;
    return !(max != NULL && json_count(max, &k) && n > k);
}

static uint32_t code_points(const json *string) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < string->n; i++) n += ((uint8_t)string->u.text[i] & 0xC0) != 0x80;
    return n;
}

static bool holds_number(schema_context *c, const json *v, const json *node) {
    decimal x, y;
    if (!decimal_parse(v->u.text, v->n, &x))
        json_escape(c->b->w, v, STE_ERR_UNSUPPORTED, "the number %.60s has more digits than can be compared", v->u.text);
    const json *limit;
    bool exclusive;
    if (schema_low(c, node, &limit, &exclusive) && decimal_parse(limit->u.text, limit->n, &y)) {
        int r = decimal_compare(&x, &y);
        if (r < 0 || (r == 0 && exclusive)) return false;
    }
    if (schema_high(c, node, &limit, &exclusive) && decimal_parse(limit->u.text, limit->n, &y)) {
        int r = decimal_compare(&x, &y);
        if (r > 0 || (r == 0 && exclusive)) return false;
    }
    return true;
}

static bool holds_object(schema_context *c, const json *v, const json *node) {
    const json *required = json_get(node, "required");
    for (uint32_t i = 0; required != NULL && required->kind == JSON_ARRAY && i < required->n; i++)
        if (json_member(v, required->u.items[i].u.text, required->u.items[i].n) == NULL) return false;
    for (uint32_t i = 0; i < v->n; i++) {
        const json *schema = schema_property(node, v->u.items[i].key, v->u.items[i].key_n);
        if (schema != NULL && !schema_valid(c, &v->u.items[i], schema)) return false;
    }
    return true;
}

bool schema_holds(schema_context *c, const json *v, const json *node) {
    if ((schema_types(c, node) & value_type(v)) == 0) return false;
    const json *list = json_get(node, "enum"), *one = json_get(node, "const");
    if (one != NULL && c->draft != DRAFT_4 && !json_equal(v, one)) return false;
    if (list != NULL && v->parent != list) {
        bool found = false;
        work_charge(c->b->w, 1 + list->n / 16);
        for (uint32_t i = 0; i < list->n && !found; i++) found = json_equal(v, &list->u.items[i]);
        if (!found) return false;
    }
    switch (v->kind) {
    case JSON_NUMBER:
        return holds_number(c, v, node);
    case JSON_STRING:
        return holds_count(node, "minLength", "maxLength", code_points(v));
    case JSON_ARRAY:
        if (!holds_count(node, "minItems", "maxItems", v->n)) return false;
        for (uint32_t i = 0; i < v->n; i++) {
            const json *schema = schema_item(c, node, i);
            if (schema != NULL && !schema_valid(c, &v->u.items[i], schema)) return false;
        }
        return true;
    case JSON_OBJECT:
        return holds_object(c, v, node);
    default:
        return true;
    }
}

bool schema_valid(schema_context *c, const json *v, const json *schema) {
    work_charge(c->b->w, 1);
    schema_branches branches = schema_expand(c, (schema_nodes){&schema, 1});
    for (uint32_t i = 0; i < branches.n; i++) {
        bool all = true;
        for (uint32_t k = 0; k < branches.at[i].n && all; k++) all = schema_holds(c, v, branches.at[i].at[k]);
        if (all) return true;
    }
    return false;
}
