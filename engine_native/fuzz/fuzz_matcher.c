/* fuzz_matcher.c - what a matcher may be asked, in any order, against what must be true.
 *
 * The tape (tape.h) gives a small vocabulary, a grammar of any kind and a
 * sequence of operations.  After each of them:
 *
 *   the mask is acceptance    bit t is set exactly when a fork accepts t, and validate agrees
 *   the mask is right         ... and exactly when a slow recogniser says so (judge.c; not for JSON Schema)
 *   caches change nothing     a twin, whose compiler may keep almost nothing, has the same mask
 *   history changes nothing   a new matcher that is given the same steps has the same mask
 *   budgets are kept          there is always a token until the text is complete, and it is so in time
 *
 * Allocations fail now and then: the operation says so, nothing has changed, and
 * it works when it is asked again.  Very ambiguous grammars meet a limit of
 * matching, which must end their matcher calmly; there the input ends too. */
#include <setjmp.h>
#include <stdio.h>

#include "../tests/fixture.h"
#include "small.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = (MOST_TOKENS + 900 + 31) / 32, MOST_STEPS = 24, MOST_STEP_BYTES = 24, MOST_OPERATIONS = 48, N_SEQUENCES = 3,
       N_GRAMMARS = 2, N_COMPILERS = 2, NODES = 6, MOST_FORKS = 8 };

typedef struct step {
    bool is_token;
    uint32_t token;
    uint8_t bytes[MOST_STEP_BYTES];
    uint32_t n;
} step;

/* One text, in a matcher of each compiler. */
typedef struct sequence {
    ste_matcher *m[N_COMPILERS]; /* NULL: not in use */
    uint32_t grammar;
    uint32_t stop[MOST_STOPS], n_stop;
    step steps[MOST_STEPS];
    uint32_t n;
    bool terminated, budgeted;
    uint64_t budget;
    uint32_t budget_at; /* steps when it was set */
} sequence;

typedef struct bench {
    tape tape;
    counting_allocator counter;
    small_vocab tokens;
    ste_vocab *vocab;
    ste_compiler *compilers[N_COMPILERS];
    int kind;
    bool judged;
    small_grammar small[N_GRAMMARS];
    page page;
    ste_grammar *grammars[N_GRAMMARS][N_COMPILERS];
    uint32_t words;
    sequence sequences[N_SEQUENCES];
    sequence *now;
    ste_matcher *forks[MOST_FORKS]; /* alive, to try things */
    uint32_t n_forks;
    jmp_buf over; /* the end of this input */
} bench;

/* ---- when something is not true ---- */

static void explain(const bench *b, const char *what, int line) {
    fprintf(stderr, "%s:%d: %s\nkind %d: %s\n", "fuzz_matcher.c", line, what, b->kind, b->page.at);
    for (uint32_t t = 0; t < b->tokens.n; t++) {
        fprintf(stderr, "%s%u=", b->tokens.is_special[t] ? "special " : "", t);
        for (uint32_t i = 0; i < token_length(&b->tokens, t); i++) fprintf(stderr, "%02x", token_text(&b->tokens, t)[i]);
        fputc(' ', stderr);
    }
    fprintf(stderr, "of %u\n", b->tokens.size);
    const sequence *s = b->now;
    if (s == NULL) return;
    fprintf(stderr, "grammar %u, stop tokens", s->grammar);
    for (uint32_t k = 0; k < s->n_stop; k++) fprintf(stderr, " %u", s->stop[k]);
    fprintf(stderr, "; steps");
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->steps[i].is_token) fprintf(stderr, " %u", s->steps[i].token);
        for (uint32_t k = 0; k < s->steps[i].n && !s->steps[i].is_token; k++)
            fprintf(stderr, "%s%02x", k == 0 ? " bytes " : "", s->steps[i].bytes[k]);
    }
    if (s->budgeted) fprintf(stderr, "; budget %llu at step %u", (unsigned long long)s->budget, s->budget_at);
    fputc('\n', stderr);
}

