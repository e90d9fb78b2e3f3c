/* ste.h - the public C API of the strictserve engine, and its manual.
 *
 * What it does: given a vocabulary (token id -> bytes) and a grammar, say for
 * every prefix of tokens which token may come next, as a bit mask.
 *
 * Flow
 *   ste_vocab_new        once per tokenizer
 *   ste_compiler_new     once per vocabulary; owns the shared caches
 *   ste_compile          JSON Schema, structural tag, regex, EBNF, Lark or choice text -> grammar
 *   ste_matcher_new      one per sequence; then, per step,
 *     ste_matcher_fill / ste_fill_batch   write the mask row(s)
 *     ste_matcher_accept_token            advance by the sampled token
 *
 * Ownership.  A pointer received through an out-parameter is one reference of
 * yours; give it to the matching _free, which accepts NULL.  Children hold
 * their parents, so the order of frees does not matter.
 *
 * Errors.  Functions return STE_OK (0) or a negative code and fill the
 * caller's ste_error (may be NULL).  On failure no output is written and all
 * objects are as before.  Nothing is printed, nothing is thread-local.
 *
 * Threads.  Vocabulary, compiler and grammar may be shared freely.  A matcher
 * belongs to one thread at a time; a second one entering it gets
 * STE_ERR_BUSY, not corruption.  The library starts no threads.
 *
 * Mask rows.  A row is ceil(vocab_size / 32) words of 32 bits; bit t % 32 of
 * word t / 32 says whether token t may come next.  Bits past the vocabulary
 * are 0.
 *
 * Units.  Sizes are bytes, offsets are bytes from the start of the text,
 * times are seconds. */
#ifndef STE_H
#define STE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* resize(ctx, p, old, new): new == 0 frees (returns NULL); p == NULL allocates.
 * May be called from several threads at once. */
typedef struct ste_allocator {
    void *(*resize)(void *ctx, void *p, size_t old_size, size_t new_size);
    void *ctx;
} ste_allocator;

/* cffi: begin */
typedef struct ste_vocab ste_vocab;
typedef struct ste_compiler ste_compiler;
typedef struct ste_grammar ste_grammar;
typedef struct ste_matcher ste_matcher;

#define STE_OK 0
#define STE_ERR_ARGUMENT -1    /* the caller's mistake */
#define STE_ERR_NO_MEMORY -2
#define STE_ERR_SYNTAX -3      /* regex, EBNF, Lark or JSON text is malformed; offset is set */
#define STE_ERR_SCHEMA -4      /* not a valid JSON Schema, or nothing satisfies it */
#define STE_ERR_UNSUPPORTED -5 /* valid, but cannot be enforced exactly */
#define STE_ERR_TAG -6         /* not a valid structural tag */
#define STE_ERR_LIMIT -7       /* a limit of ste_limits was reached */
#define STE_ERR_BUSY -8        /* the matcher is in use by another thread */

typedef struct ste_error {
    int code;
    uint64_t offset;   /* byte offset into the text, where known */
    char path[1024];   /* JSON pointer into the text, "" is the root; cut with "..." when longer */
    char message[512]; /* one line; for regular expressions, EBNF and Lark then the line of the text and a caret */
} ste_error;

/* Every limit has a default (ste_limits_default); 0 is an error, not "unlimited".
 *
 * The last four bound one matcher.  A matcher that meets one is *failed*: nothing is accepted any
 * more, its rows allow stop tokens only, ste_matcher_error says why; others do not notice. */
typedef struct ste_limits {
    uint64_t input_bytes;    /* length of a grammar text; default 4 MiB */
    uint32_t depth;          /* nesting of a grammar text; default 256 */
    uint32_t rules;          /* rules of one grammar; default 200,000 */
    uint64_t states;         /* automaton states built for one grammar; default 4,000,000 */
    uint64_t compile_bytes;  /* working memory of one compile; default 512 MiB */
    double compile_seconds;  /* wall time of one compile; default 10 */
    uint32_t set_items;      /* items and waiters of one parser state; ambiguity multiplies them; default 50,000 */
    uint64_t match_items;    /* items and waiters looked at to make parser states; default 50,000,000 ... */
    uint32_t match_items_per_token; /* ... of which each accepted token gives this many back; default 500,000 */
    uint64_t matcher_bytes;  /* parser states kept for rollback; default 256 MiB */
} ste_limits;

#define STE_KIND_JSON_SCHEMA 0
#define STE_KIND_STRUCTURAL_TAG 1
#define STE_KIND_REGEX 2
#define STE_KIND_EBNF 3
#define STE_KIND_CHOICE 4      /* JSON array of strings */
#define STE_KIND_LARK 5

#define STE_WHITESPACE_BOUNDED 0 /* at most one space, or one line break and its indentation */
#define STE_WHITESPACE_NONE 1
#define STE_WHITESPACE_ANY 2
#define STE_WHITESPACE_EXACT 3   /* spaces beside commas and colons as `spaces` says, none elsewhere */
#define STE_WHITESPACE_INDENT 4  /* each item and member on a line, indented by spaces[0] for each level; no space before a comma */

