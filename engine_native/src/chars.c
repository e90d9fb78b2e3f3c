/* chars.c - the phases of UTF-8 (RFC 3629, section 4), whole and without the characters that patterns leave out. */
#include "chars.h"

const uint8_t char_partly[CHAR_PARTLY] = {0xC2, 0xE1, 0xE2, 0xE3, 0xEF};

enum {
    LAST = 1,      /* one more of 80..BF */
    NO_80,         /* ... without some: U+1680 and U+3000, */
    IN_2000,       /* the white space of U+2000..U+203F, */
    NO_9F,         /* U+205F, */
    NO_BF,         /* U+FEFF, */
    NO_C1,         /* U+0080..U+00A0 */
    TWO,           /* two more */
    AFTER_E0, AFTER_ED, AFTER_E1, AFTER_E2, AFTER_E3, AFTER_EF,
    THREE,
    AFTER_F0, AFTER_F4
};

static const char_step steps[] = {
    {0x80, 0xBF, 0},                                                             /* LAST */
    {0x81, 0xBF, 0},                                                             /* NO_80 */
    {0x8B, 0xA7, 0}, {0xAA, 0xAE, 0}, {0xB0, 0xBF, 0},                           /* IN_2000 */
    {0x80, 0x9E, 0}, {0xA0, 0xBF, 0},                                            /* NO_9F */
    {0x80, 0xBE, 0},                                                             /* NO_BF */
    {0xA1, 0xBF, 0},                                                             /* NO_C1 */
    {0x80, 0xBF, LAST},                                                          /* TWO */
    {0xA0, 0xBF, LAST},                                                          /* AFTER_E0 */
    {0x80, 0x9F, LAST},                                                          /* AFTER_ED */
    {0x80, 0x99, LAST}, {0x9A, 0x9A, NO_80}, {0x9B, 0xBF, LAST},                 /* AFTER_E1 */
    {0x80, 0x80, IN_2000}, {0x81, 0x81, NO_9F}, {0x82, 0xBF, LAST},              /* AFTER_E2 */
    {0x80, 0x80, NO_80}, {0x81, 0xBF, LAST},                                     /* AFTER_E3 */
    {0x80, 0xBA, LAST}, {0xBB, 0xBB, NO_BF}, {0xBC, 0xBF, LAST},                 /* AFTER_EF */
    {0x80, 0xBF, TWO},                                                           /* THREE */
    {0x90, 0xBF, TWO},                                                           /* AFTER_F0 */
    {0x80, 0x8F, TWO},                                                           /* AFTER_F4 */
};

static const uint8_t first[CHAR_PHASES + 1] = {0, 0, 1, 2, 5, 7, 8, 9, 10, 11, 12, 15, 18, 20, 23, 24, 25, 26};

static const char_step all[] = {{0xC2, 0xDF, LAST},     {0xE0, 0xE0, AFTER_E0}, {0xE1, 0xEC, TWO},      {0xED, 0xED, AFTER_ED},
                                {0xEE, 0xEF, TWO},      {0xF0, 0xF0, AFTER_F0}, {0xF1, 0xF3, THREE},    {0xF4, 0xF4, AFTER_F4}};
static const char_step most[] = {{0xC2, 0xC2, NO_C1},    {0xC3, 0xDF, LAST},     {0xE0, 0xE0, AFTER_E0}, {0xE1, 0xE1, AFTER_E1},
                                 {0xE2, 0xE2, AFTER_E2}, {0xE3, 0xE3, AFTER_E3}, {0xE4, 0xEC, TWO},      {0xED, 0xED, AFTER_ED},
                                 {0xEE, 0xEE, TWO},      {0xEF, 0xEF, AFTER_EF}, {0xF0, 0xF0, AFTER_F0}, {0xF1, 0xF3, THREE},
                                 {0xF4, 0xF4, AFTER_F4}};

const char_step *char_steps(char_range b, uint32_t phase, uint32_t *n) {
    if (phase != 0) {
        *n = first[phase + 1] - (uint32_t)first[phase];
        return steps + first[phase];
    }
    *n = b == BEYOND_ALL ? sizeof all / sizeof *all : b == BEYOND_MOST ? sizeof most / sizeof *most : 0;
    return b == BEYOND_ALL ? all : most;
}

uint32_t char_next(const char_kind *of, uint32_t phase, uint32_t byte) {
    if (byte < 0x80) return phase == 0 && byteset_has(&of->ascii, byte) ? 0 : CHAR_PHASES;
    uint32_t n;
    const char_step *s = char_steps(of->beyond, phase, &n);
    for (uint32_t i = 0; i < n; i++)
        if (s[i].lo <= byte && byte <= s[i].hi) return s[i].to;
    return CHAR_PHASES;
}
