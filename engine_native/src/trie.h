/* trie.h - token byte strings as a byte trie, flat in memory.
 *
 * Nodes are stored in pre-order, so "skip this subtree" is one addition and a
 * walk needs no stack of pointers.  Tokens 0:"a" 1:"ab" 2:"b" become
 *
 *      index   byte  token  size          root
 *        0      -      -      4           /  \
 *        1      a      0      2         a:0  b:2
 *        2      b      1      1          |
 *        3      b      2      1         b:1
 *
 * Invariants:
 *   T1  the children of node i are i + 1 and then, repeatedly, c + size[c],
 *       until i + size[i] is reached;
 *   T2  children are in strictly rising byte order;
 *   T3  every token given to trie_build is on the chain of exactly one node:
 *       token, next_same[token], ... (tokens with equal bytes share a node).
 *
 * Cost: 8 bytes per node plus 4 per token; about two nodes per token. */
#ifndef STE_TRIE_H
#define STE_TRIE_H

#include "mem.h"

#define TRIE_NO_TOKEN UINT32_MAX

typedef struct trie_node {
    uint32_t size : 24; /* nodes of the subtree, this one included */
    uint32_t byte : 8;
    uint32_t token; /* first token that ends here, or TRIE_NO_TOKEN */
} trie_node;

typedef struct trie {
    trie_node *nodes;
    uint32_t n_nodes, n_next;
    uint32_t *next_same;  /* token -> next token with equal bytes, or TRIE_NO_TOKEN */
    uint32_t child[256];  /* of the root; 0 is none */
    uint32_t max_length;  /* bytes of the longest token */
} trie;

/* ids: tokens to insert, none empty; n_tokens sizes next_same. */
int trie_build(trie *t, const ste_allocator *a, const uint8_t *bytes, const uint64_t *offsets, const uint32_t *ids,
               uint32_t n_ids, uint32_t n_tokens, ste_error *err);
void trie_free(trie *t, const ste_allocator *a);

/* The token with exactly these bytes, or the longest one that is a prefix of
 * them (*length tells); TRIE_NO_TOKEN if there is none. */
uint32_t trie_longest_prefix(const trie *t, const uint8_t *s, size_t n, size_t *length);

#endif
