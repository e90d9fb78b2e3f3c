/* tag.c - structural tags: the JSON description of what stands around and between constrained parts.
 *
 * A format is an object with a "type"; its fields are listed in `fields`, and
 * any other field is an error that names it.  A literal (const_string, begin,
 * end, trigger, separator) that spells a special token's text stands for that
 * token.
 *
 * End exclusion.  Free text ends where the nearest enclosing tag's `end` may
 * begin, so those strings must not occur in it: they are passed down to any_text
 * and triggered_tags until another tag takes over. */
#include "front.h"
#include "json_text.h"

typedef struct ends {
    const json **at; /* strings, none empty */
    uint32_t n;
} ends;

typedef struct tagger {
    builder *b;
    schema_context *schemas;
    const char *text; /* the whole, in which nodes have offsets */
    int whitespace;
} tagger;

static expr *format_expr(tagger *t, const json *at, ends outer);

/* ---- fields ---- */

STE_NORETURN static void bad(tagger *t, const json *at, const char *what) {
    json_escape(t->b->w, at, STE_ERR_TAG, "%s", what);
}

static const struct {
    const char *type, *fields;
} known_fields[] = {
    {"const_string", "value"},
    {"json_schema", "json_schema style any_order max_whitespace_cnt excludes"},
    {"regex", "pattern"},
    {"any_text", "excludes max_tokens max_chars"},
    {"token", "token"},
    {"exclude_token", "exclude_tokens"},
    {"any_tokens", "exclude_tokens max_tokens"},
    {"sequence", "elements"},
    {"or", "elements"},
    {"optional", "content"},
    {"star", "content"},
    {"plus", "content"},
    {"repeat", "min max content"},
    {"tag", "begin content end"},
    {"triggered_tags", "triggers tags at_least_one stop_after_first excludes"},
    {"tags_with_separator", "tags separator at_least_one stop_after_first"},
    {"structural_tag", "format"},
    {"structural_tag (legacy)", "structures triggers"},
    {"structure", "begin schema end"},
};

static bool in_words(const char *words, const char *word, size_t n) {
    for (const char *p = words; *p != '\0';) {
        size_t k = strcspn(p, " ");
        if (k == n && memcmp(p, word, n) == 0) return true;
        p += k;
        p += *p == ' ';
    }
    return false;
}

/* Whole tags and legacy structures stand around formats. */
static bool is_format(const char *type) { return strncmp(type, "struct", 6) != 0; }

static void check_fields(tagger *t, const json *at, const char *type) {
    for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++) {
        if (strcmp(known_fields[i].type, type) != 0) continue;
        for (uint32_t k = 0; k < at->n; k++) {
            const json *field = &at->u.items[k];
            bool general = in_words("type", field->key, field->key_n) ||
                           (is_format(type) && in_words("capture", field->key, field->key_n));
            if (!general && !in_words(known_fields[i].fields, field->key, field->key_n))
                json_escape(t->b->w, field, STE_ERR_TAG, "%s has no field \"%.80s\"", type, field->key);
        }
        return;
    }
    const json *name = json_get(at, "type");
    json_escape(t->b->w, name != NULL ? name : at, STE_ERR_TAG, "unknown format type \"%.80s\"", type);
}

static const json *field(tagger *t, const json *at, const char *name) {
    const json *f = json_get(at, name);
    if (f == NULL) json_escape(t->b->w, at, STE_ERR_TAG, "field \"%s\" is missing", name);
    return f;
}

static const json *text_field(tagger *t, const json *at, const char *name) {
    const json *f = field(t, at, name);
    if (f->kind != JSON_STRING) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a string", name);
    return f;
}

static bool flag_field(tagger *t, const json *at, const char *name) {
    const json *f = json_get(at, name);
    if (f == NULL) return false;
    if (!json_is_bool(f)) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a boolean", name);
    return f->kind == JSON_TRUE;
}

static const json *list_field(tagger *t, const json *at, const char *name, const char *what) {
    const json *f = field(t, at, name);
    if (f->kind != JSON_ARRAY || f->n == 0) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a list of %s that is not empty", name, what);
    return f;
}

