/* matcher.c - one sequence: argument checks, the entry flag, steps, rows, jumping forward, draft trees, batches.
 *
 * Every function enters the matcher (a second thread gets STE_ERR_BUSY), holds
 * the store's gate for reading while it works, and, if it may have made sets,
 * collects on its way out when the store is over its budget: no set is in hand
 * then.  What a step finds is pushed only when all of it went well, so a failure
 * leaves the matcher where it was, or failed.
 *
 * Cost: a token is a step (set_step) per byte; rollback and reset one pass over
 * the steps dropped; fork a copy of the stack; a row see mask.c. */
#include "matcher.h"

#include "capture.h"

static bool enter(ste_matcher *m) {
    if (atomic_exchange_explicit(&m->busy, true, memory_order_acquire)) return false;
    pthread_rwlock_rdlock(&m->grammar->store->gate);
    m->use.code = STE_ERR_NO_MEMORY;
    return true;
}

/* A limit ends the matcher, calmly: what was asked has the answer no.  Lack of memory is reported. */
static int64_t settle(ste_matcher *m, int64_t code) {
    if (code != STE_ERR_LIMIT) return code;
    m->failed = STE_ERR_LIMIT;
    return 0;
}

static bool is_over(const ste_matcher *m) { return m->terminated || m->failed != STE_OK; }

/* collect: a long-running store gets its memory back here, where no set is in hand. */
static void leave(ste_matcher *m, bool collect) {
    store *s = m->grammar->store;
    pthread_rwlock_unlock(&s->gate);
    if (collect && store_full(s)) store_collect(s, COLLECT_IF_FULL);
    if (collect) store_sweep(s, SWEEP_STEP);
    atomic_store_explicit(&m->busy, false, memory_order_release);
}

static set *current(const ste_matcher *m) { return m->steps[m->n_steps - 1]; }

static void link_matcher(ste_matcher *m) {
    store *s = m->grammar->store;
    pthread_mutex_lock(&s->grow);
    m->next = s->matchers;
    if (s->matchers != NULL) s->matchers->previous = m;
    s->matchers = m;
    pthread_mutex_unlock(&s->grow);
}

static bool reserve_steps(ste_matcher *m, uint32_t n) {
    if (n <= m->cap_steps) return true;
    store *s = m->grammar->store;
    uint32_t cap = m->cap_steps == 0 ? 16 : m->cap_steps;
    while (cap < n) cap *= 2;
    set **grown = store_alloc(s, cap * sizeof *grown);
    if (grown == NULL) return false;
    if (m->n_steps != 0) memcpy(grown, m->steps, m->n_steps * sizeof *grown);
    store_free(s, m->steps, m->cap_steps * sizeof *m->steps);
    m->steps = grown;
    m->cap_steps = cap;
    return true;
}

static void destroy(ste_matcher *m) {
    store *s = m->grammar->store;
    store_free(s, m->steps, m->cap_steps * sizeof *m->steps);
    store_free(s, m->stop, m->n_stop * sizeof *m->stop);
    transcript_free(s, m->transcript);
    measure_release(s, m->measure);
    ste_grammar *g = m->grammar;
    store_free(s, m, sizeof *m);
    ste_grammar_free(g);
}

static ste_matcher *matcher_make(ste_grammar *g, const uint32_t *stop, uint32_t n_stop, uint32_t n_steps) {
    store *s = g->store;
    ste_matcher *m = store_alloc(s, sizeof *m);
    if (m == NULL) return NULL;
    m->grammar = grammar_retain(g);
    m->n_stop = n_stop;
    m->use = (use){.s = s, .work = s->limits.match_items};
    m->stop = store_alloc(s, n_stop * sizeof *m->stop);
    if (m->stop == NULL || !reserve_steps(m, n_steps)) {
        destroy(m);
        return NULL;
    }
    if (n_stop != 0) memcpy(m->stop, stop, n_stop * sizeof *stop);
    return m;
}

static const char too_ambiguous[] = "the grammar is too ambiguous here: the parser's state passes a limit of matching";

