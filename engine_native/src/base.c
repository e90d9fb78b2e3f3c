/* base.c - see base.h. */
#define _POSIX_C_SOURCE 200809L
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static void report(ste_error *err, int code, uint64_t offset, const char *format, va_list args) {
    err->code = code;
    err->offset = offset;
    err->path[0] = '\0';
    vsnprintf(err->message, sizeof err->message, format, args);
}

int fail(ste_error *err, int code, uint64_t offset, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        report(err, code, offset, format, args);
        va_end(args);
    }
    return code;
}

void escape(escape_point *out, int code, uint64_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(&out->error, code, offset, format, args);
    va_end(args);
    longjmp(out->env, 1);
}

double monotonic_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t lane(uint64_t h, const unsigned char *s) {
    uint64_t v;
    memcpy(&v, s, 8);
    h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ (h >> 32);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = seed ^ (n * UINT64_C(0x9ddfea08eb382d69));
    if (n >= 32) { /* four chains, so that multiplications overlap */
        uint64_t chain[4] = {h, ~h, h + UINT64_C(0x9e3779b97f4a7c15), ~h + UINT64_C(0x9e3779b97f4a7c15)};
        for (; n >= 32; n -= 32, s += 32)
            for (int i = 0; i < 4; i++) chain[i] = lane(chain[i], s + 8 * i);
        h = hash_mix(hash_mix(hash_mix(chain[0], chain[1]), chain[2]), chain[3]);
    }
    for (; n >= 8; n -= 8, s += 8) h = lane(h, s);
    uint64_t tail = 0;
    for (size_t i = 0; i < n; i++) tail |= (uint64_t)s[i] << (8 * i);
    return hash_mix(h, tail);
}
