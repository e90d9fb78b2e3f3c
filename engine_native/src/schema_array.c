/* schema_array.c - arrays: items by index, counts, contains, unique values, unevaluated items, and their negations.
 *
 * The plain case (items and their number) is a sequence and a counted repeat.
 * Everything else is an automaton over items whose states remember
 *
 *   index    items so far, up to the last number that matters
 *   count    per `contains`: items that satisfied it, up to the last that matters
 *   done     per negated node, and negated "unevaluatedItems": has one of the ways to fail it come true?
 *   seen     under uniqueItems: which of a few listed values have come
 *
 * Unique items of more values are a rule of their own kind, alone (lower_distinct).
 *
 * An item that may or may not satisfy a schema is offered in both versions; where
 * the exact count matters, the second version is the schema's negation. */
#include "schema_style.h"
#include "state_table.h"

#define MAX_PREFIX 2000 /* each of them nests the expression one level deeper */
#define MAX_INDEX 3000
#define MAX_STATES 60000
#define MAX_COUNTERS 4
#define MAX_DONE 16
#define MAX_VALUES 12

typedef struct counter {
    const json *schema;
    uint32_t min, max;
    uint32_t cap;     /* counts from here on are alike */
    bool exact;       /* more than a lower bound matters */
    bool fails;       /* the count must be outside min .. max */
    uint32_t clause;
} counter;

typedef struct array_state {
    uint32_t index, done, seen;
    uint16_t count[MAX_COUNTERS];
} array_state;

typedef struct array_builder {
    schema_context *c;
    const schema_branch *branch;
    uint32_t min, max, prefix, index_cap;
    counter counters[MAX_COUNTERS];
    uint32_t n_counters;
    const json *rests[MAX_DONE]; /* nodes whose "unevaluatedItems" must fail */
    uint32_t n_rests;
    bool unique;
    VEC(const json *) values; /* under uniqueItems */
    expr **spelled;
    expr *separator;
    expr *graph;
    fsm *f; /* its shape */
    VEC(array_state) states;
    VEC(uint32_t) number; /* of the state after an item, in f */
    state_table table;
} array_builder;

/* ---- what an item must satisfy ---- */

static bool covers_rest(const schema_context *c, const json *node) {
    return schema_item(c, node, UINT32_MAX) != NULL || json_get(node, "unevaluatedItems") != NULL;
}

/* {"anyOf": [schema, contained, ...]} for an item that no index evaluates (2020-12: contains does). */
static const json *unless_contained(schema_context *c, const schema_branch *branch, const json *node, const json *schema) {
    VEC(json) list = {0};
    vec_push(&c->b->w->mem, &list, *schema);
    for (uint32_t i = 0; i < branch->n_holds && schema_draft(c, node) == DRAFT_2020; i++) {
        const json *contains = schema_get(c, branch->holds[i], "contains");
        if (contains != NULL && schema_under(branch, i, node)) vec_push(&c->b->w->mem, &list, *contains);
    }
    return list.n == 1 ? schema : schema_any_of(c, schema, list.at, list.n);
}

/* What the item must satisfy for "unevaluatedItems" of the node; NULL: nothing, or something evaluates it. */
static const json *rest_schema(schema_context *c, const schema_branch *branch, const json *node, uint32_t index) {
    const json *other = schema_get(c, node, "unevaluatedItems");
    if (other == NULL || schema_says_nothing(other)) return NULL;
    for (uint32_t k = 0; k < branch->n_holds; k++) {
        const json *inner = branch->holds[k];
        if (!schema_under(branch, k, node)) continue;
        if (index < schema_prefix_length(c, inner)) return NULL;
        if (inner == node ? schema_item(c, inner, UINT32_MAX) != NULL : covers_rest(c, inner)) return NULL;
    }
    return unless_contained(c, branch, node, other);
}

static void add_item(schema_context *c, const schema_branch *branch, uint32_t index, literal_list *out) {
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        literal_add(c, out, schema_item(c, branch->holds[i], index), HOLDS);
        if (!schema_rest_fails(branch, i)) literal_add(c, out, rest_schema(c, branch, branch->holds[i], index), HOLDS);
    }
}

