/* schema_lower.c - JSON Schema to grammar expressions; see schema.h for the words.
 *
 * Each conjunction of literals becomes one rule: for every kind of value it
 * admits, the choice of its branches.  What several nodes say about one kind is
 * combined, never dropped: the narrowest bounds, the intersection of patterns,
 * and for members of arrays and objects the conjunction of all subschemas. */
#include "decimal.h"
#include "json_text.h"
#include "schema_style.h"

struct conjunction_entry {
    literal *at;
    uint32_t n;
    uint64_t hash;
    value_form form;
    uint32_t level;
    uint32_t rule;
    conjunction_entry *chain;
};

/* ---- conjunctions as rules ---- */

static bool literal_before(literal a, literal b) {
    return a.node != b.node ? (uintptr_t)a.node < (uintptr_t)b.node : a.sign < b.sign;
}

void literal_add(schema_context *c, literal_list *list, const json *node, sign s) {
    if (node == NULL || (s == HOLDS && schema_says_nothing(node)) || (s == FAILS && node->kind == JSON_FALSE)) return;
    node = schema_canonical(c, node);
    literal one = {node, s};
    uint32_t i = 0;
    while (i < list->n && literal_before(list->at[i], one)) i++;
    if (i < list->n && list->at[i].node == node && list->at[i].sign == one.sign) return;
    vec_push(&c->b->w->mem, list, one);
    for (uint32_t k = list->n - 1; k > i; k--) list->at[k] = list->at[k - 1];
    list->at[i] = one;
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

/* Plainly nothing: false, not true, or a literal and its opposite. */
static bool contradicts(const literal_list *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        literal l = list->at[i];
        if (l.sign == HOLDS ? l.node->kind == JSON_FALSE : schema_says_nothing(l.node)) return true;
        if (i > 0 && list->at[i - 1].node == l.node) return true;
    }
    return false;
}

expr *conjunction_rule(schema_context *c, const literal_list *list) {
    arena *mem = &c->b->w->mem;
    if (contradicts(list)) return expr_never(c->b);
    size_t size = list->n * sizeof *list->at;
    uint64_t hash = hash_mix(list->n == 0 ? 1 : hash_bytes(list->at, size, 2), (uint64_t)c->inner_level << 8 | c->inner);
    if (c->n_entries >= c->table_size) grow(c);
    conjunction_entry **slot = &c->table[hash & (c->table_size - 1)];
    for (conjunction_entry *e = *slot; e != NULL; e = e->chain)
        if (e->hash == hash && e->form == c->inner && e->level == c->inner_level && e->n == list->n && (list->n == 0 || memcmp(e->at, list->at, size) == 0))
            return expr_rule(c->b, e->rule);
    /* Any JSON at all: all grammars with this layout have the same rule for it. */
    static const char any[] = {SHARED, 'a', 'n', 'y'};
    bool shared = list->n == 0 && !layout_is_indented(c->layout) && c->inner == FORM_JSON && c->excludes == NULL;
    expr *known = shared ? expr_named(c->b, any, sizeof any, layout_without_style(c->layout)) : NULL;
    conjunction_entry *e = arena_alloc(mem, 1, sizeof *e);
    *e = (conjunction_entry){arena_copy(mem, list->at, size), list->n, hash, c->inner, c->inner_level, known != NULL ? known->u.id : rule_new(c->b), *slot};
    *slot = e;
    c->n_entries++;
    if (known != NULL) return known;
    vec_push(mem, &c->waiting, e);
    expr *made = expr_rule(c->b, e->rule);
    return shared ? expr_share(c->b, any, sizeof any, layout_without_style(c->layout), made) : made;
}

/* ---- what the kinds share ---- */

bool schema_counts(const schema_branch *branch, const char *min_name, const char *max_name, uint32_t *min, uint32_t *max) {
    *min = 0;
    *max = REPEAT_INFINITE;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *low = json_get(branch->holds[i], min_name), *high = json_get(branch->holds[i], max_name);
        uint32_t n;
        if (low != NULL && json_count(low, &n) && n > *min) *min = n;
        if (high != NULL && json_count(high, &n) && n < *max) *max = n;
    }
    return *min <= *max && *min != REPEAT_INFINITE;
}

