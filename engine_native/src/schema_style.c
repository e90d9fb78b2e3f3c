/* schema_style.c - see schema_style.h.
 *
 * Source of the styles: the structural-tag documentation of xgrammar 0.2.9.
 * What they must write unambiguously is ours: keys have no character that could
 * end them, a raw string ends at the first mark, listed values are whole. */
#include "schema_style.h"

#include "fsm_product.h"
#include "json_text.h"
#include "utf8.h"

#define DSML "\xEF\xBD\x9C" "DSML\xEF\xBD\x9C" /* U+FF5C on both sides */
#define GCML "\xEF\xBD\x9C" "GCML\xEF\xBD\x9C"

static const style_escape quote_escapes[] = {{'&', "&amp;"}, {'"', "&quot;"}, {0, NULL}};
static const style_escape markup_escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {0, NULL}};

static const struct style styles[] = {
    {.name = "json"},
    {.name = "qwen_xml", .member = "<parameter=", .middle = ">", .close = "</parameter>", .guard = "</parameter>", .forbidden = "<>",
     .python = TYPE_TRUE | TYPE_FALSE | TYPE_NULL, .literals = true},
    {.name = "qwen_padded_xml", .member = "<parameter=", .middle = ">\n", .close = "\n</parameter>", .guard = "\n</parameter>",
     .forbidden = "<>", .python = TYPE_TRUE | TYPE_FALSE | TYPE_NULL},
    {.name = "minimax_xml", .member = "<parameter name=\"", .middle = "\">", .close = "</parameter>", .guard = "</parameter>",
     .forbidden = "<>\""},
    {.name = "step_xml", .member = "<steptml:parameter name=\"", .middle = "\">", .close = "</steptml:parameter>",
     .guard = "</steptml:parameter>", .forbidden = "<>\""},
    {.name = "deepseek_xml", .member = "<" DSML "parameter name=\"", .middle = "\" string=\"",
     .labels = {"true", "false", "false", "false", "false"}, .after_label = "\">", .close = "</" DSML "parameter>",
     .guard = "</" DSML "parameter>", .forbidden = "<>\""},
    {.name = "deepseek_v4_1_xml", .member = "<" DSML " parameter name=\"", .middle = "\" string=\"",
     .labels = {"true", "false", "false", "false", "false"}, .after_label = "\">", .close = "</" DSML " parameter>",
     .guard = "</" DSML " parameter>", .forbidden = "<>\""},
    {.name = "gigachat_xml", .member = "<" GCML "parameter name=\"", .middle = "\" string=\"",
     .labels = {"true", "false", "false", "false", "false"}, .after_label = "\">", .close = "</" GCML "parameter>",
     .guard = "</" GCML "parameter>", .forbidden = "<>\""},
    {.name = "glm_xml", .member = "<arg_key>", .middle = "</arg_key>", .middle2 = "<arg_value>", .close = "</arg_value>",
     .guard = "</arg_value>", .forbidden = "<>"},
    {.name = "longcat_xml", .member = "<longcat_arg_key>", .middle = "</longcat_arg_key>", .middle2 = "<longcat_arg_value>",
     .close = "</longcat_arg_value>", .guard = "</longcat_arg_value>", .forbidden = "<>"},
    {.name = "kimi_k3_xml", .member = "<|open|>argument key=\"", .middle = "\" type=\"",
     .labels = {"string", "number", "number", "array", "object"}, .after_label = "\"<|sep|>", .close = "<|close|>argument<|sep|>",
     .guard = "<|close|>argument<|sep|>", .forbidden = "", .escapes = quote_escapes, .kinds = true},
    {.name = "cohere_xml", .member = "<cofl:value name=\"", .middle = "\" type=\"", .labels = {"raw", "json", "json", "list", "dict"},
     .after_label = "\">", .close = "</cofl:value>", .item = "<cofl:value type=\"", .item_end = "</cofl:value>",
     .guard = "</cofl:value>", .forbidden = "", .escapes = markup_escapes},
    {.name = "minimax_m3_xml", .member = "]<]minimax[>[<", .middle = ">", .close = "]<]minimax[>[", .close_key = "</", .key_end = ">",
     .item = "]<]minimax[>[<item>", .item_end = "]<]minimax[>[</item>", .guard = "]<]minimax[>[", .forbidden = "<>[]/",
     .longest_key = 64, .item_key = "item"},
    {.name = "pythonic", .member = "", .middle = "=", .forbidden = " !\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"},
    {.name = "function_gemma", .guard = "<escape>", .forbidden = " :,{}[]\"<>|"},
    {.name = "gemma", .guard = "<|\"|>", .forbidden = " :,{}[]\"<>|", .python = TYPE_NULL},
};