static expr *item_rule(schema_context *c, const schema_branch *branch, uint32_t index) {
    literal_list list = {0};
    add_item(c, branch, index, &list);
    return conjunction_rule(c, &list);
}

/* ---- the plain case ---- */

static expr *lower_plain(schema_context *c, const schema_branch *branch, uint32_t min, uint32_t max, uint32_t prefix) {
    builder *b = c->b;
    if (prefix > MAX_PREFIX) json_escape(b->w, schema_place(c, branch), STE_ERR_LIMIT, "more than %d items have a schema of their own", MAX_PREFIX);
    expr *separator = c->space.comma, *rest_item = item_rule(c, branch, prefix);
    /* tail: what may follow `i` items, built from the back. */
    expr *tail = expr_empty(b);
    if (max > prefix) {
        uint32_t from = prefix == 0 ? 1 : prefix; /* the first item has no comma before it */
        uint32_t more_max = max == REPEAT_INFINITE ? REPEAT_INFINITE : max - from;
        tail = expr_repeat(b, expr_pair(b, separator, rest_item), min > from ? min - from : 0, more_max);
        if (prefix == 0) tail = expr_pair(b, rest_item, tail);
    }
    for (uint32_t i = prefix < max ? prefix : max; i-- > 0;) {
        expr *item = item_rule(c, branch, i);
        tail = expr_pair(b, i == 0 ? item : expr_pair(b, separator, item), tail);
        if (i > 0 && i >= min) tail = expr_optional(b, tail);
    }
    /* "[" space "]" or "[" space items space "]" */
    expr *items = max == 0 ? expr_empty(b) : expr_sequence(b, (expr *[]){c->now->first, tail, c->space.inside}, 3);
    if (min == 0) items = expr_optional(b, items);
    return expr_sequence(b, (expr *[]){c->now->array, items, c->now->array_end}, 3);
}

/* ---- unique items ---- */

/* The values of all items, if they are finitely many. */
static bool add_values(array_builder *a, uint32_t index) {
    schema_context *c = a->c;
    literal_list list = {0};
    add_item(c, a->branch, index, &list);
    VEC(json) found = {0};
    if (!schema_finite(c, list.at, list.n, &found.at, &found.n)) return false;
    for (uint32_t i = 0; i < found.n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < a->values.n && !known; k++) known = json_equal(a->values.at[k], &found.at[i]);
        if (!known) vec_push(&c->b->w->mem, &a->values, &found.at[i]);
        if (a->values.n > MAX_VALUES) return false;
    }
    return true;
}

/* False if they are too many to be remembered in states. */
static bool find_values(array_builder *a) {
    schema_context *c = a->c;
    bool finite = true;
    for (uint32_t i = 0; i <= a->prefix && i < a->max && finite; i++) finite = add_values(a, i);
    if (!finite) return false;
    a->spelled = arena_alloc(&c->b->w->mem, a->values.n + 1, sizeof *a->spelled);
    for (uint32_t i = 0; i < a->values.n; i++)
        a->spelled[i] = expr_rule(c->b, rule_of(c->b, style_fixed_item(c, a->values.at[i])));
    return true;
}

/* Arrays that begin with `open` and so many items, then items that are all alike; each has another value: the parser
 * remembers them (distinct.h).  `list`: what all but the first ones satisfy. */
