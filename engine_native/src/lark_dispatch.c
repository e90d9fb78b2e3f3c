/* lark_dispatch.c - free text that tool calls interrupt.
 *
 *   start: (tool_a | tool_b)* tail          tail: TEXT
 *   tool_a: head "..."                      head[lazy]: TEXT "<a>"
 *
 * TEXT is a terminal for any text.  Read as a context-free grammar this is any
 * text at all; what is meant is that the first trigger to complete decides.
 * So this shape of a start rule becomes one dispatch (expr.h): each tool is
 * what comes after its trigger.  A head is a rule whose texts are any text and
 * then one fixed text, however that is written, or TEXT before a token. */
#include "lark.h"
#include "regular.h"

typedef struct dispatcher {
    lark_lowering *l;
    lark_scope *s;
    const lark_environment *in;
    fsm *text; /* any text */
    VEC(dispatch_pattern) patterns;
} dispatcher;

static bool same(const fsm *a, const fsm *b) {
    if (a == NULL || b == NULL || fsm_size(a) != fsm_size(b) || a->edges.n != b->edges.n || a->start != b->start) return false;
    return memcmp(a->final.at, b->final.at, fsm_size(a)) == 0 && memcmp(a->edges.at, b->edges.at, a->edges.n * sizeof *a->edges.at) == 0;
}

static lark_definition *definition_of(const dispatcher *d, const lark_node *node) {
    return node->kind == LARK_NAME && node->u.name.n_arguments == 0 && node->u.name.param.kind == PARAM_NONE
               ? lark_find(d->s, node->u.name.name, node->n)
               : NULL;
}

static bool is_rule(const lark_definition *r) { return r != NULL && !r->terminal && !r->parametric && r->n_parameters == 0; }

/* Is it made of terminals only? */
static bool is_terminal(const dispatcher *d, const lark_node *node) {
    switch (node->kind) {
    case LARK_NAME: {
        const lark_definition *named = definition_of(d, node);
        return named != NULL && named->terminal;
    }
    case LARK_SEQUENCE:
    case LARK_CHOICE:
        for (uint32_t i = 0; i < node->n; i++)
            if (!is_terminal(d, node->u.parts[i])) return false;
        return true;
    case LARK_REPEAT:
        return is_terminal(d, node->u.repeat.body);
    default:
        return node->kind == LARK_TEXT || node->kind == LARK_RANGE || node->kind == LARK_REGEX;
    }
}

static fsm *automaton(const dispatcher *d, const expr *e) {
    const char *why = NULL;
    return regular_automaton(d->l->b, e, &why);
}

static bool is_text(const dispatcher *d, const lark_node *node) {
    return is_terminal(d, node) && same(automaton(d, lark_terminal(d->l, d->s, node)), d->text);
}

/* The tail: any text, or a rule that is nothing but that. */
static bool is_tail(const dispatcher *d, const lark_node *node) {
    const lark_definition *rule = definition_of(d, node);
    if (is_rule(rule) && !lark_has_end(&rule->attributes) && rule->attributes.capture == NULL) node = rule->body;
    return is_text(d, node);
}

/* A shortest text of f: its symbols. */
static uint32_t shortest(const dispatcher *d, const fsm *f, const uint32_t **symbols) {
    arena *mem = &d->l->b->w->mem;
    uint32_t n = fsm_size(f), head = 0, tail = 0, end = UINT32_MAX;
    uint32_t *queue = arena_alloc(mem, n, sizeof *queue), *by = arena_alloc(mem, n, sizeof *by);
    queue[tail++] = f->start;
    for (; head < tail && end == UINT32_MAX; head++) {
        if (f->final.at[queue[head]]) end = queue[head];
        for (uint32_t e = f->first[queue[head]]; e < f->first[queue[head] + 1]; e++) {
            uint32_t to = f->edges.at[e].to;
            if (to == f->start || by[to] != 0) continue;
            by[to] = e + 1;
            queue[tail++] = to;
        }
    }
    uint32_t length = 0;
    for (uint32_t at = end; at != f->start; at = f->edges.at[by[at] - 1].from) length++;
    uint32_t *out = arena_alloc(mem, (size_t)length + 1, sizeof *out), k = length;
    for (uint32_t at = end; at != f->start; at = f->edges.at[by[at] - 1].from) out[--k] = f->edges.at[by[at] - 1].lo;
    *symbols = out;
    return length;
}

/* The one token of a set; escapes if there are several, which could not be told apart from text. */
static uint32_t trigger_token(const dispatcher *d, const lark_node *node) {
    const ste_vocab *v = d->l->b->vocab;
    uint32_t found = TRIE_NO_TOKEN, n = 0;
    for (uint32_t t = 0; t < v->n_tokens; t++)
        if (bit_get(node->u.tokens.set.bits, t)) {
            found = t;
            n++;
        }
    if (n != 1 || node->u.tokens.negated || !bit_get(v->special, found))
        lark_bad(d->l->r, node->at, STE_ERR_UNSUPPORTED, "the token that ends free text must be one special token");
    return found;
}

