/* cost.c - the fewest tokens from every state of a rule to the end of the rule.
 *
 * The costs are a shortest path over the rules that the root reaches (Dijkstra,
 * in the form that Knuth gave it for grammars): edges are
 *
 *   step     state -> state by one token, all of it inside the rule     1
 *   call     state -> state by a reference     cost of the rule's start
 *   repeat   a counted repeat needs its minimum times what it repeats
 *
 * each pointing backwards from the state whose cost is settled to those that
 * can use it.  The steps of a state are the single bytes it takes, and what a
 * walk over at most MAX_LOOKS nodes of the trie finds.  States that take nearly
 * everything (text, strings) have their way out among the single bytes, and are
 * not walked.  Fewer steps make costs larger, never wrong: every cost is the
 * number of tokens of some text.
 *
 * Where characters or tokens are counted (meter.h) the cheapest way must be there whatever has been counted: only
 * steps on a way of the fewest characters count, which an item that lives has left, and what is cheaper than the
 * tokens that are left is not for an item that has fewer.  Where that way is too short, the text first goes on one
 * character a token, from the start of the rule: see long_way.
 *
 * Cost depends on the rule alone (and what it refers to), so all grammars of a
 * store share it.  Measured: 500 tools, 57,000 states and the Qwen3 vocabulary
 * take 90 ms. */
#include "budget.h"
#include "meter.h"

#define MAX_LOOKS 512
#define MAX_WIDE 64                   /* first bytes of a state whose longer tokens are looked at */
#define MAX_WORK UINT64_C(100000000)  /* looks in all: a second or two */
#define MAX_BYTES (UINT64_C(1) << 30) /* of scratch */
#define NO_NODE UINT32_MAX

/* A step has no `call`; a repeat has no `to`. */
typedef struct edge {
    uint32_t from, to, call;           /* call: start of the rule that is referenced or repeated */
    uint32_t next_of_to, next_of_call; /* lists of the edges that use a node, + 1 */
} edge;

typedef struct settled {
    uint64_t value;
    uint32_t node;
} settled;

typedef struct frame {
    uint32_t at, end; /* siblings in the trie still to look at */
    const state *from;
    uint32_t chars;   /* on the way to `from` */
} frame;

typedef struct last_token {
    uint32_t from, to; /* by a stop token */
} last_token;

typedef struct costing {
    store *s;
    use *u;
    measure *m;
    arena mem;
    escape_point out;
    VEC(rule_cost *) fresh;   /* rules whose costs are looked for */
    VEC(rule_cost *) known;   /* rules of earlier runs, of which only the start matters */
    VEC(const state *) nodes; /* NULL: the start of a known rule */
    VEC(edge) edges;
    VEC(last_token) stops;
    VEC(frame) frames;
    VEC(settled) heap;
    uint32_t *users; /* first edge that uses a node, + 1 */
    uint32_t *seen;  /* per node: the last state that has a step to it, + 1 */
    uint64_t *end, *stop;
    uint64_t work;
} costing;

/* ---- the table of known rules ---- */

static uint64_t rule_key(const rule *r) { return hash_mix(5, (uint64_t)(uintptr_t)r); }

static rule_cost *find_rule(const measure *m, const rule *r) {
    rule_cost *c = table_first(&m->rules, rule_key(r));
    while (c != NULL && c->rule != r) c = c->chain;
    return c;
}

void cost_free(store *s, rule_cost *c) {
    store_free(s, c->detours, c->rule->n_states * sizeof *c->detours);
    store_free(s, c, sizeof *c + c->rule->n_states * sizeof *c->states);
}

/* The cost of a state from which the cheapest way is too short: to the start, on there for as long as it takes, and the
 * dearest way from anywhere, so that a step never costs more than what is left after it. */
static uint64_t long_way(const rule_cost *c, const state *st, uint32_t chars) {
    const meter *m = &c->rule->meter;
    const state *start = c->rule->states;
    detour d = c->detours[st - start];
    if (d.tokens == UINT32_MAX || c->detours[0].tokens != 0) return NEVER;
    uint64_t there = (uint64_t)chars + d.chars, wanted = m->least_chars > start->need ? m->least_chars - start->need : 0;
    uint64_t more = there < wanted ? wanted - there : 0;
    if (m->most_chars != 0 && there + more + start->need > m->most_chars) return NEVER;
    return tokens_add(d.tokens + more, c->most);
}

