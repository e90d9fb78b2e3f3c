/* store.c - see store.h: the store's life, its memory account, and collection.
 *
 * Collection frees what no live matcher or grammar needs: sets that are not
 * reachable from a matcher's history through origins (edges do not count: they
 * are only memory of steps already taken), and rules that neither a live
 * grammar nor a surviving set mentions.  The local parts of live rules (mask.c)
 * that were used since the last collection but one stay, as far as half the
 * budget goes: they are what is dear to compute, and a set that outlives a
 * collection with its row does not ask for them again. */
#include "store.h"

#include "budget.h"
#include "distinct.h"
#include "matcher.h"
#include "onces.h"

void *store_alloc(store *s, size_t size) {
    void *p = mem_new(&s->allocator, 1, size);
    if (p != NULL) atomic_fetch_add_explicit(&s->bytes, size, memory_order_relaxed);
    return p;
}

void *store_take(store *s, size_t size) {
    void *p = s->allocator.resize(s->allocator.ctx, NULL, 0, size == 0 ? 1 : size);
    if (p != NULL) atomic_fetch_add_explicit(&s->bytes, size, memory_order_relaxed);
    return p;
}

void store_free(store *s, void *p, size_t size) {
    if (p == NULL) return;
    mem_free(&s->allocator, p, 1, size);
    atomic_fetch_sub_explicit(&s->bytes, size == 0 ? 0 : size, memory_order_relaxed);
}

/* ---- what is dead ---- */

/* Nothing refers to it any more, so it can wait: freeing it all at once would hold up every matcher. */
static void bury_set(store *s, set *at) {
    at->hash = set_bytes(at); /* what it looks at may be freed before the set is */
    atomic_fetch_add_explicit(&s->dead_bytes, at->hash, memory_order_relaxed);
    at->chain = s->dead_sets;
    s->dead_sets = at;
}

static void bury_rule(store *s, rule *r) {
    atomic_fetch_add_explicit(&s->dead_bytes, r->memory, memory_order_relaxed);
    r->chain = s->dead_rules;
    s->dead_rules = r;
}

/* Under grow or alone. */
static void free_dead(store *s, uint32_t n) {
    for (set *at = s->dead_sets; at != NULL && n > 0; at = s->dead_sets, n--) {
        s->dead_sets = at->chain;
        atomic_fetch_sub_explicit(&s->dead_bytes, at->hash, memory_order_relaxed);
        set_destroy(s, at);
    }
    for (rule *r = s->dead_rules; r != NULL && n > 0; r = s->dead_rules, n--) {
        s->dead_rules = r->chain;
        atomic_fetch_sub_explicit(&s->dead_bytes, r->memory, memory_order_relaxed);
        rule_free(s, r);
    }
}

static void destroy(store *s) {
    ste_vocab *vocab = s->vocab;
    measures_free(s);
    for (uint32_t i = 0; i < table_size(&s->sets); i++)
        for (set *at = *table_at(&s->sets, i); at != NULL;) {
            set *next = at->chain;
            set_destroy(s, at);
            at = next;
        }
    free_dead(s, UINT32_MAX);
    row_forget_loops(s);
    if (s->bottom != NULL) set_destroy(s, s->bottom);
    if (s->top != NULL) set_destroy(s, s->top);
    for (uint32_t i = 0; i < table_size(&s->rules); i++)
        for (rule *r = *table_at(&s->rules, i); r != NULL;) {
            rule *next = r->chain;
            rule_free(s, r);
            r = next;
        }
    distinct_sweep(s);
    passed_sweep(s);
    classes_forget_pairs(s);
    table_free(s, &s->progresses);
    table_free(s, &s->passed);
    table_free(s, &s->sets);
    table_free(s, &s->rules);
    table_free(s, &s->rows);
    table_free(s, &s->classes);
    closure_free(s, s->closure);
    pthread_mutex_destroy(&s->grow);
    pthread_rwlock_destroy(&s->gate);
    const ste_allocator a = s->allocator;
    mem_free(&a, s, 1, sizeof *s);
    ste_vocab_free(vocab);
}

