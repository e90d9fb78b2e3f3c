/* regex_parse.c - the text of a regular expression to a tree.
 *
 * The dialect is ECMA-262 with the u flag.  What is an error there is read as
 * ECMA-262 without the flag (annex B), Python and the Rust and PCRE families
 * agree to read it; what they do not agree on, or what is no regular language,
 * is refused by name.  docs/REGEX.md has the list. */
#include "regex_tree.h"
#include "unicode.h"
#include "utf8.h"

enum {
    FLAG_CASE = 1,       /* i: letters match their other cases too */
    FLAG_LINES = 2,      /* m: ^ and $ match at line ends too */
    FLAG_ALL = 4,        /* s: the dot matches line ends too */
    FLAG_BLANKS = 8,     /* x: blanks and comments say nothing */
    FLAG_UNICODE = 16,   /* u: \d \w \s \b by Unicode */
    FLAG_PAIRS = 32,     /* R: a line ends in \r, \n or \r\n, as one */
    FLAG_PART = 64,      /* not a flag of patterns: the pattern is part of a grammar (front.h) */
};

typedef struct group_name {
    const uint8_t *at;
    size_t n;
    uint32_t index; /* 0: of several groups */
} group_name;

typedef struct reader {
    builder *b;
    arena *mem;
    const uint8_t *s;
    size_t n, at;
    uint32_t depth, flags, groups;
    uint32_t behind; /* lookbehinds around */
    bool refers;     /* back-references may come: groups leave nodes */
    VEC(group_name) names;
    const json *place;
    const regex_part *part;
} reader;

STE_NORETURN static void bad(const reader *r, int code, const char *what) {
    work *w = r->b->w;
    if (r->place != NULL) json_escape(w, r->place, code, "regular expression, offset %zu: %s", r->at, what);
    source alone = {w, (const char *)r->s, r->n, NULL};
    const source *around = r->part == NULL ? &alone : r->part->around;
    size_t at = r->part == NULL ? r->at : r->part->at + (r->part->verbatim ? r->at : 0);
    source_escape(around, at, code, "regular expression, offset %zu: %s", r->at, what);
}

STE_NORETURN static void bad_at(reader *r, size_t at, int code, const char *what) {
    r->at = at;
    bad(r, code, what);
}

static bool more(const reader *r) { return r->at < r->n; }
static uint8_t peek(const reader *r) { return r->at < r->n ? r->s[r->at] : 0; }
static uint8_t peek_at(const reader *r, size_t ahead) { return r->at + ahead < r->n ? r->s[r->at + ahead] : 0; }

