/* grow.c - vocabularies and grammars from a tape: small, odd on purpose, and mostly valid.
 *
 * Everything is made of a few characters, so that tokens, literals and classes
 * meet each other often. */
#include <string.h>

#include "small.h"

/* ---- vocabularies ---- */

/* Characters, and bytes of some that are more than one byte. */
static const char *const characters[] = {"a", "b", "\"", "c", "0", "1", "\\", "{", "}", "[", "]", ":", ",", "<", ">", "-",
                                         ".", " ", "\n", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\x7F"};
enum { N_CHARACTERS = sizeof characters / sizeof *characters };
static const char letters[] = "truefalsn";                     /* of JSON's words */
static const char pieces[] = "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF"; /* bytes that are no character */

/* One of them, often one of the first few. */
static const char *draw_character(tape *t) {
    uint32_t c = tape_byte(t);
    return characters[c < 128 ? c % 3 : c % N_CHARACTERS];
}

symbol special_symbol(const small_vocab *v, uint32_t token) {
    uint32_t n = token_length(v, token), first = 0;
    while (!v->is_special[first] || token_length(v, first) != n || memcmp(token_text(v, first), token_text(v, token), n) != 0)
        first++;
    return (symbol)(TOKEN + first);
}

uint32_t literal_read(const small_vocab *v, const uint8_t *bytes, uint32_t n, symbol *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t best = 0, length = 0;
        for (uint32_t t = 0; t < v->n; t++) {
            uint32_t k = token_length(v, t);
            if (!v->is_special[t] || k <= length || k > n - i || memcmp(token_text(v, t), bytes + i, k) != 0) continue;
            best = t;
            length = k;
        }
        out[count++] = length == 0 ? bytes[i] : special_symbol(v, best);
        i += length == 0 ? 1 : length;
    }
    return count;
}

static void add_token(small_vocab *v, const void *bytes, uint32_t n) {
    memcpy(v->bytes + v->offsets[v->n], bytes, n);
    v->offsets[v->n + 1] = v->offsets[v->n] + n;
    v->n++;
}

static void add_piece(tape *t, small_vocab *v) {
    uint8_t bytes[MOST_TOKEN_BYTES];
    uint32_t n = 0, form = tape_below(t, 8), count = tape_below(t, 5);
    if (form == 7) { /* one character many times */
        const char *c = draw_character(t);
        uint32_t k = (uint32_t)strlen(c);
        for (uint32_t i = 28 + count * 3; i > 0 && n + k <= MOST_TOKEN_BYTES; i--, n += k) memcpy(bytes + n, c, k);
    } else if (form == 6 && v->n > 0) { /* as another */
        uint32_t same = tape_below(t, v->n);
        n = token_length(v, same);
        memcpy(bytes, token_text(v, same), n);
    } else if (form == 5) { /* any bytes */
        for (; n < count; n++) bytes[n] = (uint8_t)tape_byte(t);
    } else if (form == 4) {
        for (; n < count; n++) bytes[n] = (uint8_t)pieces[tape_below(t, sizeof pieces - 1)];
    } else {
        for (uint32_t i = 0; i < count; i++) {
            const char *c = draw_character(t);
            uint32_t k = (uint32_t)strlen(c);
            memcpy(bytes + n, c, k);
            n += k;
        }
    }
    add_token(v, bytes, n);
}

