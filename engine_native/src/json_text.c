/* json_text.c - see json_text.h. */
#include "json_text.h"

#include "fsm_product.h"
#include "utf8.h"

static const char short_from[] = "\"\\\b\f\n\r\t", short_to[] = "\"\\bfnrt";

/* Raw characters: everything but controls, the quote and the backslash. */
static void add_raw(fsm *f, uint32_t from, uint32_t to) {
    fsm_utf8_add(f, from, 0x20, '"' - 1, to);
    fsm_utf8_add(f, from, '"' + 1, '\\' - 1, to);
    fsm_utf8_add(f, from, '\\' + 1, UTF8_MAX, to);
}

static void add_hex(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    if (lo <= 9) fsm_edge_add(f, from, '0' + lo, '0' + (hi < 9 ? hi : 9), to);
    if (hi >= 10) {
        uint32_t a = lo > 10 ? lo - 10 : 0;
        fsm_edge_add(f, from, 'a' + a, 'a' + hi - 10, to);
        fsm_edge_add(f, from, 'A' + a, 'A' + hi - 10, to);
    }
}

static void add_hex_run(fsm *f, uint32_t from, uint32_t digits, uint32_t to) {
    for (; digits > 0; digits--) {
        uint32_t next = digits == 1 ? to : fsm_state(f);
        add_hex(f, from, 0, 15, next);
        from = next;
    }
}

/* From after "\u": D000 .. D7FF (two digits left after the second), and surrogate pairs. */
static void add_surrogates(fsm *f, uint32_t u, uint32_t two_left, uint32_t to) {
    uint32_t d = fsm_state(f), high = fsm_state(f), low = fsm_state(f), low2 = fsm_state(f);
    add_hex(f, u, 13, 13, d);
    add_hex(f, d, 0, 7, two_left);
    add_hex(f, d, 8, 11, high); /* D800 .. DBFF, then DC00 .. DFFF */
    uint32_t at = fsm_state(f);
    add_hex_run(f, high, 2, at);
    for (const char *c = "\\u"; *c != 0; c++) {
        uint32_t next = fsm_state(f);
        fsm_edge_add(f, at, (uint8_t)*c, (uint8_t)*c, next);
        at = next;
    }
    add_hex(f, at, 13, 13, low);
    add_hex(f, low, 12, 15, low2);
    add_hex_run(f, low2, 2, to);
}

uint32_t json_escape_bit(char after_backslash) {
    static const char all[] = "\"\\/bfnrtu";
    const char *p = after_backslash == '\0' ? NULL : strchr(all, after_backslash);
    return p == NULL ? 0 : 4u << (p - all);
}

/* May this stand behind a backslash? */
static bool may_escape(uint32_t escapes, char c) { return escapes == 0 || (escapes & json_escape_bit(c)) != 0; }

/* From after "\u00": controls and DEL. */
static void add_controls(fsm *f, uint32_t from, uint32_t to) {
    uint32_t low = fsm_state(f), seven = fsm_state(f);
    add_hex(f, from, 0, 1, low);
    add_hex(f, low, 0, 15, to);
    add_hex(f, from, 7, 7, seven);
    add_hex(f, seven, 15, 15, to);
}

static void add_escapes(fsm *f, uint32_t from, uint32_t escapes, uint32_t to) {
    uint32_t escape = fsm_state(f), u = fsm_state(f), three_left = fsm_state(f);
    fsm_edge_add(f, from, '\\', '\\', escape);
    for (const char *c = "\"\\/bfnrt"; *c != 0; c++)
        if (may_escape(escapes, *c)) fsm_edge_add(f, escape, (uint8_t)*c, (uint8_t)*c, to);
    if (!may_escape(escapes, 'u')) return;
    fsm_edge_add(f, escape, 'u', 'u', u);
    if (escapes != 0 && !(escapes & ESCAPES_GENERAL)) {
        uint32_t zero = fsm_state(f), zeros = fsm_state(f);
        fsm_edge_add(f, u, '0', '0', zero);
        fsm_edge_add(f, zero, '0', '0', zeros);
        add_controls(f, zeros, to);
        return;
    }
    add_hex(f, u, 0, 12, three_left);
    add_hex(f, u, 14, 15, three_left);
    uint32_t two_left = fsm_state(f);
    add_hex_run(f, three_left, 1, two_left);
    add_hex_run(f, two_left, 2, to);
    add_surrogates(f, u, two_left, to);
}

