/* direct.c - see direct.h. */
#include "direct.h"

#include "fsm_product.h"
#include "utf8.h"

#define DEAD 0
#define END 1
#define OPEN UINT32_MAX    /* n of a knot that is not defined yet */
#define MAX_DEPTH 1000     /* of states united within each other */
#define SPARE_NODES 4096   /* more nodes than four times the size of the expression: alternatives multiply */

typedef struct node {
    uint32_t first, n; /* its edges */
    uint32_t final;
    uint32_t hash;
} node;

typedef struct arc {
    uint32_t lo, hi, to;
} arc;

typedef struct together {
    uint32_t first, n; /* nodes in `members` that are united */
    uint32_t node;     /* the result; while it is being made, 0 or the knot that stands for it */
    bool done;
} together;

typedef struct direct {
    builder *b;
    arena *mem;
    VEC(node) nodes;
    VEC(arc) arcs;
    uint32_t *table, mask; /* node by its edges */
    VEC(together) unions;
    VEC(uint32_t) members;
    uint32_t *union_table, union_mask;
    VEC(arc) making;    /* edges of the nodes at hand, innermost last */
    VEC(fsm_edge) pool; /* edges of the nodes that are being united, innermost last */
    VEC(uint32_t) ids;  /* nodes to be united, innermost last */
    uint64_t most;
    uint32_t depth;
    bool knots; /* there are some */
    bool failed;
} direct;

/* ---- nodes ---- */

static void grow_nodes(direct *d) {
    uint32_t size = d->table == NULL ? 256 : (d->mask + 1) * 2;
    d->table = arena_alloc(d->mem, size, sizeof *d->table);
    d->mask = size - 1;
    for (uint32_t i = END; i < d->nodes.n; i++) {
        if (d->nodes.at[i].n == OPEN) continue;
        uint32_t slot = d->nodes.at[i].hash & d->mask;
        while (d->table[slot] != 0) slot = (slot + 1) & d->mask;
        d->table[slot] = i;
    }
}

static uint32_t node_new(direct *d, node n) {
    work_charge(d->b->w, 1);
    if (d->nodes.n >= d->most) d->failed = true;
    vec_push(d->mem, &d->nodes, n);
    return d->nodes.n - 1;
}

static uint32_t knot_new(direct *d) {
    d->knots = true;
    return node_new(d, (node){.n = OPEN});
}

static bool is_open(const direct *d, uint32_t id) { return d->nodes.at[id].n == OPEN; }

static void add_arc(direct *d, uint32_t base, uint32_t lo, uint32_t hi, uint32_t to) {
    if (to == DEAD) return;
    arc *last = d->making.n > base ? &d->making.at[d->making.n - 1] : NULL;
    if (last != NULL && last->to == to && last->hi + 1 == lo && sym_has_ranges(lo))
        last->hi = hi;
    else
        vec_push(d->mem, &d->making, (arc){lo, hi, to});
}

/* The node with the edges from `base` on, which are taken away. */
static uint32_t node_of(direct *d, uint32_t base, bool final) {
    uint32_t n = d->making.n - base;
    d->making.n = base;
    if (n == 0) return final ? END : DEAD;
    const arc *arcs = d->making.at + base;
    uint64_t h = final;
    for (uint32_t i = 0; i < n; i++) h = hash_mix(h, ((uint64_t)arcs[i].lo << 32 | arcs[i].to) ^ (uint64_t)arcs[i].hi << 16);
    if (d->nodes.n * 2 >= d->mask) grow_nodes(d);
    uint32_t slot = (uint32_t)h & d->mask;
    for (; d->table[slot] != 0; slot = (slot + 1) & d->mask) {
        const node *k = &d->nodes.at[d->table[slot]];
        if (k->hash == (uint32_t)h && k->n == n && k->final == final && memcmp(d->arcs.at + k->first, arcs, n * sizeof *arcs) == 0)
            return d->table[slot];
    }
    uint32_t first = d->arcs.n;
    for (uint32_t i = 0; i < n; i++) vec_push(d->mem, &d->arcs, d->making.at[base + i]);
    return d->table[slot] = node_new(d, (node){first, n, final, (uint32_t)h});
}

static uint32_t one_arc(direct *d, uint32_t lo, uint32_t hi, uint32_t to) {
    uint32_t base = d->making.n;
    add_arc(d, base, lo, hi, to);
    return node_of(d, base, false);
}

