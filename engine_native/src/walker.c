/* walker.c - the tokens that a walk has allowed so far (walker.h).
 *
 * Most rows are short lists or differ little from a row that is known, so words are written when the list is full.
 * Cost: a test per token while it is a list, a bit after that; exits are node numbers. */
#include "walker.h"

#include "distinct.h"

bool node_list_add(store *s, node_list *l, uint32_t node) {
    if (l->n == l->cap) {
        uint32_t cap = l->cap == 0 ? 64 : l->cap * 2;
        uint32_t *grown = store_alloc(s, cap * sizeof *grown);
        if (grown == NULL) return false;
        if (l->n != 0) memcpy(grown, l->at, l->n * sizeof *grown);
        store_free(s, l->at, l->cap * sizeof *l->at);
        l->at = grown;
        l->cap = cap;
    }
    l->at[l->n++] = node;
    return true;
}

void node_list_free(store *s, node_list *l) { store_free(s, l->at, l->cap * sizeof *l->at); }

void walker_init(walker *w, use *u, bool want_exits) {
    store *s = u->s;
    w->u = u;
    w->s = s;
    w->n_few = 0;
    w->most_few = row_few(s);
    w->words = NULL;
    w->exits = w->unsure = (node_list){0};
    w->base = w->near = w->same = NULL;
    w->chars = NULL;
    w->depth = s->vocab->ordinary.max_length + 2;
    w->want_exits = want_exits;
    w->path = NULL;
}

bool has_path(walker *w) {
    if (w->path == NULL) w->path = store_take(w->s, w->depth * sizeof *w->path);
    return w->path != NULL;
}

void walker_free(walker *w) {
    store_free(w->s, w->path, w->depth * sizeof *w->path);
    node_list_free(w->s, &w->exits);
    node_list_free(w->s, &w->unsure);
    store_free(w->s, w->words, w->s->vocab->words * sizeof *w->words);
}

bool make_dense(walker *w) {
    if (w->words != NULL) return true;
    size_t size = w->s->vocab->words * sizeof *w->words;
    w->words = store_take(w->s, size);
    if (w->words == NULL) return false;
    if (w->base != NULL)
        row_write(w->s, w->base, w->words);
    else
        memset(w->words, 0, size);
    w->near = w->base;
    for (uint32_t i = 0; i < w->n_few; i++) bit_set(w->words, w->few[i]);
    return true;
}

bool allow_slow(walker *w, uint32_t token) {
    if (w->words == NULL && w->base != NULL && row_has(w->base, token)) return true;
    if (w->words == NULL && w->n_few == w->most_few && !make_dense(w)) return false;
    if (w->words != NULL)
        bit_set(w->words, token);
    else
        w->few[w->n_few++] = token;
    return true;
}

bool allow_row(walker *w, const row *r) {
    for (uint32_t i = 0; row_is_few(r) && i < r->n; i++)
        if (!allow_slow(w, r->at[i])) return false;
    if (row_is_few(r) || r == w->base) return true;
    if (w->words == NULL && w->base == NULL) {
        w->base = r;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < w->n_few; i++)
            if (!row_has(r, w->few[i])) w->few[kept++] = w->few[i];
        w->n_few = kept;
        return true;
    }
    if (!make_dense(w)) return false;
    row_or(w->s, r, w->words);
    return true;
}

row *walker_row(walker *w) {
    if (w->words != NULL && w->chars != NULL) return row_intern_loop(w->s, w->words, w->chars);
    if (w->words != NULL) return row_intern(w->s, w->words, w->near);
    return w->base != NULL ? row_intern_more(w->s, w->base, w->few, w->n_few) : row_intern_few(w->s, w->few, w->n_few);
}

bool add_exits(walker *w, uint32_t node) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    for (uint32_t c = node + 1; c < node + nodes[node].size; c += nodes[c].size)
        if (!node_list_add(w->s, &w->exits, c)) return false;
    return true;
}

/* Has a young element come to where an earlier one's value matters?  It has not before its first byte, nor in the
 * middle of a string with room for all values.  1, 0, or negative: failed. */
static int element_is_unsure(use *u, const set *at) {
    if ((at->flags & SET_UNSURE) != 0) return 1;
    for (uint32_t i = 0; i < at->n_scan; i++) {
        if (!at->scan[i].state->inside) continue;
        const progress *p = progress_of(&at->scan[i]);
        const progress *start = atomic_load_explicit(&p->of->start, memory_order_acquire);
        if (p->kind != YOUNG || p->at == start->at) continue;
        int endless = set_is_endless(u, p->at);
        if (endless != 1) return endless < 0 ? endless : 1;
    }
    return 0;
}

int leave_unsure(walker *w, const set *at, uint32_t node) {
    if ((at->flags & (SET_YOUNG | SET_UNSURE)) == 0) return 0;
    int unsure = element_is_unsure(w->u, at);
    return unsure == 1 && !node_list_add(w->s, &w->unsure, node) ? -1 : unsure;
}
