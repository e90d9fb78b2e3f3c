/* rules.c - equal rules of all grammars are one rule.
 *
 * The builder's rules form a graph of references.  Its strongly connected
 * components are taken callees first, so a component's outward references are
 * already rules of the store.  A component is looked up as a whole:
 *
 *   1. hash every rule: its automaton, outward references by the hash of the
 *      rule they mean, inward ones by a constant;
 *   2. within a cycle, hash again with the hashes of the last round, so that
 *      each rule's hash knows its surroundings;
 *   3. a stored rule with the hash of the first one is compared structurally,
 *      pairing inward references as they are met.  Only a full match is reused:
 *      a hash collision costs a comparison, never a wrong rule.
 *
 * States are numbered breadth first with references ordered by hash, so the
 * order in which a front end created its rules rarely matters.
 *
 * Cost: the edges of all rules, those of a cycle once in each round of step 2 (at
 * most nine). */
#include "json.h"
#include "meter.h"

typedef struct node {
    bool on_stack, seen;
    uint32_t n_rules, n_tokens, n_onces; /* edges of its automaton */
    uint32_t index, low, component;
    uint64_t hash, next_hash;
    rule *done;
    fsm *automaton; /* renumbered */
} node;

typedef struct interner {
    store *s;
    builder *b;
    arena *mem;
    node *nodes;
    VEC(uint32_t) members; /* of the component at hand */
    uint32_t n_components;
} interner;

static uint32_t rule_number(const fsm_edge *e) { return e->lo - SYM_RULE; }

/* ---- strongly connected components (Tarjan), without recursion ---- */

static void count_edges(const interner *in, uint32_t i) {
    const draft_rule *r = &in->b->rules.at[i];
    if (r->kind == RULE_NAMED || r->kind == RULE_REPEAT) return;
    for (uint32_t e = 0; e < r->automaton->edges.n; e++) {
        uint32_t symbol = r->automaton->edges.at[e].lo;
        if (symbol < SYM_RULE) continue;
        in->nodes[i].n_rules += sym_is_rule(symbol);
        in->nodes[i].n_tokens += sym_is_token(symbol);
        in->nodes[i].n_onces += sym_is_once(symbol);
    }
}

static uint32_t reference_count(const interner *in, uint32_t i) {
    const draft_rule *r = &in->b->rules.at[i];
    if (r->kind == RULE_NAMED) return 0;
    if (r->kind == RULE_REPEAT) return r->max == 0 ? 0 : 1;
    return in->nodes[i].n_rules == 0 ? 0 : r->automaton->edges.n;
}

/* The k-th reference of rule i; UINT32_MAX if that edge is not one. */
static uint32_t reference(const interner *in, uint32_t i, uint32_t k) {
    const draft_rule *r = &in->b->rules.at[i];
    if (r->kind == RULE_REPEAT) return r->repeated;
    const fsm_edge *e = &r->automaton->edges.at[k];
    return sym_is_rule(e->lo) ? rule_number(e) : UINT32_MAX;
}

static bool intern_component(interner *in);

static bool walk(interner *in, uint32_t root) {
    typedef struct frame {
        uint32_t rule, edge;
    } frame;
    uint32_t n = in->b->rules.n, depth = 0, on_stack = 0, counter = 0;
    frame *frames = arena_alloc(in->mem, n, sizeof *frames);
    uint32_t *stack = arena_alloc(in->mem, n, sizeof *stack);
    frames[depth++] = (frame){root, 0};
    while (depth > 0) {
        frame *f = &frames[depth - 1];
        node *at = &in->nodes[f->rule];
        if (!at->seen) {
            at->seen = at->on_stack = true;
            count_edges(in, f->rule);
            at->index = at->low = counter++;
            stack[on_stack++] = f->rule;
        }
        if (f->edge < reference_count(in, f->rule)) {
            uint32_t to = reference(in, f->rule, f->edge++);
            if (to == UINT32_MAX) continue;
            node *next = &in->nodes[to];
            if (!next->seen)
                frames[depth++] = (frame){to, 0};
            else if (next->on_stack && next->index < at->low)
                at->low = next->index;
            continue;
        }
        if (at->low == at->index) {
            in->members.n = 0;
            in->n_components++;
            uint32_t member;
            do {
                member = stack[--on_stack];
                in->nodes[member].on_stack = false;
                in->nodes[member].component = in->n_components;
                vec_push(in->mem, &in->members, member);
            } while (member != f->rule);
            if (!intern_component(in)) return false;
        }
        depth--;
        if (depth > 0) {
            node *parent = &in->nodes[frames[depth - 1].rule];
            if (at->low < parent->low) parent->low = at->low;
        }
    }
    return true;
}