/* The knot is what `id` is, and is found in its place from now on. */
static void knot_define(direct *d, uint32_t knot, uint32_t id) {
    if (id == DEAD || is_open(d, id)) {
        d->failed = true;
        return;
    }
    d->nodes.at[knot] = d->nodes.at[id];
    if (id == END) return;
    uint32_t slot = d->nodes.at[id].hash & d->mask;
    while (d->table[slot] != id && d->table[slot] != 0) slot = (slot + 1) & d->mask;
    if (d->table[slot] == id) d->table[slot] = knot;
}

/* ---- alternatives ---- */

static void grow_unions(direct *d) {
    uint32_t size = d->union_table == NULL ? 64 : (d->union_mask + 1) * 2;
    d->union_table = arena_alloc(d->mem, size, sizeof *d->union_table);
    d->union_mask = size - 1;
    for (uint32_t i = 0; i < d->unions.n; i++) {
        const together *u = &d->unions.at[i];
        uint32_t slot = (uint32_t)hash_bytes(d->members.at + u->first, u->n * sizeof(uint32_t), 3) & d->union_mask;
        while (d->union_table[slot] != 0) slot = (slot + 1) & d->union_mask;
        d->union_table[slot] = i + 1;
    }
}

/* The union of these nodes, done or being made; *known: it was there. */
static uint32_t find_union(direct *d, const uint32_t *ids, uint32_t n, bool *known) {
    if (d->unions.n * 2 >= d->union_mask) grow_unions(d);
    uint32_t slot = (uint32_t)hash_bytes(ids, n * sizeof *ids, 3) & d->union_mask;
    for (; d->union_table[slot] != 0; slot = (slot + 1) & d->union_mask) {
        const together *u = &d->unions.at[d->union_table[slot] - 1];
        *known = u->n == n && memcmp(d->members.at + u->first, ids, n * sizeof *ids) == 0;
        if (*known) return d->union_table[slot] - 1;
    }
    uint32_t first = d->members.n;
    for (uint32_t i = 0; i < n; i++) vec_push(d->mem, &d->members, ids[i]);
    vec_push(d->mem, &d->unions, (together){first, n, DEAD, false});
    *known = false;
    return (d->union_table[slot] = d->unions.n) - 1;
}

static uint32_t unite(direct *d, uint32_t base);

/* What symbols lo..hi lead to: the pool's edges from..to that cover lo. */
static void add_united(direct *d, uint32_t making, uint32_t from, uint32_t to, uint32_t lo, uint32_t hi) {
    uint32_t ids = d->ids.n;
    for (uint32_t i = from; i < to; i++)
        if (d->pool.at[i].lo <= lo && d->pool.at[i].hi >= lo) vec_push(d->mem, &d->ids, d->pool.at[i].to);
    uint32_t target = unite(d, ids);
    add_arc(d, making, lo, hi, target);
}

/* The edges of the pool from `base` on, as those of one node. */
static void unite_edges(direct *d, uint32_t base, uint32_t making) {
    uint32_t end = d->pool.n;
    if (end == base) return;
    fsm_sort_edges(d->mem, d->pool.at + base, end - base);
    for (uint32_t i = base, j; i < end && !d->failed; i = j) {
        /* i..j: edges that overlap, if only through others */
        uint32_t lo = d->pool.at[i].lo, hi = d->pool.at[i].hi;
        bool equal = true;
        for (j = i + 1; j < end && d->pool.at[j].lo <= hi; j++) {
            equal = equal && d->pool.at[j].lo == lo && d->pool.at[j].hi == hi;
            if (d->pool.at[j].hi > hi) hi = d->pool.at[j].hi;
        }
        if (j == i + 1) {
            add_arc(d, making, lo, hi, d->pool.at[i].to);
        } else if (equal) {
            add_united(d, making, i, j, lo, hi);
        } else {
            for (uint32_t at = lo, to; at <= hi; at = to + 1) { /* to: up to where the same edges cover */
                to = hi;
                for (uint32_t k = i; k < j; k++) {
                    if (d->pool.at[k].lo > at && d->pool.at[k].lo - 1 < to) to = d->pool.at[k].lo - 1;
                    if (d->pool.at[k].hi >= at && d->pool.at[k].hi < to) to = d->pool.at[k].hi;
                }
                add_united(d, making, i, j, at, to);
            }
        }
    }
    d->pool.n = base;
}

