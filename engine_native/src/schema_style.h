/* schema_style.h - the styles of tool calls: how objects and values are written where they are not JSON.
 *
 * A style says what stands around keys and values.  Values are written in one of
 * these *forms*; a conjunction has a rule for each form it is met in.
 *
 *   JSON      JSON text
 *   LIST      the members of an object, one after the other, without brackets
 *   ARGUMENT  what follows a key: perhaps the type of the value, then the value
 *   ITEM      an item of an array, markers included (recursive styles)
 *   BARE      a value with nothing around it: a root that is no object
 *   GEMMA     JSON with bare keys, and strings between marks
 *   PYTHON    JSON with True, False and None
 *   LITERAL   likewise, and strings as Python prints them: an array or object in ARGUMENT, besides JSON
 *
 *   member [KEY] middle (label after_label) VALUE close      one ARGUMENT and its key
 *
 * In ARGUMENT, ITEM and BARE a string is *raw*: its text, in which the guard and
 * the excluded strings do not occur.  White space around it is part of it; only
 * listed strings and values that are no strings may have some around them. */
#ifndef STE_SCHEMA_STYLE_H
#define STE_SCHEMA_STYLE_H

#include "schema.h"

typedef struct style_escape {
    char from;
    const char *to;
} style_escape;

struct style {
    const char *name;
    const char *member;       /* before a key */
    const char *middle;       /* after it */
    const char *middle2;      /* and after white space there; NULL: there is none */
    const char *labels[5];    /* of strings, numbers and the like, JSON text, arrays, objects; NULL: there are none */
    const char *after_label;
    const char *close;        /* after the value; begins with the guard */
    const char *close_key, *key_end; /* and then around its key again; NULL: without */
    const char *item, *item_end; /* around an item of an array, like `member` with the beginning of the label and `close`;
                                  * NULL: what is inside of values is JSON */
    const char *guard;        /* must not occur in raw strings */
    const char *forbidden;    /* characters that a key cannot have, besides controls */
    const style_escape *escapes; /* in keys; ends with from = 0 */
    bool kinds;               /* labels name the JSON type: see style_label */
    uint32_t python;          /* types whose only value may stand as Python spells it, too, where values are no JSON text */
    bool literals;            /* and arrays and objects as Python prints them */
    uint32_t longest_key;     /* of keys that are not declared, where their values end with a key again: any such key; 0: else */
    const char *item_key;     /* the key that an item has there: within values only a declared key can be the same; NULL: none */
};

/* 0: JSON; a number of a style; or UINT32_MAX. */
uint32_t style_number(const char *name);
const char *style_names(void); /* for messages */

/* Sets style, forms and notations of a new context. */
void style_open(schema_context *c, int layout);
value_form style_root(schema_context *c, const json *schema);
/* Indent lines for this level of nesting, if lines are indented at all; before style_form. */
void style_level(schema_context *c, uint32_t level);
void style_form(schema_context *c, value_form f);
/* What stands between the tokens of JSON. */
void style_spaces(schema_context *c, json_spaces space);

static inline bool form_is_raw(value_form f) { return f == FORM_ARGUMENT || f == FORM_ITEM || f == FORM_BARE; }
static inline bool form_is_spelled(value_form f) { return form_is_raw(f) || f == FORM_GEMMA; } /* strings are no JSON */

/* The form of a value's members or items. */
value_form style_inner(const schema_context *c, uint32_t kind);
/* one, a value of the kind in the context's form, with what stands around it. */
expr *style_value(schema_context *c, uint32_t kind, bool fixed, expr *one);
expr *style_integer(schema_context *c, expr *one); /* under the label of integers; NULL if there is none */
bool style_has_labels(const schema_context *c);
/* true, false or null, as the form at hand writes it. */
expr *style_word(schema_context *c, uint32_t kind);
/* A fixed value as an item of the array that is being lowered. */
expr *style_fixed_item(schema_context *c, const json *value);

/* Objects. */
expr *style_key(schema_context *c, const json *place, const char *key, uint32_t n);
/* Of the keys of an automaton over code points those that can be written; NULL if there are none. */
fsm *style_keys(schema_context *c, fsm *keys);
/* Where they are no JSON, with what follows a key: else the rule could end anywhere. */
expr *style_spelled_keys(schema_context *c, const fsm *keys);
/* A member; known: its key was named, and not spelled as above. */
expr *style_pair(schema_context *c, expr *key, expr *bare_key, bool known, expr *value);

/* ---- schema_raw.c: strings that are no JSON ---- */

/* Texts of min..max characters, and the guard after them but in the form BARE; before them, too, in the form GEMMA. */
expr *raw_text(schema_context *c, uint32_t min, uint32_t max);
/* The texts of an automaton over code points, likewise. */
expr *raw_texts(schema_context *c, const fsm *f);
/* One listed text; the guard only in the form GEMMA. */
expr *raw_fixed(schema_context *c, const char *text, uint32_t n);
/* Strings as Python prints them, quotes of either kind included: one; those of an automaton over code points, NULL: all; the
 * same of some lengths.  There is a JSON way to write each: what is too large is left out. */
expr *literal_fixed(schema_context *c, const char *text, uint32_t n);
expr *literal_texts(schema_context *c, const fsm *f);
expr *literal_lengths(schema_context *c, uint32_t min, uint32_t max);
/* JSON strings, quotes included, of spelled bodies that do not contain the excluded strings. */
expr *json_quoted_without(schema_context *c, const json *place, fsm *body);
expr *json_free_without(schema_context *c, const json *place);
bool excluded_in(const schema_context *c, const char *text, uint32_t n);
/* Automaton over code points or bytes: without texts that contain one of the strings.  NULL: nothing is left. */
fsm *without_strings(schema_context *c, const fsm *f, bool code_points);

#endif