static fsm *make_character(work *w, int variant) {
    fsm *f = fsm_new(w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    add_raw(f, f->start, end);
    add_escapes(f, f->start, (uint32_t)variant, end);
    return f;
}

static fsm *make_string(work *w, int variant) {
    fsm *f = fsm_new(w);
    uint32_t body = fsm_state(f), end = fsm_state(f);
    f->final.at[end] = 1;
    fsm_edge_add(f, f->start, '"', '"', body);
    add_raw(f, body, body);
    add_escapes(f, body, (uint32_t)variant, body);
    fsm_edge_add(f, body, '"', '"', end);
    return f;
}

const shared_rule json_character = {"\1character", make_character, 96}, json_string = {"\1string", make_string, 1};

/* \uXXXX for one code unit; its letters in either case. */
static expr *unit(builder *b, uint32_t u) {
    expr *parts[5] = {expr_text(b, "\\u")};
    for (int i = 0; i < 4; i++) {
        uint32_t digit = u >> (12 - 4 * i) & 15;
        cp_range one = {'0' + digit, '0' + digit}, two[2] = {{'A' + digit - 10, 'A' + digit - 10}, {'a' + digit - 10, 'a' + digit - 10}};
        parts[i + 1] = digit < 10 ? expr_class(b, &one, 1) : expr_class(b, two, 2);
    }
    return expr_sequence(b, parts, 5);
}

expr *json_fixed_string(builder *b, const char *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    arena *mem = &b->w->mem;
    VEC(char) run = {0}; /* bytes with one spelling */
    VEC(expr *) parts = {0};
    vec_push(mem, &run, '"');
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0, length = utf8_decode((const uint8_t *)s + i, n - i, &cp);
        assert(length != 0); /* the JSON reader lets nothing else through */
        const char *p = cp < 0x80 && cp != 0 ? strchr(short_from, (char)cp) : NULL;
        if (p != NULL && !may_escape(b->escapes, short_to[p - short_from])) p = NULL; /* \u00xx instead */
        bool escaped = p != NULL || cp < 0x20 || cp == '"' || cp == '\\';
        if (escaped && p == NULL && !may_escape(b->escapes, 'u')) return expr_never(b);
        if (escaped) {
            char escape[6] = {'\\', p != NULL ? short_to[p - short_from] : 'u', '0', '0', hex[cp >> 4 & 15], hex[cp & 15]};
            for (int k = 0; k < (p != NULL ? 2 : 6); k++) vec_push(mem, &run, escape[k]);
        } else if (cp < 0x7F || b->escapes != 0) {
            for (uint32_t k = 0; k < length; k++) vec_push(mem, &run, s[i + k]);
        } else {
            expr *spellings[2] = {expr_bytes(b, s + i, length), cp < 0x10000 ? unit(b, cp) : NULL};
            if (cp >= 0x10000)
                spellings[1] = expr_pair(b, unit(b, 0xD800 + ((cp - 0x10000) >> 10)), unit(b, 0xDC00 + (cp & 0x3FF)));
            expr *before = expr_bytes(b, run.at, run.n), *either = expr_choice(b, spellings, 2);
            vec_push(mem, &parts, before);
            vec_push(mem, &parts, either);
            run.n = 0;
        }
        i += length;
    }
    vec_push(mem, &run, '"');
    expr *rest = expr_bytes(b, run.at, run.n);
    vec_push(mem, &parts, rest);
    return expr_sequence(b, parts.at, parts.n);
}

/* ---- from code points to spellings ---- */

static uint32_t add_bytes(fsm *f, uint32_t at, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t next = fsm_state(f);
        fsm_edge_add(f, at, (uint8_t)s[i], (uint8_t)s[i], next);
        at = next;
    }
    return at;
}