int ste_matcher_new(ste_grammar *g, const uint32_t *stop, uint32_t n_stop, ste_matcher **out, ste_error *err) {
    store *s = g->store;
    if (stop == NULL) {
        stop = s->vocab->stop;
        n_stop = s->vocab->n_stop;
    }
    for (uint32_t i = 0; i < n_stop; i++)
        if (stop[i] >= s->vocab->size)
            return fail(err, STE_ERR_ARGUMENT, 0, "stop token %u outside the vocabulary of %u", stop[i], s->vocab->size);
    ste_matcher *m = matcher_make(g, stop, n_stop, 1);
    if (m != NULL && g->captures && (m->transcript = transcript_new(s)) == NULL) {
        destroy(m);
        m = NULL;
    }
    if (m == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "matcher");
    pthread_rwlock_rdlock(&s->gate);
    m->use.code = STE_ERR_NO_MEMORY;
    m->steps[0] = set_initial(&m->use, g->root);
    m->n_steps = 1;
    if (m->steps[0] != NULL) link_matcher(m);
    pthread_rwlock_unlock(&s->gate);
    if (m->steps[0] == NULL) {
        int code = m->use.code;
        destroy(m);
        return fail(err, code, 0, code == STE_ERR_LIMIT ? too_ambiguous : "matcher");
    }
    *out = m;
    return STE_OK;
}

int ste_matcher_fork(ste_matcher *m, ste_matcher **out, ste_error *err) {
    if (!enter(m)) return fail(err, STE_ERR_BUSY, 0, "the matcher is in use by another thread");
    ste_matcher *copy = matcher_make(m->grammar, m->stop, m->n_stop, m->n_steps);
    if (copy != NULL && m->transcript != NULL &&
        (copy->transcript = transcript_copy(m->grammar->store, m->transcript)) == NULL) {
        destroy(copy);
        copy = NULL;
    }
    if (copy != NULL) {
        memcpy(copy->steps, m->steps, m->n_steps * sizeof *m->steps);
        copy->n_steps = m->n_steps;
        copy->terminated = m->terminated;
        copy->failed = m->failed;
        copy->use = m->use;
        copy->bytes = m->bytes;
        copy->measure = measure_retain(copy->grammar->store, m->measure);
        copy->most = m->most;
        copy->budgeted_at = m->budgeted_at;
        link_matcher(copy);
    }
    leave(m, false);
    if (copy == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "matcher");
    *out = copy;
    return STE_OK;
}

void ste_matcher_free(ste_matcher *m) {
    if (m == NULL) return;
    store *s = m->grammar->store;
    pthread_mutex_lock(&s->grow);
    if (m->previous != NULL)
        m->previous->next = m->next;
    else
        s->matchers = m->next;
    if (m->next != NULL) m->next->previous = m->previous;
    pthread_mutex_unlock(&s->grow);
    destroy(m);
}

uint32_t ste_matcher_vocab_size(const ste_matcher *m) { return m->grammar->store->vocab->size; }

/* ---- stepping; all of these want the gate ---- */

typedef struct outcome {
    set *to;   /* NULL: refused, or failed */
    int code;  /* 1, 0, or negative */
    bool stop; /* the sequence ends with this token */
} outcome;

static outcome refused(void) { return (outcome){NULL, 0, false}; }
static outcome reached(const use *u, set *to, bool stop) { return (outcome){to, to == NULL ? u->code : 1, stop}; }

static outcome step_bytes(use *u, set *from, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!byteset_has(&from->allow, bytes[i])) return refused();
        from = set_step(u, from, bytes[i]);
        if (from == NULL) break;
    }
    return reached(u, from, false);
}

/* The bytes are a whole token, or are taken for one. */
static outcome step_whole(use *u, set *from, const uint8_t *bytes, size_t n) {
    outcome o = step_bytes(u, from, bytes, n);
    if (o.code != 1 || (o.to->flags & SET_METERED) == 0) return o;
    return (o.to->flags & SET_CUT) != 0 ? refused() : reached(u, set_settle(u, o.to), false);
}

