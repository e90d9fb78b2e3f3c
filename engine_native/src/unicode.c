/* unicode.c - see unicode.h. */
#include "unicode.h"

#include "unicode_data.h"
#include "utf8.h"

#define NAME_MAX_LENGTH 64

static uint32_t unpack(const uint8_t **p) {
    uint32_t v = 0, shift = 0;
    for (;; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (byte & 127u) << shift;
        if (byte < 128) return v;
    }
}

/* kind and a name in lower case; false if it is not in the table. */
static bool add_named(arena *mem, char kind, const char *name, cp_set *out) {
    char key[NAME_MAX_LENGTH + 3] = {kind, ':'};
    memcpy(key + 2, name, strlen(name) + 1);
    uint32_t lo = 0, hi = unicode_n_names;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(unicode_names[mid].name, key);
        if (order == 0) {
            const uint8_t *p = unicode_packed + unicode_names[mid].offset;
            uint32_t at = 0;
            for (uint32_t i = 0; i < unicode_names[mid].n_ranges; i++) {
                uint32_t from = at + unpack(&p), to = from + unpack(&p);
                cp_set_add(mem, out, from, to);
                at = to + 1;
            }
            return true;
        }
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* Lower case without separators; false if it does not fit. */
static bool plain_name(const char *text, size_t n, char out[NAME_MAX_LENGTH + 1]) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == ' ' || c == '_' || c == '-') continue;
        if (k == NAME_MAX_LENGTH) return false;
        out[k++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    out[k] = 0;
    return true;
}

static bool is_one_of(const char *name, const char *a, const char *b) { return strcmp(name, a) == 0 || strcmp(name, b) == 0; }

bool unicode_property(arena *mem, const char *text, size_t n, cp_set *out) {
    char name[NAME_MAX_LENGTH + 1], value[NAME_MAX_LENGTH + 1];
    size_t equals = 0;
    while (equals < n && text[equals] != '=' && text[equals] != ':') equals++;
    if (!plain_name(text, equals, name)) return false;
    if (equals < n) {
        if (!plain_name(text + equals + 1, n - equals - 1, value)) return false;
        if (is_one_of(name, "gc", "generalcategory")) return add_named(mem, 'g', value, out);
        if (is_one_of(name, "sc", "script")) return add_named(mem, 's', value, out);
        if (is_one_of(name, "scx", "scriptextensions")) return add_named(mem, 'x', value, out);
        if (is_one_of(name, "gcb", "graphemeclusterbreak")) return add_named(mem, 'c', value, out);
        if (is_one_of(name, "wb", "wordbreak")) return add_named(mem, 'w', value, out);
        if (is_one_of(name, "sb", "sentencebreak")) return add_named(mem, 'n', value, out);
        return false;
    }
    if (strcmp(name, "any") == 0) {
        cp_set_add(mem, out, 0, UTF8_MAX);
        return true;
    }
    if (strcmp(name, "ascii") == 0) {
        cp_set_add(mem, out, 0, 0x7F);
        return true;
    }
    if (strcmp(name, "assigned") == 0) {
        cp_set unassigned = {0};
        add_named(mem, 'g', "cn", &unassigned);
        cp_set_add_all(mem, out, cp_set_complement(mem, &unassigned));
        return true;
    }
    return add_named(mem, 'g', strcmp(name, "l&") == 0 ? "lc" : name, out) || add_named(mem, 'b', name, out) ||
           add_named(mem, 's', name, out);
}

void unicode_word(arena *mem, cp_set *out) {
    add_named(mem, 'b', "alphabetic", out);
    add_named(mem, 'g', "m", out);
    add_named(mem, 'g', "nd", out);
    add_named(mem, 'g', "pc", out);
    add_named(mem, 'b', "joincontrol", out);
}

/* The next letter in the cycle of cp, or cp. */
static uint32_t next_case(uint32_t cp) {
    uint32_t lo = 0, hi = unicode_n_runs;
    while (lo < hi) { /* the first run that begins after cp */
        uint32_t mid = lo + (hi - lo) / 2;
        if (unicode_runs[mid].lo <= cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (uint32_t i = lo, back = 0; i > 0 && back < 2; i--, back++) { /* two runs of stride 2 can interleave */
        const unicode_run *run = &unicode_runs[i - 1];
        if (cp <= run->hi && (cp - run->lo) % run->stride == 0) return (uint32_t)((int32_t)cp + run->delta);
    }
    return cp;
}

void unicode_fold(arena *mem, cp_set *s) {
    cp_set_normalise(s);
    uint32_t n = s->n;
    for (uint32_t i = 0, r = 0; i < n; i++) {
        cp_range g = s->at[i];
        while (r < unicode_n_runs && unicode_runs[r].hi < g.lo) r++;
        for (uint32_t k = r; k < unicode_n_runs && unicode_runs[k].lo <= g.hi; k++) {
            const unicode_run *run = &unicode_runs[k];
            uint32_t lo = g.lo > run->lo ? g.lo : run->lo, hi = g.hi < run->hi ? g.hi : run->hi;
            lo += (run->stride - (lo - run->lo) % run->stride) % run->stride;
            for (uint32_t cp = lo; cp <= hi; cp += run->stride)
                for (uint32_t other = next_case(cp); other != cp; other = next_case(other)) cp_set_add(mem, s, other, other);
        }
    }
    cp_set_normalise(s);
}
