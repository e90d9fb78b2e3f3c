/* judge.c - a slow, obvious recogniser for small grammars: the judge of the fuzz targets.
 *
 * For a node e and a position i of the text of n symbols,
 *
 *   ends[e][i]   the set of all j such that e matches text[i .. j)
 *   open[e][i]   text[i .. n) is the beginning of something that e matches
 *
 * Both are the least solution of one equation per node, written down below.  The
 * positions are solved from the last to the first; at one position all equations
 * are evaluated until nothing changes, so recursion of any kind is no concern. */
#include <string.h>

#include "small.h"

typedef uint64_t places; /* bit j: position j */

typedef struct answer {
    places ends;
    bool open;
} answer;

typedef struct table {
    const small_grammar *g;
    const symbol *text;
    uint32_t n;
    answer at[MOST_SYMBOLS + 1][MOST_NODES];    /* ends and open of a node, by position */
    answer texts[MOST_SYMBOLS + 1][MOST_NODES]; /* of NODE_TRIGGERED: without a first tag */
} table;

static places place(uint32_t i) { return (places)1 << i; }
static bool has(places p, uint32_t i) { return (p >> i & 1) != 0; }

/* ---- one node after another ---- */

/* The symbols of a literal, from the number `from` on. */
static answer match_symbols(const table *t, const node *e, uint32_t from, uint32_t i) {
    for (uint32_t k = from; k < e->n_symbols; k++, i++) {
        if (i == t->n) return (answer){0, true};
        if (t->text[i] != e->symbols[k]) return (answer){0, false};
    }
    return (answer){place(i), i == t->n};
}

/* What node e does from each of these places; `rest`: what must follow it matches something. */
static answer match_from(const table *t, uint32_t e, places from, bool rest) {
    answer a = {0, false};
    for (; from != 0; from &= from - 1) {
        const answer *one = &t->at[__builtin_ctzll(from)][e];
        a.ends |= one->ends;
        a.open = a.open || (one->open && rest);
    }
    return a;
}

static answer match_sequence(const table *t, const uint32_t *parts, uint32_t n, places from) {
    answer a = {from, false};
    for (uint32_t k = 0; k < n; k++) {
        bool rest = true;
        for (uint32_t r = k + 1; r < n; r++) rest = rest && t->g->nodes[parts[r]].productive;
        answer one = match_from(t, parts[k], a.ends, rest);
        a = (answer){one.ends, a.open || one.open};
    }
    a.open = a.open || has(a.ends, t->n);
    return a;
}

/* After as many repetitions as there are symbols only empty ones are left, and one more changes nothing. */
static answer match_repeat(const table *t, const node *e, uint32_t i) {
    places here = place(i);
    answer a = {e->min == 0 ? here : 0, false};
    for (uint32_t k = 1; k <= e->max; k++) {
        answer one = match_from(t, e->parts[0], here, true);
        a.open = a.open || one.open;
        bool settled = one.ends == here; /* for good */
        here = one.ends;
        if (k >= e->min || settled) a.ends |= here;
        if (settled) break;
    }
    a.open = a.open || has(a.ends, t->n);
    return a;
}

/* ---- characters ---- */

static bool in_class(const node *e, uint32_t cp) {
    bool found = false;
    for (uint32_t k = 0; k < e->n; k++) found = found || (cp >= e->ranges[k].lo && cp <= e->ranges[k].hi);
    return found != e->negated && cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
}

/* Is there a character of the class between these two? */
static bool class_meets(const node *e, uint32_t lo, uint32_t hi) {
    if (in_class(e, lo) || in_class(e, hi) || (lo < 0xE000 && hi >= 0xE000 && in_class(e, 0xE000))) return true;
    for (uint32_t k = 0; k < e->n; k++) { /* else one begins or ends in between */
        uint32_t edges[4] = {e->ranges[k].lo, e->ranges[k].hi, e->ranges[k].hi + 1, e->ranges[k].lo - 1};
        for (uint32_t x = 0; x < 4; x++)
            if (edges[x] >= lo && edges[x] <= hi && in_class(e, edges[x])) return true;
        if (e->ranges[k].lo <= 0xDFFF && e->ranges[k].hi >= 0xD800 && lo < 0xD800 && hi >= 0xD7FF && in_class(e, 0xD7FF)) return true;
    }
    return false;
}

bool class_matches(const node *e) { return class_meets(e, 0, 0x10FFFF); }

