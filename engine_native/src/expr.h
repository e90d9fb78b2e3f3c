/* expr.h - grammar expressions: what the front ends say, before automata.
 *
 * A front end (schema, tag, regex, ebnf, choice) fills a builder with numbered
 * rules, each an expression over bytes, code points, tokens and other rules.
 * builder_finish turns every rule into a trimmed, minimised automaton:
 *
 *   expressions -> fsm with empty edges (Thompson) -> deterministic
 *     -> references to rules that match nothing removed -> minimised
 *
 * or, where that serves, at once (direct.h).
 *
 * A counted repeat that would be long when written out becomes a rule of its
 * own kind with bounds; the parser counts in a register (set.c).
 * Recursion over expressions is bounded by limits.depth of the text. */
#ifndef STE_EXPR_H
#define STE_EXPR_H

#include "fsm.h"
#include "vocab.h"

#define REPEAT_INFINITE UINT32_MAX

typedef struct expr expr;

typedef struct cp_range {
    uint32_t lo, hi;
} cp_range;

typedef struct dispatch_pattern {
    const uint32_t *symbols; /* bytes and SYM_TOKEN + id */
    uint32_t n;
    expr *then; /* what must follow; NULL: this pattern must not occur */
} dispatch_pattern;

typedef enum expr_kind {
    EXPR_EMPTY,
    EXPR_NEVER,
    EXPR_BYTES,
    EXPR_CLASS,
    EXPR_SEQUENCE,
    EXPR_CHOICE,
    EXPR_REPEAT,
    EXPR_RULE,
    EXPR_TOKEN,
    EXPR_ONCE,
    EXPR_FSM,
    EXPR_GRAPH,
    EXPR_DISPATCH,
} expr_kind;

struct expr {
    expr_kind kind;
    uint32_t size; /* automaton states, roughly; saturates */
    uint32_t n;
    union {
        const uint8_t *bytes;            /* BYTES: n of them */
        const cp_range *ranges;          /* CLASS: n ranges of code points */
        expr **parts;                    /* SEQUENCE, CHOICE: n of them */
        struct {
            expr *body;
            uint32_t min, max;
        } repeat;
        uint32_t id;                     /* RULE number; ONCE: MAX_ONCE is SYM_REQUIRED */
        struct {
            uint32_t lo, hi;             /* TOKEN: any one of these ids */
        } tokens;
        fsm *automaton;                  /* FSM: put in as it is */
        struct {
            fsm *shape;                  /* GRAPH: the symbols of its edges are numbers of labels */
            VEC(expr *) labels;
        } graph;
        struct {
            const dispatch_pattern *patterns; /* n of them */
            bool loop;                   /* after `then`, text again; else the end */
        } dispatch;
    } u;
};

typedef enum rule_kind {
    RULE_PLAIN,
    RULE_REPEAT,
    RULE_NAMED, /* stands for what a schema text says (names.c) */
    RULE_DISTINCT, /* a JSON array whose elements differ from each other (distinct.h) */
} rule_kind;

/* What a rule matches is a capture: a span of the text with a name.  name: NULL if it is none. */
typedef struct capture {
    const char *name;
    uint32_t n;    /* bytes of the name; a zero follows */
    uint32_t lead; /* bytes of the span that come before the rule: the trigger that led to it */
} capture;

/* How much a rule may match, whatever its automaton says.  0: no such bound.  A token counts if any byte of it is
 * matched; special tokens that are matched as units count nothing.  A reference to a rule stands for one character, and is
 * there only if tokens are not counted.  Wherever the automaton is, it must be able to go on
 * for as long as one likes if there is a least number; and with most_tokens to end after every character. */
typedef struct meter {
    uint32_t most_tokens, least_chars, most_chars;
} meter;

static inline bool meter_counts(const meter *m) { return m->most_tokens != 0 || m->least_chars != 0 || m->most_chars != 0; }

typedef struct draft_rule {
    rule_kind kind;
    capture capture;    /* PLAIN only */
    meter meter;        /* PLAIN only */
    expr *body;
    uint32_t min, max;  /* REPEAT, DISTINCT */
    uint32_t repeated;  /* REPEAT: the rule that is repeated; DISTINCT: the rule of an element */
    uint32_t values;    /* DISTINCT: elements have at least so many values; 0: that is not known */
    const struct json *place; /* DISTINCT: for errors */
    struct rule *named; /* NAMED: the store's rule */
    uint32_t begins;    /* NAMED: ASCII characters that its text may begin with, where somebody asks */
    const uint64_t *required; /* PLAIN: the onces that SYM_REQUIRED wants, a bit each; NULL: none */
    uint32_t required_words;
    fsm *automaton;     /* PLAIN: after builder_finish; NULL if the rule matches nothing */
    bool productive, nullable;
    bool never;         /* its automaton is empty whatever other rules match */
} draft_rule;

/* Rules of schema texts that outlive a compile (names.c); both pin the rule for the builder. */
typedef struct names {
    void *ctx;
    struct rule *(*find)(void *ctx, const char *text, size_t n, int whitespace);
    /* Not built yet; NULL when out of memory. */
    struct rule *(*add)(void *ctx, const char *text, size_t n, int whitespace);
    bool (*nullable)(const struct rule *r);
} names;

/* A schema text whose rule is in this builder: to be remembered under its name.  It must match something. */
typedef struct text_rule {
    uint32_t rule;
    const struct json *place;
    const char *text;
    size_t n;
    int whitespace;
} text_rule;

