/* store.h - what all grammars of a compiler share: interned rules, interned
 * Earley sets (a lazily built automaton), mask rows.
 *
 * Words.  A *rule* is an automaton over byte ranges, tokens and references to
 * rules.  An *item* (state, register, origin) says: the text since origin is a
 * prefix of the state's rule that leads to this state.  A *set* is what the
 * parser knows after some prefix of the text.
 *
 * A set holds only what the future depends on:
 *   scan     items whose state can consume a byte or a token
 *   waiters  (rule R, target, register, origin): when an R that begins here is
 *            complete, go on at (target, register, origin)
 * Both are sorted, origins are sets themselves, SELF (NULL) is the set that is
 * being described.  So two prefixes after which the same can follow have the
 * same set if their left contexts agree, sets are immutable, and the step
 * (set, byte) -> set is remembered in the set: the automaton grows as it is
 * used and is shared by all matchers of all grammars.
 *
 * Two sets are only origins: `bottom`, under which completing the root rule
 * means that the text is complete; and `top`, an unknown context: stepping an
 * item whose origin is top tells what a rule can do by itself, the same in
 * every grammar (see mask.c).
 *
 * Views.  An origin holds only the waiters that its rule can wake, so it has no
 * scan items: it is the view of the set in which the rule began (set.c).
 *
 * Tail calls.  A waiter whose target can do nothing but complete its own rule
 * is replaced by the waiters of that rule at its origin, so right recursion
 * does not make the sets deeper.  Under bottom and top such a waiter has a
 * NULL target.
 *
 * Invariants
 *   S1  scan is sorted by (state, register, origin), waiters by (rule, target,
 *       register, origin), both without duplicates;
 *   S2  two different live sets differ in scan, waiters or flags;
 *   S3  allow has byte b exactly when the step by b leads to a set, and that
 *       set is never empty (rules are trimmed: every state reaches a final one);
 *   S4  origins are never SELF in a set other than the one where they were made.
 *
 * Threads.  `gate` is held for reading by every use of sets and for writing by
 * a collection, which frees sets.  `grow` is held while a set, row or rule is
 * added.  Published pointers (edges, rows) are atomics, read without a lock. */
#ifndef STE_STORE_H
#define STE_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "expr.h"

typedef struct rule rule;
typedef struct state state;
typedef struct set set;
typedef struct row row;
typedef struct store store;
typedef struct measure measure; /* budget.h */
typedef struct progress progress; /* distinct.h */
typedef struct seen seen;
typedef struct cover cover; /* cover.h */

/* Kinds of bytes, numbered from 0; those that are refused are n (modulo 256; classes.c). */
typedef struct byte_classes {
    uint64_t hash;
    struct byte_classes *chain;
    uint32_t references;
    uint32_t n, n_runs;
    uint8_t of[256];
    uint8_t last[]; /* byte of each run of one class */
} byte_classes;

typedef struct class_pair {
    byte_classes *a, *b, *both;
} class_pair;

#define CLASS_PAIRS 1024

typedef struct byte_edge {
    state *to;
    uint8_t lo, hi;
} byte_edge;

typedef struct rule_edge {
    rule *rule;
    state *to;
} rule_edge;

typedef struct token_edge {
    state *to;
    uint32_t lo, hi; /* token ids */
} token_edge;

/* Passed without consuming anything; see expr_once. */
typedef struct once_edge {
    state *to;
    uint32_t which; /* below MAX_ONCE; MAX_ONCE: wants the rule's required ones */
} once_edge;

struct state {
    rule *rule;
    byte_edge *bytes;
    rule_edge *rules;
    token_edge *tokens;
    once_edge *onces;
    uint32_t n_bytes, n_rules, n_tokens, n_onces;
    uint32_t need;  /* in a metered rule: the fewest characters to its end */
    uint32_t owes;  /* ... and the fewest bytes, each of which may have to be a token */
    uint64_t lengths; /* ... and, with both a least and a most number of characters, how many may come before its end:
                       * bit n, n of them; bit 63, 63 and any number above; 0: that is not known */
    union {
        uint64_t few, *many;
    } ahead;        /* in a rule with onces: those that can be the next */
    bool ends;      /* ... and whether the rule can end before another one */
    bool final;
    bool last;     /* final and without edges: it can only complete its rule */
    bool inside;   /* of a distinct rule: within an element; the register is a progress (distinct.h) */
    bool follows;  /* ... after an element */
    byteset allow;
    byte_classes *classes; /* NULL until a set asks for them; under grow */
    _Atomic(const cover *) cover; /* likewise */
};

