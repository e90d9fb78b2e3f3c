/* grammar.c - compile: text -> front end -> builder -> interned rules; and the cache of whole texts.
 *
 * A text that was compiled before, with the same options, gives the same grammar:
 * one hash and one comparison.  Else the work is done in an arena without any
 * lock; only interning the rules takes `gate` (for reading) and `grow`, and the
 * gate is kept until the grammar is on the store's list, where a collection sees
 * its rules.
 *
 * Locks: the compiler's own for the texts, taken before `grow`, never inside the
 * gate. */
#include "front.h"
#include "json_text.h"
#include "matcher.h"

#define VERSION "0.1.0"

const char *ste_version(void) { return VERSION; }

/* ---- grammars ---- */

ste_grammar *grammar_retain(ste_grammar *g) {
    atomic_fetch_add_explicit(&g->references, 1, memory_order_relaxed);
    return g;
}

void ste_grammar_free(ste_grammar *g) {
    if (g == NULL || atomic_fetch_sub_explicit(&g->references, 1, memory_order_acq_rel) != 1) return;
    store *s = g->store;
    pthread_mutex_lock(&s->grow);
    if (g->previous != NULL)
        g->previous->next = g->next;
    else
        s->grammars = g->next;
    if (g->next != NULL) g->next->previous = g->previous;
    pthread_mutex_unlock(&s->grow);
    store_free(s, g->notes, g->notes_size);
    store_free(s, g, sizeof *g);
    store_release(s);
}

uint64_t ste_grammar_memory(const ste_grammar *g) { return g->memory; }

const char *ste_grammar_note(const ste_grammar *g, uint32_t i) {
    if (i >= g->n_notes) return NULL;
    const char *at = g->notes;
    for (; i > 0; i--) at += strlen(at) + 1;
    return at;
}

/* ---- the cache of texts: a table with a list from most to least recently used ---- */

typedef struct text_entry text_entry;
struct text_entry {
    uint64_t hash;
    text_entry *chain, *newer, *older;
    ste_grammar *grammar;
    int kind, whitespace;
    size_t length, more_length, last_length;
    char bytes[]; /* text, then what beside_text says, then the grammars by name */
};

struct ste_compiler {
    store *store;
    _Atomic uint32_t references;
    ste_limits limits;
    pthread_mutex_t lock;
    table texts;
    text_entry *newest, *oldest;
    uint64_t room_at; /* above these bytes texts are forgotten; under lock */
    _Atomic uint64_t hits, misses, nanoseconds;
};

static size_t entry_size(const text_entry *e) { return sizeof *e + e->length + e->more_length + e->last_length; }

static void list_remove(ste_compiler *c, text_entry *e) {
    *(e->newer != NULL ? &e->newer->older : &c->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &c->oldest) = e->newer;
}

