/* regex_text.c - a regular expression with assertions as an automaton over code points.
 *
 * The tree becomes a nondeterministic automaton over classes of characters
 * (alphabet.h) in which an assertion is an edge that consumes nothing.  Without
 * assertions that is all.  With them it runs beside two other things:
 *
 *   history      a deterministic automaton that reads the text from its start and
 *                knows what lies behind: the kind of the last character, and for
 *                every lookbehind after which kinds of next character it holds.
 *   obligations  what lookaheads demand of the rest of the text: each lookahead is
 *                a deterministic automaton (its body, then anything), and a
 *                configuration carries the states that have been reached in it.
 *
 * A *configuration* is (state, history, obligations), reached by consuming a
 * character.  From it assertions are crossed in all ways; on the way `next`
 * collects which kinds may come next.  Configurations are the states of an
 * ordinary automaton.  Lookaheads are made the same way, inner ones first, one
 * start for each state of the history; a lookbehind extends the history.
 *
 * Where the pattern is a part of a text (regex_text_before), what a match still
 * owes at its end is a condition on what follows (ahead.h): kinds and obligations.
 *
 * Everything is exact; what grows too large escapes with STE_ERR_LIMIT. */
#include "ahead.h"
#include "alphabet.h"
#include "fsm_product.h"
#include "regex_tree.h"
#include "unicode.h"

#define UNROLLED_MOST UINT64_C(1000000)
#define CONFIGURATIONS_MOST 250000
#define LOOSE_MOST 200000         /* edges of an automaton that may stay nondeterministic */
#define LONG_CHOICE 16           /* alternatives */
#define KEPT UINT32_MAX          /* an obligation that is fulfilled */
#define BROKEN (UINT32_MAX - 1)  /* and one that cannot be any more */
#define NO_SET UINT32_MAX        /* in place of obligations: one of them is broken */
#define NOWHERE UINT8_MAX        /* kind before a history that does not exist */

typedef struct obligations {
    uint32_t n;
    const uint32_t *at; /* sorted */
    uint64_t hash;
    uint32_t *next;     /* by class: set number + 1 */
    bool at_end;        /* the text may end here */
} obligations;

typedef struct configuration {
    uint32_t state, history, set;
} configuration;

typedef struct crossing {
    uint32_t state, set, chain; /* chain: the next crossing to the same state + 1 */
    uint8_t next;               /* kinds that may come next */
} crossing;

/* What a match may owe at its end. */
typedef struct owed {
    uint32_t set;
    uint8_t next;
} owed;

typedef struct assertion {
    const regex_node *node;
    uint32_t start;  /* LOOK: where its body begins */
    uint32_t number; /* LOOK behind: its place in `behind` */
    uint32_t *begin; /* LOOK ahead, by history: its first obligation, KEPT or BROKEN */
} assertion;

typedef struct text {
    builder *b;
    work *w;
    arena *mem;
    alphabet letters;
    fsm *f; /* assertion i is an edge with the symbol SYM_RULE + i */
    VEC(assertion) assertions;
    uint8_t kind[N_KINDS];          /* kinds that no assertion tells apart have one name */
    uint32_t kind_set[N_KINDS];     /* number of the set of a kind + 1 */
    uint8_t *kind_of;               /* by class */
    uint32_t *empty_first, *empty_to;
    /* history */
    uint32_t n_histories, history_start;
    uint32_t *history_next;         /* by history and class */
    uint8_t *history_kind;          /* kind before */
    uint8_t *behind;                /* by history and lookbehind: the kinds it holds before */
    uint32_t n_behind, behind_done;
    /* obligations */
    VEC(uint32_t) obligation_next;  /* by obligation and class */
    VEC(uint8_t) obligation_end;
    VEC(obligations) sets;          /* 0 is the empty one */
    uint32_t *set_table, set_mask;
    /* the automaton that is being made */
    fsm *out;
    VEC(configuration) configurations; /* of its states, from `first_state` on */
    uint32_t first_state;
    uint32_t *table, mask;
    VEC(crossing) crossings;
    uint32_t *head, *stamp, round;  /* by state of f: its crossings */
    VEC(owed) owed;                 /* regex_text_before: each is a symbol past the classes */
} text;

/* ---- the tree as an automaton ---- */

/* States, roughly; what is past UNROLLED_MOST is only known to be so. */
static uint64_t unrolled(const regex_node *e) {
    uint64_t size = 1;
    switch (e->kind) {
    case REGEX_SEQUENCE:
    case REGEX_CHOICE:
        for (uint32_t i = 0; i < e->n && size <= UNROLLED_MOST; i++) size += unrolled(e->u.parts[i]);
        return size;
    case REGEX_REPEAT: {
        uint64_t copies = e->u.repeat.max == REPEAT_INFINITE ? (uint64_t)e->u.repeat.min + 1 : e->u.repeat.max;
        size = copies * (unrolled(e->u.repeat.body) + 1);
        return size <= UNROLLED_MOST ? size : UNROLLED_MOST + 1;
    }
    case REGEX_LOOK:
        return unrolled(e->u.look.body) + size;
    default:
        return size;
    }
}