struct rule {
    uint64_t hash;
    rule *chain;         /* next in the table */
    state *states;       /* the first is the start; a repeat has one */
    uint32_t n_states;
    uint32_t n_bytes, n_rules, n_tokens, n_onces; /* edges of all states */
    union {
        uint64_t few, *many;
    } required;          /* onces that must have been passed */
    uint32_t once_words; /* of a set of onces; 0: there are few, see onces.h */
    bool nullable;
    bool metered;        /* its items' registers are those of meter.h */
    bool mark;           /* during a collection */
    rule_kind kind;
    capture capture;     /* of a plain rule; part of what makes rules equal */
    meter meter;         /* likewise */
    uint32_t most_need, most_owes; /* of a metered rule: the largest `need` and `owes` of a state */
    uint32_t min, max;   /* of a repeat, or the elements of a distinct rule */
    rule *repeated;      /* by a repeat; what a named rule stands for, NULL until it is built; a distinct rule's elements */
    const state *inside, *after; /* of a distinct rule: the states `inside` and `follows` */
    uint32_t listed, values; /* ... and how many values elements have: as the schema lists them (0: it does not), at least */
    _Atomic(progress *) start; /* ... and the beginning of its first element, NULL until it is needed */
    struct name *name;   /* of a named rule */
    uint32_t pins;       /* compiles that are about to use it; under grow */
    uint64_t memory;
    byte_edge *bytes;
    rule_edge *rules;
    token_edge *tokens;
    once_edge *onces;
    /* Scratch of one closure, valid if stamp is the closure's number; under `grow`. */
    uint64_t stamp;
    uint32_t waiters;    /* head of a list in the closure, + 1 */
    uint32_t n_waiters;  /* in it */
    bool predicted;
};

typedef struct item {
    const state *state;
    set *origin; /* NULL: SELF */
    uint64_t reg;
} item;

typedef struct waiter {
    rule *on;
    const state *target; /* NULL: completes the unknown or outermost rule of origin */
    set *origin;
    uint64_t reg;
} waiter;

#define SET_ACCEPTING 1u /* the root rule is complete here */
#define SET_EXITS 2u     /* the rule under top is complete here */
#define SET_TOKENS 4u    /* some scan item has token edges */
#define SET_REGISTERS 8u /* something here counts */
#define SET_OPEN 16u     /* ... and is COUNT_OPEN, or CHARS_OPEN: not how many */
#define SET_ELEMENTS 1024u /* something here remembers the elements of a distinct rule */
#define SET_INSIDE 32u   /* some scan item is within an element of a distinct rule (distinct.h) ... */
#define SET_RIVALS 64u   /* ... and has rivals */
#define SET_YOUNG 128u   /* ... or is a young one */
#define SET_UNSURE 256u  /* a young element has just been completed */
#define SET_UNREMEMBERED 2048u /* ... whose text tells every byte from the others: steps from here are not remembered */
#define SET_TIGHT 512u   /* a distinct rule's elements may run out of values soon */
#define SET_METERED 4096u /* a scan item counts this token: see set_settle */
#define SET_CUT 8192u    /* no token can end here: nothing would be left */

/* Registers of a repeat that are no counts: as many repetitions as one likes from here on. */
#define COUNT_FREE (UINT64_MAX - 1) /* and it may end */
#define COUNT_OPEN UINT64_MAX       /* and it may not end */

/* The trie nodes one byte after the rule under top is complete, by that byte (mask.c). */
typedef struct exit_list {
    uint32_t n, n_unsure;
    uint32_t nodes[]; /* rising byte; then those where a canonical set does not know enough (distinct.h) */
} exit_list;
static inline size_t exit_list_size(const exit_list *e) { return sizeof *e + ((size_t)e->n + e->n_unsure) * sizeof *e->nodes; }

