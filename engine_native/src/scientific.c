/* scientific.c - see scientific.h.
 *
 * States of the mantissa: how many digits have been read (as far as a bound has
 * some), and how they compare with the digits of each bound.  Then comes one of
 * at most nine automata for the exponents that are left. */
#include "scientific.h"

enum { LESS, EQUAL, GREATER };

/* A bound as digits, without zeros at either end, and an exponent; n == 0: none. */
typedef struct digits {
    const char *at;
    uint32_t n;
    int32_t exponent;
    bool exclusive;
} digits;

typedef struct spelling {
    fsm *f;
    digits low, high;
    uint32_t most;      /* digits of the longer bound */
    uint32_t *number;   /* of states, + 1: by digits read, and both comparisons */
    uint32_t exponents[3][3]; /* the states before the exponent's mark, + 1 */
} spelling;

static digits digits_of(work *w, const number_bound *b) {
    const decimal *v = &b->value;
    digits d = {.exclusive = b->exclusive};
    if (!b->present || decimal_is_zero(v)) return d;
    char *text = arena_alloc(&w->mem, (size_t)v->integer_n + v->fraction_n + 1, 1);
    uint32_t from = 0;
    if (v->integer_n != 0) memcpy(text, v->integer, v->integer_n);
    if (v->fraction_n != 0) memcpy(text + v->integer_n, v->fraction, v->fraction_n);
    d.n = v->integer_n + v->fraction_n;
    while (text[from] == '0') from++;
    while (text[d.n - 1] == '0') d.n--;
    d.exponent = (int32_t)v->integer_n - 1 - (int32_t)from;
    d.at = text + from;
    d.n -= from;
    return d;
}

static uint32_t compared(const digits *d, uint32_t read, uint32_t so_far, char digit) {
    char other = read < d->n ? d->at[read] : '0';
    return so_far != EQUAL || d->n == 0 ? so_far : digit < other ? LESS : digit > other ? GREATER : EQUAL;
}

/* ... if no digit follows. */
static uint32_t settled(const digits *d, uint32_t read, uint32_t so_far) { return so_far == EQUAL && read < d->n ? LESS : so_far; }

static void add_digits(fsm *f, uint32_t from, int32_t first, int32_t last, uint32_t *to) {
    if (first > last) return;
    if (*to == 0) *to = fsm_state(f);
    fsm_edge_add(f, from, (uint32_t)('0' + first), (uint32_t)('0' + last), *to);
}

/* The numbers lo .. hi, which have `power` as the value of their first digit. */
static void append_width(fsm *f, uint32_t from, int32_t lo, int32_t hi, int32_t power) {
    /* States by which bounds the digits so far are those of: both, lo, hi, none. */
    uint32_t at[4] = {from, 0, 0, 0};
    for (; power > 0; power /= 10) {
        int32_t low = lo / power % 10, high = hi / power % 10;
        uint32_t to[4] = {0};
        if (at[0] != 0 && low == high) add_digits(f, at[0], low, low, &to[0]);
        if (at[0] != 0 && low != high) {
            add_digits(f, at[0], low, low, &to[1]);
            add_digits(f, at[0], high, high, &to[2]);
            add_digits(f, at[0], low + 1, high - 1, &to[3]);
        }
        if (at[1] != 0) {
            add_digits(f, at[1], low, low, &to[1]);
            add_digits(f, at[1], low + 1, 9, &to[3]);
        }
        if (at[2] != 0) {
            add_digits(f, at[2], high, high, &to[2]);
            add_digits(f, at[2], 0, high - 1, &to[3]);
        }
        if (at[3] != 0) add_digits(f, at[3], 0, 9, &to[3]);
        memcpy(at, to, sizeof at);
    }
    for (int i = 0; i < 4; i++)
        if (at[i] != 0) f->final.at[at[i]] = 1;
}

/* From `from`: zeros, and then a number of lo .. hi, if there is one. */
static void append_count(fsm *f, uint32_t from, int32_t lo, int32_t hi) {
    uint32_t zeros = fsm_state(f);
    fsm_empty_add(f, from, zeros);
    fsm_edge_add(f, zeros, '0', '0', zeros);
    for (int32_t power = 1; power <= LARGEST_EXPONENT; power *= 10) {
        int32_t first = lo > power ? lo : power, last = hi < power * 10 ? hi : power * 10 - 1;
        if (first <= last) append_width(f, zeros, first, last, power);
    }
    if (lo > 0 || hi < 0) return;
    uint32_t zero = fsm_state(f);
    fsm_edge_add(f, zeros, '0', '0', zero);
    f->final.at[zero] = 1;
}