/* ---- canonical numbering and hashes ---- */

static uint64_t reference_hash(const interner *in, uint32_t to) {
    const node *t = &in->nodes[to];
    return t->done != NULL ? t->done->hash : t->hash;
}

typedef struct order_key {
    uint64_t hash;
    fsm_edge edge;
} order_key;

static bool key_before(const order_key *a, const order_key *b) {
    bool ra = sym_is_rule(a->edge.lo), rb = sym_is_rule(b->edge.lo);
    if (ra != rb) return rb;
    if (ra && a->hash != b->hash) return a->hash < b->hash;
    if (a->edge.lo != b->edge.lo) return a->edge.lo < b->edge.lo;
    if (a->edge.hi != b->edge.hi) return a->edge.hi < b->edge.hi;
    return a->edge.to < b->edge.to;
}

/* Is f numbered breadth first, with edges in the order of key_before? */
static bool is_canonical(const interner *in, const fsm *f) {
    uint32_t next = 1; /* the next number to be met */
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (g.to > next) return false;
        next += g.to == next;
        if (e == 0 || f->edges.at[e - 1].from != g.from || !sym_is_rule(g.lo)) continue;
        fsm_edge before = f->edges.at[e - 1];
        order_key a = {sym_is_rule(before.lo) ? reference_hash(in, rule_number(&before)) : 0, before};
        order_key b = {reference_hash(in, rule_number(&g)), g};
        if (key_before(&b, &a)) return false;
    }
    return f->start == 0;
}

/* Breadth-first numbering; the edges of a state in the order of key_before. */
static fsm *renumber(interner *in, fsm *f) {
    if (is_canonical(in, f)) return f;
    arena *mem = in->mem;
    uint32_t n = fsm_size(f), head = 0, tail = 0;
    f->w->states -= n; /* the new one takes its place */
    fsm *out = fsm_new(f->w);
    uint32_t *number = arena_alloc(mem, n, sizeof *number), *queue = arena_alloc(mem, n, sizeof *queue);
    VEC(order_key) keys = {0};
    number[f->start] = 1;
    queue[tail++] = f->start;
    while (head < tail) {
        uint32_t s = queue[head++];
        out->final.at[number[s] - 1] = f->final.at[s];
        keys.n = 0;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            order_key k = {0, f->edges.at[e]};
            if (sym_is_rule(k.edge.lo)) k.hash = reference_hash(in, rule_number(&k.edge));
            vec_push(mem, &keys, k);
        }
        for (uint32_t i = 1; i < keys.n; i++) { /* nearly sorted already */
            order_key k = keys.at[i];
            uint32_t j = i;
            for (; j > 0 && key_before(&k, &keys.at[j - 1]); j--) keys.at[j] = keys.at[j - 1];
            keys.at[j] = k;
        }
        for (uint32_t i = 0; i < keys.n; i++) {
            fsm_edge g = keys.at[i].edge;
            if (number[g.to] == 0) {
                number[g.to] = fsm_state(out) + 1;
                queue[tail++] = g.to;
            }
            fsm_edge_add(out, number[s] - 1, g.lo, g.hi, number[g.to] - 1);
        }
    }
    out->first = arena_alloc(mem, (size_t)fsm_size(out) + 1, sizeof *out->first);
    for (uint32_t s = 0, e = 0; s <= fsm_size(out); s++) {
        while (e < out->edges.n && out->edges.at[e].from < s) e++;
        out->first[s] = e;
    }
    return out;
}

