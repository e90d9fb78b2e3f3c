/* schema_object.h - objects: keys by name and by pattern, counts, dependencies, unevaluated keys, and their negations.
 *
 * Keys that the schema names are *known*.  The declared ones come in declared
 * order (with property_order "any": in any order); what several schemas declare
 * may be interleaved while that takes few states; so is what a failing schema
 * declares, if it matters and takes few states.  Known but undeclared keys -
 * only required, say - come in any order after them.  All other keys fall into
 * *regions*: the strings that match the same patterns, so that the schemas for
 * their values are the same.  A known key that is neither declared nor has to be
 * remembered is a region of its own.
 *
 * Whatever else must be the case is a *clause*: a list of ways, one of which
 * must come true.  "a needs b" is {a is missing, b is there}; a negated node is
 * {a required key is missing, the value of a key is not of its schema, ...}.
 *
 * The automaton goes from member to member.  Its states remember
 *
 *   position   how many ordered keys have been passed, in each chain of them
 *   seen       which unordered known keys have come
 *   done       which clauses have come true
 *   count      members so far, up to the last number that matters (at least 1: is a comma due?)
 *   others     of the clauses done, those that are by the value of a key that may come again
 *   least      keys that differ for sure, up to the last number that matters; visited, past: of which regions, and in
 *              a run (schema_count.c; where a lower bound asks for them)
 *
 * For plain objects that is two states per key: with and without a member before.
 *
 * Keys of regions may repeat: the automaton does not know them one by one.  But whichever of equal keys a reader keeps,
 * clauses hold: what the value of one made true the next ones must make true as well. */
#ifndef STE_SCHEMA_OBJECT_H
#define STE_SCHEMA_OBJECT_H

#include "schema.h"
#include "state_table.h"

#define MAX_CHAINS 6
#define MAX_CLAUSES 24
#define MAX_COUNTED_REGIONS 32 /* whose keys count for lower bounds */

/* A value that is not of this schema makes the clause true. */
typedef struct value_way {
    uint32_t clause;
    const json *schema;
} value_way;

typedef struct member {
    const char *key; /* NULL: a region */
    uint32_t key_n;
    bool required, declared;
    bool negated;            /* declared by schemas that fail only */
    uint32_t chain;          /* declared or negated: which of the schemas declared it first */
    uint32_t missing, there; /* clauses that come true by its absence, by its presence */
    VEC(value_way) ways;
    literal_list literals;
    fsm *keys;       /* region: its keys, over code points */
    uint64_t matches; /* region: the patterns that all its keys match; the others match none */
    expr *spelled;    /* the key in JSON text */
} member;

typedef struct object_state {
    uint32_t position, seen, done, count, others, least, visited, past;
} object_state;

typedef struct begin_entry {
    uint32_t member, rule, to, at;
} begin_entry;

typedef struct object_builder {
    schema_context *c;
    const schema_branch *branch;
    VEC(member) members; /* ordered, chain by chain, then unordered */
    uint32_t n_ordered;
    uint32_t n_chains, chain_from[MAX_CHAINS], chain_n[MAX_CHAINS], stride[MAX_CHAINS], last_position;
    VEC(member) regions;
    VEC(fsm *) patterns;
    uint32_t clauses; /* set of those that are to come true */
    uint32_t count_clause_min[MAX_CLAUSES], count_clause_max[MAX_CLAUSES]; /* outside of these the clause is true */
    uint32_t min, max, count_cap;
    uint32_t least_cap; /* the most different keys that a lower bound asks for, if there are regions; else 0 */
    struct run_rules *runs;
    bool impossible;
    expr *separator;
    expr *graph;
    fsm *f; /* its shape */
    VEC(object_state) states;
    VEC(uint32_t) number; /* in f */
    state_table table;
    VEC(begin_entry) begins;
    uint32_t *begin_table, begin_mask;
    bool pairs_are_rules;
    uint32_t once_from; /* unordered keys from here on are onces of the rule, not part of its states */
} object_builder;

/* ---- schema_member.c: which keys there are, and what their values must satisfy ---- */

void find_members(object_builder *o);
void find_literals(object_builder *o, member *m);
void find_regions(object_builder *o);
member *find_member(object_builder *o, const char *key, uint32_t n);
/* Call each schema of the node that applies to the member; true if "properties" or a pattern has it. */
bool node_schemas(object_builder *o, const json *node, const member *m,
                  void (*each)(object_builder *o, const json *schema, void *ctx), void *ctx);
/* Does the node, or what holds under it, evaluate the member? */
bool key_is_evaluated(object_builder *o, const json *node, const member *m);
/* Does "propertyNames" of the node admit the known key? */
bool name_fits(object_builder *o, const json *node, const member *m);
bool literals_are_never(const literal_list *list);

/* ---- schema_count.c: lower bounds for different keys ---- */

/* Keys of regions that have few become known keys; true if there were such. */
bool know_few_keys(object_builder *o);
/* Edges for members of one region in a row, from the state s, which is at `at`. */
void add_runs(object_builder *o, object_state s, uint32_t at);

/* ---- schema_object.c ---- */

/* The state of o->f for s, which is made if need be. */
uint32_t object_state_number(object_builder *o, object_state s);

/* ---- schema_clause.c: what must come true besides ---- */

/* All clauses of the branch, simplified; o->impossible if one cannot come true.  Needs members and regions. */
void find_clauses(object_builder *o);

#endif
