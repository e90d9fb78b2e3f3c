/* schema.h - JSON Schema as a graph: references, keywords, and the judge of values.
 *
 * A *conjunction* is a sorted list of schema nodes that must all hold.  Sub-
 * schemas stay conjunctions of source nodes, so there are finitely many and
 * recursion through $ref ends by meeting a known one.  schema_expand turns a
 * conjunction into a union of *branches*: lists of nodes whose $ref, allOf and
 * anyOf have been resolved, so that only keywords about the value itself
 * remain. */
#ifndef STE_SCHEMA_H
#define STE_SCHEMA_H

#include "front.h"

enum {
    TYPE_NULL = 1,
    TYPE_FALSE = 2,
    TYPE_TRUE = 4,
    TYPE_INTEGER = 8,
    TYPE_FRACTION = 16, /* numbers that are no integers */
    TYPE_STRING = 32,
    TYPE_ARRAY = 64,
    TYPE_OBJECT = 128,
    TYPE_ANY = 255,
};

typedef enum dialect { DRAFT_4 = 4, DRAFT_6 = 6, DRAFT_7 = 7, DRAFT_2019 = 8, DRAFT_2020 = 9 } dialect;

typedef struct schema_nodes {
    const json **at;
    uint32_t n;
} schema_nodes;

typedef struct conjunction_entry conjunction_entry;

struct schema_context {
    builder *b;
    const json *root; /* of the document: "#" */
    dialect draft;
    expr *space;      /* between JSON tokens */
    uint32_t string, character, number, integer; /* rules, + 1 once made */
    conjunction_entry **table;
    uint32_t table_size, n_entries;
    VEC(conjunction_entry *) waiting; /* rules without a body yet */
    const json **checked; /* open-addressing set of nodes whose keywords have been checked */
    uint32_t checked_size, n_checked;
    uint32_t branches;
};

typedef struct schema_branches {
    schema_nodes *at;
    uint32_t n, cap;
} schema_branches;

schema_branches schema_expand(schema_context *c, schema_nodes conjunction);
uint32_t schema_types(schema_context *c, const json *node);
/* Does the value satisfy the whole schema / the node's keywords about the value itself? */
bool schema_valid(schema_context *c, const json *value, const json *schema);
bool schema_holds(schema_context *c, const json *value, const json *node); /* members of its own enum hold it */
/* The subschemas of a node for an array index, or NULL. */
const json *schema_item(const schema_context *c, const json *node, uint32_t index);
uint32_t schema_prefix_length(const schema_context *c, const json *node);
/* The subschema of a node for a key, or NULL. */
const json *schema_property(const json *node, const char *key, size_t n);
/* The bounds of a node: false if there is none. */
bool schema_low(const schema_context *c, const json *node, const json **value, bool *exclusive);
bool schema_high(const schema_context *c, const json *node, const json **value, bool *exclusive);

#endif
