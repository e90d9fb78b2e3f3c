/* regex_part.c - patterns as parts of a text: does an assertion look past the match, and where?
 *
 * Walks the tree with the number of characters that surely stand on either side
 * of a node, inside the match.  A lookahead is safe if its longest text is no
 * longer than what surely follows, a word boundary if a character surely stands
 * on both sides.
 *
 * Cost: the nodes, times their depth. */
#include "regex_tree.h"

static uint32_t add(uint32_t a, uint32_t b) { return a > REPEAT_INFINITE - b ? REPEAT_INFINITE : a + b; }

static uint32_t times(uint32_t a, uint32_t b) {
    uint64_t product = (uint64_t)a * b;
    return product > REPEAT_INFINITE ? REPEAT_INFINITE : (uint32_t)product;
}

/* Characters of the shortest or the longest match, if assertions hold. */
static uint32_t length(const regex_node *e, bool longest) {
    uint32_t n;
    switch (e->kind) {
    case REGEX_CLASS:
        return 1;
    case REGEX_SEQUENCE:
        n = 0;
        for (uint32_t i = 0; i < e->n; i++) n = add(n, length(e->u.parts[i], longest));
        return n;
    case REGEX_CHOICE:
        n = longest ? 0 : REPEAT_INFINITE;
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t one = length(e->u.parts[i], longest);
            if ((one > n) == longest) n = one;
        }
        return n;
    case REGEX_REPEAT:
        return times(length(e->u.repeat.body, longest), longest ? e->u.repeat.max : e->u.repeat.min);
    default:
        return 0;
    }
}

/* ^ and $: they hold at one end of the match only. */
static bool is_end(const regex_node *point) {
    bool begin = true, end = true;
    for (uint32_t kind = 0; kind < N_KINDS; kind++) {
        if (kind != KIND_EDGE && point->u.allow[kind] != 0) begin = false;
        if ((point->u.allow[kind] & ~(1u << KIND_EDGE)) != 0) end = false;
    }
    return begin || end;
}

/* The sides that e can see when so many characters of the match stand beside it, surely. */
static uint32_t looks_outside(work *w, const regex_node *e, uint32_t before, uint32_t after) {
    uint32_t sides = 0;
    if (!e->asserts) return 0;
    work_charge(w, e->n / 8);
    switch (e->kind) {
    case REGEX_POINT:
        return is_end(e) ? 0 : (before == 0 ? LOOKS_BEFORE : 0u) | (after == 0 ? LOOKS_AFTER : 0u);
    case REGEX_LOOK: {
        const regex_node *body = e->u.look.body;
        uint32_t most = length(body, true), *side = e->u.look.behind ? &before : &after;
        if (most > *side) sides = e->u.look.behind ? LOOKS_BEFORE : LOOKS_AFTER;
        *side = most > *side ? 0 : *side - most;
        return sides | looks_outside(w, body, before, after);
    }
    case REGEX_CHOICE:
        for (uint32_t i = 0; i < e->n; i++) sides |= looks_outside(w, e->u.parts[i], before, after);
        return sides;
    case REGEX_SEQUENCE: {
        uint32_t *following = arena_alloc(&w->mem, (size_t)e->n + 1, sizeof *following);
        following[e->n] = after;
        for (uint32_t i = e->n; i-- > 0;) following[i] = add(following[i + 1], length(e->u.parts[i], false));
        for (uint32_t i = 0; i < e->n; i++) {
            sides |= looks_outside(w, e->u.parts[i], before, following[i + 1]);
            before = add(before, length(e->u.parts[i], false));
        }
        return sides;
    }
    default: /* a repeat: any of its copies may be the first or the last */
        return looks_outside(w, e->u.repeat.body, before, after);
    }
}

uint32_t regex_looks_outside(work *w, const regex_node *node) { return looks_outside(w, node, 0, 0); }

bool regex_has_end(const regex_node *e) {
    if (!e->asserts) return false;
    switch (e->kind) {
    case REGEX_POINT:
        return is_end(e);
    case REGEX_LOOK:
        return regex_has_end(e->u.look.body);
    case REGEX_REPEAT:
        return regex_has_end(e->u.repeat.body);
    default:
        for (uint32_t i = 0; i < e->n; i++)
            if (regex_has_end(e->u.parts[i])) return true;
        return false;
    }
}
