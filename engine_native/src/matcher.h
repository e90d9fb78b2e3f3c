/* matcher.h - grammars and matchers as the rest of the library sees them.
 *
 * A grammar is a root rule and its notes; immutable.  A matcher is a stack of
 * sets.  Both are on lists of the store, which is how a collection knows what is
 * needed.
 *
 * Invariants of a matcher
 *   H1  steps[0] is the set at the start of the text, steps[i] the set after i
 *       steps; n_steps >= 1; the last one is where it stands;
 *   H2  terminated: a stop token was the last step; failed: a limit or lack of
 *       memory ended it.  In both nothing is accepted until a rollback or reset;
 *   H3  busy is set while a thread is inside. */
#ifndef STE_MATCHER_H
#define STE_MATCHER_H

#include "budget.h"

struct ste_grammar {
    store *store;
    _Atomic uint32_t references;
    ste_grammar *next, *previous; /* in store->grammars, under grow */
    rule *root;
    bool captures; /* some rule is one */
    bool distinct; /* some rule is a distinct one, or has many onces */
    uint64_t memory;
    uint32_t n_notes;
    uint64_t notes_size;
    char *notes; /* n_notes zero-terminated strings in a row */
};

/* One sequence.  steps[0] is the start; each accepted step adds one set.  A stop token
 * adds the set it was accepted in and sets `terminated`. */
struct ste_matcher {
    ste_grammar *grammar;
    ste_matcher *next, *previous; /* in store->matchers, under grow */
    set **steps;
    uint32_t n_steps, cap_steps;
    uint32_t *stop;
    uint32_t n_stop;
    struct transcript *transcript; /* NULL if the grammar has no captures */
    bool terminated;
    measure *measure;     /* NULL: no budget */
    uint64_t most;        /* with a budget: tokens there may be in all */
    uint32_t budgeted_at; /* n_steps when it was set */
    int failed;     /* STE_OK, or the limit or lack of memory that ended it */
    use use;
    uint64_t bytes; /* of the sets in steps, where one differs from the one before */
    _Atomic bool busy;
};

ste_grammar *grammar_retain(ste_grammar *g);

#endif
