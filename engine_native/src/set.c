/* set.c - Earley sets: predict, scan, complete; see store.h for the invariants.
 *
 * A closure starts from kernel items and runs until nothing is new:
 *   predict   an item that may go on with rule R begins R here (origin SELF)
 *             and leaves a waiter for it; if R may be empty, the item also
 *             goes on at once;
 *   complete  an item in a final state wakes the waiters of its rule in its
 *             origin.  Rules that complete where they began are exactly the
 *             empty ones, which predict has dealt with.
 * An item that began in an earlier set does not have that set as its origin but
 * the set's *view* for the item's rule: the waiters that the end of the rule can
 * wake, by themselves.  What else could have begun there makes no difference.
 *
 * Cost: linear in items and waiters made; every result is interned.
 *
 * All of it works in one closure per store, so every function that makes a set
 * holds `grow` meanwhile; a step that is remembered takes no lock (set_step). */
#include "distinct.h"
#include "meter.h"
#include "onces.h"

typedef struct waiter_node {
    waiter w;
    uint32_t next; /* + 1 */
} waiter_node;

/* A tail call that begins here: whoever waits for rule `from` here also waits for `on`. */
typedef struct alias {
    rule *on, *from;
    const state *target; /* as an ordinary waiter it would go on here */
    uint64_t reg;
} alias;

/* Past these, tail calls of one set stay ordinary waiters: ambiguous grammars would multiply them. */
#define MAX_ALIASES 64
#define MAX_ALIAS_WAITERS 512

struct closure {
    uint64_t stamp;
    item *items;
    uint32_t n_items, cap_items;
    uint32_t *slots, n_slots; /* hash of items, used past LINEAR of them */
    uint32_t *waiter_slots, n_waiter_slots, n_hashed; /* of the waiters for rules with many */
    rule **awaited; /* rules with waiters */
    uint32_t n_awaited, cap_awaited;
    waiter_node *waiters;
    uint32_t n_waiters, cap_waiters;
    alias *aliases;
    uint32_t n_aliases, cap_aliases;
    item *scan;
    uint32_t n_scan, cap_scan;
    waiter *sorted;
    uint32_t cap_sorted;
    waiter *view;
    bool *marked; /* of the waiters of the set that a view is of */
    uint32_t cap_view, cap_marked;
    uint32_t flags;
    use *user;
    bool failed;
    rule *missing; /* failed for want of this distinct rule's start */
};

#define LINEAR 16

closure *closure_new(store *s) { return store_alloc(s, sizeof(closure)); }

void closure_free(store *s, closure *c) {
    if (c == NULL) return;
    store_free(s, c->items, c->cap_items * sizeof *c->items);
    store_free(s, c->slots, c->n_slots * sizeof *c->slots);
    store_free(s, c->waiter_slots, c->n_waiter_slots * sizeof *c->waiter_slots);
    store_free(s, c->awaited, c->cap_awaited * sizeof *c->awaited);
    store_free(s, c->waiters, c->cap_waiters * sizeof *c->waiters);
    store_free(s, c->aliases, c->cap_aliases * sizeof *c->aliases);
    store_free(s, c->scan, c->cap_scan * sizeof *c->scan);
    store_free(s, c->sorted, c->cap_sorted * sizeof *c->sorted);
    store_free(s, c->view, c->cap_view * sizeof *c->view);
    store_free(s, c->marked, c->cap_marked * sizeof *c->marked);
    store_free(s, c, sizeof *c);
}

/* Room for one more element; marks the closure as failed when there is none. */
static void *reserve(store *s, closure *c, void *p, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return p;
    uint32_t grown_cap = *cap == 0 ? 64 : *cap * 2;
    void *grown = store_alloc(s, grown_cap * size);
    if (grown == NULL) {
        c->failed = true;
        return p;
    }
    if (n != 0) memcpy(grown, p, n * size);
    store_free(s, p, *cap * size);
    *cap = grown_cap;
    return grown;
}

static void closure_begin(use *u) {
    closure *c = u->s->closure;
    c->user = u;
    c->stamp++;
    c->n_items = c->n_waiters = c->n_hashed = c->n_awaited = c->n_aliases = c->n_scan = 0;
    c->flags = 0;
    c->failed = false;
    c->missing = NULL;
}

static uint64_t item_hash(const item *i) {
    return hash_mix(hash_mix(hash_mix(0, (uint64_t)(uintptr_t)i->state), (uint64_t)(uintptr_t)i->origin), i->reg);
}

static bool item_equal(const item *a, const item *b) {
    return a->state == b->state && a->origin == b->origin && a->reg == b->reg;
}

