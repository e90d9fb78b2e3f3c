/* tag_text.c - free text: what it must not contain, how long it may be, what leads out of it. */
#include "tag.h"

ends with_strings(tagger *t, ends outer, const json *list) {
    if (list == NULL) return outer;
    if (list->kind != JSON_ARRAY) json_escape(t->b->w, list, STE_ERR_TAG, "%s must be a list of strings", list->key);
    ends all = {arena_alloc(&t->b->w->mem, outer.n + list->n + 1, sizeof *all.at), outer.n};
    if (outer.n != 0) memcpy(all.at, outer.at, outer.n * sizeof *all.at);
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->u.items[i].kind != JSON_STRING || list->u.items[i].n == 0)
            tag_bad(t, &list->u.items[i], "expected a string that is not empty");
        all.at[all.n++] = &list->u.items[i];
    }
    return all;
}

static dispatch_pattern pattern_of(tagger *t, const json *text, expr *then) {
    dispatch_pattern p = {.then = then};
    p.n = literal_symbols(t->b, text->u.text, text->n, &p.symbols);
    return p;
}

typedef VEC(dispatch_pattern) patterns;

static void add_excluded(tagger *t, patterns *to, ends excluded) {
    for (uint32_t i = 0; i < excluded.n; i++)
        if (excluded.at[i]->kind == JSON_STRING) vec_push(&t->b->w->mem, to, pattern_of(t, excluded.at[i], NULL));
}

expr *triggered_text(tagger *t, const json *triggers, expr *const *then, ends excluded, bool loop) {
    patterns all = {0};
    for (uint32_t i = 0; i < triggers->n; i++)
        vec_push(&t->b->w->mem, &all, pattern_of(t, &triggers->u.items[i], then[i]));
    add_excluded(t, &all, excluded);
    return expr_dispatch(t->b, all.at, all.n, loop);
}

expr *any_text(tagger *t, const json *at, ends outer) {
    uint32_t tokens = most_field(t, at, "max_tokens"), chars = most_field(t, at, "max_chars");
    patterns all = {0};
    add_excluded(t, &all, with_strings(t, outer, json_get(at, "excludes")));
    if (tokens == 0 || chars == 0) return expr_empty(t->b);
    expr *text = expr_dispatch(t->b, all.at, all.n, true);
    meter limits = {.most_tokens = tokens == REPEAT_INFINITE ? 0 : tokens, .most_chars = chars == REPEAT_INFINITE ? 0 : chars};
    return limits.most_tokens == 0 && limits.most_chars == 0 ? text : expr_metered(t->b, text, limits);
}

/* ---- dispatch ---- */

static void check_patterns(tagger *t, const json *rules, const json *excludes, const patterns *all) {
    dispatch_clash clash;
    if (!dispatch_clashes(t->b, all->at, all->n, &clash)) return;
    const json *pattern = rule_pattern(t, rules, clash.pattern);
    if (clash.by >= rules->n)
        json_escape(t->b->w, pattern, STE_ERR_TAG, "the pattern can never occur: it contains \"%.80s\", which is excluded",
                    excludes->u.items[clash.by - rules->n].u.text);
    const json *by = rule_pattern(t, rules, clash.by);
    if (json_equal_bytes(pattern, by->u.text, by->n)) tag_bad(t, pattern, "two rules have the same pattern");
    json_escape(t->b->w, pattern, STE_ERR_TAG, "the pattern can never occur: it contains \"%.80s\", the pattern of another rule", by->u.text);
}

expr *dispatch(tagger *t, const json *at, ends outer) {
    const json *rules = list_field(t, at, "rules", "rules"), *excludes = json_get(at, "excludes");
    bool loop = flag_field(t, at, "loop", true);
    ends own = with_strings(t, (ends){0}, excludes);
    patterns all = {0};
    for (uint32_t i = 0; i < rules->n; i++) {
        const json *pattern = rule_pattern(t, rules, i);
        if (pattern->kind != JSON_STRING || pattern->n == 0) tag_bad(t, pattern, "a pattern must be a string that is not empty");
        expr *then = format_expr(t, rule_format(rules, i), outer);
        vec_push(&t->b->w->mem, &all, pattern_of(t, pattern, then));
    }
    add_excluded(t, &all, own);
    check_patterns(t, rules, excludes, &all);
    add_excluded(t, &all, outer);
    return expr_dispatch(t->b, all.at, all.n, loop);
}
