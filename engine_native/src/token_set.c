/* token_set.c - see token_set.h. */
#include "token_set.h"

token_set token_set_new(builder *b) { return (token_set){arena_alloc(&b->w->mem, (size_t)b->vocab->n_tokens / 32 + 1, sizeof(uint32_t))}; }

bool token_set_add_text(builder *b, token_set *s, const char *text, size_t n) {
    const trie *tries[2] = {&b->vocab->ordinary, &b->vocab->specials};
    bool found = false;
    for (int k = 0; k < 2 && n > 0; k++) {
        size_t length = 0;
        uint32_t token = trie_longest_prefix(tries[k], (const uint8_t *)text, n, &length);
        for (; length == n && token != TRIE_NO_TOKEN; token = tries[k]->next_same[token]) {
            bit_set(s->bits, token);
            found = true;
        }
    }
    return found;
}

bool token_set_add_range(builder *b, token_set *s, uint32_t lo, uint32_t hi) {
    if (hi >= b->vocab->n_tokens) return false;
    for (uint32_t id = lo; id <= hi; id++) bit_set(s->bits, id);
    return true;
}

expr *token_set_expr(builder *b, const token_set *s, bool wanted) {
    const ste_vocab *v = b->vocab;
    VEC(expr *) ranges = {0};
    for (uint32_t id = 0, lo = 0, open = 0; id <= v->n_tokens; id++) {
        bool in = id < v->n_tokens && v->offsets[id] != v->offsets[id + 1] && bit_get(s->bits, id) == wanted;
        if (in && open == 0) lo = id;
        if (!in && open != 0) {
            expr *range = expr_tokens(b, lo, id - 1);
            vec_push(&b->w->mem, &ranges, range);
        }
        open = in;
    }
    return expr_choice(b, ranges.at, ranges.n);
}
