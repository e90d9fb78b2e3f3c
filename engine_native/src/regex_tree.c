/* regex_tree.c - see regex_tree.h: nodes, with what follows from their parts. */
#include "regex_tree.h"
#include "unicode.h"

static regex_node *node_new(arena *mem, regex_kind kind) {
    regex_node *e = arena_alloc(mem, 1, sizeof *e);
    e->kind = kind;
    return e;
}

regex_node *regex_empty(arena *mem) {
    regex_node *e = node_new(mem, REGEX_EMPTY);
    e->nullable = true;
    return e;
}

regex_node *regex_never(arena *mem) { return node_new(mem, REGEX_NEVER); }

regex_node *regex_class(arena *mem, cp_set *s) {
    cp_set kept = {0};
    cp_set_normalise(s);
    for (uint32_t i = 0; i < s->n; i++) { /* without the surrogates */
        cp_range g = s->at[i];
        if (g.lo < 0xD800) cp_set_add(mem, &kept, g.lo, g.hi < 0xD7FF ? g.hi : 0xD7FF);
        if (g.hi > 0xDFFF) cp_set_add(mem, &kept, g.lo > 0xE000 ? g.lo : 0xE000, g.hi);
    }
    if (kept.n == 0) return regex_never(mem);
    regex_node *e = node_new(mem, REGEX_CLASS);
    e->u.ranges = kept.at;
    e->n = kept.n;
    e->consumes = true;
    return e;
}

/* The other cases of the ASCII letters in s. */
static void fold_ascii(arena *mem, cp_set *s) {
    for (uint32_t i = 0, n = s->n; i < n; i++)
        for (uint32_t first = 'A'; first <= 'a'; first += 'a' - 'A') {
            uint32_t lo = s->at[i].lo > first ? s->at[i].lo : first, hi = s->at[i].hi < first + 25 ? s->at[i].hi : first + 25;
            if (lo <= hi) cp_set_add(mem, s, lo ^ 0x20, hi ^ 0x20);
        }
}

void regex_fold_set(arena *mem, cp_set *s, regex_fold fold) {
    if (fold == FOLD_ASCII) fold_ascii(mem, s);
    if (fold == FOLD_SIMPLE) unicode_fold(mem, s);
}

regex_node *regex_character(arena *mem, uint32_t cp, regex_fold fold) {
    cp_set s = {0};
    cp_set_add(mem, &s, cp, cp);
    regex_fold_set(mem, &s, fold);
    return regex_class(mem, &s);
}

regex_node *regex_sequence(arena *mem, regex_node *const *parts, uint32_t n) {
    regex_node *e = node_new(mem, REGEX_SEQUENCE);
    VEC(regex_node *) flat = {0};
    e->nullable = true;
    for (uint32_t i = 0; i < n; i++) {
        const regex_node *part = parts[i];
        if (part->kind == REGEX_NEVER) return regex_never(mem);
        e->asserts |= part->asserts;
        e->lazy |= part->lazy;
        e->refers |= part->refers;
        e->nullable &= part->nullable;
        e->consumes |= part->consumes;
        if (part->kind == REGEX_SEQUENCE)
            for (uint32_t k = 0; k < part->n; k++) vec_push(mem, &flat, part->u.parts[k]);
        else if (part->kind != REGEX_EMPTY)
            vec_push(mem, &flat, parts[i]);
    }
    if (flat.n == 0) return regex_empty(mem);
    if (flat.n == 1) return flat.at[0];
    e->u.parts = flat.at;
    e->n = flat.n;
    return e;
}

regex_node *regex_choice(arena *mem, regex_node *const *parts, uint32_t n) {
    regex_node *e = node_new(mem, REGEX_CHOICE);
    VEC(regex_node *) kept = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i]->kind == REGEX_NEVER) continue;
        e->asserts |= parts[i]->asserts;
        e->lazy |= parts[i]->lazy;
        e->refers |= parts[i]->refers;
        e->nullable |= parts[i]->nullable;
        e->consumes |= parts[i]->consumes;
        vec_push(mem, &kept, parts[i]);
    }
    if (kept.n == 0) return regex_never(mem);
    if (kept.n == 1) return kept.at[0];
    e->u.parts = kept.at;
    e->n = kept.n;
    return e;
}

