/* engine_anatomy.c - looks inside the engine while it works, for docs/ENGINE.md; engine_anatomy.py builds and runs it.
 *
 *   engine_anatomy masks FILE         run the requests of a workload; counts, sizes and times as "name value" lines
 *   engine_anatomy compile FILE       only compile its grammars
 *   engine_anatomy show EBNF TEXT WORD...   the sets after each byte of TEXT, for a vocabulary of these words
 *
 * A workload is numbers of 64 bits and byte strings (a number, then that many bytes), in this order:
 *   tokens, size of the mask, the tokens' bytes (strings); special tokens, their ids; stop tokens, their ids;
 *   grammars, for each its kind and text; requests, for each its grammar, tokens, their ids.
 *
 * It reads the engine's private structures, so it belongs to one version of them; it changes none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "matcher.h"

static void stop_if(bool bad, const char *why) {
    if (!bad) return;
    fprintf(stderr, "engine_anatomy: %s\n", why);
    exit(1);
}

static void *room(size_t n, size_t size) {
    void *p = calloc(n == 0 ? 1 : n, size);
    stop_if(p == NULL, "out of memory");
    return p;
}

/* Seconds of this thread's processor time: other load on the machine does not show. */
static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ... that reading it twice in a row takes. */
static double clock_cost(void) {
    double least = 1;
    for (int i = 0; i < 1000; i++) {
        double begin = processor_seconds(), took = processor_seconds() - begin;
        if (took < least) least = took;
    }
    return least;
}

static double since(double begin, double reading) {
    double took = processor_seconds() - begin - reading;
    return took > 0 ? took : 0;
}

/* ---- the workload ---- */

typedef struct request {
    uint32_t grammar, n;
    uint32_t *tokens;
} request;

typedef struct workload {
    FILE *file;
    ste_vocab *vocab;
    uint32_t n_grammars, n_requests;
    int *kinds;
    char **texts;
    size_t *lengths;
    request *requests;
} workload;

static uint64_t number(workload *w) {
    uint64_t n;
    stop_if(fread(&n, sizeof n, 1, w->file) != 1, "the workload is cut short");
    return n;
}

static uint32_t *ids(workload *w, uint32_t *n) {
    *n = (uint32_t)number(w);
    uint32_t *out = room(*n, sizeof *out);
    for (uint32_t i = 0; i < *n; i++) out[i] = (uint32_t)number(w);
    return out;
}

static char *string(workload *w, size_t *n) {
    *n = number(w);
    char *out = room(*n + 1, 1);
    stop_if(fread(out, 1, *n, w->file) != *n, "the workload is cut short");
    return out;
}

static void read_vocab(workload *w) {
    uint32_t n_tokens = (uint32_t)number(w), size = (uint32_t)number(w), n_special, n_stop;
    uint64_t *offsets = room((size_t)n_tokens + 1, sizeof *offsets);
    size_t cap = 1 << 20;
    uint8_t *bytes = room(cap, 1);
    for (uint32_t t = 0; t < n_tokens; t++) {
        size_t n;
        char *one = string(w, &n);
        while (offsets[t] + n > cap) bytes = realloc(bytes, cap *= 2);
        stop_if(bytes == NULL, "out of memory");
        memcpy(bytes + offsets[t], one, n);
        offsets[t + 1] = offsets[t] + n;
        free(one);
    }
    uint32_t *special = ids(w, &n_special), *stop = ids(w, &n_stop);
    stop_if(ste_vocab_new(bytes, offsets, n_tokens, size, special, n_special, stop, n_stop, &w->vocab, NULL) != STE_OK,
            "the vocabulary");
    free(bytes);
    free(offsets);
    free(special);
    free(stop);
}

