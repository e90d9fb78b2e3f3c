/* cover.c - the runs of characters that an item takes whatever else its set does.
 *
 * In the middle of a name, of a comment, an item can go on by any letter, and again
 * by any: the tokens that are runs of letters are allowed in every set with such an
 * item, and walk.c takes them from the regions of the trie (regions.c); it walks
 * where a run ends only.  So it is for patterns: the states of `[0-9a-f]{8}-` somewhere in
 * a string go to one another and never refuse a character; those of `[A-Za-z]{8}`
 * take any run of at most as many letters as are left.
 *
 * A state is *sure* of k characters of a kind if on each of them it can go to a state
 * that is sure of k - 1.  Those that are sure of none are found first, then what they
 * take down with them, a level for each k; what no level reaches is sure of more than
 * regions hold.
 * Characters beyond ASCII take several bytes, so the search is over pairs (state, phase of
 * UTF-8; chars.h).  Which characters: those that the state allows, less those that
 * no place where all others are allowed follows.  A state that leads to others that keep
 * more characters (at the beginning of a name, which may go on by digits) takes theirs.
 *
 * This depends on the rule alone and is found once, for all states met in the search.
 * Cost: per search the edges of the states that the characters lead to, a few times. */
#include "cover.h"

#include "meter.h"
#include "tuning.h"

#define LEAST_COVER PAYS_FROM(20, 2) /* ASCII characters */
#define LEAST_SURE PAYS_FROM(4, 1)   /* a run of fewer must be one of no more */
#define ENOUGH SHORT_CHARS /* what regions hold is no longer */
#define MANY_ITEMS PAYS_FROM(8, 3)   /* in one set: their parts are walked together rather than kept */

/* Of a rule and of a search; larger ones cover nothing.  In the middle of a walk there is less to win. */
typedef struct bounds {
    uint32_t states, reached;
} bounds;
static const bounds small = {64, 16}, large = {8192, 4096};

static const cover no_cover = {0}, no_small_cover = {0}; /* the second one: nor is it known for larger bounds */

/* A state that the characters lead to. */
typedef struct reached {
    uint32_t state;
    uint32_t seen, alive; /* phases */
    uint32_t sure, most, longest;
    uint32_t before;      /* the first link, + 1 */
    uint32_t out;         /* links that leave it */
    bool again;
} reached;

/* ... from another one. */
typedef struct link {
    uint32_t from, next; /* next + 1; 0: no more */
} link;

/* The characters, and the states that they lead to. */
typedef struct search {
    store *s;
    const rule *r;
    bounds most;
    char_kind of;
    uint32_t *place; /* by state: among `at`, + 1 */
    reached *at;
    link *links;
    uint32_t *pairs, *queue; /* place * CHAR_PHASES + phase; places */
    uint32_t n, cap, n_links, cap_links, n_pairs;
} search;

static bool search_init(search *q, store *s, const rule *r, bounds most) {
    uint32_t cap = r->n_states < most.reached ? r->n_states : most.reached;
    *q = (search){.s = s, .r = r, .most = most, .cap = cap, .cap_links = 2 * r->n_bytes + 64};
    q->place = store_alloc(s, r->n_states * sizeof *q->place);
    q->at = store_take(s, cap * sizeof *q->at);
    q->links = store_take(s, q->cap_links * sizeof *q->links);
    q->pairs = store_take(s, (size_t)cap * CHAR_PHASES * sizeof *q->pairs);
    q->queue = store_take(s, 2 * cap * sizeof *q->queue);
    return q->place != NULL && q->at != NULL && q->links != NULL && q->pairs != NULL && q->queue != NULL;
}

static void search_free(search *q) {
    store *s = q->s;
    store_free(s, q->place, q->r->n_states * sizeof *q->place);
    store_free(s, q->at, q->cap * sizeof *q->at);
    store_free(s, q->links, q->cap_links * sizeof *q->links);
    store_free(s, q->pairs, (size_t)q->cap * CHAR_PHASES * sizeof *q->pairs);
    store_free(s, q->queue, 2 * q->cap * sizeof *q->queue);
}

