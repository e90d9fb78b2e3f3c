/* schema_object.c - see schema_object.h: the automaton from member to member. */
#include "json_text.h"
#include "schema_object.h"
#include "schema_style.h"

#define MAX_UNORDERED 8
#define MAX_TRACKED 10   /* of them beside onces */
#define MAX_TRACKED_PRODUCT 4096
#define MOST_IN_STATES 2 /* where nothing but the keys themselves has to be remembered, more of them are onces */
#define MAX_GRID 256        /* positions when chains of declared keys are interleaved */
#define MAX_PRODUCT 1024    /* positions * sets of clauses * sets of unordered keys */
#define MAX_COUNT 3000
#define MAX_STATES 60000
#define INLINE_STATES 64    /* with more states, members become rules of their own */
#define REPEAT_FROM 16 /* maps with counts from here on are counted by a repeat */

/* ---- the automaton ---- */

uint32_t object_state_number(object_builder *o, object_state s) {
    arena *mem = &o->c->b->w->mem;
    uint32_t *slot, known = state_table_find(mem, &o->table, o->states.at, o->states.n, sizeof s, &s, &slot);
    if (known != UINT32_MAX) return o->number.at[known];
    if (o->states.n >= MAX_STATES)
        json_escape(o->c->b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "the constraints of an object need more than %d states", MAX_STATES);
    vec_push(mem, &o->states, s);
    vec_push(mem, &o->number, fsm_state(o->f));
    *slot = o->states.n;
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
    expr *key = m->spelled;
    expr *once = number >= o->once_from && number < o->members.n ? expr_once(b, number - o->once_from) : NULL;
    if (once != NULL && !o->pairs_are_rules) key = expr_pair(b, key, once); /* so keys share how they begin */
    expr *pair = style_pair(o->c, key, m->spelled, m->key != NULL, value);
    if (o->pairs_are_rules) {
        begin_entry *known = find_begin(o, (begin_entry){number, value->u.id, PAIR_RULE, UINT32_MAX});
        if (known->at == UINT32_MAX) known->at = rule_of(b, pair);
        pair = expr_rule(b, known->at);
        if (once != NULL) pair = expr_pair(b, once, pair);
    }
    graph_edge(b, o->graph, at, pair, to);
    return at;
}

/* Where a member may begin, after what stands before it. */
static uint32_t before_member(object_builder *o, uint32_t at, bool first) {
    if (first && o->c->now->first->kind == EXPR_EMPTY) return at;
    uint32_t next = fsm_state(o->f);
    graph_edge(o->c->b, o->graph, at, first ? o->c->now->first : o->separator, next);
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
    uint32_t again = 0, before = to.done; /* what an equal key may have made true this one has to make true */
    for (uint32_t i = 0; number >= o->members.n && i < m->ways.n; i++) again |= UINT32_C(1) << m->ways.at[i].clause;
    again &= to.others & ~m->there;
    to.done &= ~again;
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
            json_escape(c->b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "the negated schemas for one key multiply to more than 256 ways");
    }
    for (uint32_t j = 0; j < v.n; j++) {
        if ((v.at[j].done & again) != again) continue;
        to.done = v.at[j].done;
        if (number >= o->members.n) to.others |= to.done & ~before & ~m->there;
        uint32_t begin = member_begin(o, number, m, &v.at[j].literals, object_state_number(o, to));
        if (begin != UINT32_MAX) fsm_empty_add(o->f, open, begin);
    }
}

static bool has_onces(const object_builder *o) { return o->once_from < o->members.n; }

static uint32_t bit_of(const object_builder *o, uint32_t i) { return UINT32_C(1) << (i - o->n_ordered); }

