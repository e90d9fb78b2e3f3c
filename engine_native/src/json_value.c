/* json_value.c - see json_value.h. */
#include "json_value.h"

#include "utf8.h"

/* Deeper texts are refused by json_value, and for json_may_become everything is possible. */
#define MAX_NESTING 1000

typedef struct reader {
    const uint8_t *s;
    size_t n, at;
} reader;

static bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool in_number(uint8_t c) { return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

static void skip_space(reader *r) {
    while (r->at < r->n && is_space(r->s[r->at])) r->at++;
}

/* ---- characters of strings ---- */

static uint32_t hex4(const uint8_t *s) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v = v << 4 | (is_digit(s[i]) ? s[i] - (uint32_t)'0' : (s[i] | 0x20u) - 'a' + 10u);
    return v;
}

/* The bytes of one character of a string, after which r stands; 0: the text ends within it. */
static uint32_t read_character(reader *r, uint8_t out[4]) {
    const uint8_t *s = r->s + r->at;
    size_t left = r->n - r->at;
    if (s[0] != '\\') {
        out[0] = s[0];
        r->at++;
        return 1;
    }
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (left < 2) return 0;
    if (s[1] != 'u') {
        const char *p = memchr(from, s[1], sizeof from - 1);
        out[0] = p == NULL ? s[1] : (uint8_t)to[p - from];
        r->at += 2;
        return 1;
    }
    if (left < 6) return 0;
    uint32_t cp = hex4(s + 2), length = 6;
    if (cp >= 0xD800 && cp <= 0xDBFF) { /* a low surrogate follows */
        if (left < 12) return 0;
        cp = 0x10000 + ((cp - 0xD800) << 10) + (hex4(s + 8) - 0xDC00);
        length = 12;
    }
    r->at += length;
    return utf8_encode(cp, out);
}

/* ---- numbers ---- */

typedef struct number {
    char sign;
    int64_t exponent;
    uint32_t n_digits; /* of the mantissa, without zeros at either end */
} number;

#define FAR INT64_C(100000000000000000)

/* A whole number; its digits go to `digits`, which has room for n. */
static number read_number(const uint8_t *s, size_t n, uint8_t *digits) {
    number out = {'+', 0, 0};
    size_t i = 0;
    uint32_t k = 0;
    bool fraction = false;
    if (i < n && s[i] == '-') {
        out.sign = '-';
        i++;
    }
    for (; i < n && (is_digit(s[i]) || s[i] == '.'); i++) {
        if (s[i] == '.') {
            fraction = true;
            continue;
        }
        bool leading = s[i] == '0' && k == 0;
        if (!leading) digits[k++] = s[i];
        out.exponent += leading ? -(int64_t)fraction : !fraction;
    }
    while (k > 0 && digits[k - 1] == '0') k--;
    out.n_digits = k;
    if (i < n) {
        bool negative = ++i < n && s[i] == '-';
        int64_t e = 0;
        for (; i < n; i++)
            if (is_digit(s[i]) && e < FAR) e = e * 10 + (s[i] - '0');
        out.exponent += negative ? -e : e;
    }
    if (out.exponent > FAR) out.exponent = FAR;
    if (out.exponent < -FAR) out.exponent = -FAR;
    return k == 0 ? (number){'+', 0, 0} : out;
}

static size_t number_end(const reader *r) {
    size_t end = r->at;
    while (end < r->n && in_number(r->s[end])) end++;
    return end;
}

/* ---- values ---- */

static void put(arena *mem, json_bytes *out, const void *bytes, size_t n) {
    if (n > UINT32_MAX - out->n) escape(mem->out, STE_ERR_LIMIT, 0, "value too long");
    if (out->n + n > out->cap) {
        uint32_t cap = out->cap < 64 ? 64 : out->cap;
        while (cap < out->n + n) cap = cap > UINT32_MAX / 2 ? UINT32_MAX : cap * 2;
        uint8_t *grown = arena_alloc(mem, cap, 1);
        if (out->n != 0) memcpy(grown, out->at, out->n);
        out->at = grown;
        out->cap = cap;
    }
    if (n != 0) memcpy(out->at + out->n, bytes, n);
    out->n += (uint32_t)n;
}

/* kind and room for the size; returns where the rest begins. */
static uint32_t begin_value(arena *mem, json_bytes *out, char kind) {
    put(mem, out, &kind, 1);
    put(mem, out, "\0\0\0", 4);
    return out->n;
}

