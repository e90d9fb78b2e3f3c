/* apply.c - mask application on CPU logits, in place.
 *
 * A forbidden token's logit becomes minus infinity.  Most words of a mask are
 * all ones or all zeros: the first are skipped, the second are stored without
 * reading.  The widest kernel that the machine has is chosen at run time.
 * Cost: one read of the mask, one write of the forbidden logits. */
#include "bits.h"

#define INF_F32 UINT32_C(0xFF800000)
#define INF_F16 UINT16_C(0xFC00)
#define INF_BF16 UINT16_C(0xFF80)

typedef void (*word32)(uint32_t *logits, uint32_t mask);
typedef void (*word16)(uint16_t *logits, uint32_t mask, uint16_t infinity);

static void scalar32(uint32_t *logits, uint32_t mask) {
    for (uint32_t forbidden = ~mask; forbidden != 0; forbidden &= forbidden - 1)
        logits[__builtin_ctz(forbidden)] = INF_F32;
}

static void scalar16(uint16_t *logits, uint32_t mask, uint16_t infinity) {
    for (uint32_t forbidden = ~mask; forbidden != 0; forbidden &= forbidden - 1)
        logits[__builtin_ctz(forbidden)] = infinity;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void avx2_32(uint32_t *logits, uint32_t mask) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i infinity = _mm256_set1_epi32((int)INF_F32);
    for (int i = 0; i < 4; i++, mask >>= 8, logits += 8) {
        __m256i m = _mm256_and_si256(_mm256_set1_epi32((int)mask), bit);
        __m256i forbidden = _mm256_cmpeq_epi32(m, _mm256_setzero_si256());
        _mm256_maskstore_epi32((int *)logits, forbidden, infinity);
    }
}

__attribute__((target("avx2"))) static void avx2_16(uint16_t *logits, uint32_t mask, uint16_t infinity) {
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
    const __m256i inf = _mm256_set1_epi16((short)infinity);
    for (int i = 0; i < 2; i++, mask >>= 16, logits += 16) {
        __m256i m = _mm256_and_si256(_mm256_set1_epi16((short)mask), bit);
        __m256i forbidden = _mm256_cmpeq_epi16(m, _mm256_setzero_si256());
        __m256i old = _mm256_loadu_si256((const __m256i *)(const void *)logits);
        _mm256_storeu_si256((__m256i *)(void *)logits, _mm256_blendv_epi8(old, inf, forbidden));
    }
}

__attribute__((target("avx512f,avx512bw"))) static void avx512_32(uint32_t *logits, uint32_t mask) {
    const __m512i infinity = _mm512_set1_epi32((int)INF_F32);
    _mm512_mask_storeu_epi32(logits, (__mmask16)~mask, infinity);
    _mm512_mask_storeu_epi32(logits + 16, (__mmask16)(~mask >> 16), infinity);
}

__attribute__((target("avx512f,avx512bw"))) static void avx512_16(uint16_t *logits, uint32_t mask, uint16_t infinity) {
    _mm512_mask_storeu_epi16(logits, ~mask, _mm512_set1_epi16((short)infinity));
}
#endif

typedef struct kernel {
    const char *name;
    word32 on32;
    word16 on16;
} kernel;

/* Best first; level 0 is scalar, 1 avx2, 2 avx512. */
static kernel choose(int cap) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (cap >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        return (kernel){"avx512", avx512_32, avx512_16};
    if (cap >= 1 && __builtin_cpu_supports("avx2")) return (kernel){"avx2", avx2_32, avx2_16};
#endif
    (void)cap;
    return (kernel){"scalar", scalar32, scalar16};
}

static _Atomic int level_cap = 2;

const char *ste_apply_kernel(int force) {
    if (force >= 0) level_cap = force;
    return choose(level_cap).name;
}

static void apply32(const kernel *k, uint32_t *logits, uint32_t vocab_size, const uint32_t *mask) {
    uint32_t words = vocab_size / 32;
    for (uint32_t i = 0; i < words; i++)
        if (mask[i] != UINT32_MAX) k->on32(logits + (size_t)i * 32, mask[i]);
    if (vocab_size % 32 != 0) {
        uint32_t beyond = UINT32_MAX << (vocab_size % 32); /* those bits are nobody's logits */
        scalar32(logits + (size_t)words * 32, mask[words] | beyond);
    }
}

static void apply16(const kernel *k, uint16_t *logits, uint32_t vocab_size, const uint32_t *mask, uint16_t infinity) {
    uint32_t words = vocab_size / 32;
    for (uint32_t i = 0; i < words; i++)
        if (mask[i] != UINT32_MAX) k->on16(logits + (size_t)i * 32, mask[i], infinity);
    if (vocab_size % 32 != 0) {
        uint32_t beyond = UINT32_MAX << (vocab_size % 32);
        scalar16(logits + (size_t)words * 32, mask[words] | beyond, infinity);
    }
}

int ste_apply_bitmask(int dtype, void *logits, uint64_t row_stride, uint32_t vocab_size, const uint32_t *bitmask,
                      uint64_t mask_stride, const int64_t *rows, const int64_t *mask_rows, uint32_t n) {
    if (dtype < STE_FLOAT32 || dtype > STE_BFLOAT16) return STE_ERR_ARGUMENT;
    kernel k = choose(level_cap);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *mask = bitmask + (size_t)(mask_rows == NULL ? (int64_t)i : mask_rows[i]) * mask_stride;
        size_t at = (size_t)(rows == NULL ? (int64_t)i : rows[i]) * row_stride;
        if (dtype == STE_FLOAT32)
            apply32(&k, (uint32_t *)logits + at, vocab_size, mask);
        else
            apply16(&k, (uint16_t *)logits + at, vocab_size, mask, dtype == STE_FLOAT16 ? INF_F16 : INF_BF16);
    }
    return STE_OK;
}