static void slot_insert(uint32_t *slots, uint32_t n_slots, uint64_t hash, uint32_t i) {
    uint32_t slot = (uint32_t)hash & (n_slots - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (n_slots - 1);
    slots[slot] = i + 1;
}

/* An empty table for n entries and more to come. */
static bool slots_clear(store *s, closure *c, uint32_t **slots, uint32_t *n_slots, uint32_t n) {
    uint32_t want = 64;
    while (want < n * 4) want *= 2;
    if (want <= *n_slots) {
        memset(*slots, 0, *n_slots * sizeof **slots);
        return true;
    }
    uint32_t *grown = store_alloc(s, want * sizeof *grown);
    if (grown == NULL) {
        c->failed = true;
        return false;
    }
    store_free(s, *slots, *n_slots * sizeof **slots);
    *slots = grown;
    *n_slots = want;
    return true;
}

static void over_limit(closure *c) {
    c->user->code = STE_ERR_LIMIT;
    c->failed = true;
}

/* An item or waiter is about to be added, new or not; false, and the closure fails, when that is too much. */
static bool charge(closure *c) {
    if (c->failed) return false;
    if (c->user->work == 0)
        over_limit(c);
    else
        c->user->work--;
    return !c->failed;
}

static bool has_room(closure *c) {
    if (c->n_items + c->n_waiters >= c->user->s->limits.set_items) over_limit(c);
    return !c->failed;
}

static void add_item(store *s, const state *st, uint64_t reg, set *origin) {
    closure *c = s->closure;
    item it = {st, origin, reg};
    if (item_dead(st, reg) || !charge(c)) return;
    if (c->n_items <= LINEAR) {
        for (uint32_t i = 0; i < c->n_items; i++)
            if (item_equal(&c->items[i], &it)) return;
    } else {
        uint32_t slot = (uint32_t)item_hash(&it) & (c->n_slots - 1);
        for (; c->slots[slot] != 0; slot = (slot + 1) & (c->n_slots - 1))
            if (item_equal(&c->items[c->slots[slot] - 1], &it)) return;
    }
    if (!has_room(c)) return;
    c->items = reserve(s, c, c->items, c->n_items, &c->cap_items, sizeof *c->items);
    if (c->failed) return;
    c->items[c->n_items++] = it;
    if (c->n_items == LINEAR + 1 || (c->n_items > LINEAR && c->n_items * 2 > c->n_slots)) {
        if (!slots_clear(s, c, &c->slots, &c->n_slots, c->n_items)) return;
        for (uint32_t i = 0; i < c->n_items; i++) slot_insert(c->slots, c->n_slots, item_hash(&c->items[i]), i);
    } else if (c->n_items > LINEAR) {
        slot_insert(c->slots, c->n_slots, item_hash(&it), c->n_items - 1);
    }
}

static void touch_rule(closure *c, rule *r) {
    if (r->stamp == c->stamp) return;
    r->stamp = c->stamp;
    r->waiters = r->n_waiters = 0;
    r->predicted = false;
}

static uint64_t waiter_hash(const waiter *w) {
    uint64_t h = hash_mix(hash_mix(0, (uint64_t)(uintptr_t)w->on), (uint64_t)(uintptr_t)w->target);
    return hash_mix(hash_mix(h, (uint64_t)(uintptr_t)w->origin), w->reg);
}

static bool waiter_equal(const waiter *a, const waiter *b) {
    return a->on == b->on && a->target == b->target && a->origin == b->origin && a->reg == b->reg;
}

/* Waiters for a rule with more of them than this are found by hash. */
#define FEW_WAITERS 12

static bool has_waiter(const closure *c, const waiter *w) {
    if (w->on->n_waiters <= FEW_WAITERS) {
        for (uint32_t k = w->on->waiters; k != 0; k = c->waiters[k - 1].next)
            if (waiter_equal(&c->waiters[k - 1].w, w)) return true;
        return false;
    }
    uint32_t slot = (uint32_t)waiter_hash(w) & (c->n_waiter_slots - 1);
    for (; c->waiter_slots[slot] != 0; slot = (slot + 1) & (c->n_waiter_slots - 1))
        if (waiter_equal(&c->waiters[c->waiter_slots[slot] - 1].w, w)) return true;
    return false;
}

/* The last waiter of the closure goes into the table, and when it is the first one that must, those for its rule with it. */
static bool hash_waiters(store *s, closure *c) {
    uint32_t n = c->n_waiters;
    rule *on = c->waiters[n - 1].w.on;
    bool first = on->n_waiters == FEW_WAITERS + 1;
    c->n_hashed += first ? on->n_waiters : 1;
    if (c->n_hashed * 2 > c->n_waiter_slots || (first && c->n_hashed == on->n_waiters)) { /* it is full, or from an earlier closure */
        if (!slots_clear(s, c, &c->waiter_slots, &c->n_waiter_slots, c->n_hashed)) return false;
        for (uint32_t i = 0; i < n; i++)
            if (c->waiters[i].w.on->n_waiters > FEW_WAITERS)
                slot_insert(c->waiter_slots, c->n_waiter_slots, waiter_hash(&c->waiters[i].w), i);
        return true;
    }
    for (uint32_t k = n; k != 0; k = first ? c->waiters[k - 1].next : 0)
        slot_insert(c->waiter_slots, c->n_waiter_slots, waiter_hash(&c->waiters[k - 1].w), k - 1);
    return true;
}

/* True if it was new. */
static bool add_waiter(store *s, waiter w) {
    closure *c = s->closure;
    if (!charge(c)) return false;
    touch_rule(c, w.on);
    if (has_waiter(c, &w) || !has_room(c)) return false;
    c->waiters = reserve(s, c, c->waiters, c->n_waiters, &c->cap_waiters, sizeof *c->waiters);
    if (w.on->waiters == 0) c->awaited = reserve(s, c, c->awaited, c->n_awaited, &c->cap_awaited, sizeof *c->awaited);
    if (c->failed) return false;
    if (w.on->waiters == 0) c->awaited[c->n_awaited++] = w.on;
    c->waiters[c->n_waiters++] = (waiter_node){w, w.on->waiters};
    w.on->waiters = c->n_waiters;
    return ++w.on->n_waiters <= FEW_WAITERS || hash_waiters(s, c);
}

/* First waiter of r in `at`. */
static const waiter *find_waiters(const set *at, const rule *r, const waiter **end) {
    const waiter *w = set_waiters(at);
    uint32_t lo = 0, hi = at->n_waiters;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if ((uintptr_t)w[mid].on < (uintptr_t)r)
            lo = mid + 1;
        else
            hi = mid;
    }
    *end = w + at->n_waiters;
    return w + lo;
}

static set *view_of(store *s, set *at, const rule *r);

static bool is_outermost(const store *s, const set *origin) { return origin == s->bottom || origin == s->top; }

static void complete_outermost(store *s, const set *origin) {
    s->closure->flags |= origin == s->bottom ? SET_ACCEPTING : SET_EXITS;
}

/* Of the target of a waiter in `at`. */
static set *origin_of(store *s, set *at, const waiter *w) {
    return w->origin != NULL ? w->origin : view_of(s, at, w->target->rule);
}

static void complete(store *s, const rule *r, set *origin) {
    if (origin == NULL) return;
    if (is_outermost(s, origin)) {
        complete_outermost(s, origin);
        return;
    }
    const waiter *end;
    for (const waiter *w = find_waiters(origin, r, &end); w < end && w->on == r; w++) {
        if (w->target == NULL)
            complete_outermost(s, w->origin);
        else
            add_item(s, w->target, w->reg, origin_of(s, origin, w));
    }
}

/* The rule that stands in sets for r; NULL, and the closure fails, if it cannot be built. */
static rule *predicted(closure *c, rule *r) {
    if (r->kind != RULE_NAMED) return r;
    if (r->repeated == NULL && !c->failed && !name_build(c->user, r)) c->failed = true;
    return c->failed ? NULL : r->repeated;
}

