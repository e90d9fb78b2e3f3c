/* inline.h - small rules become part of the rules that refer to them.
 *
 * People name what they repeat: bond ::= "-" | "=".  As a rule of its own it
 * costs the parser an item and a waiter wherever it may begin, and hides from
 * the subset construction that two alternatives go on alike.  A rule that
 * does not lead back to itself and whose automaton is small is put in place of the
 * references to it; what it refers to has been dealt with before.
 *
 * Cost: each rule's automaton is made here once more than without. */
#ifndef STE_INLINE_H
#define STE_INLINE_H

#include "expr.h"

/* All rules of b have their bodies. */
void inline_rules(builder *b);

#endif