#define REQUIRE(condition)                       \
    do {                                         \
        if (!(condition)) {                      \
            explain(b, #condition, __LINE__);    \
            abort();                             \
        }                                        \
    } while (0)

/* ---- allocations that fail ---- */

/* From here on, for one operation; the tape says when. */
static void begin_failing(bench *b, uint32_t after) { b->counter.fail_at = b->counter.requests + (long)after; }
static void end_failing(bench *b) { b->counter.fail_at = -1; }

/* The value of `call`, which is tried with failing allocations first: it must not tell anything but the truth
 * or STE_ERR_NO_MEMORY. */
#define SURVIVING(call)                                                   \
    (end_failing(b), (failing = tape_one_in(&b->tape, 6)) != 0            \
         ? (begin_failing(b, tape_below(&b->tape, 12)), outcome = (call), \
            end_failing(b), outcome == STE_ERR_NO_MEMORY ? (call) : outcome) \
         : (call))

/* ---- matchers ---- */

static bool is_stop(const sequence *s, uint32_t token) {
    for (uint32_t k = 0; k < s->n_stop; k++)
        if (s->stop[k] == token) return true;
    return false;
}

/* A matcher that met a limit says stop tokens only, and no to everything; then it is over. */
static void leave_if_limited(bench *b, ste_matcher *m) {
    ste_error err;
    if (ste_matcher_error(m, &err) == STE_OK) return;
    REQUIRE(err.code == STE_ERR_LIMIT && err.message[0] != '\0');
    uint32_t row[MOST_WORDS];
    REQUIRE(ste_matcher_fill(m, row, b->words) == 1);
    for (uint32_t t = 0; t < b->tokens.size; t++) {
        REQUIRE((allowed(row, t) != 0) == is_stop(b->now, t));
        REQUIRE(ste_matcher_accept_token(m, t) == 0);
    }
    REQUIRE(ste_matcher_accept_bytes(m, NULL, 0) == 0);
    longjmp(b->over, 1);
}

static int fill(bench *b, ste_matcher *m, uint32_t *row) {
    int code = ste_matcher_fill(m, row, b->words);
    leave_if_limited(b, m);
    return code;
}

static int accept_token(bench *b, ste_matcher *m, uint32_t token) {
    int code = ste_matcher_accept_token(m, token);
    leave_if_limited(b, m);
    return code;
}

static int accept_bytes(bench *b, ste_matcher *m, const uint8_t *bytes, uint32_t n) {
    int code = ste_matcher_accept_bytes(m, bytes, n);
    leave_if_limited(b, m);
    return code;
}

static int64_t validate(bench *b, ste_matcher *m, const uint32_t *tokens, uint32_t n) {
    int64_t count = ste_matcher_validate(m, tokens, n);
    leave_if_limited(b, m);
    return count;
}

static int set_budget(bench *b, ste_matcher *m, uint64_t n) {
    int code = ste_matcher_set_token_budget(m, n, NULL);
    if (code == STE_ERR_LIMIT) longjmp(b->over, 1);
    return code;
}

/* A matcher to try things with, until release. */
static ste_matcher *fork_of(bench *b, ste_matcher *m) {
    REQUIRE(b->n_forks < MOST_FORKS);
    REQUIRE(ste_matcher_fork(m, &b->forks[b->n_forks], NULL) == STE_OK);
    return b->forks[b->n_forks++];
}

/* Forks go in the reverse order. */
static void release(bench *b, ste_matcher *copy) {
    REQUIRE(b->n_forks > 0 && b->forks[b->n_forks - 1] == copy);
    ste_matcher_free(copy);
    b->n_forks--;
}

/* ---- what the recogniser says ---- */

/* The symbols of one more token; false if there are none or no room. */
static bool add_token(const bench *b, uint32_t token, symbol *text, uint32_t *n) {
    if (token >= b->tokens.n || token_length(&b->tokens, token) == 0) return false;
    if (b->tokens.is_special[token]) {
        if (*n == MOST_SYMBOLS) return false;
        text[(*n)++] = special_symbol(&b->tokens, token);
        return true;
    }
    uint32_t length = token_length(&b->tokens, token);
    if (*n + length > MOST_SYMBOLS) return false;
    for (uint32_t i = 0; i < length; i++) text[(*n)++] = token_text(&b->tokens, token)[i];
    return true;
}

/* The whole text so far; false if it is too long to be judged, or nobody can judge it. */
static bool text_of(const bench *b, const sequence *s, symbol *text, uint32_t *n) {
    *n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const step *e = &s->steps[i];
        bool last = s->terminated && i + 1 == s->n;
        if (e->is_token && !last && !add_token(b, e->token, text, n)) return false;
        if (!e->is_token && *n + e->n > MOST_SYMBOLS) return false;
        for (uint32_t k = 0; k < e->n && !e->is_token; k++) text[(*n)++] = e->bytes[k];
    }
    return b->judged;
}

/* May this token come next?  *known: there was room to find out. */
static bool judge_token(const bench *b, const sequence *s, const symbol *text, uint32_t n, bool whole, uint32_t token, bool *known) {
    const small_grammar *g = &b->small[s->grammar];
    symbol longer[MOST_SYMBOLS];
    memcpy(longer, text, n * sizeof *text);
    *known = true;
    bool stop = is_stop(s, token);
    if (stop && whole) return true;
    if (token >= b->tokens.n || token_length(&b->tokens, token) == 0 || (stop && !b->tokens.is_special[token])) return false;
    *known = add_token(b, token, longer, &n);
    if (!*known) return false;
    verdict v = judge(g, longer, n);
    return stop ? v.whole : v.open;
}

/* ---- checks ---- */

