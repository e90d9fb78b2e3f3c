/* ebnf_macro.c - what EBNF writes as a call, and tokens as units.
 *
 *   Regex("pattern", json_string=false, flags="isu")      Substring("chunk", ...)
 *   TagDispatch(("text", rule), ..., loop_after_dispatch=true, excludes=("text", ...))
 *   Token(id or "text", ...)                               ExcludeToken(...)
 *   TokenTagDispatch((id or "text", rule), ..., loop_after_dispatch=true, excludes=(...))
 *   <[id]>  <text>  !<[id]>  !<text>                       as llama.cpp writes tokens
 *
 * The arguments are first read as values, then checked by the macro. */
#include "ebnf.h"
#include "fsm_product.h"
#include "substring.h"
#include "token_set.h"
#include "utf8.h"

typedef enum value_kind { VALUE_TEXT, VALUE_NUMBER, VALUE_NAME, VALUE_LIST } value_kind;

typedef struct value value;
struct value {
    value_kind kind;
    size_t at;
    const char *key; /* of a keyword argument; NULL: none */
    size_t key_n;
    const char *text; /* TEXT, NAME */
    size_t n;         /* bytes of TEXT and NAME; values of LIST */
    uint32_t number;
    value *list;
};

STE_NORETURN static void bad_value(const ebnf_reader *r, const value *v, const char *what) {
    ebnf_bad_at(r, v->at, STE_ERR_SYNTAX, what);
}

static value read_value(ebnf_reader *r, bool keys);

/* Values up to the ')', after the '('; `keys`: some may be key=value. */
static value read_list(ebnf_reader *r, bool keys) {
    value v = {.kind = VALUE_LIST, .at = r->at - 1};
    VEC(value) list = {0};
    if (++r->depth > r->b->w->limits.depth) ebnf_bad_at(r, r->at, STE_ERR_LIMIT, "lists are nested too deep");
    for (;;) {
        ebnf_skip(r);
        if (ebnf_take(r, ')')) break;
        value one = read_value(r, keys);
        vec_push(&r->b->w->mem, &list, one);
        ebnf_skip(r);
        if (!ebnf_take(r, ',') && ebnf_peek(r) != ')') ebnf_bad(r, "expected ',' or ')'");
    }
    r->depth--;
    v.list = list.at;
    v.n = list.n;
    return v;
}

static value read_value(ebnf_reader *r, bool keys) {
    value v = {.at = r->at};
    if (ebnf_take(r, '"')) {
        v.text = ebnf_string(r, &v.n);
        return v;
    }
    if (ebnf_take(r, '(')) return read_list(r, false);
    size_t n = ebnf_name_length(r, r->at);
    if (n > 0 && ebnf_peek(r) >= '0' && ebnf_peek(r) <= '9') {
        v.kind = VALUE_NUMBER;
        v.number = ebnf_count(r);
        return v;
    }
    if (n == 0) ebnf_bad(r, "expected a string, a number, a name or '('");
    v.kind = VALUE_NAME;
    v.text = (const char *)r->s + r->at;
    v.n = n;
    r->at += n;
    ebnf_skip(r);
    if (!keys || !ebnf_take(r, '=')) return v;
    ebnf_skip(r);
    value given = read_value(r, false);
    given.key = v.text;
    given.key_n = v.n;
    return given;
}

static bool is_key(const value *v, const char *key) { return v->key_n == strlen(key) && memcmp(v->key, key, v->key_n) == 0; }

/* The keyword argument of this name; NULL if there is none. */
static const value *keyword(const ebnf_reader *r, const value *arguments, const char *key) {
    const value *found = NULL;
    for (size_t i = 0; i < arguments->n; i++)
        if (arguments->list[i].key != NULL && is_key(&arguments->list[i], key)) {
            if (found != NULL) bad_value(r, &arguments->list[i], "this argument stands here twice");
            found = &arguments->list[i];
        }
    return found;
}

/* Every keyword is one of the two, and positional arguments come first; returns how many there are. */
static size_t check_keywords(const ebnf_reader *r, const value *arguments, const char *one, const char *other) {
    size_t n = 0;
    for (size_t i = 0; i < arguments->n; i++) {
        const value *v = &arguments->list[i];
        if (v->key == NULL && n < i) bad_value(r, v, "an argument without a name after one with a name");
        if (v->key == NULL) n++;
        if (v->key != NULL && !(one != NULL && is_key(v, one)) && !(other != NULL && is_key(v, other)))
            bad_value(r, v, "unknown argument");
    }
    return n;
}

