/* schema_object.c - objects: keys by name and by pattern, counts, dependencies, unevaluated keys, and their negations.
 *
 * Keys that the schema names are *known*.  The declared ones come in declared
 * order (with property_order "any": in any order); what several schemas declare
 * may be interleaved while that takes few states.  Known but undeclared keys -
 * only required, say - come in any order after them.  All other keys fall into
 * *regions*: the strings that match the same patterns, so that the schemas for
 * their values are the same.  A known key that is neither declared nor has to be
 * remembered is a region of its own.
 *
 * Whatever else must be the case is a *clause*: a list of ways, one of which
 * must come true.  "a needs b" is {a is missing, b is there}; a negated node is
 * {a required key is missing, the value of a key is not of its schema, ...}.
 *
 * The automaton goes from member to member.  Its states remember
 *
 *   position   how many ordered keys have been passed, in each chain of them
 *   seen       which unordered known keys have come
 *   done       which clauses have come true
 *   count      members so far, up to the last number that matters (at least 1: is a comma due?)
 *
 * For plain objects that is two states per key: with and without a member before. */
#include "fsm_product.h"
#include "json_text.h"
#include "schema.h"

#define MAX_UNORDERED 8
#define MAX_CHAINS 6
#define MAX_GRID 256        /* positions when chains of declared keys are interleaved */
#define MAX_PRODUCT 1024    /* positions * sets of clauses * sets of unordered keys */
#define MAX_CLAUSES 24
#define MAX_REGIONS 256
#define MAX_PATTERNS 64
#define MAX_COUNT 3000
#define MAX_STATES 60000
#define INLINE_STATES 64    /* with more states, members become rules of their own */
#define REPEAT_FROM 16 /* maps with counts from here on are counted by a repeat */

/* A value that is not of this schema makes the clause true. */
typedef struct value_way {
    uint32_t clause;
    const json *schema;
} value_way;

typedef struct member {
    const char *key; /* NULL: a region */
    uint32_t key_n;
    bool required, declared;
    uint32_t chain;          /* declared: which of the schemas declared it first */
    uint32_t missing, there; /* clauses that come true by its absence, by its presence */
    VEC(value_way) ways;
    literal_list literals;
    fsm *keys;       /* region: its keys, over code points */
    uint64_t matches; /* region: the patterns that all its keys match; the others match none */
    expr *spelled;    /* the key in JSON text */
} member;

typedef struct object_state {
    uint32_t position, seen, done, count;
} object_state;

typedef struct begin_entry {
    uint32_t member, rule, to, at;
} begin_entry;

typedef struct object_builder {
    schema_context *c;
    const schema_branch *branch;
    VEC(member) members; /* ordered, chain by chain, then unordered */
    uint32_t n_ordered;
    uint32_t n_chains, chain_from[MAX_CHAINS], chain_n[MAX_CHAINS], stride[MAX_CHAINS], last_position;
    VEC(member) regions;
    VEC(fsm *) patterns;
    uint32_t clauses; /* set of those that are to come true */
    uint32_t count_clause_min[MAX_CLAUSES], count_clause_max[MAX_CLAUSES]; /* outside of these the clause is true */
    uint32_t min, max, count_cap;
    bool impossible;
    expr *separator;
    fsm *f;
    uint32_t end;
    VEC(object_state) states;
    VEC(uint32_t) number; /* in f */
    uint32_t *table, mask;
    VEC(begin_entry) begins;
    uint32_t *begin_table, begin_mask;
    bool pairs_are_rules;
} object_builder;

/* ---- known keys ---- */

static member *find_member(object_builder *o, const char *key, uint32_t n) {
    for (uint32_t i = 0; i < o->members.n; i++)
        if (o->members.at[i].key_n == n && memcmp(o->members.at[i].key, key, n) == 0) return &o->members.at[i];
    return NULL;
}

static member *add_member(object_builder *o, const char *key, uint32_t n) {
    member *found = find_member(o, key, n);
    if (found != NULL) return found;
    work_charge(o->c->b->w, 1 + o->members.n / 64);
    vec_push(&o->c->b->w->mem, &o->members, (member){.key = key, .key_n = n});
    return &o->members.at[o->members.n - 1];
}

static void add_names(object_builder *o, const json *list, bool required) {
    for (uint32_t k = 0; list != NULL && list->kind == JSON_ARRAY && k < list->n; k++) {
        member *m = add_member(o, list->u.items[k].u.text, list->u.items[k].n);
        m->required = m->required || required;
    }
}

static void add_keys(object_builder *o, const json *map, bool declared, uint32_t chain) {
    for (uint32_t k = 0; map != NULL && k < map->n; k++) {
        member *m = add_member(o, map->u.items[k].key, map->u.items[k].key_n);
        if (declared && !m->declared) {
            m->declared = true;
            m->chain = chain;
        }
    }
}

static void add_dependent_names(object_builder *o, const json *map) {
    for (uint32_t k = 0; map != NULL && k < map->n; k++) {
        const json *one = &map->u.items[k];
        if (one->kind == JSON_ARRAY && one->n > 0) {
            add_member(o, one->key, one->key_n);
            add_names(o, one, false);
        } else if (one->kind == JSON_STRING) {
            add_member(o, one->key, one->key_n);
            add_member(o, one->u.text, one->n);
        }
    }
}