store *store_new(ste_vocab *vocab, uint64_t budget, const ste_limits *limits) {
    store *s = mem_new(&vocab->allocator, 1, sizeof *s);
    if (s == NULL) return NULL;
    s->vocab = vocab_retain(vocab);
    s->allocator = vocab->allocator;
    atomic_init(&s->references, 1);
    pthread_rwlock_init(&s->gate, NULL);
    pthread_mutex_init(&s->grow, NULL);
    s->budget = budget;
    atomic_init(&s->epoch, 1);
    s->limits = *limits;
    atomic_init(&s->collect_at, budget);
    s->reach = vocab->ordinary.max_length;
    s->closure = closure_new(s);
    s->bottom = store_alloc(s, sizeof(set));
    s->top = store_alloc(s, sizeof(set));
    if (s->closure == NULL || s->bottom == NULL || s->top == NULL) {
        destroy(s);
        return NULL;
    }
    return s;
}

store *store_retain(store *s) {
    atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
    return s;
}

void store_release(store *s) {
    if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1) destroy(s);
}

/* ---- collection ---- */

/* Marked sets wait on a list threaded through `canonical`, which is cleared anyway. */
static void mark_set(set *at, set **list) {
    if (at == NULL || at->mark) return;
    at->mark = true;
    atomic_store_explicit(&at->canonical, *list, memory_order_relaxed);
    *list = at;
}

static void mark_rules(rule *r, rule **list) {
    if (r == NULL || r->mark) return;
    r->mark = true;
    r->stamp = (uint64_t)(uintptr_t)*list; /* scratch between closures */
    *list = r;
}

static void mark_each(void *ctx, set *at) { mark_set(at, ctx); }

static void mark_from_set(set *at, set **sets, rule **rules) {
    for (uint32_t i = 0; i < at->n_scan; i++) {
        mark_set(at->scan[i].origin, sets);
        mark_rules(at->scan[i].state->rule, rules);
        if (at->scan[i].state->inside) progress_mark(progress_of(&at->scan[i]), mark_each, sets);
        passed_mark(at->scan[i].state->rule, at->scan[i].reg);
    }
    for (uint32_t i = 0; i < at->n_waiters; i++) {
        const waiter *w = &set_waiters(at)[i];
        mark_set(w->origin, sets);
        mark_rules(w->on, rules);
        if (w->target == NULL) continue;
        mark_rules(w->target->rule, rules);
        if (w->target->rule->kind == RULE_DISTINCT) seen_mark(w->reg, mark_each, sets);
        passed_mark(w->target->rule, w->reg);
    }
}

static void mark(store *s) {
    set *sets = NULL;
    rule *rules = NULL;
    mark_set(s->bottom, &sets);
    mark_set(s->top, &sets);
    for (ste_grammar *g = s->grammars; g != NULL; g = g->next) mark_rules(g->root, &rules);
    for (uint32_t i = 0; i < table_size(&s->rules); i++)
        for (rule *r = *table_at(&s->rules, i); r != NULL; r = r->chain)
            if (r->pins != 0) mark_rules(r, &rules);
    for (ste_matcher *m = s->matchers; m != NULL; m = m->next)
        for (uint32_t i = 0; i < m->n_steps; i++) mark_set(m->steps[i], &sets);
    while (sets != NULL || rules != NULL) {
        while (sets != NULL) {
            set *at = sets;
            sets = atomic_load_explicit(&at->canonical, memory_order_relaxed);
            mark_from_set(at, &sets, &rules);
        }
        if (rules == NULL) break;
        rule *r = rules;
        rules = (rule *)(uintptr_t)r->stamp;
        r->stamp = 0;
        progress_mark(atomic_load_explicit(&r->start, memory_order_relaxed), mark_each, &sets);
        mark_rules(r->repeated, &rules);
        for (uint32_t i = 0; i < r->n_rules; i++) mark_rules(r->rules[i].rule, &rules);
    }
    for (uint32_t i = 0; i < table_size(&s->rules); i++)
        for (rule *r = *table_at(&s->rules, i); r != NULL; r = r->chain)
            if (r->kind == RULE_NAMED && r->repeated != NULL && r->repeated->mark) r->mark = true;
}

/* Forget steps to sets that go; drop rows and locals too when asked for everything. */
static void prune_set(store *s, set *at, bool everything) {
    atomic_store_explicit(&at->canonical, NULL, memory_order_relaxed);
    atomic_store_explicit(&at->unbounded, NULL, memory_order_relaxed);
    atomic_store_explicit(&at->settled, NULL, memory_order_relaxed);
    for (uint32_t i = 0; i < at->n_waiters; i++)
        if (at->views[i] != NULL && !at->views[i]->mark) at->views[i] = NULL;
    for (uint32_t i = 0; at->classes != NULL && i < at->classes->n; i++) {
        set *to = atomic_load_explicit(&at->edges[i], memory_order_relaxed);
        if (to != NULL && !to->mark) atomic_store_explicit(&at->edges[i], NULL, memory_order_relaxed);
    }
    row *r = atomic_load_explicit(&at->row, memory_order_relaxed);
    if (everything && r != NULL) {
        atomic_store_explicit(&at->row, NULL, memory_order_relaxed);
        row_release(s, r);
    }
}

