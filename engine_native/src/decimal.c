/* decimal.c - see decimal.h.
 *
 * The range automaton reads the digits of |x| from the left and keeps, for each
 * bound, how the digits so far compare with as many digits of the bound.  Only
 * when the integer part ends is it known which is longer:
 *
 *   fewer digits -> smaller, more digits -> larger, equally many -> as compared
 *
 * and the fraction, digit by digit, settles what is still equal.  States are
 * (phase, digits read up to one past the longer bound, comparison with low,
 * comparison with high), explored breadth first. */
#include "decimal.h"

#include "scientific.h"

bool decimal_parse(const char *text, size_t n, decimal *out) {
    memset(out, 0, sizeof *out);
    size_t i = 0;
    if (i < n && text[i] == '-') {
        out->negative = true;
        i++;
    }
    /* First pass: where the point is, counted from the first digit. */
    size_t digits_from = i, digits_to = i;
    int64_t point = -1, digits = 0;
    for (; digits_to < n && text[digits_to] != 'e' && text[digits_to] != 'E'; digits_to++) {
        if (text[digits_to] == '.')
            point = digits;
        else
            digits++;
    }
    if (point < 0) point = digits;
    int64_t exponent = 0;
    if (digits_to < n) {
        size_t k = digits_to + 1;
        bool minus = k < n && text[k] == '-';
        if (k < n && (text[k] == '-' || text[k] == '+')) k++;
        for (; k < n; k++)
            if (exponent < 1000000) exponent = exponent * 10 + (text[k] - '0');
        if (minus) exponent = -exponent;
    }
    point += exponent;
    int64_t position = 0, last = 0;
    bool zero = true;
    for (size_t k = digits_from; k < digits_to; k++) {
        if (text[k] == '.') continue;
        if (text[k] != '0') {
            last = position;
            zero = false;
        }
        position++;
    }
    if (zero) {
        out->negative = false;
        return true;
    }
    position = 0;
    bool leading = true;
    for (size_t k = digits_from; k < digits_to && position <= last; k++) {
        if (text[k] == '.') continue;
        if (position < point) {
            if (!(leading && text[k] == '0')) {
                if (out->integer_n == DECIMAL_DIGITS) return false;
                out->integer[out->integer_n++] = text[k];
                leading = false;
            }
        } else {
            if (position == 0 || out->fraction_n == 0) { /* zeros between the point and the first digit */
                for (int64_t z = point; z < 0 && out->fraction_n < -point; z++) {
                    if (out->fraction_n == DECIMAL_DIGITS) return false;
                    out->fraction[out->fraction_n++] = '0';
                }
            }
            if (out->fraction_n == DECIMAL_DIGITS) return false;
            out->fraction[out->fraction_n++] = text[k];
        }
        position++;
    }
    for (; position < point && out->integer_n > 0; position++) { /* zeros after the last digit */
        if (out->integer_n == DECIMAL_DIGITS) return false;
        out->integer[out->integer_n++] = '0';
    }
    while (out->fraction_n > 0 && out->fraction[out->fraction_n - 1] == '0') out->fraction_n--;
    return true;
}

static int compare_magnitude(const decimal *a, const decimal *b) {
    if (a->integer_n != b->integer_n) return a->integer_n < b->integer_n ? -1 : 1;
    int r = memcmp(a->integer, b->integer, a->integer_n);
    if (r != 0) return r;
    uint32_t n = a->fraction_n < b->fraction_n ? a->fraction_n : b->fraction_n;
    r = memcmp(a->fraction, b->fraction, n);
    return r != 0 ? r : a->fraction_n < b->fraction_n ? -1 : a->fraction_n > b->fraction_n;
}

int decimal_compare(const decimal *a, const decimal *b) {
    if (a->negative != b->negative) return a->negative ? -1 : 1;
    int r = compare_magnitude(a, b);
    return a->negative ? -r : r;
}

/* ---- range automata ---- */

enum { LESS, EQUAL, GREATER };
enum { BEGIN, ZERO, INTEGER, POINT, FRACTION };

typedef struct number_state {
    uint32_t phase, read; /* digits of the part at hand, capped */
    uint32_t low, high;   /* comparison with the bounds so far */
} number_state;

typedef struct range {
    fsm *f;
    const number_bound *low, *high;
    number_form form;
    uint32_t cap_integer, cap_fraction, width;
    VEC(number_state) queue;
    uint32_t *number; /* encoded state -> state of f, + 1 */
} range;

static uint32_t encode(const range *r, number_state s) {
    return ((s.phase * r->width + s.read) * 3 + s.low) * 3 + s.high;
}

