/* tag_grammar.c - grammars whose texts are written as JSON strings, or must not contain certain strings.
 *
 * The rules of such a grammar belong to nobody else, so each is changed where it stands; references stay.
 *
 * As JSON strings: every byte of an automaton that JSON writes otherwise becomes its escape.  A text has one spelling
 * (json_text.h), so a JSON string is allowed exactly if the text that it means is one of the grammar; characters that JSON may
 * write either way are written as they are.
 *
 * Without strings: before every byte stands the condition (ahead.h) that what follows does not begin with one of them.  So
 * none of them begins inside of the text, not even one that would end after it. */
#include "ahead.h"
#include "json_text.h"
#include "tag.h"

typedef struct change {
    tagger *t;
    const json *at;   /* for errors */
    const char *what; /* is done to the grammar */
    uint32_t ahead;   /* the symbol of the condition; 0: spell the bytes */
} change;

static STE_NORETURN void refuse(const change *c, const char *what) {
    json_escape(c->t->b->w, c->at, STE_ERR_UNSUPPORTED, "a grammar that %s must not have %s", c->what, what);
}

static fsm *guarded(work *w, const fsm *texts, uint32_t ahead) {
    fsm *f = fsm_new(w);
    uint32_t n = fsm_size(texts);
    for (uint32_t s = 1; s < n; s++) fsm_state(f);
    f->start = texts->start;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t checked = 0;
        f->final.at[s] = texts->final.at[s];
        for (uint32_t e = texts->first[s]; e < texts->first[s + 1]; e++) {
            fsm_edge g = texts->edges.at[e];
            uint32_t from = s;
            if (g.lo <= 0xFF) {
                if (checked == 0) {
                    checked = fsm_state(f);
                    fsm_edge_add(f, s, ahead, ahead, checked);
                }
                from = checked;
            }
            fsm_edge_add(f, from, g.lo, g.hi, g.to);
        }
    }
    return f;
}

static void change_rule(const change *c, uint32_t number) {
    builder *b = c->t->b;
    draft_rule *rule = &b->rules.at[number];
    if (rule->kind == RULE_REPEAT) return; /* of a rule that is changed itself */
    if (rule->kind == RULE_DISTINCT) refuse(c, "schemas of unique items");
    assert(rule->kind == RULE_PLAIN);
    if (rule->capture.name != NULL) refuse(c, "captures");
    if (meter_counts(&rule->meter)) refuse(c, "limits of length");
    const fsm *texts = expr_automaton(b, rule->body);
    for (uint32_t i = 0; i < texts->edges.n; i++)
        if (sym_is_token(texts->edges.at[i].lo)) refuse(c, "special tokens");
    b->rules.at[number].body = expr_fsm(b, c->ahead == 0 ? json_spelled_bytes(b, texts) : guarded(b->w, texts, c->ahead));
}

/* What follows does not begin with one of the strings: their trie, of which everything else leads out. */
static uint32_t none_ahead(builder *b, const source *around, const json *strings) {
    fsm *f = fsm_new(b->w);
    VEC(uint32_t) child = {0}; /* state * 256 + byte -> state; UINT32_MAX: the end of a string */
    uint32_t met = fsm_state(f), none = 0;
    for (uint32_t i = 0; i < 512; i++) vec_push(&b->w->mem, &child, none);
    for (uint32_t i = 0; i < strings->n; i++) {
        const json *one = &strings->u.items[i];
        uint32_t s = f->start;
        for (uint32_t k = 0; k < one->n; k++) {
            uint32_t *next = &child.at[s * 256 + (uint8_t)one->u.text[k]];
            if (*next == UINT32_MAX) break; /* a shorter one ends here */
            if (k + 1 == one->n) {
                *next = UINT32_MAX;
            } else if (*next == 0) {
                uint32_t made = *next = fsm_state(f);
                for (uint32_t j = 0; j < 256; j++) vec_push(&b->w->mem, &child, none);
                s = made;
            } else {
                s = *next;
            }
        }
    }
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        f->final.at[s] = 1; /* the text may end in the middle of a string */
        for (uint32_t byte = 0; byte < 256 && s != met; byte++) {
            uint32_t to = child.at[s * 256 + byte];
            if (to != UINT32_MAX) fsm_edge_add(f, s, byte, byte, to == 0 ? met : to);
        }
    }
    fsm_edge_add(f, met, 0, 255, met);
    return ahead_symbol(b, (ahead_condition){fsm_minimise(fsm_determinise(f)), around, 0});
}

static expr *changed_grammar(change *c, grammar_front lower, const source *text, const json *excludes) {
    builder *b = c->t->b;
    const names *known = b->names;
    uint32_t first = b->rules.n, conditions = b->conditions.n, texts = b->texts.n;
    b->names = NULL; /* rules of others are not ours to change, */
    expr *e = lower(b, text);
    b->names = known;
    b->texts.n = texts; /* nor ours theirs to find */
    if (b->conditions.n != conditions) refuse(c, "patterns that look at what follows them");
    if (excludes != NULL) c->ahead = none_ahead(b, text, excludes);
    uint32_t root = rule_of(b, e), end = b->rules.n;
    for (uint32_t i = first; i < end; i++) change_rule(c, i);
    return expr_rule(b, root);
}

expr *spelled_grammar(tagger *t, const json *at, grammar_front lower, const source *text) {
    change c = {t, at, "is written as a JSON string", 0};
    expr *quote = expr_text(t->b, "\"");
    return expr_sequence(t->b, (expr *[]){quote, changed_grammar(&c, lower, text, NULL), quote}, 3);
}

expr *grammar_without(tagger *t, const json *at, grammar_front lower, const source *text, const json *excludes) {
    change c = {t, at, "has excludes", 0};
    const source *kept = arena_copy(&t->b->w->mem, text, sizeof *text); /* errors come later */
    return changed_grammar(&c, lower, kept, excludes);
}