/* An item of rule r at origin waits for `on`, to go on at (target, reg).  last: (target, reg) can only complete r. */
static void wait_for(store *s, rule *on, const state *target, uint64_t reg, bool last, rule *r, set *origin) {
    closure *c = s->closure;
    on = predicted(c, on);
    if (on == NULL) return;
    touch_rule(c, on);
    if (!on->predicted) {
        on->predicted = true;
        add_item(s, &on->states[0], 0, NULL);
    }
    if (!last) {
        add_waiter(s, (waiter){on, target, origin, reg});
    } else if (origin == NULL) {
        if (on == r) return;
        c->aliases = reserve(s, c, c->aliases, c->n_aliases, &c->cap_aliases, sizeof *c->aliases);
        if (!c->failed) c->aliases[c->n_aliases++] = (alias){on, r, target, reg};
    } else if (is_outermost(s, origin)) {
        add_waiter(s, (waiter){on, NULL, origin, 0});
    } else {
        const waiter *end;
        for (const waiter *w = find_waiters(origin, r, &end); w < end && w->on == r; w++)
            add_waiter(s, (waiter){on, w->target, w->target == NULL ? w->origin : origin_of(s, origin, w), w->reg});
    }
}

static void visit_repeat(store *s, item it) {
    rule *r = it.state->rule;
    if (it.reg >= COUNT_FREE) {
        if (it.reg == COUNT_FREE) complete(s, r, it.origin);
        wait_for(s, r->repeated, it.state, it.reg, false, r, it.origin);
        return;
    }
    if (it.reg >= r->min) complete(s, r, it.origin);
    if (r->max != REPEAT_INFINITE && it.reg >= r->max) return;
    uint64_t next = it.reg + 1;
    if (r->max == REPEAT_INFINITE && next > r->min) next = r->min;
    wait_for(s, r->repeated, it.state, next, r->max != REPEAT_INFINITE && next == r->max, r, it.origin);
}

/* An element begins here, after the values of the register. */
static void begin_element(store *s, item it) {
    closure *c = s->closure;
    rule *r = it.state->rule;
    progress *start = atomic_load_explicit(&r->start, memory_order_acquire);
    if (start == NULL) {
        c->missing = r;
        c->failed = true;
        return;
    }
    if (seen_is_count(it.reg)) {
        start = progress_young(s, r, it.reg);
        if (start == NULL) c->failed = true;
    } else if (it.reg != 0) {
        start = ((const seen *)(uintptr_t)it.reg)->start;
    }
    if (start != NULL) add_item(s, r->inside, (uint64_t)(uintptr_t)start, it.origin);
}

/* May the edge of a distinct rule be taken after the element with which the register ends? */
static bool goes_on(const state *st, rule_edge e, uint64_t reg) {
    uint64_t n = seen_count(reg);
    if (e.to->final) return n >= st->rule->min;
    return n < st->rule->max && (seen_is_count(reg) || ((const seen *)(uintptr_t)reg)->start != NULL);
}

static void visit_distinct(store *s, item it) {
    const state *st = it.state;
    if (st->final) complete(s, st->rule, it.origin);
    for (uint32_t i = 0; i < st->n_rules; i++) {
        rule_edge e = st->rules[i];
        if (e.rule == st->rule->repeated)
            begin_element(s, it);
        else if (!st->follows || goes_on(st, e, it.reg))
            wait_for(s, e.rule, e.to, it.reg, e.to->last, st->rule, it.origin);
    }
}

static void visit(store *s, item it) {
    const state *st = it.state;
    if (st->rule->kind == RULE_REPEAT) {
        visit_repeat(s, it);
        return;
    }
    if (st->rule->kind == RULE_DISTINCT) {
        visit_distinct(s, it);
        return;
    }
    if (st->final && (!st->rule->metered || meter_may_end(st->rule, it.reg))) complete(s, st->rule, it.origin);
    for (uint32_t i = 0; i < st->n_rules; i++) {
        rule_edge e = st->rules[i];
        uint64_t reg = it.reg;
        if (st->rule->metered && !meter_reference(e.to, &reg)) continue;
        wait_for(s, e.rule, e.to, reg, e.to->last, st->rule, it.origin);
        if (e.rule->nullable) add_item(s, e.to, reg, it.origin);
    }
    for (uint32_t i = 0; i < st->n_onces; i++) {
        uint64_t reg = it.reg;
        int goes = pass_once(s, st, &st->onces[i], &reg);
        if (goes < 0) s->closure->failed = true;
        if (goes > 0) add_item(s, st->onces[i].to, reg, it.origin);
    }
}

static int compare_ptr(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y ? -1 : x > y;
}

static int item_compare(const item *a, const item *b) {
    int r = compare_ptr(a->state, b->state);
    if (r == 0) r = a->reg < b->reg ? -1 : a->reg > b->reg;
    return r != 0 ? r : compare_ptr(a->origin, b->origin);
}

static int rule_compare(rule *const *a, rule *const *b) { return compare_ptr(*a, *b); }

/* Of waiters for one rule. */
static int waiter_compare(const waiter *a, const waiter *b) {
    int r = compare_ptr(a->target, b->target);
    if (r == 0) r = a->reg < b->reg ? -1 : a->reg > b->reg;
    return r != 0 ? r : compare_ptr(a->origin, b->origin);
}

#define SHELL_SORT(T, at, n, compare) SORT(T, at, n, (n) / 2, compare)
#define INSERTION_SORT(T, at, n, compare) SORT(T, at, n, 1, compare)
#define SORT(T, at, n, first_gap, compare)                                       \
    for (uint32_t gap = (first_gap); gap > 0; gap /= 2)                          \
        for (uint32_t i_ = gap; i_ < (n); i_++) {                                \
            T v_ = (at)[i_];                                                     \
            uint32_t j_ = i_;                                                    \
            for (; j_ >= gap && compare(&(at)[j_ - gap], &v_) > 0; j_ -= gap)    \
                (at)[j_] = (at)[j_ - gap];                                       \
            (at)[j_] = v_;                                                       \
        }

