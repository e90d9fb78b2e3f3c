/* schema_string.c - strings: patterns, formats, lengths and their negations as one automaton.
 *
 * Automata are over code points; json_spelled_automaton turns the last one into
 * JSON text.  Where nothing but lengths is said, a counting rule does it, so
 * that maxLength costs the same whatever it is.  The same holds for the usual
 * patterns that are a character class repeated. */
#include "format.h"
#include "fsm_product.h"
#include "json_text.h"
#include "schema_style.h"
#include "utf8.h"

#define METER_FROM 2048  /* states times characters: more of them are not written out */
#define MAX_COUNTED 20000 /* states that a length may add to a pattern */

/* ---- patterns and formats, remembered by their text ---- */

typedef struct schema_text {
    const char *text;
    uint32_t n;
    bool search;
    fsm *automaton;
    struct schema_text *next;
} schema_text;

/* An error in the pattern becomes one at the place of the pattern. */
static fsm *compile_pattern(schema_context *c, const json *at, const char *text, uint32_t n, bool search) {
    work *w = c->b->w;
    jmp_buf outer;
    memcpy(&outer, &w->out.env, sizeof outer);
    if (setjmp(w->out.env) == 0) {
        fsm *f = regex_text_automaton(c->b, text, n, search);
        memcpy(&w->out.env, &outer, sizeof outer);
        return f;
    }
    memcpy(&w->out.env, &outer, sizeof outer);
    json_pointer(at, w->out.error.path, sizeof w->out.error.path);
    w->out.error.offset = at->offset;
    if (w->out.error.code == STE_ERR_SYNTAX) w->out.error.code = STE_ERR_SCHEMA;
    longjmp(w->out.env, 1);
}

static fsm *text_automaton(schema_context *c, const json *at, const char *text, uint32_t n, bool search) {
    schema_text *t = c->texts;
    while (t != NULL && !(t->n == n && t->search == search && memcmp(t->text, text, n) == 0)) t = t->next;
    if (t == NULL) {
        fsm *f = compile_pattern(c, at, text, n, search);
        t = arena_alloc(&c->b->w->mem, 1, sizeof *t);
        *t = (schema_text){text, n, search, f, c->texts};
        c->texts = t;
    }
    return t->automaton;
}

static fsm *remembered(schema_context *c, const json *at, const char *text, uint32_t n, bool search) {
    void **slot = node_map_slot(c->b->w, &c->automata, at);
    if (*slot == NULL) {
        fsm *f = text_automaton(c, at, text, n, search);
        slot = node_map_slot(c->b->w, &c->automata, at);
        *slot = f == NULL ? (void *)c : (void *)f; /* the context stands for "no text" */
    }
    return *slot == (void *)c ? NULL : *slot;
}

/* A pattern is the text of a "pattern", or the key of a member of "patternProperties". */
fsm *schema_pattern(schema_context *c, const json *at) {
    bool pattern = at->kind == JSON_STRING && schema_key_is(at, "pattern");
    return remembered(c, at, pattern ? at->u.text : at->key, pattern ? at->n : at->key_n, true);
}

fsm *schema_format(schema_context *c, const json *at) {
    const format *known = format_find(at->u.text);
    if (known == NULL) return NULL;
    if (format_is_nested(known->name)) return schema_flat_regex(c, at);
    if (known->make != NULL) {
        if (c->hostname == NULL) c->hostname = fsm_reduce(known->make(c->b->w)); /* the only one that is made */
        return c->hostname;
    }
    size_t n = 0;
    for (uint32_t i = 0; known->parts[i] != NULL; i++) n += strlen(known->parts[i]);
    char *text = arena_alloc(&c->b->w->mem, n + 1, 1), *to = text;
    for (uint32_t i = 0; known->parts[i] != NULL; i++) to = (char *)memcpy(to, known->parts[i], strlen(known->parts[i])) + strlen(known->parts[i]);
    return remembered(c, at, text, (uint32_t)n, false);
}

