/* schema_expand.c - a conjunction as a union of branches, for one kind of value.
 *
 * Literals are taken one by one.  What must hold is followed through references
 * and allOf; what must not hold, and anyOf, oneOf, if and dependent schemas,
 * leave a *choice*: a list of alternatives, each a list of literals.
 *
 *   not (A and B)            [not A] [not B]
 *   oneOf A B C              [A, not B, not C] [B, not A, not C] [C, not A, not B]
 *   not oneOf A B C          [not A, not B, not C] [A, B] [A, C] [B, C]
 *   if I then T else E       [I, T] [not I, E]
 *   dependentSchemas k: S    [k is missing] [k is there, S]
 *
 * Alternatives that cannot hold for this kind of value are never made, and
 * schemas that are plainly apart (different values of a key that one of them
 * requires, say) need no "not".  Before a choice splits the branch, alternatives
 * that contradict what already holds are dropped; one that is left is no choice.
 * So thirty `if` on the value of one key give thirty branches, not 2^30. */
#include "schema_outline.h"

#define MAX_BRANCHES 20000

typedef struct alternative {
    literal *at;
    uint32_t n;
} alternative;

/* Values that an alternative lists. */
typedef struct alternative_values {
    const json *at;
    uint32_t n;
} alternative_values;

typedef struct choice {
    alternative *at;
    uint32_t n;
} choice;

/* Of one node and one kind. */
typedef struct node_choices {
    bool known[2][2]; /* [fails][tracked] */
    struct {
        choice *at;
        uint32_t n;
    } made[2][2];
} node_choices;

typedef struct pending {
    const json *node;
    sign sign;
    const struct pending *next;
    const struct pending *because; /* what brought this one in */
    uint64_t place;                /* in that: index of the keyword, then of the item */
    uint32_t depth;
} pending;

typedef struct open_choice {
    choice of;
    const struct open_choice *next;
    const pending *because;
} open_choice;

typedef struct chosen {
    const json *node;
    const pending *from;
    const struct chosen *before;
    bool own; /* has own keywords that matter */
} chosen;

typedef struct state_of {
    const pending *todo;
    const open_choice *choices;
    const chosen *holds, *fails;
    uint32_t n_holds, n_fails;
} partial;

typedef struct expansion {
    schema_context *c;
    uint32_t kind;
    bool all;
    const json *place; /* for errors */
    schema_branches out;
} expansion;

/* ---- choices of one node ---- */

typedef VEC(alternative) alternative_list;

static void add_alternative(schema_context *c, alternative_list *list, const literal *literals, uint32_t n) {
    arena *mem = &c->b->w->mem;
    vec_push(mem, list, (alternative){arena_copy(mem, literals, n * sizeof *literals), n});
}

static bool possible(schema_context *c, uint32_t kind, const json *node) { return (schema_may_be(c, node) & kind) != 0; }

static void add_any(schema_context *c, uint32_t kind, const json *list, bool tracked, alternative_list *out) {
    if (!tracked) {
        for (uint32_t i = 0; i < list->n; i++)
            if (possible(c, kind, &list->u.items[i])) add_alternative(c, out, &(literal){&list->u.items[i], HOLDS}, 1);
        return;
    }
    /* Each set of members that hold marks other items as evaluated. */
    if (list->n > 10)
        json_escape(c->b->w, list, STE_ERR_LIMIT, "more than 10 alternatives beside \"unevaluated...\" are not supported");
    for (uint32_t set = 1; set < UINT32_C(1) << list->n; set++) {
        literal literals[10];
        for (uint32_t i = 0; i < list->n; i++)
            literals[i] = (literal){&list->u.items[i], (set >> i & 1) != 0 ? HOLDS : FAILS};
        add_alternative(c, out, literals, list->n);
    }
}

enum { LISTS = 1, SHARES = 2 };

/* The values that a node lists. */
static void find_listing(schema_context *c, const json *node, alternative_values *out) {
    if (node->kind != JSON_OBJECT || schema_overridden(c, node)) return;
    const json *one = schema_get(c, node, "const"), *many = json_get(node, "enum");
    *out = (alternative_values){one != NULL ? one : many != NULL ? many->u.items : NULL, one != NULL ? 1 : many != NULL ? many->n : 0};
}