static bool boolean(const ebnf_reader *r, const value *v, bool otherwise) {
    if (v == NULL) return otherwise;
    bool yes = v->kind == VALUE_NAME && v->n == 4 && memcmp(v->text, "true", 4) == 0;
    if (!yes && !(v->kind == VALUE_NAME && v->n == 5 && memcmp(v->text, "false", 5) == 0)) bad_value(r, v, "expected true or false");
    return yes;
}

/* ---- Regex ---- */

/* Characters that stand for themselves in a JSON string. */
static fsm *json_text(work *w) {
    static const cp_range ranges[] = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, UTF8_MAX}};
    fsm *f = fsm_new(w);
    f->final.at[f->start] = 1;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) fsm_edge_add(f, f->start, ranges[i].lo, ranges[i].hi, f->start);
    fsm_index(f);
    return f;
}

static expr *regex(ebnf_reader *r, const value *arguments) {
    size_t n = check_keywords(r, arguments, "json_string", "flags");
    if (n != 1 || arguments->list[0].kind != VALUE_TEXT) bad_value(r, arguments, "Regex needs one pattern");
    const value *pattern = &arguments->list[0], *flags = keyword(r, arguments, "flags");
    regex_part part = {.text = pattern->text, .n = pattern->n, .around = &r->source, .at = pattern->at, .dot_all = flags == NULL};
    if (flags != NULL && flags->kind != VALUE_TEXT) bad_value(r, flags, "flags must be a string");
    for (size_t i = 0; flags != NULL && i < flags->n; i++) {
        bool *flag = flags->text[i] == 'i'   ? &part.ignore_case
                     : flags->text[i] == 's' ? &part.dot_all
                     : flags->text[i] == 'u' ? &part.unicode
                                             : NULL;
        if (flag == NULL) ebnf_bad_at(r, flags->at, STE_ERR_UNSUPPORTED, "the flags of a regular expression are i, s and u");
        *flag = true;
    }
    if (!boolean(r, keyword(r, arguments, "json_string"), false)) return regex_part_expr(r->b, &part);
    fsm *f = fsm_reduce(fsm_intersection(regex_part_automaton(r->b, &part), json_text(r->b->w)));
    return text_automaton_expr(r->b, f);
}

/* ---- Substring ---- */

static expr *substring(ebnf_reader *r, const value *arguments) {
    chunk *chunks = arena_alloc(&r->b->w->mem, arguments->n + 1, sizeof *chunks);
    check_keywords(r, arguments, NULL, NULL);
    for (size_t i = 0; i < arguments->n; i++) {
        const value *v = &arguments->list[i];
        if (v->kind != VALUE_TEXT) bad_value(r, v, "Substring needs strings");
        chunks[i] = (chunk){v->text, v->n};
    }
    return substring_expr(r->b, chunks, (uint32_t)arguments->n);
}

/* ---- tokens ---- */

static void add_token(ebnf_reader *r, token_set *s, const value *v) {
    if (v->kind == VALUE_TEXT) {
        if (!token_set_add_text(r->b, s, v->text, v->n)) bad_value(r, v, "the vocabulary has no token with this text");
    } else if (v->kind == VALUE_NUMBER) {
        if (!token_set_add_range(r->b, s, v->number, v->number)) bad_value(r, v, "this token is outside the vocabulary");
    } else {
        bad_value(r, v, "expected the id or the text of a token");
    }
}

static expr *tokens(ebnf_reader *r, const value *arguments, bool wanted) {
    token_set s = token_set_new(r->b);
    check_keywords(r, arguments, NULL, NULL);
    if (wanted && arguments->n == 0) bad_value(r, arguments, "Token needs the id or the text of a token");
    for (size_t i = 0; i < arguments->n; i++) add_token(r, &s, &arguments->list[i]);
    return token_set_expr(r->b, &s, wanted);
}

expr *ebnf_token(ebnf_reader *r) {
    bool negated = ebnf_take(r, '!');
    size_t from = r->at;
    token_set s = token_set_new(r->b);
    if (!ebnf_take(r, '<')) ebnf_bad(r, "expected '<'");
    if (ebnf_take(r, '[')) {
        value id = {.kind = VALUE_NUMBER, .at = r->at};
        id.number = ebnf_count(r);
        add_token(r, &s, &id);
        if (!ebnf_take(r, ']') || !ebnf_take(r, '>')) ebnf_bad(r, "expected \"]>\"");
    } else {
        while (r->at < r->n && ebnf_peek(r) != '>' && ebnf_peek(r) != '\n') r->at++;
        if (!ebnf_take(r, '>')) ebnf_bad_at(r, from, STE_ERR_SYNTAX, "a token is not closed");
        value text = {.kind = VALUE_TEXT, .at = from, .text = (const char *)r->s + from, .n = r->at - from};
        add_token(r, &s, &text);
    }
    return token_set_expr(r->b, &s, !negated);
}

