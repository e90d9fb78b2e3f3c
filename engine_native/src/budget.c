/* budget.c - the row that keeps to a budget.
 *
 * The row of S for `left`: the tokens t allowed after S with need(S.t) <= left.
 * The walk that finds them tells how far the answer holds: from the largest need
 * let through to the smallest one refused.  Such a *band* is kept per set; a
 * band in which nothing is refused is the set's ordinary row, so far from the
 * end a row costs one look at a list.
 *
 * Where the walk meets a loop (loops.c), tokens of loop characters end where
 * they began to loop, and whole subtrees are settled at once. */
#include "budget.h"

/* ---- needs ---- */

/* The need by rules; where that is more than `enough`, the distance if a search finds it. */
static int find_need(use *u, measure *m, set *at, uint64_t enough, uint64_t *need) {
    int code = need_by_rules(u->s, m, at, need);
    if (code != STE_OK || *need <= enough) return code;
    pthread_mutex_lock(&m->lock);
    set_need *n = need_find(m, at);
    uint64_t found = n->distance;
    bool search = !n->searched;
    pthread_mutex_unlock(&m->lock);
    if (search) {
        code = search_least(u, m, at, *need, &found);
        if (code < 0) return code;
        pthread_mutex_lock(&m->lock);
        n->distance = found;
        n->searched = true;
        pthread_mutex_unlock(&m->lock);
    }
    *need = found;
    return STE_OK;
}

/* What the set that a token from `from` leads to needs.  Where there are token edges, a token may lead to a
 * union of sets, and the needs by rules tell the need of the union (walk_tokens); distances do not. */
static int need_after(use *u, measure *m, const set *from, set *to, uint64_t enough, uint64_t *need) {
    return (from->flags & SET_TOKENS) != 0 ? need_by_rules(u->s, m, to, need) : find_need(u, m, to, enough, need);
}

int budget_allows(use *u, measure *m, const set *from, set *to, uint64_t left) {
    uint64_t need;
    int code = need_after(u, m, from, to, left, &need);
    return code != STE_OK ? code : need <= left;
}

/* ---- rows ---- */

#define RECENT 64

/* Where the walk is: the set, and if all characters since `home` are ones on which home loops, that loop. */
typedef struct place {
    set *at, *home;
    const loop *loop; /* NULL: no loop */
    uint64_t leaving; /* classes of bytes that are not on it */
    uint32_t end;     /* of the subtree */
    bool settled;     /* all characters so far are the loop's: loop_tokens has those tokens */
} place;

typedef struct walker {
    use *u;
    store *s;
    measure *m;
    set *start;
    uint32_t *words; /* NULL: find out only how far the answer holds */
    uint64_t left;
    uint64_t from, to, least; /* largest need let through, smallest refused, smallest of all */
    bool refused;
    place *path;
    uint32_t depth; /* deepest */
    const loop *last;       /* loop, and the classes of its place */
    uint64_t leaving;
    struct {
        set *at;
        uint64_t need;
    } recent[RECENT];
} walker;

static bool walker_init(walker *w, use *u, measure *m, set *start, uint64_t left) {
    store *s = u->s;
    *w = (walker){.u = u, .s = s, .m = m, .start = start, .left = left, .to = NEVER, .least = NEVER};
    w->depth = s->vocab->ordinary.max_length + 2;
    w->path = store_alloc(s, w->depth * sizeof *w->path);
    return w->path != NULL;
}

static void walker_free(walker *w) {
    store_free(w->s, w->words, w->s->vocab->words * sizeof *w->words);
    store_free(w->s, w->path, w->depth * sizeof *w->path);
}

static void note(walker *w, uint64_t need) {
    if (need < w->least) w->least = need;
    if (need <= w->left) {
        if (need > w->from) w->from = need;
    } else {
        if (need < w->to) w->to = need;
        w->refused = true;
    }
}

static bool need_recently(walker *w, set *at, uint64_t *need) {
    uint32_t k = (uint32_t)((uintptr_t)at >> 6) % RECENT;
    if (w->recent[k].at != at) {
        if (need_after(w->u, w->m, w->start, at, w->left, &w->recent[k].need) != STE_OK) return false;
        w->recent[k].at = at;
    }
    *need = w->recent[k].need;
    return true;
}

/* The tokens that end at the nodes first .. end, after all of which the text is at `to`. */
static bool judge(walker *w, uint32_t first, uint32_t end, set *to) {
    const trie *t = &w->s->vocab->ordinary;
    while (first < end && content_token(w->m, t, first) == TRIE_NO_TOKEN) first++;
    if (first == end) return true;
    uint64_t need;
    if (!need_recently(w, to, &need)) return false;
    if (w->words == NULL) note(w, need);
    for (; w->words != NULL && need <= w->left && first < end; first++)
        for (uint32_t token = t->nodes[first].token; token != TRIE_NO_TOKEN; token = t->next_same[token])
            bit_set(w->words, token);
    return true;
}

static bool arrive(walker *w, place *p) {
    const loop *l = set_loop(w->u, p->at);
    if (l == NULL) return false;
    if (!l->is_loop || !l->stays) return true;
    p->loop = l;
    p->home = p->at;
    if (w->last != l) w->leaving = classes_beside(&l->on);
    w->last = l;
    p->leaving = w->leaving;
    return true;
}

