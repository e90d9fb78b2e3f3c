/* regex.c - regular expressions (the common part of ECMA-262 and Python) to expressions over code points.
 *
 * A match is a match of the whole text.  `^` where nothing has been consumed
 * and `$` where nothing can follow are therefore allowed and say nothing;
 * elsewhere they, lookaround, word boundaries, back-references and \p{} are
 * refused by name.  `.` is ECMA-262's: everything but line terminators. */
#include "cp_set.h"
#include "front.h"
#include "fsm_product.h"
#include "utf8.h"

typedef struct regex_reader {
    builder *b;
    const uint8_t *s;
    size_t n, at;
    uint32_t depth;
    bool text, search; /* for an automaton over code points */
    const json *place; /* where the pattern stands in a JSON text; NULL: the pattern is the text */
} regex_reader;

STE_NORETURN static void bad(const regex_reader *r, int code, const char *what) {
    work *w = r->b->w;
    if (r->place != NULL) json_escape(w, r->place, code, "regular expression, offset %zu: %s", r->at, what);
    escape(&w->out, code, r->at, "regular expression, offset %zu: %s", r->at, what);
}

static bool more(const regex_reader *r) { return r->at < r->n; }
static uint8_t peek(const regex_reader *r) { return r->at < r->n ? r->s[r->at] : 0; }

static bool take(regex_reader *r, char c) {
    if (!more(r) || r->s[r->at] != (uint8_t)c) return false;
    r->at++;
    return true;
}

