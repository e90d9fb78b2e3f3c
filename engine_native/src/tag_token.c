/* tag_token.c - formats of whole tokens, whatever their bytes: one, all but some, many, and those that lead to a format.
 *
 * A token is named by its id or its text; a text means every token that has it.
 * Tokens without bytes stand for nothing.  Among tokens that are free, those
 * that end the enclosing tag are missing: its token, or a text that is exactly
 * one special token. */
#include "tag.h"

typedef VEC(uint32_t) id_list;

static void add_text(tagger *t, const json *at, id_list *to) {
    const trie *tries[2] = {&t->b->vocab->ordinary, &t->b->vocab->specials};
    uint32_t before = to->n;
    for (int k = 0; k < 2; k++) {
        size_t length = 0;
        uint32_t token = trie_longest_prefix(tries[k], (const uint8_t *)at->u.text, at->n, &length);
        for (; length == at->n && token != TRIE_NO_TOKEN; token = tries[k]->next_same[token]) vec_push(&t->b->w->mem, to, token);
    }
    if (to->n == before) json_escape(t->b->w, at, STE_ERR_TAG, "the vocabulary has no token \"%.80s\"", at->u.text);
}

/* Every token with this id or text. */
static void add_tokens(tagger *t, const json *at, id_list *to) {
    const ste_vocab *v = t->b->vocab;
    uint32_t id;
    if (at->kind == JSON_STRING && at->n != 0) {
        add_text(t, at, to);
    } else if (at->kind == JSON_NUMBER && json_count(at, &id)) {
        if (id >= v->n_tokens) json_escape(t->b->w, at, STE_ERR_TAG, "token %s is outside the vocabulary of %u", at->u.text, v->n_tokens);
        vec_push(&t->b->w->mem, to, id);
    } else {
        tag_bad(t, at, "a token must be an id or a text that is not empty");
    }
}

static bool has_bytes(const ste_vocab *v, uint32_t id) { return v->offsets[id] != v->offsets[id + 1]; }

/* One of the tokens that are not marked. */
static expr *other_token(tagger *t, const uint32_t *marked) {
    builder *b = t->b;
    const ste_vocab *v = b->vocab;
    VEC(expr *) ranges = {0};
    work_charge(b->w, 1 + v->n_tokens / 64);
    for (uint32_t id = 0, lo = 0, open = 0; id <= v->n_tokens; id++) {
        bool in = id < v->n_tokens && has_bytes(v, id) && !bit_get(marked, id);
        if (in && open == 0) lo = id;
        if (!in && open != 0) vec_push(&b->w->mem, &ranges, expr_tokens(b, lo, id - 1));
        open = in;
    }
    return expr_choice(b, ranges.at, ranges.n);
}

/* One of the listed tokens, but for those that are marked (NULL: none is). */
static expr *listed_token(tagger *t, const id_list *ids, const uint32_t *marked) {
    VEC(expr *) tokens = {0};
    for (uint32_t i = 0; i < ids->n; i++) {
        uint32_t id = ids->at[i];
        if (has_bytes(t->b->vocab, id) && (marked == NULL || !bit_get(marked, id)))
            vec_push(&t->b->w->mem, &tokens, expr_tokens(t->b, id, id));
    }
    return expr_choice(t->b, tokens.at, tokens.n);
}

expr *one_token(tagger *t, const json *at, ends outer) {
    (void)outer;
    id_list ids = {0};
    add_tokens(t, field(t, at, "token"), &ids);
    return listed_token(t, &ids, NULL);
}

/* Mark the tokens that end what stands around. */
static void mark_ends(tagger *t, ends outer, uint32_t *marked) {
    const trie *specials = &t->b->vocab->specials;
    for (uint32_t i = 0; i < outer.n; i++) {
        const uint32_t *symbols;
        id_list ids = {0};
        if (outer.at[i]->kind != JSON_STRING) add_tokens(t, json_get(outer.at[i], "token"), &ids);
        for (uint32_t k = 0; k < ids.n; k++) bit_set(marked, ids.at[k]);
        uint32_t n = outer.at[i]->kind != JSON_STRING ? 0 : literal_symbols(t->b, outer.at[i]->u.text, outer.at[i]->n, &symbols);
        for (uint32_t id = n == 1 && sym_is_token(symbols[0]) ? symbols[0] - SYM_TOKEN : TRIE_NO_TOKEN; id != TRIE_NO_TOKEN; id = specials->next_same[id])
            bit_set(marked, id);
    }
}

/* Those that the format excludes itself, and, with `outer`, those that end what stands around. */
static uint32_t *excluded_tokens(tagger *t, const json *at, ends outer) {
    const json *list = json_get(at, "exclude_tokens");
    uint32_t *marked = arena_alloc(&t->b->w->mem, t->b->vocab->words + 1, sizeof *marked);
    id_list ids = {0};
    if (list != NULL && list->kind != JSON_ARRAY) tag_bad(t, list, "exclude_tokens must be a list of tokens");
    for (uint32_t i = 0; list != NULL && i < list->n; i++) add_tokens(t, &list->u.items[i], &ids);
    for (uint32_t i = 0; i < ids.n; i++) bit_set(marked, ids.at[i]);
    mark_ends(t, outer, marked);
    return marked;
}