/* All tokens that match through their bytes.  Where a loop goes on over a whole subtree, its tokens end at home. */
static bool walk_bytes(walker *w) {
    const trie *t = &w->s->vocab->ordinary;
    const uint64_t *classes = w->s->vocab->index.classes;
    uint32_t depth = 0, i = 1;
    place p = {.at = w->start, .end = t->nodes[0].size};
    if (!arrive(w, &p)) return false;
    if (p.loop != NULL && w->words != NULL) {
        uint64_t need;
        const leavers *l = loop_leavers(w->s, p.loop);
        if (!need_recently(w, w->start, &need)) return false;
        if (l != NULL && need <= w->left) loop_tokens(w->s, l, UINT64_MAX, w->words);
        p.settled = l != NULL;
    }
    for (;;) {
        while (i == p.end && depth > 0) p = w->path[--depth];
        if (i == p.end) return true;
        uint32_t byte = t->nodes[i].byte, end = i + t->nodes[i].size;
        if (p.loop != NULL && (classes[i] & p.leaving) == 0) {
            if (!p.settled && !judge(w, i, end, p.home)) return false;
            i = end;
            continue;
        }
        if (!byteset_has(&p.at->allow, byte)) {
            i = end;
            continue;
        }
        set *next = set_step(w->u, p.at, byte);
        if (next == NULL || !judge(w, i, i + 1, next)) return false;
        if (i + 1 == end || byteset_empty(&next->allow)) {
            i = end;
            continue;
        }
        w->path[depth++] = p;
        bool stays = p.loop != NULL && (byte < 128 ? byteset_has(&p.loop->on.ascii, byte) : p.loop->on.beyond == BEYOND_ALL);
        if (!stays) {
            p.loop = NULL;
            p.settled = false;
        }
        p.at = next;
        p.end = end;
        if (!stays && !arrive(w, &p)) return false;
        i++;
    }
}

/* By token edges: whatever set the token leads to, it needs what the cheapest of the edges needs. */
static bool walk_tokens(walker *w) {
    const set *from = w->start;
    if ((from->flags & SET_TOKENS) == 0) return true;
    pthread_mutex_lock(&w->m->lock);
    bool known = need_known(w->s, w->m, from) != NULL;
    for (uint32_t i = 0; i < from->n_scan && known; i++) {
        const item *it = &from->scan[i];
        cost after = need_after_rule(w->s, w->m, it->origin == NULL ? from : it->origin, it->state->rule);
        for (uint32_t e = 0; e < it->state->n_tokens; e++) {
            const token_edge *edge = &it->state->tokens[e];
            if (!has_content(w->s, w->m, edge)) continue;
            cost whole = cost_then(cost_of(w->m, edge->to, it->reg), after);
            uint64_t need = tokens_least(whole.end, whole.stop);
            if (w->words == NULL)
                note(w, need);
            else if (need <= w->left)
                bits_set_range(w->words, edge->lo, edge->hi);
        }
    }
    pthread_mutex_unlock(&w->m->lock);
    return known;
}

static bool walk(walker *w) { return walk_bytes(w) && walk_tokens(w); }

static const band *find_band(measure *m, const set *at, uint64_t left) {
    pthread_mutex_lock(&m->lock);
    const set_need *n = need_find(m, at);
    const band *b = n == NULL ? NULL : n->bands;
    while (b != NULL && (left < b->from || left >= b->to)) b = b->next;
    pthread_mutex_unlock(&m->lock);
    return b;
}

/* Two threads may make the same band: then there are two, and the later one is used. */
static const band *make_band(use *u, measure *m, set *at, uint64_t left) {
    store *s = u->s;
    walker w;
    uint64_t need;
    band *b = store_alloc(s, sizeof *b);
    bool fine = walker_init(&w, u, m, at, left) && b != NULL && need_by_rules(s, m, at, &need) == STE_OK && walk(&w);
    if (fine) *b = (band){.from = w.from, .to = w.to};
    if (fine && w.refused) {
        w.words = store_alloc(s, s->vocab->words * sizeof *w.words);
        fine = w.words != NULL && walk(&w) && (b->row = row_intern(s, w.words, NULL)) != NULL;
    }
    walker_free(&w);
    if (!fine) {
        store_free(s, b, sizeof *b);
        return NULL;
    }
    pthread_mutex_lock(&m->lock);
    set_need *n = need_find(m, at);
    b->next = n->bands;
    n->bands = b;
    pthread_mutex_unlock(&m->lock);
    return b;
}

int budget_row(use *u, measure *m, set *at, uint64_t left, const row **out) {
    const band *b = find_band(m, at, left);
    if (b == NULL) {
        set *canonical = set_canonical(u, at); /* all that a token can reach needs the same from there */
        if (canonical == NULL) return u->code;
        if ((canonical->flags & SET_OPEN) == 0) at = canonical;
        b = find_band(m, at, left);
    }
    if (b == NULL) b = make_band(u, m, at, left);
    if (b == NULL) return u->code;
    *out = b->row != NULL ? b->row : mask_row(u, at);
    return *out == NULL ? u->code : STE_OK;
}

int budget_least(use *u, measure *m, set *at, uint64_t *least) {
    int code = find_need(u, m, at, 0, least);
    if (code != STE_OK || *least == 0) return code;
    walker w; /* a token that crosses the border of a rule may come first */
    bool fine = walker_init(&w, u, m, at, NEVER) && walk(&w);
    if (fine) *least = tokens_least(*least, tokens_add(1, w.least));
    walker_free(&w);
    return fine ? STE_OK : u->code;
}