/* The union of the nodes in `ids` from `base` on, which are taken away. */
static uint32_t unite(direct *d, uint32_t base) {
    if (d->ids.n == base) return DEAD;
    uint32_t n = 0, *ids = d->ids.at + base;
    for (uint32_t i = base; i < d->ids.n; i++)
        if (d->ids.at[i] != DEAD) ids[n++] = d->ids.at[i];
    d->ids.n = base;
    sort_u32(ids, n);
    uint32_t different = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || ids[i] != ids[i - 1]) ids[different++] = ids[i];
    n = different;
    if (n == 0 || d->failed) return DEAD;
    if (n == 1) return ids[0];
    bool known;
    uint32_t u = find_union(d, ids, n, &known);
    if (known) {
        if (!d->unions.at[u].done && d->unions.at[u].node == DEAD) {
            uint32_t knot = knot_new(d);
            d->unions.at[u].node = knot;
        }
        return d->unions.at[u].node;
    }
    uint32_t pool = d->pool.n, making = d->making.n;
    bool final = false;
    for (uint32_t i = 0; i < n; i++) {
        node k = d->nodes.at[ids[i]];
        if (k.n == OPEN) {
            d->failed = true;
            return DEAD;
        }
        final = final || k.final;
        for (uint32_t e = 0; e < k.n; e++) {
            arc a = d->arcs.at[k.first + e];
            vec_push(d->mem, &d->pool, (fsm_edge){0, a.lo, a.hi, a.to});
        }
    }
    if (++d->depth > MAX_DEPTH) d->failed = true;
    unite_edges(d, pool, making);
    d->depth--;
    uint32_t id = node_of(d, making, final);
    if (d->failed) return DEAD;
    if (d->unions.at[u].node != DEAD) {
        knot_define(d, d->unions.at[u].node, id);
        id = d->unions.at[u].node;
    }
    d->unions.at[u].node = id;
    d->unions.at[u].done = true;
    return id;
}

static uint32_t unite_two(direct *d, uint32_t a, uint32_t b) {
    uint32_t base = d->ids.n;
    vec_push(d->mem, &d->ids, a);
    vec_push(d->mem, &d->ids, b);
    return unite(d, base);
}

/* ---- differences ---- */

#define MINUS UINT32_MAX /* first member of a difference among the unions */

/* What the node `from` has and `less` has not. */
static uint32_t subtract(direct *d, uint32_t from, uint32_t less) {
    if (d->failed || from == DEAD || less == DEAD) return from;
    bool known;
    uint32_t pair[] = {MINUS, from, less}, u = find_union(d, pair, 3, &known);
    if (known) {
        d->failed = d->failed || !d->unions.at[u].done; /* a cycle of both */
        return d->unions.at[u].node;
    }
    node f = d->nodes.at[from], l = d->nodes.at[less];
    if (f.n == OPEN || l.n == OPEN || ++d->depth > MAX_DEPTH) {
        d->failed = true;
        return DEAD;
    }
    uint32_t base = d->making.n, k = 0;
    for (uint32_t e = 0; e < f.n; e++) {
        arc a = d->arcs.at[f.first + e];
        for (uint32_t lo = a.lo, hi; lo <= a.hi; lo = hi + 1) {
            while (k < l.n && d->arcs.at[l.first + k].hi < lo) k++;
            hi = a.hi;
            uint32_t to = a.to;
            if (k < l.n && d->arcs.at[l.first + k].lo <= a.hi) {
                arc m = d->arcs.at[l.first + k];
                if (m.lo > lo) {
                    hi = m.lo - 1;
                } else {
                    hi = m.hi < a.hi ? m.hi : a.hi;
                    to = subtract(d, a.to, m.to);
                }
            }
            add_arc(d, base, lo, hi, to);
        }
    }
    d->depth--;
    uint32_t id = node_of(d, base, f.final && !l.final);
    d->unions.at[u].node = id;
    d->unions.at[u].done = true;
    return id;
}

/* ---- expressions: the node from which e leads to the node `to` ---- */

static uint32_t build(direct *d, const expr *e, uint32_t to);

typedef struct spans {
    direct *d;
    uint32_t to;
} spans;

static void add_span(void *ctx, const utf8_span *span) {
    const spans *s = ctx;
    uint32_t at = s->to;
    for (uint32_t i = span->length; i-- > 0;) at = one_arc(s->d, span->lo[i], span->hi[i], at);
    vec_push(s->d->mem, &s->d->ids, at);
}

