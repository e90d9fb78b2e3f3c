/* walker.h - the walk over the token trie that finds a row: what is allowed so far, and where the walk is.
 *
 * Inside mask.c and the files beside it.  A walker collects tokens as a list while they are few, as changes of a row it
 * was given, or as the words of a mask; and, for the local part of an item, exits.  Functions return false when they
 * fail, with the reason in the walker's use. */
#ifndef STE_WALKER_H
#define STE_WALKER_H

#include "cover.h"

typedef struct node_list {
    uint32_t *at, n, cap;
} node_list;

bool node_list_add(store *s, node_list *l, uint32_t node);
void node_list_free(store *s, node_list *l);

/* What is left of a node's children: of the trie, or of a region. */
typedef struct place {
    set *at;
    uint32_t i, end;
    const region *in;  /* NULL: nodes of the trie.  Else of this region, whose tokens are allowed already ... */
    const cover *first; /* ... or of the trie, and these bytes begin what is allowed already; then: */
    uint32_t k;        /* the next node of the region that is not before i */
} place;

typedef struct walker {
    use *u;
    store *s; /* u's */
    uint32_t few[ROW_FEW], n_few, most_few; /* tokens, while they are few ... */
    const row *base;                         /* ... besides those of this row, if it is not NULL; no list ... */
    uint32_t *words;                         /* ... and then all bits; NULL before */
    const row *near;                         /* NULL, or a row that may differ little from words */
    const void *chars;                       /* NULL, or what kind of characters gave most of words */
    const row *same;                         /* or: the row is this one */
    node_list exits;
    node_list unsure; /* nodes below and at which a canonical set does not know enough */
    place *path;     /* at each depth of a walk; NULL until one runs */
    uint32_t depth;  /* deepest */
    bool want_exits;
} walker;

/* walker.c */
void walker_init(walker *w, use *u, bool want_exits);
void walker_free(walker *w);
/* Its row; NULL when out of memory. */
row *walker_row(walker *w);
bool has_path(walker *w); /* from now on */
bool make_dense(walker *w);
bool allow_slow(walker *w, uint32_t token);
bool allow_row(walker *w, const row *r);
/* The rule is complete at node: its children are exits. */
bool add_exits(walker *w, uint32_t node);
/* Whether the tokens at and below a node are left for later; negative: failed. */
int leave_unsure(walker *w, const set *at, uint32_t node);

/* Every token that ends at node i. */
static inline bool allow_tokens(walker *w, const trie *t, uint32_t i) {
    for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token]) {
        if (w->words != NULL)
            bit_set(w->words, token);
        else if (!allow_slow(w, token))
            return false;
    }
    return true;
}

/* ... and leads to the set `to`. */
static inline bool allow_node(walker *w, const trie *t, uint32_t i, const set *to) {
    return (to->flags & SET_CUT) != 0 || allow_tokens(w, t, i);
}

/* Is it enough for a token that its last byte may follow `from`?  Where nothing counts what is within a token. */
static inline bool is_simple(const set *from) { return (from->flags & SET_REGISTERS) == 0; }


/* walk.c: allow every token below node (not at it) whose bytes can follow `from`. */
bool walk_subtree(walker *w, uint32_t node, set *from);
/* The same below a place that the caller has found. */
bool walk_place(walker *w, place here);
/* The tokens that begin with one byte; all. */
bool walk_first(walker *w, set *from, uint32_t byte);
bool walk_root(walker *w, set *from);
/* On from the exits, in the set after them. */
bool walk_exits(walker *w, const exit_list *exits, set *after);

/* runs.c: the tokens of a loop in its own context: word operations, then the rest. */
bool fill_loop(set *at, const loop *l, uint64_t most, walker *w);
/* The row of a set one item of which covers runs of characters: word operations, then the paths on which another one
 * comes up.  *done: false if that is of no use. */
bool fill_cover(set *at, const cover *c, walker *w, bool *done);

/* near.c: the loop that differs little from st, and the bytes on which it does; NULL: none. */
const state *loop_nearby(const ste_vocab *v, const state *st, byteset *differ);
/* The part of st by itself, from that of home. */
bool fill_nearby(set *at, const state *st, const state *home, const byteset *differ, walker *w);

/* mask.c */
typedef struct local_part {
    const row *row;
    const exit_list *exits; /* NULL where they were not wanted */
} local_part;

/* The local row of an item, and its exits if they are wanted. */
bool local_of(use *u, item it, bool want_exits, local_part *out);
/* Row and exits of a whole set; the exits are those of the rule under top. */
bool part_of(use *u, set *at, bool want_exits, local_part *out);
/* Keep what one of several threads has made; frees the other.  Returns the one kept. */
row *publish_row(store *s, set *at, row *r);

/* element.c: what the element's rule allows by itself, and from its exits on what may follow the element. */
bool fill_element(const item *it, walker *w);
/* The row of a set within elements, given its canonical set. */
row *row_within_element(use *u, set *at, set *canonical);

#endif
