/* lark.h - Lark grammars: the tree that the reader makes and the lowering takes.
 *
 *   lark_scan.c -> lark_parse.c (lark_param.c, lark_common.c, lark_library.c) -> lark_check.c
 *     -> lark_lower.c (lark_terminal.c, lark_dispatch.c) -> expressions
 *
 * A *scope* is one grammar: its definitions and what it ignores between
 * lexemes.  %lark { ... } makes a scope inside another.  A *lexeme* is a
 * terminal, string, range or pattern where it stands in a rule; ignored text
 * may follow each.  There is no separate lexer: a rule matches any text that
 * can be cut into its lexemes.  docs/GRAMMARS.md has the dialect.
 *
 * Depth of trees is bounded by limits.depth: recursion over a tree is safe. */
#ifndef STE_LARK_H
#define STE_LARK_H

#include "front.h"
#include "substring.h"
#include "token_set.h"

typedef struct lark_scope lark_scope;
typedef struct lark_reader lark_reader;
typedef struct lark_library lark_library;
typedef struct lark_node lark_node;

/* ---- parameters of rules: name::value, %if condition (lark_param.c) ---- */

typedef enum lark_param_kind {
    PARAM_NONE, PARAM_SELF, PARAM_VALUE, PARAM_SET_BIT, PARAM_CLEAR_BIT, PARAM_AND, PARAM_OR, PARAM_INCR, PARAM_DECR,
} lark_param_kind;

typedef struct lark_param {
    lark_param_kind kind;
    uint32_t from, to; /* bits from .. to - 1 */
    uint64_t value;
} lark_param;

typedef struct lark_condition lark_condition;
struct lark_condition {
    uint32_t which; /* in the table of lark_param.c */
    uint32_t from, to;
    uint64_t value;
    const lark_condition *left, *right;
};

/* ---- trees ---- */

typedef enum lark_kind {
    LARK_TEXT,
    LARK_RANGE,
    LARK_REGEX,
    LARK_NAME,
    LARK_SEQUENCE,
    LARK_CHOICE,
    LARK_REPEAT,
    LARK_BOTH, /* a & b */
    LARK_NOT,
    LARK_GUARD, /* part %if condition */
    LARK_JSON,
    LARK_SUBSTRING,
    LARK_TOKENS,
    LARK_GRAMMAR, /* %lark { ... }, @name */
} lark_kind;

struct lark_node {
    lark_kind kind;
    size_t at;  /* in the text */
    uint32_t n; /* parts, arguments, chunks, bytes */
    union {
        struct {
            const char *bytes;
            bool ignore_case;
        } text;
        struct {
            uint32_t lo, hi;
        } range;
        regex_part regex;
        struct {
            const char *name; /* n bytes */
            lark_node **arguments;
            uint32_t n_arguments;
            lark_param param;
        } name;
        lark_node **parts; /* SEQUENCE, CHOICE, BOTH: n of them */
        struct {
            lark_node *body;
            uint32_t min, max;
        } repeat;
        lark_node *negated;
        struct {
            lark_node *body;
            const lark_condition *condition;
        } guard;
        const json *schema;
        const chunk *chunks;
        struct {
            token_set set;
            bool negated;
        } tokens;
        lark_scope *grammar;
    } u;
};

/* ---- definitions ---- */

typedef struct lark_attributes {
    bool lazy;
    const char *capture, *stop_capture; /* zero-terminated; NULL: none */
    lark_node *end;                     /* of suffix= or stop=; NULL: none */
    uint32_t max_chars;                 /* REPEAT_INFINITE: any number */
} lark_attributes;

typedef struct lark_definition {
    const char *name;
    size_t n, at;
    bool terminal, parametric;
    bool declared;  /* by %declare: no body */
    const char **parameters; /* of a template, n_parameters of them, zero-terminated */
    uint32_t n_parameters;
    lark_attributes attributes;
    lark_node *body;
    uint8_t state, laziness; /* of a terminal: lark_terminal.c */
    expr *lowered;           /* where it is part of another terminal ... */
    expr *whole;             /* ... and where it is a lexeme, if that is not the same; NULL: not made yet */
} lark_definition;

struct lark_scope {
    VEC(lark_definition) definitions;
    uint32_t *table, mask; /* by name -> definition + 1 */
    VEC(lark_node *) ignored;
    bool initial_skip, skip_once;
    size_t at;
    lark_reader *reader; /* of the text it stands in */
    const char *start;   /* the name of its start rule */
    expr *skip; /* once lowered: what may follow a lexeme; NULL: nothing */
};

/* ---- the reader ---- */

typedef enum lark_token_kind {
    TOKEN_END, TOKEN_NEWLINE, TOKEN_RULE, TOKEN_TERMINAL, TOKEN_TEXT, TOKEN_REGEX, TOKEN_NUMBER, TOKEN_SPECIAL,
    TOKEN_REFERENCE, TOKEN_DIRECTIVE, TOKEN_ARROW, TOKEN_DOTS, TOKEN_COLONS, TOKEN_MARK,
} lark_token_kind;