static void end_value(json_bytes *out, uint32_t begin) {
    uint32_t size = out->n - begin;
    memcpy(out->at + begin - 4, &size, 4);
}

static uint32_t value_size(const uint8_t *value) {
    uint32_t size;
    memcpy(&size, value + 1, 4);
    return size + 5;
}

static uint32_t count_of(const uint8_t *container) {
    uint32_t n;
    memcpy(&n, container + 5, 4);
    return n;
}

static void put_string(arena *mem, reader *r, json_bytes *out) {
    uint32_t begin = begin_value(mem, out, '"');
    for (r->at++; r->at < r->n && r->s[r->at] != '"';) {
        uint8_t character[4];
        uint32_t n = read_character(r, character);
        assert(n != 0);
        put(mem, out, character, n);
    }
    r->at++;
    end_value(out, begin);
}

static void put_number(arena *mem, reader *r, json_bytes *out) {
    size_t end = number_end(r);
    uint8_t *digits = arena_alloc(mem, end - r->at, 1);
    number v = read_number(r->s + r->at, end - r->at, digits);
    r->at = end;
    uint32_t begin = begin_value(mem, out, '#');
    put(mem, out, &v.sign, 1);
    put(mem, out, &v.exponent, sizeof v.exponent);
    put(mem, out, digits, v.n_digits);
    end_value(out, begin);
}

typedef struct member {
    const uint8_t *at;
    uint32_t n;
} member;

static bool member_before(const member *a, const member *b) {
    int r = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);
    return r != 0 ? r < 0 : a->n < b->n;
}

static void sort_members(arena *mem, uint8_t *begin, uint32_t size, uint32_t n) {
    member *list = arena_alloc(mem, n, sizeof *list);
    const uint8_t *copy = arena_copy(mem, begin, size), *at = copy;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = value_size(at);
        list[i] = (member){at, key + value_size(at + key)};
        at += list[i].n;
    }
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            member v = list[i];
            uint32_t k = i;
            for (; k >= gap && member_before(&v, &list[k - gap]); k -= gap) list[k] = list[k - gap];
            list[k] = v;
        }
    for (uint32_t i = 0; i < n; i++) {
        memcpy(begin, list[i].at, list[i].n);
        begin += list[i].n;
    }
}

static void put_value(arena *mem, reader *r, json_bytes *out, uint32_t depth);

static void put_container(arena *mem, reader *r, json_bytes *out, uint32_t depth) {
    bool object = r->s[r->at++] == '{';
    uint32_t begin = begin_value(mem, out, object ? '{' : '['), n = 0;
    put(mem, out, "\0\0\0", 4);
    for (skip_space(r); r->at < r->n && r->s[r->at] != (object ? '}' : ']'); skip_space(r), n++) {
        if (n > 0) r->at++; /* the comma */
        skip_space(r);
        if (object) {
            put_string(mem, r, out);
            skip_space(r);
            r->at++; /* the colon */
        }
        put_value(mem, r, out, depth + 1);
    }
    r->at++;
    memcpy(out->at + begin, &n, 4);
    if (object && n > 1) sort_members(mem, out->at + begin + 4, out->n - begin - 4, n);
    end_value(out, begin);
}

static void put_value(arena *mem, reader *r, json_bytes *out, uint32_t depth) {
    if (depth > MAX_NESTING) escape(mem->out, STE_ERR_LIMIT, 0, "nested deeper than %d levels", MAX_NESTING);
    skip_space(r);
    if (r->at >= r->n) return;
    uint8_t c = r->s[r->at];
    if (c == '"') {
        put_string(mem, r, out);
    } else if (c == '{' || c == '[') {
        put_container(mem, r, out, depth);
    } else if (c == 'n' || c == 't' || c == 'f') {
        end_value(out, begin_value(mem, out, (char)c));
        r->at += c == 'f' ? 5 : 4;
    } else {
        put_number(mem, r, out);
    }
}

void json_value(arena *mem, const uint8_t *text, size_t n, json_bytes *out) {
    reader r = {text, n, 0};
    out->n = 0;
    put_value(mem, &r, out, 0);
}

/* ---- beginnings ---- */

typedef enum verdict {
    DIFFERS,
    ENDS,   /* the text ends here, and may go on to become the value */
    MATCHES /* up to its end, so far as can be told */
} verdict;

