/* capture.c - see capture.h.
 *
 * The captures of a reading stand in a few span lists (chart.h): those of the
 * item where the text stands, of the item that waits for its rule, and so on
 * up to the root.  Finding them costs the nesting of rules and the number of
 * captures, not the length of the text. */
#include "capture.h"

#include "meter.h"

transcript *transcript_new(store *s) { return store_alloc(s, sizeof(transcript)); }

void transcript_free(store *s, transcript *t) {
    if (t == NULL) return;
    chart_free(&t->chart, s);
    store_free(s, t->text.at, t->text.cap);
    store_free(s, t->steps.at, t->steps.cap * sizeof *t->steps.at);
    store_free(s, t, sizeof *t);
}

/* The array, grown to hold n; NULL, and nothing changed, when out of memory. */
static void *reserved(store *s, void *p, uint32_t used, uint64_t n, uint32_t *cap, size_t size) {
    if (n <= *cap) return p;
    uint64_t want = *cap == 0 ? 64 : *cap;
    while (want < n) want *= 2;
    if (want > UINT32_MAX) return NULL;
    void *grown = store_alloc(s, want * size);
    if (grown == NULL) return NULL;
    if (used != 0) memcpy(grown, p, used * size);
    store_free(s, p, *cap * size);
    *cap = (uint32_t)want;
    return grown;
}

int transcript_reserve(store *s, transcript *t, size_t n) {
    if (n > INT32_MAX - (size_t)t->text.n) return STE_ERR_LIMIT;
    void *text = reserved(s, t->text.at, t->text.n, t->text.n + (uint64_t)n, &t->text.cap, 1);
    if (text == NULL && t->text.n + n != 0) return STE_ERR_NO_MEMORY;
    t->text.at = text;
    void *steps = reserved(s, t->steps.at, t->steps.n, t->steps.n + UINT64_C(1), &t->steps.cap, sizeof *t->steps.at);
    if (steps == NULL) return STE_ERR_NO_MEMORY;
    t->steps.at = steps;
    return STE_OK;
}

void transcript_add(transcript *t, passage p) {
    uint32_t end = t->text.n + (uint32_t)p.n;
    if (p.n != 0) memcpy(t->text.at + t->text.n, p.bytes, p.n);
    t->steps.at[t->steps.n++] = (chart_step){t->text.n, end, p.token, p.by_bytes};
    t->text.n = end;
}

void transcript_cut(transcript *t, uint32_t n) {
    if (n >= t->steps.n) return;
    t->text.n = t->steps.at[n].begin;
    t->steps.n = n;
    t->stuck = false;
    if (t->charted <= n) return;
    t->charted = n;
    chart_cut(&t->chart, t->text.n);
}

transcript *transcript_copy(store *s, const transcript *t) {
    transcript *copy = transcript_new(s);
    if (copy == NULL) return NULL;
    if (transcript_reserve(s, copy, t->text.n) == STE_OK) {
        void *steps = reserved(s, copy->steps.at, 0, t->steps.n, &copy->steps.cap, sizeof *copy->steps.at);
        if (steps != NULL) {
            copy->steps.at = steps;
            if (t->text.n != 0) memcpy(copy->text.at, t->text.at, t->text.n);
            if (t->steps.n != 0) memcpy(copy->steps.at, t->steps.at, t->steps.n * sizeof *t->steps.at);
            copy->text.n = t->text.n;
            copy->steps.n = t->steps.n;
            return copy;
        }
    }
    transcript_free(s, copy);
    return NULL;
}

/* Let the chart read what was accepted since. */
static int catch_up(use *u, transcript *t, const rule *root) {
    if (t->stuck) return STE_ERR_LIMIT;
    bool fine = t->chart.positions.n != 0 || chart_begin(&t->chart, u, root);
    while (fine && t->charted < t->steps.n) {
        fine = chart_extend(&t->chart, u, t->text.at, t->steps.at[t->charted]);
        t->charted += fine;
    }
    t->stuck = !fine && u->code == STE_ERR_LIMIT;
    return fine ? STE_OK : u->code;
}

/* ---- readings ---- */

#define OPEN UINT32_MAX

typedef struct place {
    const rule *rule;
    uint32_t begin, end; /* end: OPEN while it may grow */
} place;

/* The captures of one reading, in order. */
typedef struct reading {
    place *at;
    uint32_t n, cap;
} reading;

/* A list of spans whose last capture has the number last - 1. */
typedef struct numbered {
    uint32_t list, last;
} numbered;

typedef struct search {
    use *user;
    const chart *c;
    reading best, trial;
    numbered *stack;
    uint32_t cap_stack;
    uint64_t work; /* items and captures that may still be looked at */
} search;

/* A span comes after those before it and ahead of those inside it.  Every list on the stack holds a capture of its
 * own, so the stack is never higher than there are captures. */
