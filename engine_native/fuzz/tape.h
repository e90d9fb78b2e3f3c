/* tape.h - the fuzzer's input as a sequence of decisions.
 *
 * Every choice of a structured target is one byte of the tape; past its end all
 * choices are 0, so every input is a whole case and a longer one only adds to it. */
#ifndef TAPE_H
#define TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tape {
    const uint8_t *at;
    size_t n;
} tape;

static inline uint32_t tape_byte(tape *t) {
    if (t->n == 0) return 0;
    t->n--;
    return *t->at++;
}
static inline uint32_t tape_below(tape *t, uint32_t n) { return tape_byte(t) % n; }
static inline bool tape_one_in(tape *t, uint32_t n) { return tape_byte(t) % n == n - 1; }

#endif