bool schema_accepts(const fsm *f, const char *text, uint32_t n) {
    if (f == NULL) return false;
    uint32_t s = f->start;
    for (uint32_t i = 0; i < n;) {
        uint32_t cp = 0, length = utf8_decode((const uint8_t *)text + i, n - i, &cp);
        assert(length != 0);
        i += length;
        uint32_t lo = f->first[s], hi = f->first[s + 1], end = hi;
        while (lo < hi) { /* the first edge that does not end before cp */
            uint32_t mid = lo + (hi - lo) / 2;
            if (f->edges.at[mid].hi < cp)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == end || f->edges.at[lo].lo > cp) return false;
        s = f->edges.at[lo].to;
    }
    return f->final.at[s];
}

/* ---- sets of strings ---- */

#define LAST_BEFORE_SURROGATES 0xD7FFu
#define FIRST_AFTER_SURROGATES 0xE000u

static void add_any_character(fsm *f, uint32_t from, uint32_t to) {
    fsm_edge_add(f, from, 0, LAST_BEFORE_SURROGATES, to);
    fsm_edge_add(f, from, FIRST_AFTER_SURROGATES, UTF8_MAX, to);
}

static fsm *any_text(work *w) {
    fsm *f = fsm_new(w);
    f->final.at[0] = 1;
    add_any_character(f, 0, 0);
    fsm_index(f);
    return f;
}

static fsm *texts_of_length(schema_context *c, const json *at, uint32_t min, uint32_t max) {
    uint32_t last = max == REPEAT_INFINITE ? min : max;
    if (last > MAX_COUNTED)
        json_escape(c->b->w, at, STE_ERR_LIMIT, "a length of %u beside a pattern or format needs too many states", last);
    fsm *f = fsm_new(c->b->w);
    for (uint32_t i = 0; i < last; i++) {
        f->final.at[i] = i >= min;
        add_any_character(f, i, fsm_state(f));
    }
    f->final.at[last] = 1;
    if (max == REPEAT_INFINITE) add_any_character(f, last, last);
    fsm_index(f);
    return f;
}

static fsm *listed_texts(schema_context *c, const json *values, uint32_t n) {
    fsm *f = fsm_new(c->b->w);
    for (uint32_t v = 0; v < n; v++) {
        if (values[v].kind != JSON_STRING) continue;
        uint32_t at = f->start;
        for (uint32_t i = 0; i < values[v].n;) {
            uint32_t cp = 0, next = fsm_state(f);
            i += utf8_decode((const uint8_t *)values[v].u.text + i, values[v].n - i, &cp);
            fsm_edge_add(f, at, cp, cp, next);
            at = next;
        }
        f->final.at[at] = 1;
    }
    return fsm_determinise_fully(f);
}

/* a may be NULL for "any text" (unlike in fsm_product.h): the result says whether something is left. */
typedef struct text_set {
    bool any;  /* all texts; f is not set */
    fsm *f;    /* NULL: no text */
} text_set;

static void keep_only(text_set *s, fsm *f) {
    s->f = s->any ? f : fsm_intersection(s->f, f);
    s->any = false;
}

static void keep_out(schema_context *c, text_set *s, text_set other) {
    fsm *from = s->any ? any_text(c->b->w) : s->f;
    s->f = other.any ? NULL : fsm_difference(from, other.f);
    s->any = false;
}

static void keep_patterns(schema_context *c, text_set *s, const json *node) {
    const json *pattern = json_get(node, "pattern"), *named = json_get(node, "format");
    if (pattern != NULL) keep_only(s, schema_pattern(c, pattern));
    if (named != NULL && format_find(named->u.text) != NULL) keep_only(s, schema_format(c, named));
}

/* The strings for which the own keywords of a node hold. */
static text_set own_texts(schema_context *c, const json *node) {
    text_set s = {.any = true};
    const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum");
    if ((schema_types(node) & TYPE_STRING) == 0) return (text_set){false, NULL};
    keep_patterns(c, &s, node);
    if (one != NULL) keep_only(&s, listed_texts(c, one, 1));
    if (list != NULL) keep_only(&s, listed_texts(c, list->u.items, list->n));
    uint32_t min, max;
    schema_branch branch = {.holds = &node, .n_holds = 1};
    if (!schema_counts(&branch, "minLength", "maxLength", &min, &max)) return (text_set){false, NULL};
    if (min > 0 || max != REPEAT_INFINITE) keep_only(&s, texts_of_length(c, node, min, max));
    return s;
}