static void add_scan(store *s, item it) {
    closure *c = s->closure;
    c->scan = reserve(s, c, c->scan, c->n_scan, &c->cap_scan, sizeof *c->scan);
    if (!c->failed) c->scan[c->n_scan++] = it;
}

/* The bytes that an item may go on with. */
static void add_allowed(byteset *allow, const item *it) {
    if (it->state->rule->metered && !meter_is_free(it->reg)) {
        for (uint32_t e = 0; e < it->state->n_bytes; e++) {
            const byte_edge *edge = &it->state->bytes[e];
            uint64_t reg = it->reg; /* the bytes of an edge all begin a character, or none does */
            if (meter_step(edge->to, edge->lo, &reg)) byteset_add_range(allow, edge->lo, edge->hi);
        }
        return;
    }
    if (it->state->rule->n_onces == 0) {
        byteset_or(allow, &it->state->allow);
        return;
    }
    for (uint32_t e = 0; e < it->state->n_bytes; e++) {
        const byte_edge *edge = &it->state->bytes[e];
        if (!item_dead(edge->to, it->reg)) byteset_add_range(allow, edge->lo, edge->hi);
    }
}

/* Can anything of the set go on, or end, once the token is over? */
static bool outlives_token(const set *at) {
    if ((at->flags & SET_METERED) == 0 || (at->flags & (SET_ACCEPTING | SET_EXITS)) != 0) return true;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        uint64_t reg = at->scan[i].reg;
        if (!at->scan[i].state->rule->metered || meter_settle(at->scan[i].state, &reg)) return true;
    }
    return false;
}

static void add_meter(set *at, const item *it) {
    if (!it->state->rule->metered) return;
    at->flags |= meter_inside(it->reg) ? SET_REGISTERS | SET_METERED : SET_REGISTERS;
    if (meter_chars(it->reg) == CHARS_OPEN) at->flags |= SET_OPEN;
}

static bool counts(const state *target) { return target != NULL && target->rule->kind == RULE_REPEAT; }

static bool is_distinct(const state *target) { return target != NULL && target->rule->kind == RULE_DISTINCT; }

static bool is_tight(const store *s, const rule *r, uint64_t reg) { return !seen_is_count(reg) && seen_is_tight(s, r, reg); }

/* Flags of a set with this item within an element. */
static uint32_t inside_flags(const store *s, const item *it) {
    const progress *p = progress_of(it);
    uint32_t flags = SET_ELEMENTS | SET_INSIDE | SET_REGISTERS | (p->at->flags & (SET_RIVALS | SET_TIGHT | SET_UNREMEMBERED));
    if (p->n_rivals != 0) flags |= SET_RIVALS;
    if (p->kind == YOUNG) flags |= SET_YOUNG;
    if (p->kind == READ) flags |= SET_UNREMEMBERED;
    if (p->kind == READ && is_tight(s, p->of, p->seen)) flags |= SET_TIGHT;
    return flags;
}

/* Are there bytes that are alike?  Not where an element's text is known. */
static bool remembers(const item *scan, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (scan[i].state->inside && (progress_of(&scan[i])->kind == READ || (progress_of(&scan[i])->at->flags & SET_UNREMEMBERED) != 0))
            return false;
    return true;
}

#define SET_IDENTITY (SET_ACCEPTING | SET_EXITS | SET_UNSURE)  /* flags that items and waiters do not tell */
#define SET_INHERITED (SET_REGISTERS | SET_OPEN | SET_ELEMENTS | SET_TIGHT)   /* flags that origins pass on */

static size_t set_size(uint32_t n_scan, uint32_t n_waiters, const byte_classes *c) {
    return sizeof(set) + n_scan * sizeof(item) + n_waiters * (sizeof(waiter) + sizeof(set *)) +
           (c == NULL ? 0 : c->n * sizeof(_Atomic(set *)));
}

/* The interned set of these sorted items and waiters. */
static set *intern(store *s, uint32_t flags, const item *scan, uint32_t n_scan, const waiter *waiters, uint32_t n_waiters) {
    uint64_t hash = hash_mix(flags & SET_IDENTITY, n_scan);
    if (n_scan != 0) hash = hash_bytes(scan, n_scan * sizeof *scan, hash);
    if (n_waiters != 0) hash = hash_bytes(waiters, n_waiters * sizeof *waiters, hash);
    if (!table_reserve(s, &s->sets)) return NULL;
    for (set *o = table_first(&s->sets, hash); o != NULL; o = o->chain)
        if (o->hash == hash && o->n_scan == n_scan && o->n_waiters == n_waiters &&
            (o->flags & SET_IDENTITY) == (flags & SET_IDENTITY) &&
            (n_scan == 0 || memcmp(o->scan, scan, n_scan * sizeof *scan) == 0) &&
            (n_waiters == 0 || memcmp(set_waiters(o), waiters, n_waiters * sizeof *waiters) == 0))
            return o;

    byte_classes *classes = n_scan == 0 ? NULL : remembers(scan, n_scan) ? classes_of(s, scan, n_scan) : classes_of_none(s);
    if (n_scan != 0 && classes == NULL) return NULL;
    set *out = store_alloc(s, set_size(n_scan, n_waiters, classes));
    if (out == NULL) {
        classes_release(s, classes);
        return NULL;
    }
    out->classes = classes;
    out->hash = hash;
    out->n_scan = n_scan;
    out->n_waiters = n_waiters;
    out->flags = flags;
    out->views = (set **)(void *)(set_waiters(out) + n_waiters);
    out->edges = (_Atomic(set *) *)(void *)(out->views + n_waiters);
    if (n_scan != 0) memcpy(out->scan, scan, n_scan * sizeof *scan);
    if (n_waiters != 0) memcpy(set_waiters(out), waiters, n_waiters * sizeof *waiters);
    for (uint32_t i = 0; i < n_scan; i++) {
        add_allowed(&out->allow, &out->scan[i]);
        if (out->scan[i].state->n_tokens != 0) out->flags |= SET_TOKENS;
        if (out->scan[i].state->inside) {
            byteset_or(&out->allow, &progress_of(&out->scan[i])->allow);
            out->flags |= inside_flags(s, &out->scan[i]);
        }
        if (out->scan[i].origin != NULL) out->flags |= out->scan[i].origin->flags & SET_INHERITED;
        add_meter(out, &out->scan[i]);
    }
    if (!outlives_token(out)) out->flags |= SET_CUT;
    for (uint32_t i = 0; i < out->n_waiters; i++) {
        const waiter *w = &set_waiters(out)[i];
        if (counts(w->target)) out->flags |= w->reg == COUNT_OPEN ? SET_REGISTERS | SET_OPEN : SET_REGISTERS;
        if (is_distinct(w->target) && w->reg != 0)
            out->flags |= SET_REGISTERS | SET_ELEMENTS | (is_tight(s, w->target->rule, w->reg) ? SET_TIGHT : 0);
        if (w->origin != NULL) out->flags |= w->origin->flags & SET_INHERITED;
    }
    table_add(&s->sets, out);
    return out;
}

