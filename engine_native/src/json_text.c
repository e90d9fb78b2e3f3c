/* json_text.c - see json_text.h. */
#include "json_text.h"

#include "utf8.h"

static const char short_from[] = "\"\\\b\f\n\r\t", short_to[] = "\"\\bfnrt";

const char *json_quote(builder *b, const char *s, size_t n, size_t *length) {
    static const char hex[] = "0123456789abcdef";
    char *out = arena_alloc(&b->w->mem, n + 1, 6);
    size_t k = 0;
    out[k++] = '"';
    for (size_t i = 0; i < n; i++) {
        const char *p = s[i] == 0 ? NULL : strchr(short_from, s[i]);
        if (p != NULL) {
            out[k++] = '\\';
            out[k++] = short_to[p - short_from];
        } else if ((uint8_t)s[i] < 0x20) {
            memcpy(out + k, "\\u00", 4);
            out[k + 4] = hex[(uint8_t)s[i] >> 4];
            out[k + 5] = hex[s[i] & 15];
            k += 6;
        } else {
            out[k++] = s[i];
        }
    }
    out[k++] = '"';
    *length = k;
    return out;
}

/* Raw characters: everything but controls, the quote and the backslash. */
static void add_raw(fsm *f, uint32_t from, uint32_t to) {
    fsm_utf8_add(f, from, 0x20, '"' - 1, to);
    fsm_utf8_add(f, from, '"' + 1, '\\' - 1, to);
    fsm_utf8_add(f, from, '\\' + 1, UTF8_MAX, to);
}

static void add_hex(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to) {
    if (lo <= 9) fsm_edge_add(f, from, '0' + lo, '0' + (hi < 9 ? hi : 9), to);
    if (hi >= 10) {
        uint32_t a = lo > 10 ? lo - 10 : 0;
        fsm_edge_add(f, from, 'a' + a, 'a' + hi - 10, to);
        fsm_edge_add(f, from, 'A' + a, 'A' + hi - 10, to);
    }
}

static uint32_t add_hex_run(fsm *f, uint32_t from, uint32_t digits) {
    for (; digits > 0; digits--) {
        uint32_t next = fsm_state(f);
        add_hex(f, from, 0, 15, next);
        from = next;
    }
    return from;
}

static void add_escapes(fsm *f, uint32_t from, uint32_t to) {
    uint32_t escape = fsm_state(f), u = fsm_state(f);
    fsm_edge_add(f, from, '\\', '\\', escape);
    for (const char *c = "\"\\/bfnrt"; *c != 0; c++) fsm_edge_add(f, escape, (uint8_t)*c, (uint8_t)*c, to);
    fsm_edge_add(f, escape, 'u', 'u', u);
    uint32_t plain = fsm_state(f), d = fsm_state(f);
    add_hex(f, u, 0, 12, plain);
    add_hex(f, u, 14, 15, plain);
    add_hex(f, u, 13, 13, d);
    fsm_empty_add(f, add_hex_run(f, plain, 3), to);
    uint32_t below = fsm_state(f), high = fsm_state(f);
    add_hex(f, d, 0, 7, below); /* D000 .. D7FF */
    fsm_empty_add(f, add_hex_run(f, below, 2), to);
    add_hex(f, d, 8, 11, high); /* D800 .. DBFF, then DC00 .. DFFF */
    uint32_t at = add_hex_run(f, high, 2);
    for (const char *c = "\\u"; *c != 0; c++) {
        uint32_t next = fsm_state(f);
        fsm_edge_add(f, at, (uint8_t)*c, (uint8_t)*c, next);
        at = next;
    }
    uint32_t low = fsm_state(f), low2 = fsm_state(f);
    add_hex(f, at, 13, 13, low);
    add_hex(f, low, 12, 15, low2);
    fsm_empty_add(f, add_hex_run(f, low2, 2), to);
}