static bool is_stop(const ste_matcher *m, uint32_t token) {
    for (uint32_t i = 0; i < m->n_stop; i++)
        if (m->stop[i] == token) return true;
    return false;
}

/* A stop token ends a text that is complete; or it is content whose consumption completes the text. */
static outcome step_stop(use *u, set *from, uint32_t token) {
    if ((from->flags & SET_ACCEPTING) != 0) return reached(u, from, true);
    if (!set_has_token(from, token)) return refused();
    set *to = set_step_token(u, from, token);
    if (to != NULL && (to->flags & SET_ACCEPTING) == 0) return refused();
    return reached(u, to, true);
}

static outcome step_token(ste_matcher *m, set *from, uint32_t token) {
    use *u = &m->use;
    const ste_vocab *v = u->s->vocab;
    if (token >= v->n_tokens) {
        if (token >= v->size) return refused();
    } else if (!is_stop(m, token)) {
        uint64_t begin = v->offsets[token], end = v->offsets[token + 1];
        outcome by_bytes = refused();
        if (begin != end && !bit_get(v->special, token)) by_bytes = step_whole(u, from, v->bytes + begin, end - begin);
        if (by_bytes.code < 0 || !set_has_token(from, token)) return by_bytes;
        set *by_token = set_step_token(u, from, token);
        if (by_token == NULL || by_bytes.to == NULL || by_token == by_bytes.to) return reached(u, by_token, false);
        return reached(u, set_union(u, by_token, by_bytes.to), false);
    }
    return is_stop(m, token) ? step_stop(u, from, token) : refused();
}

/* Tokens that the budget leaves after `ahead` more steps. */
static uint64_t tokens_left(const ste_matcher *m, uint64_t ahead) {
    uint64_t used = m->n_steps - 1 + ahead;
    return m->measure == NULL ? NEVER : m->most > used ? m->most - used : 0;
}

/* The step from `from`, if what is left is enough to complete the text after it.  Stop tokens are free. */
static outcome within(ste_matcher *m, set *from, outcome o, uint64_t left) {
    if (m->measure == NULL || o.code != 1 || o.stop) return o;
    int code = left == 0 ? 0 : budget_allows(&m->use, m->measure, from, o.to, left - 1);
    return code == 1 ? o : (outcome){NULL, code, false};
}

static outcome step_within(ste_matcher *m, set *from, uint32_t token, uint64_t ahead) {
    return within(m, from, step_token(m, from, token), tokens_left(m, ahead));
}

/* Bytes that a step from `from` adds to what the matcher keeps alive. */
static uint64_t step_size(const set *from, const set *to) { return from == to ? 0 : set_bytes(to); }

/* What an accepted token adds to the text: itself, read as bytes or as a unit, unless it ends a complete text. */
static passage passage_of(const ste_matcher *m, uint32_t token, outcome o) {
    const ste_vocab *v = m->grammar->store->vocab;
    if (m->transcript == NULL || o.code != 1 || token >= v->n_tokens || (o.stop && (current(m)->flags & SET_ACCEPTING) != 0))
        return (passage){.token = TRIE_NO_TOKEN};
    uint64_t begin = v->offsets[token], end = v->offsets[token + 1];
    return (passage){v->bytes + begin, end - begin, token, !o.stop && !bit_get(v->special, token)};
}

static int push(ste_matcher *m, outcome o, passage p) {
    if (o.code != 1) return o.code;
    const ste_limits *l = &m->grammar->store->limits;
    uint64_t size = step_size(current(m), o.to);
    if (m->bytes + size > l->matcher_bytes) return STE_ERR_LIMIT;
    if (!reserve_steps(m, m->n_steps + 1)) return STE_ERR_NO_MEMORY;
    if (m->transcript != NULL) {
        int code = transcript_reserve(m->grammar->store, m->transcript, p.n);
        if (code != STE_OK) return code;
        transcript_add(m->transcript, p);
    }
    m->steps[m->n_steps++] = o.to;
    m->bytes += size;
    m->use.work += l->match_items_per_token;
    if (m->use.work > l->match_items) m->use.work = l->match_items;
    m->terminated = o.stop;
    return 1;
}