/* What must follow a place of a rule (ahead.h), and the pattern that wants it: errors name it. */
typedef struct ahead_condition {
    const fsm *automaton;
    const struct source *around;
    size_t at;
} ahead_condition;

typedef struct builder {
    work *w;
    const ste_vocab *vocab;
    const names *names; /* NULL: there are none */
    VEC(struct rule *) pinned;
    VEC(text_rule) texts;
    VEC(draft_rule) rules;
    VEC(const char *) notes;
    VEC(ahead_condition) conditions; /* ahead.h */
    fsm *fixed_strings; /* json_text.c: made once */
    bool met_others;    /* json_others.c */
    uint32_t escapes;   /* json_text.h: of JSON strings; 0: all */
    bool looks;         /* some pattern of a grammar may look at what follows it (ahead.h) */
    uint32_t root;
    const struct json *empty; /* the first schema that no value satisfies, for the error if that leaves nothing at all */
} builder;

void builder_init(builder *b, work *w, const ste_vocab *vocab);
void builder_note(builder *b, const char *format, ...) STE_PRINTF(2, 3);

uint32_t rule_new(builder *b);
void rule_set(builder *b, uint32_t rule, expr *body);
uint32_t rule_of(builder *b, expr *body); /* new + set */
/* The rule of a schema text that is known; NULL if none is. */
expr *expr_named(builder *b, const char *text, size_t n, int whitespace);
/* ... or one that is built when it is needed: for a text that is sure to give a rule. */
expr *expr_to_name(builder *b, const char *text, size_t n, int whitespace);

/* A rule that many grammars have, made once for all of them. */
typedef struct shared_rule {
    const char *name;                   /* begins with SHARED */
    fsm *(*make)(work *w, int variant); /* its automaton; not empty */
    uint32_t begins;                    /* as in draft_rule */
} shared_rule;
#define SHARED '\1' /* no schema text begins so */
#define OTHERS '\2' /* nor so: json_others.c */
expr *expr_shared(builder *b, const shared_rule *r, int variant);
/* The same in two steps, for names with n bytes: expr_named, and where it gives NULL this, with the rule's expression. */
expr *expr_share(builder *b, const char *name, size_t n, int variant, expr *rule);

expr *expr_empty(builder *b);
expr *expr_never(builder *b);
expr *expr_bytes(builder *b, const void *bytes, size_t n);
expr *expr_text(builder *b, const char *text); /* zero-terminated bytes */
/* Bytes in which the text of a special token stands for that token. */
expr *expr_literal(builder *b, const void *bytes, size_t n);
/* One token of lo..hi, whatever its bytes. */
expr *expr_tokens(builder *b, uint32_t lo, uint32_t hi);
/* Nothing, but only once in a match of the rule that this expression stands in (not of one inside it); and
 * nothing, but only after those that the rule requires (draft_rule.required). */
expr *expr_once(builder *b, uint32_t which);
expr *expr_required(builder *b);
expr *expr_class(builder *b, const cp_range *ranges, uint32_t n);
expr *expr_sequence(builder *b, expr *const *parts, uint32_t n);
expr *expr_pair(builder *b, expr *first, expr *second);
expr *expr_choice(builder *b, expr *const *parts, uint32_t n);
expr *expr_repeat(builder *b, expr *body, uint32_t min, uint32_t max);
expr *expr_optional(builder *b, expr *body);
/* open (element (separator element)*)? close with min to max elements, no two of them equal as JSON values; without
 * elements, if min is 0, the end is `shut`.  values: elements have so many; 0 if that is not known. */
typedef struct distinct_list {
    expr *open, *separator, *close, *shut, *element;
    uint32_t min, max, values;
    const struct json *place;
} distinct_list;
expr *expr_distinct(builder *b, const distinct_list *list);
expr *expr_rule(builder *b, uint32_t rule);
expr *expr_fsm(builder *b, fsm *automaton);
/* An automaton whose edges are expressions.  It begins in state 0 and ends in state 1; others, and empty edges, are
 * added to u.graph.shape. */
expr *expr_graph(builder *b);
void graph_edge(builder *b, expr *graph, uint32_t from, expr *label, uint32_t to);
/* A rule of its own for body, whose span is reported (capture.h). */
expr *expr_capture(builder *b, expr *body, capture c);
/* A rule of its own for body, within limits. */
expr *expr_metered(builder *b, expr *body, meter m);
expr *expr_dispatch(builder *b, const dispatch_pattern *patterns, uint32_t n, bool loop);

/* Symbols of a literal (special tokens as units); returns their number. */
uint32_t literal_symbols(builder *b, const void *bytes, size_t n, const uint32_t **symbols);

/* A rule that is only another rule's name stands for that one (a cycle of names matches nothing either way). */
uint32_t rule_aliased(const builder *b, uint32_t rule);
static inline uint32_t once_symbol(uint32_t which) { return which == MAX_ONCE ? SYM_REQUIRED : SYM_ONCE + which; }
/* Add the automaton of e between two states of f. */
void expr_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to);
/* The automaton of e by itself: deterministic, unless that takes too much. */
fsm *expr_automaton(builder *b, const expr *e);
/* A pattern that can never come about: `by`, another one, is part of it and completes first, or is the same. */
typedef struct dispatch_clash {
    uint32_t pattern, by;
} dispatch_clash;
bool dispatch_clashes(builder *b, const dispatch_pattern *patterns, uint32_t n, dispatch_clash *out);
/* dispatch.c: free text (valid UTF-8) in which the first pattern to complete decides. */
void dispatch_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to);

/* Automata for all rules; escapes with `code` if the root matches nothing. */
void builder_finish(builder *b, int code);

#endif
