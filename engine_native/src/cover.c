/* cover.c - the runs of characters that an item takes whatever else its set does.
 *
 * In the middle of a name, of a comment, an item can go on by any letter, and again
 * by any: the tokens that are runs of letters are allowed in every set with such an
 * item, and mask.c takes them from the regions of the trie (regions.c); it walks
 * where a run ends only.
 *
 * A state *keeps* some characters if on each of them it can go to a state that keeps
 * them: the greatest such set of states, found by taking states out until nothing
 * changes.  Characters beyond ASCII take several bytes, so the search is over (state,
 * UTF-8 phase).  Which characters: those that the state allows, less those that no
 * place where all others are allowed follows.  A state that leads to others that keep
 * more characters (at the beginning of a name, which may go on by digits) takes theirs.
 *
 * This depends on the rule alone and is found once, for all states met in the search.
 * Cost: per search the edges of the states that the characters lead to, a few times. */
#include "cover.h"

#include "utf8.h"

#define LEAST_COVER 20   /* ASCII characters */
#define MOST_STATES 64   /* of a rule; larger ones cover nothing ... */
#define MOST_REACHED 16  /* ... nor do runs that lead to more of them */

#define MANY_ITEMS 8     /* in one set: their parts are walked together rather than kept */

static const cover no_cover = {0};

/* Phases: 0 between characters, else 1 + the form of which the second byte is next, or PHASE_LEFT + how many are left. */
enum { PHASE_LEFT = UTF8_FORMS, PHASES = PHASE_LEFT + 4 };

/* The characters, and the states that they lead to. */
typedef struct search {
    const rule *r;
    byteset ascii;
    bool utf8;
    uint8_t *alive;    /* by state and phase */
    uint32_t *reached; /* states */
    uint32_t n;
} search;

static uint32_t number(const search *q, const state *st) { return (uint32_t)(st - q->r->states); }

static bool is_alive(const search *q, const state *st, uint32_t phase) { return q->alive[number(q, st) * PHASES + phase] != 0; }

/* Does every byte of lo..hi lead from st to a state that is alive in this phase? */
static bool all_lead(const search *q, const state *st, uint32_t lo, uint32_t hi, uint32_t phase) {
    for (uint32_t byte = lo; byte <= hi;) {
        uint32_t next = byte;
        for (uint32_t e = 0; e < st->n_bytes; e++) {
            const byte_edge *edge = &st->bytes[e];
            if (edge->lo <= byte && byte <= edge->hi && edge->hi >= next && is_alive(q, edge->to, phase)) next = edge->hi + 1u;
        }
        if (next == byte) return false;
        byte = next;
    }
    return true;
}

static uint32_t phase_of(uint32_t left) { return left == 0 ? 0 : PHASE_LEFT + left; }

static bool keeps(const search *q, const state *st, uint32_t phase) {
    if (phase > PHASE_LEFT) return all_lead(q, st, 0x80, 0xBF, phase_of(phase - PHASE_LEFT - 1));
    if (phase > 0) {
        const utf8_form *form = &utf8_forms[phase - 1];
        return all_lead(q, st, form->lo, form->hi, phase_of(form->left - 1u));
    }
    for (uint32_t lo = 0, hi; lo < 128; lo = hi + 1) {
        hi = lo;
        if (!byteset_has(&q->ascii, lo)) continue;
        while (hi < 127 && byteset_has(&q->ascii, hi + 1)) hi++;
        if (!all_lead(q, st, lo, hi, 0)) return false;
    }
    for (uint32_t i = 0; q->utf8 && i < UTF8_FORMS; i++)
        if (!all_lead(q, st, utf8_forms[i].first, utf8_forms[i].last, i + 1)) return false;
    return true;
}

