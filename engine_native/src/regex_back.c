/* regex_back.c - back-references to groups of few texts.
 *
 * What a back-reference matches depends on what its group matched.  If the group
 * has few texts, each gets an alternative of its own:
 *
 *   (["'])(.*?)\1     is     "(.*?)"  or  '(.*?)'
 *
 * The alternatives stand where the sequence stands that holds both the group and
 * the reference, so every repetition chooses anew, and lookaheads may hold both.
 * Exact where the group surely matched once before each reference to it: then
 * nothing but sequences and groups lie between that sequence and the group.  All
 * other references are refused.
 *
 * Innermost groups first: the texts of a group are read off when the groups in it
 * have theirs.
 *
 * Cost: the nodes of the sequence, times the texts of each group of it that is
 * referred to. */
#include "regex_tree.h"

#define MAX_TEXTS 1000
#define MAX_GROUPS 100

typedef struct binder {
    work *w;
    uint32_t groups; /* that have their texts around this place */
    size_t at;
    const char *why;
} binder;

static regex_node *bind(binder *d, regex_node *e);

/* ---- the texts of a group ---- */

typedef struct text {
    const uint32_t *cp;
    uint32_t n;
} text;

typedef struct text_list {
    text *at;
    uint32_t n, cap;
} text_list;

static bool texts_add(binder *d, text_list *out, text first, text second) {
    if (out->n == MAX_TEXTS) {
        d->why = "a back-reference to a group of more than 1000 texts is not supported";
        return false;
    }
    work_charge(d->w, first.n + second.n + 1);
    uint32_t *cp = arena_alloc(&d->w->mem, (size_t)first.n + second.n + 1, sizeof *cp);
    if (first.n > 0) memcpy(cp, first.cp, first.n * sizeof *cp);
    if (second.n > 0) memcpy(cp + first.n, second.cp, second.n * sizeof *cp);
    vec_push(&d->w->mem, out, ((text){cp, first.n + second.n}));
    return true;
}

static bool texts_append(binder *d, text_list *out, const text_list *more) {
    for (uint32_t i = 0; i < more->n; i++)
        if (!texts_add(d, out, more->at[i], (text){NULL, 0})) return false;
    return true;
}

static bool texts_product(binder *d, text_list *all, const text_list *more) {
    text_list out = {0};
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; k < more->n; k++)
            if (!texts_add(d, &out, all->at[i], more->at[k])) return false;
    *all = out;
    return true;
}

/* All texts of e, which holds no GROUP and no BACK; false: d->why says why not. */
static bool texts_of(binder *d, const regex_node *e, text_list *out) {
    static const text nothing = {NULL, 0};
    text_list all = {0}, once = {0};
    switch (e->kind) {
    case REGEX_EMPTY:
        return texts_add(d, out, nothing, nothing);
    case REGEX_CLASS:
        for (uint32_t i = 0; i < e->n; i++)
            for (uint32_t cp = e->u.ranges[i].lo; cp <= e->u.ranges[i].hi; cp++)
                if (!texts_add(d, out, (text){&cp, 1}, nothing)) return false;
        return true;
    case REGEX_SEQUENCE:
        if (!texts_add(d, &all, nothing, nothing)) return false;
        for (uint32_t i = 0; i < e->n; i++) {
            once.n = 0;
            if (!texts_of(d, e->u.parts[i], &once) || !texts_product(d, &all, &once)) return false;
        }
        return texts_append(d, out, &all);
    case REGEX_CHOICE:
        for (uint32_t i = 0; i < e->n; i++)
            if (!texts_of(d, e->u.parts[i], out)) return false;
        return true;
    case REGEX_REPEAT:
        if (e->u.repeat.max == REPEAT_INFINITE) {
            d->why = "a back-reference to a group of endlessly many texts describes no regular language";
            return false;
        }
        if (!texts_of(d, e->u.repeat.body, &once) || !texts_add(d, &all, nothing, nothing)) return false;
        for (uint32_t k = 0; k < e->u.repeat.max; k++) {
            if (k >= e->u.repeat.min && !texts_append(d, out, &all)) return false;
            if (!texts_product(d, &all, &once)) return false;
        }
        return texts_append(d, out, &all);
    case REGEX_POINT:
    case REGEX_LOOK:
        d->why = "a back-reference to a group with assertions is not supported";
        return false;
    default:
        return true; /* NEVER: no text */
    }
}

/* ---- a text in the place of a group ---- */

static regex_node *spell(binder *d, text t, regex_fold fold) {
    regex_node **parts = arena_alloc(&d->w->mem, (size_t)t.n + 1, sizeof *parts);
    for (uint32_t i = 0; i < t.n; i++) parts[i] = regex_character(&d->w->mem, t.cp[i], fold);
    return regex_sequence(&d->w->mem, parts, t.n);
}

