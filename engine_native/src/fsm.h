/* fsm.h - finite automata over ranges of 32-bit symbols, built during a compile.
 *
 * One alphabet carries everything a rule can consume, so that the textbook
 * constructions serve all of it:
 *
 *   0 .. 255                     a byte (or, in automata over text, a code point)
 *   SYM_RULE  + rule number      a reference to a rule of this compile
 *   SYM_TOKEN + token id         one token as a unit
 *   SYM_ONCE  + i                nothing, but only once in a match of the rule (i < MAX_ONCE)
 *   SYM_REQUIRED                 nothing, but only after the required ones of these
 *   SYM_AHEAD + i                nothing, but only before what condition i says (ahead.h)
 *
 * An fsm is first nondeterministic: states, range edges, empty edges.
 * fsm_determinise makes an equivalent one without empty edges; when the subset
 * construction would grow past its cap it keeps the nondeterminism and only
 * removes the empty edges (the parser copes, see set.c).  After fsm_index the
 * edges are sorted by (from, lo) and first[s] .. first[s + 1] are those of s.
 *
 * All memory is the compile's arena. */
#ifndef STE_FSM_H
#define STE_FSM_H

#include "mem.h"

#define SYM_RULE UINT32_C(0x20000000)
#define SYM_TOKEN UINT32_C(0x40000000)
#define SYM_ONCE UINT32_C(0x60000000)
#define SYM_REQUIRED (SYM_ONCE + 0x10000)
#define SYM_AHEAD (SYM_ONCE + 0x20000)
#define MAX_ONCE 4096
#define FEW_ONCES 64 /* of a rule whose items have them in their registers */

static inline bool sym_is_rule(uint32_t s) { return s >= SYM_RULE && s < SYM_TOKEN; }
static inline bool sym_is_token(uint32_t s) { return s >= SYM_TOKEN && s < SYM_ONCE; }
static inline bool sym_is_once(uint32_t s) { return s >= SYM_ONCE && s < SYM_AHEAD; }
static inline bool sym_is_ahead(uint32_t s) { return s >= SYM_AHEAD; }
/* Ranges of these symbols may be put together. */
static inline bool sym_has_ranges(uint32_t s) { return !sym_is_rule(s) && s < SYM_ONCE; }

/* What a compile may use. */
typedef struct work {
    arena mem;
    escape_point out;
    ste_limits limits;
    uint64_t states;
    double deadline;
} work;

/* Count n automaton states against the limits; looks at the clock now and then. */
void work_charge(work *w, uint64_t n);

typedef struct fsm_edge {
    uint32_t from, lo, hi, to;
} fsm_edge;

typedef struct fsm_empty {
    uint32_t from, to;
} fsm_empty;

typedef struct fsm {
    work *w;
    VEC(fsm_edge) edges;
    VEC(fsm_empty) empties;
    VEC(uint8_t) final; /* one per state */
    uint32_t start;
    uint32_t *first; /* n states + 1; set by fsm_index */
    bool reduced;    /* trimmed, and as small as its maker could: builder_finish takes it as it is */
} fsm;

fsm *fsm_new(work *w); /* one state, number 0, the start */
uint32_t fsm_state(fsm *f);
static inline uint32_t fsm_size(const fsm *f) { return f->final.n; }
void fsm_edge_add(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to);
void fsm_empty_add(fsm *f, uint32_t from, uint32_t to);
/* A copy of part between two states. */
void fsm_insert(fsm *f, const fsm *part, uint32_t from, uint32_t to);
/* f and nothing else of what was allocated since. */
fsm *fsm_keep(fsm *f, arena_mark since);
/* The UTF-8 bytes of the code points lo..hi. */
void fsm_utf8_add(fsm *f, uint32_t from, uint32_t lo, uint32_t hi, uint32_t to);

void sort_u32(uint32_t *at, uint32_t n);
void fsm_sort_edges(arena *mem, fsm_edge *at, uint32_t n); /* by from, lo, hi, to */
void fsm_index(fsm *f);
fsm *fsm_determinise(fsm *f);
/* Deterministic, or NULL when it takes more than *budget, of which 20 are a microsecond; what it takes is subtracted. */
fsm *fsm_determinise_within(fsm *f, uint64_t *budget);
/* Deterministic whatever it costs, or STE_ERR_LIMIT. */
fsm *fsm_determinise_fully(fsm *f);
/* The same for an alphabet 0 .. letters - 1: where everything is accepted that can follow, nothing else is looked at.
 * A symbol past the letters may not follow such a place. */
fsm *fsm_determinise_letters(fsm *f, uint32_t letters);
/* Strongly connected components: the states that the start reaches in `order`, callees first; a component ends where
 * last[], all 0 before, is set.  Returns how many states.  Needs an indexed fsm without empty edges. */
uint32_t fsm_components(const fsm *f, uint32_t *order, uint8_t *last);
/* Keep states that reach a final one along edges that keep(ctx, edge) admits, and those edges;
 * NULL if the language is empty.  Needs an indexed fsm without empty edges. */
fsm *fsm_trim(fsm *f, bool (*keep)(void *ctx, const fsm_edge *e), void *ctx);
/* Merge equal states and number them breadth first.  Needs an indexed fsm without empty edges. */
fsm *fsm_minimise(fsm *f);

#endif