static uint64_t hash_rule(const interner *in, uint32_t i) {
    const draft_rule *r = &in->b->rules.at[i];
    uint64_t h = hash_mix((uint64_t)r->kind, r->nullable);
    if (r->capture.name != NULL) h = hash_bytes(r->capture.name, r->capture.n, hash_mix(h, r->capture.lead));
    h = hash_mix(hash_mix(hash_mix(h, r->meter.most_tokens), r->meter.least_chars), r->meter.most_chars);
    if (r->kind == RULE_REPEAT)
        return hash_mix(hash_mix(hash_mix(h, r->min), r->max), r->max == 0 ? 0 : reference_hash(in, r->repeated));
    const fsm *f = in->nodes[i].automaton;
    if (r->kind == RULE_DISTINCT) h = hash_mix(hash_mix(hash_mix(h, r->min), r->max), r->values);
    h = hash_mix(h, fsm_size(f));
    if (r->required != NULL) h = hash_bytes(r->required, r->required_words * sizeof *r->required, h);
    h = hash_bytes(f->final.at, fsm_size(f), h);
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        uint64_t label = sym_is_rule(g.lo) ? reference_hash(in, rule_number(&g)) : (uint64_t)g.lo << 32 | g.hi;
        h = hash_mix(h, label * 5 + ((uint64_t)g.from << 16 ^ g.to));
    }
    return h;
}

/* ---- lookup ---- */

typedef struct pairing {
    VEC(uint32_t) queue;
} pairing;

/* Does the draft reference `to` mean the stored rule r?  Inward references are paired and compared later. */
static bool same_reference(interner *in, pairing *p, uint32_t to, rule *r) {
    node *t = &in->nodes[to];
    if (t->done != NULL) return t->done == r;
    t->done = r; /* an assumption; undone if the comparison fails */
    vec_push(in->mem, &p->queue, to);
    return true;
}

static uint32_t once_number(uint32_t symbol) { return symbol == SYM_REQUIRED ? MAX_ONCE : symbol - SYM_ONCE; }

static bool same_capture(const capture *a, const capture *b) {
    if (a->name == NULL || b->name == NULL) return a->name == b->name;
    return a->n == b->n && a->lead == b->lead && memcmp(a->name, b->name, a->n) == 0;
}

static bool same_meter(const meter *a, const meter *b) {
    return a->most_tokens == b->most_tokens && a->least_chars == b->least_chars && a->most_chars == b->most_chars;
}

static bool same_required(const draft_rule *d, const rule *r) {
    const uint64_t *have = r->once_words == 0 ? &r->required.few : r->required.many;
    uint32_t words = r->once_words == 0 ? 1 : r->once_words;
    for (uint32_t i = 0; i < words || i < d->required_words; i++)
        if ((i < d->required_words ? d->required[i] : 0) != (i < words ? have[i] : 0)) return false;
    return true;
}

static bool same_rule(interner *in, pairing *p, uint32_t i, const rule *r) {
    const draft_rule *d = &in->b->rules.at[i];
    if (d->kind != r->kind || d->nullable != r->nullable || !same_capture(&d->capture, &r->capture) ||
        !same_meter(&d->meter, &r->meter))
        return false;
    if (d->kind == RULE_REPEAT)
        return d->min == r->min && d->max == r->max && (d->max == 0 || same_reference(in, p, d->repeated, r->repeated));
    const fsm *f = in->nodes[i].automaton;
    bool distinct = d->kind == RULE_DISTINCT;
    if (distinct && (d->min != r->min || d->max != r->max || d->values != r->listed)) return false;
    if (fsm_size(f) + distinct != r->n_states || f->edges.n != r->n_bytes + r->n_rules + r->n_tokens + r->n_onces) return false;
    if (!same_required(d, r)) return false;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        const state *st = &r->states[s];
        if ((f->final.at[s] != 0) != st->final) return false;
        if (f->first[s + 1] - f->first[s] != st->n_bytes + st->n_rules + st->n_tokens + st->n_onces) return false;
        uint32_t nb = 0, nr = 0, nt = 0, no = 0;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            const state *to;
            if (sym_is_once(g.lo)) {
                if (no == st->n_onces || st->onces[no].which != once_number(g.lo)) return false;
                to = st->onces[no++].to;
            } else if (sym_is_token(g.lo)) {
                if (nt == st->n_tokens || st->tokens[nt].lo != g.lo - SYM_TOKEN || st->tokens[nt].hi != g.hi - SYM_TOKEN) return false;
                to = st->tokens[nt++].to;
            } else if (sym_is_rule(g.lo)) {
                if (nr == st->n_rules) return false;
                to = st->rules[nr].to;
                if (!same_reference(in, p, rule_number(&g), st->rules[nr++].rule)) return false;
            } else {
                if (nb == st->n_bytes || st->bytes[nb].lo != g.lo || st->bytes[nb].hi != g.hi) return false;
                to = st->bytes[nb++].to;
            }
            if (to != &r->states[g.to]) return false;
        }
    }
    return true;
}

