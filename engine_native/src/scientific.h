/* scientific.h - numbers with one digit before the point and an exponent, between bounds.
 *
 * A mantissa of any form and an exponent cannot be compared with a bound by an
 * automaton.  With one digit, not 0, before the point they can: the number is
 * below the bound b0.b1b2... * 10^E if its exponent is below E, or is E and its
 * mantissa is below b0.b1b2...  This is how JSON writers spell large and small
 * numbers. */
#ifndef STE_SCIENTIFIC_H
#define STE_SCIENTIFIC_H

#include "decimal.h"

/* Exponents beyond it are not offered: readers with binary floating point would take such numbers for 0 or infinite. */
#define LARGEST_EXPONENT 300
/* The largest power of ten that is a binary floating point number of 64 bits. */
#define LARGEST_POWER 308

/* Append to f the unsigned spellings between the bounds, which are of magnitude at least zero. */
void append_scientific(fsm *f, uint32_t from, const number_bound *low, const number_bound *high);

/* From the state `from`: the mark, and an exponent of lo .. hi, neither below 0. */
void append_exponent(fsm *f, uint32_t from, int32_t lo, int32_t hi);

#endif
