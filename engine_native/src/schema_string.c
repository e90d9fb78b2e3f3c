/* schema_string.c - strings: patterns, formats, lengths and their negations as one automaton.
 *
 * Automata are over code points; json_spelled_automaton turns the last one into
 * JSON text.  Where nothing but lengths is said, a counting rule does it, so
 * that maxLength costs the same whatever it is.  The same holds for the usual
 * patterns that are a character class repeated. */
#include "format.h"
#include "fsm_product.h"
#include "json_text.h"
#include "schema.h"
#include "utf8.h"

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
    for (uint32_t i = 0; i < branch->n_fails; i++) keep_out(c, &s, own_texts(c, branch->fails[i]));
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

/* One character on an edge from s to `to`. */
static expr *characters(schema_context *c, const fsm *f, uint32_t s, uint32_t to) {
    fsm *one = fsm_new(c->b->w);
    uint32_t end = fsm_state(one);
    one->final.at[end] = 1;
    for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
        if (f->edges.at[e].to == to) fsm_edge_add(one, 0, f->edges.at[e].lo, f->edges.at[e].hi, end);
    fsm_index(one);
    return expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, json_spelled_automaton(c->b, one))));
}

/* A class, then a class repeated: counted without writing it out.  NULL if the automaton is no such. */
static expr *counted_classes(schema_context *c, const fsm *f, uint32_t min, uint32_t max) {
    builder *b = c->b;
    uint32_t n = fsm_size(f), loop = n - 1 - (n == 2 ? f->start : 0);
    if (n > 2 || !f->final.at[loop]) return NULL;
    for (uint32_t e = f->first[f->start]; e < f->first[f->start + 1]; e++)
        if (f->edges.at[e].to != loop) return NULL;
    for (uint32_t e = f->first[loop]; e < f->first[loop + 1]; e++)
        if (f->edges.at[e].to != loop) return NULL;
    if (n == 1) return expr_repeat(b, characters(c, f, loop, loop), min, max);
    if (max == 0) return f->final.at[f->start] ? expr_empty(b) : expr_never(b);
    expr *rest = f->first[loop] == f->first[loop + 1]
                     ? (min > 1 ? expr_never(b) : expr_empty(b))
                     : expr_repeat(b, characters(c, f, loop, loop), min > 1 ? min - 1 : 0,
                                   max == REPEAT_INFINITE ? max : max - 1);
    expr *some = expr_pair(b, characters(c, f, f->start, loop), rest);
    return f->final.at[f->start] && min == 0 ? expr_optional(b, some) : some;
}

static expr *quoted(schema_context *c, expr *body) {
    expr *quote = expr_text(c->b, "\"");
    return expr_rule(c->b, rule_of(c->b, expr_sequence(c->b, (expr *[]){quote, body, quote}, 3)));
}

static expr *shared(schema_context *c, uint32_t *rule, fsm *(*make)(work *w)) {
    if (*rule == 0) *rule = rule_of(c->b, expr_fsm(c->b, make(c->b->w))) + 1;
    return expr_rule(c->b, *rule - 1);
}

expr *lower_string(schema_context *c, const schema_branch *branch) {
    builder *b = c->b;
    uint32_t min, max, shortest, longest;
    if (!schema_counts(branch, "minLength", "maxLength", &min, &max)) return expr_never(b);
    text_set s = branch_texts(c, branch);
    if (s.any) {
        if (min == 0 && max == REPEAT_INFINITE) return shared(c, &c->string, json_string_automaton);
        return quoted(c, expr_repeat(b, shared(c, &c->character, json_char_automaton), min, max));
    }
    s.f = s.f == NULL ? NULL : fsm_reduce(s.f);
    if (s.f == NULL) return expr_never(b);
    if (min > 0 || max != REPEAT_INFINITE) {
        text_lengths(s.f, &shortest, &longest);
        if (shortest > max || longest < min) return expr_never(b);
        if (shortest < min || longest > max) {
            expr *counted = counted_classes(c, s.f, min, max);
            if (counted != NULL) return quoted(c, counted);
            s.f = fsm_reduce(fsm_intersection(s.f, texts_of_length(c, branch->holds[0], min, max)));
            if (s.f == NULL) return expr_never(b);
        }
    }
    return quoted(c, expr_fsm(b, json_spelled_automaton(b, s.f)));
}