static cost cost_metered(const rule_cost *c, const state *st, uint64_t reg) {
    cost by = c->states[st - c->rule->states];
    uint32_t chars = meter_chars(reg);
    if (c->detours != NULL && chars != CHARS_FREE && (uint64_t)chars + st->need < c->rule->meter.least_chars)
        by = (cost){long_way(c, st, chars), NEVER};
    return by.end > meter_left(c->rule, reg) ? (cost){NEVER, NEVER} : by;
}

cost cost_of(const measure *m, const state *st, uint64_t reg) {
    const rule *r = st->rule;
    if (r->metered) return cost_metered(find_rule(m, r), st, reg);
    if (r->kind == RULE_PLAIN) return find_rule(m, r)->states[st - r->states];
    if (r->max == 0) return (cost){0, NEVER};
    if (reg == COUNT_OPEN) return (cost){NEVER, NEVER};
    uint64_t missing = reg != COUNT_FREE && reg < r->min ? r->min - reg : 0;
    bool more = r->max == REPEAT_INFINITE || reg == COUNT_FREE || reg < r->max;
    return cost_times(find_rule(m, r)->each, missing, more);
}

/* ---- which rules ---- */

/* The rule that stands in sets for r, built if it is not yet. */
static const rule *stands_for(costing *c, rule *r) {
    if (r->kind != RULE_NAMED) return r;
    pthread_mutex_lock(&c->s->grow);
    bool built = r->repeated != NULL || name_build(c->u, r);
    const rule *found = r->repeated;
    pthread_mutex_unlock(&c->s->grow);
    if (!built) escape(&c->out, c->u->code, 0, "rule");
    return found;
}

static bool has_detours(const rule *r) { return r->meter.least_chars != 0; }

/* Number that stands for the rule as a whole: of its first state, but where that is not the same; a rule that is met for the
 * first time joins. */
static uint32_t node_of(costing *c, rule *referenced) {
    const rule *r = stands_for(c, referenced);
    measure *m = c->m;
    rule_cost *found = find_rule(m, r);
    if (found != NULL && found->run == m->run) return found->node;
    if (found != NULL) {
        vec_push(&c->mem, &c->known, found);
        vec_push(&c->mem, &c->nodes, NULL);
        found->run = m->run;
        return found->node = c->nodes.n - 1;
    }
    vec_push(&c->mem, &c->fresh, NULL); /* first, so that what is allocated next cannot be lost */
    found = store_alloc(c->s, sizeof *found + r->n_states * sizeof *found->states);
    if (found == NULL) escape(&c->out, STE_ERR_NO_MEMORY, 0, "budget");
    *found = (rule_cost){.hash = rule_key(r), .rule = r, .run = m->run, .node = c->nodes.n};
    c->fresh.at[c->fresh.n - 1] = found;
    if (has_detours(r)) vec_push(&c->mem, &c->nodes, NULL);
    if (!table_reserve(c->s, &m->rules)) escape(&c->out, STE_ERR_NO_MEMORY, 0, "budget");
    table_add(&m->rules, found);
    for (uint32_t i = 0; i < r->n_states; i++) vec_push(&c->mem, &c->nodes, &r->states[i]);
    return found->node;
}

/* The one place that visits every rule the root reaches. */
static void reach_rules(costing *c, rule *root) {
    node_of(c, root);
    for (uint32_t i = 0; i < c->fresh.n; i++) {
        const rule *r = c->fresh.at[i]->rule;
        if (r->n_onces != 0 || (has_detours(r) && r->n_rules != 0) || r->kind == RULE_DISTINCT)
            escape(&c->out, STE_ERR_UNSUPPORTED, 0, "what may follow depends on what came before");
        for (uint32_t k = 0; k < r->n_rules; k++) node_of(c, r->rules[k].rule);
        if (r->repeated != NULL) node_of(c, r->repeated);
    }
}

/* ---- edges ---- */

