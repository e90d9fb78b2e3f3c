/* schema.h - JSON Schema as a graph: references, keywords, alternatives, and the judge of values.
 *
 * Words.
 *   literal      a schema node with a sign: a value must satisfy it, or must not
 *   conjunction  a sorted list of literals that hold together; one grammar rule
 *   own keywords those about the value itself: all but references and the
 *                combinators allOf, anyOf, oneOf, not, if, dependent schemas
 *   branch       nodes whose own keywords hold, and nodes whose own keywords do
 *                not all hold
 *
 * Subschemas stay literals over source nodes (and a few nodes made up here), so
 * there are finitely many and recursion through $ref ends by meeting a known
 * conjunction.  schema_expand turns a conjunction into the union of its
 * branches for one kind of value.  Knowing the kind first makes that union
 * small: `oneOf` of a string and an array has one branch for strings. */
#ifndef STE_SCHEMA_H
#define STE_SCHEMA_H

#include "front.h"
#include "json_text.h"

enum {
    TYPE_NULL = 1,
    TYPE_FALSE = 2,
    TYPE_TRUE = 4,
    TYPE_INTEGER = 8,
    TYPE_FRACTION = 16, /* numbers that are no integers */
    TYPE_NUMBER = TYPE_INTEGER | TYPE_FRACTION,
    TYPE_STRING = 32,
    TYPE_ARRAY = 64,
    TYPE_OBJECT = 128,
    TYPE_ANY = 255,
};

typedef enum dialect { DRAFT_4 = 4, DRAFT_6 = 6, DRAFT_7 = 7, DRAFT_2019 = 8, DRAFT_2020 = 9 } dialect;

typedef enum sign {
    HOLDS,
    FAILS,
    OWN_FAILS, /* within schema_expand: some own keyword of the node does not hold */
    REST_FAILS, /* ... all of the node holds but its "unevaluated..." */
} sign;

typedef struct literal {
    const json *node;
    uint64_t sign;
} literal;

typedef VEC(literal) literal_list;

typedef struct conjunction_entry conjunction_entry;

/* Node -> pointer, open addressing. */
typedef struct node_map {
    const json **keys;
    void **values;
    uint32_t size, n;
} node_map;

void **node_map_slot(work *w, node_map *m, const json *key); /* NULL inside: new */

/* How values are written: see schema_style.h. */
typedef enum value_form { FORM_JSON, FORM_LIST, FORM_ARGUMENT, FORM_ITEM, FORM_BARE, FORM_GEMMA, FORM_PYTHON, FORM_LITERAL } value_form;

/* What stands around and between the parts of objects and arrays. */
typedef struct notation {
    json_spaces space;
    expr *first; /* before the first member or item, and not in what is empty */
    expr *object, *object_end, *empty_end; /* empty_end: after `object` at once */
    expr *array, *array_end;
} notation;

struct schema_context {
    builder *b;
    const json *root; /* of the document: "#" */
    const json *documents; /* by URI, those that the caller gave; or NULL */
    dialect draft; /* of the root, see schema_draft */
    bool mixed;    /* some resource has another one */
    const struct style *style;
    const json *excludes; /* strings that no string may contain, as it is written; NULL: none */
    notation json, list;
    const notation *now;  /* of the form at hand ... */
    json_spaces space;    /* ... and its spaces */
    value_form form, inner;     /* of what is being lowered, and of what is inside it */
    uint32_t level, inner_level; /* where lines are indented: of nesting; else 0 */
    uint32_t string, character, number, integer, digits; /* rules, + 1 once made */
    uint32_t literal_string; /* likewise: any string of FORM_LITERAL */
    uint32_t closing_key; /* likewise: see schema_style.h, longest_key */
    uint32_t regex[2]; /* of regular expressions, and of those that are not empty */
    conjunction_entry **table;
    uint32_t table_size, n_entries;
    VEC(conjunction_entry *) waiting; /* rules without a body yet */
    node_map checked;   /* nodes whose keywords have been checked */
    node_map targets;   /* "$ref" -> the node it means */
    node_map types;     /* node -> schema_may_be, + 1 */
    node_map automata;  /* "pattern" or "format" -> its automaton; strings under patternProperties too */
    node_map canonical; /* node -> the first one that says the same */
    struct same_nodes *same; /* the nodes of `canonical`, by hash */
    node_map negations; /* node -> what its negation is made of */
    fsm *hostname, *flat_regex;
    uint32_t negated; /* within what must not hold */
    struct schema_text *texts; /* patterns and formats by their text */
    struct shared_format *formats; /* rules of strings of which only the format is said */
    struct schema_references *references; /* NULL until the first reference */
    uint32_t depth; /* of nested values while judging */
    bool any_order; /* of keys */
    bool any_for_one; /* oneOf is read as anyOf */
    bool level_noted;
    int layout;     /* of the JSON text (json_layout) */
    VEC(const json *) unions; /* what schema_any_of made */
};

/* ---- schema_check.c ---- */

/* Check the keywords of the schema and of all that it can reach. */
void schema_check(schema_context *c, const json *schema);
bool schema_key_is(const json *member, const char *key);
/* Do references make their sibling keywords void? */
bool schema_overridden(const schema_context *c, const json *node);

/* ---- schema_resource.c ---- */

/* The dialect in which a node is read. */
dialect schema_draft(const schema_context *c, const json *node);
/* A made-up node is of its model's resource. */
void schema_adopt(schema_context *c, const json *node, const json *model);
/* Once. */
void schema_find_resources(schema_context *c);
/* The draft that a "$schema" names; `otherwise` if there is none, or another URI. */
dialect schema_named_dialect(const json *node, dialect otherwise);

/* ---- schema_reference.c ---- */

