/* chart.c - see chart.h; predict, scan and complete as in set.c, but with positions.
 *
 * Cost: items of a position are linear in what can go on there, so a text in
 * which no rule could have begun at many places costs its length.  Ambiguity
 * and right recursion multiply items; the limits of matching bound them. */
#include "chart.h"

#include "meter.h"
#include "onces.h"

/* ---- room ---- */

static bool stop(chart *c, int code) {
    c->user->code = code;
    c->failed = true;
    return false;
}

static void *grow(chart *c, void *p, uint32_t n, uint32_t *cap, size_t size) {
    store *s = c->user->s;
    uint32_t want = *cap == 0 ? 64 : *cap * 2;
    uint64_t more = (uint64_t)(want - *cap) * size;
    if (want <= *cap || c->bytes + more > s->limits.matcher_bytes) {
        stop(c, STE_ERR_LIMIT);
        return p;
    }
    void *grown = store_alloc(s, want * size);
    if (grown == NULL) {
        stop(c, STE_ERR_NO_MEMORY);
        return p;
    }
    if (n != 0) memcpy(grown, p, n * size);
    store_free(s, p, *cap * size);
    *cap = want;
    c->bytes += more;
    return grown;
}

/* Room for one more in a VEC of the store's memory. */
#define ROOM(c, v) \
    ((v)->n < (v)->cap || ((v)->at = grow((c), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at), !(c)->failed))

static void index_add(chart *c, chart_index *x, uint64_t hash, uint32_t number) {
    uint32_t slot = (uint32_t)hash & (x->n - 1);
    while (x->slots[slot] >> 32 == c->stamp) slot = (slot + 1) & (x->n - 1);
    x->slots[slot] = (uint64_t)c->stamp << 32 | number;
}

/* Is the index, with n entries, too full for one more?  Then it becomes an empty, larger one. */
static bool index_is_full(chart *c, chart_index *x, uint32_t n) {
    if ((uint64_t)n * 2 < x->n) return false;
    uint32_t cap = x->n;
    uint64_t *grown = grow(c, NULL, 0, &cap, sizeof *grown);
    if (c->failed) return false;
    store_free(c->user->s, x->slots, x->n * sizeof *x->slots);
    x->slots = grown;
    x->n = cap;
    return true;
}

/* ---- one position ---- */

static uint32_t here(const chart *c) { return c->positions.n; }
static uint32_t first_item(const chart *c) { return chart_items_before(c, here(c)); }
static uint32_t first_wait(const chart *c) { return here(c) == 0 ? 0 : c->positions.at[here(c) - 1].waits; }

static void drop_unfinished(chart *c) {
    chart_position last = here(c) == 0 ? (chart_position){0} : c->positions.at[here(c) - 1];
    c->items.n = last.items;
    c->waits.n = last.waits;
    c->waiters.n = last.waiters;
    c->spans.n = last.spans;
}

static void begin_position(chart *c) {
    if (++c->stamp != 0) return;
    if (c->item_index.n != 0) memset(c->item_index.slots, 0, c->item_index.n * sizeof *c->item_index.slots);
    if (c->wait_index.n != 0) memset(c->wait_index.slots, 0, c->wait_index.n * sizeof *c->wait_index.slots);
    c->stamp = 1;
}

/* Something is about to be added, new or not. */
static bool charge(chart *c) {
    if (c->failed) return false;
    if (c->work == 0) return stop(c, STE_ERR_LIMIT);
    c->work--;
    return true;
}

static uint64_t item_hash(const chart_item *i) {
    return hash_mix(hash_mix(hash_mix(0, (uint64_t)(uintptr_t)i->state), i->origin), i->reg);
}

