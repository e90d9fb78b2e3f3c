/* unicode_data.h - packed Unicode tables; unicode.h is their reader.
 *
 * A property is a list of ranges of code points, packed as pairs of numbers
 * (gap since the end of the last range, length - 1), seven bits a byte, low bits
 * first, the high bit saying that more follow.  Names are sorted, in lower case
 * without separators, and begin with their kind:
 *
 *   g: general category   s: Script   x: Script_Extensions   b: binary property
 *   c: w: n: Grapheme_Cluster_Break, Word_Break, Sentence_Break
 *
 * Case folding is cycles: a letter -> the next one that folds to the same, as
 * runs of letters with the same distance to their next. */
#ifndef STE_UNICODE_DATA_H
#define STE_UNICODE_DATA_H

#include <stdint.h>

typedef struct unicode_name {
    const char *name;
    uint32_t offset, n_ranges;
} unicode_name;

typedef struct unicode_run {
    uint32_t lo, hi, stride;
    int32_t delta;
} unicode_run;

extern const uint8_t unicode_packed[];
extern const unicode_name unicode_names[];
extern const uint32_t unicode_n_names;
extern const unicode_run unicode_runs[];
extern const uint32_t unicode_n_runs;

#endif
