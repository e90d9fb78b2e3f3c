/* expr.c - see expr.h. */
#include "expr.h"

#include <stdarg.h>
#include <stdio.h>

#include "ahead.h"
#include "direct.h"
#include "json.h"
#include "utf8.h"

/* A repeat whose written-out form has more states than this becomes a counting rule. */
#define UNROLL_STATES 64

void builder_init(builder *b, work *w, const ste_vocab *vocab) { *b = (builder){.w = w, .vocab = vocab}; }

void builder_note(builder *b, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = arena_copy(&b->w->mem, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    vec_push(&b->w->mem, &b->notes, copy);
}

uint32_t rule_new(builder *b) {
    if (b->rules.n >= b->w->limits.rules)
        escape(&b->w->out, STE_ERR_LIMIT, 0, "grammar needs more than %u rules", b->w->limits.rules);
    vec_push(&b->w->mem, &b->rules, (draft_rule){.kind = RULE_PLAIN});
    return b->rules.n - 1;
}

void rule_set(builder *b, uint32_t rule, expr *body) { b->rules.at[rule].body = body; }

uint32_t rule_of(builder *b, expr *body) {
    uint32_t r = rule_new(b);
    rule_set(b, r, body);
    return r;
}

static expr *pinned(builder *b, struct rule *r) {
    if (r == NULL) return NULL;
    b->pinned.at[b->pinned.n++] = r;
    uint32_t rule = rule_new(b);
    b->rules.at[rule] = (draft_rule){.kind = RULE_NAMED, .named = r, .nullable = b->names->nullable(r)};
    return expr_rule(b, rule);
}

/* Room for a pin before there is one: it must not be lost. */
static void reserve_pin(builder *b) {
    vec_push(&b->w->mem, &b->pinned, NULL);
    b->pinned.n--;
}

expr *expr_named(builder *b, const char *text, size_t n, int whitespace) {
    if (b->names == NULL) return NULL;
    reserve_pin(b);
    return pinned(b, b->names->find(b->names->ctx, text, n, whitespace));
}

expr *expr_to_name(builder *b, const char *text, size_t n, int whitespace) {
    reserve_pin(b);
    expr *e = pinned(b, b->names->add(b->names->ctx, text, n, whitespace));
    if (e == NULL) escape(&b->w->out, STE_ERR_NO_MEMORY, 0, "out of memory");
    return e;
}

expr *expr_share(builder *b, const char *name, size_t n, int variant, expr *rule) {
    assert((name[0] == SHARED || name[0] == OTHERS) && rule->kind == EXPR_RULE);
    vec_push(&b->w->mem, &b->texts, ((text_rule){.rule = rule->u.id, .text = name, .n = n, .whitespace = variant}));
    return rule;
}

expr *expr_shared(builder *b, const shared_rule *r, int variant) {
    expr *known = expr_named(b, r->name, strlen(r->name), variant);
    if (known == NULL) {
        uint32_t rule = rule_of(b, expr_fsm(b, r->make(b->w, variant)));
        return expr_share(b, r->name, strlen(r->name), variant, expr_rule(b, rule));
    }
    b->rules.at[known->u.id].begins = r->begins;
    return known;
}

static expr *expr_new(builder *b, expr_kind kind, uint64_t size) {
    expr *e = arena_alloc(&b->w->mem, 1, sizeof *e);
    e->kind = kind;
    e->size = size > UINT32_MAX / 4 ? UINT32_MAX / 4 : (uint32_t)size;
    return e;
}

expr *expr_empty(builder *b) { return expr_new(b, EXPR_EMPTY, 0); }
expr *expr_never(builder *b) { return expr_new(b, EXPR_NEVER, 0); }

expr *expr_bytes(builder *b, const void *bytes, size_t n) {
    if (n == 0) return expr_empty(b);
    expr *e = expr_new(b, EXPR_BYTES, n);
    e->u.bytes = arena_copy(&b->w->mem, bytes, n);
    e->n = (uint32_t)n;
    return e;
}

expr *expr_text(builder *b, const char *text) { return expr_bytes(b, text, strlen(text)); }

expr *expr_class(builder *b, const cp_range *ranges, uint32_t n) {
    if (n == 0) return expr_never(b);
    expr *e = expr_new(b, EXPR_CLASS, 1 + (uint64_t)n);
    e->u.ranges = arena_copy(&b->w->mem, ranges, n * sizeof *ranges);
    e->n = n;
    return e;
}

static expr *expr_list(builder *b, expr_kind kind, expr *const *parts, uint32_t n) {
    uint64_t size = 1;
    for (uint32_t i = 0; i < n; i++) size += parts[i]->size;
    expr *e = expr_new(b, kind, size);
    e->u.parts = arena_copy(&b->w->mem, parts, n * sizeof *parts);
    e->n = n;
    return e;
}

expr *expr_sequence(builder *b, expr *const *parts, uint32_t n) {
    if (n == 0) return expr_empty(b);
    return n == 1 ? parts[0] : expr_list(b, EXPR_SEQUENCE, parts, n);
}

expr *expr_pair(builder *b, expr *first, expr *second) { return expr_sequence(b, (expr *[]){first, second}, 2); }

expr *expr_choice(builder *b, expr *const *parts, uint32_t n) {
    if (n == 0) return expr_never(b);
    return n == 1 ? parts[0] : expr_list(b, EXPR_CHOICE, parts, n);
}

expr *expr_rule(builder *b, uint32_t rule) {
    expr *e = expr_new(b, EXPR_RULE, 1);
    e->u.id = rule;
    return e;
}

expr *expr_fsm(builder *b, fsm *automaton) {
    expr *e = expr_new(b, EXPR_FSM, fsm_size(automaton));
    e->u.automaton = automaton;
    return e;
}

expr *expr_graph(builder *b) {
    expr *e = expr_new(b, EXPR_GRAPH, 2);
    e->u.graph.shape = fsm_new(b->w);
    uint32_t end = fsm_state(e->u.graph.shape);
    e->u.graph.shape->final.at[end] = 1;
    return e;
}

void graph_edge(builder *b, expr *graph, uint32_t from, expr *label, uint32_t to) {
    uint32_t number = graph->u.graph.labels.n;
    vec_push(&b->w->mem, &graph->u.graph.labels, label);
    fsm_edge_add(graph->u.graph.shape, from, number, number, to);
    uint64_t size = (uint64_t)graph->size + label->size + 1;
    graph->size = size > UINT32_MAX / 4 ? UINT32_MAX / 4 : (uint32_t)size;
}

expr *expr_capture(builder *b, expr *body, capture c) {
    uint32_t rule = rule_of(b, body);
    b->rules.at[rule].capture = c;
    return expr_rule(b, rule);
}

expr *expr_metered(builder *b, expr *body, meter m) {
    uint32_t rule = rule_of(b, body);
    b->rules.at[rule].meter = m;
    return expr_rule(b, rule);
}

expr *expr_dispatch(builder *b, const dispatch_pattern *patterns, uint32_t n, bool loop) {
    uint64_t size = 8;
    for (uint32_t i = 0; i < n; i++) size += patterns[i].n + (patterns[i].then != NULL ? patterns[i].then->size : 0);
    expr *e = expr_new(b, EXPR_DISPATCH, size);
    e->u.dispatch.patterns = arena_copy(&b->w->mem, patterns, n * sizeof *patterns);
    e->u.dispatch.loop = loop;
    e->n = n;
    return e;
}

expr *expr_optional(builder *b, expr *body) { return expr_repeat(b, body, 0, 1); }

/* ASCII characters that one repetition may begin with. */
static uint32_t first_characters(const builder *b, const expr *body) {
    uint32_t n = 0;
    if (body->kind == EXPR_RULE && b->rules.at[body->u.id].kind == RULE_NAMED) return b->rules.at[body->u.id].begins;
    if (body->kind == EXPR_RULE && b->rules.at[body->u.id].kind == RULE_PLAIN && b->rules.at[body->u.id].body != NULL)
        body = b->rules.at[body->u.id].body;
    if (body->kind == EXPR_CLASS)
        for (uint32_t i = 0; i < body->n && body->u.ranges[i].lo < 128; i++)
            n += (body->u.ranges[i].hi < 127 ? body->u.ranges[i].hi : 127) - body->u.ranges[i].lo + 1;
    const fsm *f = body->kind == EXPR_FSM ? body->u.automaton : NULL;
    for (uint32_t e = 0; f != NULL && e < f->edges.n; e++)
        if (f->edges.at[e].from == f->start && f->edges.at[e].lo < 128)
            n += (f->edges.at[e].hi < 127 ? f->edges.at[e].hi : 127) - f->edges.at[e].lo + 1;
    return n;
}

/* Repetitions of this many characters are counted even when they are few: their masks need no walk then (loops.c). */
#define WIDE 64

expr *expr_repeat(builder *b, expr *body, uint32_t min, uint32_t max) {
    if (max == 0) return expr_empty(b);
    if (min == 1 && max == 1) return body;
    /* (x*){m,n} is x*, and not as ambiguous. */
    if (body->kind == EXPR_REPEAT && body->u.repeat.min == 0 && body->u.repeat.max == REPEAT_INFINITE) return body;
    uint64_t copies = max == REPEAT_INFINITE ? (uint64_t)min + 1 : max;
    uint64_t size = copies * (body->size + 1);
    bool bounded = min > 1 || max != REPEAT_INFINITE;
    if (copies > 1 && (size > UNROLL_STATES || (bounded && first_characters(b, body) >= WIDE))) {
        uint32_t inner = body->kind == EXPR_RULE ? body->u.id : rule_of(b, body);
        uint32_t r = rule_new(b);
        b->rules.at[r] = (draft_rule){.kind = RULE_REPEAT, .min = min, .max = max, .repeated = inner};
        return expr_rule(b, r);
    }
    expr *e = expr_new(b, EXPR_REPEAT, size);
    e->u.repeat.body = body;
    e->u.repeat.min = min;
    e->u.repeat.max = max;
    return e;
}

/* As a rule of its own: the edges of its automaton are separators and elements, told apart by their rules. */
expr *expr_distinct(builder *b, const distinct_list *list) {
    expr *element = list->element->kind == EXPR_RULE ? list->element : expr_rule(b, rule_of(b, list->element));
    expr *open = expr_rule(b, rule_of(b, list->open)), *shut = expr_rule(b, rule_of(b, list->shut));
    expr *separator = expr_rule(b, rule_of(b, list->separator)), *close = expr_rule(b, rule_of(b, list->close));
    expr *more = expr_repeat(b, expr_pair(b, separator, element), 0, REPEAT_INFINITE);
    expr *inner = expr_sequence(b, (expr *[]){element, more, close}, 3);
    if (list->min == 0) inner = expr_choice(b, (expr *[]){inner, shut}, 2);
    uint32_t r = rule_of(b, expr_pair(b, open, inner));
    draft_rule *rule = &b->rules.at[r];
    rule->kind = RULE_DISTINCT;
    rule->min = list->min;
    rule->max = list->max;
    rule->repeated = element->u.id;
    rule->values = list->values;
    rule->place = list->place;
    return expr_rule(b, r);
}

expr *expr_tokens(builder *b, uint32_t lo, uint32_t hi) {
    expr *e = expr_new(b, EXPR_TOKEN, 1);
    e->u.tokens.lo = lo;
    e->u.tokens.hi = hi;
    return e;
}

expr *expr_once(builder *b, uint32_t which) {
    assert(which <= MAX_ONCE);
    expr *e = expr_new(b, EXPR_ONCE, 1);
    e->u.id = which;
    return e;
}

expr *expr_required(builder *b) { return expr_once(b, MAX_ONCE); }

uint32_t literal_symbols(builder *b, const void *bytes, size_t n, const uint32_t **symbols) {
    const uint8_t *s = bytes;
    uint32_t *out = arena_alloc(&b->w->mem, n + 1, sizeof *out), k = 0;
    for (size_t i = 0; i < n;) {
        size_t length = 0;
        uint32_t token = trie_longest_prefix(&b->vocab->specials, s + i, n - i, &length);
        if (token != TRIE_NO_TOKEN) {
            out[k++] = SYM_TOKEN + token;
            i += length;
        } else {
            out[k++] = s[i++];
        }
    }
    *symbols = out;
    return k;
}

expr *expr_literal(builder *b, const void *bytes, size_t n) {
    const uint32_t *symbols;
    uint32_t k = literal_symbols(b, bytes, n, &symbols);
    VEC(expr *) parts = {0};
    for (uint32_t i = 0; i < k;) {
        expr *part;
        if (sym_is_token(symbols[i])) {
            /* Special tokens with equal text: each of them will do. */
            VEC(expr *) same = {0};
            for (uint32_t t = symbols[i++] - SYM_TOKEN; t != TRIE_NO_TOKEN; t = b->vocab->specials.next_same[t]) {
                expr *e = expr_tokens(b, t, t);
                vec_push(&b->w->mem, &same, e);
            }
            part = expr_choice(b, same.at, same.n);
        } else {
            uint32_t from = i;
            while (i < k && !sym_is_token(symbols[i])) i++;
            uint8_t *run = arena_alloc(&b->w->mem, i - from, 1);
            for (uint32_t j = from; j < i; j++) run[j - from] = (uint8_t)symbols[j];
            part = expr_bytes(b, run, i - from);
        }
        vec_push(&b->w->mem, &parts, part);
    }
    return expr_sequence(b, parts.at, parts.n);
}

/* ---- Thompson construction ---- */

static void build_repeat(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    const expr *body = e->u.repeat.body;
    uint32_t at = from;
    for (uint32_t i = 0; i < e->u.repeat.min; i++) {
        uint32_t next = fsm_state(f);
        expr_build(b, body, f, at, next);
        at = next;
    }
    if (e->u.repeat.max == REPEAT_INFINITE) {
        uint32_t loop = fsm_state(f), end = fsm_state(f);
        fsm_empty_add(f, at, loop);
        expr_build(b, body, f, loop, end);
        fsm_empty_add(f, end, loop);
        fsm_empty_add(f, loop, to);
        return;
    }
    for (uint32_t i = e->u.repeat.min; i < e->u.repeat.max; i++) {
        uint32_t next = fsm_state(f), inside = fsm_state(f);
        fsm_empty_add(f, at, to);
        fsm_empty_add(f, at, inside); /* a state of its own: the body may loop back to its start */
        expr_build(b, body, f, inside, next);
        at = next;
    }
    fsm_empty_add(f, at, to);
}

uint32_t rule_aliased(const builder *b, uint32_t rule) {
    for (int hops = 0; hops < 32; hops++) {
        const draft_rule *r = &b->rules.at[rule];
        if (r->kind != RULE_PLAIN || r->capture.name != NULL || meter_counts(&r->meter) || r->body == NULL || r->body->kind != EXPR_RULE) break;
        rule = r->body->u.id;
    }
    return rule;
}

/* ---- choices that begin with bytes: their common prefixes are one path ---- */

#define SHARE_PREFIXES 8 /* fewer alternatives are left to the subset construction */

typedef struct prefix_tree {
    fsm *f;
    uint32_t *table, mask; /* edge of f, + 1, by (from, byte) */
} prefix_tree;

static uint32_t prefix_step(prefix_tree *t, uint32_t from, uint8_t byte) {
    uint32_t slot = (uint32_t)hash_mix(from, byte) & t->mask;
    for (; t->table[slot] != 0; slot = (slot + 1) & t->mask) {
        const fsm_edge *g = &t->f->edges.at[t->table[slot] - 1];
        if (g->from == from && g->lo == byte) return g->to;
    }
    uint32_t to = fsm_state(t->f);
    fsm_edge_add(t->f, from, byte, byte, to);
    t->table[slot] = t->f->edges.n;
    return to;
}

static const expr *first_part(const expr *e) {
    while (e->kind == EXPR_SEQUENCE) e = e->u.parts[0];
    return e;
}

/* What is left of e after its first part; levels of nesting are handled one by one. */
static void build_rest(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    if (e->kind != EXPR_SEQUENCE) {
        fsm_empty_add(f, from, to);
        return;
    }
    uint32_t at = fsm_state(f);
    build_rest(b, e->u.parts[0], f, from, at);
    for (uint32_t i = 1; i < e->n; i++) {
        uint32_t next = i + 1 == e->n ? to : fsm_state(f);
        expr_build(b, e->u.parts[i], f, at, next);
        at = next;
    }
}

static void build_choice(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    uint32_t total = 0, size = 64;
    for (uint32_t i = 0; i < e->n && e->n >= SHARE_PREFIXES; i++) {
        const expr *first = first_part(e->u.parts[i]);
        if (first->kind == EXPR_BYTES) total += first->n;
    }
    while (size < total * 2) size *= 2;
    prefix_tree t = {f, arena_alloc(&f->w->mem, size, sizeof *t.table), size - 1};
    uint32_t root = total == 0 ? 0 : fsm_state(f);
    if (total != 0) fsm_empty_add(f, from, root);
    for (uint32_t i = 0; i < e->n; i++) {
        const expr *first = first_part(e->u.parts[i]);
        uint32_t at = root;
        if (total != 0 && first->kind == EXPR_BYTES) {
            for (uint32_t k = 0; k < first->n; k++) at = prefix_step(&t, at, first->u.bytes[k]);
            build_rest(b, e->u.parts[i], f, at, to);
        } else {
            at = fsm_state(f);
            fsm_empty_add(f, from, at);
            expr_build(b, e->u.parts[i], f, at, to);
        }
    }
}

static void build_graph(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    const fsm *shape = e->u.graph.shape;
    uint32_t n = fsm_size(shape), *number = arena_alloc(&b->w->mem, n, sizeof *number);
    for (uint32_t s = 0; s < n; s++) number[s] = fsm_state(f);
    fsm_empty_add(f, from, number[0]);
    fsm_empty_add(f, number[1], to);
    for (uint32_t i = 0; i < shape->empties.n; i++)
        fsm_empty_add(f, number[shape->empties.at[i].from], number[shape->empties.at[i].to]);
    for (uint32_t i = 0; i < shape->edges.n; i++) {
        fsm_edge g = shape->edges.at[i];
        expr_build(b, e->u.graph.labels.at[g.lo], f, number[g.from], number[g.to]);
    }
}

void expr_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    uint32_t at = from;
    switch (e->kind) {
    case EXPR_EMPTY:
        fsm_empty_add(f, from, to);
        return;
    case EXPR_NEVER:
        return;
    case EXPR_BYTES:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t next = i + 1 == e->n ? to : fsm_state(f);
            fsm_edge_add(f, at, e->u.bytes[i], e->u.bytes[i], next);
            at = next;
        }
        return;
    case EXPR_CLASS:
        for (uint32_t i = 0; i < e->n; i++) fsm_utf8_add(f, from, e->u.ranges[i].lo, e->u.ranges[i].hi, to);
        return;
    case EXPR_SEQUENCE:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t next = i + 1 == e->n ? to : fsm_state(f);
            expr_build(b, e->u.parts[i], f, at, next);
            at = next;
        }
        return;
    case EXPR_CHOICE:
        build_choice(b, e, f, from, to);
        return;
    case EXPR_REPEAT:
        build_repeat(b, e, f, from, to);
        return;
    case EXPR_RULE:
        at = SYM_RULE + rule_aliased(b, e->u.id);
        fsm_edge_add(f, from, at, at, to);
        return;
    case EXPR_ONCE:
        at = once_symbol(e->u.id);
        fsm_edge_add(f, from, at, at, to);
        return;
    case EXPR_TOKEN:
        fsm_edge_add(f, from, SYM_TOKEN + e->u.tokens.lo, SYM_TOKEN + e->u.tokens.hi, to);
        return;
    case EXPR_FSM:
        fsm_insert(f, e->u.automaton, from, to);
        return;
    case EXPR_GRAPH:
        build_graph(b, e, f, from, to);
        return;
    case EXPR_DISPATCH:
        dispatch_build(b, e, f, from, to);
        return;
    }
}

