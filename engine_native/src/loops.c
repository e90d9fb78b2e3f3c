/* loops.c - sets that come back to themselves on most characters: string bodies, free text; and sets that
 * one such character leads into them, as the opening quote of a counted string does.
 *
 * In such a set every token made of loop characters is allowed, and leavers.c
 * knows which those are; only tokens with another byte, or with a cut
 * character, are left to be walked.
 *
 * A counted repeat of one character is a loop too once its bounds are set aside
 * (set_unbounded): a token of k loop characters then needs k repetitions.  One
 * that needs more than the bound leaves is refused, unless what follows the
 * repeat could take its last characters (mask.c looks).
 *
 * Cost, once per set: a step by each ASCII byte that the set takes and, if
 * enough of them lead back to it, a step by each byte of longer characters;
 * nothing for sets that take few bytes. */
#include "store.h"

/* From `at`, k more continuation bytes in lo..hi, then 0x80..0xBF, must lead back to `home`. */
static int returns_home(use *u, set *at, uint32_t lo, uint32_t hi, uint32_t k, const set *home) {
    set *only = NULL;
    for (uint32_t byte = lo; byte <= hi; byte++) {
        if (!byteset_has(&at->allow, byte)) return 0;
        set *to = set_step(u, at, byte);
        if (to == NULL) return -1;
        if (k == 1 ? to != home : only != NULL && to != only) return 0;
        only = to;
    }
    return k == 1 ? 1 : returns_home(u, only, 0x80, 0xBF, k - 1, home);
}

/* 1: every character beyond ASCII leads from `at` to `home`; 0: not; negative: failed. */
static int loops_on_utf8(use *u, set *at, const set *home_set) {
    /* First bytes and the range of the second (RFC 3629, section 4). */
    static const struct {
        uint8_t first, last, lo, hi, left;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 1}, {0xE0, 0xE0, 0xA0, 0xBF, 2}, {0xE1, 0xEC, 0x80, 0xBF, 2},
                 {0xED, 0xED, 0x80, 0x9F, 2}, {0xEE, 0xEF, 0x80, 0xBF, 2}, {0xF0, 0xF0, 0x90, 0xBF, 3},
                 {0xF1, 0xF3, 0x80, 0xBF, 3}, {0xF4, 0xF4, 0x80, 0x8F, 3}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        set *only = NULL;
        for (uint32_t byte = forms[i].first; byte <= forms[i].last; byte++) {
            if (!byteset_has(&at->allow, byte)) return 0;
            set *to = set_step(u, at, byte);
            if (to == NULL) return -1;
            if (only != NULL && to != only) return 0;
            only = to;
        }
        int home = returns_home(u, only, forms[i].lo, forms[i].hi, forms[i].left, home_set);
        if (home != 1) return home;
    }
    return 1;
}

/* Fewer loop bytes than this settle too few tokens to be worth the rows. */
#define LEAST_LOOP 64

/* The ASCII characters that lead from `at` to `home` and keep it there; negative: failed. */
static int looping(use *u, set *at, set *home, byteset *ascii) {
    int n = 0;
    memset(ascii, 0, sizeof *ascii);
    for (uint32_t byte = 0; byte < 128; byte++) {
        if (!byteset_has(&at->allow, byte) || !byteset_has(&home->allow, byte)) continue;
        set *to = set_step(u, at, byte), *again = to == home && at != home ? set_step(u, home, byte) : to;
        if (to == NULL || again == NULL) return -1;
        if (to != home || again != home) continue;
        byteset_add_range(ascii, byte, byte);
        n++;
    }
    return n;
}

/* Where the loop of `at` would be: itself, or where a letter leads. */
static bool find_loop(use *u, set *at, loop *l) {
    static const char letters[] = "eQ7_"; /* one of them may lead elsewhere */
    set *home = at;
    int n = looping(u, at, home, &l->ascii);
    for (const char *c = letters; *c != '\0' && n >= 0 && n < LEAST_LOOP; c++) {
        if (!byteset_has(&at->allow, (uint8_t)*c)) continue;
        home = set_step(u, at, (uint8_t)*c);
        if (home == NULL) return false;
        byteset inner;
        int stays = home == at ? 0 : looping(u, home, home, &inner);
        n = stays < LEAST_LOOP ? stays : looping(u, at, home, &l->ascii);
        /* A character of the loop that does not lead into it: then the tokens with it are too many to be left over. */
        if (n >= LEAST_LOOP && memcmp(&inner, &l->ascii, sizeof inner) != 0) n = 0;
    }
    if (n < LEAST_LOOP) return n >= 0;
    int utf8 = loops_on_utf8(u, at, home);
    if (utf8 == 1 && home != at) utf8 = loops_on_utf8(u, home, home);
    if (utf8 < 0) return false;
    l->utf8 = utf8 == 1;
    l->stays = home == at;
    l->exits = (home->flags & SET_EXITS) != 0;
    l->is_loop = true;
    return true;
}

const loop *set_loop(use *u, set *at) {
    store *s = u->s;
    loop *known = atomic_load_explicit(&at->loop, memory_order_acquire);
    if (known != NULL) return known;
    loop l = {0};
    uint32_t possible = (uint32_t)__builtin_popcountll(at->allow.w[0]) + (uint32_t)__builtin_popcountll(at->allow.w[1]);
    if (possible >= LEAST_LOOP && !find_loop(u, at, &l)) return NULL;
    loop *made = store_alloc(s, sizeof *made);
    if (made == NULL) return NULL;
    *made = l;
    pthread_mutex_lock(&s->grow);
    known = atomic_load_explicit(&at->loop, memory_order_relaxed);
    if (known == NULL) atomic_store_explicit(&at->loop, made, memory_order_release);
    pthread_mutex_unlock(&s->grow);
    if (known == NULL) return made;
    store_free(s, made, sizeof *made);
    return known;
}

#define LONGEST_ESCAPE 6

int set_is_endless(use *u, set *at) {
    for (int ahead = 0; ahead <= LONGEST_ESCAPE; ahead++) {
        const loop *l = set_loop(u, at);
        if (l == NULL) return -1;
        if (l->is_loop) return 1;
        uint32_t byte = 0;
        while (byte < 256 && !byteset_has(&at->allow, byte)) byte++;
        if (byte == 256) return 0;
        at = set_step(u, at, byte);
        if (at == NULL) return -1;
    }
    return 0;
}

const leavers *loop_leavers(store *s, const loop *l) { return vocab_leavers(s->vocab, &l->ascii, l->utf8); }

void loop_tokens(const store *s, const leavers *l, uint64_t most, uint32_t *words) {
    const token_index *x = &s->vocab->index;
    uint32_t n = s->vocab->words;
    memcpy(words, l->staying, n * sizeof *words);
    for (uint32_t i = 0; most < SHORT_CHARS && i < n; i++) words[i] &= x->up_to[most][i];
    for (uint32_t i = 0; most >= SHORT_CHARS && i < x->n_longer && x->longer_chars[i] > most; i++)
        bit_clear(words, x->longer[i]);
}