static void add(byteset *next, const char *bytes) {
    for (; *bytes != '\0'; bytes++) byteset_add_range(next, (uint8_t)*bytes, (uint8_t)*bytes);
}

static verdict ends(json_way *way, const char *bytes) {
    add(&way->next, bytes);
    return ENDS;
}

static verdict anything(json_way *way) {
    byteset_add_range(&way->next, 0, 255);
    return ENDS;
}

static uint32_t put_unit(char *out, uint32_t unit) {
    out[0] = '\\';
    out[1] = 'u';
    for (int i = 0; i < 4; i++) out[2 + i] = "0123456789abcdef"[unit >> (12 - 4 * i) & 15];
    return 6;
}

static uint8_t other_case(uint8_t c) { return c >= 'a' && c <= 'f' ? (uint8_t)(c - 'a' + 'A') : c; }

/* Does the text from r on begin this spelling?  Hexadecimal digits may have either case. */
static verdict begin_spelling(const reader *r, const char *spelling, uint32_t n, json_way *way) {
    size_t left = r->n - r->at;
    for (size_t i = 0; i < left; i++)
        if (i >= n || (r->s[r->at + i] != (uint8_t)spelling[i] && r->s[r->at + i] != other_case((uint8_t)spelling[i]))) return DIFFERS;
    if (left == n) return DIFFERS; /* a whole one would have been read */
    uint8_t c = (uint8_t)spelling[left], other = left >= 2 ? other_case(c) : c;
    byteset_add_range(&way->next, c, c);
    byteset_add_range(&way->next, other, other);
    return ENDS;
}

/* An escape with which the text ends, against the first of these characters. */
static verdict match_cut_escape(const reader *r, const uint8_t *want, uint32_t n, json_way *way) {
    uint32_t cp;
    if (n == 0 || utf8_decode(want, n, &cp) == 0) return DIFFERS;
    char spelling[12];
    uint32_t length;
    if (cp < 0x10000) {
        length = put_unit(spelling, cp);
    } else {
        length = put_unit(spelling, 0xD800 + ((cp - 0x10000) >> 10));
        length += put_unit(spelling + 6, 0xDC00 + ((cp - 0x10000) & 0x3FF));
    }
    verdict v = begin_spelling(r, spelling, length, way);
    static const char from[] = "\b\f\n\r\t\"\\/", to[] = "bfnrt\"\\/";
    const char *p = cp == 0 || cp > 127 ? NULL : strchr(from, (int)cp);
    if (p == NULL) return v;
    verdict brief = begin_spelling(r, (char[]){'\\', to[p - from]}, 2, way);
    return v == DIFFERS ? brief : v;
}

/* The bytes with which a string can go on. */
static void add_wanted(json_way *way) {
    uint8_t raw = way->left != 0 ? way->want[0] : '"';
    byteset_add_range(&way->next, raw, raw);
    if (way->left != 0) add(&way->next, "\\");
}

/* A string that may be cut, against the characters of one; r stands behind its quote. */
static verdict match_string(reader *r, const uint8_t *want, uint32_t n, json_way *way) {
    uint32_t k = 0;
    for (;;) {
        if (r->at >= r->n) {
            way->want = want + k;
            way->left = n - k;
            add_wanted(way);
            return ENDS;
        }
        if (r->s[r->at] == '"') break;
        uint8_t character[4];
        uint32_t length = read_character(r, character);
        if (length == 0) return match_cut_escape(r, want + k, n - k, way);
        if (length > n - k || memcmp(want + k, character, length) != 0) return DIFFERS;
        k += length;
    }
    r->at++;
    return k == n ? MATCHES : DIFFERS;
}

static verdict match_word(reader *r, const char *word, json_way *way) {
    for (; *word != '\0'; word++, r->at++) {
        if (r->at >= r->n) return ends(way, (char[]){*word, '\0'});
        if (r->s[r->at] != (uint8_t)*word) return DIFFERS;
    }
    return MATCHES;
}