static const state *state_of(const search *q, uint32_t i) { return &q->r->states[q->at[i].state]; }

static uint32_t place_of(const search *q, const state *st) { return q->place[st - q->r->states]; }

static const reached *find(const search *q, const state *st) {
    uint32_t place = place_of(q, st);
    return place == 0 ? NULL : &q->at[place - 1];
}

/* ---- what the characters lead to ---- */

/* The pair (target of an edge, phase) is reached from `from`; false: it is all too large. */
static bool reach(search *q, uint32_t from, const state *to, uint32_t phase) {
    uint32_t place = place_of(q, to);
    if (place == 0) {
        if (q->n == q->cap) return false;
        q->place[to - q->r->states] = place = ++q->n;
        q->at[place - 1] = (reached){.state = (uint32_t)(to - q->r->states), .sure = COVER_ANY, .most = COVER_ANY};
    }
    reached *r = &q->at[place - 1];
    if (from != UINT32_MAX && (r->before == 0 || q->links[r->before - 1].from != from)) {
        if (q->n_links == q->cap_links) return false;
        q->links[q->n_links] = (link){from, r->before};
        r->before = ++q->n_links;
        q->at[from].out++;
    }
    if ((r->seen >> phase & 1) != 0) return true;
    r->seen |= 1u << phase;
    r->alive |= 1u << phase;
    q->pairs[q->n_pairs++] = (place - 1) * CHAR_PHASES + phase;
    return true;
}

/* By the bytes lo..hi, which lead to this phase. */
static bool reach_by(search *q, uint32_t from, uint32_t lo, uint32_t hi, uint32_t phase) {
    const state *st = state_of(q, from);
    for (uint32_t e = 0; e < st->n_bytes; e++)
        if (st->bytes[e].lo <= hi && st->bytes[e].hi >= lo && !reach(q, from, st->bytes[e].to, phase)) return false;
    return true;
}

/* The next run of the ASCII characters, from `lo` on; false: no more. */
static bool next_run(const byteset *ascii, uint32_t *lo, uint32_t *hi) {
    while (*lo < 128 && !byteset_has(ascii, *lo)) ++*lo;
    if (*lo == 128) return false;
    *hi = *lo;
    while (*hi < 127 && byteset_has(ascii, *hi + 1)) ++*hi;
    return true;
}

static bool reach_all(search *q, const state *st) {
    for (uint32_t i = 0; i < q->n; i++) q->place[q->at[i].state] = 0; /* of the last search */
    q->n = q->n_links = q->n_pairs = 0;
    if (!reach(q, UINT32_MAX, st, 0)) return false;
    for (uint32_t i = 0; i < q->n_pairs; i++) {
        uint32_t from = q->pairs[i] / CHAR_PHASES, phase = q->pairs[i] % CHAR_PHASES, n;
        for (uint32_t lo = 0, hi; phase == 0 && next_run(&q->of.ascii, &lo, &hi); lo = hi + 1)
            if (!reach_by(q, from, lo, hi, 0)) return false;
        const char_step *step = char_steps(q->of.beyond, phase, &n);
        for (uint32_t k = 0; k < n; k++)
            if (!reach_by(q, from, step[k].lo, step[k].hi, step[k].to)) return false;
    }
    return true;
}

/* ---- how far they are taken ---- */

/* Does every byte of lo..hi lead from st to a state that is alive in this phase? */
static bool all_lead(const search *q, const state *st, uint32_t lo, uint32_t hi, uint32_t phase) {
    uint32_t first = 0; /* edges before this one are over */
    for (uint32_t byte = lo; byte <= hi;) {
        uint32_t next = byte;
        for (uint32_t e = first; e < st->n_bytes; e++) {
            const byte_edge *edge = &st->bytes[e];
            if (edge->lo > byte) break;
            if (edge->hi < byte) {
                first += e == first;
                continue;
            }
            if (edge->hi < next) continue;
            const reached *to = find(q, edge->to);
            if (to != NULL && (to->alive >> phase & 1) != 0) next = edge->hi + 1u;
        }
        if (next == byte) return false;
        byte = next;
    }
    return true;
}

