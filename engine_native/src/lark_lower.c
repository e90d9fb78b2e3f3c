/* lark_lower.c - scopes, rules, templates and parameters to expressions.
 *
 * A rule is an *instance*: a definition with the arguments of its template or
 * the value of its parameter.  Instances are found again by a key, made when
 * they are first referred to and lowered one after the other, so neither
 * recursion of rules nor a long chain of them costs stack. */
#include <stdio.h>

#include "inline.h"
#include "lark.h"
#include "regular.h"

/* ---- keys ---- */

typedef struct key_writer {
    arena *mem;
    VEC(char) text;
} key_writer;

static void write_bytes(key_writer *k, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) vec_push(k->mem, &k->text, ((const char *)bytes)[i]);
}

static const lark_binding *binding_of(const lark_environment *in, const lark_node *name) {
    for (uint32_t i = 0; i < in->n_bindings; i++)
        if (strlen(in->bindings[i].name) == name->n && memcmp(in->bindings[i].name, name->u.name.name, name->n) == 0)
            return &in->bindings[i];
    return NULL;
}

/* Nodes are told apart by their address; names by what they stand for. */
static void write_node(key_writer *k, const lark_node *node, const lark_environment *in) {
    const lark_binding *bound = node->kind == LARK_NAME ? binding_of(in, node) : NULL;
    if (bound != NULL) {
        write_bytes(k, bound->key, strlen(bound->key));
        return;
    }
    char number[24];
    if (node->kind == LARK_TEXT) {
        vec_push(k->mem, &k->text, node->u.text.ignore_case ? 'i' : 't');
        for (uint32_t i = 0; i < node->n; i++) write_bytes(k, number, (size_t)snprintf(number, sizeof number, "%02x", (uint8_t)node->u.text.bytes[i]));
    } else if (node->kind == LARK_NAME) {
        vec_push(k->mem, &k->text, 'n');
        write_bytes(k, node->u.name.name, node->n);
        vec_push(k->mem, &k->text, '(');
        for (uint32_t i = 0; i < node->u.name.n_arguments; i++) {
            write_node(k, node->u.name.arguments[i], in);
            vec_push(k->mem, &k->text, ',');
        }
        vec_push(k->mem, &k->text, ')');
        write_bytes(k, number, (size_t)snprintf(number, sizeof number, "%d", (int)node->u.name.param.kind));
        write_bytes(k, number, (size_t)snprintf(number, sizeof number, ":%llx", (unsigned long long)lark_param_value(&node->u.name.param, in->self)));
    } else {
        write_bytes(k, number, (size_t)snprintf(number, sizeof number, "@%zu", node->at));
    }
}

static const char *finish(key_writer *k) {
    vec_push(k->mem, &k->text, '\0');
    return k->text.at;
}

/* ---- instances ---- */

static void grow_instances(lark_lowering *l) {
    uint32_t size = l->mask == 0 ? 64 : (l->mask + 1) * 2;
    l->table = arena_alloc(&l->b->w->mem, size, sizeof *l->table);
    l->mask = size - 1;
    for (uint32_t i = 0; i < l->instances.n; i++) {
        const char *key = l->instances.at[i].key;
        uint32_t slot = (uint32_t)hash_bytes(key, strlen(key), 0) & l->mask;
        while (l->table[slot] != 0) slot = (slot + 1) & l->mask;
        l->table[slot] = i + 1;
    }
}

/* The rule of d in this environment. */
static uint32_t instance_of(lark_lowering *l, lark_definition *d, const char *key, const lark_environment *environment) {
    if (l->instances.n * 2 >= l->mask) grow_instances(l);
    uint32_t slot = (uint32_t)hash_bytes(key, strlen(key), 0) & l->mask;
    for (; l->table[slot] != 0; slot = (slot + 1) & l->mask)
        if (strcmp(l->instances.at[l->table[slot] - 1].key, key) == 0) return l->instances.at[l->table[slot] - 1].rule;
    vec_push(&l->b->w->mem, &l->instances, (lark_instance){d, key, environment, rule_new(l->b)});
    l->table[slot] = l->instances.n;
    return l->instances.at[l->instances.n - 1].rule;
}

