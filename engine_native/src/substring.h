/* substring.h - any run of consecutive chunks of a text.
 *
 * The automaton is the suffix automaton of the chunks as letters (Blumer et al.
 * 1985, "The smallest automaton recognizing the subwords of a text"): every
 * state is final, and it has at most twice as many as there are chunks. */
#ifndef STE_SUBSTRING_H
#define STE_SUBSTRING_H

#include "expr.h"

typedef struct chunk {
    const char *text;
    size_t n; /* chunks without bytes do not count */
} chunk;

/* The text of zero or more consecutive chunks. */
expr *substring_expr(builder *b, const chunk *chunks, uint32_t n);

#endif
