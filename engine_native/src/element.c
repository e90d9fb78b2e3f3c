/* element.c - rows of sets within elements of distinct rules (distinct.h).
 *
 * The canonical set gives a row that is right but for nodes where a token repeats a value, or might; there the tokens
 * are stepped one by one from the set itself.
 *
 * Cost: that of the canonical row once, then the tokens below the nodes in doubt. */
#include <stdlib.h>

#include "distinct.h"
#include "walker.h"

bool fill_element(const item *it, walker *w) {
    local_part part;
    progress *p = progress_of(it);
    if (!part_of(w->u, p->at, true, &part) || !allow_row(w, part.row)) return false;
    for (uint32_t k = 0; k < part.exits->n_unsure; k++)
        if (!node_list_add(w->s, &w->unsure, part.exits->nodes[part.exits->n + k])) return false;
    if (part.exits->n == 0) return true;
    set *after = set_after_element(w->u, it, seen_from_count(seen_count(p->seen) + 1));
    return after != NULL && walk_exits(w, part.exits, after);
}

typedef struct recheck {
    walker *w;
    node_list nodes;
} recheck;

static bool add_recheck(void *ctx, uint32_t node) {
    recheck *r = ctx;
    return node_list_add(r->w->s, &r->nodes, node);
}

/* Where rivals rule out what the canonical set allows. */
static bool add_conflicts(recheck *r, const set *at) {
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (!at->scan[i].state->inside) continue;
        const progress *p = progress_of(&at->scan[i]);
        if (p->n_rivals != 0 && !element_conflicts(r->w->u, p, add_recheck, r)) return false;
        if ((p->at->flags & SET_RIVALS) != 0 && !add_conflicts(r, p->at)) return false;
    }
    return true;
}

/* The set after the bytes of a trie node; NULL with code 0: refused. */
static set *step_to_node(walker *w, set *at, uint32_t node, int *code) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    *code = 0;
    for (uint32_t i = 0, child = 1; at != NULL && i != node;) {
        if (node >= child + nodes[child].size) {
            child += nodes[child].size;
            continue;
        }
        if (!byteset_has(&at->allow, nodes[child].byte)) return NULL;
        at = set_step(w->u, at, nodes[child].byte);
        if (at == NULL) *code = -1;
        i = child++;
    }
    return at;
}

static bool step_again(walker *w, set *from, uint32_t node) {
    const trie *t = &w->s->vocab->ordinary;
    for (uint32_t i = node; i < node + t->nodes[node].size; i++)
        for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_clear(w->words, token);
    int code;
    set *at = step_to_node(w, from, node, &code);
    if (at == NULL) return code == 0;
    return allow_node(w, t, node, at) && walk_subtree(w, node, at);
}

static int compare_nodes(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The row of a set, given that of its canonical one. */
static bool fill_again(set *at, const local_part *base, walker *w) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    recheck r = {.w = w};
    bool fine = allow_row(w, base->row) && make_dense(w);
    uint32_t unsure = base->exits == NULL ? 0 : base->exits->n_unsure;
    for (uint32_t k = 0; fine && k < unsure; k++) fine = add_recheck(&r, base->exits->nodes[base->exits->n + k]);
    fine = fine && add_conflicts(&r, at);
    if (r.nodes.n > 1) qsort(r.nodes.at, r.nodes.n, sizeof *r.nodes.at, compare_nodes);
    for (uint32_t k = 0, end = 0; fine && k < r.nodes.n; k++) {
        uint32_t node = r.nodes.at[k];
        if (node < end) continue; /* in the subtree of one before */
        end = node + nodes[node].size;
        fine = step_again(w, at, node);
    }
    node_list_free(w->s, &r.nodes);
    return fine;
}

row *row_within_element(use *u, set *at, set *canonical) {
    row *out = NULL;
    local_part base;
    if ((at->flags & SET_TIGHT) == 0) {
        if (!part_of(u, canonical, false, &base)) return NULL;
        bool unsure = base.exits != NULL && base.exits->n_unsure != 0;
        if (!unsure && (at->flags & SET_RIVALS) == 0) return publish_row(u->s, at, row_retain(u->s, base.row));
    }
    walker w;
    walker_init(&w, u, false);
    if ((at->flags & SET_TIGHT) != 0 ? walk_root(&w, at) : fill_again(at, &base, &w)) out = walker_row(&w);
    walker_free(&w);
    return out == NULL ? NULL : publish_row(u->s, at, out);
}