/* Rule by rule: what was copied from an origin is in order already. */
static void sort_waiters(closure *c) {
    SHELL_SORT(rule *, c->awaited, c->n_awaited, rule_compare)
    waiter *to = c->sorted;
    for (uint32_t i = 0; i < c->n_awaited; i++) {
        uint32_t n = c->awaited[i]->n_waiters, k = n;
        for (uint32_t at = c->awaited[i]->waiters; at != 0; at = c->waiters[at - 1].next) to[--k] = c->waiters[at - 1].w;
        if (n <= FEW_WAITERS)
            INSERTION_SORT(waiter, to, n, waiter_compare)
        else
            SHELL_SORT(waiter, to, n, waiter_compare)
        to += n;
    }
}

/* The interned set with the closure's scan items, waiters and flags (not yet sorted). */
static set *closure_intern(store *s) {
    closure *c = s->closure;
    if (c->failed) return NULL;
    SHELL_SORT(item, c->scan, c->n_scan, item_compare)
    uint32_t n_scan = 0;
    for (uint32_t i = 0; i < c->n_scan; i++)
        if (i == 0 || !item_equal(&c->scan[i], &c->scan[n_scan - 1])) c->scan[n_scan++] = c->scan[i];
    while (c->cap_sorted < c->n_waiters) {
        c->sorted = reserve(s, c, c->sorted, c->cap_sorted, &c->cap_sorted, sizeof *c->sorted);
        if (c->failed) return NULL;
    }
    sort_waiters(c);
    return intern(s, c->flags, c->scan, n_scan, c->sorted, c->n_waiters);
}

/* Mark the waiters for r in `at`, and those for the rules that these belong to where they began in `at` too; returns how
 * many.  The rules still to be looked at wait in `queue`. */
static uint32_t mark_view(const set *at, const rule *r, bool *marked, waiter *queue) {
    const waiter *all = set_waiters(at), *end;
    uint32_t n = 0, n_queue = 0;
    memset(marked, 0, at->n_waiters * sizeof *marked);
    for (const rule *on = r; on != NULL; on = n_queue == 0 ? NULL : queue[--n_queue].on) {
        const waiter *w = find_waiters(at, on, &end);
        if (w == end || marked[w - all]) continue;
        for (; w < end && w->on == on; w++) {
            marked[w - all] = true;
            n++;
            if (w->origin == NULL && w->target != NULL) queue[n_queue++].on = w->target->rule;
        }
    }
    return n;
}

/* Is a view of these waiters nothing but `o`, entered again from itself?  With Q the waiters that go on where they began,
 *
 *     o = A + Q from o,      view = A + Q from the view + some of Q from o
 *
 * what can follow o is A after any number of Q, and nothing else can follow the view. */
static bool is_again(const waiter *view, uint32_t n, const set *o) {
    const waiter *of = set_waiters(o), *self = NULL;
    uint32_t k = 0;
    if (n <= o->n_waiters || o->n_waiters == 0 || o->n_scan != 0) return false;
    for (uint32_t i = 0; i < n; i++) {
        const waiter *w = &view[i];
        if (w->origin == NULL) self = w; /* it comes before others with its rule, target and register */
        if (k < o->n_waiters && waiter_equal(w, &of[k]))
            k++;
        else if (w->origin != o || self == NULL || self->on != w->on || self->target != w->target || self->reg != w->reg)
            return false;
    }
    return k == o->n_waiters;
}

/* Enough of them: the one that is entered again is the innermost of the waiters' origins. */
#define MOST_ORIGINS 64

/* The set that is_again; NULL: there is none. */
static set *entered_again(const waiter *view, uint32_t n) {
    const set *tried = NULL;
    uint32_t n_tried = 0;
    for (uint32_t i = 0; i < n && n_tried < MOST_ORIGINS; i++) {
        if (view[i].origin == NULL || view[i].origin == tried || view[i].target == NULL) continue;
        tried = view[i].origin;
        n_tried++;
        if (is_again(view, n, tried)) return view[i].origin;
    }
    return NULL;
}

/* The origin of what begins in `at` for r: of `at`, only what the end of an r can lead to.  Places that differ in what
 * else could have begun there are the same to it.  `at`, and the closure fails, when there is no room for it. */
static set *view_of(store *s, set *at, const rule *r) {
    closure *c = s->closure;
    const waiter *end, *first = find_waiters(at, r, &end);
    if (first == end || first->on != r) return at; /* nothing will ever come of it */
    set **known = &at->views[first - set_waiters(at)];
    if (*known != NULL) return *known;
    while (c->cap_marked < at->n_waiters && !c->failed)
        c->marked = reserve(s, c, c->marked, c->cap_marked, &c->cap_marked, sizeof *c->marked);
    while (c->cap_view < at->n_waiters && !c->failed)
        c->view = reserve(s, c, c->view, c->cap_view, &c->cap_view, sizeof *c->view);
    if (c->failed) return at;
    uint32_t n = mark_view(at, r, c->marked, c->view);
    if (n >= c->user->work) {
        over_limit(c);
        return at;
    }
    c->user->work -= n;
    for (uint32_t i = 0, k = 0; i < at->n_waiters; i++)
        if (c->marked[i]) c->view[k++] = set_waiters(at)[i];
    set *out = entered_again(c->view, n);
    if (out == NULL) out = intern(s, 0, NULL, 0, c->view, n);
    c->failed = out == NULL;
    if (out != NULL) *known = out;
    return out == NULL ? at : out;
}