/* ---- dispatch ---- */

/* What must follow a trigger: (trigger, rule). */
static expr *target(ebnf_reader *r, const value *pair) {
    if (pair->kind != VALUE_LIST || pair->n != 2 || pair->list[1].kind != VALUE_NAME) bad_value(r, pair, "expected (trigger, rule)");
    const value *name = &pair->list[1];
    return expr_rule(r->b, ebnf_rule(r, name->text, name->n, name->at)->rule);
}

/* A list of excluded things; one in parentheses is a list too. */
static value excluded(const ebnf_reader *r, const value *arguments) {
    const value *v = keyword(r, arguments, "excludes");
    if (v == NULL) return (value){.kind = VALUE_LIST};
    if (v->kind != VALUE_LIST) bad_value(r, v, "excludes must be a list");
    return *v;
}

static dispatch_pattern text_pattern(ebnf_reader *r, const value *v, expr *then) {
    if (v->kind != VALUE_TEXT || v->n == 0) bad_value(r, v, "expected a string that is not empty");
    dispatch_pattern p = {.then = then};
    p.n = literal_symbols(r->b, v->text, v->n, &p.symbols);
    return p;
}

static expr *tag_dispatch(ebnf_reader *r, const value *arguments) {
    size_t n = check_keywords(r, arguments, "loop_after_dispatch", "excludes");
    value not = excluded(r, arguments);
    dispatch_pattern *patterns = arena_alloc(&r->b->w->mem, n + not.n + 1, sizeof *patterns);
    for (size_t i = 0; i < n; i++) {
        expr *then = target(r, &arguments->list[i]);
        patterns[i] = text_pattern(r, &arguments->list[i].list[0], then);
    }
    for (size_t i = 0; i < not.n; i++) {
        const value *v = &not.list[i];
        patterns[n + i] = text_pattern(r, v, NULL);
        for (size_t k = 0; k < n; k++) {
            const value *trigger = &arguments->list[k].list[0];
            if (trigger->n >= v->n && memcmp(trigger->text, v->text, v->n) == 0) bad_value(r, v, "an excluded string begins a trigger");
        }
    }
    return expr_dispatch(r->b, patterns, (uint32_t)(n + not.n), boolean(r, keyword(r, arguments, "loop_after_dispatch"), true));
}

static expr *token_dispatch(ebnf_reader *r, const value *arguments) {
    builder *b = r->b;
    size_t n = check_keywords(r, arguments, "loop_after_dispatch", "excludes");
    value not = excluded(r, arguments);
    token_set special = token_set_new(b);
    VEC(expr *) calls = {0};
    for (size_t i = 0; i < n; i++) {
        token_set trigger = token_set_new(b);
        expr *then = target(r, &arguments->list[i]);
        add_token(r, &trigger, &arguments->list[i].list[0]);
        add_token(r, &special, &arguments->list[i].list[0]);
        expr *call = expr_pair(b, token_set_expr(b, &trigger, true), then);
        vec_push(&b->w->mem, &calls, call);
    }
    for (size_t i = 0; i < not.n; i++) add_token(r, &special, &not.list[i]);
    expr *other = token_set_expr(b, &special, false), *call = expr_choice(b, calls.at, calls.n);
    if (!boolean(r, keyword(r, arguments, "loop_after_dispatch"), true))
        return expr_pair(b, expr_repeat(b, other, 0, REPEAT_INFINITE), expr_optional(b, call));
    return expr_repeat(b, expr_choice(b, (expr *[]){other, call}, 2), 0, REPEAT_INFINITE);
}

/* ---- by name ---- */

expr *ebnf_macro(ebnf_reader *r) {
    static const char *const known[] = {"Regex", "Substring", "TagDispatch", "Token", "ExcludeToken", "TokenTagDispatch"};
    size_t n = ebnf_name_length(r, r->at), which = 0;
    if (r->at + n >= r->n || r->s[r->at + n] != '(') return NULL;
    while (which < 6 && !(strlen(known[which]) == n && memcmp(known[which], r->s + r->at, n) == 0)) which++;
    if (which == 6) return NULL;
    if (r->ahead) ebnf_bad(r, "this is not supported in a lookahead");
    r->at += n + 1;
    value arguments = read_list(r, true);
    switch (which) {
    case 0:
        return regex(r, &arguments);
    case 1:
        return substring(r, &arguments);
    case 2:
        return tag_dispatch(r, &arguments);
    case 3:
        return tokens(r, &arguments, true);
    case 4:
        return tokens(r, &arguments, false);
    default:
        return token_dispatch(r, &arguments);
    }
}