static void list_push(ste_compiler *c, text_entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest != NULL ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void forget(ste_compiler *c, text_entry *e) {
    table_remove(&c->texts, e);
    list_remove(c, e);
    ste_grammar_free(e->grammar);
    store_free(c->store, e, entry_size(e));
}

void ste_limits_default(ste_limits *l) {
    *l = (ste_limits){
        .input_bytes = UINT64_C(4) << 20,
        .depth = 256,
        .rules = 200000,
        .states = 4000000,
        .compile_bytes = UINT64_C(1) << 29,
        .compile_seconds = 10,
        .set_items = 50000,
        .match_items = 50000000,
        .match_items_per_token = 500000,
        .matcher_bytes = UINT64_C(256) << 20,
    };
}

int ste_compiler_new(ste_vocab *vocab, uint64_t cache_bytes, const ste_limits *limits, ste_compiler **out,
                     ste_error *err) {
    if (limits->input_bytes == 0 || limits->depth == 0 || limits->rules == 0 || limits->states == 0 ||
        limits->compile_bytes == 0 || !(limits->compile_seconds > 0) || limits->set_items == 0 || limits->match_items == 0 ||
        limits->match_items_per_token == 0 || limits->matcher_bytes == 0)
        return fail(err, STE_ERR_ARGUMENT, 0, "a limit of 0");
    if (limits->depth > 10000) return fail(err, STE_ERR_ARGUMENT, 0, "depth limit %u is above 10000", limits->depth);
    ste_compiler *c = mem_new(&vocab->allocator, 1, sizeof *c);
    if (c == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "compiler");
    c->store = store_new(vocab, cache_bytes, limits);
    if (c->store == NULL) {
        mem_free(&vocab->allocator, c, 1, sizeof *c);
        return fail(err, STE_ERR_NO_MEMORY, 0, "compiler");
    }
    atomic_init(&c->references, 1);
    c->limits = *limits;
    c->room_at = cache_bytes;
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return STE_OK;
}

static void forget_all(ste_compiler *c) {
    pthread_mutex_lock(&c->lock);
    while (c->oldest != NULL) forget(c, c->oldest);
    pthread_mutex_unlock(&c->lock);
}

void ste_compiler_free(ste_compiler *c) {
    if (c == NULL) return;
    forget_all(c);
    store *s = c->store;
    table_free(s, &c->texts);
    pthread_mutex_destroy(&c->lock);
    const ste_allocator a = s->allocator;
    mem_free(&a, c, 1, sizeof *c);
    store_release(s);
}

void ste_compiler_clear(ste_compiler *c) {
    forget_all(c);
    store_collect(c->store, COLLECT_ALL);
}

void ste_compiler_stats(ste_compiler *c, ste_stats *out) {
    store *s = c->store;
    memset(out, 0, sizeof *out);
    out->grammar_hits = atomic_load(&c->hits);
    out->grammar_misses = atomic_load(&c->misses);
    out->compile_seconds = 1e-9 * (double)atomic_load(&c->nanoseconds);
    out->text_hits = atomic_load(&s->stats.text_hits);
    out->text_misses = atomic_load(&s->stats.text_misses);
    out->rule_hits = atomic_load(&s->stats.rule_hits);
    out->rule_misses = atomic_load(&s->stats.rule_misses);
    out->row_hits = atomic_load(&s->stats.row_hits);
    out->row_misses = atomic_load(&s->stats.row_misses);
    out->local_hits = atomic_load(&s->stats.local_hits);
    out->local_misses = atomic_load(&s->stats.local_misses);
    out->evictions = atomic_load(&s->stats.evictions);
    out->bytes = atomic_load(&s->bytes);
    pthread_mutex_lock(&s->grow);
    out->sets = s->sets.count;
    out->rules = s->rules.count;
    out->rows = s->rows.count;
    for (ste_grammar *g = s->grammars; g != NULL; g = g->next) out->grammars++;
    pthread_mutex_unlock(&s->grow);
}

/* ---- compile ---- */

typedef struct job {
    ste_compiler *compiler;
    int kind;
    const char *text;
    size_t length;
    ste_options options;
    work w;
    builder b;
    rule *root;
    names names;
    bool locked; /* gate and grow are held; without an error the gate stays so: the root has no owner yet */
} job;

static int empty_code(int kind) {
    return kind == STE_KIND_JSON_SCHEMA ? STE_ERR_SCHEMA : kind == STE_KIND_STRUCTURAL_TAG ? STE_ERR_TAG : STE_ERR_SYNTAX;
}

/* Everything that can escape. */
static bool run(job *j) {
    if (setjmp(j->w.out.env) != 0) {
        escape_tell(&j->w.out);
        return false;
    }
    store *s = j->compiler->store;
    builder_init(&j->b, &j->w, s->vocab);
    j->b.names = &j->names;
    switch (j->kind) {
    case STE_KIND_JSON_SCHEMA:
        schema_front(&j->b, j->text, j->length, j->options.whitespace, j->options.documents);
        break;
    case STE_KIND_STRUCTURAL_TAG:
        tag_front(&j->b, j->text, j->length, j->options.whitespace);
        break;
    case STE_KIND_REGEX:
        regex_front(&j->b, j->text, j->length);
        break;
    case STE_KIND_EBNF:
        ebnf_front(&j->b, j->text, j->length, j->options.root == NULL ? "root" : j->options.root);
        break;
    case STE_KIND_LARK:
        lark_front(&j->b, j->text, j->length, j->options.root, j->options.grammars);
        break;
    default:
        choice_front(&j->b, j->text, j->length);
        break;
    }
    builder_finish(&j->b, empty_code(j->kind));
    pthread_rwlock_rdlock(&s->gate);
    pthread_mutex_lock(&s->grow);
    j->locked = true;
    j->root = store_intern(s, &j->b);
    pthread_mutex_unlock(&s->grow);
    j->locked = false;
    return true;
}

/* Bytes of the rules that root needs, and whether one of them is a capture, or one beside which none may be. */
static uint64_t grammar_bytes(store *s, rule *root, bool *captures, bool *distinct) {
    uint64_t total = 0;
    uint32_t n = 0;
    rule **queue = store_alloc(s, (s->rules.count + 1) * sizeof *queue);
    uint32_t capacity = s->rules.count + 1;
    *distinct = false;
    *captures = queue == NULL; /* at worst a transcript that nobody needs */
    if (queue == NULL) return root->memory;
    root->mark = true;
    queue[n++] = root;
    for (uint32_t i = 0; i < n; i++) {
        total += queue[i]->memory;
        if (queue[i]->capture.name != NULL) *captures = true;
        if (queue[i]->kind == RULE_DISTINCT || queue[i]->once_words != 0) *distinct = true;
        for (uint32_t k = 0; k < queue[i]->n_rules + (queue[i]->repeated != NULL); k++) {
            rule *r = k < queue[i]->n_rules ? queue[i]->rules[k].rule : queue[i]->repeated;
            if (r->mark) continue;
            r->mark = true;
            queue[n++] = r;
        }
    }
    for (uint32_t i = 0; i < n; i++) queue[i]->mark = false;
    store_free(s, queue, capacity * sizeof *queue);
    return total;
}

static ste_grammar *grammar_new(job *j) {
    store *s = j->compiler->store;
    size_t notes = 0;
    for (uint32_t i = 0; i < j->b.notes.n; i++) notes += strlen(j->b.notes.at[i]) + 1;
    ste_grammar *g = store_alloc(s, sizeof *g);
    char *text = store_alloc(s, notes);
    if (g == NULL || text == NULL) {
        store_free(s, g, sizeof *g);
        store_free(s, text, notes);
        return NULL;
    }
    g->store = store_retain(s);
    atomic_init(&g->references, 1);
    g->root = j->root;
    g->notes = text;
    g->notes_size = notes;
    g->n_notes = j->b.notes.n;
    for (uint32_t i = 0; i < j->b.notes.n; i++) {
        size_t n = strlen(j->b.notes.at[i]) + 1;
        memcpy(text, j->b.notes.at[i], n);
        text += n;
    }
    pthread_mutex_lock(&s->grow);
    g->memory = grammar_bytes(s, g->root, &g->captures, &g->distinct);
    g->next = s->grammars;
    if (s->grammars != NULL) s->grammars->previous = g;
    s->grammars = g;
    pthread_mutex_unlock(&s->grow);
    return g;
}

/* Other texts that the grammar depends on; empty where there are none. */
static const char *beside_text(const job *j) {
    const char *text = j->kind == STE_KIND_JSON_SCHEMA ? j->options.documents : j->options.root;
    return text == NULL ? "" : text;
}

static const char *named_grammars(const job *j) {
    return j->kind != STE_KIND_LARK || j->options.grammars == NULL ? "" : j->options.grammars;
}

static text_entry *find(ste_compiler *c, const job *j, uint64_t hash) {
    const char *more = beside_text(j), *last = named_grammars(j);
    size_t more_length = strlen(more), last_length = strlen(last);
    text_entry *e = table_first(&c->texts, hash);
    for (; e != NULL; e = e->chain)
        if (e->hash == hash && e->kind == j->kind && e->whitespace == j->options.whitespace && e->length == j->length &&
            e->more_length == more_length && e->last_length == last_length && memcmp(e->bytes, j->text, j->length) == 0 &&
            memcmp(e->bytes + e->length, more, more_length) == 0 &&
            memcmp(e->bytes + e->length + more_length, last, last_length) == 0)
            return e;
    return NULL;
}

/* Remembering is best effort: without memory the grammar is simply compiled again next time. */
static void remember(ste_compiler *c, const job *j, uint64_t hash, ste_grammar *g) {
    const char *more = beside_text(j), *last = named_grammars(j);
    size_t more_length = strlen(more), last_length = strlen(last);
    text_entry *e = store_alloc(c->store, sizeof *e + j->length + more_length + last_length);
    if (e == NULL) return;
    e->hash = hash;
    e->kind = j->kind;
    e->whitespace = j->options.whitespace;
    e->length = j->length;
    e->more_length = more_length;
    e->last_length = last_length;
    memcpy(e->bytes, j->text, j->length);
    memcpy(e->bytes + j->length, more, more_length);
    memcpy(e->bytes + j->length + more_length, last, last_length);
    pthread_mutex_lock(&c->lock);
    if (find(c, j, hash) != NULL || !table_reserve(c->store, &c->texts)) {
        pthread_mutex_unlock(&c->lock);
        store_free(c->store, e, entry_size(e));
        return;
    }
    e->grammar = grammar_retain(g);
    table_add(&c->texts, e);
    list_push(c, e);
    pthread_mutex_unlock(&c->lock);
}

/* Over budget: the older half of the texts goes first, then what nobody needs any more. */
static void make_room(ste_compiler *c) {
    store *s = c->store;
    pthread_mutex_lock(&c->lock);
    bool over = store_live_bytes(s) > c->room_at;
    for (uint32_t n = over ? (c->texts.count + 1) / 2 : 0; n > 0; n--) forget(c, c->oldest);
    pthread_mutex_unlock(&c->lock);
    if (!over) return;
    store_collect(s, COLLECT_NOW);
    /* What is left may be live: then a little more must come before it is worth trying again. */
    uint64_t left = store_live_bytes(s) + s->budget / 4;
    pthread_mutex_lock(&c->lock);
    c->room_at = left > s->budget ? left : s->budget;
    pthread_mutex_unlock(&c->lock);
}

int ste_compile(ste_compiler *c, int kind, const char *text, size_t length, const ste_options *options,
                ste_grammar **out, ste_error *err) {
    if (kind < STE_KIND_JSON_SCHEMA || kind > STE_KIND_LARK) return fail(err, STE_ERR_ARGUMENT, 0, "kind %d", kind);
    if (length > c->limits.input_bytes)
        return fail(err, STE_ERR_LIMIT, 0, "text of %llu bytes is longer than the limit of %llu",
                    (unsigned long long)length, (unsigned long long)c->limits.input_bytes);
    if (kind == STE_KIND_LARK && options != NULL && options->grammars != NULL && strlen(options->grammars) > c->limits.input_bytes)
        return fail(err, STE_ERR_LIMIT, 0, "the grammars by name are longer than the limit of %llu", (unsigned long long)c->limits.input_bytes);
    store *s = c->store;
    double begin = monotonic_seconds();
    job j = {.compiler = c, .kind = kind, .text = text, .length = length, .names = names_of(s)};
    if (options != NULL) j.options = *options;
    for (int i = 0; i < 4; i++)
        if (j.options.spaces[i] > 15) return fail(err, STE_ERR_ARGUMENT, 0, "more than 15 spaces beside a separator");
    j.options.whitespace = json_layout(&j.options);
    uint64_t hash = hash_bytes(text, length, (uint64_t)kind << 8 | (uint64_t)j.options.whitespace);
    pthread_mutex_lock(&c->lock);
    text_entry *known = find(c, &j, hash);
    if (known != NULL) {
        list_remove(c, known);
        list_push(c, known);
        *out = grammar_retain(known->grammar);
    }
    pthread_mutex_unlock(&c->lock);
    if (known != NULL) {
        atomic_fetch_add(&c->hits, 1);
        return STE_OK;
    }
    atomic_fetch_add(&c->misses, 1);
    make_room(c);
    store_sweep(c->store, SWEEP_COMPILE);

    j.w.limits = c->limits;
    j.w.deadline = begin + c->limits.compile_seconds;
    arena_init(&j.w.mem, &s->allocator, &j.w.out, c->limits.compile_bytes);
    ste_grammar *g = NULL;
    bool done = run(&j);
    if (j.locked) pthread_mutex_unlock(&s->grow);
    if (done) g = grammar_new(&j);
    if (done || j.locked) pthread_rwlock_unlock(&s->gate);
    names_unpin(s, &j.b);
    arena_free(&j.w.mem);
    atomic_fetch_add(&c->nanoseconds, (uint64_t)((monotonic_seconds() - begin) * 1e9));
    if (!done) {
        if (err != NULL) *err = j.w.out.error;
        return j.w.out.error.code;
    }
    if (g == NULL) return fail(err, STE_ERR_NO_MEMORY, 0, "grammar");
    if (g->captures && g->distinct) {
        ste_grammar_free(g);
        return fail(err, STE_ERR_UNSUPPORTED, 0, "captures beside keyword \"uniqueItems\" over items of many values, or more than %d keys in any order, are not supported",
                    FEW_ONCES);
    }
    remember(c, &j, hash, g);
    *out = g;
    return STE_OK;
}
