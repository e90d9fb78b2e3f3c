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
 * escape carries a character past a pattern.
 *
 * A schema may say itself which escapes its strings may have (builder.escapes,
 * schema_guidance.c).  Then a character of such a string has one spelling, raw
 * but for `"`, `\`, and controls; and \uXXXX elsewhere is for controls, unless
 * it is said to be for all. */
#ifndef STE_JSON_TEXT_H
#define STE_JSON_TEXT_H

#include "expr.h"

/* builder.escapes: 0, every escape is allowed; else LISTED, the bits of what may follow a backslash, and GENERAL if "u" is
 * for all characters. */
#define ESCAPES_LISTED 1u
#define ESCAPES_GENERAL 2u
uint32_t json_escape_bit(char after_backslash); /* 0: nothing that may follow a backslash */

/* A fixed string, quotes included; never, where a character of it cannot be spelled. */
expr *json_fixed_string(builder *b, const char *s, size_t n);

/* One character of a string value; a string value without limits, quotes included.  Variants: builder.escapes. */
extern const shared_rule json_character, json_string;

/* The spellings, without quotes, of the texts of an automaton over code points (indexed); references to
 * rules, which spell for themselves, may be among its edges. */
fsm *json_spelled_automaton(builder *b, const fsm *text);
/* The same, but an escape is a reference to a rule, so that a meter counts it as one character. */
fsm *json_spelled_characters(builder *b, const fsm *text);

/* Every fixed string, quotes included, in the spellings above; deterministic. */
fsm *json_fixed_strings(builder *b);

/* json_others.c: a string, quotes included, that is none of the fixed strings of `taken`; the automaton is made when text
 * may enter it, if it is of ordinary size. */
expr *json_other_string(builder *b, const char *const *taken, const uint32_t *length, uint32_t n);
/* The same at once: for rules that must know it. */
expr *json_other_string_now(builder *b, const char *const *taken, const uint32_t *length, uint32_t n);
/* Make the automaton: `name` is that of the rule (names.c). */
void json_other_front(builder *b, const char *name, size_t n);

/* The spellings, without quotes, of the texts of an automaton over bytes (indexed): the raw one of each character that JSON
 * may write raw.  Edges of other symbols stay. */
fsm *json_spelled_bytes(builder *b, const fsm *text);

/* All options about JSON text in one number, so that equal options are equal numbers: bits 0-3
 * STE_WHITESPACE_*, bits 4-19 the four counts of spaces, bit 20 STE_ORDER_ANY, bits 21-24 the style
 * (schema_style.h), bits 25-30 the most white space between two tokens, 0 for what bits 0-3 say. */
int json_layout(const ste_options *options);
static inline bool layout_is_indented(int layout) { return (layout & 15) == STE_WHITESPACE_INDENT; }
static inline bool layout_any_order(int layout) { return (layout >> 20 & 1) != 0; }
static inline int layout_with_any_order(int layout) { return layout | 1 << 20; }
static inline uint32_t layout_style(int layout) { return (uint32_t)layout >> 21 & 15; }
static inline int layout_with_style(int layout, uint32_t style) { return layout | (int)(style << 21); }
static inline int layout_without_style(int layout) { return layout & ~(15 << 21); }
#define MAX_WHITESPACE_COUNT 63
static inline uint32_t layout_whitespace_count(int layout) { return (uint32_t)layout >> 25 & MAX_WHITESPACE_COUNT; }
static inline int layout_without_whitespace_count(int layout) { return layout & ~(MAX_WHITESPACE_COUNT << 25); }
static inline int layout_with_whitespace_count(int layout, uint32_t n) { return layout | (int)(n << 25); }

/* What stands between JSON tokens. */
typedef struct json_spaces {
    expr *inside;        /* beside brackets and braces */
    expr *comma, *colon; /* with what is around them */
} json_spaces;

json_spaces json_whitespace(builder *b, int layout);
/* A line break and the indentation of so many levels. */
expr *json_line(builder *b, int layout, uint32_t depth);

/* Edges for the values lo..hi in so many hexadecimal digits, in either case. */
void json_hex_range(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t digits, uint32_t to);

#endif
