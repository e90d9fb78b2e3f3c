/* text_automaton.c - see text_automaton.h. */
#include "text_automaton.h"

#include "fsm_product.h"
#include "utf8.h"

static fsm *reduce(fsm *f) { return fsm_reduce(fsm_determinise_fully(f)); }

fsm *text_empty(work *w) {
    fsm *f = fsm_new(w);
    f->final.at[f->start] = 1;
    return reduce(f);
}

fsm *text_any(work *w) {
    fsm *f = fsm_new(w);
    f->final.at[f->start] = 1;
    fsm_edge_add(f, f->start, 0, 0xD7FF, f->start);
    fsm_edge_add(f, f->start, 0xE000, UTF8_MAX, f->start);
    return reduce(f);
}

fsm *text_range(work *w, uint32_t lo, uint32_t hi) {
    fsm *f = fsm_new(w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    if (lo < 0xD800) fsm_edge_add(f, f->start, lo, hi < 0xD7FF ? hi : 0xD7FF, end);
    if (hi > 0xDFFF) fsm_edge_add(f, f->start, lo > 0xE000 ? lo : 0xE000, hi, end);
    return reduce(f);
}

fsm *text_concat(work *w, const fsm *a, const fsm *b) {
    if (a == NULL || b == NULL) return NULL;
    fsm *f = fsm_new(w);
    uint32_t between = fsm_state(f), end = fsm_state(f);
    f->final.at[end] = 1;
    fsm_insert(f, a, f->start, between);
    fsm_insert(f, b, between, end);
    return reduce(f);
}

fsm *text_union(work *w, const fsm *a, const fsm *b) {
    fsm *f = fsm_new(w);
    uint32_t end = fsm_state(f);
    f->final.at[end] = 1;
    if (a != NULL) fsm_insert(f, a, f->start, end);
    if (b != NULL) fsm_insert(f, b, f->start, end);
    return reduce(f);
}