/* Give `on` the waiters of `from`, until nothing is new; or, when they multiply, plain waiters. */
static void resolve_aliases(store *s) {
    closure *c = s->closure;
    uint32_t added = c->n_aliases > MAX_ALIASES ? MAX_ALIAS_WAITERS : 0;
    for (bool changed = true; changed && !c->failed && added < MAX_ALIAS_WAITERS;) {
        changed = false;
        for (uint32_t i = 0; i < c->n_aliases && added < MAX_ALIAS_WAITERS; i++) {
            alias a = c->aliases[i];
            touch_rule(c, a.from);
            for (uint32_t k = a.from->waiters; k != 0 && added < MAX_ALIAS_WAITERS; k = c->waiters[k - 1].next) {
                waiter w = c->waiters[k - 1].w;
                w.on = a.on;
                if (!add_waiter(s, w)) continue;
                changed = true;
                added++;
            }
        }
    }
    for (uint32_t i = 0; i < c->n_aliases && added >= MAX_ALIAS_WAITERS && !c->failed; i++)
        add_waiter(s, (waiter){c->aliases[i].on, c->aliases[i].target, NULL, c->aliases[i].reg});
}

/* Can a byte or a token follow the item at once? */
static bool can_scan(const item *it) {
    if (it->state->rule->metered && it->state->n_tokens == 0) {
        byteset allow = {0};
        add_allowed(&allow, it);
        return !byteset_empty(&allow);
    }
    return it->state->n_bytes != 0 || it->state->n_tokens != 0 || it->state->inside;
}

/* Run the closure over the kernel items added so far. */
static set *closure_run(store *s) {
    closure *c = s->closure;
    for (uint32_t i = 0; i < c->n_items && !c->failed; i++) {
        item it = c->items[i];
        if (can_scan(&it)) add_scan(s, it);
        visit(s, it);
    }
    resolve_aliases(s);
    return closure_intern(s);
}

/* Progresses are counted where they stand. */
size_t set_bytes(const set *at) {
    size_t n = set_size(at->n_scan, at->n_waiters, at->classes);
    for (uint32_t i = 0; (at->flags & SET_INSIDE) != 0 && i < at->n_scan; i++)
        if (at->scan[i].state->inside) n += progress_bytes(progress_of(&at->scan[i]));
    return n;
}

void set_destroy(store *s, set *at) {
    row *r = atomic_load_explicit(&at->row, memory_order_relaxed);
    if (r != NULL) row_release(s, r);
    exit_list *e = atomic_load_explicit(&at->exits, memory_order_relaxed);
    if (e != NULL) store_free(s, e, exit_list_size(e));
    loop *l = atomic_load_explicit(&at->loop, memory_order_relaxed);
    if (l != NULL) store_free(s, l, sizeof *l);
    size_t size = set_size(at->n_scan, at->n_waiters, at->classes);
    classes_release(s, at->classes);
    store_free(s, at, size);
}

static set *set_at_start(use *u, rule *r, set *origin) {
    store *s = u->s;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    r = predicted(s->closure, r);
    if (r != NULL) add_item(s, &r->states[0], 0, origin);
    if (r != NULL && r->nullable) complete_outermost(s, origin);
    set *out = closure_run(s);
    pthread_mutex_unlock(&s->grow);
    return out;
}

set *set_initial(use *u, rule *root) { return set_at_start(u, root, u->s->bottom); }

set *set_beginning(use *u, rule *r) { return set_at_start(u, r, u->s->top); }

/* Run the closure for which `kernel` adds the items, with `grow`; the start of a distinct rule that it misses is made
 * in between, since there is only one closure. */
static set *run_kernel(use *u, void (*kernel)(store *s, const void *ctx), const void *ctx) {
    store *s = u->s;
    for (;;) {
        closure_begin(u);
        kernel(s, ctx);
        set *out = closure_run(s);
        rule *missing = s->closure->missing;
        if (out != NULL || missing == NULL) return out;
        pthread_mutex_unlock(&s->grow);
        bool made = element_begin(u, missing);
        pthread_mutex_lock(&s->grow);
        if (!made) return NULL;
    }
}

set *set_local(use *u, const state *st, uint64_t reg) {
    store *s = u->s;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    add_scan(s, (item){st, s->top, reg});
    if (st->final && (!st->rule->metered || meter_may_end(st->rule, reg))) s->closure->flags |= SET_EXITS; /* as the step that comes back to st would say */
    set *out = closure_intern(s);
    pthread_mutex_unlock(&s->grow);
    return out;
}

static set *item_origin(store *s, set *at, const item *it) {
    return it->origin != NULL ? it->origin : view_of(s, at, it->state->rule);
}

typedef struct byte_step {
    set *from;
    uint32_t byte;
    const element_step *elements; /* of the items within an element that take the byte, in order */
} byte_step;

static void byte_kernel(store *s, const void *ctx) {
    const byte_step *step = ctx;
    set *from = step->from;
    uint32_t byte = step->byte, k = 0;
    for (uint32_t i = 0; i < from->n_scan; i++) {
        const item *it = &from->scan[i];
        if (it->state->inside && byteset_has(&progress_of(it)->allow, byte)) {
            const element_step *e = &step->elements[k++];
            if (e->within != NULL) add_item(s, it->state, (uint64_t)(uintptr_t)e->within, it->origin);
            if (e->done) add_item(s, it->state->rule->after, e->seen, it->origin);
            if (e->done && progress_of(it)->kind == YOUNG) s->closure->flags |= SET_UNSURE;
        }
        if (!byteset_has(&it->state->allow, byte)) continue;
        for (uint32_t e = 0; e < it->state->n_bytes; e++) {
            const byte_edge *edge = &it->state->bytes[e];
            uint64_t reg = it->reg;
            if (byte < edge->lo || edge->hi < byte || (edge->to->rule->metered && !meter_step(edge->to, byte, &reg))) continue;
            add_item(s, edge->to, reg, item_origin(s, from, it));
        }
    }
}