static bool take(reader *r, char c) {
    if (!more(r) || r->s[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_octal(uint8_t c) { return c >= '0' && c <= '7'; }
static bool is_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* ---- sets ---- */

static void add_list(arena *mem, cp_set *out, const cp_range *ranges, size_t n) {
    for (size_t i = 0; i < n; i++) cp_set_add(mem, out, ranges[i].lo, ranges[i].hi);
}
#define ADD_LIST(mem, out, ranges) add_list(mem, out, ranges, sizeof(ranges) / sizeof *(ranges))

static const cp_range digit_ranges[] = {{'0', '9'}};
static const cp_range word_ranges[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
/* ECMA-262 WhiteSpace and LineTerminator. */
static const cp_range space_ranges[] = {{0x09, 0x0D}, {0x20, 0x20}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
                                        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

static regex_fold fold(const reader *r) {
    return (r->flags & FLAG_CASE) == 0 ? FOLD_NONE : r->flags & FLAG_PART ? FOLD_ASCII : FOLD_SIMPLE;
}

/* Add s to out, or its complement; under i with all other cases first. */
static void add_set(const reader *r, cp_set *out, cp_set *s, bool negated) {
    regex_fold_set(r->mem, s, fold(r));
    cp_set_add_all(r->mem, out, negated ? cp_set_complement(r->mem, s) : *s);
}

/* \d \w \s, and in upper case their complements; false if c is none of them. */
static bool add_shorthand(const reader *r, cp_set *out, uint8_t c) {
    bool by_unicode = r->flags & FLAG_UNICODE;
    cp_set s = {0};
    switch (c | 0x20) {
    case 'd':
        if (by_unicode)
            unicode_property(r->mem, "nd", 2, &s);
        else
            ADD_LIST(r->mem, &s, digit_ranges);
        break;
    case 'w':
        if (by_unicode)
            unicode_word(r->mem, &s);
        else
            ADD_LIST(r->mem, &s, word_ranges);
        break;
    case 's':
        if (by_unicode)
            unicode_property(r->mem, "whitespace", 10, &s);
        else
            ADD_LIST(r->mem, &s, space_ranges);
        break;
    default:
        return false;
    }
    add_set(r, out, &s, (c & 0x20) == 0);
    return true;
}

/* At p or P: \p{name}, \p{^name}, \pL. */
static void add_property(reader *r, cp_set *out) {
    size_t from = r->at;
    bool negated = r->s[r->at++] == 'P';
    const char *name = (const char *)r->s + r->at;
    size_t n = 1;
    if (take(r, '{')) {
        if (take(r, '^')) negated = !negated;
        name = (const char *)r->s + r->at;
        size_t begin = r->at;
        while (more(r) && peek(r) != '}') r->at++;
        n = r->at - begin;
        if (!take(r, '}')) bad_at(r, from, STE_ERR_SYNTAX, "\\p{ is not closed");
    } else if (is_letter(peek(r))) {
        r->at++;
    } else {
        bad_at(r, from, STE_ERR_SYNTAX, "expected a property after \\p");
    }
    cp_set s = {0};
    if (!unicode_property(r->mem, name, n, &s)) bad_at(r, from, STE_ERR_UNSUPPORTED, "no known Unicode property");
    /* Case folding comes after the complement here (ECMA-262, CompileToCharSet): \P{Lu} under i matches A through a. */
    if (negated) s = cp_set_complement(r->mem, &s);
    add_set(r, out, &s, false);
}

/* At [: of a POSIX class; false if it is none. */
static bool add_posix(reader *r, cp_set *out) {
    static const struct {
        const char *name;
        uint8_t n;
        cp_range ranges[4];
    } classes[] = {
        {"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
        {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
        {"ascii", 1, {{0, 0x7F}}},
        {"blank", 2, {{'\t', '\t'}, {' ', ' '}}},
        {"cntrl", 2, {{0, 0x1F}, {0x7F, 0x7F}}},
        {"digit", 1, {{'0', '9'}}},
        {"graph", 1, {{'!', '~'}}},
        {"lower", 1, {{'a', 'z'}}},
        {"print", 1, {{' ', '~'}}},
        {"punct", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
        {"space", 2, {{'\t', '\r'}, {' ', ' '}}},
        {"upper", 1, {{'A', 'Z'}}},
        {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
        {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
    };
    bool negated = peek_at(r, 2) == '^';
    size_t from = negated ? 3 : 2;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        size_t n = strlen(classes[i].name);
        if (r->n - r->at < from + n + 2 || memcmp(r->s + r->at + from, classes[i].name, n) != 0 ||
            r->s[r->at + from + n] != ':' || r->s[r->at + from + n + 1] != ']')
            continue;
        cp_set s = {0};
        add_list(r->mem, &s, classes[i].ranges, classes[i].n);
        add_set(r, out, &s, negated);
        r->at += from + n + 2;
        return true;
    }
    return false;
}

/* ---- single characters ---- */

static uint32_t read_code_point(reader *r) {
    uint32_t cp, k = utf8_decode(r->s + r->at, r->n - r->at, &cp);
    if (k == 0) bad(r, STE_ERR_SYNTAX, "expected valid UTF-8");
    r->at += k;
    return cp;
}

static uint32_t read_hex(reader *r, uint32_t least, uint32_t most) {
    uint32_t v = 0, k = 0;
    for (; k < most; k++) {
        uint8_t c = peek(r);
        uint32_t d = is_digit(c) ? c - 48u : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
        if (d == 16) break;
        v = v * 16 + d;
        r->at++;
    }
    if (k < least) bad(r, STE_ERR_SYNTAX, "expected hexadecimal digits");
    return v;
}

static uint32_t read_braced_hex(reader *r) {
    uint32_t v = read_hex(r, 1, 8);
    if (!take(r, '}')) bad(r, STE_ERR_SYNTAX, "expected '}'");
    return v;
}

/* Octal digits, as many as keep the value below 256; Python and annex B agree on these. */
static uint32_t read_octal(reader *r) {
    uint32_t v = 0;
    for (uint32_t k = 0; k < 3 && is_octal(peek(r)) && v * 8 + peek(r) - '0' < 256; k++) v = v * 8 + r->s[r->at++] - '0';
    return v;
}

/* Three digits that are the number of no group: a character. */
static bool is_three_octal(const reader *r) {
    uint8_t a = peek(r), b = peek_at(r, 1), c = peek_at(r, 2);
    return is_octal(a) && is_octal(b) && is_octal(c) && a < '4' && r->groups < (a - 48u) * 100 + (b - 48u) * 10 + (c - 48u);
}

/* After \u. */
static uint32_t read_utf16(reader *r) {
    if (take(r, '{')) return read_braced_hex(r);
    uint32_t cp = read_hex(r, 4, 4);
    if (cp >= 0xD800 && cp <= 0xDBFF && peek(r) == '\\' && peek_at(r, 1) == 'u') {
        size_t from = r->at;
        r->at += 2;
        uint32_t low = peek(r) == '{' ? 0 : read_hex(r, 4, 4);
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        r->at = from;
    }
    return cp;
}

/* After a backslash, where neither a set nor an assertion is meant. */
static uint32_t read_escape(reader *r, bool in_class) {
    static const char from[] = "nrtfvae", to[] = "\n\r\t\f\v\a\x1B";
    size_t start = r->at - 1;
    if (!more(r)) bad_at(r, start, STE_ERR_SYNTAX, "the pattern ends in a backslash");
    uint8_t c = peek(r);
    const char *p = c != 0 ? strchr(from, c) : NULL;
    if (p != NULL) {
        r->at++;
        return (uint8_t)to[p - from];
    }
    uint32_t cp;
    switch (c) {
    case 'x':
        r->at++;
        cp = take(r, '{') ? read_braced_hex(r) : read_hex(r, 2, 2);
        break;
    case 'u':
        r->at++;
        cp = read_utf16(r);
        break;
    case 'U':
        r->at++;
        cp = take(r, '{') ? read_braced_hex(r) : read_hex(r, 8, 8);
        break;
    case 'c':
        r->at++;
        if (!is_letter(peek(r))) bad_at(r, start, STE_ERR_SYNTAX, "expected a letter after \\c");
        return r->s[r->at++] & 31u;
    case 'b':
        if (!in_class) bad_at(r, start, STE_ERR_SYNTAX, "unknown escape");
        r->at++;
        return '\b';
    default:
        if (c == '0' || (is_octal(c) && in_class)) return read_octal(r);
        if (is_three_octal(r)) return read_octal(r);
        if (is_digit(c)) bad_at(r, start, STE_ERR_SYNTAX, "unknown escape");
        if (c != 0 && strchr("CEGHKLNOQRVXhlogk", c) != NULL) bad_at(r, start, STE_ERR_UNSUPPORTED, "this escape is not supported");
        if (is_letter(c)) bad_at(r, start, STE_ERR_SYNTAX, "unknown escape");
        return read_code_point(r);
    }
    if (cp > UTF8_MAX) bad_at(r, start, STE_ERR_SYNTAX, "no such character");
    if (cp >= 0xD800 && cp <= 0xDFFF) bad_at(r, start, STE_ERR_UNSUPPORTED, "a surrogate that stands alone is no character");
    return cp;
}

static regex_node *one_character(const reader *r, uint32_t cp) { return regex_character(r->mem, cp, fold(r)); }

/* ---- character classes ---- */

/* A ']' right after the opening: a member if a second ']' closes the class before another one opens (the reading of
 * POSIX and Python; ECMA-262 with u has none); else the class is empty. */
static bool bracket_is_member(const reader *r) {
    for (size_t i = r->at + 1; i < r->n; i++) {
        if (r->s[i] == '\\')
            i++;
        else if (r->s[i] == '[' || r->s[i] == ']')
            return r->s[i] == ']';
    }
    return false;
}

/* One end of a range, or a set by itself (false). */
static bool read_member(reader *r, cp_set *sets, uint32_t *cp) {
    if (peek(r) == '[' && peek_at(r, 1) == ':' && add_posix(r, sets)) return false;
    if (!take(r, '\\')) {
        *cp = read_code_point(r);
        return true;
    }
    if (more(r) && add_shorthand(r, sets, peek(r))) {
        r->at++;
        return false;
    }
    if ((peek(r) | 0x20) == 'p') {
        add_property(r, sets);
        return false;
    }
    *cp = read_escape(r, true);
    return true;
}

/* After '['. */
static regex_node *read_class(reader *r) {
    size_t start = r->at - 1;
    bool negated = take(r, '^');
    cp_set members = {0}, all = {0};
    for (bool first = true; first ? peek(r) != ']' || bracket_is_member(r) : peek(r) != ']'; first = false) {
        if (!more(r)) bad_at(r, start, STE_ERR_SYNTAX, "a character class is not closed");
        uint32_t lo, hi;
        bool single = read_member(r, &all, &lo);
        if (peek(r) == '-' && peek_at(r, 1) != ']' && r->at + 1 < r->n) {
            size_t dash = r->at++;
            bool ends = read_member(r, &all, &hi);
            if (single && ends) {
                if (hi < lo) bad_at(r, dash, STE_ERR_SYNTAX, "the range in a character class is out of order");
                cp_set_add(r->mem, &members, lo, hi);
                continue;
            }
            cp_set_add(r->mem, &members, '-', '-'); /* beside a set the dash is itself (annex B) */
            if (ends) cp_set_add(r->mem, &members, hi, hi);
        }
        if (single) cp_set_add(r->mem, &members, lo, lo);
    }
    r->at++;
    cp_set_add_all(r->mem, &members, all);
    cp_set out = {0};
    add_set(r, &out, &members, negated);
    return regex_class(r->mem, &out);
}

static regex_node *read_dot(const reader *r) {
    static const cp_range lines[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    cp_set s = {0};
    if (!(r->flags & FLAG_ALL)) add_list(r->mem, &s, lines, r->flags & FLAG_PART ? 1 : sizeof lines / sizeof *lines);
    s = cp_set_complement(r->mem, &s);
    return regex_class(r->mem, &s);
}

/* ---- assertions at a point ---- */

#define BIT(kind) ((uint8_t)(1u << (kind)))
#define NOT(kinds) ((uint8_t)(ALL_KINDS & ~(kinds)))
#define LINE_ENDS (BIT(KIND_CR) | BIT(KIND_LF) | BIT(KIND_SEPARATOR))

static uint8_t word_kinds(const reader *r) {
    if (r->flags & FLAG_UNICODE) return BIT(KIND_WORD) | BIT(KIND_FOLDED) | BIT(KIND_LETTER);
    bool folds = (r->flags & FLAG_CASE) && !(r->flags & FLAG_PART);
    return folds ? BIT(KIND_WORD) | BIT(KIND_FOLDED) : BIT(KIND_WORD);
}

/* The position is between any of `before` and any of `after`. */
static void allow_pair(uint8_t allow[N_KINDS], uint8_t before, uint8_t after) {
    for (uint32_t i = 0; i < N_KINDS; i++)
        if (before & BIT(i)) allow[i] |= after;
}

static regex_node *line_start(const reader *r) {
    uint8_t allow[N_KINDS] = {0};
    allow_pair(allow, BIT(KIND_EDGE), ALL_KINDS);
    if ((r->flags & FLAG_LINES) && !(r->flags & FLAG_PAIRS)) allow_pair(allow, LINE_ENDS, ALL_KINDS);
    if ((r->flags & FLAG_LINES) && (r->flags & FLAG_PAIRS)) {
        allow_pair(allow, BIT(KIND_LF), ALL_KINDS);
        allow_pair(allow, BIT(KIND_CR), NOT(BIT(KIND_LF)));
    }
    return regex_point(r->mem, allow);
}

static regex_node *line_end(const reader *r) {
    uint8_t allow[N_KINDS] = {0};
    allow_pair(allow, ALL_KINDS, BIT(KIND_EDGE));
    if ((r->flags & FLAG_LINES) && !(r->flags & FLAG_PAIRS)) allow_pair(allow, ALL_KINDS, LINE_ENDS);
    if ((r->flags & FLAG_LINES) && (r->flags & FLAG_PAIRS)) {
        allow_pair(allow, ALL_KINDS, BIT(KIND_CR));
        allow_pair(allow, NOT(BIT(KIND_CR)), BIT(KIND_LF));
    }
    return regex_point(r->mem, allow);
}

static regex_node *text_start(const reader *r) {
    uint8_t allow[N_KINDS] = {0};
    allow_pair(allow, BIT(KIND_EDGE), ALL_KINDS);
    return regex_point(r->mem, allow);
}

static regex_node *text_end(const reader *r) {
    uint8_t allow[N_KINDS] = {0};
    allow_pair(allow, ALL_KINDS, BIT(KIND_EDGE));
    return regex_point(r->mem, allow);
}

static bool take_text(reader *r, const char *text) {
    size_t n = strlen(text);
    if (r->n - r->at < n || memcmp(r->s + r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* After \b or \B. */
static regex_node *word_boundary(reader *r, bool negated) {
    uint8_t word = word_kinds(r), other = NOT(word), allow[N_KINDS] = {0};
    if (negated) {
        allow_pair(allow, word, word);
        allow_pair(allow, other, other);
    } else if (take_text(r, "{start}")) {
        allow_pair(allow, other, word);
    } else if (take_text(r, "{end}")) {
        allow_pair(allow, word, other);
    } else if (take_text(r, "{start-half}")) {
        allow_pair(allow, other, ALL_KINDS);
    } else if (take_text(r, "{end-half}")) {
        allow_pair(allow, ALL_KINDS, other);
    } else {
        allow_pair(allow, word, other);
        allow_pair(allow, other, word);
    }
    return regex_point(r->mem, allow);
}

/* ---- groups that are referred to ---- */

static regex_node *reference(const reader *r, uint32_t index, size_t at) { return regex_back(r->mem, index, fold(r), at); }

/* After a backslash, at the number of a group. */
static regex_node *reference_by_number(reader *r) {
    size_t start = r->at - 1;
    uint32_t index = 0;
    while (is_digit(peek(r)) && index < 100) index = index * 10 + (r->s[r->at++] - 48u);
    return reference(r, index <= r->groups ? index : 0, start);
}

/* A name and its closing character; what stands before the close. */
static group_name read_name(reader *r, char close) {
    size_t start = r->at;
    while (more(r) && peek(r) != (uint8_t)close && peek(r) != '(' && peek(r) != ')') r->at++;
    if (r->at == start || is_digit(r->s[start])) bad_at(r, start, STE_ERR_SYNTAX, "expected a group name");
    group_name name = {r->s + start, r->at - start, 0};
    if (!take(r, close)) bad_at(r, start, STE_ERR_SYNTAX, "a group name is not closed");
    return name;
}

static group_name *find_name(const reader *r, group_name name) {
    for (uint32_t i = 0; i < r->names.n; i++)
        if (r->names.at[i].n == name.n && memcmp(r->names.at[i].at, name.at, name.n) == 0) return &r->names.at[i];
    return NULL;
}

static regex_node *reference_by_name(reader *r, size_t start, char close) {
    const group_name *known = find_name(r, read_name(r, close));
    return reference(r, known == NULL ? 0 : known->index, start);
}

/* At k of \k<name>, \k'name', \k{name}. */
static regex_node *reference_by_escape(reader *r) {
    size_t start = r->at++ - 1;
    char close = peek(r) == '<' ? '>' : peek(r) == '{' ? '}' : '\'';
    if (peek(r) != '<' && peek(r) != '{' && peek(r) != '\'') bad_at(r, start, STE_ERR_SYNTAX, "expected a group name after \\k");
    r->at++;
    return reference_by_name(r, start, close);
}

/* After a backslash, outside of classes. */
static regex_node *read_escaped(reader *r) {
    cp_set s = {0};
    switch (peek(r)) {
    case 'b':
    case 'B':
        r->at++;
        return word_boundary(r, r->s[r->at - 1] == 'B');
    case 'A':
        r->at++;
        return text_start(r);
    case 'Z':
    case 'z':
        r->at++;
        return text_end(r);
    case 'p':
    case 'P':
        add_property(r, &s);
        return regex_class(r->mem, &s);
    case 'k':
        return reference_by_escape(r);
    default:
        if (peek(r) >= '1' && peek(r) <= '9' && !is_three_octal(r)) return reference_by_number(r);
        if (!more(r) || !add_shorthand(r, &s, peek(r))) return one_character(r, read_escape(r, false));
        r->at++;
        return regex_class(r->mem, &s);
    }
}

/* ---- groups ---- */

static regex_node *read_choice(reader *r);

static void skip_comment(reader *r, size_t start) {
    while (more(r) && peek(r) != ')') r->at++;
    if (!take(r, ')')) bad_at(r, start, STE_ERR_SYNTAX, "a comment is not closed");
}

/* After "(?", where flags must follow; up to the ':' or ')', which is left. */
static uint32_t read_flags(reader *r) {
    uint32_t flags = r->flags;
    bool off = false;
    size_t start = r->at;
    for (; peek(r) != ':' && peek(r) != ')'; r->at++) {
        uint32_t flag = 0;
        if (!more(r)) bad_at(r, start - 2, STE_ERR_SYNTAX, "a group is not closed");
        switch (peek(r)) {
        case '-':
            if (off) bad(r, STE_ERR_SYNTAX, "two '-' among flags");
            off = true;
            break;
        case 'i':
            flag = FLAG_CASE;
            break;
        case 'm':
            flag = FLAG_LINES;
            break;
        case 's':
            flag = FLAG_ALL;
            break;
        case 'x':
            flag = FLAG_BLANKS;
            break;
        case 'u':
            flag = FLAG_UNICODE;
            break;
        case 'R':
            flag = FLAG_PAIRS;
            break;
        case 'a': /* Python: the opposite of u */
            flags &= ~(uint32_t)FLAG_UNICODE;
            break;
        case 'U': /* lazy and greedy change places: the same language */
            break;
        default:
            bad(r, STE_ERR_UNSUPPORTED, "this group or flag is not supported");
        }
        flags = off ? flags & ~flag : flags | flag;
    }
    if (r->at == start) bad_at(r, start - 2, STE_ERR_SYNTAX, "a group without flags or a kind");
    if (r->at == start + 1 && r->s[start] == 'R' && peek(r) == ')' && start > 2)
        bad_at(r, start, STE_ERR_UNSUPPORTED, "recursion is not supported");
    return flags;
}

static regex_node *group_body(reader *r, size_t start) {
    uint32_t flags = r->flags;
    if (++r->depth > r->b->w->limits.depth) bad(r, STE_ERR_LIMIT, "groups are nested too deep");
    regex_node *e = read_choice(r);
    r->depth--;
    r->flags = flags;
    if (!take(r, ')')) bad_at(r, start, STE_ERR_SYNTAX, "a group is not closed");
    return e;
}

/* A group that may be referred to; name: NULL or its own. */
static regex_node *capturing(reader *r, size_t start, const group_name *name) {
    uint32_t index = ++r->groups;
    if (name != NULL && r->refers) {
        group_name *same = find_name(r, *name), own = {name->at, name->n, index};
        if (same != NULL)
            same->index = 0;
        else
            vec_push(r->mem, &r->names, own);
    }
    bool refers = r->refers && r->behind == 0; /* in a lookbehind groups match from right to left */
    regex_node *body = group_body(r, start);
    return refers ? regex_group(r->mem, body, index) : body;
}

static regex_node *named(reader *r, size_t start, char close) {
    group_name name = read_name(r, close);
    return capturing(r, start, &name);
}

/* At what follows "(?"; NULL: nothing to match (a comment, or flags for the rest of the group around). */
static regex_node *read_extension(reader *r, size_t start) {
    switch (peek(r)) {
    case ':':
        r->at++;
        return group_body(r, start);
    case '=':
    case '!':
        if (r->behind > 0) bad_at(r, start, STE_ERR_UNSUPPORTED, "lookahead inside a lookbehind is not supported");
        bool negative = r->s[r->at++] == '!';
        return regex_look(r->mem, group_body(r, start), false, negative);
    case '#':
        skip_comment(r, start);
        return NULL;
    case '>':
        bad_at(r, start, STE_ERR_UNSUPPORTED, "atomic groups are not supported");
    case '|':
        bad_at(r, start, STE_ERR_UNSUPPORTED, "branch resets are not supported");
    case '(':
        bad_at(r, start, STE_ERR_UNSUPPORTED, "conditional groups are not supported");
    case '&':
        bad_at(r, start, STE_ERR_UNSUPPORTED, "recursion is not supported");
    case 'P':
        r->at++;
        if (take(r, '=')) return reference_by_name(r, start, ')');
        if (peek(r) == '>') bad_at(r, start, STE_ERR_UNSUPPORTED, "recursion is not supported");
        if (!take(r, '<')) bad_at(r, start, STE_ERR_SYNTAX, "unknown group");
        return named(r, start, '>');
    case '\'':
        r->at++;
        return named(r, start, '\'');
    case '<':
        r->at++;
        if (peek(r) == '=' || peek(r) == '!') {
            bool absent = r->s[r->at++] == '!';
            r->behind++;
            regex_node *body = group_body(r, start);
            r->behind--;
            return regex_look(r->mem, body, true, absent);
        }
        return named(r, start, '>');
    default:
        if (is_digit(peek(r)) || ((peek(r) == '-' || peek(r) == '+') && is_digit(peek_at(r, 1))))
            bad_at(r, start, STE_ERR_UNSUPPORTED, "recursion is not supported");
        uint32_t before = r->flags, flags = read_flags(r);
        r->flags = flags;
        if (take(r, ')')) return NULL; /* to the end of the group around, which puts the flags back */
        r->at++;
        regex_node *e = group_body(r, start);
        r->flags = before;
        return e;
    }
}

/* ---- quantifiers ---- */

#define MAX_REPEAT 100000

static uint32_t read_count(reader *r) {
    uint32_t v = 0;
    while (is_digit(peek(r))) {
        v = v * 10 + (uint32_t)(r->s[r->at++] - '0');
        if (v > MAX_REPEAT) bad(r, STE_ERR_LIMIT, "a repeat count is above 100000");
    }
    return v;
}

/* {n}, {n,} or {n,m}; false if the brace is an ordinary character here (annex B, Python). */
static bool read_braces(reader *r, uint32_t *min, uint32_t *max) {
    size_t from = r->at, i = 1;
    while (is_digit(peek_at(r, i))) i++;
    bool digits = i > 1;
    if (peek_at(r, i) == ',') {
        size_t second = ++i;
        while (is_digit(peek_at(r, i))) i++;
        if (!digits && i > second && peek_at(r, i) == '}')
            bad(r, STE_ERR_SYNTAX, "{,n} means different things in ECMA-262 and Python: write {0,n}");
    }
    if (!digits || peek_at(r, i) != '}') return false;
    r->at++;
    *min = *max = read_count(r);
    if (take(r, ',')) *max = peek(r) == '}' ? REPEAT_INFINITE : read_count(r);
    r->at++;
    if (*max < *min) bad_at(r, from, STE_ERR_SYNTAX, "the repeat counts are out of order");
    return true;
}

static bool read_quantifier(reader *r, uint32_t *min, uint32_t *max) {
    uint8_t c = peek(r);
    if (c == '{') return read_braces(r, min, max);
    if (c != '*' && c != '+' && c != '?') return false;
    r->at++;
    *min = c == '+';
    *max = c == '?' ? 1 : REPEAT_INFINITE;
    return true;
}

static void skip_blanks(reader *r) {
    while ((r->flags & FLAG_BLANKS) && more(r)) {
        uint8_t c = peek(r);
        if (c == '#')
            while (more(r) && peek(r) != '\n') r->at++;
        else if (c == ' ' || (c >= '\t' && c <= '\r'))
            r->at++;
        else
            return;
    }
}

static regex_node *quantified(reader *r, regex_node *e) {
    uint32_t min, max;
    skip_blanks(r);
    if (!read_quantifier(r, &min, &max)) return e;
    bool lazy = take(r, '?'); /* matches the same texts, but see regex_lazy.c */
    if (peek(r) == '+') bad(r, STE_ERR_UNSUPPORTED, "possessive quantifiers are not supported");
    size_t second = r->at;
    skip_blanks(r);
    uint32_t ignored;
    if (read_quantifier(r, &ignored, &ignored)) bad_at(r, second, STE_ERR_SYNTAX, "nothing to repeat");
    return regex_repeat(r->mem, e, min, max, lazy);
}

/* ---- sequences ---- */

/* NULL: nothing to match and nothing to repeat. */
static regex_node *read_atom(reader *r) {
    size_t start = r->at;
    switch (peek(r)) {
    case '^':
        r->at++;
        return line_start(r);
    case '$':
        r->at++;
        return line_end(r);
    case '.':
        r->at++;
        return read_dot(r);
    case '[':
        r->at++;
        return read_class(r);
    case '\\':
        r->at++;
        return read_escaped(r);
    case '(':
        r->at++;
        if (take(r, '?')) return read_extension(r, start);
        if (peek(r) == '*' && peek_at(r, 1) >= 'A' && peek_at(r, 1) <= 'Z')
            bad_at(r, start, STE_ERR_UNSUPPORTED, "backtracking verbs are not supported");
        return capturing(r, start, NULL);
    default:
        return one_character(r, read_code_point(r));
    }
}

static regex_node *read_sequence(reader *r) {
    VEC(regex_node *) parts = {0};
    for (;;) {
        skip_blanks(r);
        if (!more(r) || peek(r) == '|' || peek(r) == ')') break;
        uint32_t ignored;
        size_t start = r->at;
        if (read_quantifier(r, &ignored, &ignored)) bad_at(r, start, STE_ERR_SYNTAX, "nothing to repeat");
        regex_node *e = read_atom(r);
        if (e != NULL) vec_push(r->mem, &parts, quantified(r, e));
    }
    return regex_sequence(r->mem, parts.at, parts.n);
}

static regex_node *read_choice(reader *r) {
    VEC(regex_node *) parts = {0};
    do {
        regex_node *e = read_sequence(r);
        vec_push(r->mem, &parts, e);
    } while (take(r, '|'));
    return regex_choice(r->mem, parts.at, parts.n);
}

/* Can there be a back-reference? */
static bool may_refer(const reader *r) {
    for (size_t i = 0; i + 1 < r->n; i++) {
        uint8_t c = r->s[i + 1];
        if (r->s[i] == '\\' && (c == 'k' || (c >= '1' && c <= '9'))) return true;
        if (r->s[i] == 'P' && c == '=') return true;
    }
    return false;
}

static regex_node *read_all(reader *r) {
    r->refers = may_refer(r);
    regex_node *e = read_choice(r);
    if (more(r)) bad(r, STE_ERR_SYNTAX, "a ')' without its '('");
    if (!e->refers) return e;
    size_t at;
    const char *why;
    e = regex_bind(r->b->w, e, &at, &why);
    if (e == NULL) bad_at(r, at, STE_ERR_UNSUPPORTED, why);
    return e;
}

regex_node *regex_parse(builder *b, const char *text, size_t n, const json *place) {
    reader r = {.b = b, .mem = &b->w->mem, .s = (const uint8_t *)text, .n = n, .place = place};
    return read_all(&r);
}

regex_node *regex_parse_part(builder *b, const regex_part *p, bool follows) {
    reader r = {.b = b, .mem = &b->w->mem, .s = (const uint8_t *)p->text, .n = p->n, .part = p};
    r.flags = FLAG_PART | (p->ignore_case ? FLAG_CASE : 0) | (p->dot_all ? FLAG_ALL : 0) | (p->unicode ? FLAG_UNICODE : 0);
    regex_node *e = read_all(&r);
    uint32_t sides = e->asserts ? regex_looks_outside(b->w, e) : 0;
    if (sides & LOOKS_BEFORE)
        bad_at(&r, 0, STE_ERR_UNSUPPORTED, "an assertion sees what stands before this part of the text, which is not supported");
    if (sides == 0) return e;
    if (!follows)
        bad_at(&r, 0, STE_ERR_UNSUPPORTED, "an assertion sees what follows this part of the text, which is not supported here");
    e = regex_resolve_ends(r.mem, e);
    if (regex_has_end(e))
        bad_at(&r, 0, STE_ERR_UNSUPPORTED, "^ or $ beside an assertion that sees what follows this part of the text is not supported");
    return e;
}
