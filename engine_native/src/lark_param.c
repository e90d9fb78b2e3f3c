/* lark_param.c - rules with a 64-bit parameter: name::expression and %if condition.
 *
 *   expressions   _   number   set_bit(k) clear_bit(k) bit_and(v) bit_or(v) incr(bits) decr(bits)
 *   conditions    true  bit_set(k) bit_clear(k)  is_ones(bits) is_zeros(bits)
 *                 eq ne lt le gt ge (bits, v)   bit_count_eq ... _ge (bits, k)
 *                 and(c, c)  or(c, c)  not(c)
 *   bits          _   [from:to]
 *
 * incr and decr stay within their bits and stop at the ends.  Comparisons are
 * unsigned.  A rule is made for each value that occurs (lark_lower.c). */
#include "lark.h"

static uint64_t ones(uint32_t from, uint32_t to) { return to - from >= 64 ? UINT64_MAX : (UINT64_C(1) << (to - from)) - 1; }

static uint64_t bits_of(uint64_t v, uint32_t from, uint32_t to) { return v >> from & ones(from, to); }

/* ---- reading ---- */

static uint64_t read_number(lark_reader *r, uint64_t most) {
    if (r->token.kind != TOKEN_NUMBER) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected a number");
    uint64_t v = r->token.number;
    if (v > most) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "the number must be at most %u", (unsigned)most);
    lark_next(r);
    return v;
}

static void read_bits(lark_reader *r, uint32_t *from, uint32_t *to) {
    *from = 0;
    *to = 64;
    if (r->token.kind == TOKEN_RULE && lark_is_word(&r->token, "_")) {
        lark_next(r);
        return;
    }
    size_t at = r->token.at;
    lark_expect(r, '[', "or '_' for bits of the parameter");
    *from = (uint32_t)read_number(r, 63);
    lark_expect(r, ':', "between the bits");
    *to = (uint32_t)read_number(r, 64);
    lark_expect(r, ']', "after the bits");
    if (*to <= *from) lark_bad(r, at, STE_ERR_SYNTAX, "the end of the bits must be past their start");
}

lark_param lark_read_param(lark_reader *r) {
    static const struct {
        const char *name;
        lark_param_kind kind;
    } functions[] = {{"set_bit", PARAM_SET_BIT}, {"clear_bit", PARAM_CLEAR_BIT}, {"bit_and", PARAM_AND},
                     {"bit_or", PARAM_OR},       {"incr", PARAM_INCR},           {"decr", PARAM_DECR}};
    lark_param p = {.kind = PARAM_VALUE};
    if (r->token.kind == TOKEN_NUMBER) {
        p.value = read_number(r, UINT64_MAX);
        return p;
    }
    if (lark_is_word(&r->token, "_")) {
        p.kind = PARAM_SELF;
        lark_next(r);
        return p;
    }
    size_t i = 0, n = sizeof functions / sizeof *functions;
    while (i < n && !lark_is_word(&r->token, functions[i].name)) i++;
    if (i == n) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "expected a number, '_' or a function of the parameter");
    p.kind = functions[i].kind;
    lark_next(r);
    r->nesting++;
    lark_expect(r, '(', "after the function");
    if (p.kind == PARAM_INCR || p.kind == PARAM_DECR) {
        read_bits(r, &p.from, &p.to);
    } else if (p.kind == PARAM_SET_BIT || p.kind == PARAM_CLEAR_BIT) {
        p.from = (uint32_t)read_number(r, 63);
    } else {
        p.value = read_number(r, UINT64_MAX);
    }
    r->nesting--;
    lark_expect(r, ')', "after the argument");
    return p;
}

