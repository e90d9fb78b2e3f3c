/* mask.c - from a set to the row of tokens that may come next.
 *
 * Steps are linear: what follows a set is the union of what follows its scan
 * items.  So the row of a set is put together from what each item can do:
 *
 *   1. The *local* part of an item: the item alone, in an unknown context
 *      (origin top).  A walk over the vocabulary trie gives the tokens that end
 *      inside the item's rule or exactly with it (both are allowed in every
 *      context, since whoever began the rule waits for it), and the *exits*:
 *      the children of trie nodes where the rule is complete, by their byte.
 *      It depends on the rule alone, so all grammars share it.
 *   2. From the exits with a byte that the real context takes the walk goes on there.
 *
 * Where almost any character may follow (runs.c, near.c) most tokens are settled by word
 * operations; the rest is walked (walk.c).  Within elements of distinct rules element.c corrects
 * the canonical set's row.
 *
 * Cost: a copy when the set's row is known; else one OR per item plus the nodes visited after
 * exits; and, once per rule state and process, the nodes visited for its local part. */
#include "meter.h"
#include "walker.h"

static bool add_token_edges(walker *w, const state *st, uint64_t reg) {
    for (uint32_t e = 0; e < st->n_tokens; e++) {
        const token_edge *edge = &st->tokens[e];
        if (!meter_may_enter(edge->to, reg)) continue;
        if (edge->hi - edge->lo < w->most_few) {
            for (uint32_t token = edge->lo; token <= edge->hi; token++)
                if (!allow_slow(w, token)) return false;
        } else {
            if (!make_dense(w)) return false;
            bits_set_range(w->words, edge->lo, edge->hi);
        }
    }
    return true;
}

row *publish_row(store *s, set *at, row *r) {
    pthread_mutex_lock(&s->grow);
    row *other = atomic_load_explicit(&at->row, memory_order_relaxed);
    if (other == NULL) {
        atomic_store_explicit(&at->row, r, memory_order_release);
    } else {
        row_release(s, r);
        r = other;
    }
    pthread_mutex_unlock(&s->grow);
    return r;
}