static uint64_t times(uint32_t a, uint32_t b) {
    return a == 0 || b == 0 ? 0 : a == REPEAT_INFINITE || b == REPEAT_INFINITE ? REPEAT_INFINITE : (uint64_t)a * b;
}

/* x{a,b}{min,max} as x{a*min,b*max}: right if the counts k*a .. k*b of successive k leave no gap. */
static bool multiply(const regex_node *body, uint32_t *min, uint32_t *max) {
    uint32_t a = body->u.repeat.min, b = body->u.repeat.max;
    bool gapless = *min == *max || a <= 1 || times(*min, b == REPEAT_INFINITE ? b : b - a) >= a - 1;
    uint64_t least = times(*min, a), most = times(*max, b);
    bool endless = b == REPEAT_INFINITE || *max == REPEAT_INFINITE;
    if (!gapless || least >= REPEAT_INFINITE || (!endless && most >= REPEAT_INFINITE)) return false;
    *min = (uint32_t)least;
    *max = (uint32_t)most;
    return true;
}

regex_node *regex_repeat(arena *mem, regex_node *body, uint32_t min, uint32_t max, bool lazy) {
    if (max == 0 || body->kind == REGEX_EMPTY) return regex_empty(mem);
    if (body->kind == REGEX_NEVER) return min == 0 ? regex_empty(mem) : body;
    if (!body->consumes) return min == 0 ? regex_empty(mem) : body; /* assertions alone: once says it all */
    if (min == 1 && max == 1) return body;
    lazy = lazy && min != max;
    if (body->kind == REGEX_REPEAT && multiply(body, &min, &max)) body = body->u.repeat.body;
    regex_node *e = node_new(mem, REGEX_REPEAT);
    e->asserts = body->asserts;
    e->u.repeat.lazy = lazy;
    e->lazy = body->lazy || e->u.repeat.lazy;
    e->refers = body->refers;
    e->nullable = min == 0 || body->nullable;
    e->consumes = true;
    e->u.repeat.body = body;
    e->u.repeat.min = min;
    e->u.repeat.max = max;
    return e;
}

regex_node *regex_point(arena *mem, const uint8_t allow[N_KINDS]) {
    regex_node *e = node_new(mem, REGEX_POINT);
    e->asserts = e->nullable = true;
    memcpy(e->u.allow, allow, N_KINDS);
    return e;
}

regex_node *regex_look(arena *mem, regex_node *body, bool behind, bool negative) {
    bool always = body->nullable && !body->asserts && !body->refers;
    if (body->kind == REGEX_NEVER || always) return always != negative ? regex_empty(mem) : regex_never(mem);
    regex_node *e = node_new(mem, REGEX_LOOK);
    e->asserts = e->nullable = true;
    e->refers = body->refers;
    e->u.look.body = body;
    e->u.look.behind = behind;
    e->u.look.negative = negative;
    return e;
}

regex_node *regex_group(arena *mem, regex_node *body, uint32_t index) {
    regex_node *e = node_new(mem, REGEX_GROUP);
    e->asserts = body->asserts;
    e->nullable = body->nullable;
    e->consumes = body->consumes;
    e->lazy = body->lazy;
    e->refers = true;
    e->u.group.body = body;
    e->u.group.index = index;
    return e;
}

regex_node *regex_back(arena *mem, uint32_t index, regex_fold fold, size_t at) {
    regex_node *e = node_new(mem, REGEX_BACK);
    e->nullable = e->consumes = e->refers = true;
    e->u.back.index = index;
    e->u.back.fold = fold;
    e->u.back.at = at;
    return e;
}