static uint64_t budget_left(const sequence *s) {
    uint64_t used = s->n - s->budget_at;
    return used < s->budget ? s->budget - used : 0;
}

static bool any_bit(const bench *b, const uint32_t *row) {
    for (uint32_t w = 0; w < b->words; w++)
        if (row[w] != 0) return true;
    return false;
}

/* A stop token may come wherever the text is complete, and where it completes it. */
static void check_row(bench *b, const sequence *s, ste_matcher *m, const uint32_t *row, bool terminated) {
    for (uint32_t t = 0; t < b->words * 32; t++) {
        if (t >= b->tokens.n + 2 && t < b->tokens.size - 1) { /* padding: only as a stop token */
            REQUIRE(!allowed(row, t) || is_stop(s, t));
            continue;
        }
        if (terminated) {
            REQUIRE((allowed(row, t) != 0) == (t < b->tokens.size && is_stop(s, t)));
            REQUIRE(accept_token(b, m, t) == 0 && validate(b, m, &t, 1) == 0);
            continue;
        }
        REQUIRE(validate(b, m, &t, 1) == allowed(row, t));
        if (t >= b->tokens.size) continue;
        if (allowed(row, t)) {
            ste_matcher *copy = fork_of(b, m);
            REQUIRE(accept_token(b, copy, t) == 1);
            REQUIRE(ste_matcher_is_terminated(copy) == is_stop(s, t));
            release(b, copy);
        } else {
            REQUIRE(accept_token(b, m, t) == 0);
        }
    }
}

static void check_judged(bench *b, const sequence *s, const uint32_t *row, bool exactly) {
    symbol text[MOST_SYMBOLS];
    uint32_t n;
    if (!text_of(b, s, text, &n)) return;
    verdict so_far = judge(&b->small[s->grammar], text, n);
    if (s->terminated) return;
    REQUIRE(so_far.open);
    REQUIRE(ste_matcher_can_terminate(s->m[0]) == so_far.whole);
    for (uint32_t t = 0; t < b->tokens.n + 2 && t < b->tokens.size; t++) {
        bool known, yes = judge_token(b, s, text, n, so_far.whole, t, &known);
        if (known) REQUIRE(exactly ? allowed(row, t) == yes : allowed(row, t) <= yes);
    }
}

/* A fork of the first matcher without its budget. */
static ste_matcher *unbudgeted(bench *b, const sequence *s) {
    ste_matcher *copy = fork_of(b, s->m[0]);
    REQUIRE(set_budget(b, copy, STE_NO_BUDGET) == STE_OK);
    return copy;
}

static void check_budget(bench *b, const sequence *s, const uint32_t *row) {
    uint32_t free_row[MOST_WORDS];
    ste_matcher *copy = unbudgeted(b, s);
    REQUIRE(fill(b, copy, free_row) >= 0);
    release(b, copy);
    for (uint32_t w = 0; w < b->words; w++) REQUIRE((row[w] & ~free_row[w]) == 0);
    REQUIRE(any_bit(b, row) || ste_matcher_can_terminate(s->m[0]) == 1);
    for (uint32_t t = 0; budget_left(s) == 0 && !s->terminated && t < b->tokens.size; t++) REQUIRE(!allowed(row, t) || is_stop(s, t));
    check_judged(b, s, free_row, true);
}

static void check(bench *b) {
    const sequence *s = b->now;
    uint32_t rows[N_COMPILERS][MOST_WORDS];
    int failing, outcome, filled[N_COMPILERS];
    for (int c = 0; c < N_COMPILERS; c++) {
        filled[c] = SURVIVING(fill(b, s->m[c], rows[c]));
        REQUIRE(filled[c] == 0 || filled[c] == 1);
        REQUIRE(ste_matcher_is_terminated(s->m[c]) == s->terminated);
        REQUIRE(!s->terminated || ste_matcher_can_terminate(s->m[c]) == 1);
    }
    REQUIRE(memcmp(rows[0], rows[1], b->words * sizeof **rows) == 0 && filled[0] == filled[1]);
    for (uint32_t t = 0; filled[0] == 0 && t < b->tokens.size; t++) REQUIRE(allowed(rows[0], t));
    check_row(b, s, s->m[0], rows[0], s->terminated);
    if (s->budgeted)
        check_budget(b, s, rows[0]);
    else
        check_judged(b, s, rows[0], true);
}

/* ---- operations ---- */

static void close_sequence(sequence *s) {
    for (int c = 0; c < N_COMPILERS; c++) ste_matcher_free(s->m[c]);
    *s = (sequence){0};
}

static ste_matcher *new_matcher(bench *b, ste_grammar *g, const uint32_t *stop, uint32_t n_stop) {
    ste_matcher *m = NULL;
    int code = ste_matcher_new(g, stop, n_stop, &m, NULL);
    if (code == STE_ERR_LIMIT) longjmp(b->over, 1);
    REQUIRE(code == STE_OK);
    return m;
}