/* ---- fixed values ---- */

static expr *fixed_container(schema_context *c, const json *v) {
    builder *b = c->b;
    bool object = v->kind == JSON_OBJECT;
    VEC(expr *) parts = {0};
    vec_push(&b->w->mem, &parts, object ? c->now->object : c->now->array);
    if (v->n > 0) vec_push(&b->w->mem, &parts, c->now->first);
    for (uint32_t i = 0; i < v->n; i++) {
        const json *member = &v->u.items[i];
        if (i > 0) vec_push(&b->w->mem, &parts, c->space.comma);
        if (object) {
            if (excluded_in(c, member->key, member->key_n)) return expr_never(b);
            vec_push(&b->w->mem, &parts, style_key(c, member, member->key, member->key_n));
            vec_push(&b->w->mem, &parts, c->space.colon);
        }
        vec_push(&b->w->mem, &parts, schema_fixed(c, member));
    }
    if (v->n > 0) vec_push(&b->w->mem, &parts, c->space.inside);
    vec_push(&b->w->mem, &parts, expr_text(b, object ? "}" : "]"));
    return expr_sequence(b, parts.at, parts.n);
}

static const json object_type_key = {.kind = JSON_STRING, .n = 6, .key = "type", .key_n = 4, .u.text = "object"};
static const json array_type_key = {.kind = JSON_STRING, .n = 5, .key = "type", .key_n = 4, .u.text = "array"};
static const json only_objects = {.kind = JSON_OBJECT, .n = 1, .u.items = &object_type_key};
static const json only_arrays = {.kind = JSON_OBJECT, .n = 1, .u.items = &array_type_key};

/* An array or object where strings are raw: JSON text; or, as members and where no label tells, in the style. */
static expr *fixed_inside(schema_context *c, const json *v) {
    value_form outer = c->form;
    expr *out;
    if (outer != FORM_LIST && (c->style->item == NULL || style_has_labels(c))) {
        style_form(c, FORM_JSON);
        out = fixed_container(c, v);
        style_form(c, outer);
        return out;
    }
    literal_list list = {0};
    literal_add(c, &list, v->kind == JSON_OBJECT ? &only_objects : &only_arrays, HOLDS);
    literal_add(c, &list, schema_exactly(c, v), HOLDS);
    value_form inner = c->inner;
    c->inner = outer == FORM_LIST ? FORM_LIST : FORM_BARE;
    out = conjunction_rule(c, &list);
    c->inner = inner;
    return out;
}

/* A listed number: as written in the schema, in plain digits, and, if it is whole and that is the same, with ".0". */
static expr *fixed_number(schema_context *c, const json *v, bool fraction) {
    builder *b = c->b;
    decimal d;
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
    if (!fraction) return plain;
    memcpy(text + n, ".0", 2);
    return expr_choice(b, (expr *[]){written, plain, expr_bytes(b, text, n + 2)}, 3);
}

static expr *any_order_of(schema_context *c, const json *v);

/* The value in canonical spelling.  In draft 4 what has a fraction part is no integer, even if that is 0. */
expr *schema_fixed(schema_context *c, const json *v) {
    switch (v->kind) {
    case JSON_NULL:
        return style_word(c, TYPE_NULL);
    case JSON_FALSE:
        return style_word(c, TYPE_FALSE);
    case JSON_TRUE:
        return style_word(c, TYPE_TRUE);
    case JSON_STRING:
        if (form_is_spelled(c->form)) return raw_fixed(c, v->u.text, v->n);
        if (c->form == FORM_LITERAL) return literal_fixed(c, v->u.text, v->n);
        return excluded_in(c, v->u.text, v->n) ? expr_never(c->b) : json_fixed_string(c->b, v->u.text, v->n);
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (layout_is_indented(c->layout) && v->n > 0) return any_order_of(c, v);
        return c->form == FORM_LIST || form_is_raw(c->form) ? fixed_inside(c, v) : fixed_container(c, v);
    case JSON_NUMBER:
    case JSON_RAW: /* schemas are read whole */
        break;
    }
    return fixed_number(c, v, schema_draft(c, v) != DRAFT_4);
}