static void find_members(object_builder *o) {
    schema_context *c = o->c;
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_holds; i++) add_keys(o, json_get(b->holds[i], "properties"), true, i);
    for (uint32_t i = 0; i < b->n_holds; i++) add_names(o, json_get(b->holds[i], "required"), true);
    for (uint32_t i = 0; i < b->n_holds; i++) {
        add_dependent_names(o, json_get(b->holds[i], "dependencies"));
        add_dependent_names(o, schema_get(c, b->holds[i], "dependentRequired"));
    }
    for (uint32_t i = 0; i < b->n_fails; i++) {
        add_keys(o, json_get(b->fails[i], "properties"), false, 0);
        add_names(o, json_get(b->fails[i], "required"), false);
    }
}

/* ---- what values must satisfy ---- */

static uint32_t pattern_number(object_builder *o, fsm *pattern) {
    uint32_t i = 0;
    while (i < o->patterns.n && o->patterns.at[i] != pattern) i++;
    if (i == MAX_PATTERNS)
        escape(&o->c->b->w->out, STE_ERR_LIMIT, 0, "more than %d patterns for the keys of one object", MAX_PATTERNS);
    if (i == o->patterns.n) vec_push(&o->c->b->w->mem, &o->patterns, pattern);
    return i;
}

static bool key_matches(object_builder *o, const member *m, const json *pattern) {
    fsm *f = schema_pattern(o->c, pattern);
    if (f == NULL) return false;
    return m->key != NULL ? schema_accepts(f, m->key, m->key_n) : (m->matches >> pattern_number(o, f) & 1) != 0;
}

/* Call each schema of the node that applies to the member; true if "properties" or a pattern has it. */
static bool node_schemas(object_builder *o, const json *node, const member *m,
                         void (*each)(object_builder *o, const json *schema, void *ctx), void *ctx) {
    const json *properties = m->key == NULL ? NULL : json_get(node, "properties");
    const json *patterns = json_get(node, "patternProperties"), *other = json_get(node, "additionalProperties");
    const json *own = properties == NULL ? NULL : json_member(properties, m->key, m->key_n);
    bool known = own != NULL;
    if (own != NULL) each(o, own, ctx);
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++) {
        if (!key_matches(o, m, &patterns->u.items[i])) continue;
        known = true;
        each(o, &patterns->u.items[i], ctx);
    }
    if (!known && other != NULL) each(o, other, ctx);
    return known;
}

static void add_holding(object_builder *o, const json *schema, void *ctx) { literal_add(o->c, ctx, schema, HOLDS); }

static bool name_fits(object_builder *o, const json *node, const member *m) {
    const json *keys = schema_get(o->c, node, "propertyNames");
    if (keys == NULL || m->key == NULL) return true;
    return schema_valid(o->c, schema_string(o->c, keys, m->key, m->key_n), keys);
}

static void ignore_schema(object_builder *o, const json *schema, void *ctx) {
    (void)o;
    (void)schema;
    (void)ctx;
}

static bool evaluated(object_builder *o, const json *node, const member *m) {
    const schema_branch *b = o->branch;
    for (uint32_t k = 0; k < b->n_holds; k++) {
        const json *inner = b->holds[k];
        if (!schema_under(b, k, node)) continue;
        if (json_get(inner, "additionalProperties") != NULL) return true;
        if (inner != node && schema_get(o->c, inner, "unevaluatedProperties") != NULL) return true;
        if (node_schemas(o, inner, m, ignore_schema, NULL)) return true;
    }
    return false;
}

static void find_literals(object_builder *o, member *m) {
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_holds; i++) {
        const json *rest = schema_get(o->c, b->holds[i], "unevaluatedProperties");
        node_schemas(o, b->holds[i], m, add_holding, &m->literals);
        if (!name_fits(o, b->holds[i], m)) literal_add(o->c, &m->literals, &schema_never, HOLDS);
        if (rest != NULL && !schema_says_nothing(rest) && !evaluated(o, b->holds[i], m))
            literal_add(o->c, &m->literals, rest, HOLDS);
    }
}

static bool is_never(const literal_list *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].sign == HOLDS ? list->at[i].node->kind == JSON_FALSE : schema_says_nothing(list->at[i].node)) return true;
    return false;
}

/* ---- regions ---- */

static void split_regions(object_builder *o, uint32_t pattern) {
    schema_context *c = o->c;
    const fsm *f = o->patterns.at[pattern];
    for (uint32_t i = 0, n = o->regions.n; i < n; i++) {
        fsm *in = fsm_intersection(o->regions.at[i].keys, f);
        in = in == NULL ? NULL : fsm_reduce(in);
        if (in == NULL) continue;
        member inside = {.keys = in, .matches = o->regions.at[i].matches | UINT64_C(1) << pattern};
        o->regions.at[i].keys = fsm_reduce(fsm_difference(o->regions.at[i].keys, f));
        if (o->regions.at[i].keys == NULL)
            o->regions.at[i] = inside;
        else
            vec_push(&c->b->w->mem, &o->regions, inside);
        if (o->regions.n > MAX_REGIONS)
            escape(&c->b->w->out, STE_ERR_LIMIT, 0, "the patterns for keys overlap in more than %d ways", MAX_REGIONS);
    }
}

static void add_patterns(object_builder *o, const json *node) {
    const json *patterns = json_get(node, "patternProperties");
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++) {
        fsm *f = schema_pattern(o->c, &patterns->u.items[i]);
        if (f != NULL) pattern_number(o, f);
    }
}

static fsm *names_automaton(object_builder *o, const json *keys) {
    return schema_strings(o->c, &(literal){keys, HOLDS}, 1);
}