static void open_sequence(bench *b, sequence *s, uint32_t grammar) {
    close_sequence(s);
    s->grammar = grammar;
    bool own = tape_one_in(&b->tape, 4);
    s->n_stop = own ? tape_below(&b->tape, MOST_STOPS) : b->tokens.n_stop;
    for (uint32_t k = 0; k < s->n_stop; k++)
        s->stop[k] = own ? tape_byte(&b->tape) * 3u % b->tokens.size : b->tokens.stop[k];
    for (int c = 0; c < N_COMPILERS; c++) s->m[c] = new_matcher(b, b->grammars[grammar][c], own ? s->stop : NULL, s->n_stop);
}

/* What both matchers say; they must agree. */
static int both_accept(bench *b, sequence *s, const step *e) {
    int codes[N_COMPILERS], failing, outcome;
    for (int c = 0; c < N_COMPILERS; c++) {
        if (e->is_token)
            codes[c] = SURVIVING(accept_token(b, s->m[c], e->token));
        else
            codes[c] = SURVIVING(accept_bytes(b, s->m[c], e->bytes, e->n));
    }
    REQUIRE(codes[0] == codes[1] && (codes[0] == 0 || codes[0] == 1));
    return codes[0];
}

static void accept(bench *b, const step *e) {
    sequence *s = b->now;
    if (s->n == MOST_STEPS) return;
    int code = both_accept(b, s, e);
    symbol text[MOST_SYMBOLS];
    uint32_t n;
    if (!e->is_token && !s->terminated && text_of(b, s, text, &n) && n + e->n <= MOST_SYMBOLS) {
        for (uint32_t i = 0; i < e->n; i++) text[n++] = e->bytes[i];
        verdict v = judge(&b->small[s->grammar], text, n);
        REQUIRE(s->budgeted ? code <= v.open : code == v.open);
    }
    if (code != 1) return;
    REQUIRE(!s->terminated);
    s->steps[s->n++] = *e;
    s->terminated = e->is_token && is_stop(s, e->token);
}

/* The number of an allowed token, chosen by the tape; the vocabulary's size if there is none. */
static uint32_t draw_allowed(bench *b, const uint32_t *row) {
    uint32_t from = tape_byte(&b->tape) * 5u % b->tokens.size;
    for (uint32_t i = 0; i < b->tokens.size; i++)
        if (allowed(row, (from + i) % b->tokens.size)) return (from + i) % b->tokens.size;
    return b->tokens.size;
}

static void accept_allowed(bench *b) {
    uint32_t row[MOST_WORDS];
    REQUIRE(fill(b, b->now->m[0], row) >= 0);
    uint32_t token = draw_allowed(b, row);
    if (token != b->tokens.size) accept(b, &(step){.is_token = true, .token = token});
}

static void accept_drawn_bytes(bench *b) {
    step e = {.n = tape_below(&b->tape, 8)};
    for (uint32_t i = 0; i < e.n; i++) {
        uint32_t c = tape_byte(&b->tape);
        e.bytes[i] = b->tokens.offsets[b->tokens.n] == 0 ? (uint8_t)c : b->tokens.bytes[c % b->tokens.offsets[b->tokens.n]];
    }
    accept(b, &e);
}

/* The text of an allowed token, again and again. */
static void accept_repeated(bench *b) {
    uint32_t row[MOST_WORDS];
    REQUIRE(fill(b, b->now->m[0], row) >= 0);
    uint32_t token = draw_allowed(b, row), length = token < b->tokens.n ? token_length(&b->tokens, token) : 0;
    step e = {0};
    for (; length != 0 && e.n + length <= MOST_STEP_BYTES; e.n += length) memcpy(e.bytes + e.n, token_text(&b->tokens, token), length);
    accept(b, &e);
}

static void go_back(sequence *s, uint32_t n) {
    s->n = n;
    s->terminated = false;
    if (s->budgeted && n < s->budget_at) s->budgeted = false;
}

/* A matcher that never was anywhere else has the same mask. */
static void check_history(bench *b) {
    const sequence *s = b->now;
    uint32_t row[MOST_WORDS], again[MOST_WORDS];
    ste_matcher *copy = unbudgeted(b, s);
    REQUIRE(fill(b, copy, row) >= 0);
    release(b, copy);
    ste_matcher *other = new_matcher(b, b->grammars[s->grammar][1], s->stop, s->n_stop);
    b->forks[b->n_forks++] = other;
    for (uint32_t i = 0; i < s->n; i++) {
        const step *e = &s->steps[i];
        REQUIRE((e->is_token ? accept_token(b, other, e->token) : accept_bytes(b, other, e->bytes, e->n)) == 1);
    }
    REQUIRE(fill(b, other, again) >= 0 && memcmp(row, again, b->words * sizeof *row) == 0);
    release(b, other);
}

