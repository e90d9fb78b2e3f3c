/* ebnf.c - EBNF in the dialect of GBNF: name ::= alternatives, "literals", [classes], groups, repeats, # comments.
 *
 *   rules      name ::= sequence | sequence ...      name: [A-Za-z_][A-Za-z0-9_.-]*
 *   elements   "text"  [a-z]  [^a-z]  .  name  ( ... )
 *   repeats    * + ? {n} {n,} {n,m}
 *   escapes    \n \r \t \\ \" \' \] \[ \- \^ \xHH \uXXXX \u{...} \UXXXXXXXX
 *
 * A rule ends where the next "name ::=" begins.  A literal that spells a
 * special token's text stands for that token. */
#include "cp_set.h"
#include "front.h"
#include "utf8.h"

typedef struct named_rule {
    const char *name;
    size_t n;
    uint32_t rule;
    size_t used_at;
    bool defined;
} named_rule;

typedef struct ebnf_reader {
    builder *b;
    source source;
    const uint8_t *s;
    size_t n, at;
    uint32_t depth;
    VEC(named_rule) rules;
    uint32_t *table, mask; /* by name -> rules index + 1 */
} ebnf_reader;

STE_NORETURN static void bad_at(const ebnf_reader *r, size_t at, int code, const char *what) {
    source_escape(&r->source, at, code, "%s", what);
}

STE_NORETURN static void bad(const ebnf_reader *r, const char *what) { bad_at(r, r->at, STE_ERR_SYNTAX, what); }

static uint8_t peek(const ebnf_reader *r) { return r->at < r->n ? r->s[r->at] : 0; }