static uint32_t range_state(range *r, number_state s) {
    uint32_t key = encode(r, s);
    if (r->number[key] == 0) {
        r->number[key] = fsm_state(r->f) + 1;
        vec_push(&r->f->w->mem, &r->queue, s);
    }
    return r->number[key] - 1;
}

static uint32_t next_comparison(const char *digits, uint32_t n, uint32_t read, uint32_t so_far, char digit) {
    if (so_far != EQUAL) return so_far;
    char other = read < n ? digits[read] : '0';
    return digit < other ? LESS : digit > other ? GREATER : EQUAL;
}

/* The comparison once the integer part has `read` digits (0 for the number zero). */
static uint32_t settle_integer(const number_bound *b, uint32_t read, uint32_t so_far) {
    if (!b->present) return EQUAL;
    if (read != b->value.integer_n) return read < b->value.integer_n ? LESS : GREATER;
    return so_far;
}

/* The comparison if the number ends after `read` fraction digits. */
static uint32_t settle_fraction(const number_bound *b, uint32_t read, uint32_t so_far) {
    return so_far == EQUAL && b->present && read < b->value.fraction_n ? LESS : so_far;
}

static bool inside(const range *r, uint32_t low, uint32_t high) {
    if (r->low->present && (low == LESS || (low == EQUAL && r->low->exclusive))) return false;
    return !(r->high->present && (high == GREATER || (high == EQUAL && r->high->exclusive)));
}

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void expand(range *r, number_state s) {
    uint32_t at = range_state(r, s);
    uint32_t low = s.low, high = s.high, read = s.read;
    if (s.phase == ZERO || s.phase == INTEGER) {
        low = settle_integer(r->low, read, low);
        high = settle_integer(r->high, read, high);
        r->f->final.at[at] = inside(r, settle_fraction(r->low, 0, low), settle_fraction(r->high, 0, high));
        if (r->form != NUMBER_DIGITS) fsm_edge_add(r->f, at, '.', '.', range_state(r, (number_state){POINT, 0, low, high}));
    } else if (s.phase == FRACTION) {
        r->f->final.at[at] = inside(r, settle_fraction(r->low, read, low), settle_fraction(r->high, read, high));
    }
    if (s.phase == ZERO) return;
    char last = (s.phase == POINT || s.phase == FRACTION) && r->form == NUMBER_WHOLE ? '0' : '9';
    for (char d = '0'; d <= last; d++) {
        number_state to = s;
        if (s.phase == BEGIN && d == '0') {
            to = (number_state){ZERO, 0, EQUAL, EQUAL};
        } else if (s.phase == BEGIN || s.phase == INTEGER) {
            to.phase = INTEGER;
            to.low = next_comparison(r->low->value.integer, r->low->value.integer_n, read, s.low, d);
            to.high = next_comparison(r->high->value.integer, r->high->value.integer_n, read, s.high, d);
            to.read = min_u32(read + 1, r->cap_integer);
        } else {
            to.phase = FRACTION;
            to.low = next_comparison(r->low->value.fraction, r->low->value.fraction_n, read, s.low, d);
            to.high = next_comparison(r->high->value.fraction, r->high->value.fraction_n, read, s.high, d);
            to.read = min_u32(read + 1, r->cap_fraction);
        }
        fsm_edge_add(r->f, at, (uint32_t)d, (uint32_t)d, range_state(r, to));
    }
}

static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Unsigned numbers with low <= x <= high, both bounds of magnitude at least zero. */
static fsm *magnitude_range(work *w, const number_bound *low, const number_bound *high, number_form form) {
    range r = {.f = fsm_new(w), .low = low, .high = high, .form = form};
    r.cap_integer = max_u32(low->value.integer_n, high->value.integer_n) + 1;
    r.cap_fraction = max_u32(low->value.fraction_n, high->value.fraction_n);
    r.width = max_u32(r.cap_integer, r.cap_fraction) + 1;
    r.number = arena_alloc(&w->mem, (size_t)5 * r.width * 9, sizeof *r.number);
    number_state begin = {BEGIN, 0, EQUAL, EQUAL};
    r.number[encode(&r, begin)] = r.f->start + 1;
    vec_push(&w->mem, &r.queue, begin);
    for (uint32_t q = 0; q < r.queue.n; q++) expand(&r, r.queue.at[q]);
    return r.f;
}

