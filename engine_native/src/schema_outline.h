/* schema_outline.h - what can be seen of schemas without lowering them.
 *
 * An outline is a list of nodes that hold together: a node, what it refers to,
 * the members of its allOf.  From it one sees the kinds of values, the listed
 * values and the required keys; often enough to tell that two schemas have no
 * value in common, or that one implies another.  "No" means "not plainly". */
#ifndef STE_SCHEMA_OUTLINE_H
#define STE_SCHEMA_OUTLINE_H

#include "schema.h"

#define OUTLINE_NODES 48
#define OUTLINE_DEPTH 4 /* levels of values looked into */

typedef struct outline {
    const json *at[OUTLINE_NODES];
    uint32_t n;
} outline;

/* The nodes that hold wherever `node` holds. */
void outline_add(schema_context *c, const json *node, outline *out);
/* Can no value of the kind satisfy both? */
bool outlines_apart(schema_context *c, uint32_t kind, const outline *a, const outline *b, uint32_t depth);
bool schema_apart(schema_context *c, uint32_t kind, const json *a, const json *b);
/* Does `node` hold for every object for which all of `f` hold? */
bool outline_implies(schema_context *c, const outline *f, const json *node, uint32_t depth);
/* Does any own keyword of the node say something about this kind, beyond that it is allowed? */
bool schema_own_matters(const schema_context *c, const json *node, uint32_t kind);

#endif