static bool take(ebnf_reader *r, char c) {
    if (r->at >= r->n || r->s[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

static void skip_space(ebnf_reader *r) {
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

static bool name_char(uint8_t c, bool first) {
    if (((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_') return true;
    return !first && ((c >= '0' && c <= '9') || c == '-' || c == '.');
}

static size_t name_length(const ebnf_reader *r, size_t at) {
    size_t n = 0;
    while (at + n < r->n && name_char(r->s[at + n], n == 0)) n++;
    return n;
}

/* Does a new rule begin here? */
static bool at_definition(ebnf_reader *r) {
    size_t from = r->at, n = name_length(r, r->at);
    if (n == 0) return false;
    r->at += n;
    skip_space(r);
    bool yes = r->n - r->at >= 3 && memcmp(r->s + r->at, "::=", 3) == 0;
    r->at = from;
    return yes;
}

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

/* The rule of this name, made where it is first met. */
static named_rule *find_rule(ebnf_reader *r, const char *name, size_t n, size_t at) {
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

static uint32_t read_hex(ebnf_reader *r, uint32_t least, uint32_t most) {
    uint32_t v = 0, k = 0;
    for (; k < most; k++) {
        uint8_t c = peek(r);
        uint32_t d = c >= '0' && c <= '9' ? c - 48u : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
        if (d == 16) break;
        v = v * 16 + d;
        r->at++;
    }
    if (k < least) bad(r, "expected hexadecimal digits");
    return v;
}

/* One character of a literal or class; *byte says that \xHH named a byte above 0x7f. */
static uint32_t read_char(ebnf_reader *r, bool *byte) {
    *byte = false;
    uint32_t cp;
    if (!take(r, '\\')) {
        uint32_t k = utf8_decode(r->s + r->at, r->n - r->at, &cp);
        if (k == 0) bad(r, "expected valid UTF-8");
        r->at += k;
        return cp;
    }
    static const char from[] = "nrtfvb0a", to[] = "\n\r\t\f\v\b\0\a";
    uint8_t c = peek(r);
    const char *p = c != 0 ? strchr(from, c) : NULL;
    r->at++;
    if (p != NULL) return (uint8_t)to[p - from];
    switch (c) {
    case 'x':
        cp = read_hex(r, 2, 2);
        *byte = cp > 0x7F;
        return cp;
    case 'u':
        if (take(r, '{')) {
            cp = read_hex(r, 1, 6);
            if (!take(r, '}')) bad(r, "expected '}'");
        } else {
            cp = read_hex(r, 4, 4);
        }
        break;
    case 'U':
        cp = read_hex(r, 8, 8);
        break;
    default:
        if (c == 0 || name_char(c, true)) {
            r->at--;
            bad(r, "unknown escape");
        }
        return c;
    }
    if (cp > UTF8_MAX || (cp >= 0xD800 && cp <= 0xDFFF)) bad(r, "no such character");
    return cp;
}

/* After the opening quote. */
static expr *read_literal(ebnf_reader *r) {
    VEC(uint8_t) bytes = {0};
    arena *mem = &r->b->w->mem;
    while (!take(r, '"')) {
        if (r->at >= r->n || peek(r) == '\n') bad(r, "a literal is not closed");
        bool byte;
        uint32_t cp = read_char(r, &byte);
        uint8_t out[4];
        uint32_t k = 1;
        out[0] = (uint8_t)cp;
        if (!byte) k = utf8_encode(cp, out);
        for (uint32_t i = 0; i < k; i++) vec_push(mem, &bytes, out[i]);
    }
    return expr_literal(r->b, bytes.at, bytes.n);
}

/* After '['.  A class is over code points; \xHH is the code point HH here. */
static expr *read_class(ebnf_reader *r) {
    cp_set s = {0};
    arena *mem = &r->b->w->mem;
    bool negated = take(r, '^'), byte;
    while (!take(r, ']')) {
        if (r->at >= r->n || peek(r) == '\n') bad(r, "a character class is not closed");
        uint32_t lo = read_char(r, &byte), hi = lo;
        if (peek(r) == '-' && r->at + 1 < r->n && r->s[r->at + 1] != ']') {
            r->at++;
            hi = read_char(r, &byte);
            if (hi < lo) bad(r, "the range in a character class is out of order");
        }
        cp_set_add(mem, &s, lo, hi);
    }
    if (negated) s = cp_set_complement(mem, &s);
    return cp_set_expr(r->b, &s);
}

static uint32_t read_count(ebnf_reader *r) {
    if (peek(r) < '0' || peek(r) > '9') bad(r, "expected a number");
    uint64_t v = 0;
    while (peek(r) >= '0' && peek(r) <= '9') {
        v = v * 10 + (uint64_t)(r->s[r->at++] - '0');
        if (v >= REPEAT_INFINITE) bad_at(r, r->at, STE_ERR_LIMIT, "a repeat count is too large");
    }
    return (uint32_t)v;
}

static expr *read_repeats(ebnf_reader *r, expr *e) {
    for (;;) {
        uint32_t min = 0, max = REPEAT_INFINITE;
        if (take(r, '*')) {
        } else if (take(r, '+')) {
            min = 1;
        } else if (take(r, '?')) {
            max = 1;
        } else if (take(r, '{')) {
            skip_space(r);
            min = peek(r) == ',' ? 0 : read_count(r);
            max = min;
            skip_space(r);
            if (take(r, ',')) {
                skip_space(r);
                max = peek(r) == '}' ? REPEAT_INFINITE : read_count(r);
                skip_space(r);
            }
            if (!take(r, '}')) bad(r, "expected '}'");
            if (max < min) bad(r, "the repeat counts are out of order");
        } else {
            return e;
        }
        e = expr_repeat(r->b, e, min, max);
    }
}

static expr *read_choice(ebnf_reader *r);

static expr *read_element(ebnf_reader *r) {
    if (take(r, '"')) return read_literal(r);
    if (take(r, '[')) return read_class(r);
    if (take(r, '.')) return expr_class(r->b, &(cp_range){0, UTF8_MAX}, 1);
    if (take(r, '(')) {
        if (++r->depth > r->b->w->limits.depth) bad_at(r, r->at, STE_ERR_LIMIT, "groups are nested too deep");
        expr *e = read_choice(r);
        r->depth--;
        if (!take(r, ')')) bad(r, "expected ')'");
        return e;
    }
    size_t n = name_length(r, r->at);
    if (n == 0) bad(r, "expected a literal, a class, a rule name or '('");
    named_rule *rule = find_rule(r, (const char *)r->s + r->at, n, r->at);
    r->at += n;
    return expr_rule(r->b, rule->rule);
}

static expr *read_sequence(ebnf_reader *r) {
    VEC(expr *) parts = {0};
    for (;;) {
        skip_space(r);
        if (r->at >= r->n || peek(r) == '|' || peek(r) == ')' || at_definition(r)) break;
        vec_push(&r->b->w->mem, &parts, read_repeats(r, read_element(r)));
    }
    if (parts.n == 0) bad(r, "expected a literal, a class, a rule name or '('"); /* "" is the empty text */
    return expr_sequence(r->b, parts.at, parts.n);
}

static expr *read_choice(ebnf_reader *r) {
    VEC(expr *) parts = {0};
    do vec_push(&r->b->w->mem, &parts, read_sequence(r));
    while (take(r, '|'));
    return expr_choice(r->b, parts.at, parts.n);
}

expr *ebnf_expr(builder *b, const source *text, const char *root) {
    ebnf_reader r = {.b = b, .source = *text, .s = (const uint8_t *)text->text, .n = text->n};
    for (;;) {
        skip_space(&r);
        if (r.at >= r.n) break;
        if (!at_definition(&r)) bad(&r, "expected a rule: name ::= ...");
        size_t length = name_length(&r, r.at);
        named_rule *rule = find_rule(&r, (const char *)r.s + r.at, length, r.at);
        if (rule->defined) bad(&r, "a rule of this name exists already");
        rule->defined = true;
        uint32_t number = rule->rule;
        r.at += length;
        skip_space(&r);
        r.at += 3;
        rule_set(b, number, read_choice(&r));
        if (r.at < r.n && peek(&r) == ')') bad(&r, "a ')' without its '('");
    }
    expr *start = NULL;
    for (uint32_t i = 0; i < r.rules.n; i++) {
        const named_rule *rule = &r.rules.at[i];
        if (!rule->defined)
            source_escape(&r.source, rule->used_at, STE_ERR_SYNTAX, "undefined rule %.*s", rule->n < 80 ? (int)rule->n : 80, rule->name);
        if (rule->n == strlen(root) && memcmp(rule->name, root, rule->n) == 0) start = expr_rule(b, rule->rule);
    }
    if (start == NULL) source_escape(&r.source, 0, STE_ERR_SYNTAX, "there is no rule \"%.80s\" to start with", root);
    return start;
}

void ebnf_front(builder *b, const char *text, size_t n, const char *root) {
    const source s = {b->w, text, n, NULL};
    b->root = ebnf_expr(b, &s, root)->u.id;
}