static bool closed(const object_builder *o) {
    for (uint32_t i = 0; i < o->branch->n_holds; i++) {
        const json *node = o->branch->holds[i], *other = json_get(node, "additionalProperties");
        if (other != NULL && other->kind == JSON_FALSE && json_get(node, "patternProperties") == NULL) return true;
    }
    return false;
}

static expr *spelled_names(schema_context *c, const fsm *keys) {
    expr *quote = expr_text(c->b, "\"");
    expr *body = expr_fsm(c->b, json_spelled_automaton(c->b, keys));
    return expr_rule(c->b, rule_of(c->b, expr_sequence(c->b, (expr *[]){quote, body, quote}, 3)));
}

static void find_regions(object_builder *o) {
    schema_context *c = o->c;
    const schema_branch *b = o->branch;
    arena *mem = &c->b->w->mem;
    if (closed(o)) return;
    bool named = false;
    for (uint32_t i = 0; i < b->n_holds; i++) {
        add_patterns(o, b->holds[i]);
        named = named || schema_get(c, b->holds[i], "propertyNames") != NULL;
    }
    for (uint32_t i = 0; i < b->n_fails; i++) {
        add_patterns(o, b->fails[i]);
        named = named || schema_get(c, b->fails[i], "propertyNames") != NULL;
    }
    if (!named && o->patterns.n == 0) {
        expr **taken = arena_alloc(mem, o->members.n + 1, sizeof *taken);
        for (uint32_t i = 0; i < o->members.n; i++) taken[i] = o->members.at[i].spelled;
        fsm *key = json_other_string_automaton(c->b, expr_choice(c->b, taken, o->members.n));
        vec_push(mem, &o->regions, (member){.spelled = expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, key)))});
    } else {
        json *taken = arena_alloc(mem, o->members.n + 1, sizeof *taken);
        for (uint32_t i = 0; i < o->members.n; i++)
            taken[i] = *schema_string(c, b->n_holds > 0 ? b->holds[0] : b->fails[0], o->members.at[i].key, o->members.at[i].key_n);
        fsm *keys = schema_other_strings(c, taken, o->members.n);
        for (uint32_t i = 0; i < b->n_holds && keys != NULL; i++) {
            const json *at = schema_get(c, b->holds[i], "propertyNames");
            if (at == NULL) continue;
            keys = fsm_intersection(keys, names_automaton(o, at));
            if (keys != NULL) keys = fsm_reduce(keys);
        }
        if (keys == NULL) return;
        vec_push(mem, &o->regions, (member){.keys = keys});
        for (uint32_t i = 0; i < o->patterns.n; i++) split_regions(o, i);
    }
    for (uint32_t i = 0; i < o->regions.n; i++) find_literals(o, &o->regions.at[i]);
    /* A key outside of the negated "propertyNames" makes that clause true: a region of its own.
     * (Clauses are not numbered yet: the first ones will be those of `fails`, in order.) */
    for (uint32_t k = 0; k < b->n_fails; k++) {
        const json *at = schema_get(c, b->fails[k], "propertyNames");
        if (at != NULL && k >= MAX_CLAUSES)
            json_escape(c->b->w, at, STE_ERR_LIMIT, "more than %d negated schemas for one object", MAX_CLAUSES);
        fsm *good = at == NULL ? NULL : names_automaton(o, at);
        for (uint32_t i = 0, n = at == NULL ? 0 : o->regions.n; i < n; i++) {
            fsm *bad = fsm_difference(o->regions.at[i].keys, good);
            bad = bad == NULL ? NULL : fsm_reduce(bad);
            if (bad == NULL) continue;
            member outside = o->regions.at[i];
            outside.keys = bad;
            outside.there |= UINT32_C(1) << k;
            fsm *rest = fsm_intersection(o->regions.at[i].keys, good);
            o->regions.at[i].keys = rest == NULL ? NULL : fsm_reduce(rest);
            if (o->regions.at[i].keys == NULL)
                o->regions.at[i] = outside;
            else
                vec_push(mem, &o->regions, outside);
        }
    }
    uint32_t keep = 0;
    for (uint32_t i = 0; i < o->regions.n; i++)
        if (!is_never(&o->regions.at[i].literals)) o->regions.at[keep++] = o->regions.at[i];
    o->regions.n = keep;
    for (uint32_t i = 0; i < keep; i++)
        if (o->regions.at[i].spelled == NULL) o->regions.at[i].spelled = spelled_names(c, o->regions.at[i].keys);
}

/* ---- clauses ---- */

static void simplify_clauses(object_builder *o);

/* The lowest free number, after making room if need be. */
static uint32_t new_clause(object_builder *o) {
    if (o->clauses == (UINT32_C(1) << MAX_CLAUSES) - 1) simplify_clauses(o);
    uint32_t k = 0;
    while (k < MAX_CLAUSES && (o->clauses >> k & 1) != 0) k++;
    if (k == MAX_CLAUSES)
        escape(&o->c->b->w->out, STE_ERR_LIMIT, 0, "more than %d dependencies and negated schemas for one object", MAX_CLAUSES);
    o->count_clause_min[k] = 0;
    o->count_clause_max[k] = REPEAT_INFINITE;
    o->clauses |= UINT32_C(1) << k;
    return k;
}

static void add_dependency(object_builder *o, const char *key, uint32_t n, const json *needs) {
    member *a = find_member(o, key, n), *b = find_member(o, needs->u.text, needs->n);
    if (a == b || b->required) return;
    if (a->required) {
        b->required = true;
        return;
    }
    uint32_t clause = UINT32_C(1) << new_clause(o);
    a->missing |= clause;
    b->there |= clause;
}

