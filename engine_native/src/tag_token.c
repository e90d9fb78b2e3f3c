/* tag_token.c - formats of whole tokens, whatever their bytes: one, all but some, many, and those that lead to a format.
 *
 * A token is named by its id or its text; a text means every token that has it.
 * Tokens without bytes stand for nothing.  Among tokens that are free, those
 * that end the enclosing tag are missing: its token, or a text that is exactly
 * one special token. */
#include "tag.h"

static void mark_text(tagger *t, const json *at, uint32_t *marked) {
    const trie *tries[2] = {&t->b->vocab->ordinary, &t->b->vocab->specials};
    bool found = false;
    for (int k = 0; k < 2; k++) {
        size_t length = 0;
        uint32_t token = trie_longest_prefix(tries[k], (const uint8_t *)at->u.text, at->n, &length);
        for (; length == at->n && token != TRIE_NO_TOKEN; token = tries[k]->next_same[token]) {
            bit_set(marked, token);
            found = true;
        }
    }
    if (!found) json_escape(t->b->w, at, STE_ERR_TAG, "the vocabulary has no token \"%.80s\"", at->u.text);
}

/* Mark every token with this id or text. */
static void mark_tokens(tagger *t, const json *at, uint32_t *marked) {
    const ste_vocab *v = t->b->vocab;
    uint32_t id;
    if (at->kind == JSON_STRING && at->n != 0) {
        mark_text(t, at, marked);
    } else if (at->kind == JSON_NUMBER && json_count(at, &id)) {
        if (id >= v->n_tokens) json_escape(t->b->w, at, STE_ERR_TAG, "token %s is outside the vocabulary of %u", at->u.text, v->n_tokens);
        bit_set(marked, id);
    } else {
        tag_bad(t, at, "a token must be an id or a text that is not empty");
    }
}

static uint32_t *no_tokens(tagger *t) { return arena_alloc(&t->b->w->mem, t->b->vocab->words + 1, sizeof(uint32_t)); }

/* One token that is marked, or one that is not. */
static expr *token_of(tagger *t, const uint32_t *marked, bool wanted) {
    builder *b = t->b;
    const ste_vocab *v = b->vocab;
    VEC(expr *) ranges = {0};
    for (uint32_t id = 0, lo = 0, open = 0; id <= v->n_tokens; id++) {
        bool in = id < v->n_tokens && v->offsets[id] != v->offsets[id + 1] && bit_get(marked, id) == wanted;
        if (in && open == 0) lo = id;
        if (!in && open != 0) vec_push(&b->w->mem, &ranges, expr_tokens(b, lo, id - 1));
        open = in;
    }
    return expr_choice(b, ranges.at, ranges.n);
}

expr *one_token(tagger *t, const json *at, ends outer) {
    (void)outer;
    uint32_t *marked = no_tokens(t);
    mark_tokens(t, field(t, at, "token"), marked);
    return token_of(t, marked, true);
}

/* The tokens that end what stands around. */
static uint32_t *ending_tokens(tagger *t, ends outer) {
    uint32_t *marked = no_tokens(t);
    for (uint32_t i = 0; i < outer.n; i++) {
        const uint32_t *symbols;
        if (outer.at[i]->kind != JSON_STRING) {
            mark_tokens(t, json_get(outer.at[i], "token"), marked);
            continue;
        }
        uint32_t n = literal_symbols(t->b, outer.at[i]->u.text, outer.at[i]->n, &symbols);
        for (uint32_t token = n == 1 && sym_is_token(symbols[0]) ? symbols[0] - SYM_TOKEN : TRIE_NO_TOKEN; token != TRIE_NO_TOKEN;
             token = t->b->vocab->specials.next_same[token])
            bit_set(marked, token);
    }
    return marked;
}

static uint32_t *excluded_tokens(tagger *t, const json *at, ends outer) {
    const json *list = json_get(at, "exclude_tokens");
    uint32_t *marked = ending_tokens(t, outer);
    if (list != NULL && list->kind != JSON_ARRAY) tag_bad(t, list, "exclude_tokens must be a list of tokens");
    for (uint32_t i = 0; list != NULL && i < list->n; i++) mark_tokens(t, &list->u.items[i], marked);
    return marked;
}

expr *exclude_token(tagger *t, const json *at, ends outer) { return token_of(t, excluded_tokens(t, at, outer), false); }

expr *any_tokens(tagger *t, const json *at, ends outer) {
    uint32_t most = most_field(t, at, "max_tokens");
    return expr_repeat(t->b, exclude_token(t, at, outer), 0, most);
}

/* ---- tokens that lead to a format ---- */

typedef struct token_texts {
    tagger *t;
    uint32_t *excluded; /* own and enclosing; then also all triggers: these are not free */
    uint32_t *own, *triggers;
    VEC(expr *) then;   /* each begins with its trigger */
} token_texts;