/* ---- from expressions to the final automata ---- */

static bool edge_productive(void *ctx, const fsm_edge *e) {
    const builder *b = ctx;
    return !sym_is_rule(e->lo) || b->rules.at[e->lo - SYM_RULE].productive;
}

/* Can f reach a final state using only rules that are known to be productive
 * (or, for nullable, nullable ones and nothing else)? */
static bool reaches_final(builder *b, const fsm *f, bool nullable) {
    arena *mem = &b->w->mem;
    uint8_t *seen = arena_alloc(mem, fsm_size(f), 1);
    uint32_t *stack = arena_alloc(mem, fsm_size(f), sizeof *stack), depth = 0;
    seen[f->start] = 1;
    stack[depth++] = f->start;
    while (depth > 0) {
        uint32_t s = stack[--depth];
        if (f->final.at[s]) return true;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            bool open = nullable ? sym_is_rule(g.lo) && b->rules.at[g.lo - SYM_RULE].nullable : edge_productive(b, &g);
            if (open && !seen[g.to]) {
                seen[g.to] = 1;
                stack[depth++] = g.to;
            }
        }
    }
    return false;
}

/* Is every required once on some way through the rule? */
static bool passes_required(builder *b, const draft_rule *rule) {
    const fsm *f = fsm_trim(rule->automaton, edge_productive, b);
    uint64_t *left = arena_copy(&b->w->mem, rule->required, rule->required_words * sizeof *left), any = 0;
    for (uint32_t e = 0; e < f->edges.n; e++) {
        uint32_t at = f->edges.at[e].lo;
        if (sym_is_once(at) && at != SYM_REQUIRED && (at - SYM_ONCE) / 64 < rule->required_words)
            left[(at - SYM_ONCE) / 64] &= ~(UINT64_C(1) << (at - SYM_ONCE) % 64);
    }
    for (uint32_t i = 0; i < rule->required_words; i++) any |= left[i];
    return any == 0;
}