/* What e becomes when the parts of it become what `change` makes of them. */
static regex_node *rebuild(binder *d, regex_node *e, regex_node *(*change)(binder *, regex_node *, const void *), const void *with) {
    arena *mem = &d->w->mem;
    work_charge(d->w, 1 + e->n);
    switch (e->kind) {
    case REGEX_SEQUENCE:
    case REGEX_CHOICE: {
        regex_node **parts = arena_alloc(mem, e->n, sizeof *parts);
        for (uint32_t i = 0; i < e->n; i++) {
            parts[i] = change(d, e->u.parts[i], with);
            if (parts[i] == NULL) return NULL;
        }
        return e->kind == REGEX_CHOICE ? regex_choice(mem, parts, e->n) : regex_sequence(mem, parts, e->n);
    }
    case REGEX_REPEAT: {
        regex_node *body = change(d, e->u.repeat.body, with);
        return body == NULL ? NULL : regex_repeat(mem, body, e->u.repeat.min, e->u.repeat.max, e->u.repeat.lazy);
    }
    case REGEX_LOOK: {
        regex_node *body = change(d, e->u.look.body, with);
        return body == NULL ? NULL : regex_look(mem, body, e->u.look.behind, e->u.look.negative);
    }
    case REGEX_GROUP: {
        regex_node *body = change(d, e->u.group.body, with);
        return body == NULL ? NULL : regex_group(mem, body, e->u.group.index);
    }
    default:
        return e;
    }
}

typedef struct binding {
    uint32_t index;
    text value;
} binding;

static regex_node *put(binder *d, regex_node *e, const void *with) {
    const binding *g = with;
    if (!e->refers) return e;
    if (e->kind == REGEX_GROUP && e->u.group.index == g->index) return spell(d, g->value, FOLD_NONE);
    if (e->kind == REGEX_BACK && e->u.back.index == g->index) return spell(d, g->value, e->u.back.fold);
    return rebuild(d, e, put, with);
}

/* ---- which group, where ---- */

/* The first reference to a group in e, in reading order. */
static const regex_node *reference(work *w, const regex_node *e, uint32_t index) {
    if (!e->refers) return NULL;
    work_charge(w, 1);
    const regex_node *found = NULL;
    switch (e->kind) {
    case REGEX_BACK:
        return e->u.back.index == index ? e : NULL;
    case REGEX_REPEAT:
        return reference(w, e->u.repeat.body, index);
    case REGEX_LOOK:
        return reference(w, e->u.look.body, index);
    case REGEX_GROUP:
        return reference(w, e->u.group.body, index);
    default:
        for (uint32_t i = 0; i < e->n && found == NULL; i++) found = reference(w, e->u.parts[i], index);
        return found;
    }
}

/* The innermost group that part i of a sequence surely matches and a later part refers to. */
static const regex_node *bound_group(work *w, const regex_node *e, const regex_node *sequence, uint32_t i) {
    const regex_node *found = NULL;
    if (!e->refers) return NULL;
    if (e->kind == REGEX_SEQUENCE)
        for (uint32_t k = 0; k < e->n && found == NULL; k++) found = bound_group(w, e->u.parts[k], sequence, i);
    if (e->kind != REGEX_GROUP) return found;
    found = bound_group(w, e->u.group.body, sequence, i);
    for (uint32_t k = i + 1; k < sequence->n && found == NULL; k++)
        if (reference(w, sequence->u.parts[k], e->u.group.index) != NULL) found = e;
    return found;
}

/* The parts of a sequence from i on, where group g of part i has one text after the other. */
static regex_node *one_by_one(binder *d, const regex_node *sequence, uint32_t i, const regex_node *g) {
    arena *mem = &d->w->mem;
    regex_node *body = bind(d, g->u.group.body), *rest = regex_sequence(mem, sequence->u.parts + i, sequence->n - i);
    text_list texts = {0};
    if (body == NULL) return NULL;
    if (d->groups == MAX_GROUPS) d->why = "back-references to more than 100 groups are not supported";
    if (d->groups == MAX_GROUPS || !texts_of(d, body, &texts)) {
        d->at = reference(d->w, rest, g->u.group.index)->u.back.at;
        return NULL;
    }
    d->groups++;
    regex_node **parts = arena_alloc(mem, (size_t)texts.n + 1, sizeof *parts);
    for (uint32_t k = 0; k < texts.n; k++) {
        parts[k] = bind(d, put(d, rest, &(binding){g->u.group.index, texts.at[k]}));
        if (parts[k] == NULL) return NULL;
    }
    d->groups--;
    return regex_choice(mem, parts, texts.n);
}

static regex_node *bind_part(binder *d, regex_node *e, const void *unused) {
    (void)unused;
    return bind(d, e);
}

static regex_node *bind(binder *d, regex_node *e) {
    if (!e->refers) return e;
    if (e->kind == REGEX_GROUP) return bind(d, e->u.group.body);
    if (e->kind == REGEX_BACK) {
        d->at = e->u.back.at;
        d->why = "a back-reference to a group that need not have matched before it is not supported";
        return NULL;
    }
    for (uint32_t i = 0; e->kind == REGEX_SEQUENCE && i < e->n; i++) {
        const regex_node *g = bound_group(d->w, e->u.parts[i], e, i);
        if (g == NULL) continue;
        regex_node *before = bind(d, regex_sequence(&d->w->mem, e->u.parts, i)), *rest = one_by_one(d, e, i, g);
        return before == NULL || rest == NULL ? NULL : regex_sequence(&d->w->mem, (regex_node *[]){before, rest}, 2);
    }
    return rebuild(d, e, bind_part, NULL);
}

regex_node *regex_bind(work *w, regex_node *node, size_t *at, const char **why) {
    binder d = {.w = w};
    regex_node *e = bind(&d, node);
    *at = d.at;
    *why = d.why;
    return e;
}
