/* chars.h - kinds of characters: some of ASCII's, and of those beyond ASCII none, most or all.
 *
 * *Most* leaves out what patterns leave out when they say `.`, `\S` or "no control characters": U+0080..U+00A0 and the
 * white space and line ends of Unicode (U+1680, U+2000..U+200A, U+2028, U+2029, U+202F, U+205F, U+3000, U+FEFF).
 *
 * UTF-8 takes several bytes for a character, so a place in a text is a *phase*: 0 between characters, else what may
 * follow within one.  Each phase within a character leads to lower ones only, and phase 0 to any. */
#ifndef STE_CHARS_H
#define STE_CHARS_H

#include "bits.h"

typedef enum char_range { BEYOND_NONE, BEYOND_MOST, BEYOND_ALL } char_range;

typedef struct char_kind {
    byteset ascii; /* bytes below 0x80 */
    char_range beyond;
} char_kind;

static inline bool kinds_equal(const char_kind *a, const char_kind *b) {
    return a->beyond == b->beyond && memcmp(&a->ascii, &b->ascii, sizeof a->ascii) == 0;
}

/* The first bytes of characters some of which BEYOND_MOST leaves out. */
#define CHAR_PARTLY 5
extern const uint8_t char_partly[CHAR_PARTLY];

#define CHAR_PHASES 17

typedef struct char_step {
    uint8_t lo, hi, to;
} char_step;

/* The bytes beyond ASCII that may follow in a phase, rising. */
const char_step *char_steps(char_range b, uint32_t phase, uint32_t *n);

/* The phase after a byte; CHAR_PHASES: it is not of the characters. */
uint32_t char_next(const char_kind *of, uint32_t phase, uint32_t byte);

#endif