static void add_edge(costing *c, uint32_t from, uint32_t to, uint32_t call) {
    uint32_t of_to = to == NO_NODE ? 0 : c->users[to], of_call = 0;
    if (to != NO_NODE) c->users[to] = c->edges.n + 1;
    if (call != NO_NODE && call != to) {
        of_call = c->users[call];
        c->users[call] = c->edges.n + 1;
    }
    vec_push(&c->mem, &c->edges, (edge){from, to, call, of_to, of_call});
}

static void add_step(costing *c, uint32_t from, uint32_t to) {
    if (c->seen[to] == from + 1) return;
    c->seen[to] = from + 1;
    add_edge(c, from, to, NO_NODE);
}

/* Does a step of so many characters keep to a way of the fewest? */
static bool keeps_least(const state *from, const state *to, uint32_t chars) {
    return !from->rule->metered || (to->need != UINT32_MAX && chars + to->need == from->need);
}

/* The byte of a trie node, taken in state `at`, so many characters after `from`. */
static void take(costing *c, uint32_t from, uint32_t base, uint32_t node, const state *at, uint32_t chars) {
    const trie *t = &c->s->vocab->ordinary;
    uint32_t byte = t->nodes[node].byte, end = node + t->nodes[node].size;
    chars += begins_character(byte);
    if (!byteset_has(&at->allow, byte)) return;
    for (uint32_t e = 0; e < at->n_bytes; e++) {
        if (byte < at->bytes[e].lo || byte > at->bytes[e].hi) continue;
        const state *to = at->bytes[e].to;
        if (content_token(c->m, t, node) != TRIE_NO_TOKEN && keeps_least(c->nodes.at[from], to, chars))
            add_step(c, from, base + (uint32_t)(to - to->rule->states));
        if (node + 1 < end && to->n_bytes != 0) vec_push(&c->mem, &c->frames, (frame){node + 1, end, to, chars});
    }
}

/* Steps by longer tokens, as far as MAX_LOOKS goes. */
static void add_walk(costing *c, uint32_t from, uint32_t base) {
    const trie *t = &c->s->vocab->ordinary;
    const state *first = c->nodes.at[from];
    uint32_t looks = 0, wide = 0;
    for (int i = 0; i < 4; i++) wide += (uint32_t)__builtin_popcountll(first->allow.w[i]);
    for (uint32_t byte = 0; byte < 256 && looks < MAX_LOOKS && wide <= MAX_WIDE; byte++) {
        c->frames.n = 0;
        if (t->child[byte] != 0 && byteset_has(&first->allow, byte)) take(c, from, base, t->child[byte], c->nodes.at[from], 0);
        for (; c->frames.n > 0 && looks < MAX_LOOKS; looks++) {
            frame *f = &c->frames.at[c->frames.n - 1];
            if (f->at == f->end) {
                c->frames.n--;
                continue;
            }
            uint32_t node = f->at;
            f->at += t->nodes[node].size;
            take(c, from, base, node, f->from, f->chars);
        }
    }
    c->work += looks + 1;
    if (c->work > MAX_WORK) escape(&c->out, STE_ERR_LIMIT, 0, "too many states");
}

static void add_tokens(costing *c, uint32_t from, uint32_t base, const token_edge *e) {
    uint32_t to = base + (uint32_t)(e->to - e->to->rule->states);
    if (!keeps_least(c->nodes.at[from], e->to, 0)) return;
    if (has_content(c->s, c->m, e)) add_step(c, from, to);
    for (uint32_t token = e->lo; token <= e->hi; token++) {
        if (!bit_get(c->m->stop, token)) continue;
        vec_push(&c->mem, &c->stops, (last_token){from, to});
        break;
    }
}

static void add_state(costing *c, uint32_t from, uint32_t base) {
    const state *st = c->nodes.at[from];
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        bool possible = false;
        for (uint32_t byte = st->bytes[e].lo; byte <= st->bytes[e].hi && !possible; byte++) possible = c->m->single[byte];
        if (possible && keeps_least(st, st->bytes[e].to, begins_character(st->bytes[e].lo)))
            add_step(c, from, base + (uint32_t)(st->bytes[e].to - st->rule->states));
    }
    if (st->n_bytes != 0) add_walk(c, from, base);
    for (uint32_t e = 0; e < st->n_tokens; e++) add_tokens(c, from, base, &st->tokens[e]);
    for (uint32_t e = 0; e < st->n_rules; e++)
        if (keeps_least(st, st->rules[e].to, 1)) /* where characters are counted it stands for one */
            add_edge(c, from, base + (uint32_t)(st->rules[e].to - st->rule->states), node_of(c, st->rules[e].rule));
}

