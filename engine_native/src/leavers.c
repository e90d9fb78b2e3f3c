/* leavers.c - the tokens that stay on a loop of characters, and those that leave it.
 *
 * Which tokens are made of the loop's characters only is a few word-wide
 * operations on rows of the token index,
 *
 *     whole  AND NOT containing[b] for each ASCII byte b that is not on it,
 *
 * and settles all of them at once.  So are those that end within a character, if
 * everything beyond ASCII is on the loop.  A token that leaves the loop does so by its
 * first byte that is not on it, and what follows depends on that byte alone, not on the
 * characters before: the trie nodes at such bytes are listed by byte (*exits*), with the
 * tokens that end there.  A counted loop also wants to know how many characters came
 * before.  All of it is kept with the vocabulary, once per set of characters: every JSON
 * string loops on the same ones.
 *
 * Where each character may lead to another place (total.c) the walk is along the
 * paths to the exits; they are few but have many children that need no look, so
 * for the characters of JSON strings the paths alone are copied.
 *
 * Cost: a pass over the part of the token trie that leaves the loop, and a sort. */
#include <stdlib.h>

#include "utf8.h"
#include "vocab.h"

/* Past this many, loops are walked in the whole trie. */
#define MOST_LEAVERS 64

void json_characters(byteset *ascii) {
    memset(ascii, 0, sizeof *ascii);
    byteset_add_range(ascii, 0x20, '"' - 1);
    byteset_add_range(ascii, '"' + 1, '\\' - 1);
    byteset_add_range(ascii, '\\' + 1, 0x7F);
}

uint64_t leavers_classes(const byteset *ascii, bool utf8) {
    uint64_t classes = CLASS_NOT_WHOLE;
    for (uint32_t byte = 0; byte < 256; byte++)
        if (!(byte < 128 ? byteset_has(ascii, byte) : utf8)) classes |= byte_class(byte);
    return classes;
}

/* A list of the vocabulary's. */
typedef struct list {
    void *at;
    uint32_t n, cap;
} list;

static void *list_add(const ste_allocator *a, list *l, size_t size) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap == 0 ? 256 : l->cap * 2;
        void *grown = mem_new(a, cap, size);
        if (grown == NULL) return NULL;
        if (l->n != 0) memcpy(grown, l->at, l->n * size);
        mem_free(a, l->at, l->cap, size);
        l->at = grown;
        l->cap = cap;
    }
    return (char *)l->at + size * l->n++;
}

/* Its elements in as much memory as they need; the list is empty then.  NULL when out of memory. */
static void *list_take(const ste_allocator *a, list *l, size_t size) {
    void *out = mem_new(a, l->n, size);
    if (out != NULL && l->n != 0) memcpy(out, l->at, l->n * size);
    mem_free(a, l->at, l->cap, size);
    *l = (list){0};
    return out;
}

/* ---- exits ---- */

typedef struct found {
    departure what;
    uint32_t byte;
} found;

/* A place of the trie on the loop: how many characters came before, and what must follow in a character. */
typedef struct place {
    uint32_t end; /* of the subtree */
    uint32_t chars;
    uint8_t left, lo, hi;
} place;

typedef struct collector {
    const ste_vocab *v;
    const byteset *ascii;
    bool utf8;
    list cut, tokens, nodes; /* departure, found, found */
    place *path;
} collector;

static bool add_tokens(collector *c, uint32_t node, uint32_t byte, uint32_t chars, bool cut) {
    const trie *t = &c->v->ordinary;
    for (uint32_t token = t->nodes[node].token; token != TRIE_NO_TOKEN; token = t->next_same[token]) {
        departure what = {token, chars};
        void *slot = list_add(&c->v->allocator, cut ? &c->cut : &c->tokens, cut ? sizeof(departure) : sizeof(found));
        if (slot == NULL) return false;
        if (cut)
            *(departure *)slot = what;
        else
            *(found *)slot = (found){what, byte};
    }
    return true;
}