/* All but lengths of what holds. */
static text_set branch_texts(schema_context *c, const schema_branch *branch) {
    text_set s = {.any = true};
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *node = branch->holds[i];
        const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum");
        keep_patterns(c, &s, node);
        if (one != NULL) keep_only(&s, listed_texts(c, one, 1));
        if (list != NULL) keep_only(&s, listed_texts(c, list->u.items, list->n));
    }
    c->negated++;
    for (uint32_t i = 0; i < branch->n_fails; i++) keep_out(c, &s, own_texts(c, branch->fails[i]));
    c->negated--;
    return s;
}

static void unite(fsm *into, const fsm *f) {
    uint32_t base = fsm_size(into);
    if (f == NULL) return;
    for (uint32_t s = 0; s < fsm_size(f); s++) into->final.at[fsm_state(into)] = f->final.at[s];
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        fsm_edge_add(into, base + g.from, g.lo, g.hi, base + g.to);
    }
    fsm_empty_add(into, into->start, base + f->start);
}

fsm *schema_strings(schema_context *c, const literal *literals, uint32_t n) {
    schema_branches branches = schema_expand(c, TYPE_STRING, literals, n, true);
    fsm *all = fsm_new(c->b->w);
    for (uint32_t i = 0; i < branches.n; i++) {
        text_set s = branch_texts(c, &branches.at[i]);
        uint32_t min, max;
        if (!schema_counts(&branches.at[i], "minLength", "maxLength", &min, &max)) continue;
        if (min > 0 || max != REPEAT_INFINITE) keep_only(&s, texts_of_length(c, literals[0].node, min, max));
        unite(all, s.any ? any_text(c->b->w) : s.f);
    }
    return fsm_reduce(fsm_determinise_fully(all));
}

fsm *schema_other_strings(schema_context *c, const json *values, uint32_t n) {
    return fsm_reduce(fsm_difference(any_text(c->b->w), listed_texts(c, values, n)));
}

/* ---- lowering ---- */

/* The lengths of the texts of a trimmed automaton; *max is REPEAT_INFINITE if it has a cycle. */
static void text_lengths(const fsm *f, uint32_t *min, uint32_t *max) {
    arena *mem = &f->w->mem;
    uint32_t n = fsm_size(f), *waits = arena_alloc(mem, n, sizeof *waits), *queue = arena_alloc(mem, n, sizeof *queue);
    uint32_t *longest = arena_alloc(mem, n, sizeof *longest), *shortest = arena_alloc(mem, n, sizeof *shortest);
    uint32_t head = 0, tail = 0;
    *min = REPEAT_INFINITE;
    *max = 0;
    shortest[f->start] = 1;
    queue[tail++] = f->start;
    while (head < tail) {
        uint32_t s = queue[head++];
        if (f->final.at[s] && *min == REPEAT_INFINITE) *min = shortest[s] - 1;
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            uint32_t to = f->edges.at[e].to;
            waits[to]++;
            if (shortest[to] != 0) continue;
            shortest[to] = shortest[s] + 1;
            queue[tail++] = to;
        }
    }
    uint32_t reached = tail;
    head = tail = 0;
    if (waits[f->start] == 0) queue[tail++] = f->start;
    while (head < tail) {
        uint32_t s = queue[head++];
        if (f->final.at[s] && longest[s] > *max) *max = longest[s];
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++) {
            uint32_t to = f->edges.at[e].to;
            if (longest[s] + 1 > longest[to]) longest[to] = longest[s] + 1;
            if (--waits[to] == 0) queue[tail++] = to;
        }
    }
    if (tail < reached) *max = REPEAT_INFINITE;
}

/* ---- a prefix, then a class repeated: counted without writing it out ---- */

#define MAX_PREFIXES 32 /* lengths of the prefix */

/* The state with a loop, if that is one state and loops only on itself; else the number of states. */
static uint32_t only_loop(const fsm *f) {
    uint32_t n = fsm_size(f), loop = n;
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (g.from != g.to) continue;
        if (loop != n && loop != g.from) return n;
        loop = g.from;
    }
    for (uint32_t e = loop == n ? 0 : f->first[loop]; loop != n && e < f->first[loop + 1]; e++)
        if (f->edges.at[e].to != loop) return n;
    return loop;
}