static uint32_t first_state(const rule_cost *rc) { return rc->node + has_detours(rc->rule); }

static void add_edges(costing *c) {
    for (uint32_t i = 0; i < c->fresh.n; i++) {
        const rule_cost *rc = c->fresh.at[i];
        if (rc->rule->kind == RULE_PLAIN)
            for (uint32_t k = 0; k < rc->rule->n_states; k++) add_state(c, first_state(rc) + k, first_state(rc));
        else if (rc->rule->repeated != NULL)
            add_edge(c, rc->node, NO_NODE, node_of(c, rc->rule->repeated));
    }
}

/* ---- shortest paths ---- */

static void heap_push(costing *c, settled x) {
    vec_push(&c->mem, &c->heap, x);
    settled *h = c->heap.at;
    uint32_t i = c->heap.n - 1;
    for (; i > 0 && h[(i - 1) / 2].value > x.value; i = (i - 1) / 2) h[i] = h[(i - 1) / 2];
    h[i] = x;
}

static settled heap_pop(costing *c) {
    settled *h = c->heap.at, top = h[0], x = h[--c->heap.n];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < c->heap.n && h[child + 1].value < h[child].value) child++;
        if (child >= c->heap.n || h[child].value >= x.value) break;
        h[i] = h[child];
        i = child;
    }
    h[i] = x;
    return top;
}

static void improve(costing *c, uint64_t *values, uint32_t node, uint64_t value) {
    if (value >= values[node]) return;
    values[node] = value;
    heap_push(c, (settled){value, node});
}

static cost cost_at(const costing *c, uint32_t node) { return (cost){c->end[node], c->stop[node]}; }

static cost cost_by(const costing *c, const edge *e) {
    if (e->call == NO_NODE) return cost_then((cost){1, NEVER}, cost_at(c, e->to));
    if (e->to != NO_NODE) return cost_then(cost_at(c, e->call), cost_at(c, e->to));
    const rule *r = c->nodes.at[e->from]->rule;
    return cost_times(cost_at(c, e->call), r->min, true);
}

/* Settle `values` (end, or stop once all ends are settled) in rising order. */
static void settle(costing *c, uint64_t *values) {
    while (c->heap.n > 0) {
        settled x = heap_pop(c);
        if (x.value != values[x.node]) continue;
        uint32_t next;
        for (uint32_t k = c->users[x.node]; k != 0; k = next) {
            const edge *e = &c->edges.at[k - 1];
            next = e->to == x.node ? e->next_of_to : e->next_of_call;
            cost by = cost_by(c, e);
            improve(c, values, e->from, values == c->end ? by.end : by.stop);
        }
    }
}

/* The start of the rule must loop: then a token goes there for each character. */
static bool start_loops(const costing *c, const state *start) {
    for (uint32_t e = 0; e < start->n_bytes; e++)
        for (uint32_t byte = start->bytes[e].lo; byte <= start->bytes[e].hi && start->bytes[e].to == start; byte++)
            if (c->m->single[byte]) return true;
    return false;
}

/* One more byte from st, if that is a token. */
static bool improve_detour(const costing *c, const rule_cost *rc, const state *st) {
    detour *own = &rc->detours[st - rc->rule->states], before = *own;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        detour to = rc->detours[st->bytes[e].to - rc->rule->states];
        bool possible = false;
        for (uint32_t byte = st->bytes[e].lo; byte <= st->bytes[e].hi && !possible; byte++) possible = c->m->single[byte];
        if (!possible || to.tokens == UINT32_MAX || to.tokens + 1 >= own->tokens) continue;
        *own = (detour){to.tokens + 1, to.chars + begins_character(st->bytes[e].lo)};
    }
    return own->tokens != before.tokens;
}