static void add_dependencies(object_builder *o, const json *map) {
    for (uint32_t k = 0; map != NULL && k < map->n; k++) {
        const json *one = &map->u.items[k];
        if (one->kind == JSON_STRING) add_dependency(o, one->key, one->key_n, one);
        for (uint32_t i = 0; one->kind == JSON_ARRAY && i < one->n; i++) add_dependency(o, one->key, one->key_n, &one->u.items[i]);
    }
}

typedef struct way_target {
    member *m;
    uint32_t clause;
} way_target;

static void add_way(object_builder *o, const json *schema, void *ctx) {
    way_target *t = ctx;
    if (schema->kind == JSON_FALSE)
        t->m->there |= UINT32_C(1) << t->clause;
    else if (!schema_says_nothing(schema))
        vec_push(&o->c->b->w->mem, &t->m->ways, (value_way){t->clause, schema_canonical(o->c, schema)});
}

/* The ways in which the own keywords of a node can fail. */
static void add_failure(object_builder *o, const json *node, uint32_t clause) {
    schema_context *c = o->c;
    const json *list = json_get(node, "required"), *min = json_get(node, "minProperties"), *max = json_get(node, "maxProperties");
    const json *rest = schema_get(c, node, "unevaluatedProperties");
    if (rest != NULL && !schema_says_nothing(rest))
        json_escape(c->b->w, rest, STE_ERR_UNSUPPORTED, "keyword \"unevaluatedProperties\" is not supported under a negation");
    for (uint32_t k = 0; list != NULL && list->kind == JSON_ARRAY && k < list->n; k++)
        find_member(o, list->u.items[k].u.text, list->u.items[k].n)->missing |= UINT32_C(1) << clause;
    if (min != NULL) json_count(min, &o->count_clause_min[clause]);
    if (max != NULL) json_count(max, &o->count_clause_max[clause]);
    for (uint32_t i = 0; i < o->members.n; i++) {
        way_target t = {&o->members.at[i], clause};
        node_schemas(o, node, t.m, add_way, &t);
        if (!name_fits(o, node, t.m)) t.m->there |= UINT32_C(1) << clause;
    }
    for (uint32_t i = 0; i < o->regions.n; i++) {
        way_target t = {&o->regions.at[i], clause};
        node_schemas(o, node, t.m, add_way, &t);
    }
}

/* ---- clauses that need no remembering ----
 *
 * A clause about a single key says something about that key alone: that it is
 * required, forbidden, or of values that fail a schema. */

/* The only way of m to make the clause true by its value, if there is at most one; false otherwise. */
static bool single_way(const member *m, uint32_t clause, const json **schema) {
    *schema = NULL;
    for (uint32_t i = 0; i < m->ways.n; i++) {
        if (m->ways.at[i].clause != clause) continue;
        if (*schema != NULL) return false;
        *schema = m->ways.at[i].schema;
    }
    return true;
}

static void forget_ways(member *m, uint32_t clause) {
    uint32_t keep = 0;
    for (uint32_t i = 0; i < m->ways.n; i++)
        if (m->ways.at[i].clause != clause) m->ways.at[keep++] = m->ways.at[i];
    m->ways.n = keep;
}

static void forget_clause(object_builder *o, uint32_t clause) {
    uint32_t bit = UINT32_C(1) << clause;
    for (uint32_t r = 0; r < 2; r++) {
        member *at = r == 0 ? o->members.at : o->regions.at;
        for (uint32_t i = 0; i < (r == 0 ? o->members.n : o->regions.n); i++) {
            at[i].missing &= ~bit;
            at[i].there &= ~bit;
            forget_ways(&at[i], clause);
        }
    }
    o->count_clause_min[clause] = 0;
    o->count_clause_max[clause] = REPEAT_INFINITE;
    o->clauses &= ~bit;
}

static bool has_literal(const literal_list *list, const json *node, sign s) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].node == node && list->at[i].sign == s) return true;
    return false;
}

/* Do all values that the member may have satisfy the schema (1), or none (-1)?  0: not known. */
static int values_satisfy(object_builder *o, const member *m, const json *schema) {
    schema_context *c = o->c;
    uint32_t bits = TYPE_ANY, allowed = schema_may_be(c, schema), n, fine = 0;
    json *values;
    for (uint32_t i = 0; i < m->literals.n; i++)
        if (m->literals.at[i].sign == HOLDS) bits &= schema_may_be(c, m->literals.at[i].node);
    if ((bits & allowed) == 0) return -1;
    if (schema->n == 1 && json_get(schema, "type") != NULL && (bits & ~schema_types(schema)) == 0) return 1;
    if (!schema_finite(c, m->literals.at, m->literals.n, &values, &n) || n > 64) return 0;
    for (uint32_t i = 0; i < n; i++) fine += schema_valid(c, &values[i], schema);
    return fine == n ? 1 : fine == 0 ? -1 : 0;
}

/* Drop ways that cannot be, and see ways that must be; true: the clause holds anyway. */
static bool prune_clause(object_builder *o, member *m, uint32_t clause) {
    uint32_t bit = UINT32_C(1) << clause, keep = 0;
    bool never = m->key != NULL && is_never(&m->literals);
    if (m->required) m->missing &= ~bit;
    if (never) m->there &= ~bit;
    for (uint32_t i = 0; i < m->ways.n; i++) {
        value_way w = m->ways.at[i];
        if (w.clause == clause && (never || (m->there & bit) != 0 || has_literal(&m->literals, w.schema, HOLDS))) continue;
        int satisfied = w.clause != clause ? 0 : has_literal(&m->literals, w.schema, FAILS) ? -1 : values_satisfy(o, m, w.schema);
        if (satisfied > 0) continue;
        if (satisfied < 0)
            m->there |= bit;
        else
            m->ways.at[keep++] = w;
    }
    m->ways.n = keep;
    bool there = (m->there & bit) != 0, missing = (m->missing & bit) != 0;
    return (missing && (there || never)) || (there && m->required);
}

