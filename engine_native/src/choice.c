/* choice.c - a JSON array of strings: one of them, exactly. */
#include "front.h"
#include "words.h"

void choice_front(builder *b, const char *text, size_t n) {
    const json *list = json_parse(b->w, text, n);
    if (list->kind != JSON_ARRAY || list->n == 0)
        json_escape(b->w, list, STE_ERR_SYNTAX, "a choice must be a list of strings that is not empty");
    word *words = arena_alloc(&b->w->mem, list->n, sizeof *words);
    for (uint32_t i = 0; i < list->n; i++) {
        const json *one = &list->u.items[i];
        if (one->kind != JSON_STRING) json_escape(b->w, one, STE_ERR_SYNTAX, "a choice must be a string");
        words[i].n = literal_symbols(b, one->u.text, one->n, &words[i].symbols);
    }
    b->root = rule_of(b, words_expr(b, words, list->n));
}