static bool matches(interner *in, rule *candidate) {
    pairing p = {0};
    uint32_t first = in->members.at[0];
    same_reference(in, &p, first, candidate);
    bool same = true;
    for (uint32_t q = 0; q < p.queue.n && same; q++)
        same = same_rule(in, &p, p.queue.at[q], in->nodes[p.queue.at[q]].done);
    if (!same)
        for (uint32_t q = 0; q < p.queue.n; q++) in->nodes[p.queue.at[q]].done = NULL;
    return same;
}

/* ---- creation ---- */

static size_t align8(size_t n) { return (n + 7) & ~(size_t)7; }

static rule *rule_allocate(interner *in, uint32_t i) {
    const draft_rule *d = &in->b->rules.at[i];
    const fsm *f = in->nodes[i].automaton;
    uint32_t n_rules = in->nodes[i].n_rules, n_tokens = in->nodes[i].n_tokens, n_onces = in->nodes[i].n_onces;
    uint32_t n_states = 1, n_bytes = 0, below = 0;
    if (d->kind == RULE_PLAIN || d->kind == RULE_DISTINCT) {
        n_states = fsm_size(f) + (d->kind == RULE_DISTINCT); /* and the state within an element */
        for (uint32_t e = 0; e < f->edges.n && n_onces != 0; e++)
            if (sym_is_once(f->edges.at[e].lo) && f->edges.at[e].lo != SYM_REQUIRED && f->edges.at[e].lo - SYM_ONCE >= below)
                below = f->edges.at[e].lo - SYM_ONCE + 1;
        n_bytes = f->edges.n - n_rules - n_tokens - n_onces;
    }
    size_t states_at = align8(sizeof(rule)), bytes_at = states_at + align8(n_states * sizeof(state));
    size_t rules_at = bytes_at + align8(n_bytes * sizeof(byte_edge));
    size_t tokens_at = rules_at + align8(n_rules * sizeof(rule_edge));
    size_t onces_at = tokens_at + align8(n_tokens * sizeof(token_edge));
    size_t name_at = onces_at + align8(n_onces * sizeof(once_edge));
    size_t many_at = name_at + (d->capture.name == NULL ? 0 : align8((size_t)d->capture.n + 1));
    if (d->required_words * 64 > below) below = d->required_words * 64;
    uint32_t words = below <= FEW_ONCES ? 0 : (below + 63) / 64;
    size_t size = many_at + ((size_t)n_states + 1) * words * sizeof(uint64_t);
    rule *r = store_alloc(in->s, size);
    if (r == NULL) return NULL;
    r->memory = size;
    r->states = (state *)(void *)((char *)r + states_at);
    r->bytes = (byte_edge *)(void *)((char *)r + bytes_at);
    r->rules = (rule_edge *)(void *)((char *)r + rules_at);
    r->tokens = (token_edge *)(void *)((char *)r + tokens_at);
    r->n_states = n_states;
    r->n_bytes = n_bytes;
    r->n_rules = n_rules;
    r->n_tokens = n_tokens;
    r->onces = (once_edge *)(void *)((char *)r + onces_at);
    r->n_onces = n_onces;
    r->once_words = words;
    if (words == 0) {
        r->required.few = d->required == NULL ? 0 : d->required[0];
    } else {
        r->required.many = (uint64_t *)(void *)((char *)r + many_at);
        for (uint32_t k = 0; k < n_states; k++) r->states[k].ahead.many = r->required.many + ((size_t)k + 1) * words;
        if (d->required != NULL) memcpy(r->required.many, d->required, d->required_words * sizeof(uint64_t));
    }
    r->kind = d->kind;
    r->min = d->min;
    r->max = d->max;
    r->nullable = d->nullable;
    r->capture = d->capture;
    r->meter = d->meter;
    r->metered = meter_counts(&d->meter);
    if (d->capture.name != NULL) r->capture.name = memcpy((char *)r + name_at, d->capture.name, (size_t)d->capture.n + 1);
    r->hash = in->nodes[i].hash;
    return r;
}

