/* budget.c - what a set needs to be complete, and the row that keeps to a budget.
 *
 * need(S) = 0 if S is accepting, else the least over its scan items of
 *
 *     cost of the item's state, then context(origin, rule of the state)
 *     context(O, R) = least over the waiters for R in O of
 *         cost of the target, then context(waiter's origin, rule of the target)
 *     context(bottom, R) = nothing
 *
 * A set's contexts are kept with its need, so the chain of origins, as deep as
 * the text is nested, is followed once.  Waiters of one set may wait for each
 * other (left recursion): their contexts are a small shortest path.
 *
 * The row for `left`: all tokens t allowed after S with need(S.t) <= left.  The
 * walk that finds them tells how far the answer holds: from the largest need
 * let through to the smallest one refused.  Such a *band* is kept per set; a
 * band in which nothing is refused is the set's ordinary row. */
#include "budget.h"

typedef struct context {
    const rule *on;
    cost after; /* once `on` is complete */
} context;

typedef struct band band;
struct band {
    band *next;
    uint64_t from, to; /* from <= left < to */
    row *row;          /* NULL: nothing is refused */
};

typedef struct set_need {
    uint64_t hash;
    struct set_need *chain;
    const set *at;
    uint64_t need;     /* by rules */
    uint64_t distance; /* need, or the true distance where a search found it (search.c) */
    bool searched;
    band *bands;
    uint32_t n;
    context contexts[]; /* n, sorted by address like the set's waiters */
} set_need;

/* ---- measures ---- */

static size_t measure_size(const store *s) { return sizeof(measure) + s->vocab->words * sizeof(uint32_t); }

/* Are these the vocabulary's stop tokens? */
static bool is_own(const ste_vocab *v, const measure *m, const uint32_t *stop, uint32_t n_stop) {
    for (uint32_t i = 0; i < v->n_stop; i++)
        if (!bit_get(m->stop, v->stop[i])) return false;
    for (uint32_t i = 0; i < n_stop; i++) {
        uint32_t k = 0;
        while (k < v->n_stop && v->stop[k] != stop[i]) k++;
        if (k == v->n_stop) return false;
    }
    return true;
}

static measure *measure_new(store *s, const uint32_t *stop, uint32_t n_stop) {
    measure *m = store_alloc(s, measure_size(s));
    if (m == NULL) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    for (uint32_t i = 0; i < n_stop; i++) bit_set(m->stop, stop[i]);
    m->own = is_own(s->vocab, m, stop, n_stop);
    const trie *t = &s->vocab->ordinary;
    for (uint32_t byte = 0; byte < 256; byte++)
        m->single[byte] = t->child[byte] != 0 && content_token(m, t, t->child[byte]) != TRIE_NO_TOKEN;
    return m;
}

static void forget_set(store *s, set_need *n) {
    for (band *b = n->bands; b != NULL;) {
        band *next = b->next;
        if (b->row != NULL) row_release(s, b->row);
        store_free(s, b, sizeof *b);
        b = next;
    }
    store_free(s, n, sizeof *n + n->n * sizeof *n->contexts);
}

/* Forget sets, and rules unless they are marked and wanted. */
static void forget(store *s, measure *m, bool keep_marked) {
    for (uint32_t i = 0; i < m->sets.size; i++) {
        for (set_need *n = m->sets.slots[i]; n != NULL;) {
            set_need *next = n->chain;
            forget_set(s, n);
            n = next;
        }
        m->sets.slots[i] = NULL;
    }
    m->sets.count = 0;
    for (uint32_t i = 0; i < m->rules.size; i++)
        for (rule_cost **at = (rule_cost **)(void *)&m->rules.slots[i]; *at != NULL;) {
            rule_cost *c = *at;
            if (keep_marked && c->rule->mark) {
                at = &c->chain;
                continue;
            }
            *at = c->chain;
            m->rules.count--;
            cost_free(s, c);
        }
}

static void measure_destroy(store *s, measure *m) {
    forget(s, m, false);
    store_free(s, m->sets.slots, m->sets.size * sizeof(void *));
    store_free(s, m->rules.slots, m->rules.size * sizeof(void *));
    pthread_mutex_destroy(&m->lock);
    store_free(s, m, measure_size(s));
}

measure *measure_acquire(store *s, const uint32_t *stop, uint32_t n_stop) {
    measure *made = measure_new(s, stop, n_stop);
    if (made == NULL) return NULL;
    pthread_mutex_lock(&s->grow);
    measure *m = s->measures;
    while (m != NULL && memcmp(m->stop, made->stop, s->vocab->words * sizeof *m->stop) != 0) m = m->next;
    if (m == NULL) {
        m = made;
        m->next = s->measures;
        s->measures = m;
    }
    m->references++;
    pthread_mutex_unlock(&s->grow);
    if (m != made) measure_destroy(s, made);
    return m;
}