int ste_matcher_accept_token(ste_matcher *m, uint32_t token) {
    if (!enter(m)) return STE_ERR_BUSY;
    outcome o = is_over(m) ? refused() : step_within(m, current(m), token, 0);
    int64_t code = settle(m, push(m, o, passage_of(m, token, o)));
    leave(m, true);
    return (int)code;
}

int ste_matcher_accept_bytes(ste_matcher *m, const uint8_t *bytes, size_t n) {
    if (!enter(m)) return STE_ERR_BUSY;
    int64_t code = 0;
    if (!is_over(m)) {
        outcome o = within(m, current(m), step_whole(&m->use, current(m), bytes, n), tokens_left(m, 0));
        code = settle(m, push(m, o, (passage){bytes, n, TRIE_NO_TOKEN, true}));
    }
    leave(m, true);
    return (int)code;
}

static int64_t count_accepted(ste_matcher *m, const uint32_t *tokens, uint64_t n) {
    set *at = current(m);
    uint64_t i = 0;
    for (bool over = is_over(m); i < n && !over; i++) {
        outcome o = step_within(m, at, tokens[i], i);
        if (settle(m, o.code) < 0) return o.code;
        if (o.code != 1) break;
        at = o.to;
        over = o.stop;
    }
    return (int64_t)i;
}

int64_t ste_matcher_validate(ste_matcher *m, const uint32_t *tokens, uint32_t n) {
    if (!enter(m)) return STE_ERR_BUSY;
    int64_t count = count_accepted(m, tokens, n);
    leave(m, true);
    return count;
}

/* A budget goes with the position where it was set. */
static void go_back(ste_matcher *m, uint32_t n_steps) {
    for (; m->n_steps > n_steps; m->n_steps--) m->bytes -= step_size(m->steps[m->n_steps - 2], m->steps[m->n_steps - 1]);
    if (m->transcript != NULL) transcript_cut(m->transcript, n_steps - 1);
    m->terminated = false;
    m->failed = STE_OK;
    if (m->measure == NULL || n_steps >= m->budgeted_at) return;
    measure_release(m->grammar->store, m->measure);
    m->measure = NULL;
}

int ste_matcher_reset(ste_matcher *m) {
    if (!enter(m)) return STE_ERR_BUSY;
    go_back(m, 1);
    leave(m, false);
    return STE_OK;
}

int ste_matcher_rollback(ste_matcher *m, uint32_t n) {
    if (!enter(m)) return STE_ERR_BUSY;
    int code = STE_OK;
    if (n >= m->n_steps) {
        code = STE_ERR_ARGUMENT;
    } else if (n > 0) {
        go_back(m, m->n_steps - n);
    }
    leave(m, false);
    return code;
}

/* ---- budgets ---- */

/* The fewest tokens that are enough from here, by a measure that the caller gets a reference of. */
static int find_least(ste_matcher *m, measure **out, uint64_t *least) {
    store *s = m->grammar->store;
    measure *found = measure_acquire(s, m->stop, m->n_stop);
    if (found == NULL) return STE_ERR_NO_MEMORY;
    *least = 0;
    int code = measure_open(&m->use, found, m->grammar->root);
    if (code == STE_OK && !is_over(m)) code = budget_least(&m->use, found, current(m), least);
    if (code == STE_OK)
        *out = found;
    else
        measure_release(s, found);
    return code;
}

static int no_measure(ste_error *err, int code) {
    return fail(err, code, 0, code == STE_ERR_LIMIT ? "the grammar is too large for a token budget" : code == STE_ERR_UNSUPPORTED ? "a token budget is not supported for objects with keys in any order, nor for arrays of unique values" : "token budget");
}

