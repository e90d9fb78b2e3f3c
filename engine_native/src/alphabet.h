/* alphabet.h - code points that no set of a pattern tells apart, as one symbol.
 *
 * A pattern mentions few sets of characters.  Its automata work on *classes*:
 * the blocks of the partition of all code points by those sets, numbered by
 * their first code point.  Surrogates are in no class.  Use: add every set, then
 * alphabet_finish, then ask for the symbols of a set.  Cost: (ranges of all
 * distinct sets) * log, and one pass over its ranges for each set. */
#ifndef STE_ALPHABET_H
#define STE_ALPHABET_H

#include "cp_set.h"

#define NO_CLASS UINT32_MAX

typedef struct alphabet_set {
    const cp_range *ranges;
    uint32_t n_ranges;
    const cp_range *symbols; /* the same set in classes; after alphabet_finish */
    uint32_t n_symbols;
    uint64_t hash;
} alphabet_set;

typedef struct alphabet {
    work *w;
    VEC(alphabet_set) sets;
    uint32_t *table, mask;
    uint32_t *from;     /* interval i is from[i] .. from[i + 1] - 1; n + 1 of them */
    uint32_t *class_of; /* of each interval */
    uint32_t n, n_classes;
} alphabet;

void alphabet_init(alphabet *a, work *w);
/* Number of a set; equal sets have one number.  The ranges are sorted, disjoint and kept. */
uint32_t alphabet_add(alphabet *a, const cp_range *ranges, uint32_t n);
void alphabet_finish(alphabet *a);
/* The same automaton over code points. */
fsm *alphabet_spell(const alphabet *a, const fsm *f);

#endif
