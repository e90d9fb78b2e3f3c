/* cover.h - the runs of characters that a set takes for the sake of one of its items (cover.c). */
#ifndef STE_COVER_H
#define STE_COVER_H

#include "regions.h"
#include "store.h"

#define COVER_ANY UINT32_MAX

struct cover {
    const regions *chars; /* NULL: none */
    uint32_t n;           /* how many of ASCII the first one may be */
    byteset first;        /* bytes with which the run may begin ... */
    bool any;             /* ... which are those of all the characters */
    bool ends;            /* the rule may be complete on the way, or others join in */
    uint32_t sure;        /* every run of at most so many characters is taken (COVER_ANY: of more than regions hold) ... */
    uint32_t most;        /* ... and no run of more than so many; COVER_ANY: not known */
};

/* Of the item that covers most, by runs as long as regions hold.  Found once per set; thorough: in larger rules too.
 * NULL: failed, see use. */
const cover *set_cover(use *u, set *at, bool thorough);
/* What one of its items covers, with what its register leaves.  False: failed. */
bool item_cover(use *u, const item *it, cover *out);
/* Is it better walked as a whole than item by item: may a rule end anywhere in a run, or are there many?  Negative:
 * failed. */
int set_is_open(use *u, const set *at);

#endif
