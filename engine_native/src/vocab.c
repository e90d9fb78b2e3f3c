/* vocab.c - see vocab.h. */
#include "regions.h"

#include "utf8.h"

/* ---- the token index ---- */

uint64_t byte_class(uint32_t byte) {
    uint32_t bit;
    for (uint32_t i = 0; i < CHAR_PARTLY; i++)
        if (byte == char_partly[i]) return UINT64_C(1) << (38 + i); /* 38 .. 42 */
    if (byte >= 0xF0)
        bit = 62;
    else if (byte >= 0xE0)
        bit = 61;
    else if (byte >= 0xC0)
        bit = 60;
    else if (byte >= 0x80)
        bit = 59;
    else if (byte >= 'a' && byte <= 'z')
        bit = 50 + (byte - 'a') / 7; /* 50 .. 53 */
    else if (byte >= 'A' && byte <= 'Z')
        bit = 54 + (byte - 'A') / 7; /* 54 .. 57 */
    else if (byte >= '0' && byte <= '9')
        bit = 58;
    else if (byte < 0x20)
        bit = byte == '\t' ? 0 : byte == '\n' ? 1 : byte == '\r' ? 2 : 3;
    else if (byte < '0')
        bit = 4 + byte - 0x20; /* 4 .. 19 */
    else if (byte < 'A')
        bit = 20 + byte - ':'; /* 20 .. 26 */
    else if (byte < 'a')
        bit = 27 + byte - '['; /* 27 .. 32 */
    else
        bit = 33 + byte - '{'; /* 33 .. 37 */
    return UINT64_C(1) << bit;
}

static void index_free(ste_vocab *v) {
    const ste_allocator *a = &v->allocator;
    token_index *x = &v->index;
    for (int b = 0; b < 128; b++) mem_free(a, x->containing[b], v->words, sizeof(uint32_t));
    mem_free(a, x->whole, v->words, sizeof(uint32_t));
    mem_free(a, x->ascii, v->words, sizeof(uint32_t));
    for (int i = 0; i < SHORT_CHARS; i++) mem_free(a, x->up_to[i], v->words, sizeof(uint32_t));
    mem_free(a, x->longer, v->n_tokens, sizeof(uint32_t));
    mem_free(a, x->longer_chars, v->n_tokens, sizeof(uint32_t));
    mem_free(a, x->classes, v->ordinary.n_nodes, sizeof(uint64_t));
}

/* Characters of a token that is valid UTF-8; UINT32_MAX if it is not. */
static uint32_t count_chars(const uint8_t *s, size_t n) {
    uint32_t count = 0, cp;
    for (size_t i = 0; i < n; count++) {
        uint32_t k = utf8_decode(s + i, n - i, &cp);
        if (k == 0) return UINT32_MAX;
        i += k;
    }
    return count;
}

static bool index_token(ste_vocab *v, uint32_t t) {
    const ste_allocator *a = &v->allocator;
    token_index *x = &v->index;
    const uint8_t *s = v->bytes + v->offsets[t];
    size_t n = v->offsets[t + 1] - v->offsets[t];
    if (n == 0 || bit_get(v->special, t)) return true;
    bool ascii = true;
    for (size_t i = 0; i < n; i++) {
        if (s[i] >= 0x80) {
            ascii = false;
            continue;
        }
        uint32_t **row = &x->containing[s[i]];
        if (*row == NULL) *row = mem_new(a, v->words, sizeof **row);
        if (*row == NULL) return false;
        bit_set(*row, t);
    }
    if (ascii) bit_set(x->ascii, t);
    uint32_t chars = count_chars(s, n);
    if (chars == UINT32_MAX) return true;
    bit_set(x->whole, t);
    if (chars < SHORT_CHARS) {
        bit_set(x->up_to[chars], t);
    } else {
        uint32_t at = x->n_longer++;
        for (; at > 0 && x->longer_chars[at - 1] < chars; at--) {
            x->longer[at] = x->longer[at - 1];
            x->longer_chars[at] = x->longer_chars[at - 1];
        }
        x->longer[at] = t;
        x->longer_chars[at] = chars;
    }
    return true;
}

