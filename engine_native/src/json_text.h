/* json_text.h - how strings and whitespace are spelled in JSON text.
 *
 * Spellings.  In a free string value every spelling of a character counts: raw
 * UTF-8, short escapes, \uXXXX in either case, surrogate pairs; a lone
 * surrogate does not.  Where a string is fixed (a key, an enum value) or must
 * differ from fixed ones (an undeclared key) ASCII characters have exactly one
 * spelling, the one that JSON writers use: raw, but for `"` and `\`, short
 * escapes where they exist, and \u00xx in lower case for other control
 * characters.  DEL and all others may be raw or \uXXXX: writers differ there.
 * So an undeclared key can never be a declared one in disguise. */
#ifndef STE_JSON_TEXT_H
#define STE_JSON_TEXT_H

#include "expr.h"

/* A fixed string, quotes included. */
expr *json_fixed_string(builder *b, const char *s, size_t n);

/* One character of a string value; a string value without limits, quotes included. */
fsm *json_char_automaton(work *w);
fsm *json_string_automaton(work *w);

/* A string, quotes included, that is none of the fixed strings of `taken`. */
fsm *json_other_string_automaton(builder *b, expr *taken);

/* What may stand between two JSON tokens: STE_WHITESPACE_*. */
expr *json_whitespace(builder *b, int whitespace);

#endif
