/* walk.c - along the token trie, set by set.
 *
 * The walk goes through the trie in pre-order and skips every subtree whose first byte the set at hand refuses.  In a
 * large subtree it looks whether an item of the set takes runs of characters anyway (cover.c): their tokens are allowed
 * at once, and it goes on along the region's nodes (regions.c), which lead to where another byte comes up.
 *
 * Cost: a step of a set per node visited, two loads where it is known. */
#include "walker.h"

/* ---- regions: what an item of the set allows as a run of characters (cover.c, regions.c) ---- */

/* Smaller subtrees are walked. */
#define LEAST_COVERED 400
/* In these a search of a large rule costs less than the walk. */
#define LEAST_SEARCHED 8000

static bool allow_list(walker *w, const uint32_t *tokens, uint32_t n) {
    if (w->words == NULL && n > w->most_few / 4 && !make_dense(w)) return false;
    for (uint32_t i = 0; w->words != NULL && i < n; i++) bit_set(w->words, tokens[i]);
    for (uint32_t i = 0; w->words == NULL && i < n; i++)
        if (!allow_slow(w, tokens[i])) return false;
    return true;
}

static bool allow_region(walker *w, const region *r) {
    if (r->row == NULL) return allow_list(w, r->tokens, r->n_tokens);
    if (!make_dense(w)) return false;
    bits_or(w->words, r->row, w->s->vocab->words);
    return true;
}

/* The children of the region's root with which no run may begin: how large they are in all. */
static uint32_t excluded_nodes(const trie *t, const region *r, const cover *c) {
    uint32_t n = 0, end = r->root + t->nodes[r->root].size;
    for (uint32_t i = r->root + 1; i < end; i += t->nodes[i].size)
        if (!byteset_has(&c->first, t->nodes[i].byte)) n += t->nodes[i].size;
    return n;
}

/* All tokens of the region that begin with one of the cover's bytes. */
static bool allow_first(walker *w, const region *r, const cover *c) {
    const trie *t = &w->s->vocab->ordinary;
    node_list before = {0}; /* tokens that were not allowed, and stay so */
    uint32_t end = r->root + t->nodes[r->root].size;
    bool fine = make_dense(w);
    for (uint32_t i = r->root + 1; fine && i < end; i += t->nodes[i].size) {
        if (byteset_has(&c->first, t->nodes[i].byte)) continue;
        for (uint32_t k = i; fine && k < i + t->nodes[i].size; k++)
            for (uint32_t token = t->nodes[k].token; fine && token != TRIE_NO_TOKEN; token = t->next_same[token])
                if (!bit_get(w->words, token)) fine = node_list_add(w->s, &before, token);
    }
    fine = fine && allow_region(w, r);
    for (uint32_t i = 0; fine && i < before.n; i++) bit_clear(w->words, before.at[i]);
    node_list_free(w->s, &before);
    return fine;
}

/* Might another item than those with the cover take its characters? */
static bool others_join(const set *at, const cover *c) {
    const char_kind *of = &c->chars->of;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        const state *st = at->scan[i].state;
        const byteset *takes = &st->allow;
        if (atomic_load_explicit(&st->cover, memory_order_acquire) == c) continue;
        if (((takes->w[0] & of->ascii.w[0]) | (takes->w[1] & of->ascii.w[1])) != 0) return true;
        if (of->beyond != BEYOND_NONE && (takes->w[2] | takes->w[3]) != 0) return true;
    }
    return false;
}

/* The place of node's children, `at` being the set after it; tokens of runs are allowed then. */
static bool enter(walker *w, uint32_t node, set *at, place *out) {
    const ste_vocab *v = w->s->vocab;
    const trie *t = &v->ordinary;
    uint32_t size = t->nodes[node].size;
    *out = (place){.at = at, .i = node + 1, .end = node + size};
    if (size < LEAST_COVERED) return true;
    const cover *c = set_cover(w->u, at, size >= LEAST_SEARCHED);
    if (c == NULL) return false;
    if (c->chars == NULL || (w->want_exits && (c->ends || others_join(at, c)))) return true; /* exits inside the region? */
    region_part part = region_find(v, c->chars, node);
    if (part.in == NULL) return true;
    const region_node *n = &part.in->nodes[part.at];
    if (c->any && part.whole) {
        out->i = out->end;
        for (uint32_t i = node + 1; i < node + size; i++)
            if (!allow_tokens(w, t, i)) return false;
    } else if (c->any) {
        *out = (place){.at = at, .i = part.at + 1, .end = part.at + n->size, .in = part.in};
        return part.at == 0 ? allow_region(w, part.in) : allow_list(w, part.in->tokens + n->first, n->last - n->first);
    } else if (part.at == 0 && !part.whole && excluded_nodes(t, part.in, c) < part.in->n_tokens / 8) {
        out->in = part.in;
        out->first = c;
        out->k = 1;
        return allow_first(w, part.in, c);
    }
    return true;
}