static void rule_fill(interner *in, uint32_t i, rule *r) {
    const draft_rule *d = &in->b->rules.at[i];
    for (uint32_t s = 0; s < r->n_states; s++) r->states[s].rule = r;
    if (d->kind == RULE_REPEAT) {
        r->repeated = d->max == 0 ? NULL : in->nodes[d->repeated].done;
        return;
    }
    const fsm *f = in->nodes[i].automaton;
    uint32_t nb = 0, nr = 0, nt = 0, no = 0;
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        state *st = &r->states[s];
        st->bytes = r->bytes + nb;
        st->rules = r->rules + nr;
        st->tokens = r->tokens + nt;
        st->onces = r->onces + no;
        st->final = f->final.at[s] != 0;
        st->last = st->final && f->first[s] == f->first[s + 1];
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            fsm_edge g = f->edges.at[e];
            if (sym_is_once(g.lo)) {
                r->onces[no++] = (once_edge){&r->states[g.to], once_number(g.lo)};
                st->n_onces++;
            } else if (sym_is_token(g.lo)) {
                r->tokens[nt++] = (token_edge){&r->states[g.to], g.lo - SYM_TOKEN, g.hi - SYM_TOKEN};
                st->n_tokens++;
            } else if (sym_is_rule(g.lo)) {
                r->rules[nr++] = (rule_edge){in->nodes[rule_number(&g)].done, &r->states[g.to]};
                st->n_rules++;
            } else {
                r->bytes[nb++] = (byte_edge){&r->states[g.to], (uint8_t)g.lo, (uint8_t)g.hi};
                st->n_bytes++;
                byteset_add_range(&st->allow, g.lo, g.hi);
            }
        }
    }
}

/* Which states of a distinct rule are which. */
static void name_states(interner *in, uint32_t i, rule *r) {
    state *inside = &r->states[r->n_states - 1];
    inside->inside = true;
    r->inside = inside;
    r->listed = in->b->rules.at[i].values;
    r->repeated = in->nodes[in->b->rules.at[i].repeated].done; /* NULL: an element matches nothing */
    for (uint32_t e = 0; e < r->n_rules; e++) {
        if (r->rules[e].rule != r->repeated) continue;
        assert(r->after == NULL || r->after == r->rules[e].to); /* minimal: what follows is the same */
        r->rules[e].to->follows = true;
        r->after = r->rules[e].to;
    }
}

/* Adds what can be passed next from `to`; true if that was new. */
static bool add_ahead(state *st, const state *to) {
    uint32_t words = st->rule->once_words, n = words == 0 ? 1 : words;
    uint64_t *into = words == 0 ? &st->ahead.few : st->ahead.many;
    bool changed = to->ends && !st->ends;
    const uint64_t *from = words == 0 ? &to->ahead.few : to->ahead.many;
    for (uint32_t i = 0; i < n; i++) {
        changed = changed || (from[i] & ~into[i]) != 0;
        into[i] |= from[i];
    }
    st->ends = st->ends || to->ends;
    return changed;
}

/* What can be passed next from each state, from the ends of the edges back until nothing changes. */
static void find_ahead(rule *r) {
    for (uint32_t s = 0; s < r->n_states && r->n_onces != 0; s++) {
        state *st = &r->states[s];
        st->ends = st->final;
        uint64_t *ahead = r->once_words == 0 ? &st->ahead.few : st->ahead.many;
        for (uint32_t e = 0; e < st->n_onces; e++)
            if (st->onces[e].which != MAX_ONCE) ahead[st->onces[e].which / 64] |= UINT64_C(1) << st->onces[e].which % 64;
    }
    for (bool changed = r->n_onces != 0; changed;) {
        changed = false;
        for (uint32_t s = r->n_states; s-- > 0;) {
            state *st = &r->states[s];
            for (uint32_t e = 0; e < st->n_onces; e++)
                if (st->onces[e].which == MAX_ONCE) changed = add_ahead(st, st->onces[e].to) || changed;
            for (uint32_t e = 0; e < st->n_bytes; e++) changed = add_ahead(st, st->bytes[e].to) || changed;
            for (uint32_t e = 0; e < st->n_rules; e++) changed = add_ahead(st, st->rules[e].to) || changed;
            for (uint32_t e = 0; e < st->n_tokens; e++) changed = add_ahead(st, st->tokens[e].to) || changed;
        }
    }
}