static expr *distinct_rest(array_builder *a, const json *at, expr *open, uint32_t begun, const literal_list *literals) {
    schema_context *c = a->c;
    builder *b = c->b;
    literal_list list = *literals;
    VEC(json) values = {0};
    distinct_list out = {.min = a->min > begun ? a->min - begun : 0, .place = at};
    out.max = a->max == REPEAT_INFINITE ? a->max : a->max - begun;
    if (begun > 0 && out.min == 0) out.min = 1; /* without more, the array is another alternative */
    if (schema_finite(c, list.at, list.n, &values.at, &values.n)) {
        for (uint32_t i = 0; i < values.n; i++) {
            bool known = false;
            for (uint32_t k = 0; k < i && !known; k++) known = json_equal(&values.at[k], &values.at[i]);
            out.values += !known;
        }
        work_charge(b->w, (uint64_t)values.n * values.n / 16);
        if (out.max > out.values) out.max = out.values;
        if (out.min > out.max) return expr_never(b);
    }
    bool empty = out.min == 0 && c->now->first->kind != EXPR_EMPTY; /* then that is another alternative too */
    if (empty) out.min = 1;
    out.open = begun == 0 ? expr_pair(b, open, c->now->first) : open;
    out.shut = expr_text(b, "]");
    out.close = expr_pair(b, c->space.inside, expr_text(b, "]"));
    out.separator = c->space.comma;
    out.element = conjunction_rule(c, &list);
    expr *some = out.max == 0 ? expr_never(b) : expr_distinct(b, &out);
    return empty ? expr_choice(b, (expr *[]){some, expr_pair(b, open, c->now->array_end)}, 2) : some;
}

#define MAX_BEGINNINGS 64 /* of arrays whose first items are listed */

typedef struct beginnings {
    array_builder *a;
    const json *at; /* "uniqueItems" */
    VEC(json) first[MAX_VALUES]; /* the values of each first item */
    const json *chosen[MAX_VALUES];
    VEC(expr *) parts;
    uint32_t n;
} beginnings;

/* All arrays that begin with the items chosen so far, of which there are `index`, written in `text`. */
static void add_beginning(beginnings *s, uint32_t index, expr *text) {
    array_builder *a = s->a;
    schema_context *c = a->c;
    builder *b = c->b;
    expr *end = index == 0 ? c->now->array_end : expr_pair(b, c->space.inside, c->now->array_end);
    if (index >= a->min) vec_push(&b->w->mem, &s->parts, expr_pair(b, text, end));
    if (index == a->max) return;
    expr *open = index == 0 ? expr_pair(b, text, c->now->first) : expr_pair(b, text, c->space.comma);
    if (index == a->prefix) {
        literal_list rest = {0};
        add_item(c, a->branch, index, &rest);
        for (uint32_t i = 0; i < index; i++) literal_add(c, &rest, schema_only(c, s->chosen[i]), FAILS);
        if (++s->n > MAX_BEGINNINGS)
            json_escape(b->w, s->at, STE_ERR_LIMIT, "keyword \"uniqueItems\": the first items have more than %d combinations of values", MAX_BEGINNINGS);
        vec_push(&b->w->mem, &s->parts, distinct_rest(a, s->at, open, index, &rest));
        return;
    }
    for (uint32_t i = 0; i < s->first[index].n; i++) {
        const json *value = &s->first[index].at[i];
        bool known = false;
        for (uint32_t k = 0; k < index && !known; k++) known = json_equal(s->chosen[k], value);
        s->chosen[index] = value;
        if (!known) add_beginning(s, index + 1, expr_pair(b, open, schema_fixed(c, value)));
    }
}

/* The first items have schemas of their own, which list their values: each beginning is written out. */
static expr *distinct_after_prefix(array_builder *a, const json *at) {
    schema_context *c = a->c;
    beginnings *s = arena_alloc(&c->b->w->mem, 1, sizeof *s);
    s->a = a;
    s->at = at;
    for (uint32_t i = 0; i < a->prefix; i++) {
        literal_list list = {0};
        add_item(c, a->branch, i, &list);
        if (a->prefix > MAX_VALUES || !schema_finite(c, list.at, list.n, &s->first[i].at, &s->first[i].n))
            json_escape(c->b->w, at, STE_ERR_UNSUPPORTED,
                        "keyword \"uniqueItems\" beside items with schemas of their own is supported if these list their values");
    }
    add_beginning(s, 0, c->now->array);
    return expr_choice(c->b, s->parts.at, s->parts.n);
}