static void number_sets(text *t, regex_node *e) {
    switch (e->kind) {
    case REGEX_CLASS:
        e->number = alphabet_add(&t->letters, e->u.ranges, e->n);
        return;
    case REGEX_SEQUENCE:
    case REGEX_CHOICE:
        for (uint32_t i = 0; i < e->n; i++) number_sets(t, e->u.parts[i]);
        return;
    case REGEX_REPEAT:
        number_sets(t, e->u.repeat.body);
        return;
    case REGEX_LOOK:
        number_sets(t, e->u.look.body);
        break;
    case REGEX_POINT:
        break;
    default:
        return;
    }
    e->number = t->assertions.n; /* inner ones come first */
    vec_push(t->mem, &t->assertions, (assertion){.node = e});
}

static void build(text *t, const regex_node *e, uint32_t from, uint32_t to);

static void add_class(text *t, const regex_node *e, uint32_t from, uint32_t to) {
    const alphabet_set *s = &t->letters.sets.at[e->number];
    for (uint32_t i = 0; i < s->n_symbols; i++) fsm_edge_add(t->f, from, s->symbols[i].lo, s->symbols[i].hi, to);
}

static void build_repeat(text *t, const regex_node *e, uint32_t from, uint32_t to) {
    fsm *f = t->f;
    const regex_node *body = e->u.repeat.body;
    uint32_t at = from, min = e->u.repeat.min, max = e->u.repeat.max;
    for (uint32_t i = 0; i < (max == REPEAT_INFINITE ? min : max); i++) {
        uint32_t next = fsm_state(f), inside = at;
        if (i >= min) {
            fsm_empty_add(f, at, to);
            inside = fsm_state(f);
            fsm_empty_add(f, at, inside); /* a state of its own: the body may loop back to its start */
        }
        build(t, body, inside, next);
        at = next;
    }
    if (max == REPEAT_INFINITE) {
        uint32_t loop = fsm_state(f);
        fsm_empty_add(f, at, loop);
        at = loop;
        if (body->kind == REGEX_CLASS) {
            add_class(t, body, loop, loop);
        } else {
            uint32_t end = fsm_state(f);
            build(t, body, loop, end);
            fsm_empty_add(f, end, loop);
        }
    }
    fsm_empty_add(f, at, to);
}

static void build_choice(text *t, const regex_node *e, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t inside = fsm_state(t->f);
        fsm_empty_add(t->f, from, inside);
        build(t, e->u.parts[i], inside, to);
    }
}

/* Many alternatives share beginnings and ends: made small by themselves, thousands of words begin with few edges,
 * and what is around them need not look at each. */
static void build_long_choice(text *t, const regex_node *e, uint32_t from, uint32_t to) {
    fsm *around = t->f;
    t->f = fsm_new(t->w);
    uint32_t end = fsm_state(t->f);
    t->f->final.at[end] = 1;
    build_choice(t, e, t->f->start, end);
    fsm *small = fsm_reduce(fsm_determinise(t->f));
    t->f = around;
    if (small != NULL) fsm_insert(around, small, from, to);
}

static void build(text *t, const regex_node *e, uint32_t from, uint32_t to) {
    fsm *f = t->f;
    uint32_t at = from;
    switch (e->kind) {
    case REGEX_EMPTY:
        fsm_empty_add(f, from, to);
        return;
    case REGEX_NEVER:
        return;
    case REGEX_CLASS:
        add_class(t, e, from, to);
        return;
    case REGEX_SEQUENCE:
        for (uint32_t i = 0; i < e->n; i++) {
            uint32_t next = i + 1 == e->n ? to : fsm_state(f);
            build(t, e->u.parts[i], at, next);
            at = next;
        }
        return;
    case REGEX_CHOICE:
        if (e->n < LONG_CHOICE || e->asserts)
            build_choice(t, e, from, to);
        else
            build_long_choice(t, e, from, to);
        return;
    case REGEX_REPEAT:
        build_repeat(t, e, from, to);
        return;
    case REGEX_POINT:
    case REGEX_LOOK:
        fsm_edge_add(f, from, SYM_RULE + e->number, SYM_RULE + e->number, to);
        return;
    case REGEX_GROUP: /* gone before (regex_back.c) */
    case REGEX_BACK:
        return;
    }
}

