/* words.h - many fixed strings as their minimal automaton.
 *
 * The strings are sorted and added one after the other; a state whose last
 * string is past is looked up among the finished ones and kept only if it is
 * new (Daciuk, Mihov, Watson and Watson 2000, "Incremental construction of
 * minimal acyclic finite-state automata", section 3).  No more states ever exist
 * than the result has, plus one for each symbol of the current string.
 * Cost: the symbols of all strings, after sorting. */
#ifndef STE_WORDS_H
#define STE_WORDS_H

#include "expr.h"

typedef struct word {
    const uint32_t *symbols; /* as literal_symbols makes them */
    uint32_t n;
} word;

/* One of the words, at least one; `words` is sorted on return. */
expr *words_expr(builder *b, word *words, uint32_t n);

#endif
