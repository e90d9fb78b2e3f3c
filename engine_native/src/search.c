/* search.c - the true least number of tokens, where it is near: breadth first over sets.
 *
 * The measure of rules (cost.c) does not count on tokens that cross the border
 * of a rule.  A search over sets does, and is worth its time where few sets lie
 * between here and the end: choices, constants, short patterns.
 *
 * Let k be the true distance of S.  It is *found* if every set less than k
 * tokens away from S is plain (no counters, no token edges, few items and
 * not too many tokens) and walking the trie in all of them looks at no more than MAX_LOOKS
 * nodes.  Otherwise the measure stands.  This keeps the measure consistent
 * (N2): if S is found at distance k, a token leads to a set at distance k - 1,
 * whose surroundings are part of those of S, so it is found as well.  Hence
 * also the search must not stop in the middle of a level. */
#include "budget.h"

#define MAX_LOOKS 1024
#define MAX_ITEMS 256 /* of a set that is stepped: ambiguity makes large ones */
#define MAX_SUBTREES (64 * MAX_LOOKS) /* nodes below the first bytes of a set: more cannot be worth a walk */
#define SLOTS (4 * MAX_LOOKS)

typedef struct place {
    set *at;
    uint32_t i, end; /* siblings in the trie still to look at */
} place;

typedef struct search {
    use *u;
    measure *m;
    set **queue, **slots; /* all sets met; their table */
    place *path;
    uint32_t n, looks;
    bool complete; /* one of them is */
} search;

/* Where the need is 0 the text can end.  1 or 0; negative: out of memory. */
static int is_complete(search *q, const set *at) {
    if ((at->flags & (SET_ACCEPTING | SET_TOKENS)) != SET_TOKENS) return (at->flags & SET_ACCEPTING) != 0;
    uint64_t need;
    int code = need_by_rules(q->u->s, q->m, at, &need);
    return code != STE_OK ? code : need == 0;
}

static int meet(search *q, set *at) {
    uint32_t slot = (uint32_t)at->hash % SLOTS;
    for (; q->slots[slot] != NULL; slot = (slot + 1) % SLOTS)
        if (q->slots[slot] == at) return STE_OK;
    q->slots[slot] = at;
    q->queue[q->n++] = at; /* at most one for each look */
    int complete = is_complete(q, at);
    if (complete > 0) q->complete = true;
    return complete < 0 ? complete : STE_OK;
}

static bool is_plain(const search *q, const set *at) {
    const trie *t = &q->u->s->vocab->ordinary;
    uint32_t below = 0;
    for (uint32_t byte = 0; byte < 256; byte++)
        if (t->child[byte] != 0 && byteset_has(&at->allow, byte)) below += t->nodes[t->child[byte]].size;
    return (at->flags & (SET_REGISTERS | SET_TOKENS)) == 0 && at->n_scan + at->n_waiters <= MAX_ITEMS &&
           below <= MAX_SUBTREES;
}

/* Meet what every token leads to from here.  1: done; 0: too many looks; negative: failed. */
static int expand(search *q, set *from) {
    const trie *t = &q->u->s->vocab->ordinary;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t child = t->child[byte], depth = 0;
        if (child == 0 || !byteset_has(&from->allow, byte)) continue;
        q->path[0] = (place){from, child, child + t->nodes[child].size};
        for (;;) {
            place *p = &q->path[depth];
            if (p->i == p->end && depth-- == 0) break;
            if (p->i == p->end) continue;
            uint32_t i = p->i, end = i + t->nodes[i].size;
            p->i = end;
            if (++q->looks > MAX_LOOKS) return 0;
            if (!byteset_has(&p->at->allow, t->nodes[i].byte)) continue;
            set *next = set_step(q->u, p->at, t->nodes[i].byte);
            if (next == NULL) return q->u->code;
            if (content_token(q->m, t, i) != TRIE_NO_TOKEN) {
                int code = meet(q, next);
                if (code != STE_OK) return code;
            }
            if (i + 1 < end && !byteset_empty(&next->allow)) q->path[++depth] = (place){next, i + 1, end};
        }
    }
    return 1;
}

static int run(search *q, set *from, uint64_t below, uint64_t *distance) {
    int code = meet(q, from);
    if (code != STE_OK || q->complete) return code; /* nothing is below 0 */
    for (uint32_t head = 0, tail = 1, depth = 1; depth < below && head < tail; depth++, tail = q->n) {
        for (; head < tail; head++) {
            code = is_plain(q, q->queue[head]) ? expand(q, q->queue[head]) : 0;
            if (code != 1) return code;
        }
        if (!q->complete) continue;
        *distance = depth;
        return 1;
    }
    return 0;
}

int search_least(use *u, measure *m, set *from, uint64_t below, uint64_t *distance) {
    store *s = u->s;
    search q = {.u = u, .m = m};
    size_t depth = s->vocab->ordinary.max_length + 2;
    q.queue = store_alloc(s, (MAX_LOOKS + 1) * sizeof *q.queue);
    q.slots = store_alloc(s, SLOTS * sizeof *q.slots);
    q.path = store_alloc(s, depth * sizeof *q.path);
    bool fine = q.queue != NULL && q.slots != NULL && q.path != NULL;
    int code = fine ? run(&q, from, below, distance) : STE_ERR_NO_MEMORY;
    store_free(s, q.queue, (MAX_LOOKS + 1) * sizeof *q.queue);
    store_free(s, q.slots, SLOTS * sizeof *q.slots);
    store_free(s, q.path, depth * sizeof *q.path);
    return code;
}