static void place_list(search *q, uint32_t list, uint32_t last) {
    uint32_t depth = 0;
    if (list != 0) q->stack[depth++] = (numbered){list, last};
    while (depth > 0) {
        numbered at = q->stack[--depth];
        const chart_span *s = &q->c->spans.at[at.list - 1];
        uint32_t before = at.last - s->count + chart_span_count(q->c, s->before);
        if (s->rule != NULL) q->trial.at[before] = (place){s->rule, s->begin, s->end};
        if (s->before != 0) q->stack[depth++] = (numbered){s->before, before};
        if (s->inside != 0) q->stack[depth++] = (numbered){s->inside, at.last};
    }
}

/* Captures that item i adds to a reading: finished ones, and its own rule. */
static uint32_t count_of(const chart *c, const chart_item *i) {
    return chart_span_count(c, i->spans) + (i->state->rule->capture.name != NULL);
}

/* Let `trial` be the reading in which the text stands at item `at`. */
static int read_from(search *q, const chart_item *at) {
    uint64_t total = 0, items = 0;
    for (const chart_item *i = at; i != NULL; i = chart_parent(q->c, i), items++) total += count_of(q->c, i);
    if (total + items > q->work || total >= UINT32_MAX) return STE_ERR_LIMIT;
    q->work -= total + items;
    q->trial.n = (uint32_t)total;
    if (total == 0) return STE_OK;
    store *s = q->user->s;
    void *places = reserved(s, q->trial.at, 0, total, &q->trial.cap, sizeof *q->trial.at);
    if (places != NULL) q->trial.at = places;
    void *stack = reserved(s, q->stack, 0, total, &q->cap_stack, sizeof *q->stack);
    if (stack != NULL) q->stack = stack;
    if (places == NULL || stack == NULL) return STE_ERR_NO_MEMORY;
    uint32_t last = q->trial.n;
    for (const chart_item *i = at; i != NULL; i = chart_parent(q->c, i)) {
        const rule *r = i->state->rule;
        place_list(q, i->spans, last);
        last -= count_of(q->c, i);
        if (r->capture.name != NULL) q->trial.at[last] = (place){r, i->origin - r->capture.lead, OPEN};
    }
    return STE_OK;
}

/* Does a capture less than b? */
static bool captures_less(const reading *a, const reading *b) {
    for (uint32_t k = 0; k < a->n && k < b->n; k++) {
        if (a->at[k].begin != b->at[k].begin) return a->at[k].begin > b->at[k].begin;
        if (a->at[k].end != b->at[k].end) return a->at[k].end < b->at[k].end;
    }
    return a->n < b->n;
}

/* Let `best` be the reading of the text; complete: of a text that ended. */
static int find_reading(search *q, bool complete) {
    const chart *c = q->c;
    uint32_t end = c->positions.n - 1;
    bool found = false;
    for (uint32_t k = chart_items_before(c, end); k < c->positions.at[end].items; k++) {
        const chart_item *i = &c->items.at[k];
        bool ends = i->state->final && chart_parent(c, i) == NULL;
        bool goes_on = i->state->n_bytes != 0 || i->state->n_tokens != 0;
        uint64_t reg = i->reg;
        if (i->state->rule->metered) goes_on = meter_settle(i->state, &reg) && !meter_over(i->state, i->reg + 1);
        if (complete ? !ends : !ends && !goes_on) continue;
        int code = read_from(q, i);
        if (code != STE_OK) return code;
        if (found && !captures_less(&q->trial, &q->best)) continue;
        reading worse = q->best;
        q->best = q->trial;
        q->trial = worse;
        found = true;
    }
    assert(found); /* an accepted text stands somewhere */
    return STE_OK;
}

int64_t transcript_captures(use *u, transcript *t, const rule *root, bool complete, ste_capture *out, size_t capacity) {
    assert(root->capture.name == NULL); /* the end of the whole would have to be told from its last place */
    int code = catch_up(u, t, root);
    if (code != STE_OK) return code;
    search q = {.user = u, .c = &t->chart, .work = u->s->limits.match_items};
    code = find_reading(&q, complete);
    for (uint32_t k = 0; code == STE_OK && k < q.best.n && k < capacity; k++) {
        const place *p = &q.best.at[k];
        const capture *name = &p->rule->capture;
        out[k] = (ste_capture){name->name, name->n, p->begin, p->end == OPEN ? t->text.n : p->end, p->end == OPEN};
    }
    store_free(u->s, q.best.at, q.best.cap * sizeof *q.best.at);
    store_free(u->s, q.trial.at, q.trial.cap * sizeof *q.trial.at);
    store_free(u->s, q.stack, q.cap_stack * sizeof *q.stack);
    return code == STE_OK ? (int64_t)q.best.n : code;
}
