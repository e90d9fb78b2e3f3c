/* trie.c - see trie.h. */
#include "trie.h"

typedef struct order_context {
    const uint8_t *bytes;
    const uint64_t *offsets;
} order_context;

static int compare(const order_context *c, uint32_t a, uint32_t b) {
    size_t na = c->offsets[a + 1] - c->offsets[a], nb = c->offsets[b + 1] - c->offsets[b];
    int r = memcmp(c->bytes + c->offsets[a], c->bytes + c->offsets[b], na < nb ? na : nb);
    if (r != 0) return r;
    if (na != nb) return na < nb ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Bottom-up merge sort: qsort has no context argument in C11. */
static void sort_ids(const order_context *c, uint32_t *ids, uint32_t *spare, uint32_t n) {
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t lo = 0; lo < n; lo += 2 * width) {
            uint32_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            uint32_t i = lo, j = mid, k = lo;
            while (i < mid && j < hi) spare[k++] = compare(c, ids[i], ids[j]) <= 0 ? ids[i++] : ids[j++];
            while (i < mid) spare[k++] = ids[i++];
            while (j < hi) spare[k++] = ids[j++];
        }
        memcpy(ids, spare, (size_t)n * sizeof *ids);
    }
}

static uint32_t shared_prefix(const uint8_t *a, size_t na, const uint8_t *b, size_t nb) {
    uint32_t i = 0;
    while (i < na && i < nb && a[i] == b[i]) i++;
    return i;
}

int trie_build(trie *t, const ste_allocator *a, const uint8_t *bytes, const uint64_t *offsets, const uint32_t *ids,
               uint32_t n_ids, uint32_t n_tokens, ste_error *err) {
    memset(t, 0, sizeof *t);
    order_context c = {bytes, offsets};
    uint32_t *sorted = mem_new(a, n_ids, sizeof *sorted), *spare = mem_new(a, n_ids, sizeof *spare);
    uint32_t *path = NULL;
    int code = STE_OK;
    if (sorted == NULL || spare == NULL) goto no_memory;
    if (n_ids != 0) memcpy(sorted, ids, (size_t)n_ids * sizeof *ids);
    sort_ids(&c, sorted, spare, n_ids);

    uint64_t n_nodes = 1;
    const uint8_t *last = NULL;
    size_t last_n = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        const uint8_t *s = bytes + offsets[sorted[i]];
        size_t n = offsets[sorted[i] + 1] - offsets[sorted[i]];
        n_nodes += n - shared_prefix(last, last_n, s, n);
        if (n > t->max_length) t->max_length = (uint32_t)n;
        last = s;
        last_n = n;
    }
    if (n_nodes >= (1u << 24)) {
        code = fail(err, STE_ERR_LIMIT, 0, "vocabulary needs %llu trie nodes, more than 2^24",
                    (unsigned long long)n_nodes);
        goto done;
    }
    t->nodes = mem_new(a, (size_t)n_nodes, sizeof *t->nodes);
    t->n_nodes = (uint32_t)n_nodes;
    t->next_same = mem_new(a, n_tokens, sizeof *t->next_same);
    t->n_next = n_tokens;
    path = mem_new(a, t->max_length + 1, sizeof *path); /* node at each depth of the last token */
    if (t->nodes == NULL || t->next_same == NULL || path == NULL) goto no_memory;
    for (uint32_t i = 0; i < n_tokens; i++) t->next_same[i] = TRIE_NO_TOKEN;

    uint32_t made = 1, depth = 0;
    t->nodes[0] = (trie_node){.token = TRIE_NO_TOKEN};
    last = NULL;
    last_n = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        uint32_t id = sorted[i];
        const uint8_t *s = bytes + offsets[id];
        size_t n = offsets[id + 1] - offsets[id];
        uint32_t shared = shared_prefix(last, last_n, s, n);
        for (; depth > shared; depth--) t->nodes[path[depth]].size = (made - path[depth]) & 0xFFFFFF;
        for (; depth < n; depth++) {
            t->nodes[made] = (trie_node){.byte = s[depth], .token = TRIE_NO_TOKEN};
            if (depth == 0) t->child[s[0]] = made;
            path[depth + 1] = made++;
        }
        trie_node *end = &t->nodes[path[depth]];
        t->next_same[id] = end->token;
        end->token = id;
        last = s;
        last_n = n;
    }
    for (; depth > 0; depth--) t->nodes[path[depth]].size = (made - path[depth]) & 0xFFFFFF;
    t->nodes[0].size = made & 0xFFFFFF;
    goto done;

no_memory:
    code = fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
done:
    mem_free(a, sorted, n_ids, sizeof *sorted);
    mem_free(a, spare, n_ids, sizeof *spare);
    mem_free(a, path, t->max_length + 1, sizeof *path);
    if (code != STE_OK) trie_free(t, a);
    return code;
}

void trie_free(trie *t, const ste_allocator *a) {
    mem_free(a, t->nodes, t->n_nodes, sizeof *t->nodes);
    mem_free(a, t->next_same, t->n_next, sizeof *t->next_same);
    t->nodes = NULL;
    t->next_same = NULL;
}

uint32_t trie_longest_prefix(const trie *t, const uint8_t *s, size_t n, size_t *length) {
    uint32_t best = TRIE_NO_TOKEN, node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = node + 1, end = node + t->nodes[node].size;
        if (node == 0) c = t->child[s[i]] != 0 ? t->child[s[i]] : end;
        while (c < end && t->nodes[c].byte < s[i]) c += t->nodes[c].size;
        if (c >= end || t->nodes[c].byte != s[i]) break;
        node = c;
        if (t->nodes[node].token != TRIE_NO_TOKEN) {
            best = t->nodes[node].token;
            *length = i + 1;
        }
    }
    return best;
}