static expr *refer(lark_lowering *l, lark_definition *d, const lark_node *name, const lark_environment *in) {
    arena *mem = &l->b->w->mem;
    lark_environment *inner = arena_alloc(mem, 1, sizeof *inner);
    inner->scope = in->scope;
    inner->parametric = d->parametric;
    inner->self = d->parametric ? lark_param_value(&name->u.name.param, in->self) : 0;
    lark_binding *bindings = arena_alloc(mem, (size_t)d->n_parameters + 1, sizeof *bindings);
    char number[48];
    key_writer key = {.mem = mem};
    write_bytes(&key, number, (size_t)snprintf(number, sizeof number, "%p:%zu:%llx", (const void *)in->scope, d->at, (unsigned long long)inner->self));
    for (uint32_t i = 0; i < d->n_parameters; i++) {
        key_writer argument = {.mem = mem};
        write_node(&argument, name->u.name.arguments[i], in);
        bindings[i] = (lark_binding){d->parameters[i], name->u.name.arguments[i], in, finish(&argument)};
        vec_push(mem, &key.text, '|');
        write_bytes(&key, bindings[i].key, strlen(bindings[i].key));
    }
    work_charge(l->b->w, key.text.n / 64);
    inner->bindings = bindings;
    inner->n_bindings = d->n_parameters;
    return expr_rule(l->b, instance_of(l, d, finish(&key), inner));
}

/* ---- parts of rules ---- */

expr *lark_lexeme(lark_lowering *l, const lark_scope *s, expr *e) {
    return s->skip == NULL ? e : expr_pair(l->b, e, s->skip);
}

static expr *lower_name(lark_lowering *l, const lark_node *node, const lark_environment *in) {
    const lark_binding *bound = binding_of(in, node);
    if (bound != NULL) {
        if (++l->r->depth > l->b->w->limits.depth) lark_bad(l->r, node->at, STE_ERR_LIMIT, "templates are nested too deep");
        expr *e = lark_lower_part(l, bound->node, bound->in);
        l->r->depth--;
        return e;
    }
    lark_definition *d = lark_find(in->scope, node->u.name.name, node->n);
    if (d->terminal) return lark_lexeme(l, in->scope, lark_whole_terminal(l, in->scope, node));
    return refer(l, d, node, in);
}

static expr *lower_schema(lark_lowering *l, const lark_node *node) {
    work *w = l->b->w;
    const names *known = l->b->names;
    if (l->r->n > 0) w->out.inside = source_context(&l->r->source, node->at, "%json");
    if (l->b->looks) l->b->names = NULL; /* rules that others made cannot be made anew for what is demanded of them (ahead.h) */
    if (l->r->schemas == NULL) l->r->schemas = schema_context_new(l->b, STE_WHITESPACE_BOUNDED);
    expr *e = schema_expr(l->r->schemas, node->u.schema);
    l->b->names = known;
    w->out.inside = NULL;
    return e;
}

expr *lark_lower_part(lark_lowering *l, const lark_node *node, const lark_environment *in) {
    builder *b = l->b;
    switch (node->kind) {
    case LARK_NAME:
        return lower_name(l, node, in);
    case LARK_SEQUENCE:
    case LARK_CHOICE: {
        expr **parts = arena_alloc(&b->w->mem, (size_t)node->n + 1, sizeof *parts);
        for (uint32_t i = 0; i < node->n; i++) parts[i] = lark_lower_part(l, node->u.parts[i], in);
        return node->kind == LARK_SEQUENCE ? expr_sequence(b, parts, node->n) : expr_choice(b, parts, node->n);
    }
    case LARK_REPEAT:
        return expr_repeat(b, lark_lower_part(l, node->u.repeat.body, in), node->u.repeat.min, node->u.repeat.max);
    case LARK_GUARD:
        return lark_holds(node->u.guard.condition, in->self) ? lark_lower_part(l, node->u.guard.body, in) : expr_never(b);
    case LARK_JSON:
        return lark_lexeme(l, in->scope, lower_schema(l, node));
    case LARK_TOKENS:
        return lark_lexeme(l, in->scope, token_set_expr(b, &node->u.tokens.set, !node->u.tokens.negated));
    case LARK_GRAMMAR:
        return lark_lexeme(l, in->scope, lark_lower_scope(l, node->u.grammar));
    default:
        if (node->kind == LARK_TEXT && node->n == 0) return expr_empty(b); /* "" is no lexeme */
        return lark_lexeme(l, in->scope, lark_whole_terminal(l, in->scope, node));
    }
}

