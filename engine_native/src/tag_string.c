/* tag_string.c - a grammar whose texts are written as JSON strings.
 *
 * The rules of the grammar belong to nobody else, so each is spelled where it stands: every byte of its automaton that JSON
 * writes otherwise becomes its escape, and references stay.  A text has one spelling (json_text.h), so
 *
 *     a JSON string is allowed exactly if the text that it means is one of the grammar
 *
 * but for the characters that JSON may write either way, which are written as they are. */
#include "json_text.h"
#include "tag.h"

static STE_NORETURN void refuse(tagger *t, const json *at, const char *what) {
    json_escape(t->b->w, at, STE_ERR_UNSUPPORTED, "a grammar that is written as a JSON string must not have %s", what);
}

static void spell_rule(tagger *t, const json *at, uint32_t number) {
    builder *b = t->b;
    draft_rule *rule = &b->rules.at[number];
    if (rule->kind == RULE_REPEAT) return; /* of a rule that is spelled itself */
    if (rule->kind == RULE_DISTINCT) refuse(t, at, "schemas of unique items");
    assert(rule->kind == RULE_PLAIN);
    if (rule->capture.name != NULL) refuse(t, at, "captures");
    if (meter_counts(&rule->meter)) refuse(t, at, "limits of length");
    const fsm *texts = expr_automaton(b, rule->body);
    for (uint32_t i = 0; i < texts->edges.n; i++)
        if (sym_is_token(texts->edges.at[i].lo)) refuse(t, at, "special tokens");
    b->rules.at[number].body = expr_fsm(b, json_spelled_bytes(b, texts));
}

expr *spelled_grammar(tagger *t, const json *at, expr *(*lower)(builder *b, const source *text), const source *text) {
    builder *b = t->b;
    const names *known = b->names;
    uint32_t first = b->rules.n, conditions = b->conditions.n, texts = b->texts.n;
    b->names = NULL; /* rules of others are not ours to spell, */
    expr *e = lower(b, text);
    b->names = known;
    b->texts.n = texts; /* nor ours theirs to find */
    if (b->conditions.n != conditions) refuse(t, at, "patterns that look at what follows them");
    uint32_t root = rule_of(b, e), end = b->rules.n;
    for (uint32_t i = first; i < end; i++) spell_rule(t, at, i);
    expr *quote = expr_text(b, "\"");
    return expr_sequence(b, (expr *[]){quote, expr_rule(b, root), quote}, 3);
}
