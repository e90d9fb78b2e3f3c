/* lark_library.c - grammars that others refer to by name: @name.
 *
 * They come beside a text, as an object of names, or the text is itself a list:
 *
 *   {"grammars": [{"lark_grammar": "start: @item"}, {"name": "item", "json_schema": {...}}]}
 *
 * which is llguidance's way to write it; the first of the list is the grammar to
 * start with.  Each is a scope of its own (lark.h), read with a reader of its
 * own, since errors must name the place in its text.  None may lead to itself. */
#include "lark.h"

enum { NEW, BUSY, DONE };

typedef struct named {
    const char *name;  /* NULL: it has none */
    const json *value; /* a Lark text or a JSON schema */
    bool lark;
    uint8_t state;
    uint32_t height;   /* how deep others are nested in it */
    lark_scope *scope;
} named;

struct lark_library {
    VEC(named) grammars;
};

/* ---- what there is ---- */

static named *find(const lark_library *l, const char *name, size_t n) {
    for (uint32_t i = 0; i < l->grammars.n; i++) {
        named *g = &l->grammars.at[i];
        if (g->name != NULL && strlen(g->name) == n && memcmp(g->name, name, n) == 0) return g;
    }
    return NULL;
}

static void add(work *w, lark_library *l, const char *name, const json *value, bool lark) {
    if (lark && value->kind != JSON_STRING) json_escape(w, value, STE_ERR_SYNTAX, "a Lark grammar must be a string");
    if (!lark && value->kind != JSON_OBJECT && !json_is_bool(value))
        json_escape(w, value, STE_ERR_SYNTAX, "a grammar must be a string of Lark or a JSON schema");
    if (name != NULL && find(l, name, strlen(name)) != NULL) json_escape(w, value, STE_ERR_SYNTAX, "there are two grammars of this name");
    work_charge(w, l->grammars.n / 16);
    vec_push(&w->mem, &l->grammars, (named){.name = name, .value = value, .lark = lark});
}

lark_library *lark_library_new(builder *b, const json *grammars) {
    work *w = b->w;
    lark_library *l = arena_alloc(&w->mem, 1, sizeof *l);
    if (grammars == NULL) return l;
    if (grammars->kind != JSON_OBJECT) json_escape(w, grammars, STE_ERR_SYNTAX, "grammars: an object by name is wanted");
    for (uint32_t i = 0; i < grammars->n; i++) {
        const json *value = &grammars->u.items[i];
        add(w, l, value->key, value, value->kind == JSON_STRING);
    }
    return l;
}

/* One of the list: {"name", "lark_grammar" or "json_schema"}. */
static void add_item(work *w, lark_library *l, const json *item) {
    const json *name = NULL, *value = NULL;
    if (item->kind != JSON_OBJECT) json_escape(w, item, STE_ERR_SYNTAX, "a grammar of the list must be an object");
    for (uint32_t i = 0; i < item->n; i++) {
        const json *field = &item->u.items[i];
        bool body = strcmp(field->key, "lark_grammar") == 0 || strcmp(field->key, "json_schema") == 0;
        if (field->kind == JSON_NULL) continue;
        if (strcmp(field->key, "name") == 0) {
            if (field->kind != JSON_STRING) json_escape(w, field, STE_ERR_SYNTAX, "a name must be a string");
            name = field;
        } else if (!body) {
            json_escape(w, field, STE_ERR_UNSUPPORTED, "field \"%.80s\" of a grammar is not supported", field->key);
        } else if (value != NULL) {
            json_escape(w, item, STE_ERR_SYNTAX, "a grammar has either \"lark_grammar\" or \"json_schema\"");
        } else {
            value = field;
        }
    }
    if (value == NULL) json_escape(w, item, STE_ERR_SYNTAX, "a grammar needs \"lark_grammar\" or \"json_schema\"");
    add(w, l, name == NULL ? NULL : name->u.text, value, strcmp(value->key, "lark_grammar") == 0);
}

void lark_library_add_list(builder *b, lark_library *l, const json *top) {
    const json *list = json_get(top, "grammars");
    for (uint32_t i = 0; i < top->n; i++) {
        const json *field = &top->u.items[i];
        if (strcmp(field->key, "grammars") != 0 && field->kind != JSON_NULL)
            json_escape(b->w, field, STE_ERR_UNSUPPORTED, "field \"%.80s\" beside \"grammars\" is not supported", field->key);
    }
    if (list == NULL || list->kind != JSON_ARRAY || list->n == 0)
        json_escape(b->w, list == NULL ? top : list, STE_ERR_SYNTAX, "\"grammars\" must be a list of grammars, and not empty");
    for (uint32_t i = 0; i < list->n; i++) add_item(b->w, l, &list->u.items[i]);
}

/* ---- reading ---- */

/* A scope whose start rule is the schema. */
static lark_scope *scope_of_schema(lark_reader *r, const json *schema) {
    lark_scope *s = arena_alloc(&r->b->w->mem, 1, sizeof *s);
    s->reader = r;
    s->start = "start";
    lark_definition *d = lark_define(r, s, "start", 5, 0);
    d->body = lark_node_new(r, LARK_JSON, 0);
    d->body->u.schema = schema;
    return s;
}

static void read_grammar(builder *b, lark_library *l, named *g, uint32_t depth) {
    work *w = b->w;
    lark_reader *r = arena_alloc(&w->mem, 1, sizeof *r);
    *r = (lark_reader){.b = b, .others = l, .depth = depth, .around = &g->height};
    r->source = (source){w, g->value->u.text, g->value->n, g->value};
    if (!g->lark) r->source = (source){w, "", 0, NULL}; /* errors have the pointer of the schema */
    r->s = (const uint8_t *)r->source.text;
    r->n = r->source.n;
    g->state = BUSY;
    g->scope = g->lark ? lark_read(r, "start") : scope_of_schema(r, g->value);
    g->state = DONE;
}

lark_scope *lark_named_grammar(lark_reader *r, const lark_token *t) {
    uint32_t most = r->b->w->limits.depth;
    named *g = find(r->others, t->text + 1, t->n - 1);
    int shown = t->n < 80 ? (int)t->n : 80;
    if (g == NULL) lark_bad(r, t->at, STE_ERR_SYNTAX, "unknown grammar %.*s", shown, t->text);
    if (g->state == BUSY) lark_bad(r, t->at, STE_ERR_UNSUPPORTED, "the grammar %.*s leads to itself, which is not supported", shown, t->text);
    if (r->depth + 1 > most) lark_bad(r, t->at, STE_ERR_LIMIT, "grammars are nested too deep");
    if (g->state == NEW) read_grammar(r->b, r->others, g, r->depth + 1);
    if (r->depth + g->height + 1 > most) lark_bad(r, t->at, STE_ERR_LIMIT, "grammars are nested too deep");
    if (r->around != NULL && *r->around <= g->height) *r->around = g->height + 1;
    return g->scope;
}

lark_scope *lark_library_first(builder *b, lark_library *l) {
    if (l->grammars.at[0].state == NEW) read_grammar(b, l, &l->grammars.at[0], 0);
    return l->grammars.at[0].scope;
}

void lark_library_read_all(builder *b, lark_library *l) {
    for (uint32_t i = 0; i < l->grammars.n; i++)
        if (l->grammars.at[i].state == NEW) read_grammar(b, l, &l->grammars.at[i], 0);
}
