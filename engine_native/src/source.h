/* source.h - a grammar text and how to say where in it something is wrong.
 *
 * Readers of regular expressions, EBNF and Lark report a mistake as
 *
 *     line 3, column 6: expected ':' after the name
 *     item missing
 *          ^
 *
 * Lines and columns count from 1, columns count code points.  A text that is a
 * string of a JSON document is named by its JSON pointer as well. */
#ifndef STE_SOURCE_H
#define STE_SOURCE_H

#include "json.h"

typedef struct source {
    work *w;
    const char *text;
    size_t n;
    const json *place; /* the JSON string that it is; NULL: none */
} source;

/* Leave the compile with an error at byte `at`; the error's offset is `at`, or that of the JSON string. */
STE_NORETURN void source_escape(const source *s, size_t at, int code, const char *format, ...) STE_PRINTF(4, 5);

/* Past the byte order mark that some editors put at the beginning of a text; 0 if there is none. */
size_t source_begin(const source *s);

/* For what is read inside of s from byte `at` on, as `what`: errors there name the place in s too. */
const escape_context *source_context(const source *s, size_t at, const char *what);

#endif