static expr *lower_distinct(array_builder *a, const json *at) {
    schema_context *c = a->c;
    if (c->form == FORM_LITERAL) return expr_never(c->b); /* written as JSON */
    if (a->n_counters != 0 || a->branch->n_fails + a->n_rests != 0)
        json_escape(c->b->w, at, STE_ERR_UNSUPPORTED,
                    "keyword \"uniqueItems\" beside %s is supported for items of at most %d listed values",
                    a->n_counters != 0 ? "\"contains\"" : "a negation", MAX_VALUES);
    if (c->form != FORM_JSON)
        json_escape(c->b->w, at, STE_ERR_UNSUPPORTED, "keyword \"uniqueItems\" is supported in this style for items of at most %d listed values", MAX_VALUES);
    if (a->prefix != 0) return distinct_after_prefix(a, at);
    literal_list list = {0};
    add_item(c, a->branch, 0, &list);
    return distinct_rest(a, at, c->now->array, 0, &list);
}

/* ---- states ---- */

static uint32_t state_number(array_builder *a, array_state s) {
    arena *mem = &a->c->b->w->mem;
    uint32_t *slot, known = state_table_find(mem, &a->table, a->states.at, a->states.n, sizeof s, &s, &slot);
    if (known != UINT32_MAX) return a->number.at[known];
    if (a->states.n >= MAX_STATES)
        json_escape(a->c->b->w, schema_place(a->c, a->branch), STE_ERR_LIMIT, "the constraints of an array need more than %d states", MAX_STATES);
    vec_push(mem, &a->states, s);
    vec_push(mem, &a->number, fsm_state(a->f));
    *slot = a->states.n;
    return a->number.at[a->states.n - 1];
}

/* ---- what can make the negated node `k` fail ---- */

static bool count_fails(const schema_context *c, const json *node, uint32_t n) {
    const json *min = schema_get(c, node, "minItems"), *max = schema_get(c, node, "maxItems");
    uint32_t v;
    return (min != NULL && json_count(min, &v) && n < v) || (max != NULL && json_count(max, &v) && n > v);
}

static bool complete(const array_builder *a, const array_state *s) {
    if (s->index < a->min || s->index > a->max) return false;
    uint32_t done = s->done;
    for (uint32_t i = 0; i < a->n_counters; i++) {
        const counter *k = &a->counters[i];
        bool inside = s->count[i] >= k->min && s->count[i] <= k->max;
        if (!k->fails && !inside) return false;
        if (k->fails && !inside) done |= UINT32_C(1) << k->clause;
    }
    for (uint32_t i = 0; i < a->branch->n_fails; i++)
        if ((done >> i & 1) == 0 && !count_fails(a->c, a->branch->fails[i], s->index)) return false;
    for (uint32_t i = 0; i < a->n_rests; i++)
        if ((done >> (a->branch->n_fails + i) & 1) == 0) return false;
    return true;
}

/* ---- one item ---- */

typedef struct version {
    array_state to;
    literal_list literals;
} version;

static literal_list with(schema_context *c, const literal_list *list, const json *node, sign s) {
    literal_list out = {0};
    for (uint32_t i = 0; i < list->n; i++) vec_push(&c->b->w->mem, &out, list->at[i]);
    literal_add(c, &out, node, s);
    return out;
}

typedef VEC(version) versions;

static void split_by_counters(array_builder *a, versions *v) {
    for (uint32_t i = 0; i < a->n_counters; i++) {
        const counter *k = &a->counters[i];
        for (uint32_t j = 0, n = v->n; j < n; j++) {
            version more = v->at[j];
            more.literals = with(a->c, &v->at[j].literals, k->schema, HOLDS);
            if (more.to.count[i] < k->cap) more.to.count[i]++;
            bool same = !k->exact && more.to.count[i] == v->at[j].to.count[i];
            if (k->exact) v->at[j].literals = with(a->c, &v->at[j].literals, k->schema, FAILS);
            if (!same) vec_push(&a->c->b->w->mem, v, more);
        }
    }
}

