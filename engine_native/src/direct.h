/* direct.h - expressions to minimal deterministic automata in one pass, from the end.
 *
 * What the schema front end says is nearly deterministic and nearly without
 * cycles: keys, separators, references to rules.  For such an expression there is
 * a shorter way than Thompson, subsets and minimisation (fsm.h): build what comes
 * last first, and keep each state once, found by its edges.  As a state is made
 * after all that follow it, equal states are one from the start, and what is built
 * is the minimal automaton.  Alternatives are united where they are made.
 *
 * A cycle needs a state before its edges are known: a *knot*.  It is left open
 * until its state is done; an open knot can be led to, but not united with
 * anything.  Where that would be needed, for dispatches, and where alternatives
 * multiply, there is no direct automaton, and the caller goes the long way.
 *
 * Cost: a few hundred instructions a state.  Knots are kept apart even if they are equal, so that an automaton with
 * cycles is deterministic and trimmed, and nearly always the smallest. */
#ifndef STE_DIRECT_H
#define STE_DIRECT_H

#include "expr.h"

/* Indexed, trimmed, states numbered breadth first; NULL: no direct way. */
fsm *expr_direct(builder *b, const expr *e);
/* What `all`, which is deterministic and indexed, has and e has not. */
fsm *expr_direct_others(builder *b, fsm *all, const expr *e);

#endif