/* The node, or what it refers to, if it says nothing else. */
static const json *followed(schema_context *c, const json *node) {
    for (uint32_t i = 0; i < 4 && node->kind == JSON_OBJECT; i++) {
        const json *ref = json_get(node, "$ref");
        if (ref == NULL || ref->kind != JSON_STRING || (node->n > 1 && !schema_overridden(c, node))) break;
        node = schema_target(c, ref);
    }
    return node;
}

static bool is_required_key(const json *node, const json *key) {
    const json *required = json_get(node, "required");
    for (uint32_t i = 0; required != NULL && required->kind == JSON_ARRAY && i < required->n; i++)
        if (json_equal(&required->u.items[i], key)) return true;
    return false;
}

/* The strings that objects of the node list for a key that they must have. */
static void find_key_listing(schema_context *c, const json *node, const json *key, alternative_values *out) {
    node = followed(c, node);
    const json *properties = node->kind == JSON_OBJECT && !schema_overridden(c, node) ? json_get(node, "properties") : NULL;
    const json *own = properties == NULL ? NULL : json_member(properties, key->u.text, key->n);
    if (own == NULL || !is_required_key(node, key)) return;
    find_listing(c, own, out);
    for (uint32_t i = 0; i < out->n; i++)
        if (out->at[i].kind != JSON_STRING) *out = (alternative_values){0};
}

/* A key for which the first member lists strings. */
static const json *telling_key(schema_context *c, const json *list) {
    const json *node = list->n == 0 ? NULL : followed(c, &list->u.items[0]);
    const json *required = node == NULL || node->kind != JSON_OBJECT ? NULL : json_get(node, "required");
    for (uint32_t i = 0; required != NULL && required->kind == JSON_ARRAY && i < required->n; i++) {
        alternative_values found = {0};
        find_key_listing(c, node, &required->u.items[i], &found);
        if (found.n != 0) return &required->u.items[i];
    }
    return NULL;
}

/* Which members list their strings - or objects those of one key - and which of these share one with another.  (Long
 * lists of constants, or of objects told apart by one key, are common; comparing each with each would take too long.) */
static uint8_t *compare_listings(schema_context *c, uint32_t kind, const json *list) {
    arena *mem = &c->b->w->mem;
    uint8_t *marks = arena_alloc(mem, list->n, 1);
    const json *key = kind == TYPE_OBJECT ? telling_key(c, list) : NULL;
    if (kind != TYPE_STRING && key == NULL) return marks;
    alternative_values *values = arena_alloc(mem, list->n, sizeof *values);
    uint32_t total = 0, size = 64;
    for (uint32_t i = 0; i < list->n; i++) {
        if (key == NULL)
            find_listing(c, &list->u.items[i], &values[i]);
        else
            find_key_listing(c, &list->u.items[i], key, &values[i]);
        if (values[i].n != 0) marks[i] = LISTS;
        total += values[i].n;
    }
    while (size < total * 2) size *= 2;
    const json **table = arena_alloc(mem, size, sizeof *table);
    uint32_t *owner = arena_alloc(mem, size, sizeof *owner);
    for (uint32_t i = 0; i < list->n; i++)
        for (uint32_t k = 0; k < values[i].n; k++) {
            const json *v = &values[i].at[k];
            if (v->kind != JSON_STRING) continue;
            uint32_t slot = (uint32_t)hash_bytes(v->u.text, v->n, 3) & (size - 1);
            while (table[slot] != NULL && !json_equal(table[slot], v)) slot = (slot + 1) & (size - 1);
            if (table[slot] != NULL && owner[slot] != i) marks[i] = marks[owner[slot]] = LISTS | SHARES;
            table[slot] = v;
            owner[slot] = i;
        }
    return marks;
}

static void add_one(schema_context *c, uint32_t kind, const json *list, alternative_list *out) {
    literal_list one = {0};
    const uint8_t *marks = compare_listings(c, kind, list);
    for (uint32_t i = 0; i < list->n; i++) {
        if (!possible(c, kind, &list->u.items[i])) continue;
        one.n = 0;
        vec_push(&c->b->w->mem, &one, (literal){&list->u.items[i], HOLDS});
        for (uint32_t k = 0; k < list->n; k++)
            if (k != i && !((marks[i] & marks[k]) == LISTS) && possible(c, kind, &list->u.items[k]) &&
                !schema_apart(c, kind, &list->u.items[i], &list->u.items[k]))
                vec_push(&c->b->w->mem, &one, (literal){&list->u.items[k], FAILS});
        add_alternative(c, out, one.at, one.n);
    }
}

