/* lark_parse.c - definitions and their right-hand sides.
 *
 *   item        prefix name template? priority? attributes? ::_? ":" expansions   |   directive
 *   expansions  alternative ("|" alternative)*                    a line may begin with "|"
 *   alternative sequence ("&" sequence)* ("->" name)? (%if condition)?
 *   sequence    (atom repeat?)*
 *   repeat      ? * + ~n ~n..m {n} {n,} {n,m} {,m}
 *   atom        "text" "text"i "a".."z" /regex/flags name name{arguments} name::parameter
 *               ( ... ) [ ... ] ~atom <token> %json {...} %regex {...} %lark {...} */
#include "lark.h"
#include "utf8.h"

lark_node *lark_node_new(lark_reader *r, lark_kind kind, size_t at) {
    lark_node *node = arena_alloc(&r->b->w->mem, 1, sizeof *node);
    node->kind = kind;
    node->at = at;
    return node;
}

lark_node *lark_list(lark_reader *r, lark_kind kind, size_t at, lark_node *const *parts, uint32_t n) {
    if (n == 1) return parts[0];
    lark_node *node = lark_node_new(r, kind, at);
    node->u.parts = arena_copy(&r->b->w->mem, parts, n * sizeof *parts);
    node->n = n;
    return node;
}

STE_NORETURN static void expected(const lark_reader *r, const char *what) {
    lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected %s", what);
}

/* ---- definitions by name ---- */

static uint32_t slot_of(const lark_scope *s, const char *name, size_t n) {
    uint32_t slot = (uint32_t)hash_bytes(name, n, 0) & s->mask;
    for (; s->table[slot] != 0; slot = (slot + 1) & s->mask) {
        const lark_definition *d = &s->definitions.at[s->table[slot] - 1];
        if (d->n == n && memcmp(d->name, name, n) == 0) break;
    }
    return slot;
}

lark_definition *lark_find(const lark_scope *s, const char *name, size_t n) {
    if (s->table == NULL) return NULL;
    uint32_t found = s->table[slot_of(s, name, n)];
    return found == 0 ? NULL : &s->definitions.at[found - 1];
}

lark_definition *lark_define(lark_reader *r, lark_scope *s, const char *name, size_t n, size_t at) {
    arena *mem = &r->b->w->mem;
    if (lark_find(s, name, n) != NULL) lark_bad(r, at, STE_ERR_SYNTAX, "%.*s is defined twice", n < 80 ? (int)n : 80, name);
    lark_definition d = {.name = name, .n = n, .at = at, .attributes.max_chars = REPEAT_INFINITE};
    vec_push(mem, &s->definitions, d);
    if (s->definitions.n * 2 >= s->mask) {
        uint32_t size = s->mask == 0 ? 64 : (s->mask + 1) * 2;
        s->table = arena_alloc(mem, size, sizeof *s->table);
        s->mask = size - 1;
        for (uint32_t i = 0; i + 1 < s->definitions.n; i++)
            s->table[slot_of(s, s->definitions.at[i].name, s->definitions.at[i].n)] = i + 1;
    }
    s->table[slot_of(s, name, n)] = s->definitions.n;
    return &s->definitions.at[s->definitions.n - 1];
}

/* ---- atoms ---- */

static lark_node *read_atom(lark_reader *r);

static uint32_t one_character(const lark_reader *r, const lark_token *t) {
    uint32_t cp = 0;
    uint32_t k = utf8_decode((const uint8_t *)t->text, t->n, &cp);
    if (k == 0 || k != t->n) lark_bad(r, t->at, STE_ERR_SYNTAX, "the ends of a range must be one character");
    if (t->ignore_case) lark_bad(r, t->at, STE_ERR_SYNTAX, "a range must not have flags");
    return cp;
}

static lark_node *read_text(lark_reader *r) {
    lark_token first = r->token;
    lark_next(r);
    if (r->token.kind != TOKEN_DOTS) {
        lark_node *node = lark_node_new(r, LARK_TEXT, first.at);
        node->u.text.bytes = first.text;
        node->n = (uint32_t)first.n;
        node->u.text.ignore_case = first.ignore_case;
        for (size_t i = 0; first.ignore_case && i < first.n; i++)
            if ((uint8_t)first.text[i] > 0x7F)
                lark_bad(r, first.at, STE_ERR_UNSUPPORTED, "a string with the flag i must be ASCII");
        return node;
    }
    lark_next(r);
    if (r->token.kind != TOKEN_TEXT) expected(r, "a string after \"..\"");
    lark_node *node = lark_node_new(r, LARK_RANGE, first.at);
    node->u.range.lo = one_character(r, &first);
    node->u.range.hi = one_character(r, &r->token);
    if (node->u.range.hi < node->u.range.lo) lark_bad(r, first.at, STE_ERR_SYNTAX, "the ends of the range are out of order");
    lark_next(r);
    return node;
}