static void unsupported_unless(tagger *t, const json *at, const char *name, bool fine) {
    if (!fine) json_escape(t->b->w, json_get(at, name), STE_ERR_UNSUPPORTED, "field \"%s\" is not supported", name);
}

static bool absent_or_null(const json *at, const char *name) {
    const json *f = json_get(at, name);
    return f == NULL || f->kind == JSON_NULL;
}

static void add_strings(tagger *t, ends *to, const json *list) {
    if (list == NULL) return;
    if (list->kind != JSON_ARRAY) json_escape(t->b->w, list, STE_ERR_TAG, "%s must be a list of strings", list->key);
    const json **grown = arena_alloc(&t->b->w->mem, to->n + list->n + 1, sizeof *grown);
    if (to->n != 0) memcpy(grown, to->at, to->n * sizeof *grown);
    to->at = grown;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->u.items[i].kind != JSON_STRING || list->u.items[i].n == 0)
            bad(t, &list->u.items[i], "expected a string that is not empty");
        to->at[to->n++] = &list->u.items[i];
    }
}

static expr *literal(tagger *t, const json *text) { return expr_literal(t->b, text->u.text, text->n); }

/* ---- captures ---- */

/* e, which is what the format `at` matches after its first `lead` bytes; under its name, if it has one. */
static expr *captured(tagger *t, const json *at, expr *e, uint32_t lead) {
    const json *name = json_get(at, "capture");
    if (name == NULL) return e;
    if (name->kind != JSON_STRING || name->n == 0) bad(t, name, "capture must be a string that is not empty");
    return expr_capture(t->b, e, (capture){name->u.text, name->n, lead});
}

/* ---- free text ---- */

static dispatch_pattern pattern_of(tagger *t, const json *text, expr *then) {
    dispatch_pattern p = {.then = then};
    p.n = literal_symbols(t->b, text->u.text, text->n, &p.symbols);
    return p;
}

static expr *free_text(tagger *t, const dispatch_pattern *patterns, uint32_t n, ends excluded, bool loop) {
    arena *mem = &t->b->w->mem;
    dispatch_pattern *all = arena_alloc(mem, n + excluded.n + 1, sizeof *all);
    if (n != 0) memcpy(all, patterns, n * sizeof *all);
    for (uint32_t i = 0; i < excluded.n; i++) all[n + i] = pattern_of(t, excluded.at[i], NULL);
    return expr_dispatch(t->b, all, n + excluded.n, loop);
}

static expr *any_text(tagger *t, const json *at, ends outer) {
    unsupported_unless(t, at, "max_tokens", absent_or_null(at, "max_tokens"));
    unsupported_unless(t, at, "max_chars", absent_or_null(at, "max_chars"));
    add_strings(t, &outer, json_get(at, "excludes"));
    return free_text(t, NULL, 0, outer, true);
}

/* ---- tokens as units ---- */

/* Mark every token with this id or text. */
static void mark_tokens(tagger *t, const json *at, uint32_t *marked) {
    const ste_vocab *v = t->b->vocab;
    uint32_t id;
    if (at->kind == JSON_STRING && at->n != 0) {
        const trie *tries[2] = {&v->ordinary, &v->specials};
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
    } else if (at->kind == JSON_NUMBER && json_count(at, &id)) {
        if (id >= v->n_tokens) json_escape(t->b->w, at, STE_ERR_TAG, "token %u is outside the vocabulary of %u", id, v->n_tokens);
        bit_set(marked, id);
    } else {
        bad(t, at, "a token must be an id or a text that is not empty");
    }
}

/* One token that is marked, or one that is not; tokens without bytes are none. */
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

static expr *excluded_token(tagger *t, const json *at) {
    const json *list = json_get(at, "exclude_tokens");
    uint32_t *marked = arena_alloc(&t->b->w->mem, t->b->vocab->words + 1, sizeof *marked);
    if (list != NULL && list->kind != JSON_ARRAY) bad(t, list, "exclude_tokens must be a list of tokens");
    for (uint32_t i = 0; list != NULL && i < list->n; i++) mark_tokens(t, &list->u.items[i], marked);
    return token_of(t, marked, false);
}