static void rollback(bench *b) {
    sequence *s = b->now;
    uint32_t n = tape_below(&b->tape, MOST_STEPS / 2);
    for (int c = 0; c < N_COMPILERS; c++)
        REQUIRE(ste_matcher_rollback(s->m[c], n) == (n > s->n ? STE_ERR_ARGUMENT : STE_OK));
    if (n <= s->n && n > 0) go_back(s, s->n - n);
    check_history(b);
}

static void reset(bench *b) {
    for (int c = 0; c < N_COMPILERS; c++) REQUIRE(ste_matcher_reset(b->now->m[c]) == STE_OK);
    go_back(b->now, 0);
}

static void fork_sequence(bench *b) {
    sequence *to = &b->sequences[tape_below(&b->tape, N_SEQUENCES)];
    if (to == b->now) return;
    close_sequence(to);
    *to = *b->now;
    int failing, outcome;
    for (int c = 0; c < N_COMPILERS; c++) {
        to->m[c] = NULL;
        REQUIRE(SURVIVING(ste_matcher_fork(b->now->m[c], &to->m[c], NULL)) == STE_OK);
    }
}

static void validate_drawn(bench *b) {
    sequence *s = b->now;
    uint32_t tokens[4], n = tape_below(&b->tape, 5);
    for (uint32_t i = 0; i < n; i++) tokens[i] = tape_byte(&b->tape) % (b->tokens.size + 1);
    int64_t failing, outcome, count = SURVIVING(validate(b, s->m[0], tokens, n)), accepted = 0;
    REQUIRE(count == validate(b, s->m[1], tokens, n));
    ste_matcher *copy = fork_of(b, s->m[0]);
    while (accepted < n && accept_token(b, copy, tokens[accepted]) == 1) accepted++;
    release(b, copy);
    REQUIRE(count == accepted);
}

/* Children come after their parents, in any shape. */
static void draft_tree(bench *b) {
    const sequence *s = b->now;
    static uint32_t rows[NODES * MOST_WORDS], wanted[NODES * MOST_WORDS];
    int64_t tokens[NODES] = {0}, first_child[NODES], next_sibling[NODES], failing, outcome, valid = 0;
    uint32_t n = 1 + tape_below(&b->tape, NODES), parent[NODES] = {0};
    bool fine[NODES] = {true};
    memset(wanted, 0, sizeof wanted);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) parent[i] = tape_below(&b->tape, i);
        first_child[i] = -1;
        next_sibling[i] = i == 0 ? -1 : first_child[parent[i]];
        if (i > 0) first_child[parent[i]] = i;
        if (i > 0) {
            tokens[i] = (int64_t)(tape_byte(&b->tape) * 3u % (b->tokens.size + 2)) - 1;
            if (fine[parent[i]] && tape_below(&b->tape, 4) != 0) tokens[i] = draw_allowed(b, wanted + parent[i] * b->words);
        }
        ste_matcher *copy = fork_of(b, s->m[0]);
        uint32_t path[NODES], depth = 0;
        for (uint32_t k = i; k != 0; k = parent[k]) path[depth++] = k;
        fine[i] = true;
        while (depth-- > 0 && fine[i]) fine[i] = tokens[path[depth]] >= 0 && accept_token(b, copy, (uint32_t)tokens[path[depth]]) == 1;
        if (fine[i]) REQUIRE(fill(b, copy, wanted + i * b->words) >= 0);
        valid += fine[i];
        release(b, copy);
    }
    for (int c = 0; c < N_COMPILERS; c++) {
        int64_t count = SURVIVING(ste_matcher_fill_draft_tree(s->m[c], tokens, first_child, next_sibling, n, rows, b->words));
        leave_if_limited(b, s->m[c]);
        REQUIRE(count == valid && memcmp(rows, wanted, n * b->words * sizeof *rows) == 0);
    }
}

static void batch(bench *b) {
    static uint32_t rows[N_SEQUENCES * N_COMPILERS * MOST_WORDS];
    ste_matcher *all[N_SEQUENCES * N_COMPILERS];
    sequence *of[N_SEQUENCES * N_COMPILERS], *now = b->now;
    int64_t to[N_SEQUENCES * N_COMPILERS];
    uint32_t row[MOST_WORDS], n = 0;
    for (uint32_t i = 0; i < N_SEQUENCES * N_COMPILERS; i++) {
        ste_matcher *m = b->sequences[i / N_COMPILERS].m[i % N_COMPILERS];
        to[n] = N_SEQUENCES * N_COMPILERS - 1 - (int64_t)n;
        of[n] = &b->sequences[i / N_COMPILERS];
        if (m != NULL) all[n++] = m;
    }
    REQUIRE(ste_fill_batch(all, n, rows, b->words, to, NULL) == STE_OK);
    for (uint32_t i = 0; i < n; i++) {
        b->now = of[i];
        REQUIRE(fill(b, all[i], row) >= 0);
        REQUIRE(memcmp(row, rows + (size_t)to[i] * b->words, b->words * sizeof *row) == 0);
    }
    b->now = now;
}

