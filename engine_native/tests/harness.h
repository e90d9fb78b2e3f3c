/* harness.h - the smallest test runner that names what it runs.
 *
 *   TEST(unit__given__then) { ... CHECK(condition); ... }
 *   int main(void) { RUN(unit__given__then); ... return finish(); } */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tests_passed, tests_failed, test_broken;

#define TEST(name) static void name(void)
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);             \
            test_broken = 1;                                                   \
        }                                                                      \
    } while (0)
#define RUN(name)                                                              \
    do {                                                                       \
        test_broken = 0;                                                       \
        name();                                                                \
        if (test_broken) {                                                     \
            printf("FAILED %s\n", #name);                                      \
            tests_failed++;                                                    \
        } else {                                                               \
            tests_passed++;                                                    \
        }                                                                      \
    } while (0)

static inline int finish(void) {
    printf("%d passed, %d failed\n", tests_passed, tests_failed);
    return tests_failed != 0;
}

#endif
