/* lark_item.c - attributes of rules, directives, %regex { ... }, <tokens>. */
#include "lark.h"
#include "utf8.h"

STE_NORETURN static void expected(const lark_reader *r, const char *what) {
    lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected %s", what);
}

/* ---- name[attribute, ...] ---- */

/* The string after '='. */
static const char *capture_name(lark_reader *r) {
    if (r->token.kind != TOKEN_TEXT) expected(r, "a string");
    const lark_token *t = &r->token;
    for (size_t i = 0; i < t->n; i++) {
        uint8_t c = (uint8_t)t->text[i];
        bool fine = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' || c == '.';
        if (!fine) lark_bad(r, t->at, STE_ERR_SYNTAX, "a capture name must be of letters, digits, '_', '-' and '.'");
    }
    if (t->n == 0) lark_bad(r, t->at, STE_ERR_SYNTAX, "a capture name must not be empty");
    const char *name = t->text;
    lark_next(r);
    return name;
}

/* What suffix= or stop= stands for; NULL for the empty string. */
static lark_node *end_value(lark_reader *r) {
    if (r->token.kind != TOKEN_TEXT && r->token.kind != TOKEN_REGEX && r->token.kind != TOKEN_TERMINAL)
        expected(r, "a string, a pattern or a terminal");
    lark_node *node = lark_expansions(r);
    return node->kind == LARK_TEXT && node->n == 0 ? NULL : node;
}

enum { LAZY, CAPTURE, STOP_CAPTURE, SUFFIX, STOP, MAX_CHARS, MAX_TOKENS, TEMPERATURE, N_ATTRIBUTES };

static void read_attribute(lark_reader *r, lark_attributes *a, const char *rule, uint32_t *seen, bool parametric) {
    static const char *const known[N_ATTRIBUTES] = {"lazy", "capture", "stop_capture", "suffix", "stop", "max_chars", "max_tokens", "temperature"};
    uint32_t which = 0;
    size_t at = r->token.at;
    while (which < N_ATTRIBUTES && !lark_is_word(&r->token, known[which])) which++;
    if (which == N_ATTRIBUTES) lark_bad(r, at, STE_ERR_UNSUPPORTED, "this attribute is not supported");
    if (parametric && which != CAPTURE) lark_bad(r, at, STE_ERR_UNSUPPORTED, "%s is not supported for a rule with a parameter", known[which]);
    if (*seen >> which & 1) lark_bad(r, at, STE_ERR_SYNTAX, "%s stands here twice", known[which]);
    *seen |= 1u << which;
    if ((*seen >> SUFFIX & 1) && (*seen >> STOP & 1)) lark_bad(r, at, STE_ERR_SYNTAX, "suffix and stop exclude each other");
    lark_next(r);
    if (which == LAZY) {
        a->lazy = true;
        return;
    }
    if (which == CAPTURE && !lark_is(r, '=')) {
        a->capture = rule;
        return;
    }
    lark_expect(r, '=', "after the attribute");
    size_t value = r->token.at;
    if (which == CAPTURE) {
        a->capture = capture_name(r);
    } else if (which == STOP_CAPTURE) {
        a->stop_capture = capture_name(r);
    } else if (which == SUFFIX || which == STOP) {
        a->end = end_value(r);
    } else {
        if (r->token.kind != TOKEN_NUMBER) expected(r, "a number");
        uint64_t n = r->token.number;
        lark_next(r);
        if (which == TEMPERATURE) {
            if (lark_take(r, '.') && r->token.kind == TOKEN_NUMBER) lark_next(r);
            builder_note(r->b, "rule %.60s: temperature does not change what is allowed and is ignored", rule);
            return;
        }
        if (n == 0 || n >= REPEAT_INFINITE) lark_bad(r, value, STE_ERR_SYNTAX, "%s must be positive", known[which]);
        if (which == MAX_TOKENS) lark_bad(r, at, STE_ERR_UNSUPPORTED, "max_tokens is not supported: tokens do not end where rules end");
        a->max_chars = (uint32_t)n;
    }
}

lark_attributes lark_read_attributes(lark_reader *r, const char *name, bool parametric) {
    lark_attributes a = {.max_chars = REPEAT_INFINITE};
    uint32_t seen = 0;
    size_t at = r->token.at;
    r->nesting++;
    do {
        lark_next(r);
        read_attribute(r, &a, name, &seen, parametric);
    } while (lark_is(r, ','));
    r->nesting--;
    lark_expect(r, ']', "after the attributes");
    if (a.stop_capture != NULL && a.end == NULL) lark_bad(r, at, STE_ERR_SYNTAX, "stop_capture needs a stop or a suffix that is not empty");
    return a;
}

/* ---- directives ---- */

