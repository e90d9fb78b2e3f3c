/* ebnf.c - EBNF in the dialects of GBNF and of xgrammar (docs/GRAMMARS.md).
 *
 *   rules      name ::= sequence | sequence ...      name[lazy, max_chars=9, capture] ::= ...
 *   elements   "text"  [a-z]  [^a-z]  .  name  ( ... )  ()  <token>  !<token>  Macro(...)
 *   repeats    * + ? {n} {n,} {n,m}
 *   at the end of a rule: (= sequence), a hint about what follows, which changes nothing
 *   escapes    \n \r \t \\ \" \' \] \[ \- \^ \xHH \uXXXX \u{...} \UXXXXXXXX
 *
 * A rule ends where the next "name ::=" begins.  A literal that spells a
 * special token's text stands for that token. */
#include "ebnf.h"

#include "cp_set.h"
#include "inline.h"
#include "regular.h"
#include "utf8.h"

/* Past [options] behind a name, if that is what stands here. */
static size_t past_options(const ebnf_reader *r, size_t at) {
    if (at >= r->n || r->s[at] != '[') return at;
    for (bool quoted = false; at < r->n && r->s[at] != '\n'; at++) {
        if (r->s[at] == '"') quoted = !quoted;
        if (!quoted && r->s[at] == ']') return at + 1;
    }
    return at;
}

/* Does a new rule begin here? */
static bool at_definition(ebnf_reader *r) {
    size_t from = r->at, n = ebnf_name_length(r, r->at);
    if (n == 0) return false;
    r->at = past_options(r, r->at + n);
    ebnf_skip(r);
    bool yes = r->n - r->at >= 3 && memcmp(r->s + r->at, "::=", 3) == 0;
    r->at = from;
    return yes;
}

/* After '['. */
static expr *read_class(ebnf_reader *r) {
    cp_set s = {0};
    arena *mem = &r->b->w->mem;
    size_t from = r->at - 1;
    bool negated = ebnf_take(r, '^');
    while (!ebnf_take(r, ']')) {
        if (r->at >= r->n || ebnf_peek(r) == '\n') ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a character class is not closed");
        uint32_t lo = ebnf_character(r), hi = lo;
        if (ebnf_peek(r) == '-' && r->at + 1 < r->n && r->s[r->at + 1] != ']') {
            r->at++;
            hi = ebnf_character(r);
            if (hi < lo) ebnf_bad(r, "the range in a character class is out of order");
        }
        cp_set_add(mem, &s, lo, hi);
    }
    if (s.n == 0 && !negated) ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a character class without characters matches nothing");
    if (negated) s = cp_set_complement(mem, &s);
    return cp_set_expr(r->b, &s);
}

/* {n}, {n,} or {n,m}, after the brace; {n,-1} is {n,}. */
static void read_bounds(ebnf_reader *r, uint32_t *min, uint32_t *max) {
    ebnf_skip(r);
    if (ebnf_peek(r) == ',') ebnf_bad(r, "expected a number: write {0,n}");
    *max = *min = ebnf_count(r);
    ebnf_skip(r);
    if (ebnf_take(r, ',')) {
        ebnf_skip(r);
        *max = REPEAT_INFINITE;
        if (ebnf_take(r, '-')) {
            if (!ebnf_take(r, '1')) ebnf_bad(r, "expected a number");
        } else if (ebnf_peek(r) != '}') {
            *max = ebnf_count(r);
        }
        ebnf_skip(r);
    }
    if (!ebnf_take(r, '}')) ebnf_bad(r, "expected '}'");
    if (*max < *min) ebnf_bad(r, "the repeat counts are out of order");
}

static expr *read_repeat(ebnf_reader *r, expr *e) {
    uint32_t min = 0, max = REPEAT_INFINITE;
    if (ebnf_take(r, '+'))
        min = 1;
    else if (ebnf_take(r, '?'))
        max = 1;
    else if (ebnf_take(r, '{'))
        read_bounds(r, &min, &max);
    else if (!ebnf_take(r, '*'))
        return e;
    if (ebnf_peek(r) != 0 && strchr("*+?{", ebnf_peek(r)) != NULL) ebnf_bad(r, "nothing to repeat: put the repeat before it in a group");
    return expr_repeat(r->b, e, min, max);
}

static expr *read_choice(ebnf_reader *r);

/* After '('. */
static expr *read_group(ebnf_reader *r) {
    size_t from = r->at - 1;
    if (++r->depth > r->b->w->limits.depth) ebnf_bad_at(r, r->at, STE_ERR_LIMIT, "groups are nested too deep");
    ebnf_skip(r);
    expr *e = ebnf_peek(r) == ')' ? expr_empty(r->b) : read_choice(r);
    r->depth--;
    if (!ebnf_take(r, ')')) ebnf_bad_at(r, r->at < r->n ? r->at : from, STE_ERR_SYNTAX, r->at < r->n ? "expected ')'" : "a group is not closed");
    return e;
}

static expr *read_element(ebnf_reader *r) {
    if (ebnf_take(r, '"')) {
        size_t n;
        const char *text = ebnf_string(r, &n);
        return expr_literal(r->b, text, n);
    }
    if (ebnf_take(r, '[')) return read_class(r);
    if (ebnf_take(r, '.')) return expr_class(r->b, &(cp_range){0, UTF8_MAX}, 1);
    if (ebnf_take(r, '(')) return read_group(r);
    if (ebnf_peek(r) == '<' || ebnf_peek(r) == '!') return ebnf_token(r);
    size_t n = ebnf_name_length(r, r->at);
    if (n == 0) ebnf_bad(r, "expected a literal, a class, a rule name or '('");
    expr *macro = ebnf_macro(r);
    if (macro != NULL) return macro;
    named_rule *rule = ebnf_rule(r, (const char *)r->s + r->at, n, r->at);
    r->at += n;
    return expr_rule(r->b, rule->rule);
}

