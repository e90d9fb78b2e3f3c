/* lark_scan.c - the tokens of a Lark text.
 *
 * Line ends are tokens outside of brackets; comments run from // or # to the
 * end of the line.  A '-' belongs to a name only between two of its characters. */
#include <stdarg.h>
#include <stdio.h>

#include "lark.h"
#include "utf8.h"

void lark_bad(const lark_reader *r, size_t at, int code, const char *format, ...) {
    char what[224];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    source_escape(&r->source, at, code, "%s", what);
}

static uint8_t peek(const lark_reader *r, size_t ahead) { return r->at + ahead < r->n ? r->s[r->at + ahead] : 0; }

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
static bool is_name(uint8_t c) { return is_letter(c) || is_digit(c) || c == '_'; }

/* Blanks and comments; line ends too inside brackets. */
static void skip(lark_reader *r) {
    for (;;) {
        uint8_t c = peek(r, 0);
        if (c == '#' || (c == '/' && peek(r, 1) == '/'))
            while (r->at < r->n && r->s[r->at] != '\n') r->at++;
        else if (r->at < r->n && (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (c == '\n' && r->nesting > 0)))
            r->at++;
        else
            return;
    }
}

static uint32_t hex_digit(uint8_t c) {
    return is_digit(c) ? c - 48u : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
}

static uint32_t read_hex(lark_reader *r, uint32_t digits) {
    uint32_t v = 0;
    for (uint32_t k = 0; k < digits; k++) {
        uint32_t d = hex_digit(peek(r, 0));
        if (d == 16) lark_bad(r, r->at, STE_ERR_SYNTAX, "expected %u hexadecimal digits", digits);
        v = v * 16 + d;
        r->at++;
    }
    return v;
}

/* After the backslash. */
static uint32_t read_escape(lark_reader *r) {
    static const char from[] = "nrtbfva0\\\"'/", to[] = "\n\r\t\b\f\v\a\0\\\"'/";
    size_t start = r->at - 1;
    uint8_t c = peek(r, 0);
    const char *p = c != 0 ? strchr(from, c) : NULL;
    r->at++;
    if (p != NULL) return (uint8_t)to[p - from];
    uint32_t cp;
    switch (c) {
    case 'x':
        return read_hex(r, 2);
    case 'u':
        cp = read_hex(r, 4);
        if (cp >= 0xD800 && cp <= 0xDBFF && peek(r, 0) == '\\' && peek(r, 1) == 'u') {
            r->at += 2;
            uint32_t low = read_hex(r, 4);
            if (low >= 0xDC00 && low <= 0xDFFF) cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        }
        break;
    case 'U':
        cp = read_hex(r, 8);
        break;
    default:
        lark_bad(r, start, STE_ERR_SYNTAX, "unknown escape in a string");
    }
    if (cp > UTF8_MAX || (cp >= 0xD800 && cp <= 0xDFFF)) lark_bad(r, start, STE_ERR_SYNTAX, "no such character");
    return cp;
}

static void read_text(lark_reader *r, lark_token *t) {
    arena *mem = &r->b->w->mem;
    VEC(char) bytes = {0};
    for (r->at++; peek(r, 0) != '"';) {
        if (r->at >= r->n || peek(r, 0) == '\n') lark_bad(r, t->at, STE_ERR_SYNTAX, "a string is not closed");
        uint8_t out[4];
        uint32_t cp = 0, k = 1;
        if (peek(r, 0) == '\\') {
            r->at++;
            cp = read_escape(r);
        } else {
            k = utf8_decode(r->s + r->at, r->n - r->at, &cp);
            if (k == 0) lark_bad(r, r->at, STE_ERR_SYNTAX, "expected valid UTF-8");
            r->at += k;
        }
        k = utf8_encode(cp, out);
        for (uint32_t i = 0; i < k; i++) vec_push(mem, &bytes, (char)out[i]);
    }
    r->at++;
    t->kind = TOKEN_TEXT;
    t->n = bytes.n;
    vec_push(mem, &bytes, '\0');
    t->text = bytes.at;
    if (peek(r, 0) == 'i' && !is_name(peek(r, 1))) {
        t->ignore_case = true;
        r->at++;
    }
}

/* The text of a regular expression; its flags stand between text[n + 1] and the end of the token. */
static void read_regex(lark_reader *r, lark_token *t) {
    t->kind = TOKEN_REGEX;
    for (r->at++; peek(r, 0) != '/'; r->at++) {
        if (peek(r, 0) == '\\') r->at++;
        if (r->at >= r->n || peek(r, 0) == '\n') lark_bad(r, t->at, STE_ERR_SYNTAX, "a regular expression is not closed");
    }
    t->text = (const char *)r->s + t->at + 1;
    t->n = r->at++ - t->at - 1;
    while (is_letter(peek(r, 0))) r->at++;
}

static void read_special(lark_reader *r, lark_token *t) {
    t->kind = TOKEN_SPECIAL;
    while (r->at < r->n && peek(r, 0) != '>' && peek(r, 0) != '\n') r->at++;
    if (peek(r, 0) != '>') lark_bad(r, t->at, STE_ERR_SYNTAX, "a special token is not closed");
    r->at++;
    for (size_t i = t->at; i < r->at; i++)
        if (r->s[i] <= ' ') lark_bad(r, t->at, STE_ERR_SYNTAX, "a special token must not have blanks in it");
}

