/* small.h - vocabularies and grammars that are small enough to be judged slowly.
 *
 *   tape --grow.c--> small_vocab, small_grammar --spell.c--> text for the engine
 *                                               --judge.c--> is this a text? the beginning of one?
 *
 * A text is a sequence of symbols: bytes, and special tokens.  Special tokens
 * with equal text are one symbol, that of the first.
 *
 * A grammar is a graph of nodes.  `parts` come before the nodes that use them,
 * except those of a NODE_RULE, so only rules recur. */
#ifndef SMALL_H
#define SMALL_H

#include "tape.h"

/* ---- vocabularies ---- */

enum { MOST_TOKENS = 72, MOST_TOKEN_BYTES = 40, MOST_STOPS = 4 };

typedef struct small_vocab {
    uint32_t n, size; /* tokens; ids in a mask */
    uint8_t bytes[MOST_TOKENS * MOST_TOKEN_BYTES];
    uint64_t offsets[MOST_TOKENS + 1];
    uint32_t special[MOST_TOKENS], stop[MOST_STOPS];
    uint32_t n_special, n_stop;
    bool is_special[MOST_TOKENS];
} small_vocab;

static inline uint32_t token_length(const small_vocab *v, uint32_t t) { return (uint32_t)(v->offsets[t + 1] - v->offsets[t]); }
static inline const uint8_t *token_text(const small_vocab *v, uint32_t t) { return v->bytes + v->offsets[t]; }

/* ---- symbols ---- */

typedef uint16_t symbol; /* a byte, or TOKEN + id */
enum { TOKEN = 256 };

/* A special token as a symbol. */
symbol special_symbol(const small_vocab *v, uint32_t token);
/* A literal as symbols: from left to right, the longest text of a special token is that token.  Returns their number. */
uint32_t literal_read(const small_vocab *v, const uint8_t *bytes, uint32_t n, symbol *out);

/* ---- grammars ---- */

enum { MOST_NODES = 128, MOST_PARTS = 4, MOST_LITERAL = 24, MOST_RANGES = 3, MOST_ENDS = 8, MOST_RULES = 6 };
#define WITHOUT_END UINT32_MAX

typedef enum node_kind {
    NODE_LITERAL,   /* bytes */
    NODE_CLASS,     /* one character in (negated: not in) ranges */
    NODE_SEQUENCE,  /* parts */
    NODE_CHOICE,    /* parts */
    NODE_REPEAT,    /* parts[0], min to max times */
    NODE_RULE,      /* rules[min] of the grammar */
    NODE_TEXT,      /* free text, UTF-8 without special tokens, in which no `ends` occur */
    NODE_TAG,       /* begin, content, end: parts, the end a choice of literals */
    NODE_TRIGGERED, /* free text with tags (parts) in it, each after its trigger */
} node_kind;

typedef struct node {
    node_kind kind;
    uint32_t n; /* bytes of a literal, ranges, parts */
    uint8_t bytes[MOST_LITERAL];
    symbol symbols[MOST_LITERAL];
    uint32_t n_symbols;
    struct {
        uint32_t lo, hi;
    } ranges[MOST_RANGES];
    bool negated;
    uint32_t parts[MOST_PARTS];
    uint32_t min, max; /* max may be WITHOUT_END */
    /* TEXT and TRIGGERED: literals that must not occur; the last `inherited` come from the tag around. */
    uint32_t ends[MOST_ENDS], n_ends, inherited;
    /* TRIGGERED */
    uint32_t triggers[MOST_PARTS]; /* literal nodes; that of parts[i] is triggers[of[i]] */
    uint32_t n_triggers, of[MOST_PARTS];
    bool at_least_one, stop_after_first;
    bool productive; /* matches something */
} node;

typedef struct small_grammar {
    const small_vocab *vocab;
    node nodes[MOST_NODES];
    uint32_t n, root;
    uint32_t rules[MOST_RULES], n_rules; /* nodes */
} small_grammar;

/* ---- grow.c ---- */

void vocab_grow(tape *t, small_vocab *v);
/* What kind of text is to be spelled: each has its own limits. */
typedef enum spelling { SPELL_EBNF, SPELL_REGEX, SPELL_CHOICE, SPELL_TAG } spelling;
void grammar_grow(tape *t, small_grammar *g, const small_vocab *v, spelling how);
/* The same rules with another root, which is one of them. */
void grammar_reroot(small_grammar *g, uint32_t rule);

/* ---- spell.c ---- */

enum { MOST_TEXT = 1 << 16 };
/* Growing text; what does not fit is lost and `full` set. */
typedef struct page {
    char *at;
    uint32_t n;
    bool full;
} page;

void page_print(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grammar_spell(const small_grammar *g, spelling how, page *out);
/* A JSON Schema, straight from the tape; or a structural tag with schemas in it. */
void schema_spell(tape *t, page *out);
void schema_tag_spell(tape *t, page *out);

/* ---- judge.c ---- */

enum { MOST_SYMBOLS = 56 };
typedef struct verdict {
    bool whole; /* the grammar matches the text */
    bool open;  /* it matches some text that begins like this one */
} verdict;
/* Is there a character in this class? */
bool class_matches(const node *e);
/* n <= MOST_SYMBOLS. */
verdict judge(const small_grammar *g, const symbol *text, uint32_t n);

#endif