static bool concerns(const member *m, uint32_t clause) {
    uint32_t bit = UINT32_C(1) << clause;
    for (uint32_t i = 0; i < m->ways.n; i++)
        if (m->ways.at[i].clause == clause) return true;
    return ((m->there | m->missing) & bit) != 0;
}

/* True if something changed.  A clause that cannot come true leaves o->impossible. */
static bool simplify_clause(object_builder *o, uint32_t clause) {
    schema_context *c = o->c;
    uint32_t bit = UINT32_C(1) << clause, n = 0, in_regions = 0;
    uint32_t low = o->count_clause_min[clause], high = o->count_clause_max[clause];
    member *only = NULL;
    const json *schema;
    for (uint32_t i = 0; i < o->members.n; i++) {
        if (prune_clause(o, &o->members.at[i], clause)) {
            forget_clause(o, clause);
            return true;
        }
        if (!concerns(&o->members.at[i], clause)) continue;
        only = &o->members.at[i];
        n++;
    }
    for (uint32_t i = 0; i < o->regions.n; i++) in_regions += concerns(&o->regions.at[i], clause);
    bool counts = low > 0 || high != REPEAT_INFINITE;
    if (n + in_regions == 0) {
        if (!counts) o->impossible = true;
        if (!counts || (low > 0 && high != REPEAT_INFINITE)) return false;
        if (low > 0 && low - 1 < o->max) o->max = low - 1;
        if (low == 0 && high + 1 > o->min) o->min = high + 1;
        forget_clause(o, clause);
        return true;
    }
    if (n != 1 || in_regions != 0 || counts || !single_way(only, clause, &schema)) return false;
    bool missing = (only->missing & bit) != 0, there = (only->there & bit) != 0;
    if (!missing) only->required = true;
    if (missing && schema == NULL) literal_add(c, &only->literals, &schema_never, HOLDS);
    if (!there && schema != NULL) literal_add(c, &only->literals, schema, FAILS);
    forget_clause(o, clause);
    return true;
}

static void simplify_clauses(object_builder *o) {
    for (bool changed = true; changed && !o->impossible;) {
        changed = false;
        for (uint32_t k = 0; k < MAX_CLAUSES && !o->impossible; k++)
            if ((o->clauses >> k & 1) != 0) changed = simplify_clause(o, k) || changed;
    }
}

/* ---- the automaton ---- */

static uint32_t state_number(object_builder *o, object_state s) {
    arena *mem = &o->c->b->w->mem;
    if (o->states.n * 2 >= o->mask) {
        uint32_t size = o->table == NULL ? 64 : (o->mask + 1) * 2;
        o->table = arena_alloc(mem, size, sizeof *o->table);
        o->mask = size - 1;
        for (uint32_t i = 0; i < o->states.n; i++) {
            uint32_t slot = (uint32_t)hash_bytes(&o->states.at[i], sizeof s, 0) & o->mask;
            while (o->table[slot] != 0) slot = (slot + 1) & o->mask;
            o->table[slot] = i + 1;
        }
    }
    uint32_t slot = (uint32_t)hash_bytes(&s, sizeof s, 0) & o->mask;
    for (; o->table[slot] != 0; slot = (slot + 1) & o->mask)
        if (memcmp(&o->states.at[o->table[slot] - 1], &s, sizeof s) == 0) return o->number.at[o->table[slot] - 1];
    if (o->states.n >= MAX_STATES)
        escape(&o->c->b->w->out, STE_ERR_LIMIT, 0, "the constraints of an object need more than %d states", MAX_STATES);
    vec_push(mem, &o->states, s);
    vec_push(mem, &o->number, fsm_state(o->f));
    o->table[slot] = o->states.n;
    return o->number.at[o->states.n - 1];
}

static uint32_t begin_slot(const object_builder *o, const begin_entry *e) {
    uint32_t slot = (uint32_t)hash_mix(hash_mix(1, (uint64_t)e->member << 32 | e->rule), e->to) & o->begin_mask;
    for (; o->begin_table[slot] != 0; slot = (slot + 1) & o->begin_mask) {
        const begin_entry *have = &o->begins.at[o->begin_table[slot] - 1];
        if (have->member == e->member && have->rule == e->rule && have->to == e->to) break;
    }
    return slot;
}

#define PAIR_RULE UINT32_MAX /* for `to`: the rule of the member itself */

static begin_entry *find_begin(object_builder *o, begin_entry e) {
    arena *mem = &o->c->b->w->mem;
    if (o->begins.n * 2 >= o->begin_mask) {
        uint32_t size = o->begin_table == NULL ? 64 : (o->begin_mask + 1) * 2;
        o->begin_table = arena_alloc(mem, size, sizeof *o->begin_table);
        o->begin_mask = size - 1;
        for (uint32_t i = 0; i < o->begins.n; i++) o->begin_table[begin_slot(o, &o->begins.at[i])] = i + 1;
    }
    uint32_t slot = begin_slot(o, &e);
    if (o->begin_table[slot] == 0) {
        vec_push(mem, &o->begins, e);
        o->begin_table[slot] = o->begins.n;
    }
    return &o->begins.at[o->begin_table[slot] - 1];
}

