/* lark_check.c - what a grammar may say where, before any of it is lowered.
 *
 * Every definition is looked at, used or not: names that exist, terminals that
 * are made of terminals, arguments of templates, parameters. */
#include "lark.h"

typedef struct checker {
    lark_reader *r;
    const lark_scope *s;
    const lark_definition *d; /* NULL: %ignore */
    bool terminal;            /* what stands here is part of a terminal */
} checker;

STE_NORETURN static void bad(const checker *c, const lark_node *node, const char *what) {
    lark_bad(c->r, node->at, STE_ERR_SYNTAX, "%s", what);
}

static bool is_parameter(const checker *c, const lark_node *node) {
    for (uint32_t i = 0; c->d != NULL && i < c->d->n_parameters; i++)
        if (strlen(c->d->parameters[i]) == node->n && memcmp(c->d->parameters[i], node->u.name.name, node->n) == 0) return true;
    return false;
}

static void check(const checker *c, const lark_node *node);

static void check_name(const checker *c, const lark_node *node) {
    lark_param_kind kind = node->u.name.param.kind;
    if (kind != PARAM_NONE && c->terminal) bad(c, node, "a parameter cannot be used in terminals");
    if (kind != PARAM_NONE && kind != PARAM_VALUE && (c->d == NULL || !c->d->parametric))
        bad(c, node, "this needs a parameter, which the rule around does not have: add \"::_\" to its name");
    for (uint32_t i = 0; i < node->u.name.n_arguments; i++) check(c, node->u.name.arguments[i]);
    if (is_parameter(c, node)) {
        if (node->u.name.n_arguments > 0 || kind != PARAM_NONE) bad(c, node, "a template parameter takes no arguments");
        return;
    }
    const lark_definition *d = lark_find(c->s, node->u.name.name, node->n);
    int shown = node->n < 80 ? (int)node->n : 80;
    if (d == NULL) lark_bad(c->r, node->at, STE_ERR_SYNTAX, "unknown name %.*s", shown, node->u.name.name);
    if (c->terminal && !d->terminal) lark_bad(c->r, node->at, STE_ERR_SYNTAX, "a terminal cannot refer to the rule %.*s", shown, node->u.name.name);
    if (d->n_parameters != node->u.name.n_arguments)
        lark_bad(c->r, node->at, STE_ERR_SYNTAX, "%.*s takes %u arguments, not %u", shown, node->u.name.name, d->n_parameters, node->u.name.n_arguments);
    if (d->parametric != (kind != PARAM_NONE))
        lark_bad(c->r, node->at, STE_ERR_SYNTAX, d->parametric ? "%.*s needs a parameter" : "%.*s takes no parameter", shown, node->u.name.name);
}

static void check(const checker *c, const lark_node *node) {
    switch (node->kind) {
    case LARK_TEXT:
    case LARK_RANGE:
    case LARK_REGEX:
    case LARK_SUBSTRING:
        return;
    case LARK_NAME:
        check_name(c, node);
        return;
    case LARK_BOTH:
        if (!c->terminal) bad(c, node, "'&' can only be used in terminals");
        for (uint32_t i = 0; i < node->n; i++) check(c, node->u.parts[i]);
        return;
    case LARK_SEQUENCE:
    case LARK_CHOICE:
        for (uint32_t i = 0; i < node->n; i++) check(c, node->u.parts[i]);
        return;
    case LARK_REPEAT:
        check(c, node->u.repeat.body);
        return;
    case LARK_NOT:
        if (!c->terminal) bad(c, node, "'~' can only be used in terminals");
        check(c, node->u.negated);
        return;
    case LARK_GUARD:
        if (c->d == NULL || !c->d->parametric) bad(c, node, "%if needs a rule with a parameter");
        check(c, node->u.guard.body);
        return;
    case LARK_GRAMMAR:
        if (c->terminal) bad(c, node, "a grammar cannot be used in terminals");
        if (node->u.grammar->reader == c->r) lark_check(c->r, node->u.grammar); /* others have been looked at */
        return;
    case LARK_JSON:
        if (c->terminal) bad(c, node, "%json cannot be used in terminals");
        return;
    case LARK_TOKENS:
        if (c->terminal) bad(c, node, "tokens cannot be used in terminals");
        return;
    }
}

void lark_check(lark_reader *r, const lark_scope *s) {
    for (uint32_t i = 0; i < s->definitions.n; i++) {
        const lark_definition *d = &s->definitions.at[i];
        const checker c = {r, s, d, d->terminal};
        if (!d->declared) check(&c, d->body);
        const checker end = {r, s, NULL, true};
        if (d->attributes.end != NULL) check(&end, d->attributes.end);
    }
    const checker ignored = {r, s, NULL, true};
    for (uint32_t i = 0; i < s->ignored.n; i++) check(&ignored, s->ignored.at[i]);
    const lark_definition *start = lark_find(s, s->start, strlen(s->start));
    if (start == NULL) lark_bad(r, s->at, STE_ERR_SYNTAX, "there is no rule \"%.80s\" to start with", s->start);
    if (start->n_parameters > 0 || start->parametric)
        lark_bad(r, start->at, STE_ERR_SYNTAX, "the rule \"%.80s\" must not have parameters: the grammar starts with it", s->start);
}
