/* schema_member.c - the keys of an object: known ones, and regions of all others. */
#include "fsm_product.h"
#include "json_text.h"
#include "schema_object.h"
#include "schema_style.h"

#define MAX_REGIONS 256
#define MAX_PATTERNS 64
#define MAX_REGION_STATES 50000 /* of the keys of all regions together */

/* ---- known keys ---- */

member *find_member(object_builder *o, const char *key, uint32_t n) {
    for (uint32_t i = 0; i < o->members.n; i++)
        if (o->members.at[i].key_n == n && memcmp(o->members.at[i].key, key, n) == 0) return &o->members.at[i];
    return NULL;
}

static member *add_member(object_builder *o, const char *key, uint32_t n) {
    member *found = find_member(o, key, n);
    if (found != NULL) return found;
    work_charge(o->c->b->w, 1 + o->members.n / 64);
    vec_push(&o->c->b->w->mem, &o->members, (member){.key = key, .key_n = n});
    return &o->members.at[o->members.n - 1];
}

static void add_names(object_builder *o, const json *list, bool required) {
    for (uint32_t k = 0; list != NULL && list->kind == JSON_ARRAY && k < list->n; k++) {
        member *m = add_member(o, list->u.items[k].u.text, list->u.items[k].n);
        m->required = m->required || required;
    }
}

static void add_keys(object_builder *o, const json *map, bool declared, bool negated, uint32_t chain) {
    for (uint32_t k = 0; map != NULL && k < map->n; k++) {
        member *m = add_member(o, map->u.items[k].key, map->u.items[k].key_n);
        if (m->declared || m->negated) continue;
        m->declared = declared;
        m->negated = negated;
        m->chain = chain;
    }
}

static void add_dependent_names(object_builder *o, const json *map) {
    for (uint32_t k = 0; map != NULL && k < map->n; k++) {
        const json *one = &map->u.items[k];
        if (one->kind == JSON_ARRAY && one->n > 0) {
            add_member(o, one->key, one->key_n);
            add_names(o, one, false);
        } else if (one->kind == JSON_STRING) {
            add_member(o, one->key, one->key_n);
            add_member(o, one->u.text, one->n);
        }
    }
}

void find_members(object_builder *o) {
    schema_context *c = o->c;
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_holds; i++)
        add_keys(o, json_get(b->holds[i], "properties"), json_get(b->holds[i], UNORDERED) == NULL, false, i);
    for (uint32_t i = 0; i < b->n_holds; i++) add_names(o, json_get(b->holds[i], "required"), true);
    for (uint32_t i = 0; i < b->n_holds; i++) {
        add_dependent_names(o, json_get(b->holds[i], "dependencies"));
        add_dependent_names(o, schema_get(c, b->holds[i], "dependentRequired"));
    }
    for (uint32_t i = 0; i < b->n_fails; i++) {
        add_keys(o, json_get(b->fails[i], "properties"), false, json_get(b->fails[i], UNORDERED) == NULL, b->n_holds + i);
        add_names(o, json_get(b->fails[i], "required"), false);
    }
}

/* ---- what values must satisfy ---- */

static uint32_t pattern_number(object_builder *o, fsm *pattern) {
    uint32_t i = 0;
    while (i < o->patterns.n && o->patterns.at[i] != pattern) i++;
    if (i == MAX_PATTERNS)
        json_escape(o->c->b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "more than %d patterns for the keys of one object", MAX_PATTERNS);
    if (i == o->patterns.n) vec_push(&o->c->b->w->mem, &o->patterns, pattern);
    return i;
}

static bool key_matches(object_builder *o, const member *m, const json *pattern) {
    fsm *f = schema_pattern(o->c, pattern);
    if (f == NULL) return false;
    return m->key != NULL ? schema_accepts(f, m->key, m->key_n) : (m->matches >> pattern_number(o, f) & 1) != 0;
}

bool node_schemas(object_builder *o, const json *node, const member *m,
                  void (*each)(object_builder *o, const json *schema, void *ctx), void *ctx) {
    const json *properties = m->key == NULL ? NULL : json_get(node, "properties");
    const json *patterns = json_get(node, "patternProperties"), *other = json_get(node, "additionalProperties");
    const json *own = properties == NULL ? NULL : json_member(properties, m->key, m->key_n);
    bool known = own != NULL;
    if (own != NULL) each(o, own, ctx);
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++) {
        if (!key_matches(o, m, &patterns->u.items[i])) continue;
        known = true;
        each(o, &patterns->u.items[i], ctx);
    }
    if (!known && other != NULL) each(o, other, ctx);
    return known;
}