static void split_by_failures(array_builder *a, uint32_t index, versions *v) {
    for (uint32_t i = 0; i < a->branch->n_fails + a->n_rests; i++) {
        const json *schema = i < a->branch->n_fails ? schema_item(a->c, a->branch->fails[i], index)
                                                    : rest_schema(a->c, a->branch, a->rests[i - a->branch->n_fails], index);
        if (schema == NULL || schema_says_nothing(schema)) continue;
        for (uint32_t j = 0, n = v->n; j < n; j++) {
            if ((v->at[j].to.done >> i & 1) != 0) continue;
            version more = v->at[j];
            more.literals = with(a->c, &v->at[j].literals, schema, FAILS);
            more.to.done |= UINT32_C(1) << i;
            vec_push(&a->c->b->w->mem, v, more);
        }
        if (v->n > 256) json_escape(a->c->b->w, schema_place(a->c, a->branch), STE_ERR_LIMIT, "the negated constraints of an array multiply too much");
    }
}

static void add_unique(array_builder *a, uint32_t from, const array_state *s, const version *v) {
    schema_context *c = a->c;
    for (uint32_t i = 0; i < a->values.n; i++) {
        if ((s->seen >> i & 1) != 0) continue;
        bool fits = true;
        for (uint32_t k = 0; k < v->literals.n && fits; k++)
            fits = schema_valid(c, a->values.at[i], v->literals.at[k].node) == (v->literals.at[k].sign == HOLDS);
        array_state to = v->to;
        to.seen |= UINT32_C(1) << i;
        if (fits) graph_edge(c->b, a->graph, from, a->spelled[i], state_number(a, to));
    }
}

static void add_items(array_builder *a, uint32_t from, array_state s) {
    schema_context *c = a->c;
    if (s.index == a->max) return; /* max is below the cap whenever it matters */
    versions v = {0};
    version first = {.to = s};
    if (first.to.index < a->index_cap) first.to.index++;
    add_item(c, a->branch, s.index, &first.literals);
    vec_push(&c->b->w->mem, &v, first);
    split_by_counters(a, &v);
    split_by_failures(a, s.index, &v);
    for (uint32_t i = 0; i < v.n; i++) {
        if (a->unique)
            add_unique(a, from, &s, &v.at[i]);
        else
            graph_edge(c->b, a->graph, from, conjunction_rule(c, &v.at[i].literals), state_number(a, v.at[i].to));
    }
}

/* ---- set-up ---- */

static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void add_counter(array_builder *a, const json *node, bool fails, uint32_t clause) {
    schema_context *c = a->c;
    const json *schema = schema_get(c, node, "contains"), *low = schema_get(c, node, "minContains");
    const json *high = schema_get(c, node, "maxContains");
    counter k = {.schema = schema, .min = 1, .max = REPEAT_INFINITE, .fails = fails, .clause = clause};
    if (schema == NULL) return;
    if (low != NULL) json_count(low, &k.min);
    if (high != NULL) json_count(high, &k.max);
    if (k.min == 0 && k.max == REPEAT_INFINITE) return;
    if (a->n_counters == MAX_COUNTERS)
        json_escape(c->b->w, schema, STE_ERR_LIMIT, "more than %d \"contains\" for one array", MAX_COUNTERS);
    k.cap = k.max == REPEAT_INFINITE ? k.min : most(k.min, k.max + 1);
    k.exact = fails ? k.min > 0 : k.max != REPEAT_INFINITE;
    if (k.cap > MAX_INDEX) json_escape(c->b->w, schema, STE_ERR_LIMIT, "\"contains\" counts beyond %d", MAX_INDEX);
    a->counters[a->n_counters++] = k;
}

