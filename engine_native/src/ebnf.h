/* ebnf.h - what the parts of the EBNF reader share: ebnf_text.c, ebnf_macro.c, ebnf.c. */
#ifndef STE_EBNF_H
#define STE_EBNF_H

#include "front.h"

typedef struct named_rule {
    const char *name;
    size_t n;
    uint32_t rule;
    size_t used_at;
    bool defined;
} named_rule;

/* name[lazy, max_chars=N, capture="x"] */
typedef struct rule_options {
    size_t at;
    const char *name; /* of the rule, zero-terminated */
    const char *capture;
    uint32_t max_chars;
    bool lazy;
} rule_options;

typedef struct optional_rule {
    uint32_t rule;
    rule_options options;
} optional_rule;

typedef struct ebnf_reader {
    builder *b;
    source source;
    const uint8_t *s;
    size_t n, at;
    uint32_t depth;
    bool ahead; /* inside (= ... ) */
    VEC(named_rule) rules;
    VEC(optional_rule) optional; /* rules with options, which are applied last */
    uint32_t *table, mask;       /* by name -> rules index + 1 */
} ebnf_reader;

/* ---- ebnf_text.c ---- */

STE_NORETURN void ebnf_bad(const ebnf_reader *r, const char *what); /* STE_ERR_SYNTAX here */
STE_NORETURN void ebnf_bad_at(const ebnf_reader *r, size_t at, int code, const char *what);

static inline uint8_t ebnf_peek(const ebnf_reader *r) { return r->at < r->n ? r->s[r->at] : 0; }
bool ebnf_take(ebnf_reader *r, char c);
void ebnf_skip(ebnf_reader *r); /* blanks and comments */
size_t ebnf_name_length(const ebnf_reader *r, size_t at);
uint32_t ebnf_count(ebnf_reader *r);
uint32_t ebnf_character(ebnf_reader *r);
/* After the opening quote; in the arena, with a zero after it. */
char *ebnf_string(ebnf_reader *r, size_t *n);
/* The rule of this name, made where it is first met. */
named_rule *ebnf_rule(ebnf_reader *r, const char *name, size_t n, size_t at);
/* After a rule's name, which is given: [options]. */
rule_options ebnf_options(ebnf_reader *r, const char *name, size_t n);

/* ---- ebnf_macro.c ---- */

/* At a name that a '(' follows: the macro of that name, or NULL. */
expr *ebnf_macro(ebnf_reader *r);
/* At < or !<: one token, or any other one. */
expr *ebnf_token(ebnf_reader *r);

#endif
