/* vocab.h - the token table: bytes of each token, special and stop marks, the
 * trie of ordinary tokens and the trie of special tokens' texts.
 * Immutable after ste_vocab_new; reference counted. */
#ifndef STE_VOCAB_H
#define STE_VOCAB_H

#include <stdatomic.h>

#include "bits.h"
#include "trie.h"

struct ste_vocab {
    ste_allocator allocator;
    _Atomic uint32_t references;
    uint32_t n_tokens, size, words; /* size >= n_tokens; words of a mask row */
    uint8_t *bytes;
    uint64_t n_bytes;
    uint64_t *offsets;   /* n_tokens + 1 */
    uint32_t *special;   /* bit row */
    uint32_t *stop;      /* ids */
    uint32_t n_stop;
    trie ordinary;       /* tokens that match through their bytes */
    trie specials;       /* texts of special tokens */
};

ste_vocab *vocab_retain(ste_vocab *v);

#endif