/* Where a member (its number; regions after the known keys) begins that leads to `to`: each is written once. */
static uint32_t member_begin(object_builder *o, uint32_t number, const member *m, const literal_list *literals, uint32_t to) {
    builder *b = o->c->b;
    expr *value = conjunction_rule(o->c, literals);
    if (value->kind == EXPR_NEVER) return UINT32_MAX;
    begin_entry *e = find_begin(o, (begin_entry){number, value->u.id, to, UINT32_MAX});
    if (e->at != UINT32_MAX) return e->at;
    uint32_t at = e->at = fsm_state(o->f);
    expr *pair = expr_sequence(b, (expr *[]){m->spelled, o->c->space.colon, value}, 3);
    if (o->pairs_are_rules) {
        begin_entry *known = find_begin(o, (begin_entry){number, value->u.id, PAIR_RULE, UINT32_MAX});
        if (known->at == UINT32_MAX) known->at = rule_of(b, pair);
        pair = expr_rule(b, known->at);
    }
    expr_build(b, pair, o->f, at, to);
    return at;
}

static uint32_t after_separator(object_builder *o, uint32_t at) {
    uint32_t next = fsm_state(o->f);
    expr_build(o->c->b, o->separator, o->f, at, next);
    return next;
}

typedef struct version {
    literal_list literals;
    uint32_t done;
} version;

typedef VEC(version) version_list;

/* The clauses that become true by a value that is not of the schema. */
typedef struct way_group {
    const json *schema;
    uint32_t clauses;
    const json *values; /* all that the schema admits, if it lists them */
    uint32_t n_values;
} way_group;

typedef VEC(way_group) way_groups;

static void find_groups(object_builder *o, const member *m, uint32_t done, way_groups *out) {
    for (uint32_t i = 0; i < m->ways.n; i++) {
        value_way w = m->ways.at[i];
        uint32_t bit = UINT32_C(1) << w.clause, k = 0;
        if ((done & bit) != 0) continue;
        while (k < out->n && out->at[k].schema != w.schema) k++;
        if (k == out->n) {
            const json *one = schema_get(o->c, w.schema, "const"), *list = json_get(w.schema, "enum");
            way_group g = {w.schema, 0, one != NULL ? one : list != NULL ? list->u.items : NULL, one != NULL ? 1 : list != NULL ? list->n : 0};
            vec_push(&o->c->b->w->mem, out, g);
        }
        out->at[k].clauses |= bit;
    }
}

static version with(schema_context *c, const version *v, const json *node, sign s, uint32_t done) {
    version out = {{0}, v->done | done};
    for (uint32_t k = 0; k < v->literals.n; k++) vec_push(&c->b->w->mem, &out.literals, v->literals.at[k]);
    literal_add(c, &out.literals, node, s);
    return out;
}

static bool fits_all(schema_context *c, const json *value, const literal_list *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (schema_valid(c, value, list->at[i].node) != (list->at[i].sign == HOLDS)) return false;
    return true;
}

/* Where schemas list their values, each of these is a version of its own, and all other values are one. */
static void split_by_values(object_builder *o, const way_groups *groups, version_list *v) {
    schema_context *c = o->c;
    version base = v->at[0], other = base;
    VEC(const json *) values = {0};
    v->n = 0;
    for (uint32_t g = 0; g < groups->n; g++) {
        if (groups->at[g].values == NULL) continue;
        other = with(c, &other, groups->at[g].schema, FAILS, groups->at[g].clauses);
        for (uint32_t i = 0; i < groups->at[g].n_values; i++) {
            const json *value = &groups->at[g].values[i];
            bool known = false;
            for (uint32_t k = 0; k < values.n && !known; k++) known = json_equal(values.at[k], value);
            if (!known && fits_all(c, value, &base.literals)) vec_push(&c->b->w->mem, &values, value);
        }
    }
    for (uint32_t i = 0; i < values.n; i++) {
        version one = with(c, &base, schema_only(c, values.at[i]), HOLDS, 0);
        bool fails_all = true;
        for (uint32_t g = 0; g < groups->n; g++) {
            if (groups->at[g].values == NULL) continue;
            if (!schema_valid(c, values.at[i], groups->at[g].schema))
                one.done |= groups->at[g].clauses;
            else
                fails_all = false;
        }
        if (!fails_all) vec_push(&c->b->w->mem, v, one); /* else it is among the others */
    }
    vec_push(&c->b->w->mem, v, other);
}

/* Ways to write one member: its value may also make clauses true. */
static void add_versions(object_builder *o, uint32_t number, const member *m, uint32_t open, object_state to) {
    schema_context *c = o->c;
    version_list v = {0};
    way_groups groups = {0};
    vec_push(&c->b->w->mem, &v, (version){m->literals, to.done | m->there});
    find_groups(o, m, to.done | m->there, &groups);
    bool listed = false;
    for (uint32_t g = 0; g < groups.n; g++) listed = listed || groups.at[g].values != NULL;
    if (listed) split_by_values(o, &groups, &v);
    for (uint32_t g = 0; g < groups.n; g++) {
        if (groups.at[g].values != NULL) continue;
        for (uint32_t j = 0, n = v.n; j < n; j++) {
            if ((v.at[j].done & groups.at[g].clauses) == groups.at[g].clauses) continue;
            vec_push(&c->b->w->mem, &v, with(c, &v.at[j], groups.at[g].schema, FAILS, groups.at[g].clauses));
        }
        if (v.n > 256)
            escape(&c->b->w->out, STE_ERR_LIMIT, 0, "the negated schemas for one key multiply to more than 256 ways");
    }
    for (uint32_t j = 0; j < v.n; j++) {
        to.done = v.at[j].done;
        uint32_t begin = member_begin(o, number, m, &v.at[j].literals, state_number(o, to));
        if (begin != UINT32_MAX) fsm_empty_add(o->f, open, begin);
    }
}