measure *measure_retain(store *s, measure *m) {
    if (m == NULL) return NULL;
    pthread_mutex_lock(&s->grow);
    m->references++;
    pthread_mutex_unlock(&s->grow);
    return m;
}

void measure_release(store *s, measure *m) {
    if (m == NULL) return;
    pthread_mutex_lock(&s->grow);
    m->references--;
    pthread_mutex_unlock(&s->grow);
}

void measures_collect(store *s, bool everything) {
    for (measure **at = &s->measures; *at != NULL;) {
        measure *m = *at;
        if (m->references > 0 || (m->own && !everything)) {
            forget(s, m, true);
            at = &m->next;
        } else {
            *at = m->next;
            measure_destroy(s, m);
        }
    }
}

void measures_free(store *s) {
    while (s->measures != NULL) {
        measure *m = s->measures;
        s->measures = m->next;
        measure_destroy(s, m);
    }
}

int budget_open(store *s, measure *m, const rule *root) {
    pthread_mutex_lock(&m->lock);
    int code = cost_rules(s, m, root);
    pthread_mutex_unlock(&m->lock);
    return code;
}

/* ---- needs; all of these want the measure's lock ---- */

static set_need *find_set(const measure *m, const set *at) {
    if (m->sets.size == 0) return NULL;
    set_need *n = m->sets.slots[at->hash & (m->sets.size - 1)];
    while (n != NULL && n->at != at) n = n->chain;
    return n;
}

/* Index of the context for r; n->n if nobody waits for it. */
static uint32_t context_of(const set_need *n, const rule *r) {
    uint32_t lo = 0, hi = n->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if ((uintptr_t)n->contexts[mid].on < (uintptr_t)r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n->n && n->contexts[lo].on == r ? lo : n->n;
}

static bool is_outermost(const store *s, const set *origin) { return origin == s->bottom || origin == s->top; }

/* What follows a rule that began in origin, which is known or outermost. */
static cost after_rule(const store *s, const measure *m, const set *origin, const rule *r) {
    if (is_outermost(s, origin)) return (cost){0, NEVER};
    const set_need *n = find_set(m, origin);
    uint32_t k = context_of(n, r);
    return k == n->n ? (cost){NEVER, NEVER} : n->contexts[k].after;
}

/* Contexts of waiters whose targets began in the set itself: those that improve pass it on until none does. */
static bool settle_contexts(store *s, const measure *m, set_need *n) {
    const waiter *w = set_waiters(n->at);
    uint32_t n_waiters = n->at->n_waiters, n_queue = 0, head = 0;
    size_t size = (2 * (size_t)n->n + 2 * (size_t)n_waiters) * sizeof(uint32_t) + n->n * sizeof(bool);
    uint32_t *users = store_alloc(s, size);
    if (users == NULL) return false;
    uint32_t *queue = users + n->n, *next = queue + n->n, *of = next + n_waiters;
    bool *queued = (bool *)(of + n_waiters);
    for (uint32_t i = 0, k = 0; i < n_waiters; i++) {
        while (n->contexts[k].on != w[i].on) k++;
        of[i] = k;
        if (w[i].origin != NULL) continue;
        uint32_t user_of = context_of(n, w[i].target->rule);
        if (user_of == n->n) continue;
        next[i] = users[user_of];
        users[user_of] = i + 1;
    }
    for (uint32_t k = 0; k < n->n; k++) {
        queue[n_queue++] = k;
        queued[k] = true;
    }
    while (n_queue > 0) {
        uint32_t k = queue[head];
        head = head + 1 == n->n ? 0 : head + 1;
        n_queue--;
        queued[k] = false;
        for (uint32_t i = users[k]; i != 0; i = next[i - 1]) {
            cost by = cost_then(cost_of(m, w[i - 1].target, w[i - 1].reg), n->contexts[k].after);
            uint32_t to = of[i - 1];
            cost *known = &n->contexts[to].after, best = cost_least(*known, by);
            if (best.end == known->end && best.stop == known->stop) continue;
            *known = best;
            if (queued[to]) continue;
            queue[(head + n_queue++) % n->n] = to;
            queued[to] = true;
        }
    }
    store_free(s, users, size);
    return true;
}

/* Learn about `at`, whose origins are known. */
static bool learn_set(store *s, measure *m, const set *at) {
    const waiter *w = set_waiters(at);
    uint32_t n_contexts = 0;
    bool chained = false;
    for (uint32_t i = 0; i < at->n_waiters; i++) {
        n_contexts += i == 0 || w[i].on != w[i - 1].on;
        chained = chained || w[i].origin == NULL;
    }
    set_need *n = store_alloc(s, sizeof *n + n_contexts * sizeof *n->contexts);
    if (n == NULL || !table_reserve(s, &m->sets)) {
        store_free(s, n, sizeof *n + n_contexts * sizeof *n->contexts);
        return false;
    }
    *n = (set_need){.hash = at->hash, .at = at, .need = NEVER};
    for (uint32_t i = 0; i < at->n_waiters; i++) {
        if (i == 0 || w[i].on != w[i - 1].on) n->contexts[n->n++] = (context){w[i].on, {NEVER, NEVER}};
        if (w[i].origin == NULL) continue;
        cost by = w[i].target == NULL
                      ? (cost){0, NEVER}
                      : cost_then(cost_of(m, w[i].target, w[i].reg), after_rule(s, m, w[i].origin, w[i].target->rule));
        n->contexts[n->n - 1].after = cost_least(n->contexts[n->n - 1].after, by);
    }
    if (chained && !settle_contexts(s, m, n)) {
        forget_set(s, n);
        return false;
    }
    n->chain = m->sets.slots[n->hash & (m->sets.size - 1)];
    m->sets.slots[n->hash & (m->sets.size - 1)] = n;
    m->sets.count++;
    if ((at->flags & SET_ACCEPTING) != 0) n->need = 0;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        cost whole = cost_then(cost_of(m, it->state, it->reg),
                               after_rule(s, m, it->origin == NULL ? at : it->origin, it->state->rule));
        n->need = tokens_least(n->need, tokens_least(whole.end, whole.stop));
    }
    n->distance = n->need;
    return true;
}