static void add_condition(schema_context *c, const json *node, const json *condition, bool negated, bool tracked,
                          alternative_list *out) {
    const json *yes = json_get(node, "then"), *no = json_get(node, "else");
    sign s = negated ? FAILS : HOLDS;
    if (yes != NULL || (!negated && (no != NULL || tracked)))
        add_alternative(c, out, (literal[]){{condition, HOLDS}, {yes, s}}, yes != NULL ? 2 : 1);
    if (no != NULL || (!negated && (yes != NULL || tracked)))
        add_alternative(c, out, (literal[]){{condition, FAILS}, {no, s}}, no != NULL ? 2 : 1);
}

static void add_dependency(schema_context *c, const json *at, bool negated, alternative_list *out) {
    const json *there = schema_requires(c, at, at->key, at->key_n);
    if (!negated) add_alternative(c, out, &(literal){schema_forbids(c, at, at->key, at->key_n), HOLDS}, 1);
    add_alternative(c, out, (literal[]){{there, HOLDS}, {at, negated ? FAILS : HOLDS}}, 2);
}

/* Not every key that another one asks for is there. */
static void add_missing_dependents(schema_context *c, const json *map, alternative_list *out) {
    for (uint32_t i = 0; map != NULL && i < map->n; i++) {
        const json *one = &map->u.items[i];
        if (one->kind != JSON_ARRAY && one->kind != JSON_STRING) continue;
        const json *needed = one->kind == JSON_ARRAY ? one->u.items : one;
        const json *there = schema_requires(c, one, one->key, one->key_n);
        for (uint32_t k = 0; k < (one->kind == JSON_ARRAY ? one->n : 1); k++)
            add_alternative(c, out,
                            (literal[]){{there, HOLDS}, {schema_forbids(c, one, needed[k].u.text, needed[k].n), HOLDS}}, 2);
    }
}

typedef VEC(choice) choice_list;

static void finish_choice(schema_context *c, choice_list *out, alternative_list *list) {
    vec_push(&c->b->w->mem, out, (choice){list->at, list->n});
    *list = (alternative_list){0};
}

static void positive_choices(schema_context *c, uint32_t kind, const json *node, bool tracked, choice_list *out) {
    alternative_list list = {0};
    const json *at;
    if ((at = json_get(node, "anyOf")) != NULL) {
        add_any(c, kind, at, tracked, &list);
        finish_choice(c, out, &list);
    }
    if ((at = json_get(node, "oneOf")) != NULL) {
        if (c->any_for_one)
            add_any(c, kind, at, tracked, &list);
        else
            add_one(c, kind, at, &list);
        finish_choice(c, out, &list);
    }
    if ((at = schema_get(c, node, "if")) != NULL) {
        add_condition(c, node, at, false, tracked, &list);
        if (list.n != 0) finish_choice(c, out, &list);
    }
    if (kind != TYPE_OBJECT) return;
    const json *maps[2] = {schema_get(c, node, "dependentSchemas"), json_get(node, "dependencies")};
    for (int m = 0; m < 2; m++)
        for (uint32_t i = 0; maps[m] != NULL && i < maps[m]->n; i++) {
            at = &maps[m]->u.items[i];
            if (at->kind == JSON_ARRAY || at->kind == JSON_STRING) continue;
            add_dependency(c, at, false, &list);
            finish_choice(c, out, &list);
        }
}

static void add_negated_one(schema_context *c, uint32_t kind, const json *list, alternative_list *out) {
    literal_list none = {0};
    for (uint32_t i = 0; i < list->n; i++) {
        if (!possible(c, kind, &list->u.items[i])) continue;
        vec_push(&c->b->w->mem, &none, (literal){&list->u.items[i], FAILS});
        for (uint32_t k = 0; k < i; k++)
            if (possible(c, kind, &list->u.items[k]) && !schema_apart(c, kind, &list->u.items[i], &list->u.items[k]))
                add_alternative(c, out, (literal[]){{&list->u.items[k], HOLDS}, {&list->u.items[i], HOLDS}}, 2);
    }
    add_alternative(c, out, none.at, none.n);
}

