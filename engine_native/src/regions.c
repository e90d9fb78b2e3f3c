/* regions.c - what runs of certain characters lead to in the token trie.
 *
 * An item that takes any run of letters allows, after a blank, all tokens that
 * are a blank and letters: 40,000 of them, whatever else the set at hand may do.
 * What is left to be walked are the paths on which another byte comes up.
 *
 *      ' '            root: any node whose own byte is not one of the characters, or the trie's root
 *      +- a*          inside, with its tokens: the run goes on
 *      |  +- b*       inside; nothing but letters below, so it is no node of the region
 *      |  `- .        outside: here the run is over, by a byte that is not of the characters
 *      `- 7           outside
 *
 * A *region* holds the paths from its root to the nodes outside, in pre-order, and
 * the tokens of all that is inside, in the order of the trie: what is inside below a
 * node of the region is a stretch of them.  So a set with such an item is walked along
 * the region's nodes only.
 *
 * If the characters go beyond ASCII, a region holds whole characters, and the tokens that end within one.
 * What is longer than SHORT_CHARS bytes is outside: so an item that takes that many characters, but no more, is served.
 *
 * Invariants
 *   R1  nodes[0] is the root; every other node has one outside at it or below;
 *   R2  tokens are those that end inside, each once; those below nodes[k] and at it are first..last - 1 of them;
 *   R3  every path of the trie below the root that is inside ends at nodes of the region or has nothing but
 *       inside below.
 *
 * Regions are kept with the vocabulary, found by their characters and root, and made when they are first asked
 * for.  Cost: a look at each node below the root that is inside. */
#include "regions.h"

#include "tuning.h"

#define MOST_REGIONS 64 /* kinds of characters; past them there are none */
#define LEAST_ROW PAYS_FROM(512, 1) /* a region of so many tokens has them as a row too */

typedef struct draft {
    const ste_allocator *a;
    region_node *nodes;
    uint32_t *tokens;
    uint32_t n_nodes, cap_nodes, n_tokens, cap_tokens;
} draft;

static bool grow(const ste_allocator *a, void **p, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return true;
    uint32_t want = *cap == 0 ? 64 : *cap * 2;
    void *grown = mem_new(a, want, size);
    if (grown == NULL) return false;
    if (n != 0) memcpy(grown, *p, n * size);
    mem_free(a, *p, *cap, size);
    *p = grown;
    *cap = want;
    return true;
}

static bool add_node(draft *d, region_node node) {
    void *nodes = d->nodes;
    if (!grow(d->a, &nodes, d->n_nodes, &d->cap_nodes, sizeof node)) return false;
    d->nodes = nodes;
    d->nodes[d->n_nodes++] = node;
    return true;
}

static bool add_tokens(draft *d, const trie *t, uint32_t lo, uint32_t hi) {
    for (uint32_t i = lo; i < hi; i++)
        for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token]) {
            void *tokens = d->tokens;
            if (!grow(d->a, &tokens, d->n_tokens, &d->cap_tokens, sizeof token)) return false;
            d->tokens = tokens;
            d->tokens[d->n_tokens++] = token;
        }
    return true;
}

/* A node of the path that is walked. */
typedef struct open_node {
    uint32_t end, phase; /* of its subtree */
    uint32_t at;         /* among the region's nodes */
} open_node;

/* It stays if something outside is below it. */
static void close(draft *d, uint32_t at) {
    if (d->n_nodes == at + 1 && at != 0) {
        d->n_nodes = at;
        return;
    }
    d->nodes[at].size = (d->n_nodes - at) & 0xFFFFFF;
    d->nodes[at].last = d->n_tokens;
}

/* Bytes that lead to a node. */
static uint32_t depth_of(const trie *t, uint32_t node) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i != node; depth++) {
        uint32_t child = i + 1;
        while (node >= child + t->nodes[child].size) child += t->nodes[child].size;
        i = child;
    }
    return depth;
}

static bool collect(draft *d, const ste_vocab *v, const regions *of, uint32_t root, open_node *path) {
    const trie *t = &v->ordinary;
    uint32_t depth = 0, above = depth_of(t, root), end = root + t->nodes[root].size;
    path[0] = (open_node){.end = end};
    if (!add_node(d, (region_node){.node = root, .byte = t->nodes[root].byte, .inside = true})) return false;
    for (uint32_t i = root + 1;;) {
        while (i == path[depth].end && depth > 0) close(d, path[depth--].at);
        if (i == end) break;
        uint32_t byte = t->nodes[i].byte, next = i + t->nodes[i].size;
        uint32_t phase = char_next(&of->of, path[depth].phase, byte);
        bool inside = phase < CHAR_PHASES && above + depth < SHORT_CHARS;
        bool whole = (v->index.classes[i] & of->outside) == 0 && path[depth].phase == 0; /* all of it is inside */
        if (whole) {
            if (!add_tokens(d, t, i, next)) return false;
            i = next;
            continue;
        }
        region_node node = {.node = i, .byte = byte & 255, .inside = inside, .size = 1,
                            .first = d->n_tokens, .last = d->n_tokens};
        if (!add_node(d, node)) return false;
        if (!inside) {
            i = next;
            continue;
        }
        if (!add_tokens(d, t, i, i + 1)) return false;
        path[++depth] = (open_node){next, phase, d->n_nodes - 1};
        i++;
    }
    close(d, 0);
    return true;
}