/* The value with the keys of its objects in any order. */
static expr *any_order_of(schema_context *c, const json *v) {
    literal_list list = {0};
    literal_add(c, &list, v->kind == JSON_OBJECT ? &only_objects : &only_arrays, HOLDS);
    literal_add(c, &list, schema_exactly(c, v), HOLDS);
    return conjunction_rule(c, &list);
}

#define MOST_UNORDERED 64 /* listed arrays and objects whose keys come in any order though declared ones do not */

/* Is there an object of several keys in it?  (Values are no deeper than the limit of the reader.) */
static bool has_keys_to_order(const json *v) {
    bool found = v->kind == JSON_OBJECT && v->n > 1;
    for (uint32_t i = 0; v->kind >= JSON_ARRAY && i < v->n && !found; i++) found = has_keys_to_order(&v->u.items[i]);
    return found;
}

static expr *lower_listed(schema_context *c, const json *v, bool unordered, bool fraction) {
    bool indented = layout_is_indented(c->layout) && v->kind >= JSON_ARRAY && v->n > 0;
    if ((unordered && has_keys_to_order(v)) || indented) {
        uint32_t inner = c->inner_level;
        c->inner_level = c->level; /* it is the value itself */
        expr *out = any_order_of(c, v);
        c->inner_level = inner;
        return out;
    }
    return v->kind == JSON_NUMBER ? fixed_number(c, v, fraction) : schema_fixed(c, v);
}

/* The listed values that are of the kind and satisfy all else. */
static expr *lower_fixed(schema_context *c, uint32_t kind, const schema_branch *branch, const json *values, uint32_t n) {
    VEC(expr *) parts = {0};
    bool unordered = (c->any_order || n <= MOST_UNORDERED) && c->form == FORM_JSON, fraction = true;
    for (uint32_t k = 0; k < branch->n_holds; k++)
        if ((schema_types(branch->holds[k]) & TYPE_FRACTION) == 0 && schema_draft(c, branch->holds[k]) == DRAFT_4) fraction = false;
    for (uint32_t i = 0; i < n; i++) {
        bool fits = (schema_value_type(&values[i]) & kind) != 0;
        for (uint32_t k = 0; k < branch->n_holds && fits; k++)
            fits = (schema_rest_fails(branch, k) ? schema_only_rest_fails : schema_own_holds)(c, &values[i], branch->holds[k]);
        for (uint32_t k = 0; k < branch->n_fails && fits; k++) fits = !schema_own_holds(c, &values[i], branch->fails[k]);
        if (!fits) continue;
        vec_push(&c->b->w->mem, &parts, lower_listed(c, &values[i], unordered, fraction));
    }
    return expr_choice(c->b, parts.at, parts.n);
}

/* ---- kinds and branches ---- */

static expr *lower_bare(schema_context *c, uint32_t kind, const schema_branch *branch) {
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *one = schema_get(c, branch->holds[i], "const"), *list = json_get(branch->holds[i], "enum");
        if (one != NULL) return lower_fixed(c, kind, branch, one, 1);
        if (list != NULL) return lower_fixed(c, kind, branch, list->u.items, list->n);
    }
    switch (kind) {
    case TYPE_OBJECT:
        return lower_object(c, branch);
    case TYPE_ARRAY:
        return lower_array(c, branch);
    case TYPE_STRING:
        return lower_string(c, branch);
    default:
        return lower_number(c, branch);
    }
}

static bool is_listed(const schema_context *c, const schema_branch *branch) {
    for (uint32_t i = 0; i < branch->n_holds; i++)
        if (schema_get(c, branch->holds[i], "const") != NULL || json_get(branch->holds[i], "enum") != NULL) return true;
    return false;
}