static void add_holding(object_builder *o, const json *schema, void *ctx) { literal_add(o->c, ctx, schema, HOLDS); }

bool name_fits(object_builder *o, const json *node, const member *m) {
    const json *keys = schema_get(o->c, node, "propertyNames");
    if (keys == NULL || m->key == NULL) return true;
    return schema_valid(o->c, schema_string(o->c, keys, m->key, m->key_n), keys);
}

static void ignore_schema(object_builder *o, const json *schema, void *ctx) {
    (void)o;
    (void)schema;
    (void)ctx;
}

bool key_is_evaluated(object_builder *o, const json *node, const member *m) {
    const schema_branch *b = o->branch;
    for (uint32_t k = 0; k < b->n_holds; k++) {
        const json *inner = b->holds[k];
        if (!schema_under(b, k, node)) continue;
        if (json_get(inner, "additionalProperties") != NULL) return true;
        if (inner != node && schema_get(o->c, inner, "unevaluatedProperties") != NULL) return true;
        if (node_schemas(o, inner, m, ignore_schema, NULL)) return true;
    }
    return false;
}

void find_literals(object_builder *o, member *m) {
    const schema_branch *b = o->branch;
    for (uint32_t i = 0; i < b->n_holds; i++) {
        const json *rest = schema_get(o->c, b->holds[i], "unevaluatedProperties");
        node_schemas(o, b->holds[i], m, add_holding, &m->literals);
        if (!name_fits(o, b->holds[i], m)) literal_add(o->c, &m->literals, &schema_never, HOLDS);
        if (rest != NULL && !schema_says_nothing(rest) && !schema_rest_fails(b, i) && !key_is_evaluated(o, b->holds[i], m))
            literal_add(o->c, &m->literals, rest, HOLDS);
    }
}

bool literals_are_never(const literal_list *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].sign == HOLDS ? list->at[i].node->kind == JSON_FALSE : schema_says_nothing(list->at[i].node)) return true;
    return false;
}

/* ---- regions ---- */

static void check_regions(const object_builder *o) {
    uint32_t states = 0;
    for (uint32_t i = 0; i < o->regions.n; i++) states += fsm_size(o->regions.at[i].keys);
    if (o->regions.n > MAX_REGIONS || states > MAX_REGION_STATES)
        json_escape(o->c->b->w, schema_place(o->c, o->branch), STE_ERR_LIMIT, "the patterns for keys overlap in more than %d ways, or need more than %d states",
                    MAX_REGIONS, MAX_REGION_STATES);
}

static void split_regions(object_builder *o, uint32_t pattern) {
    schema_context *c = o->c;
    const fsm *f = o->patterns.at[pattern];
    for (uint32_t i = 0, n = o->regions.n; i < n; i++) {
        fsm *in = fsm_intersection(o->regions.at[i].keys, f);
        in = in == NULL ? NULL : fsm_reduce(in);
        if (in == NULL) continue;
        member inside = {.keys = in, .matches = o->regions.at[i].matches | UINT64_C(1) << pattern};
        o->regions.at[i].keys = fsm_reduce(fsm_difference(o->regions.at[i].keys, f));
        if (o->regions.at[i].keys == NULL)
            o->regions.at[i] = inside;
        else
            vec_push(&c->b->w->mem, &o->regions, inside);
        check_regions(o);
    }
}

static void add_patterns(object_builder *o, const json *node) {
    const json *patterns = json_get(node, "patternProperties");
    for (uint32_t i = 0; patterns != NULL && i < patterns->n; i++) {
        fsm *f = schema_pattern(o->c, &patterns->u.items[i]);
        if (f != NULL) pattern_number(o, f);
    }
}

static fsm *names_automaton(object_builder *o, const json *keys) {
    return schema_strings(o->c, &(literal){keys, HOLDS}, 1);
}

static bool closed(const object_builder *o) {
    for (uint32_t i = 0; i < o->branch->n_holds; i++) {
        const json *node = o->branch->holds[i], *other = json_get(node, "additionalProperties");
        if (other != NULL && other->kind == JSON_FALSE && json_get(node, "patternProperties") == NULL) return true;
    }
    return false;
}