static workload read_workload(const char *path) {
    workload w = {.file = fopen(path, "rb")};
    stop_if(w.file == NULL, "the workload cannot be read");
    read_vocab(&w);
    w.n_grammars = (uint32_t)number(&w);
    w.kinds = room(w.n_grammars, sizeof *w.kinds);
    w.texts = room(w.n_grammars, sizeof *w.texts);
    w.lengths = room(w.n_grammars, sizeof *w.lengths);
    for (uint32_t i = 0; i < w.n_grammars; i++) {
        w.kinds[i] = (int)number(&w);
        w.texts[i] = string(&w, &w.lengths[i]);
    }
    w.n_requests = (uint32_t)number(&w);
    w.requests = room(w.n_requests, sizeof *w.requests);
    for (uint32_t i = 0; i < w.n_requests; i++) {
        w.requests[i].grammar = (uint32_t)number(&w);
        w.requests[i].tokens = ids(&w, &w.requests[i].n);
    }
    fclose(w.file);
    return w;
}

static void free_workload(workload *w) {
    for (uint32_t i = 0; i < w->n_grammars; i++) free(w->texts[i]);
    for (uint32_t i = 0; i < w->n_requests; i++) free(w->requests[i].tokens);
    free(w->kinds);
    free(w->texts);
    free(w->lengths);
    free(w->requests);
    ste_vocab_free(w->vocab);
}

/* ---- numbers and their distribution ---- */

typedef struct series {
    const char *name;
    double *at;
    uint32_t n, cap;
} series;

static void add(series *s, double value) {
    if (s->n == s->cap) {
        s->cap = s->cap == 0 ? 1024 : s->cap * 2;
        s->at = realloc(s->at, s->cap * sizeof *s->at);
        stop_if(s->at == NULL, "out of memory");
    }
    s->at[s->n++] = value;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* NAME n mean p50 p90 p99 max */
static void report(series *s) {
    double sum = 0;
    if (s->n != 0) qsort(s->at, s->n, sizeof *s->at, compare);
    for (uint32_t i = 0; i < s->n; i++) sum += s->at[i];
    printf("%s %u", s->name, s->n);
    static const double points[] = {0.5, 0.9, 0.99};
    printf(" %.2f", s->n == 0 ? 0 : sum / s->n);
    for (int i = 0; i < 3; i++) printf(" %.2f", s->n == 0 ? 0 : s->at[(uint32_t)(points[i] * (s->n - 1))]);
    printf(" %.2f\n", s->n == 0 ? 0 : s->at[s->n - 1]);
    free(s->at);
}

static void count(const char *name, uint64_t value) { printf("%s %llu\n", name, (unsigned long long)value); }

/* ---- running it ---- */

typedef struct run {
    const workload *w;
    ste_compiler *compiler;
    ste_grammar **grammars;
    store *s;
    series items, waiters, depth, allowed, warm, canonical, cold_known, cold_local, accepts;
    uint64_t refused, few, dense;
    uint32_t tenth;              /* of the requests, from 0 */
    double known[10], steps[10]; /* per tenth: masks that were known, masks */
    double clock_cost;
} run;

static void compile(run *r) {
    ste_limits limits;
    ste_limits_default(&limits);
    stop_if(ste_compiler_new(r->w->vocab, (uint64_t)4 << 30, &limits, &r->compiler, NULL) != STE_OK, "the compiler");
    r->grammars = room(r->w->n_grammars, sizeof *r->grammars);
    double begin = processor_seconds();
    for (uint32_t i = 0; i < r->w->n_grammars; i++) {
        ste_error err = {0};
        ste_grammar *g = NULL;
        if (ste_compile(r->compiler, r->w->kinds[i], r->w->texts[i], r->w->lengths[i], NULL, &g, &err) == STE_OK)
            r->s = g->store;
        else
            r->refused++;
        r->grammars[i] = g;
    }
    printf("compile_ms %.2f\n", 1e3 * since(begin, r->clock_cost));
    count("grammars", r->w->n_grammars);
    count("grammars_refused", r->refused);
    stop_if(r->s == NULL, "no grammar was compiled");
}

static set *current(const ste_matcher *m) { return m->steps[m->n_steps - 1]; }

/* Sets on the longest way to the outermost one: how deep the text is nested.  Follows first origins only. */
static uint32_t nesting(const run *r, const set *at) {
    uint32_t depth = 0;
    while (at != NULL && at != r->s->bottom && at != r->s->top && depth < 1000) {
        const set *next = NULL;
        for (uint32_t i = 0; i < at->n_scan && next == NULL; i++) next = at->scan[i].origin;
        for (uint32_t i = 0; i < at->n_waiters && next == NULL; i++) next = set_waiters(at)[i].origin;
        at = next;
        depth++;
    }
    return depth;
}

static void one_step(run *r, ste_matcher *m, uint32_t token, uint32_t *bits) {
    store_stats *st = &r->s->stats;
    uint32_t words = ste_vocab_mask_words(r->w->vocab);
    const set *at = current(m);
    bool known = atomic_load(&at->row) != NULL;
    uint64_t hits = st->row_hits, misses = st->row_misses, local = st->local_misses;
    double begin = processor_seconds();
    stop_if(ste_matcher_fill(m, bits, words) < 0, "a mask failed");
    double us = 1e6 * since(begin, r->clock_cost);
    bool by_canonical = !known && st->row_misses - misses == 1 && st->row_hits - hits == 1;
    series *cold = st->local_misses != local ? &r->cold_local : &r->cold_known;
    add(known ? &r->warm : by_canonical ? &r->canonical : cold, us);
    r->known[r->tenth] += known;
    r->steps[r->tenth]++;
    const struct row *made = atomic_load(&at->row);
    *(row_is_few(made) ? &r->few : &r->dense) += 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++) n += (uint32_t)__builtin_popcount(bits[i]);
    add(&r->allowed, n);
    add(&r->items, at->n_scan);
    add(&r->waiters, at->n_waiters);
    add(&r->depth, nesting(r, at));
    begin = processor_seconds();
    int accepted = ste_matcher_accept_token(m, token);
    add(&r->accepts, 1e6 * since(begin, r->clock_cost));
    stop_if(accepted < 0, "a step failed");
    if (accepted == 0) r->refused++;
}