int ste_matcher_least_tokens(ste_matcher *m, uint64_t *least, ste_error *err) {
    if (!enter(m)) return fail(err, STE_ERR_BUSY, 0, "the matcher is in use by another thread");
    measure *found;
    uint64_t n;
    int code = find_least(m, &found, &n);
    if (code == STE_OK) {
        measure_release(m->grammar->store, found);
        *least = n;
    }
    leave(m, true);
    return code == STE_OK ? STE_OK : no_measure(err, code);
}

int ste_matcher_set_token_budget(ste_matcher *m, uint64_t n, ste_error *err) {
    if (!enter(m)) return fail(err, STE_ERR_BUSY, 0, "the matcher is in use by another thread");
    store *s = m->grammar->store;
    measure *found = NULL;
    uint64_t least = 0;
    int code = n == STE_NO_BUDGET ? STE_OK : find_least(m, &found, &least);
    if (code != STE_OK) {
        no_measure(err, code);
    } else if (least == NEVER) {
        code = fail(err, STE_ERR_ARGUMENT, 0, "no budget is enough: the vocabulary has no tokens that complete the text");
    } else if (n < least) {
        code = fail(err, STE_ERR_ARGUMENT, 0, "a budget of %llu tokens, but the text needs %llu", (unsigned long long)n,
                    (unsigned long long)least);
    }
    if (code == STE_OK) {
        measure_release(s, m->measure);
        m->measure = found;
        m->most = tokens_least(tokens_add(n, m->n_steps - 1), NEVER - 1);
        m->budgeted_at = m->n_steps;
    } else {
        measure_release(s, found);
    }
    leave(m, true);
    return code;
}

int ste_matcher_can_terminate(ste_matcher *m) {
    if (!enter(m)) return STE_ERR_BUSY;
    int yes = m->terminated || (current(m)->flags & SET_ACCEPTING) != 0;
    leave(m, false);
    return yes;
}

int ste_matcher_is_terminated(ste_matcher *m) {
    if (!enter(m)) return STE_ERR_BUSY;
    int yes = m->terminated;
    leave(m, false);
    return yes;
}

int ste_matcher_error(ste_matcher *m, ste_error *err) {
    if (!enter(m)) return STE_ERR_BUSY;
    int code = m->failed;
    leave(m, false);
    if (code == STE_OK) return STE_OK;
    return fail(err, code, 0, code == STE_ERR_LIMIT ? too_ambiguous : "out of memory");
}

/* ---- captures ---- */

int64_t ste_matcher_captures(ste_matcher *m, ste_capture *out, size_t capacity, ste_error *err) {
    if (!enter(m)) return fail(err, STE_ERR_BUSY, 0, "the matcher is in use by another thread");
    int64_t n = 0;
    if (m->transcript != NULL)
        n = transcript_captures(&m->use, m->transcript, m->grammar->root, m->terminated, out, capacity);
    leave(m, true);
    if (n == STE_ERR_LIMIT) fail(err, STE_ERR_LIMIT, 0, "too many readings of the text, or too long a text, for captures");
    if (n == STE_ERR_NO_MEMORY) fail(err, STE_ERR_NO_MEMORY, 0, "captures");
    return n;
}

int ste_matcher_copy_text(ste_matcher *m, uint64_t begin, uint64_t end, uint8_t *bytes) {
    if (!enter(m)) return STE_ERR_BUSY;
    uint64_t n = m->transcript == NULL ? 0 : m->transcript->text.n;
    int code = begin <= end && end <= n ? STE_OK : STE_ERR_ARGUMENT;
    if (code == STE_OK && begin != end) memcpy(bytes, m->transcript->text.at + begin, end - begin);
    leave(m, false);
    return code;
}

/* ---- masks ---- */

/* Stop tokens are per matcher, so rows know nothing of them. */
static int write_stops(ste_matcher *m, set *at, uint32_t *words) {
    for (uint32_t i = 0; i < m->n_stop; i++) {
        outcome o = step_stop(&m->use, at, m->stop[i]);
        if (o.code < 0) return o.code;
        if (o.code == 1)
            bit_set(words, m->stop[i]);
        else
            bit_clear(words, m->stop[i]);
    }
    return STE_OK;
}