static bool index_build(ste_vocab *v) {
    const ste_allocator *a = &v->allocator;
    token_index *x = &v->index;
    const trie *t = &v->ordinary;
    x->whole = mem_new(a, v->words, sizeof(uint32_t));
    x->ascii = mem_new(a, v->words, sizeof(uint32_t));
    x->longer = mem_new(a, v->n_tokens, sizeof(uint32_t));
    x->longer_chars = mem_new(a, v->n_tokens, sizeof(uint32_t));
    x->classes = mem_new(a, t->n_nodes, sizeof(uint64_t));
    if (x->whole == NULL || x->ascii == NULL || x->longer == NULL || x->longer_chars == NULL || x->classes == NULL) return false;
    for (int i = 0; i < SHORT_CHARS; i++)
        if ((x->up_to[i] = mem_new(a, v->words, sizeof(uint32_t))) == NULL) return false;
    for (uint32_t id = 0; id < v->n_tokens; id++)
        if (!index_token(v, id)) return false;
    for (int i = 1; i < SHORT_CHARS; i++) bits_or(x->up_to[i], x->up_to[i - 1], v->words);
    for (uint32_t i = t->n_nodes; i-- > 1;) { /* children come after their parents */
        x->classes[i] |= byte_class(t->nodes[i].byte);
        uint32_t token = t->nodes[i].token;
        if (token != TRIE_NO_TOKEN && !bit_get(x->whole, token)) x->classes[i] |= CLASS_NOT_WHOLE;
        if (token != TRIE_NO_TOKEN && v->offsets[token + 1] - v->offsets[token] > SHORT_CHARS) x->classes[i] |= CLASS_LONG;
        for (uint32_t c = i + 1; c < i + t->nodes[i].size; c += t->nodes[c].size) x->classes[i] |= x->classes[c];
    }
    return true;
}

static void destroy(ste_vocab *v) {
    const ste_allocator a = v->allocator;
    index_free(v);
    leavers_free(v);
    regions_free(v);
    mem_free(&a, v->bytes, v->n_bytes, 1);
    mem_free(&a, v->offsets, (size_t)v->n_tokens + 1, sizeof *v->offsets);
    mem_free(&a, v->special, v->words, sizeof *v->special);
    mem_free(&a, v->stop, v->n_stop, sizeof *v->stop);
    trie_free(&v->ordinary, &a);
    trie_free(&v->specials, &a);
    mem_free(&a, v, 1, sizeof *v);
}

static int check(const uint64_t *offsets, uint32_t n_tokens, uint32_t vocab_size, const uint32_t *special,
                 uint32_t n_special, const uint32_t *stop, uint32_t n_stop, ste_error *err) {
    if (n_tokens == 0) return fail(err, STE_ERR_ARGUMENT, 0, "vocabulary without tokens");
    if (vocab_size < n_tokens || vocab_size > (1u << 30))
        return fail(err, STE_ERR_ARGUMENT, 0, "vocabulary size %u for %u tokens", vocab_size, n_tokens);
    for (uint32_t t = 0; t < n_tokens; t++)
        if (offsets[t] > offsets[t + 1])
            return fail(err, STE_ERR_ARGUMENT, 0, "offsets decrease at token %u", t);
    for (uint32_t i = 0; i < n_special; i++)
        if (special[i] >= vocab_size)
            return fail(err, STE_ERR_ARGUMENT, 0, "special token %u outside the vocabulary of %u", special[i], vocab_size);
    for (uint32_t i = 0; i < n_stop; i++)
        if (stop[i] >= vocab_size)
            return fail(err, STE_ERR_ARGUMENT, 0, "stop token %u outside the vocabulary of %u", stop[i], vocab_size);
    return STE_OK;
}