static bool has_item(const chart *c, const chart_item *i, uint64_t hash) {
    const chart_index *x = &c->item_index;
    if (x->n == 0) return false;
    for (uint32_t slot = (uint32_t)hash & (x->n - 1); x->slots[slot] >> 32 == c->stamp; slot = (slot + 1) & (x->n - 1)) {
        const chart_item *o = &c->items.at[(uint32_t)x->slots[slot]];
        if (o->state == i->state && o->origin == i->origin && o->reg == i->reg) return true;
    }
    return false;
}

/* An item that is not there yet. */
static void push_item(chart *c, chart_item i, uint64_t hash) {
    if (!ROOM(c, &c->items)) return;
    if (index_is_full(c, &c->item_index, c->items.n - first_item(c)))
        for (uint32_t k = first_item(c); k < c->items.n; k++) index_add(c, &c->item_index, item_hash(&c->items.at[k]), k);
    if (c->failed) return;
    index_add(c, &c->item_index, hash, c->items.n);
    c->items.at[c->items.n++] = i;
}

static void add_item(chart *c, chart_item i) {
    uint64_t hash = item_hash(&i);
    if (item_dead(i.state, i.reg)) return;
    if (charge(c) && !has_item(c, &i, hash)) push_item(c, i, hash);
}

static uint64_t wait_hash(const rule *on) { return hash_mix(0, (uint64_t)(uintptr_t)on); }

static chart_wait *find_wait_here(const chart *c, const rule *on) {
    const chart_index *x = &c->wait_index;
    if (x->n == 0) return NULL;
    for (uint32_t slot = (uint32_t)wait_hash(on) & (x->n - 1); x->slots[slot] >> 32 == c->stamp;
         slot = (slot + 1) & (x->n - 1))
        if (c->waits.at[(uint32_t)x->slots[slot]].on == on) return &c->waits.at[(uint32_t)x->slots[slot]];
    return NULL;
}

static chart_wait *push_wait(chart *c, const rule *on) {
    if (!ROOM(c, &c->waits)) return NULL;
    if (index_is_full(c, &c->wait_index, c->waits.n - first_wait(c)))
        for (uint32_t k = first_wait(c); k < c->waits.n; k++) index_add(c, &c->wait_index, wait_hash(c->waits.at[k].on), k);
    if (c->failed) return NULL;
    index_add(c, &c->wait_index, wait_hash(on), c->waits.n);
    c->waits.at[c->waits.n] = (chart_wait){.on = on};
    return &c->waits.at[c->waits.n++];
}

/* Waits of a finished position are sorted by the address of the rule; no order of results depends on it. */
static const chart_wait *find_wait(const chart *c, uint32_t position, const rule *on) {
    if (position == here(c)) return find_wait_here(c, on);
    uint32_t lo = position == 0 ? 0 : c->positions.at[position - 1].waits, end = c->positions.at[position].waits, hi = end;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if ((uintptr_t)c->waits.at[mid].on < (uintptr_t)on)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && c->waits.at[lo].on == on ? &c->waits.at[lo] : NULL;
}

const chart_item *chart_parent(const chart *c, const chart_item *i) {
    if (i->origin == 0 && i->state->rule == c->root) return NULL;
    const chart_wait *w = find_wait(c, i->origin, i->state->rule);
    return &c->items.at[c->waiters.at[w->first - 1].item];
}

/* ---- spans ---- */

/* The list of an item that had `before` and goes on after `done`, which is complete here. */
static uint32_t joined(chart *c, uint32_t before, const chart_item *done) {
    const rule *r = done->state->rule;
    uint32_t inside = done->spans;
    bool captured = r->capture.name != NULL;
    if (!captured && inside == 0) return before;
    if (!captured && before == 0) return inside;
    uint64_t count = (uint64_t)chart_span_count(c, before) + chart_span_count(c, inside) + captured;
    if (count > c->user->s->limits.matcher_bytes / sizeof(ste_capture) || count > UINT32_MAX) stop(c, STE_ERR_LIMIT);
    if (c->failed || !ROOM(c, &c->spans)) return 0;
    c->spans.at[c->spans.n++] = (chart_span){
        .rule = captured ? r : NULL,
        .before = before,
        .inside = inside,
        .begin = done->origin - r->capture.lead,
        .end = here(c),
        .count = (uint32_t)count,
    };
    return c->spans.n;
}

