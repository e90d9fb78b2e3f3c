/* runs.c - rows of sets that go on by almost any character: loops (loops.c) and covers (cover.c).
 *
 * Most tokens are settled by word operations on rows that are kept with the vocabulary: those made of the characters,
 * of at most as many as are sure.  What is left are tokens that leave the run by another byte (leavers.c lists them for
 * loops, where all characters lead to one set; a region's nodes lead to them where each may lead to another), and those
 * longer than what is sure.
 *
 * Cost: a few operations per word, and the walk from the first byte that is not of the run. */
#include "meter.h"
#include "walker.h"

/* Of n departures by chars, the first with so many. */
static uint32_t first_with(const departure *at, uint32_t n, uint64_t chars) {
    uint32_t lo = 0;
    while (lo < n) {
        uint32_t mid = (lo + n) / 2;
        if (at[mid].chars < chars)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* Tokens that leave the loop after lo..hi of its characters, home being the set after these, by a byte it takes. */
static bool walk_exit(walker *w, const loop_exit *e, uint32_t byte, set *home, uint64_t lo, uint64_t hi) {
    const departure *tokens = e->at, *nodes = e->at + e->n_tokens;
    set *next = set_step(w->u, home, byte);
    if (next == NULL) return false;
    bool cut = (next->flags & SET_CUT) != 0;
    for (uint32_t i = first_with(tokens, e->n_tokens, lo); !cut && i < e->n_tokens && tokens[i].chars <= hi; i++)
        bit_set(w->words, tokens[i].at);
    bool exits = w->want_exits && (next->flags & SET_EXITS) != 0;
    if (!exits && byteset_empty(&next->allow)) return true;
    for (uint32_t i = first_with(nodes, e->n_nodes, lo); i < e->n_nodes && nodes[i].chars <= hi; i++) {
        if (exits && !add_exits(w, nodes[i].at)) return false;
        if (!walk_subtree(w, nodes[i].at, next)) return false;
    }
    return true;
}

static bool counts_tokens(const set *at) {
    for (uint32_t i = 0; i < at->n_scan; i++)
        if (at->scan[i].state->rule->meter.most_tokens != 0 && meter_tokens(at->scan[i].reg) != TOKENS_FREE) return true;
    return false;
}

/* The set after a token, if its bytes can follow: NULL if not, or failed. */
static set *step_token(walker *w, set *at, uint32_t token, bool *failed) {
    const ste_vocab *v = w->s->vocab;
    for (uint64_t k = v->offsets[token]; k < v->offsets[token + 1]; k++) {
        if (!byteset_has(&at->allow, v->bytes[k])) return NULL;
        if ((at = set_step(w->u, at, v->bytes[k])) == NULL) {
            *failed = true;
            return NULL;
        }
    }
    return at;
}

static bool allow_if_taken(walker *w, set *at, uint32_t token) {
    bool failed = false;
    const set *to = step_token(w, at, token, &failed);
    if (to != NULL && (to->flags & SET_CUT) == 0) bit_set(w->words, token);
    return !failed;
}

/* Tokens that end inside a character: whether one can end there matters where tokens are counted. */
static bool walk_cut(walker *w, const leavers *l, uint64_t most, set *at) {
    for (uint32_t i = 0; i < l->n_cut && l->cut[i].chars < most; i++)
        if (!allow_if_taken(w, at, l->cut[i].at)) return false;
    return true;
}

/* From `at`, where the characters of the loop go on to each other: the tokens that leave it.  most: so many characters
 * there may be; then each of them counts. */
static bool walk_loop(walker *w, const leavers *l, bool stays, uint64_t most, set *at) {
    bool counted = most != UINT64_MAX;
    uint64_t beyond = l->on.beyond == BEYOND_ALL ? 0 : UINT64_MAX;
    byteset leaving = {{~l->on.ascii.w[0], ~l->on.ascii.w[1], beyond, beyond}};
    for (uint32_t byte = 0; byte < 256; byte++)
        if (byteset_has(&leaving, byte) && !walk_first(w, at, byte)) return false;
    uint32_t character = 0;
    while (!byteset_has(&l->on.ascii, character)) character++;
    bool tokens = counts_tokens(at);
    if (tokens && !walk_cut(w, l, most, at)) return false;
    for (uint32_t i = 0; !tokens && i < l->n_cut && l->cut[i].chars < most; i++) bit_set(w->words, l->cut[i].at);
    uint64_t last = !counted ? 1 : most < w->s->reach ? most : w->s->reach;
    set *home = at;
    for (uint64_t k = 1; k <= last; k++) {
        if (!stays || counted) {
            if (!byteset_has(&home->allow, character)) return true;
            home = set_step(w->u, home, character);
            if (home == NULL) return false;
        }
        for (uint32_t byte = 0; byte < 256; byte++) {
            if (!byteset_has(&leaving, byte) || !byteset_has(&home->allow, byte)) continue;
            const loop_exit *e = leavers_exit(w->s->vocab, l, byte);
            if (e == NULL || !walk_exit(w, e, byte, home, k, counted ? k : UINT64_MAX)) return false;
        }
    }
    return true;
}

bool fill_loop(set *at, const loop *l, uint64_t most, walker *w) {
    const leavers *leaving = loop_leavers(w->s, l);
    if (leaving == NULL) return walk_root(w, at);
    assert(w->n_few == 0);
    if (!make_dense(w)) return false;
    w->chars = leaving;
    loop_tokens(w->s, leaving, most, w->words);
    return walk_loop(w, leaving, l->stays, most, at);
}

/* ---- covers of a whole set ---- */

/* Of the tokens of a region of the whole trie, those of at most `sure` characters; of the others those that are taken. */
static bool allow_short(walker *w, const region *r, uint32_t sure, uint32_t most, set *at) {
    const token_index *x = &w->s->vocab->index;
    for (uint32_t i = 0; i < w->s->vocab->words; i++) {
        uint32_t short_ones = r->row[i] & x->up_to[sure][i];
        uint32_t refused = most < SHORT_CHARS ? x->whole[i] & ~x->up_to[most][i] : 0;
        w->words[i] |= short_ones;
        for (uint32_t others = r->row[i] & ~(short_ones | refused); others != 0; others &= others - 1)
            if (!allow_if_taken(w, at, 32 * i + (uint32_t)__builtin_ctz(others))) return false;
    }
    return true;
}

bool fill_cover(set *at, const cover *c, walker *w, bool *done) {
    *done = false;
    if (c->chars == NULL || !c->any || (w->want_exits && c->ends)) return true;
    const region *r = region_below(w->s->vocab, c->chars, 0);
    if (r == NULL || r->row == NULL) return true;
    assert(w->n_few == 0 && w->words == NULL);
    if (!has_path(w) || !make_dense(w)) return false;
    *done = true;
    w->chars = c->chars;
    if (c->sure < SHORT_CHARS && !allow_short(w, r, c->sure, c->most, at)) return false;
    if (c->sure >= SHORT_CHARS) bits_or(w->words, r->row, w->s->vocab->words);
    return walk_place(w, (place){.at = at, .i = 1, .end = r->n_nodes, .in = r});
}
