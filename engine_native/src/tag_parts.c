/* tag_parts.c - tags: begin, content, end; and the formats made of several of them. */
#include "tag.h"

/* ---- one tag ---- */

static bool has_members(const json *at, const char *name) {
    const json *list = json_get(at, name);
    return list != NULL && list->kind == JSON_ARRAY && list->n > 0;
}

/* Can free text or any number of parts stand at the end of this format, so that only an `end` tells where it stops? */
static bool unlimited(const json *at, bool *excludes) {
    const json *type = json_get(at, "type"), *most = json_get(at, "max_tokens"), *max = json_get(at, "max");
    if (at->kind != JSON_OBJECT || (type != NULL && type->kind != JSON_STRING)) return false;
    const char *name = type != NULL ? type->u.text : json_get(at, "begin") != NULL ? "tag" : json_get(at, "tags") != NULL ? "triggered_tags" : "";
    size_t n = strlen(name);
    if (in_words("tag const_string json_schema regex grammar token exclude_token", name, n) && n != 0) return false;
    if (strcmp(name, "any_tokens") == 0 && most != NULL && most->kind != JSON_NULL) return false;
    if (in_words("any_text any_tokens triggered_tags token_triggered_tags dispatch token_dispatch", name, n)) {
        if (has_members(at, "excludes") || has_members(at, "exclude_tokens")) *excludes = true;
        return true;
    }
    if (in_words("star plus tags_with_separator", name, n)) return true;
    if (max != NULL && max->kind == JSON_NUMBER && max->u.text[0] == '-') return true;
    const json *inner = json_get(at, "content"), *list = json_get(at, "elements");
    if (inner != NULL) return unlimited(inner, excludes);
    for (uint32_t i = 0; list != NULL && list->kind == JSON_ARRAY && i < list->n; i++)
        if (unlimited(&list->u.items[i], excludes)) return true;
    return false;
}

static expr *marker(tagger *t, const json *at) {
    return at->kind == JSON_STRING ? tag_literal(t, at) : format_expr(t, at, (ends){0});
}

static const char end_kinds[] = "end must be a string, a token or a list of strings that is not empty";

tag_parts read_tag(tagger *t, const json *at) {
    if (at->kind != JSON_OBJECT) tag_bad(t, at, "a tag must be an object");
    const json *type = json_get(at, "type");
    if (type != NULL && !json_is_text(type, "tag")) tag_bad(t, type, "expected a tag here");
    check_fields(t, at, "tag", "begin content end", true);
    tag_parts p = {.at = at, .begin = field(t, at, "begin")};
    if (p.begin->kind != JSON_STRING && !is_token(p.begin)) tag_bad(t, p.begin, "begin must be a string or a token");
    const json *content = field(t, at, "content"), *end = field(t, at, "end");
    const json *list = end->kind == JSON_ARRAY ? end->u.items : end;
    uint32_t n = end->kind == JSON_ARRAY ? end->n : 1;
    if (n == 0) tag_bad(t, end, end_kinds);
    expr **choices = arena_alloc(&t->b->w->mem, n, sizeof *choices);
    ends inner = {arena_alloc(&t->b->w->mem, n, sizeof *inner.at), 0};
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].kind != JSON_STRING && (end->kind == JSON_ARRAY || !is_token(end))) tag_bad(t, &list[i], end_kinds);
        choices[i] = marker(t, &list[i]);
        if (list[i].kind != JSON_STRING || list[i].n != 0) inner.at[inner.n++] = &list[i];
    }
    bool excludes = false;
    if (inner.n == 0 && content->kind == JSON_OBJECT && unlimited(content, &excludes) && !excludes)
        tag_bad(t, end, "the content has no limit of its own, so an end must not be empty");
    p.end_node = end;
    p.content = format_expr(t, content, inner);
    p.end = expr_choice(t->b, choices, n);
    return p;
}

tag_parts *read_tags(tagger *t, const json *list) {
    tag_parts *tags = arena_alloc(&t->b->w->mem, list->n, sizeof *tags);
    for (uint32_t i = 0; i < list->n; i++) tags[i] = read_tag(t, &list->u.items[i]);
    return tags;
}

static expr *uncaptured_tag(tagger *t, const tag_parts *p) {
    return expr_sequence(t->b, (expr *[]){marker(t, p->begin), p->content, p->end}, 3);
}

expr *whole_tag(tagger *t, const tag_parts *p) { return captured(t, p->at, uncaptured_tag(t, p), 0); }

expr *tag_format(tagger *t, const json *at, ends outer) {
    (void)outer;
    tag_parts p = read_tag(t, at);
    return uncaptured_tag(t, &p);
}

/* ---- several tags ---- */

static bool is_captured(const tag_parts *p) { return json_get(p->at, "capture") != NULL; }

/* The tag after the first `skip` bytes of its begin, without its end; a begin that is a token is not skipped. */
static expr *after_begin(tagger *t, const tag_parts *p, uint32_t skip) {
    expr *rest = p->begin->kind == JSON_STRING ? expr_literal(t->b, p->begin->u.text + skip, p->begin->n - skip) : marker(t, p->begin);
    return expr_pair(t->b, rest, p->content);
}

/* One of the tags for which trigger[i] == k, after the first `skip` bytes of its begin; tags with the
 * same end share it.  NULL if there are none. */