static void count_matters(array_builder *a, const json *node, bool fails) {
    uint32_t v;
    const json *min = schema_get(a->c, node, "minItems"), *max = schema_get(a->c, node, "maxItems");
    a->index_cap = most(a->index_cap, schema_prefix_length(a->c, node));
    if (fails && min != NULL && json_count(min, &v)) a->index_cap = most(a->index_cap, v);
    if (fails && max != NULL && json_count(max, &v) && v != REPEAT_INFINITE) a->index_cap = most(a->index_cap, v + 1);
    if (a->index_cap > MAX_INDEX)
        json_escape(a->c->b->w, node, STE_ERR_LIMIT, "counting to %u beside other constraints of an array", a->index_cap);
}

static expr *lower_states(array_builder *a) {
    builder *b = a->c->b;
    a->graph = expr_graph(b);
    a->f = a->graph->u.graph.shape;
    a->separator = a->c->space.comma;
    array_state none = {0};
    uint32_t begin = fsm_state(a->f);
    graph_edge(b, a->graph, 0, a->c->now->array, begin);
    if (complete(a, &none)) graph_edge(b, a->graph, begin, a->c->now->array_end, 1);
    uint32_t first = begin;
    if (a->c->now->first->kind != EXPR_EMPTY) {
        first = fsm_state(a->f);
        graph_edge(b, a->graph, begin, a->c->now->first, first);
    }
    add_items(a, first, none);
    for (uint32_t i = 0; i < a->states.n; i++) {
        array_state s = a->states.at[i];
        uint32_t at = a->number.at[i];
        if (complete(a, &s)) graph_edge(b, a->graph, at, expr_pair(b, a->c->space.inside, a->c->now->array_end), 1);
        if (s.index == a->max) continue;
        uint32_t next = fsm_state(a->f);
        graph_edge(b, a->graph, at, a->separator, next);
        add_items(a, next, s);
    }
    return a->graph;
}

expr *lower_array(schema_context *c, const schema_branch *branch) {
    builder *b = c->b;
    array_builder *a = arena_alloc(&b->w->mem, 1, sizeof *a);
    *a = (array_builder){.c = c, .branch = branch};
    if (!schema_counts(branch, "minItems", "maxItems", &a->min, &a->max)) return expr_never(b);
    const json *unique = NULL;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        a->prefix = most(a->prefix, schema_prefix_length(c, branch->holds[i]));
        const json *at = json_get(branch->holds[i], "uniqueItems");
        if (at != NULL && at->kind == JSON_TRUE && a->max > 1) unique = at;
        add_counter(a, branch->holds[i], false, 0);
        if (!schema_rest_fails(branch, i)) continue;
        if (a->n_rests + branch->n_fails < MAX_DONE) a->rests[a->n_rests] = branch->holds[i];
        a->n_rests++;
    }
    if (branch->n_fails + a->n_rests == 0 && unique == NULL && a->n_counters == 0)
        return lower_plain(c, branch, a->min, a->max, a->prefix);
    if (branch->n_fails + a->n_rests > MAX_DONE)
        json_escape(b->w, schema_place(c, branch), STE_ERR_LIMIT, "more than %d negated schemas for one array", MAX_DONE);
    for (uint32_t i = 0; i < branch->n_fails; i++) {
        const json *at = json_get(branch->fails[i], "uniqueItems");
        if (at != NULL && at->kind == JSON_TRUE)
            json_escape(b->w, at, STE_ERR_UNSUPPORTED, "keyword \"uniqueItems\" is not supported under a negation");
        add_counter(a, branch->fails[i], true, i);
        count_matters(a, branch->fails[i], true);
    }
    for (uint32_t i = 0; i < branch->n_holds; i++) count_matters(a, branch->holds[i], false);
    a->unique = unique != NULL;
    if (a->unique && !find_values(a)) return lower_distinct(a, unique);
    if (a->unique && a->max > a->values.n) a->max = a->values.n; /* no more values than that */
    if (a->min > a->max) return expr_never(b);
    a->index_cap = most(a->index_cap, a->max == REPEAT_INFINITE ? a->min : a->max);
    if (a->index_cap > MAX_INDEX)
        json_escape(b->w, schema_place(c, branch), STE_ERR_LIMIT, "counting to %u beside other constraints of an array", a->index_cap);
    return lower_states(a);
}
