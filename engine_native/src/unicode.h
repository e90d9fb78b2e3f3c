/* unicode.h - sets of code points by Unicode property, and simple case folding (Unicode 18; unicode_data.h). */
#ifndef STE_UNICODE_H
#define STE_UNICODE_H

#include "cp_set.h"

/* Add what \p{text} names: a general category, a binary property, a script, or one of
 * General_Category=, Script=, Script_Extensions=, Grapheme_Cluster_Break=, Word_Break=, Sentence_Break= (gc=, sc=, scx=,
 * gcb=, wb=, sb=) and a value.  Case, blanks, '_' and '-' do not matter.  False if there is no such property. */
bool unicode_property(arena *mem, const char *text, size_t n, cp_set *out);

/* Add every code point that folds to the same as one in s. */
void unicode_fold(arena *mem, cp_set *s);

/* Letters, marks, decimal digits, connectors, joiners (UTS 18, annex C). */
void unicode_word(arena *mem, cp_set *out);

#endif
