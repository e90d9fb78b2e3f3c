/* mem.c - see mem.h. */
#include "mem.h"

#include <stdlib.h>

struct arena_chunk {
    arena_chunk *next;
    size_t size; /* of the whole block */
};

#define ARENA_CHUNK ((size_t)32 * 1024)
#define ARENA_HEADER ((sizeof(arena_chunk) + 15) & ~(size_t)15)

static void *default_resize(void *ctx, void *p, size_t old_size, size_t new_size) {
    (void)ctx;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

const ste_allocator mem_default_allocator = {default_resize, NULL};

void *mem_new(const ste_allocator *a, size_t count, size_t size) {
    if (count == 0 || size == 0) count = size = 1;
    if (count > SIZE_MAX / size) return NULL;
    void *p = a->resize(a->ctx, NULL, 0, count * size);
    if (p != NULL) memset(p, 0, count * size);
    return p;
}

void mem_free(const ste_allocator *a, void *p, size_t count, size_t size) {
    if (p == NULL) return;
    if (count == 0 || size == 0) count = size = 1;
    a->resize(a->ctx, p, count * size, 0);
}

void arena_init(arena *a, const ste_allocator *allocator, escape_point *out, uint64_t limit) {
    *a = (arena){.allocator = allocator, .out = out, .limit = limit};
}

void arena_free(arena *a) {
    while (a->chunks != NULL) {
        arena_chunk *next = a->chunks->next;
        a->allocator->resize(a->allocator->ctx, a->chunks, a->chunks->size, 0);
        a->chunks = next;
    }
    a->used = a->capacity = 0;
    a->bytes = 0;
}

static arena_chunk *take_block(arena *a, size_t block) {
    if (a->bytes + block > a->limit)
        escape(a->out, STE_ERR_LIMIT, 0, "compile needs more than %llu bytes of memory", (unsigned long long)a->limit);
    arena_chunk *c = a->allocator->resize(a->allocator->ctx, NULL, 0, block);
    if (c == NULL) escape(a->out, STE_ERR_NO_MEMORY, 0, "out of memory");
    c->size = block;
    a->bytes += block;
    return c;
}

static void *arena_take(arena *a, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size) escape(a->out, STE_ERR_NO_MEMORY, 0, "size overflow");
    size_t need = (count * size + 15) & ~(size_t)15;
    if (need > a->capacity - a->used) {
        size_t block = ARENA_HEADER + (need > ARENA_CHUNK ? need : ARENA_CHUNK);
        arena_chunk *c = take_block(a, block);
        if (need > ARENA_CHUNK && a->chunks != NULL) { /* a large block of its own, behind the open chunk */
            c->next = a->chunks->next;
            a->chunks->next = c;
            return (char *)c + ARENA_HEADER;
        }
        c->next = a->chunks;
        a->chunks = c;
        a->used = ARENA_HEADER;
        a->capacity = block;
    }
    void *p = (char *)a->chunks + a->used;
    a->used += need;
    return p;
}

arena_mark arena_here(const arena *a) {
    return (arena_mark){a->chunks, a->chunks == NULL ? NULL : a->chunks->next, a->used};
}

bool arena_has_grown(const arena *a, arena_mark since) {
    return a->chunks != since.top || (since.top != NULL && since.top->next != since.below);
}

void *arena_detach(arena *a, size_t size) { return (char *)take_block(a, ARENA_HEADER + size) + ARENA_HEADER; }

static arena_chunk *give_back(arena *a, arena_chunk *c) {
    arena_chunk *next = c->next;
    a->bytes -= c->size;
    a->allocator->resize(a->allocator->ctx, c, c->size, 0);
    return next;
}

void arena_rewind(arena *a, arena_mark to, void *kept) {
    while (a->chunks != to.top) a->chunks = give_back(a, a->chunks);
    while (to.top != NULL && to.top->next != to.below) to.top->next = give_back(a, to.top->next);
    a->used = to.used;
    a->capacity = to.top == NULL ? 0 : to.top->size;
    if (kept == NULL) return;
    arena_chunk *c = (arena_chunk *)(void *)((char *)kept - ARENA_HEADER), **behind = to.top == NULL ? &a->chunks : &to.top->next;
    c->next = *behind;
    *behind = c;
    if (to.top == NULL) a->used = a->capacity = c->size;
}

void *arena_alloc(arena *a, size_t count, size_t size) {
    void *p = arena_take(a, count, size);
    memset(p, 0, count * size);
    return p;
}

void *arena_copy(arena *a, const void *p, size_t size) {
    char *copy = arena_take(a, 1, size + 1);
    if (size != 0) memcpy(copy, p, size);
    copy[size] = '\0'; /* for free */
    return copy;
}

void *arena_grow(arena *a, void *p, uint32_t n, uint32_t *capacity, size_t size) {
    if (*capacity > UINT32_MAX / 2) escape(a->out, STE_ERR_LIMIT, 0, "array too long");
    *capacity = *capacity == 0 ? 8 : *capacity * 2;
    void *grown = arena_take(a, *capacity, size);
    if (n != 0) memcpy(grown, p, (size_t)n * size);
    return grown;
}
