/* schema_number.c - numbers: bounds, multiples and their negations as automata over the spellings.
 *
 * Several multipleOf are one, of the least common multiple.  Where that and two
 * bounds leave few numbers, they are tried one by one. */
#include "decimal.h"
#include "fsm_product.h"
#include "schema.h"
#include "scientific.h"

typedef struct bounds {
    number_bound low, high;
    bool integer;
    bool digits; /* ... of draft 4, which has none with a fraction part */
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

static void add_bounds(const schema_context *c, bounds *b, const json *node) {
    const json *value;
    bool exclusive;
    if (schema_low(node, &value, &exclusive)) narrow(&b->low, value, exclusive, 1);
    if (schema_high(node, &value, &exclusive)) narrow(&b->high, value, exclusive, -1);
    if ((schema_types(node) & TYPE_FRACTION) != 0) return;
    b->integer = true;
    b->digits = b->digits || schema_draft(c, node) == DRAFT_4;
}

static number_form form_of(const bounds *b, number_form other) {
    return !b->integer ? other : b->digits ? NUMBER_DIGITS : NUMBER_WHOLE;
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
    add_bounds(c, b, node);
    fsm *f = fsm_determinise_fully(number_automaton(c->b->w, &b->low, &b->high, form_of(b, NUMBER_PLAIN)));
    const json *one = schema_get(c, node, "const"), *list = json_get(node, "enum"), *of = json_get(node, "multipleOf");
    if (of != NULL) f = fsm_intersection(f, multiples(c, of));
    if (one != NULL) f = fsm_intersection(f, equal_numbers(c, one, 1));
    if (list != NULL) f = fsm_intersection(f, equal_numbers(c, list->u.items, list->n));
    return f;
}

/* ---- least common multiples ---- */

#define MAX_SCALE 9     /* digits behind the point */
#define MAX_TRIED 100000
#define MAX_LISTED 4000

/* d * 10^scale; false if it does not fit or is no integer. */
static bool scaled(const decimal *d, uint32_t scale, int64_t *out) {
    if (d->fraction_n > scale || d->integer_n + scale > 18) return false;
    int64_t v = 0;
    for (uint32_t i = 0; i < d->integer_n; i++) v = v * 10 + (d->integer[i] - '0');
    for (uint32_t i = 0; i < scale; i++) v = v * 10 + (i < d->fraction_n ? d->fraction[i] - '0' : 0);
    *out = d->negative ? -v : v;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

typedef struct grid {
    uint32_t scale; /* steps are in units of 10^-scale */
    int64_t step;   /* 0: any number */
} grid;

static bool refine(grid *g, const decimal *of) {
    int64_t v, l = g->step;
    if (!scaled(of, g->scale, &v)) return false;
    if (l == 0) l = v;
    int64_t factor = v / common_divisor(l, v);
    if (l > INT64_MAX / factor) return false;
    g->step = l * factor;
    return true;
}

/* The numbers that are multiples of all that the branch asks for; false if that is too large to say. */
static bool common_grid(const schema_branch *branch, const bounds *b, grid *g) {
    decimal of;
    *g = (grid){0};
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *at = json_get(branch->holds[i], "multipleOf");
        if (at != NULL && decimal_parse(at->u.text, at->n, &of) && of.fraction_n > g->scale) g->scale = of.fraction_n;
    }
    if (g->scale > MAX_SCALE) return false;
    decimal one = {.integer_n = 1, .integer = "1"};
    if (b->integer && !refine(g, &one)) return false;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        const json *at = json_get(branch->holds[i], "multipleOf");
        if (at != NULL && !(decimal_parse(at->u.text, at->n, &of) && refine(g, &of))) return false;
    }
    return true;
}

