/* loops.c - sets that come back to themselves on most characters: string bodies, free text; and sets that
 * one such character leads into them, as the opening quote of a counted string does.
 *
 * In such a set every token made of loop characters is allowed, and leavers.c
 * knows which those are, and which leave the loop by which byte: only what comes
 * after that byte is left to be walked.
 *
 * A counted repeat of one character is a loop too once its bounds are set aside
 * (set_unbounded): a token of k loop characters then needs k repetitions.  One
 * that needs more than the bound leaves is refused, unless what follows the
 * repeat, or another reading of the text, could take its characters (mask.c looks).
 *
 * Cost, once per set: a step by each kind of ASCII byte that the set takes and, if
 * enough bytes lead back to it, a look at each byte of longer characters;
 * nothing for sets that take few bytes. */
#include "store.h"
#include "tuning.h"
#include "utf8.h"

/* Sets within a character that are known to lead to one home. */
typedef struct inner_sets {
    const set *home;
    struct {
        const set *at;
        uint8_t lo, left;
    } known[UTF8_FORMS + 4];
    uint32_t n;
} inner_sets;

/* Do bytes lo..hi, and nothing else, lead from `at` to one set, `left` continuation bytes before home? */
static int leads_home(use *u, inner_sets *in, set *at, uint32_t lo, uint32_t hi, uint32_t left) {
    while (left > 0) {
        for (uint32_t i = 0; i < in->n; i++)
            if (in->known[i].at == at && in->known[i].lo == lo && in->known[i].left == left) return 1;
        if (byteset_size(&at->allow) != hi - lo + 1 || (at->flags & (SET_EXITS | SET_ACCEPTING | SET_TOKENS)) != 0) return 0;
        set *only = NULL;
        for (uint32_t byte = lo; byte <= hi; byte++) {
            if (!byteset_has(&at->allow, byte)) return 0;
            set *to = set_step(u, at, byte);
            if (to == NULL) return -1;
            if (only != NULL && to != only) return 0;
            only = to;
        }
        if (left == 1 && only != in->home) return 0;
        if (in->n < sizeof in->known / sizeof *in->known) {
            in->known[in->n].at = at; /* if what follows does not lead home there is no loop, and no use of this */
            in->known[in->n].lo = lo & 255;
            in->known[in->n++].left = left & 255;
        }
        at = only;
        lo = 0x80;
        hi = 0xBF;
        left--;
    }
    return 1;
}

/* 1: every character beyond ASCII leads from `at` to home, and no other bytes beyond ASCII can follow; 0: not;
 * negative: failed. */
static int loops_on_utf8(use *u, set *at, inner_sets *in) {
    byteset none = {{0}};
    byteset_add_range(&none, 0x80, 0xC1);
    byteset_add_range(&none, 0xF5, 0xFF);
    if (((at->allow.w[2] & none.w[2]) | (at->allow.w[3] & none.w[3])) != 0) return 0;
    for (size_t i = 0; i < UTF8_FORMS; i++) {
        const utf8_form *form = &utf8_forms[i];
        set *only = NULL;
        for (uint32_t byte = form->first; byte <= form->last; byte++) {
            if (!byteset_has(&at->allow, byte)) return 0;
            set *to = set_step(u, at, byte);
            if (to == NULL) return -1;
            if (only != NULL && to != only) return 0;
            only = to;
        }
        int home = leads_home(u, in, only, form->lo, form->hi, form->left);
        if (home != 1) return home;
    }
    return 1;
}

/* Fewer loop bytes than this settle too few tokens to be worth the rows. */
#define LEAST_LOOP PAYS_FROM(20, 3)

/* The ASCII characters that lead from `at` to `home` and keep it there; negative: failed. */
static int looping(use *u, set *at, set *home, byteset *ascii) {
    int n = 0;
    memset(ascii, 0, sizeof *ascii);
    const byte_classes *a = at->classes, *b = home->classes;
    if (a == NULL || b == NULL) return 0;
    for (uint32_t byte = 0, i = 0, k = 0, next; byte < 128; byte = next) {
        uint32_t until = a->last[i] < b->last[k] ? a->last[i] : b->last[k];
        i += a->last[i] == until;
        k += b->last[k] == until;
        if (until > 127) until = 127;
        next = until + 1;
        if (!byteset_has(&at->allow, byte) || !byteset_has(&home->allow, byte)) continue;
        set *to = set_step(u, at, byte), *again = to == home && at != home ? set_step(u, home, byte) : to;
        if (to == NULL || again == NULL) return -1;
        if (to != home || again != home) continue;
        byteset_add_range(ascii, byte, until);
        n += (int)(next - byte);
    }
    return n;
}

/* Where the loop of `at` would be: itself, or where a letter leads. */
static bool find_loop(use *u, set *at, loop *l) {
    static const char letters[] = "eQ7_"; /* one of them may lead elsewhere */
    set *home = at;
    int n = looping(u, at, home, &l->on.ascii);
    for (const char *c = letters; *c != '\0' && n >= 0 && n < LEAST_LOOP; c++) {
        if (!byteset_has(&at->allow, (uint8_t)*c)) continue;
        home = set_step(u, at, (uint8_t)*c);
        if (home == NULL) return false;
        byteset inner;
        int stays = home == at ? 0 : looping(u, home, home, &inner);
        n = stays < LEAST_LOOP ? stays : looping(u, at, home, &l->on.ascii);
        /* A character of the loop that does not lead into it: then the tokens with it are too many to be left over. */
        if (n >= LEAST_LOOP && memcmp(&inner, &l->on.ascii, sizeof inner) != 0) n = 0;
    }
    if (n < LEAST_LOOP) return n >= 0;
    if ((home->flags & SET_CUT) != 0) return true;
    inner_sets in = {.home = home};
    int utf8 = loops_on_utf8(u, home, &in);
    if (utf8 == 1 && home != at) utf8 = loops_on_utf8(u, at, &in);
    if (utf8 < 0) return false;
    l->on.beyond = utf8 == 1 ? BEYOND_ALL : BEYOND_NONE;
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
    if (byteset_ascii_size(&at->allow) >= LEAST_LOOP && !find_loop(u, at, &l)) return NULL;
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

const leavers *loop_leavers(store *s, const loop *l) { return vocab_leavers(s->vocab, &l->on); }

void loop_tokens(const store *s, const leavers *l, uint64_t most, uint32_t *words) {
    const token_index *x = &s->vocab->index;
    uint32_t n = s->vocab->words;
    memcpy(words, l->staying, n * sizeof *words);
    for (uint32_t i = 0; most < SHORT_CHARS && i < n; i++) words[i] &= x->up_to[most][i];
    for (uint32_t i = 0; most >= SHORT_CHARS && i < x->n_longer && x->longer_chars[i] > most; i++)
        bit_clear(words, x->longer[i]);
}