static void read_number(lark_reader *r, lark_token *t) {
    t->kind = TOKEN_NUMBER;
    uint32_t base = 10;
    if (peek(r, 0) == '0' && (peek(r, 1) | 0x20) == 'x') {
        base = 16;
        r->at += 2;
    }
    uint64_t v = 0;
    for (;; r->at++) {
        uint32_t d = hex_digit(peek(r, 0));
        if (d >= base) break;
        if (v > (UINT64_MAX - d) / base) lark_bad(r, t->at, STE_ERR_LIMIT, "the number is too large");
        v = v * base + d;
    }
    t->number = v;
}

static void read_name(lark_reader *r, lark_token *t) {
    while (is_name(peek(r, 0)) || (peek(r, 0) == '-' && is_name(peek(r, 1)))) r->at++;
    size_t first = t->at + (r->s[t->at] == '@' || r->s[t->at] == '%');
    while (first < r->at && r->s[first] == '_') first++;
    bool upper = first < r->at && r->s[first] >= 'A' && r->s[first] <= 'Z';
    t->kind = upper ? TOKEN_TERMINAL : TOKEN_RULE;
}

void lark_next(lark_reader *r) {
    skip(r);
    lark_token *t = &r->token;
    uint8_t c = peek(r, 0);
    *t = (lark_token){.kind = TOKEN_END, .at = r->at, .text = (const char *)r->s + r->at};
    if (r->at >= r->n) {
    } else if (c == '\n') {
        t->kind = TOKEN_NEWLINE;
        while (r->at < r->n && peek(r, 0) == '\n') {
            r->at++;
            skip(r);
        }
    } else if (c == '"') {
        read_text(r, t);
    } else if (c == '/') {
        read_regex(r, t);
    } else if (c == '<') {
        read_special(r, t);
    } else if (is_digit(c)) {
        read_number(r, t);
    } else if (is_name(c)) {
        read_name(r, t);
    } else if ((c == '%' || c == '@') && is_name(peek(r, 1))) {
        r->at++;
        read_name(r, t);
        t->kind = c == '%' ? TOKEN_DIRECTIVE : TOKEN_REFERENCE;
    } else {
        static const struct {
            const char *text;
            lark_token_kind kind;
        } pairs[] = {{"->", TOKEN_ARROW}, {"..", TOKEN_DOTS}, {"::", TOKEN_COLONS}};
        t->kind = TOKEN_MARK;
        t->mark = (char)c;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (c == (uint8_t)pairs[i].text[0] && peek(r, 1) == (uint8_t)pairs[i].text[1]) t->kind = pairs[i].kind;
        if (c >= 0x80 || strchr("()[]{}|&~?*+!:=,.->_%@", c) == NULL || c < ' ')
            lark_bad(r, r->at, STE_ERR_SYNTAX, "unexpected character");
        r->at += t->kind == TOKEN_MARK ? 1 : 2;
    }
    t->end = r->at;
    if (t->kind != TOKEN_TEXT && t->kind != TOKEN_REGEX) t->n = t->end - t->at;
}

bool lark_is(const lark_reader *r, char mark) { return r->token.kind == TOKEN_MARK && r->token.mark == mark; }

bool lark_take(lark_reader *r, char mark) {
    if (!lark_is(r, mark)) return false;
    lark_next(r);
    return true;
}

void lark_expect(lark_reader *r, char mark, const char *what) {
    if (!lark_take(r, mark)) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected '%c' %s", mark, what);
}

bool lark_is_word(const lark_token *t, const char *word) { return t->n == strlen(word) && memcmp(t->text, word, t->n) == 0; }

/* Past one JSON value that begins at `at`: brackets are matched, the rest is json_parse's business. */
static size_t past_json(const lark_reader *r, size_t at) {
    size_t open = 0;
    for (; at < r->n; at++) {
        uint8_t c = r->s[at];
        if (c == '"') {
            for (at++; at < r->n && r->s[at] != '"'; at++)
                if (r->s[at] == '\\') at++;
        } else if (c == '{' || c == '[') {
            open++;
        } else if (c == '}' || c == ']') {
            if (open == 0) return at;
            if (--open == 0) return at + 1;
        } else if (open == 0 && (c == '\n' || c == ' ')) {
            return at;
        }
    }
    return r->n;
}

const json *lark_json(lark_reader *r) {
    char *directive = arena_alloc(&r->b->w->mem, r->token.n + 1, 1);
    memcpy(directive, r->token.text, r->token.n);
    while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\t' || r->s[r->at] == '\n' || r->s[r->at] == '\r')) r->at++;
    size_t from = r->at;
    r->at = past_json(r, from);
    work *w = r->b->w;
    w->out.inside = source_context(&r->source, from, directive);
    const json *value = json_parse(w, (const char *)r->s + from, (r->at < r->n ? r->at : r->n) - from);
    w->out.inside = NULL;
    lark_next(r);
    return value;
}
