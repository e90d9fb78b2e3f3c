/* fsm_product.h - set operations on languages: products of deterministic automata.
 *
 * Operands are deterministic and indexed (fsm_determinise, fsm_trim and
 * fsm_minimise give such ones), over any alphabet without rules: bytes, code
 * points, classes.  NULL stands for the empty language.  Results are
 * deterministic and indexed; states that lead nowhere may be among them, and
 * equal states, until fsm_reduce.
 *
 * Cost: the pairs of states that are reachable together, not all pairs. */
#ifndef STE_FSM_PRODUCT_H
#define STE_FSM_PRODUCT_H

#include "fsm.h"

fsm *fsm_intersection(const fsm *a, const fsm *b);
/* Texts of a that are none of b. */
fsm *fsm_difference(const fsm *a, const fsm *b);
/* Texts over the symbols lo..hi that are none of a. */
fsm *fsm_complement(work *w, const fsm *a, uint32_t lo, uint32_t hi);
/* Trim and minimise; NULL if the language is empty. */
fsm *fsm_reduce(fsm *f);

#endif