/* Which rules reference which: a rule is looked at again only when one of its references changed. */
typedef struct references {
    uint32_t *first, *from; /* rule -> rules that mention it */
    uint32_t *queue, head, tail;
    uint8_t *queued;
} references;

static void references_init(builder *b, references *r) {
    arena *mem = &b->w->mem;
    uint32_t n = b->rules.n;
    VEC(fsm_empty) pairs = {0}; /* to mentions from */
    for (uint32_t i = 0; i < n; i++) {
        const draft_rule *rule = &b->rules.at[i];
        if (rule->kind == RULE_REPEAT) vec_push(mem, &pairs, (fsm_empty){rule->repeated, i});
        for (uint32_t e = 0; rule->automaton != NULL && e < rule->automaton->edges.n; e++)
            if (sym_is_rule(rule->automaton->edges.at[e].lo))
                vec_push(mem, &pairs, (fsm_empty){rule->automaton->edges.at[e].lo - SYM_RULE, i});
    }
    r->first = arena_alloc(mem, (size_t)n + 2, sizeof *r->first);
    r->from = arena_alloc(mem, pairs.n + 1, sizeof *r->from);
    for (uint32_t i = 0; i < pairs.n; i++) r->first[pairs.at[i].from + 2]++;
    for (uint32_t i = 0; i < n; i++) r->first[i + 2] += r->first[i + 1];
    for (uint32_t i = 0; i < pairs.n; i++) r->from[r->first[pairs.at[i].from + 1]++] = pairs.at[i].to;
    r->queue = arena_alloc(mem, (size_t)n + 1, sizeof *r->queue);
    r->queued = arena_alloc(mem, (size_t)n + 1, 1);
}