#define N_STYLES (sizeof styles / sizeof *styles)
_Static_assert(N_STYLES <= 16, "a layout has four bits for the style");
#define PYTHONIC (N_STYLES - 3)
#define GEMMA (N_STYLES - 2) /* and the last one */

uint32_t style_number(const char *name) {
    for (uint32_t i = 0; i < N_STYLES; i++)
        if (strcmp(styles[i].name, name) == 0) return i;
    return UINT32_MAX;
}

const char *style_names(void) {
    return "json, qwen_xml, qwen_padded_xml, minimax_xml, step_xml, deepseek_xml, deepseek_v4_1_xml, gigachat_xml, glm_xml, longcat_xml, kimi_k3_xml, cohere_xml, "
           "minimax_m3_xml, pythonic, function_gemma, gemma";
}

static bool is_gemma(const schema_context *c) { return c->style >= &styles[GEMMA]; }
static bool is_pythonic(const schema_context *c) { return c->style == &styles[PYTHONIC]; }

static expr *mark(schema_context *c, const char *text) { return expr_literal(c->b, text, strlen(text)); }

/* ---- forms ---- */

/* White space where a style allows some: a line or two, and an indent. */
static expr *blank_of(builder *b, int layout) {
    int mode = layout & 15;
    uint32_t count = layout_whitespace_count(layout);
    if (count == 0 && (mode == STE_WHITESPACE_NONE || mode == STE_WHITESPACE_EXACT || mode == STE_WHITESPACE_INDENT)) return expr_empty(b);
    fsm *f = fsm_new(b->w);
    f->final.at[f->start] = 1;
    uint32_t any = mode == STE_WHITESPACE_ANY && count == 0 ? 0 : count != 0 ? count : 2, at = f->start;
    for (uint32_t i = 0; i <= any; i++) {
        uint32_t next = any == 0 ? at : i < any ? fsm_state(f) : at;
        if (any != 0 && i == any) break;
        f->final.at[next] = 1;
        for (const char *s = " \t\n\r"; *s != 0; s++) fsm_edge_add(f, at, (uint8_t)*s, (uint8_t)*s, next);
        at = next;
    }
    static const struct {
        char kind;
        uint32_t n;
    } indents[] = {{' ', 64}, {'\t', 16}};
    for (size_t k = 0; k < 2 && any == 2 && count == 0; k++)
        for (uint32_t from = at, i = 0; i < indents[k].n; i++) {
            uint32_t next = fsm_state(f);
            f->final.at[next] = 1;
            fsm_edge_add(f, from, (uint8_t)indents[k].kind, (uint8_t)indents[k].kind, next);
            from = next;
        }
    return expr_rule(b, rule_of(b, expr_fsm(b, f)));
}

void style_spaces(schema_context *c, json_spaces space) {
    builder *b = c->b;
    c->json = (notation){
        .space = space,
        .first = expr_empty(b),
        .object = expr_pair(b, expr_text(b, "{"), space.inside),
        .empty_end = expr_text(b, "}"),
        .object_end = expr_pair(b, space.inside, expr_text(b, "}")),
        .array = expr_pair(b, expr_text(b, "["), space.inside),
        .array_end = expr_text(b, "]"),
    };
    style_form(c, FORM_JSON);
}

