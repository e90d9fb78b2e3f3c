/* regions.h - parts of the token trie that runs of certain characters lead to (regions.c).
 *
 * Immutable once they are published; kept with the vocabulary, which frees them. */
#ifndef STE_REGIONS_H
#define STE_REGIONS_H

#include "vocab.h"

typedef struct region_node {
    uint32_t node;      /* of the trie */
    uint32_t size : 24; /* nodes of the region below it, itself included */
    uint32_t byte : 8;
    bool inside;
    uint32_t first, last; /* the tokens inside at it and below */
} region_node;

typedef struct region region;
struct region {
    region *next;
    uint32_t root, n_nodes, n_tokens;
    uint32_t *tokens;
    uint32_t *row; /* all of them, or NULL if they are few */
    region_node nodes[];
};

#define REGION_SLOTS 64

/* Those of a kind of characters. */
struct regions {
    regions *next;
    char_kind of;
    uint64_t outside; /* classes of other bytes */
    _Atomic(region *) slots[REGION_SLOTS]; /* by root */
};

/* NULL when out of memory, or when there are too many kinds. */
const regions *vocab_regions(ste_vocab *v, const char_kind *of);
/* NULL when out of memory. */
const region *region_below(const ste_vocab *v, const regions *of, uint32_t root);

/* Where a trie node is. */
typedef struct region_part {
    const region *in; /* NULL: in none */
    uint32_t at;      /* its node there ... */
    bool whole;       /* ... or the last one before it: all below the trie node is inside */
} region_part;
region_part region_find(const ste_vocab *v, const regions *of, uint32_t node);

#endif
