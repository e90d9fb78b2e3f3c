/* json_text.h - how strings and whitespace are spelled in JSON text.
 *
 * Spellings.  In a string value about which nothing is said but its length
 * every spelling of a character counts: raw UTF-8, short escapes, \uXXXX in
 * either case, surrogate pairs; a lone surrogate does not.  Everywhere else - a
 * key, an enum value, a string under a pattern or format - an ASCII character
 * has exactly one spelling, the one that JSON writers use: raw, but for `"` and
 * `\`, short escapes where they exist, and \u00xx in lower case for other
 * control characters.  DEL and all others may be raw or \uXXXX: writers differ
 * there.  So an undeclared key can never be a declared one in disguise, and no
 * escape carries a character past a pattern. */
#ifndef STE_JSON_TEXT_H
#define STE_JSON_TEXT_H

#include "expr.h"

/* A fixed string, quotes included. */
expr *json_fixed_string(builder *b, const char *s, size_t n);

/* One character of a string value; a string value without limits, quotes included. */
fsm *json_char_automaton(work *w);
fsm *json_string_automaton(work *w);

/* The spellings, without quotes, of the texts of an automaton over code points (indexed). */
fsm *json_spelled_automaton(work *w, const fsm *text);

/* A string, quotes included, that is none of the fixed strings of `taken`. */
fsm *json_other_string_automaton(builder *b, expr *taken);

/* What may stand between two JSON tokens: STE_WHITESPACE_*. */
expr *json_whitespace(builder *b, int whitespace);

#endif