/* Bodies of lookaround stand by themselves: anything and the body, or the body and anything. */
static void build_look(text *t, assertion *a) {
    fsm *f = t->f;
    uint32_t from = fsm_state(f), to = fsm_state(f), every = t->letters.n_classes - 1;
    a->start = from;
    f->final.at[to] = 1;
    if (a->node->u.look.behind) {
        uint32_t body = fsm_state(f);
        fsm_edge_add(f, from, 0, every, from);
        fsm_empty_add(f, from, body);
        build(t, a->node->u.look.body, body, to);
    } else {
        uint32_t body = fsm_state(f);
        fsm_empty_add(f, from, body);
        build(t, a->node->u.look.body, body, to);
        fsm_edge_add(f, to, 0, every, to);
    }
}

static void index_states(text *t) {
    fsm *f = t->f;
    uint32_t n = fsm_size(f);
    fsm_index(f);
    t->empty_first = arena_alloc(t->mem, (size_t)n + 2, sizeof *t->empty_first);
    t->empty_to = arena_alloc(t->mem, (size_t)f->empties.n + 1, sizeof *t->empty_to);
    for (uint32_t i = 0; i < f->empties.n; i++) t->empty_first[f->empties.at[i].from + 2]++;
    for (uint32_t s = 0; s < n; s++) t->empty_first[s + 2] += t->empty_first[s + 1];
    for (uint32_t i = 0; i < f->empties.n; i++) t->empty_to[t->empty_first[f->empties.at[i].from + 1]++] = f->empties.at[i].to;
    t->head = arena_alloc(t->mem, n, sizeof *t->head);
    t->stamp = arena_alloc(t->mem, n, sizeof *t->stamp);
}

/* ---- kinds of neighbours ---- */

static bool rows_equal(const text *t, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < t->assertions.n; i++) {
        const regex_node *e = t->assertions.at[i].node;
        if (e->kind == REGEX_POINT && e->u.allow[a] != e->u.allow[b]) return false;
    }
    return true;
}

static bool columns_equal(const text *t, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < t->assertions.n; i++) {
        const regex_node *e = t->assertions.at[i].node;
        if (e->kind != REGEX_POINT) continue;
        for (uint32_t k = 0; k < N_KINDS; k++)
            if (((e->u.allow[k] >> a) & 1) != ((e->u.allow[k] >> b) & 1)) return false;
    }
    return true;
}

static void kind_ranges(arena *mem, uint32_t kind, cp_set *out) {
    cp_set word = {0};
    switch (kind) {
    case KIND_CR:
        cp_set_add(mem, out, '\r', '\r');
        return;
    case KIND_LF:
        cp_set_add(mem, out, '\n', '\n');
        return;
    case KIND_SEPARATOR:
        cp_set_add(mem, out, 0x2028, 0x2029);
        return;
    case KIND_WORD:
        cp_set_add(mem, out, '0', '9');
        cp_set_add(mem, out, 'A', 'Z');
        cp_set_add(mem, out, '_', '_');
        cp_set_add(mem, out, 'a', 'z');
        return;
    case KIND_FOLDED:
        cp_set_add(mem, out, 0x17F, 0x17F);
        cp_set_add(mem, out, 0x212A, 0x212A);
        return;
    case KIND_LETTER:
        unicode_word(mem, &word);
        word = cp_set_complement(mem, &word);
        kind_ranges(mem, KIND_WORD, &word);
        kind_ranges(mem, KIND_FOLDED, &word);
        cp_set_add_all(mem, out, cp_set_complement(mem, &word));
        return;
    default:
        return;
    }
}

/* Give kinds that all assertions treat alike one name, and cut the alphabet where they differ. */
static void name_kinds(text *t) {
    for (uint32_t i = 0; i < N_KINDS; i++) t->kind[i] = (uint8_t)i;
    for (uint32_t i = 1; i < N_KINDS; i++)
        for (uint32_t k = N_KINDS; k-- > i + 1;) /* in favour of KIND_OTHER, the last */
            if (t->kind[i] == i && rows_equal(t, i, k) && columns_equal(t, i, k)) t->kind[i] = t->kind[k];
    for (uint32_t name = 1; name < KIND_OTHER; name++) {
        cp_set s = {0};
        for (uint32_t i = 1; i < KIND_OTHER; i++)
            if (t->kind[i] == name) kind_ranges(t->mem, i, &s);
        if (s.n == 0) continue;
        cp_set_normalise(&s);
        t->kind_set[name] = alphabet_add(&t->letters, s.at, s.n) + 1;
    }
}

/* After alphabet_finish. */
static void name_classes(text *t) {
    t->kind_of = arena_alloc(t->mem, t->letters.n_classes, 1);
    for (uint32_t c = 0; c < t->letters.n_classes; c++) t->kind_of[c] = KIND_OTHER;
    for (uint32_t name = 1; name < KIND_OTHER; name++) {
        if (t->kind_set[name] == 0) continue;
        const alphabet_set *s = &t->letters.sets.at[t->kind_set[name] - 1];
        for (uint32_t i = 0; i < s->n_symbols; i++)
            for (uint32_t c = s->symbols[i].lo; c <= s->symbols[i].hi; c++) t->kind_of[c] = (uint8_t)name;
    }
}