fsm *json_char_automaton(work *w) {
    fsm *f = fsm_new(w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    add_raw(f, f->start, end);
    add_escapes(f, f->start, end);
    return f;
}

fsm *json_string_automaton(work *w) {
    fsm *f = fsm_new(w);
    uint32_t body = fsm_state(f), end = fsm_state(f);
    f->final.at[end] = 1;
    fsm_edge_add(f, f->start, '"', '"', body);
    add_raw(f, body, body);
    add_escapes(f, body, body);
    fsm_edge_add(f, body, '"', '"', end);
    return f;
}

static fsm *canonical_string_automaton(work *w) {
    fsm *f = fsm_new(w);
    uint32_t body = fsm_state(f), end = fsm_state(f), escape = fsm_state(f);
    f->final.at[end] = 1;
    fsm_edge_add(f, f->start, '"', '"', body);
    add_raw(f, body, body);
    fsm_edge_add(f, body, '"', '"', end);
    fsm_edge_add(f, body, '\\', '\\', escape);
    for (const char *c = short_to; *c != 0; c++) fsm_edge_add(f, escape, (uint8_t)*c, (uint8_t)*c, body);
    uint32_t at = escape;
    for (const char *c = "u00"; *c != 0; c++) {
        uint32_t next = fsm_state(f);
        fsm_edge_add(f, at, (uint8_t)*c, (uint8_t)*c, next);
        at = next;
    }
    uint32_t zero = fsm_state(f), one = fsm_state(f);
    fsm_edge_add(f, at, '0', '0', zero);
    fsm_edge_add(f, at, '1', '1', one);
    fsm_edge_add(f, zero, '0', '7', body); /* 08, 09, 0a, 0c, 0d have short escapes */
    fsm_edge_add(f, zero, 'b', 'b', body);
    fsm_edge_add(f, zero, 'e', 'f', body);
    fsm_edge_add(f, one, '0', '9', body);
    fsm_edge_add(f, one, 'a', 'f', body);
    return f;
}

/* The product of the canonical strings with the complement of a trie of the given ones. */
typedef struct other_product {
    fsm *in, *out;
    const char *const *quoted;
    const size_t *lengths;
    uint32_t n;
} other_product;

/* Given strings first .. last - 1 (sorted) share their first `depth` bytes and are still possible. */
typedef struct product_state {
    uint32_t state, first, last, depth, id;
} product_state;

fsm *json_other_string_automaton(work *w, const char *const *quoted, const size_t *lengths, uint32_t n) {
    fsm *in = fsm_determinise(canonical_string_automaton(w));
    if (n == 0) return in;
    /* Sort the spellings, so that those with a common prefix are neighbours. */
    uint32_t *order = arena_alloc(&w->mem, n, sizeof *order);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = i;
        for (; j > 0; j--) {
            const char *a = quoted[order[j - 1]], *b = quoted[i];
            size_t na = lengths[order[j - 1]], nb = lengths[i];
            int r = memcmp(a, b, na < nb ? na : nb);
            if (r < 0 || (r == 0 && na <= nb)) break;
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    fsm *out = fsm_new(w);
    VEC(product_state) queue = {0};
    uint32_t *off = arena_alloc(&w->mem, fsm_size(in), sizeof *off); /* (state, no given string possible) -> + 1 */
    vec_push(&w->mem, &queue, (product_state){in->start, 0, n, 0, 0});
    for (uint32_t q = 0; q < queue.n; q++) {
        product_state s = queue.at[q];
        /* Complete spellings end with their closing quote, where `in` is final. */
        bool given = s.first < s.last && lengths[order[s.first]] == s.depth;
        out->final.at[s.id] = in->final.at[s.state] && !given;
        for (uint32_t e = in->first[s.state]; e < in->first[s.state + 1]; e++) {
            fsm_edge g = in->edges.at[e];
            uint32_t byte = g.lo;
            for (uint32_t k = s.first; byte <= g.hi;) {
                /* The next given byte at or after `byte`, and the strings that have it. */
                while (k < s.last && (lengths[order[k]] == s.depth || (uint8_t)quoted[order[k]][s.depth] < byte)) k++;
                uint32_t given_byte = k < s.last ? (uint8_t)quoted[order[k]][s.depth] : UINT32_MAX;
                if (byte < given_byte) {
                    uint32_t hi = given_byte - 1 < g.hi ? given_byte - 1 : g.hi;
                    if (off[g.to] == 0) {
                        off[g.to] = fsm_state(out) + 1;
                        vec_push(&w->mem, &queue, (product_state){g.to, 0, 0, 0, off[g.to] - 1});
                    }
                    fsm_edge_add(out, s.id, byte, hi, off[g.to] - 1);
                    byte = hi + 1;
                    continue;
                }
                uint32_t end = k;
                while (end < s.last && (uint8_t)quoted[order[end]][s.depth] == given_byte) end++;
                uint32_t id = fsm_state(out);
                vec_push(&w->mem, &queue, (product_state){g.to, k, end, s.depth + 1, id});
                fsm_edge_add(out, s.id, byte, byte, id);
                byte++;
                k = end;
            }
        }
    }
    return out;
}

/* Indentation that a bounded line break may have. */
#define INDENT_SPACES 64
#define INDENT_TABS 16

expr *json_whitespace(builder *b, int whitespace) {
    if (whitespace == STE_WHITESPACE_NONE) return expr_empty(b);
    fsm *f = fsm_new(b->w);
    f->final.at[f->start] = 1;
    if (whitespace == STE_WHITESPACE_ANY) {
        for (const char *c = " \t\n\r"; *c != 0; c++) fsm_edge_add(f, f->start, (uint8_t)*c, (uint8_t)*c, f->start);
    } else {
        uint32_t space = fsm_state(f), line = fsm_state(f);
        f->final.at[space] = f->final.at[line] = 1;
        fsm_edge_add(f, f->start, ' ', ' ', space);
        fsm_edge_add(f, f->start, '\n', '\n', line);
        static const char kind[2] = {' ', '\t'};
        static const uint32_t limit[2] = {INDENT_SPACES, INDENT_TABS};
        for (int k = 0; k < 2; k++)
            for (uint32_t at = line, i = 0; i < limit[k]; i++) {
                uint32_t next = fsm_state(f);
                f->final.at[next] = 1;
                fsm_edge_add(f, at, (uint8_t)kind[k], (uint8_t)kind[k], next);
                at = next;
            }
    }
    return expr_rule(b, rule_of(b, expr_fsm(b, f)));
}