expr *exclude_token(tagger *t, const json *at, ends outer) { return other_token(t, excluded_tokens(t, at, outer)); }

expr *any_tokens(tagger *t, const json *at, ends outer) {
    uint32_t most = most_field(t, at, "max_tokens");
    return expr_repeat(t->b, exclude_token(t, at, outer), 0, most);
}

/* ---- tokens that lead to a format ---- */

typedef struct token_texts {
    tagger *t;
    uint32_t *own, *ending; /* tokens that are excluded: by the format itself; or also by what stands around */
    uint32_t *owner;        /* by token: the trigger that it is, + 1 */
    VEC(id_list) triggers;
    VEC(expr *) then;       /* each begins with its trigger */
} token_texts;

static token_texts token_text(tagger *t, const json *at, ends outer) {
    token_texts x = {.t = t, .own = excluded_tokens(t, at, (ends){0}), .ending = excluded_tokens(t, at, outer)};
    x.owner = arena_alloc(&t->b->w->mem, t->b->vocab->n_tokens + 1, sizeof *x.owner);
    return x;
}

static void add_trigger(token_texts *x, const json *trigger) {
    id_list ids = {0};
    add_tokens(x->t, trigger, &ids);
    for (uint32_t i = 0; i < ids.n; i++) {
        if (x->owner[ids.at[i]] != 0) tag_bad(x->t, trigger, "two triggers are the same token");
        if (bit_get(x->own, ids.at[i])) tag_bad(x->t, trigger, "the trigger can never occur: the token is excluded");
        x->owner[ids.at[i]] = x->triggers.n + 1;
    }
    vec_push(&x->t->b->w->mem, &x->triggers, ids);
}

static expr *free_tokens(token_texts *x) {
    const ste_vocab *v = x->t->b->vocab;
    uint32_t *taken = arena_copy(&x->t->b->w->mem, x->ending, (v->words + 1) * sizeof *taken);
    for (uint32_t id = 0; id < v->n_tokens; id++)
        if (x->owner[id] != 0) bit_set(taken, id);
    return expr_repeat(x->t->b, other_token(x->t, taken), 0, REPEAT_INFINITE);
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
        add_trigger(&x, rule_pattern(t, rules, i));
        expr *then = format_expr(t, rule_format(rules, i), outer);
        vec_push(&t->b->w->mem, &x.then, expr_pair(t->b, listed_token(t, &x.triggers.at[i], x.ending), then));
    }
    return token_text_expr(&x, loop);
}

/* The trigger that the tag's begin is; UINT32_MAX if it ends what stands around. */
static uint32_t trigger_of_tag(token_texts *x, const json *begin) {
    id_list ids = {0};
    if (begin->kind == JSON_STRING) tag_bad(x->t, begin, "a tag here must begin with a token");
    add_tokens(x->t, json_get(begin, "token"), &ids);
    uint32_t trigger = x->owner[ids.at[0]];
    bool same = trigger != 0 && x->triggers.at[trigger - 1].n == ids.n, ends_outer = false;
    for (uint32_t i = 0; i < ids.n; i++) {
        same = same && x->owner[ids.at[i]] == trigger;
        ends_outer = ends_outer || bit_get(x->ending, ids.at[i]);
    }
    if (!same) tag_bad(x->t, begin, "the tag's begin is none of the trigger tokens");
    return ends_outer ? UINT32_MAX : trigger - 1;
}

expr *token_triggered_tags(tagger *t, const json *at, ends outer) {
    builder *b = t->b;
    const json *triggers = list_field(t, at, "trigger_tokens", "tokens"), *list = list_field(t, at, "tags", "tags");
    bool at_least_one = flag_field(t, at, "at_least_one", false), stop_after_first = flag_field(t, at, "stop_after_first", false);
    token_texts x = token_text(t, at, outer);
    for (uint32_t i = 0; i < triggers->n; i++) add_trigger(&x, &triggers->u.items[i]);
    tag_parts *tags = read_tags(t, list);
    expr **whole = arena_alloc(&b->w->mem, list->n, sizeof *whole);
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t trigger = trigger_of_tag(&x, tags[i].begin);
        whole[i] = whole_tag(t, &tags[i]);
        if (trigger != UINT32_MAX) vec_push(&b->w->mem, &x.then, whole[i]);
    }
    expr *first = expr_choice(b, whole, list->n);
    if (at_least_one && stop_after_first) return first;
    expr *text = token_text_expr(&x, !stop_after_first);
    return at_least_one ? expr_pair(b, first, text) : text;
}
