/* uri.h - URI references in parts, and resolved (RFC 3986, 3 and 5.2). */
#ifndef STE_URI_H
#define STE_URI_H

#include "fsm.h"

typedef struct uri {
    const char *scheme, *authority, *path, *query; /* NULL: absent; not zero-terminated */
    size_t scheme_n, authority_n, path_n, query_n;
    const char *fragment; /* zero-terminated; NULL: absent */
} uri;

uri uri_parse(const char *s);
/* The reference against the base, without its fragment. */
const char *uri_resolve(work *w, const char *base, const uri *r);

#endif
