/* distinct.c - see distinct.h.
 *
 * The question behind everything here: a text has been read of an element; can
 * it still become a value that is no rival's?  Yes, if
 *
 *   1. no rival begins like this; or
 *   2. a byte may follow with which no rival goes on; or
 *   3. the element is complete here, and its value is no rival's;
 *
 * else the bytes that keep to rivals are tried, breadth first.  Texts that agree
 * in set and skeleton are one, so where there is nothing left to find the search
 * ends after the spellings of the rivals.
 *
 * Cost: a step without rivals is a step of `at`.  With n rivals it compares the
 * text with each; after a few bytes few are left. */
#include "distinct.h"

#include "json_value.h"

/* A text within an element, the rivals it may become, and how each of them, and any, may go on. */
typedef struct reading {
    set *at;
    const uint8_t *text;
    uint32_t n, n_rivals;
    const seen **rivals;
    json_way *each;
    byteset any;
    uint32_t *by_byte; /* 257 offsets into what follows them: the rivals that may go on with each byte; NULL: not made */
    enum { OUTSIDE, IN_STRING, ESCAPED } place; /* of the end of the text */
} reading;

typedef struct judge {
    use *u;
    arena mem;
    escape_point out;
} judge;

static void judge_init(judge *j, use *u) {
    j->u = u;
    arena_init(&j->mem, &u->s->allocator, &j->out, u->s->limits.compile_bytes);
}

/* Where an escape lands. */
static bool judge_failed(judge *j) {
    j->u->code = j->out.error.code;
    arena_free(&j->mem);
    return false;
}

static void spend(judge *j, uint64_t n) {
    if (j->u->work < n) escape(&j->out, STE_ERR_LIMIT, 0, "too many values to tell apart");
    j->u->work -= n;
}

static set *step(judge *j, set *at, uint32_t byte) {
    set *to = set_step(j->u, at, byte);
    if (to == NULL) escape(&j->out, j->u->code, 0, "step");
    return to;
}

static const uint8_t *text_and(judge *j, const uint8_t *text, uint32_t n, uint32_t byte) {
    uint8_t *out = arena_alloc(&j->mem, (size_t)n + 1, 1);
    if (n != 0) memcpy(out, text, n);
    out[n] = (uint8_t)byte;
    return out;
}

static void read_byte(reading *r, uint8_t byte) {
    if (r->place == ESCAPED)
        r->place = IN_STRING;
    else if (byte == '"')
        r->place = r->place == OUTSIDE ? IN_STRING : OUTSIDE;
    else if (byte == '\\' && r->place == IN_STRING)
        r->place = ESCAPED;
}

/* r may have other rivals too; keep those that its text may become. */
static void keep_rivals(judge *j, reading *r) {
    const seen **kept = arena_alloc(&j->mem, r->n_rivals, sizeof *kept);
    uint32_t n = 0;
    r->each = arena_alloc(&j->mem, r->n_rivals, sizeof *r->each);
    r->by_byte = NULL;
    memset(&r->any, 0, sizeof r->any);
    spend(j, r->n_rivals + r->n / 16 + 1);
    r->place = OUTSIDE;
    for (uint32_t i = 0; i < r->n; i++) read_byte(r, r->text[i]);
    for (uint32_t i = 0; i < r->n_rivals; i++) {
        if (!json_may_become(r->text, r->n, r->rivals[i]->value, &r->each[n])) continue;
        byteset_or(&r->any, &r->each[n].next);
        kept[n++] = r->rivals[i];
    }
    if (n == r->n_rivals) return; /* they stay the array they were */
    r->rivals = kept;
    r->n_rivals = n;
}

