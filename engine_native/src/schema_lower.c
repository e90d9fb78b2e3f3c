/* schema_lower.c - JSON Schema to grammar expressions; see schema.h for the words.
 *
 * Each conjunction of schema nodes becomes one rule: the choice of its branches,
 * each branch the choice of the types its nodes agree on.  What several nodes
 * say about one type is combined, never dropped: the narrowest bounds, and for
 * members of arrays and objects the conjunction of all subschemas.
 *
 * Keys come in the order in which the schema declares them (keys that are only
 * required after those), undeclared keys last. */
#include "decimal.h"
#include "json_text.h"
#include "schema.h"

struct conjunction_entry {
    schema_nodes nodes;
    uint64_t hash;
    uint32_t rule;
    conjunction_entry *chain;
};

static expr *lower_conjunction(schema_context *c, schema_nodes nodes);

/* ---- conjunctions as rules ---- */

typedef VEC(const json *) node_list;

/* A node that allows everything says nothing. */
static bool says_nothing(const json *node) { return node->kind == JSON_TRUE || (node->kind == JSON_OBJECT && node->n == 0); }

static void add_node(schema_context *c, node_list *list, const json *node) {
    if (node == NULL || says_nothing(node)) return;
    uint32_t i = 0;
    while (i < list->n && (uintptr_t)list->at[i] < (uintptr_t)node) i++;
    if (i < list->n && list->at[i] == node) return;
    vec_push(&c->b->w->mem, list, node);
    for (uint32_t k = list->n - 1; k > i; k--) list->at[k] = list->at[k - 1];
    list->at[i] = node;
}

static void grow(schema_context *c) {
    uint32_t size = c->table_size == 0 ? 64 : c->table_size * 2;
    conjunction_entry **table = arena_alloc(&c->b->w->mem, size, sizeof *table);
    for (uint32_t i = 0; i < c->table_size; i++)
        for (conjunction_entry *e = c->table[i]; e != NULL;) {
            conjunction_entry *next = e->chain;
            e->chain = table[e->hash & (size - 1)];
            table[e->hash & (size - 1)] = e;
            e = next;
        }
    c->table = table;
    c->table_size = size;
}

/* The rule of a conjunction; its body is made when the work list comes to it. */
static expr *conjunction_rule(schema_context *c, const node_list *list) {
    arena *mem = &c->b->w->mem;
    uint64_t hash = list->n == 0 ? 1 : hash_bytes(list->at, list->n * sizeof *list->at, 2);
    if (c->n_entries >= c->table_size) grow(c);
    conjunction_entry **slot = &c->table[hash & (c->table_size - 1)];
    for (conjunction_entry *e = *slot; e != NULL; e = e->chain)
        if (e->hash == hash && e->nodes.n == list->n &&
            (list->n == 0 || memcmp(e->nodes.at, list->at, list->n * sizeof *list->at) == 0))
            return expr_rule(c->b, e->rule);
    conjunction_entry *e = arena_alloc(mem, 1, sizeof *e);
    e->nodes = (schema_nodes){arena_copy(mem, list->at, list->n * sizeof *list->at), list->n};
    e->hash = hash;
    e->rule = rule_new(c->b);
    e->chain = *slot;
    *slot = e;
    c->n_entries++;
    vec_push(mem, &c->waiting, e);
    return expr_rule(c->b, e->rule);
}

/* ---- leaves ---- */

static expr *shared(schema_context *c, uint32_t *rule, fsm *(*make)(work *w)) {
    if (*rule == 0) *rule = rule_of(c->b, expr_fsm(c->b, make(c->b->w))) + 1;
    return expr_rule(c->b, *rule - 1);
}

static fsm *any_number(work *w) {
    number_bound none = {0};
    return number_automaton(w, &none, &none, false);
}

static fsm *any_integer(work *w) {
    number_bound none = {0};
    return number_automaton(w, &none, &none, true);
}

static void narrow(number_bound *b, const json *value, bool exclusive, int sign) {
    number_bound n = {.present = true, .exclusive = exclusive};
    decimal_parse(value->u.text, value->n, &n.value);
    int r = b->present ? decimal_compare(&n.value, &b->value) * sign : 1;
    if (r > 0)
        *b = n;
    else if (r == 0)
        b->exclusive = b->exclusive || exclusive;
}

