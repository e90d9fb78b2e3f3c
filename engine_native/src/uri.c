/* uri.c - see uri.h. */
#include "uri.h"

static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

uri uri_parse(const char *s) {
    uri u = {0};
    size_t n = 0;
    if (is_letter(s[0]))
        while (is_letter(s[n]) || (s[n] >= '0' && s[n] <= '9') || s[n] == '+' || s[n] == '-' || s[n] == '.') n++;
    if (n > 0 && s[n] == ':') {
        u.scheme = s;
        u.scheme_n = n;
        s += n + 1;
    }
    if (s[0] == '/' && s[1] == '/') {
        u.authority = s + 2;
        u.authority_n = strcspn(u.authority, "/?#");
        s = u.authority + u.authority_n;
    }
    u.path = s;
    u.path_n = strcspn(s, "?#");
    s += u.path_n;
    if (*s == '?') {
        u.query = s + 1;
        u.query_n = strcspn(u.query, "#");
        s = u.query + u.query_n;
    }
    if (*s == '#') u.fragment = s + 1;
    return u;
}

/* "a/./b" and "a/c/../b" are "a/b" (5.2.4), in place; returns the length. */
static size_t remove_dots(char *path, size_t n) {
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + (path[i] == '/');
        while (end < n && path[end] != '/') end++;
        const char *part = path + i + (path[i] == '/');
        size_t length = (size_t)(path + end - part);
        bool one = length == 1 && part[0] == '.', two = length == 2 && part[0] == '.' && part[1] == '.';
        if (two)
            while (out > 0 && path[--out] != '/') {}
        if (!one && !two) {
            memmove(path + out, path + i, end - i);
            out += end - i;
        } else if (end == n) {
            path[out++] = '/';
        }
        i = end;
    }
    return out;
}

static size_t append(char *out, size_t at, const char *s, size_t n) {
    if (n > 0) memcpy(out + at, s, n);
    return at + n;
}

const char *uri_resolve(work *w, const char *base, const uri *r) {
    uri b = uri_parse(base), t = *r;
    size_t room = strlen(base) + r->scheme_n + r->authority_n + r->path_n + r->query_n + 8;
    char *path = arena_alloc(&w->mem, room, 1), *out = arena_alloc(&w->mem, room, 1);
    size_t n = 0, at = 0;
    if (r->scheme == NULL) {
        t.scheme = b.scheme;
        t.scheme_n = b.scheme_n;
        if (r->authority == NULL) {
            t.authority = b.authority;
            t.authority_n = b.authority_n;
            if (r->path_n == 0) {
                n = append(path, 0, b.path, b.path_n);
                if (r->query == NULL) {
                    t.query = b.query;
                    t.query_n = b.query_n;
                }
            } else if (r->path[0] != '/') {
                size_t keep = b.path_n;
                while (keep > 0 && b.path[keep - 1] != '/') keep--;
                if (b.authority != NULL && b.path_n == 0) path[n++] = '/';
                n = append(path, n, b.path, keep);
            }
        }
    }
    if (r->path_n != 0) n = remove_dots(path, append(path, n, r->path, r->path_n));
    if (t.scheme != NULL) {
        at = append(out, at, t.scheme, t.scheme_n);
        out[at++] = ':';
    }
    if (t.authority != NULL) {
        at = append(out, at, "//", 2);
        at = append(out, at, t.authority, t.authority_n);
    }
    at = append(out, at, path, n);
    if (t.query != NULL) {
        out[at++] = '?';
        at = append(out, at, t.query, t.query_n);
    }
    out[at] = '\0';
    return out;
}
