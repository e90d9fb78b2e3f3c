/* base.h - error reports, the escape from a compile, hashes, the clock.
 *
 * Two ways to fail:
 *   fail()   fills the caller's ste_error and returns the code;
 *   escape() leaves a compile from any depth: everything a compile allocates
 *            lives in one arena (mem.h), so the landing frees all of it and
 *            nothing else has changed yet. */
#ifndef STE_BASE_H
#define STE_BASE_H

#include <assert.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ste.h"

#if defined(__GNUC__)
#define STE_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define STE_NORETURN __attribute__((noreturn))
#else
#define STE_PRINTF(a, b)
#define STE_NORETURN
#endif

/* What a reader is inside of, where its offsets count from `base` on: a text within a text. */
typedef struct escape_context {
    const char *before, *after; /* put around the message */
    uint64_t base;
} escape_context;

typedef struct escape_point {
    jmp_buf env;
    ste_error error;
    const escape_context *inside; /* NULL: nothing; lives in the compile's arena */
} escape_point;

int fail(ste_error *err, int code, uint64_t offset, const char *format, ...) STE_PRINTF(4, 5);
STE_NORETURN void escape(escape_point *out, int code, uint64_t offset, const char *format, ...) STE_PRINTF(4, 5);

/* After the landing: tell the error by what the reader was inside of. */
void escape_tell(escape_point *out);

/* Seconds from an arbitrary start, monotonic. */
double monotonic_seconds(void);

static inline uint64_t hash_mix(uint64_t h, uint64_t v) {
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ (h >> 32);
}
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

#endif