static expr *lower_number(schema_context *c, schema_nodes nodes, bool integer) {
    number_bound *low = arena_alloc(&c->b->w->mem, 1, sizeof *low), *high = arena_alloc(&c->b->w->mem, 1, sizeof *high);
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *value;
        bool exclusive;
        if (schema_low(c, nodes.at[i], &value, &exclusive)) narrow(low, value, exclusive, 1);
        if (schema_high(c, nodes.at[i], &value, &exclusive)) narrow(high, value, exclusive, -1);
    }
    if (!low->present && !high->present)
        return integer ? shared(c, &c->integer, any_integer) : shared(c, &c->number, any_number);
    return expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, number_automaton(c->b->w, low, high, integer))));
}

/* The narrowest of two count keywords over all nodes; false if nothing satisfies both. */
static bool counts(schema_nodes nodes, const char *min_name, const char *max_name, uint32_t *min, uint32_t *max) {
    *min = 0;
    *max = REPEAT_INFINITE;
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *low = json_get(nodes.at[i], min_name), *high = json_get(nodes.at[i], max_name);
        uint32_t n;
        if (low != NULL && json_count(low, &n) && n > *min) *min = n;
        if (high != NULL && json_count(high, &n) && n < *max) *max = n;
    }
    return *min <= *max && *min != REPEAT_INFINITE;
}

static expr *lower_string(schema_context *c, schema_nodes nodes) {
    builder *b = c->b;
    uint32_t min, max;
    if (!counts(nodes, "minLength", "maxLength", &min, &max)) return expr_never(b);
    if (min == 0 && max == REPEAT_INFINITE) return shared(c, &c->string, json_string_automaton);
    expr *quote = expr_text(b, "\"");
    expr *body = expr_repeat(b, shared(c, &c->character, json_char_automaton), min, max);
    return expr_rule(b, rule_of(b, expr_sequence(b, (expr *[]){quote, body, quote}, 3)));
}

/* ---- fixed values ---- */

static expr *lower_value(schema_context *c, const json *v);

static expr *comma(schema_context *c) {
    return expr_sequence(c->b, (expr *[]){c->space, expr_text(c->b, ","), c->space}, 3);
}

static expr *lower_container(schema_context *c, const json *v) {
    builder *b = c->b;
    bool object = v->kind == JSON_OBJECT;
    VEC(expr *) parts = {0};
    vec_push(&b->w->mem, &parts, expr_text(b, object ? "{" : "["));
    vec_push(&b->w->mem, &parts, c->space);
    for (uint32_t i = 0; i < v->n; i++) {
        const json *member = &v->u.items[i];
        if (i > 0) vec_push(&b->w->mem, &parts, comma(c));
        if (object) {
            vec_push(&b->w->mem, &parts, json_fixed_string(b, member->key, member->key_n));
            vec_push(&b->w->mem, &parts, c->space);
            vec_push(&b->w->mem, &parts, expr_text(b, ":"));
            vec_push(&b->w->mem, &parts, c->space);
        }
        vec_push(&b->w->mem, &parts, lower_value(c, member));
    }
    if (v->n > 0) vec_push(&b->w->mem, &parts, c->space);
    vec_push(&b->w->mem, &parts, expr_text(b, object ? "}" : "]"));
    return expr_sequence(b, parts.at, parts.n);
}

/* The value in canonical spelling; an integer also as written in the schema and with ".0". */
static expr *lower_value(schema_context *c, const json *v) {
    builder *b = c->b;
    decimal d;
    switch (v->kind) {
    case JSON_NULL:
        return expr_text(b, "null");
    case JSON_FALSE:
        return expr_text(b, "false");
    case JSON_TRUE:
        return expr_text(b, "true");
    case JSON_STRING:
        return json_fixed_string(b, v->u.text, v->n);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return lower_container(c, v);
    case JSON_NUMBER:
    case JSON_RAW: /* schemas are read whole */
        break;
    }
    expr *written = expr_bytes(b, v->u.text, v->n);
    if (!decimal_parse(v->u.text, v->n, &d) || d.integer_n > 40 || d.fraction_n > 40) return written;
    char text[96];
    size_t n = 0;
    if (d.negative) text[n++] = '-';
    if (d.integer_n == 0) text[n++] = '0';
    memcpy(text + n, d.integer, d.integer_n);
    n += d.integer_n;
    if (d.fraction_n != 0) {
        text[n++] = '.';
        memcpy(text + n, d.fraction, d.fraction_n);
        n += d.fraction_n;
        return expr_choice(b, (expr *[]){written, expr_bytes(b, text, n)}, 2);
    }
    expr *plain = expr_bytes(b, text, n);
    memcpy(text + n, ".0", 2);
    return expr_choice(b, (expr *[]){written, plain, expr_bytes(b, text, n + 2)}, 3);
}