static void match(run *r) {
    uint32_t *bits = room(ste_vocab_mask_words(r->w->vocab), sizeof *bits);
    r->refused = 0;
    for (uint32_t i = 0; i < r->w->n_requests; i++) {
        const request *q = &r->w->requests[i];
        ste_matcher *m = NULL;
        if (r->grammars[q->grammar] == NULL) continue;
        stop_if(ste_matcher_new(r->grammars[q->grammar], NULL, 0, &m, NULL) != STE_OK, "a matcher");
        uint64_t refused = r->refused;
        r->tenth = (uint32_t)((uint64_t)i * 10 / r->w->n_requests);
        for (uint32_t k = 0; k < q->n && r->refused == refused; k++) one_step(r, m, q->tokens[k], bits);
        ste_matcher_free(m);
    }
    free(bits);
    count("requests", r->w->n_requests);
    count("requests_refused", r->refused);
    printf("known_percent_by_tenth");
    for (int i = 0; i < 10; i++) printf(" %.0f", r->steps[i] == 0 ? 0 : 100 * r->known[i] / r->steps[i]);
    printf("\n");
}

/* ---- what is there now ---- */

static bool is_local(const run *r, const set *at) {
    for (uint32_t i = 0; i < at->n_scan; i++)
        if (at->scan[i].origin == r->s->top) return true;
    return at->n_waiters != 0 && set_waiters(at)[0].origin == r->s->top;
}

static void look_at_sets(run *r) {
    series items = {.name = "set_items"}, waiters = {.name = "set_waiters"};
    uint64_t local = 0, loops = 0, bytes = 0, edges = 0, kinds = 0, exits = 0, rows = 0, same = 0;
    for (uint32_t i = 0; i < table_size(&r->s->sets); i++)
        for (set *at = *table_at(&r->s->sets, i); at != NULL; at = at->chain) {
            bool alone = is_local(r, at);
            local += alone;
            bytes += set_bytes(at);
            for (uint32_t k = 0; at->classes != NULL && k < at->classes->n; k++) {
                const set *to = atomic_load(&at->edges[k]);
                edges += to != NULL;
                same += to == at;
            }
            if (at->classes != NULL) kinds += at->classes->n;
            exit_list *e = atomic_load(&at->exits);
            if (e != NULL) exits += sizeof *e + e->n * sizeof *e->nodes;
            loop *l = atomic_load(&at->loop);
            loops += l != NULL && l->is_loop;
            rows += at->row != NULL;
            if (alone) continue;
            add(&items, at->n_scan);
            add(&waiters, at->n_waiters);
        }
    report(&items);
    report(&waiters);
    count("sets", r->s->sets.count);
    count("sets_local", local);
    count("sets_with_row", rows);
    count("sets_loop", loops);
    count("edges", edges);
    count("edges_to_itself", same);
    count("bytes_sets", bytes);
    count("byte_classes", r->s->classes.count);
    count("kinds_of_bytes", kinds);
    count("bytes_edges", kinds * sizeof(set *));
    count("bytes_exits", exits);
}