/* Any unsigned number of a form. */
static fsm *magnitude_any(work *w, number_form form) {
    fsm *f = fsm_new(w);
    uint32_t zero = fsm_state(f), digits = fsm_state(f);
    fsm_edge_add(f, 0, '0', '0', zero);
    fsm_edge_add(f, 0, '1', '9', digits);
    fsm_edge_add(f, digits, '0', '9', digits);
    f->final.at[zero] = f->final.at[digits] = 1;
    if (form == NUMBER_DIGITS) return f;
    uint32_t point = fsm_state(f), fraction = fsm_state(f), last = form == NUMBER_WHOLE ? '0' : '9';
    f->final.at[fraction] = 1;
    const uint32_t whole[2] = {zero, digits};
    for (int i = 0; i < 2; i++) fsm_edge_add(f, whole[i], '.', '.', point);
    fsm_edge_add(f, point, '0', last, fraction);
    fsm_edge_add(f, fraction, '0', last, fraction);
    if (form != NUMBER_ANY) return f;
    uint32_t e = fsm_state(f), sign = fsm_state(f), exponent = fsm_state(f);
    f->final.at[exponent] = 1;
    const uint32_t mantissa[3] = {zero, digits, fraction};
    for (int i = 0; i < 3; i++) {
        fsm_edge_add(f, mantissa[i], 'e', 'e', e);
        fsm_edge_add(f, mantissa[i], 'E', 'E', e);
    }
    fsm_edge_add(f, e, '+', '+', sign);
    fsm_edge_add(f, e, '-', '-', sign);
    fsm_edge_add(f, e, '0', '9', exponent);
    fsm_edge_add(f, sign, '0', '9', exponent);
    fsm_edge_add(f, exponent, '0', '9', exponent);
    return f;
}

static number_bound magnitude(const number_bound *b) {
    number_bound m = *b;
    m.value.negative = false;
    return m;
}

static void append(fsm *f, uint32_t from, const fsm *part) {
    uint32_t base = fsm_size(f);
    for (uint32_t s = 0; s < fsm_size(part); s++) {
        fsm_state(f);
        f->final.at[base + s] = part->final.at[s];
    }
    for (uint32_t e = 0; e < part->edges.n; e++) {
        fsm_edge g = part->edges.at[e];
        fsm_edge_add(f, base + g.from, g.lo, g.hi, base + g.to);
    }
    fsm_empty_add(f, from, base + part->start);
}

/* One sign: |x| from nearest zero `near` to `far`. */
static void append_side(fsm *f, uint32_t from, const number_bound *near, const number_bound *far, number_form form) {
    bool only_sign = !far->present && (!near->present || (decimal_is_zero(&near->value) && !near->exclusive));
    number_bound n = magnitude(near), m = magnitude(far);
    append(f, from, only_sign ? magnitude_any(f->w, form) : magnitude_range(f->w, &n, &m, form));
    if (!only_sign && form == NUMBER_ANY) append_scientific(f, from, &n, &m);
}

fsm *number_automaton(work *w, const number_bound *low, const number_bound *high, number_form form) {
    fsm *f = fsm_new(w);
    uint32_t minus = fsm_state(f);
    const number_bound none = {0};
    number_bound zero = {.present = true};
    fsm_edge_add(f, f->start, '-', '-', minus);
    bool low_negative = !low->present || low->value.negative, high_negative = high->present && high->value.negative;
    /* x >= 0 (zero has no sign of its own: "-0" is zero, so it belongs to both sides). */
    if (!high_negative) append_side(f, f->start, low_negative ? &none : low, high, form);
    if (low_negative) {
        /* -|x|, |x| from -high to -low; an upper bound of zero or more leaves |x| >= 0, but for an exclusive zero. */
        number_bound near = high_negative ? *high : none;
        if (high->present && !high_negative && decimal_is_zero(&high->value) && high->exclusive) {
            zero.exclusive = true;
            near = zero;
        }
        append_side(f, minus, &near, low, form);
    } else if (decimal_is_zero(&low->value) && !low->exclusive && !high_negative) {
        number_bound upto = {.present = true}; /* low is zero: "-0" */
        append_side(f, minus, &none, &upto, form);
    }
    return f;
}

/* ---- multiples ----
 *
 * y = m / 10^k (m without trailing zeros) or m * 10^z.  Reading x from the left,
 * the remainder of the digits so far by m is all that counts: x is a multiple if,
 * after k digits behind the point, it is 0 and only zeros follow.  For z > 0 the
 * last z digits of the integer part must be zeros besides. */

#define MAX_REMAINDERS 20000

static bool divisor_of(const decimal *y, uint64_t *m, uint32_t *k, uint32_t *z) {
    uint64_t v = 0;
    *k = y->fraction_n;
    *z = 0;
    uint32_t n = y->integer_n;
    if (*k == 0)
        for (; n > 0 && y->integer[n - 1] == '0'; n--) ++*z;
    if (n + *k > 18) return false;
    for (uint32_t i = 0; i < n; i++) v = v * 10 + (uint64_t)(y->integer[i] - '0');
    for (uint32_t i = 0; i < *k; i++) v = v * 10 + (uint64_t)(y->fraction[i] - '0');
    *m = v;
    return true;
}

