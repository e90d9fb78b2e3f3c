/* schema_clause.c - dependencies and negated schemas of an object, as clauses. */
#include "schema_object.h"

/* ---- clauses ---- */

static void simplify_clauses(object_builder *o);

/* The lowest free number, after making room if need be. */
static uint32_t new_clause(object_builder *o) {
    if (o->clauses == (UINT32_C(1) << MAX_CLAUSES) - 1) simplify_clauses(o);
    uint32_t k = 0;
    while (k < MAX_CLAUSES && (o->clauses >> k & 1) != 0) k++;
    if (k == MAX_CLAUSES)
        json_escape(o->c->b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "more than %d dependencies and negated schemas for one object", MAX_CLAUSES);
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
    const json *list = json_get(node, "required"), *min = json_get(node, "minProperties"), *max = json_get(node, "maxProperties");
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

/* The value of some key that nothing under the node evaluates is not of its "unevaluatedProperties". */
static void add_rest_failure(object_builder *o, const json *node, uint32_t clause) {
    const json *rest = schema_get(o->c, node, "unevaluatedProperties");
    for (uint32_t i = 0; i < o->members.n + o->regions.n; i++) {
        way_target t = {i < o->members.n ? &o->members.at[i] : &o->regions.at[i - o->members.n], clause};
        if (!key_is_evaluated(o, node, t.m)) add_way(o, rest, &t);
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
    bool never = m->key != NULL && literals_are_never(&m->literals);
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

void find_clauses(object_builder *o) {
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_fails; i++) add_failure(o, b->fails[i], new_clause(o));
    for (uint32_t i = 0; i < b->n_holds; i++)
        if (schema_rest_fails(b, i)) add_rest_failure(o, b->holds[i], new_clause(o));
    for (uint32_t i = 0; i < b->n_holds; i++) {
        add_dependencies(o, json_get(b->holds[i], "dependencies"));
        add_dependencies(o, schema_get(o->c, b->holds[i], "dependentRequired"));
    }
    simplify_clauses(o);
}
