/* ahead.c - see ahead.h.
 *
 * A *variant* is a rule and what is demanded where it begins.  Its *places* are
 * pairs of a state of the rule and a demand.  Places are gone through until
 * there are no more; where a variant can end, with what demand, is found on the
 * way, and whoever refers to it goes on then.  After that each variant becomes
 * a rule for every demand it can end with. */
#include "ahead.h"

#include "fsm_product.h"
#include "source.h"

#define NONE UINT32_MAX
#define MARKED (UINT32_MAX - 1) /* in place of the symbols of a link: it consumes nothing */

typedef struct demand {
    uint32_t n;
    const uint32_t *at; /* states of conditions, numbered through all of them; sorted */
    uint64_t hash;
    bool at_end;        /* the text may end here */
} demand;

typedef struct place {
    uint32_t variant, state, demand;
} place;

/* From a place to another one; by way of a variant: of what the variant matches when it ends with `after`. */
typedef struct link {
    uint32_t from, lo, hi, to, variant, after;
} link;

/* A place that goes on in `state` wherever a variant ends. */
typedef struct waiting {
    uint32_t place, state;
} waiting;

typedef struct variant {
    uint32_t rule, before;
    const fsm *automaton;
    VEC(uint32_t) afters; /* demands with which it can end ... */
    VEC(uint32_t) rules;  /* ... and the rules made for them */
    VEC(waiting) waiting;
    VEC(uint32_t) places;
} variant;

typedef struct rest_of {
    uint32_t repeated, min, max, rule;
} rest_of;

typedef struct resolver {
    builder *b;
    arena *mem;
    uint32_t n_rules;   /* when this began */
    uint8_t *marked;    /* of those: there are conditions in it, or in rules that it refers to */
    uint32_t *base;     /* condition -> the number of its first state */
    VEC(uint32_t) condition_of; /* by state number */
    VEC(demand) demands; /* 0 is none */
    VEC(variant) variants;
    VEC(place) places;
    VEC(link) links;
    VEC(rest_of) rests;
    struct {
        uint32_t *at, mask; /* number + 1 */
    } demand_table, variant_table, place_table;
} resolver;

/* ---- conditions ---- */

static bool same(const fsm *a, const fsm *b) {
    return fsm_size(a) == fsm_size(b) && a->edges.n == b->edges.n && a->start == b->start &&
           memcmp(a->final.at, b->final.at, fsm_size(a)) == 0 &&
           memcmp(a->edges.at, b->edges.at, a->edges.n * sizeof *a->edges.at) == 0;
}

uint32_t ahead_symbol(builder *b, ahead_condition c) {
    for (uint32_t i = 0; i < b->conditions.n; i++)
        if (same(b->conditions.at[i].automaton, c.automaton)) return SYM_AHEAD + i;
    work_charge(b->w, fsm_size(c.automaton));
    vec_push(&b->w->mem, &b->conditions, c);
    return SYM_AHEAD + b->conditions.n - 1;
}

static const fsm *condition_of(const resolver *r, uint32_t number, uint32_t *state) {
    uint32_t i = r->condition_of.at[number];
    *state = number - r->base[i];
    return r->b->conditions.at[i].automaton;
}

/* Nothing is left of it: whatever comes is fine. */
static bool is_met(const fsm *f, uint32_t s) {
    if (!f->final.at[s] || f->first[s + 1] - f->first[s] != 1) return false;
    fsm_edge g = f->edges.at[f->first[s]];
    return g.lo == 0 && g.hi == 255 && g.to == s;
}

/* ---- demands ---- */

static void grow_table(resolver *r, uint32_t **at, uint32_t *mask) {
    uint32_t size = *mask == 0 ? 64 : (*mask + 1) * 2;
    *at = arena_alloc(r->mem, size, sizeof **at);
    *mask = size - 1;
}

static uint32_t intern_demand(resolver *r, const uint32_t *at, uint32_t n) {
    if (r->demands.n * 2 >= r->demand_table.mask) {
        grow_table(r, &r->demand_table.at, &r->demand_table.mask);
        for (uint32_t i = 0; i < r->demands.n; i++) {
            uint32_t slot = (uint32_t)r->demands.at[i].hash & r->demand_table.mask;
            while (r->demand_table.at[slot] != 0) slot = (slot + 1) & r->demand_table.mask;
            r->demand_table.at[slot] = i + 1;
        }
    }
    uint64_t hash = n == 0 ? 7 : hash_bytes(at, n * sizeof *at, 7);
    uint32_t slot = (uint32_t)hash & r->demand_table.mask;
    for (; r->demand_table.at[slot] != 0; slot = (slot + 1) & r->demand_table.mask) {
        const demand *d = &r->demands.at[r->demand_table.at[slot] - 1];
        if (d->hash == hash && d->n == n && (n == 0 || memcmp(d->at, at, n * sizeof *at) == 0)) return r->demand_table.at[slot] - 1;
    }
    work_charge(r->b->w, 1 + n / 2);
    demand d = {.n = n, .at = arena_copy(r->mem, at, n * sizeof *at), .hash = hash, .at_end = true};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t state;
        const fsm *f = condition_of(r, at[i], &state);
        d.at_end &= f->final.at[state] != 0;
    }
    vec_push(r->mem, &r->demands, d);
    r->demand_table.at[slot] = r->demands.n;
    return r->demands.n - 1;
}

