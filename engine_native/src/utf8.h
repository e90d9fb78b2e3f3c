/* utf8.h - code points and their UTF-8 byte sequences (RFC 3629). */
#ifndef STE_UTF8_H
#define STE_UTF8_H

#include "base.h"

#define UTF8_MAX 0x10FFFF

/* Bytes of cp into out[4]; returns their number. */
uint32_t utf8_encode(uint32_t cp, uint8_t *out);
/* Decode one code point at s; returns its length, 0 if it is not valid UTF-8. */
uint32_t utf8_decode(const uint8_t *s, size_t n, uint32_t *cp);

/* Sequences that begin alike: a first byte of first..last, a second of lo..hi, then `left` - 1 of 80..BF (RFC 3629, section 4). */
typedef struct utf8_form {
    uint8_t first, last, lo, hi, left;
} utf8_form;
#define UTF8_FORMS 8
extern const utf8_form utf8_forms[UTF8_FORMS];

/* One product of byte ranges: every sequence b[0] in lo[0]..hi[0], ... is valid. */
typedef struct utf8_span {
    uint32_t length;
    uint8_t lo[4], hi[4];
} utf8_span;

/* Cut the code points lo..hi (surrogates left out) into spans, calling each(ctx, span). */
void utf8_ranges(uint32_t lo, uint32_t hi, void (*each)(void *ctx, const utf8_span *span), void *ctx);

#endif
