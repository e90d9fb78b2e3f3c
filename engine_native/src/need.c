/* need.c - what a set needs to be complete, by the costs of rules.
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
 * Needs are kept in the measure, not in the set, and forgotten when sets are
 * collected.  Cost: one look-up for a known set; else its items and waiters, and
 * those of its origins that are not known. */
#include "budget.h"

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
    for (uint32_t i = 0; i < table_size(&m->sets); i++) {
        for (set_need *n = *table_at(&m->sets, i); n != NULL;) {
            set_need *next = n->chain;
            forget_set(s, n);
            n = next;
        }
        *table_at(&m->sets, i) = NULL;
    }
    m->sets.count = 0;
    for (uint32_t i = 0; i < table_size(&m->rules); i++)
        for (rule_cost **at = (rule_cost **)(void *)table_at(&m->rules, i); *at != NULL;) {
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
    table_free(s, &m->sets);
    table_free(s, &m->rules);
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

int measure_open(use *u, measure *m, rule *root) {
    pthread_mutex_lock(&m->lock);
    int code = cost_rules(u, m, root);
    pthread_mutex_unlock(&m->lock);
    return code;
}

/* ---- needs; all of these want the measure's lock ---- */

set_need *need_find(const measure *m, const set *at) {
    set_need *n = table_first(&m->sets, at->hash);
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
cost need_after_rule(const store *s, const measure *m, const set *origin, const rule *r) {
    if (is_outermost(s, origin)) return (cost){0, NEVER};
    const set_need *n = need_find(m, origin);
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
                      : cost_then(cost_of(m, w[i].target, w[i].reg), need_after_rule(s, m, w[i].origin, w[i].target->rule));
        n->contexts[n->n - 1].after = cost_least(n->contexts[n->n - 1].after, by);
    }
    if (chained && !settle_contexts(s, m, n)) {
        forget_set(s, n);
        return false;
    }
    table_add(&m->sets, n);
    if ((at->flags & SET_ACCEPTING) != 0) n->need = 0;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const item *it = &at->scan[i];
        cost whole = cost_then(cost_of(m, it->state, it->reg),
                               need_after_rule(s, m, it->origin == NULL ? at : it->origin, it->state->rule));
        n->need = tokens_least(n->need, tokens_least(whole.end, whole.stop));
    }
    n->distance = n->need;
    return true;
}

/* What is known about `at`; origins first, without recursion.  NULL: out of memory. */
set_need *need_known(store *s, measure *m, const set *at) {
    set_need *known = need_find(m, at);
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
            if (origin == NULL || is_outermost(s, origin) || need_find(m, origin) != NULL) continue;
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
        fine = need_find(m, top) != NULL || learn_set(s, m, top);
    }
    store_free(s, stack, cap * sizeof *stack);
    return fine ? need_find(m, at) : NULL;
}

/* ---- with the lock taken here ---- */

int need_by_rules(store *s, measure *m, const set *at, uint64_t *need) {
    pthread_mutex_lock(&m->lock);
    const set_need *n = need_known(s, m, at);
    if (n != NULL) *need = n->need;
    pthread_mutex_unlock(&m->lock);
    return n != NULL ? STE_OK : STE_ERR_NO_MEMORY;
}