/* at[0 .. n) is sorted, and there is room for one more; returns the new n. */
static uint32_t add_state(const resolver *r, uint32_t *at, uint32_t n, uint32_t number) {
    uint32_t state, k = n;
    const fsm *f = condition_of(r, number, &state);
    if (is_met(f, state)) return n;
    while (k > 0 && at[k - 1] > number) k--;
    if (k > 0 && at[k - 1] == number) return n;
    memmove(at + k + 1, at + k, (n - k) * sizeof *at);
    at[k] = number;
    return n + 1;
}

/* What is demanded at a place where condition i is met with. */
static uint32_t demand_with(resolver *r, uint32_t before, uint32_t i) {
    const demand *d = &r->demands.at[before];
    uint32_t *at = arena_alloc(r->mem, (size_t)d->n + 1, sizeof *at);
    memcpy(at, d->at, d->n * sizeof *at);
    return intern_demand(r, at, add_state(r, at, d->n, r->base[i] + r->b->conditions.at[i].automaton->start));
}

/* What is demanded after a byte of lo..*hi, which becomes less if not all of them lead to the same; NONE: nothing can follow. */
static uint32_t demand_after(resolver *r, uint32_t before, uint32_t lo, uint32_t *hi) {
    const demand d = r->demands.at[before];
    uint32_t *at = arena_alloc(r->mem, (size_t)d.n + 1, sizeof *at), n = 0;
    bool dead = false;
    for (uint32_t i = 0; i < d.n; i++) {
        uint32_t state, e, to = NONE;
        const fsm *f = condition_of(r, d.at[i], &state);
        for (e = f->first[state]; e < f->first[state + 1] && f->edges.at[e].hi < lo; e++) {
        }
        if (e < f->first[state + 1]) {
            fsm_edge g = f->edges.at[e];
            if (g.lo <= lo) to = g.to;
            uint32_t end = g.lo <= lo ? g.hi : g.lo - 1;
            if (end < *hi) *hi = end;
        }
        if (to == NONE)
            dead = true;
        else
            n = add_state(r, at, n, d.at[i] - state + to);
    }
    return dead ? NONE : intern_demand(r, at, n);
}

/* ---- rules ---- */

static bool is_marked(const resolver *r, uint32_t rule) {
    if (rule < r->n_rules) return r->marked[rule] != 0;
    return is_marked(r, r->b->rules.at[rule].repeated); /* what is left of a repeat */
}

/* Which rules have conditions in them, or lead to such rules. */
static void find_marked(resolver *r) {
    builder *b = r->b;
    uint32_t n = b->rules.n, head = 0;
    uint32_t *first = arena_alloc(r->mem, (size_t)n + 2, sizeof *first);
    VEC(fsm_empty) pairs = {0}; /* to refers to from */
    VEC(uint32_t) queue = {0};
    r->n_rules = n;
    r->marked = arena_alloc(r->mem, (size_t)n + 1, 1);
    for (uint32_t i = 0; i < n; i++) {
        const draft_rule *rule = &b->rules.at[i];
        if (rule->kind == RULE_REPEAT) vec_push(r->mem, &pairs, (fsm_empty){rule->repeated, i});
        for (uint32_t e = 0; rule->automaton != NULL && e < rule->automaton->edges.n; e++) {
            uint32_t symbol = rule->automaton->edges.at[e].lo;
            if (sym_is_rule(symbol)) vec_push(r->mem, &pairs, (fsm_empty){symbol - SYM_RULE, i});
            if (!sym_is_ahead(symbol) || r->marked[i]) continue;
            r->marked[i] = 1;
            vec_push(r->mem, &queue, i);
        }
    }
    uint32_t *from = arena_alloc(r->mem, (size_t)pairs.n + 1, sizeof *from);
    for (uint32_t i = 0; i < pairs.n; i++) first[pairs.at[i].from + 2]++;
    for (uint32_t i = 0; i < n; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < pairs.n; i++) from[first[pairs.at[i].from + 1]++] = pairs.at[i].to;
    while (head < queue.n) {
        uint32_t rule = queue.at[head++];
        for (uint32_t k = first[rule]; k < first[rule + 1]; k++) {
            if (r->marked[from[k]]) continue;
            r->marked[from[k]] = 1;
            vec_push(r->mem, &queue, from[k]);
        }
    }
}