/* The place after a byte that is on the loop from `at`; false: it is not. */
static bool follow(const collector *c, const place *at, uint32_t byte, place *to) {
    *to = (place){.chars = at->chars};
    if (at->left != 0) {
        if (byte < at->lo || byte > at->hi) return false;
        to->left = at->left - 1;
    } else if (byte >= 0x80) {
        const utf8_form *form = c->utf8 ? utf8_form_of(byte) : NULL;
        if (form == NULL) return false;
        to->left = form->left;
        to->lo = form->lo;
        to->hi = form->hi;
        return true;
    } else if (!byteset_has(c->ascii, byte)) {
        return false;
    }
    to->lo = 0x80;
    to->hi = 0xBF;
    to->chars += to->left == 0;
    return true;
}

static bool collect(collector *c) {
    const trie_node *nodes = c->v->ordinary.nodes;
    uint64_t classes = leavers_classes(c->ascii, c->utf8);
    uint32_t depth = 0;
    c->path[0] = (place){.end = nodes[0].size};
    for (uint32_t i = 1;;) {
        while (i == c->path[depth].end && depth > 0) depth--;
        if (i == c->path[depth].end) return true;
        const place *at = &c->path[depth];
        uint32_t byte = nodes[i].byte, end = i + nodes[i].size;
        if ((c->v->index.classes[i] & classes) != 0) {
            place to;
            if (follow(c, at, byte, &to)) {
                if (to.left != 0 && !add_tokens(c, i, byte, to.chars, true)) return false;
                to.end = end;
                c->path[++depth] = to;
                i++;
                continue;
            }
            /* Without utf8 every byte beyond ASCII leaves; with it none does, it is no character. */
            if (at->left == 0 && at->chars != 0 && (byte < 0x80 || !c->utf8)) {
                if (!add_tokens(c, i, byte, at->chars, false)) return false;
                found *inner = nodes[i].size > 1 ? list_add(&c->v->allocator, &c->nodes, sizeof *inner) : NULL;
                if (nodes[i].size > 1 && inner == NULL) return false;
                if (inner != NULL) *inner = (found){{i, at->chars}, byte};
            }
        }
        i = end;
    }
}