/* Bytes of a character that begins with this one; 0: none does (RFC 3629). */
static uint32_t utf8_length(symbol first) {
    return first >= 0xF5 ? 0 : first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* The characters whose spelling begins with these n bytes are lo .. hi; false if there are none. */
static bool utf8_span(const symbol *s, uint32_t n, uint32_t *lo, uint32_t *hi) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}, most[] = {0, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
    uint32_t length = utf8_length(s[0]);
    if (length == 0 || n > length) return false;
    *lo = *hi = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
    for (uint32_t k = 1; k < length; k++) {
        if (k < n && (s[k] < 0x80 || s[k] > 0xBF)) return false;
        *lo = *lo << 6 | (k < n ? s[k] & 0x3Fu : 0);
        *hi = *hi << 6 | (k < n ? s[k] & 0x3Fu : 0x3F);
    }
    if (*lo < least[length]) *lo = least[length];
    if (*hi > most[length]) *hi = most[length];
    if (*lo >= 0xD800 && *lo <= 0xDFFF) *lo = 0xE000;
    if (*hi >= 0xD800 && *hi <= 0xDFFF) *hi = 0xD7FF;
    return *lo <= *hi;
}

static answer match_class(const table *t, const node *e, uint32_t i) {
    uint32_t left = t->n - i, lo, hi;
    if (left == 0) return (answer){0, e->productive};
    uint32_t length = utf8_length(t->text[i]), n = left < length ? left : length;
    if (length == 0 || !utf8_span(t->text + i, n, &lo, &hi)) return (answer){0, false};
    if (n < length) return (answer){0, class_meets(e, lo, hi)};
    bool yes = in_class(e, lo);
    return (answer){yes ? place(i + n) : 0, yes && i + n == t->n};
}

/* ---- free text ---- */

static bool ends_with(const symbol *from, const symbol *to, const node *literal) {
    if ((size_t)(to - from) < literal->n_symbols) return false;
    return memcmp(to - literal->n_symbols, literal->symbols, literal->n_symbols * sizeof(symbol)) == 0;
}

/* Symbols before the first special token. */
static uint32_t first_token(const symbol *from, const symbol *to) {
    uint32_t k = 0;
    while (from + k < to && from[k] < TOKEN) k++;
    return k;
}

/* One of the tags of a trigger (any tag if it is none), of whose begin `skip` symbols are behind us. */
static answer match_tags(const table *t, const node *e, uint32_t trigger, uint32_t skip, uint32_t i) {
    answer a = {0, false};
    for (uint32_t k = 0; k < e->n; k++) {
        const node *tag = &t->g->nodes[e->parts[k]];
        if (trigger != WITHOUT_END && e->of[k] != trigger) continue;
        if (!tag->productive) continue;
        answer begin = match_symbols(t, &t->g->nodes[tag->parts[0]], skip, i);
        answer rest = match_sequence(t, tag->parts + 1, 2, begin.ends);
        a.ends |= rest.ends;
        a.open = a.open || begin.open || rest.open;
    }
    return a;
}

static bool has_tags(const node *e, uint32_t trigger) {
    for (uint32_t k = 0; k < e->n; k++)
        if (e->of[k] == trigger) return true;
    return false;
}

static bool is_excluded(const table *t, const node *e, const symbol *from, const symbol *to) {
    for (uint32_t k = 0; k < e->n_ends; k++)
        if (ends_with(from, to, &t->g->nodes[e->ends[k]])) return true;
    for (uint32_t k = 0; k < e->n_triggers; k++)
        if (!has_tags(e, k) && ends_with(from, to, &t->g->nodes[e->triggers[k]])) return true;
    return false;
}

/* Special tokens are no free text: they must all lie in the trigger. */
static bool completes(const table *t, const node *e, const symbol *from, const symbol *to, uint32_t trigger) {
    const node *literal = &t->g->nodes[e->triggers[trigger]];
    if (!has_tags(e, trigger) || !ends_with(from, to, literal)) return false;
    return first_token(from, to) >= (size_t)(to - from) - literal->n_symbols;
}

/* Is a trigger complete here?  *use: one that a tag with a text can follow. */
static bool any_completes(const table *t, const node *e, const symbol *from, const symbol *to, bool *use) {
    bool yes = false;
    for (uint32_t k = 0; k < e->n_triggers; k++) {
        if (!completes(t, e, from, to, k)) continue;
        yes = true;
        for (uint32_t x = 0; x < e->n; x++) *use = *use || (e->of[x] == k && t->g->nodes[e->parts[x]].productive);
    }
    return yes;
}

/* Can this text, with special tokens in it, go on to the end of a trigger? */
static bool token_goes_on(const table *t, const node *e, const symbol *from, const symbol *to) {
    uint32_t n = (uint32_t)(to - from), first = first_token(from, to);
    for (uint32_t k = 0; k < e->n_triggers; k++) {
        const node *literal = &t->g->nodes[e->triggers[k]];
        for (uint32_t begun = 1; begun < literal->n_symbols && begun <= n; begun++) {
            if (first < n - begun || memcmp(to - begun, literal->symbols, begun * sizeof(symbol)) != 0) continue;
            symbol whole[MOST_SYMBOLS + MOST_LITERAL], *end = whole + n;
            memcpy(whole, from, n * sizeof *whole);
            bool dead = false, done = false, use = false;
            for (uint32_t x = begun; x < literal->n_symbols && !dead && !done; x++) {
                *end++ = literal->symbols[x];
                dead = is_excluded(t, e, whole, end);
                done = any_completes(t, e, whole, end, &use);
            }
            if (use && !dead) return true;
        }
    }
    return false;
}

