/* ahead.h - conditions on what follows a place, worked into the rules.
 *
 * A front end may put SYM_AHEAD + i at a place of a rule: the match goes on only
 * if the rest of the whole text is in the language of the builder's condition i.
 * A special token counts as the end of the text there.  What is left of such a
 * condition when some of the text has been read is a *demand*, a state of its
 * automaton; several may be open at once.
 *
 * Grammars have no conditions, so each rule is made anew for the demands that
 * are open where it begins and where it ends:
 *
 *     A        what A matches where nothing is demanded, and leaves nothing open
 *     A(p, q)  what A matches where p is demanded, and leaves q open
 *
 * which is the product of a grammar and a finite automaton.  Rules that no
 * demand reaches stay as they are.
 *
 * Cost: the rules and demands that meet, times the size of the rules. */
#ifndef STE_AHEAD_H
#define STE_AHEAD_H

#include "expr.h"

/* The symbol of a condition.  Its automaton is over bytes, deterministic and reduced; states that accept whatever comes
 * loop on all bytes. */
uint32_t ahead_symbol(builder *b, ahead_condition c);
/* All rules have their automata; afterwards none has such a symbol, and the root is the rule to take. */
void ahead_resolve(builder *b);

#endif