static uint32_t build_class(direct *d, const expr *e, uint32_t to) {
    uint32_t base = d->ids.n;
    spans s = {d, to};
    for (uint32_t i = 0; i < e->n; i++) utf8_ranges(e->u.ranges[i].lo, e->u.ranges[i].hi, add_span, &s);
    return unite(d, base);
}

static uint32_t build_repeat(direct *d, const expr *e, uint32_t to) {
    const expr *body = e->u.repeat.body;
    uint32_t at = to;
    if (e->u.repeat.max == REPEAT_INFINITE) {
        uint32_t knot = knot_new(d);
        at = unite_two(d, to, build(d, body, knot));
        if (d->failed) return DEAD;
        knot_define(d, knot, at);
        at = knot;
    } else {
        for (uint32_t i = e->u.repeat.min; i < e->u.repeat.max && !d->failed; i++) at = unite_two(d, to, build(d, body, at));
    }
    for (uint32_t i = 0; i < e->u.repeat.min && !d->failed; i++) at = build(d, body, at);
    return at;
}

typedef struct walk {
    const fsm_edge *edges; /* by `from`; OPEN for `lo`: an empty one */
    const uint32_t *first;
    uint32_t *path, *next, *order, done;
    uint8_t *state; /* 0; 1 on the path; 2 in the order */
    bool empty_cycle; /* an empty edge closes a cycle */
} walk;

static walk walk_new(direct *d, const fsm_edge *edges, const uint32_t *first, uint32_t n) {
    walk w = {.edges = edges, .first = first};
    w.path = arena_alloc(d->mem, n, sizeof *w.path);
    w.next = arena_alloc(d->mem, n, sizeof *w.next);
    w.order = arena_alloc(d->mem, n, sizeof *w.order);
    w.state = arena_alloc(d->mem, n, 1);
    return w;
}

/* States from `start` on, each after those that its edges lead to but for the edges that close a cycle; those of
 * another component, if there are components, are left out. */
static void callees_first(walk *w, uint32_t start, const uint32_t *component) {
    uint32_t depth = 0;
    w->path[depth++] = start;
    w->next[start] = w->first[start];
    w->state[start] = 1;
    while (depth > 0) {
        uint32_t s = w->path[depth - 1];
        if (w->next[s] == w->first[s + 1]) {
            w->order[w->done++] = s;
            w->state[s] = 2;
            depth--;
            continue;
        }
        fsm_edge g = w->edges[w->next[s]++];
        if (w->state[g.to] == 1 && g.lo == OPEN) w->empty_cycle = true;
        if (w->state[g.to] != 0 || (component != NULL && component[g.to] != component[s])) continue;
        w->next[g.to] = w->first[g.to];
        w->state[g.to] = 1;
        w->path[depth++] = g.to;
    }
}

/* The same, component by component, each from a state that an edge with a label leads to from within: the knot of a
 * cycle cannot be where an empty edge ends. */
static void components_first(direct *d, walk *w, const fsm *shape) {
    uint32_t n = fsm_size(shape), *order = arena_alloc(d->mem, n, sizeof *order), *component = arena_alloc(d->mem, n, sizeof *component);
    uint8_t *last = arena_alloc(d->mem, n, 1);
    uint32_t reached = fsm_components(shape, order, last);
    memset(w->state, 0, n);
    w->done = 0;
    for (uint32_t i = 0, k = 1; i < reached; i++) {
        component[order[i]] = k;
        k += last[i];
    }
    uint8_t *entered = arena_alloc(d->mem, n, 1);
    for (uint32_t e = 0; e < shape->edges.n; e++) {
        fsm_edge g = shape->edges.at[e];
        if (g.lo != OPEN && component[g.from] == component[g.to]) entered[g.to] = 1;
    }
    for (uint32_t i = 0, from = 0; i < reached; i++) {
        if (!last[i]) continue;
        uint32_t root = from;
        while (root < i && !entered[order[root]]) root++;
        callees_first(w, order[root], component);
        from = i + 1;
    }
}

/* The node of a state of an automaton that is put in: a knot if it is led to before it is done. */
static uint32_t placed(direct *d, uint32_t *place, uint32_t state) {
    if (place[state] == OPEN) place[state] = knot_new(d);
    return place[state];
}

static void place(direct *d, uint32_t *places, uint32_t state, uint32_t id) {
    if (places[state] == OPEN)
        places[state] = id;
    else
        knot_define(d, places[state], id);
}

static uint32_t *no_places(direct *d, uint32_t n) {
    uint32_t *out = arena_alloc(d->mem, n, sizeof *out);
    for (uint32_t i = 0; i < n; i++) out[i] = OPEN;
    return out;
}

