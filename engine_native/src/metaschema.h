/* metaschema.h - the metaschemas of JSON Schema, which references may lead to though nothing is fetched.
 *
 * The drafts' schemas and, since 2019-09, those of their vocabularies, by the URI
 * that each gives itself (without an empty fragment). */
#ifndef STE_METASCHEMA_H
#define STE_METASCHEMA_H

#include <stdint.h>

#define METASCHEMA_PARTS 4

typedef struct metaschema {
    const char *uri;
    const char *parts[METASCHEMA_PARTS]; /* of its JSON text; then NULLs, if there is room */
} metaschema;

extern const metaschema metaschemas[];
extern const uint32_t n_metaschemas;

#endif
