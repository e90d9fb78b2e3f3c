/* near.c - states that differ from a loop on few bytes, and after most of these again on few: text after the first bytes
 * of a trigger, keys that still could be a declared one.
 *
 * The local row is the loop's, and only the tokens on the paths where the two differ are walked again.
 * Cost: the nodes on these paths, and the bits of the loop's row. */
#include "walker.h"

/* The state after one byte if there is exactly one. */
static const state *only_target(const state *st, uint32_t byte) {
    const state *found = NULL;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        if (byte < st->bytes[e].lo || byte > st->bytes[e].hi) continue;
        if (found != NULL) return NULL;
        found = st->bytes[e].to;
    }
    return found;
}

/* Where most bytes lead. */
static const state *common_target(const state *st) {
    const state *found = NULL;
    uint32_t most = 0;
    for (uint32_t e = 0; e < st->n_bytes; e++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < st->n_bytes; k++)
            if (st->bytes[k].to == st->bytes[e].to) n += st->bytes[k].hi - st->bytes[k].lo + 1u;
        if (n <= most) continue;
        most = n;
        found = st->bytes[e].to;
    }
    return found;
}

/* Bytes on which two states go to different places; false if one of them goes to several at once. */
static bool differing(const state *a, const state *b, byteset *out) {
    const state *sides[2] = {a, b};
    const byte_edge *edge[2] = {a->bytes, b->bytes};
    memset(out, 0, sizeof *out);
    for (int k = 0; k < 2; k++)
        for (uint32_t e = 1; e < sides[k]->n_bytes; e++)
            if (edge[k][e].lo <= edge[k][e - 1].hi) return false;
    for (uint32_t byte = 0, last; byte < 256; byte = last + 1) {
        const state *to[2];
        last = 255; /* up to here nothing changes */
        for (int k = 0; k < 2; k++) {
            const byte_edge *end = sides[k]->bytes + sides[k]->n_bytes;
            while (edge[k] < end && edge[k]->hi < byte) edge[k]++;
            bool inside = edge[k] < end && edge[k]->lo <= byte;
            to[k] = inside ? edge[k]->to : NULL;
            uint32_t until = edge[k] == end ? 255 : inside ? edge[k]->hi : edge[k]->lo - 1u;
            if (until < last) last = until;
        }
        if (to[0] != to[1]) byteset_add_range(out, byte, last);
    }
    return true;
}

const state *loop_nearby(const ste_vocab *v, const state *st, byteset *differ) {
    const state *home = byteset_size(&st->allow) < 128 ? NULL : common_target(st);
    if (st->rule->kind != RULE_PLAIN || home == NULL || home == st || home->n_rules != 0 || common_target(home) != home)
        return NULL;
    for (uint32_t e = 0; e < home->n_tokens; e++) /* these can be told from what bytes allow */
        if (home->tokens[e].lo != home->tokens[e].hi || !bit_get(v->special, home->tokens[e].lo)) return NULL;
    return differing(st, home, differ) && byteset_size(differ) <= 128 ? home : NULL;
}
typedef struct near_frame {
    const state *st;
    set *at;       /* st by itself */
    uint32_t end;  /* of the subtree */
    byteset differ;
} near_frame;

/* What the loop allows below and at a node is not what is allowed: look again. */
static bool walk_again(walker *w, const near_frame *f, uint32_t node) {
    const trie *t = &w->s->vocab->ordinary;
    for (uint32_t i = node; i < node + t->nodes[node].size; i++)
        for (uint32_t token = t->nodes[i].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_clear(w->words, token);
    if (!byteset_has(&f->at->allow, t->nodes[node].byte)) return true;
    set *next = set_step(w->u, f->at, t->nodes[node].byte);
    if (next == NULL || !allow_node(w, t, node, next)) return false;
    if (t->nodes[node].size == 1) return true;
    if (w->want_exits && (next->flags & SET_EXITS) != 0 && !add_exits(w, node)) return false;
    return walk_subtree(w, node, next);
}

/* From the part of the loop `home`; again: nodes whose subtrees differ, in order. */
static bool walk_near(walker *w, const state *home, near_frame *frames, node_list *again) {
    const trie_node *nodes = w->s->vocab->ordinary.nodes;
    uint32_t depth = 0, i = 1;
    for (;;) {
        while (i == frames[depth].end && depth > 0) depth--;
        near_frame *f = &frames[depth];
        if (i == f->end) return true;
        uint32_t byte = nodes[i].byte;
        if (!byteset_has(&f->differ, byte)) {
            i += nodes[i].size;
            continue;
        }
        const state *to = only_target(f->st, byte);
        near_frame *inner = f + 1;
        if (to != NULL && only_target(home, byte) == home && to->final == home->final && to->n_rules == 0 &&
            to->n_tokens == 0 && differing(to, home, &inner->differ)) { /* still near the loop, allowed like it */
            if (nodes[i].size > 1) {
                inner->st = to;
                inner->at = set_step(w->u, f->at, byte);
                inner->end = i + nodes[i].size;
                if (inner->at == NULL) return false;
                depth++;
            }
            i++;
            continue;
        }
        if (!node_list_add(w->s, again, i) || !walk_again(w, f, i)) return false;
        i += nodes[i].size;
    }
}

bool fill_nearby(set *at, const state *st, const state *home, const byteset *differ, walker *w) {
    store *s = w->s;
    const trie *t = &s->vocab->ordinary;
    local_part near;
    if (!local_of(w->u, (item){home, s->top, at->scan[0].reg}, w->want_exits, &near) || !make_dense(w)) return false;
    row_write(s, near.row, w->words);
    w->near = near.row;
    for (uint32_t e = 0; e < home->n_tokens; e++) bit_clear(w->words, home->tokens[e].lo);
    near_frame *frames = store_alloc(s, w->depth * sizeof *frames);
    node_list again = {0};
    bool fine = frames != NULL;
    if (fine) {
        frames[0] = (near_frame){st, at, t->nodes[0].size, *differ};
        fine = walk_near(w, home, frames, &again);
    }
    for (uint32_t k = 0; fine && w->want_exits && k < near.exits->n; k++) {
        uint32_t node = near.exits->nodes[k];
        uint32_t lo = 0, hi = again.n; /* the last one that begins at node or before */
        while (lo < hi) {
            uint32_t mid = (lo + hi) / 2;
            if (again.at[mid] <= node)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == 0 || node >= again.at[lo - 1] + t->nodes[again.at[lo - 1]].size) fine = node_list_add(s, &w->exits, node);
    }
    node_list_free(s, &again);
    store_free(s, frames, w->depth * sizeof *frames);
    return fine;
}