static expr *any_tag(tagger *t, const tag_parts *tags, uint32_t n, const uint32_t *trigger, uint32_t k, uint32_t skip) {
    arena *mem = &t->b->w->mem;
    bool *done = arena_alloc(mem, n, sizeof *done);
    expr **same = arena_alloc(mem, n, sizeof *same);
    VEC(expr *) groups = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (done[i] || trigger[i] != k) continue;
        if (is_captured(&tags[i])) { /* its end is part of the span */
            vec_push(mem, &groups, captured(t, tags[i].at, expr_pair(t->b, after_begin(t, &tags[i], skip), tags[i].end), skip));
            continue;
        }
        uint32_t m = 0;
        for (uint32_t j = i; j < n; j++) {
            if (done[j] || trigger[j] != k || is_captured(&tags[j])) continue;
            if (!json_equal(tags[i].end_node, tags[j].end_node)) continue;
            done[j] = true;
            same[m++] = after_begin(t, &tags[j], skip);
        }
        work_charge(t->b->w, n / 16);
        vec_push(mem, &groups, expr_pair(t->b, expr_choice(t->b, same, m), tags[i].end));
    }
    return groups.n == 0 ? NULL : expr_choice(t->b, groups.at, groups.n);
}

/* The one trigger that the tag's begin starts with; what follows it must be whole symbols. */
static uint32_t trigger_of(tagger *t, const json *triggers, const tag_parts *p) {
    uint32_t found = UINT32_MAX;
    if (p->begin->kind != JSON_STRING) tag_bad(t, p->begin, "a tag here must begin with a string");
    work_charge(t->b->w, 1 + triggers->n / 64);
    for (uint32_t i = 0; i < triggers->n; i++) {
        const json *trigger = &triggers->u.items[i];
        if (p->begin->n < trigger->n || memcmp(p->begin->u.text, trigger->u.text, trigger->n) != 0) continue;
        if (found != UINT32_MAX) tag_bad(t, p->begin, "the tag's begin starts with more than one trigger");
        found = i;
    }
    if (found == UINT32_MAX) tag_bad(t, p->begin, "the tag's begin starts with none of the triggers");
    const json *trigger = &triggers->u.items[found];
    const uint32_t *whole, *part;
    uint32_t n_whole = literal_symbols(t->b, p->begin->u.text, p->begin->n, &whole);
    uint32_t n_part = literal_symbols(t->b, trigger->u.text, trigger->n, &part);
    if (n_part > n_whole || memcmp(whole, part, n_part * sizeof *part) != 0)
        tag_bad(t, trigger, "the trigger ends inside the text of a special token");
    return found;
}

static expr *triggered(tagger *t, const json *triggers, const tag_parts *tags, uint32_t n, ends excluded, bool at_least_one,
                       bool stop_after_first) {
    arena *mem = &t->b->w->mem;
    expr **then = arena_alloc(mem, triggers->n, sizeof *then);
    uint32_t *trigger = arena_alloc(mem, n, sizeof *trigger), *none = arena_alloc(mem, n, sizeof *none);
    for (uint32_t i = 0; i < triggers->n; i++)
        if (triggers->u.items[i].kind != JSON_STRING || triggers->u.items[i].n == 0)
            tag_bad(t, &triggers->u.items[i], "a trigger must be a string that is not empty");
    for (uint32_t i = 0; i < n; i++) trigger[i] = trigger_of(t, triggers, &tags[i]);
    expr *first = at_least_one ? any_tag(t, tags, n, none, 0, 0) : NULL;
    if (at_least_one && stop_after_first) return first;
    /* A trigger without a tag can never go on: never allowed, like an exclusion. */
    for (uint32_t k = 0; k < triggers->n; k++) then[k] = any_tag(t, tags, n, trigger, k, triggers->u.items[k].n);
    expr *text = triggered_text(t, triggers, then, excluded, !stop_after_first);
    return at_least_one ? expr_pair(t->b, first, text) : text;
}

expr *triggered_tags(tagger *t, const json *at, ends outer) {
    const json *triggers = list_field(t, at, "triggers", "strings"), *list = list_field(t, at, "tags", "tags");
    ends excluded = with_strings(t, outer, json_get(at, "excludes"));
    return triggered(t, triggers, read_tags(t, list), list->n, excluded, flag_field(t, at, "at_least_one", false),
                     flag_field(t, at, "stop_after_first", false));
}

expr *tags_with_separator(tagger *t, const json *at, ends outer) {
    (void)outer;
    builder *b = t->b;
    const json *list = list_field(t, at, "tags", "tags"), *separator = text_field(t, at, "separator");
    tag_parts *tags = read_tags(t, list);
    uint32_t *none = arena_alloc(&b->w->mem, list->n, sizeof *none);
    expr *one = expr_rule(b, rule_of(b, any_tag(t, tags, list->n, none, 0, 0)));
    expr *all = one;
    if (!flag_field(t, at, "stop_after_first", false))
        all = expr_pair(b, one, expr_repeat(b, expr_pair(b, tag_literal(t, separator), one), 0, REPEAT_INFINITE));
    return flag_field(t, at, "at_least_one", false) ? all : expr_optional(b, all);
}

/* ---- the older shape ---- */

expr *legacy_tags(tagger *t, const json *at) {
    check_fields(t, at, "structural_tag (legacy)", "structures tags triggers", false);
    const char *name = json_get(at, "structures") != NULL ? "structures" : "tags";
    const json *list = list_field(t, at, name, "structures"), *triggers = list_field(t, at, "triggers", "strings");
    tag_parts *tags = arena_alloc(&t->b->w->mem, list->n, sizeof *tags);
    for (uint32_t i = 0; i < list->n; i++) {
        const json *one = &list->u.items[i];
        if (one->kind != JSON_OBJECT) tag_bad(t, one, "a structure must be an object");
        check_fields(t, one, "structure", "begin schema end", false);
        const json *end = text_field(t, one, "end"), *schema = field(t, one, "schema");
        tags[i] = (tag_parts){one, text_field(t, one, "begin"), end, schema_or_text(t, schema), tag_literal(t, end)};
    }
    return triggered(t, triggers, tags, list->n, (ends){0}, false, false);
}