/* Leaves alive what keeps the characters, of the states that they lead to from st; nothing if these are too many. */
static void find_keeping(search *q, const state *st) {
    for (uint32_t i = 0; i < q->n; i++) memset(q->alive + (size_t)q->reached[i] * PHASES, 0, PHASES); /* of the last one */
    q->reached[0] = number(q, st);
    q->n = 1;
    memset(q->alive + (size_t)number(q, st) * PHASES, 1, PHASES);
    for (uint32_t i = 0; i < q->n; i++) {
        const state *from = &q->r->states[q->reached[i]];
        for (uint32_t e = 0; e < from->n_bytes; e++) {
            const byte_edge *edge = &from->bytes[e];
            bool taken = q->utf8 && edge->hi >= 0x80;
            for (uint32_t byte = edge->lo; !taken && byte <= edge->hi && byte < 128; byte++) taken = byteset_has(&q->ascii, byte);
            if (!taken || is_alive(q, edge->to, 0)) continue;
            memset(q->alive + (size_t)number(q, edge->to) * PHASES, 1, PHASES);
            q->reached[q->n++] = number(q, edge->to);
        }
        if (q->n > MOST_REACHED) {
            for (uint32_t k = 0; k < q->n; k++) memset(q->alive + (size_t)q->reached[k] * PHASES, 0, PHASES);
            return;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = q->n; i-- > 0;) /* what ends a run is met last */
            for (uint32_t phase = 0; phase < (q->utf8 ? PHASES : 1); phase++) {
                uint8_t *alive = &q->alive[q->reached[i] * PHASES + phase];
                if (*alive == 0 || keeps(q, &q->r->states[q->reached[i]], phase)) continue;
                *alive = 0;
                changed = true;
            }
    }
}

static bool has_all(const byteset *a, const byteset *of) {
    return (of->w[0] & ~a->w[0]) == 0 && (of->w[1] & ~a->w[1]) == 0;
}