static token_texts token_text(tagger *t, const json *at, ends outer) {
    token_texts x = {.t = t, .excluded = excluded_tokens(t, at, outer), .triggers = no_tokens(t)};
    x.own = excluded_tokens(t, at, (ends){0});
    return x;
}

/* The tokens of one trigger; no two triggers share one. */
static uint32_t *add_trigger(token_texts *x, const json *trigger) {
    uint32_t *marked = no_tokens(x->t);
    mark_tokens(x->t, trigger, marked);
    for (uint32_t i = 0; i < x->t->b->vocab->words; i++) {
        if ((marked[i] & x->triggers[i]) != 0) tag_bad(x->t, trigger, "two triggers are the same token");
        if ((marked[i] & x->own[i]) != 0) tag_bad(x->t, trigger, "the trigger can never occur: the token is excluded");
        x->triggers[i] |= marked[i];
    }
    return marked;
}

/* The trigger without the tokens that end what stands around, and then the rest. */
static void add_then(token_texts *x, const uint32_t *trigger, expr *rest) {
    uint32_t *left = no_tokens(x->t);
    for (uint32_t i = 0; i < x->t->b->vocab->words; i++) left[i] = trigger[i] & ~x->excluded[i];
    vec_push(&x->t->b->w->mem, &x->then, expr_pair(x->t->b, token_of(x->t, left, true), rest));
}

static expr *free_tokens(token_texts *x) {
    uint32_t *taken = no_tokens(x->t);
    for (uint32_t i = 0; i < x->t->b->vocab->words; i++) taken[i] = x->excluded[i] | x->triggers[i];
    return expr_repeat(x->t->b, token_of(x->t, taken, false), 0, REPEAT_INFINITE);
}

/* Free tokens, with any number of the `then` among them, or with at most one and nothing after it. */
static expr *token_text_expr(token_texts *x, bool loop) {
    builder *b = x->t->b;
    expr *text = free_tokens(x), *then = expr_choice(b, x->then.at, x->then.n);
    if (!loop) return expr_pair(b, text, expr_optional(b, then));
    return expr_pair(b, text, expr_repeat(b, expr_pair(b, then, text), 0, REPEAT_INFINITE));
}

expr *token_dispatch(tagger *t, const json *at, ends outer) {
    const json *rules = list_field(t, at, "rules", "rules");
    bool loop = flag_field(t, at, "loop", true);
    token_texts x = token_text(t, at, outer);
    for (uint32_t i = 0; i < rules->n; i++) {
        const uint32_t *trigger = add_trigger(&x, rule_pattern(t, rules, i));
        add_then(&x, trigger, format_expr(t, rule_format(rules, i), outer));
        work_charge(t->b->w, 1 + t->b->vocab->words / 64);
    }
    return token_text_expr(&x, loop);
}

static bool same_tokens(const tagger *t, const uint32_t *a, const uint32_t *b) {
    return memcmp(a, b, t->b->vocab->words * sizeof *a) == 0;
}

expr *token_triggered_tags(tagger *t, const json *at, ends outer) {
    builder *b = t->b;
    const json *triggers = list_field(t, at, "trigger_tokens", "tokens"), *list = list_field(t, at, "tags", "tags");
    bool at_least_one = flag_field(t, at, "at_least_one", false), stop_after_first = flag_field(t, at, "stop_after_first", false);
    token_texts x = token_text(t, at, outer);
    uint32_t **of = arena_alloc(&b->w->mem, triggers->n, sizeof *of);
    for (uint32_t i = 0; i < triggers->n; i++) of[i] = add_trigger(&x, &triggers->u.items[i]);
    tag_parts *tags = read_tags(t, list);
    expr **whole = arena_alloc(&b->w->mem, list->n, sizeof *whole);
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t *begin = no_tokens(t), k = 0;
        if (tags[i].begin->kind == JSON_STRING) tag_bad(t, tags[i].begin, "a tag here must begin with a token");
        mark_tokens(t, json_get(tags[i].begin, "token"), begin);
        while (k < triggers->n && !same_tokens(t, begin, of[k])) k++;
        if (k == triggers->n) tag_bad(t, tags[i].begin, "the tag's begin is none of the trigger tokens");
        work_charge(b->w, 1 + t->b->vocab->words / 64);
        whole[i] = whole_tag(t, &tags[i]);
        bool ends_outer = false;
        for (uint32_t w = 0; w < b->vocab->words; w++) ends_outer = ends_outer || (begin[w] & x.excluded[w]) != 0;
        if (!ends_outer) vec_push(&b->w->mem, &x.then, whole[i]);
    }
    expr *first = expr_choice(b, whole, list->n);
    if (at_least_one && stop_after_first) return first;
    expr *text = token_text_expr(&x, !stop_after_first);
    return at_least_one ? expr_pair(b, first, text) : text;
}
