/* format.h - the formats of JSON Schema as regular expressions or automata, each after its RFC. */
#ifndef STE_FORMAT_H
#define STE_FORMAT_H

#include "fsm.h"

#define FORMAT_PARTS 12

typedef struct format {
    const char *name;
    fsm *(*make)(work *w);           /* its automaton: deterministic, indexed, to be reduced; or NULL, and */
    const char *parts[FORMAT_PARTS]; /* the regular expression that the whole string must match; until NULL */
} format;

/* "regex": an expression whose nested ones are this character, for a rule that refers to itself. */
#define FORMAT_NESTED 0x10FFFEu
char *format_regex_pattern(arena *mem);
bool format_is_nested(const char *name);

/* NULL: the format is unknown, an annotation. */
const format *format_find(const char *name);
/* Why a known format cannot be enforced; NULL if it can, or is unknown. */
const char *format_refusal(const char *name);

#endif
