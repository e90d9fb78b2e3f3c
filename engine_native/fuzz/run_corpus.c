/* run_corpus.c - runs a fuzz target over files, and over mutations of them, without a fuzzing engine.
 *
 *   run_corpus [-s SECONDS] [-r SEED] MUTATIONS FILE...
 *
 * Each file runs as it is and then MUTATIONS times changed; with -s again from the
 * first file until the time is over.  The numbers come from the seed, so a failure
 * repeats; the input of an abort is left in the file failed-input (under sanitizers:
 * with abort_on_error=1). */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096 };
static uint8_t original[MOST], other[MOST], data[MOST];
static size_t size; /* of data */
static uint64_t seed = 12345;

static uint32_t draw(uint32_t below) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(seed >> 33) % below;
}

/* Overwrite, delete, repeat or copy a few bytes. */
static void mutate(void) {
    static const char useful[] = "{}[]()\":,\\*+?|^$-.<>0123456789aeu x";
    for (uint32_t k = 1 + draw(4); k > 0 && size > 0; k--) {
        uint32_t at = draw((uint32_t)size), kind = draw(5);
        if (kind == 0) {
            data[at] = (uint8_t)useful[draw(sizeof useful - 1)];
        } else if (kind == 1) {
            data[at] = (uint8_t)draw(256);
        } else if (kind == 2) {
            memmove(data + at, data + at + 1, size - at - 1);
            size--;
        } else {
            uint32_t from = kind == 3 ? at : draw((uint32_t)size), length = 1 + draw(8);
            if (from + length > size) length = (uint32_t)size - from;
            if (size + length > MOST) continue;
            uint8_t piece[8];
            memcpy(piece, data + from, length);
            memmove(data + at + length, data + at, size - at);
            memcpy(data + at, piece, length);
            size += length;
        }
    }
}

/* The end of one input after the beginning of another. */
static void cross(const uint8_t *with, size_t n) {
    if (size == 0 || n == 0) return;
    size_t keep = draw((uint32_t)size), from = draw((uint32_t)n), length = n - from;
    if (keep + length > MOST) length = MOST - keep;
    memcpy(data + keep, with + from, length);
    size = keep + length;
}

static size_t read_file(const char *name, uint8_t *to) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        perror(name);
        exit(1);
    }
    size_t n = fread(to, 1, MOST, file);
    fclose(file);
    return n;
}

static void keep_input(int signal_number) {
    FILE *file = fopen("failed-input", "wb");
    if (file != NULL) {
        fwrite(data, 1, size, file);
        fclose(file);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

int main(int argc, char **argv) {
    long seconds = 0, runs = 0;
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "-s") == 0) seconds = atol(argv[first + 1]);
        if (strcmp(argv[first], "-r") == 0) seed = (uint64_t)atoll(argv[first + 1]);
    }
    if (first + 1 >= argc) {
        fprintf(stderr, "usage: %s [-s SECONDS] [-r SEED] MUTATIONS FILE...\n", argv[0]);
        return 1;
    }
    long mutations = atol(argv[first]);
    int files = argc - first - 1;
    char **names = argv + first + 1;
    time_t end = time(NULL) + seconds;
    signal(SIGABRT, keep_input);
    do {
        for (int i = 0; i < files; i++) {
            size_t n = read_file(names[i], original), n_other = read_file(names[draw((uint32_t)files)], other);
            for (long r = -1; r < mutations; r++, runs++) {
                memcpy(data, original, size = n);
                if (r >= 0 && draw(8) == 0) cross(other, n_other);
                if (r >= 0) mutate();
                LLVMFuzzerTestOneInput(data, size);
            }
        }
    } while (time(NULL) < end);
    printf("%d files, %ld runs\n", files, runs);
    return 0;
}