/* The trigger of a rule's text "any text, then the trigger"; 0 if it is no such rule. */
static uint32_t head_trigger(const dispatcher *d, const lark_definition *head, const uint32_t **symbols) {
    const lark_attributes *a = &head->attributes;
    if ((!a->lazy && a->end == NULL) || a->capture != NULL || a->stop_capture != NULL || a->max_chars != REPEAT_INFINITE) return 0;
    builder *b = d->l->b;
    const lark_node *body = head->body;
    if (body->kind == LARK_SEQUENCE && body->n == 2 && body->u.parts[1]->kind == LARK_TOKENS && a->end == NULL) {
        if (!is_text(d, body->u.parts[0])) return 0;
        uint32_t *one = arena_alloc(&b->w->mem, 1, sizeof *one);
        one[0] = SYM_TOKEN + trigger_token(d, body->u.parts[1]);
        *symbols = one;
        return 1;
    }
    if (!is_terminal(d, body)) return 0;
    expr *e = lark_terminal(d->l, d->s, body);
    if (a->end != NULL) e = expr_pair(b, e, lark_terminal(d->l, d->s, a->end));
    fsm *f = automaton(d, e);
    if (f == NULL) return 0;
    uint32_t n = shortest(d, f, symbols);
    fsm *expected = fsm_new(b->w); /* any text and these symbols */
    uint32_t at = fsm_state(expected);
    fsm_insert(expected, d->text, expected->start, at);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = fsm_state(expected);
        fsm_edge_add(expected, at, (*symbols)[i], (*symbols)[i], next);
        at = next;
    }
    expected->final.at[at] = 1;
    return n > 0 && same(f, automaton(d, expr_fsm(b, expected))) ? n : 0;
}

/* A tool: head rest ..., or TEXT <token> rest ...; false if it is none. */
static bool add_tool(dispatcher *d, const lark_node *node) {
    lark_definition *tool = definition_of(d, node);
    if (!is_rule(tool) || lark_has_end(&tool->attributes) || tool->attributes.capture != NULL) return false;
    const lark_node *body = tool->body;
    builder *b = d->l->b;
    dispatch_pattern p = {0};
    uint32_t from = 1;
    if (body->kind != LARK_SEQUENCE) return false;
    const lark_definition *head = definition_of(d, body->u.parts[0]);
    if (is_rule(head)) {
        p.n = head_trigger(d, head, &p.symbols);
    } else if (body->u.parts[1]->kind == LARK_TOKENS && is_text(d, body->u.parts[0])) {
        uint32_t *one = arena_alloc(&b->w->mem, 1, sizeof *one);
        one[0] = SYM_TOKEN + trigger_token(d, body->u.parts[1]);
        p.symbols = one;
        p.n = 1;
        from = 2;
    }
    if (p.n == 0) return false;
    VEC(expr *) rest = {0};
    if (d->s->skip != NULL) vec_push(&b->w->mem, &rest, d->s->skip);
    for (uint32_t i = from; i < body->n; i++) {
        expr *part = lark_lower_part(d->l, body->u.parts[i], d->in);
        vec_push(&b->w->mem, &rest, part);
    }
    p.then = expr_sequence(b, rest.at, rest.n);
    vec_push(&b->w->mem, &d->patterns, p);
    return true;
}

/* A lazy head ends with the first trigger: a longer one that begins with it never comes.  (In a dispatch it would.) */
static bool never_completes(const dispatcher *d, uint32_t which) {
    const dispatch_pattern *p = &d->patterns.at[which];
    for (uint32_t i = 0; i < d->patterns.n; i++) {
        const dispatch_pattern *other = &d->patterns.at[i];
        if (other->n < p->n && memcmp(other->symbols, p->symbols, other->n * sizeof *p->symbols) == 0) return true;
    }
    return false;
}

expr *lark_dispatch(lark_lowering *l, lark_scope *s, const lark_definition *start, const lark_environment *in) {
    const lark_node *body = start->body;
    if (!is_rule(start) || lark_has_end(&start->attributes) || start->attributes.capture != NULL) return NULL;
    if (body->kind != LARK_SEQUENCE || body->n != 2 || body->u.parts[0]->kind != LARK_REPEAT) return NULL;
    const lark_node *tools = body->u.parts[0];
    if (tools->u.repeat.min != 0 || tools->u.repeat.max != REPEAT_INFINITE) return NULL;
    dispatcher d = {.l = l, .s = s, .in = in, .text = regular_text(l->b)};
    if (!is_tail(&d, body->u.parts[1])) return NULL;
    tools = tools->u.repeat.body;
    uint32_t n = tools->kind == LARK_CHOICE ? tools->n : 1;
    for (uint32_t i = 0; i < n; i++)
        if (!add_tool(&d, tools->kind == LARK_CHOICE ? tools->u.parts[i] : tools)) return NULL;
    dispatch_pattern *kept = arena_alloc(&l->b->w->mem, d.patterns.n, sizeof *kept);
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < d.patterns.n; i++)
        if (!never_completes(&d, i)) kept[n_kept++] = d.patterns.at[i];
    return expr_dispatch(l->b, kept, n_kept, true);
}
