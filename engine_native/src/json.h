/* json.h - JSON text (RFC 8259) to a tree that knows where everything came from.
 *
 * Nodes live in the compile's arena.  Each knows its parent and its key or
 * index there, so that an error can name its place as a JSON pointer (RFC 6901).
 * Strings are decoded to UTF-8; numbers keep their source text.  Of equal keys
 * in one object the last one counts.  A lone surrogate escape is an error.
 * Depth is bounded by limits.depth, so whoever walks a tree may recurse.
 * Cost: linear in the text; json_get and json_member look at every key. */
#ifndef STE_JSON_H
#define STE_JSON_H

#include "fsm.h"

typedef enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_RAW, /* an object that was not read yet, see json_parse_around */
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

typedef struct json json;
struct json {
    json_kind kind;
    uint32_t n;          /* bytes of a string or number; members of an array or object */
    uint32_t index;      /* in the parent */
    uint32_t key_n;
    uint64_t offset;     /* in the text, of the first byte ... */
    uint64_t end;        /* ... and past the last */
    const json *parent;
    const char *key;     /* in a parent object; zero-terminated */
    union {
        const char *text;   /* string (decoded) or number (as written); zero-terminated */
        const json *items;  /* n of them */
    } u;
};

const json *json_parse(work *w, const char *text, size_t n);
/* The JSON that a string holds: places in it are told as if it stood there instead, errors of its syntax by the place
 * of the string and the offset in it. */
const json *json_parse_inside(work *w, const json *text);
/* As json_parse, but objects under these keys (a list that ends with NULL) stay JSON_RAW: only their
 * brackets are matched until json_expand reads them. */
const json *json_parse_around(work *w, const char *text, size_t n, const char *const *raw);
void json_expand(work *w, const char *text, const json *at);

/* Leave the compile with an error at this place. */
STE_NORETURN void json_escape(work *w, const json *at, int code, const char *format, ...) STE_PRINTF(4, 5);
/* The JSON pointer of a node; cut with "..." at the end when it does not fit. */
void json_pointer(const json *at, char *out, size_t size);

const json *json_get(const json *object, const char *key); /* NULL if it is no object or has no such key */
const json *json_member(const json *object, const char *key, size_t n);
bool json_is_text(const json *at, const char *text);
static inline bool json_is_bool(const json *at) { return at->kind == JSON_TRUE || at->kind == JSON_FALSE; }
static inline bool json_equal_bytes(const json *a, const char *s, size_t n) {
    return a->n == n && memcmp(a->u.text, s, n) == 0;
}
/* A number that is an integer in 0 .. 2^32 - 2 (1.0 and 1e2 are); larger ones give UINT32_MAX. */
bool json_count(const json *at, uint32_t *out);
bool json_equal(const json *a, const json *b); /* by value: 1 equals 1.0 */

#endif