int ste_vocab_new_with(const ste_allocator *allocator, const uint8_t *bytes, const uint64_t *offsets,
                       uint32_t n_tokens, uint32_t vocab_size, const uint32_t *special, uint32_t n_special,
                       const uint32_t *stop, uint32_t n_stop, ste_vocab **out, ste_error *err) {
    int code = check(offsets, n_tokens, vocab_size, special, n_special, stop, n_stop, err);
    if (code != STE_OK) return code;
    const ste_allocator a = *allocator;
    uint32_t *ids = NULL;
    ste_vocab *v = mem_new(&a, 1, sizeof *v);
    if (v == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
    v->allocator = a;
    atomic_init(&v->references, 1);
    v->n_tokens = n_tokens;
    v->size = vocab_size;
    v->words = (vocab_size + 31) / 32;
    v->n_bytes = offsets[n_tokens];
    v->n_stop = n_stop;
    v->bytes = mem_new(&a, v->n_bytes, 1);
    v->offsets = mem_new(&a, (size_t)n_tokens + 1, sizeof *v->offsets);
    v->special = mem_new(&a, v->words, sizeof *v->special);
    v->stop = mem_new(&a, n_stop, sizeof *v->stop);
    ids = mem_new(&a, n_tokens, sizeof *ids);
    if (v->bytes == NULL || v->offsets == NULL || v->special == NULL || v->stop == NULL || ids == NULL) {
        code = fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
        goto failed;
    }
    if (v->n_bytes != 0) memcpy(v->bytes, bytes, v->n_bytes);
    memcpy(v->offsets, offsets, ((size_t)n_tokens + 1) * sizeof *offsets);
    if (n_stop != 0) memcpy(v->stop, stop, n_stop * sizeof *stop);
    for (uint32_t i = 0; i < n_special; i++) bit_set(v->special, special[i]);

    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        for (uint32_t t = 0; t < n_tokens; t++)
            if (offsets[t + 1] > offsets[t] && bit_get(v->special, t) == (pass == 1)) ids[n++] = t;
        code = trie_build(pass == 0 ? &v->ordinary : &v->specials, &a, v->bytes, v->offsets, ids, n, n_tokens, err);
        if (code != STE_OK) goto failed;
    }
    if (!index_build(v)) {
        code = fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
        goto failed;
    }
    char_kind json = {.beyond = BEYOND_ALL}; /* what every grammar with JSON in it will ask for */
    json_characters(&json.ascii);
    const regions *runs = vocab_leavers(v, &json) == NULL ? NULL : vocab_regions(v, &json);
    if (runs == NULL || region_below(v, runs, 0) == NULL) {
        code = fail(err, STE_ERR_NO_MEMORY, 0, "vocabulary of %u tokens", n_tokens);
        goto failed;
    }
    mem_free(&a, ids, n_tokens, sizeof *ids);
    *out = v;
    return STE_OK;

failed:
    mem_free(&a, ids, n_tokens, sizeof *ids);
    destroy(v);
    return code;
}

int ste_vocab_new(const uint8_t *bytes, const uint64_t *offsets, uint32_t n_tokens, uint32_t vocab_size,
                  const uint32_t *special, uint32_t n_special, const uint32_t *stop, uint32_t n_stop,
                  ste_vocab **out, ste_error *err) {
    return ste_vocab_new_with(&mem_default_allocator, bytes, offsets, n_tokens, vocab_size, special, n_special, stop,
                              n_stop, out, err);
}

ste_vocab *vocab_retain(ste_vocab *v) {
    atomic_fetch_add_explicit(&v->references, 1, memory_order_relaxed);
    return v;
}

void ste_vocab_free(ste_vocab *v) {
    if (v != NULL && atomic_fetch_sub_explicit(&v->references, 1, memory_order_acq_rel) == 1) destroy(v);
}

uint32_t ste_vocab_size(const ste_vocab *v) { return v->size; }
uint32_t ste_vocab_mask_words(const ste_vocab *v) { return v->words; }