static bool all_set(const uint32_t *words, uint32_t size) {
    for (uint32_t i = 0; i < size / 32; i++)
        if (words[i] != UINT32_MAX) return false;
    return size % 32 == 0 || words[size / 32] == (UINT32_C(1) << (size % 32)) - 1;
}

static int only_stops(const ste_matcher *m, uint32_t *words) {
    memset(words, 0, m->grammar->store->vocab->words * sizeof *words);
    for (uint32_t i = 0; i < m->n_stop; i++) bit_set(words, m->stop[i]);
    return 1;
}

/* The row after `ahead` more steps, without stop tokens; NULL in *out where no token is left. */
static int find_row(ste_matcher *m, set *at, uint64_t ahead, const row **out) {
    *out = NULL;
    if (m->measure != NULL) {
        uint64_t left = tokens_left(m, ahead);
        return left == 0 ? STE_OK : budget_row(&m->use, m->measure, at, left - 1, out);
    }
    *out = mask_row(&m->use, at);
    return *out == NULL ? m->use.code : STE_OK;
}

/* The row at `at`, `ahead` steps from here.  1: written; 0: written, nothing is forbidden; negative: out of memory. */
static int write_row(ste_matcher *m, set *at, uint64_t ahead, bool terminated, uint32_t *words) {
    store *s = m->grammar->store;
    if (terminated || m->failed != STE_OK) return only_stops(m, words);
    const row *r;
    int code = find_row(m, at, ahead, &r);
    if (code == STE_OK) {
        if (r != NULL)
            row_write(s, r, words);
        else
            memset(words, 0, s->vocab->words * sizeof *words);
        code = write_stops(m, at, words);
    }
    if (code != STE_OK) return settle(m, code) < 0 ? code : only_stops(m, words);
    return all_set(words, s->vocab->size) ? 0 : 1; /* stops at the first word with a gap */
}

int ste_matcher_fill(ste_matcher *m, uint32_t *words, uint32_t n_words) {
    if (n_words != m->grammar->store->vocab->words) return STE_ERR_ARGUMENT;
    if (!enter(m)) return STE_ERR_BUSY;
    int code = write_row(m, current(m), 0, m->terminated, words);
    leave(m, true);
    return code;
}

/* ---- jump forward ---- */

/* The one byte that must come after `at`, or -1. */
static int forced_byte(const set *at) {
    if ((at->flags & (SET_ACCEPTING | SET_TOKENS)) != 0) return -1;
    int count = 0, byte = -1;
    for (int i = 0; i < 4; i++) {
        count += __builtin_popcountll(at->allow.w[i]);
        if (at->allow.w[i] != 0) byte = i * 64 + __builtin_ctzll(at->allow.w[i]);
    }
    return count == 1 ? byte : -1;
}

/* Bytes that must come after *at, which moves on behind them; negative when out of memory. */
static int64_t forced_run(use *u, set **at, uint8_t *bytes, size_t capacity) {
    size_t n = 0;
    for (int byte; n < capacity && (byte = forced_byte(*at)) >= 0; n++) {
        set *next = set_step(u, *at, (uint32_t)byte);
        if (next == NULL) return u->code;
        *at = next;
        bytes[n] = (uint8_t)byte;
    }
    return (int64_t)n;
}

int64_t ste_matcher_forced_bytes(ste_matcher *m, uint8_t *bytes, size_t capacity) {
    if (!enter(m)) return STE_ERR_BUSY;
    set *at = current(m);
    int64_t n = is_over(m) ? 0 : settle(m, forced_run(&m->use, &at, bytes, capacity));
    leave(m, true);
    return n;
}