/* Does the pattern hold what may be a lookahead or a word boundary? */
static bool may_look(const char *text, size_t n) {
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] == '\\' && (text[i + 1] | 0x20) == 'b') return true;
        if (text[i] == '(' && text[i + 1] == '?' && i + 2 < n && (text[i + 2] == '=' || text[i + 2] == '!')) return true;
    }
    return false;
}

static lark_node *read_regex(lark_reader *r) {
    lark_node *node = lark_node_new(r, LARK_REGEX, r->token.at);
    regex_part *p = &node->u.regex;
    *p = (regex_part){.text = r->token.text, .n = r->token.n, .around = &r->source, .at = r->token.at + 1, .verbatim = true};
    r->b->looks |= may_look(p->text, p->n);
    for (size_t i = r->token.at + r->token.n + 2; i < r->token.end; i++) {
        bool *flag = r->s[i] == 'i' ? &p->ignore_case : r->s[i] == 's' ? &p->dot_all : r->s[i] == 'u' ? &p->unicode : NULL;
        if (flag == NULL) lark_bad(r, i, STE_ERR_UNSUPPORTED, "the flags of a regular expression are i, s and u");
        *flag = true;
    }
    lark_next(r);
    return node;
}

/* The first character after the current token and blanks. */
static uint8_t following(const lark_reader *r) {
    size_t at = r->token.end;
    while (at < r->n && (r->s[at] == ' ' || r->s[at] == '\t')) at++;
    return at < r->n ? r->s[at] : 0;
}

static bool counts_follow(const lark_reader *r) {
    uint8_t c = following(r);
    return (c >= '0' && c <= '9') || c == ',' || c == '-';
}

static lark_node *read_name(lark_reader *r) {
    lark_node *node = lark_node_new(r, LARK_NAME, r->token.at);
    node->u.name.name = r->token.text;
    node->n = (uint32_t)r->token.n;
    lark_next(r);
    if (lark_is(r, '{') && !counts_follow(r)) {
        VEC(lark_node *) arguments = {0};
        r->nesting++;
        do {
            lark_next(r);
            lark_node *one = read_atom(r);
            vec_push(&r->b->w->mem, &arguments, one);
        } while (lark_is(r, ','));
        r->nesting--;
        lark_expect(r, '}', "after the arguments of a template");
        node->u.name.arguments = arguments.at;
        node->u.name.n_arguments = arguments.n;
    }
    if (r->token.kind == TOKEN_COLONS) {
        lark_next(r);
        node->u.name.param = lark_read_param(r);
    }
    return node;
}

/* ( ... ) or [ ... ], at the bracket. */
static lark_node *read_group(lark_reader *r) {
    char close = lark_is(r, '(') ? ')' : ']';
    r->nesting++;
    lark_next(r);
    lark_node *body = lark_expansions(r);
    r->nesting--;
    if (!lark_is(r, close)) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected '%c' after a group", close);
    lark_next(r);
    return body;
}

static lark_node *repeated(lark_reader *r, lark_node *body, uint64_t min, uint64_t max, size_t at) {
    if (max < min) lark_bad(r, at, STE_ERR_SYNTAX, "the repeat counts are out of order");
    if (min >= REPEAT_INFINITE || (max != REPEAT_INFINITE && max > REPEAT_INFINITE))
        lark_bad(r, at, STE_ERR_LIMIT, "a repeat count is too large");
    lark_node *node = lark_node_new(r, LARK_REPEAT, body->at);
    node->u.repeat.body = body;
    node->u.repeat.min = (uint32_t)min;
    node->u.repeat.max = (uint32_t)max;
    return node;
}