static expr *one_token(tagger *t, const json *at) {
    uint32_t *marked = arena_alloc(&t->b->w->mem, t->b->vocab->words + 1, sizeof *marked);
    mark_tokens(t, field(t, at, "token"), marked);
    return token_of(t, marked, true);
}

static expr *any_tokens(tagger *t, const json *at) {
    uint32_t most = REPEAT_INFINITE;
    const json *max = json_get(at, "max_tokens");
    if (max != NULL && max->kind != JSON_NULL && (!json_count(max, &most) || most > INT32_MAX))
        bad(t, max, "max_tokens must be null or an integer from 0 to 2^31 - 1");
    return expr_repeat(t->b, excluded_token(t, at), 0, most);
}

/* ---- tags ---- */

typedef struct tag_parts {
    const json *at;
    const json *begin, *end_text;
    expr *content, *end;
} tag_parts;

/* Can free text stand at the end of this format, so that only an `end` can tell where it stops? */
static bool unlimited(const json *at, bool *excludes) {
    const json *type = json_get(at, "type"), *inner;
    if (type == NULL || type->kind != JSON_STRING) return false;
    if (json_is_text(type, "any_text") || json_is_text(type, "triggered_tags")) {
        const json *own = json_get(at, "excludes");
        if (own != NULL && own->n > 0) *excludes = true;
        return true;
    }
    if (json_is_text(type, "star") || json_is_text(type, "plus") || json_is_text(type, "tags_with_separator") ||
        (json_is_text(type, "any_tokens") && absent_or_null(at, "max_tokens")))
        return true;
    inner = json_get(at, "content");
    if (inner != NULL && !json_is_text(type, "tag")) return unlimited(inner, excludes);
    inner = json_get(at, "elements");
    for (uint32_t i = 0; inner != NULL && i < inner->n; i++)
        if (unlimited(&inner->u.items[i], excludes)) return true;
    return false;
}

static tag_parts read_tag(tagger *t, const json *at) {
    if (at->kind != JSON_OBJECT) bad(t, at, "a tag must be an object");
    const json *type = json_get(at, "type");
    if (type != NULL && !json_is_text(type, "tag")) bad(t, type, "expected a tag here");
    check_fields(t, at, "tag");
    tag_parts p = {.at = at, .begin = text_field(t, at, "begin")};
    const json *content = field(t, at, "content"), *end = field(t, at, "end");
    const json *list = end->kind == JSON_ARRAY ? end->u.items : end;
    uint32_t n = end->kind == JSON_ARRAY ? end->n : 1;
    if (n == 0) bad(t, end, "end must be a string or a list of strings that is not empty");
    expr **choices = arena_alloc(&t->b->w->mem, n, sizeof *choices);
    ends inner = {arena_alloc(&t->b->w->mem, n, sizeof *inner.at), 0};
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].kind != JSON_STRING) bad(t, &list[i], "end must be a string or a list of strings that is not empty");
        choices[i] = literal(t, &list[i]);
        if (list[i].n != 0) inner.at[inner.n++] = &list[i];
    }
    bool excludes = false;
    if (inner.n == 0 && content->kind == JSON_OBJECT && unlimited(content, &excludes) && !excludes)
        bad(t, end, "the content has no limit of its own, so an end must not be empty");
    p.end_text = end;
    p.content = format_expr(t, content, inner);
    p.end = expr_choice(t->b, choices, n);
    return p;
}


