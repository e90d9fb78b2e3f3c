/* front.h - the front ends: each reads one kind of text into a builder and sets its root.
 * All leave through the builder's escape point on bad input; the error carries
 * a JSON pointer or a byte offset. */
#ifndef STE_FRONT_H
#define STE_FRONT_H

#include "expr.h"
#include "source.h"

/* documents: NULL, or the JSON text of an object of schemas by URI. */
void schema_front(builder *b, const char *text, size_t n, int whitespace, const char *documents);
void tag_front(builder *b, const char *text, size_t n, int whitespace);
void regex_front(builder *b, const char *text, size_t n);
void ebnf_front(builder *b, const char *text, size_t n, const char *root);
/* start: NULL is "start"; grammars: NULL, or the JSON text of an object of grammars by name. */
void lark_front(builder *b, const char *text, size_t n, const char *start, const char *grammars);
void choice_front(builder *b, const char *text, size_t n);

/* For the structural tag: a schema that stands inside another JSON text, and a regular expression. */
typedef struct schema_context schema_context;
schema_context *schema_context_new(builder *b, int whitespace);
expr *schema_expr(schema_context *c, const json *schema);
/* Is this schema sure to give a rule, whatever its details are?  (schema_plain.c) */
bool schema_plain(const json *schema);
expr *regex_expr(builder *b, const char *text, size_t n, const json *place);
/* Grammars as parts of other texts: what the start rule of s matches.  Rules of s are new rules of b. */
expr *ebnf_expr(builder *b, const source *s, const char *root);
expr *lark_expr(builder *b, const source *s, const char *start, const json *grammars);

/* Texts in which a pattern matches: deterministic, trimmed and minimised, over code points (0 .. UTF8_MAX without the
 * surrogates); NULL if there are none.  search: a part of the text matches; else the whole text.
 * Escapes with an offset into the pattern. */
fsm *regex_text_automaton(builder *b, const char *pattern, size_t n, bool search);
/* The same of a pattern that is a JSON string, for whole matches; errors name the string. */
fsm *regex_text_at(builder *b, const json *pattern);

/* A regular expression that is one part of a grammar.  It is read as docs/REGEX.md says, but i is about ASCII letters,
 * the dot matches all but "\n", and what looks past its own text is refused. */
typedef struct regex_part {
    const char *text;
    size_t n;
    const source *around; /* the grammar; the pattern begins at byte `at` of it ... */
    size_t at;
    bool verbatim;        /* ... without escapes of the grammar's own: place k of one is at + k of the other */
    bool ignore_case, dot_all, unicode; /* flags i, s, u */
} regex_part;

expr *regex_part_expr(builder *b, const regex_part *p);
/* Does it hold a repeat that takes as little as it can, and no assertions? */
bool regex_part_is_lazy(builder *b, const regex_part *p);
/* The pattern and then a text of rest (over code points), such repeats being taken at their word. */
fsm *regex_part_before(builder *b, const regex_part *p, fsm *rest);
/* The same over code points: deterministic, trimmed and minimised; NULL if nothing matches. */
fsm *regex_part_automaton(builder *b, const regex_part *p);
/* An automaton over code points as UTF-8. */
expr *text_automaton_expr(builder *b, const fsm *f);

#endif