static void import_one(lark_reader *r, lark_scope *s, const lark_token *what, const lark_token *as) {
    const char *text = lark_common(what->text, what->n);
    if (text == NULL) lark_bad(r, what->at, STE_ERR_SYNTAX, "the library \"common\" has no terminal of this name");
    lark_definition *d = lark_define(r, s, as->text, as->n, as->at);
    d->terminal = true;
    d->body = lark_node_new(r, LARK_REGEX, what->at);
    d->body->u.regex = (regex_part){.text = text, .n = strlen(text), .around = &r->source, .at = what->at};
}

static lark_token take_terminal(lark_reader *r) {
    lark_token t = r->token;
    if (t.kind != TOKEN_TERMINAL) expected(r, "the name of a terminal");
    lark_next(r);
    return t;
}

/* common.NAME, common.NAME -> OTHER, common (NAME, ...) */
static void read_import(lark_reader *r, lark_scope *s) {
    if (r->token.kind != TOKEN_RULE || !lark_is_word(&r->token, "common"))
        lark_bad(r, r->token.at, STE_ERR_UNSUPPORTED, "only the library \"common\" can be imported");
    lark_next(r);
    if (lark_is(r, '(')) {
        r->nesting++;
        do {
            lark_next(r);
            lark_token name = take_terminal(r);
            import_one(r, s, &name, &name);
        } while (lark_is(r, ','));
        r->nesting--;
        lark_expect(r, ')', "after the imported names");
        return;
    }
    lark_expect(r, '.', "after the library");
    lark_token what = take_terminal(r), as = what;
    if (r->token.kind == TOKEN_ARROW) {
        lark_next(r);
        as = take_terminal(r);
    }
    import_one(r, s, &what, &as);
}

static bool option(const lark_reader *r, size_t at, const json *value) {
    if (!json_is_bool(value)) lark_bad(r, at, STE_ERR_SYNTAX, "option %.60s must be true or false", value->key);
    return value->kind == JSON_TRUE;
}

static void read_options(lark_reader *r, lark_scope *s, size_t at) {
    const json *options = lark_json(r);
    if (options->kind != JSON_OBJECT) lark_bad(r, at, STE_ERR_SYNTAX, "the options must be an object");
    for (uint32_t i = 0; i < options->n; i++) {
        const json *value = &options->u.items[i];
        if (strcmp(value->key, "allow_initial_skip") == 0) {
            s->initial_skip = option(r, at, value);
        } else if (strcmp(value->key, "skip_repetition") == 0) {
            s->skip_once = json_is_text(value, "once");
            if (!s->skip_once && !json_is_text(value, "repeat")) lark_bad(r, at, STE_ERR_SYNTAX, "skip_repetition is \"once\" or \"repeat\"");
        } else if (strcmp(value->key, "no_forcing") == 0 || strcmp(value->key, "allow_invalid_utf8") == 0) {
            if (option(r, at, value)) lark_bad(r, at, STE_ERR_UNSUPPORTED, "option %.60s is not supported", value->key);
        } else {
            lark_bad(r, at, STE_ERR_SYNTAX, "unknown option %.60s", value->key);
        }
    }
}

void lark_directive(lark_reader *r, lark_scope *s) {
    lark_token t = r->token;
    if (lark_is_word(&t, "%import")) {
        lark_next(r);
        read_import(r, s);
    } else if (lark_is_word(&t, "%ignore")) {
        lark_next(r);
        lark_node *node = lark_expansions(r);
        if (node->kind == LARK_SEQUENCE && node->n == 0) expected(r, "a terminal, a string or a pattern");
        vec_push(&r->b->w->mem, &s->ignored, node);
    } else if (lark_is_word(&t, "%grammar_options") || lark_is_word(&t, "%llguidance")) {
        read_options(r, s, t.at);
    } else if (lark_is_word(&t, "%declare")) {
        lark_next(r);
        do {
            lark_token name = take_terminal(r);
            lark_definition *d = lark_define(r, s, name.text, name.n, name.at);
            d->terminal = d->declared = true;
        } while (r->token.kind == TOKEN_TERMINAL);
    } else {
        lark_bad(r, t.at, STE_ERR_UNSUPPORTED, "directive %.*s is not supported here", t.n < 40 ? (int)t.n : 40, t.text);
    }
}

/* ---- %regex { "substring_...": ... } ---- */

static bool in_word(uint32_t cp) {
    return (cp >= '0' && cp <= '9') || ((cp | 0x20) >= 'a' && (cp | 0x20) <= 'z') || cp == '_' || cp > 0x7F;
}

