/* schema_guidance.c - "x-guidance" at the top of a schema: how its JSON is written.
 *
 * The options of llguidance (docs/json_schema.md of v1.9, read 2026-11-30):
 *
 *   whitespace_flexible   true: any white space between tokens; false: none
 *   whitespace_pattern    a regular expression for it, at most once between two tokens
 *   item_separator, key_separator   regular expressions for the comma and the colon
 *   json_allowed_escapes  what may follow a backslash in strings
 *   json_allow_general_unicode_escapes   \uXXXX for any character, where only the length of a string is limited
 *   coerce_one_of         oneOf is read as anyOf
 *   lenient               the same; but nothing is ignored that cannot be enforced
 *
 * Of what the patterns match only JSON counts.  Rules of such a schema are its own:
 * those that grammars share are in the usual notation. */
#include "fsm_product.h"
#include "schema_style.h"

typedef struct guidance {
    schema_context *c;
    const json *whitespace, *item, *key; /* patterns, or NULL */
    int layout;
} guidance;

static bool flag(const guidance *g, const json *value) {
    if (!json_is_bool(value)) json_escape(g->c->b->w, value, STE_ERR_SCHEMA, "option \"%s\" must be true or false", value->key);
    return value->kind == JSON_TRUE;
}

static const json *pattern(const guidance *g, const json *value) {
    if (value->kind != JSON_STRING)
        json_escape(g->c->b->w, value, STE_ERR_SCHEMA, "option \"%s\" must be the text of a regular expression", value->key);
    return value;
}

static uint32_t listed_escapes(const guidance *g, const json *value) {
    uint32_t out = 0;
    if (value->kind != JSON_STRING) json_escape(g->c->b->w, value, STE_ERR_SCHEMA, "option \"%s\" must be a string", value->key);
    for (uint32_t i = 0; i < value->n; i++) {
        uint32_t one = json_escape_bit(value->u.text[i]);
        if (one == 0 || value->u.text[i] == '/')
            json_escape(g->c->b->w, value, STE_ERR_SCHEMA, "option \"%s\" lists characters of nrbtf\\\"u", value->key);
        out |= one;
    }
    return out;
}

static uint32_t usual_escapes(void) {
    uint32_t out = 0;
    for (const char *p = "nrbtf\\\"u"; *p != '\0'; p++) out |= json_escape_bit(*p);
    return out;
}

/* White space, then `mark` if there is one, then white space: over code points. */
static fsm *spaced(work *w, char mark) {
    fsm *f = fsm_new(w);
    uint32_t end = mark == '\0' ? f->start : fsm_state(f);
    f->final.at[end] = 1;
    for (const char *p = " \t\n\r"; *p != '\0'; p++) {
        fsm_edge_add(f, f->start, (uint8_t)*p, (uint8_t)*p, f->start);
        if (mark != '\0') fsm_edge_add(f, end, (uint8_t)*p, (uint8_t)*p, end);
    }
    if (mark != '\0') fsm_edge_add(f, f->start, (uint8_t)mark, (uint8_t)mark, end);
    fsm_index(f);
    return f;
}

/* Of what the pattern matches that which JSON can have there: \s is more than its white space. */
static expr *read_pattern(const guidance *g, const json *value, char mark) {
    builder *b = g->c->b;
    fsm *f = fsm_reduce(fsm_intersection(regex_text_at(b, value), spaced(b->w, mark)));
    if (f == NULL)
        json_escape(b->w, value, STE_ERR_SCHEMA, "option \"%s\" matches no white space%s", value->key,
                    mark == ',' ? " with a comma in it" : mark == ':' ? " with a colon in it" : "");
    return text_automaton_expr(b, f);
}