/* What is known about `at`; origins first, without recursion.  NULL: out of memory. */
static set_need *know_set(store *s, measure *m, const set *at) {
    set_need *known = find_set(m, at);
    if (known != NULL) return known;
    uint32_t n = 0, cap = 16;
    const set **stack = store_alloc(s, cap * sizeof *stack);
    bool fine = stack != NULL;
    if (fine) stack[n++] = at;
    while (n > 0 && fine) {
        const set *top = stack[n - 1];
        uint32_t before = n;
        for (uint32_t i = 0; i < top->n_scan + top->n_waiters && fine; i++) {
            const set *origin = i < top->n_scan ? top->scan[i].origin : set_waiters(top)[i - top->n_scan].origin;
            if (origin == NULL || is_outermost(s, origin) || find_set(m, origin) != NULL) continue;
            if (n == cap) {
                const set **grown = store_alloc(s, 2 * cap * sizeof *grown);
                fine = grown != NULL;
                if (!fine) break;
                memcpy(grown, stack, n * sizeof *grown);
                store_free(s, stack, cap * sizeof *stack);
                stack = grown;
                cap *= 2;
            }
            stack[n++] = origin;
        }
        if (n != before || !fine) continue;
        n--;
        fine = find_set(m, top) != NULL || learn_set(s, m, top);
    }
    store_free(s, stack, cap * sizeof *stack);
    return fine ? find_set(m, at) : NULL;
}

/* ---- needs; no lock ---- */

int budget_need(store *s, measure *m, const set *at, uint64_t *need) {
    pthread_mutex_lock(&m->lock);
    const set_need *n = know_set(s, m, at);
    if (n != NULL) *need = n->need;
    pthread_mutex_unlock(&m->lock);
    return n != NULL ? STE_OK : STE_ERR_NO_MEMORY;
}

/* As budget_need; where that is more than `enough` a search may find less. */
static int find_need(store *s, measure *m, set *at, uint64_t enough, uint64_t *need) {
    pthread_mutex_lock(&m->lock);
    set_need *n = know_set(s, m, at);
    uint64_t by_rules = n == NULL ? 0 : n->need, found = n == NULL ? 0 : n->distance;
    bool search = by_rules > enough && !n->searched;
    pthread_mutex_unlock(&m->lock);
    if (n == NULL) return STE_ERR_NO_MEMORY;
    if (search) {
        int code = search_least(s, m, at, by_rules, &found);
        if (code < 0) return code;
        pthread_mutex_lock(&m->lock);
        n->distance = found;
        n->searched = true;
        pthread_mutex_unlock(&m->lock);
    }
    *need = found;
    return STE_OK;
}