static void lower_instance(lark_lowering *l, uint32_t number) {
    const lark_instance i = l->instances.at[number];
    lark_scope *s = i.environment->scope;
    l->r = s->reader;
    const lark_attributes *a = &i.definition->attributes;
    expr *e;
    if (lark_has_end(a)) {
        e = lark_lexeme(l, s, lark_attributed(l, s, i.definition));
    } else {
        e = lark_lower_part(l, i.definition->body, i.environment);
        if (a->capture != NULL) e = expr_capture(l->b, e, (capture){a->capture, (uint32_t)strlen(a->capture), 0});
    }
    rule_set(l->b, i.rule, e);
}

/* ---- scopes ---- */

static void lower_ignored(lark_lowering *l, lark_scope *s) {
    builder *b = l->b;
    if (s->ignored.n == 0) return;
    expr **parts = arena_alloc(&b->w->mem, s->ignored.n, sizeof *parts);
    for (uint32_t i = 0; i < s->ignored.n; i++) parts[i] = lark_whole_terminal(l, s, s->ignored.at[i]);
    expr *one = expr_choice(b, parts, s->ignored.n);
    const char *why = NULL;
    fsm *f = regular_automaton(b, expr_repeat(b, one, 0, s->skip_once ? 1 : REPEAT_INFINITE), &why);
    if (why != NULL) lark_bad(l->r, s->ignored.at[0]->at, STE_ERR_UNSUPPORTED, "%s", why);
    s->skip = expr_rule(b, rule_of(b, expr_fsm(b, f))); /* the empty text is always in it */
}

expr *lark_lower_scope(lark_lowering *l, lark_scope *s) {
    lark_reader *outer = l->r;
    l->r = s->reader;
    if (s->skip == NULL) lower_ignored(l, s);
    uint32_t n = (uint32_t)strlen(s->start);
    lark_definition *start = lark_find(s, s->start, n);
    lark_environment *in = arena_alloc(&l->b->w->mem, 1, sizeof *in);
    in->scope = s;
    lark_node name = {.kind = LARK_NAME, .at = start->at, .n = n, .u.name.name = s->start};
    expr *e = lark_dispatch(l, s, start, in);
    if (e == NULL) e = lower_name(l, &name, in);
    l->r = outer;
    return s->initial_skip && s->skip != NULL ? expr_pair(l->b, s->skip, e) : e;
}

/* Does the text begin like a list of grammars in JSON?  No Lark grammar does. */
static bool is_list(const source *text) {
    size_t at = source_begin(text);
    while (at < text->n && (text->text[at] == ' ' || text->text[at] == '\t' || text->text[at] == '\n' || text->text[at] == '\r')) at++;
    return at < text->n && text->text[at] == '{';
}

static const json *read_list(const source *text) {
    work *w = text->w;
    if (text->place != NULL) return json_parse_inside(w, text->place);
    w->out.inside = source_context(text, 0, "a list of grammars");
    const json *list = json_parse(w, text->text, text->n);
    w->out.inside = NULL;
    return list;
}

expr *lark_expr(builder *b, const source *text, const char *start, const json *grammars) {
    lark_reader r = {.b = b, .source = *text, .s = (const uint8_t *)text->text, .n = text->n};
    lark_scope *s;
    if (is_list(text)) {
        if (start != NULL) source_escape(text, 0, STE_ERR_UNSUPPORTED, "a list of grammars starts with its first one, by its rule \"start\"");
        r.others = lark_library_new(b, NULL);
        lark_library_add_list(b, r.others, read_list(text));
        s = lark_library_first(b, r.others);
    } else {
        r.others = lark_library_new(b, grammars);
        s = lark_read(&r, start == NULL ? "start" : start);
    }
    lark_library_read_all(b, r.others);
    lark_lowering l = {.r = &r, .b = b};
    expr *e = lark_lower_scope(&l, s);
    for (uint32_t i = 0; i < l.instances.n; i++) lower_instance(&l, i);
    return e;
}

void lark_front(builder *b, const char *text, size_t n, const char *start, const char *grammars) {
    const source s = {b->w, text, n, NULL};
    const json *named = grammars == NULL ? NULL : json_parse(b->w, grammars, strlen(grammars));
    b->root = rule_of(b, lark_expr(b, &s, start, named));
    inline_rules(b);
}