bool decimal_is_multiple(const decimal *x, const decimal *y, bool *multiple) {
    uint64_t m, r = 0;
    uint32_t k, z;
    if (!divisor_of(y, &m, &k, &z)) return false;
    *multiple = x->fraction_n <= k;
    for (uint32_t i = 0; i < z && i < x->integer_n; i++)
        if (x->integer[x->integer_n - 1 - i] != '0') *multiple = false;
    uint32_t digits = x->integer_n > z ? x->integer_n - z : 0;
    for (uint32_t i = 0; i < digits; i++) r = (r * 10 + (uint64_t)(x->integer[i] - '0')) % m;
    for (uint32_t i = 0; i < k; i++) r = (r * 10 + (uint64_t)(i < x->fraction_n ? x->fraction[i] - '0' : 0)) % m;
    *multiple = *multiple && r == 0;
    return true;
}

bool multiples_are_regular(const decimal *of) {
    uint64_t wide;
    uint32_t k, z;
    return divisor_of(of, &wide, &k, &z) && wide * (k + 1) <= MAX_REMAINDERS && z <= 300;
}

fsm *multiples_automaton(work *w, const decimal *of) {
    uint64_t wide = 0;
    uint32_t k = 0, z = 0;
    if (!multiples_are_regular(of) || !divisor_of(of, &wide, &k, &z)) return NULL;
    uint32_t m = (uint32_t)wide;
    fsm *f = fsm_new(w);
    uint32_t begin = fsm_state(f), zero = fsm_state(f), point = fsm_state(f), tail = fsm_state(f);
    fsm_edge_add(f, f->start, '-', '-', begin);
    fsm_empty_add(f, f->start, begin);
    fsm_edge_add(f, begin, '0', '0', zero);
    f->final.at[zero] = f->final.at[tail] = 1;
    /* Behind the point: j digits read, remainder r, at behind[j * m + r]; after k digits, zeros. */
    uint32_t *behind = arena_alloc(&w->mem, (size_t)(k + 1) * m, sizeof *behind);
    uint32_t *whole = arena_alloc(&w->mem, m, sizeof *whole);
    for (uint32_t r = 0; r < m; r++) whole[r] = fsm_state(f);
    for (uint32_t j = 1; j < k; j++)
        for (uint32_t r = 0; r < m; r++) behind[j * m + r] = fsm_state(f);
    behind[k * m] = tail; /* the other remainders lead nowhere */
    fsm_edge_add(f, tail, '0', '0', tail);
    for (uint32_t d = 0; d < 10; d++) {
        if (d > 0) fsm_edge_add(f, begin, '0' + d, '0' + d, whole[d % m]);
        for (uint32_t r = 0; r < m; r++) fsm_edge_add(f, whole[r], '0' + d, '0' + d, whole[(r * 10 + d) % m]);
        for (uint32_t j = 1; j < k; j++)
            for (uint32_t r = 0; r < m; r++)
                if (behind[(j + 1) * m + (r * 10 + d) % m] != 0)
                    fsm_edge_add(f, behind[j * m + r], '0' + d, '0' + d, behind[(j + 1) * m + (r * 10 + d) % m]);
    }
    /* Ends: a remainder that the missing digits, zeros, would make 0. */
    for (uint32_t j = 1; j < k; j++)
        for (uint32_t r = 0; r < m; r++) {
            uint64_t rest = r;
            for (uint32_t i = j; i < k; i++) rest = rest * 10 % m;
            f->final.at[behind[j * m + r]] = rest == 0;
        }
    uint32_t end = fsm_state(f), at = whole[0];
    f->final.at[end] = 1;
    for (uint32_t i = 0; i < z; i++) {
        uint32_t next = fsm_state(f);
        fsm_edge_add(f, at, '0', '0', next);
        at = next;
    }
    for (uint32_t r = 0; r < m; r++) {
        uint64_t rest = r;
        for (uint32_t i = 0; i < k; i++) rest = rest * 10 % m;
        if (k > 0 && rest == 0) fsm_empty_add(f, whole[r], end);
        if (k == 0) continue;
        uint32_t dot = fsm_state(f); /* the first digit behind the point */
        fsm_edge_add(f, whole[r], '.', '.', dot);
        for (uint32_t d = 0; d < 10; d++)
            if (behind[m + (r * 10 + d) % m] != 0) fsm_edge_add(f, dot, '0' + d, '0' + d, behind[m + (r * 10 + d) % m]);
        if (r == 0) fsm_edge_add(f, zero, '.', '.', dot);
    }
    if (k == 0) {
        fsm_empty_add(f, at, end);
        fsm_edge_add(f, end, '.', '.', point);
        fsm_edge_add(f, zero, '.', '.', point);
        fsm_edge_add(f, point, '0', '0', tail);
    }
    return f;
}
