/* run_corpus.c - runs a fuzz target over files, and over mutations of them, without a fuzzing engine.
 *
 *   run_corpus MUTATIONS FILE...
 *
 * Mutations come from a fixed seed, so a failure repeats. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t seed = 12345;

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Overwrite, insert, delete or repeat a few bytes. */
static size_t mutate(uint8_t *data, size_t n, size_t most) {
    static const char useful[] = "{}[]()\":,\\*+?|^$-.<>0123456789aeu x";
    for (uint32_t k = 1 + draw(4); k > 0; k--) {
        uint32_t at = n == 0 ? 0 : draw((uint32_t)n), kind = draw(4);
        if (kind == 0 && n > 0) {
            data[at] = draw(2) != 0 ? (uint8_t)useful[draw(sizeof useful - 1)] : (uint8_t)draw(256);
        } else if (kind == 1 && n > 0) {
            memmove(data + at, data + at + 1, n - at - 1);
            n--;
        } else if (n > 0) {
            uint32_t from = kind == 2 ? at : draw((uint32_t)n), length = 1 + draw(8);
            if (from + length > n) length = (uint32_t)n - from;
            if (n + length > most) continue;
            uint8_t piece[8];
            memcpy(piece, data + from, length);
            memmove(data + at + length, data + at, n - at);
            memcpy(data + at, piece, length);
            n += length;
        }
    }
    return n;
}

int main(int argc, char **argv) {
    enum { MOST = 4096 };
    static uint8_t original[MOST], data[MOST];
    long rounds = argc > 1 ? atol(argv[1]) : 0, runs = 0;
    for (int i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            perror(argv[i]);
            return 1;
        }
        size_t n = fread(original, 1, MOST, file);
        fclose(file);
        LLVMFuzzerTestOneInput(original, n);
        for (long r = 0; r < rounds; r++, runs++) {
            memcpy(data, original, n);
            LLVMFuzzerTestOneInput(data, mutate(data, n, MOST));
        }
    }
    printf("%d files and %ld mutations\n", argc - 2, runs);
    return argc > 2 ? 0 : 1;
}