/* Characters after each of which a set is the same one again: itself, or the first one after (loops.c). */
typedef struct loop {
    bool is_loop;
    bool stays;      /* itself */
    bool exits;      /* the rule under top is complete there */
    char_kind on;    /* beyond ASCII all or none */
} loop;

struct set {
    uint64_t hash;
    set *chain;
    uint32_t n_scan, n_waiters;
    uint32_t flags;
    bool mark;
    _Atomic uint32_t used; /* the store's epoch when its local part was last asked for */
    byteset allow;
    _Atomic(row *) row;
    _Atomic(exit_list *) exits;
    _Atomic(loop *) loop;
    _Atomic(const cover *) cover; /* of one of its states */
    _Atomic(set *) canonical; /* the set with far-away counts put together (set.c) */
    _Atomic(set *) unbounded; /* the set without the bounds of its one counter or meter; itself if it has none */
    _Atomic(set *) settled;   /* of a metered set: the set once the token is over (set_settle) */
    set **views;           /* by the first waiter for a rule: the origin of one that begins here (set.c); under grow */
    byte_classes *classes; /* NULL: it takes no byte */
    _Atomic(set *) *edges; /* the set after a byte, by its class */
    item scan[];           /* waiters and edges follow */
};

static inline waiter *set_waiters(const set *s) {
    return (waiter *)(uintptr_t)(const void *)(s->scan + s->n_scan);
}

struct row {
    uint64_t hash;
    row *chain;
    row *base;     /* NULL, or the row from which this one differs in the tokens `at` */
    uint32_t references;
    uint32_t n;    /* tokens in `at`, rising; UINT32_MAX: `at` is all words of the mask */
    uint32_t at[];
};

/* Entries by hash; each begins like table_entry (table.c). */
typedef struct table_entry {
    uint64_t hash;
    struct table_entry *chain;
} table_entry;

typedef struct table {
    void ***segments; /* n_segments, each NULL or of TABLE_SEGMENT slots */
    uint32_t n_segments, base, split, count;
} table;
#define TABLE_SEGMENT 256

static inline uint32_t table_size(const table *t) { return t->base + t->split; }
static inline void **table_at(const table *t, uint32_t i) { return &t->segments[i / TABLE_SEGMENT][i % TABLE_SEGMENT]; }
static inline void **table_slot(const table *t, uint64_t hash) { /* of a table that is not empty */
    uint32_t i = (uint32_t)hash & (2 * t->base - 1);
    return table_at(t, i < table_size(t) ? i : i - t->base);
}
static inline void *table_first(const table *t, uint64_t hash) { return t->base == 0 ? NULL : *table_slot(t, hash); }

typedef struct store_stats {
    _Atomic uint64_t text_hits, text_misses, rule_hits, rule_misses, row_hits, row_misses, local_hits, local_misses, evictions;
} store_stats;

typedef struct closure closure;

/* The last row of words for a loop or cover of certain characters: others for it will differ little. */
typedef struct loop_row {
    const void *of; /* leavers or regions */
    row *row;
} loop_row;
#define LOOP_ROWS 16

struct store {
    ste_vocab *vocab;
    ste_allocator allocator;
    _Atomic uint32_t references;
    pthread_rwlock_t gate;
    pthread_mutex_t grow;
    table rules, sets, rows, classes, progresses, passed;
    seen *seens;               /* all of them */
    _Atomic uint64_t bytes;
    uint64_t budget;
    _Atomic uint32_t epoch; /* collections + 1 */
    _Atomic uint64_t collect_at; /* collect when live bytes are above */
    set *dead_sets;            /* what a collection has left to be freed a few at a time (store_sweep), by chain; under grow */
    rule *dead_rules;
    _Atomic uint64_t dead_bytes;
    uint32_t sets_swept;       /* sets alive when it last ran */
    set *bottom, *top;
    closure *closure;          /* scratch, under grow */
    uint32_t reach;            /* bytes of the longest token: how far a mask looks ahead */
    ste_matcher *matchers;     /* live ones, under grow */
    ste_grammar *grammars;     /* live ones, under grow */
    measure *measures;         /* of token budgets, under grow */
    store_stats stats;
    ste_limits limits;         /* of matching */
    class_pair pairs[CLASS_PAIRS]; /* by hash, each with a reference to all three; under grow */
    loop_row loop_rows[LOOP_ROWS]; /* under grow */
    uint32_t next_loop_row;
};