static uint32_t bit_of(const object_builder *o, uint32_t i) { return UINT32_C(1) << (i - o->n_ordered); }

static bool complete(const object_builder *o, const object_state *s) {
    uint32_t done = s->done;
    if (s->position != o->last_position || s->count < o->min || s->count > o->max) return false;
    for (uint32_t i = o->n_ordered; i < o->members.n; i++) {
        if ((s->seen & bit_of(o, i)) != 0) continue;
        if (o->members.at[i].required) return false;
        done |= o->members.at[i].missing;
    }
    for (uint32_t k = 0; o->clauses >> k != 0; k++)
        if ((o->clauses >> k & 1) != 0 && (s->count < o->count_clause_min[k] || s->count > o->count_clause_max[k]))
            done |= UINT32_C(1) << k;
    return (done & o->clauses) == o->clauses;
}

static void expand_state(object_builder *o, uint32_t index) {
    object_state s = o->states.at[index];
    uint32_t at = o->number.at[index];
    if (complete(o, &s)) {
        if (s.count == 0)
            fsm_edge_add(o->f, at, '}', '}', o->end);
        else
            expr_build(o->c->b, expr_pair(o->c->b, o->c->space.inside, expr_text(o->c->b, "}")), o->f, at, o->end);
    }
    object_state to = s;
    if (to.count < o->count_cap) to.count++;
    bool full = s.count == o->max;
    uint32_t open = UINT32_MAX; /* where a member can begin */
    for (uint32_t k = 0; k < o->n_chains; k++) {
        uint32_t passed = s.position / o->stride[k] % (o->chain_n[k] + 1);
        if (passed == o->chain_n[k]) continue;
        const member *m = &o->members.at[o->chain_from[k] + passed];
        object_state next = to, skip = s;
        next.position = skip.position = s.position + o->stride[k];
        skip.done |= m->missing;
        if (!m->required) fsm_empty_add(o->f, at, state_number(o, skip));
        if (full || is_never(&m->literals)) continue;
        if (open == UINT32_MAX) open = s.count == 0 ? at : after_separator(o, at);
        add_versions(o, o->chain_from[k] + passed, m, open, next);
    }
    if (s.position != o->last_position) return;
    for (uint32_t i = o->n_ordered; i < o->members.n && !full; i++) {
        const member *m = &o->members.at[i];
        if ((s.seen & bit_of(o, i)) != 0 || is_never(&m->literals)) continue;
        if (open == UINT32_MAX) open = s.count == 0 ? at : after_separator(o, at);
        object_state next = to;
        next.seen |= bit_of(o, i);
        add_versions(o, i, m, open, next);
    }
    for (uint32_t i = 0; i < o->regions.n && !full; i++) {
        if (open == UINT32_MAX) open = s.count == 0 ? at : after_separator(o, at);
        add_versions(o, o->members.n + i, &o->regions.at[i], open, to);
    }
}

static expr *lower_states(object_builder *o) {
    builder *b = o->c->b;
    o->f = fsm_new(b->w);
    o->end = fsm_state(o->f);
    o->f->final.at[o->end] = 1;
    o->separator = o->c->space.comma;
    expr_build(b, expr_pair(b, expr_text(b, "{"), o->c->space.inside), o->f, o->f->start, state_number(o, (object_state){0}));
    for (uint32_t i = 0; i < o->states.n; i++) expand_state(o, i);
    return expr_fsm(b, o->f);
}

/* A map: no known keys, so members are alike and a repeat counts them. */
static expr *lower_map(object_builder *o) {
    schema_context *c = o->c;
    builder *b = c->b;
    expr **parts = arena_alloc(&b->w->mem, o->regions.n + 1, sizeof *parts);
    for (uint32_t i = 0; i < o->regions.n; i++)
        parts[i] = expr_sequence(b, (expr *[]){o->regions.at[i].spelled, c->space.colon,
                                               conjunction_rule(c, &o->regions.at[i].literals)}, 3);
    expr *pair = expr_rule(b, rule_of(b, expr_choice(b, parts, o->regions.n)));
    expr *more = expr_repeat(b, expr_pair(b, c->space.comma, pair), o->min > 1 ? o->min - 1 : 0,
                             o->max == REPEAT_INFINITE ? o->max : o->max - 1);
    expr *members = expr_sequence(b, (expr *[]){pair, more, c->space.inside}, 3);
    if (o->min == 0) members = expr_optional(b, members);
    return expr_sequence(b, (expr *[]){expr_text(b, "{"), c->space.inside, members, expr_text(b, "}")}, 4);
}

/* ---- set-up ---- */

static uint32_t count_bits(uint32_t v) {
    uint32_t n = 0;
    for (; v != 0; v &= v - 1) n++;
    return n;
}

/* 0 ordered; 1 a region of its own; 2 unordered, required; 3 unordered. */
static int group_of(const object_builder *o, const member *m) {
    bool counts = o->min > 0 || o->max != REPEAT_INFINITE;
    bool tracked = counts || m->required || m->missing != 0 || m->there != 0 || m->ways.n != 0;
    if (m->declared && !o->c->any_order) return 0;
    return m->declared || tracked ? (m->required ? 2 : 3) : 1;
}

