/* tag.h - what the files of the structural tag share: the tagger, fields and their errors, ends, captures.
 *
 * A format is an object with a "type".  Its fields are listed in tag.c; any
 * other field is an error that names it.  A literal (const_string, begin, end,
 * trigger, separator) that spells a special token's text stands for that token.
 *
 * End exclusion.  What has no limit of its own - text, tokens - ends where the
 * nearest enclosing tag's `end` may begin.  So those ends must not occur in it:
 * they are passed down, strings to text and tokens to tokens, until another tag
 * takes over. */
#ifndef STE_TAG_H
#define STE_TAG_H

#include "front.h"

typedef struct ends {
    const json **at; /* strings, none empty, and tokens ({"type": "token", ...}) */
    uint32_t n;
} ends;

typedef struct style_context {
    int layout;
    schema_context *schemas;
} style_context;

typedef struct tagger {
    builder *b;
    const char *text; /* the whole, in which nodes have offsets */
    int layout;       /* of JSON, where the tag says nothing else */
    VEC(style_context) contexts;
} tagger;

/* ---- tag.c ---- */

expr *format_expr(tagger *t, const json *at, ends outer);
/* e, which is what the format `at` matches after its first `lead` bytes; under its name, if it has one. */
expr *captured(tagger *t, const json *at, expr *e, uint32_t lead);

/* ---- tag_field.c ---- */

STE_NORETURN void tag_bad(tagger *t, const json *at, const char *what);
/* Is it one of the words, which are parted by blanks? */
bool in_words(const char *words, const char *word, size_t n);
/* Every field of `at` is one of the words, "type", or, if it may be captured, "capture". */
void check_fields(tagger *t, const json *at, const char *type, const char *words, bool captures);
const json *field(tagger *t, const json *at, const char *name);
const json *text_field(tagger *t, const json *at, const char *name);
bool flag_field(tagger *t, const json *at, const char *name, bool otherwise);
const json *list_field(tagger *t, const json *at, const char *name, const char *what);
/* null and absence are REPEAT_INFINITE. */
uint32_t most_field(tagger *t, const json *at, const char *name);
/* The two parts of rule i of a dispatch: what leads to the format, and the format. */
const json *rule_pattern(tagger *t, const json *rules, uint32_t i);
const json *rule_format(const json *rules, uint32_t i);

expr *tag_literal(tagger *t, const json *text);
bool is_token(const json *at);

/* ---- tag_text.c ---- */

expr *any_text(tagger *t, const json *at, ends outer);
expr *dispatch(tagger *t, const json *at, ends outer);
/* Text in which trigger k leads to then[k] (NULL: it must not occur), without the strings of `excluded`. */
expr *triggered_text(tagger *t, const json *triggers, expr *const *then, ends excluded, bool loop);
/* The ends and the strings of a list. */
ends with_strings(tagger *t, ends outer, const json *list);

/* ---- tag_token.c ---- */

expr *one_token(tagger *t, const json *at, ends outer);
expr *exclude_token(tagger *t, const json *at, ends outer);
expr *any_tokens(tagger *t, const json *at, ends outer);
expr *token_triggered_tags(tagger *t, const json *at, ends outer);
expr *token_dispatch(tagger *t, const json *at, ends outer);

/* ---- tag_parts.c ---- */

typedef struct tag_parts {
    const json *at;
    const json *begin, *end_node;
    expr *content, *end;
} tag_parts;

tag_parts read_tag(tagger *t, const json *at);
tag_parts *read_tags(tagger *t, const json *list);
expr *tag_begin(tagger *t, const tag_parts *p);
expr *whole_tag(tagger *t, const tag_parts *p); /* under its name, if it has one */
expr *tag_format(tagger *t, const json *at, ends outer);
expr *triggered_tags(tagger *t, const json *at, ends outer);
expr *tags_with_separator(tagger *t, const json *at, ends outer);
expr *legacy_tags(tagger *t, const json *at);

/* ---- tag_grammar.c ---- */

typedef expr *(*grammar_front)(builder *b, const source *text);

/* JSON strings, quotes included, that mean the texts of a grammar; `at` is for errors. */
expr *spelled_grammar(tagger *t, const json *at, grammar_front lower, const source *text);
/* The texts of a grammar in which no string of the list begins; the list is not empty. */
expr *grammar_without(tagger *t, const json *at, grammar_front lower, const source *text, const json *excludes);

/* ---- tag_value.c ---- */

expr *const_string(tagger *t, const json *at, ends outer);
expr *regex(tagger *t, const json *at, ends outer);
expr *grammar(tagger *t, const json *at, ends outer);
expr *json_schema(tagger *t, const json *at, ends outer);
expr *qwen_xml_parameter(tagger *t, const json *at, ends outer);
/* A schema that stands in the tag; or, as older shapes have it, in a string. */
expr *schema_rule(tagger *t, const json *schema, int layout);
expr *schema_or_text(tagger *t, const json *schema);

#endif