static verdict match_number(reader *r, const uint8_t *value, json_way *way) {
    const uint8_t *s = r->s + r->at, *want = value + 14;
    uint32_t n_want = value_size(value) - 14, k = 0, zeros = 0;
    size_t end = number_end(r), n = end - r->at, i = 0;
    char sign = (char)value[5], written = '+';
    int64_t exponent;
    memcpy(&exponent, value + 6, sizeof exponent);
    bool whole = end < r->n, fraction = false;
    int64_t scale = 0;
    r->at = end;
    if (i < n && s[i] == '-') {
        written = '-';
        i++;
    }
    if (n_want != 0 && written != sign) return DIFFERS;
    for (; i < n && (is_digit(s[i]) || s[i] == '.'); i++) {
        if (s[i] == '.') {
            fraction = true;
            continue;
        }
        bool leading = s[i] == '0' && k == 0;
        scale += leading ? -(int64_t)fraction : !fraction;
        if (leading) continue;
        if (s[i] != (k < n_want ? want[k] : '0')) return DIFFERS;
        k++;
        zeros = s[i] == '0' ? zeros + 1 : 0;
    }
    bool mantissa_ended = i < n || whole;
    if (mantissa_ended && k - zeros != n_want) return DIFFERS;
    if (!whole) return ends(way, "0123456789.eE+- \t\n\r,]}");
    if (n_want == 0) return MATCHES;
    if (i < n) {
        bool negative = ++i < n && s[i] == '-';
        int64_t e = 0;
        for (; i < n; i++)
            if (is_digit(s[i]) && e < FAR) e = e * 10 + (s[i] - '0');
        scale += negative ? -e : e;
    }
    if (scale > FAR) scale = FAR;
    if (scale < -FAR) scale = -FAR;
    return scale == exponent ? MATCHES : DIFFERS;
}

static verdict match(reader *r, const uint8_t *value, json_way *way, uint32_t depth);

static verdict match_array(reader *r, const uint8_t *value, json_way *way, uint32_t depth) {
    uint32_t n = count_of(value);
    const uint8_t *item = value + 9;
    for (uint32_t i = 0;; i++) {
        skip_space(r);
        if (r->at >= r->n) {
            if (i > 0 || n == 0) return ends(way, i < n ? " \t\n\r," : " \t\n\r]");
        } else if (r->s[r->at] == ']') {
            r->at++;
            return i == n ? MATCHES : DIFFERS;
        } else if (i > 0) {
            r->at++;
        }
        if (i == n) return DIFFERS;
        verdict v = match(r, item, way, depth + 1);
        if (v != MATCHES) return v;
        item += value_size(item);
    }
}

/* The key where r stands, against those of an object: where its members begin with it, `best` is the first verdict
 * that is not DIFFERS.  A key that the text repeats may go with another member of that key. */
static verdict match_member(reader *r, const uint8_t *value, json_way *way, uint32_t depth) {
    const uint8_t *m = value + 9;
    reader begin = *r;
    verdict best = DIFFERS;
    for (uint32_t i = 0, n = count_of(value); i < n; i++) {
        const uint8_t *key = m, *of = m + value_size(m);
        m = of + value_size(of);
        reader at = {begin.s, begin.n, begin.at + 1};
        verdict v = match_string(&at, key + 5, value_size(key) - 5, way);
        if (v == MATCHES) {
            skip_space(&at);
            if (at.at >= at.n) {
                v = ends(way, " \t\n\r:");
            } else {
                at.at++;
                v = match(&at, of, way, depth + 1);
            }
        }
        if (v == MATCHES) {
            *r = at;
            return v; /* whole members are the same text whatever they match */
        }
        if (v == ENDS && best == ENDS) way->want = NULL; /* several ways */
        if (v == ENDS) best = v;
    }
    return best;
}

static verdict match_object(reader *r, const uint8_t *value, json_way *way, uint32_t depth) {
    uint32_t n = count_of(value);
    for (uint32_t i = 0;; i++) {
        skip_space(r);
        if (r->at >= r->n) return ends(way, i == n ? " \t\n\r}" : i == 0 ? " \t\n\r\"" : " \t\n\r,");
        if (r->s[r->at] == '}') {
            r->at++;
            return i == n ? MATCHES : DIFFERS;
        }
        if (i == n) return DIFFERS;
        if (i > 0) {
            r->at++;
            skip_space(r);
            if (r->at >= r->n) return ends(way, " \t\n\r\"");
        }
        verdict v = match_member(r, value, way, depth);
        if (v != MATCHES) return v;
    }
}