/* %lark { ... }, at the directive. */
static lark_node *read_nested(lark_reader *r) {
    lark_node *node = lark_node_new(r, LARK_GRAMMAR, r->token.at);
    uint32_t nesting = r->nesting;
    lark_next(r);
    if (!lark_is(r, '{')) expected(r, "'{' after %lark");
    if (++r->depth > r->b->w->limits.depth) lark_bad(r, r->token.at, STE_ERR_LIMIT, "grammars are nested too deep");
    r->nesting = 0;
    lark_next(r);
    node->u.grammar = lark_parse(r, true, "start");
    node->u.grammar->at = node->at;
    r->nesting = nesting;
    r->depth--;
    lark_expect(r, '}', "after a nested grammar");
    return node;
}

static lark_node *read_directive(lark_reader *r) {
    if (lark_is_word(&r->token, "%lark")) return read_nested(r);
    if (lark_is_word(&r->token, "%regex")) return lark_structured_regex(r);
    if (!lark_is_word(&r->token, "%json")) expected(r, "a string, a pattern, a name or '('");
    lark_node *node = lark_node_new(r, LARK_JSON, r->token.at);
    node->u.schema = lark_json(r);
    return node;
}

/* @name */
static lark_node *read_reference(lark_reader *r) {
    lark_node *node = lark_node_new(r, LARK_GRAMMAR, r->token.at);
    node->u.grammar = lark_named_grammar(r, &r->token);
    lark_next(r);
    return node;
}

static lark_node *read_inner_atom(lark_reader *r) {
    switch (r->token.kind) {
    case TOKEN_TEXT:
        return read_text(r);
    case TOKEN_REGEX:
        return read_regex(r);
    case TOKEN_RULE:
    case TOKEN_TERMINAL:
        return read_name(r);
    case TOKEN_SPECIAL:
        return lark_special(r);
    case TOKEN_REFERENCE:
        return read_reference(r);
    case TOKEN_DIRECTIVE:
        return read_directive(r);
    default:
        break;
    }
    if (lark_is(r, '(')) return read_group(r);
    if (lark_is(r, '[')) {
        lark_node *body = read_group(r);
        return repeated(r, body, 0, 1, body->at);
    }
    if (!lark_is(r, '~')) expected(r, "a string, a pattern, a name or '('");
    lark_node *node = lark_node_new(r, LARK_NOT, r->token.at);
    lark_next(r);
    node->u.negated = read_atom(r);
    return node;
}

static lark_node *read_atom(lark_reader *r) {
    if (++r->depth > r->b->w->limits.depth) lark_bad(r, r->token.at, STE_ERR_LIMIT, "groups are nested too deep");
    lark_node *node = read_inner_atom(r);
    r->depth--;
    return node;
}

/* ---- repeats ---- */

static uint64_t read_count(lark_reader *r) {
    if (r->token.kind != TOKEN_NUMBER) expected(r, "a repeat count");
    uint64_t n = r->token.number;
    lark_next(r);
    return n;
}

static lark_node *read_repeat(lark_reader *r, lark_node *body) {
    size_t at = r->token.at;
    if (lark_take(r, '*')) return repeated(r, body, 0, REPEAT_INFINITE, at);
    if (lark_take(r, '+')) return repeated(r, body, 1, REPEAT_INFINITE, at);
    if (lark_take(r, '?')) return repeated(r, body, 0, 1, at);
    if (lark_is(r, '~') && counts_follow(r)) {
        lark_next(r);
        uint64_t min = read_count(r), max = min;
        if (r->token.kind == TOKEN_DOTS) {
            lark_next(r);
            max = read_count(r);
        }
        return repeated(r, body, min, max, at);
    }
    if (!lark_is(r, '{')) return body;
    r->nesting++;
    lark_next(r);
    bool open = lark_is(r, ',');
    uint64_t min = open ? 0 : read_count(r), max = min;
    if (lark_take(r, ',')) {
        if (open && r->token.kind != TOKEN_NUMBER) expected(r, "a repeat count");
        max = r->token.kind == TOKEN_NUMBER ? read_count(r) : REPEAT_INFINITE;
    }
    r->nesting--;
    if (!lark_is(r, '}')) expected(r, "a repeat count or '}'");
    lark_next(r);
    return repeated(r, body, min, max, at);
}

/* ---- sequences and choices ---- */

static bool atom_follows(const lark_reader *r) {
    const lark_token *t = &r->token;
    if (t->kind == TOKEN_DIRECTIVE) return lark_is_word(t, "%json") || lark_is_word(t, "%lark") || lark_is_word(t, "%regex");
    return t->kind == TOKEN_TEXT || t->kind == TOKEN_REGEX || t->kind == TOKEN_RULE || t->kind == TOKEN_TERMINAL ||
           t->kind == TOKEN_SPECIAL || t->kind == TOKEN_REFERENCE || lark_is(r, '(') || lark_is(r, '[') || lark_is(r, '~');
}

