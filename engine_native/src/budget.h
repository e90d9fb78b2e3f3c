/* budget.h - how many tokens a text still needs, and the rows that keep to a budget.
 *
 * A matcher with a budget allows only tokens after which the text can be
 * completed with what is left.  What a set needs is known by a *measure*, which
 * counts tokens rule by rule:
 *
 *   cost of a state   the fewest tokens from it to the end of its rule, every
 *                     token spelled inside one rule (cost.c)
 *   need of a set     the cheapest way to the end of the text: the cost of an
 *                     item's state, plus that of the state where whoever waits
 *                     for its rule goes on, and so on outwards (need.c)
 *
 * Tokens that cross the border of a rule are not counted on, so a need may be
 * more than the true minimum, which a search finds where it is near (search.c).
 * It is never less, and it is consistent:
 *
 *   N1  need 0: the text is complete, or a stop token that the grammar names
 *       completes it;
 *   N2  need k > 0: some token leads to a set of need k - 1 or less.
 *
 * So a matcher whose need fits its budget always has a token that keeps it so.
 *
 * A stop token is free but ends everything.  Hence two counts in a cost: to the
 * end, and to a stop token after which nothing has to follow.
 *
 * A measure belongs to a store and a set of stop tokens; matchers share it.
 * What it says about a set depends on nothing else, cached or not. */
#ifndef STE_BUDGET_H
#define STE_BUDGET_H

#include "store.h"

#define NEVER UINT64_MAX

typedef struct cost {
    uint64_t end;  /* tokens to the end; NEVER if there is no way */
    uint64_t stop; /* tokens before a stop token that may come last */
} cost;

static inline uint64_t tokens_add(uint64_t a, uint64_t b) { return a > NEVER - b ? NEVER : a + b; }
static inline uint64_t tokens_times(uint64_t a, uint64_t n) { return n != 0 && a > NEVER / n ? NEVER : a * n; }
static inline uint64_t tokens_least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static inline cost cost_least(cost a, cost b) {
    return (cost){tokens_least(a.end, b.end), tokens_least(a.stop, b.stop)};
}
/* First one, then the other.  A stop token in the first can be the last if the second may be empty. */
static inline cost cost_then(cost first, cost second) {
    uint64_t stop = tokens_add(first.end, second.stop);
    return (cost){tokens_add(first.end, second.end), second.end == 0 ? tokens_least(stop, first.stop) : stop};
}
/* At least n times; `more`: one time more is possible. */
static inline cost cost_times(cost each, uint64_t n, bool more) {
    if (n == 0) return (cost){0, more ? each.stop : NEVER};
    return (cost){tokens_times(each.end, n), tokens_add(tokens_times(each.end, n - 1), each.stop)};
}

/* ---- costs of rules (cost.c) ---- */

/* The way to the start of a rule, from where text can go on one character a token. */
typedef struct detour {
    uint32_t tokens, chars; /* tokens: UINT32_MAX if there is none */
} detour;

typedef struct rule_cost {
    uint64_t hash;
    struct rule_cost *chain;
    const rule *rule;
    cost enter;      /* of the whole rule */
    detour *detours; /* by state, of a rule with a least number of characters; else NULL */
    uint64_t most;   /* ... and the largest cost of a state that has one */
    uint64_t run;    /* scratch of cost_rules: `node`, the number of the first state, is of this run */
    uint32_t node;
    cost each;       /* of a repeat: what is repeated */
    cost states[];
} rule_cost;

struct measure {
    measure *next;         /* in store->measures, under grow */
    uint32_t references;   /* under grow */
    bool own;              /* the stop tokens are the vocabulary's */
    pthread_mutex_t lock;  /* for what follows; taken before grow, never after */
    table rules, sets;
    uint64_t run;          /* of cost_rules */
    bool single[256];      /* this byte is a token that may be content */
    uint32_t stop[];       /* bit row: the stop tokens */
};

/* Learn the costs of root and of every rule it reaches; STE_OK or why not.  Wants the lock. */
int cost_rules(use *u, measure *m, rule *root);
/* Cost of an item's state; its rule must be known.  Wants the lock. */
cost cost_of(const measure *m, const state *st, uint64_t reg);
void cost_free(store *s, rule_cost *c);
/* Is one of the edge's tokens no stop token? */
bool has_content(const store *s, const measure *m, const token_edge *e);

/* A token that ends at this trie node and is no stop token, with others after it on its chain; or none. */
static inline uint32_t content_token(const measure *m, const trie *t, uint32_t node) {
    uint32_t token = t->nodes[node].token;
    while (token != TRIE_NO_TOKEN && bit_get(m->stop, token)) token = t->next_same[token];
    return token;
}

/* ---- needs of sets (need.c) ---- */

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
    context contexts[]; /* n of them, sorted by address like the set's waiters */
} set_need;

/* The measure for these stop tokens, one reference for the caller; NULL when out of memory. */
measure *measure_acquire(store *s, const uint32_t *stop, uint32_t n_stop);
measure *measure_retain(store *s, measure *m);
void measure_release(store *s, measure *m);
/* For a collection, between marking and sweeping: forget all sets and the rules that go, and measures that no
 * matcher has; but keep what is known about rules for the vocabulary's own stop tokens, unless `everything`. */
void measures_collect(store *s, bool everything);
void measures_free(store *s); /* no matcher is left */

/* With the measure's lock: what is known about a set, or NULL; the same, learnt if need be (NULL: out of memory);
 * what follows a rule that began in origin, which is known. */
set_need *need_find(const measure *m, const set *at);
set_need *need_known(store *s, measure *m, const set *at);
cost need_after_rule(const store *s, const measure *m, const set *origin, const rule *r);

/* All that follow want the gate held for reading and no other lock, and return STE_OK or why not. */

/* Before any other question about sets of a grammar with this root. */
int measure_open(use *u, measure *m, rule *root);
int need_by_rules(store *s, measure *m, const set *at, uint64_t *need);

/* ---- distances (search.c) ---- */

/* The true distance of a set, if it is less than `below` and near enough.  1: found; 0: not. */
int search_least(use *u, measure *m, set *from, uint64_t below, uint64_t *distance);

/* ---- budgets (budget.c) ---- */

/* The fewest tokens known to complete the text; NEVER if no tokens can. */
int budget_least(use *u, measure *m, set *at, uint64_t *least);
/* May a token lead from `from` to `to` when `left` more may follow it?  1 or 0. */
int budget_allows(use *u, measure *m, const set *from, set *to, uint64_t left);
/* The row of `at` when at most `left` tokens may follow the next; stop tokens left out. */
int budget_row(use *u, measure *m, set *at, uint64_t left, const row **out);

#endif
