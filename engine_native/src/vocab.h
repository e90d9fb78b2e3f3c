/* vocab.h - the token table: bytes of each token, special and stop marks, the
 * trie of ordinary tokens and the trie of special tokens' texts.
 * Immutable after ste_vocab_new but for the lists of leavers and regions, which only
 * grow (compare and swap, no lock); reference counted.
 *
 * Size: the bytes, two tries (trie.h), 8 bytes per trie node for `classes`, and a
 * mask row for each ASCII byte that occurs and for each of up to SHORT_CHARS
 * lengths: 13 MB for 151,669 tokens. */
#ifndef STE_VOCAB_H
#define STE_VOCAB_H

#include <stdatomic.h>

#include "chars.h"
#include "trie.h"
#include "tuning.h"

/* Facts about ordinary tokens that settle many of them at once (loops.c).  All rows have `words` words. */
#define SHORT_CHARS PAYS_FROM(32, 3)

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
#define CLASS_LONG (UINT64_C(1) << 43)      /* ... that has more than SHORT_CHARS bytes */

/* A token, or a trie node that has children, with so many characters of a loop before its last byte. */
typedef struct departure {
    uint32_t at;
    uint32_t chars;
} departure;

/* Those with a last byte that is the first one not on the loop, and at least one character before it: n_tokens
 * tokens by chars, then n_nodes nodes by chars. */
typedef struct loop_exit {
    uint32_t n_tokens, n_nodes;
    departure at[];
} loop_exit;

/* A loop of characters: the tokens made of them, and those that leave it (leavers.c). */
typedef struct leavers leavers;
struct leavers {
    leavers *next;
    char_kind on; /* the loop; beyond ASCII all or none */
    uint32_t *staying; /* row of the tokens of loop characters only */
    departure *cut;    /* tokens of loop characters and the beginning of one, by chars */
    uint32_t n_cut;
    _Atomic(loop_exit *) exits[256]; /* by the byte; each is found when it is first asked for */
};

typedef struct regions regions; /* regions.h */

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
    _Atomic(leavers *) leavers; /* these grow; the rest never changes */
    _Atomic(regions *) regions;
};

ste_vocab *vocab_retain(ste_vocab *v);
/* Kept with the vocabulary; NULL when out of memory or when there are too many. */
const leavers *vocab_leavers(ste_vocab *v, const char_kind *on);
/* The tokens that leave the loop by a byte that is not on it; NULL when out of memory. */
const loop_exit *leavers_exit(const ste_vocab *v, const leavers *l, uint32_t byte);
/* Classes of bytes that are not the characters', or may be part of others; CLASS_NOT_WHOLE included. */
uint64_t classes_beside(const char_kind *of);
void leavers_free(ste_vocab *v);
void regions_free(ste_vocab *v);
/* The ASCII characters that stand for themselves inside a JSON string. */
void json_characters(byteset *ascii);

#endif