void json_hex_range(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t digits, uint32_t to) {
    uint32_t shift = 4 * (digits - 1), mask = (UINT32_C(1) << shift) - 1;
    if (digits == 1) {
        add_hex(f, from, lo, hi, to);
        return;
    }
    uint32_t first = lo >> shift, last = hi >> shift;
    for (uint32_t d = first; d <= last; d++) {
        uint32_t low = d == first ? lo & mask : 0, high = d == last ? hi & mask : mask, next = fsm_state(f);
        uint32_t until = d;
        if (low == 0 && high == mask) /* whole digits at once */
            while (until < last && (until + 1 < last || (hi & mask) == mask)) until++;
        add_hex(f, from, d, until, next);
        json_hex_range(f, next, low, high, digits - 1, to);
        d = until;
    }
}

/* From after "\u": the code units of the code points lo..hi, all beyond ASCII's printable ones. */
static void add_units(fsm *f, uint32_t u, uint32_t lo, uint32_t hi, uint32_t to) {
    if (lo < 0xD800) json_hex_range(f, u, lo, hi < 0xD7FF ? hi : 0xD7FF, 4, to);
    if (hi > 0xDFFF && lo < 0x10000) json_hex_range(f, u, lo > 0xE000 ? lo : 0xE000, hi < 0xFFFF ? hi : 0xFFFF, 4, to);
    if (hi < 0x10000) return;
    uint32_t a = (lo > 0x10000 ? lo : 0x10000) - 0x10000, z = hi - 0x10000;
    for (uint32_t high = a >> 10; high <= z >> 10; high++) {
        uint32_t low = high == a >> 10 ? a & 0x3FF : 0, top = high == z >> 10 ? z & 0x3FF : 0x3FF, until = high;
        if (low == 0 && top == 0x3FF) /* whole blocks at once */
            while (until < z >> 10 && (until + 1 < z >> 10 || (z & 0x3FF) == 0x3FF)) until++;
        uint32_t pair = fsm_state(f), second = add_bytes(f, pair, "\\u", 2);
        json_hex_range(f, u, 0xD800 + high, 0xD800 + until, 4, pair);
        json_hex_range(f, second, 0xDC00 + low, 0xDC00 + top, 4, to);
        high = until;
    }
}

typedef struct speller {
    fsm *f;
    uint32_t from, escape, u; /* after a backslash, after "\u"; 0 until made */
    uint32_t escapes;
} speller;

static uint32_t after_backslash(speller *s) {
    if (s->escape == 0) s->escape = add_bytes(s->f, s->from, "\\", 1);
    return s->escape;
}

static uint32_t after_u(speller *s) {
    if (s->u == 0) s->u = add_bytes(s->f, after_backslash(s), "u", 1);
    return s->u;
}

/* Characters that are one byte. */
static void spell_short(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    static const cp_range raw[] = {{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x7F}};
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        uint32_t first = lo > raw[i].lo ? lo : raw[i].lo, last = hi < raw[i].hi ? hi : raw[i].hi;
        if (first <= last) fsm_edge_add(f, from, first, last, to);
    }
}

/* The escapes of all others, and of DEL. */
static void spell_escaped(speller *s, uint32_t lo, uint32_t hi, uint32_t to) {
    static const char hex[] = "0123456789abcdef";
    for (uint32_t cp = lo; cp <= hi && cp <= '\\'; cp++) {
        const char *p = cp != 0 ? strchr(short_from, (char)cp) : NULL;
        if (p != NULL && may_escape(s->escapes, short_to[p - short_from])) {
            fsm_edge_add(s->f, after_backslash(s), (uint8_t)short_to[p - short_from], (uint8_t)short_to[p - short_from], to);
        } else if ((p != NULL || cp < 0x20) && may_escape(s->escapes, 'u')) {
            uint32_t at = add_bytes(s->f, after_u(s), (char[]){'0', '0', hex[cp >> 4]}, 3);
            fsm_edge_add(s->f, at, (uint8_t)hex[cp & 15], (uint8_t)hex[cp & 15], to);
        }
    }
    if (hi >= 0x7F && s->escapes == 0) add_units(s->f, after_u(s), lo > 0x7F ? lo : 0x7F, hi, to);
}

/* Characters of several bytes. */
static void spell_utf8(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    if (hi >= 0x80) fsm_utf8_add(f, from, lo > 0x80 ? lo : 0x80, hi, to);
}