/* ---- sets of obligations ---- */

static void grow_sets(text *t) {
    uint32_t size = t->set_table == NULL ? 64 : (t->set_mask + 1) * 2;
    t->set_table = arena_alloc(t->mem, size, sizeof *t->set_table);
    t->set_mask = size - 1;
    for (uint32_t i = 0; i < t->sets.n; i++) {
        uint32_t slot = (uint32_t)t->sets.at[i].hash & t->set_mask;
        while (t->set_table[slot] != 0) slot = (slot + 1) & t->set_mask;
        t->set_table[slot] = i + 1;
    }
}

/* Number of the set of these, sorted; at is copied. */
static uint32_t intern_set(text *t, const uint32_t *at, uint32_t n) {
    if (t->set_table == NULL || t->sets.n * 2 >= t->set_mask) grow_sets(t);
    uint64_t hash = n == 0 ? 5 : hash_bytes(at, n * sizeof *at, 5);
    uint32_t slot = (uint32_t)hash & t->set_mask;
    for (; t->set_table[slot] != 0; slot = (slot + 1) & t->set_mask) {
        const obligations *s = &t->sets.at[t->set_table[slot] - 1];
        if (s->hash == hash && s->n == n && (n == 0 || memcmp(s->at, at, n * sizeof *at) == 0)) return t->set_table[slot] - 1;
    }
    work_charge(t->w, 1 + n / 2);
    obligations made = {.n = n, .at = arena_copy(t->mem, at, n * sizeof *at), .hash = hash, .at_end = true};
    for (uint32_t i = 0; i < n; i++) made.at_end &= t->obligation_end.at[at[i]] != 0;
    vec_push(t->mem, &t->sets, made);
    t->set_table[slot] = t->sets.n;
    return t->sets.n - 1;
}

/* set and one more; NO_SET if it is broken. */
static uint32_t set_with(text *t, uint32_t set, uint32_t obligation) {
    if (obligation == KEPT) return set;
    if (obligation == BROKEN) return NO_SET;
    const obligations *s = &t->sets.at[set];
    uint32_t *at = arena_alloc(t->mem, (size_t)s->n + 1, sizeof *at), n = 0, i = 0;
    while (i < s->n && s->at[i] < obligation) at[n++] = s->at[i++];
    at[n++] = obligation;
    if (i < s->n && s->at[i] == obligation) i++;
    while (i < s->n) at[n++] = s->at[i++];
    return intern_set(t, at, n);
}

/* The obligations after one character of the class; NO_SET if one is broken. */
static uint32_t set_step(text *t, uint32_t set, uint32_t class) {
    uint32_t classes = t->letters.n_classes;
    if (set == 0) return 0;
    if (t->sets.at[set].next == NULL) {
        work_charge(t->w, classes / 16);
        t->sets.at[set].next = arena_alloc(t->mem, classes, sizeof *t->sets.at[set].next);
    }
    uint32_t known = t->sets.at[set].next[class];
    if (known != 0) return known == NO_SET ? NO_SET : known - 1;
    const obligations *s = &t->sets.at[set];
    uint32_t *at = arena_alloc(t->mem, s->n, sizeof *at), n = 0, result = NO_SET;
    bool broken = false;
    for (uint32_t i = 0; i < s->n && !broken; i++) {
        uint32_t to = t->obligation_next.at[(size_t)s->at[i] * classes + class];
        if (to == BROKEN) broken = true;
        if (to == KEPT || to == BROKEN) continue;
        uint32_t k = n; /* few: insertion, without doubles */
        while (k > 0 && at[k - 1] > to) k--;
        if (k > 0 && at[k - 1] == to) continue;
        memmove(at + k + 1, at + k, (n - k) * sizeof *at);
        at[k] = to;
        n++;
    }
    if (!broken) result = intern_set(t, at, n);
    t->sets.at[set].next[class] = broken ? NO_SET : result + 1;
    return result;
}

/* ---- configurations ---- */

static void grow_configurations(text *t) {
    uint32_t size = t->table == NULL ? 64 : (t->mask + 1) * 2;
    t->table = arena_alloc(t->mem, size, sizeof *t->table);
    t->mask = size - 1;
    for (uint32_t i = 0; i < t->configurations.n; i++) {
        configuration c = t->configurations.at[i];
        uint32_t slot = (uint32_t)hash_mix(hash_mix(c.state, c.history), c.set) & t->mask;
        while (t->table[slot] != 0) slot = (slot + 1) & t->mask;
        t->table[slot] = i + 1;
    }
}