/* The one token that must come where no byte can; TRIE_NO_TOKEN if there is none or a choice. */
static uint32_t forced_token(const set *at) {
    if ((at->flags & SET_ACCEPTING) != 0 || !byteset_empty(&at->allow)) return TRIE_NO_TOKEN;
    uint32_t found = TRIE_NO_TOKEN;
    for (uint32_t i = 0; i < at->n_scan; i++)
        for (uint32_t e = 0; e < at->scan[i].state->n_tokens; e++) {
            uint32_t token = at->scan[i].state->tokens[e].lo;
            if (at->scan[i].state->tokens[e].hi != token) return TRIE_NO_TOKEN;
            if (found != TRIE_NO_TOKEN && found != token) return TRIE_NO_TOKEN;
            found = token;
        }
    return found;
}

/* Could these bytes be the beginning of a longer token? */
static bool open_ended(const trie *t, const uint8_t *s, size_t n) {
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = node + 1, end = node + t->nodes[node].size;
        while (c < end && t->nodes[c].byte < s[i]) c += t->nodes[c].size;
        if (c >= end || t->nodes[c].byte != s[i]) return false;
        node = c;
    }
    return t->nodes[node].size > 1;
}

#define FORCED_RUN 4096

int64_t ste_matcher_forced_tokens(ste_matcher *m, uint32_t *tokens, size_t capacity) {
    store *s = m->grammar->store;
    const trie *t = &s->vocab->ordinary;
    uint8_t *bytes = store_alloc(s, FORCED_RUN);
    if (bytes == NULL) return STE_ERR_NO_MEMORY;
    if (!enter(m)) {
        store_free(s, bytes, FORCED_RUN);
        return STE_ERR_BUSY;
    }
    set *at = current(m);
    int64_t n = 0, code = 0;
    while (!is_over(m) && (size_t)n < capacity) {
        int64_t run = forced_run(&m->use, &at, bytes, FORCED_RUN);
        if (run < 0) code = run;
        size_t used = 0, length = 0;
        bool token_next = run < FORCED_RUN && run >= 0 && forced_token(at) != TRIE_NO_TOKEN;
        while (code == 0 && used < (size_t)run && (size_t)n < capacity) {
            if (!token_next && open_ended(t, bytes + used, (size_t)run - used)) break;
            uint32_t token = trie_longest_prefix(t, bytes + used, (size_t)run - used, &length);
            if (token == TRIE_NO_TOKEN || is_stop(m, token)) break;
            tokens[n++] = token;
            used += length;
        }
        if (code != 0 || !token_next || used < (size_t)run || (size_t)n == capacity) break;
        uint32_t token = forced_token(at);
        if (is_stop(m, token)) break;
        at = set_step_token(&m->use, at, token);
        if (at == NULL) {
            code = m->use.code;
            break;
        }
        tokens[n++] = token;
    }
    code = settle(m, code);
    if (code == 0 && m->measure != NULL) n = count_accepted(m, tokens, (uint64_t)n); /* the longest may be too many */
    leave(m, true);
    store_free(s, bytes, FORCED_RUN);
    return code != 0 ? code : n;
}

/* ---- draft trees ---- */

typedef struct draft_node {
    set *at; /* NULL: not valid */
    uint32_t depth;
    bool terminated;
} draft_node;

/* Is every node but the root mentioned at most once, and the root never?  Then what the root leads to is a tree. */
static bool is_tree(const int64_t *first_child, const int64_t *next_sibling, uint32_t n, uint8_t *mentioned) {
    mentioned[0] = 1;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t to[2] = {first_child[i], next_sibling[i]};
        for (int k = 0; k < 2; k++) {
            if (to[k] == -1) continue;
            if (mentioned[to[k]]) return false;
            mentioned[to[k]] = 1;
        }
    }
    return true;
}