#define STE_ORDER_DECLARED 0     /* declared keys in declared order, others after them */
#define STE_ORDER_ANY 1          /* keys in any order */

typedef struct ste_options {
    int whitespace;          /* between JSON tokens */
    const char *root;        /* start rule of EBNF or Lark text; NULL is "root", "start" */
    int property_order;      /* of JSON objects */
    uint8_t spaces[4];       /* EXACT, and the last two for INDENT: before and after a comma, before and after a colon; at most 15 each */
    const char *documents;   /* JSON SCHEMA: a JSON object, by URI the schemas that references may lead to; NULL: none */
    const char *grammars;    /* LARK: a JSON object, by name what @name means: Lark texts and JSON schemas; NULL: none */
} ste_options;

typedef struct ste_stats {
    uint64_t grammar_hits, grammar_misses; /* whole texts */
    uint64_t text_hits, text_misses;       /* schemas of structural tags, by text */
    uint64_t rule_hits, rule_misses;       /* rules found by structure, across grammars */
    uint64_t row_hits, row_misses;         /* mask rows */
    uint64_t local_hits, local_misses;     /* per rule state, shared by all grammars */
    uint64_t sets, rules, grammars, rows;  /* alive */
    uint64_t bytes, evictions;             /* held; collections that freed something */
    double compile_seconds;                /* total */
} ste_stats;

typedef struct ste_capture {
    const char *name;    /* zero-terminated, but may contain zeros; lives as long as the grammar */
    uint64_t name_length;
    uint64_t begin, end; /* in the text */
    int open;            /* the text after it may still belong to it */
} ste_capture;

const char *ste_version(void);

/* Token t is bytes[offsets[t] .. offsets[t + 1]); offsets has n_tokens + 1
 * entries.  vocab_size >= n_tokens pads the mask with ids that are never
 * allowed.  Special tokens never match through their bytes; empty tokens are
 * never allowed. */
int ste_vocab_new(const uint8_t *bytes, const uint64_t *offsets, uint32_t n_tokens, uint32_t vocab_size,
                  const uint32_t *special, uint32_t n_special, const uint32_t *stop, uint32_t n_stop,
                  ste_vocab **out, ste_error *err);
void ste_vocab_free(ste_vocab *vocab);
uint32_t ste_vocab_size(const ste_vocab *vocab);
uint32_t ste_vocab_mask_words(const ste_vocab *vocab);

void ste_limits_default(ste_limits *limits);

/* cache_bytes bounds what is kept beyond what live matchers need. */
int ste_compiler_new(ste_vocab *vocab, uint64_t cache_bytes, const ste_limits *limits, ste_compiler **out,
                     ste_error *err);
void ste_compiler_free(ste_compiler *compiler);
void ste_compiler_stats(ste_compiler *compiler, ste_stats *stats);
/* Forget every cached text, rule and row that no live grammar or matcher needs. */
void ste_compiler_clear(ste_compiler *compiler);

/* text: UTF-8, length bytes; options may be NULL. */
int ste_compile(ste_compiler *compiler, int kind, const char *text, size_t length, const ste_options *options,
                ste_grammar **out, ste_error *err);
void ste_grammar_free(ste_grammar *grammar);
/* Bytes of the rules this grammar uses (shared ones counted in full; those not built yet as they are). */
uint64_t ste_grammar_memory(const ste_grammar *grammar);
/* Note i (annotations that were ignored), or NULL past the end; lives as long as the grammar. */
const char *ste_grammar_note(const ste_grammar *grammar, uint32_t i);

/* Compute ahead, on the calling thread, the rows of at most `rows` states that a sequence is likely to
 * meet first; stops early once *cancel (may be NULL) is not 0.  Returns how many states have their row. */
int64_t ste_grammar_precompute(ste_grammar *grammar, uint32_t rows, const int *cancel);

/* stop == NULL: the vocabulary's stop tokens. */
int ste_matcher_new(ste_grammar *grammar, const uint32_t *stop, uint32_t n_stop, ste_matcher **out, ste_error *err);
int ste_matcher_fork(ste_matcher *matcher, ste_matcher **out, ste_error *err);
void ste_matcher_free(ste_matcher *matcher);
uint32_t ste_matcher_vocab_size(const ste_matcher *matcher);