/* Its state of out. */
static uint32_t intern_configuration(text *t, configuration c) {
    if (t->table == NULL || t->configurations.n * 2 >= t->mask) grow_configurations(t);
    uint32_t slot = (uint32_t)hash_mix(hash_mix(c.state, c.history), c.set) & t->mask;
    for (; t->table[slot] != 0; slot = (slot + 1) & t->mask) {
        configuration have = t->configurations.at[t->table[slot] - 1];
        if (have.state == c.state && have.history == c.history && have.set == c.set)
            return t->first_state + t->table[slot] - 1;
    }
    if (t->configurations.n + t->out->edges.n / 8 > CONFIGURATIONS_MOST)
        escape(&t->w->out, STE_ERR_LIMIT, 0, "regular expression: its assertions need more than %u states", t->configurations.n);
    vec_push(t->mem, &t->configurations, c);
    t->table[slot] = t->configurations.n;
    return fsm_state(t->out);
}

/* Note a way to `state`, unless a known one allows the same and demands no more. */
static void cross(text *t, uint32_t state, uint8_t next, uint32_t set) {
    if (next == 0 || set == NO_SET) return;
    if (t->stamp[state] != t->round) {
        t->stamp[state] = t->round;
        t->head[state] = 0;
    }
    for (uint32_t i = t->head[state]; i != 0; i = t->crossings.at[i - 1].chain) {
        const crossing *have = &t->crossings.at[i - 1];
        if ((next & ~have->next) == 0 && (have->set == set || have->set == 0)) return;
    }
    vec_push(t->mem, &t->crossings, (crossing){state, set, t->head[state], next});
    t->head[state] = t->crossings.n;
}

static void cross_assertion(text *t, const assertion *a, configuration at, crossing c, uint32_t to) {
    const regex_node *e = a->node;
    if (e->kind == REGEX_POINT) {
        cross(t, to, c.next & e->u.allow[t->history_kind[at.history]], c.set);
    } else if (e->u.look.behind) {
        uint8_t holds = t->behind[(size_t)at.history * t->n_behind + a->number];
        cross(t, to, c.next & (e->u.look.negative ? (uint8_t)~holds : holds), c.set);
    } else {
        cross(t, to, c.next, set_with(t, c.set, a->begin[at.history]));
    }
}

/* All crossings from a configuration. */
static void cross_all(text *t, configuration at) {
    const fsm *f = t->f;
    t->crossings.n = 0;
    t->round++;
    cross(t, at.state, ALL_KINDS, at.set);
    for (uint32_t i = 0; i < t->crossings.n; i++) {
        crossing c = t->crossings.at[i];
        for (uint32_t k = t->empty_first[c.state]; k < t->empty_first[c.state + 1]; k++) cross(t, t->empty_to[k], c.next, c.set);
        for (uint32_t e = f->first[c.state]; e < f->first[c.state + 1]; e++)
            if (f->edges.at[e].lo >= SYM_RULE)
                cross_assertion(t, &t->assertions.at[f->edges.at[e].lo - SYM_RULE], at, c, f->edges.at[e].to);
    }
    work_charge(t->w, t->crossings.n / 2);
}

static void add_step(text *t, uint32_t from, uint32_t class, uint32_t to) {
    fsm_edge *back = t->out->edges.n > 0 ? &t->out->edges.at[t->out->edges.n - 1] : NULL;
    if (back != NULL && back->from == from && back->to == to && back->hi + 1 == class)
        back->hi = class;
    else
        fsm_edge_add(t->out, from, class, class, to);
}

/* The edges of a configuration over one edge of f. */
static void consume(text *t, uint32_t from, configuration at, crossing c, fsm_edge g) {
    for (uint32_t class = g.lo; class <= g.hi; class++) {
        if (!((c.next >> t->kind_of[class]) & 1)) continue;
        uint32_t set = set_step(t, c.set, class);
        if (set == NO_SET) continue;
        configuration to = {g.to, t->history_next[(size_t)at.history * t->letters.n_classes + class], set};
        add_step(t, from, class, intern_configuration(t, to));
    }
    work_charge(t->w, (g.hi - g.lo) / 16);
}

/* Begin a new automaton out of configurations, which are its states from first_state on (0 or 1). */
static void begin(text *t, uint32_t first_state) {
    t->out = fsm_new(t->w);
    t->out->final.n = first_state;
    t->configurations.n = 0;
    t->table = NULL;
    t->first_state = first_state;
}