static bool complete(const object_builder *o, const object_state *s) {
    uint32_t done = s->done, least = o->least_cap != 0 ? s->least : s->count;
    if (s->position != o->last_position || least < o->min || s->count > o->max) return false;
    for (uint32_t i = o->n_ordered; i < o->once_from; i++) {
        if ((s->seen & bit_of(o, i)) != 0) continue;
        if (o->members.at[i].required) return false;
        done |= o->members.at[i].missing;
    }
    for (uint32_t k = 0; o->clauses >> k != 0; k++)
        if ((o->clauses >> k & 1) != 0 && (s->count < o->count_clause_min[k] || least > o->count_clause_max[k]))
            done |= UINT32_C(1) << k;
    return (done & o->clauses) == o->clauses;
}

/* Distinct rules know JSON strings. */
static bool remembers_keys(const schema_context *c) { return c->form == FORM_JSON && c->excludes == NULL; }

static void expand_state(object_builder *o, uint32_t index) {
    object_state s = o->states.at[index];
    uint32_t at = o->number.at[index];
    if (complete(o, &s)) {
        builder *b = o->c->b;
        expr *close = s.count == 0 ? o->c->now->empty_end : o->c->now->object_end;
        graph_edge(b, o->graph, at, has_onces(o) ? expr_pair(b, expr_required(b), close) : close, 1);
    }
    object_state to = s;
    if (to.count < o->count_cap) to.count++;
    if (to.least < o->least_cap) to.least++;
    bool full = s.count == o->max;
    uint32_t open = UINT32_MAX; /* where a member can begin */
    for (uint32_t k = 0; k < o->n_chains; k++) {
        uint32_t passed = s.position / o->stride[k] % (o->chain_n[k] + 1);
        if (passed == o->chain_n[k]) continue;
        const member *m = &o->members.at[o->chain_from[k] + passed];
        object_state next = to, skip = s;
        next.position = skip.position = s.position + o->stride[k];
        skip.done |= m->missing;
        if (!m->required) fsm_empty_add(o->f, at, object_state_number(o, skip));
        if (full || literals_are_never(&m->literals)) continue;
        if (open == UINT32_MAX) open = before_member(o, at, s.count == 0);
        add_versions(o, o->chain_from[k] + passed, m, open, next);
    }
    if (s.position != o->last_position) return;
    for (uint32_t i = o->n_ordered; i < o->members.n && !full; i++) {
        const member *m = &o->members.at[i];
        bool once = i >= o->once_from;
        if ((!once && (s.seen & bit_of(o, i)) != 0) || literals_are_never(&m->literals)) continue;
        if (open == UINT32_MAX) open = before_member(o, at, s.count == 0);
        object_state next = to;
        if (!once) next.seen |= bit_of(o, i);
        add_versions(o, i, m, open, next);
    }
    for (uint32_t i = 0; i < o->regions.n && !full; i++) {
        object_state next = to;
        uint32_t bit = o->least_cap != 0 && i < MAX_COUNTED_REGIONS ? UINT32_C(1) << i : 0;
        if ((s.past & bit) != 0) continue;
        if (o->least_cap != 0 && (bit == 0 || (s.visited & bit) != 0)) next.least = s.least;
        next.visited |= bit;
        if (open == UINT32_MAX) open = before_member(o, at, s.count == 0);
        add_versions(o, o->members.n + i, &o->regions.at[i], open, next);
    }
    if (o->least_cap != 0 && !full && remembers_keys(o->c)) add_runs(o, s, at);
}

/* Two clauses that hold by the values of two keys of one region: the automaton does not know that the keys differ. */
static void note_ways(const object_builder *o) {
    bool several = false;
    for (uint32_t i = 0; i < o->regions.n; i++)
        for (uint32_t k = 1; k < o->regions.at[i].ways.n; k++)
            several = several || o->regions.at[i].ways.at[k].clause != o->regions.at[i].ways.at[0].clause;
    char pointer[160];
    json_pointer(schema_place(o->c, o->branch), pointer, sizeof pointer);
    if (several) builder_note(o->c->b, "%s: of keys under one pattern, the later ones have values by which all schemas fail that the earlier ones made fail", pointer);
}

