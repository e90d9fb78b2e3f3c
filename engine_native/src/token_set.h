/* token_set.h - sets of tokens that a grammar names as units, by id or by text. */
#ifndef STE_TOKEN_SET_H
#define STE_TOKEN_SET_H

#include "expr.h"

typedef struct token_set {
    uint32_t *bits;
} token_set;

token_set token_set_new(builder *b);
/* Every token with this text; false if there is none. */
bool token_set_add_text(builder *b, token_set *s, const char *text, size_t n);
/* lo..hi; false if hi is no token of the vocabulary. */
bool token_set_add_range(builder *b, token_set *s, uint32_t lo, uint32_t hi);
/* One token of s, or one that is not in it; a token without bytes is none. */
expr *token_set_expr(builder *b, const token_set *s, bool wanted);

#endif