static bool long_lengths(const json *node) {
    static const char *const names_of[] = {"minLength", "maxLength"};
    uint32_t n;
    for (int i = 0; i < 2; i++) {
        const json *at = json_get(node, names_of[i]);
        if (at != NULL && json_count(at, &n) && n > 256) return true;
    }
    return false;
}

/* Some own keyword fails.  Arrays and objects that differ from listed ones are said by structure. */
static void add_own_failure(schema_context *c, uint32_t kind, const json *node, alternative_list *out) {
    const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum");
    if ((kind & (TYPE_ARRAY | TYPE_OBJECT)) != 0 && (one != NULL || list != NULL)) {
        if (one != NULL) add_alternative(c, out, &(literal){schema_exactly(c, one), FAILS}, 1);
        literal_list none = {0};
        for (uint32_t i = 0; list != NULL && i < list->n; i++)
            if ((schema_value_type(&list->u.items[i]) & kind) != 0)
                vec_push(&c->b->w->mem, &none, (literal){schema_exactly(c, &list->u.items[i]), FAILS});
        if (none.n != 0) add_alternative(c, out, none.at, none.n);
        static const char *const values[] = {"const", "enum", NULL};
        node = schema_select(c, node, values, false);
    }
    if (kind == TYPE_STRING && long_lengths(node)) { /* a bound of the length alone costs nothing */
        static const char *const low[] = {"minLength", NULL}, *const high[] = {"maxLength", NULL};
        static const char *const both[] = {"minLength", "maxLength", NULL};
        if (json_get(node, low[0]) != NULL) add_alternative(c, out, &(literal){schema_select(c, node, low, true), OWN_FAILS}, 1);
        if (json_get(node, high[0]) != NULL) add_alternative(c, out, &(literal){schema_select(c, node, high, true), OWN_FAILS}, 1);
        node = schema_select(c, node, both, false);
    }
    if (schema_own_matters(c, node, kind)) add_alternative(c, out, &(literal){node, OWN_FAILS}, 1);
}

static const char *unevaluated_key(uint32_t kind) {
    return kind == TYPE_OBJECT ? "unevaluatedProperties" : kind == TYPE_ARRAY ? "unevaluatedItems" : NULL;
}

