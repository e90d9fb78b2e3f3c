/* vocab.h - the token table: bytes of each token, special and stop marks, the
 * trie of ordinary tokens and the trie of special tokens' texts.
 * Immutable after ste_vocab_new; reference counted. */
#ifndef STE_VOCAB_H
#define STE_VOCAB_H

#include <stdatomic.h>

#include "bits.h"
#include "trie.h"

/* Facts about ordinary tokens that settle many of them at once (loops.c).  All rows have `words` words. */
#define SHORT_CHARS 32

typedef struct token_index {
    uint32_t *containing[128];              /* tokens with this ASCII byte; NULL if there are none */
    uint32_t *whole;                        /* tokens that are valid UTF-8 from first to last byte */
    uint32_t *ascii;                        /* tokens of ASCII bytes only */
    uint32_t *up_to[SHORT_CHARS];           /* whole tokens of at most i characters */
    uint32_t *longer, *longer_chars;        /* the other whole tokens, most characters first */
    uint32_t n_longer;
    uint64_t *classes;                      /* per trie node: byte classes in its subtree, itself included */
} token_index;

/* The class of a byte: a bit of `classes`.  Bytes that grammars single out have a class of their own. */
uint64_t byte_class(uint32_t byte);
#define CLASS_NOT_WHOLE (UINT64_C(1) << 63) /* a token ends below that is not valid UTF-8 */

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
    token_index index;
};

ste_vocab *vocab_retain(ste_vocab *v);

#endif