static uint32_t new_rule(resolver *r, const draft_rule *model) {
    uint32_t number = rule_new(r->b);
    r->b->rules.at[number] = *model;
    return number;
}

/* A repeat as its body and the rest of the repeat. */
static const fsm *unrolled(resolver *r, uint32_t number) {
    const draft_rule rule = r->b->rules.at[number];
    fsm *f = fsm_new(r->b->w);
    uint32_t middle = fsm_state(f), end = fsm_state(f), rest = NONE;
    f->final.at[end] = 1;
    f->final.at[f->start] = rule.min == 0;
    uint32_t min = rule.min > 0 ? rule.min - 1 : 0, max = rule.max == REPEAT_INFINITE ? REPEAT_INFINITE : rule.max - 1;
    if (rule.max > 0) fsm_edge_add(f, f->start, SYM_RULE + rule.repeated, SYM_RULE + rule.repeated, middle);
    if (rule.max <= 1) {
        f->final.at[middle] = 1;
    } else {
        if (min == rule.min && max == rule.max) rest = number;
        uint32_t i = r->rests.n; /* mostly one of the last */
        while (i > 0 && rest == NONE) {
            rest_of known = r->rests.at[--i];
            if (known.repeated == rule.repeated && known.min == min && known.max == max) rest = known.rule;
        }
        work_charge(r->b->w, (r->rests.n - i) / 64);
        if (rest == NONE) {
            draft_rule left = {.kind = RULE_REPEAT, .repeated = rule.repeated, .min = min, .max = max};
            rest = new_rule(r, &left);
            vec_push(r->mem, &r->rests, (rest_of){rule.repeated, min, max, rest});
        }
        fsm_edge_add(f, middle, SYM_RULE + rest, SYM_RULE + rest, end);
    }
    fsm_index(f);
    return f;
}

/* Told where the pattern stands that wants something there, or the first one that does. */
STE_NORETURN static void refuse(const resolver *r, uint32_t before, const char *what) {
    const demand *d = &r->demands.at[before];
    const ahead_condition *c = &r->b->conditions.at[d->n == 0 ? 0 : r->condition_of.at[d->at[0]]];
    source_escape(c->around, c->at, STE_ERR_UNSUPPORTED, "this pattern looks at what follows it, and %s there, which is not supported", what);
}

static uint32_t intern_place(resolver *r, place p);

/* The variant of a rule that is marked, or before which something is demanded. */
static uint32_t variant_of(resolver *r, uint32_t rule, uint32_t before) {
    if (r->variants.n * 2 >= r->variant_table.mask) {
        grow_table(r, &r->variant_table.at, &r->variant_table.mask);
        for (uint32_t i = 0; i < r->variants.n; i++) {
            uint32_t slot = (uint32_t)hash_mix(r->variants.at[i].rule, r->variants.at[i].before) & r->variant_table.mask;
            while (r->variant_table.at[slot] != 0) slot = (slot + 1) & r->variant_table.mask;
            r->variant_table.at[slot] = i + 1;
        }
    }
    uint32_t slot = (uint32_t)hash_mix(rule, before) & r->variant_table.mask;
    for (; r->variant_table.at[slot] != 0; slot = (slot + 1) & r->variant_table.mask) {
        const variant *v = &r->variants.at[r->variant_table.at[slot] - 1];
        if (v->rule == rule && v->before == before) return r->variant_table.at[slot] - 1;
    }
    const draft_rule *d = &r->b->rules.at[rule];
    if (d->kind == RULE_NAMED) refuse(r, before, "a JSON schema begins");
    if (d->kind == RULE_DISTINCT) refuse(r, before, "an array of unique items begins");
    if (meter_counts(&d->meter)) refuse(r, before, "a text of limited length stands");
    work_charge(r->b->w, 1);
    variant made = {.rule = rule, .before = before, .automaton = d->automaton};
    if (d->kind == RULE_REPEAT) made.automaton = unrolled(r, rule);
    vec_push(r->mem, &r->variants, made);
    uint32_t number = r->variants.n - 1;
    r->variant_table.at[slot] = number + 1;
    intern_place(r, (place){number, made.automaton->start, before});
    return number;
}