/* One user of sets: what it may still make of them, and why a call failed. */
typedef struct use {
    store *s;
    uint64_t work; /* items and waiters that may still be made */
    int code;      /* what a failure means: STE_ERR_NO_MEMORY unless a limit was met */
} use;

store *store_new(ste_vocab *vocab, uint64_t budget, const ste_limits *limits);
store *store_retain(store *s);
void store_release(store *s);

void *store_alloc(store *s, size_t size); /* zeroed and counted; NULL when out of memory */
void *store_take(store *s, size_t size);  /* the same, but not zeroed */
void store_free(store *s, void *p, size_t size);

/* rules.c: the store's rule for the builder's root.  Wants `grow`; escapes without giving it back. */
rule *store_intern(store *s, builder *b);
void rule_free(store *s, rule *r);
/* abundance.c: the values of a rule of JSON values are at least so many; UINT32_MAX: infinitely many, or too many to
 * count.  In the builder's memory. */
uint32_t rule_values(builder *b, const rule *r);

/* names.c: see there.  All but names_of and names_unpin want `grow`. */
names names_of(store *s);
void names_unpin(store *s, const builder *b);
void name_remember(store *s, const char *text, size_t n, int whitespace, rule *r);
/* Does it surely have endlessly many texts, built or not? */
bool name_is_endless(const rule *r);
/* Set r->repeated; false with the reason in u->code. */
bool name_build(use *u, rule *r);
/* The rule that stands for r in sets and charts: r, unless it is a named one.  Takes `grow`, wants the gate held
 * for reading; NULL with the reason in u->code. */
rule *name_resolve(use *u, rule *r);

/* set.c */
closure *closure_new(store *s);
void closure_free(store *s, closure *c);
/* All of these return NULL when they fail, with the reason in u->code, and want the gate held for reading.
 * set_initial: the set at the start of a text in root. */
set *set_initial(use *u, rule *root);
/* The set at the start of a rule by itself, under top. */
set *set_beginning(use *u, rule *r);
/* The set of one item by itself, under top. */
set *set_local(use *u, const state *state, uint64_t reg);
/* The set after one byte that from->allow has. */
set *set_step_slow(use *u, set *from, uint32_t byte);
static inline set *set_step(use *u, set *from, uint32_t byte) {
    set *to = atomic_load_explicit(&from->edges[from->classes->of[byte]], memory_order_acquire);
    return to != NULL ? to : set_step_slow(u, from, byte);
}
/* Does a token edge of `from` carry this token?  If so, set_step_token is the set after it. */
bool set_has_token(const set *from, uint32_t token);
set *set_step_token(use *u, set *from, uint32_t token);
/* The set once a token that led to it is over.  Not for sets that are SET_CUT. */
set *set_settle(use *u, set *at);
/* What is possible in a or in b. */
set *set_union(use *u, set *a, set *b);
/* The set after the rule of an item that began in origin (NULL: in s itself) is complete. */
set *set_after(use *u, set *at, set *origin, rule *completed);
/* The set after an element of a distinct rule: its item goes on with this register. */
set *set_after_element(use *u, const item *within, uint64_t reg);
/* The set whose mask is the mask of s. */
set *set_canonical(use *u, set *at);
/* If what begins in `at` is one counted repeat: `at` without its bounds, *left: how many more repetitions the
 * upper bound leaves (UINT64_MAX: no bound), *counter: its waiter.  Else `at` itself, and NULL. */