static verdict match(reader *r, const uint8_t *value, json_way *way, uint32_t depth) {
    if (depth > MAX_NESTING) return anything(way);
    skip_space(r);
    char kind = (char)value[0];
    if (r->at >= r->n) {
        add(&way->next, " \t\n\r");
        return ends(way, kind == '#' ? "-0123456789" : (char[]){kind, '\0'});
    }
    uint8_t c = r->s[r->at];
    if (kind == '#' ? !in_number(c) : c != (uint8_t)kind) return DIFFERS;
    switch (kind) {
    case '"':
        r->at++;
        return match_string(r, value + 5, value_size(value) - 5, way);
    case '[':
    case '{':
        r->at++;
        return kind == '[' ? match_array(r, value, way, depth) : match_object(r, value, way, depth);
    case '#':
        return match_number(r, value, way);
    default:
        return match_word(r, kind == 'n' ? "null" : kind == 't' ? "true" : "false", way);
    }
}

bool json_may_become(const uint8_t *text, size_t n, const uint8_t *value, json_way *way) {
    reader r = {text, n, 0};
    *way = (json_way){.want = NULL};
    return match(&r, value, way, 0) != DIFFERS;
}

int json_may_go_on(json_way *way, uint8_t byte) {
    if (way->want == NULL || byte == '"' || byte == '\\') return -1;
    if (way->left == 0 || way->want[0] != byte) return 0;
    *way = (json_way){.want = way->want + 1, .left = way->left - 1};
    add_wanted(way);
    return 1;
}

/* ---- skeletons ---- */

static void skeleton_string(arena *mem, reader *r, json_bytes *out) {
    put(mem, out, "\"", 1);
    r->at++;
    while (r->at < r->n && r->s[r->at] != '"') {
        uint8_t character[4];
        uint32_t length = read_character(r, character);
        if (length == 0) { /* cut */
            put(mem, out, r->s + r->at, r->n - r->at);
            r->at = r->n;
            return;
        }
        if (length == 1 && (character[0] == '"' || character[0] == '\\')) put(mem, out, "\\", 1);
        put(mem, out, character, length);
    }
    if (r->at < r->n) put(mem, out, "\"", 1);
    r->at++;
}

/* The exponent of a number that may go on: without zeros in front but for one, and without a plus before digits. */
static void skeleton_cut_exponent(arena *mem, const uint8_t *s, size_t n, json_bytes *out) {
    size_t at = 1;
    bool minus = n > 1 && s[1] == '-', sign = n > 1 && (s[1] == '-' || s[1] == '+');
    at += sign;
    while (at + 1 < n && s[at] == '0') at++;
    put(mem, out, minus ? "e-" : sign && at == n ? "e+" : "e", minus || (sign && at == n) ? 2 : 1);
    put(mem, out, s + at, n - at);
}

/* A number that may go on: a fraction ends in at most one zero, and the exponent of 0 has one digit. */
static void skeleton_cut_number(arena *mem, const uint8_t *s, size_t n, json_bytes *out) {
    size_t e = 0, end = n;
    bool fraction = false, zero = true;
    for (; e < n && s[e] != 'e' && s[e] != 'E'; e++) {
        fraction = fraction || s[e] == '.';
        zero = zero && (s[e] < '1' || s[e] > '9');
    }
    if (e == n && fraction)
        while (end > 1 && s[end - 1] == '0' && s[end - 2] == '0') end--;
    if (e == n) {
        put(mem, out, s, end);
        return;
    }
    if (!zero) {
        put(mem, out, s, e);
        skeleton_cut_exponent(mem, s + e, n - e, out);
        return;
    }
    put(mem, out, is_digit(s[n - 1]) ? "0e0" : "0e", is_digit(s[n - 1]) ? 3 : 2);
}

void json_skeleton(arena *mem, const uint8_t *text, size_t n, json_bytes *out) {
    reader r = {text, n, 0};
    out->n = 0;
    for (skip_space(&r); r.at < n; skip_space(&r)) {
        uint8_t c = text[r.at];
        if (c == '"') {
            skeleton_string(mem, &r, out);
        } else if (c == '-' || is_digit(c)) {
            size_t end = number_end(&r);
            if (end == n) {
                skeleton_cut_number(mem, text + r.at, n - r.at, out);
                r.at = n;
            } else {
                put_number(mem, &r, out);
            }
        } else {
            put(mem, out, &c, 1);
            r.at++;
        }
    }
}