void style_open(schema_context *c, int layout) {
    builder *b = c->b;
    expr *none = expr_empty(b);
    json_spaces space = json_whitespace(b, layout);
    c->style = &styles[layout_style(layout)];
    style_spaces(c, space);
    if (layout_style(layout) != 0 && !is_gemma(c)) {
        const struct style *s = c->style;
        expr *blank = is_pythonic(c) ? none : blank_of(b, layout);
        bool spaced = blank->kind != EXPR_EMPTY;
        expr *middle = mark(c, s->middle);
        if (s->middle2 != NULL) middle = expr_sequence(b, (expr *[]){middle, blank, mark(c, s->middle2)}, 3);
        c->list = (notation){
            .space = {.inside = blank, .comma = is_pythonic(c) ? space.comma : none, .colon = middle},
            .first = none,
            .object = none,
            .empty_end = spaced ? expr_optional(b, expr_text(b, "\n")) : none, /* a model must not be able to go on with nothing */
            .object_end = blank,
            .array = none,
            .array_end = none,
        };
    }
    style_form(c, FORM_JSON);
}

void style_level(schema_context *c, uint32_t level) {
    if (!layout_is_indented(c->layout)) return;
    builder *b = c->b;
    expr *line = json_line(b, c->layout, level);
    c->level = level;
    c->inner_level = level + 1;
    c->json.first = json_line(b, c->layout, level + 1);
    c->json.space.inside = line;
    c->json.space.comma = expr_pair(b, expr_text(b, ","), c->json.first);
    c->json.object_end = expr_pair(b, line, expr_text(b, "}"));
}

void style_form(schema_context *c, value_form f) {
    c->form = f;
    c->now = f == FORM_LIST || form_is_raw(f) ? &c->list : &c->json;
    c->space = c->now->space;
}

/* A root that may be an object is one. */
value_form style_root(schema_context *c, const json *schema) {
    if (c->style == &styles[0]) return FORM_JSON;
    if (is_gemma(c)) return FORM_GEMMA;
    if ((schema_may_be(c, schema) & TYPE_OBJECT) != 0) return FORM_LIST;
    return is_pythonic(c) ? FORM_PYTHON : FORM_BARE;
}

static bool is_recursive(const schema_context *c) { return c->style->item != NULL; }

value_form style_inner(const schema_context *c, uint32_t kind) {
    if (c->now == &c->json) return c->form;
    if (is_pythonic(c)) return FORM_PYTHON;
    if (c->form != FORM_LIST && !is_recursive(c)) return FORM_JSON;
    return kind == TYPE_ARRAY ? FORM_ITEM : FORM_ARGUMENT;
}

bool style_has_labels(const schema_context *c) { return c->style->after_label != NULL; }

/* ---- values ---- */

static const char *label_of(const schema_context *c, uint32_t kind, bool fixed) {
    bool container = kind == TYPE_ARRAY || kind == TYPE_OBJECT;
    if (c->style->kinds && (kind == TYPE_TRUE || kind == TYPE_FALSE)) return "boolean";
    if (c->style->kinds && kind == TYPE_NULL) return "null";
    if (kind == TYPE_STRING) return c->style->labels[0];
    if (!container) return c->style->labels[1];
    if (fixed && is_recursive(c)) return c->style->labels[2];
    return c->style->labels[kind == TYPE_ARRAY ? 3 : 4];
}

/* guarded: the guard, with which the closing mark begins, is part of `one`. */
static expr *labelled(schema_context *c, const char *label, bool guarded, expr *one) {
    builder *b = c->b;
    const struct style *s = c->style;
    VEC(expr *) parts = {0};
    if (c->form == FORM_ITEM) {
        vec_push(&b->w->mem, &parts, c->space.inside);
        vec_push(&b->w->mem, &parts, mark(c, s->item));
    }
    if (s->after_label != NULL && c->form != FORM_BARE) {
        vec_push(&b->w->mem, &parts, mark(c, label));
        vec_push(&b->w->mem, &parts, mark(c, s->after_label));
    }
    vec_push(&b->w->mem, &parts, one);
    if (c->form != FORM_BARE) vec_push(&b->w->mem, &parts, mark(c, (c->form == FORM_ITEM ? s->item_end : s->close) + (guarded ? strlen(s->guard) : 0)));
    return expr_sequence(b, parts.at, parts.n);
}

static expr *spaced(schema_context *c, expr *one) {
    return c->form == FORM_BARE ? one : expr_sequence(c->b, (expr *[]){c->list.space.inside, one, c->list.space.inside}, 3);
}

