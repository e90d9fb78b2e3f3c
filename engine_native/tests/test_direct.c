/* test_direct.c - automata built from their end, against the long way: Thompson, subsets, trimming, minimisation. */
#include "direct.h"
#include "harness.h"

typedef struct bench {
    work w;
    builder b;
    uint32_t rules[2];
    uint64_t chance;
    bool cycles; /* in the expression at hand */
} bench;

static void bench_init(bench *t, uint64_t seed) {
    memset(t, 0, sizeof *t);
    ste_limits_default(&t->w.limits);
    t->w.deadline = monotonic_seconds() + t->w.limits.compile_seconds;
    arena_init(&t->w.mem, &mem_default_allocator, &t->w.out, t->w.limits.compile_bytes);
    builder_init(&t->b, &t->w, NULL);
    for (int i = 0; i < 2; i++) t->rules[i] = rule_of(&t->b, expr_text(&t->b, "x"));
    t->chance = seed * 2 + 1;
}

static uint32_t below(bench *t, uint32_t n) {
    t->chance = hash_mix(t->chance, 12345);
    return (uint32_t)(t->chance >> 20) % n;
}

static expr *random_expr(bench *t, uint32_t depth);

static expr *random_graph(bench *t, uint32_t depth) {
    expr *g = expr_graph(&t->b);
    fsm *shape = g->u.graph.shape;
    uint32_t n = 2 + below(t, 4);
    while (fsm_size(shape) < n) fsm_state(shape);
    for (uint32_t i = 0, edges = 1 + below(t, 2 * n); i < edges; i++) {
        uint32_t from = below(t, n), to = below(t, n);
        if (below(t, 3) == 0 && from < to) /* no cycle of empty edges alone */
            fsm_empty_add(shape, from, to);
        else
            graph_edge(&t->b, g, from, random_expr(t, depth), to);
    }
    t->cycles = true;
    return g;
}

static expr *random_expr(bench *t, uint32_t depth) {
    static const char *const texts[] = {"a", "b", "ab", "abc", "ba", "bb", "aab", "c"};
    expr *parts[4];
    uint32_t n = 2 + below(t, 3), kind = below(t, depth == 0 ? 5 : 10);
    switch (kind) {
    case 0:
        return expr_rule(&t->b, t->rules[below(t, 2)]);
    case 1: {
        cp_range r[2] = {{'a', 'a' + below(t, 3)}, {'b' + below(t, 2), 0xE9 + below(t, 3)}};
        return expr_class(&t->b, r, 1 + below(t, 2));
    }
    case 2:
        return below(t, 8) == 0 ? expr_never(&t->b) : expr_empty(&t->b);
    case 5:
        for (uint32_t i = 0; i < n; i++) parts[i] = random_expr(t, depth - 1);
        return expr_sequence(&t->b, parts, n);
    case 6:
    case 7:
        for (uint32_t i = 0; i < n; i++) parts[i] = random_expr(t, depth - 1);
        return expr_choice(&t->b, parts, n);
    case 8: {
        bool endless = below(t, 2) == 0;
        uint32_t min = below(t, 3);
        t->cycles = t->cycles || endless;
        return expr_repeat(&t->b, random_expr(t, depth - 1), min, endless ? REPEAT_INFINITE : min + below(t, 2) + 1);
    }
    case 9:
        return random_graph(t, depth - 1);
    default:
        return expr_text(&t->b, texts[below(t, sizeof texts / sizeof *texts)]);
    }
}

static bool every_edge(void *ctx, const fsm_edge *e) {
    (void)ctx;
    (void)e;
    return true;
}

/* The smallest automaton the long way; NULL if nothing matches. */
static fsm *long_way(bench *t, const expr *e) {
    fsm *f = fsm_new(&t->w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    expr_build(&t->b, e, f, f->start, end);
    f = fsm_trim(fsm_determinise_fully(f), every_edge, NULL);
    return f == NULL ? NULL : fsm_minimise(f);
}

#define STUCK UINT32_MAX

static uint32_t step(const fsm *f, uint32_t s, uint32_t symbol) {
    for (uint32_t e = f->first[s]; e < f->first[s + 1]; e++)
        if (f->edges.at[e].lo <= symbol && symbol <= f->edges.at[e].hi) return f->edges.at[e].to;
    return STUCK;
}

/* Do two trimmed deterministic automata accept the same?  All pairs of states that one text leads to. */
static bool same_language(bench *t, const fsm *a, const fsm *b) {
    uint32_t n = fsm_size(b), *queue = arena_alloc(&t->w.mem, (size_t)fsm_size(a) * n, sizeof *queue), tail = 0;
    uint8_t *seen = arena_alloc(&t->w.mem, (size_t)fsm_size(a) * n, 1);
    queue[tail++] = a->start * n + b->start;
    seen[queue[0]] = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t x = queue[head] / n, y = queue[head] % n;
        if (a->final.at[x] != b->final.at[y]) return false;
        for (uint32_t symbol = 0; symbol < 258; symbol++) {
            uint32_t s = symbol < 256 ? symbol : SYM_RULE + t->rules[symbol - 256], to = step(a, x, s), other = step(b, y, s);
            if ((to == STUCK) != (other == STUCK)) return false;
            if (to == STUCK || seen[to * n + other]) continue;
            seen[to * n + other] = 1;
            queue[tail++] = to * n + other;
        }
    }
    return true;
}

