/* json_value.h - JSON values as bytes that are equal exactly if the values are, and which texts may still become one.
 *
 *   value    kind (1 byte), size of the rest (4 bytes), the rest
 *   'n' 't' 'f'   nothing
 *   '#'      sign, exponent (8 bytes), digits: 0.DIGITS * 10^exponent, no zero at either end; zero has no digits
 *   '"'      the characters, decoded
 *   '['      number of items (4 bytes), the items
 *   '{'      number of members (4 bytes), for each a '"' value and a value, sorted by their bytes
 *
 * So 1 equals 1.0 and 10e-1, "a" equals "\u0061", and the order of keys is
 * nothing.  An object that repeats a key equals one that repeats it with the
 * same values.  Exponents beyond 10^17 are all the same.  Texts are what a
 * grammar of JSON accepted: whole, or cut anywhere.
 *
 * Cost: linear in the text, and sorting of keys. */
#ifndef STE_JSON_VALUE_H
#define STE_JSON_VALUE_H

#include "bits.h"
#include "mem.h"

typedef struct json_bytes {
    uint8_t *at;
    uint32_t n, cap;
} json_bytes;

/* The value of a whole JSON text; escapes through the arena when it is nested too deep or out of memory. */
void json_value(arena *mem, const uint8_t *text, size_t n, json_bytes *out);

/* How a text that may become a value goes on. */
typedef struct json_way {
    byteset next;         /* every byte with which it can, and maybe others */
    const uint8_t *want;  /* within a string: what is missing of it, ... */
    uint32_t left;        /* ... so many bytes; want is NULL elsewhere */
} json_way;

/* May a text that begins like this become the value?  false: no text can. */
bool json_may_become(const uint8_t *text, size_t n, const uint8_t *value, json_way *way);
/* The same for one byte more, after `way`, if that can be told from the way alone: 1, 0, or -1. */
int json_may_go_on(json_way *way, uint8_t byte);

/* What of a beginning matters to the values that it can become: white space left out, characters and numbers in one
 * spelling as far as they are finished.  Texts after which the same can follow and that agree in this become the
 * same values. */
void json_skeleton(arena *mem, const uint8_t *text, size_t n, json_bytes *out);

#endif
