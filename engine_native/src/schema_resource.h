/* schema_resource.h - the resources of a schema: where URIs and anchors lead to, and which draft counts where.
 *
 * A *resource* is a document or a subschema with an $id of its own; its URI is
 * the $id resolved against the resource around it (RFC 3986, 5.2).  Documents
 * are the schema itself (resource 0), the metaschemas, which are read when a
 * reference leads to them, and those that the caller gave.  Nothing is fetched.
 *
 * Many schemas that name no draft use "id" as draft 4 has it, which later ones
 * do not know.  There, and only where a reference would lead nowhere else, "id"
 * counts as $id: such a resource is a *fallback*.
 *
 * For dynamic references resources are copied (schema_reference.c): a copy is a
 * resource with a scope. */
#ifndef STE_SCHEMA_RESOURCE_H
#define STE_SCHEMA_RESOURCE_H

#include "schema.h"
#include "uri.h"

typedef struct schema_anchor {
    const json *node;
    const char *name;
    uint32_t resource;
    bool dynamic;
    bool fallback;
} schema_anchor;

typedef struct schema_resource {
    const json *node;
    const char *uri;  /* without fragment */
    dialect draft;
    uint32_t of;      /* of a copy: its source; of another name of a document: the document; else itself */
    uint32_t scope;   /* of a copy, + 1 */
    bool fallback;
} schema_resource;

struct schema_references {
    VEC(schema_resource) resources;
    VEC(schema_anchor) anchors;
    node_map numbers;            /* node -> number of the resource it begins, + 1; made-up nodes too */
    node_map fallbacks;          /* likewise, of fallbacks */
    VEC(const char *) dynamic;   /* names that dynamic references go to, each once */
    bool scoped;                 /* some of them go to different places, by the way to them */
    VEC(uint32_t *) scopes;      /* per name the resource that has it and was entered first, + 1 */
};

uint32_t schema_resource_of(const schema_context *c, const json *at);
uint32_t schema_add_resource(schema_context *c, const json *node, schema_resource r);
const schema_anchor *schema_find_anchor(const schema_context *c, uint32_t resource, const char *name, bool dynamic);
/* The resource with this URI, from the documents if need be; UINT32_MAX: there is none. */
uint32_t schema_find_resource(schema_context *c, const char *uri);

/* The URI of the fallback around the node; NULL if there is none. */
const char *schema_fallback_base(const schema_context *c, const json *at);

#endif