static expr *lower_states(object_builder *o) {
    builder *b = o->c->b;
    note_ways(o);
    o->graph = expr_graph(b);
    o->f = o->graph->u.graph.shape;
    o->separator = o->c->space.comma;
    graph_edge(b, o->graph, 0, o->c->now->object, object_state_number(o, (object_state){0}));
    for (uint32_t i = 0; i < o->states.n; i++) expand_state(o, i);
    if (!has_onces(o)) return o->graph;
    uint32_t rule = rule_of(b, o->graph), words = (o->members.n - o->once_from + 63) / 64;
    uint64_t *required = arena_alloc(&b->w->mem, words, sizeof *required);
    for (uint32_t i = o->once_from, k = 0; i < o->members.n; i++, k++)
        if (o->members.at[i].required) required[k / 64] |= UINT64_C(1) << k % 64;
    b->rules.at[rule].required = required;
    b->rules.at[rule].required_words = words;
    return expr_rule(b, rule);
}

/* A map: no known keys, so members are alike and a repeat counts them. */
static expr *lower_map(object_builder *o) {
    schema_context *c = o->c;
    builder *b = c->b;
    expr **parts = arena_alloc(&b->w->mem, o->regions.n + 1, sizeof *parts);
    for (uint32_t i = 0; i < o->regions.n; i++)
        parts[i] = style_pair(c, o->regions.at[i].spelled, NULL, o->regions.at[i].key != NULL, conjunction_rule(c, &o->regions.at[i].literals));
    expr *pair = expr_rule(b, rule_of(b, expr_choice(b, parts, o->regions.n)));
    expr *more = expr_repeat(b, expr_pair(b, c->space.comma, pair), o->min > 1 ? o->min - 1 : 0,
                             o->max == REPEAT_INFINITE ? o->max : o->max - 1);
    expr *members = expr_sequence(b, (expr *[]){c->now->first, pair, more, c->now->object_end}, 4);
    if (o->min == 0) members = expr_choice(b, (expr *[]){members, c->now->empty_end}, 2);
    return expr_pair(b, c->now->object, members);
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
    bool ordered = m->declared || (m->negated && (tracked || m->literals.n != 0));
    if (ordered && !o->c->any_order) return 0;
    return m->declared || tracked ? (m->required ? 2 : 3) : 1;
}

static void add_chain(object_builder *o, uint32_t from, uint32_t n) {
    o->stride[o->n_chains] = o->n_chains == 0 ? 1 : o->stride[o->n_chains - 1] * (o->chain_n[o->n_chains - 1] + 1);
    o->chain_from[o->n_chains] = from;
    o->chain_n[o->n_chains++] = n;
}

/* Unordered keys of which it matters only that they come, and no value makes a clause true: they may be onces, moved
 * behind the others.  (The parser takes it that with a once not yet passed everything is possible that is possible
 * without it.  So it may not be what a clause waits for in vain, but for one that its presence makes true.) */
static uint32_t set_onces(const object_builder *o, member *at, uint32_t n) {
    uint32_t kept = 0;
    member *onces = arena_alloc(&o->c->b->w->mem, n + 1, sizeof *onces);
    for (uint32_t i = 0; i < n; i++) {
        if (at[i].missing == 0 && at[i].ways.n == 0)
            onces[i - kept] = at[i];
        else
            at[kept++] = at[i];
    }
    if (n != kept) memcpy(at + kept, onces, (n - kept) * sizeof *at);
    return n - kept;
}

/* Positions when the ordered members, which are the first n, are interleaved as far as that goes. */
static uint32_t grid_of(const member *at, uint32_t n, uint32_t states) {
    uint32_t grid = 1, chains = 0;
    for (uint32_t i = 0, to; i < n && grid <= MAX_GRID; i = to, chains++) {
        for (to = i; to < n && at[to].chain == at[i].chain;) to++;
        grid *= to - i + 1;
    }
    return grid > MAX_GRID || chains > MAX_CHAINS || grid * states > MAX_PRODUCT ? n + 1 : grid;
}

