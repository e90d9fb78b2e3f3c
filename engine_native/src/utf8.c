/* utf8.c - see utf8.h. */
#include "utf8.h"

uint32_t utf8_encode(uint32_t cp, uint8_t *out) {
    if (cp < 0x80) {
        out[0] = (uint8_t)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (uint8_t)(0xC0 | (cp >> 6));
        out[1] = (uint8_t)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (uint8_t)(0xE0 | (cp >> 12));
        out[1] = (uint8_t)(0x80 | ((cp >> 6) & 0x3F));
        out[2] = (uint8_t)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | (cp >> 18));
    out[1] = (uint8_t)(0x80 | ((cp >> 12) & 0x3F));
    out[2] = (uint8_t)(0x80 | ((cp >> 6) & 0x3F));
    out[3] = (uint8_t)(0x80 | (cp & 0x3F));
    return 4;
}

uint32_t utf8_decode(const uint8_t *s, size_t n, uint32_t *cp) {
    if (n == 0) return 0;
    if (s[0] < 0x80) {
        *cp = s[0];
        return 1;
    }
    uint32_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || n < length) return 0;
    uint32_t v = s[0] & (0xFFu >> (length + 1));
    for (uint32_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        v = (v << 6) | (s[i] & 0x3F);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (v < least[length] || v > UTF8_MAX || (v >= 0xD800 && v <= 0xDFFF)) return 0;
    *cp = v;
    return length;
}

const utf8_form utf8_forms[UTF8_FORMS] = {{0xC2, 0xDF, 0x80, 0xBF, 1}, {0xE0, 0xE0, 0xA0, 0xBF, 2}, {0xE1, 0xEC, 0x80, 0xBF, 2},
                                          {0xED, 0xED, 0x80, 0x9F, 2}, {0xEE, 0xEF, 0x80, 0xBF, 2}, {0xF0, 0xF0, 0x90, 0xBF, 3},
                                          {0xF1, 0xF3, 0x80, 0xBF, 3}, {0xF4, 0xF4, 0x80, 0x8F, 3}};

/* lo and hi have the same encoded length.  Cut where a trailing byte would
 * have to run over its whole range only in part: the classic recursive split,
 * at most four levels deep. */
static void split(uint32_t lo, uint32_t hi, uint32_t length, void (*each)(void *, const utf8_span *), void *ctx) {
    for (uint32_t i = 1; i < length; i++) {
        uint32_t m = (UINT32_C(1) << (6 * i)) - 1;
        if ((lo & ~m) != (hi & ~m)) {
            if ((lo & m) != 0) {
                split(lo, lo | m, length, each, ctx);
                split((lo | m) + 1, hi, length, each, ctx);
                return;
            }
            if ((hi & m) != m) {
                split(lo, (hi & ~m) - 1, length, each, ctx);
                split(hi & ~m, hi, length, each, ctx);
                return;
            }
        }
    }
    utf8_span span = {.length = length};
    utf8_encode(lo, span.lo);
    utf8_encode(hi, span.hi);
    each(ctx, &span);
}

void utf8_ranges(uint32_t lo, uint32_t hi, void (*each)(void *ctx, const utf8_span *span), void *ctx) {
    static const uint32_t cut[][2] = {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, UTF8_MAX}};
    static const uint32_t length[] = {1, 2, 3, 3, 4};
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t a = lo > cut[i][0] ? lo : cut[i][0];
        uint32_t b = hi < cut[i][1] ? hi : cut[i][1];
        if (a <= b) split(a, b, length[i], each, ctx);
    }
}
