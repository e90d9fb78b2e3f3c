/* json.c - see json.h. */
#include "json.h"

#include <stdarg.h>
#include <stdio.h>

#include "decimal.h"
#include "utf8.h"

typedef struct reader {
    work *w;
    const uint8_t *s;
    size_t n, at;
    uint32_t depth;
    const char *const *raw; /* keys of objects that are not read */
    VEC(json) pending; /* members of the containers that are still open */
} reader;

STE_NORETURN static void bad(const reader *r, const char *what) {
    if (r->at >= r->n) escape(&r->w->out, STE_ERR_SYNTAX, r->at, "JSON: %s, found the end of the text", what);
    uint8_t c = r->s[r->at];
    if (c >= 0x20 && c < 0x7F)
        escape(&r->w->out, STE_ERR_SYNTAX, r->at, "JSON: %s, found '%c' at byte %zu", what, c, r->at);
    escape(&r->w->out, STE_ERR_SYNTAX, r->at, "JSON: %s, found byte 0x%02x at byte %zu", what, c, r->at);
}

static void skip_space(reader *r) {
    while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\n' || r->s[r->at] == '\r' || r->s[r->at] == '\t')) r->at++;
}

static bool take(reader *r, char c) {
    if (r->at >= r->n || r->s[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    size_t n = strlen(word);
    if (r->n - r->at < n || memcmp(r->s + r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static uint32_t hex4(reader *r) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t c = r->at < r->n ? r->s[r->at] : 0, d;
        if (c >= '0' && c <= '9')
            d = c - '0';
        else if (c >= 'a' && c <= 'f')
            d = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            d = c - 'A' + 10;
        else
            bad(r, "expected four hexadecimal digits");
        v = v << 4 | d;
        r->at++;
    }
    return v;
}

static uint32_t read_escape(reader *r) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (take(r, 'u')) {
        size_t start = r->at;
        uint32_t cp = hex4(r);
        if (cp >= 0xD800 && cp <= 0xDBFF && r->n - r->at >= 2 && r->s[r->at] == '\\' && r->s[r->at + 1] == 'u') {
            r->at += 2;
            uint32_t low = hex4(r);
            if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        }
        if (cp >= 0xD800 && cp <= 0xDFFF) {
            r->at = start;
            bad(r, "a surrogate stands alone");
        }
        return cp;
    }
    const char *p = r->at < r->n && r->s[r->at] != 0 ? strchr(from, r->s[r->at]) : NULL;
    if (p == NULL) bad(r, "unknown escape");
    r->at++;
    return (uint8_t)to[p - from];
}

/* Bytes that stand for themselves in a string: ASCII but controls, the quote and the backslash. */
static bool is_plain(uint8_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

/* The high bit of each byte of v that is 0 (and perhaps of bytes above such a one). */
static uint64_t zero_bytes(uint64_t v) { return (v - UINT64_C(0x0101010101010101)) & ~v & UINT64_C(0x8080808080808080); }

/* Past plain bytes, eight at a time; stops at the first that is not plain, or a little before. */
static size_t skip_plain(const uint8_t *s, size_t at, size_t n) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    for (; n - at >= 8; at += 8) {
        uint64_t v;
        memcpy(&v, s + at, 8);
        uint64_t odd = (v & (each * 0x80)) | zero_bytes(v ^ (each * '"')) | zero_bytes(v ^ (each * '\\')) | zero_bytes(v & (each * 0xE0));
        if (odd != 0) break;
    }
    while (at < n && is_plain(s[at])) at++;
    return at;
}

/* After the opening quote. */
static const char *read_string(reader *r, uint32_t *length) {
    const uint8_t *s = r->s;
    size_t from = r->at, end = skip_plain(s, from, r->n);
    if (end < r->n && s[end] == '"') {
        r->at = end + 1;
        *length = (uint32_t)(end - from);
        return arena_copy(&r->w->mem, s + from, end - from);
    }
    while (end < r->n && s[end] != '"') end += s[end] == '\\' && end + 1 < r->n ? 2 : 1;
    char *out = arena_alloc(&r->w->mem, end - from + 1, 1); /* decoding never makes it longer */
    uint32_t n = 0;
    for (;;) {
        if (r->at >= r->n) bad(r, "a string is not closed");
        uint8_t c = s[r->at];
        if (c == '"') break;
        if (is_plain(c)) {
            out[n++] = (char)c;
            r->at++;
            continue;
        }
        if (c < 0x20) bad(r, "a control character in a string must be escaped");
        uint32_t cp;
        if (c == '\\') {
            r->at++;
            cp = read_escape(r);
        } else {
            uint32_t k = utf8_decode(s + r->at, r->n - r->at, &cp);
            if (k == 0) bad(r, "expected valid UTF-8");
            r->at += k;
        }
        n += utf8_encode(cp, (uint8_t *)out + n);
    }
    r->at++;
    *length = n;
    return out;
}

static void read_number(reader *r, json *out) {
    size_t from = r->at;
    take(r, '-');
    if (!take(r, '0')) {
        if (r->at >= r->n || r->s[r->at] < '1' || r->s[r->at] > '9') bad(r, "expected a value");
        while (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') r->at++;
    }
    if (take(r, '.')) {
        if (r->at >= r->n || r->s[r->at] < '0' || r->s[r->at] > '9') bad(r, "expected a digit");
        while (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') r->at++;
    }
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+')) take(r, '-');
        if (r->at >= r->n || r->s[r->at] < '0' || r->s[r->at] > '9') bad(r, "expected a digit");
        while (r->at < r->n && r->s[r->at] >= '0' && r->s[r->at] <= '9') r->at++;
    }
    out->kind = JSON_NUMBER;
    out->n = (uint32_t)(r->at - from);
    out->u.text = arena_copy(&r->w->mem, r->s + from, r->at - from);
}

static json read_value(reader *r);

/* Past an object, by its brackets; whether it is JSON is left to whoever reads it. */
static json skip_object(reader *r) {
    json out = {.kind = JSON_RAW, .offset = r->at};
    uint32_t depth = 0;
    do {
        if (r->at >= r->n) bad(r, "a bracket is not closed");
        uint8_t c = r->s[r->at++];
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == '"') {
            r->at = skip_plain(r->s, r->at, r->n);
            while (r->at < r->n && r->s[r->at] != '"') {
                r->at += r->s[r->at] == '\\' ? 2 : 1;
                r->at = r->at < r->n ? skip_plain(r->s, r->at, r->n) : r->at;
            }
            if (r->at++ >= r->n) {
                r->at = r->n;
                bad(r, "a string is not closed");
            }
        }
    } while (depth > 0);
    out.end = r->at;
    return out;
}

static bool is_raw(const reader *r, const char *key, uint32_t n) {
    if (key == NULL || r->at >= r->n || r->s[r->at] != '{') return false;
    for (const char *const *k = r->raw; k != NULL && *k != NULL; k++)
        if (strlen(*k) == n && memcmp(*k, key, n) == 0) return true;
    return false;
}

static void read_members(reader *r, json *out, char close) {
    uint32_t base = r->pending.n;
    if (++r->depth > r->w->limits.depth)
        escape(&r->w->out, STE_ERR_LIMIT, r->at, "JSON is nested deeper than %u levels", r->w->limits.depth);
    skip_space(r);
    if (!take(r, close)) {
        do {
            skip_space(r);
            const char *key = NULL;
            uint32_t key_n = 0;
            if (close == '}') {
                if (!take(r, '"')) bad(r, "expected a key");
                key = read_string(r, &key_n);
                skip_space(r);
                if (!take(r, ':')) bad(r, "expected ':'");
                skip_space(r);
            }
            json value = is_raw(r, key, key_n) ? skip_object(r) : read_value(r);
            value.key = key;
            value.key_n = key_n;
            vec_push(&r->w->mem, &r->pending, value);
            skip_space(r);
        } while (take(r, ','));
        if (!take(r, close)) bad(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    r->depth--;
    out->kind = close == '}' ? JSON_OBJECT : JSON_ARRAY;
    out->n = r->pending.n - base;
    out->u.items = arena_copy(&r->w->mem, out->n == 0 ? NULL : r->pending.at + base, out->n * sizeof(json));
    r->pending.n = base;
}

static json read_value(reader *r) {
    json out = {.offset = r->at};
    if (r->at >= r->n) bad(r, "expected a value");
    switch (r->s[r->at]) {
    case '{':
    case '[':
        read_members(r, &out, r->s[r->at++] == '{' ? '}' : ']');
        break;
    case '"':
        r->at++;
        out.kind = JSON_STRING;
        out.u.text = read_string(r, &out.n);
        break;
    default:
        if (take_word(r, "true"))
            out.kind = JSON_TRUE;
        else if (take_word(r, "false"))
            out.kind = JSON_FALSE;
        else if (take_word(r, "null"))
            out.kind = JSON_NULL;
        else
            read_number(r, &out);
    }
    out.end = r->at;
    return out;
}

/* Parents and indices, once nothing moves any more. */
static void link_members(json *at) {
    json *items = (json *)(uintptr_t)at->u.items;
    for (uint32_t i = 0; i < at->n; i++) {
        items[i].parent = at;
        items[i].index = i;
        if (items[i].kind >= JSON_ARRAY) link_members(&items[i]);
    }
}

const json *json_parse(work *w, const char *text, size_t n) { return json_parse_around(w, text, n, NULL); }

void json_expand(work *w, const char *text, const json *at) {
    if (at->kind != JSON_RAW) return;
    reader r = {.w = w, .s = (const uint8_t *)text, .n = at->end, .at = at->offset};
    for (const json *up = at; up != NULL; up = up->parent) r.depth++;
    json *in_place = (json *)(uintptr_t)at, value = read_value(&r);
    if (r.at != at->end) bad(&r, "expected the end of an object");
    in_place->kind = value.kind;
    in_place->n = value.n;
    in_place->u = value.u;
    link_members(in_place);
}

const json *json_parse_around(work *w, const char *text, size_t n, const char *const *raw) {
    reader r = {.w = w, .s = (const uint8_t *)text, .n = n, .raw = raw};
    json *out = arena_alloc(&w->mem, 1, sizeof *out);
    skip_space(&r);
    *out = read_value(&r);
    skip_space(&r);
    if (r.at != n) bad(&r, "expected the end of the text");
    if (out->kind >= JSON_ARRAY) link_members(out);
    return out;
}

const json *json_parse_inside(work *w, const json *text) {
    jmp_buf outer;
    memcpy(&outer, &w->out.env, sizeof outer);
    if (setjmp(w->out.env) != 0) {
        memcpy(&w->out.env, &outer, sizeof outer);
        json_pointer(text, w->out.error.path, sizeof w->out.error.path);
        longjmp(w->out.env, 1);
    }
    json *inner = (json *)(uintptr_t)json_parse(w, text->u.text, text->n);
    memcpy(&w->out.env, &outer, sizeof outer);
    inner->parent = text->parent;
    inner->key = text->key;
    inner->key_n = text->key_n;
    inner->index = text->index;
    return inner;
}

void json_pointer(const json *at, char *out, size_t size) {
    uint32_t depth = 0;
    const json *path[512];
    for (; at->parent != NULL && depth < 512; at = at->parent) path[depth++] = at;
    size_t n = 0;
    char part[16];
    out[0] = '\0';
    while (depth-- > 0) {
        const json *step = path[depth];
        const char *s = step->key;
        size_t length = step->key_n;
        if (s == NULL) {
            length = (size_t)snprintf(part, sizeof part, "%u", step->index);
            s = part;
        }
        if (n + 1 < size) out[n++] = '/';
        for (size_t i = 0; i < length; i++) {
            bool special = s[i] == '~' || s[i] == '/';
            if (n + 6 >= size) {
                memcpy(out + (n < size - 4 ? n : size - 4), "...", 4);
                return;
            }
            if (special) out[n++] = '~';
            out[n++] = s[i] == '~' ? '0' : s[i] == '/' ? '1' : s[i];
        }
        out[n] = '\0';
    }
}

void json_escape(work *w, const json *at, int code, const char *format, ...) {
    ste_error e = {.code = code, .offset = at->offset};
    va_list args;
    va_start(args, format);
    vsnprintf(e.message, sizeof e.message, format, args);
    va_end(args);
    json_pointer(at, e.path, sizeof e.path);
    w->out.error = e;
    longjmp(w->out.env, 1);
}

const json *json_member(const json *object, const char *key, size_t n) {
    if (object->kind != JSON_OBJECT) return NULL;
    for (uint32_t i = object->n; i-- > 0;)
        if (object->u.items[i].key_n == n && memcmp(object->u.items[i].key, key, n) == 0) return &object->u.items[i];
    return NULL;
}

const json *json_get(const json *object, const char *key) { return json_member(object, key, strlen(key)); }

bool json_is_text(const json *at, const char *text) {
    return at->kind == JSON_STRING && json_equal_bytes(at, text, strlen(text));
}

bool json_count(const json *at, uint32_t *out) {
    if (at->kind != JSON_NUMBER) return false;
    decimal d;
    if (!decimal_parse(at->u.text, at->n, &d) || d.negative || d.fraction_n != 0) return false;
    uint64_t v = 0;
    for (uint32_t i = 0; i < d.integer_n; i++) {
        v = v * 10 + (uint64_t)(d.integer[i] - '0');
        if (v >= UINT32_MAX) {
            *out = UINT32_MAX;
            return true;
        }
    }
    *out = (uint32_t)v;
    return true;
}

static bool equal_numbers(const json *a, const json *b) {
    decimal x, y;
    if (decimal_parse(a->u.text, a->n, &x) && decimal_parse(b->u.text, b->n, &y)) return decimal_compare(&x, &y) == 0;
    return a->n == b->n && memcmp(a->u.text, b->u.text, a->n) == 0;
}

bool json_equal(const json *a, const json *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case JSON_NUMBER:
        return equal_numbers(a, b);
    case JSON_STRING:
        return json_equal_bytes(a, b->u.text, b->n);
    case JSON_ARRAY:
        if (a->n != b->n) return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!json_equal(&a->u.items[i], &b->u.items[i])) return false;
        return true;
    case JSON_OBJECT:
        for (uint32_t i = 0; i < a->n; i++) {
            const json *mine = &a->u.items[i], *other = json_member(b, mine->key, mine->key_n);
            if (other == NULL || !json_equal(json_member(a, mine->key, mine->key_n), other)) return false;
        }
        for (uint32_t i = 0; i < b->n; i++)
            if (json_member(a, b->u.items[i].key, b->u.items[i].key_n) == NULL) return false;
        return true;
    default:
        return true;
    }
}