/* The one trigger that the tag's begin starts with; what follows it must be whole symbols. */
static uint32_t trigger_of(tagger *t, const json *triggers, const tag_parts *p) {
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < triggers->n; i++) {
        const json *trigger = &triggers->u.items[i];
        if (p->begin->n < trigger->n || memcmp(p->begin->u.text, trigger->u.text, trigger->n) != 0) continue;
        if (found != UINT32_MAX) bad(t, p->begin, "the tag's begin starts with more than one trigger");
        found = i;
    }
    if (found == UINT32_MAX) bad(t, p->begin, "the tag's begin starts with none of the triggers");
    const json *trigger = &triggers->u.items[found];
    const uint32_t *whole, *part;
    uint32_t n_whole = literal_symbols(t->b, p->begin->u.text, p->begin->n, &whole);
    uint32_t n_part = literal_symbols(t->b, trigger->u.text, trigger->n, &part);
    if (n_part > n_whole || memcmp(whole, part, n_part * sizeof *part) != 0)
        bad(t, trigger, "the trigger ends inside the text of a special token");
    return found;
}

static bool is_captured(const tag_parts *p) { return json_get(p->at, "capture") != NULL; }

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
            expr *rest = expr_literal(t->b, tags[i].begin->u.text + skip, tags[i].begin->n - skip);
            expr *whole = expr_sequence(t->b, (expr *[]){rest, tags[i].content, tags[i].end}, 3);
            vec_push(mem, &groups, captured(t, tags[i].at, whole, skip));
            continue;
        }
        uint32_t m = 0;
        for (uint32_t j = i; j < n; j++) {
            if (done[j] || trigger[j] != k || is_captured(&tags[j])) continue;
            if (!json_equal(tags[i].end_text, tags[j].end_text)) continue;
            done[j] = true;
            expr *rest = expr_literal(t->b, tags[j].begin->u.text + skip, tags[j].begin->n - skip);
            same[m++] = expr_pair(t->b, rest, tags[j].content);
        }
        work_charge(t->b->w, n / 16);
        vec_push(mem, &groups, expr_pair(t->b, expr_choice(t->b, same, m), tags[i].end));
    }
    return groups.n == 0 ? NULL : expr_choice(t->b, groups.at, groups.n);
}

static expr *triggered(tagger *t, const json *triggers, const tag_parts *tags, uint32_t n, ends excluded, bool at_least_one,
                       bool stop_after_first) {
    builder *b = t->b;
    arena *mem = &b->w->mem;
    dispatch_pattern *patterns = arena_alloc(mem, triggers->n, sizeof *patterns);
    uint32_t *trigger = arena_alloc(mem, n, sizeof *trigger), *none = arena_alloc(mem, n, sizeof *none);
    for (uint32_t i = 0; i < triggers->n; i++)
        if (triggers->u.items[i].kind != JSON_STRING || triggers->u.items[i].n == 0)
            bad(t, &triggers->u.items[i], "a trigger must be a string that is not empty");
    for (uint32_t i = 0; i < n; i++) trigger[i] = trigger_of(t, triggers, &tags[i]);
    expr *first = at_least_one ? any_tag(t, tags, n, none, 0, 0) : NULL;
    if (at_least_one && stop_after_first) return first;
    /* A trigger without a tag can never go on: never allowed, like an exclusion. */
    for (uint32_t k = 0; k < triggers->n; k++)
        patterns[k] = pattern_of(t, &triggers->u.items[k], any_tag(t, tags, n, trigger, k, triggers->u.items[k].n));
    expr *text = free_text(t, patterns, triggers->n, excluded, !stop_after_first);
    return at_least_one ? expr_pair(b, first, text) : text;
}

static tag_parts *read_tags(tagger *t, const json *list) {
    tag_parts *tags = arena_alloc(&t->b->w->mem, list->n, sizeof *tags);
    for (uint32_t i = 0; i < list->n; i++) tags[i] = read_tag(t, &list->u.items[i]);
    return tags;
}

static expr *triggered_tags(tagger *t, const json *at, ends outer) {
    const json *triggers = list_field(t, at, "triggers", "strings"), *list = list_field(t, at, "tags", "tags");
    add_strings(t, &outer, json_get(at, "excludes"));
    return triggered(t, triggers, read_tags(t, list), list->n, outer, flag_field(t, at, "at_least_one"),
                     flag_field(t, at, "stop_after_first"));
}