/* ---- arrays ---- */

static expr *item_rule(schema_context *c, schema_nodes nodes, uint32_t index) {
    node_list list = {0};
    for (uint32_t i = 0; i < nodes.n; i++) add_node(c, &list, schema_item(c, nodes.at[i], index));
    return conjunction_rule(c, &list);
}

#define MAX_PREFIX 2000 /* each of them nests the expression one level deeper */

static expr *lower_array(schema_context *c, schema_nodes nodes) {
    builder *b = c->b;
    uint32_t min, max, prefix = 0;
    if (!counts(nodes, "minItems", "maxItems", &min, &max)) return expr_never(b);
    for (uint32_t i = 0; i < nodes.n; i++) {
        uint32_t n = schema_prefix_length(c, nodes.at[i]);
        if (n > prefix) prefix = n;
        if (n > MAX_PREFIX) json_escape(b->w, nodes.at[i], STE_ERR_LIMIT, "more than %d items have a schema of their own", MAX_PREFIX);
    }
    expr *separator = comma(c), *rest_item = item_rule(c, nodes, prefix);
    /* tail: what may follow `i` items, built from the back. */
    expr *tail = expr_empty(b);
    if (max > prefix) {
        uint32_t from = prefix == 0 ? 1 : prefix; /* the first item has no comma before it */
        uint32_t more_max = max == REPEAT_INFINITE ? REPEAT_INFINITE : max - from;
        tail = expr_repeat(b, expr_pair(b, separator, rest_item), min > from ? min - from : 0, more_max);
        if (prefix == 0) tail = expr_pair(b, rest_item, tail);
    }
    for (uint32_t i = prefix < max ? prefix : max; i-- > 0;) {
        expr *item = item_rule(c, nodes, i);
        tail = expr_pair(b, i == 0 ? item : expr_pair(b, separator, item), tail);
        if (i > 0 && i >= min) tail = expr_optional(b, tail);
    }
    /* "[" space "]" or "[" space items space "]" */
    expr *items = max == 0 ? expr_empty(b) : expr_pair(b, tail, c->space);
    if (min == 0) items = expr_optional(b, items);
    return expr_sequence(b, (expr *[]){expr_text(b, "["), c->space, items, expr_text(b, "]")}, 4);
}

/* ---- objects ---- */

typedef struct property {
    const char *key;
    uint32_t key_n;
    bool required;
} property;

typedef struct object_shape {
    VEC(property) properties;
    uint32_t n_declared; /* those in some "properties"; after them names that are only required */
} object_shape;

static void add_property(schema_context *c, object_shape *o, const char *key, uint32_t n, bool required) {
    for (uint32_t i = 0; i < o->properties.n; i++) {
        property *p = &o->properties.at[i];
        if (p->key_n == n && memcmp(p->key, key, n) == 0) {
            p->required = p->required || required;
            return;
        }
    }
    work_charge(c->b->w, 1 + o->properties.n / 64);
    vec_push(&c->b->w->mem, &o->properties, (property){key, n, required});
}

static object_shape shape_of(schema_context *c, schema_nodes nodes) {
    object_shape o = {0};
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *properties = json_get(nodes.at[i], "properties");
        for (uint32_t k = 0; properties != NULL && k < properties->n; k++)
            add_property(c, &o, properties->u.items[k].key, properties->u.items[k].key_n, false);
    }
    o.n_declared = o.properties.n;
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *required = json_get(nodes.at[i], "required");
        for (uint32_t k = 0; required != NULL && required->kind == JSON_ARRAY && k < required->n; k++)
            add_property(c, &o, required->u.items[k].u.text, required->u.items[k].n, true);
    }
    return o;
}

static expr *pair(schema_context *c, expr *key, expr *value) {
    return expr_sequence(c->b, (expr *[]){key, c->space, expr_text(c->b, ":"), c->space, value}, 5);
}

static expr *property_pair(schema_context *c, schema_nodes nodes, const property *p) {
    node_list list = {0};
    for (uint32_t i = 0; i < nodes.n; i++) add_node(c, &list, schema_property(nodes.at[i], p->key, p->key_n));
    return pair(c, json_fixed_string(c->b, p->key, p->key_n), conjunction_rule(c, &list));
}