/* Written in JSON: v * 10^-scale. */
static json number_node(schema_context *c, const json *model, int64_t v, uint32_t scale) {
    char *text = arena_alloc(&c->b->w->mem, 32, 1);
    uint32_t at = 31, n = 0;
    uint64_t m = v < 0 ? (uint64_t)-v : (uint64_t)v;
    for (uint32_t i = 0; m != 0 || i <= scale; i++, m /= 10) {
        if (i == scale && scale > 0) text[--at] = '.';
        text[--at] = (char)('0' + m % 10);
    }
    if (v < 0) text[--at] = '-';
    n = 31 - at;
    json out = *model;
    out.kind = JSON_NUMBER;
    out.u.text = text + at;
    out.n = n;
    return out;
}

/* A trie of plain spellings: each number with its zeros behind the point, and any more of them. */
typedef struct number_trie {
    fsm *f;
    VEC(uint32_t) child; /* 12 of each state: digits, '-', '.'; 0: none */
} number_trie;

static uint32_t trie_state(number_trie *t) {
    for (int i = 0; i < 12; i++) vec_push(&t->f->w->mem, &t->child, 0);
    return t->child.n == 12 ? t->f->start : fsm_state(t->f);
}

static uint32_t trie_step(number_trie *t, uint32_t at, char ch) {
    uint32_t slot = at * 12 + (ch == '-' ? 10u : ch == '.' ? 11u : (uint32_t)(ch - '0'));
    if (t->child.at[slot] == 0) {
        uint32_t to = trie_state(t);
        t->child.at[slot] = to;
        fsm_edge_add(t->f, at, (uint8_t)ch, (uint8_t)ch, to);
    }
    return t->child.at[slot];
}

/* The text has `scale` digits behind the point; `fraction`: may a point be written? */
static void trie_add(number_trie *t, const json *number, uint32_t scale, bool fraction) {
    uint32_t at = t->f->start, n = number->n, integer = scale == 0 ? n : n - scale - 1, last = n;
    while (scale > 0 && last > integer + 1 && number->u.text[last - 1] == '0') last--;
    for (uint32_t i = 0; i < integer; i++) at = trie_step(t, at, number->u.text[i]);
    if (last <= integer + 1) t->f->final.at[at] = 1;
    if (!fraction) return;
    at = trie_step(t, at, '.');
    for (uint32_t i = integer + 1; i < n; i++) {
        at = trie_step(t, at, number->u.text[i]);
        if (i + 1 >= last) t->f->final.at[at] = 1;
    }
    if (t->child.at[at * 12] != 0) return;
    uint32_t zeros = trie_step(t, at, '0');
    t->f->final.at[zeros] = 1;
    t->child.at[zeros * 12] = zeros;
    fsm_edge_add(t->f, zeros, '0', '0', zeros);
}

/* The numbers on the grid between the bounds that satisfy the whole branch, if they are few. */
static bool few_numbers(schema_context *c, const schema_branch *branch, const bounds *b, const grid *g, fsm **out) {
    int64_t low, high;
    decimal from = b->low.value, to = b->high.value;
    if (g->step == 0 || !b->low.present || !b->high.present || from.fraction_n > g->scale || to.fraction_n > g->scale) return false;
    if (!scaled(&from, g->scale, &low) || !scaled(&to, g->scale, &high) || low > high) return false;
    if ((high - low) / g->step > MAX_TRIED) return false;
    number_trie t = {.f = fsm_new(c->b->w)};
    trie_state(&t);
    uint32_t found = 0;
    bool fraction = form_of(b, NUMBER_PLAIN) != NUMBER_DIGITS;
    int64_t first = low / g->step * g->step;
    if (first < low) first += g->step;
    for (int64_t v = first; v <= high; v += g->step) {
        json one = number_node(c, branch->holds[0], v, g->scale);
        bool fits = true;
        for (uint32_t i = 0; i < branch->n_holds && fits; i++) fits = schema_own_holds(c, &one, branch->holds[i]);
        for (uint32_t i = 0; i < branch->n_fails && fits; i++) fits = !schema_own_holds(c, &one, branch->fails[i]);
        if (!fits) continue;
        if (found++ == MAX_LISTED) return false;
        trie_add(&t, &one, g->scale, fraction);
        if (v == 0) {
            char *minus = arena_alloc(&c->b->w->mem, one.n + 2, 1);
            minus[0] = '-';
            memcpy(minus + 1, one.u.text, one.n);
            one.u.text = minus;
            one.n++;
            trie_add(&t, &one, g->scale, fraction);
        }
    }
    fsm_index(t.f);
    *out = fsm_reduce(t.f);
    return true;
}

