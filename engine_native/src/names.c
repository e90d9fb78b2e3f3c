/* names.c - rules of whole schema texts, shared by text and built when they are needed.
 *
 * A tool set of hundreds of tools is mostly schemas that this text will never
 * enter, and the next request brings nine in ten of them again.  So the schema
 * of a tag is not compiled with the tag: its text gets a *named* rule, found
 * again by that text, and the automaton is built (name_build) when the parser
 * first predicts it.  Only texts that are sure to give a rule (schema_plain.c)
 * may wait; others are compiled at once, and remembered.
 *
 * The keys that an open object does not declare wait likewise: few objects of a
 * large schema are ever entered.
 *
 * A named rule never appears in a set: the rule that it stands for does, so
 * equal schemas share everything whatever their texts are.
 *
 * Life: a collection keeps a named rule that a live rule mentions, that stands
 * for a live rule, or that is pinned by a compile in progress. */
#include "front.h"
#include "json_text.h"
#include "store.h"

typedef struct name {
    size_t n;
    int whitespace;
    char text[];
} name;

static bool is_schema(const char *text) { return text[0] != SHARED && text[0] != OTHERS; }

static uint64_t name_hash(const char *text, size_t n, int whitespace) {
    return hash_bytes(text, n, 0x6e616d65 + (uint64_t)whitespace);
}

static rule *lookup(const store *s, const char *text, size_t n, int whitespace, uint64_t hash) {
    rule *r = table_first(&s->rules, hash);
    for (; r != NULL; r = r->chain)
        if (r->hash == hash && r->kind == RULE_NAMED && r->name->n == n && r->name->whitespace == whitespace &&
            memcmp(r->name->text, text, n) == 0)
            break;
    return r;
}

static rule *insert(store *s, const char *text, size_t n, int whitespace, uint64_t hash) {
    if (!table_reserve(s, &s->rules)) return NULL;
    size_t size = sizeof(rule) + sizeof(name) + n;
    rule *r = store_alloc(s, size);
    if (r == NULL) return NULL;
    r->memory = size;
    r->kind = RULE_NAMED;
    r->hash = hash;
    r->name = (name *)(void *)(r + 1);
    r->name->n = n;
    r->name->whitespace = whitespace;
    memcpy(r->name->text, text, n);
    table_add(&s->rules, r);
    return r;
}

static rule *find(void *ctx, const char *text, size_t n, int whitespace) {
    store *s = ctx;
    pthread_mutex_lock(&s->grow);
    rule *r = lookup(s, text, n, whitespace, name_hash(text, n, whitespace));
    if (r != NULL) r->pins++;
    pthread_mutex_unlock(&s->grow);
    if (r != NULL && is_schema(text)) atomic_fetch_add_explicit(&s->stats.text_hits, 1, memory_order_relaxed);
    return r;
}

/* The same, under grow. */
static rule *find_held(void *ctx, const char *text, size_t n, int whitespace) {
    rule *r = lookup(ctx, text, n, whitespace, name_hash(text, n, whitespace));
    if (r != NULL) r->pins++;
    return r;
}

/* Under grow. */
static rule *add_held(void *ctx, const char *text, size_t n, int whitespace) {
    uint64_t hash = name_hash(text, n, whitespace);
    rule *r = lookup(ctx, text, n, whitespace, hash);
    if (r == NULL) r = insert(ctx, text, n, whitespace, hash);
    if (r != NULL) r->pins++;
    return r;
}

static rule *add(void *ctx, const char *text, size_t n, int whitespace) {
    store *s = ctx;
    pthread_mutex_lock(&s->grow);
    rule *r = add_held(s, text, n, whitespace);
    pthread_mutex_unlock(&s->grow);
    if (is_schema(text)) atomic_fetch_add_explicit(&s->stats.text_misses, 1, memory_order_relaxed);
    return r;
}

static bool nullable(const rule *r) { return r->nullable; }

names names_of(store *s) { return (names){s, find, add, nullable}; }

bool name_is_endless(const rule *r) { return r->name->text[0] == OTHERS; }

void names_unpin(store *s, const builder *b) {
    if (b->pinned.n == 0) return;
    pthread_mutex_lock(&s->grow);
    for (uint32_t i = 0; i < b->pinned.n; i++) b->pinned.at[i]->pins--;
    pthread_mutex_unlock(&s->grow);
}

void name_remember(store *s, const char *text, size_t n, int whitespace, rule *stands_for) {
    uint64_t hash = name_hash(text, n, whitespace);
    if (lookup(s, text, n, whitespace, hash) != NULL) return;
    rule *r = insert(s, text, n, whitespace, hash); /* without memory it is not remembered */
    if (r == NULL) return;
    r->repeated = stands_for;
    r->nullable = stands_for->nullable;
}

typedef struct build {
    work w;
    builder b;
    names names;
} build;

/* Everything that can escape. */
static rule *run(store *s, build *a, const name *of) {
    if (setjmp(a->w.out.env) != 0) return NULL;
    builder_init(&a->b, &a->w, s->vocab);
    a->b.names = &a->names;
    if (of->text[0] == OTHERS) {
        a->b.escapes = (uint32_t)of->whitespace;
        json_other_front(&a->b, of->text, of->n);
    } else {
        schema_front(&a->b, of->text, of->n, of->whitespace, NULL);
    }
    builder_finish(&a->b, STE_ERR_SCHEMA);
    return store_intern(s, &a->b);
}

bool name_build(use *u, rule *r) {
    store *s = u->s;
    build a = {.names = {s, find_held, add_held, nullable}, .w = {.limits = s->limits, .deadline = monotonic_seconds() + s->limits.compile_seconds}};
    arena_init(&a.w.mem, &s->allocator, &a.w.out, s->limits.compile_bytes);
    r->repeated = run(s, &a, r->name);
    for (uint32_t i = 0; i < a.b.pinned.n; i++) a.b.pinned.at[i]->pins--;
    arena_free(&a.w.mem);
    /* A text that may wait is small and sure to give a rule: what else could go wrong is a limit. */
    if (r->repeated == NULL) u->code = a.w.out.error.code == STE_ERR_NO_MEMORY ? STE_ERR_NO_MEMORY : STE_ERR_LIMIT;
    return r->repeated != NULL;
}

rule *name_resolve(use *u, rule *r) {
    if (r->kind != RULE_NAMED) return r;
    pthread_mutex_lock(&u->s->grow);
    rule *out = r->repeated != NULL || name_build(u, r) ? r->repeated : NULL;
    pthread_mutex_unlock(&u->s->grow);
    return out;
}
