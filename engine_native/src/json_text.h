/* json_text.h - how strings and whitespace are spelled in JSON text.
 *
 * Spellings.  In a free string value every spelling of a character counts: raw
 * UTF-8, short escapes, \uXXXX in either case, surrogate pairs; a lone
 * surrogate does not.  Where a string is fixed (a key, an enum value) or must
 * differ from fixed ones (an undeclared key) each character has exactly one
 * spelling, the one that compact JSON writers use: raw, but for `"` and `\`,
 * short escapes where they exist, and \u00xx in lower case for other control
 * characters.  So an undeclared key can never be a declared one in disguise. */
#ifndef STE_JSON_TEXT_H
#define STE_JSON_TEXT_H

#include "expr.h"

/* The canonical spelling with its quotes. */
const char *json_quote(builder *b, const char *s, size_t n, size_t *length);

/* One character of a string value; a string value without limits, quotes included. */
fsm *json_char_automaton(work *w);
fsm *json_string_automaton(work *w);

/* A canonically spelled string, quotes included, that is none of the n given (quoted) spellings. */
fsm *json_other_string_automaton(work *w, const char *const *quoted, const size_t *lengths, uint32_t n);

/* What may stand between two JSON tokens: STE_WHITESPACE_*. */
expr *json_whitespace(builder *b, int whitespace);

#endif