expr *style_value(schema_context *c, uint32_t kind, bool fixed, expr *one) {
    if (!form_is_raw(c->form) || one->kind == EXPR_NEVER) return one;
    /* Around the members of a list there is white space already. */
    bool list = is_recursive(c) && !fixed && (kind == TYPE_ARRAY || kind == TYPE_OBJECT);
    bool raw = kind == TYPE_STRING && !fixed;
    if (!list && !raw) one = spaced(c, one);
    return labelled(c, label_of(c, kind, fixed), raw, one);
}

expr *style_integer(schema_context *c, expr *one) {
    if (!c->style->kinds || !form_is_raw(c->form) || one->kind == EXPR_NEVER) return NULL;
    return labelled(c, "integer", false, spaced(c, one));
}

expr *style_word(schema_context *c, uint32_t kind) {
    expr *plain = expr_text(c->b, kind == TYPE_NULL ? "null" : kind == TYPE_TRUE ? "true" : "false");
    expr *python = expr_text(c->b, kind == TYPE_NULL ? "None" : kind == TYPE_TRUE ? "True" : "False");
    if (c->form == FORM_PYTHON || c->form == FORM_LITERAL) return python;
    if (!form_is_spelled(c->form) || (c->style->python & kind) == 0) return plain;
    return expr_choice(c->b, (expr *[]){plain, python}, 2);
}

expr *style_fixed_item(schema_context *c, const json *value) {
    value_form outer = c->form;
    uint32_t kind = schema_value_type(value);
    style_form(c, style_inner(c, TYPE_ARRAY));
    expr *one = style_value(c, (kind & TYPE_NUMBER) != 0 ? TYPE_NUMBER : kind, true, schema_fixed(c, value));
    style_form(c, outer);
    return one;
}

/* ---- keys ---- */

#define DELETE 0x7F

static bool is_plain_key(const schema_context *c, const char *key, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint8_t ch = (uint8_t)key[i];
        if (ch < 0x20 || ch == DELETE || strchr(c->style->forbidden, (char)ch) != NULL) return false;
    }
    return n > 0;
}

/* Strings, that is. */
static bool keys_are_json(const schema_context *c) { return c->form == FORM_JSON || c->form == FORM_PYTHON || c->form == FORM_LITERAL; }

static const char *escape_of(const schema_context *c, uint32_t cp) {
    for (const style_escape *e = c->style->escapes; e != NULL && e->from != 0; e++)
        if ((uint8_t)e->from == cp) return e->to;
    return NULL;
}

expr *style_key(schema_context *c, const json *place, const char *key, uint32_t n) {
    builder *b = c->b;
    if (c->form == FORM_LITERAL) return literal_fixed(c, key, n);
    if (keys_are_json(c)) return json_fixed_string(b, key, n);
    if (!is_plain_key(c, key, n))
        json_escape(b->w, place, STE_ERR_UNSUPPORTED, "style %s cannot write the key \"%.80s\"", c->style->name, key);
    VEC(expr *) parts = {0};
    for (uint32_t i = 0, from = 0; i <= n; i++) {
        const char *escaped = i < n ? escape_of(c, (uint8_t)key[i]) : NULL;
        if (i < n && escaped == NULL) continue;
        if (i > from) vec_push(&b->w->mem, &parts, expr_bytes(b, key + from, i - from));
        if (escaped != NULL) vec_push(&b->w->mem, &parts, expr_text(b, escaped));
        from = i + 1;
    }
    return expr_sequence(b, parts.at, parts.n);
}

/* Over code points: at least one character, and at most as many as the style allows. */
static fsm *writable_keys(const schema_context *c) {
    fsm *f = fsm_new(c->b->w);
    uint32_t most = c->style->longest_key, more = fsm_state(f);
    for (uint32_t at = 0;;) {
        f->final.at[more] = 1;
        for (uint32_t cp = 0x20; cp < DELETE; cp++)
            if (strchr(c->style->forbidden, (char)cp) == NULL) fsm_edge_add(f, at, cp, cp, more);
        fsm_edge_add(f, at, DELETE + 1, 0xD7FF, more);
        fsm_edge_add(f, at, 0xE000, UTF8_MAX, more);
        if (at == more || (most != 0 && more == most)) return f;
        at = more;
        if (most != 0) more = fsm_state(f);
    }
}

