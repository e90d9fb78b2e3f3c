/* regex_tree.h - a regular expression as a tree: what the reader makes and the lowerings take.
 *
 * Groups leave no node; sequences lie flat.  An assertion is one of two nodes:
 *
 *   POINT  looks at one character on either side: ^ $ \A \z \b \B, the multi-line
 *          ones.  It is a table over *kinds* of neighbours: allow[kind before] is
 *          the set of kinds that may follow.  The edge of the text is a kind.
 *   LOOK   lookahead or lookbehind, positive or negative, with a body.
 *
 * GROUP and BACK stand for groups and back-references to them while a pattern that
 * has some is read; regex_back.c puts texts in their place.
 *
 * Depth is bounded by limits.depth: recursion over a tree is safe. */
#ifndef STE_REGEX_TREE_H
#define STE_REGEX_TREE_H

#include "cp_set.h"
#include "front.h"

/* What stands beside a position.  The characters are told apart only as far as some assertion needs. */
enum {
    KIND_EDGE,      /* nothing: the text begins or ends here */
    KIND_CR,
    KIND_LF,
    KIND_SEPARATOR, /* U+2028, U+2029: the other line terminators of ECMA-262 */
    KIND_WORD,      /* [0-9A-Za-z_] */
    KIND_FOLDED,    /* U+017F, U+212A: fold to s and k */
    KIND_LETTER,    /* the other word characters of Unicode */
    KIND_OTHER,
    N_KINDS,
};
#define ALL_KINDS ((uint8_t)0xFF)

typedef enum regex_kind {
    REGEX_EMPTY,
    REGEX_NEVER,
    REGEX_CLASS,
    REGEX_SEQUENCE,
    REGEX_CHOICE,
    REGEX_REPEAT,
    REGEX_POINT,
    REGEX_LOOK,
    REGEX_GROUP,
    REGEX_BACK,
} regex_kind;

/* How characters match other cases of themselves. */
typedef enum regex_fold { FOLD_NONE, FOLD_ASCII, FOLD_SIMPLE } regex_fold;

typedef struct regex_node regex_node;
struct regex_node {
    regex_kind kind;
    bool asserts;    /* holds a POINT or a LOOK */
    bool nullable;   /* can consume nothing, if its assertions hold */
    bool consumes;   /* can consume something */
    bool lazy;       /* holds a repeat that takes as little as it can (outside of LOOKs) */
    bool refers;     /* holds a GROUP or a BACK */
    uint32_t n;
    uint32_t number; /* of a CLASS, POINT or LOOK: for the lowering */
    union {
        const cp_range *ranges; /* CLASS: n of them, sorted, disjoint, no surrogates */
        regex_node **parts;     /* SEQUENCE, CHOICE: n of them */
        struct {
            regex_node *body;
            uint32_t min, max;  /* max can be REPEAT_INFINITE */
            bool lazy;
        } repeat;
        uint8_t allow[N_KINDS]; /* POINT */
        struct {
            regex_node *body;
            bool behind, negative;
        } look;
        struct {
            regex_node *body;
            uint32_t index;
        } group;
        struct {
            uint32_t index; /* of the group; 0: none that can be meant */
            regex_fold fold;
            size_t at;      /* offset in the pattern */
        } back;
    } u;
};

regex_node *regex_empty(arena *mem);
regex_node *regex_never(arena *mem);
regex_node *regex_class(arena *mem, cp_set *s); /* normalises s */
/* Add the other cases of the characters in s. */
void regex_fold_set(arena *mem, cp_set *s, regex_fold fold);
regex_node *regex_character(arena *mem, uint32_t cp, regex_fold fold);
regex_node *regex_sequence(arena *mem, regex_node *const *parts, uint32_t n);
regex_node *regex_choice(arena *mem, regex_node *const *parts, uint32_t n);
regex_node *regex_repeat(arena *mem, regex_node *body, uint32_t min, uint32_t max, bool lazy);
regex_node *regex_point(arena *mem, const uint8_t allow[N_KINDS]);
regex_node *regex_look(arena *mem, regex_node *body, bool behind, bool negative);
regex_node *regex_group(arena *mem, regex_node *body, uint32_t index);
regex_node *regex_back(arena *mem, uint32_t index, regex_fold fold, size_t at);

/* regex_back.c: node without GROUP and BACK.  Where that can't be, NULL, and *at and *why say which reference and why. */
regex_node *regex_bind(work *w, regex_node *node, size_t *at, const char **why);

/* regex_parse.c: place is where the pattern stands in a JSON text; NULL: the pattern is the text. */
regex_node *regex_parse(builder *b, const char *text, size_t n, const json *place);
/* follows: its assertions may see what follows the match. */
regex_node *regex_parse_part(builder *b, const regex_part *p, bool follows);

/* regex_part.c: on which sides can assertions of node see what stands beside the match?  ^ $ \A \z do not count: they
 * stand for the ends of the match. */
#define LOOKS_BEFORE 1u
#define LOOKS_AFTER 2u
uint32_t regex_looks_outside(work *w, const regex_node *node);
/* Is one of ^ $ \A \z in it? */
bool regex_has_end(const regex_node *node);

/* regex_anchor.c: the tree whose whole matches are the texts in which `node` matches somewhere. */
regex_node *regex_search(arena *mem, regex_node *node);
/* Assertions that the place alone decides (^ where nothing can stand before it) are gone. */
regex_node *regex_resolve(arena *mem, regex_node *node);
/* ^ $ \A \z alone are gone where their place decides. */
regex_node *regex_resolve_ends(arena *mem, regex_node *node);

/* regex_lazy.c: node and then a text of rest, where a lazy repeat takes no more than it must.  Over code points,
 * deterministic, reduced; NULL if there is none.  Without assertions. */
fsm *regex_lazy_before(builder *b, regex_node *node, fsm *rest);

/* regex_text.c: an automaton over code points for the whole matches, reduced; NULL if there are none.
 * fully: deterministic, or STE_ERR_LIMIT. */
fsm *regex_text(builder *b, regex_node *node, bool fully);
/* An automaton over bytes for the matches of a node that may look at what follows: conditions (ahead.h) stand at its
 * ends.  Deterministic; NULL if there are no matches.  Without ^ $ \A \z. */
fsm *regex_text_before(builder *b, regex_node *node, const regex_part *part);

#endif