/* What the set that a token from `from` leads to needs.  Where there are token edges, a token may lead to a
 * union of sets, and the needs by rules tell the need of the union (walk_tokens); distances do not. */
static int need_after(store *s, measure *m, const set *from, set *to, uint64_t enough, uint64_t *need) {
    return (from->flags & SET_TOKENS) != 0 ? budget_need(s, m, to, need) : find_need(s, m, to, enough, need);
}

int budget_allows(store *s, measure *m, const set *from, set *to, uint64_t left) {
    uint64_t need;
    int code = need_after(s, m, from, to, left, &need);
    return code != STE_OK ? code : need <= left;
}

/* ---- rows ---- */

#define RECENT 64

/* Where the walk is: the set, and if all characters since `home` are ones on which home loops, that loop. */
typedef struct place {
    set *at, *home;
    const loop *loop; /* NULL: no loop */
    uint32_t end;     /* of the subtree */
    bool settled;     /* all characters so far are the loop's: loop_tokens has those tokens */
} place;

typedef struct walker {
    store *s;
    measure *m;
    set *start;
    uint32_t *words; /* NULL: find out only how far the answer holds */
    uint64_t left;
    uint64_t from, to, least; /* largest need let through, smallest refused, smallest of all */
    bool refused;
    place *path;
    uint32_t depth; /* deepest */
    struct {
        set *at;
        uint64_t need;
    } recent[RECENT];
} walker;

static bool walker_init(walker *w, store *s, measure *m, set *start, uint64_t left) {
    *w = (walker){.s = s, .m = m, .start = start, .left = left, .to = NEVER, .least = NEVER};
    w->depth = s->vocab->ordinary.max_length + 2;
    w->path = store_alloc(s, w->depth * sizeof *w->path);
    return w->path != NULL;
}

static void walker_free(walker *w) {
    store_free(w->s, w->words, w->s->vocab->words * sizeof *w->words);
    store_free(w->s, w->path, w->depth * sizeof *w->path);
}

static void note(walker *w, uint64_t need) {
    if (need < w->least) w->least = need;
    if (need <= w->left) {
        if (need > w->from) w->from = need;
    } else {
        if (need < w->to) w->to = need;
        w->refused = true;
    }
}

static bool need_recently(walker *w, set *at, uint64_t *need) {
    uint32_t k = (uint32_t)((uintptr_t)at >> 6) % RECENT;
    if (w->recent[k].at != at) {
        if (need_after(w->s, w->m, w->start, at, w->left, &w->recent[k].need) != STE_OK) return false;
        w->recent[k].at = at;
    }
    *need = w->recent[k].need;
    return true;
}

