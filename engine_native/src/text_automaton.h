/* text_automaton.h - automata over code points put together.
 *
 * NULL is the empty language, as operand and as result; results are
 * deterministic, trimmed and minimised. */
#ifndef STE_TEXT_AUTOMATON_H
#define STE_TEXT_AUTOMATON_H

#include "fsm.h"

fsm *text_empty(work *w); /* the empty text */
fsm *text_any(work *w);
fsm *text_concat(work *w, const fsm *a, const fsm *b);
fsm *text_union(work *w, const fsm *a, const fsm *b);
/* One code point of lo..hi. */
fsm *text_range(work *w, uint32_t lo, uint32_t hi);

#endif