/* Expand all configurations; at the end of each, ends(t, state, what may follow the end). */
static void expand(text *t, void (*ends)(text *t, uint32_t state, owed o)) {
    for (uint32_t i = 0; i < t->configurations.n; i++) {
        configuration at = t->configurations.at[i];
        uint32_t from = t->first_state + i;
        cross_all(t, at);
        for (uint32_t k = 0; k < t->crossings.n; k++) {
            crossing c = t->crossings.at[k];
            if (t->f->final.at[c.state]) ends(t, from, (owed){c.set, c.next});
            for (uint32_t e = t->f->first[c.state]; e < t->f->first[c.state + 1]; e++)
                if (t->f->edges.at[e].lo < SYM_RULE) consume(t, from, at, c, t->f->edges.at[e]);
        }
    }
}

static bool may_end(const text *t, owed o) { return t->sets.at[o.set].at_end && (o.next & (1u << KIND_EDGE)); }

static void ends_text(text *t, uint32_t state, owed o) {
    if (may_end(t, o)) t->out->final.at[state] = 1;
}

/* ---- history ---- */

static void first_history(text *t) {
    uint32_t classes = t->letters.n_classes, number[N_KINDS];
    uint8_t kinds[N_KINDS];
    t->n_histories = 0;
    for (uint32_t i = 0; i < N_KINDS; i++) {
        number[i] = UINT32_MAX;
        if (i != KIND_EDGE && t->kind[i] != i) continue;
        for (uint32_t h = 0; h < t->n_histories; h++)
            if (rows_equal(t, i, kinds[h])) number[i] = h;
        if (number[i] != UINT32_MAX) continue;
        number[i] = t->n_histories;
        kinds[t->n_histories++] = (uint8_t)i;
    }
    t->history_start = number[KIND_EDGE];
    t->history_kind = arena_copy(t->mem, kinds, t->n_histories);
    t->history_next = arena_alloc(t->mem, (size_t)t->n_histories * classes, sizeof *t->history_next);
    for (uint32_t h = 0; h < t->n_histories; h++)
        for (uint32_t c = 0; c < classes; c++) t->history_next[h * classes + c] = number[t->kind_of[c]];
    t->behind = arena_alloc(t->mem, (size_t)t->n_histories * t->n_behind + 1, 1);
}

/* Symbols beside the classes that make a state say what it knows. */
static uint32_t history_mark(const text *t, uint32_t history) { return t->letters.n_classes + N_KINDS + history; }
static uint32_t kind_mark(const text *t, uint32_t kind) { return t->letters.n_classes + kind; }

static void ends_behind(text *t, uint32_t state, owed o) {
    for (uint32_t kind = 0; kind < N_KINDS; kind++)
        if ((o.next >> kind) & 1) fsm_edge_add(t->out, state, kind_mark(t, kind), kind_mark(t, kind), t->out->start);
}

/* Extend the history by one lookbehind. */
static void add_behind(text *t, const assertion *a) {
    uint32_t classes = t->letters.n_classes;
    begin(t, 1); /* state 0 is where the marks lead */
    t->out->final.at[t->out->start] = 1;
    uint32_t start = intern_configuration(t, (configuration){a->start, t->history_start, 0});
    expand(t, ends_behind);
    for (uint32_t i = 0; i < t->configurations.n; i++) {
        uint32_t mark = history_mark(t, t->configurations.at[i].history);
        fsm_edge_add(t->out, t->first_state + i, mark, mark, t->out->start);
    }
    t->out->start = start;
    fsm *known = fsm_reduce(fsm_determinise_fully(t->out));
    uint32_t n = fsm_size(known), wide = t->n_behind;
    work_charge(t->w, (uint64_t)n * (classes + wide) / 16);
    uint32_t *next = arena_alloc(t->mem, (size_t)n * classes, sizeof *next);
    uint8_t *kind = arena_alloc(t->mem, n, 1), *behind = arena_alloc(t->mem, (size_t)n * wide + 1, 1);
    for (uint32_t h = 0; h < n; h++) {
        kind[h] = NOWHERE;
        for (uint32_t e = known->first[h]; e < known->first[h + 1]; e++) {
            fsm_edge g = known->edges.at[e];
            for (uint32_t s = g.lo; s <= g.hi; s++) {
                if (s < classes) {
                    next[(size_t)h * classes + s] = g.to;
                } else if (s < history_mark(t, 0)) {
                    behind[(size_t)h * wide + a->number] |= (uint8_t)(1u << (s - kind_mark(t, 0)));
                } else {
                    uint32_t old = s - history_mark(t, 0);
                    kind[h] = t->history_kind[old];
                    for (uint32_t k = 0; k < t->behind_done; k++) behind[(size_t)h * wide + k] = t->behind[(size_t)old * wide + k];
                }
            }
        }
    }
    t->behind_done++;
    t->n_histories = n;
    t->history_start = known->start;
    t->history_next = next;
    t->history_kind = kind;
    t->behind = behind;
}

/* ---- lookaheads ---- */

