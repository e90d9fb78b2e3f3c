/* cover.h - the runs of characters that a set takes for the sake of one of its items (cover.c). */
#ifndef STE_COVER_H
#define STE_COVER_H

#include "regions.h"
#include "store.h"

struct cover {
    const regions *chars; /* NULL: none */
    uint32_t n;           /* how many the first one may be */
    byteset first;        /* bytes with which the run may begin ... */
    bool any;             /* ... which are those of all the characters */
    bool ends;            /* the rule may be complete on the way */
};

/* Of the item that covers most.  Computed once per set; NULL: failed, see use. */
const cover *set_cover(use *u, set *at);
/* Is it better walked as a whole than item by item: may a rule end anywhere in a run, or are there many?  Negative:
 * failed. */
int set_is_open(use *u, const set *at);

#endif