/* The texts that lead to the loop for the first time, or those that never do. */
static fsm *without_loop(const fsm *f, uint32_t loop, bool to_loop) {
    fsm *out = fsm_new(f->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(out);
    out->start = f->start;
    for (uint32_t s = 0; s < fsm_size(f); s++) out->final.at[s] = to_loop ? s == loop : f->final.at[s] && s != loop;
    for (uint32_t e = 0; e < f->edges.n; e++) {
        fsm_edge g = f->edges.at[e];
        if (g.from != loop) fsm_edge_add(out, g.from, g.lo, g.hi, g.to);
    }
    fsm_index(out);
    return fsm_reduce(out);
}

static expr *loop_class(schema_context *c, const fsm *f, uint32_t loop) {
    fsm *one = fsm_new(c->b->w);
    uint32_t end = fsm_state(one);
    one->final.at[end] = 1;
    for (uint32_t e = f->first[loop]; e < f->first[loop + 1]; e++) fsm_edge_add(one, 0, f->edges.at[e].lo, f->edges.at[e].hi, end);
    fsm_index(one);
    return expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, json_spelled_automaton(c->b, one))));
}

/* NULL if the automaton has another form. */
static expr *counted_tail(schema_context *c, const json *at, const fsm *f, uint32_t min, uint32_t max) {
    builder *b = c->b;
    uint32_t loop = only_loop(f), shortest, longest;
    if (loop == fsm_size(f) || !f->final.at[loop]) return NULL;
    fsm *prefix = without_loop(f, loop, true), *rest = without_loop(f, loop, false);
    text_lengths(prefix, &shortest, &longest);
    if (longest == REPEAT_INFINITE || longest - shortest > MAX_PREFIXES) return NULL;
    VEC(expr *) parts = {0};
    expr *one = loop_class(c, f, loop);
    for (uint32_t n = shortest; n <= longest && n <= max; n++) {
        fsm *of_length = fsm_intersection(prefix, texts_of_length(c, at, n, n));
        of_length = of_length == NULL ? NULL : fsm_reduce(of_length);
        if (of_length == NULL) continue;
        expr *more = expr_repeat(b, one, min > n ? min - n : 0, max == REPEAT_INFINITE ? max : max - n);
        vec_push(&b->w->mem, &parts, expr_pair(b, expr_fsm(b, json_spelled_automaton(b, of_length)), more));
    }
    if (rest != NULL) { /* finitely many texts */
        text_lengths(rest, &shortest, &longest);
        rest = min > longest ? NULL : fsm_intersection(rest, texts_of_length(c, at, min, max < longest ? max : REPEAT_INFINITE));
        rest = rest == NULL ? NULL : fsm_reduce(rest);
    }
    if (rest != NULL) vec_push(&b->w->mem, &parts, expr_fsm(b, json_spelled_automaton(b, rest)));
    return expr_choice(b, parts.at, parts.n);
}

/* The texts of an automaton over code points, in the form at hand. */
static expr *written(schema_context *c, const json *place, const fsm *f) {
    return form_is_spelled(c->form) ? raw_texts(c, f) : json_quoted_without(c, place, json_spelled_automaton(c->b, f));
}

static expr *quoted(schema_context *c, expr *body) {
    expr *quote = expr_text(c->b, "\"");
    return expr_rule(c->b, rule_of(c->b, expr_sequence(c->b, (expr *[]){quote, body, quote}, 3)));
}

static expr *shared(schema_context *c, uint32_t *rule, const shared_rule *what) {
    if (*rule == 0) *rule = expr_shared(c->b, what, (int)c->b->escapes)->u.id + 1;
    return expr_rule(c->b, *rule - 1);
}

/* The only thing said about the string: it is a regular expression, perhaps not the empty one.  Those in
 * parentheses are the rule again. */