void vocab_grow(tape *t, small_vocab *v) {
    memset(v, 0, sizeof *v);
    uint32_t style = tape_byte(t), extra = tape_below(t, 24);
    if (style % 4 != 3) /* all characters, byte by byte */
        for (uint32_t c = 0; c < N_CHARACTERS; c++)
            if (characters[c][1] == '\0') add_token(v, characters[c], 1);
    if (style % 4 == 0)
        for (uint32_t i = 0; i < sizeof letters - 1; i++) add_token(v, letters + i, 1);
    if (style % 4 != 2)
        for (uint32_t i = 0; i < sizeof pieces - 1; i++) add_token(v, pieces + i, 1);
    for (uint32_t i = 0; i < extra; i++) add_piece(t, v);
    static const char *const names[] = {"<|a|>", "</s>", "<|a|>b", "ab", "<", ""};
    uint32_t named = 1 + tape_below(t, 4);
    for (uint32_t i = 0; i < named; i++) {
        const char *name = names[i < 2 ? i : tape_below(t, 6)];
        v->is_special[v->n] = true;
        v->special[v->n_special++] = v->n;
        add_token(v, name, (uint32_t)strlen(name));
    }
    static const uint32_t padding[] = {0, 1, 31, 300, 900};
    v->size = v->n + padding[tape_below(t, 5)];
    v->n_stop = tape_below(t, MOST_STOPS);
    for (uint32_t i = 0; i < v->n_stop; i++) v->stop[i] = i == 0 ? v->n - 1 : tape_below(t, v->size < 256 ? v->size : 256);
    if (v->n_stop == 0) v->stop[v->n_stop++] = v->n - 1;
}

/* ---- nodes ---- */

typedef struct grower {
    tape *t;
    small_grammar *g;
    spelling how;
    uint32_t ends[MOST_ENDS], n_ends; /* of the nearest tag around */
} grower;

static uint32_t add_node(grower *w, node_kind kind) {
    small_grammar *g = w->g;
    g->nodes[g->n] = (node){.kind = kind};
    return g->n++;
}

static uint32_t grow_literal(grower *w, uint32_t least) {
    uint32_t number = add_node(w, NODE_LITERAL), count = least + tape_below(w->t, 4);
    node *e = &w->g->nodes[number];
    for (uint32_t i = 0; i < count && e->n + 8 <= MOST_LITERAL; i++) {
        uint32_t form = tape_byte(w->t);
        if (w->how == SPELL_EBNF && form >= 0xF0) {
            uint32_t cp = tape_byte(w->t);
            if (cp >= 0x80) e->bytes[e->n++] = (uint8_t)(0xC0 | cp >> 6);
            e->bytes[e->n++] = (uint8_t)(cp < 0x80 ? cp : 0x80 | (cp & 0x3F));
            continue;
        }
        bool special = w->how != SPELL_REGEX && form >= 0xD8;
        const char *s = special ? (form % 3 == 0 ? "</s>" : "<|a|>") : draw_character(w->t);
        memcpy(e->bytes + e->n, s, strlen(s));
        e->n += (uint32_t)strlen(s);
    }
    if (w->how == SPELL_REGEX)
        for (; e->n_symbols < e->n; e->n_symbols++) e->symbols[e->n_symbols] = e->bytes[e->n_symbols];
    else
        e->n_symbols = literal_read(w->g->vocab, e->bytes, e->n, e->symbols);
    return number;
}

static uint32_t grow_class(grower *w) {
    static const uint32_t bounds[] = {'"', 'a', 0, ' ', '#', '0', '1', '[', ']', 'b', 'c', 'z', 0x7F, 0x80, 0xE9, 0x7FF, 0x800,
                                      0x20AC, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF};
    enum { N_BOUNDS = sizeof bounds / sizeof *bounds };
    uint32_t number = add_node(w, NODE_CLASS), shape = tape_byte(w->t);
    node *e = &w->g->nodes[number];
    e->negated = shape % 2 == 1;
    e->n = 1 + shape / 2 % MOST_RANGES;
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t lo = bounds[tape_below(w->t, N_BOUNDS)], hi = shape < 128 ? lo : bounds[tape_below(w->t, N_BOUNDS)];
        e->ranges[k].lo = lo < hi ? lo : hi;
        e->ranges[k].hi = lo < hi ? hi : lo;
    }
    return number;
}

static uint32_t grow(grower *w, uint32_t depth);

static uint32_t grow_parts(grower *w, node_kind kind, uint32_t depth) {
    uint32_t parts[MOST_PARTS], n = 1 + tape_below(w->t, 3);
    for (uint32_t k = 0; k < n; k++) parts[k] = grow(w, depth);
    uint32_t number = add_node(w, kind);
    w->g->nodes[number].n = n;
    memcpy(w->g->nodes[number].parts, parts, n * sizeof *parts);
    return number;
}

