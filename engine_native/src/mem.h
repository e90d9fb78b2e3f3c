/* mem.h - the allocator seam, an arena for compiles, growable arrays in it.
 *
 * Long-lived objects use mem_new / mem_free with their exact size, so the
 * caller's allocator can account for every byte.  A compile uses one arena:
 * it is freed as a whole, it counts its bytes against a limit, and running out
 * leaves through its escape point.
 *
 *   VEC(T) v = {0};  vec_push(arena, &v, x);  v.at[i], v.n
 *
 * Growing a vec abandons its old storage in the arena: at most twice the size.
 * A long construction whose result is small gives the rest back (arena_rewind). */
#ifndef STE_MEM_H
#define STE_MEM_H

#include "base.h"

extern const ste_allocator mem_default_allocator;

void *mem_new(const ste_allocator *a, size_t count, size_t size); /* zeroed; NULL when out of memory or overflow */
void mem_free(const ste_allocator *a, void *p, size_t count, size_t size);

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    const ste_allocator *allocator;
    escape_point *out;
    arena_chunk *chunks;
    size_t used, capacity; /* of the first chunk */
    uint64_t bytes, limit;
} arena;

void arena_init(arena *a, const ste_allocator *allocator, escape_point *out, uint64_t limit);
void arena_free(arena *a);
void *arena_alloc(arena *a, size_t count, size_t size); /* zeroed, 16-byte aligned; never NULL */
void *arena_copy(arena *a, const void *p, size_t size);
/* What is allocated between arena_here and arena_rewind is given back, but for `kept`: NULL, or memory of arena_detach, which
 * belongs to the arena from then on.  Nothing that escapes may lie between arena_detach and arena_rewind. */
typedef struct arena_mark {
    arena_chunk *top, *below;
    size_t used;
} arena_mark;
arena_mark arena_here(const arena *a);
bool arena_has_grown(const arena *a, arena_mark since); /* by a block; if not, there is little to give back */
void *arena_detach(arena *a, size_t size);              /* not zeroed */
void arena_rewind(arena *a, arena_mark to, void *kept);
void *arena_grow(arena *a, void *p, uint32_t n, uint32_t *capacity, size_t size);

#define VEC(T)           \
    struct {             \
        T *at;           \
        uint32_t n, cap; \
    }
#define vec_push(arena_, v, ...)                                                                  \
    do {                                                                                          \
        if ((v)->n == (v)->cap)                                                                   \
            (v)->at = arena_grow((arena_), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at);          \
        (v)->at[(v)->n++] = (__VA_ARGS__);                                                        \
    } while (0)

#endif