static size_t region_size(const ste_vocab *v, uint32_t n_nodes, uint32_t n_tokens) {
    return sizeof(region) + n_nodes * sizeof(region_node) + (n_tokens + (n_tokens < LEAST_ROW ? 0 : v->words)) * sizeof(uint32_t);
}

static region *build(const ste_vocab *v, const regions *of, uint32_t root) {
    const ste_allocator *a = &v->allocator;
    size_t depth = (size_t)v->ordinary.max_length + 1;
    draft d = {.a = a};
    open_node *path = mem_new(a, depth, sizeof *path);
    region *r = path != NULL && collect(&d, v, of, root, path) ? mem_new(a, 1, region_size(v, d.n_nodes, d.n_tokens)) : NULL;
    if (r != NULL) {
        r->root = root;
        r->n_nodes = d.n_nodes;
        r->n_tokens = d.n_tokens;
        r->tokens = (uint32_t *)(void *)(r->nodes + d.n_nodes);
        memcpy(r->nodes, d.nodes, d.n_nodes * sizeof *d.nodes);
        if (d.n_tokens != 0) memcpy(r->tokens, d.tokens, d.n_tokens * sizeof *d.tokens);
        if (d.n_tokens >= LEAST_ROW) r->row = r->tokens + d.n_tokens;
        for (uint32_t i = 0; r->row != NULL && i < d.n_tokens; i++) bit_set(r->row, d.tokens[i]);
    }
    mem_free(a, path, depth, sizeof *path);
    mem_free(a, d.nodes, d.cap_nodes, sizeof *d.nodes);
    mem_free(a, d.tokens, d.cap_tokens, sizeof *d.tokens);
    return r;
}

static void region_free(const ste_vocab *v, region *r) { mem_free(&v->allocator, r, 1, region_size(v, r->n_nodes, r->n_tokens)); }

const region *region_below(const ste_vocab *v, const regions *of, uint32_t root) {
    _Atomic(region *) *slot = (_Atomic(region *) *)(uintptr_t)&of->slots[root % REGION_SLOTS];
    region *first = atomic_load_explicit(slot, memory_order_acquire);
    for (region *r = first; r != NULL; r = r->next)
        if (r->root == root) return r;
    region *made = build(v, of, root);
    if (made == NULL) return NULL;
    made->next = first;
    while (!atomic_compare_exchange_weak_explicit(slot, &made->next, made, memory_order_acq_rel, memory_order_acquire)) {
        for (region *r = made->next; r != NULL; r = r->next)
            if (r->root == root) { /* another thread was faster */
                region_free(v, made);
                return r;
            }
    }
    return made;
}

/* The nearest node above, or the node itself, from which on the bytes to it are the characters'; false: it is within one,
 * or too deep. */
static bool find_root(const ste_vocab *v, const regions *of, uint32_t node, uint32_t *root) {
    const trie_node *nodes = v->ordinary.nodes;
    uint32_t phase = 0, depth = 0;
    *root = 0;
    for (uint32_t i = 0; i != node; depth++) {
        uint32_t child = i + 1;
        while (node >= child + nodes[child].size) child += nodes[child].size;
        i = child;
        phase = char_next(&of->of, phase, nodes[i].byte);
        if (phase == CHAR_PHASES) {
            phase = 0;
            *root = i;
        }
    }
    return phase == 0 && depth <= SHORT_CHARS;
}

region_part region_find(const ste_vocab *v, const regions *of, uint32_t node) {
    uint32_t root;
    region_part none = {NULL, 0, false};
    if (!find_root(v, of, node, &root)) return none;
    const region *r = region_below(v, of, root);
    if (r == NULL) return none;
    uint32_t lo = 0, hi = r->n_nodes; /* the last one at node or before it */
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (r->nodes[mid].node <= node)
            lo = mid;
        else
            hi = mid;
    }
    return (region_part){r, lo, r->nodes[lo].node != node};
}

static regions *find(regions *first, const char_kind *of, uint32_t *count) {
    *count = 0;
    for (regions *r = first; r != NULL; r = r->next, ++*count)
        if (kinds_equal(&r->of, of)) return r;
    return NULL;
}

const regions *vocab_regions(ste_vocab *v, const char_kind *of) {
    uint32_t count;
    regions *first = atomic_load_explicit(&v->regions, memory_order_acquire), *r = find(first, of, &count);
    if (r != NULL || count >= MOST_REGIONS) return r;
    r = mem_new(&v->allocator, 1, sizeof *r);
    if (r == NULL) return NULL;
    r->of = *of;
    r->outside = classes_beside(of) | CLASS_LONG;
    r->next = first;
    while (!atomic_compare_exchange_weak_explicit(&v->regions, &r->next, r, memory_order_acq_rel, memory_order_acquire)) {
        regions *other = find(r->next, of, &count);
        if (other == NULL) continue;
        mem_free(&v->allocator, r, 1, sizeof *r); /* another thread was faster */
        return other;
    }
    return r;
}

void regions_free(ste_vocab *v) {
    for (regions *r = atomic_load_explicit(&v->regions, memory_order_relaxed), *next; r != NULL; r = next) {
        next = r->next;
        for (uint32_t i = 0; i < REGION_SLOTS; i++)
            for (region *at = atomic_load_explicit(&r->slots[i], memory_order_relaxed), *after; at != NULL; at = after) {
                after = at->next;
                region_free(v, at);
            }
        mem_free(&v->allocator, r, 1, sizeof *r);
    }
}