static bool is_deterministic(const fsm *f) {
    for (uint32_t e = 1; e < f->edges.n; e++)
        if (f->edges.at[e].from == f->edges.at[e - 1].from && f->edges.at[e].lo <= f->edges.at[e - 1].hi) return false;
    return true;
}

TEST(direct__random_expressions__accept_what_the_long_way_accepts) {
    volatile uint32_t direct = 0, smallest = 0, cyclic = 0;
    for (volatile uint64_t seed = 0; seed < 20000; seed++) {
        bench t;
        bench_init(&t, seed);
        if (setjmp(t.w.out.env) != 0) {
            CHECK(!"no limit is near");
            arena_free(&t.w.mem);
            return;
        }
        const expr *e = random_expr(&t, 3);
        fsm *wanted = long_way(&t, e), *made = expr_direct(&t.b, e);
        if (made != NULL && wanted == NULL) {
            CHECK(fsm_size(made) == 1 && made->edges.n == 0 && made->final.at[0] == 0);
        } else if (made != NULL) {
            fsm *trimmed = fsm_trim(made, every_edge, NULL);
            CHECK(trimmed == made); /* nothing to trim */
            CHECK(is_deterministic(made));
            CHECK(same_language(&t, made, wanted));
            CHECK(t.cycles || fsm_size(made) == fsm_size(wanted));
            direct++;
            cyclic += t.cycles;
            smallest += fsm_size(made) == fsm_size(wanted);
        }
        CHECK(made != NULL || t.cycles); /* without cycles there is always a direct way */
        arena_free(&t.w.mem);
    }
    CHECK(cyclic > 2000);
    CHECK(smallest * 100 > direct * 90);
}

TEST(direct__strings_but_for_some__are_all_others) {
    static const char *const listed[] = {"\"a\"", "\"ab\"", "\"abc\"", "\"b\"", "\"\"", "\"\\n\"", "\"\xc3\xa9\""};
    bench t;
    bench_init(&t, 1);
    if (setjmp(t.w.out.env) != 0) {
        CHECK(!"no limit is near");
        arena_free(&t.w.mem);
        return;
    }
    fsm *all = fsm_new(&t.w);
    uint32_t body = fsm_state(all), end = fsm_state(all);
    all->final.at[end] = 1;
    fsm_edge_add(all, all->start, '"', '"', body);
    fsm_edge_add(all, body, 0x20, '"' - 1, body);
    fsm_edge_add(all, body, '"', '"', end);
    fsm_edge_add(all, body, '"' + 1, 0xFF, body);
    fsm_index(all);
    for (uint32_t set = 0; set < 1u << (sizeof listed / sizeof *listed); set++) {
        expr *parts[sizeof listed / sizeof *listed];
        uint32_t n = 0;
        for (uint32_t i = 0; i < sizeof listed / sizeof *listed; i++)
            if ((set >> i & 1) != 0) parts[n++] = expr_text(&t.b, listed[i]);
        fsm *others = expr_direct_others(&t.b, all, expr_choice(&t.b, parts, n));
        CHECK(others != NULL);
        for (uint32_t i = 0; others != NULL && i < sizeof listed / sizeof *listed; i++) {
            uint32_t at = others->start;
            for (const char *c = listed[i]; *c != '\0' && at != STUCK; c++) at = step(others, at, (uint8_t)*c);
            CHECK((at != STUCK && others->final.at[at] != 0) == ((set >> i & 1) == 0));
        }
    }
    arena_free(&t.w.mem);
}

int main(void) {
    RUN(direct__random_expressions__accept_what_the_long_way_accepts);
    RUN(direct__strings_but_for_some__are_all_others);
    return finish();
}