static bool keeps(const search *q, uint32_t i, uint32_t phase) {
    const state *st = state_of(q, i);
    for (uint32_t lo = 0, hi; phase == 0 && next_run(&q->of.ascii, &lo, &hi); lo = hi + 1)
        if (!all_lead(q, st, lo, hi, 0)) return false;
    uint32_t n;
    const char_step *step = char_steps(q->of.beyond, phase, &n);
    for (uint32_t k = 0; k < n; k++)
        if (!all_lead(q, st, step[k].lo, step[k].hi, step[k].to)) return false;
    return true;
}

/* Those before i are to be looked at again. */
static uint32_t look_again(search *q, uint32_t i, uint32_t n_queue) {
    for (uint32_t k = q->at[i].before; k != 0; k = q->links[k - 1].next) {
        reached *from = &q->at[q->links[k - 1].from];
        if (from->again) continue;
        from->again = true;
        q->queue[n_queue++] = q->links[k - 1].from;
    }
    return n_queue;
}

/* Its phases within a character; is one of them not alive any more? */
static bool lose_phases(search *q, uint32_t i) {
    bool lost = false;
    for (uint32_t phase = 1; phase < CHAR_PHASES; phase++) { /* each leads to lower ones */
        if ((q->at[i].alive >> phase & 1) == 0 || keeps(q, i, phase)) continue;
        q->at[i].alive &= ~(1u << phase);
        lost = true;
    }
    return lost;
}

/* Sets `sure` of all that was reached. */
static void find_sure(search *q) {
    uint32_t n = q->n;
    for (uint32_t i = 0; i < n; i++) {
        q->at[i].again = true;
        q->queue[i] = i;
    }
    for (uint32_t level = 0; n != 0 && level < ENOUGH; level++) {
        uint32_t *failed = q->queue + q->cap, n_failed = 0;
        for (bool lost = q->of.beyond != BEYOND_NONE; lost;) {
            lost = false;
            for (uint32_t k = 0; k < n; k++) {
                if (!lose_phases(q, q->queue[k])) continue;
                n = look_again(q, q->queue[k], n);
                lost = true;
            }
        }
        for (uint32_t k = 0; k < n; k++) {
            q->at[q->queue[k]].again = false;
            if ((q->at[q->queue[k]].alive & 1) != 0 && !keeps(q, q->queue[k], 0)) failed[n_failed++] = q->queue[k];
        }
        n = 0;
        for (uint32_t k = 0; k < n_failed; k++) {
            q->at[failed[k]].alive &= ~1u;
            q->at[failed[k]].sure = level;
            n = look_again(q, failed[k], n);
        }
    }
}

/* May the rule end at st, or may what st refers to take the characters too? */
static bool is_mixed(const search *q, const state *st) {
    if (st->final) return true;
    for (uint32_t e = 0; e < st->n_rules; e++) {
        const rule *r = st->rules[e].rule;
        if (r->kind != RULE_PLAIN || r->nullable || r->states[0].n_rules != 0) return true;
        const byteset *begins = &r->states[0].allow;
        if (((begins->w[0] & q->of.ascii.w[0]) | (begins->w[1] & q->of.ascii.w[1])) != 0) return true;
        if (q->of.beyond != BEYOND_NONE && (begins->w[2] | begins->w[3]) != 0) return true;
    }
    return false;
}

/* Sets `most` of all that was reached: the longest ways, in bytes; where there is a cycle, or others may join in, none is
 * the longest. */