static void add_ahead(text *t, assertion *a) {
    uint32_t classes = t->letters.n_classes, n = t->n_histories;
    bool negative = a->node->u.look.negative;
    uint32_t dead = negative ? KEPT : BROKEN, all = negative ? BROKEN : KEPT;
    a->begin = arena_alloc(t->mem, n, sizeof *a->begin);
    begin(t, 1); /* state 0: one start for each history */
    for (uint32_t h = 0; h < n; h++) {
        a->begin[h] = dead;
        if (t->history_kind[h] == NOWHERE) continue;
        uint32_t state = intern_configuration(t, (configuration){a->start, h, 0});
        fsm_edge_add(t->out, t->out->start, classes + h, classes + h, state);
    }
    expand(t, ends_text);
    fsm *f = fsm_reduce(fsm_determinise_letters(t->out, classes));
    if (f == NULL) return;
    uint32_t base = t->obligation_end.n, *number = arena_alloc(t->mem, fsm_size(f), sizeof *number), made = base;
    for (uint32_t s = 0; s < fsm_size(f); s++) { /* the start is no obligation, only its targets are */
        fsm_edge g = f->first[s] < f->first[s + 1] ? f->edges.at[f->first[s]] : (fsm_edge){0, 1, 0, 0};
        bool accepts_all = f->final.at[s] && g.lo == 0 && g.hi == classes - 1 && g.to == s;
        number[s] = accepts_all ? all : made++;
    }
    work_charge(t->w, (uint64_t)(made - base) * classes / 16);
    for (uint32_t s = 0; s < fsm_size(f); s++) {
        if (number[s] == all) continue;
        vec_push(t->mem, &t->obligation_end, (f->final.at[s] != 0) != negative);
        for (uint32_t c = 0; c < classes; c++) vec_push(t->mem, &t->obligation_next, dead);
        for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
            for (uint32_t c = f->edges.at[e].lo; c <= f->edges.at[e].hi; c++) {
                if (c < classes)
                    t->obligation_next.at[(size_t)number[s] * classes + c] = number[f->edges.at[e].to];
                else
                    a->begin[c - classes] = number[f->edges.at[e].to];
            }
    }
}

/* ---- all together ---- */

static void build_history_and_lookaheads(text *t) {
    name_classes(t);
    index_states(t);
    intern_set(t, NULL, 0);
    first_history(t);
    for (uint32_t i = 0; i < t->assertions.n; i++)
        if (t->assertions.at[i].node->kind == REGEX_LOOK && t->assertions.at[i].node->u.look.behind) add_behind(t, &t->assertions.at[i]);
    for (uint32_t i = 0; i < t->assertions.n; i++)
        if (t->assertions.at[i].node->kind == REGEX_LOOK && !t->assertions.at[i].node->u.look.behind) add_ahead(t, &t->assertions.at[i]);
}

static text text_of(builder *b, regex_node *node) {
    text t = {.b = b, .w = b->w, .mem = &b->w->mem};
    if (unrolled(node) > UNROLLED_MOST)
        escape(&b->w->out, STE_ERR_LIMIT, 0, "regular expression: its repeats are too long to be written out");
    alphabet_init(&t.letters, t.w);
    number_sets(&t, node);
    if (node->asserts) name_kinds(&t);
    alphabet_finish(&t.letters);
    t.f = fsm_new(t.w);
    uint32_t end = fsm_state(t.f);
    t.f->final.at[end] = 1;
    build(&t, node, t.f->start, end);
    if (!node->asserts) return t;
    for (uint32_t i = 0; i < t.assertions.n; i++) {
        assertion *a = &t.assertions.at[i];
        if (a->node->kind != REGEX_LOOK) continue;
        if (a->node->u.look.behind) a->number = t.n_behind++;
        build_look(&t, a);
    }
    build_history_and_lookaheads(&t);
    return t;
}

fsm *regex_text(builder *b, regex_node *node, bool fully) {
    text t = text_of(b, node);
    fsm *whole = t.f;
    if (node->asserts) {
        begin(&t, 0);
        intern_configuration(&t, (configuration){t.f->start, t.history_start, 0});
        expand(&t, ends_text);
        whole = t.out;
    }
    if (!fully && whole->edges.n > LOOSE_MOST) fully = true;
    fsm *made = fsm_reduce(fully ? fsm_determinise_letters(whole, t.letters.n_classes) : fsm_determinise(whole));
    return made == NULL ? NULL : alphabet_spell(&t.letters, made);
}

/* ---- what follows ---- */

/* Kinds, each by its one name. */
static uint8_t kind_names(const text *t) {
    uint32_t out = 0;
    for (uint32_t kind = 0; kind < N_KINDS; kind++) out |= 1u << t->kind[kind];
    return (uint8_t)out;
}

