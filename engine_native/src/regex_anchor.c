/* regex_anchor.c - a search as a whole match, and the assertions that their place decides.
 *
 * Most patterns are anchored at their ends.  After these two steps hardly any
 * holds an assertion any more, and the costly part of regex_text.c is not
 * needed. */
#include "regex_tree.h"
#include "utf8.h"

static regex_node *any_text(arena *mem) {
    cp_set all = {0};
    cp_set_add(mem, &all, 0, UTF8_MAX);
    return regex_repeat(mem, regex_class(mem, &all), 0, REPEAT_INFINITE, false);
}

/* Holds only before (first) or after everything else. */
static bool holds_at_edge_only(const regex_node *e, bool first) {
    if (e->kind != REGEX_POINT) return false;
    for (uint32_t before = 0; before < N_KINDS; before++) {
        uint8_t next = e->u.allow[before];
        if (first ? before != KIND_EDGE && next != 0 : (next & ~(1u << KIND_EDGE)) != 0) return false;
    }
    return true;
}

/* Beside any text a repeat at the end of a sequence need not go past its minimum: what it leaves is any text.
 * first: the any text is in front of the parts. */
static void shorten(arena *mem, regex_node **parts, uint32_t n, bool first) {
    for (uint32_t i = 0; i < n; i++) {
        regex_node **part = &parts[first ? i : n - 1 - i];
        if ((*part)->kind != REGEX_REPEAT || (*part)->asserts) return;
        bool optional = (*part)->nullable;
        *part = optional ? regex_empty(mem) : regex_repeat(mem, (*part)->u.repeat.body, (*part)->u.repeat.min, (*part)->u.repeat.min, false);
        if (!optional) return;
    }
}

/* One alternative between any texts, where it is not anchored. */
static regex_node *amid_text(arena *mem, regex_node *node) {
    uint32_t n = node->kind == REGEX_SEQUENCE ? node->n : 1;
    regex_node **all = arena_alloc(mem, (size_t)n + 2, sizeof *all);
    for (uint32_t i = 1; i <= n; i++) all[i] = node->kind == REGEX_SEQUENCE ? node->u.parts[i - 1] : node;
    bool before = true, after = true;
    for (uint32_t i = 1; before && i <= n && !all[i]->consumes; i++) /* assertions hold in any order */
        before = !holds_at_edge_only(all[i], true);
    for (uint32_t i = n; after && i > 0 && !all[i]->consumes; i--) after = !holds_at_edge_only(all[i], false);
    if (before) shorten(mem, all + 1, n, true);
    if (after) shorten(mem, all + 1, n, false);
    all[0] = before ? any_text(mem) : regex_empty(mem);
    all[n + 1] = after ? any_text(mem) : regex_empty(mem);
    return regex_sequence(mem, all, n + 2);
}

regex_node *regex_search(arena *mem, regex_node *node) {
    if (node->kind != REGEX_CHOICE || !node->asserts) return amid_text(mem, node);
    regex_node **parts = arena_alloc(mem, node->n, sizeof *parts);
    for (uint32_t i = 0; i < node->n; i++) parts[i] = amid_text(mem, node->u.parts[i]);
    return regex_choice(mem, parts, node->n);
}

/* ---- assertions decided by their place ---- */

typedef enum beside { AT_EDGE, INSIDE, SOMEWHERE } beside; /* of the text, for sure; SOMEWHERE: it depends */

static bool may_be(beside where, uint32_t kind) {
    return where == SOMEWHERE || (where == AT_EDGE) == (kind == KIND_EDGE);
}

typedef struct resolution {
    arena *mem;
    bool ends; /* only assertions that hold at an end of the text and nowhere else */
} resolution;

static regex_node *resolve(const resolution *r, regex_node *e, beside before, beside after);

static regex_node *resolve_point(const resolution *r, regex_node *e, beside before, beside after) {
    arena *mem = r->mem;
    bool all = true, any = false;
    if (r->ends && !holds_at_edge_only(e, true) && !holds_at_edge_only(e, false)) return e;
    for (uint32_t i = 0; i < N_KINDS; i++)
        for (uint32_t k = 0; k < N_KINDS; k++) {
            if (!may_be(before, i) || !may_be(after, k)) continue;
            bool holds = (e->u.allow[i] >> k) & 1;
            all &= holds;
            any |= holds;
        }
    return all ? regex_empty(mem) : any ? e : regex_never(mem);
}

/* Where the other side of a part is. */
static beside past(beside where, const regex_node *part) {
    if (!part->consumes || where == INSIDE) return where;
    return part->nullable ? SOMEWHERE : INSIDE;
}

static regex_node *resolve_sequence(const resolution *r, const regex_node *e, beside before, beside after) {
    arena *mem = r->mem;
    regex_node **parts = arena_alloc(mem, e->n, sizeof *parts);
    beside *ends = arena_alloc(mem, e->n, sizeof *ends);
    for (uint32_t i = e->n; i-- > 0;) {
        ends[i] = after;
        after = past(after, e->u.parts[i]);
    }
    for (uint32_t i = 0; i < e->n; i++) {
        parts[i] = resolve(r, e->u.parts[i], before, ends[i]);
        before = past(before, e->u.parts[i]);
    }
    return regex_sequence(mem, parts, e->n);
}

static regex_node *resolve(const resolution *r, regex_node *e, beside before, beside after) {
    arena *mem = r->mem;
    if (!e->asserts) return e;
    switch (e->kind) {
    case REGEX_POINT:
        return resolve_point(r, e, before, after);
    case REGEX_SEQUENCE:
        return resolve_sequence(r, e, before, after);
    case REGEX_CHOICE: {
        regex_node **parts = arena_alloc(mem, e->n, sizeof *parts);
        for (uint32_t i = 0; i < e->n; i++) parts[i] = resolve(r, e->u.parts[i], before, after);
        return regex_choice(mem, parts, e->n);
    }
    case REGEX_REPEAT: {
        bool once = e->u.repeat.max == 1;
        if (!once && before == AT_EDGE) before = SOMEWHERE;
        if (!once && after == AT_EDGE) after = SOMEWHERE;
        regex_node *body = resolve(r, e->u.repeat.body, before, after);
        return regex_repeat(mem, body, e->u.repeat.min, e->u.repeat.max, e->u.repeat.lazy);
    }
    case REGEX_LOOK: {
        bool behind = e->u.look.behind;
        regex_node *body = resolve(r, e->u.look.body, behind ? SOMEWHERE : before, behind ? after : SOMEWHERE);
        return regex_look(mem, body, behind, e->u.look.negative);
    }
    default:
        return e;
    }
}

regex_node *regex_resolve(arena *mem, regex_node *node) { return resolve(&(resolution){mem, false}, node, AT_EDGE, AT_EDGE); }

regex_node *regex_resolve_ends(arena *mem, regex_node *node) { return resolve(&(resolution){mem, true}, node, AT_EDGE, AT_EDGE); }