static void find_most(search *q) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        if (q->at[i].out != 0 || is_mixed(q, state_of(q, i))) continue;
        q->at[i].most = 0;
        q->queue[n++] = i;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t l = q->at[q->queue[k]].before; l != 0; l = q->links[l - 1].next) {
            reached *from = &q->at[q->links[l - 1].from];
            from->longest = from->longest > q->at[q->queue[k]].most + 1 ? from->longest : q->at[q->queue[k]].most + 1;
            if (--from->out != 0 || is_mixed(q, state_of(q, q->links[l - 1].from))) continue;
            from->most = from->longest;
            q->queue[n++] = q->links[l - 1].from;
        }
}

/* What st keeps of the characters of the search: the others that were reached are known then, too. */
static const reached *find_keeping(search *q, const state *st) {
    if (!reach_all(q, st)) {
        for (uint32_t i = 0; i < q->n; i++) q->at[i].sure = 0;
        return NULL;
    }
    find_sure(q);
    const reached *own = find(q, st);
    if (own->sure != 0 && own->sure != COVER_ANY) find_most(q);
    return own;
}

/* Does it settle nearly every token of the characters, or are there no others to be had? */
static bool is_far(const reached *r) { return r->sure >= ENOUGH || (r->sure != 0 && r->sure == r->most); }

/* ---- which characters ---- */

static bool has_all(const byteset *a, const byteset *of) {
    return (of->w[0] & ~a->w[0]) == 0 && (of->w[1] & ~a->w[1]) == 0;
}

/* The target, other than st, of most ASCII characters; NULL if it has few. */
static const state *most_common(const state *st) {
    const state *found = NULL;
    uint32_t most = LEAST_COVER - 1;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        uint32_t n = 0;
        if (st->bytes[e].to == st) continue;
        for (uint32_t k = 0; k < st->n_bytes; k++)
            if (st->bytes[k].to == st->bytes[e].to && st->bytes[k].lo < 128)
                n += (st->bytes[k].hi < 128 ? st->bytes[k].hi + 1u : 128u) - st->bytes[k].lo;
        if (n <= most) continue;
        most = n;
        found = st->bytes[e].to;
    }
    return found;
}

/* Of the characters, those that do not lead st to a state that is sure of fewer. */
static byteset without_short(const search *q, const state *st, uint32_t sure) {
    byteset out = {{0}};
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        const byte_edge *edge = &st->bytes[e];
        const reached *to = edge->lo < 128 ? find(q, edge->to) : NULL;
        if (to != NULL && to->sure >= sure) byteset_add_range(&out, edge->lo, edge->hi < 128 ? edge->hi : 127);
    }
    for (int i = 0; i < 2; i++) out.w[i] &= q->of.ascii.w[i];
    return out;
}

/* Of the characters, those after which a state may follow that allows all that `common` does. */
static byteset narrowed(const state *st, const byteset *ascii, const state *common) {
    byteset all = *ascii, out = {{0}};
    for (int i = 0; i < 2; i++) all.w[i] &= common->allow.w[i];
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        const byte_edge *edge = &st->bytes[e];
        if (edge->lo < 128 && has_all(&edge->to->allow, &all)) byteset_add_range(&out, edge->lo, edge->hi < 128 ? edge->hi : 127);
    }
    for (int i = 0; i < 2; i++) out.w[i] &= all.w[i];
    return out;
}

/* ASCII characters that st keeps; NULL if they are few. */
static const reached *find_ascii(search *q, const state *st) {
    q->of = (char_kind){.ascii = {{st->allow.w[0], st->allow.w[1], 0, 0}}, .beyond = BEYOND_NONE};
    const state *other = most_common(st), *common = other == NULL || has_all(&st->allow, &other->allow) ? st : other;
    const reached *own = NULL;
    while (byteset_ascii_size(&q->of.ascii) >= LEAST_COVER) {
        own = find_keeping(q, st);
        if (own != NULL && is_far(own)) return own;
        byteset less = own == NULL ? q->of.ascii : without_short(q, st, own->sure);
        if (byteset_ascii_size(&less) < LEAST_COVER || has_all(&less, &q->of.ascii)) less = narrowed(st, &q->of.ascii, common);
        if (byteset_ascii_size(&less) < LEAST_COVER || has_all(&less, &q->of.ascii))
            return own != NULL && own->sure >= LEAST_SURE ? own : NULL;
        q->of.ascii = less;
    }
    return NULL;
}