static lark_node *read_sequence(lark_reader *r) {
    VEC(lark_node *) parts = {0};
    size_t at = r->token.at;
    while (atom_follows(r)) {
        lark_node *part = read_repeat(r, read_atom(r));
        vec_push(&r->b->w->mem, &parts, part);
        if (lark_is(r, '*') || lark_is(r, '+') || lark_is(r, '?') || lark_is(r, '{'))
            lark_bad(r, r->token.at, STE_ERR_SYNTAX, "nothing to repeat: put the repeat before it in a group");
    }
    return lark_list(r, LARK_SEQUENCE, at, parts.at, parts.n);
}

/* At a line end that a line with this mark at its beginning follows: goes on there. */
static void continue_line(lark_reader *r, char mark) {
    if (r->token.kind == TOKEN_NEWLINE && r->at < r->n && r->s[r->at] == (uint8_t)mark) lark_next(r);
}

static lark_node *read_alternative(lark_reader *r) {
    VEC(lark_node *) parts = {0};
    size_t at = r->token.at;
    do {
        lark_node *part = read_sequence(r);
        vec_push(&r->b->w->mem, &parts, part);
        continue_line(r, '&');
    } while (lark_take(r, '&'));
    lark_node *node = lark_list(r, LARK_BOTH, at, parts.at, parts.n);
    if (r->token.kind == TOKEN_ARROW) {
        lark_next(r);
        if (r->token.kind != TOKEN_RULE && r->token.kind != TOKEN_TERMINAL) expected(r, "a name after \"->\"");
        lark_next(r);
    }
    if (r->token.kind == TOKEN_DIRECTIVE && lark_is_word(&r->token, "%if")) {
        lark_node *guard = lark_node_new(r, LARK_GUARD, r->token.at);
        lark_next(r);
        guard->u.guard.body = node;
        guard->u.guard.condition = lark_read_condition(r);
        node = guard;
    }
    return node;
}

lark_node *lark_expansions(lark_reader *r) {
    VEC(lark_node *) parts = {0};
    size_t at = r->token.at;
    do {
        lark_node *part = read_alternative(r);
        vec_push(&r->b->w->mem, &parts, part);
        continue_line(r, '|');
    } while (lark_take(r, '|'));
    return lark_list(r, LARK_CHOICE, at, parts.at, parts.n);
}

/* ---- items ---- */

/* After the '{' of a template's definition. */
static void read_parameters(lark_reader *r, lark_definition *d) {
    arena *mem = &r->b->w->mem;
    VEC(const char *) parameters = {0};
    do {
        lark_next(r);
        if (r->token.kind != TOKEN_RULE && r->token.kind != TOKEN_TERMINAL) expected(r, "the name of a template parameter");
        char *copy = arena_alloc(mem, r->token.n + 1, 1);
        memcpy(copy, r->token.text, r->token.n);
        vec_push(mem, &parameters, copy);
        lark_next(r);
    } while (lark_is(r, ','));
    lark_expect(r, '}', "after the parameters of a template");
    d->parameters = parameters.at;
    d->n_parameters = parameters.n;
}

/* At the '.': priorities rank readings of a text, and here any reading will do. */
static void read_priority(lark_reader *r, const lark_definition *d) {
    lark_next(r);
    lark_take(r, '-');
    if (r->token.kind != TOKEN_NUMBER) expected(r, "a priority");
    lark_next(r);
    builder_note(r->b, "%.*s: its priority is ignored, any reading of a text is accepted", d->n < 60 ? (int)d->n : 60, d->name);
}

/* At %override or %extend: the definition of the name that follows, to be changed. */
static lark_definition *read_changed(lark_reader *r, const lark_scope *s) {
    lark_next(r);
    while (lark_is(r, '?') || lark_is(r, '!')) lark_next(r);
    if (r->token.kind != TOKEN_RULE && r->token.kind != TOKEN_TERMINAL) expected(r, "the name of a rule or a terminal");
    lark_definition *d = lark_find(s, r->token.text, r->token.n);
    int shown = r->token.n < 80 ? (int)r->token.n : 80;
    if (d == NULL) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "%.*s is not defined so far", shown, r->token.text);
    if (d->n_parameters > 0 || d->parametric)
        lark_bad(r, r->token.at, STE_ERR_UNSUPPORTED, "%.*s has parameters: changing it is not supported", shown, r->token.text);
    lark_next(r);
    if (!lark_is(r, ':') && !lark_is(r, '.')) expected(r, "':' after the name");
    return d;
}