/* ---- predict, complete, scan ---- */

/* The register of a repeat after one more repetition: a count up to where it stops to matter. */
static uint64_t next_count(const rule *r, uint64_t count) {
    return r->max == REPEAT_INFINITE && count >= r->min ? r->min : count + 1;
}

/* The item that waits goes on after `done`. */
static void wake(chart *c, chart_waiter w, chart_item done) {
    chart_item next = c->items.at[w.item];
    const rule *r = next.state->rule;
    if (r->kind == RULE_REPEAT) {
        /* A repeat whose body may be empty needs no repetition: an empty one leads nowhere. */
        if (done.origin == here(c)) return;
        next.reg = next_count(r, next.reg);
    } else {
        next.state = next.state->rules[w.edge].to;
        if (r->metered && !meter_reference(next.state, &next.reg)) return;
    }
    uint64_t hash = item_hash(&next);
    if (item_dead(next.state, next.reg) || !charge(c) || has_item(c, &next, hash)) return;
    next.spans = joined(c, next.spans, &done);
    if (!c->failed) push_item(c, next, hash);
}

static void complete(chart *c, uint32_t number) {
    chart_item done = c->items.at[number];
    uint32_t next = 0;
    if (done.origin == here(c)) {
        chart_wait *w = find_wait_here(c, done.state->rule);
        if (w != NULL && w->empty == 0) {
            w->empty = number + 1;
            next = w->first;
        }
    } else {
        const chart_wait *w = find_wait(c, done.origin, done.state->rule);
        if (w != NULL) next = w->first;
    }
    for (; next != 0 && !c->failed; next = c->waiters.at[next - 1].next) wake(c, c->waiters.at[next - 1], done);
}

static void wait_for(chart *c, uint32_t number, uint32_t edge, rule *on) {
    if (!charge(c)) return;
    on = name_resolve(c->user, on);
    if (on == NULL) {
        c->failed = true;
        return;
    }
    if (!ROOM(c, &c->waiters)) return;
    c->waiters.at[c->waiters.n] = (chart_waiter){number, edge, 0};
    uint32_t last = ++c->waiters.n;
    chart_wait *w = find_wait_here(c, on);
    if (w != NULL) {
        c->waiters.at[w->last - 1].next = last;
        w->last = last;
        if (w->empty != 0) wake(c, c->waiters.at[last - 1], c->items.at[w->empty - 1]);
        return;
    }
    w = push_wait(c, on);
    if (w == NULL) return;
    w->first = w->last = last;
    add_item(c, (chart_item){.state = &on->states[0], .origin = here(c)});
}

static void visit(chart *c, uint32_t number) {
    chart_item i = c->items.at[number];
    rule *r = i.state->rule;
    if (r->kind == RULE_REPEAT) {
        if (i.reg >= r->min) complete(c, number);
        if (r->max == REPEAT_INFINITE || i.reg < r->max) wait_for(c, number, 0, r->repeated);
        return;
    }
    if (i.state->final && (!r->metered || meter_may_end(r, i.reg))) complete(c, number);
    for (uint32_t e = 0; e < i.state->n_rules && !c->failed; e++) wait_for(c, number, e, i.state->rules[e].rule);
    for (uint32_t e = 0; e < i.state->n_onces && !c->failed; e++) {
        chart_item next = i;
        if (pass_once(NULL, i.state, &i.state->onces[e], &next.reg) != 1) continue; /* no captures beside many onces */
        next.state = i.state->onces[e].to;
        add_item(c, next);
    }
}

