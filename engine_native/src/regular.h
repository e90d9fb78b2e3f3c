/* regular.h - expressions as one automaton over bytes and tokens, where they are regular.
 *
 * An expression may refer to rules: counted repeats do, and grammars name what
 * they like.  Here references are replaced by what they refer to, unless a rule
 * leads back to itself.  Results are deterministic, trimmed and minimised; NULL
 * is the empty language.
 *
 * Cost: a counted repeat is written out. */
#ifndef STE_REGULAR_H
#define STE_REGULAR_H

#include "expr.h"

/* All rules that e leads to must have their bodies.  *why: NULL, or why e has no automaton. */
fsm *regular_automaton(builder *b, const expr *e, const char **why);
/* min to max copies of body, written out; body is deterministic. */
fsm *regular_copies(work *w, const fsm *body, uint32_t min, uint32_t max);
/* Texts of f that do not go on after another text of f. */
fsm *regular_shortest(fsm *f);
/* Texts of f of at most n characters. */
fsm *regular_at_most(builder *b, fsm *f, uint32_t n, const char **why);
/* Any text, in UTF-8. */
fsm *regular_text(builder *b);

#endif