static uint32_t build_fsm(direct *d, fsm *f, uint32_t to) {
    fsm own = *f; /* indexing must not leave anything in f, which may outlive what is allocated here */
    if (f->empties.n != 0 || f->first == NULL) f = fsm_determinise(&own);
    walk w = walk_new(d, f->edges.at, f->first, fsm_size(f));
    uint32_t *places = no_places(d, fsm_size(f));
    callees_first(&w, f->start, NULL);
    for (uint32_t i = 0; i < w.done && !d->failed; i++) {
        uint32_t s = w.order[i], base = d->making.n;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            if (e > f->first[s] && g.lo <= f->edges.at[e - 1].hi) d->failed = true; /* determinise gave up */
            uint32_t target = placed(d, places, g.to);
            add_arc(d, base, g.lo, g.hi, target);
        }
        uint32_t id = node_of(d, base, false);
        place(d, places, s, f->final.at[s] ? unite_two(d, id, to) : id);
    }
    return d->failed ? DEAD : places[f->start];
}

/* Edges and empty edges of the graph in one list, by `from`. */
static fsm all_edges(direct *d, const fsm *shape) {
    fsm out = *shape;
    uint32_t n = fsm_size(shape), edges = shape->edges.n;
    out.edges.n = out.edges.cap = edges + shape->empties.n;
    out.empties.n = 0;
    out.edges.at = arena_alloc(d->mem, out.edges.n + 1, sizeof *out.edges.at);
    uint32_t *first = out.first = arena_alloc(d->mem, (size_t)n + 2, sizeof *first);
    for (uint32_t i = 0; i < edges; i++) first[shape->edges.at[i].from + 2]++;
    for (uint32_t i = 0; i < shape->empties.n; i++) first[shape->empties.at[i].from + 2]++;
    for (uint32_t s = 0; s < n; s++) first[s + 2] += first[s + 1];
    for (uint32_t i = 0; i < out.edges.n; i++) {
        fsm_empty e = i < edges ? (fsm_empty){0} : shape->empties.at[i - edges];
        fsm_edge g = i < edges ? shape->edges.at[i] : (fsm_edge){e.from, OPEN, OPEN, e.to};
        out.edges.at[first[g.from + 1]++] = g;
    }
    return out;
}

static uint32_t build_graph(direct *d, const expr *e, uint32_t to) {
    fsm f = all_edges(d, e->u.graph.shape);
    walk w = walk_new(d, f.edges.at, f.first, fsm_size(&f));
    uint32_t *places = no_places(d, fsm_size(&f));
    callees_first(&w, f.start, NULL);
    if (w.empty_cycle) components_first(d, &w, &f);
    for (uint32_t i = 0; i < w.done && !d->failed; i++) {
        uint32_t s = w.order[i], base = d->ids.n;
        for (uint32_t k = f.first[s]; k < f.first[s + 1]; k++) {
            fsm_edge g = f.edges.at[k];
            uint32_t target = placed(d, places, g.to), id = g.lo == OPEN ? target : build(d, e->u.graph.labels.at[g.lo], target);
            vec_push(d->mem, &d->ids, id);
        }
        if (f.final.at[s]) vec_push(d->mem, &d->ids, to);
        uint32_t id = unite(d, base);
        place(d, places, s, id);
    }
    return d->failed ? DEAD : places[f.start];
}

static uint32_t build(direct *d, const expr *e, uint32_t to) {
    uint32_t base = d->ids.n, symbol;
    if (d->failed || to == DEAD) return DEAD;
    switch (e->kind) {
    case EXPR_EMPTY:
        return to;
    case EXPR_NEVER:
        return DEAD;
    case EXPR_BYTES:
        for (uint32_t i = e->n; i-- > 0;) to = one_arc(d, e->u.bytes[i], e->u.bytes[i], to);
        return to;
    case EXPR_CLASS:
        return build_class(d, e, to);
    case EXPR_SEQUENCE:
        for (uint32_t i = e->n; i-- > 0;) to = build(d, e->u.parts[i], to);
        return to;
    case EXPR_CHOICE:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t id = build(d, e->u.parts[i], to);
            vec_push(d->mem, &d->ids, id);
        }
        return unite(d, base);
    case EXPR_REPEAT:
        return build_repeat(d, e, to);
    case EXPR_RULE:
        symbol = SYM_RULE + rule_aliased(d->b, e->u.id);
        return d->b->rules.at[symbol - SYM_RULE].never ? DEAD : one_arc(d, symbol, symbol, to);
    case EXPR_ONCE:
        symbol = once_symbol(e->u.id);
        return one_arc(d, symbol, symbol, to);
    case EXPR_TOKEN:
        return one_arc(d, SYM_TOKEN + e->u.tokens.lo, SYM_TOKEN + e->u.tokens.hi, to);
    case EXPR_FSM:
        return build_fsm(d, e->u.automaton, to);
    case EXPR_GRAPH:
        return build_graph(d, e, to);
    case EXPR_DISPATCH:
        d->failed = true;
        return DEAD;
    }
    return DEAD;
}