static set *step_with(use *u, byte_step step) {
    store *s = u->s;
    set *from = step.from;
    uint32_t byte = step.byte;
    pthread_mutex_lock(&s->grow);
    _Atomic(set *) *edge = &from->edges[from->classes->of[byte]];
    set *out = atomic_load_explicit(edge, memory_order_relaxed);
    if (out != NULL) goto done; /* another thread was faster */
    out = run_kernel(u, byte_kernel, &step);
    if (out != NULL && (from->flags & SET_UNREMEMBERED) == 0) atomic_store_explicit(edge, out, memory_order_release);
done:
    pthread_mutex_unlock(&s->grow);
    return out;
}

/* Elements take their step first: that may need sets of its own. */
static set *step_inside(use *u, set *from, uint32_t byte) {
    store *s = u->s;
    element_step few[4], *elements = few;
    uint32_t k = 0;
    if (from->n_scan > 4) elements = store_alloc(s, from->n_scan * sizeof *elements);
    bool fine = elements != NULL;
    for (uint32_t i = 0; fine && i < from->n_scan; i++)
        if (from->scan[i].state->inside && byteset_has(&progress_of(&from->scan[i])->allow, byte))
            fine = element_take(u, progress_of(&from->scan[i]), byte, &elements[k++]);
    set *out = fine ? step_with(u, (byte_step){from, byte, elements}) : NULL;
    if (elements != few) store_free(s, elements, from->n_scan * sizeof *elements);
    return out;
}

set *set_step_slow(use *u, set *from, uint32_t byte) {
    assert(byteset_has(&from->allow, byte));
    if ((from->flags & SET_INSIDE) != 0) return step_inside(u, from, byte);
    return step_with(u, (byte_step){from, byte, NULL});
}

static bool edge_has(const token_edge *e, uint64_t reg, uint32_t token) {
    return e->lo <= token && token <= e->hi && !item_dead(e->to, reg) && meter_may_enter(e->to, reg);
}

bool set_has_token(const set *from, uint32_t token) {
    if ((from->flags & SET_TOKENS) == 0) return false;
    for (uint32_t i = 0; i < from->n_scan; i++)
        for (uint32_t e = 0; e < from->scan[i].state->n_tokens; e++)
            if (edge_has(&from->scan[i].state->tokens[e], from->scan[i].reg, token)) return true;
    return false;
}

typedef struct token_step {
    set *from;
    uint32_t token;
} token_step;

static void token_kernel(store *s, const void *ctx) {
    const token_step *step = ctx;
    set *from = step->from;
    for (uint32_t i = 0; i < from->n_scan; i++) {
        const item *it = &from->scan[i];
        for (uint32_t e = 0; e < it->state->n_tokens; e++)
            if (edge_has(&it->state->tokens[e], it->reg, step->token))
                add_item(s, it->state->tokens[e].to, it->reg, item_origin(s, from, it));
    }
}

set *set_step_token(use *u, set *from, uint32_t token) {
    store *s = u->s;
    pthread_mutex_lock(&s->grow);
    set *out = run_kernel(u, token_kernel, &(token_step){from, token});
    pthread_mutex_unlock(&s->grow);
    return out;
}

set *set_settle(use *u, set *at) {
    store *s = u->s;
    if ((at->flags & SET_METERED) == 0) return at;
    set *known = atomic_load_explicit(&at->settled, memory_order_acquire);
    if (known != NULL) return known;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    s->closure->flags = at->flags & SET_IDENTITY;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        item it = at->scan[i];
        if (!it.state->rule->metered || meter_settle(it.state, &it.reg)) add_scan(s, it);
    }
    for (uint32_t i = 0; i < at->n_waiters; i++) add_waiter(s, set_waiters(at)[i]);
    set *out = closure_intern(s);
    if (out != NULL) atomic_store_explicit(&at->settled, out, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    return out;
}

set *set_union(use *u, set *a, set *b) {
    store *s = u->s;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    set *both[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        s->closure->flags |= both[k]->flags & (SET_ACCEPTING | SET_EXITS);
        for (uint32_t i = 0; i < both[k]->n_scan; i++) {
            item it = both[k]->scan[i];
            it.origin = item_origin(s, both[k], &it); /* its waiters stay where it began */
            add_scan(s, it);
        }
    }
    set *out = closure_intern(s);
    pthread_mutex_unlock(&s->grow);
    return out;
}

typedef struct completion {
    set *origin;
    rule *of;
} completion;

static void completion_kernel(store *s, const void *ctx) {
    const completion *c = ctx;
    complete(s, c->of, c->origin);
}

set *set_after(use *u, set *at, set *origin, rule *completed) {
    store *s = u->s;
    pthread_mutex_lock(&s->grow);
    set *out = run_kernel(u, completion_kernel, &(completion){origin == NULL ? at : origin, completed});
    pthread_mutex_unlock(&s->grow);
    return out;
}

static void item_kernel(store *s, const void *ctx) {
    const item *it = ctx;
    add_item(s, it->state, it->reg, it->origin);
}

set *set_after_element(use *u, const item *within, uint64_t reg) {
    store *s = u->s;
    item after = {within->state->rule->after, within->origin, reg};
    pthread_mutex_lock(&s->grow);
    set *out = run_kernel(u, item_kernel, &after);
    pthread_mutex_unlock(&s->grow);
    return out;
}

/* ---- canonical sets: counts that are far from their bounds ----
 *
 * A mask looks at most `reach` bytes ahead, and every repetition takes at
 * least one byte (a body that may be empty has min = 0 and its count is an
 * upper bound only).  So as long as count + reach + 1 stays on one side of min
 * and of max, the count does not matter to the mask: COUNT_OPEN or COUNT_FREE
 * stands for all of them, and then the set can come back to itself. */
static uint64_t canonical_count(const store *s, const waiter *w) {
    if (is_distinct(w->target)) return seen_canonical(s, w->target->rule, w->reg);
    if (!counts(w->target) || w->reg >= COUNT_FREE) return w->reg;
    const rule *r = w->target->rule;
    uint64_t ahead = (uint64_t)s->reach + 1;
    if (w->reg + ahead < r->min) return COUNT_OPEN;
    if (w->reg >= r->min && (r->max == REPEAT_INFINITE || w->reg + ahead < r->max)) return COUNT_FREE;
    return w->reg;
}

static set *canonical_or_self(set *at) {
    if (at == NULL || (at->flags & SET_REGISTERS) == 0) return at;
    return atomic_load_explicit(&at->canonical, memory_order_acquire);
}