/* The fewest bytes likewise, where tokens are counted: then there are no references. */
static void find_owes(rule *r) {
    if (r->meter.most_tokens == 0) return;
    for (uint32_t s = 0; s < r->n_states; s++) r->states[s].owes = r->states[s].final ? 0 : UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = r->n_states; s-- > 0;) {
            state *st = &r->states[s];
            uint32_t owes = st->owes;
            for (uint32_t e = 0; e < st->n_bytes; e++)
                if (st->bytes[e].to->owes < UINT32_MAX && st->bytes[e].to->owes + 1 < owes) owes = st->bytes[e].to->owes + 1;
            for (uint32_t e = 0; e < st->n_tokens; e++)
                if (st->tokens[e].to->owes < owes) owes = st->tokens[e].to->owes;
            changed = changed || owes != st->owes;
            st->owes = owes;
        }
    }
    for (uint32_t s = 0; s < r->n_states; s++)
        if (r->states[s].owes > r->most_owes) r->most_owes = r->states[s].owes;
}

/* Which numbers of characters may come before the end, where that may not be all from the fewest on.  Text before a
 * mark can always be longer; so if all numbers from some way beyond the mark's own up to 63 are there, all are. */
static void find_lengths(rule *r) {
    if (r->meter.least_chars == 0 || r->meter.most_chars == 0 || r->n_rules != 0) return;
    for (uint32_t s = 0; s < r->n_states; s++) r->states[s].lengths = r->states[s].final;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = r->n_states; s-- > 0;) {
            state *st = &r->states[s];
            uint64_t lengths = st->lengths;
            for (uint32_t e = 0; e < st->n_bytes; e++) lengths |= st->bytes[e].to->lengths << begins_character(st->bytes[e].lo);
            for (uint32_t e = 0; e < st->n_tokens; e++) lengths |= st->tokens[e].to->lengths;
            changed = changed || lengths != st->lengths;
            st->lengths = lengths;
        }
    }
    uint64_t beyond = r->most_need < 31 ? UINT64_MAX << (2 * r->most_need + 1) : 0;
    bool known = beyond != 0;
    for (uint32_t s = 0; s < r->n_states; s++) known = known && (r->states[s].last || (r->states[s].lengths & beyond) == beyond);
    for (uint32_t s = 0; s < r->n_states; s++)
        if (!known || r->states[s].last) r->states[s].lengths = 0;
}

/* The fewest characters to the end from each state of a metered rule, from the ends of the edges back. */
static void find_need(rule *r) {
    if (!r->metered) return;
    find_owes(r);
    for (uint32_t s = 0; s < r->n_states; s++) r->states[s].need = r->states[s].final ? 0 : UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = r->n_states; s-- > 0;) {
            state *st = &r->states[s];
            uint32_t need = st->need;
            for (uint32_t e = 0; e < st->n_bytes; e++) {
                uint32_t to = st->bytes[e].to->need;
                if (to != UINT32_MAX && to + begins_character(st->bytes[e].lo) < need) need = to + begins_character(st->bytes[e].lo);
            }
            for (uint32_t e = 0; e < st->n_rules; e++) { /* one character each */
                uint32_t to = st->rules[e].to->need;
                if (to < UINT32_MAX - 1 && to + 1 < need) need = to + 1;
            }
            for (uint32_t e = 0; e < st->n_tokens; e++)
                if (st->tokens[e].to->need < need) need = st->tokens[e].to->need;
            changed = changed || need != st->need;
            st->need = need;
        }
    }
    for (uint32_t s = 0; s < r->n_states; s++)
        if (r->states[s].need > r->most_need) r->most_need = r->states[s].need;
    find_lengths(r);
}

