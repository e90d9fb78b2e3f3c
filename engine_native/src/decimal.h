/* decimal.h - exact decimal numbers, and automata for the JSON numbers in a range.
 *
 * A decimal is sign, integer digits and fraction digits without leading or
 * trailing zeros ("0.50" is {"", "5"}), so that comparing is comparing strings. */
#ifndef STE_DECIMAL_H
#define STE_DECIMAL_H

#include "fsm.h"

#define DECIMAL_DIGITS 400 /* what a double can need: 309 before the point, 324 after; longer is refused */

typedef struct decimal {
    bool negative;
    uint32_t integer_n, fraction_n;
    char integer[DECIMAL_DIGITS], fraction[DECIMAL_DIGITS];
} decimal;

/* A JSON number, exponent and all; false if it needs more digits than there are. */
bool decimal_parse(const char *text, size_t n, decimal *out);
int decimal_compare(const decimal *a, const decimal *b);
static inline bool decimal_is_zero(const decimal *d) { return d->integer_n == 0 && d->fraction_n == 0; }

typedef struct number_bound {
    bool present, exclusive;
    decimal value;
} number_bound;

/* Is x a multiple of y > 0?  False if y needs more digits than can be divided by. */
bool decimal_is_multiple(const decimal *x, const decimal *y, bool *multiple);

typedef enum number_form {
    NUMBER_ANY,    /* with an exponent, too; where the bounds say more than the sign, in scientific notation */
    NUMBER_PLAIN,  /* without exponent */
    NUMBER_WHOLE,  /* integers, without exponent; the fraction is zeros or absent */
    NUMBER_DIGITS, /* integers without fraction or exponent */
} number_form;

/* The spellings of the numbers between the bounds. */
fsm *number_automaton(work *w, const number_bound *low, const number_bound *high, number_form form);

/* The plain spellings of the multiples of a number above 0; NULL if that needs too many states. */
fsm *multiples_automaton(work *w, const decimal *of);
/* Is there one of moderate size? */
bool multiples_are_regular(const decimal *of);

#endif