static uint64_t local_bytes(const store *s, const set *at) {
    const row *r = atomic_load_explicit(&at->row, memory_order_relaxed);
    const exit_list *e = atomic_load_explicit(&at->exits, memory_order_relaxed);
    return set_bytes(at) + (r == NULL ? 0 : row_bytes(s, r)) + (e == NULL ? 0 : exit_list_size(e));
}

static void keep_local_parts(store *s) {
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    uint64_t kept = 0;
    for (uint32_t i = 0; i < table_size(&s->sets); i++)
        for (set *at = *table_at(&s->sets, i); at != NULL; at = at->chain) {
            uint32_t used = atomic_load_explicit(&at->used, memory_order_relaxed);
            if (at->mark || used == 0 || epoch - used > 1) continue;
            if (!at->scan[0].state->rule->mark) continue;
            kept += local_bytes(s, at);
            if (kept > s->budget / 2) return;
            at->mark = true; /* it mentions no set but top, and no rule but its own */
            passed_mark(at->scan[0].state->rule, at->scan[0].reg);
        }
}

void store_sweep_some(store *s, uint32_t least) {
    if (pthread_mutex_trylock(&s->grow) != 0) return; /* someone is at work, and will come here */
    uint32_t made = s->sets.count > s->sets_swept ? s->sets.count - s->sets_swept : 0;
    free_dead(s, least + 2 * made);
    s->sets_swept = s->sets.count;
    pthread_mutex_unlock(&s->grow);
}

void store_collect(store *s, collect_when how) {
    bool everything = how == COLLECT_ALL;
    if (everything)
        pthread_rwlock_wrlock(&s->gate);
    else if (pthread_rwlock_trywrlock(&s->gate) != 0)
        return; /* sets are in use; whoever leaves last tries again */
    if (how == COLLECT_IF_FULL && !store_full(s)) { /* another thread did it */
        pthread_rwlock_unlock(&s->gate);
        return;
    }
    pthread_mutex_lock(&s->grow);
    uint64_t before = store_live_bytes(s);
    mark(s);
    measures_collect(s, everything);
    if (everything)
        row_forget_loops(s);
    else
        keep_local_parts(s);
    classes_forget_pairs(s);
    atomic_fetch_add_explicit(&s->epoch, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < table_size(&s->sets); i++)
        for (set *at = *table_at(&s->sets, i); at != NULL; at = at->chain)
            if (at->mark) prune_set(s, at, everything);
    prune_set(s, s->bottom, everything);
    prune_set(s, s->top, everything);
    for (uint32_t i = 0; i < table_size(&s->sets); i++)
        for (set **at = (set **)(void *)table_at(&s->sets, i); *at != NULL;) {
            set *here = *at;
            if (here->mark) {
                here->mark = false;
                at = &here->chain;
                continue;
            }
            *at = here->chain;
            s->sets.count--;
            bury_set(s, here);
        }
    s->bottom->mark = s->top->mark = false;
    distinct_sweep(s);
    passed_sweep(s);
    for (uint32_t i = 0; i < table_size(&s->rules); i++)
        for (rule **at = (rule **)(void *)table_at(&s->rules, i); *at != NULL;) {
            rule *here = *at;
            if (here->mark) {
                here->mark = false;
                at = &here->chain;
                continue;
            }
            *at = here->chain;
            s->rules.count--;
            bury_rule(s, here);
        }
    if (everything) free_dead(s, UINT32_MAX);
    s->sets_swept = s->sets.count;
    uint64_t after = store_live_bytes(s);
    if (after < before) atomic_fetch_add_explicit(&s->stats.evictions, 1, memory_order_relaxed);
    /* When live things alone come near the budget, collecting at every step would help nobody. */
    atomic_store_explicit(&s->collect_at, after * 2 > s->budget ? after * 2 : s->budget, memory_order_relaxed);
    pthread_mutex_unlock(&s->grow);
    pthread_rwlock_unlock(&s->gate);
}