static int by_chars(const void *a, const void *b) {
    const departure *x = a, *y = b;
    if (x->chars != y->chars) return x->chars < y->chars ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_byte(const void *a, const void *b) {
    const found *x = a, *y = b;
    return x->byte != y->byte ? (x->byte < y->byte ? -1 : 1) : by_chars(&x->what, &y->what);
}

static departure *bare(const ste_allocator *a, const list *l) {
    const found *from = l->at;
    departure *out = mem_new(a, l->n, sizeof *out);
    for (uint32_t i = 0; out != NULL && i < l->n; i++) out[i] = from[i].what;
    return out;
}

/* Sort what was collected, and find where each byte begins. */
static bool arrange(collector *c, leavers *l) {
    const ste_allocator *a = &c->v->allocator;
    const found *tokens = c->tokens.at, *nodes = c->nodes.at;
    if (c->cut.n != 0) qsort(c->cut.at, c->cut.n, sizeof(departure), by_chars);
    if (c->tokens.n != 0) qsort(c->tokens.at, c->tokens.n, sizeof *tokens, by_byte);
    if (c->nodes.n != 0) qsort(c->nodes.at, c->nodes.n, sizeof *nodes, by_byte);
    list exits = {0};
    uint32_t t = 0, k = 0;
    for (uint32_t byte = 0; byte <= 256; byte++) {
        bool any = (t < c->tokens.n && tokens[t].byte == byte) || (k < c->nodes.n && nodes[k].byte == byte);
        if (!any && byte < 256) continue;
        loop_exit *e = list_add(a, &exits, sizeof *e);
        if (e == NULL) break;
        *e = (loop_exit){byte, t, k};
        while (t < c->tokens.n && tokens[t].byte == byte) t++;
        while (k < c->nodes.n && nodes[k].byte == byte) k++;
    }
    l->n_exits = exits.n == 0 ? 0 : exits.n - 1;
    l->n_cut = c->cut.n;
    l->n_tokens = c->tokens.n;
    l->n_nodes = c->nodes.n;
    bool whole = exits.n != 0 && ((loop_exit *)exits.at)[l->n_exits].byte == 256;
    l->exits = list_take(a, &exits, sizeof *l->exits);
    l->cut = list_take(a, &c->cut, sizeof *l->cut);
    l->tokens = bare(a, &c->tokens);
    l->nodes = bare(a, &c->nodes);
    return whole && l->exits != NULL && l->cut != NULL && l->tokens != NULL && l->nodes != NULL;
}

static bool find_exits(const ste_vocab *v, leavers *l) {
    const ste_allocator *a = &v->allocator;
    size_t depth = (size_t)v->ordinary.max_length + 1;
    collector c = {.v = v, .ascii = &l->ascii, .utf8 = l->utf8, .path = mem_new(a, depth, sizeof *c.path)};
    bool fine = c.path != NULL && collect(&c) && arrange(&c, l);
    mem_free(a, c.path, depth, sizeof *c.path);
    mem_free(a, c.cut.at, c.cut.cap, sizeof(departure));
    mem_free(a, c.tokens.at, c.tokens.cap, sizeof(found));
    mem_free(a, c.nodes.at, c.nodes.cap, sizeof(found));
    return fine;
}

/* ---- paths: a node is there if its path stays on the loop until it and a leaver is at it or below ---- */

typedef struct copier {
    const ste_allocator *a;
    list paths;     /* leaver */
    uint32_t *open; /* node and place of each node of the path, in turn */
} copier;

static bool add(copier *c, uint32_t byte, uint32_t node) {
    leaver *l = list_add(c->a, &c->paths, sizeof *l);
    if (l != NULL) *l = (leaver){.size = 1, .byte = byte & 255, .node = node};
    return l != NULL;
}

/* The node at the end of the path is done: it stays if a leaver is at it or below. */
static void close(copier *c, const ste_vocab *v, uint32_t depth) {
    uint32_t node = c->open[2 * depth], at = c->open[2 * depth + 1], token = v->ordinary.nodes[node].token;
    bool cut = token != TRIE_NO_TOKEN && !bit_get(v->index.whole, token);
    if (c->paths.n == at + 1 && !cut)
        c->paths.n = at;
    else
        ((leaver *)c->paths.at)[at].size = (c->paths.n - at) & 0xFFFFFF;
}

static bool copy(copier *c, const ste_vocab *v, const byteset *ascii, bool utf8) {
    const trie_node *nodes = v->ordinary.nodes;
    const uint64_t *of = v->index.classes;
    uint64_t classes = leavers_classes(ascii, utf8);
    uint32_t depth = 0;
    for (uint32_t i = 1; i <= nodes[0].size; i++) {
        while (depth > 0 && i >= c->open[2 * depth - 2] + nodes[c->open[2 * depth - 2]].size) close(c, v, --depth);
        if (i == nodes[0].size) break;
        uint32_t byte = nodes[i].byte;
        bool on_loop = byte < 128 ? byteset_has(ascii, byte) : utf8;
        if ((of[i] & classes) != 0) {
            if (!add(c, byte, i)) return false;
            if (on_loop) {
                c->open[2 * depth] = i;
                c->open[2 * depth + 1] = c->paths.n - 1;
                depth++;
                continue;
            }
        }
        i += nodes[i].size - 1;
    }
    return true;
}

static bool copy_paths(const ste_vocab *v, leavers *l) {
    const ste_allocator *a = &v->allocator;
    size_t depth = (size_t)v->ordinary.max_length + 1;
    copier c = {.a = a, .open = mem_new(a, 2 * depth, sizeof *c.open)};
    if (c.open != NULL && copy(&c, v, &l->ascii, l->utf8)) {
        l->n_paths = c.paths.n;
        l->paths = list_take(a, &c.paths, sizeof *l->paths);
    }
    mem_free(a, c.open, 2 * depth, sizeof *c.open);
    mem_free(a, c.paths.at, c.paths.cap, sizeof *l->paths);
    return l->paths != NULL;
}

/* ---- the list of the vocabulary ---- */

static void staying(const ste_vocab *v, const byteset *ascii, bool utf8, uint32_t *words) {
    const token_index *x = &v->index;
    for (uint32_t i = 0; i < v->words; i++) words[i] = utf8 ? x->whole[i] : x->whole[i] & x->ascii[i];
    for (uint32_t byte = 0; byte < 128; byte++) {
        const uint32_t *containing = x->containing[byte];
        if (containing == NULL || byteset_has(ascii, byte)) continue;
        for (uint32_t i = 0; i < v->words; i++) words[i] &= ~containing[i];
    }
}

static void destroy(const ste_allocator *a, leavers *l, uint32_t words) {
    mem_free(a, l->staying, words, sizeof *l->staying);
    mem_free(a, l->cut, l->n_cut, sizeof *l->cut);
    mem_free(a, l->tokens, l->n_tokens, sizeof *l->tokens);
    mem_free(a, l->nodes, l->n_nodes, sizeof *l->nodes);
    mem_free(a, l->exits, (size_t)l->n_exits + 1, sizeof *l->exits);
    mem_free(a, l->paths, l->n_paths, sizeof *l->paths);
    mem_free(a, l, 1, sizeof *l);
}

static leavers *build(const ste_vocab *v, const byteset *ascii, bool utf8) {
    const ste_allocator *a = &v->allocator;
    leavers *l = mem_new(a, 1, sizeof *l);
    if (l == NULL) return NULL;
    l->ascii = *ascii;
    l->utf8 = utf8;
    l->staying = mem_new(a, v->words, sizeof *l->staying);
    byteset json;
    json_characters(&json);
    bool with_paths = utf8 && memcmp(&json, ascii, sizeof json) == 0;
    if (l->staying == NULL || !find_exits(v, l) || (with_paths && !copy_paths(v, l))) {
        destroy(a, l, v->words);
        return NULL;
    }
    staying(v, ascii, utf8, l->staying);
    return l;
}

static leavers *find(leavers *first, const byteset *ascii, bool utf8, uint32_t *count) {
    *count = 0;
    for (leavers *l = first; l != NULL; l = l->next, ++*count)
        if (l->utf8 == utf8 && memcmp(&l->ascii, ascii, sizeof *ascii) == 0) return l;
    return NULL;
}

const leavers *vocab_leavers(ste_vocab *v, const byteset *ascii, bool utf8) {
    uint32_t count;
    leavers *first = atomic_load_explicit(&v->leavers, memory_order_acquire), *l = find(first, ascii, utf8, &count);
    if (l != NULL || count >= MOST_LEAVERS) return l;
    l = build(v, ascii, utf8);
    if (l == NULL) return NULL;
    l->next = first;
    while (!atomic_compare_exchange_weak_explicit(&v->leavers, &l->next, l, memory_order_acq_rel, memory_order_acquire)) {
        leavers *other = find(l->next, ascii, utf8, &count);
        if (other == NULL) continue;
        destroy(&v->allocator, l, v->words); /* another thread was faster */
        return other;
    }
    return l;
}

void leavers_free(ste_vocab *v) {
    leavers *l = atomic_load_explicit(&v->leavers, memory_order_relaxed);
    while (l != NULL) {
        leavers *next = l->next;
        destroy(&v->allocator, l, v->words);
        l = next;
    }
}
