/* schema_literal.c - strings as Python prints them: between apostrophes, or quotation marks where the text has apostrophes.
 *
 * A character stands for itself, but for the mark around the string, the
 * backslash and what cannot be seen: \\n, \\r, \\t, \\xNN, \\uNNNN, \\UNNNNNNNN (and
 * those may stand for any other character, too).  A mark that ends values is
 * text here, as it is in strings of JSON. */
#include "fsm_product.h"
#include "json_text.h"
#include "schema_style.h"
#include "utf8.h"

static const char marks[2] = {'\'', '"'};

static void add_raw(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint8_t mark, uint32_t to) {
    const cp_range ranges[] = {{0x20, mark - 1u}, {mark + 1u, '\\' - 1}, {'\\' + 1, UTF8_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        uint32_t first = lo > ranges[i].lo ? lo : ranges[i].lo, last = hi < ranges[i].hi ? hi : ranges[i].hi;
        if (first <= last) fsm_utf8_add(f, from, first, last, to);
    }
}

static uint32_t after(fsm *f, uint32_t from, char ch) {
    uint32_t to = fsm_state(f);
    fsm_edge_add(f, from, (uint8_t)ch, (uint8_t)ch, to);
    return to;
}

static void add_code(fsm *f, uint32_t escape, char letter, uint32_t digits, uint32_t lo, uint32_t hi, uint32_t to) {
    if (lo <= hi) json_hex_range(f, after(f, escape, letter), lo, hi, digits, to);
}

static void add_escapes(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint8_t mark, uint32_t to) {
    const char named[] = {'n', '\n', 'r', '\r', 't', '\t', '\\', '\\', (char)mark, (char)mark};
    uint32_t escape = after(f, from, '\\');
    for (size_t i = 0; i < sizeof named; i += 2)
        if (lo <= (uint8_t)named[i + 1] && (uint8_t)named[i + 1] <= hi) fsm_edge_add(f, escape, (uint8_t)named[i], (uint8_t)named[i], to);
    add_code(f, escape, 'x', 2, lo, hi < 0xFF ? hi : 0xFF, to);
    add_code(f, escape, 'u', 4, lo, hi < 0xD7FF ? hi : 0xD7FF, to);
    add_code(f, escape, 'u', 4, lo > 0xE000 ? lo : 0xE000, hi < 0xFFFF ? hi : 0xFFFF, to);
    add_code(f, escape, 'U', 8, lo > 0x10000 ? lo : 0x10000, hi, to);
}

/* Between one kind of mark, which is not part of it. */
static fsm *spelled(schema_context *c, const fsm *text, uint8_t mark) {
    fsm *f = fsm_new(c->b->w);
    for (uint32_t s = 1; s < fsm_size(text); s++) fsm_state(f);
    f->start = text->start;
    for (uint32_t s = 0; s < fsm_size(text); s++) f->final.at[s] = text->final.at[s];
    for (uint32_t e = 0; e < text->edges.n; e++) {
        fsm_edge g = text->edges.at[e];
        add_raw(f, g.from, g.lo, g.hi, mark, g.to);
        add_escapes(f, g.from, g.lo, g.hi, mark, g.to);
    }
    return f;
}

static expr *between(schema_context *c, uint8_t mark, expr *body) {
    expr *end = expr_bytes(c->b, (const char *)&mark, 1);
    return expr_sequence(c->b, (expr *[]){end, body, end}, 3);
}

static fsm *any_characters(work *w, bool many) {
    fsm *f = fsm_new(w);
    uint32_t to = many ? f->start : fsm_state(f);
    f->final.at[to] = 1;
    fsm_edge_add(f, f->start, 0, 0xD7FF, to);
    fsm_edge_add(f, f->start, 0xE000, UTF8_MAX, to);
    return f;
}

expr *literal_texts(schema_context *c, const fsm *f) {
    builder *b = c->b;
    expr *either[2];
    bool any = f == NULL;
    if (any && c->literal_string != 0) return expr_rule(b, c->literal_string - 1);
    if (any) f = any_characters(b->w, true);
    for (int i = 0; i < 2; i++) {
        fsm *body = spelled(c, f, (uint8_t)marks[i]);
        if (c->excludes != NULL) body = without_strings(c, fsm_determinise_fully(body), false);
        either[i] = body == NULL ? expr_never(b) : between(c, (uint8_t)marks[i], expr_fsm(b, body));
    }
    expr *made = expr_choice(b, either, 2);
    if (made->kind == EXPR_NEVER) return made;
    uint32_t rule = rule_of(b, made);
    if (any) c->literal_string = rule + 1;
    return expr_rule(b, rule);
}

expr *literal_lengths(schema_context *c, uint32_t min, uint32_t max) {
    builder *b = c->b;
    expr *either[2];
    for (int i = 0; i < 2; i++) {
        expr *one = expr_rule(b, rule_of(b, expr_fsm(b, spelled(c, any_characters(b->w, false), (uint8_t)marks[i]))));
        either[i] = between(c, (uint8_t)marks[i], expr_repeat(b, one, min, max));
    }
    return expr_rule(b, rule_of(b, expr_choice(b, either, 2)));
}

expr *literal_fixed(schema_context *c, const char *text, uint32_t n) {
    fsm *f = fsm_new(c->b->w);
    uint32_t at = f->start;
    for (uint32_t i = 0; i < n;) {
        uint32_t cp = 0, next = fsm_state(f);
        i += utf8_decode((const uint8_t *)text + i, n - i, &cp);
        fsm_edge_add(f, at, cp, cp, next);
        at = next;
    }
    f->final.at[at] = 1;
    return literal_texts(c, f);
}
