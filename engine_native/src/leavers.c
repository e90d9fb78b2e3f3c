/* leavers.c - the tokens that stay on a loop of characters, and those that leave it.
 *
 * Which tokens are made of the loop's characters only is a few word-wide
 * operations on rows of the token index,
 *
 *     whole  AND NOT containing[b] for each ASCII byte b that is not on it,
 *
 * and settles all of them at once.  The others are left to be walked.  They
 * share few paths of the token trie, but those paths have many children that
 * need no look; so the paths alone are copied, once per set of characters, and
 * kept with the vocabulary: every JSON string loops on the same ones.
 *
 * Layout: pre-order, as trie.h.  A node is there if its path stays on the loop
 * until it and a leaver is at it or below: a byte that is not on the loop (the
 * copy ends there, the walk goes on in the whole trie) or the end of a token
 * that is not whole UTF-8.  Cost: one pass over the token trie. */
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

typedef struct copier {
    const ste_allocator *a;
    leaver *at;
    uint32_t n, cap;
    uint32_t *open; /* node and place of each node of the path, in turn */
} copier;

static bool add(copier *c, uint32_t byte, uint32_t node) {
    if (c->n == c->cap) {
        uint32_t cap = c->cap == 0 ? 4096 : c->cap * 2;
        leaver *grown = mem_new(c->a, cap, sizeof *grown);
        if (grown == NULL) return false;
        if (c->n != 0) memcpy(grown, c->at, c->n * sizeof *grown);
        mem_free(c->a, c->at, c->cap, sizeof *c->at);
        c->at = grown;
        c->cap = cap;
    }
    c->at[c->n++] = (leaver){.size = 1, .byte = byte & 255, .node = node};
    return true;
}

/* The node at the end of the path is done: it stays if a leaver is at it or below. */
static void close(copier *c, const ste_vocab *v, uint32_t depth) {
    uint32_t node = c->open[2 * depth], at = c->open[2 * depth + 1], token = v->ordinary.nodes[node].token;
    bool cut = token != TRIE_NO_TOKEN && !bit_get(v->index.whole, token);
    if (c->n == at + 1 && !cut)
        c->n = at;
    else
        c->at[at].size = (c->n - at) & 0xFFFFFF;
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
                c->open[2 * depth + 1] = c->n - 1;
                depth++;
                continue;
            }
        }
        i += nodes[i].size - 1;
    }
    return true;
}

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
    mem_free(a, l, 1, sizeof *l + l->n * sizeof *l->at);
}

static leavers *build(ste_vocab *v, const byteset *ascii, bool utf8) {
    const ste_allocator *a = &v->allocator;
    size_t depth = (size_t)v->ordinary.max_length + 1;
    copier c = {.a = a, .open = mem_new(a, 2 * depth, sizeof *c.open)};
    leavers *l = NULL;
    if (c.open != NULL && copy(&c, v, ascii, utf8)) l = mem_new(a, 1, sizeof *l + c.n * sizeof *l->at);
    if (l != NULL) {
        l->ascii = *ascii;
        l->utf8 = utf8;
        l->n = c.n;
        if (c.n != 0) memcpy(l->at, c.at, c.n * sizeof *l->at);
        l->staying = mem_new(a, v->words, sizeof *l->staying);
        if (l->staying == NULL) {
            destroy(a, l, v->words);
            l = NULL;
        } else {
            staying(v, ascii, utf8, l->staying);
        }
    }
    mem_free(a, c.open, 2 * depth, sizeof *c.open);
    mem_free(a, c.at, c.cap, sizeof *c.at);
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