/* What only failing schemas declare is ordered if it can be interleaved with the others. */
static void drop_negated(object_builder *o, uint32_t states) {
    VEC(member) ordered = {0};
    bool any = false;
    for (uint32_t i = 0; i < o->members.n; i++) {
        if (group_of(o, &o->members.at[i]) != 0) continue;
        vec_push(&o->c->b->w->mem, &ordered, o->members.at[i]);
        any = any || o->members.at[i].negated;
    }
    if (!any || grid_of(ordered.at, ordered.n, states) != ordered.n + 1) return;
    for (uint32_t i = 0; i < o->members.n; i++) o->members.at[i].negated = false;
}

/* Which known keys are ordered, and in how many chains. */
static void order_members(object_builder *o) {
    arena *mem = &o->c->b->w->mem;
    VEC(member) sorted = {0};
    uint32_t declared = 0, states = UINT32_C(1) << count_bits(o->clauses);
    drop_negated(o, states);
    for (int group = 0; group < 4; group++) {
        for (uint32_t i = 0; i < o->members.n; i++) {
            const member *m = &o->members.at[i];
            if (group_of(o, m) != group) continue;
            if (group != 1)
                vec_push(mem, &sorted, *m);
            else if (!literals_are_never(&m->literals))
                vec_push(mem, &o->regions, *m);
        }
        if (group == 0) declared = sorted.n;
    }
    o->members.at = sorted.at;
    o->members.n = sorted.n;
    uint32_t unordered = sorted.n - declared, grid = grid_of(sorted.at, declared, states), most = 0;
    while (most < unordered && most < MAX_UNORDERED && ((uint64_t)grid * states << (most + 1)) <= MAX_PRODUCT) most++;
    o->once_from = sorted.n;
    uint32_t onces = o->count_cap > 1 || o->least_cap != 0 || unordered == 0 ? 0 : set_onces(o, &sorted.at[declared], unordered), in_states = unordered - onces;
    bool fits = onces <= (o->c->any_order ? MAX_ONCE : FEW_ONCES) && in_states <= MAX_TRACKED && ((uint64_t)grid * states << in_states) <= MAX_TRACKED_PRODUCT;
    if (fits && onces > 0 && (most < unordered || (o->clauses == 0 && unordered > MOST_IN_STATES))) {
        o->once_from = sorted.n - onces;
        most = unordered;
    }
    if (o->c->any_order && most < unordered)
        json_escape(o->c->b->w, schema_place(o->c, o->branch), STE_ERR_UNSUPPORTED,
                    "property_order \"any\" is supported for up to %u named keys here, not %u",
                    o->clauses == 0 && o->count_cap == 1 && o->least_cap == 0 ? MAX_ONCE : most, unordered);
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
                         ((uint64_t)(o->last_position + 1) * states << (o->once_from - o->n_ordered)) > INLINE_STATES;
}

static void count_limits(object_builder *o) {
    uint32_t required = 0, possible = 0;
    o->least_cap = 0;
    for (uint32_t i = 0; i < o->members.n; i++) possible += !literals_are_never(&o->members.at[i].literals);
    for (uint32_t i = 0; i < o->members.n; i++) {
        member *m = &o->members.at[i];
        if (o->regions.n == 0 && o->min == possible && !literals_are_never(&m->literals)) m->required = true;
        required += m->required;
    }
    if (required > o->max) o->impossible = true;
    if (required == o->max && required > 0) { /* these and no others */
        for (uint32_t i = 0; i < o->members.n; i++)
            if (!o->members.at[i].required) literal_add(o->c, &o->members.at[i].literals, &schema_never, HOLDS);
        o->regions.n = 0;
        o->max = REPEAT_INFINITE;
    }
    if (o->min <= required) o->min = 0;
    if (o->regions.n == 0 && o->max >= o->members.n) o->max = REPEAT_INFINITE;
    uint32_t lower = o->min > 1 ? o->min : 1;
    o->count_cap = 1;
    if (o->max != REPEAT_INFINITE && o->max > o->count_cap) o->count_cap = o->max;
    for (uint32_t k = 0; o->clauses >> k != 0; k++) {
        if ((o->clauses >> k & 1) == 0) continue;
        if (o->count_clause_min[k] > o->count_cap) o->count_cap = o->count_clause_min[k];
        if (o->count_clause_max[k] != REPEAT_INFINITE && o->count_clause_max[k] >= lower) lower = o->count_clause_max[k] + 1;
    }
    if (lower > 1 && o->regions.n > 0)
        o->least_cap = lower;
    else if (lower > o->count_cap)
        o->count_cap = lower;
}