static bool says(const object_builder *o, const char *keyword) {
    for (uint32_t i = 0; i < o->branch->n_holds; i++)
        if (schema_get(o->c, o->branch->holds[i], keyword) != NULL) return true;
    for (uint32_t i = 0; i < o->branch->n_fails; i++)
        if (schema_get(o->c, o->branch->fails[i], keyword) != NULL) return true;
    return false;
}

void find_regions(object_builder *o) {
    schema_context *c = o->c;
    const schema_branch *b = o->branch;
    arena *mem = &c->b->w->mem;
    if (closed(o)) return;
    for (uint32_t i = 0; i < b->n_holds; i++) add_patterns(o, b->holds[i]);
    for (uint32_t i = 0; i < b->n_fails; i++) add_patterns(o, b->fails[i]);
    if (!says(o, "propertyNames") && o->patterns.n == 0 && c->form == FORM_JSON && c->excludes == NULL) {
        const char **taken = arena_alloc(mem, (size_t)o->members.n + 1, sizeof *taken);
        uint32_t *length = arena_alloc(mem, (size_t)o->members.n + 1, sizeof *length);
        for (uint32_t i = 0; i < o->members.n; i++) {
            taken[i] = o->members.at[i].key;
            length[i] = o->members.at[i].key_n;
        }
        bool counted = says(o, "minProperties") || says(o, "maxProperties"); /* then rules of keys that differ look into it */
        expr *key = (counted ? json_other_string_now : json_other_string)(c->b, taken, length, o->members.n);
        vec_push(mem, &o->regions, (member){.spelled = key});
    } else {
        json *taken = arena_alloc(mem, o->members.n + 1, sizeof *taken);
        for (uint32_t i = 0; i < o->members.n; i++)
            taken[i] = *schema_string(c, schema_place(c, b), o->members.at[i].key, o->members.at[i].key_n);
        fsm *keys = style_keys(c, schema_other_strings(c, taken, o->members.n));
        for (uint32_t i = 0; i < b->n_holds && keys != NULL; i++) {
            const json *at = schema_get(c, b->holds[i], "propertyNames");
            if (at == NULL) continue;
            keys = fsm_intersection(keys, names_automaton(o, at));
            if (keys != NULL) keys = fsm_reduce(keys);
        }
        if (keys == NULL) return;
        vec_push(mem, &o->regions, (member){.keys = keys});
        for (uint32_t i = 0; i < o->patterns.n; i++) split_regions(o, i);
    }
    for (uint32_t i = 0; i < o->regions.n; i++) find_literals(o, &o->regions.at[i]);
    /* A key outside of the negated "propertyNames" makes that clause true: a region of its own.
     * (Clauses are not numbered yet: the first ones will be those of `fails`, in order.) */
    for (uint32_t k = 0; k < b->n_fails; k++) {
        const json *at = schema_get(c, b->fails[k], "propertyNames");
        if (at != NULL && k >= MAX_CLAUSES)
            json_escape(c->b->w, at, STE_ERR_LIMIT, "more than %d negated schemas for one object", MAX_CLAUSES);
        c->negated++;
        fsm *good = at == NULL ? NULL : names_automaton(o, at);
        c->negated--;
        for (uint32_t i = 0, n = at == NULL ? 0 : o->regions.n; i < n; i++) {
            fsm *bad = fsm_difference(o->regions.at[i].keys, good);
            bad = bad == NULL ? NULL : fsm_reduce(bad);
            if (bad == NULL) continue;
            member outside = o->regions.at[i];
            outside.keys = bad;
            outside.there |= UINT32_C(1) << k;
            fsm *rest = fsm_intersection(o->regions.at[i].keys, good);
            o->regions.at[i].keys = rest == NULL ? NULL : fsm_reduce(rest);
            if (o->regions.at[i].keys == NULL)
                o->regions.at[i] = outside;
            else
                vec_push(mem, &o->regions, outside);
        }
    }
    uint32_t keep = 0;
    for (uint32_t i = 0; i < o->regions.n; i++)
        if (!literals_are_never(&o->regions.at[i].literals)) o->regions.at[keep++] = o->regions.at[i];
    o->regions.n = keep;
    for (uint32_t i = 0; i < keep; i++)
        if (o->regions.at[i].spelled == NULL) o->regions.at[i].spelled = style_spelled_keys(c, o->regions.at[i].keys);
}