void rule_free(store *s, rule *r) {
    for (uint32_t i = 0; i < r->n_states; i++) {
        classes_release(s, r->states[i].classes);
        cover_free(s, &r->states[i]);
    }
    store_free(s, r, r->memory);
}

static bool create(interner *in) {
    uint32_t n = in->members.n, made = 0;
    for (; made < n; made++) {
        rule *r = table_reserve(in->s, &in->s->rules) ? rule_allocate(in, in->members.at[made]) : NULL;
        if (r == NULL) break;
        in->nodes[in->members.at[made]].done = r;
    }
    if (made < n) {
        while (made-- > 0) {
            rule_free(in->s, in->nodes[in->members.at[made]].done);
            in->nodes[in->members.at[made]].done = NULL;
        }
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        rule *r = in->nodes[in->members.at[k]].done;
        rule_fill(in, in->members.at[k], r);
        if (r->kind == RULE_DISTINCT) name_states(in, in->members.at[k], r);
        find_ahead(r);
        find_need(r);
        table_add(&in->s->rules, r);
    }
    for (uint32_t k = 0; k < n; k++) {
        rule *r = in->nodes[in->members.at[k]].done;
        if (r->kind != RULE_DISTINCT) continue;
        uint32_t least = r->listed >= r->max || r->repeated == NULL ? 0 : rule_values(in->b, r->repeated);
        r->values = least > r->listed ? least : r->listed;
    }
    atomic_fetch_add_explicit(&in->s->stats.rule_misses, n, memory_order_relaxed);
    return true;
}

static bool intern_component(interner *in) {
    uint32_t n = in->members.n;
    const draft_rule *only = &in->b->rules.at[in->members.at[0]];
    if (only->kind == RULE_NAMED) {
        in->nodes[in->members.at[0]].done = only->named->repeated != NULL ? only->named->repeated : only->named;
        return true;
    }
    for (uint32_t k = 0; k < n; k++) {
        node *at = &in->nodes[in->members.at[k]];
        const draft_rule *d = &in->b->rules.at[in->members.at[k]];
        if (d->kind == RULE_PLAIN || d->kind == RULE_DISTINCT) at->automaton = renumber(in, d->automaton);
    }
    uint32_t rounds = n == 1 ? 1 : n < 8 ? n + 1 : 9;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t k = 0; k < n; k++) in->nodes[in->members.at[k]].next_hash = hash_rule(in, in->members.at[k]);
        for (uint32_t k = 0; k < n; k++) in->nodes[in->members.at[k]].hash = in->nodes[in->members.at[k]].next_hash;
    }
    uint64_t hash = in->nodes[in->members.at[0]].hash;
    rule *r = table_first(&in->s->rules, hash);
    for (; r != NULL; r = r->chain)
        if (r->hash == hash && matches(in, r)) {
            atomic_fetch_add_explicit(&in->s->stats.rule_hits, n, memory_order_relaxed);
            return true;
        }
    return create(in);
}

/* Where fewer elements than min could be all there are, the parser could get stuck. */
static void check_values(const interner *in) {
    for (uint32_t i = 0; i < in->b->rules.n; i++) {
        const draft_rule *d = &in->b->rules.at[i];
        const rule *r = in->nodes[i].done;
        if (d->kind == RULE_DISTINCT && r != NULL && r->values < r->min)
            json_escape(in->b->w, d->place, STE_ERR_UNSUPPORTED,
                        "keyword \"%s\": at least %u are wanted, and it is not known that they can have so many values", d->place->key, r->min);
    }
}

rule *store_intern(store *s, builder *b) {
    interner in = {.s = s, .b = b, .mem = &b->w->mem};
    in.nodes = arena_alloc(in.mem, b->rules.n, sizeof *in.nodes);
    if (!walk(&in, b->root)) escape(&b->w->out, STE_ERR_NO_MEMORY, 0, "out of memory for the rules");
    check_values(&in);
    for (uint32_t i = 0; i < b->texts.n; i++) {
        const text_rule *t = &b->texts.at[i];
        rule *r = in.nodes[t->rule].done; /* NULL: the grammar does not use it */
        if (r != NULL) name_remember(s, t->text, t->n, t->whitespace, r);
    }
    return in.nodes[b->root].done;
}