#define MAX_NEAR 1000 /* multiples that stand for all of them */

/* The multiples of some numbers need too many states.  Then those next to a bound stand for all; without bounds, those
 * around 0.  false: the numbers are too long. */
static bool near_bounds(schema_context *c, const schema_branch *branch, const bounds *b, const grid *g, bounds *out) {
    int64_t low = 0, high = 0, most = INT64_MAX / 8 / g->step, width;
    if (most > MAX_NEAR) most = MAX_NEAR;
    width = most * g->step;
    if (b->low.present && !scaled(&b->low.value, g->scale, &low)) return false;
    if (b->high.present && !scaled(&b->high.value, g->scale, &high)) return false;
    if (!b->low.present) low = b->high.present ? high - width : -width / 2;
    if (!b->high.present || high - low > width) high = low + width;
    *out = *b;
    const json ends[2] = {number_node(c, branch->holds[0], low, g->scale), number_node(c, branch->holds[0], high, g->scale)};
    if (!b->low.present) out->low = (number_bound){.present = true};
    out->high = (number_bound){.present = true, .exclusive = b->high.exclusive};
    return decimal_parse(ends[0].u.text, ends[0].n, &out->low.value) && decimal_parse(ends[1].u.text, ends[1].n, &out->high.value);
}

static fsm *near_numbers(schema_context *c, const schema_branch *branch, const bounds *b, const grid *g) {
    bounds *near = arena_alloc(&c->b->w->mem, 1, sizeof *near);
    const json *at = NULL;
    fsm *f = NULL;
    for (uint32_t i = 0; i < branch->n_holds && at == NULL; i++) at = json_get(branch->holds[i], "multipleOf");
    if (!near_bounds(c, branch, b, g, near) || !few_numbers(c, branch, near, g, &f) || f == NULL)
        json_escape(c->b->w, at, STE_ERR_LIMIT, "multipleOf: the multiples of %.60s need too many states", at->u.text);
    char pointer[160];
    json_pointer(at, pointer, sizeof pointer);
    builder_note(c->b, "%s: of the multiples of %.60s only about %d are offered, those next to a bound or to 0", pointer, at->u.text, MAX_NEAR);
    return f;
}

#define MAX_REMAINDERS 10000

/* Automata for several steps multiply: their states tell the remainders by the least common multiple, and of its factors
 * only 2 and 5 are cheap. */
static void check_remainders(schema_context *c, const schema_branch *branch, const grid *g) {
    grid all = *g;
    const json *at = NULL;
    for (uint32_t i = 0; i < branch->n_fails; i++) {
        const json *of = json_get(branch->fails[i], "multipleOf");
        decimal d;
        if (of == NULL || !decimal_parse(of->u.text, of->n, &d)) continue;
        at = of;
        for (; all.scale < d.fraction_n && all.step <= INT64_MAX / 10; all.scale++) all.step *= 10;
        bool fits = all.scale >= d.fraction_n && refine(&all, &d);
        int64_t left = all.step;
        while (fits && left % 2 == 0) left /= 2;
        while (fits && left % 5 == 0) left /= 5;
        if (fits && left <= MAX_REMAINDERS) continue;
        json_escape(c->b->w, at, STE_ERR_LIMIT, "multipleOf: the multiples of %.60s beside those of other numbers need too many states", at->u.text);
    }
}

/* The least exponent with which d, one digit, is on the grid; beyond the largest one if there is none. */
static int32_t least_exponent(const grid *g, int64_t d) {
    int64_t r = d % g->step;
    int32_t e = -(int32_t)g->scale;
    for (; r != 0 && e <= LARGEST_POWER; e++) r = r * 10 % g->step;
    return e < 0 ? 0 : e;
}