static bool is_space(uint32_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* Does the text end where white space changes nothing?  It would end a number. */
static bool is_between(const reading *r) {
    return r->place == OUTSIDE && r->n != 0 && strchr(" \t\n\r\"{}[],:", r->text[r->n - 1]) != NULL;
}

/* From so many rivals on it is worth sorting them by what comes next. */
#define MANY_RIVALS 16

static void sort_by_byte(judge *j, reading *r) {
    uint32_t first[258] = {0};
    for (uint32_t i = 0; i < r->n_rivals; i++)
        for (int w = 0; w < 4; w++)
            for (uint64_t bits = r->each[i].next.w[w]; bits != 0; bits &= bits - 1)
                first[w * 64 + __builtin_ctzll(bits) + 2]++;
    for (uint32_t byte = 0; byte < 256; byte++) first[byte + 2] += first[byte + 1];
    r->by_byte = arena_alloc(&j->mem, 257 + (size_t)first[257], sizeof *r->by_byte);
    uint32_t *sorted = r->by_byte + 257;
    for (uint32_t i = 0; i < r->n_rivals; i++)
        for (int w = 0; w < 4; w++)
            for (uint64_t bits = r->each[i].next.w[w]; bits != 0; bits &= bits - 1)
                sorted[first[w * 64 + __builtin_ctzll(bits) + 1]++] = i;
    memcpy(r->by_byte, first, 257 * sizeof *first);
}

static void read_rival(reading *out, const reading *r, uint32_t i, uint8_t byte) {
    json_way *way = &out->each[out->n_rivals];
    *way = r->each[i];
    int goes_on = json_may_go_on(way, byte);
    if (goes_on < 0) goes_on = json_may_become(out->text, out->n, r->rivals[i]->value, way);
    if (goes_on == 0) return;
    byteset_or(&out->any, &way->next);
    out->rivals[out->n_rivals++] = r->rivals[i];
}

/* r after one byte more. */
static reading read_on(judge *j, reading *r, uint32_t byte) {
    reading out = *r;
    out.at = step(j, r->at, byte);
    out.text = text_and(j, r->text, r->n, byte);
    out.n = r->n + 1;
    spend(j, 1);
    if (is_space(byte) && is_between(r)) return out;
    read_byte(&out, (uint8_t)byte);
    if (r->by_byte == NULL && r->n_rivals > MANY_RIVALS) sort_by_byte(j, r);
    uint32_t n = r->by_byte == NULL ? r->n_rivals : r->by_byte[byte + 1] - r->by_byte[byte];
    const uint32_t *sorted = r->by_byte == NULL ? NULL : r->by_byte + 257 + r->by_byte[byte];
    out.rivals = arena_alloc(&j->mem, n, sizeof *out.rivals);
    out.each = arena_alloc(&j->mem, n, sizeof *out.each);
    out.n_rivals = 0;
    out.by_byte = NULL;
    memset(&out.any, 0, sizeof out.any);
    spend(j, n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = sorted == NULL ? k : sorted[k];
        if (byteset_has(&r->each[i].next, byte)) read_rival(&out, r, i, (uint8_t)byte);
    }
    return out;
}

static bool is_complete(const reading *r) { return (r->at->flags & SET_EXITS) != 0; }

/* Is the complete text's value one of its rivals'? */
static bool is_rival(judge *j, const reading *r) {
    if (r->n_rivals == 0) return false;
    json_bytes value = {0};
    json_value(&j->mem, r->text, r->n, &value);
    for (uint32_t i = 0; i < r->n_rivals; i++)
        if (r->rivals[i]->size == value.n && memcmp(r->rivals[i]->value, value.at, value.n) == 0) return true;
    return false;
}

/* Plainly, something else than a rival can come of it. */
static bool is_plainly_open(judge *j, const reading *r) {
    if (r->n_rivals == 0) return true;
    for (int i = 0; i < 4; i++)
        if ((r->at->allow.w[i] & ~r->any.w[i]) != 0) return true;
    return is_complete(r) && !is_rival(j, r);
}

typedef struct met {
    const set *at;
    json_bytes skeleton;
} met;

typedef struct search {
    judge *j;
    VEC(reading) queue;
    VEC(met) met;
    uint32_t *slots, n_slots;
} search;

static bool is_new(search *q, const reading *r) {
    arena *mem = &q->j->mem;
    met m = {.at = r->at};
    json_skeleton(mem, r->text, r->n, &m.skeleton);
    uint64_t key = hash_mix(0, (uint64_t)(uintptr_t)m.at);
    uint64_t hash = hash_bytes(m.skeleton.at, m.skeleton.n, key);
    if (q->met.n * 2 >= q->n_slots) {
        q->n_slots = q->n_slots == 0 ? 64 : q->n_slots * 2;
        q->slots = arena_alloc(mem, q->n_slots, sizeof *q->slots);
        for (uint32_t i = 0; i < q->met.n; i++) {
            const met *o = &q->met.at[i];
            uint64_t h = hash_bytes(o->skeleton.at, o->skeleton.n, hash_mix(0, (uint64_t)(uintptr_t)o->at));
            uint32_t slot = (uint32_t)h & (q->n_slots - 1);
            while (q->slots[slot] != 0) slot = (slot + 1) & (q->n_slots - 1);
            q->slots[slot] = i + 1;
        }
    }
    uint32_t slot = (uint32_t)hash & (q->n_slots - 1);
    for (; q->slots[slot] != 0; slot = (slot + 1) & (q->n_slots - 1)) {
        const met *o = &q->met.at[q->slots[slot] - 1];
        if (o->at == m.at && o->skeleton.n == m.skeleton.n && memcmp(o->skeleton.at, m.skeleton.at, m.skeleton.n) == 0)
            return false;
    }
    vec_push(mem, &q->met, m);
    q->slots[slot] = q->met.n;
    return true;
}

/* Can something else than a rival come of it? */
static bool is_open(judge *j, const reading *r) {
    if (is_plainly_open(j, r)) return true;
    search q = {.j = j};
    vec_push(&j->mem, &q.queue, *r);
    for (uint32_t i = 0; i < q.queue.n; i++) {
        reading from = q.queue.at[i];
        for (uint32_t byte = 0; byte < 256; byte++) {
            if (!byteset_has(&from.at->allow, byte)) continue;
            reading to = read_on(j, &from, byte);
            if (is_plainly_open(j, &to)) return true;
            if (is_new(&q, &to)) vec_push(&j->mem, &q.queue, to);
        }
    }
    return false;
}

static bool is_endless(judge *j, set *at) {
    int endless = set_is_endless(j->u, at);
    if (endless < 0) escape(&j->out, j->u->code, 0, "loop");
    return endless == 1;
}

/* The bytes that leave something else possible. */
static byteset open_bytes(judge *j, reading *r) {
    byteset out = r->at->allow;
    for (uint32_t byte = 0; byte < 256 && r->n_rivals != 0; byte++) {
        if (!byteset_has(&out, byte) || !byteset_has(&r->any, byte) || is_endless(j, step(j, r->at, byte))) continue;
        reading to = read_on(j, r, byte);
        if (!is_open(j, &to)) out.w[byte >> 6] &= ~(UINT64_C(1) << (byte & 63));
    }
    return out;
}

/* All values seen, the last ones first. */
static const seen **all_seen(judge *j, const seen *last) {
    const seen **out = arena_alloc(&j->mem, last->count, sizeof *out);
    uint32_t n = 0;
    for (; last != NULL; last = last->before) out[n++] = last;
    return out;
}

static const seen **rivals_of(judge *j, const progress *p) {
    if (p->rivals != NULL || p->n_rivals == 0) return p->rivals;
    return all_seen(j, (const seen *)(uintptr_t)p->seen);
}

/* ---- progresses ---- */

static size_t progress_size(const progress *p) { return sizeof *p + p->own_rivals * sizeof *p->rivals; }

size_t progress_bytes(const progress *p) { return progress_size(p); }

static uint64_t progress_hash(const progress *p) {
    uint64_t h = hash_mix(hash_mix(p->kind, (uint64_t)(uintptr_t)p->of), p->seen);
    return hash_mix(hash_mix(hash_mix(h, (uint64_t)(uintptr_t)p->before), p->byte), (uint64_t)(uintptr_t)p->at);
}

/* Elements of distinct arrays within each other: arrays in arrays. */
#define MAX_DEPTH 100

static uint32_t depth_inside(const set *at) {
    uint32_t deepest = 0;
    for (uint32_t i = 0; (at->flags & SET_INSIDE) != 0 && i < at->n_scan; i++)
        if (at->scan[i].state->inside && progress_of(&at->scan[i])->depth > deepest) deepest = progress_of(&at->scan[i])->depth;
    return deepest;
}

/* The interned progress like p, whose rivals are copied if they are its own.  Wants `grow`. */
static progress *intern(store *s, progress p) {
    p.hash = progress_hash(&p);
    if (!table_reserve(s, &s->progresses)) return NULL;
    for (progress *o = table_first(&s->progresses, p.hash); o != NULL; o = o->chain)
        if (o->hash == p.hash && o->kind == p.kind && o->of == p.of && o->seen == p.seen && o->before == p.before &&
            o->byte == p.byte && o->at == p.at)
            return o;
    progress *out = store_alloc(s, progress_size(&p));
    if (out == NULL) return NULL;
    *out = p;
    out->depth = (uint8_t)(depth_inside(p.at) + 1);
    if (p.own_rivals != 0) {
        out->rivals = (const seen **)(void *)(out + 1);
        memcpy(out->rivals, p.rivals, p.own_rivals * sizeof *p.rivals);
    }
    table_add(&s->progresses, out);
    return out;
}

static progress *intern_alone(store *s, progress p) {
    pthread_mutex_lock(&s->grow);
    progress *out = intern(s, p);
    pthread_mutex_unlock(&s->grow);
    return out;
}

progress *progress_forgotten(store *s, const progress *p, set *canonical) {
    return intern(s, (progress){.at = canonical, .of = p->of, .kind = FORGOTTEN, .allow = canonical->allow,
                                .seen = seen_canonical(s, p->of, p->seen == 0 ? seen_from_count(0) : p->seen)});
}

progress *progress_young(store *s, const rule *r, uint64_t reg) {
    progress *start = atomic_load_explicit(&r->start, memory_order_acquire);
    return intern(s, (progress){.at = start->at, .of = r, .kind = YOUNG, .seen = reg, .allow = start->at->allow});
}

bool element_begin(use *u, rule *r) {
    set *at = set_beginning(u, r->repeated);
    if (at == NULL) return false;
    progress *start = intern_alone(u->s, (progress){.at = at, .of = r, .kind = READ, .allow = at->allow});
    if (start == NULL) return false;
    atomic_store_explicit(&r->start, start, memory_order_release);
    return true;
}

/* ---- counts ---- */

/* As for repeats (set.c): every element takes at least one byte of a token. */
uint64_t seen_canonical(const store *s, const rule *r, uint64_t reg) {
    if (reg == 0) return 0;
    uint64_t n = seen_count(reg), ahead = (uint64_t)s->reach + 1;
    if (n + ahead < r->min)
        n = 0;
    else if (n >= r->min && (r->max == REPEAT_INFINITE || n + ahead < r->max))
        n = r->min;
    return seen_from_count(n);
}

bool seen_is_tight(const store *s, const rule *r, uint64_t reg) {
    return r->values < r->max && seen_count(reg) + s->reach + 2 > r->values;
}

/* ---- values ---- */

/* Where the next element begins: NULL inside if there is no other value. */
static bool find_start(judge *j, const rule *r, seen *all, progress **out) {
    *out = NULL;
    if (all->count >= r->max) return true;
    progress *first = atomic_load_explicit(&r->start, memory_order_acquire);
    reading begin = {.at = first->at, .n_rivals = all->count, .rivals = all_seen(j, all)};
    keep_rivals(j, &begin);
    byteset allow = open_bytes(j, &begin);
    if (byteset_empty(&allow)) return true;
    bool all_kept = begin.n_rivals == all->count;
    *out = intern_alone(j->u->s, (progress){.at = begin.at, .of = r, .kind = READ, .seen = (uint64_t)(uintptr_t)all,
                                            .allow = allow, .n_rivals = begin.n_rivals, .own_rivals = all_kept ? 0 : begin.n_rivals,
                                            .rivals = all_kept ? NULL : begin.rivals});
    return *out != NULL;
}

/* The values before p, and the one that is complete. */
static seen *see(judge *j, const progress *p, const reading *r) {
    store *s = j->u->s;
    const seen *before = (const seen *)(uintptr_t)p->seen;
    json_bytes value = {0};
    json_value(&j->mem, r->text, r->n, &value);
    seen *out = store_alloc(s, sizeof *out + value.n);
    if (out == NULL) escape(&j->out, STE_ERR_NO_MEMORY, 0, "value");
    out->before = before;
    out->count = before == NULL ? 1 : before->count + 1;
    out->size = value.n;
    memcpy(out->value, value.at, value.n);
    pthread_mutex_lock(&s->grow);
    out->next = s->seens;
    s->seens = out;
    pthread_mutex_unlock(&s->grow);
    if (!find_start(j, p->of, out, &out->start)) escape(&j->out, STE_ERR_NO_MEMORY, 0, "value");
    return out;
}

/* ---- steps ---- */

static const uint8_t *whole_text(judge *j, const progress *p, uint32_t byte) {
    uint8_t *text = arena_alloc(&j->mem, (size_t)p->length + 1, 1);
    text[p->length] = (uint8_t)byte;
    for (; p->before != NULL; p = p->before) text[p->length - 1] = p->byte;
    return text;
}

static bool take_read(judge *j, progress *p, uint32_t byte, set *at, element_step *out) {
    if (setjmp(j->out.env) != 0) return judge_failed(j);
    reading r = {.at = at, .text = whole_text(j, p, byte), .n = p->length + 1, .n_rivals = p->n_rivals, .rivals = rivals_of(j, p)};
    keep_rivals(j, &r);
    if (is_complete(&r) && !is_rival(j, &r)) {
        out->done = true;
        out->seen = (uint64_t)(uintptr_t)see(j, p, &r);
    }
    byteset allow = open_bytes(j, &r);
    if (!byteset_empty(&allow)) {
        bool shared = r.n_rivals == p->n_rivals;
        progress within = {.at = at, .of = p->of, .before = p, .seen = p->seen, .kind = READ, .byte = (uint8_t)byte,
                           .length = p->length + 1, .rivals = shared ? p->rivals : r.rivals, .n_rivals = r.n_rivals, .allow = allow,
                           .own_rivals = shared ? 0 : r.n_rivals};
        out->within = intern_alone(j->u->s, within);
        if (out->within == NULL) escape(&j->out, STE_ERR_NO_MEMORY, 0, "element");
    }
    arena_free(&j->mem);
    return true;
}

static bool take(use *u, progress *p, uint32_t byte, element_step *out) {
    *out = (element_step){0};
    set *at = set_step(u, p->at, byte);
    if (at == NULL) return false;
    if (depth_inside(at) >= MAX_DEPTH) {
        u->code = STE_ERR_LIMIT;
        return false;
    }
    bool complete = (at->flags & SET_EXITS) != 0;
    if (p->kind == READ && (complete || p->n_rivals != 0)) {
        judge j;
        judge_init(&j, u);
        return take_read(&j, p, byte, at, out);
    }
    if (complete) { /* not READ */
        out->done = true;
        out->seen = seen_from_count(seen_count(p->seen) + 1);
    }
    if (byteset_empty(&at->allow)) return true;
    progress within = {.at = at, .of = p->of, .seen = p->seen, .kind = p->kind, .allow = at->allow};
    if (p->kind == READ) {
        within.before = p;
        within.byte = (uint8_t)byte;
        within.length = p->length + 1;
    }
    out->within = intern_alone(u->s, within);
    return out->within != NULL;
}

static taken *find_taken(const progress *p, uint32_t byte) {
    taken *t = p->taken;
    while (t != NULL && t->byte != byte) t = t->next;
    return t;
}

bool element_take(use *u, progress *p, uint32_t byte, element_step *out) {
    store *s = u->s;
    if (p->kind != READ) return take(u, p, byte, out); /* the sets remember */
    pthread_mutex_lock(&s->grow);
    taken *t = find_taken(p, byte);
    if (t != NULL) *out = t->step;
    pthread_mutex_unlock(&s->grow);
    if (t != NULL) return true;
    taken *made = store_alloc(s, sizeof *made);
    if (made == NULL) return false;
    if (!take(u, p, byte, &made->step)) {
        store_free(s, made, sizeof *made);
        return false;
    }
    made->byte = byte;
    pthread_mutex_lock(&s->grow);
    t = find_taken(p, byte); /* another thread may have been faster */
    if (t == NULL) {
        made->next = p->taken;
        p->taken = t = made;
        made = NULL;
    }
    *out = t->step;
    pthread_mutex_unlock(&s->grow);
    store_free(s, made, sizeof *made);
    return true;
}

/* ---- conflicts ---- */

typedef struct frame {
    reading at;
    uint32_t end; /* of the subtree */
} frame;

static bool walk_conflicts(judge *j, const progress *p, bool (*found)(void *ctx, uint32_t node), void *ctx) {
    if (setjmp(j->out.env) != 0) return judge_failed(j);
    const trie *t = &j->u->s->vocab->ordinary;
    frame *frames = arena_alloc(&j->mem, t->max_length + 2, sizeof *frames);
    uint32_t depth = 0, i = 1;
    const uint8_t *text = p->length == 0 ? NULL : whole_text(j, p->before, p->byte);
    frames[0].at = (reading){.at = p->at, .text = text, .n = p->length, .n_rivals = p->n_rivals, .rivals = rivals_of(j, p)};
    frames[0].end = t->nodes[0].size;
    keep_rivals(j, &frames[0].at);
    for (;;) {
        while (i == frames[depth].end && depth > 0) depth--;
        frame *f = &frames[depth];
        if (i == f->end) break;
        uint32_t byte = t->nodes[i].byte, end = i + t->nodes[i].size;
        if (!byteset_has(&f->at.at->allow, byte) || !byteset_has(&f->at.any, byte)) {
            i = end;
            continue;
        }
        frame *inner = &frames[depth + 1];
        inner->at = read_on(j, &f->at, byte);
        inner->end = end;
        if ((is_complete(&inner->at) && is_rival(j, &inner->at)) || (!is_endless(j, inner->at.at) && !is_open(j, &inner->at))) {
            if (!found(ctx, i)) escape(&j->out, STE_ERR_NO_MEMORY, 0, "conflicts");
            i = end;
        } else if (inner->at.n_rivals == 0) {
            i = end;
        } else {
            depth++;
            i++;
        }
    }
    arena_free(&j->mem);
    return true;
}

bool element_conflicts(use *u, const progress *p, bool (*found)(void *ctx, uint32_t node), void *ctx) {
    judge j;
    judge_init(&j, u);
    return walk_conflicts(&j, p, found, ctx);
}

/* ---- collection ---- */

void seen_mark(uint64_t reg, void (*each)(void *ctx, set *at), void *ctx) {
    if (reg == 0 || seen_is_count(reg)) return;
    for (seen *v = (seen *)(uintptr_t)reg; v != NULL && !v->mark; v = (seen *)(uintptr_t)v->before) {
        v->mark = true;
        progress_mark(v->start, each, ctx);
    }
}

/* A start's `seen` is where it was met, so marks go to and fro no deeper than once. */
void progress_mark(progress *p, void (*each)(void *ctx, set *at), void *ctx) {
    for (; p != NULL && !p->mark; p = (progress *)(uintptr_t)p->before) {
        p->mark = true;
        each(ctx, p->at);
        if (p->before == NULL) seen_mark(p->seen, each, ctx);
    }
}

static void forget_taken(store *s, progress *p) {
    while (p->taken != NULL) {
        taken *next = p->taken->next;
        store_free(s, p->taken, sizeof *p->taken);
        p->taken = next;
    }
}

void distinct_sweep(store *s) {
    for (uint32_t i = 0; i < table_size(&s->progresses); i++)
        for (progress **at = (progress **)(void *)table_at(&s->progresses, i); *at != NULL;) {
            progress *here = *at;
            forget_taken(s, here);
            if (here->mark) {
                here->mark = false;
                at = &here->chain;
                continue;
            }
            *at = here->chain;
            s->progresses.count--;
            store_free(s, here, progress_size(here));
        }
    for (seen **at = &s->seens; *at != NULL;) {
        seen *here = *at;
        if (here->mark) {
            here->mark = false;
            at = &here->next;
            continue;
        }
        *at = here->next;
        store_free(s, here, sizeof *here + here->size);
    }
}