/* \d \w (ASCII) and \s (ECMA-262 WhiteSpace and LineTerminator); upper case is the complement. */
static bool add_shorthand(regex_reader *r, cp_set *out, uint8_t c) {
    static const cp_range digit[] = {{'0', '9'}};
    static const cp_range word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const cp_range space[] = {{0x09, 0x0D}, {0x20, 0x20}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
                                     {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    const cp_range *from;
    size_t n;
    switch (c | 0x20) {
    case 'd':
        from = digit;
        n = sizeof digit / sizeof *digit;
        break;
    case 'w':
        from = word;
        n = sizeof word / sizeof *word;
        break;
    case 's':
        from = space;
        n = sizeof space / sizeof *space;
        break;
    default:
        return false;
    }
    cp_set s = {0};
    for (size_t i = 0; i < n; i++) cp_set_add(&r->b->w->mem, &s, from[i].lo, from[i].hi);
    if ((c & 0x20) == 0) s = cp_set_complement(&r->b->w->mem, &s);
    for (uint32_t i = 0; i < s.n; i++) cp_set_add(&r->b->w->mem, out, s.at[i].lo, s.at[i].hi);
    return true;
}

/* ---- single characters ---- */

static uint32_t read_code_point(regex_reader *r) {
    uint32_t cp, k = utf8_decode(r->s + r->at, r->n - r->at, &cp);
    if (k == 0) bad(r, STE_ERR_SYNTAX, "expected valid UTF-8");
    r->at += k;
    return cp;
}

static uint32_t read_hex(regex_reader *r, uint32_t least, uint32_t most) {
    uint32_t v = 0, k = 0;
    for (; k < most; k++) {
        uint8_t c = peek(r);
        uint32_t d = c >= '0' && c <= '9' ? c - 48u : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;
        if (d == 16) break;
        v = v * 16 + d;
        r->at++;
    }
    if (k < least) bad(r, STE_ERR_SYNTAX, "expected hexadecimal digits");
    return v;
}

/* After a backslash, where a shorthand is not meant. */
static uint32_t read_escape(regex_reader *r, bool in_class) {
    static const char from[] = "nrtfva", to[] = "\n\r\t\f\v\a";
    if (!more(r)) bad(r, STE_ERR_SYNTAX, "the pattern ends in a backslash");
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
        return read_hex(r, 2, 2);
    case 'u':
        r->at++;
        if (take(r, '{')) {
            cp = read_hex(r, 1, 6);
            if (!take(r, '}')) bad(r, STE_ERR_SYNTAX, "expected '}'");
        } else {
            cp = read_hex(r, 4, 4);
            if (cp >= 0xD800 && cp <= 0xDBFF && r->n - r->at >= 6 && r->s[r->at] == '\\' && r->s[r->at + 1] == 'u') {
                r->at += 2;
                uint32_t low = read_hex(r, 4, 4);
                if (low < 0xDC00 || low > 0xDFFF) bad(r, STE_ERR_SYNTAX, "a surrogate stands alone");
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
            }
        }
        if (cp > UTF8_MAX || (cp >= 0xD800 && cp <= 0xDFFF)) bad(r, STE_ERR_SYNTAX, "no such character");
        return cp;
    case 'c':
        r->at++;
        if ((peek(r) | 0x20) < 'a' || (peek(r) | 0x20) > 'z') bad(r, STE_ERR_SYNTAX, "expected a letter after \\c");
        return r->s[r->at++] & 31u;
    case '0':
        r->at++;
        if (peek(r) >= '0' && peek(r) <= '9') bad(r, STE_ERR_UNSUPPORTED, "octal escapes are not supported");
        return 0;
    case 'b':
        if (in_class) {
            r->at++;
            return '\b';
        }
        bad(r, STE_ERR_UNSUPPORTED, "word boundaries are not supported");
    case 'B':
        bad(r, STE_ERR_UNSUPPORTED, "word boundaries are not supported");
    case 'p':
    case 'P':
        bad(r, STE_ERR_UNSUPPORTED, "\\p{} is not supported");
    case 'k':
        bad(r, STE_ERR_UNSUPPORTED, "back-references are not supported");
    default:
        if (c >= '1' && c <= '9') bad(r, STE_ERR_UNSUPPORTED, "back-references are not supported");
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') bad(r, STE_ERR_SYNTAX, "unknown escape");
        return read_code_point(r);
    }
}

/* After '['. */
static expr *read_class(regex_reader *r) {
    bool negated = take(r, '^');
    cp_set s = {0};
    while (!take(r, ']')) {
        if (!more(r)) bad(r, STE_ERR_SYNTAX, "a character class is not closed");
        uint32_t lo;
        if (take(r, '\\')) {
            if (more(r) && add_shorthand(r, &s, peek(r))) {
                r->at++;
                continue;
            }
            lo = read_escape(r, true);
        } else {
            lo = read_code_point(r);
        }
        uint32_t hi = lo;
        if (peek(r) == '-' && r->at + 1 < r->n && r->s[r->at + 1] != ']') {
            size_t dash = r->at++;
            if (take(r, '\\')) {
                if (more(r) && strchr("dwsDWS", peek(r)) != NULL) { /* a dash beside a shorthand is itself */
                    r->at = dash;
                    cp_set_add(&r->b->w->mem, &s, lo, lo);
                    r->at++;
                    cp_set_add(&r->b->w->mem, &s, '-', '-');
                    continue;
                }
                hi = read_escape(r, true);
            } else {
                hi = read_code_point(r);
            }
            if (hi < lo) bad(r, STE_ERR_SYNTAX, "the range in a character class is out of order");
        }
        cp_set_add(&r->b->w->mem, &s, lo, hi);
    }
    if (negated) s = cp_set_complement(&r->b->w->mem, &s);
    return cp_set_expr(r->b, &s);
}

/* ---- structure ---- */

static expr *read_choice(regex_reader *r, bool at_start);

/* After '('. */
static expr *read_group(regex_reader *r, bool at_start) {
    if (take(r, '?')) {
        if (peek(r) == '=' || peek(r) == '!') bad(r, STE_ERR_UNSUPPORTED, "lookahead is not supported");
        if (take(r, 'P') && peek(r) != '<') bad(r, STE_ERR_UNSUPPORTED, "this group is not supported");
        if (take(r, '<')) {
            if (peek(r) == '=' || peek(r) == '!') bad(r, STE_ERR_UNSUPPORTED, "lookbehind is not supported");
            while (more(r) && peek(r) != '>') r->at++;
            if (!take(r, '>')) bad(r, STE_ERR_SYNTAX, "a group name is not closed");
        } else if (!take(r, ':')) {
            bad(r, STE_ERR_UNSUPPORTED, "this group is not supported");
        }
    }
    if (++r->depth > r->b->w->limits.depth) bad(r, STE_ERR_LIMIT, "groups are nested too deep");
    expr *e = read_choice(r, at_start);
    r->depth--;
    if (!take(r, ')')) bad(r, STE_ERR_SYNTAX, "a group is not closed");
    return e;
}

#define MAX_REPEAT 100000

static uint32_t read_count(regex_reader *r) {
    uint32_t v = 0;
    while (peek(r) >= '0' && peek(r) <= '9') {
        v = v * 10 + (uint32_t)(r->s[r->at++] - '0');
        if (v > MAX_REPEAT) bad(r, STE_ERR_LIMIT, "a repeat count is above 100000");
    }
    return v;
}

/* {n}, {n,} or {n,m}; false if the brace is an ordinary character here. */
static bool read_braces(regex_reader *r, uint32_t *min, uint32_t *max) {
    size_t from = r->at;
    r->at++;
    if (peek(r) >= '0' && peek(r) <= '9') {
        *min = *max = read_count(r);
        if (take(r, ',')) *max = peek(r) == '}' ? REPEAT_INFINITE : peek(r) >= '0' && peek(r) <= '9' ? read_count(r) : 0;
        if (take(r, '}')) {
            if (*max < *min) {
                r->at = from;
                bad(r, STE_ERR_SYNTAX, "the repeat counts are out of order");
            }
            return true;
        }
    }
    r->at = from;
    return false;
}

/* For an automaton over code points there are no counting rules. */
static expr *repeat(const regex_reader *r, expr *e, uint32_t min, uint32_t max) {
    if (!r->text) return expr_repeat(r->b, e, min, max);
    expr *made = arena_alloc(&r->b->w->mem, 1, sizeof *made);
    made->kind = EXPR_REPEAT;
    made->u.repeat.body = e;
    made->u.repeat.min = min;
    made->u.repeat.max = max;
    return made;
}

static expr *read_quantifiers(regex_reader *r, expr *e) {
    for (;;) {
        uint32_t min, max;
        uint8_t c = peek(r);
        if (!more(r)) return e;
        if (c == '*' || c == '+' || c == '?') {
            r->at++;
            min = c == '+';
            max = c == '?' ? 1 : REPEAT_INFINITE;
        } else if (c != '{' || !read_braces(r, &min, &max)) {
            return e;
        }
        take(r, '?'); /* a lazy quantifier matches the same texts */
        if (peek(r) == '+') bad(r, STE_ERR_UNSUPPORTED, "possessive quantifiers are not supported");
        if (peek(r) == '*' || peek(r) == '?') bad(r, STE_ERR_SYNTAX, "nothing to repeat");
        e = repeat(r, e, min, max);
    }
}

/* Nothing but closing parentheses, or the next alternative of the whole pattern, can follow. */
static bool at_end(const regex_reader *r) {
    size_t i = r->at;
    while (i < r->n && r->s[i] == ')') i++;
    return i == r->n || (r->depth == 0 && r->s[r->at] == '|');
}

static expr *read_sequence(regex_reader *r, bool at_start) {
    bool outer = r->search && r->depth == 0, begins = false, ends = false;
    static const cp_range dot[] = {{0, 9}, {11, 12}, {14, 0x2027}, {0x202A, UTF8_MAX}};
    arena *mem = &r->b->w->mem;
    VEC(expr *) parts = {0};
    while (more(r) && peek(r) != '|' && peek(r) != ')') {
        expr *e;
        bool start = at_start && parts.n == 0;
        uint8_t c = peek(r);
        if (c == '^' || c == '$') {
            r->at++;
            if (c == '^' ? !start : !at_end(r)) bad(r, STE_ERR_UNSUPPORTED, "an anchor inside the pattern is not supported");
            if (r->search && r->depth > 0) bad(r, STE_ERR_UNSUPPORTED, "an anchor in a group is not supported");
            *(c == '^' ? &begins : &ends) = true;
            continue;
        }
        if (c == '*' || c == '+' || c == '?') bad(r, STE_ERR_SYNTAX, "nothing to repeat");
        if (take(r, '(')) {
            e = read_group(r, start);
        } else if (take(r, '[')) {
            e = read_class(r);
        } else if (take(r, '.')) {
            e = expr_class(r->b, dot, sizeof dot / sizeof *dot);
        } else if (take(r, '\\')) {
            cp_set s = {0};
            if (more(r) && add_shorthand(r, &s, peek(r))) {
                r->at++;
            } else {
                uint32_t cp = read_escape(r, false);
                cp_set_add(&r->b->w->mem, &s, cp, cp);
            }
            e = cp_set_expr(r->b, &s);
        } else {
            uint32_t cp = read_code_point(r);
            e = expr_class(r->b, &(cp_range){cp, cp}, 1);
        }
        vec_push(mem, &parts, read_quantifiers(r, e));
    }
    if (outer) {
        expr *any = repeat(r, expr_class(r->b, &(cp_range){0, UTF8_MAX}, 1), 0, REPEAT_INFINITE);
        expr *all[3] = {begins ? expr_empty(r->b) : any, expr_sequence(r->b, parts.at, parts.n), ends ? expr_empty(r->b) : any};
        return expr_sequence(r->b, all, 3);
    }
    return expr_sequence(r->b, parts.at, parts.n);
}

static expr *read_choice(regex_reader *r, bool at_start) {
    VEC(expr *) parts = {0};
    do vec_push(&r->b->w->mem, &parts, read_sequence(r, at_start));
    while (take(r, '|'));
    return expr_choice(r->b, parts.at, parts.n);
}

expr *regex_expr(builder *b, const char *text, size_t n, const json *place) {
    regex_reader r = {.b = b, .s = (const uint8_t *)text, .n = n, .place = place};
    expr *e = read_choice(&r, true);
    if (more(&r)) bad(&r, STE_ERR_SYNTAX, "a ')' without its '('");
    return e;
}

void regex_front(builder *b, const char *text, size_t n) { b->root = rule_of(b, regex_expr(b, text, n, NULL)); }

/* ---- automata over code points ---- */

static void text_build(builder *b, const expr *e, fsm *f, uint32_t from, uint32_t to) {
    uint32_t at = from;
    switch (e->kind) {
    case EXPR_NEVER:
        return;
    case EXPR_CLASS:
        for (uint32_t i = 0; i < e->n; i++) {
            cp_range g = e->u.ranges[i];
            if (g.lo < 0xD800) fsm_edge_add(f, from, g.lo, g.hi < 0xD7FF ? g.hi : 0xD7FF, to);
            if (g.hi > 0xDFFF) fsm_edge_add(f, from, g.lo > 0xE000 ? g.lo : 0xE000, g.hi, to);
        }
        return;
    case EXPR_SEQUENCE:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t next = fsm_state(f);
            text_build(b, e->u.parts[i], f, at, next);
            at = next;
        }
        fsm_empty_add(f, at, to);
        return;
    case EXPR_CHOICE:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t inside = fsm_state(f);
            fsm_empty_add(f, from, inside);
            text_build(b, e->u.parts[i], f, inside, to);
        }
        return;
    case EXPR_REPEAT: {
        uint32_t min = e->u.repeat.min, max = e->u.repeat.max;
        for (uint32_t i = 0; i < (max == REPEAT_INFINITE ? min : max); i++) {
            uint32_t inside = fsm_state(f), next = fsm_state(f);
            if (i >= min) fsm_empty_add(f, at, to);
            fsm_empty_add(f, at, inside);
            text_build(b, e->u.repeat.body, f, inside, next);
            at = next;
        }
        if (max == REPEAT_INFINITE) {
            uint32_t loop = fsm_state(f), end = fsm_state(f);
            fsm_empty_add(f, at, loop);
            text_build(b, e->u.repeat.body, f, loop, end);
            fsm_empty_add(f, end, loop);
            at = loop;
        }
        fsm_empty_add(f, at, to);
        return;
    }
    default:
        fsm_empty_add(f, from, to);
    }
}

fsm *regex_text_automaton(builder *b, const char *pattern, size_t n, bool search) {
    regex_reader r = {.b = b, .s = (const uint8_t *)pattern, .n = n, .text = true, .search = search};
    expr *e = read_choice(&r, true);
    if (more(&r)) bad(&r, STE_ERR_SYNTAX, "a ')' without its '('");
    fsm *f = fsm_new(b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    text_build(b, e, f, f->start, end);
    return fsm_reduce(fsm_determinise_fully(f));
}
