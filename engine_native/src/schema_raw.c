/* schema_raw.c - strings of styles: text up to a mark, without escapes; and JSON strings without certain substrings. */
#include "fsm_product.h"
#include "json_text.h"
#include "schema_style.h"
#include "utf8.h"

/* ---- what must not occur ---- */

bool excluded_in(const schema_context *c, const char *text, uint32_t n) {
    for (uint32_t i = 0; c->excludes != NULL && i < c->excludes->n; i++) {
        const json *one = &c->excludes->u.items[i];
        for (uint32_t at = 0; at + one->n <= n; at++)
            if (memcmp(text + at, one->u.text, one->n) == 0) return true;
    }
    return false;
}

static void add_string(fsm *f, uint32_t start, uint32_t end, const char *text, size_t n, bool code_points) {
    uint32_t at = start;
    for (size_t i = 0; i < n;) {
        uint32_t symbol = (uint8_t)text[i], length = 1;
        if (code_points) length = utf8_decode((const uint8_t *)text + i, n - i, &symbol);
        i += length;
        uint32_t next = i == n ? end : fsm_state(f);
        fsm_edge_add(f, at, symbol, symbol, next);
        at = next;
    }
}

fsm *without_strings(schema_context *c, const fsm *f, bool code_points) {
    const char *guard = form_is_spelled(c->form) ? c->style->guard : NULL;
    if (guard == NULL && c->excludes == NULL) return (fsm *)(uintptr_t)f;
    fsm *bad = fsm_new(c->b->w); /* texts in which one of them occurs */
    uint32_t last = code_points ? UTF8_MAX : 255, end = fsm_state(bad);
    bad->final.at[end] = 1;
    fsm_edge_add(bad, bad->start, 0, last, bad->start);
    fsm_edge_add(bad, end, 0, last, end);
    if (guard != NULL) add_string(bad, bad->start, end, guard, strlen(guard), code_points);
    for (uint32_t i = 0; c->excludes != NULL && i < c->excludes->n; i++)
        add_string(bad, bad->start, end, c->excludes->u.items[i].u.text, c->excludes->u.items[i].n, code_points);
    fsm *left = fsm_difference(f, fsm_determinise_fully(bad));
    return left == NULL ? NULL : fsm_reduce(left);
}

/* ---- raw text ---- */

typedef VEC(dispatch_pattern) patterns;

/* As a text that tokens spell, and, where it has special tokens, with those as well. */
static void add_pattern(schema_context *c, patterns *to, const char *text, size_t n) {
    arena *mem = &c->b->w->mem;
    const uint32_t *symbols;
    uint32_t *bytes = arena_alloc(mem, n, sizeof *bytes), k = literal_symbols(c->b, text, n, &symbols);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)text[i];
    vec_push(mem, to, (dispatch_pattern){bytes, (uint32_t)n, NULL});
    if (k != n) vec_push(mem, to, (dispatch_pattern){symbols, k, NULL});
}

static expr *guard(schema_context *c) { return expr_literal(c->b, c->style->guard, strlen(c->style->guard)); }

/* With the guard after it. */
static expr *closed(schema_context *c, expr *body) { return c->form == FORM_BARE ? body : expr_pair(c->b, body, guard(c)); }

static expr *opened(schema_context *c, expr *body) {
    return c->form == FORM_GEMMA ? expr_rule(c->b, rule_of(c->b, expr_pair(c->b, guard(c), body))) : body;
}

/* Characters of the guard that count in a meter: special tokens do not. */
static uint32_t guard_chars(schema_context *c) {
    const uint32_t *symbols;
    uint32_t n = literal_symbols(c->b, c->style->guard, strlen(c->style->guard), &symbols), chars = 0;
    for (uint32_t i = 0; i < n && c->form != FORM_BARE; i++) chars += symbols[i] < 256 && (symbols[i] & 0xC0) != 0x80;
    return chars;
}