set *set_unbounded(use *u, set *at, uint64_t *left, const waiter **counter);
/* If just one item of `at` is metered: `at` without its bounds of characters, *left: how many more the upper one
 * leaves (UINT64_MAX: no bound), *metered: the item.  Else `at` itself, and NULL.  NULL as above. */
set *set_unmetered(use *u, set *at, uint64_t *left, const item **metered);
void set_destroy(store *s, set *at);
size_t set_bytes(const set *at);

/* row.c */
#define ROW_FEW 256
uint32_t row_few(const store *s); /* most tokens of a row that is a list, or changes; at most ROW_FEW */
/* These take no lock and give the caller a reference; NULL when out of memory.  near: NULL, or a row that may differ
 * little.  _few and _more sort the tokens, at most row_few of them; _more: those of r, which is no list, and these,
 * which r has not. */
row *row_intern(store *s, const uint32_t *words, const row *near);
row *row_intern_few(store *s, uint32_t *tokens, uint32_t n);
row *row_intern_more(store *s, const row *r, uint32_t *tokens, uint32_t n);
/* The row of a set in which these characters (leavers or regions) may follow each other. */
row *row_intern_loop(store *s, const uint32_t *words, const void *chars);
void row_forget_loops(store *s);                  /* under grow or alone */
row *row_retain(store *s, const row *r);
size_t row_bytes(const store *s, const row *r);
bool row_is_few(const row *r); /* a list */
bool row_has(const row *r, uint32_t token);
void row_write(const store *s, const row *r, uint32_t *words);
void row_or(const store *s, const row *r, uint32_t *words);
void row_release(store *s, row *r);               /* under grow or the gate's write side */

/* classes.c: the kinds of bytes to n > 0 scan items, for the caller to release; NULL when out of memory.  Under grow. */
byte_classes *classes_of(store *s, const item *scan, uint32_t n);
/* For a set that remembers no steps: one class, whose step is never there. */
byte_classes *classes_of_none(store *s);
void classes_release(store *s, byte_classes *c);
void classes_forget_pairs(store *s); /* under grow or alone */

/* loops.c: what `at` loops on; computed once per set. */
const loop *set_loop(use *u, set *at);
/* Is `at` a loop, or does it become one in a few bytes, as after a backslash?  Then it is in a string that can go on in
 * infinitely many ways.  1, 0, or negative: failed. */
int set_is_endless(use *u, set *at);
/* cover.c: before a rule is freed. */
void cover_free(store *s, state *st);

/* The tokens that the loop does not settle; NULL: they are not known, it is of no use. */
const leavers *loop_leavers(store *s, const loop *l);
/* Tokens made of the loop's characters, at most `most` of them. */
void loop_tokens(const store *s, const leavers *l, uint64_t most, uint32_t *words);

/* mask.c: the finished row of a set, stop tokens left out; NULL as above.  The set keeps it. */
row *mask_row(use *u, set *at);

/* Free what no live grammar or matcher needs; called without locks.  The first two do nothing while sets are in use. */
typedef enum collect_when { COLLECT_IF_FULL, COLLECT_NOW, COLLECT_ALL } collect_when;
void store_collect(store *s, collect_when how);
static inline uint64_t store_live_bytes(store *s) {
    uint64_t dead = atomic_load_explicit(&s->dead_bytes, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed);
    return bytes < dead ? 0 : bytes - dead;
}
static inline bool store_full(store *s) {
    return store_live_bytes(s) > atomic_load_explicit(&s->collect_at, memory_order_relaxed);
}

/* Free some of what the last collection left, at least so many and more than was made since.  Called without locks. */
#define SWEEP_STEP 8      /* in a call on a matcher */
#define SWEEP_COMPILE 500
void store_sweep_some(store *s, uint32_t least);
static inline void store_sweep(store *s, uint32_t least) {
    if (atomic_load_explicit(&s->dead_bytes, memory_order_relaxed) != 0) store_sweep_some(s, least);
}

/* table.c */
bool table_reserve(store *s, table *t); /* before an entry is added; false when out of memory */
void table_add(table *t, void *entry);
void table_remove(table *t, const void *entry); /* nothing happens if it is not there */
void table_free(store *s, table *t);

#endif