typedef struct lark_token {
    lark_token_kind kind;
    char mark;          /* MARK: the character */
    bool ignore_case;   /* TEXT */
    size_t at, end;     /* in the text */
    const char *text;   /* TEXT: decoded; others: as written */
    size_t n;
    uint64_t number;
} lark_token;

struct lark_reader {
    builder *b;
    source source;
    const uint8_t *s;
    size_t n, at;
    uint32_t nesting;   /* brackets around: line ends say nothing there */
    uint32_t depth;
    lark_token token;   /* the current one */
    schema_context *schemas;
    lark_library *others;
    uint32_t *around;   /* how deep grammars are nested in this one, so far; NULL: nobody asks */
};

STE_NORETURN void lark_bad(const lark_reader *r, size_t at, int code, const char *format, ...) STE_PRINTF(4, 5);

/* lark_scan.c */
void lark_next(lark_reader *r);
bool lark_is(const lark_reader *r, char mark);
bool lark_take(lark_reader *r, char mark);
void lark_expect(lark_reader *r, char mark, const char *what);
bool lark_is_word(const lark_token *t, const char *word);
/* The JSON value after the current token, which becomes the token after it. */
const json *lark_json(lark_reader *r);

/* lark_parse.c: a whole text, or (nested) up to a '}'. */
lark_scope *lark_parse(lark_reader *r, bool nested, const char *start);
/* A whole text from its beginning, checked. */
lark_scope *lark_read(lark_reader *r, const char *start);
lark_node *lark_node_new(lark_reader *r, lark_kind kind, size_t at);
lark_node *lark_list(lark_reader *r, lark_kind kind, size_t at, lark_node *const *parts, uint32_t n);
lark_definition *lark_find(const lark_scope *s, const char *name, size_t n);
/* Escapes if the name is taken. */
lark_definition *lark_define(lark_reader *r, lark_scope *s, const char *name, size_t n, size_t at);
lark_node *lark_expansions(lark_reader *r);

/* lark_item.c: attributes, directives */
lark_attributes lark_read_attributes(lark_reader *r, const char *name, bool parametric);
void lark_directive(lark_reader *r, lark_scope *s);
/* At %regex. */
lark_node *lark_structured_regex(lark_reader *r);
/* At <...>. */
lark_node *lark_special(lark_reader *r);

/* lark_param.c */
lark_param lark_read_param(lark_reader *r);
const lark_condition *lark_read_condition(lark_reader *r);
uint64_t lark_param_value(const lark_param *p, uint64_t self);
bool lark_holds(const lark_condition *c, uint64_t self);

/* lark_common.c: the pattern of a terminal of the library "common"; NULL if it has none of this name. */
const char *lark_common(const char *name, size_t n);

/* lark_library.c: grammars by name (a JSON object, or NULL), and those of a list. */
lark_library *lark_library_new(builder *b, const json *grammars);
void lark_library_add_list(builder *b, lark_library *l, const json *top);
/* The first grammar; what @name, a token, means; those that nobody has asked for, for the sake of their mistakes. */
lark_scope *lark_library_first(builder *b, lark_library *l);
lark_scope *lark_named_grammar(lark_reader *r, const lark_token *t);
void lark_library_read_all(builder *b, lark_library *l);

/* lark_check.c: names, references, terminals, of a scope and those inside it. */
void lark_check(lark_reader *r, const lark_scope *s);

/* ---- lowering ---- */

/* What names stand for inside an instance of a rule. */
typedef struct lark_environment lark_environment;
typedef struct lark_binding {
    const char *name;
    const lark_node *node;
    const lark_environment *in; /* names in node */
    const char *key;            /* the node, spelled so that equal arguments are equal */
} lark_binding;
struct lark_environment {
    lark_scope *scope;
    const lark_binding *bindings;
    uint32_t n_bindings;
    bool parametric;
    uint64_t self;
};

typedef struct lark_instance {
    lark_definition *definition;
    const char *key;
    const lark_environment *environment;
    uint32_t rule;
} lark_instance;

typedef struct lark_lowering {
    lark_reader *r; /* of the scope at hand */
    builder *b;
    VEC(lark_instance) instances; /* rules in the order in which they were met; lowered one by one */
    uint32_t *table, mask;
} lark_lowering;

/* lark_lower.c */
expr *lark_lower_scope(lark_lowering *l, lark_scope *s);
expr *lark_lower_part(lark_lowering *l, const lark_node *node, const lark_environment *in);
/* e as a lexeme: ignored text may follow. */
expr *lark_lexeme(lark_lowering *l, const lark_scope *s, expr *e);
/* lark_terminal.c: a tree without rules, as an expression; the lexeme of a rule with attributes. */
expr *lark_terminal(lark_lowering *l, lark_scope *s, const lark_node *node);
/* The same where nothing of the terminal follows. */
expr *lark_whole_terminal(lark_lowering *l, lark_scope *s, const lark_node *node);
expr *lark_attributed(lark_lowering *l, lark_scope *s, const lark_definition *d);
bool lark_has_end(const lark_attributes *a); /* the body is matched as a terminal */
/* lark_dispatch.c: the start rule as text with triggers; NULL if it has another shape. */
expr *lark_dispatch(lark_lowering *l, lark_scope *s, const lark_definition *start, const lark_environment *in);

#endif