static expr *lower_branch(schema_context *c, uint32_t kind, const schema_branch *branch) {
    value_form outer = c->form;
    bool container = kind == TYPE_OBJECT || kind == TYPE_ARRAY, listed = is_listed(c, branch);
    c->inner = style_inner(c, kind);
    bool as_json = container && form_is_raw(outer) && c->inner == FORM_JSON;
    if (as_json) style_form(c, FORM_JSON);
    expr *one = lower_bare(c, kind, branch);
    if (as_json && c->style->literals) {
        c->inner = FORM_LITERAL;
        style_form(c, FORM_LITERAL);
        one = expr_choice(c->b, (expr *[]){one, lower_bare(c, kind, branch)}, 2);
    }
    style_form(c, outer);
    return style_value(c, kind, listed, one);
}

/* Does a branch admit all strings? */
static bool admits_all_strings(schema_context *c, const literal *literals, uint32_t n) {
    static const char *const keys[] = {"const", "enum", "pattern", "format", "minLength", "maxLength", NULL};
    schema_branches branches = schema_expand(c, TYPE_STRING, literals, n, true);
    for (uint32_t i = 0; i < branches.n; i++) {
        bool free = branches.at[i].n_fails == 0;
        for (uint32_t k = 0; k < branches.at[i].n_holds && free; k++)
            for (const char *const *key = keys; *key != NULL && free; key++)
                free = schema_get(c, branches.at[i].holds[k], *key) == NULL;
        if (free) return true;
    }
    return false;
}

/* Is the type of the values told in one word? */
static bool names_type(const schema_context *c, const literal *literals, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const json *type = json_get(literals[i].node, "type");
        if (literals[i].sign != HOLDS) continue;
        if (type != NULL && type->kind == JSON_STRING && schema_types(literals[i].node) != TYPE_ANY) return true;
        if (schema_get(c, literals[i].node, "const") != NULL || json_get(literals[i].node, "enum") != NULL) return true;
    }
    return false;
}

static const json type_key = {.kind = JSON_STRING, .n = 7, .key = "type", .key_n = 4, .u.text = "integer"};
static const json only_integers = {.kind = JSON_OBJECT, .n = 1, .u.items = &type_key};

/* Where the type is open, an integer may be labelled as one. */
static void add_integers(schema_context *c, const literal *literals, uint32_t n, expr **out) {
    literal *all = arena_alloc(&c->b->w->mem, n + 1, sizeof *all);
    if (n != 0) memcpy(all, literals, n * sizeof *all);
    all[n] = (literal){&only_integers, HOLDS};
    schema_branches branches = schema_expand(c, TYPE_NUMBER, all, n + 1, true);
    for (uint32_t i = 0; i < branches.n; i++) {
        expr *one = style_integer(c, lower_bare(c, TYPE_NUMBER, &branches.at[i]));
        if (one != NULL) *out = expr_choice(c->b, (expr *[]){*out, one}, 2);
    }
}

#define MOST_LEVELS 40 /* of indented values: each has rules of its own */