static uint32_t grow_repeat(grower *w, uint32_t depth) {
    static const uint32_t counts[][2] = {{0, WITHOUT_END}, {1, WITHOUT_END}, {0, 1}, {2, 3}, {0, 2}, {3, WITHOUT_END}, {4, 90}, {20, 70},
                                         {1, 3}, {0, 40}, {0, 0}, {5, 200}, {0, 33}, {30, 36}, {33, 33}, {30, WITHOUT_END}};
    uint32_t shape = tape_byte(w->t), body = shape % 2 == 0 ? grow_class(w) : grow(w, depth);
    uint32_t of = shape / 2 % (sizeof counts / sizeof *counts), number = add_node(w, NODE_REPEAT);
    node *e = &w->g->nodes[number];
    e->parts[0] = body;
    e->n = 1;
    e->min = counts[of][0];
    e->max = counts[of][1];
    return number;
}

/* ---- parts of structural tags ---- */

static void inherit(const grower *w, node *e) {
    for (uint32_t k = 0; k < w->n_ends && e->n_ends < MOST_ENDS; k++, e->inherited++) e->ends[e->n_ends++] = w->ends[k];
}

static uint32_t grow_text(grower *w) {
    uint32_t own = tape_below(w->t, 3), ends[3];
    for (uint32_t k = 0; k < own; k++) ends[k] = grow_literal(w, 1);
    uint32_t number = add_node(w, NODE_TEXT);
    node *e = &w->g->nodes[number];
    memcpy(e->ends, ends, own * sizeof *ends);
    e->n_ends = own;
    inherit(w, e);
    return number;
}

/* begin: a literal that is there already, or WITHOUT_END for a new one. */
static uint32_t grow_tag(grower *w, uint32_t begin, uint32_t depth) {
    if (begin == WITHOUT_END) begin = grow_literal(w, 0);
    uint32_t n = 1 + tape_below(w->t, 2), ends[2];
    for (uint32_t k = 0; k < n; k++) ends[k] = grow_literal(w, 1);
    uint32_t end = add_node(w, NODE_CHOICE);
    w->g->nodes[end].n = n;
    memcpy(w->g->nodes[end].parts, ends, n * sizeof *ends);
    grower inner = *w;
    inner.n_ends = n;
    memcpy(inner.ends, ends, n * sizeof *ends);
    uint32_t content = grow(&inner, depth), number = add_node(w, NODE_TAG);
    node *e = &w->g->nodes[number];
    e->n = 3;
    e->parts[0] = begin;
    e->parts[1] = content;
    e->parts[2] = end;
    return number;
}

/* A literal that begins with another. */
static uint32_t grow_longer(grower *w, uint32_t literal) {
    uint32_t number = grow_literal(w, 0);
    node *e = &w->g->nodes[number];
    const node *from = &w->g->nodes[literal];
    if (from->n + e->n > MOST_LITERAL) e->n = 0;
    memmove(e->bytes + from->n, e->bytes, e->n);
    memcpy(e->bytes, from->bytes, from->n);
    e->n += from->n;
    e->n_symbols = literal_read(w->g->vocab, e->bytes, e->n, e->symbols);
    return number;
}

static uint32_t grow_triggered(grower *w, uint32_t depth) {
    uint32_t shape = tape_byte(w->t), n_triggers = 1 + shape % 2, n = 1 + shape / 2 % 2, own = shape / 4 % 2;
    uint32_t triggers[2], tags[2], of[2], ends[1];
    for (uint32_t k = 0; k < n_triggers; k++) triggers[k] = grow_literal(w, 1);
    for (uint32_t k = 0; k < n; k++) {
        of[k] = tape_below(w->t, n_triggers);
        tags[k] = grow_tag(w, grow_longer(w, triggers[of[k]]), depth);
    }
    for (uint32_t k = 0; k < own; k++) ends[k] = grow_literal(w, 1);
    uint32_t number = add_node(w, NODE_TRIGGERED);
    node *e = &w->g->nodes[number];
    e->n = n;
    e->n_triggers = n_triggers;
    memcpy(e->triggers, triggers, n_triggers * sizeof *triggers);
    memcpy(e->parts, tags, n * sizeof *tags);
    memcpy(e->of, of, n * sizeof *of);
    memcpy(e->ends, ends, own * sizeof *ends);
    e->n_ends = own;
    e->at_least_one = shape / 8 % 2 == 1;
    e->stop_after_first = shape / 16 % 2 == 1;
    inherit(w, e);
    return number;
}