/* ---- places ---- */

static uint64_t place_hash(place p) { return hash_mix(hash_mix(p.variant, p.state), p.demand); }

static uint32_t intern_place(resolver *r, place p) {
    if (r->places.n * 2 >= r->place_table.mask) {
        grow_table(r, &r->place_table.at, &r->place_table.mask);
        for (uint32_t i = 0; i < r->places.n; i++) {
            uint32_t slot = (uint32_t)place_hash(r->places.at[i]) & r->place_table.mask;
            while (r->place_table.at[slot] != 0) slot = (slot + 1) & r->place_table.mask;
            r->place_table.at[slot] = i + 1;
        }
    }
    uint32_t slot = (uint32_t)place_hash(p) & r->place_table.mask;
    for (; r->place_table.at[slot] != 0; slot = (slot + 1) & r->place_table.mask) {
        place have = r->places.at[r->place_table.at[slot] - 1];
        if (have.variant == p.variant && have.state == p.state && have.demand == p.demand) return r->place_table.at[slot] - 1;
    }
    work_charge(r->b->w, 1);
    vec_push(r->mem, &r->places, p);
    r->place_table.at[slot] = r->places.n;
    vec_push(r->mem, &r->variants.at[p.variant].places, r->places.n - 1);
    return r->places.n - 1;
}

static void add_link(resolver *r, uint32_t from, uint32_t lo, uint32_t hi, uint32_t state, uint32_t open) {
    uint32_t to = intern_place(r, (place){r->places.at[from].variant, state, open});
    vec_push(r->mem, &r->links, (link){from, lo, hi, to, NONE, 0});
}

/* The place goes on where the variant has ended with its demand number `after`. */
static void go_on(resolver *r, waiting at, uint32_t number, uint32_t after) {
    uint32_t open = r->variants.at[number].afters.at[after];
    uint32_t to = intern_place(r, (place){r->places.at[at.place].variant, at.state, open});
    vec_push(r->mem, &r->links, (link){at.place, 0, 0, to, number, after});
}

static void end_with(resolver *r, uint32_t number, uint32_t open) {
    variant *v = &r->variants.at[number];
    work_charge(r->b->w, v->afters.n / 16);
    for (uint32_t i = 0; i < v->afters.n; i++)
        if (v->afters.at[i] == open) return;
    vec_push(r->mem, &v->afters, open);
    uint32_t after = v->afters.n - 1;
    for (uint32_t i = 0; i < r->variants.at[number].waiting.n; i++) go_on(r, r->variants.at[number].waiting.at[i], number, after);
}

static void refer(resolver *r, uint32_t from, uint32_t rule, uint32_t state, uint32_t before) {
    uint32_t number = variant_of(r, rule, before);
    waiting w = {from, state};
    vec_push(r->mem, &r->variants.at[number].waiting, w);
    for (uint32_t i = 0; i < r->variants.at[number].afters.n; i++) go_on(r, w, number, i);
}

static void read_bytes(resolver *r, uint32_t from, fsm_edge g, uint32_t open) {
    for (uint32_t lo = g.lo, hi; lo <= g.hi; lo = hi + 1) {
        hi = g.hi;
        uint32_t after = open == 0 ? 0 : demand_after(r, open, lo, &hi);
        if (after != NONE) add_link(r, from, lo, hi, g.to, after);
    }
}

static void expand_place(resolver *r, uint32_t number) {
    const place p = r->places.at[number];
    const fsm *f = r->variants.at[p.variant].automaton;
    if (f->final.at[p.state]) end_with(r, p.variant, p.demand);
    for (uint32_t e = f->first[p.state]; e < f->first[p.state + 1]; e++) {
        fsm_edge g = f->edges.at[e];
        if (sym_is_ahead(g.lo)) {
            add_link(r, number, MARKED, MARKED, g.to, demand_with(r, p.demand, g.lo - SYM_AHEAD));
        } else if (sym_is_once(g.lo)) {
            add_link(r, number, g.lo, g.hi, g.to, p.demand);
        } else if (sym_is_token(g.lo)) {
            if (r->demands.at[p.demand].at_end) add_link(r, number, g.lo, g.hi, g.to, 0);
        } else if (!sym_is_rule(g.lo)) {
            read_bytes(r, number, g, p.demand);
        } else if (p.demand == 0 && !is_marked(r, g.lo - SYM_RULE)) {
            add_link(r, number, g.lo, g.hi, g.to, 0);
        } else {
            refer(r, number, g.lo - SYM_RULE, g.to, p.demand);
        }
    }
}

/* ---- rules again ---- */

