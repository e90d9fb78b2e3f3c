/* schema_number.c - numbers: bounds, multiples and their negations as automata over the spellings. */
#include "decimal.h"
#include "fsm_product.h"
#include "schema.h"

typedef struct bounds {
    number_bound low, high;
    bool integer;
} bounds;

static void narrow(number_bound *b, const json *value, bool exclusive, int direction) {
    number_bound n = {.present = true, .exclusive = exclusive};
    decimal_parse(value->u.text, value->n, &n.value);
    int r = b->present ? decimal_compare(&n.value, &b->value) * direction : 1;
    if (r > 0)
        *b = n;
    else if (r == 0)
        b->exclusive = b->exclusive || exclusive;
}

static void add_bounds(bounds *b, const json *node) {
    const json *value;
    bool exclusive;
    if (schema_low(node, &value, &exclusive)) narrow(&b->low, value, exclusive, 1);
    if (schema_high(node, &value, &exclusive)) narrow(&b->high, value, exclusive, -1);
    if ((schema_types(node) & TYPE_FRACTION) == 0) b->integer = true;
}

/* Draft 4 has no integers with a fraction part. */
static number_form form_of(const schema_context *c, const bounds *b, number_form other) {
    return !b->integer ? other : c->draft == DRAFT_4 ? NUMBER_DIGITS : NUMBER_WHOLE;
}

static fsm *multiples(schema_context *c, const json *at) {
    decimal of;
    decimal_parse(at->u.text, at->n, &of);
    fsm *f = multiples_automaton(c->b->w, &of);
    if (f == NULL)
        json_escape(c->b->w, at, STE_ERR_LIMIT, "multipleOf: the multiples of %.60s need too many states", at->u.text);
    return fsm_determinise_fully(f);
}

static fsm *equal_numbers(schema_context *c, const json *values, uint32_t n) {
    fsm *all = fsm_new(c->b->w);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i].kind != JSON_NUMBER) continue;
        number_bound only = {.present = true};
        if (!decimal_parse(values[i].u.text, values[i].n, &only.value))
            json_escape(c->b->w, &values[i], STE_ERR_UNSUPPORTED, "the number %.60s has more digits than can be compared",
                        values[i].u.text);
        uint32_t end = fsm_state(all);
        all->final.at[end] = 1;
        expr_build(c->b, expr_fsm(c->b, number_automaton(c->b->w, &only, &only, NUMBER_PLAIN)), all, all->start, end);
    }
    return fsm_determinise_fully(all);
}

/* The plain spellings of the numbers for which the own keywords of a node hold. */
static fsm *own_numbers(schema_context *c, const json *node) {
    bounds *b = arena_alloc(&c->b->w->mem, 1, sizeof *b);
    add_bounds(b, node);
    fsm *f = fsm_determinise_fully(number_automaton(c->b->w, &b->low, &b->high, form_of(c, b, NUMBER_PLAIN)));
    const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum"), *of = json_get(node, "multipleOf");
    if (of != NULL) f = fsm_intersection(f, multiples(c, of));
    if (one != NULL) f = fsm_intersection(f, equal_numbers(c, one, 1));
    if (list != NULL) f = fsm_intersection(f, equal_numbers(c, list->u.items, list->n));
    return f;
}

expr *lower_number(schema_context *c, const schema_branch *branch) {
    work *w = c->b->w;
    bounds *b = arena_alloc(&w->mem, 1, sizeof *b);
    bool plain = branch->n_fails > 0;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        add_bounds(b, branch->holds[i]);
        plain = plain || json_get(branch->holds[i], "multipleOf") != NULL;
    }
    uint32_t *rule = b->integer ? &c->integer : &c->number;
    bool free = !plain && !b->low.present && !b->high.present;
    if (free && *rule != 0) return expr_rule(c->b, *rule - 1);
    fsm *f = number_automaton(w, &b->low, &b->high, form_of(c, b, plain ? NUMBER_PLAIN : NUMBER_ANY));
    if (plain) f = fsm_determinise_fully(f);
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *of = json_get(branch->holds[i], "multipleOf");
        if (of != NULL) f = fsm_intersection(f, multiples(c, of));
    }
    for (uint32_t i = 0; i < branch->n_fails && f != NULL; i++) f = fsm_difference(f, own_numbers(c, branch->fails[i]));
    if (plain && f != NULL) f = fsm_reduce(f);
    if (f == NULL) return expr_never(c->b);
    uint32_t made = rule_of(c->b, expr_fsm(c->b, f));
    if (free) *rule = made + 1;
    return expr_rule(c->b, made);
}