/* ---- grammars ---- */

/* A node and what is below it, at most `depth` levels; there is always room for the smallest one. */
static uint32_t grow(grower *w, uint32_t depth) {
    uint32_t kind = tape_byte(w->t);
    if (depth == 0 || w->g->n > MOST_NODES * 3 / 8) return kind % 2 == 0 ? grow_literal(w, 0) : grow_class(w);
    switch (kind % 8) {
    case 0:
        return grow_literal(w, 0);
    case 1:
        return grow_class(w);
    case 2:
    case 3:
        return grow_parts(w, NODE_SEQUENCE, depth - 1);
    case 4:
        return grow_parts(w, NODE_CHOICE, depth - 1);
    case 5:
        return grow_repeat(w, depth - 1);
    default:
        break;
    }
    if (w->how == SPELL_EBNF) {
        uint32_t number = add_node(w, NODE_RULE);
        w->g->nodes[number].min = tape_below(w->t, w->g->n_rules);
        return number;
    }
    if (w->how != SPELL_TAG) return grow_repeat(w, depth - 1);
    if (kind % 8 == 6) return kind % 16 < 8 ? grow_text(w) : grow_tag(w, WITHOUT_END, depth - 1);
    return grow_triggered(w, depth - 1);
}

static bool is_productive(const small_grammar *g, const node *e) {
    bool all = true, any = false;
    switch (e->kind) {
    case NODE_LITERAL:
    case NODE_TEXT:
        return true;
    case NODE_CLASS:
        return class_matches(e);
    case NODE_REPEAT:
        return e->min == 0 || g->nodes[e->parts[0]].productive;
    case NODE_RULE:
        return g->nodes[g->rules[e->min]].productive;
    case NODE_SEQUENCE:
    case NODE_TAG:
    case NODE_CHOICE:
    case NODE_TRIGGERED:
        break;
    }
    for (uint32_t k = 0; k < e->n; k++) {
        any = any || g->nodes[e->parts[k]].productive;
        all = all && g->nodes[e->parts[k]].productive;
    }
    if (e->kind == NODE_TRIGGERED) return any || !e->at_least_one;
    return e->kind == NODE_CHOICE ? any : all;
}

static void find_productive(small_grammar *g) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < g->n; i++) {
            bool yes = is_productive(g, &g->nodes[i]);
            changed = changed || yes != g->nodes[i].productive;
            g->nodes[i].productive = yes;
        }
    }
}

void grammar_grow(tape *t, small_grammar *g, const small_vocab *v, spelling how) {
    g->vocab = v;
    g->n = g->n_rules = 0;
    grower w = {.t = t, .g = g, .how = how};
    if (how == SPELL_EBNF) {
        g->n_rules = 1 + tape_below(t, MOST_RULES);
        for (uint32_t r = 0; r < g->n_rules; r++) g->rules[r] = grow(&w, 3);
        g->root = g->rules[0];
    } else if (how == SPELL_CHOICE) {
        uint32_t n = 1 + tape_below(t, MOST_PARTS), parts[MOST_PARTS];
        for (uint32_t k = 0; k < n; k++) parts[k] = grow_literal(&w, 0);
        g->root = add_node(&w, NODE_CHOICE);
        g->nodes[g->root].n = n;
        memcpy(g->nodes[g->root].parts, parts, n * sizeof *parts);
    } else {
        g->root = grow(&w, 4);
    }
    find_productive(g);
}

void grammar_reroot(small_grammar *g, uint32_t rule) { g->root = g->rules[rule]; }