/* Where a trigger is complete at j: its tags, and then text again. */
static answer after_triggers(const table *t, uint32_t number, uint32_t i, uint32_t j) {
    const node *e = &t->g->nodes[number];
    answer a = {0, false};
    for (uint32_t k = 0; k < e->n_triggers; k++) {
        if (!completes(t, e, t->text + i, t->text + j, k)) continue;
        answer tag = match_tags(t, e, k, t->g->nodes[e->triggers[k]].n_symbols, j);
        a.open = a.open || tag.open || has(tag.ends, t->n);
        if (e->stop_after_first) a.ends |= tag.ends;
        for (uint32_t x = j; x <= t->n && !e->stop_after_first; x++) {
            if (!has(tag.ends, x)) continue;
            a.ends |= t->texts[x][number].ends;
            a.open = a.open || t->texts[x][number].open;
        }
    }
    return a;
}

/* Walk on from i, character by character, until a trigger is complete: then its tags are the only way on. */
static answer match_text(const table *t, uint32_t number, uint32_t i) {
    const node *e = &t->g->nodes[number];
    const symbol *from = t->text + i;
    answer a = {0, false};
    for (uint32_t j = i;;) {
        const symbol *to = t->text + j;
        bool use = false;
        if (is_excluded(t, e, from, to)) return a;
        if (any_completes(t, e, from, to, &use)) {
            answer tags = after_triggers(t, number, i, j);
            return (answer){a.ends | tags.ends, tags.open};
        }
        bool plain = first_token(from, to) == j - i;
        if (plain) a.ends |= place(j);
        uint32_t left = t->n - j, lo, hi, length = left == 0 ? 0 : utf8_length(*to);
        if (left == 0 || (left < length && utf8_span(to, left, &lo, &hi))) {
            a.open = plain || token_goes_on(t, e, from, to + left);
            return a;
        }
        if (*to >= TOKEN)
            j++;
        else if (left >= length && length != 0 && utf8_span(to, length, &lo, &hi))
            j += length;
        else
            return a;
    }
}

/* ---- the equations ---- */

static answer match(const table *t, uint32_t number, uint32_t i) {
    const node *e = &t->g->nodes[number];
    answer a = {0, false};
    switch (e->kind) {
    case NODE_LITERAL:
        return match_symbols(t, e, 0, i);
    case NODE_CLASS:
        return match_class(t, e, i);
    case NODE_SEQUENCE:
    case NODE_TAG:
        return match_sequence(t, e->parts, e->n, place(i));
    case NODE_CHOICE:
        for (uint32_t k = 0; k < e->n; k++) {
            a.ends |= t->at[i][e->parts[k]].ends;
            a.open = a.open || t->at[i][e->parts[k]].open;
        }
        return a;
    case NODE_REPEAT:
        return match_repeat(t, e, i);
    case NODE_RULE:
        return t->at[i][t->g->rules[e->min]];
    case NODE_TEXT:
        return match_text(t, number, i);
    case NODE_TRIGGERED:
        break;
    }
    if (!e->at_least_one) return t->texts[i][number];
    answer first = match_tags(t, e, WITHOUT_END, 0, i);
    a.open = first.open || has(first.ends, t->n);
    if (e->stop_after_first) return (answer){first.ends, a.open};
    for (uint32_t j = i; j <= t->n; j++) {
        if (!has(first.ends, j)) continue;
        a.ends |= t->texts[j][number].ends;
        a.open = a.open || t->texts[j][number].open;
    }
    return a;
}

verdict judge(const small_grammar *g, const symbol *text, uint32_t n) {
    static table t;
    t.g = g;
    t.text = text;
    t.n = n;
    for (uint32_t i = n + 1; i-- > 0;) {
        for (uint32_t e = 0; e < g->n; e++) t.at[i][e] = t.texts[i][e] = (answer){0, false};
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t e = 0; e < g->n; e++) {
                if (g->nodes[e].kind == NODE_TRIGGERED) t.texts[i][e] = match_text(&t, e, i);
                answer a = match(&t, e, i);
                changed = changed || a.ends != t.at[i][e].ends || a.open != t.at[i][e].open;
                t.at[i][e] = a;
            }
        }
    }
    return (verdict){has(t.at[0][g->root].ends, n), t.at[0][g->root].open};
}