static expr *tags_with_separator(tagger *t, const json *at) {
    builder *b = t->b;
    const json *list = list_field(t, at, "tags", "tags"), *separator = text_field(t, at, "separator");
    tag_parts *tags = read_tags(t, list);
    uint32_t *none = arena_alloc(&b->w->mem, list->n, sizeof *none);
    expr *one = expr_rule(b, rule_of(b, any_tag(t, tags, list->n, none, 0, 0)));
    expr *all = one;
    if (!flag_field(t, at, "stop_after_first"))
        all = expr_pair(b, one, expr_repeat(b, expr_pair(b, literal(t, separator), one), 0, REPEAT_INFINITE));
    return flag_field(t, at, "at_least_one") ? all : expr_optional(b, all);
}

/* ---- the other formats ---- */

/* The rule of a schema inside the tag, by its text; see names.c. */
static expr *schema_rule(tagger *t, const json *schema, bool any_order) {
    const char *text = t->text + schema->offset;
    size_t n = schema->end - schema->offset;
    int layout = any_order ? layout_with_any_order(t->whitespace) : t->whitespace;
    expr *known = expr_named(t->b, text, n, layout);
    if (known != NULL) return known;
    json_expand(t->b->w, t->text, schema);
    if (!layout_any_order(layout) && schema_plain(schema)) return expr_to_name(t->b, text, n, layout);
    schema_context *context = layout == t->whitespace ? t->schemas : schema_context_new(t->b, layout);
    expr *made = schema_expr(context, schema);
    assert(made->kind == EXPR_RULE);
    vec_push(&t->b->w->mem, &t->b->texts, (text_rule){made->u.id, schema, text, n, layout});
    return made;
}

static expr *json_schema(tagger *t, const json *at) {
    const json *style = json_get(at, "style"), *excludes = json_get(at, "excludes");
    unsupported_unless(t, at, "style", style == NULL || json_is_text(style, "json"));
    unsupported_unless(t, at, "max_whitespace_cnt", absent_or_null(at, "max_whitespace_cnt"));
    unsupported_unless(t, at, "excludes", excludes == NULL || (excludes->kind == JSON_ARRAY && excludes->n == 0));
    const json *schema = field(t, at, "json_schema");
    if (schema->kind != JSON_RAW && !json_is_bool(schema)) bad(t, schema, "json_schema must be an object or a boolean");
    return schema_rule(t, schema, flag_field(t, at, "any_order"));
}

static expr *elements(tagger *t, const json *at, ends outer, bool choice) {
    const json *list = list_field(t, at, "elements", "formats");
    expr **parts = arena_alloc(&t->b->w->mem, list->n, sizeof *parts);
    for (uint32_t i = 0; i < list->n; i++) parts[i] = format_expr(t, &list->u.items[i], outer);
    return choice ? expr_choice(t->b, parts, list->n) : expr_sequence(t->b, parts, list->n);
}

static expr *repeat(tagger *t, const json *at, ends outer) {
    uint32_t min, max = REPEAT_INFINITE;
    const json *low = field(t, at, "min"), *high = field(t, at, "max");
    if (!json_count(low, &min) || min > INT32_MAX) bad(t, low, "min must be an integer from 0 to 2^31 - 1");
    bool infinite = high->kind == JSON_NUMBER && strcmp(high->u.text, "-1") == 0;
    if (!infinite && (!json_count(high, &max) || max > INT32_MAX)) bad(t, high, "max must be -1 or an integer from 0 to 2^31 - 1");
    if (max < min) bad(t, high, "max is less than min");
    return expr_repeat(t->b, format_expr(t, field(t, at, "content"), outer), min, max);
}

