/* ebnf_text.c - characters, names, strings, counts and options of EBNF texts. */
#include "ebnf.h"
#include "utf8.h"

void ebnf_bad_at(const ebnf_reader *r, size_t at, int code, const char *what) {
    source_escape(&r->source, at, code, "%s", what);
}

void ebnf_bad(const ebnf_reader *r, const char *what) { ebnf_bad_at(r, r->at, STE_ERR_SYNTAX, what); }

bool ebnf_take(ebnf_reader *r, char c) {
    if (r->at >= r->n || r->s[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

void ebnf_skip(ebnf_reader *r) {
    while (r->at < r->n) {
        uint8_t c = r->s[r->at];
        if (c == '#')
            while (r->at < r->n && r->s[r->at] != '\n') r->at++;
        else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            r->at++;
        else
            return;
    }
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* A dot is a name's, but not its first character: by itself it is any character. */
size_t ebnf_name_length(const ebnf_reader *r, size_t at) {
    size_t n = 0;
    for (; at + n < r->n; n++) {
        uint8_t c = r->s[at + n];
        if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-' && (n == 0 || c != '.')) break;
    }
    return n;
}

uint32_t ebnf_count(ebnf_reader *r) {
    if (!is_digit(ebnf_peek(r))) ebnf_bad(r, "expected a number");
    uint64_t v = 0;
    while (is_digit(ebnf_peek(r))) {
        v = v * 10 + (uint64_t)(r->s[r->at++] - '0');
        if (v >= REPEAT_INFINITE) ebnf_bad_at(r, r->at, STE_ERR_LIMIT, "the number is too large");
    }
    return (uint32_t)v;
}

static uint32_t read_hex(ebnf_reader *r, uint32_t least, uint32_t most) {
    uint32_t v = 0, k = 0;
    for (; k < most; k++) {
        uint8_t c = ebnf_peek(r);
        uint32_t d = is_digit(c) ? c - 48u : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
        if (d == 16) break;
        v = v * 16 + d;
        r->at++;
    }
    if (k < least) ebnf_bad(r, "expected hexadecimal digits");
    return v;
}

/* One character of a literal or class. */
uint32_t ebnf_character(ebnf_reader *r) {
    uint32_t cp;
    if (!ebnf_take(r, '\\')) {
        uint32_t k = utf8_decode(r->s + r->at, r->n - r->at, &cp);
        if (k == 0) ebnf_bad(r, "expected valid UTF-8");
        r->at += k;
        return cp;
    }
    static const char from[] = "nrtfvb0ae", to[] = "\n\r\t\f\v\b\0\a\x1B";
    uint8_t c = ebnf_peek(r);
    const char *p = c != 0 ? strchr(from, c) : NULL;
    r->at++;
    if (p != NULL) return (uint8_t)to[p - from];
    switch (c) {
    case 'x':
        return read_hex(r, 2, 2);
    case 'u':
        if (ebnf_take(r, '{')) {
            cp = read_hex(r, 1, 6);
            if (!ebnf_take(r, '}')) ebnf_bad(r, "expected '}'");
        } else {
            cp = read_hex(r, 4, 4);
        }
        break;
    case 'U':
        cp = read_hex(r, 8, 8);
        break;
    default:
        if (c == 0 || c > 0x7F || is_letter(c) || is_digit(c)) {
            r->at--;
            ebnf_bad(r, "unknown escape");
        }
        return c;
    }
    if (cp > UTF8_MAX || (cp >= 0xD800 && cp <= 0xDFFF)) ebnf_bad(r, "no such character");
    return cp;
}

char *ebnf_string(ebnf_reader *r, size_t *n) {
    VEC(char) bytes = {0};
    arena *mem = &r->b->w->mem;
    size_t from = r->at - 1;
    while (!ebnf_take(r, '"')) {
        if (r->at >= r->n || ebnf_peek(r) == '\n') ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a literal is not closed");
        uint8_t out[4];
        uint32_t k = utf8_encode(ebnf_character(r), out);
        for (uint32_t i = 0; i < k; i++) vec_push(mem, &bytes, (char)out[i]);
    }
    *n = bytes.n;
    vec_push(mem, &bytes, '\0');
    return bytes.at;
}

/* ---- rules by name ---- */

static void grow_table(ebnf_reader *r) {
    uint32_t size = r->mask == 0 ? 64 : (r->mask + 1) * 2;
    r->table = arena_alloc(&r->b->w->mem, size, sizeof *r->table);
    r->mask = size - 1;
    for (uint32_t i = 0; i < r->rules.n; i++) {
        uint32_t slot = (uint32_t)hash_bytes(r->rules.at[i].name, r->rules.at[i].n, 0) & r->mask;
        while (r->table[slot] != 0) slot = (slot + 1) & r->mask;
        r->table[slot] = i + 1;
    }
}

named_rule *ebnf_rule(ebnf_reader *r, const char *name, size_t n, size_t at) {
    if (r->rules.n * 2 >= r->mask) grow_table(r);
    uint32_t slot = (uint32_t)hash_bytes(name, n, 0) & r->mask;
    for (; r->table[slot] != 0; slot = (slot + 1) & r->mask) {
        named_rule *rule = &r->rules.at[r->table[slot] - 1];
        if (rule->n == n && memcmp(rule->name, name, n) == 0) return rule;
    }
    vec_push(&r->b->w->mem, &r->rules, (named_rule){name, n, rule_new(r->b), at, false});
    r->table[slot] = r->rules.n;
    return &r->rules.at[r->rules.n - 1];
}

/* ---- options of a rule ---- */

static bool is_option(const ebnf_reader *r, size_t n, const char *name) {
    return n == strlen(name) && memcmp(r->s + r->at, name, n) == 0;
}

/* At the '=' after an option: its text. */
static const char *text_value(ebnf_reader *r) {
    r->at++;
    ebnf_skip(r);
    if (!ebnf_take(r, '"')) ebnf_bad(r, "expected a string");
    size_t from = r->at, n;
    const char *text = ebnf_string(r, &n);
    if (n == 0 || memchr(text, 0, n) != NULL) ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a name must not be empty");
    return text;
}

/* One option, of which `n` bytes are the name. */
static void read_option(ebnf_reader *r, size_t n, rule_options *o) {
    size_t at = r->at;
    bool lazy = is_option(r, n, "lazy"), chars = is_option(r, n, "max_chars"), named = is_option(r, n, "capture");
    bool temperature = is_option(r, n, "temperature");
    if (is_option(r, n, "max_tokens"))
        ebnf_bad_at(r, at, STE_ERR_UNSUPPORTED, "max_tokens is not supported: tokens do not end where rules end");
    if (!lazy && !chars && !named && !temperature) ebnf_bad_at(r, at, STE_ERR_UNSUPPORTED, "this rule option is not supported");
    if ((lazy && o->lazy) || (chars && o->max_chars != REPEAT_INFINITE) || (named && o->capture != NULL))
        ebnf_bad(r, "this rule option stands here twice");
    r->at += n;
    ebnf_skip(r);
    if (lazy) {
        o->lazy = true;
    } else if (named) {
        o->capture = ebnf_peek(r) == '=' ? text_value(r) : o->name;
    } else {
        if (!ebnf_take(r, '=')) ebnf_bad(r, "expected '='");
        ebnf_skip(r);
        if (chars) {
            o->max_chars = ebnf_count(r);
        } else {
            ebnf_count(r);
            if (ebnf_take(r, '.')) ebnf_count(r);
            builder_note(r->b, "rule %.60s: temperature does not change what is allowed and is ignored", o->name);
        }
    }
}

rule_options ebnf_options(ebnf_reader *r, const char *name, size_t n) {
    rule_options o = {.at = r->at, .max_chars = REPEAT_INFINITE};
    char *copy = arena_alloc(&r->b->w->mem, n + 1, 1);
    memcpy(copy, name, n);
    o.name = copy;
    if (!ebnf_take(r, '[')) return o;
    do {
        ebnf_skip(r);
        size_t length = ebnf_name_length(r, r->at);
        if (length == 0) ebnf_bad(r, "expected a rule option");
        read_option(r, length, &o);
        ebnf_skip(r);
    } while (ebnf_take(r, ','));
    if (!ebnf_take(r, ']')) ebnf_bad(r, "expected ']' after the rule options");
    return o;
}