static void look_at_rows(run *r) {
    uint64_t few = 0, few_bytes = 0, dense_bytes = 0;
    series sizes = {.name = "row_list_tokens"};
    for (uint32_t i = 0; i < table_size(&r->s->rows); i++)
        for (struct row *at = *table_at(&r->s->rows, i); at != NULL; at = at->chain) {
            *(row_is_few(at) ? &few_bytes : &dense_bytes) += row_bytes(r->s, at);
            few += row_is_few(at);
            if (row_is_few(at)) add(&sizes, at->n);
        }
    report(&sizes);
    count("rows", r->s->rows.count);
    count("rows_list", few);
    count("bytes_rows_list", few_bytes);
    count("bytes_rows_bits", dense_bytes);
}

static void look_at_rules(run *r) {
    series states = {.name = "rule_states"};
    uint64_t bytes = 0, named = 0, built = 0, repeats = 0;
    for (uint32_t i = 0; i < table_size(&r->s->rules); i++)
        for (rule *at = *table_at(&r->s->rules, i); at != NULL; at = at->chain) {
            bytes += at->memory;
            named += at->kind == RULE_NAMED;
            built += at->kind == RULE_NAMED && at->repeated != NULL;
            repeats += at->kind == RULE_REPEAT;
            if (at->kind == RULE_PLAIN) add(&states, at->n_states);
        }
    report(&states);
    count("rules", r->s->rules.count);
    count("rules_named", named);
    count("rules_named_built", built);
    count("rules_repeat", repeats);
    count("bytes_rules", bytes);
}

static void look_at_stats(run *r) {
    ste_stats st;
    ste_compiler_stats(r->compiler, &st);
    count("rule_hits", st.rule_hits);
    count("rule_misses", st.rule_misses);
    count("text_hits", st.text_hits);
    count("text_misses", st.text_misses);
    count("row_hits", st.row_hits);
    count("row_misses", st.row_misses);
    count("local_hits", st.local_hits);
    count("local_misses", st.local_misses);
    count("bytes", st.bytes);
    const ste_vocab *v = r->w->vocab;
    count("vocab_tokens", v->n_tokens);
    count("trie_nodes", v->ordinary.n_nodes);
    for (const leavers *l = atomic_load(&v->leavers); l != NULL; l = l->next) count("leavers", l->n_cut);
}

/* No matcher is left: rules of live grammars stay, and the local parts that fit half the budget. */
static void collect(run *r) {
    double begin = processor_seconds();
    store_collect(r->s, COLLECT_NOW);
    printf("collect_ms %.2f\n", 1e3 * since(begin, r->clock_cost));
    count("collect_bytes_left", atomic_load(&r->s->bytes));
    count("collect_sets_left", r->s->sets.count);
}

static void masks(const char *path, bool only_compile) {
    workload w = read_workload(path);
    run r = {.w = &w,
             .clock_cost = clock_cost(),
             .items = {.name = "step_items"},
             .waiters = {.name = "step_waiters"},
             .depth = {.name = "step_nesting"},
             .allowed = {.name = "step_allowed"},
             .warm = {.name = "us_warm"},
             .canonical = {.name = "us_canonical"},
             .cold_known = {.name = "us_cold_known"},
             .cold_local = {.name = "us_cold_local"},
             .accepts = {.name = "us_accept"}};
    compile(&r);
    if (!only_compile) match(&r);
    series *all[] = {&r.items,     &r.waiters,    &r.depth,      &r.allowed, &r.warm,
                     &r.canonical, &r.cold_known, &r.cold_local, &r.accepts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) report(all[i]);
    count("fills_list", r.few);
    count("fills_bits", r.dense);
    look_at_sets(&r);
    look_at_rows(&r);
    look_at_rules(&r);
    look_at_stats(&r);
    if (!only_compile) collect(&r);
    for (uint32_t i = 0; i < w.n_grammars; i++) ste_grammar_free(r.grammars[i]);
    free(r.grammars);
    ste_compiler_free(r.compiler);
    free_workload(&w);
}