static void enqueue(references *r, uint32_t n_rules, uint32_t rule) {
    if (r->queued[rule]) return;
    r->queued[rule] = 1;
    r->queue[r->tail] = rule;
    r->tail = (r->tail + 1) % (n_rules + 1);
}

static void settle(builder *b, references *r, bool nullable) {
    uint32_t n = b->rules.n;
    for (uint32_t i = 0; i < n; i++) enqueue(r, n, i);
    while (r->head != r->tail) {
        uint32_t i = r->queue[r->head];
        r->head = (r->head + 1) % (n + 1);
        r->queued[i] = 0;
        draft_rule *rule = &b->rules.at[i];
        if (nullable ? rule->nullable || !rule->productive : rule->productive) continue;
        bool now;
        if (rule->kind == RULE_NAMED) {
            now = !nullable; /* it was known from the start whether it is */
        } else if (rule->kind == RULE_REPEAT) {
            const draft_rule *inner = &b->rules.at[rule->repeated];
            now = rule->min == 0 || (nullable ? inner->nullable : inner->productive);
        } else {
            now = rule->automaton != NULL && !(nullable && rule->meter.least_chars != 0) && reaches_final(b, rule->automaton, nullable);
            if (now && !nullable && rule->required != NULL) now = passes_required(b, rule);
        }
        if (!now) continue;
        if (nullable)
            rule->nullable = true;
        else
            rule->productive = true;
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++) enqueue(r, n, r->from[k]);
    }
}

