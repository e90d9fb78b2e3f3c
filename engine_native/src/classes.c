/* classes.c - which bytes are alike to a set: steps are remembered once for all of them.
 *
 * Bytes are alike to a state if the same edges take them, and to a set if they are
 * to each of its scan items' states.  A string body knows about ten kinds of bytes,
 * most states two or three.  Partitions are interned, and counted by the states and
 * sets that have them; the partition of two together is remembered, until a collection.
 *
 * Cost: once per state a comparison of its edges with each other, once per pair of
 * partitions a pass over the 256 bytes.  All of it wants `grow`. */
#include "distinct.h"

/* A partition in the making. */
typedef struct draft {
    uint32_t n, n_runs, next; /* the first byte without a class */
    uint8_t of[256], last[256];
} draft;

/* Bytes next..last are of this class. */
static void add_run(draft *d, uint32_t last, uint32_t class) {
    memset(d->of + d->next, (uint8_t)class, last + 1 - d->next);
    d->last[d->n_runs++] = (uint8_t)last;
    d->next = last + 1;
}

static byte_classes *intern(store *s, const draft *d) {
    uint64_t hash = hash_bytes(d->of, sizeof d->of, d->n);
    byte_classes *c = table_first(&s->classes, hash);
    for (; c != NULL; c = c->chain)
        if (c->hash == hash && c->n == d->n && memcmp(c->of, d->of, sizeof d->of) == 0) {
            c->references++;
            return c;
        }
    if (!table_reserve(s, &s->classes)) return NULL;
    c = store_alloc(s, sizeof *c + d->n_runs);
    if (c == NULL) return NULL;
    c->hash = hash;
    c->references = 1;
    c->n = d->n;
    c->n_runs = d->n_runs;
    memcpy(c->of, d->of, sizeof d->of);
    memcpy(c->last, d->last, d->n_runs);
    table_add(&s->classes, c);
    return c;
}

void classes_release(store *s, byte_classes *c) {
    if (c == NULL || --c->references != 0) return;
    table_remove(&s->classes, c);
    store_free(s, c, sizeof *c + c->n_runs);
}

/* Edges are sorted.  Where they do not overlap, a class is all edges with one target; else each stretch of bytes is one. */
static byte_classes *of_state(store *s, state *st) {
    if (st->classes != NULL) return st->classes;
    draft d = {.n = 0};
    uint8_t number[256]; /* of edges */
    bool overlap = false;
    for (uint32_t e = 1; e < st->n_bytes && !overlap; e++) overlap = st->bytes[e].lo <= st->bytes[e - 1].hi;
    for (uint32_t e = 0; e < st->n_bytes && !overlap; e++) {
        uint32_t k = 0;
        while (st->bytes[k].to != st->bytes[e].to) k++;
        number[e] = k < e ? number[k] : (uint8_t)d.n++;
    }
    for (uint32_t e = 0; e < st->n_bytes && !overlap; e++) {
        if (st->bytes[e].lo > d.next) add_run(&d, st->bytes[e].lo - 1u, d.n);
        add_run(&d, st->bytes[e].hi, number[e]);
    }
    if (overlap) {
        for (uint32_t byte = 0; byte < 256; byte++) d.n += byteset_has(&st->allow, byte);
        for (uint32_t byte = 0, k = 0; byte < 256; byte++) add_run(&d, byte, byteset_has(&st->allow, byte) ? k++ : d.n);
    }
    if (d.next < 256) add_run(&d, 255, d.n);
    st->classes = intern(s, &d);
    return st->classes;
}

/* The classes of a cut by those of b; for the caller to release. */
static byte_classes *cut(store *s, const byte_classes *a, const byte_classes *b) {
    enum { SLOTS = 512 };
    uint32_t pairs[SLOTS]; /* + 1, by hash; each pair gets a number when it is first met */
    uint16_t number[SLOTS], of_run[256];
    uint8_t last[256];
    uint32_t n = 0, n_runs = 0;
    memset(pairs, 0, sizeof pairs);
    for (uint32_t i = 0, k = 0, byte = 0; byte < 256; n_runs++) {
        uint32_t x = a->of[byte], y = b->of[byte];
        uint32_t until = a->last[i] < b->last[k] ? a->last[i] : b->last[k], slot = (uint32_t)hash_mix(x, y) % SLOTS;
        i += a->last[i] == until;
        k += b->last[k] == until;
        while (pairs[slot] != 0 && pairs[slot] != x * 256 + y + 1) slot = (slot + 1) % SLOTS;
        bool refused = x == a->n && y == b->n;
        if (!refused && pairs[slot] == 0) {
            pairs[slot] = x * 256 + y + 1;
            number[slot] = (uint16_t)n++;
        }
        of_run[n_runs] = refused ? UINT16_MAX : number[slot];
        last[n_runs] = (uint8_t)until;
        byte = until + 1;
    }
    draft d = {.n = n};
    for (uint32_t r = 0; r < n_runs; r++) add_run(&d, last[r], of_run[r] == UINT16_MAX ? n : of_run[r]);
    return intern(s, &d);
}

static void forget_pair(store *s, class_pair *p) {
    class_pair was = *p;
    *p = (class_pair){NULL, NULL, NULL};
    classes_release(s, was.a);
    classes_release(s, was.b);
    classes_release(s, was.both);
}

void classes_forget_pairs(store *s) {
    for (uint32_t i = 0; i < CLASS_PAIRS; i++) forget_pair(s, &s->pairs[i]);
}

static byte_classes *cut_known(store *s, byte_classes *a, byte_classes *b) {
    uint64_t hash = hash_mix(hash_mix(0, (uint64_t)(uintptr_t)a), (uint64_t)(uintptr_t)b);
    class_pair *known = &s->pairs[hash % CLASS_PAIRS];
    if (known->a != a || known->b != b) {
        byte_classes *both = cut(s, a, b);
        if (both == NULL) return NULL;
        a->references++;
        b->references++;
        forget_pair(s, known);
        *known = (class_pair){a, b, both};
    }
    known->both->references++;
    return known->both;
}

/* Within an element whose text is not known, what is alike to the element's set. */
static byte_classes *of_item(store *s, const item *it) {
    return it->state->inside ? progress_of(it)->at->classes : of_state(s, (state *)(uintptr_t)it->state);
}

byte_classes *classes_of_none(store *s) {
    draft d = {.n = 1};
    add_run(&d, 255, 0);
    return intern(s, &d);
}

byte_classes *classes_of(store *s, const item *scan, uint32_t n) {
    byte_classes *all = of_item(s, &scan[0]);
    if (all == NULL) return NULL;
    all->references++;
    for (uint32_t i = 1; i < n; i++) {
        if (scan[i].state == scan[i - 1].state && !scan[i].state->inside) continue;
        byte_classes *c = of_item(s, &scan[i]);
        if (c == all) continue;
        byte_classes *both = c == NULL ? NULL : cut_known(s, all, c);
        classes_release(s, all);
        if (both == NULL) return NULL;
        all = both;
    }
    return all;
}