/* ---- a small grammar, set by set ---- */

#define MOST_SHOWN 256

typedef struct show {
    store *s;
    const rule *rules[MOST_SHOWN];
    const set *sets[MOST_SHOWN];
    uint32_t n_rules, n_sets;
} show;

static uint32_t rule_number(show *w, const rule *r) {
    uint32_t i = 0;
    while (i < w->n_rules && w->rules[i] != r) i++;
    stop_if(i == MOST_SHOWN, "too many rules to show");
    if (i == w->n_rules) w->rules[w->n_rules++] = r;
    return i;
}

static uint32_t set_number(show *w, const set *at) {
    uint32_t i = 0;
    while (i < w->n_sets && w->sets[i] != at) i++;
    stop_if(i == MOST_SHOWN, "too many sets to show");
    if (i == w->n_sets) w->sets[w->n_sets++] = at;
    return i;
}

static void print_origin(show *w, const set *origin) {
    if (origin == NULL)
        printf("SELF");
    else if (origin == w->s->bottom)
        printf("bottom");
    else if (origin == w->s->top)
        printf("top");
    else
        printf("S%u", set_number(w, origin));
}

static void print_state(show *w, const state *st, uint64_t reg) {
    printf("R%u.%u", rule_number(w, st->rule), (uint32_t)(st - st->rule->states));
    if (reg == COUNT_FREE)
        printf(" free");
    else if (reg == COUNT_OPEN)
        printf(" open");
    else if (st->rule->kind == RULE_REPEAT)
        printf(" %llu", (unsigned long long)reg);
}

static void print_set(show *w, uint32_t i) {
    const set *at = w->sets[i];
    printf("S%u%s\n", i, (at->flags & SET_ACCEPTING) != 0 ? "  accepting" : "");
    for (uint32_t k = 0; k < at->n_scan; k++) {
        printf("  item    ");
        print_state(w, at->scan[k].state, at->scan[k].reg);
        printf(" from ");
        print_origin(w, at->scan[k].origin);
        printf("\n");
    }
    for (uint32_t k = 0; k < at->n_waiters; k++) {
        const waiter *x = &set_waiters(at)[k];
        printf("  waiter  R%u -> ", rule_number(w, x->on));
        if (x->target == NULL)
            printf("complete");
        else
            print_state(w, x->target, x->reg);
        printf(" from ");
        print_origin(w, x->origin);
        printf("\n");
    }
    for (int b = 0; b < 256; b++) {
        const set *to = byteset_has(&at->allow, (uint32_t)b) ? atomic_load(&at->edges[at->classes->of[b]]) : NULL;
        if (to == NULL) continue;
        printf("  %c -> ", b);
        print_origin(w, to);
        printf("\n");
    }
}

static void print_rule(show *w, uint32_t i) {
    const rule *r = w->rules[i];
    printf("R%u%s", i, r->nullable ? "  nullable" : "");
    if (r->kind == RULE_REPEAT) printf("  R%u repeated %u to %u times", rule_number(w, r->repeated), r->min, r->max);
    printf("\n");
    for (uint32_t k = 0; k < r->n_states && r->kind == RULE_PLAIN; k++) {
        const state *st = &r->states[k];
        printf("  %u%s:", k, st->final ? " final" : "");
        for (uint32_t e = 0; e < st->n_bytes; e++)
            printf(st->bytes[e].lo == st->bytes[e].hi ? " %c -> %u" : " %c-%c -> %u", st->bytes[e].lo,
                   st->bytes[e].lo == st->bytes[e].hi ? (int)(st->bytes[e].to - r->states) : st->bytes[e].hi,
                   (int)(st->bytes[e].to - r->states));
        for (uint32_t e = 0; e < st->n_rules; e++)
            printf(" R%u -> %d", rule_number(w, st->rules[e].rule), (int)(st->rules[e].to - r->states));
        printf("\n");
    }
}