static uint32_t ascii_size(const byteset *b) {
    return (uint32_t)__builtin_popcountll(b->w[0]) + (uint32_t)__builtin_popcountll(b->w[1]);
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

/* Characters that st keeps; false if they are few. */
static bool find_characters(search *q, const state *st) {
    q->utf8 = byteset_has(&st->allow, 0xC3) && byteset_has(&st->allow, 0xE2) && byteset_has(&st->allow, 0xF1);
    q->ascii = (byteset){{st->allow.w[0], st->allow.w[1], 0, 0}};
    const state *other = most_common(st), *common = other == NULL || has_all(&st->allow, &other->allow) ? st : other;
    while (ascii_size(&q->ascii) >= LEAST_COVER) {
        find_keeping(q, st);
        if (is_alive(q, st, 0)) return true;
        if (q->utf8) {
            q->utf8 = false;
            continue;
        }
        byteset less = narrowed(st, &q->ascii, common);
        if (has_all(&less, &q->ascii)) return false;
        q->ascii = less;
    }
    return false;
}

static cover kept(use *u, const search *q) {
    cover out = {.chars = vocab_regions(u->s->vocab, &q->ascii, q->utf8), .n = ascii_size(&q->ascii), .first = q->ascii, .any = true};
    if (q->utf8) byteset_add_range(&out.first, 0x80, 0xFF);
    for (uint32_t i = 0; i < q->n; i++) {
        const state *st = &q->r->states[q->reached[i]];
        out.ends = out.ends || st->final || st->n_rules != 0;
    }
    return out;
}

/* What st covers; *any: the states that the search has left alive cover this. */
static cover find_cover(use *u, search *q, const state *st, cover *any) {
    cover own = find_characters(q, st) ? kept(u, q) : no_cover, later = {0};
    *any = own;
    const state *other = most_common(st);
    if (other == NULL || (own.any && is_alive(q, other, 0) && has_all(&own.first, &other->allow))) return own;
    if (!find_characters(q, other)) {
        *any = no_cover;
        return own;
    }
    *any = kept(u, q);
    if (any->n <= own.n) return own;
    for (uint32_t e = 0; e < st->n_bytes; e++)
        if (st->bytes[e].lo < 128 && is_alive(q, st->bytes[e].to, 0))
            byteset_add_range(&later.first, st->bytes[e].lo, st->bytes[e].hi < 128 ? st->bytes[e].hi : 127);
    for (int i = 0; i < 2; i++) later.first.w[i] &= q->ascii.w[i];
    later.n = ascii_size(&later.first);
    if (later.n < LEAST_COVER || later.n < own.n) return own;
    later.chars = any->chars;
    later.ends = any->ends;
    return later;
}

/* The state's cover is this from now on, if it has none; what it is then, or NULL: out of memory. */
static const cover *publish(store *s, const state *at, const cover *found) {
    state *st = (state *)(uintptr_t)at;
    const cover *other = atomic_load_explicit(&st->cover, memory_order_acquire);
    if (other != NULL) return other;
    cover *made = found->chars == NULL ? NULL : store_alloc(s, sizeof *made);
    if (found->chars != NULL && made == NULL) return NULL;
    if (made != NULL) *made = *found;
    const cover *known = made != NULL ? made : &no_cover;
    if (atomic_compare_exchange_strong_explicit(&st->cover, &other, known, memory_order_acq_rel, memory_order_acquire)) return known;
    store_free(s, made, sizeof *made); /* another thread was faster */
    return other;
}

static const cover *state_cover(use *u, const state *st) {
    store *s = u->s;
    const rule *r = st->rule;
    const cover *known = atomic_load_explicit(&st->cover, memory_order_acquire);
    if (known != NULL) return known;
    if (ascii_size(&st->allow) < LEAST_COVER || r->kind != RULE_PLAIN || r->metered || r->n_onces != 0 || r->n_states > MOST_STATES)
        return publish(s, st, &no_cover);
    size_t alive = (size_t)r->n_states * PHASES, reached = r->n_states * sizeof(uint32_t);
    search q = {.r = r, .alive = store_alloc(s, alive), .reached = store_alloc(s, reached)};
    if (q.alive != NULL && q.reached != NULL) {
        cover any, found = find_cover(u, &q, st, &any);
        known = publish(s, st, &found);
        for (uint32_t i = 0; known != NULL && any.chars != NULL && i < q.n; i++)
            if (q.alive[q.reached[i] * PHASES] != 0) known = publish(s, &r->states[q.reached[i]], &any);
        if (known != NULL) known = atomic_load_explicit(&st->cover, memory_order_acquire);
    }
    store_free(s, q.alive, alive);
    store_free(s, q.reached, reached);
    return known;
}

void cover_free(store *s, state *st) {
    cover *c = (cover *)(uintptr_t)atomic_load_explicit(&st->cover, memory_order_relaxed);
    if (c != &no_cover) store_free(s, c, sizeof *c);
}

const cover *set_cover(use *u, set *at) {
    const cover *best = atomic_load_explicit(&at->cover, memory_order_acquire);
    if (best != NULL) return best;
    best = &no_cover;
    for (uint32_t i = 0; ascii_size(&at->allow) >= LEAST_COVER && (at->flags & SET_INSIDE) == 0 && i < at->n_scan; i++) {
        const cover *c = state_cover(u, at->scan[i].state);
        if (c == NULL) return NULL;
        if (c->n > best->n) best = c;
    }
    atomic_store_explicit(&at->cover, best, memory_order_release);
    return best;
}

int set_is_open(use *u, const set *at) {
    if (at->n_scan < 2 || ascii_size(&at->allow) < LEAST_COVER || (at->flags & SET_REGISTERS) != 0) return 0;
    if (at->n_scan >= MANY_ITEMS) return 1;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (at->scan[i].origin == u->s->bottom || at->scan[i].origin == u->s->top) continue;
        const cover *c = state_cover(u, at->scan[i].state);
        if (c == NULL) return -1;
        if (c->ends) return 1;
    }
    return 0;
}
