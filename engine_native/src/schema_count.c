/* schema_count.c - how many different keys an object has, where keys may repeat.
 *
 * An upper bound needs no care: members that repeat a key count again, so there are never more keys than counted.  For
 * lower bounds (minProperties, a negated maxProperties) the automaton counts only keys that differ for sure:
 *
 *   - each known key;
 *   - the first key of each region, since regions have no keys in common;
 *   - the keys of a *run*: members of one region in a row, whose keys are the elements of a distinct rule (distinct.h):
 *
 *         , "x": 1, "y": 2, "z": 3        open   element   separator   element   separator   element   close
 *         ^  ^   ^     ^                    ,      "x"       : 1 ,        "y"      : 2 ,        "z"      : 3
 *
 * A run is the only place where keys of its region come, so what it is counted for adds to what was counted before.
 * For each number of keys that makes a difference there is one edge, from the state before the run to the one behind.
 *
 * The values of a run are of the region's schema, and that is all that is known of them: what makes a negated schema fail
 * must come from elsewhere.  This is narrower than it need be; a note says so.
 *
 * Regions with few keys are no regions here: their keys become known ones. */
#include "schema_object.h"
#include "schema_style.h"
#include "utf8.h"

#define MOST_KNOWN 4   /* keys of a region that become known keys */
#define MOST_RUNS 64   /* numbers of keys that make a difference, for one region and state */
#define MOST_EDGES 200000

/* ---- the keys of a region ---- */

typedef struct spelling_part {
    uint32_t at, n; /* state; bytes of text */
    char *text;
} spelling_part;

typedef VEC(spelling_part) spelling_parts;

static void add_part(work *w, spelling_parts *list, const spelling_part *from, uint32_t cp, uint32_t to) {
    spelling_part part = {to, from->n, arena_alloc(&w->mem, from->n + 4u, 1)};
    if (from->n != 0) memcpy(part.text, from->text, from->n);
    part.n += utf8_encode(cp, (uint8_t *)part.text + from->n);
    vec_push(&w->mem, list, part);
}

/* The keys, if there are at most so many; false if there are more.  Level by level; every way leads to a key, so more
 * ways than `most` are more keys. */
static bool few_keys(work *w, const fsm *f, uint32_t most, spelling_parts *out) {
    spelling_parts level = {0};
    vec_push(&w->mem, &level, (spelling_part){.at = f->start});
    while (level.n != 0) {
        spelling_parts next = {0};
        for (uint32_t i = 0; i < level.n; i++) {
            const spelling_part *p = &level.at[i];
            work_charge(w, 1);
            if (f->final.at[p->at]) vec_push(&w->mem, out, *p);
            for (uint32_t e = f->first[p->at]; e < f->first[p->at + 1]; e++) {
                const fsm_edge *g = &f->edges.at[e];
                if (g->hi - g->lo >= most) return false;
                for (uint32_t cp = g->lo; cp <= g->hi; cp++) add_part(w, &next, p, cp, g->to);
            }
            if (next.n + out->n > most) return false;
        }
        level = next;
    }
    return out->n <= most;
}

static void know_keys(object_builder *o, const member *region, const spelling_parts *keys) {
    schema_context *c = o->c;
    for (uint32_t k = 0; k < keys->n; k++) {
        member m = *region;
        m.key = keys->at[k].n == 0 ? "" : keys->at[k].text;
        m.key_n = keys->at[k].n;
        m.keys = NULL;
        m.spelled = style_key(c, schema_place(c, o->branch), m.key, m.key_n);
        m.ways.at = arena_copy(&c->b->w->mem, region->ways.at, region->ways.n * sizeof *region->ways.at);
        vec_push(&c->b->w->mem, &o->members, m);
    }
}

bool know_few_keys(object_builder *o) {
    uint32_t keep = 0, before = o->regions.n;
    for (uint32_t i = 0; i < o->regions.n; i++) {
        member *m = &o->regions.at[i];
        spelling_parts keys = {0};
        if (m->keys != NULL && few_keys(o->c->b->w, m->keys, MOST_KNOWN, &keys))
            know_keys(o, m, &keys);
        else
            o->regions.at[keep++] = *m;
    }
    o->regions.n = keep;
    return keep < before;
}

/* ---- runs ---- */

typedef struct run_rule {
    uint32_t region, least, most;
    bool first; /* nothing before it in the object */
    expr *rule;
} run_rule;

struct run_rules {
    VEC(run_rule) at;
    uint32_t *keys; /* of each region, how many, if that is known; else 0 */
};

/* Where errors that such a run cannot be are reported: the keyword that asks for so many. */
static const json *bound_place(const object_builder *o) {
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_holds; i++)
        if (json_get(b->holds[i], "minProperties") != NULL) return json_get(b->holds[i], "minProperties");
    for (uint32_t i = 0; i < b->n_fails; i++)
        if (json_get(b->fails[i], "maxProperties") != NULL) return json_get(b->fails[i], "maxProperties");
    return schema_place(o->c, b);
}