/* What must be known of a rule with a least number of characters, whose states are settled. */
static void find_detours(costing *c, rule_cost *rc) {
    const rule *r = rc->rule;
    rc->detours = store_alloc(c->s, r->n_states * sizeof *rc->detours);
    if (rc->detours == NULL) escape(&c->out, STE_ERR_NO_MEMORY, 0, "budget");
    for (uint32_t k = 0; k < r->n_states; k++) {
        uint64_t end = c->end[first_state(rc) + k];
        if (end != NEVER && end > rc->most) rc->most = end;
        rc->detours[k].tokens = UINT32_MAX;
    }
    if (!start_loops(c, r->states)) return;
    rc->detours[0].tokens = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < r->n_states; k++) changed = improve_detour(c, rc, &r->states[k]) || changed;
    }
}

/* Such rules refer to no others: they are settled first. */
static void settle_long_texts(costing *c) {
    for (uint32_t i = 0; i < c->fresh.n; i++) {
        const rule_cost *rc = c->fresh.at[i];
        for (uint32_t k = 0; k < rc->rule->n_states && has_detours(rc->rule); k++)
            if (rc->rule->states[k].final) improve(c, c->end, first_state(rc) + k, 0);
    }
    settle(c, c->end);
    for (uint32_t i = 0; i < c->fresh.n; i++) {
        rule_cost *rc = c->fresh.at[i];
        if (!has_detours(rc->rule)) continue;
        find_detours(c, rc);
        bool enough = rc->rule->states[0].need >= rc->rule->meter.least_chars;
        improve(c, c->end, rc->node, enough ? c->end[first_state(rc)] : long_way(rc, rc->rule->states, 0));
    }
}

static void settle_all(costing *c) {
    for (uint32_t i = 0; i < c->nodes.n; i++) c->end[i] = c->stop[i] = NEVER;
    settle_long_texts(c);
    for (uint32_t i = 0; i < c->nodes.n; i++) {
        const state *st = c->nodes.at[i];
        if (st != NULL && (st->rule->kind == RULE_PLAIN ? st->final : st->rule->min == 0)) improve(c, c->end, i, 0);
    }
    for (uint32_t i = 0; i < c->known.n; i++) improve(c, c->end, c->known.at[i]->node, c->known.at[i]->enter.end);
    settle(c, c->end);
    for (uint32_t i = 0; i < c->known.n; i++) improve(c, c->stop, c->known.at[i]->node, c->known.at[i]->enter.stop);
    for (uint32_t i = 0; i < c->stops.n; i++)
        if (c->end[c->stops.at[i].to] == 0) improve(c, c->stop, c->stops.at[i].from, 0);
    settle(c, c->stop);
}

static void run(costing *c, rule *root) {
    if (setjmp(c->out.env) != 0) return;
    reach_rules(c, root);
    uint32_t n = c->nodes.n;
    c->users = arena_alloc(&c->mem, n, sizeof *c->users);
    c->seen = arena_alloc(&c->mem, n, sizeof *c->seen);
    c->end = arena_alloc(&c->mem, n, sizeof *c->end);
    c->stop = arena_alloc(&c->mem, n, sizeof *c->stop);
    add_edges(c);
    settle_all(c);
    for (uint32_t i = 0; i < c->fresh.n; i++) {
        rule_cost *rc = c->fresh.at[i];
        for (uint32_t k = 0; k < rc->rule->n_states; k++) rc->states[k] = cost_at(c, first_state(rc) + k);
        rc->enter = cost_at(c, rc->node);
        if (rc->rule->repeated != NULL) rc->each = cost_at(c, node_of(c, rc->rule->repeated));
    }
}

bool has_content(const store *s, const measure *m, const token_edge *e) {
    for (uint32_t token = e->lo; token <= e->hi && token < s->vocab->n_tokens; token++)
        if (!bit_get(m->stop, token)) return true;
    return false;
}

int cost_rules(use *u, measure *m, rule *root) {
    store *s = u->s;
    if (find_rule(m, root) != NULL) return STE_OK;
    costing c = {.s = s, .u = u, .m = m};
    arena_init(&c.mem, &s->allocator, &c.out, MAX_BYTES);
    m->run++;
    run(&c, root);
    for (uint32_t i = 0; i < c.fresh.n && c.out.error.code != STE_OK; i++) {
        if (c.fresh.at[i] == NULL) continue;
        table_remove(&m->rules, c.fresh.at[i]);
        cost_free(s, c.fresh.at[i]);
    }
    arena_free(&c.mem);
    return c.out.error.code;
}
