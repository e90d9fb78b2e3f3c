/* source.c - see source.h. */
#include "source.h"

#include <stdarg.h>
#include <stdio.h>

#define WIDTH 76 /* bytes of a line that are shown */

static bool continues(const source *s, size_t at) { return ((uint8_t)s->text[at] & 0xC0) == 0x80; }

typedef struct line {
    size_t number, column; /* from 1 */
    size_t begin, end;     /* what is shown of it */
} line;

static line line_at(const source *s, size_t at) {
    line l = {.number = 1, .column = 1};
    for (size_t i = 0; i < at; i++)
        if (s->text[i] == '\n') {
            l.number++;
            l.begin = i + 1;
        }
    for (l.end = at; l.end < s->n && s->text[l.end] != '\n' && s->text[l.end] != '\r'; l.end++) {
    }
    for (size_t i = l.begin; i < at; i++) l.column += !continues(s, i);
    if (l.end - l.begin > WIDTH) { /* the part around the place, whole characters */
        if (at - l.begin > WIDTH / 2) l.begin = at - WIDTH / 2;
        if (l.end - l.begin > WIDTH) l.end = l.begin + WIDTH;
        while (l.begin < at && continues(s, l.begin)) l.begin++;
        while (l.end > at && l.end < s->n && continues(s, l.end)) l.end--;
    }
    return l;
}

/* The line and a caret under the place; control characters are shown as blanks. */
static void excerpt(const source *s, size_t at, const line *l, char out[3 * WIDTH]) {
    size_t k = 0;
    for (size_t i = l->begin; i < l->end; i++) out[k++] = (uint8_t)s->text[i] < ' ' ? ' ' : s->text[i];
    out[k++] = '\n';
    for (size_t i = l->begin; i < at; i++)
        if (!continues(s, i)) out[k++] = ' ';
    out[k++] = '^';
    out[k] = '\0';
}

void source_escape(const source *s, size_t at, int code, const char *format, ...) {
    char what[224], shown[3 * WIDTH];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (at > s->n) at = s->n;
    line l = line_at(s, at);
    excerpt(s, at, &l, shown);
    if (s->place != NULL) json_escape(s->w, s->place, code, "line %zu, column %zu: %s\n%s", l.number, l.column, what, shown);
    escape(&s->w->out, code, at, "line %zu, column %zu: %s\n%s", l.number, l.column, what, shown);
}

const escape_context *source_context(const source *s, size_t at, const char *what) {
    char before[96], after[3 * WIDTH + 1];
    line l = line_at(s, at);
    snprintf(before, sizeof before, "line %zu, column %zu: %.40s: ", l.number, l.column, what);
    after[0] = '\n';
    excerpt(s, at, &l, after + 1);
    arena *mem = &s->w->mem;
    escape_context *c = arena_alloc(mem, 1, sizeof *c);
    *c = (escape_context){arena_copy(mem, before, strlen(before) + 1), arena_copy(mem, after, strlen(after) + 1), at};
    return c;
}

size_t source_begin(const source *s) { return s->n >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; }