void append_exponent(fsm *f, uint32_t from, int32_t lo, int32_t hi) {
    uint32_t mark = fsm_state(f), plus = fsm_state(f);
    fsm_edge_add(f, from, 'e', 'e', mark);
    fsm_edge_add(f, from, 'E', 'E', mark);
    fsm_empty_add(f, mark, plus);
    fsm_edge_add(f, mark, '+', '+', plus);
    append_count(f, plus, lo, hi);
}

/* The state before the mark of the exponents that are right after a mantissa that compares like this. */
static uint32_t exponents_after(spelling *s, uint32_t low, uint32_t high) {
    uint32_t *known = &s->exponents[low][high];
    if (*known != 0) return *known - 1;
    fsm *f = s->f;
    int32_t lo = -LARGEST_EXPONENT, hi = LARGEST_EXPONENT;
    if (s->low.n != 0) {
        int32_t first = s->low.exponent + (low == LESS || (low == EQUAL && s->low.exclusive));
        if (first > lo) lo = first;
    }
    if (s->high.n != 0) {
        int32_t last = s->high.exponent - (high == GREATER || (high == EQUAL && s->high.exclusive));
        if (last < hi) hi = last;
    }
    uint32_t at = fsm_state(f), mark = fsm_state(f), plus = fsm_state(f), minus = fsm_state(f);
    *known = at + 1;
    if (lo > hi) return at;
    fsm_edge_add(f, at, 'e', 'e', mark);
    fsm_edge_add(f, at, 'E', 'E', mark);
    if (hi >= 0) {
        fsm_empty_add(f, mark, plus);
        fsm_edge_add(f, mark, '+', '+', plus);
        append_count(f, plus, lo > 0 ? lo : 0, hi);
    }
    if (lo <= 0) {
        fsm_edge_add(f, mark, '-', '-', minus);
        append_count(f, minus, hi < 0 ? -hi : 0, -lo);
    }
    return at;
}

static uint32_t mantissa_state(spelling *s, uint32_t read, uint32_t low, uint32_t high) {
    uint32_t *slot = &s->number[(read * 3 + low) * 3 + high];
    if (*slot == 0) *slot = fsm_state(s->f) + 1;
    return *slot - 1;
}

void append_scientific(fsm *f, uint32_t from, const number_bound *low, const number_bound *high) {
    spelling *s = arena_alloc(&f->w->mem, 1, sizeof *s);
    if (high->present && decimal_is_zero(&high->value)) return;
    s->f = f;
    s->low = digits_of(f->w, low);
    s->high = digits_of(f->w, high);
    s->most = s->low.n > s->high.n ? s->low.n : s->high.n;
    if (s->most < 2) s->most = 2; /* one digit, and then a point, is a place of its own */
    s->number = arena_alloc(&f->w->mem, ((size_t)s->most + 1) * 9, sizeof *s->number);
    uint32_t begin = mantissa_state(s, 0, EQUAL, EQUAL);
    fsm_empty_add(f, from, begin);
    for (uint32_t read = 0; read <= s->most; read++)
        for (uint32_t k = 0; k < 9; k++) {
            if (s->number[read * 9 + k] == 0) continue;
            uint32_t at = s->number[read * 9 + k] - 1, l = k / 3, h = k % 3, next = read < s->most ? read + 1 : read, after = at;
            if (read > 0) fsm_empty_add(f, at, exponents_after(s, settled(&s->low, read, l), settled(&s->high, read, h)));
            if (read == 1) { /* a point comes before the others */
                after = fsm_state(f);
                fsm_edge_add(f, at, '.', '.', after);
            }
            for (char d = read == 0 ? '1' : '0'; d <= '9'; d++) {
                uint32_t to = mantissa_state(s, next, compared(&s->low, read, l, d), compared(&s->high, read, h, d));
                fsm_edge_add(f, after, (uint32_t)d, (uint32_t)d, to);
            }
        }
}