static expr *run_of(object_builder *o, uint32_t region, uint32_t least, uint32_t most, bool first) {
    schema_context *c = o->c;
    builder *b = c->b;
    for (uint32_t i = 0; i < o->runs->at.n; i++) {
        const run_rule *known = &o->runs->at.at[i];
        if (known->region == region && known->least == least && known->most == most && known->first == first) return known->rule;
    }
    const member *m = &o->regions.at[region];
    expr *value = conjunction_rule(c, &m->literals);
    if (value->kind == EXPR_NEVER) return value;
    expr *pair = expr_pair(b, c->space.colon, value);
    distinct_list list = {.min = least, .max = most, .values = o->runs->keys[region], .place = bound_place(o)};
    list.open = first ? expr_pair(b, c->now->object, c->now->first) : o->separator;
    list.shut = expr_never(b);
    list.element = m->spelled;
    list.separator = expr_pair(b, pair, c->space.comma);
    list.close = pair;
    expr *rule = expr_distinct(b, &list);
    vec_push(&b->w->mem, &o->runs->at, (run_rule){region, least, most, first, rule});
    return rule;
}

static uint32_t keys_of_region(object_builder *o, uint32_t region) {
    const member *m = &o->regions.at[region];
    spelling_parts keys = {0};
    if (m->key != NULL) return 1;
    return m->keys != NULL && few_keys(o->c->b->w, m->keys, MOST_RUNS, &keys) ? keys.n : 0;
}

/* The last number from n on that says no more than n does. */
static uint32_t run_until(const object_builder *o, const object_state *s, uint32_t n, uint32_t most) {
    uint32_t until = most;
    for (uint32_t k = 0; k <= MAX_CLAUSES; k++) { /* the clauses, and then the bound itself */
        uint32_t low = o->min, high = 0;
        if (k < MAX_CLAUSES) {
            if ((o->clauses >> k & 1) == 0) continue;
            low = o->count_clause_max[k] == REPEAT_INFINITE ? 0 : o->count_clause_max[k] + 1;
            high = o->count_clause_min[k];
        }
        if (low > s->least + n && low - s->least - 1 < until) until = low - s->least - 1;
        if (high > s->count + n && high - s->count - 1 < until) until = high - s->count - 1;
    }
    return until;
}

/* A state is a number of keys and, for each region, whether it is still to come, begun or past; from each there is an edge
 * for each number of keys and region. */
static void check_runs(const object_builder *o) {
    uint64_t edges = (uint64_t)o->least_cap * o->least_cap;
    for (uint32_t i = 0; i < o->regions.n && edges <= MOST_EDGES; i++) edges *= 3;
    if (o->regions.n > 1 && edges * o->regions.n > MOST_EDGES)
        json_escape(o->c->b->w, bound_place(o), STE_ERR_LIMIT, "counting %u different keys under %u patterns and others needs too many states", o->least_cap,
                    o->regions.n);
}

/* A run says of its values only what holds for all of them. */
static void note_values(const object_builder *o) {
    bool any = false;
    for (uint32_t i = 0; i < o->regions.n; i++) any = any || o->regions.at[i].ways.n != 0;
    char pointer[160];
    json_pointer(bound_place(o), pointer, sizeof pointer);
    if (any) builder_note(o->c->b, "%s: of keys under one pattern, those that are counted have no value that makes a schema fail", pointer);
}

void add_runs(object_builder *o, object_state s, uint32_t at) {
    work *w = o->c->b->w;
    if (o->runs == NULL) {
        check_runs(o);
        note_values(o);
        o->runs = arena_alloc(&w->mem, 1, sizeof *o->runs);
        o->runs->keys = arena_alloc(&w->mem, o->regions.n + 1u, sizeof *o->runs->keys);
        for (uint32_t i = 0; i < o->regions.n; i++) o->runs->keys[i] = keys_of_region(o, i);
    }
    bool alone = o->regions.n == 1 && o->n_ordered == o->members.n; /* nothing can follow */
    for (uint32_t i = 0; i < o->regions.n && i < MAX_COUNTED_REGIONS && s.least + 1 < o->least_cap; i++) {
        if ((s.visited >> i & 1) != 0) continue;
        uint32_t keys = o->runs->keys[i], most = o->max == REPEAT_INFINITE ? o->max : o->max - s.count, enough = o->least_cap - s.least;
        bool counts = o->count_cap > 1; /* for upper bounds */
        uint32_t runs = 0;
        if (keys != 0 && keys < most) most = keys;
        for (uint32_t n = 2, until; n <= most; n = until + 1) {
            until = alone ? run_until(o, &s, n, most) : n >= enough && !counts ? most : n;
            if (++runs > MOST_RUNS)
                json_escape(w, bound_place(o), STE_ERR_LIMIT, "counting different keys up to %u beside named keys or patterns needs too many states", o->least_cap);
            expr *rule = run_of(o, i, n, until, s.count == 0);
            if (rule->kind == EXPR_NEVER) break;
            object_state to = s;
            to.count = s.count + n < o->count_cap ? s.count + n : o->count_cap;
            to.least = n < enough ? s.least + n : o->least_cap;
            to.visited |= UINT32_C(1) << i;
            to.past |= UINT32_C(1) << i;
            to.done |= o->regions.at[i].there;
            graph_edge(o->c->b, o->graph, s.count == 0 ? 0 : at, rule, object_state_number(o, to));
            if (until == REPEAT_INFINITE) break;
        }
    }
}