enum { TRUE_, BIT_SET, BIT_CLEAR, IS_ONES, IS_ZEROS, AND, OR, NOT, COMPARE, COUNT = COMPARE + 6 };
static const char *const conditions[] = {
    "true", "bit_set", "bit_clear", "is_ones", "is_zeros", "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge",
    "bit_count_eq", "bit_count_ne", "bit_count_lt", "bit_count_le", "bit_count_gt", "bit_count_ge",
};
#define N_CONDITIONS (sizeof conditions / sizeof *conditions)

const lark_condition *lark_read_condition(lark_reader *r) {
    lark_condition *c = arena_alloc(&r->b->w->mem, 1, sizeof *c);
    while (c->which < N_CONDITIONS && !lark_is_word(&r->token, conditions[c->which])) c->which++;
    if (c->which == N_CONDITIONS || r->token.kind != TOKEN_RULE) lark_bad(r, r->token.at, STE_ERR_SYNTAX, "unknown condition");
    if (++r->depth > r->b->w->limits.depth) lark_bad(r, r->token.at, STE_ERR_LIMIT, "conditions are nested too deep");
    r->nesting++;
    lark_next(r);
    if (c->which == TRUE_ && !lark_is(r, '(')) {
        r->nesting--;
        r->depth--;
        return c;
    }
    lark_expect(r, '(', "after the condition");
    if (c->which >= AND && c->which <= NOT) {
        c->left = lark_read_condition(r);
        if (c->which != NOT) {
            lark_expect(r, ',', "between the conditions");
            c->right = lark_read_condition(r);
        }
    } else if (c->which == BIT_SET || c->which == BIT_CLEAR) {
        c->from = (uint32_t)read_number(r, 63);
    } else if (c->which != TRUE_) {
        read_bits(r, &c->from, &c->to);
        if (c->which >= COMPARE) {
            lark_expect(r, ',', "after the bits");
            c->value = read_number(r, UINT64_MAX);
        }
    }
    r->nesting--;
    lark_expect(r, ')', "after the condition's arguments");
    r->depth--;
    return c;
}

/* ---- values ---- */

static uint64_t count_ones(uint64_t v) {
    uint64_t n = 0;
    for (; v != 0; v &= v - 1) n++;
    return n;
}

uint64_t lark_param_value(const lark_param *p, uint64_t self) {
    uint64_t one = UINT64_C(1) << p->from;
    switch (p->kind) {
    case PARAM_SELF:
        return self;
    case PARAM_SET_BIT:
        return self | one;
    case PARAM_CLEAR_BIT:
        return self & ~one;
    case PARAM_AND:
        return self & p->value;
    case PARAM_OR:
        return self | p->value;
    case PARAM_INCR:
        return bits_of(self, p->from, p->to) == ones(p->from, p->to) ? self : self + one;
    case PARAM_DECR:
        return bits_of(self, p->from, p->to) == 0 ? self : self - one;
    default:
        return p->value;
    }
}

static bool compare(uint32_t how, uint64_t a, uint64_t b) {
    switch (how) {
    case 0:
        return a == b;
    case 1:
        return a != b;
    case 2:
        return a < b;
    case 3:
        return a <= b;
    case 4:
        return a > b;
    default:
        return a >= b;
    }
}

bool lark_holds(const lark_condition *c, uint64_t self) {
    uint64_t part = c->to > c->from ? bits_of(self, c->from, c->to) : 0;
    switch (c->which) {
    case TRUE_:
        return true;
    case BIT_SET:
    case BIT_CLEAR:
        return (self >> c->from & 1) == (c->which == BIT_SET);
    case IS_ONES:
        return part == ones(c->from, c->to);
    case IS_ZEROS:
        return part == 0;
    case AND:
        return lark_holds(c->left, self) && lark_holds(c->right, self);
    case OR:
        return lark_holds(c->left, self) || lark_holds(c->right, self);
    case NOT:
        return !lark_holds(c->left, self);
    default:
        return c->which < COUNT ? compare(c->which - COMPARE, part, c->value)
                                : compare(c->which - COUNT, count_ones(part), c->value);
    }
}