/* Whether exactly one byte can come next, and nothing else: then *byte. */
static bool one_byte(bench *b, ste_matcher *m, uint8_t *byte) {
    uint32_t row[MOST_WORDS], count = 0;
    REQUIRE(fill(b, m, row) >= 0);
    if (ste_matcher_can_terminate(m) != 0) return false;
    for (uint32_t t = 0; t < b->tokens.n; t++)
        if (allowed(row, t) && b->tokens.is_special[t]) return false;
    for (uint32_t c = 0; c < 256; c++) {
        uint8_t one = (uint8_t)c;
        if (accept_bytes(b, m, &one, 1) != 1) continue;
        REQUIRE(ste_matcher_rollback(m, 1) == STE_OK);
        *byte = one;
        count++;
    }
    return count == 1;
}

/* Up to a special one the tokens spell the bytes, and each is the longest there is, whatever comes after the bytes.
 * cut: there may be more bytes; closed: no more bytes can come. */
static void check_forced_tokens(bench *b, const uint32_t *tokens, uint32_t n_tokens, const uint8_t *bytes, uint32_t n, bool cut,
                                bool closed) {
    const small_vocab *v = &b->tokens;
    for (uint32_t i = 0, at = 0; i < n_tokens && !v->is_special[tokens[i]]; i++) {
        uint32_t length = token_length(v, tokens[i]), left = n - at;
        if (cut && length >= left) return;
        REQUIRE(length <= left && memcmp(token_text(v, tokens[i]), bytes + at, length) == 0);
        for (uint32_t t = 0; t < v->n; t++) {
            uint32_t other = token_length(v, t), common = other < left ? other : left;
            if (v->is_special[t] || other <= length || memcmp(token_text(v, t), bytes + at, common) != 0) continue;
            REQUIRE(other > left && (closed || cut));
        }
        at += length;
    }
}

static void forced(bench *b) {
    enum { MOST = 24 };
    sequence *s = b->now;
    uint8_t bytes[N_COMPILERS][MOST], byte = 0;
    uint32_t tokens[N_COMPILERS][MOST];
    int64_t n_bytes[N_COMPILERS], n_tokens[N_COMPILERS], failing, outcome;
    for (int c = 0; c < N_COMPILERS; c++) {
        n_bytes[c] = SURVIVING(ste_matcher_forced_bytes(s->m[c], bytes[c], MOST));
        n_tokens[c] = SURVIVING(ste_matcher_forced_tokens(s->m[c], tokens[c], MOST));
        leave_if_limited(b, s->m[c]);
        REQUIRE(n_bytes[c] >= 0 && n_bytes[c] <= MOST && n_tokens[c] >= 0 && n_tokens[c] <= MOST);
    }
    REQUIRE(n_bytes[0] == n_bytes[1] && memcmp(bytes[0], bytes[1], (size_t)n_bytes[0]) == 0);
    REQUIRE(n_tokens[0] == n_tokens[1] && memcmp(tokens[0], tokens[1], (size_t)n_tokens[0] * sizeof **tokens) == 0);
    REQUIRE(validate(b, s->m[0], tokens[0], (uint32_t)n_tokens[0]) == n_tokens[0]);
    if (s->terminated) {
        REQUIRE(n_bytes[0] == 0 && n_tokens[0] == 0);
        return;
    }
    ste_matcher *copy = unbudgeted(b, s);
    for (int64_t i = 0; i < n_bytes[0]; i++) {
        REQUIRE(one_byte(b, copy, &byte) && byte == bytes[0][i]);
        REQUIRE(accept_bytes(b, copy, &byte, 1) == 1);
    }
    bool closed = true;
    for (uint32_t c = 0; c < 256 && closed; c++) closed = accept_bytes(b, copy, &(uint8_t){(uint8_t)c}, 1) == 0;
    release(b, copy);
    check_forced_tokens(b, tokens[0], (uint32_t)n_tokens[0], bytes[0], (uint32_t)n_bytes[0], n_bytes[0] == MOST, closed);
}

/* ---- budgets ---- */

/* The least number of tokens, on which both matchers must agree; false where budgets are refused (keys in any order). */
static bool least_tokens(bench *b, uint64_t *out) {
    uint64_t least[N_COMPILERS] = {0};
    int refused = 0;
    for (int c = 0; c < N_COMPILERS; c++) {
        int failing, outcome, code = SURVIVING(ste_matcher_least_tokens(b->now->m[c], &least[c], NULL));
        if (code == STE_ERR_LIMIT) longjmp(b->over, 1);
        refused += code == STE_ERR_UNSUPPORTED;
        REQUIRE(code == STE_OK || code == STE_ERR_UNSUPPORTED);
    }
    REQUIRE(least[0] == least[1] && (refused == 0 || refused == N_COMPILERS));
    *out = least[0];
    return refused == 0;
}