static void set_spaces(const guidance *g) {
    builder *b = g->c->b;
    json_spaces space = json_whitespace(b, g->layout);
    if (g->whitespace != NULL) {
        space.inside = expr_optional(b, read_pattern(g, g->whitespace, '\0'));
        space.inside = expr_rule(b, rule_of(b, space.inside));
        space.comma = expr_sequence(b, (expr *[]){space.inside, expr_text(b, ","), space.inside}, 3);
        space.colon = expr_sequence(b, (expr *[]){space.inside, expr_text(b, ":"), space.inside}, 3);
    }
    if (g->item != NULL) space.comma = expr_sequence(b, (expr *[]){space.inside, read_pattern(g, g->item, ','), space.inside}, 3);
    if (g->key != NULL) space.colon = expr_sequence(b, (expr *[]){space.inside, read_pattern(g, g->key, ':'), space.inside}, 3);
    style_spaces(g->c, space);
}

static void read_options(guidance *g, const json *options) {
    builder *b = g->c->b;
    uint32_t escapes = usual_escapes(), general = 0;
    bool listed = false;
    for (uint32_t i = 0; i < options->n; i++) {
        const json *value = &options->u.items[i];
        if (schema_key_is(value, "whitespace_flexible")) {
            g->layout = (g->layout & ~15) | (flag(g, value) ? STE_WHITESPACE_ANY : STE_WHITESPACE_NONE);
            g->layout = layout_without_whitespace_count(g->layout);
        } else if (schema_key_is(value, "whitespace_pattern")) {
            g->whitespace = value->kind == JSON_NULL ? NULL : pattern(g, value);
        } else if (schema_key_is(value, "item_separator")) {
            g->item = pattern(g, value);
        } else if (schema_key_is(value, "key_separator")) {
            g->key = pattern(g, value);
        } else if (schema_key_is(value, "coerce_one_of")) {
            g->c->any_for_one |= flag(g, value);
        } else if (schema_key_is(value, "lenient")) {
            if (!flag(g, value)) continue;
            g->c->any_for_one = true;
            builder_note(b, "/x-guidance/lenient: \"oneOf\" is read as \"anyOf\"; what cannot be enforced is refused all the same");
        } else if (schema_key_is(value, "json_allowed_escapes")) {
            if (value->kind == JSON_NULL) continue;
            escapes = listed_escapes(g, value);
            listed = true;
        } else if (schema_key_is(value, "json_allow_general_unicode_escapes")) {
            general = flag(g, value) ? ESCAPES_GENERAL : 0;
            listed = true;
        } else {
            json_escape(b->w, value, STE_ERR_UNSUPPORTED, "unknown option \"%.80s\" in \"x-guidance\"", value->key);
        }
    }
    if (listed && g->c->excludes != NULL)
        json_escape(b->w, options, STE_ERR_UNSUPPORTED, "options about escapes are not supported beside \"excludes\"");
    b->escapes = listed ? escapes | general | ESCAPES_LISTED : 0;
}

expr *schema_guided(const schema_context *c, const json *schema) {
    builder *b = c->b;
    const json *options = json_get(schema, "x-guidance");
    if (options->kind != JSON_OBJECT) json_escape(b->w, options, STE_ERR_SCHEMA, "\"x-guidance\" must be an object");
    if (layout_style(c->layout) != 0)
        json_escape(b->w, options, STE_ERR_UNSUPPORTED, "\"x-guidance\" is about JSON and is not supported in style %s", c->style->name);
    const names *known = b->names;
    fsm *fixed_strings = b->fixed_strings;
    uint32_t escapes = b->escapes, n_texts = b->texts.n;
    b->names = NULL;
    b->fixed_strings = NULL;
    guidance g = {.c = schema_context_new(b, c->layout), .layout = c->layout};
    g.c->documents = c->documents;
    g.c->excludes = c->excludes;
    read_options(&g, options);
    set_spaces(&g);
    expr *e = schema_lower(g.c, schema);
    b->names = known;
    b->fixed_strings = fixed_strings;
    b->escapes = escapes;
    b->texts.n = n_texts; /* no one else shall find these rules by their names */
    return e;
}