static expr *other_pair(schema_context *c, schema_nodes nodes, const object_shape *o) {
    builder *b = c->b;
    node_list list = {0};
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *other = json_get(nodes.at[i], "additionalProperties");
        if (other != NULL && other->kind == JSON_FALSE) return NULL;
        add_node(c, &list, other);
    }
    expr **taken = arena_alloc(&b->w->mem, o->properties.n + 1, sizeof *taken);
    for (uint32_t i = 0; i < o->properties.n; i++)
        taken[i] = json_fixed_string(b, o->properties.at[i].key, o->properties.at[i].key_n);
    fsm *key = json_other_string_automaton(b, expr_choice(b, taken, o->properties.n));
    return pair(c, expr_rule(b, rule_of(b, expr_fsm(b, key))), conjunction_rule(c, &list));
}

/* The automaton of an object: before each member a state that knows whether a comma is due.
 *
 * Declared keys go along two tracks: `none` has no member yet, `some` has one.
 * Then come the others in any order; a key that is only required must be among
 * them, once, so there is a state for each set of such keys still missing
 * (when they are many, they come in the order of "required" instead). */
typedef struct object_builder {
    schema_context *c;
    fsm *f;
    uint32_t none, some; /* NOWHERE where a track does not exist */
    uint32_t end;
    expr *separator;
} object_builder;

#define NOWHERE UINT32_MAX
#define MAX_UNORDERED 6

/* From both tracks to `begin`, where a member can stand. */
static void open_member(object_builder *o, uint32_t begin) {
    if (o->none != NOWHERE) fsm_empty_add(o->f, o->none, begin);
    if (o->some != NOWHERE) expr_build(o->c->b, o->separator, o->f, o->some, begin);
}

static void add_declared(object_builder *o, expr *member, bool required) {
    uint32_t begin = fsm_state(o->f), after = fsm_state(o->f);
    open_member(o, begin);
    expr_build(o->c->b, member, o->f, begin, after);
    if (required)
        o->none = NOWHERE;
    else if (o->some != NOWHERE)
        fsm_empty_add(o->f, o->some, after);
    o->some = after;
}

static void close_object(object_builder *o, uint32_t none, uint32_t some) {
    if (none != NOWHERE) fsm_edge_add(o->f, none, '}', '}', o->end);
    if (some != NOWHERE) expr_build(o->c->b, expr_pair(o->c->b, o->c->space, expr_text(o->c->b, "}")), o->f, some, o->end);
}

/* other: a pair with an undeclared key, or NULL; wanted: pairs that must come, n of them. */
static void add_others(object_builder *o, expr *other, expr *const *wanted, uint32_t n) {
    fsm *f = o->f;
    builder *b = o->c->b;
    if (other == NULL && n == 0) {
        close_object(o, o->none, o->some);
        return;
    }
    uint32_t sets = UINT32_C(1) << n;
    /* Per set of keys seen: where a member can begin, and the place after one. */
    uint32_t *begin = arena_alloc(&b->w->mem, sets, sizeof *begin), *after = arena_alloc(&b->w->mem, sets, sizeof *after);
    for (uint32_t seen = 0; seen < sets; seen++) {
        begin[seen] = fsm_state(f);
        after[seen] = fsm_state(f);
    }
    open_member(o, begin[0]);
    for (uint32_t seen = 0; seen < sets; seen++) {
        expr_build(b, o->separator, f, after[seen], begin[seen]);
        if (other != NULL) expr_build(b, other, f, begin[seen], after[seen]);
        for (uint32_t k = 0; k < n; k++)
            if ((seen >> k & 1) == 0) expr_build(b, wanted[k], f, begin[seen], after[seen | UINT32_C(1) << k]);
    }
    close_object(o, NOWHERE, after[sets - 1]);
    if (n == 0) close_object(o, o->none, o->some);
}

static expr *lower_object(schema_context *c, schema_nodes nodes) {
    builder *b = c->b;
    object_shape shape = shape_of(c, nodes);
    object_builder o = {.c = c, .f = fsm_new(b->w), .some = NOWHERE, .separator = comma(c)};
    o.none = fsm_state(o.f);
    o.end = fsm_state(o.f);
    o.f->final.at[o.end] = 1;
    expr_build(b, expr_pair(b, expr_text(b, "{"), c->space), o.f, o.f->start, o.none);
    uint32_t n = shape.properties.n, ordered = n - shape.n_declared > MAX_UNORDERED ? n : shape.n_declared;
    expr **wanted = arena_alloc(&b->w->mem, n - ordered + 1, sizeof *wanted);
    for (uint32_t i = 0; i < n; i++) {
        const property *p = &shape.properties.at[i];
        expr *member = property_pair(c, nodes, p);
        if (i < ordered)
            add_declared(&o, member, p->required);
        else
            wanted[i - ordered] = member;
    }
    add_others(&o, other_pair(c, nodes, &shape), wanted, n - ordered);
    return expr_fsm(b, o.f);
}

