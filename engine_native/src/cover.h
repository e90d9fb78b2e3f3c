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
    bool ends;            /* the rule may be complete after any run, or almost */
};

/* Of the item that covers most.  Computed once per set; NULL: failed, see use. */
const cover *set_cover(use *u, set *at);
/* May a rule end anywhere in a run, so that its end tells nothing?  Negative: failed. */
int set_is_open(use *u, const set *at);

#endif