/* The guard is part of the metered rule: else the rule could end anywhere. */
static expr *limited(schema_context *c, expr *text, uint32_t min, uint32_t max) {
    uint64_t more = guard_chars(c), least = min + more, most = max + more;
    meter m = {.least_chars = (uint32_t)least, .most_chars = max == REPEAT_INFINITE ? 0 : (uint32_t)most};
    if (least >= INT32_MAX || (max != REPEAT_INFINITE && most >= INT32_MAX))
        escape(&c->b->w->out, STE_ERR_LIMIT, 0, "a length of more than 2^31 characters");
    return expr_metered(c->b, closed(c, text), m);
}

expr *raw_text(schema_context *c, uint32_t min, uint32_t max) {
    builder *b = c->b;
    bool free = min == 0 && max == REPEAT_INFINITE;
    if (max == 0) return opened(c, closed(c, expr_empty(b)));
    if (free && c->form == FORM_GEMMA && c->string != 0) return expr_rule(b, c->string - 1);
    patterns all = {0};
    add_pattern(c, &all, c->style->guard, strlen(c->style->guard));
    for (uint32_t i = 0; c->excludes != NULL && i < c->excludes->n; i++)
        add_pattern(c, &all, c->excludes->u.items[i].u.text, c->excludes->u.items[i].n);
    expr *text = expr_dispatch(b, all.at, all.n, true);
    expr *made = opened(c, free ? closed(c, text) : limited(c, text, min, max));
    if (free && c->form == FORM_GEMMA) c->string = made->u.id + 1;
    return made;
}

expr *raw_texts(schema_context *c, const fsm *f) {
    f = without_strings(c, f, true);
    if (f == NULL) return expr_never(c->b);
    fsm *bytes = fsm_new(c->b->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(bytes);
    bytes->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) bytes->final.at[s] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) fsm_utf8_add(bytes, f->edges.at[e].from, f->edges.at[e].lo, f->edges.at[e].hi, f->edges.at[e].to);
    return opened(c, closed(c, expr_fsm(c->b, bytes)));
}

expr *raw_fixed(schema_context *c, const char *text, uint32_t n) {
    const char *end = c->style->guard;
    size_t m = strlen(end);
    bool broken = excluded_in(c, text, n);
    for (uint32_t at = 0; at + m <= n && !broken; at++) broken = memcmp(text + at, end, m) == 0;
    expr *bytes = expr_bytes(c->b, text, n);
    if (!broken) return c->form == FORM_GEMMA ? opened(c, closed(c, bytes)) : bytes;
    builder_note(c->b, "style %s cannot write the listed string \"%.60s\"", c->style->name, text);
    return expr_never(c->b);
}

/* ---- JSON strings ---- */

static bool has_rules(const fsm *f) {
    for (uint32_t e = 0; e < f->edges.n; e++)
        if (sym_is_rule(f->edges.at[e].lo)) return true;
    return false;
}

expr *json_quoted_without(schema_context *c, const json *place, fsm *body) {
    builder *b = c->b;
    expr *quote = expr_text(b, "\"");
    if (c->excludes != NULL) {
        if (has_rules(body))
            json_escape(b->w, place, STE_ERR_LIMIT, "\"excludes\" beside the limits of this string needs too many states");
        body = without_strings(c, fsm_determinise_fully(body), false);
        if (body == NULL) return expr_never(b);
    }
    return expr_rule(b, rule_of(b, expr_sequence(b, (expr *[]){quote, expr_fsm(b, body), quote}, 3)));
}

expr *json_free_without(schema_context *c, const json *place) {
    if (c->string != 0) return expr_rule(c->b, c->string - 1);
    fsm *body = fsm_new(c->b->w);
    body->final.at[body->start] = 1;
    fsm_insert(body, json_character.make(c->b->w, 0), body->start, body->start);
    expr *made = json_quoted_without(c, place, body);
    if (made->kind == EXPR_RULE) c->string = made->u.id + 1;
    return made;
}