/* Items of `from` after one byte, which may be the first of its token, or after one token. */
static void scan(chart *c, uint32_t from, uint32_t byte, bool first, uint32_t token) {
    uint32_t end = c->positions.at[from].items;
    for (uint32_t k = chart_items_before(c, from); k < end && !c->failed; k++) {
        chart_item i = c->items.at[k];
        const state *st = i.state;
        bool taken = token == TRIE_NO_TOKEN && byteset_has(&st->allow, byte);
        if (taken && st->rule->metered && first) taken = meter_settle(st, &i.reg);
        uint64_t reg = i.reg;
        for (uint32_t e = 0; taken && e < st->n_bytes; e++) {
            if (byte < st->bytes[e].lo || st->bytes[e].hi < byte) continue;
            i.state = st->bytes[e].to;
            i.reg = reg;
            if (!st->rule->metered || meter_step(i.state, byte, &i.reg)) add_item(c, i);
        }
        for (uint32_t e = 0; token != TRIE_NO_TOKEN && e < st->n_tokens; e++) {
            if (token < st->tokens[e].lo || st->tokens[e].hi < token) continue;
            i.state = st->tokens[e].to;
            add_item(c, i);
        }
    }
}

/* Shell sort: the waits of one position are few. */
static void sort_waits(chart_wait *at, uint32_t n) {
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            chart_wait w = at[i];
            uint32_t j = i;
            for (; j >= gap && (uintptr_t)at[j - gap].on > (uintptr_t)w.on; j -= gap) at[j] = at[j - gap];
            at[j] = w;
        }
}

/* Close the position over the items that scanning has put there. */
static bool finish_position(chart *c) {
    for (uint32_t i = first_item(c); i < c->items.n && !c->failed; i++) visit(c, i);
    if (c->failed || !ROOM(c, &c->positions)) return false;
    if (c->waits.n - first_wait(c) > 1) sort_waits(c->waits.at + first_wait(c), c->waits.n - first_wait(c));
    c->positions.at[c->positions.n++] = (chart_position){c->items.n, c->waits.n, c->waiters.n, c->spans.n};
    return true;
}

/* ---- the chart ---- */

bool chart_begin(chart *c, use *u, const rule *root) {
    c->user = u;
    c->root = root;
    c->failed = false;
    c->work = u->s->limits.match_items;
    begin_position(c);
    add_item(c, (chart_item){.state = &root->states[0]});
    if (finish_position(c)) return true;
    drop_unfinished(c);
    return false;
}

bool chart_extend(chart *c, use *u, const uint8_t *text, chart_step step) {
    c->user = u;
    c->failed = false;
    for (uint32_t at = step.begin; at < step.end && !c->failed; at++) {
        begin_position(c);
        if (step.by_bytes) scan(c, at, text[at], at == step.begin, TRIE_NO_TOKEN);
        if (at + 1 == step.end && step.token != TRIE_NO_TOKEN) scan(c, step.begin, 0, true, step.token);
        finish_position(c);
    }
    if (c->failed) {
        chart_cut(c, step.begin);
        return false;
    }
    const ste_limits *l = &u->s->limits;
    c->work += l->match_items_per_token;
    if (c->work > l->match_items) c->work = l->match_items;
    return true;
}

void chart_cut(chart *c, uint32_t end) {
    if (c->positions.n > end + 1) c->positions.n = end + 1;
    drop_unfinished(c);
}

void chart_free(chart *c, store *s) {
    store_free(s, c->items.at, c->items.cap * sizeof *c->items.at);
    store_free(s, c->waits.at, c->waits.cap * sizeof *c->waits.at);
    store_free(s, c->waiters.at, c->waiters.cap * sizeof *c->waiters.at);
    store_free(s, c->spans.at, c->spans.cap * sizeof *c->spans.at);
    store_free(s, c->positions.at, c->positions.cap * sizeof *c->positions.at);
    store_free(s, c->item_index.slots, c->item_index.n * sizeof *c->item_index.slots);
    store_free(s, c->wait_index.slots, c->wait_index.n * sizeof *c->wait_index.slots);
}