/* One digit and an exponent: how large multiples are written. */
static fsm *large_multiples(work *w, const grid *g) {
    fsm *f = fsm_new(w);
    uint32_t digits = fsm_state(f);
    fsm_empty_add(f, f->start, digits);
    fsm_edge_add(f, f->start, '-', '-', digits);
    for (int32_t d = 1; d <= 9; d++) {
        int32_t first = least_exponent(g, d), last = d == 1 ? LARGEST_POWER : LARGEST_POWER - 1;
        uint32_t after = fsm_state(f);
        if (first > last) continue;
        fsm_edge_add(f, digits, (uint32_t)('0' + d), (uint32_t)('0' + d), after);
        append_exponent(f, after, first, last);
    }
    return f;
}

static bool has_automaton(schema_context *c, const schema_branch *branch, const grid *g) {
    const json step = number_node(c, branch->holds[0], g->step, g->scale);
    decimal of;
    return g->step == 0 || (decimal_parse(step.u.text, step.n, &of) && multiples_are_regular(&of));
}

static fsm *make_free_number(work *w, int form) {
    bounds none = {0};
    return number_automaton(w, &none.low, &none.high, (number_form)form);
}

static const shared_rule free_number = {"\1number", make_free_number, 0};

expr *lower_number(schema_context *c, const schema_branch *branch) {
    work *w = c->b->w;
    bounds *b = arena_alloc(&w->mem, 1, sizeof *b);
    uint32_t multiple_ofs = 0;
    for (uint32_t i = 0; i < branch->n_holds; i++) {
        add_bounds(c, b, branch->holds[i]);
        multiple_ofs += json_get(branch->holds[i], "multipleOf") != NULL;
    }
    bool plain = branch->n_fails > 0 || multiple_ofs > 0;
    uint32_t *rule = b->digits ? &c->digits : b->integer ? &c->integer : &c->number;
    bool free = !plain && !b->low.present && !b->high.present;
    if (free && *rule == 0) *rule = expr_shared(c->b, &free_number, (int)form_of(b, NUMBER_ANY))->u.id + 1;
    if (free) return expr_rule(c->b, *rule - 1);
    grid g;
    fsm *f;
    bool known = plain && common_grid(branch, b, &g);
    if (known && branch->n_fails + multiple_ofs > 1 && few_numbers(c, branch, b, &g, &f))
        return f == NULL ? expr_never(c->b) : expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, f)));
    if (known && multiple_ofs > 0 && !has_automaton(c, branch, &g))
        return expr_rule(c->b, rule_of(c->b, expr_fsm(c->b, near_numbers(c, branch, b, &g))));
    if (known) check_remainders(c, branch, &g);
    f = number_automaton(w, &b->low, &b->high, form_of(b, plain ? NUMBER_PLAIN : NUMBER_ANY));
    if (plain) f = fsm_determinise_fully(f);
    if (known && multiple_ofs > 1) {
        json all = number_node(c, branch->holds[0], g.step, g.scale);
        all.key = "multipleOf";
        f = fsm_intersection(f, multiples(c, &all));
        multiple_ofs = 0;
    }
    for (uint32_t i = 0; i < branch->n_holds && multiple_ofs > 0; i++) {
        const json *of = json_get(branch->holds[i], "multipleOf");
        if (of != NULL) f = fsm_intersection(f, multiples(c, of));
    }
    for (uint32_t i = 0; i < branch->n_fails && f != NULL; i++) {
        arena_mark here = arena_here(&w->mem);
        f = fsm_reduce(fsm_difference(f, own_numbers(c, branch->fails[i])));
        if (f != NULL) f = fsm_keep(f, here);
    }
    if (plain && f != NULL) f = fsm_reduce(f);
    if (f == NULL) return expr_never(c->b);
    expr *all = expr_fsm(c->b, f);
    bool large = known && g.step != 0 && g.step <= INT64_MAX / 10 && !b->digits && !b->low.present && !b->high.present;
    if (large && branch->n_fails == 0) all = expr_choice(c->b, (expr *[]){all, expr_fsm(c->b, large_multiples(w, &g))}, 2);
    return expr_rule(c->b, rule_of(c->b, all));
}
