/* precompute.c - the rows that a sequence will most likely need first, while its prompt is still being read.
 *
 * A best-first search over sets from the start.  A set passes its likelihood on
 * to the sets one byte further, in shares by how many bytes lead to each; where
 * the bytes are forced only the end of the run counts, since tokens jump there.
 * Sets that are visited get their row; what the search makes is shared with
 * every matcher as usual.  Cost: a row and at most 256 steps per set. */
#include "matcher.h"

typedef struct candidate {
    set *at;
    double likelihood; /* negative: done */
} candidate;

typedef struct search {
    use u;
    candidate *found;
    uint32_t n, cap;
} search;

static bool add(search *p, set *at, double likelihood) {
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->found[i].at != at) continue;
        if (p->found[i].likelihood >= 0) p->found[i].likelihood += likelihood;
        return true;
    }
    if (p->n == p->cap) {
        uint32_t cap = p->cap == 0 ? 64 : p->cap * 2;
        candidate *grown = store_alloc(p->u.s, cap * sizeof *grown);
        if (grown == NULL) return false;
        if (p->n != 0) memcpy(grown, p->found, p->n * sizeof *grown);
        store_free(p->u.s, p->found, p->cap * sizeof *p->found);
        p->found = grown;
        p->cap = cap;
    }
    p->found[p->n++] = (candidate){at, likelihood};
    return true;
}

static uint32_t count_bytes(const set *at) {
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) n += (uint32_t)__builtin_popcountll(at->allow.w[i]);
    return n;
}

static bool expand(search *p, set *at, double likelihood) {
    uint32_t bytes = count_bytes(at);
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (!byteset_has(&at->allow, byte)) continue;
        set *to = set_step(&p->u, at, byte);
        for (uint32_t run = 0; to != NULL && run < p->u.s->reach && count_bytes(to) == 1 && (to->flags & SET_ACCEPTING) == 0; run++)
            for (uint32_t next = 0; next < 256; next++)
                if (byteset_has(&to->allow, next)) {
                    to = set_step(&p->u, to, next);
                    break;
                }
        if (to != NULL) to = set_settle(&p->u, to);
        if (to == NULL || !add(p, to, likelihood / bytes)) return false;
    }
    return true;
}

static candidate *best(search *p) {
    candidate *found = NULL;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->found[i].likelihood >= 0 && (found == NULL || p->found[i].likelihood > found->likelihood)) found = &p->found[i];
    return found;
}

int64_t ste_grammar_precompute(ste_grammar *g, uint32_t rows, const int *cancel) {
    store *s = g->store;
    search p = {.u = {.s = s, .work = s->limits.match_items, .code = STE_ERR_NO_MEMORY}};
    int64_t made = 0;
    pthread_rwlock_rdlock(&s->gate);
    set *start = set_initial(&p.u, g->root);
    bool fine = start != NULL && add(&p, start, 1);
    while (fine && made < rows && (cancel == NULL || __atomic_load_n(cancel, __ATOMIC_RELAXED) == 0)) {
        candidate *next = best(&p);
        if (next == NULL) break;
        set *at = next->at;
        double likelihood = next->likelihood;
        next->likelihood = -1;
        fine = mask_row(&p.u, at) != NULL && expand(&p, at, likelihood);
        made += fine;
    }
    pthread_rwlock_unlock(&s->gate);
    store_free(s, p.found, p.cap * sizeof *p.found);
    return fine || p.u.code == STE_ERR_LIMIT ? made : p.u.code; /* a limit: what is too much here is not done ahead */
}