/* ---- the automaton ---- */

static fsm *emit(direct *d, uint32_t root) {
    uint32_t *number = arena_alloc(d->mem, d->nodes.n, sizeof *number), n_arcs = 0; /* number: + 1 */
    VEC(uint32_t) queue = {0};
    number[root] = 1;
    vec_push(d->mem, &queue, root);
    for (uint32_t s = 0; s < queue.n; s++) {
        const node *k = &d->nodes.at[queue.at[s]];
        n_arcs += k->n;
        for (uint32_t e = 0; e < k->n; e++) {
            uint32_t to = d->arcs.at[k->first + e].to;
            if (number[to] != 0) continue;
            vec_push(d->mem, &queue, to);
            number[to] = queue.n;
        }
    }
    fsm *f = fsm_new(d->b->w);
    work_charge(d->b->w, queue.n);
    f->final.at = arena_alloc(d->mem, queue.n, 1);
    f->final.n = f->final.cap = queue.n;
    f->first = arena_alloc(d->mem, (size_t)queue.n + 1, sizeof *f->first);
    f->edges.at = arena_alloc(d->mem, (size_t)n_arcs + 1, sizeof *f->edges.at);
    f->edges.cap = n_arcs + 1;
    for (uint32_t s = 0; s < queue.n; s++) {
        const node *k = &d->nodes.at[queue.at[s]];
        f->final.at[s] = (uint8_t)k->final;
        for (uint32_t e = 0; e < k->n; e++) {
            arc a = d->arcs.at[k->first + e];
            f->edges.at[f->edges.n++] = (fsm_edge){s, a.lo, a.hi, number[a.to] - 1};
        }
        f->first[s + 1] = f->edges.n;
    }
    f->reduced = true;
    return f;
}

/* Does every state lead to a final one?  From the last to the first, until nothing changes. */
static bool leads_out(direct *d, const fsm *f) {
    uint32_t n = fsm_size(f), useful = 0;
    uint8_t *out = arena_copy(d->mem, f->final.at, n);
    for (uint32_t before = 1; useful != before;) {
        before = useful;
        useful = 0;
        for (uint32_t s = n; s-- > 0;) {
            for (uint32_t e = f->first[s]; out[s] == 0 && e < f->first[s + 1]; e++) out[s] = out[f->edges.at[e].to];
            useful += out[s];
        }
    }
    return useful == n;
}

static fsm *automaton(builder *b, fsm *all, const expr *e) {
    arena_mark here = arena_here(&b->w->mem);
    direct d = {.b = b, .mem = &b->w->mem, .most = (uint64_t)e->size * 4 + SPARE_NODES};
    d.nodes.cap = d.arcs.cap = e->size < 4096 ? e->size + 64 : 4096;
    d.nodes.at = arena_alloc(d.mem, d.nodes.cap, sizeof *d.nodes.at);
    d.arcs.at = arena_alloc(d.mem, d.arcs.cap, sizeof *d.arcs.at);
    vec_push(d.mem, &d.nodes, (node){.n = 0});
    vec_push(d.mem, &d.nodes, (node){.final = 1});
    uint32_t root = build(&d, e, END);
    if (all != NULL) root = subtract(&d, build_fsm(&d, all, END), root);
    fsm *out = d.failed || is_open(&d, root) ? NULL : emit(&d, root);
    if (out != NULL && d.knots && !leads_out(&d, out)) { /* a cycle without an end */
        out = fsm_reduce(out);
        if (out == NULL) out = emit(&d, DEAD);
    }
    if (out != NULL) return fsm_keep(out, here);
    arena_rewind(d.mem, here, NULL);
    return NULL;
}

fsm *expr_direct(builder *b, const expr *e) { return automaton(b, NULL, e); }

fsm *expr_direct_others(builder *b, fsm *all, const expr *e) { return automaton(b, all, e); }