static void ends_owing(text *t, uint32_t state, owed o) {
    uint32_t i = 0;
    o.next &= kind_names(t);
    while (i < t->owed.n && (t->owed.at[i].set != o.set || t->owed.at[i].next != o.next)) i++;
    work_charge(t->w, i / 16);
    if (i == t->owed.n) vec_push(t->mem, &t->owed, o);
    fsm_edge_add(t->out, state, t->letters.n_classes + i, t->letters.n_classes + i, t->out->start);
}

/* The texts in which what is owed is there: over bytes, deterministic, reduced; NULL if there are none. */
static fsm *condition_of(text *t, owed o) {
    fsm *f = fsm_new(t->w); /* over classes; state i + 1 stands for a set of obligations */
    VEC(uint32_t) number = {0}, sets = {0};
    uint32_t met = UINT32_MAX;
    for (uint32_t i = 0; i <= sets.n; i++) {
        uint32_t set = i == 0 ? o.set : sets.at[i - 1];
        f->final.at[i] = i == 0 ? may_end(t, o) : t->sets.at[set].at_end;
        if (i > 0 && set == 0) {
            met = i;
            continue;
        }
        for (uint32_t class = 0; class < t->letters.n_classes; class++) {
            if (i == 0 && !((o.next >> t->kind_of[class]) & 1)) continue;
            uint32_t to = set_step(t, set, class);
            if (to == NO_SET) continue;
            while (number.n <= to) vec_push(t->mem, &number, 0);
            if (number.at[to] == 0) {
                number.at[to] = fsm_state(f);
                vec_push(t->mem, &sets, to);
            }
            fsm_edge_add(f, i, class, class, number.at[to]);
        }
    }
    fsm_index(f);
    const fsm *spelled = alphabet_spell(&t->letters, f);
    fsm *bytes = fsm_new(t->w);
    for (uint32_t s = 1; s < fsm_size(f); s++) fsm_state(bytes);
    for (uint32_t s = 0; s < fsm_size(f); s++) bytes->final.at[s] = f->final.at[s];
    for (uint32_t e = 0; e < spelled->edges.n; e++) {
        fsm_edge g = spelled->edges.at[e];
        fsm_utf8_add(bytes, g.from, g.lo, g.hi, g.to);
    }
    if (met != UINT32_MAX) fsm_edge_add(bytes, met, 0, 255, met);
    return fsm_reduce(fsm_determinise_fully(bytes));
}

fsm *regex_text_before(builder *b, regex_node *node, const regex_part *part) {
    const source *around = arena_copy(&b->w->mem, part->around, sizeof *around);
    text t = text_of(b, node);
    begin(&t, 1); /* state 0 is the end */
    t.out->final.at[0] = 1;
    uint32_t start = intern_configuration(&t, (configuration){t.f->start, t.history_start, 0});
    expand(&t, ends_owing);
    t.out->start = start;
    fsm *made = fsm_reduce(fsm_determinise(t.out));
    if (made == NULL) return NULL;
    fsm *classes = fsm_new(b->w), *out = fsm_new(b->w);
    uint32_t *symbol = arena_alloc(t.mem, t.owed.n, sizeof *symbol); /* 0: it cannot be; 1: nothing is owed */
    for (uint32_t i = 0; i < t.owed.n; i++) {
        if (t.owed.at[i].set == 0 && t.owed.at[i].next == kind_names(&t)) {
            symbol[i] = 1;
            continue;
        }
        fsm *f = condition_of(&t, t.owed.at[i]);
        if (f != NULL) symbol[i] = ahead_symbol(b, (ahead_condition){f, around, part->at});
    }
    for (uint32_t s = 1; s < fsm_size(made); s++) {
        fsm_state(classes);
        fsm_state(out);
    }
    classes->start = out->start = made->start;
    for (uint32_t s = 0; s < fsm_size(made); s++) out->final.at[s] = made->final.at[s];
    for (uint32_t e = 0; e < made->edges.n; e++) {
        fsm_edge g = made->edges.at[e];
        if (g.lo < t.letters.n_classes) {
            fsm_edge_add(classes, g.from, g.lo, g.hi, g.to);
            continue;
        }
        for (uint32_t m = g.lo - t.letters.n_classes; m <= g.hi - t.letters.n_classes; m++)
            if (symbol[m] == 1)
                fsm_empty_add(out, g.from, g.to);
            else if (symbol[m] != 0)
                fsm_edge_add(out, g.from, symbol[m], symbol[m], g.to);
    }
    fsm_index(classes);
    const fsm *spelled = alphabet_spell(&t.letters, classes);
    for (uint32_t e = 0; e < spelled->edges.n; e++) {
        fsm_edge g = spelled->edges.at[e];
        fsm_utf8_add(out, g.from, g.lo, g.hi, g.to);
    }
    return fsm_reduce(fsm_determinise(out));
}