static void draw_budget(bench *b) {
    sequence *s = b->now;
    uint64_t least, more = tape_below(&b->tape, 8);
    if (!least_tokens(b, &least)) return;
    uint64_t budget = least + more;
    bool possible = least != STE_NO_BUDGET;
    if (more == 7) budget = STE_NO_BUDGET;
    if (!possible && more != 7) budget = 1000 + more;
    for (int c = 0; c < N_COMPILERS; c++) {
        int failing, outcome;
        if (possible && least > 0) REQUIRE(set_budget(b, s->m[c], least - 1) == STE_ERR_ARGUMENT);
        int code = SURVIVING(set_budget(b, s->m[c], budget));
        REQUIRE(code == (possible || more == 7 ? STE_OK : STE_ERR_ARGUMENT));
    }
    if (!possible && more != 7) return;
    s->budgeted = more != 7;
    s->budget = budget;
    s->budget_at = s->n;
}

/* A fork with a budget ends complete, whatever is chosen. */
static void finish_in_time(bench *b) {
    const sequence *s = b->now;
    uint64_t least, left = tape_below(&b->tape, 4);
    if (!least_tokens(b, &least)) return;
    left += least;
    if (least > MOST_STEPS || s->terminated) return;
    uint32_t row[MOST_WORDS];
    bool stopped = false;
    ste_matcher *copy = fork_of(b, s->m[0]);
    REQUIRE(set_budget(b, copy, left) == STE_OK);
    for (;; left--) {
        REQUIRE(fill(b, copy, row) >= 0);
        for (uint32_t k = 0; k < s->n_stop; k++) stopped = stopped || allowed(row, s->stop[k]);
        if (left == 0) break;
        for (uint32_t k = 0; k < s->n_stop; k++) row[s->stop[k] / 32] &= ~(1u << s->stop[k] % 32);
        uint32_t token = draw_allowed(b, row);
        if (token == b->tokens.size) break;
        REQUIRE(accept_token(b, copy, token) == 1);
        stopped = false;
    }
    REQUIRE(stopped || ste_matcher_can_terminate(copy) == 1);
    release(b, copy);
}

/* ---- one input ---- */

static void operate(bench *b) {
    switch (tape_below(&b->tape, 24)) {
    case 0:
        accept(b, &(step){.is_token = true, .token = tape_byte(&b->tape) % (b->tokens.size + 1)});
        break;
    case 1:
    case 2:
        accept_drawn_bytes(b);
        break;
    case 3:
        rollback(b);
        break;
    case 4:
        reset(b);
        break;
    case 5:
        fork_sequence(b);
        break;
    case 6:
        validate_drawn(b);
        break;
    case 7:
        draft_tree(b);
        break;
    case 8:
        batch(b);
        break;
    case 9:
        forced(b);
        break;
    case 10:
        draw_budget(b);
        break;
    case 11:
        finish_in_time(b);
        break;
    case 12:
        ste_compiler_clear(b->compilers[tape_below(&b->tape, N_COMPILERS)]);
        break;
    case 13:
        REQUIRE(ste_grammar_precompute(b->grammars[b->now->grammar][0], tape_below(&b->tape, 16), NULL) >= 0);
        break;
    case 14:
        open_sequence(b, b->now, tape_below(&b->tape, N_GRAMMARS));
        break;
    case 15:
        b->now = &b->sequences[tape_below(&b->tape, N_SEQUENCES)];
        if (b->now->m[0] == NULL) open_sequence(b, b->now, tape_below(&b->tape, N_GRAMMARS));
        break;
    case 16:
        accept_repeated(b);
        break;
    default:
        accept_allowed(b);
        break;
    }
}

/* Compile what is on the page; false if it is refused. */
static bool compile(bench *b, uint32_t g, const ste_options *options) {
    static const int kinds[] = {STE_KIND_EBNF, STE_KIND_REGEX, STE_KIND_CHOICE, STE_KIND_STRUCTURAL_TAG, STE_KIND_JSON_SCHEMA,
                                STE_KIND_STRUCTURAL_TAG};
    int codes[N_COMPILERS], failing, outcome;
    ste_error err;
    for (int c = 0; c < N_COMPILERS; c++) {
        codes[c] = SURVIVING(ste_compile(b->compilers[c], kinds[b->kind], b->page.at, b->page.n, options, &b->grammars[g][c], &err));
        if (codes[c] != STE_OK) REQUIRE(b->grammars[g][c] == NULL && err.code == codes[c] && err.message[0] != '\0');
        if (codes[c] == STE_ERR_SYNTAX && b->judged && b->small[g].nodes[b->small[g].root].productive) fprintf(stderr, "%s\n", err.message);
    }
    REQUIRE(codes[0] == codes[1]);
    /* Small grammars are within all limits, and are right unless they match nothing. */
    REQUIRE(codes[0] != STE_ERR_ARGUMENT && codes[0] != STE_ERR_LIMIT && codes[0] != STE_ERR_NO_MEMORY);
    if (b->judged && b->kind != SPELL_TAG) REQUIRE((codes[0] == STE_OK) == b->small[g].nodes[b->small[g].root].productive);
    return codes[0] == STE_OK;
}