static void print_row(const uint32_t *bits, char **words, uint32_t n) {
    printf("  row    ");
    for (uint32_t t = 0; t < n; t++)
        if (bit_get(bits, t)) printf(" %s", words[t]);
    printf("\n");
}

static void show_grammar(const char *ebnf, const char *text, char **words, uint32_t n) {
    uint64_t *offsets = room((size_t)n + 1, sizeof *offsets);
    uint8_t *bytes = room(65536, 1);
    for (uint32_t t = 0; t < n; t++) {
        offsets[t + 1] = offsets[t] + strlen(words[t]);
        stop_if(offsets[t + 1] > 65536, "the words are too long");
        memcpy(bytes + offsets[t], words[t], strlen(words[t]));
    }
    ste_vocab *vocab = NULL;
    ste_compiler *compiler = NULL;
    ste_grammar *g = NULL;
    ste_matcher *m = NULL;
    ste_limits limits;
    ste_error err = {0};
    ste_limits_default(&limits);
    stop_if(ste_vocab_new(bytes, offsets, n, n, NULL, 0, NULL, 0, &vocab, NULL) != STE_OK, "the vocabulary");
    stop_if(ste_compiler_new(vocab, 1 << 26, &limits, &compiler, NULL) != STE_OK, "the compiler");
    stop_if(ste_compile(compiler, STE_KIND_EBNF, ebnf, strlen(ebnf), NULL, &g, &err) != STE_OK, err.message);
    stop_if(ste_matcher_new(g, NULL, 0, &m, NULL) != STE_OK, "the matcher");
    show w = {.s = g->store};
    rule_number(&w, g->root);
    uint32_t *bits = room(ste_vocab_mask_words(vocab), sizeof *bits);
    for (size_t i = 0;; i++) {
        printf("after %.*s: S%u", (int)i, text, set_number(&w, current(m)));
        stop_if(ste_matcher_fill(m, bits, ste_vocab_mask_words(vocab)) < 0, "a mask failed");
        print_row(bits, words, n);
        if (text[i] == '\0') break;
        stop_if(ste_matcher_accept_bytes(m, (const uint8_t *)text + i, 1) != 1, "a byte is refused");
    }
    for (uint32_t i = 0; i < w.n_sets; i++) print_set(&w, i);
    for (uint32_t i = 0; i < w.n_rules; i++) print_rule(&w, i);
    for (uint32_t i = 0; i < table_size(&w.s->sets); i++)
        for (set *at = *table_at(&w.s->sets, i); at != NULL; at = at->chain) {
            const struct row *known = atomic_load(&at->row);
            if (at->n_scan != 1 || at->scan[0].origin != w.s->top || known == NULL) continue;
            printf("alone   ");
            print_state(&w, at->scan[0].state, at->scan[0].reg);
            row_write(w.s, known, bits);
            print_row(bits, words, n);
            const exit_list *e = atomic_load(&at->exits);
            for (uint32_t k = 0; e != NULL && k < e->n; k++)
                printf("  exit     node %u, byte %c\n", e->nodes[k], vocab->ordinary.nodes[e->nodes[k]].byte);
        }
    ste_matcher_free(m);
    ste_grammar_free(g);
    ste_compiler_free(compiler);
    ste_vocab_free(vocab);
    free(bits);
    free(bytes);
    free(offsets);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "masks") == 0)
        masks(argv[2], false);
    else if (argc == 3 && strcmp(argv[1], "compile") == 0)
        masks(argv[2], true);
    else if (argc > 4 && strcmp(argv[1], "show") == 0)
        show_grammar(argv[2], argv[3], argv + 4, (uint32_t)argc - 4);
    else
        stop_if(true, "usage: engine_anatomy masks|compile FILE, or show EBNF TEXT WORD...");
    return 0;
}