/* What to lower instead of the schema, once it and all that it can reach has been checked. */
const json *schema_lowered_root(schema_context *c, const json *schema);
/* All subschemas that the dynamic references met so far may mean. */
void schema_each_dynamic_target(schema_context *c, void (*each)(void *ctx, const json *node), void *ctx);

/* Are all references resolved against the document itself? */
bool schema_single_resource(const schema_context *c);
/* What a "$ref", "$dynamicRef" or "$recursiveRef" member means. */
const json *schema_target(schema_context *c, const json *ref);

/* ---- schema_keyword.c: what nodes say, without references and combinators ---- */

/* A keyword's value, NULL if it is absent, or does not count in this dialect. */
const json *schema_get(const schema_context *c, const json *node, const char *key);
uint32_t schema_types(const json *node); /* of "type" */
uint32_t schema_value_type(const json *value);
/* The subschemas of a node for an array index, or NULL. */
const json *schema_item(const schema_context *c, const json *node, uint32_t index);
uint32_t schema_prefix_length(const schema_context *c, const json *node);
/* The bounds of a node: false if there is none. */
bool schema_low(const json *node, const json **value, bool *exclusive);
bool schema_high(const json *node, const json **value, bool *exclusive);
/* Does the node say nothing (true, or an object without keywords)? */
bool schema_says_nothing(const json *node);

/* The first node met that says the same: literals are equal if their schemas are. */
const json *schema_canonical(schema_context *c, const json *node);
/* {"enum": [value]} */
const json *schema_only(schema_context *c, const json *value);

/* Nodes that are made up; `model` is the place that errors name. */
const json *schema_requires(schema_context *c, const json *model, const char *key, uint32_t n);
const json *schema_forbids(schema_context *c, const json *model, const char *key, uint32_t n);
const json *schema_string(schema_context *c, const json *model, const char *text, uint32_t n);
/* {"anyOf": [...]}; equal lists give the same node. */
const json *schema_any_of(schema_context *c, const json *model, const json *list, uint32_t n);
extern const json schema_never;
/* The schema of the arrays or objects that equal this one; a key of its own says that the order of keys is free. */
#define UNORDERED "\1unordered"
const json *schema_exactly(schema_context *c, const json *value);
/* The node with only the listed keywords, or with only the others; the list ends with NULL. */
const json *schema_select(schema_context *c, const json *node, const char *const *keys, bool listed);

/* ---- schema_expand.c ---- */

typedef struct schema_branch {
    const json **holds, **fails;
    uint32_t n_holds, n_fails;
    const struct pending *const *from; /* how each of `holds` came in */
} schema_branch;

typedef VEC(schema_branch) schema_branches;

/* Where a branch comes from, for errors. */
const json *schema_place(const schema_context *c, const schema_branch *branch);

/* The branches of a conjunction for one kind: OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE or NULL.
 * all = false: one branch is enough. */
schema_branches schema_expand(schema_context *c, uint32_t kind, const literal *literals, uint32_t n, bool all);
/* Did holds[i] come in through `node` (or is it that)? */
bool schema_under(const schema_branch *branch, uint32_t i, const json *node);
/* Must what holds[i] leaves unevaluated fail its "unevaluated..."? */
bool schema_rest_fails(const schema_branch *branch, uint32_t i);
/* Kinds that values of the schema may have; others are impossible. */
uint32_t schema_may_be(schema_context *c, const json *node);

/* The values that the literals admit, if they are listed somewhere and so finitely many; else false. */
bool schema_finite(schema_context *c, const literal *literals, uint32_t n, json **values, uint32_t *n_values);

/* ---- schema_judge.c: does a given value satisfy a schema? ---- */

bool schema_valid(schema_context *c, const json *value, const json *schema);
bool schema_own_holds(schema_context *c, const json *value, const json *node);
/* All own keywords hold but "unevaluated...". */
bool schema_only_rest_fails(schema_context *c, const json *value, const json *node);

/* ---- schema_string.c ---- */

/* The automaton over code points of a "pattern", a "format" or a key of "patternProperties";
 * NULL for a format that is an annotation. */
fsm *schema_pattern(schema_context *c, const json *at);
fsm *schema_format(schema_context *c, const json *at);
bool schema_accepts(const fsm *automaton, const char *text, uint32_t n);
/* All strings but these; NULL: none. */
fsm *schema_other_strings(schema_context *c, const json *values, uint32_t n);
/* All strings that the literals admit, over code points; NULL: none. */
fsm *schema_strings(schema_context *c, const literal *literals, uint32_t n);

/* ---- schema_guidance.c ---- */

/* The rule of a schema with "x-guidance". */
expr *schema_guided(const schema_context *c, const json *schema);

/* ---- schema_regex.c ---- */

/* Strings of "format": "regex", some of them. */
fsm *schema_flat_regex(schema_context *c, const json *at);

/* ---- schema_lower.c and the kinds ---- */

/* The rule of a whole schema. */
expr *schema_lower(schema_context *c, const json *schema);
void literal_add(schema_context *c, literal_list *list, const json *node, sign s);
/* The rule of a conjunction; its body is made when the work list comes to it. */
expr *conjunction_rule(schema_context *c, const literal_list *list);
expr *schema_fixed(schema_context *c, const json *value);
/* The narrowest of two count keywords over all nodes; false if nothing satisfies both. */
bool schema_counts(const schema_branch *branch, const char *min_name, const char *max_name, uint32_t *min, uint32_t *max);

expr *lower_string(schema_context *c, const schema_branch *branch);
expr *lower_number(schema_context *c, const schema_branch *branch);
expr *lower_array(schema_context *c, const schema_branch *branch);
expr *lower_object(schema_context *c, const schema_branch *branch);

#endif