static expr *regular_expressions(schema_context *c, bool some) {
    builder *b = c->b;
    uint32_t *rule = &c->regex[some];
    if (*rule != 0) return expr_rule(b, *rule - 1);
    char *text = format_regex_pattern(&b->w->mem);
    fsm *f = regex_text_automaton(b, text, strlen(text), false);
    uint32_t nested = rule_new(b);
    for (uint32_t e = 0; e < f->edges.n; e++)
        if (f->edges.at[e].lo == FORMAT_NESTED) f->edges.at[e].lo = f->edges.at[e].hi = SYM_RULE + nested;
    rule_set(b, nested, expr_fsm(b, json_spelled_automaton(b, f)));
    expr *body = expr_rule(b, nested);
    if (some) { /* the same from a start that is not final */
        uint32_t start = fsm_state(f);
        for (uint32_t e = 0, n = f->edges.n; e < n; e++) {
            fsm_edge g = f->edges.at[e];
            if (g.from == f->start) fsm_edge_add(f, start, g.lo, g.hi, g.to);
        }
        f->start = start;
        fsm_index(f);
        body = expr_fsm(b, json_spelled_automaton(b, f));
    }
    expr *made = quoted(c, body);
    *rule = made->u.id + 1;
    return made;
}

static bool only_regex(schema_context *c, const schema_branch *branch, uint32_t min, uint32_t max) {
    bool found = false;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *node = branch->holds[i], *named = json_get(node, "format");
        if (json_get(node, "pattern") != NULL || schema_get(c, node, "const") != NULL || json_get(node, "enum") != NULL) return false;
        if (named == NULL || format_find(named->u.text) == NULL) continue;
        if (!format_is_nested(named->u.text)) return false;
        found = true;
    }
    return found && branch->n_fails == 0 && min <= 1 && max == REPEAT_INFINITE;
}

typedef struct shared_format {
    const format *what;
    expr *rule;
    struct shared_format *next;
} shared_format;

/* The only thing said about the string: its format.  NULL: something else is. */
static const json *only_format(schema_context *c, const schema_branch *branch) {
    const json *found = NULL;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *node = branch->holds[i], *named = json_get(node, "format");
        if (json_get(node, "pattern") != NULL || schema_get(c, node, "const") != NULL || json_get(node, "enum") != NULL) return NULL;
        if (named == NULL || format_find(named->u.text) == NULL) continue;
        if (found != NULL) return NULL;
        found = named;
    }
    return branch->n_fails == 0 ? found : NULL;
}

/* All grammars have the same rule for it. */
static expr *format_rule(schema_context *c, const json *at) {
    builder *b = c->b;
    const format *what = format_find(at->u.text);
    for (shared_format *f = c->formats; f != NULL; f = f->next)
        if (f->what == what) return f->rule;
    size_t n = strlen(what->name) + 1;
    char *name = arena_alloc(&b->w->mem, n + 1, 1);
    name[0] = SHARED;
    memcpy(name + 1, what->name, n);
    shared_format *f = arena_alloc(&b->w->mem, 1, sizeof *f);
    expr *known = expr_named(b, name, n, 0);
    if (known == NULL) {
        fsm *texts = fsm_reduce(schema_format(c, at));
        known = expr_share(b, name, n, 0, quoted(c, expr_fsm(b, json_spelled_automaton(b, texts))));
    }
    *f = (shared_format){what, known, c->formats};
    c->formats = f;
    return known;
}

/* At most so many characters of a large automaton, counted by the parser. */
static expr *measured(schema_context *c, const json *at, fsm *f, uint32_t min, uint32_t max) {
    uint32_t shortest, longest;
    text_lengths(f, &shortest, &longest);
    if (shortest < min) f = fsm_reduce(fsm_intersection(f, texts_of_length(c, at, min, REPEAT_INFINITE)));
    if (f != NULL) text_lengths(f, &shortest, &longest);
    if (f == NULL || shortest > max) return expr_never(c->b);
    expr *quote = expr_text(c->b, "\""), *text = expr_fsm(c->b, json_spelled_characters(c->b, f));
    return expr_metered(c->b, expr_sequence(c->b, (expr *[]){quote, text, quote}, 3), (meter){.most_chars = max + 2});
}

/* A negated node that says only one bound of the length is the opposite bound. */
static bool opposite_bound(schema_context *c, const json *node, uint32_t *min, uint32_t *max) {
    const json *low = json_get(node, "minLength"), *high = json_get(node, "maxLength"), *named = json_get(node, "format");
    uint32_t n;
    if ((low == NULL) == (high == NULL) || json_get(node, "pattern") != NULL || (named != NULL && format_find(named->u.text) != NULL) ||
        schema_get(c, node, "const") != NULL || json_get(node, "enum") != NULL)
        return false;
    json_count(low != NULL ? low : high, &n);
    if (low != NULL && n - 1 < *max) *max = n - 1; /* (0 is no bound: impossible, and n - 1 no bound either) */
    if (low != NULL && n == 0) *min = REPEAT_INFINITE;
    if (high != NULL && n >= *min) *min = n == REPEAT_INFINITE ? n : n + 1;
    return true;
}