int64_t ste_matcher_fill_draft_tree(ste_matcher *m, const int64_t *tokens, const int64_t *first_child,
                                    const int64_t *next_sibling, uint32_t n_nodes, uint32_t *bitmask,
                                    uint32_t n_words) {
    store *s = m->grammar->store;
    if (n_words != s->vocab->words || n_nodes == 0) return STE_ERR_ARGUMENT;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (first_child[i] < -1 || first_child[i] >= (int64_t)n_nodes || next_sibling[i] < -1 ||
            next_sibling[i] >= (int64_t)n_nodes)
            return STE_ERR_ARGUMENT;
    if (!enter(m)) return STE_ERR_BUSY;
    int64_t valid = 0, code = STE_OK;
    uint32_t depth = 0;
    draft_node *nodes = store_alloc(s, n_nodes * sizeof *nodes);
    uint32_t *stack = store_alloc(s, n_nodes * sizeof *stack);
    uint8_t *mentioned = store_alloc(s, n_nodes);
    if (nodes == NULL || stack == NULL || mentioned == NULL)
        code = STE_ERR_NO_MEMORY;
    else if (!is_tree(first_child, next_sibling, n_nodes, mentioned))
        code = STE_ERR_ARGUMENT;
    if (code != STE_OK) goto done;
    memset(bitmask, 0, (size_t)n_nodes * n_words * sizeof *bitmask);
    nodes[0] = (draft_node){current(m), 0, m->terminated};
    stack[depth++] = 0;
    while (depth > 0) {
        uint32_t i = stack[--depth];
        int filled = write_row(m, nodes[i].at, nodes[i].depth, nodes[i].terminated, bitmask + (size_t)i * n_words);
        if (filled < 0) {
            code = filled;
            goto done;
        }
        valid++;
        for (int64_t c = first_child[i]; c != -1; c = next_sibling[c]) {
            if (nodes[i].terminated || tokens[c] < 0 || tokens[c] >= (int64_t)s->vocab->size) continue;
            outcome o = step_within(m, nodes[i].at, (uint32_t)tokens[c], nodes[i].depth);
            if (settle(m, o.code) < 0) {
                code = o.code;
                goto done;
            }
            if (o.code != 1) continue;
            nodes[c] = (draft_node){o.to, nodes[i].depth + 1, o.stop};
            stack[depth++] = (uint32_t)c;
        }
    }
done:
    store_free(s, nodes, n_nodes * sizeof *nodes);
    store_free(s, stack, n_nodes * sizeof *stack);
    store_free(s, mentioned, n_nodes);
    leave(m, true);
    return code < 0 ? code : valid;
}

int ste_fill_batch(ste_matcher *const *matchers, uint32_t n, uint32_t *bitmask, uint32_t n_words,
                   const int64_t *rows, ste_error *err) {
    for (uint32_t i = 0; i < n; i++)
        if (matchers[i]->grammar->store->vocab->words != n_words)
            return fail(err, STE_ERR_ARGUMENT, i, "row of %u words for a vocabulary of %u tokens (matcher %u)", n_words,
                        matchers[i]->grammar->store->vocab->size, i);
    store *held = NULL; /* the gate is taken once per run of matchers of one store */
    int code = STE_OK;
    for (uint32_t i = 0; i < n && code == STE_OK; i++) {
        ste_matcher *m = matchers[i];
        store *s = m->grammar->store;
        if (atomic_exchange_explicit(&m->busy, true, memory_order_acquire)) {
            code = fail(err, STE_ERR_BUSY, i, "matcher %u is in use by another thread", i);
            break;
        }
        if (s != held) {
            if (held != NULL) pthread_rwlock_unlock(&held->gate);
            pthread_rwlock_rdlock(&s->gate);
            held = s;
        }
        int64_t to = rows == NULL ? (int64_t)i : rows[i];
        m->use.code = STE_ERR_NO_MEMORY;
        if (write_row(m, current(m), 0, m->terminated, bitmask + (size_t)to * n_words) < 0) {
            m->failed = STE_ERR_NO_MEMORY; /* its request ends; the batch goes on */
            only_stops(m, bitmask + (size_t)to * n_words);
        }
        atomic_store_explicit(&m->busy, false, memory_order_release);
    }
    if (held != NULL) {
        pthread_rwlock_unlock(&held->gate);
        if (store_full(held)) store_collect(held, COLLECT_IF_FULL);
        store_sweep(held, SWEEP_STEP);
    }
    return code;
}