fsm *expr_automaton(builder *b, const expr *e) {
    fsm *direct = e->kind != EXPR_FSM ? expr_direct(b, e) : NULL;
    if (direct != NULL) return direct;
    arena_mark here = arena_here(&b->w->mem);
    fsm *f = fsm_new(b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    expr_build(b, e, f, f->start, end);
    return fsm_keep(fsm_determinise(f), here);
}

void builder_finish(builder *b, int code) {
    for (uint32_t i = b->rules.n; i-- > 0;) { /* mostly, rules come before those that they mention */
        draft_rule *rule = &b->rules.at[i];
        if (rule->kind != RULE_PLAIN && rule->kind != RULE_DISTINCT) continue;
        assert(rule->body != NULL);
        if (rule->kind == RULE_DISTINCT) rule->repeated = rule_aliased(b, rule->repeated);
        if (rule->body->kind == EXPR_FSM && rule->body->u.automaton->reduced) {
            rule->automaton = rule->body->u.automaton;
            continue;
        }
        rule->automaton = expr_automaton(b, rule->body);
        rule->never = rule->automaton->edges.n == 0 && rule->automaton->final.at[rule->automaton->start] == 0;
    }
    ahead_resolve(b);
    references r = {0};
    references_init(b, &r);
    settle(b, &r, false);
    for (uint32_t i = 0; i < b->texts.n; i++)
        if (!b->rules.at[b->texts.at[i].rule].productive)
            json_escape(b->w, b->texts.at[i].place, STE_ERR_SCHEMA, "nothing satisfies this schema");
    if (!b->rules.at[b->root].productive && b->empty != NULL) {
        char pointer[160];
        json_pointer(b->empty, pointer, sizeof pointer);
        escape(&b->w->out, code, 0, "nothing can match: the grammar is empty; no value satisfies the schema at %s", pointer);
    }
    if (!b->rules.at[b->root].productive) escape(&b->w->out, code, 0, "nothing can match: the grammar is empty");
    settle(b, &r, true);
    bool all = true; /* rules match something */
    for (uint32_t i = 0; i < b->rules.n && all; i++) all = b->rules.at[i].productive;
    for (uint32_t i = 0; i < b->rules.n; i++) {
        draft_rule *rule = &b->rules.at[i];
        if (rule->kind == RULE_NAMED) continue;
        if (rule->kind == RULE_REPEAT) {
            /* A body that may be empty can be repeated any number of times up to max;
             * a body that matches nothing leaves only the empty repetition. */
            if (b->rules.at[rule->repeated].nullable) rule->min = 0;
            if (!b->rules.at[rule->repeated].productive) rule->max = 0;
            continue;
        }
        if (all && rule->automaton->reduced) continue; /* as small as it gets */
        fsm *trimmed = rule->productive ? fsm_trim(rule->automaton, edge_productive, b) : NULL;
        rule->automaton = trimmed == NULL ? NULL : trimmed->reduced ? trimmed : fsm_minimise(trimmed);
    }
}