static set *inner_set(const item *it) { return it->state->inside ? progress_of(it)->at : NULL; }

/* Of an item; the set of its element has its canonical one. */
static uint64_t canonical_register(store *s, const item *it) {
    if (!it->state->inside || progress_of(it)->kind == YOUNG) return it->reg;
    progress *p = progress_forgotten(s, progress_of(it), canonical_or_self(progress_of(it)->at));
    if (p == NULL) s->closure->failed = true;
    return (uint64_t)(uintptr_t)p;
}

/* Origins first, without recursion: the chain of origins is as deep as the text is nested. */
set *set_canonical(use *u, set *at) {
    store *s = u->s;
    set *known = canonical_or_self(at);
    if (known != NULL) return known;
    uint32_t n = 0, cap = 0;
    set **stack = NULL, *out = NULL;
    pthread_mutex_lock(&s->grow);
    closure *c = s->closure;
    closure_begin(u);
    stack = reserve(s, c, stack, n, &cap, sizeof *stack);
    if (!c->failed) stack[n++] = at;
    while (n > 0 && !c->failed) {
        set *top = stack[n - 1];
        uint32_t before = n;
        uint32_t inner = (top->flags & SET_INSIDE) != 0 ? top->n_scan : 0; /* the sets of elements */
        for (uint32_t i = 0; i < inner + top->n_scan + top->n_waiters && !c->failed; i++) {
            set *origin = i < inner ? inner_set(&top->scan[i])
                          : i < inner + top->n_scan ? top->scan[i - inner].origin
                                                    : set_waiters(top)[i - inner - top->n_scan].origin;
            if (origin == NULL || canonical_or_self(origin) != NULL) continue;
            stack = reserve(s, c, stack, n, &cap, sizeof *stack);
            if (!c->failed) stack[n++] = origin;
        }
        if (n != before || c->failed) continue;
        n--;
        if (canonical_or_self(top) != NULL) continue;
        closure_begin(u);
        c->flags = top->flags & SET_IDENTITY;
        for (uint32_t i = 0; i < top->n_scan; i++) {
            item it = {top->scan[i].state, canonical_or_self(top->scan[i].origin), canonical_register(s, &top->scan[i])};
            if (it.state->rule->metered) it.reg = meter_canonical(it.state->rule, it.reg, s->reach);
            add_scan(s, it);
        }
        for (uint32_t i = 0; i < top->n_waiters; i++) {
            waiter w = set_waiters(top)[i];
            w.reg = canonical_count(s, &w);
            w.origin = canonical_or_self(w.origin);
            add_waiter(s, w);
        }
        set *canonical = closure_intern(s);
        if (canonical == NULL) break;
        atomic_store_explicit(&top->canonical, canonical, memory_order_release);
    }
    if (n == 0 && !c->failed) out = canonical_or_self(at); /* made here, or by a faster thread */
    store_free(s, stack, cap * sizeof *stack);
    pthread_mutex_unlock(&s->grow);
    return out;
}

/* ---- one counter, or one meter of characters, without its bounds ---- */

set *set_unmetered(use *u, set *at, uint64_t *left, const item **metered) {
    store *s = u->s;
    *left = UINT64_MAX;
    *metered = NULL;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        if (!it->state->rule->metered) continue;
        if (*metered != NULL) { /* two of them: nothing is known */
            *metered = NULL;
            return at;
        }
        *metered = it;
    }
    if (*metered == NULL || meter_chars((*metered)->reg) >= CHARS_OPEN) return at;
    const item *only = *metered;
    const meter *m = &only->state->rule->meter;
    uint32_t chars = meter_chars(only->reg), mark = chars < m->least_chars ? CHARS_OPEN : CHARS_FREE;
    if (m->most_chars != 0) *left = m->most_chars - chars - only->state->need;
    set *known = atomic_load_explicit(&at->unbounded, memory_order_acquire);
    if (known != NULL) return known;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    s->closure->flags = at->flags & SET_IDENTITY;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        item it = at->scan[i];
        if (&at->scan[i] == only) it.reg = meter_register(mark, meter_tokens(it.reg), meter_inside(it.reg));
        add_scan(s, it);
    }
    for (uint32_t i = 0; i < at->n_waiters; i++) add_waiter(s, set_waiters(at)[i]);
    set *out = closure_intern(s);
    if (out != NULL) atomic_store_explicit(&at->unbounded, out, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    return out;
}

set *set_unbounded(use *u, set *at, uint64_t *left, const waiter **counter) {
    store *s = u->s;
    *left = UINT64_MAX;
    *counter = NULL;
    const waiter *found = NULL;
    for (uint32_t i = 0; i < at->n_waiters; i++) {
        const waiter *w = &set_waiters(at)[i];
        if (!counts(w->target)) continue;
        if (w->reg >= COUNT_FREE || found != NULL) return at;
        found = w;
    }
    if (found == NULL) return at;
    for (uint32_t i = 0; i < at->n_waiters; i++) /* where the repeat begins, something waits for its end */
        if (&set_waiters(at)[i] != found && set_waiters(at)[i].on != found->target->rule) return at;
    for (uint32_t i = 0; i < at->n_scan; i++) /* items that began earlier are what may follow the repeat */
        if (at->scan[i].origin == NULL && at->scan[i].state->rule != found->on) return at;
    const rule *r = found->target->rule;
    if (r->max != REPEAT_INFINITE) *left = r->max - (found->reg - 1);
    *counter = found;
    set *known = atomic_load_explicit(&at->unbounded, memory_order_acquire);
    if (known != NULL) return known;
    pthread_mutex_lock(&s->grow);
    closure_begin(u);
    s->closure->flags = at->flags & (SET_ACCEPTING | SET_EXITS);
    for (uint32_t i = 0; i < at->n_scan; i++) add_scan(s, at->scan[i]);
    for (uint32_t i = 0; i < at->n_waiters; i++) {
        waiter w = set_waiters(at)[i];
        /* reg - 1 repetitions are done */
        if (&set_waiters(at)[i] == found) w.reg = found->reg <= r->min ? COUNT_OPEN : COUNT_FREE;
        add_waiter(s, w);
    }
    set *out = closure_intern(s);
    if (out != NULL) atomic_store_explicit(&at->unbounded, out, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    return out;
}