/* ---- branches ---- */

static expr *lower_fixed(schema_context *c, schema_nodes nodes, const json *values, uint32_t n) {
    VEC(expr *) parts = {0};
    for (uint32_t i = 0; i < n; i++) {
        bool fits = true;
        for (uint32_t k = 0; k < nodes.n && fits; k++) fits = schema_holds(c, &values[i], nodes.at[k]);
        if (fits) vec_push(&c->b->w->mem, &parts, lower_value(c, &values[i]));
    }
    return expr_choice(c->b, parts.at, parts.n);
}

static expr *lower_branch(schema_context *c, schema_nodes nodes) {
    builder *b = c->b;
    uint32_t types = TYPE_ANY;
    for (uint32_t i = 0; i < nodes.n; i++) {
        const json *one = c->draft == DRAFT_4 ? NULL : json_get(nodes.at[i], "const");
        const json *list = json_get(nodes.at[i], "enum");
        if (one != NULL) return lower_fixed(c, nodes, one, 1);
        if (list != NULL) return lower_fixed(c, nodes, list->u.items, list->n);
        types &= schema_types(c, nodes.at[i]);
    }
    VEC(expr *) parts = {0};
    arena *mem = &b->w->mem;
    if ((types & TYPE_OBJECT) != 0) vec_push(mem, &parts, lower_object(c, nodes));
    if ((types & TYPE_ARRAY) != 0) vec_push(mem, &parts, lower_array(c, nodes));
    if ((types & TYPE_STRING) != 0) vec_push(mem, &parts, lower_string(c, nodes));
    if ((types & (TYPE_INTEGER | TYPE_FRACTION)) != 0)
        vec_push(mem, &parts, lower_number(c, nodes, (types & TYPE_FRACTION) == 0));
    if ((types & TYPE_TRUE) != 0) vec_push(mem, &parts, expr_text(b, "true"));
    if ((types & TYPE_FALSE) != 0) vec_push(mem, &parts, expr_text(b, "false"));
    if ((types & TYPE_NULL) != 0) vec_push(mem, &parts, expr_text(b, "null"));
    return expr_choice(b, parts.at, parts.n);
}

static expr *lower_conjunction(schema_context *c, schema_nodes nodes) {
    schema_branches branches = schema_expand(c, nodes);
    expr **parts = arena_alloc(&c->b->w->mem, branches.n + 1, sizeof *parts);
    for (uint32_t i = 0; i < branches.n; i++) parts[i] = lower_branch(c, branches.at[i]);
    return expr_choice(c->b, parts, branches.n);
}

/* ---- entry ---- */

static dialect dialect_of(const json *root) {
    const json *at = json_get(root, "$schema");
    if (at == NULL || at->kind != JSON_STRING) return DRAFT_2020;
    static const struct {
        const char *part;
        dialect draft;
    } known[] = {{"draft-04", DRAFT_4}, {"draft-06", DRAFT_6}, {"draft-07", DRAFT_7}, {"2019-09", DRAFT_2019}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(at->u.text, known[i].part) != NULL) return known[i].draft;
    return DRAFT_2020;
}

schema_context *schema_context_new(builder *b, int whitespace) {
    schema_context *c = arena_alloc(&b->w->mem, 1, sizeof *c);
    c->b = b;
    c->space = json_whitespace(b, whitespace);
    return c;
}

expr *schema_expr(schema_context *c, const json *schema) {
    c->root = schema;
    c->draft = dialect_of(schema);
    c->waiting.n = 0;
    node_list list = {0};
    add_node(c, &list, schema);
    expr *root = conjunction_rule(c, &list);
    for (uint32_t i = 0; i < c->waiting.n; i++) {
        conjunction_entry *e = c->waiting.at[i];
        rule_set(c->b, e->rule, lower_conjunction(c, e->nodes));
    }
    return root;
}

void schema_front(builder *b, const char *text, size_t n, int whitespace) {
    const json *schema = json_parse(b->w, text, n);
    if (schema->kind != JSON_OBJECT && !json_is_bool(schema))
        json_escape(b->w, schema, STE_ERR_SCHEMA, "a schema must be an object or a boolean");
    b->root = rule_of(b, schema_expr(schema_context_new(b, whitespace), schema));
}
