/* front.h - the front ends: each reads one kind of text into a builder and sets its root.
 * All leave through the builder's escape point on bad input; the error carries
 * a JSON pointer or a byte offset. */
#ifndef STE_FRONT_H
#define STE_FRONT_H

#include "expr.h"
#include "json.h"

void schema_front(builder *b, const char *text, size_t n, int whitespace);
void tag_front(builder *b, const char *text, size_t n, int whitespace);
void regex_front(builder *b, const char *text, size_t n);
void ebnf_front(builder *b, const char *text, size_t n, const char *root);
void choice_front(builder *b, const char *text, size_t n);

/* For the structural tag: a schema that stands inside another JSON text, and a regular expression. */
typedef struct schema_context schema_context;
schema_context *schema_context_new(builder *b, int whitespace);
expr *schema_expr(schema_context *c, const json *schema);
/* Is this schema sure to give a rule, whatever its details are?  (schema_plain.c) */
bool schema_plain(const json *schema);
expr *regex_expr(builder *b, const char *text, size_t n, const json *place);

/* Texts in which a pattern matches: deterministic, trimmed and minimised, over code points (0 .. UTF8_MAX without the
 * surrogates); NULL if there are none.  search: a part of the text matches; else the whole text.
 * Escapes with an offset into the pattern. */
fsm *regex_text_automaton(builder *b, const char *pattern, size_t n, bool search);

#endif