/* Characters that st keeps, with as many beyond ASCII as go as far. */
static const reached *find_characters(search *q, const state *st) {
    const reached *own = find_ascii(q, st);
    if (own == NULL || !byteset_has(&st->allow, 0xC3) || !byteset_has(&st->allow, 0xE2) || !byteset_has(&st->allow, 0xF1))
        return own;
    uint32_t sure = own->sure;
    for (int beyond = BEYOND_ALL; beyond > BEYOND_NONE; beyond--) {
        q->of.beyond = (char_range)beyond;
        own = find_keeping(q, st);
        if (own != NULL && own->sure >= sure) return own;
    }
    q->of.beyond = BEYOND_NONE;
    return find_keeping(q, st);
}

/* ---- covers ---- */

static cover kept(const search *q, const reached *own) {
    cover out = {.chars = vocab_regions(q->s->vocab, &q->of), .n = byteset_ascii_size(&q->of.ascii), .first = q->of.ascii, .any = true,
                 .sure = own->sure, .most = own->most};
    if (q->of.beyond != BEYOND_NONE) byteset_add_range(&out.first, 0x80, 0xFF);
    for (uint32_t i = 0; i < q->n && !out.ends; i++) out.ends = is_mixed(q, state_of(q, i));
    return out;
}

/* What st covers; *any: those of the states that the search has left which go far cover this. */
static cover find_cover(search *q, const state *st, cover *any) {
    const reached *keeping = find_characters(q, st);
    cover own = keeping == NULL ? no_cover : kept(q, keeping), later = {.sure = COVER_ANY, .most = COVER_ANY};
    *any = own;
    const state *other = most_common(st);
    if (other == NULL) return own;
    if (own.sure == COVER_ANY) {
        const reached *same = find(q, other);
        if (same != NULL && same->sure == COVER_ANY && has_all(&own.first, &other->allow)) return own;
    }
    keeping = find_characters(q, other);
    if (keeping == NULL || keeping->sure != COVER_ANY) {
        *any = keeping == NULL ? no_cover : kept(q, keeping);
        return own;
    }
    later.chars = vocab_regions(q->s->vocab, &q->of);
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        const reached *to = st->bytes[e].lo < 128 ? find(q, st->bytes[e].to) : NULL;
        if (to != NULL && to->sure == COVER_ANY)
            byteset_add_range(&later.first, st->bytes[e].lo, st->bytes[e].hi < 128 ? st->bytes[e].hi : 127);
    }
    for (int i = 0; i < 2; i++) later.first.w[i] &= q->of.ascii.w[i];
    later.n = byteset_ascii_size(&later.first);
    *any = kept(q, keeping);
    later.ends = any->ends;
    bool better = own.sure != COVER_ANY || later.n > own.n;
    if (!better || later.n < LEAST_COVER) return own;
    if (later.n < any->n || (keeping = find_keeping(q, st)) == NULL || keeping->sure != COVER_ANY) return later;
    *any = kept(q, keeping); /* it may begin with any of the characters */
    return *any;
}

static bool is_known(const cover *c, bounds most) { return c != NULL && (c != &no_small_cover || most.states == small.states); }