/* What makes the node fail for this kind: one choice. */
static void negative_choice(schema_context *c, uint32_t kind, const json *node, choice_list *out) {
    alternative_list list = {0};
    literal_list none = {0};
    const json *at;
    static const char *const references[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    for (int i = 0; i < 3; i++)
        if ((at = schema_get(c, node, references[i])) != NULL && at->kind == JSON_STRING)
            add_alternative(c, &list, &(literal){schema_target(c, at), FAILS}, 1);
    if (!schema_overridden(c, node)) {
        add_own_failure(c, kind, node, &list);
        at = unevaluated_key(kind) == NULL ? NULL : schema_get(c, node, unevaluated_key(kind));
        if (at != NULL && !schema_says_nothing(at)) add_alternative(c, &list, &(literal){node, REST_FAILS}, 1);
        if ((at = json_get(node, "allOf")) != NULL)
            for (uint32_t i = 0; i < at->n; i++) add_alternative(c, &list, &(literal){&at->u.items[i], FAILS}, 1);
        if ((at = json_get(node, "anyOf")) != NULL) {
            for (uint32_t i = 0; i < at->n; i++) vec_push(&c->b->w->mem, &none, (literal){&at->u.items[i], FAILS});
            add_alternative(c, &list, none.at, none.n);
        }
        if ((at = json_get(node, "oneOf")) != NULL && c->any_for_one) {
            none.n = 0;
            for (uint32_t i = 0; i < at->n; i++) vec_push(&c->b->w->mem, &none, (literal){&at->u.items[i], FAILS});
            add_alternative(c, &list, none.at, none.n);
        } else if (at != NULL) {
            add_negated_one(c, kind, at, &list);
        }
        if ((at = json_get(node, "not")) != NULL) add_alternative(c, &list, &(literal){at, HOLDS}, 1);
        if ((at = schema_get(c, node, "if")) != NULL) add_condition(c, node, at, true, false, &list);
        if (kind == TYPE_OBJECT) {
            const json *schemas = schema_get(c, node, "dependentSchemas"), *both = json_get(node, "dependencies");
            for (uint32_t i = 0; schemas != NULL && i < schemas->n; i++) add_dependency(c, &schemas->u.items[i], true, &list);
            for (uint32_t i = 0; both != NULL && i < both->n; i++)
                if (both->u.items[i].kind != JSON_ARRAY && both->u.items[i].kind != JSON_STRING)
                    add_dependency(c, &both->u.items[i], true, &list);
            add_missing_dependents(c, both, &list);
            add_missing_dependents(c, schema_get(c, node, "dependentRequired"), &list);
        }
    }
    finish_choice(c, out, &list);
}

static uint32_t kind_index(uint32_t kind) {
    uint32_t i = 0;
    while ((kind >> i & 1) == 0) i++;
    return i;
}

static const node_choices *choices_of(schema_context *c, uint32_t kind, const json *node, bool fails, bool tracked) {
    void **slot = node_map_slot(c->b->w, &c->negations, node);
    if (*slot == NULL) *slot = arena_alloc(&c->b->w->mem, 8, sizeof(node_choices));
    node_choices *n = (node_choices *)*slot + kind_index(kind);
    if (!n->known[fails][tracked]) {
        choice_list list = {0};
        if (fails)
            negative_choice(c, kind, node, &list);
        else
            positive_choices(c, kind, node, tracked, &list);
        n->known[fails][tracked] = true;
        n->made[fails][tracked].at = list.at;
        n->made[fails][tracked].n = list.n;
    }
    return n;
}

/* ---- expansion ---- */

static uint64_t place_in(const json *node, const json *outer) {
    if (node->parent == outer) return (uint64_t)node->index << 32;
    if (node->parent != NULL && node->parent->parent == outer) return (uint64_t)node->parent->index << 32 | node->index;
    const json *ref = json_get(outer, "$ref");
    return ref == NULL ? 0 : (uint64_t)ref->index << 32;
}

static const pending *push(schema_context *c, const json *node, sign s, const pending *next, const pending *because) {
    pending *p = arena_alloc(&c->b->w->mem, 1, sizeof *p);
    *p = (pending){.node = node, .sign = s, .next = next, .because = because};
    if (because != NULL) {
        p->place = place_in(node, because->node);
        p->depth = because->depth + 1;
    }
    return p;
}

/* Does a stand before b in the text, references being replaced by what they mean? */
static bool stands_before(const pending *a, const pending *b) {
    const pending *from_a = a, *from_b = b, *last_a = NULL, *last_b = NULL;
    for (; from_a->depth > from_b->depth; from_a = from_a->because) last_a = from_a;
    for (; from_b->depth > from_a->depth; from_b = from_b->because) last_b = from_b;
    for (; from_a != from_b; from_a = from_a->because, from_b = from_b->because) {
        if (from_a->because == NULL || from_b->because == NULL) return false; /* of different literals: as they came */
        last_a = from_a;
        last_b = from_b;
    }
    const json *own = json_get(from_a->node, "properties");
    uint64_t own_place = own == NULL ? 0 : (uint64_t)own->index << 32;
    return (last_a == NULL ? own_place : last_a->place) < (last_b == NULL ? own_place : last_b->place);
}

/* In the order of the text: so the keys that several nodes declare come as one reads them. */
static void sort_holds(schema_branch *branch, const pending **from) {
    for (uint32_t i = 1; i < branch->n_holds; i++) {
        const json *node = branch->holds[i];
        const pending *p = from[i];
        uint32_t k = i;
        for (; k > 0 && stands_before(p, from[k - 1]); k--) {
            from[k] = from[k - 1];
            branch->holds[k] = branch->holds[k - 1];
        }
        from[k] = p;
        branch->holds[k] = node;
    }
}

static void emit(expansion *e, const partial *p) {
    schema_context *c = e->c;
    arena *mem = &c->b->w->mem;
    if (e->out.n >= MAX_BRANCHES)
        json_escape(c->b->w, e->place, STE_ERR_LIMIT, "the alternatives of this schema multiply to more than %d", MAX_BRANCHES);
    schema_branch out = {.n_holds = p->n_holds, .n_fails = p->n_fails};
    out.holds = arena_alloc(mem, out.n_holds + 1, sizeof *out.holds);
    out.fails = arena_alloc(mem, out.n_fails + 1, sizeof *out.fails);
    const pending **from = arena_alloc(mem, out.n_holds + 1, sizeof *from);
    uint32_t i = out.n_holds;
    for (const chosen *k = p->holds; k != NULL; k = k->before) {
        out.holds[--i] = k->node;
        from[i] = k->from;
    }
    if (e->kind == TYPE_OBJECT) sort_holds(&out, from);
    out.from = from;
    i = out.n_fails;
    for (const chosen *k = p->fails; k != NULL; k = k->before) out.fails[--i] = k->node;
    vec_push(mem, &e->out, out);
}

bool schema_under(const schema_branch *branch, uint32_t i, const json *node) {
    for (const pending *p = branch->from[i]; p != NULL; p = p->because) {
        if (p->sign != HOLDS && p->sign != REST_FAILS) return false; /* what is under "not" marks nothing as evaluated */
        if (p->node == node) return true;
    }
    return false;
}

bool schema_rest_fails(const schema_branch *branch, uint32_t i) { return branch->from[i]->sign == REST_FAILS; }

static bool tracks(const expansion *e, const pending *p) {
    const char *key = unevaluated_key(e->kind);
    if (key == NULL) return false;
    for (; p != NULL; p = p->because)
        if (p->node->kind == JSON_OBJECT && schema_get(e->c, p->node, key) != NULL) return true;
    return false;
}

static bool contains(const chosen *list, const json *node) {
    for (; list != NULL; list = list->before)
        if (list->node == node) return true;
    return false;
}

static chosen *choose(schema_context *c, const json *node, const pending *from, const chosen *before) {
    chosen *one = arena_alloc(&c->b->w->mem, 1, sizeof *one);
    *one = (chosen){node, from, before, false};
    return one;
}

static void open_choices(expansion *e, partial *p, const pending *because, bool fails, bool tracked) {
    const node_choices *n = choices_of(e->c, e->kind, because->node, fails, tracked);
    for (uint32_t i = n->made[fails][tracked].n; i-- > 0;) {
        open_choice *o = arena_alloc(&e->c->b->w->mem, 1, sizeof *o);
        *o = (open_choice){n->made[fails][tracked].at[i], p->choices, because};
        p->choices = o;
    }
}

/* Take in one literal that holds; false: impossible. */
static bool take_positive(expansion *e, partial *p, const pending *at) {
    schema_context *c = e->c;
    const json *node = at->node, *part;
    if (!possible(c, e->kind, node)) return false;
    if (schema_says_nothing(node)) return true;
    bool tracked = tracks(e, at);
    if (!tracked && contains(p->holds, node)) return true;
    static const char *const references[] = {"$recursiveRef", "$dynamicRef", "$ref"};
    for (int i = 0; i < 3; i++)
        if ((part = schema_get(c, node, references[i])) != NULL && part->kind == JSON_STRING)
            p->todo = push(c, schema_target(c, part), HOLDS, p->todo, at);
    if (schema_overridden(c, node)) return true;
    if ((part = json_get(node, "allOf")) != NULL)
        for (uint32_t i = part->n; i-- > 0;) p->todo = push(c, &part->u.items[i], HOLDS, p->todo, at);
    if ((part = json_get(node, "not")) != NULL) p->todo = push(c, part, FAILS, p->todo, at);
    chosen *one = choose(c, node, at, p->holds);
    one->own = schema_own_matters(c, node, e->kind);
    p->holds = one;
    p->n_holds++;
    open_choices(e, p, at, false, tracked);
    return true;
}

static bool take_negative(expansion *e, partial *p, const pending *at) {
    if (!possible(e->c, e->kind, at->node)) return true;
    if (at->node->kind != JSON_OBJECT || at->node->n == 0) return false; /* not true */
    open_choices(e, p, at, true, false);
    return true;
}

static void self_reference(schema_context *c, const pending *p) {
    for (const pending *q = p->because; q != NULL; q = q->because)
        if (q->node == p->node && q->sign == p->sign)
            json_escape(c->b->w, p->node, STE_ERR_SCHEMA, "a schema refers to itself without a value in between");
}

/* Does the alternative contradict what holds? */
static bool refuted(expansion *e, const partial *p, const alternative *a) {
    schema_context *c = e->c;
    outline held = {.n = 0};
    bool ready = false;
    for (uint32_t i = 0; i < a->n; i++) {
        const json *node = a->at[i].node;
        bool holds = a->at[i].sign == HOLDS || a->at[i].sign == REST_FAILS;
        if (holds && !possible(c, e->kind, node)) return true;
        if (a->at[i].sign == FAILS && contains(p->holds, node)) return true;
        if ((e->kind & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) != 0) continue;
        if (!ready)
            for (const chosen *k = p->holds; k != NULL && held.n < OUTLINE_NODES; k = k->before)
                if (k->own) held.at[held.n++] = k->node;
        ready = true;
        outline other = {.n = 0};
        if (holds) {
            outline_add(c, node, &other);
            if (held.n != 0 && outlines_apart(c, e->kind, &held, &other, OUTLINE_DEPTH)) return true;
        } else if (e->kind == TYPE_OBJECT && outline_implies(c, &held, node, OUTLINE_DEPTH)) {
            return true;
        }
    }
    return false;
}

/* Drop refuted alternatives; take in what is left without a choice.  False: impossible. */
static bool settle_choices(expansion *e, partial *p, bool *moved) {
    schema_context *c = e->c;
    const open_choice *rest = NULL;
    *moved = false;
    for (const open_choice *o = p->choices; o != NULL; o = o->next) {
        open_choice *left = arena_alloc(&c->b->w->mem, 1, sizeof *left);
        *left = (open_choice){{arena_alloc(&c->b->w->mem, o->of.n + 1, sizeof(alternative)), 0}, rest, o->because};
        work_charge(c->b->w, 1 + o->of.n / 4);
        for (uint32_t i = 0; i < o->of.n; i++)
            if (o->of.n == 1 || !refuted(e, p, &o->of.at[i])) left->of.at[left->of.n++] = o->of.at[i];
        if (left->of.n == 0) return false;
        if (left->of.n > 1) {
            rest = left;
            continue;
        }
        for (uint32_t i = left->of.at[0].n; i-- > 0;)
            p->todo = push(c, left->of.at[0].at[i].node, (sign)left->of.at[0].at[i].sign, p->todo, o->because);
        *moved = true;
    }
    p->choices = NULL;
    for (; rest != NULL; rest = rest->next) { /* back into the old order */
        open_choice *o = arena_alloc(&c->b->w->mem, 1, sizeof *o);
        *o = (open_choice){rest->of, p->choices, rest->because};
        p->choices = o;
    }
    return true;
}

static void expand(expansion *e, partial p, uint32_t depth) {
    schema_context *c = e->c;
    work *w = c->b->w;
    if (depth > w->limits.depth) json_escape(w, e->place, STE_ERR_LIMIT, "alternatives are nested deeper than %u levels", w->limits.depth);
    for (bool moved = true; moved;) {
        while (p.todo != NULL) {
            const pending *at = p.todo;
            p.todo = at->next;
            work_charge(w, 1);
            if (at->sign == OWN_FAILS) {
                if (contains(p.fails, at->node)) continue;
                p.fails = choose(c, at->node, at, p.fails);
                p.n_fails++;
                continue;
            }
            self_reference(c, at);
            if (!(at->sign == FAILS ? take_negative(e, &p, at) : take_positive(e, &p, at))) return;
        }
        if (p.choices == NULL) break;
        if (!settle_choices(e, &p, &moved)) return;
    }
    if (p.choices == NULL) {
        emit(e, &p);
        return;
    }
    const open_choice *o = p.choices;
    p.choices = o->next;
    for (uint32_t i = 0; i < o->of.n && (e->all || e->out.n == 0); i++) {
        partial q = p;
        for (uint32_t k = o->of.at[i].n; k-- > 0;)
            q.todo = push(c, o->of.at[i].at[k].node, (sign)o->of.at[i].at[k].sign, q.todo, o->because);
        expand(e, q, depth + 1);
    }
}

schema_branches schema_expand(schema_context *c, uint32_t kind, const literal *literals, uint32_t n, bool all) {
    expansion e = {.c = c, .kind = kind, .all = all, .place = n > 0 ? literals[0].node : c->root};
    partial p = {0};
    for (uint32_t i = n; i-- > 0;) p.todo = push(c, literals[i].node, (sign)literals[i].sign, p.todo, NULL);
    expand(&e, p, 0);
    return e.out;
}

const json *schema_place(const schema_context *c, const schema_branch *branch) {
    return branch->n_holds > 0 ? branch->holds[0] : branch->n_fails > 0 ? branch->fails[0] : c->root;
}