static bool grow_grammars(bench *b) {
    enum { SCHEMA = SPELL_TAG + 1, SCHEMA_TAG };
    static const int drawn[] = {SPELL_EBNF, SPELL_TAG, SCHEMA, SPELL_REGEX, SPELL_EBNF, SPELL_TAG, SCHEMA_TAG, SPELL_CHOICE};
    uint32_t style = tape_byte(&b->tape);
    b->kind = drawn[style % 8];
    b->judged = b->kind < SCHEMA;
    ste_options options = {.whitespace = (int)(style / 8 % 4), .property_order = (int)(style / 32 % 2), .spaces = {0, 1, 1, 0}};
    for (uint32_t g = 0; g < N_GRAMMARS; g++) {
        b->page.n = 0;
        if (b->kind == SCHEMA) {
            schema_spell(&b->tape, &b->page);
        } else if (b->kind == SCHEMA_TAG) {
            schema_tag_spell(&b->tape, &b->page);
        } else if (b->kind == SPELL_EBNF && g > 0) { /* the same rules from another one: all of them are shared */
            uint32_t rule = tape_below(&b->tape, b->small[0].n_rules);
            b->small[g] = b->small[0];
            grammar_reroot(&b->small[g], rule);
            grammar_spell(&b->small[g], SPELL_EBNF, &b->page);
        } else {
            grammar_grow(&b->tape, &b->small[g], &b->tokens, (spelling)b->kind);
            grammar_spell(&b->small[g], (spelling)b->kind, &b->page);
        }
        static const char *const names[] = {"r0", "r1", "r2", "r3", "r4", "r5"};
        for (uint32_t r = 0; b->kind == SPELL_EBNF && r < b->small[g].n_rules; r++)
            if (b->small[g].rules[r] == b->small[g].root) options.root = names[r];
        if (b->page.full || !compile(b, g, &options)) return false;
    }
    return true;
}

static void run(bench *b) {
    b->now = &b->sequences[0];
    for (uint32_t i = 0; i < N_SEQUENCES; i++)
        if (i == 0 || tape_one_in(&b->tape, 2)) open_sequence(b, &b->sequences[i], i % N_GRAMMARS);
    check(b);
    for (int i = 0; i < MOST_OPERATIONS && b->tape.n > 0; i++) {
        operate(b);
        check(b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bench bench_now;
    static char text[MOST_TEXT];
    bench *b = &bench_now;
    memset(b, 0, sizeof *b);
    b->tape = (tape){data, size};
    b->counter.fail_at = -1;
    b->page.at = text;
    vocab_grow(&b->tape, &b->tokens);
    b->words = (b->tokens.size + 31) / 32;
    const ste_allocator allocator = {counting_resize, &b->counter};
    REQUIRE(ste_vocab_new_with(&allocator, b->tokens.bytes, b->tokens.offsets, b->tokens.n, b->tokens.size, b->tokens.special,
                               b->tokens.n_special, b->tokens.stop, b->tokens.n_stop, &b->vocab, NULL) == STE_OK);
    ste_limits limits;
    ste_limits_default(&limits);
    limits.set_items = 2000;
    limits.match_items = 400000;
    for (int c = 0; c < N_COMPILERS; c++) REQUIRE(ste_compiler_new(b->vocab, c == 0 ? 4 << 20 : 1, &limits, &b->compilers[c], NULL) == STE_OK);
    if (grow_grammars(b) && setjmp(b->over) == 0) run(b);
    end_failing(b);
    while (b->n_forks > 0) ste_matcher_free(b->forks[--b->n_forks]);
    for (uint32_t i = 0; i < N_SEQUENCES; i++) close_sequence(&b->sequences[i]);
    for (uint32_t i = 0; i < N_GRAMMARS * N_COMPILERS; i++) ste_grammar_free(b->grammars[i / N_COMPILERS][i % N_COMPILERS]);
    for (int c = 0; c < N_COMPILERS; c++) ste_compiler_free(b->compilers[c]);
    ste_vocab_free(b->vocab);
    b->now = NULL;
    REQUIRE(b->counter.live_blocks == 0 && b->counter.live_bytes == 0);
    return 0;
}
