/* tag_field.c - fields of formats: presence, kinds, and errors that name the place. */
#include "tag.h"

void tag_bad(tagger *t, const json *at, const char *what) { json_escape(t->b->w, at, STE_ERR_TAG, "%s", what); }

bool in_words(const char *words, const char *word, size_t n) {
    for (const char *p = words; *p != '\0';) {
        size_t k = strcspn(p, " ");
        if (k == n && memcmp(p, word, n) == 0) return true;
        p += k;
        p += *p == ' ';
    }
    return false;
}

void check_fields(tagger *t, const json *at, const char *type, const char *words, bool captures) {
    for (uint32_t k = 0; k < at->n; k++) {
        const json *one = &at->u.items[k];
        if (in_words("type", one->key, one->key_n) || (captures && in_words("capture", one->key, one->key_n))) continue;
        if (!in_words(words, one->key, one->key_n))
            json_escape(t->b->w, one, STE_ERR_TAG, "%s has no field \"%.80s\"", type, one->key);
    }
}

const json *field(tagger *t, const json *at, const char *name) {
    const json *f = json_get(at, name);
    if (f == NULL) json_escape(t->b->w, at, STE_ERR_TAG, "field \"%s\" is missing", name);
    return f;
}

const json *text_field(tagger *t, const json *at, const char *name) {
    const json *f = field(t, at, name);
    if (f->kind != JSON_STRING) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a string", name);
    return f;
}

bool flag_field(tagger *t, const json *at, const char *name, bool otherwise) {
    const json *f = json_get(at, name);
    if (f == NULL) return otherwise;
    if (!json_is_bool(f)) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a boolean", name);
    return f->kind == JSON_TRUE;
}

const json *list_field(tagger *t, const json *at, const char *name, const char *what) {
    const json *f = field(t, at, name);
    if (f->kind != JSON_ARRAY || f->n == 0) json_escape(t->b->w, f, STE_ERR_TAG, "%s must be a list of %s that is not empty", name, what);
    return f;
}

uint32_t most_field(tagger *t, const json *at, const char *name) {
    const json *f = json_get(at, name);
    uint32_t n;
    if (f == NULL || f->kind == JSON_NULL) return REPEAT_INFINITE;
    if (f->kind != JSON_NUMBER || !json_count(f, &n) || n > INT32_MAX)
        json_escape(t->b->w, f, STE_ERR_TAG, "%s must be null or an integer from 0 to 2^31 - 1", name);
    return n;
}

const json *rule_pattern(tagger *t, const json *rules, uint32_t i) {
    const json *rule = &rules->u.items[i];
    if (rule->kind != JSON_ARRAY || rule->n != 2) tag_bad(t, rule, "a rule must be a list of two: what leads to a format, and the format");
    return &rule->u.items[0];
}

const json *rule_format(const json *rules, uint32_t i) { return &rules->u.items[i].u.items[1]; }

expr *tag_literal(tagger *t, const json *text) { return expr_literal(t->b, text->u.text, text->n); }

bool is_token(const json *at) {
    const json *type = json_get(at, "type");
    return at->kind == JSON_OBJECT && (type == NULL ? json_get(at, "token") != NULL : json_is_text(type, "token"));
}