static void read_override(lark_reader *r, const lark_scope *s) {
    lark_definition *d = read_changed(r, s);
    if (lark_is(r, '.')) read_priority(r, d);
    lark_expect(r, ':', "after the name");
    d->body = lark_expansions(r);
    d->declared = false;
}

/* What was said so far and one alternative more, side by side: depth must not grow. */
static void read_extend(lark_reader *r, const lark_scope *s) {
    lark_definition *d = read_changed(r, s);
    if (lark_is(r, '.')) read_priority(r, d);
    size_t at = r->token.at;
    lark_expect(r, ':', "after the name");
    lark_node *more = lark_expansions(r);
    if (d->declared) return;
    uint32_t n = d->body->kind == LARK_CHOICE ? d->body->n : 1;
    work_charge(r->b->w, 1 + n / 64);
    lark_node **parts = arena_alloc(&r->b->w->mem, (size_t)n + 1, sizeof *parts);
    memcpy(parts, d->body->kind == LARK_CHOICE ? d->body->u.parts : &d->body, n * sizeof *parts);
    parts[n] = more;
    d->body = lark_list(r, LARK_CHOICE, at, parts, n + 1);
}

static void read_definition(lark_reader *r, lark_scope *s) {
    while (lark_is(r, '?') || lark_is(r, '!')) lark_next(r);
    if (r->token.kind != TOKEN_RULE && r->token.kind != TOKEN_TERMINAL) expected(r, "a rule, a terminal or a directive");
    lark_token name = r->token;
    lark_definition d = *lark_define(r, s, name.text, name.n, name.at);
    uint32_t number = s->definitions.n - 1;
    d.terminal = name.kind == TOKEN_TERMINAL;
    lark_next(r);
    if (lark_is(r, '{')) read_parameters(r, &d);
    if (lark_is(r, '.')) read_priority(r, &d);
    if (r->token.kind == TOKEN_COLONS) {
        lark_next(r);
        if (lark_is(r, '=')) lark_bad(r, r->token.at - 2, STE_ERR_SYNTAX, "expected ':' after the name: \"::=\" is EBNF");
        if (!lark_is_word(&r->token, "_")) expected(r, "'_' after \"::\" of a definition");
        if (d.terminal || d.n_parameters > 0) lark_bad(r, name.at, STE_ERR_SYNTAX, "only plain rules can have a \"::_\"");
        d.parametric = true;
        lark_next(r);
    }
    if (lark_is(r, '[')) {
        if (d.terminal) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "only rules can have attributes");
        char *copy = arena_alloc(&r->b->w->mem, d.n + 1, 1);
        memcpy(copy, d.name, d.n);
        d.attributes = lark_read_attributes(r, copy, d.parametric);
    }
    lark_expect(r, ':', "after the name");
    d.body = lark_expansions(r);
    s->definitions.at[number] = d;
}

lark_scope *lark_parse(lark_reader *r, bool nested, const char *start) {
    lark_scope *s = arena_alloc(&r->b->w->mem, 1, sizeof *s);
    s->reader = r;
    s->start = start;
    for (;;) {
        if (r->token.kind == TOKEN_NEWLINE) {
            lark_next(r);
            continue;
        }
        if (nested ? lark_is(r, '}') : r->token.kind == TOKEN_END) break;
        if (r->token.kind == TOKEN_DIRECTIVE && lark_is_word(&r->token, "%override"))
            read_override(r, s);
        else if (r->token.kind == TOKEN_DIRECTIVE && lark_is_word(&r->token, "%extend"))
            read_extend(r, s);
        else if (r->token.kind == TOKEN_DIRECTIVE)
            lark_directive(r, s);
        else
            read_definition(r, s);
        if (r->token.kind != TOKEN_NEWLINE && r->token.kind != TOKEN_END && !(nested && lark_is(r, '}')))
            expected(r, "the end of the line");
        if (nested && r->token.kind == TOKEN_END) expected(r, "'}' after a nested grammar");
    }
    return s;
}

lark_scope *lark_read(lark_reader *r, const char *start) {
    r->at = source_begin(&r->source);
    lark_next(r);
    lark_scope *s = lark_parse(r, false, start);
    lark_check(r, s);
    return s;
}