static expr *uncaptured(tagger *t, const json *at, ends outer) {
    builder *b = t->b;
    if (at->kind != JSON_OBJECT) bad(t, at, "a format must be an object");
    const json *type = field(t, at, "type");
    if (type->kind != JSON_STRING) bad(t, type, "type must be a string");
    const char *name = type->u.text;
    if (in_words("structural_tag structure", name, type->n)) bad(t, type, "this type cannot stand here");
    if (in_words("grammar dispatch token_triggered_tags token_dispatch qwen_xml_parameter", name, type->n))
        json_escape(b->w, type, STE_ERR_UNSUPPORTED, "format type \"%s\" is not supported", name);
    check_fields(t, at, name);
    if (strcmp(name, "const_string") == 0) return literal(t, text_field(t, at, "value"));
    if (strcmp(name, "json_schema") == 0) return json_schema(t, at);
    if (strcmp(name, "regex") == 0) {
        const json *pattern = text_field(t, at, "pattern");
        if (pattern->n == 0) bad(t, pattern, "pattern must not be empty");
        return regex_expr(b, pattern->u.text, pattern->n, pattern);
    }
    if (strcmp(name, "any_text") == 0) return any_text(t, at, outer);
    if (strcmp(name, "token") == 0) return one_token(t, at);
    if (strcmp(name, "exclude_token") == 0) return excluded_token(t, at);
    if (strcmp(name, "any_tokens") == 0) return any_tokens(t, at);
    if (strcmp(name, "sequence") == 0) return elements(t, at, outer, false);
    if (strcmp(name, "or") == 0) return elements(t, at, outer, true);
    if (strcmp(name, "optional") == 0) return expr_optional(b, format_expr(t, field(t, at, "content"), outer));
    if (strcmp(name, "star") == 0) return expr_repeat(b, format_expr(t, field(t, at, "content"), outer), 0, REPEAT_INFINITE);
    if (strcmp(name, "plus") == 0) return expr_repeat(b, format_expr(t, field(t, at, "content"), outer), 1, REPEAT_INFINITE);
    if (strcmp(name, "repeat") == 0) return repeat(t, at, outer);
    if (strcmp(name, "triggered_tags") == 0) return triggered_tags(t, at, outer);
    if (strcmp(name, "tags_with_separator") == 0) return tags_with_separator(t, at);
    tag_parts p = read_tag(t, at);
    return expr_sequence(b, (expr *[]){literal(t, p.begin), p.content, p.end}, 3);
}

static expr *format_expr(tagger *t, const json *at, ends outer) { return captured(t, at, uncaptured(t, at, outer), 0); }

/* {"structures": [{begin, schema, end}], "triggers": [...]}: triggered tags, each with a schema inside. */
static expr *legacy(tagger *t, const json *at) {
    check_fields(t, at, "structural_tag (legacy)");
    const json *list = list_field(t, at, "structures", "structures"), *triggers = list_field(t, at, "triggers", "strings");
    tag_parts *tags = arena_alloc(&t->b->w->mem, list->n, sizeof *tags);
    for (uint32_t i = 0; i < list->n; i++) {
        const json *one = &list->u.items[i];
        if (one->kind != JSON_OBJECT) bad(t, one, "a structure must be an object");
        check_fields(t, one, "structure");
        const json *schema = field(t, one, "schema");
        if (schema->kind != JSON_RAW && !json_is_bool(schema)) bad(t, schema, "schema must be an object or a boolean");
        const json *end = text_field(t, one, "end");
        tags[i] = (tag_parts){one, text_field(t, one, "begin"), end, schema_rule(t, schema, false), literal(t, end)};
    }
    return triggered(t, triggers, tags, list->n, (ends){0}, false, false);
}

void tag_front(builder *b, const char *text, size_t n, int whitespace) {
    static const char *const schemas[] = {"json_schema", "schema", NULL};
    const json *at = json_parse_around(b->w, text, n, schemas);
    tagger t = {b, schema_context_new(b, whitespace), text, whitespace};
    if (at->kind != JSON_OBJECT) bad(&t, at, "a structural tag must be an object");
    const json *type = json_get(at, "type");
    if (type != NULL && !json_is_text(type, "structural_tag")) bad(&t, type, "type must be \"structural_tag\"");
    expr *root;
    if (json_get(at, "structures") != NULL) {
        root = legacy(&t, at);
    } else {
        check_fields(&t, at, "structural_tag");
        root = format_expr(&t, field(&t, at, "format"), (ends){0});
    }
    b->root = rule_of(b, root);
}