static schema_branch without_opposites(schema_context *c, const schema_branch *branch, uint32_t *min, uint32_t *max) {
    schema_branch out = *branch;
    out.n_fails = 0;
    out.fails = arena_alloc(&c->b->w->mem, branch->n_fails + 1, sizeof *out.fails);
    for (uint32_t i = 0; i < branch->n_fails; i++)
        if (!opposite_bound(c, branch->fails[i], min, max)) out.fails[out.n_fails++] = branch->fails[i];
    return out;
}

#define LONGEST_LITERAL 2000 /* characters of a string with a pattern, as Python prints it */

/* As Python prints it. */
static expr *lower_literal(schema_context *c, const json *place, const schema_branch *branch, uint32_t min, uint32_t max) {
    bool any_length = min == 0 && max == REPEAT_INFINITE;
    if (only_regex(c, branch, min, max)) return expr_never(c->b);
    text_set s = branch_texts(c, branch);
    if (s.any && any_length) return literal_texts(c, NULL);
    if (s.any && c->excludes == NULL) return literal_lengths(c, min, max);
    if (!any_length && (max == REPEAT_INFINITE ? min : max) > LONGEST_LITERAL) return expr_never(c->b);
    if (!any_length) keep_only(&s, texts_of_length(c, place, min, max));
    return s.f == NULL ? expr_never(c->b) : literal_texts(c, fsm_reduce(s.f));
}

expr *lower_string(schema_context *c, const schema_branch *whole) {
    builder *b = c->b;
    uint32_t min, max, shortest, longest;
    if (!schema_counts(whole, "minLength", "maxLength", &min, &max)) return expr_never(b);
    schema_branch left = without_opposites(c, whole, &min, &max), *branch = &left;
    if (min > max || min == REPEAT_INFINITE) return expr_never(b);
    bool plain = !form_is_spelled(c->form) && c->excludes == NULL;
    const json *place = schema_place(c, whole);
    if (c->form == FORM_LITERAL) return lower_literal(c, place, branch, min, max);
    if (only_regex(c, branch, min, max) && !plain)
        json_escape(b->w, place, STE_ERR_UNSUPPORTED, "keyword \"format\": \"regex\" is not supported in this style or with excludes");
    if (plain && only_regex(c, branch, min, max)) return regular_expressions(c, min == 1);
    const json *only = plain && min == 0 && max == REPEAT_INFINITE ? only_format(c, branch) : NULL;
    if (only != NULL) return format_rule(c, only);
    text_set s = branch_texts(c, branch);
    if (s.any) {
        if (form_is_spelled(c->form)) return raw_text(c, min, max);
        if (min == 0 && max == REPEAT_INFINITE) return plain ? shared(c, &c->string, &json_string) : json_free_without(c, place);
        if (!plain) return written(c, place, texts_of_length(c, place, min, max));
        return quoted(c, expr_repeat(b, shared(c, &c->character, &json_character), min, max));
    }
    s.f = s.f == NULL ? NULL : fsm_reduce(s.f);
    if (s.f == NULL) return expr_never(b);
    if (min > 0 || max != REPEAT_INFINITE) {
        text_lengths(s.f, &shortest, &longest);
        if (shortest > max || longest < min) return expr_never(b);
        if (shortest < min || longest > max) {
            expr *counted = plain ? counted_tail(c, place, s.f, min, max) : NULL;
            if (counted != NULL) return quoted(c, counted);
            if (plain && longest > max && (uint64_t)fsm_size(s.f) * max > METER_FROM) return measured(c, place, s.f, min, max);
            arena_mark here = arena_here(&b->w->mem);
            fsm *fitting = fsm_reduce(fsm_intersection(s.f, texts_of_length(c, place, min, max)));
            if (fitting == NULL) return expr_never(b);
            s.f = fsm_keep(fitting, here);
        }
    }
    return written(c, place, s.f);
}