static void add_chain(object_builder *o, uint32_t from, uint32_t n) {
    o->stride[o->n_chains] = o->n_chains == 0 ? 1 : o->stride[o->n_chains - 1] * (o->chain_n[o->n_chains - 1] + 1);
    o->chain_from[o->n_chains] = from;
    o->chain_n[o->n_chains++] = n;
}

/* Which known keys are ordered, and in how many chains. */
static void order_members(object_builder *o) {
    arena *mem = &o->c->b->w->mem;
    VEC(member) sorted = {0};
    uint32_t declared = 0, states = UINT32_C(1) << count_bits(o->clauses);
    for (int group = 0; group < 4; group++) {
        for (uint32_t i = 0; i < o->members.n; i++) {
            const member *m = &o->members.at[i];
            if (group_of(o, m) != group) continue;
            if (group != 1)
                vec_push(mem, &sorted, *m);
            else if (!is_never(&m->literals))
                vec_push(mem, &o->regions, *m);
        }
        if (group == 0) declared = sorted.n;
    }
    o->members.at = sorted.at;
    o->members.n = sorted.n;
    uint32_t unordered = sorted.n - declared, grid = 1, chains = 0, most = 0;
    for (uint32_t i = 0; i < declared && grid <= MAX_GRID; chains++) {
        uint32_t to = i;
        while (to < declared && sorted.at[to].chain == sorted.at[i].chain) to++;
        grid *= to - i + 1;
        i = to;
    }
    if (grid > MAX_GRID || chains > MAX_CHAINS || grid * states > MAX_PRODUCT) grid = declared + 1;
    while (most < unordered && most < MAX_UNORDERED && ((uint64_t)grid * states << (most + 1)) <= MAX_PRODUCT) most++;
    if (o->c->any_order && most < unordered)
        json_escape(o->c->b->w, o->branch->n_holds > 0 ? o->branch->holds[0] : o->branch->fails[0], STE_ERR_UNSUPPORTED,
                    "property_order \"any\" is supported for up to %u named keys here, not %u", most, unordered);
    o->n_ordered = sorted.n - (most < unordered ? most : unordered);
    if (grid == declared + 1 || o->n_ordered != declared) {
        if (o->n_ordered > 0) add_chain(o, 0, o->n_ordered);
    } else {
        for (uint32_t i = 0; i < declared;) {
            uint32_t from = i;
            while (i < declared && sorted.at[i].chain == sorted.at[from].chain) i++;
            add_chain(o, from, i - from);
        }
    }
    for (uint32_t k = 0; k < o->n_chains; k++) o->last_position += o->stride[k] * o->chain_n[k];
    o->pairs_are_rules = (o->n_chains > 1 || states > 1 || o->n_ordered < sorted.n) &&
                         ((uint64_t)(o->last_position + 1) * states << (sorted.n - o->n_ordered)) > INLINE_STATES;
}

static void count_limits(object_builder *o) {
    uint32_t required = 0;
    for (uint32_t i = 0; i < o->members.n; i++) required += o->members.at[i].required;
    if (o->min <= required) o->min = 0;
    if (o->regions.n == 0 && o->max >= o->members.n) o->max = REPEAT_INFINITE;
    o->count_cap = o->min > 1 ? o->min : 1;
    if (o->max != REPEAT_INFINITE && o->max > o->count_cap) o->count_cap = o->max;
    for (uint32_t k = 0; o->clauses >> k != 0; k++) {
        if ((o->clauses >> k & 1) == 0) continue;
        if (o->count_clause_min[k] > o->count_cap) o->count_cap = o->count_clause_min[k];
        if (o->count_clause_max[k] != REPEAT_INFINITE && o->count_clause_max[k] >= o->count_cap)
            o->count_cap = o->count_clause_max[k] + 1;
    }
}

expr *lower_object(schema_context *c, const schema_branch *branch) {
    builder *b = c->b;
    object_builder *o = arena_alloc(&b->w->mem, 1, sizeof *o);
    *o = (object_builder){.c = c, .branch = branch};
    if (!schema_counts(branch, "minProperties", "maxProperties", &o->min, &o->max)) return expr_never(b);
    find_members(o);
    for (uint32_t i = 0; i < o->members.n; i++) {
        member *m = &o->members.at[i];
        find_literals(o, m);
        m->spelled = json_fixed_string(b, m->key, m->key_n);
    }
    find_regions(o);
    for (uint32_t i = 0; i < branch->n_fails; i++) add_failure(o, branch->fails[i], new_clause(o));
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        add_dependencies(o, json_get(branch->holds[i], "dependencies"));
        add_dependencies(o, schema_get(c, branch->holds[i], "dependentRequired"));
    }
    simplify_clauses(o);
    if (o->impossible || o->min > o->max) return expr_never(b);
    for (uint32_t i = 0; i < o->members.n; i++)
        if (o->members.at[i].required && is_never(&o->members.at[i].literals)) return expr_never(b);
    count_limits(o);
    order_members(o);
    if (o->members.n == 0 && o->clauses == 0 && o->count_cap > REPEAT_FROM && o->regions.n > 0 && o->max > 0) return lower_map(o);
    if (o->count_cap > MAX_COUNT)
        escape(&b->w->out, STE_ERR_LIMIT, 0, "counting %u members beside named keys needs too many states", o->count_cap);
    return lower_states(o);
}