static void finish_rule(builder *b, uint32_t rule, fsm *f) {
    b->rules.at[rule].automaton = f;
    b->rules.at[rule].body = expr_fsm(b, f);
    b->rules.at[rule].never = f->edges.n == 0 && f->final.at[f->start] == 0;
}

/* The automaton of a variant that ends with one of its demands; links: those that begin in its places. */
static fsm *automaton_of(resolver *r, const variant *v, uint32_t after, const uint32_t *number, const link *links, uint32_t n) {
    fsm *f = fsm_new(r->b->w);
    for (uint32_t i = 1; i < v->places.n; i++) fsm_state(f);
    for (uint32_t i = 0; i < v->places.n; i++) {
        const place *p = &r->places.at[v->places.at[i]];
        f->final.at[i] = v->automaton->final.at[p->state] && p->demand == v->afters.at[after];
    }
    for (uint32_t i = 0; i < n; i++) {
        link k = links[i];
        uint32_t from = number[k.from], to = number[k.to];
        if (k.variant != NONE) {
            uint32_t symbol = SYM_RULE + r->variants.at[k.variant].rules.at[k.after];
            fsm_edge_add(f, from, symbol, symbol, to);
        } else if (k.lo == MARKED) {
            fsm_empty_add(f, from, to);
        } else {
            fsm_edge_add(f, from, k.lo, k.hi, to);
        }
    }
    return fsm_determinise(f);
}

static void make_rules(resolver *r) {
    builder *b = r->b;
    uint32_t *number = arena_alloc(r->mem, (size_t)r->places.n + 1, sizeof *number); /* of a place in its variant */
    uint32_t *first = arena_alloc(r->mem, (size_t)r->variants.n + 2, sizeof *first);
    link *links = arena_alloc(r->mem, (size_t)r->links.n + 1, sizeof *links); /* by variant */
    for (uint32_t i = 0; i < r->links.n; i++) first[r->places.at[r->links.at[i].from].variant + 2]++;
    for (uint32_t i = 0; i < r->variants.n; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < r->links.n; i++) links[first[r->places.at[r->links.at[i].from].variant + 1]++] = r->links.at[i];
    for (uint32_t i = 0; i < r->variants.n; i++) {
        variant *v = &r->variants.at[i];
        for (uint32_t k = 0; k < v->places.n; k++) number[v->places.at[k]] = k;
        for (uint32_t k = 0; k < v->afters.n; k++) {
            draft_rule model = b->rules.at[v->rule];
            if (model.kind == RULE_REPEAT) model = (draft_rule){.kind = RULE_PLAIN};
            vec_push(r->mem, &v->rules, new_rule(r, &model));
        }
    }
    for (uint32_t i = 0; i < r->variants.n; i++) {
        const variant *v = &r->variants.at[i];
        for (uint32_t k = 0; k < v->afters.n; k++)
            finish_rule(b, v->rules.at[k], automaton_of(r, v, k, number, links + first[i], first[i + 1] - first[i]));
    }
}

void ahead_resolve(builder *b) {
    if (b->conditions.n == 0) return;
    resolver r = {.b = b, .mem = &b->w->mem};
    find_marked(&r);
    if (!is_marked(&r, b->root)) return;
    r.base = arena_alloc(r.mem, b->conditions.n, sizeof *r.base);
    for (uint32_t i = 0; i < b->conditions.n; i++) {
        r.base[i] = r.condition_of.n;
        for (uint32_t s = 0; s < fsm_size(b->conditions.at[i].automaton); s++) vec_push(r.mem, &r.condition_of, i);
    }
    intern_demand(&r, NULL, 0);
    uint32_t top = variant_of(&r, b->root, 0);
    for (uint32_t i = 0; i < r.places.n; i++) expand_place(&r, i);
    make_rules(&r);
    fsm *f = fsm_new(b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    const variant *v = &r.variants.at[top];
    for (uint32_t i = 0; i < v->afters.n; i++)
        if (r.demands.at[v->afters.at[i]].at_end) fsm_edge_add(f, f->start, SYM_RULE + v->rules.at[i], SYM_RULE + v->rules.at[i], end);
    fsm_index(f);
    draft_rule plain = {.kind = RULE_PLAIN};
    uint32_t root = new_rule(&r, &plain);
    finish_rule(b, root, f);
    b->root = root;
    for (uint32_t i = 0; i < r.n_rules; i++) { /* nothing leads to these any more */
        if (!r.marked[i] || b->rules.at[i].kind != RULE_PLAIN) continue;
        fsm *nothing = fsm_new(b->w);
        fsm_index(nothing);
        finish_rule(b, i, nothing);
    }
}