static exit_list *publish_exits(store *s, set *at, const walker *w) {
    exit_list *e = store_alloc(s, sizeof *e + ((size_t)w->exits.n + w->unsure.n) * sizeof *e->nodes);
    if (e == NULL) return NULL;
    const trie_node *nodes = s->vocab->ordinary.nodes;
    uint32_t first[257] = {0};
    e->n = w->exits.n;
    e->n_unsure = w->unsure.n;
    if (e->n_unsure != 0) memcpy(e->nodes + e->n, w->unsure.at, e->n_unsure * sizeof *e->nodes);
    for (uint32_t i = 0; i < e->n; i++) first[nodes[w->exits.at[i]].byte + 1]++;
    for (uint32_t b = 0; b < 256; b++) first[b + 1] += first[b];
    for (uint32_t i = 0; i < e->n; i++) e->nodes[first[nodes[w->exits.at[i]].byte]++] = w->exits.at[i];
    pthread_mutex_lock(&s->grow);
    exit_list *other = atomic_load_explicit(&at->exits, memory_order_relaxed);
    if (other == NULL) atomic_store_explicit(&at->exits, e, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    if (other == NULL) return e;
    store_free(s, e, exit_list_size(e));
    return other;
}

/* ---- the local part of an item ---- */

/* Might a cover hold more characters than the loop?  A string ends by one that it does not hold, and has escapes. */
static bool may_be_wider(const set *at, const loop *l) {
    bool beyond = l->on.beyond != BEYOND_NONE || (at->allow.w[2] | at->allow.w[3]) == 0;
    return !beyond || byteset_ascii_size(&at->allow) > byteset_ascii_size(&l->on.ascii) + 2;
}

/* Does what an item covers hold more than the loop?  Negative: failed. */
static int is_wider(use *u, const item *it, const loop *l, cover *c) {
    uint32_t n = byteset_ascii_size(&l->on.ascii);
    if (!item_cover(u, it, c)) return -1;
    return c->chars != NULL && c->any && c->sure >= SHORT_CHARS && c->n >= n && c->chars->of.beyond >= l->on.beyond &&
           (c->n > n || c->chars->of.beyond > l->on.beyond);
}

/* The row by what an item covers, if that holds more than the loop does: as where a pattern may begin.  *done: whether. */
static bool fill_wider(set *at, const item *it, const loop *l, walker *w, bool *done) {
    cover c;
    int wider = may_be_wider(at, l) ? is_wider(w->u, it, l, &c) : 0;
    *done = false;
    return wider >= 0 && (wider == 0 || fill_cover(at, &c, w, done));
}

/* at: what an item does by itself. */
static bool fill_local(set *at, const item *it, walker *w) {
    const state *st = it->state;
    const loop *l = set_loop(w->u, at);
    cover c;
    bool done;
    if (l == NULL) return false;
    /* A loop that is complete everywhere (free text) has an exit at every node: if those are
     * wanted there is no way around the whole trie. */
    if (l->is_loop && !(w->want_exits && l->exits))
        return fill_wider(at, it, l, w, &done) && (done || fill_loop(at, l, UINT64_MAX, w));
    byteset differ;
    uint64_t left;
    const item *metered;
    set *unmetered = l->is_loop || !st->rule->metered ? at : set_unmetered(w->u, at, &left, &metered);
    const loop *beyond = unmetered == NULL ? NULL : set_loop(w->u, unmetered);
    if (beyond == NULL) return false;
    if (unmetered != at && beyond->is_loop && beyond->stays && !beyond->exits) {
        if (left == UINT64_MAX) left--; /* each character counts */
        return fill_wider(at, it, beyond, w, &done) && (done || fill_loop(at, beyond, left, w));
    }
    bool counts = st->rule->metered && !meter_is_free(at->scan[0].reg);
    const state *home = l->is_loop || counts ? NULL : loop_nearby(w->s->vocab, st, &differ);
    if (home != NULL && !(w->want_exits && home->final)) return fill_nearby(at, st, home, &differ, w);
    if (!item_cover(w->u, it, &c) || !fill_cover(at, &c, w, &done)) return false;
    return done || walk_root(w, at);
}

bool local_of(use *u, item it, bool want_exits, local_part *out) {
    store *s = u->s;
    set *at = set_local(u, it.state, it.reg);
    if (at == NULL) return false;
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    if (atomic_load_explicit(&at->used, memory_order_relaxed) != epoch)
        atomic_store_explicit(&at->used, epoch, memory_order_relaxed);
    out->row = atomic_load_explicit(&at->row, memory_order_acquire);
    out->exits = atomic_load_explicit(&at->exits, memory_order_acquire);
    if (out->row != NULL && (!want_exits || out->exits != NULL)) {
        atomic_fetch_add_explicit(&s->stats.local_hits, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add_explicit(&s->stats.local_misses, 1, memory_order_relaxed);
    walker w;
    walker_init(&w, u, want_exits);
    bool fine = fill_local(at, &it, &w) && add_token_edges(&w, it.state, it.reg);
    if (fine && want_exits) fine = (out->exits = publish_exits(s, at, &w)) != NULL;
    row *r = fine ? walker_row(&w) : NULL;
    if (r != NULL) out->row = publish_row(s, at, r);
    walker_free(&w);
    return r != NULL;
}
static bool fill_items(set *at, walker *w) {
    store *s = w->s;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        local_part part;
        if (it->state->inside) {
            if (!fill_element(it, w)) return false;
            continue;
        }
        if (!local_of(w->u, *it, it->origin != s->bottom, &part)) return false;
        bool whole = it->origin == s->bottom || part.exits->n == 0;
        if (whole && at->n_scan == 1) {
            w->same = part.row;
            return true;
        }
        if (!allow_row(w, part.row)) return false;
        if (whole) continue;
        set *after = set_after(w->u, at, it->origin, it->state->rule);
        if (after == NULL) return false;
        for (uint32_t k = 0; w->want_exits && (after->flags & SET_EXITS) != 0 && k < part.exits->n; k++)
            if (!node_list_add(s, &w->exits, part.exits->nodes[k])) return false;
        if (!walk_exits(w, part.exits, after)) return false;
    }
    return true;
}

static bool takes_loop(const byteset *allow, const loop *l) {
    byteset repeats = l->on.ascii;
    if (l->on.beyond == BEYOND_ALL) byteset_add_range(&repeats, 0x80, 0xFF);
    uint64_t common = 0;
    for (int i = 0; i < 4; i++) common |= repeats.w[i] & allow->w[i];
    return common != 0;
}

/* Can what follows the rule begin with a character of the loop?  Negative: out of memory. */
static int overlaps(use *u, set *at, set *origin, rule *r, const loop *l) {
    set *after = set_after(u, at, origin, r);
    return after == NULL ? -1 : takes_loop(&after->allow, l);
}

/* Are as many characters needed after one of the loop as before it, so that what a bound leaves can be told from `at`?
 * Negative: out of memory. */
static int keeps_need(use *u, set *at, const item *metered, const loop *l) {
    if (l->stays) return 1;
    for (uint32_t byte = 0; byte < 128; byte++) {
        if (!byteset_has(&l->on.ascii, byte)) continue;
        set *home = set_step(u, at, byte);
        if (home == NULL) return -1;
        for (uint32_t i = 0; i < home->n_scan; i++)
            if (home->scan[i].state->rule == metered->state->rule) return home->scan[i].state->need == metered->state->need;
        return 0;
    }
    return 0;
}

/* The set walked as a whole, but for what one of its items covers. */
static bool fill_whole(set *at, walker *w) {
    cover best = {.chars = NULL}, c;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (!item_cover(w->u, &at->scan[i], &c)) return false;
        if (c.chars == NULL || !c.any || c.sure < SHORT_CHARS || c.n < best.n) continue;
        if (best.chars == NULL || c.chars->of.beyond >= best.chars->of.beyond) best = c;
    }
    bool done;
    if (!fill_cover(at, &best, w, &done)) return false;
    for (uint32_t i = 0; i < at->n_scan; i++)
        if (!add_token_edges(w, at->scan[i].state, at->scan[i].reg)) return false;
    return done || walk_root(w, at);
}

/* A loop in this context whose items are none by themselves: a repeated rule; or are, but may end anywhere. */
static bool fill(set *at, walker *w) {
    if ((at->flags & SET_INSIDE) != 0) return fill_items(at, w);
    uint64_t most;
    const waiter *counter;
    const item *metered = NULL;
    set *unbounded = set_unbounded(w->u, at, &most, &counter);
    if (unbounded != NULL && counter == NULL) unbounded = set_unmetered(w->u, at, &most, &metered);
    if (unbounded == NULL) return false;
    const loop *l = set_loop(w->u, unbounded);
    if (l == NULL) return false;
    bool direct = l->is_loop && !(w->want_exits && l->exits);
    if (unbounded != at && most == UINT64_MAX) most--; /* without an upper bound, but each character counts */
    if (direct && metered != NULL && most < UINT64_MAX - 1) {
        int kept = keeps_need(w->u, unbounded, metered, l);
        if (kept < 0) return false;
        direct = kept == 1;
    }
    for (uint32_t i = 0; i < at->n_scan && direct; i++) {
        set *alone = set_local(w->u, at->scan[i].state, at->scan[i].reg);
        const loop *by_itself = alone == NULL ? NULL : set_loop(w->u, alone);
        if (by_itself == NULL) return false;
        direct = (!by_itself->is_loop || (by_itself->exits && counter == NULL)) && at->scan[i].state->n_tokens == 0;
        /* Near the bound nothing else may take the characters: no other reading of the text so far. */
        bool other = metered != NULL ? metered != &at->scan[i] : at->scan[i].origin != NULL;
        if (other && (counter != NULL || most < w->s->reach)) direct = direct && !takes_loop(&at->scan[i].state->allow, l);
    }
    /* Nor may what follows: past the least count of a repeat it could take them too. */
    if (direct && (counter != NULL || most < w->s->reach)) {
        int overlap = counter != NULL ? overlaps(w->u, at, counter->origin, counter->target->rule, l)
                                      : overlaps(w->u, at, metered->origin, metered->state->rule, l);
        if (overlap < 0) return false;
        direct = overlap == 0;
    }
    if (direct && metered != NULL && may_be_wider(at, l)) {
        cover c;
        int wider = is_wider(w->u, metered, l, &c);
        if (wider < 0) return false;
        direct = wider == 0;
    }
    if (direct) return fill_loop(at, l, most, w);
    /* Parts with an exit at every node are of no use: it is all walked again in this context. */
    int open = w->want_exits ? 0 : set_is_open(w->u, at);
    if (open < 0) return false;
    return open == 0 ? fill_items(at, w) : fill_whole(at, w);
}

bool part_of(use *u, set *at, bool want_exits, local_part *out) {
    out->row = atomic_load_explicit(&at->row, memory_order_acquire);
    out->exits = atomic_load_explicit(&at->exits, memory_order_acquire);
    if (out->row != NULL && (!want_exits || out->exits != NULL)) return true;
    walker w;
    row *r = NULL;
    walker_init(&w, u, want_exits);
    bool fine = fill(at, &w);
    if (fine && (want_exits || w.unsure.n != 0)) fine = (out->exits = publish_exits(u->s, at, &w)) != NULL;
    if (fine) r = w.same != NULL ? row_retain(u->s, w.same) : walker_row(&w);
    walker_free(&w);
    if (r != NULL) out->row = publish_row(u->s, at, r);
    return r != NULL;
}
row *mask_row(use *u, set *at) {
    store *s = u->s;
    row *known = atomic_load_explicit(&at->row, memory_order_acquire);
    if (known != NULL) {
        atomic_fetch_add_explicit(&s->stats.row_hits, 1, memory_order_relaxed);
        return known;
    }
    atomic_fetch_add_explicit(&s->stats.row_misses, 1, memory_order_relaxed);
    set *canonical = set_canonical(u, at);
    if (canonical == NULL) return NULL;
    row *out = NULL;
    if ((at->flags & SET_ELEMENTS) != 0) return row_within_element(u, at, canonical);
    if (canonical != at) {
        out = mask_row(u, canonical); /* a canonical set is its own: one level deep */
        return out == NULL ? NULL : publish_row(s, at, row_retain(s, out));
    }
    walker w;
    walker_init(&w, u, false);
    if (fill(at, &w))
        out = w.same != NULL ? row_retain(s, w.same) : walker_row(&w);
    walker_free(&w);
    return out == NULL ? NULL : publish_row(s, at, out);
}