/* Without known keys and of one kind: then the keys are like unique items (distinct.h), what follows a key is what
 * stands between two of them. */
static expr *lower_distinct_map(object_builder *o) {
    schema_context *c = o->c;
    builder *b = c->b;
    const json *place = schema_place(c, o->branch), *min = NULL;
    for (uint32_t i = 0; i < o->branch->n_holds && min == NULL; i++) min = json_get(o->branch->holds[i], "minProperties");
    expr *value = conjunction_rule(c, &o->regions.at[0].literals);
    if (value->kind == EXPR_NEVER) return value;
    distinct_list list = {.min = o->min, .max = o->max, .place = min == NULL ? place : min};
    list.open = expr_pair(b, c->now->object, c->now->first);
    list.shut = c->now->empty_end;
    list.element = o->regions.at[0].spelled;
    list.separator = expr_sequence(b, (expr *[]){c->space.colon, value, c->space.comma}, 3);
    list.close = expr_sequence(b, (expr *[]){c->space.colon, value, c->now->object_end}, 3);
    return expr_distinct(b, &list);
}

/* Where the key is declared; else the whole. */
static const json *place_of(const object_builder *o, const member *m) {
    for (uint32_t i = 0; i < o->branch->n_holds; i++) {
        const json *properties = json_get(o->branch->holds[i], "properties");
        const json *own = properties == NULL ? NULL : json_member(properties, m->key, m->key_n);
        if (own != NULL) return own;
    }
    return schema_place(o->c, o->branch);
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
        if (excluded_in(c, m->key, m->key_n)) literal_add(c, &m->literals, &schema_never, HOLDS);
        m->spelled = literals_are_never(&m->literals) ? json_fixed_string(b, m->key, m->key_n)
                                                      : style_key(c, place_of(o, m), m->key, m->key_n);
    }
    find_regions(o);
    find_clauses(o);
    if (o->impossible || o->min > o->max) return expr_never(b);
    for (uint32_t i = 0; i < o->members.n; i++)
        if (o->members.at[i].required && literals_are_never(&o->members.at[i].literals)) return expr_never(b);
    count_limits(o);
    if (o->least_cap != 0 && know_few_keys(o)) count_limits(o);
    if (o->impossible) return expr_never(b);
    if (o->least_cap > o->members.n + o->regions.n && !remembers_keys(c))
        json_escape(b->w, schema_place(c, branch), STE_ERR_UNSUPPORTED, "%u different keys are wanted: keys are not remembered in this style", o->least_cap);
    order_members(o);
    if (o->members.n == 0 && o->clauses == 0 && o->min > 1 && o->regions.n == 1 && remembers_keys(c)) return lower_distinct_map(o);
    if (o->members.n == 0 && o->clauses == 0 && o->least_cap == 0 && o->count_cap > REPEAT_FROM && o->regions.n > 0 && o->max > 0) return lower_map(o);
    if (o->count_cap > MAX_COUNT || o->least_cap > MAX_COUNT)
        json_escape(b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "counting %u members beside named keys needs too many states", o->count_cap > o->least_cap ? o->count_cap : o->least_cap);
    return lower_states(o);
}
