/* meter.h - the registers of metered rules: how much of a text has been matched.
 *
 *   bits 0..31   characters so far; capped where there is only a lower bound
 *   bits 32..62  tokens so far, this one included once it has matched a byte
 *   bit 63       this token is counted
 *
 * A byte that begins a character counts one, and so does a reference to a rule, which
 * stands for one character; the first byte of a token counts
 * one token; an item dies where its bound leaves no way to the end of the rule.  Where a bound is out of reach of any token (set_canonical) the
 * count is replaced by a mark that does not count: the text is then as free as
 * text without a meter, and masks and loops are shared.
 *
 * A token may end inside a character only if as many tokens are left as the character has bytes to come: the
 * vocabulary may have nothing longer for them, and the text must be able to end.
 *
 * Invariant: a metered item in a set can go on, or the token is not over. */
#ifndef STE_METER_H
#define STE_METER_H

#include "store.h"

#define CHARS_FREE UINT32_C(0xFFFFFFFF) /* no bound in reach, may end */
#define CHARS_OPEN UINT32_C(0xFFFFFFFE) /* no bound in reach, too few to end */
#define TOKENS_FREE UINT32_C(0x7FFFFFFF)

static inline uint32_t meter_chars(uint64_t reg) { return (uint32_t)reg; }
static inline uint32_t meter_tokens(uint64_t reg) { return (uint32_t)(reg >> 32) & TOKENS_FREE; }
static inline bool meter_inside(uint64_t reg) { return reg >> 63 != 0; }
static inline uint64_t meter_register(uint32_t chars, uint32_t tokens, bool inside) {
    return (uint64_t)inside << 63 | (uint64_t)tokens << 32 | chars;
}

static inline bool begins_character(uint32_t byte) { return (byte & 0xC0) != 0x80; }

/* Has the item at st no way to its end within the bounds of characters?  A mark that closes a text can be too near to its
 * end for a text that is too short, and too far for another one. */
static inline bool meter_over(const state *st, uint64_t reg) {
    uint32_t most = st->rule->meter.most_chars, least = st->rule->meter.least_chars, chars = meter_chars(reg);
    if (most == 0 || chars >= CHARS_OPEN) return false;
    if ((uint64_t)chars + st->need > most) return true;
    uint32_t low = chars < least ? least - chars : 0, high = most - chars;
    if (st->lengths == 0 || low <= st->need || (high >= 63 && st->lengths >> 63 != 0)) return false;
    if (low > high || low > 62) return true;
    return (st->lengths >> low & (UINT64_MAX >> (63 - ((high < 62 ? high : 62) - low)))) == 0;
}

/* No more tokens. */
static inline bool meter_spent(const rule *r, uint64_t reg) { return r->meter.most_tokens != 0 && meter_tokens(reg) == r->meter.most_tokens; }

/* May the text end with what the register has counted? */
static inline bool meter_may_end(const rule *r, uint64_t reg) {
    return meter_chars(reg) != CHARS_OPEN && meter_chars(reg) >= r->meter.least_chars;
}

static inline uint32_t meter_counted(const rule *r, uint32_t chars) {
    return chars < CHARS_OPEN && (r->meter.most_chars != 0 || chars < r->meter.least_chars) ? chars + 1 : chars;
}

/* One more character by a reference, to the state `to`: false if it is too much.  Tokens are not counted in such rules. */
static inline bool meter_reference(const state *to, uint64_t *reg) {
    *reg = meter_register(meter_counted(to->rule, meter_chars(*reg)), meter_tokens(*reg), meter_inside(*reg));
    return !meter_over(to, *reg);
}

/* May an item go to the state `to`?  Not where the text is too short to end, and nothing can follow. */
static inline bool meter_may_enter(const state *to, uint64_t reg) {
    return !to->rule->metered || !to->last || meter_may_end(to->rule, reg);
}

/* One more byte, to the state `to`: false if it is too much. */
static inline bool meter_step(const state *to, uint32_t byte, uint64_t *reg) {
    const rule *r = to->rule;
    uint32_t chars = meter_chars(*reg), tokens = meter_tokens(*reg);
    bool inside = meter_inside(*reg);
    if (begins_character(byte)) chars = meter_counted(r, chars);
    if (r->meter.most_tokens != 0 && tokens != TOKENS_FREE && !inside) {
        if (meter_spent(r, *reg)) return false;
        tokens++;
        inside = true;
    }
    *reg = meter_register(chars, tokens, inside);
    return meter_may_enter(to, *reg) && !meter_over(to, *reg);
}

/* Tokens that are left. */
static inline uint32_t meter_left(const rule *r, uint64_t reg) {
    bool counted = r->meter.most_tokens != 0 && meter_tokens(reg) != TOKENS_FREE;
    return counted ? r->meter.most_tokens - meter_tokens(reg) : UINT32_MAX;
}

/* The token is over: false if the item can match nothing any more, or too little. */
static inline bool meter_settle(const state *st, uint64_t *reg) {
    uint32_t left = meter_left(st->rule, *reg);
    if (meter_inside(*reg) && (left == 0 || left < st->owes)) return false;
    *reg &= UINT64_MAX >> 1;
    return true;
}

/* The register that allows the same tokens, where none is longer than `reach` bytes. */
static inline uint64_t meter_canonical(const rule *r, uint64_t reg, uint32_t reach) {
    uint64_t ahead = (uint64_t)reach + 1 + r->most_need;
    uint32_t chars = meter_chars(reg), tokens = meter_tokens(reg);
    if (chars < CHARS_OPEN) {
        if (chars + ahead < r->meter.least_chars)
            chars = CHARS_OPEN;
        else if (chars >= r->meter.least_chars && (r->meter.most_chars == 0 || chars + ahead < r->meter.most_chars))
            chars = CHARS_FREE;
    }
    uint64_t after = r->most_owes == 0 ? 1 : r->most_owes; /* the next token: then so many must be left */
    if (!meter_inside(reg) && (r->meter.most_tokens == 0 || tokens + after < r->meter.most_tokens)) tokens = TOKENS_FREE;
    return meter_register(chars, tokens, meter_inside(reg));
}

/* Does the register count nothing, so that the item goes on like any other? */
static inline bool meter_is_free(uint64_t reg) { return meter_chars(reg) == CHARS_FREE && meter_tokens(reg) == TOKENS_FREE; }

#endif