/* The tokens that end at the nodes first .. end, after all of which the text is at `to`. */
static bool judge(walker *w, uint32_t first, uint32_t end, set *to) {
    const trie *t = &w->s->vocab->ordinary;
    while (first < end && content_token(w->m, t, first) == TRIE_NO_TOKEN) first++;
    if (first == end) return true;
    uint64_t need;
    if (!need_recently(w, to, &need)) return false;
    if (w->words == NULL) note(w, need);
    for (; w->words != NULL && need <= w->left && first < end; first++)
        for (uint32_t token = t->nodes[first].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_set(w->words, token);
    return true;
}

static bool arrive(walker *w, place *p) {
    const loop *l = set_loop(w->s, p->at);
    if (l == NULL) return false;
    if (!l->is_loop) return true;
    p->loop = l;
    p->home = p->at;
    return true;
}

/* All tokens that match through their bytes.  Where a loop goes on over a whole subtree, its tokens end at home. */
static bool walk_bytes(walker *w) {
    const trie *t = &w->s->vocab->ordinary;
    const uint64_t *classes = w->s->vocab->index.classes;
    uint32_t depth = 0, i = 1;
    place p = {.at = w->start, .end = t->nodes[0].size};
    if (!arrive(w, &p)) return false;
    if (p.loop != NULL && w->words != NULL) {
        uint64_t need;
        if (!need_recently(w, w->start, &need)) return false;
        if (need <= w->left) loop_tokens(w->s, p.loop, UINT64_MAX, w->words);
        p.settled = true;
    }
    for (;;) {
        while (i == p.end && depth > 0) p = w->path[--depth];
        if (i == p.end) return true;
        uint32_t byte = t->nodes[i].byte, end = i + t->nodes[i].size;
        if (p.loop != NULL && (classes[i] & p.loop->others) == 0) {
            if (!p.settled && !judge(w, i, end, p.home)) return false;
            i = end;
            continue;
        }
        if (!byteset_has(&p.at->allow, byte)) {
            i = end;
            continue;
        }
        set *next = set_step(w->s, p.at, byte);
        if (next == NULL || !judge(w, i, i + 1, next)) return false;
        if (i + 1 == end || byteset_empty(&next->allow)) {
            i = end;
            continue;
        }
        w->path[depth++] = p;
        bool stays = p.loop != NULL && (byte < 128 ? byteset_has(&p.loop->ascii, byte) : p.loop->utf8);
        if (!stays) {
            p.loop = NULL;
            p.settled = false;
        }
        p.at = next;
        p.end = end;
        if (!stays && !arrive(w, &p)) return false;
        i++;
    }
}

/* By token edges: whatever set the token leads to, it needs what the cheapest of the edges needs. */
static bool walk_tokens(walker *w) {
    const set *from = w->start;
    if ((from->flags & SET_TOKENS) == 0) return true;
    pthread_mutex_lock(&w->m->lock);
    bool known = know_set(w->s, w->m, from) != NULL;
    for (uint32_t i = 0; i < from->n_scan && known; i++) {
        const item *it = &from->scan[i];
        cost after = after_rule(w->s, w->m, it->origin == NULL ? from : it->origin, it->state->rule);
        for (uint32_t e = 0; e < it->state->n_tokens; e++) {
            const token_edge *edge = &it->state->tokens[e];
            if (bit_get(w->m->stop, edge->token) || edge->token >= w->s->vocab->n_tokens) continue;
            cost whole = cost_then(cost_of(w->m, edge->to, it->reg), after);
            uint64_t need = tokens_least(whole.end, whole.stop);
            if (w->words == NULL)
                note(w, need);
            else if (need <= w->left)
                bit_set(w->words, edge->token);
        }
    }
    pthread_mutex_unlock(&w->m->lock);
    return known;
}

static bool walk(walker *w) { return walk_bytes(w) && walk_tokens(w); }

static const band *find_band(measure *m, const set *at, uint64_t left) {
    pthread_mutex_lock(&m->lock);
    const set_need *n = find_set(m, at);
    const band *b = n == NULL ? NULL : n->bands;
    while (b != NULL && (left < b->from || left >= b->to)) b = b->next;
    pthread_mutex_unlock(&m->lock);
    return b;
}

/* Two threads may make the same band: then there are two, and the later one is used. */
static const band *make_band(store *s, measure *m, set *at, uint64_t left) {
    walker w;
    uint64_t need;
    band *b = store_alloc(s, sizeof *b);
    bool fine = walker_init(&w, s, m, at, left) && b != NULL && budget_need(s, m, at, &need) == STE_OK && walk(&w);
    if (fine) *b = (band){.from = w.from, .to = w.to};
    if (fine && w.refused) {
        w.words = store_alloc(s, s->vocab->words * sizeof *w.words);
        fine = w.words != NULL && walk(&w) && (b->row = row_intern(s, w.words)) != NULL;
    }
    walker_free(&w);
    if (!fine) {
        store_free(s, b, sizeof *b);
        return NULL;
    }
    pthread_mutex_lock(&m->lock);
    set_need *n = find_set(m, at);
    b->next = n->bands;
    n->bands = b;
    pthread_mutex_unlock(&m->lock);
    return b;
}

int budget_row(store *s, measure *m, set *at, uint64_t left, const row **out) {
    const band *b = find_band(m, at, left);
    if (b == NULL) {
        set *canonical = set_canonical(s, at); /* all that a token can reach needs the same from there */
        if (canonical == NULL) return STE_ERR_NO_MEMORY;
        if ((canonical->flags & SET_OPEN) == 0) at = canonical;
        b = find_band(m, at, left);
    }
    if (b == NULL) b = make_band(s, m, at, left);
    if (b == NULL) return STE_ERR_NO_MEMORY;
    *out = b->row != NULL ? b->row : mask_row(s, at);
    return *out == NULL ? STE_ERR_NO_MEMORY : STE_OK;
}

int budget_least(store *s, measure *m, set *at, uint64_t *least) {
    int code = find_need(s, m, at, 0, least);
    if (code != STE_OK || *least == 0) return code;
    walker w; /* a token that crosses the border of a rule may come first */
    bool fine = walker_init(&w, s, m, at, *least) && walk(&w);
    if (fine) *least = tokens_least(*least, tokens_add(1, w.least));
    walker_free(&w);
    return fine ? STE_OK : STE_ERR_NO_MEMORY;
}