/* The state's cover is this from now on, if none was known; what it is then, or NULL: out of memory. */
static const cover *publish(const search *q, uint32_t at, const cover *found) {
    state *st = (state *)(uintptr_t)&q->r->states[at];
    const cover *other = atomic_load_explicit(&st->cover, memory_order_acquire);
    if (is_known(other, q->most)) return other;
    cover *made = found->chars == NULL ? NULL : store_alloc(q->s, sizeof *made);
    if (found->chars != NULL && made == NULL) return NULL;
    if (made != NULL) *made = *found;
    const cover *known = made != NULL ? made : q->most.states == small.states ? &no_small_cover : &no_cover;
    if (atomic_compare_exchange_strong_explicit(&st->cover, &other, known, memory_order_acq_rel, memory_order_acquire)) return known;
    if (made != NULL) store_free(q->s, made, sizeof *made); /* another thread was faster */
    return other;
}

/* NULL: failed. */
static const cover *state_cover(use *u, const state *st, bounds most) {
    const rule *r = st->rule;
    const cover *known = atomic_load_explicit(&st->cover, memory_order_acquire);
    if (is_known(known, most)) return known;
    if (byteset_ascii_size(&st->allow) < LEAST_COVER || r->kind != RULE_PLAIN || r->n_onces != 0 || r->n_states > most.states ||
        (r->metered && r->meter.most_tokens != 0))
        return &no_cover;
    search q;
    if (search_init(&q, u->s, r, most)) {
        cover any, found = find_cover(&q, st, &any);
        known = publish(&q, (uint32_t)(st - r->states), &found);
        for (uint32_t i = 0; known != NULL && any.chars != NULL && i < q.n; i++) {
            if (!is_far(&q.at[i]) || (q.at[i].seen & 1) == 0) continue;
            any.sure = q.at[i].sure;
            any.most = q.at[i].most;
            known = publish(&q, q.at[i].state, &any);
        }
        if (known != NULL) known = atomic_load_explicit(&st->cover, memory_order_acquire);
    }
    search_free(&q);
    return known;
}

void cover_free(store *s, state *st) {
    cover *c = (cover *)(uintptr_t)atomic_load_explicit(&st->cover, memory_order_relaxed);
    if (c != &no_cover && c != &no_small_cover) store_free(s, c, sizeof *c);
}

/* What the register leaves of a cover. */
static cover left_of(const cover *c, const item *it) {
    cover out = *c;
    const rule *r = it->state->rule;
    if (c->chars == NULL || !r->metered || r->meter.most_chars == 0 || meter_chars(it->reg) >= CHARS_OPEN) return out;
    uint32_t left = r->meter.most_chars - meter_chars(it->reg), sure = left < r->most_need ? 0 : left - r->most_need;
    if (sure < out.sure) out.sure = sure;
    if (left < out.most) out.most = left;
    return out;
}

const cover *set_cover(use *u, set *at, bool thorough) {
    bounds most = thorough ? large : small;
    const cover *best = atomic_load_explicit(&at->cover, memory_order_acquire);
    if (is_known(best, most)) return best;
    best = thorough ? &no_cover : &no_small_cover;
    for (uint32_t i = 0; byteset_ascii_size(&at->allow) >= LEAST_COVER && (at->flags & SET_INSIDE) == 0 && i < at->n_scan; i++) {
        const cover *c = state_cover(u, at->scan[i].state, most);
        if (c == NULL) return NULL;
        if (c->n > best->n && left_of(c, &at->scan[i]).sure >= ENOUGH) best = c;
    }
    atomic_store_explicit(&at->cover, best, memory_order_release);
    return best;
}

bool item_cover(use *u, const item *it, cover *out) {
    const cover *c = state_cover(u, it->state, large);
    if (c != NULL) *out = left_of(c, it);
    return c != NULL;
}

int set_is_open(use *u, const set *at) {
    if (at->n_scan < 2 || byteset_ascii_size(&at->allow) < LEAST_COVER || (at->flags & SET_REGISTERS) != 0) return 0;
    if (at->n_scan >= MANY_ITEMS) return 1;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (at->scan[i].origin == u->s->bottom || at->scan[i].origin == u->s->top) continue;
        const cover *c = state_cover(u, at->scan[i].state, small);
        if (c == NULL) return -1;
        if (c->ends) return 1;
    }
    return 0;
}