fsm *style_keys(schema_context *c, fsm *keys) {
    if (keys_are_json(c) || keys == NULL) return keys;
    keys = fsm_intersection(keys, fsm_determinise_fully(writable_keys(c)));
    if (keys != NULL && c->style->item_key != NULL && c->form != FORM_LIST) { /* else an array could be read as an object of equal keys */
        fsm *item = fsm_new(c->b->w);
        uint32_t at = item->start;
        for (const char *p = c->style->item_key; *p != '\0'; p++) {
            uint32_t next = fsm_state(item);
            fsm_edge_add(item, at, (uint8_t)*p, (uint8_t)*p, next);
            at = next;
        }
        item->final.at[at] = 1;
        keys = fsm_difference(keys, fsm_determinise_fully(item));
    }
    return keys == NULL ? NULL : fsm_reduce(keys);
}

/* Where the key of a value that is not declared stands again: which one it was is not remembered, and nobody reads it. */
static expr *closing_key(schema_context *c) {
    if (c->closing_key == 0) {
        fsm *keys = writable_keys(c), *f = fsm_new(c->b->w);
        for (uint32_t s = 1; s < fsm_size(keys); s++) f->final.at[fsm_state(f)] = keys->final.at[s];
        for (uint32_t e = 0; e < keys->edges.n; e++) fsm_utf8_add(f, keys->edges.at[e].from, keys->edges.at[e].lo, keys->edges.at[e].hi, keys->edges.at[e].to);
        c->closing_key = rule_of(c->b, expr_fsm(c->b, f)) + 1;
    }
    return expr_rule(c->b, c->closing_key - 1);
}

expr *style_spelled_keys(schema_context *c, const fsm *keys) {
    builder *b = c->b;
    if (c->form == FORM_LITERAL) return literal_texts(c, keys);
    if (keys_are_json(c)) return json_quoted_without(c, c->root, json_spelled_automaton(b, keys));
    fsm *f = fsm_new(b->w);
    for (uint32_t s = 1; s < fsm_size(keys); s++) fsm_state(f);
    f->start = keys->start;
    for (uint32_t s = 0; s < fsm_size(keys); s++) f->final.at[s] = keys->final.at[s];
    for (uint32_t e = 0; e < keys->edges.n; e++) {
        fsm_edge g = keys->edges.at[e];
        uint32_t from = g.lo;
        for (uint32_t cp = g.lo; cp <= g.hi && cp < 0x80; cp++) { /* the escaped ones are ASCII */
            const char *escaped = escape_of(c, cp);
            if (escaped == NULL) continue;
            if (cp > from) fsm_utf8_add(f, g.from, from, cp - 1, g.to);
            from = cp + 1;
            uint32_t at = g.from;
            for (const char *p = escaped; *p != '\0'; p++) {
                uint32_t next = p[1] == '\0' ? g.to : fsm_state(f);
                fsm_edge_add(f, at, (uint8_t)*p, (uint8_t)*p, next);
                at = next;
            }
        }
        if (from <= g.hi) fsm_utf8_add(f, g.from, from, g.hi, g.to);
    }
    return expr_rule(b, rule_of(b, expr_pair(b, expr_fsm(b, f), c->space.colon)));
}

expr *style_pair(schema_context *c, expr *key, expr *bare_key, bool known, expr *value) {
    builder *b = c->b;
    if (known || keys_are_json(c)) key = expr_pair(b, key, c->space.colon);
    if (c->now == &c->json) return expr_pair(b, key, value);
    expr *begin = expr_pair(b, c->space.inside, mark(c, c->style->member));
    expr *pair = expr_sequence(b, (expr *[]){begin, key, value}, 3);
    if (c->style->close_key == NULL) return pair;
    if (!known) bare_key = closing_key(c);
    return expr_sequence(b, (expr *[]){pair, mark(c, c->style->close_key), bare_key, mark(c, c->style->key_end)}, 4);
}