static expr *lower_conjunction(schema_context *c, const literal *literals, uint32_t n) {
    static const uint32_t kinds[] = {TYPE_OBJECT, TYPE_ARRAY, TYPE_STRING, TYPE_NUMBER, TYPE_TRUE, TYPE_FALSE, TYPE_NULL};
    VEC(expr *) parts = {0};
    uint32_t bits = TYPE_ANY;
    for (uint32_t i = 0; i < n; i++)
        if (literals[i].sign == HOLDS) bits &= schema_may_be(c, literals[i].node);
    if (c->form == FORM_LIST) bits &= TYPE_OBJECT;
    if (c->level >= MOST_LEVELS && (bits & (TYPE_ARRAY | TYPE_OBJECT)) != 0) {
        if (!c->level_noted) builder_note(c->b, "indented values are nested at most %d levels deep", MOST_LEVELS);
        c->level_noted = true;
        bits &= ~(uint32_t)(TYPE_ARRAY | TYPE_OBJECT);
    }
    /* Without labels, any text is a string: nothing else can be told from it but marks inside of a value. */
    bool told = style_has_labels(c);
    if (form_is_raw(c->form) && !told && (bits & TYPE_STRING) != 0 && admits_all_strings(c, literals, n))
        bits &= TYPE_STRING | (c->style->item != NULL ? TYPE_ARRAY | TYPE_OBJECT : 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if ((bits & kinds[k]) == 0) continue;
        bool word = (kinds[k] & (TYPE_TRUE | TYPE_FALSE | TYPE_NULL)) != 0; /* the only value of its kind */
        schema_branches branches = schema_expand(c, kinds[k], literals, n, !word);
        for (uint32_t i = 0; i < branches.n; i++) {
            expr *one = word ? style_value(c, kinds[k], true, style_word(c, kinds[k])) : lower_branch(c, kinds[k], &branches.at[i]);
            if (one->kind != EXPR_NEVER) vec_push(&c->b->w->mem, &parts, one);
        }
    }
    expr *all = expr_choice(c->b, parts.at, parts.n);
    if (c->style->kinds && form_is_raw(c->form) && (bits & TYPE_INTEGER) != 0 && !names_type(c, literals, n))
        add_integers(c, literals, n, &all);
    return all;
}

/* ---- entry ---- */

schema_context *schema_context_new(builder *b, int layout) {
    schema_context *c = arena_alloc(&b->w->mem, 1, sizeof *c);
    c->b = b;
    style_open(c, layout);
    c->any_order = layout_any_order(layout);
    c->layout = layout;
    return c;
}

expr *schema_expr(schema_context *c, const json *schema) {
    return json_get(schema, "x-guidance") == NULL ? schema_lower(c, schema) : schema_guided(c, schema);
}

expr *schema_lower(schema_context *c, const json *schema) {
    c->root = schema;
    c->draft = schema_named_dialect(schema, DRAFT_2020);
    c->mixed = false;
    c->waiting.n = 0;
    c->references = NULL;
    c->canonical = (node_map){0}; /* what "#" means has changed */
    c->same = NULL;
    schema_check(c, schema);
    schema = schema_lowered_root(c, schema);
    literal_list list = {0};
    literal_add(c, &list, schema, HOLDS);
    c->inner = style_root(c, schema);
    c->inner_level = 0;
    expr *root = conjunction_rule(c, &list);
    for (uint32_t i = 0; i < c->waiting.n; i++) {
        conjunction_entry *e = c->waiting.at[i];
        style_level(c, e->level);
        style_form(c, e->form);
        expr *body = lower_conjunction(c, e->at, e->n);
        if (body->kind == EXPR_NEVER && c->b->empty == NULL && e->n > 0 && e->at[0].node->parent != NULL) c->b->empty = e->at[0].node;
        rule_set(c->b, e->rule, body);
    }
    if (root->kind == EXPR_NEVER) return expr_rule(c->b, rule_of(c->b, root));
    return root;
}

static const json *read_documents(builder *b, const char *text) {
    const json *all = json_parse(b->w, text, strlen(text));
    if (all->kind != JSON_OBJECT) json_escape(b->w, all, STE_ERR_SCHEMA, "documents: an object of schemas by URI is wanted");
    for (uint32_t i = 0; i < all->n; i++)
        if (all->u.items[i].kind != JSON_OBJECT)
            json_escape(b->w, &all->u.items[i], STE_ERR_SCHEMA, "documents: a schema must be an object");
    return all;
}

void schema_front(builder *b, const char *text, size_t n, int layout, const char *documents) {
    const json *schema = json_parse(b->w, text, n);
    if (schema->kind != JSON_OBJECT && !json_is_bool(schema))
        json_escape(b->w, schema, STE_ERR_SCHEMA, "a schema must be an object or a boolean");
    schema_context *c = schema_context_new(b, layout);
    if (documents != NULL) c->documents = read_documents(b, documents);
    b->root = rule_of(b, schema_expr(c, schema));
}