/* A chunk for each character, or (words) for each run of word characters and each other character. */
static void cut_text(lark_reader *r, lark_node *node, const json *text, bool words) {
    arena *mem = &r->b->w->mem;
    VEC(chunk) chunks = {0};
    bool inside = false;
    for (size_t at = 0; at < text->n;) {
        uint32_t cp = 0;
        uint32_t k = utf8_decode((const uint8_t *)text->u.text + at, text->n - at, &cp);
        if (k == 0) k = 1;
        bool word = words && in_word(cp);
        if (word && inside)
            chunks.at[chunks.n - 1].n += k;
        else
            vec_push(mem, &chunks, (chunk){text->u.text + at, k});
        inside = word;
        at += k;
    }
    node->u.chunks = chunks.at;
    node->n = chunks.n;
}

lark_node *lark_structured_regex(lark_reader *r) {
    size_t at = r->token.at;
    lark_node *node = lark_node_new(r, LARK_SUBSTRING, at);
    const json *fields = lark_json(r);
    if (fields->kind != JSON_OBJECT || fields->n != 1)
        lark_bad(r, at, STE_ERR_SYNTAX, "%%regex needs an object with one of substring_chunks, substring_chars, substring_words");
    const json *value = &fields->u.items[0];
    bool words = strcmp(value->key, "substring_words") == 0;
    if (words || strcmp(value->key, "substring_chars") == 0) {
        if (value->kind != JSON_STRING) lark_bad(r, at, STE_ERR_SYNTAX, "%s must be a string", value->key);
        cut_text(r, node, value, words);
        return node;
    }
    if (strcmp(value->key, "substring_chunks") != 0) lark_bad(r, at, STE_ERR_SYNTAX, "unknown field %.60s in %%regex", value->key);
    if (value->kind != JSON_ARRAY) lark_bad(r, at, STE_ERR_SYNTAX, "substring_chunks must be a list of strings");
    chunk *chunks = arena_alloc(&r->b->w->mem, (size_t)value->n + 1, sizeof *chunks);
    for (uint32_t i = 0; i < value->n; i++) {
        if (value->u.items[i].kind != JSON_STRING) lark_bad(r, at, STE_ERR_SYNTAX, "substring_chunks must be a list of strings");
        chunks[i] = (chunk){value->u.items[i].u.text, value->u.items[i].n};
    }
    node->u.chunks = chunks;
    node->n = value->n;
    return node;
}

/* ---- <token>, <[1,3-8]>, <[^1]>, <[*]> ---- */

typedef struct id_reader {
    lark_reader *r;
    size_t start, at, end; /* inside the brackets */
} id_reader;

static uint32_t read_id(id_reader *i) {
    uint64_t v = 0;
    size_t from = i->at;
    for (; i->at < i->end && i->r->s[i->at] >= '0' && i->r->s[i->at] <= '9'; i->at++)
        if (v < REPEAT_INFINITE) v = v * 10 + (uint64_t)(i->r->s[i->at] - '0');
    if (i->at == from) lark_bad(i->r, i->start, STE_ERR_SYNTAX, "expected token ids and ranges of ids");
    return v < REPEAT_INFINITE ? (uint32_t)v : REPEAT_INFINITE;
}

static void read_ids(id_reader *i, token_set *set) {
    do {
        uint32_t lo = read_id(i), hi = lo;
        if (i->at < i->end && i->r->s[i->at] == '-') {
            i->at++;
            hi = read_id(i);
        }
        if (hi < lo) lark_bad(i->r, i->start, STE_ERR_SYNTAX, "the ends of a range of tokens are out of order");
        if (!token_set_add_range(i->r->b, set, lo, hi)) lark_bad(i->r, i->start, STE_ERR_SYNTAX, "token %u is outside the vocabulary", hi);
    } while (i->at < i->end && i->r->s[i->at++] == ',');
    if (i->at != i->end) lark_bad(i->r, i->start, STE_ERR_SYNTAX, "expected token ids and ranges of ids");
}

lark_node *lark_special(lark_reader *r) {
    lark_token t = r->token;
    lark_node *node = lark_node_new(r, LARK_TOKENS, t.at);
    token_set *set = &node->u.tokens.set;
    *set = token_set_new(r->b);
    if (t.n >= 4 && t.text[1] == '[' && t.text[t.n - 2] == ']') {
        id_reader ids = {.r = r, .start = t.at, .at = t.at + 2, .end = t.end - 2};
        node->u.tokens.negated = ids.at < ids.end && r->s[ids.at] == '^';
        ids.at += node->u.tokens.negated;
        if (ids.end == ids.at + 1 && r->s[ids.at] == '*' && !node->u.tokens.negated)
            node->u.tokens.negated = true; /* any token: none is excluded */
        else
            read_ids(&ids, set);
    } else if (!token_set_add_text(r->b, set, t.text, t.n)) {
        lark_bad(r, t.at, STE_ERR_SYNTAX, "the vocabulary has no token %.*s", t.n < 80 ? (int)t.n : 80, t.text);
    }
    lark_next(r);
    return node;
}