/* The functions below return a negative code on error (STE_ERR_NO_MEMORY, STE_ERR_BUSY). */
int ste_matcher_reset(ste_matcher *matcher);
/* 1: accepted; 0: forbidden, and nothing changed. */
int ste_matcher_accept_token(ste_matcher *matcher, uint32_t token);
/* All bytes or none; one step for rollback.  Stop tokens cannot be given as bytes. */
int ste_matcher_accept_bytes(ste_matcher *matcher, const uint8_t *bytes, size_t length);
/* How many leading tokens would be accepted; the matcher does not move. */
int64_t ste_matcher_validate(ste_matcher *matcher, const uint32_t *tokens, uint32_t n);
/* Undo the last n steps, past a stop token too; STE_ERR_ARGUMENT when there are fewer. */
int ste_matcher_rollback(ste_matcher *matcher, uint32_t n);
int ste_matcher_can_terminate(ste_matcher *matcher);
int ste_matcher_is_terminated(ste_matcher *matcher);
/* STE_OK, or why the matcher is failed (STE_ERR_LIMIT, STE_ERR_NO_MEMORY), with err filled. */
int ste_matcher_error(ste_matcher *matcher, ste_error *err);
/* The captures ("capture" of a structural tag's formats) of the text so far, in order of where they begin, outer
 * ones before inner ones: at most capacity are written; returns how many there are.  Every span that a capturing
 * format has matched is one entry, those that may still grow included (open).  Text is the bytes of the accepted
 * tokens, special tokens included, and no token that ended a complete text.
 *
 * A text that can be read in several ways is given one reading, always the same.  While the text may go on, it is one
 * that captures least: what may still begin the end of a captured text is not part of it until it turns out to be.
 * Empty repetitions of a long counted repeat have no entries.  STE_ERR_LIMIT: the readings pass a limit of
 * matching; the matcher itself goes on.
 * Cost: the text that was accepted since the last call, and what is returned. */
int64_t ste_matcher_captures(ste_matcher *matcher, ste_capture *out, size_t capacity, ste_error *err);
/* Bytes begin .. end of that text; STE_ERR_ARGUMENT if it is shorter.  Only kept for grammars with captures. */
int ste_matcher_copy_text(ste_matcher *matcher, uint64_t begin, uint64_t end, uint8_t *bytes);
/* 1: written; 0: written, and nothing is forbidden.  n_words = ste_vocab_mask_words. */
int ste_matcher_fill(ste_matcher *matcher, uint32_t *row, uint32_t n_words);
/* Finishing inside a budget.  From now on at most n more tokens are accepted (stop tokens are free), and only
 * those after which the text can be completed with what is left; rows show the same.  STE_NO_BUDGET: as many
 * as one likes.  STE_ERR_ARGUMENT when n is less than ste_matcher_least_tokens, which the message names.
 * Undoing the step at which it was set undoes the budget; bytes that are accepted as such count as one token. */
#define STE_NO_BUDGET 0xFFFFFFFFFFFFFFFF
int ste_matcher_set_token_budget(ste_matcher *matcher, uint64_t n, ste_error *err);
/* The fewest tokens known to complete the text; STE_NO_BUDGET if the vocabulary cannot spell what is missing.
 * The true minimum where a short search finds it; else it may be more, as no token is counted on that crosses the
 * border of a rule, but never less. */
int ste_matcher_least_tokens(ste_matcher *matcher, uint64_t *least, ste_error *err);
/* Bytes that must come next, at most capacity; returns their number. */
int64_t ste_matcher_forced_bytes(ste_matcher *matcher, uint8_t *bytes, size_t capacity);
/* Tokens that spell the forced bytes, longest first, at most capacity: as many as stay the same
 * whatever comes after them.  A single special token that must come counts too. */
int64_t ste_matcher_forced_tokens(ste_matcher *matcher, uint32_t *tokens, size_t capacity);
/* Row i is the mask after the path of draft tokens from the root to node i; rows of
 * nodes that the grammar refuses are 0.  Node 0 is the root and is taken as
 * already accepted.  first_child and next_sibling hold node numbers or -1.
 * Returns the number of nodes that are valid. */
int64_t ste_matcher_fill_draft_tree(ste_matcher *matcher, const int64_t *tokens, const int64_t *first_child,
                                    const int64_t *next_sibling, uint32_t n_nodes, uint32_t *bitmask,
                                    uint32_t n_words);

/* rows[i] (NULL: i) is the row of matchers[i] in bitmask, whose rows are n_words apart.  A matcher for which
 * memory runs out fails by itself, as at a limit.  On an error, offset is the number of the matcher; the rows
 * before it are written. */
int ste_fill_batch(ste_matcher *const *matchers, uint32_t n, uint32_t *bitmask, uint32_t n_words,
                   const int64_t *rows, ste_error *err);

#define STE_FLOAT32 0
#define STE_FLOAT16 1
#define STE_BFLOAT16 2
/* Set logits of forbidden tokens to minus infinity: n times, mask row mask_rows[i] applies to
 * logits row rows[i] (NULL: i, for both); strides count elements, and words for the mask. */
int ste_apply_bitmask(int dtype, void *logits, uint64_t row_stride, uint32_t vocab_size, const uint32_t *bitmask,
                      uint64_t mask_stride, const int64_t *rows, const int64_t *mask_rows, uint32_t n);
/* Which apply kernel runs: "avx512", "avx2" or "scalar"; force < 0 asks only, 0/1/2 caps the level (tests). */
const char *ste_apply_kernel(int force);
/* cffi: end */

/* As ste_vocab_new, with the allocator that every object below it inherits. */
int ste_vocab_new_with(const ste_allocator *allocator, const uint8_t *bytes, const uint64_t *offsets,
                       uint32_t n_tokens, uint32_t vocab_size, const uint32_t *special, uint32_t n_special,
                       const uint32_t *stop, uint32_t n_stop, ste_vocab **out, ste_error *err);

#ifdef __cplusplus
}
#endif
#endif