static bool at_lookahead(const ebnf_reader *r) { return r->at + 1 < r->n && r->s[r->at] == '(' && r->s[r->at + 1] == '='; }

static expr *read_sequence(ebnf_reader *r) {
    VEC(expr *) parts = {0};
    for (;;) {
        ebnf_skip(r);
        if (r->at >= r->n || ebnf_peek(r) == '|' || ebnf_peek(r) == ')' || at_lookahead(r) || at_definition(r)) break;
        expr *part = read_repeat(r, read_element(r));
        vec_push(&r->b->w->mem, &parts, part);
    }
    return expr_sequence(r->b, parts.at, parts.n); /* of several alternatives one may be empty */
}

static expr *read_choice(ebnf_reader *r) {
    VEC(expr *) parts = {0};
    ebnf_skip(r);
    size_t from = r->at;
    do {
        if (r->ahead && parts.n > 0) ebnf_bad(r, "a choice in a lookahead is not supported");
        expr *part = read_sequence(r);
        vec_push(&r->b->w->mem, &parts, part);
    } while (ebnf_take(r, '|'));
    if (parts.n == 1 && r->at == from) ebnf_bad(r, "expected a literal, a class, a rule name or '('"); /* "" is the empty text */
    return expr_choice(r->b, parts.at, parts.n);
}

/* (= sequence) at the end of a rule: checked, and left out. */
static void read_lookahead(ebnf_reader *r) {
    if (!at_lookahead(r)) return;
    size_t from = r->at;
    r->at += 2;
    r->ahead = true;
    read_choice(r);
    r->ahead = false;
    if (!ebnf_take(r, ')')) ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a lookahead is not closed");
    ebnf_skip(r);
    if (r->at < r->n && !at_definition(r)) ebnf_bad(r, "a lookahead must be the last part of a rule");
}

/* At "name ::=". */
static void read_rule(ebnf_reader *r) {
    size_t n = ebnf_name_length(r, r->at);
    named_rule *rule = ebnf_rule(r, (const char *)r->s + r->at, n, r->at);
    if (rule->defined) ebnf_bad(r, "a rule of this name exists already");
    rule->defined = true;
    uint32_t number = rule->rule;
    r->at += n;
    rule_options options = ebnf_options(r, (const char *)r->s + r->at - n, n);
    ebnf_skip(r);
    r->at += 3;
    rule_set(r->b, number, read_choice(r));
    if (r->at < r->n && ebnf_peek(r) == ')') ebnf_bad(r, "a ')' without its '('");
    read_lookahead(r);
    if (options.lazy || options.max_chars != REPEAT_INFINITE || options.capture != NULL)
        vec_push(&r->b->w->mem, &r->optional, (optional_rule){number, options});
}

/* The options of a rule, once all rules are known. */
static void apply_options(ebnf_reader *r, const optional_rule *o) {
    builder *b = r->b;
    expr *body = b->rules.at[o->rule].body;
    if (o->options.lazy || o->options.max_chars != REPEAT_INFINITE) {
        const char *why = NULL;
        fsm *f = regular_automaton(b, body, &why);
        if (why == NULL && o->options.max_chars != REPEAT_INFINITE) f = regular_at_most(b, f, o->options.max_chars, &why);
        if (why != NULL) ebnf_bad_at(r, o->options.at, STE_ERR_UNSUPPORTED, why);
        if (o->options.lazy) f = regular_shortest(f);
        body = f == NULL ? expr_never(b) : expr_fsm(b, f);
    }
    if (o->options.capture != NULL) {
        const char *name = o->options.capture;
        body = expr_capture(b, body, (capture){name, (uint32_t)strlen(name), 0});
    }
    rule_set(b, o->rule, body);
}

expr *ebnf_expr(builder *b, const source *text, const char *root) {
    ebnf_reader r = {.b = b, .source = *text, .s = (const uint8_t *)text->text, .n = text->n, .at = source_begin(text)};
    for (;;) {
        ebnf_skip(&r);
        if (r.at >= r.n) break;
        if (!at_definition(&r)) ebnf_bad(&r, "expected a rule: name ::= ...");
        read_rule(&r);
    }
    expr *start = NULL;
    for (uint32_t i = 0; i < r.rules.n; i++) {
        const named_rule *rule = &r.rules.at[i];
        if (!rule->defined)
            source_escape(&r.source, rule->used_at, STE_ERR_SYNTAX, "undefined rule %.*s", rule->n < 80 ? (int)rule->n : 80, rule->name);
        if (rule->n == strlen(root) && memcmp(rule->name, root, rule->n) == 0) start = expr_rule(b, rule->rule);
    }
    if (start == NULL) source_escape(&r.source, 0, STE_ERR_SYNTAX, "there is no rule \"%.80s\" to start with", root);
    for (uint32_t i = 0; i < r.optional.n; i++) apply_options(&r, &r.optional.at[i]);
    return start;
}

void ebnf_front(builder *b, const char *text, size_t n, const char *root) {
    const source s = {b->w, text, n, NULL};
    b->root = ebnf_expr(b, &s, root)->u.id;
    inline_rules(b);
}