static void spell_long(speller *s, uint32_t lo, uint32_t hi, uint32_t to) {
    spell_utf8(s->f, s->from, lo, hi, to);
    spell_escaped(s, lo, hi, to);
}

static bool is_long(uint32_t lo, uint32_t hi) { return hi >= 0x7F || lo < 0x20 || (lo <= '"' && hi >= '"') || (lo <= '\\' && hi >= '\\'); }

/* In large automata the long spellings of a class, or the escapes alone, are a rule, written once: from most states the
 * same few classes go out. */
#define SHARE_FROM 300

typedef enum sharing { SHARE_NOTHING, SHARE_ESCAPES, SHARE_LONG } sharing;

typedef struct long_class {
    cp_range *at;
    uint32_t n, rule;
} long_class;

typedef VEC(long_class) long_classes;

static uint32_t long_rule(builder *b, long_classes *known, const cp_range *ranges, uint32_t n, sharing share) {
    for (uint32_t i = 0; i < known->n; i++)
        if (known->at[i].n == n && memcmp(known->at[i].at, ranges, n * sizeof *ranges) == 0) return known->at[i].rule;
    fsm *f = fsm_new(b->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    speller s = {.f = f, .escapes = b->escapes};
    for (uint32_t i = 0; i < n; i++) (share == SHARE_LONG ? spell_long : spell_escaped)(&s, ranges[i].lo, ranges[i].hi, end);
    long_class made = {arena_copy(&b->w->mem, ranges, n * sizeof *ranges), n, rule_of(b, expr_fsm(b, f))};
    vec_push(&b->w->mem, known, made);
    return made.rule;
}

static void share_long(builder *b, long_classes *known, const fsm *text, uint32_t s, fsm *out, sharing share) {
    VEC(cp_range) ranges = {0};
    for (uint32_t e = text->first[s]; e < text->first[s + 1]; e++) {
        uint32_t to = text->edges.at[e].to, before = text->first[s];
        while (text->edges.at[before].to != to) before++;
        if (before < e) continue; /* with the first edge to the same state */
        ranges.n = 0;
        for (uint32_t k = e; k < text->first[s + 1]; k++)
            if (text->edges.at[k].to == to && !sym_is_rule(text->edges.at[k].lo) && is_long(text->edges.at[k].lo, text->edges.at[k].hi))
                vec_push(&b->w->mem, &ranges, (cp_range){text->edges.at[k].lo, text->edges.at[k].hi});
        if (ranges.n == 0) continue;
        uint32_t symbol = SYM_RULE + long_rule(b, known, ranges.at, ranges.n, share);
        fsm_edge_add(out, s, symbol, symbol, to);
    }
}

static fsm *spelled(builder *b, const fsm *text, sharing share) {
    fsm *f = fsm_new(b->w);
    long_classes known = {0};
    uint32_t n = fsm_size(text);
    for (uint32_t s = 1; s < n; s++) fsm_state(f);
    f->start = text->start;
    for (uint32_t s = 0; s < n; s++) {
        speller at = {.f = f, .from = s, .escapes = b->escapes};
        f->final.at[s] = text->final.at[s];
        for (uint32_t e = text->first[s]; e < text->first[s + 1]; e++) {
            fsm_edge g = text->edges.at[e];
            if (sym_is_rule(g.lo)) {
                fsm_edge_add(f, s, g.lo, g.hi, g.to);
                continue;
            }
            spell_short(f, s, g.lo, g.hi, g.to);
            if (share == SHARE_NOTHING) spell_long(&at, g.lo, g.hi, g.to);
            if (share == SHARE_ESCAPES) spell_utf8(f, s, g.lo, g.hi, g.to);
        }
        if (share != SHARE_NOTHING) share_long(b, &known, text, s, f, share);
    }
    if (share == SHARE_LONG) fsm_index(f); /* as deterministic as the text's */
    return f;
}

fsm *json_spelled_automaton(builder *b, const fsm *text) { return spelled(b, text, fsm_size(text) >= SHARE_FROM ? SHARE_LONG : SHARE_NOTHING); }

fsm *json_spelled_characters(builder *b, const fsm *text) { return spelled(b, text, SHARE_ESCAPES); }

fsm *json_spelled_bytes(builder *b, const fsm *text) {
    fsm *f = fsm_new(b->w);
    for (uint32_t s = 1; s < fsm_size(text); s++) fsm_state(f);
    f->start = text->start;
    for (uint32_t s = 0; s < fsm_size(text); s++) f->final.at[s] = text->final.at[s];
    for (uint32_t s = 0; s < fsm_size(text); s++) {
        speller at = {.f = f, .from = s};
        for (uint32_t e = text->first[s]; e < text->first[s + 1]; e++) {
            fsm_edge g = text->edges.at[e];
            uint32_t ascii = g.hi < 0x7F ? g.hi : 0x7F;
            if (g.lo > 0x7F) {
                fsm_edge_add(f, s, g.lo, g.hi, g.to);
                continue;
            }
            spell_short(f, s, g.lo, ascii, g.to);
            spell_escaped(&at, g.lo, ascii < '\\' ? ascii : '\\', g.to);
            if (g.hi > 0x7F) fsm_edge_add(f, s, 0x80, g.hi, g.to);
        }
    }
    return f;
}

/* Every string in the spellings of fixed strings. */
static fsm *fixed_strings_automaton(work *w) {
    fsm *f = fsm_new(w);
    uint32_t body = fsm_state(f), end = fsm_state(f), escape = fsm_state(f), u = fsm_state(f);
    f->final.at[end] = 1;
    fsm_edge_add(f, f->start, '"', '"', body);
    add_raw(f, body, body);
    fsm_edge_add(f, body, '"', '"', end);
    fsm_edge_add(f, body, '\\', '\\', escape);
    for (const char *c = short_to; *c != 0; c++) fsm_edge_add(f, escape, (uint8_t)*c, (uint8_t)*c, body);
    fsm_edge_add(f, escape, 'u', 'u', u);
    uint32_t zero = fsm_state(f), low = fsm_state(f), control0 = fsm_state(f), control1 = fsm_state(f);
    uint32_t one_left = fsm_state(f), two_left = fsm_state(f), three_left = fsm_state(f);
    add_hex(f, one_left, 0, 15, body);
    add_hex(f, two_left, 0, 15, one_left);
    add_hex(f, three_left, 0, 15, two_left);
    fsm_edge_add(f, u, '0', '0', zero);
    add_hex(f, u, 1, 12, three_left); /* 1000 .. CFFF */
    add_hex(f, u, 14, 15, three_left);
    fsm_edge_add(f, zero, '0', '0', low);
    add_hex(f, zero, 1, 15, two_left); /* 0100 .. 0FFF */
    add_hex(f, low, 8, 15, one_left);  /* 0080 .. 00FF */
    uint32_t seven = fsm_state(f);
    fsm_edge_add(f, low, '7', '7', seven);
    add_hex(f, seven, 15, 15, body); /* 007F */
    fsm_edge_add(f, low, '0', '0', control0);
    fsm_edge_add(f, low, '1', '1', control1);
    fsm_edge_add(f, control0, '0', '7', body); /* 08, 09, 0a, 0c, 0d have short escapes */
    fsm_edge_add(f, control0, 'b', 'b', body);
    fsm_edge_add(f, control0, 'e', 'f', body);
    fsm_edge_add(f, control1, '0', '9', body);
    fsm_edge_add(f, control1, 'a', 'f', body);
    add_surrogates(f, u, two_left, body);
    fsm_index(f); /* deterministic as it is */
    return f;
}

/* The same where the escapes are listed. */
static fsm *listed_strings_automaton(builder *b) {
    fsm *any = fsm_new(b->w), *f = fsm_new(b->w);
    any->final.at[any->start] = 1;
    fsm_edge_add(any, any->start, 0, 0xD7FF, any->start);
    fsm_edge_add(any, any->start, 0xE000, UTF8_MAX, any->start);
    fsm_index(any);
    uint32_t body = fsm_state(f), end = fsm_state(f), close = fsm_state(f);
    f->final.at[close] = 1;
    fsm_edge_add(f, f->start, '"', '"', body);
    fsm_insert(f, spelled(b, any, SHARE_NOTHING), body, end);
    fsm_edge_add(f, end, '"', '"', close);
    return fsm_determinise_fully(f);
}

fsm *json_fixed_strings(builder *b) {
    if (b->fixed_strings == NULL) b->fixed_strings = b->escapes == 0 ? fixed_strings_automaton(b->w) : listed_strings_automaton(b);
    return b->fixed_strings;
}

/* Indentation that a bounded line break may have. */
#define INDENT_SPACES 64
#define INDENT_TABS 16

/* kind: STE_WHITESPACE_* and, above bit 3, the most characters where they are counted. */
static fsm *make_blank(work *w, int kind) {
    int whitespace = kind & 15, count = kind >> 4;
    fsm *f = fsm_new(w);
    f->final.at[f->start] = 1;
    if (whitespace == STE_WHITESPACE_ANY) {
        uint32_t at = f->start;
        for (int i = 0; i < (count != 0 ? count : 1); i++) {
            uint32_t next = count == 0 ? at : fsm_state(f);
            f->final.at[next] = 1;
            for (const char *c = " \t\n\r"; *c != 0; c++) fsm_edge_add(f, at, (uint8_t)*c, (uint8_t)*c, next);
            at = next;
        }
    } else {
        uint32_t space = fsm_state(f), line = fsm_state(f);
        f->final.at[space] = f->final.at[line] = 1;
        fsm_edge_add(f, f->start, ' ', ' ', space);
        fsm_edge_add(f, f->start, '\n', '\n', line);
        static const char blanks[2] = {' ', '\t'};
        static const uint32_t limit[2] = {INDENT_SPACES, INDENT_TABS};
        for (int k = 0; k < 2; k++)
            for (uint32_t at = line, i = 0; i < limit[k]; i++) {
                uint32_t next = fsm_state(f);
                f->final.at[next] = 1;
                fsm_edge_add(f, at, (uint8_t)blanks[k], (uint8_t)blanks[k], next);
                at = next;
            }
    }
    return f;
}

static expr *blank(builder *b, int layout) {
    static const shared_rule rule = {"\1blank", make_blank, 0};
    int count = (int)layout_whitespace_count(layout), kind = count != 0 ? STE_WHITESPACE_ANY | count << 4 : layout & 15;
    bool none = kind == STE_WHITESPACE_NONE || kind == STE_WHITESPACE_EXACT || kind == STE_WHITESPACE_INDENT;
    return none ? expr_empty(b) : expr_shared(b, &rule, kind);
}

int json_layout(const ste_options *options) {
    int layout = options->whitespace | (options->property_order == STE_ORDER_ANY ? 1 << 20 : 0);
    bool counted = options->whitespace == STE_WHITESPACE_EXACT || options->whitespace == STE_WHITESPACE_INDENT;
    for (int i = 0; i < 4 && counted; i++) layout |= (options->spaces[i] & 15) << (4 + 4 * i);
    return layout;
}

json_spaces json_whitespace(builder *b, int layout) {
    json_spaces out = {.inside = blank(b, layout)};
    expr *sides[4], *marks[2] = {expr_text(b, ","), expr_text(b, ":")};
    bool counted = (layout & 15) == STE_WHITESPACE_EXACT || layout_is_indented(layout);
    for (int i = 0; i < 4; i++)
        sides[i] = counted && layout_whitespace_count(layout) == 0
                       ? expr_bytes(b, "               ", (size_t)(layout >> (4 + 4 * i) & 15))
                       : out.inside;
    out.comma = expr_sequence(b, (expr *[]){sides[0], marks[0], sides[1]}, 3);
    out.colon = expr_sequence(b, (expr *[]){sides[2], marks[1], sides[3]}, 3);
    return out;
}

expr *json_line(builder *b, int layout, uint32_t depth) {
    uint32_t n = (uint32_t)layout >> 4 & 15;
    char *text = arena_alloc(&b->w->mem, 1 + (size_t)n * depth, 1);
    text[0] = '\n';
    memset(text + 1, ' ', (size_t)n * depth);
    return expr_bytes(b, text, 1 + (size_t)n * depth);
}
