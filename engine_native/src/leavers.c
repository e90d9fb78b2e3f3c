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
 * characters before: the trie nodes at such a byte are listed (its *exit*) when it is
 * first asked for, with the tokens that end there.  A counted loop also wants to know
 * how many characters came before.  All of it is kept with the vocabulary, once per set
 * of characters: every JSON string loops on the same ones.
 *
 * Cost: per set of characters two operations per word and byte that is not in it, and a pass over the
 * trie's paths to cut tokens; per exit a pass over the paths to its byte. */
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

uint64_t classes_beside(const char_kind *of) {
    uint64_t classes = CLASS_NOT_WHOLE;
    for (uint32_t byte = 0; byte < 0x80; byte++)
        if (!byteset_has(&of->ascii, byte)) classes |= byte_class(byte);
    for (uint32_t byte = 0xC2; byte <= 0xF4 && of->beyond == BEYOND_NONE; byte++) classes |= byte_class(byte);
    for (uint32_t i = 0; i < CHAR_PARTLY && of->beyond == BEYOND_MOST; i++) classes |= byte_class(char_partly[i]);
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

/* One pass over the trie along the loop. */
typedef struct collector {
    const ste_vocab *v;
    const leavers *l;
    uint32_t byte;      /* of the exit; NO_BYTE: tokens that end within a character */
    list tokens, nodes; /* departures */
} collector;

#define NO_BYTE 256

static bool add_departure(const collector *c, list *to, uint32_t at, uint32_t chars) {
    departure *d = list_add(&c->v->allocator, to, sizeof *d);
    if (d != NULL) *d = (departure){at, chars};
    return d != NULL;
}

static bool add_tokens(collector *c, uint32_t node, uint32_t chars) {
    const trie *t = &c->v->ordinary;
    for (uint32_t token = t->nodes[node].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
        if (!add_departure(c, &c->tokens, token, chars)) return false;
    return true;
}

/* A place of the trie to which characters of the loop lead. */
typedef struct place {
    uint32_t end; /* of the subtree */
    uint32_t chars, phase;
} place;

static bool collect(collector *c, place *path) {
    const trie_node *nodes = c->v->ordinary.nodes;
    uint64_t classes = c->byte == NO_BYTE ? CLASS_NOT_WHOLE : byte_class(c->byte);
    uint32_t depth = 0;
    path[0] = (place){.end = nodes[0].size};
    for (uint32_t i = 1;;) {
        while (i == path[depth].end && depth > 0) depth--;
        if (i == path[depth].end) return true;
        const place *at = &path[depth];
        uint32_t byte = nodes[i].byte, end = i + nodes[i].size;
        uint32_t phase;
        if ((c->v->index.classes[i] & classes) == 0) {
            i = end;
        } else if ((phase = char_next(&c->l->on, at->phase, byte)) < CHAR_PHASES) {
            place to = {.end = end, .chars = at->chars + (phase == 0), .phase = phase};
            if (c->byte == NO_BYTE && phase != 0 && !add_tokens(c, i, to.chars)) return false;
            path[++depth] = to;
            i++;
        } else {
            if (byte == c->byte && at->phase == 0 && at->chars != 0) {
                if (!add_tokens(c, i, at->chars)) return false;
                if (nodes[i].size > 1 && !add_departure(c, &c->nodes, i, at->chars)) return false;
            }
            i = end;
        }
    }
}

static int by_chars(const void *a, const void *b) {
    const departure *x = a, *y = b;
    if (x->chars != y->chars) return x->chars < y->chars ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool collect_sorted(collector *c) {
    const ste_allocator *a = &c->v->allocator;
    size_t depth = (size_t)c->v->ordinary.max_length + 1;
    place *path = mem_new(a, depth, sizeof *path);
    bool fine = path != NULL && collect(c, path);
    mem_free(a, path, depth, sizeof *path);
    if (c->tokens.n != 0) qsort(c->tokens.at, c->tokens.n, sizeof(departure), by_chars);
    if (c->nodes.n != 0) qsort(c->nodes.at, c->nodes.n, sizeof(departure), by_chars);
    return fine;
}

static bool find_cut(const ste_vocab *v, leavers *l) {
    collector c = {.v = v, .l = l, .byte = NO_BYTE};
    bool fine = l->on.beyond == BEYOND_NONE || collect_sorted(&c);
    l->n_cut = fine ? c.tokens.n : 0;
    l->cut = fine ? list_take(&v->allocator, &c.tokens, sizeof *l->cut) : NULL;
    mem_free(&v->allocator, c.tokens.at, c.tokens.cap, sizeof(departure));
    return l->cut != NULL;
}

static size_t exit_size(const loop_exit *e) { return sizeof *e + ((size_t)e->n_tokens + e->n_nodes) * sizeof *e->at; }

const loop_exit *leavers_exit(const ste_vocab *v, const leavers *l, uint32_t byte) {
    const ste_allocator *a = &v->allocator;
    _Atomic(loop_exit *) *known = (_Atomic(loop_exit *) *)(uintptr_t)&l->exits[byte];
    loop_exit *e = atomic_load_explicit(known, memory_order_acquire), *other = NULL;
    if (e != NULL) return e;
    collector c = {.v = v, .l = l, .byte = byte};
    loop_exit size = {0};
    if (collect_sorted(&c)) {
        size = (loop_exit){c.tokens.n, c.nodes.n};
        e = mem_new(a, 1, exit_size(&size));
    }
    if (e != NULL) {
        *e = size;
        if (c.tokens.n != 0) memcpy(e->at, c.tokens.at, c.tokens.n * sizeof *e->at);
        if (c.nodes.n != 0) memcpy(e->at + c.tokens.n, c.nodes.at, c.nodes.n * sizeof *e->at);
        if (!atomic_compare_exchange_strong_explicit(known, &other, e, memory_order_acq_rel, memory_order_acquire)) {
            mem_free(a, e, 1, exit_size(e)); /* another thread was faster */
            e = other;
        }
    }
    mem_free(a, c.tokens.at, c.tokens.cap, sizeof(departure));
    mem_free(a, c.nodes.at, c.nodes.cap, sizeof(departure));
    return e;
}

/* ---- the list of the vocabulary ---- */

static void staying(const ste_vocab *v, const char_kind *on, uint32_t *words) {
    const token_index *x = &v->index;
    for (uint32_t i = 0; i < v->words; i++) words[i] = on->beyond == BEYOND_ALL ? x->whole[i] : x->whole[i] & x->ascii[i];
    for (uint32_t byte = 0; byte < 128; byte++) {
        const uint32_t *containing = x->containing[byte];
        if (containing == NULL || byteset_has(&on->ascii, byte)) continue;
        for (uint32_t i = 0; i < v->words; i++) words[i] &= ~containing[i];
    }
}

static void destroy(const ste_allocator *a, leavers *l, uint32_t words) {
    mem_free(a, l->staying, words, sizeof *l->staying);
    mem_free(a, l->cut, l->n_cut, sizeof *l->cut);
    for (int byte = 0; byte < 256; byte++) {
        loop_exit *e = atomic_load_explicit(&l->exits[byte], memory_order_relaxed);
        if (e != NULL) mem_free(a, e, 1, exit_size(e));
    }
    mem_free(a, l, 1, sizeof *l);
}

static leavers *build(const ste_vocab *v, const char_kind *on) {
    const ste_allocator *a = &v->allocator;
    leavers *l = mem_new(a, 1, sizeof *l);
    if (l == NULL) return NULL;
    l->on = *on;
    l->staying = mem_new(a, v->words, sizeof *l->staying);
    if (l->staying == NULL || !find_cut(v, l)) {
        destroy(a, l, v->words);
        return NULL;
    }
    staying(v, on, l->staying);
    return l;
}

static leavers *find(leavers *first, const char_kind *on, uint32_t *count) {
    *count = 0;
    for (leavers *l = first; l != NULL; l = l->next, ++*count)
        if (kinds_equal(&l->on, on)) return l;
    return NULL;
}

const leavers *vocab_leavers(ste_vocab *v, const char_kind *on) {
    uint32_t count;
    leavers *first = atomic_load_explicit(&v->leavers, memory_order_acquire), *l = find(first, on, &count);
    if (l != NULL || count >= MOST_LEAVERS) return l;
    l = build(v, on);
    if (l == NULL) return NULL;
    l->next = first;
    while (!atomic_compare_exchange_weak_explicit(&v->leavers, &l->next, l, memory_order_acq_rel, memory_order_acquire)) {
        leavers *other = find(l->next, on, &count);
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