bool walk_place(walker *w, place here) {
    const trie *t = &w->s->vocab->ordinary;
    const trie_node *nodes = t->nodes;
    uint32_t depth = 0;
    for (;;) {
        while (here.i == here.end) {
            if (depth == 0) return true;
            here = w->path[--depth];
        }
        uint32_t i = here.i, byte, size;
        place inner = {.in = NULL};
        if (here.in == NULL) {
            byte = nodes[i].byte;
            size = nodes[i].size;
            here.i += size;
        } else {
            const region_node *k = &here.in->nodes[here.first != NULL ? here.k : i];
            if (here.first != NULL) {
                const region_node *end = here.in->nodes + here.in->n_nodes;
                while (k < end && k->node < i) k += k->size;
                here.k = (uint32_t)(k - here.in->nodes);
                byte = nodes[i].byte;
                here.i += nodes[i].size;
                bool known = k < end && k->node == i;
                if (byteset_has(&here.first->first, byte)) {
                    if (!known) continue;
                    inner.in = here.in;
                }
            } else {
                here.i += k->size;
                byte = k->byte;
                i = k->node;
                if (k->inside) inner.in = here.in;
            }
            size = nodes[i].size;
            if (inner.in != NULL) {
                inner.i = (uint32_t)(k - here.in->nodes) + 1;
                inner.end = inner.i - 1 + k->size;
            }
        }
        if (!byteset_has(&here.at->allow, byte)) continue;
        if (size == 1 && is_simple(here.at)) {
            if (!allow_tokens(w, t, i)) return false;
            continue;
        }
        set *next = set_step(w->u, here.at, byte);
        if (next == NULL) return false;
        int unsure = leave_unsure(w, next, i);
        if (unsure < 0) return false;
        if (unsure == 1) continue;
        if (inner.in == NULL) {
            if (!allow_node(w, t, i, next)) return false;
            if (size == 1) continue;
            if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, i)) return false;
            if (byteset_empty(&next->allow)) continue;
            if (!enter(w, i, next, &inner)) return false;
        }
        inner.at = next;
        w->path[depth++] = here;
        here = inner;
    }
}

bool walk_subtree(walker *w, uint32_t node, set *from) {
    place here;
    if (byteset_empty(&from->allow)) return true;
    return has_path(w) && enter(w, node, from, &here) && walk_place(w, here);
}

bool walk_first(walker *w, set *from, uint32_t byte) {
    const trie *t = &w->s->vocab->ordinary;
    uint32_t node = t->child[byte];
    if (node == 0 || !byteset_has(&from->allow, byte)) return true;
    set *next = set_step(w->u, from, byte);
    if (next == NULL) return false;
    if (!allow_node(w, t, node, next)) return false;
    if (t->nodes[node].size == 1) return true;
    if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, node)) return false;
    return walk_subtree(w, node, next);
}

bool walk_root(walker *w, set *from) {
    if (is_simple(from)) return walk_subtree(w, 0, from);
    for (uint32_t i = 0; i < 4; i++)
        for (uint64_t left = from->allow.w[i]; left != 0; left &= left - 1)
            if (!walk_first(w, from, 64 * i + (uint32_t)__builtin_ctzll(left))) return false;
    return true;
}

bool walk_exits(walker *w, const exit_list *exits, set *after) {
    const trie *t = &w->s->vocab->ordinary;
    uint32_t e = 0;
    for (uint32_t byte = 0; byte < 256 && e < exits->n; byte++) {
        if (!byteset_has(&after->allow, byte)) continue;
        for (uint32_t hi = exits->n; e < hi;) { /* the first exit with this byte or a later one */
            uint32_t mid = (e + hi) / 2;
            if (t->nodes[exits->nodes[mid]].byte < byte)
                e = mid + 1;
            else
                hi = mid;
        }
        if (e == exits->n || t->nodes[exits->nodes[e]].byte != byte) continue;
        set *next = set_step(w->u, after, byte);
        if (next == NULL) return false;
        bool complete = w->want_exits && (next->flags & SET_EXITS) != 0;
        for (; e < exits->n && t->nodes[exits->nodes[e]].byte == byte; e++) {
            uint32_t node = exits->nodes[e];
            int unsure = leave_unsure(w, next, node);
            if (unsure < 0) return false;
            if (unsure == 1) continue;
            if (!allow_node(w, t, node, next) || (complete && !add_exits(w, node))) return false;
            if (t->nodes[node].size > 1 && !walk_subtree(w, node, next)) return false;
        }
    }
    return true;
}
