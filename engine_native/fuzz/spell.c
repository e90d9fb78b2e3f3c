/* spell.c - small grammars as the texts that the engine reads. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "small.h"

void page_print(page *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    uint32_t room = MOST_TEXT - p->n;
    int n = vsnprintf(p->at + p->n, room, format, arguments);
    va_end(arguments);
    if (n < 0 || (uint32_t)n >= room)
        p->full = true;
    else
        p->n += (uint32_t)n;
}

static void spell(const small_grammar *g, spelling how, uint32_t number, page *out);

/* ---- EBNF ---- */

static void spell_class(const node *e, page *out) {
    page_print(out, e->negated ? "[^" : "[");
    for (uint32_t k = 0; k < e->n; k++) {
        page_print(out, "\\u{%X}", (unsigned)e->ranges[k].lo);
        if (e->ranges[k].hi != e->ranges[k].lo) page_print(out, "-\\u{%X}", (unsigned)e->ranges[k].hi);
    }
    page_print(out, "]");
}

/* ---- regular expressions ---- */

/* Calls print for each character of a literal that is UTF-8. */
static void each_character(const node *e, page *out, void (*print)(page *out, uint32_t cp)) {
    for (uint32_t i = 0; i < e->n;) {
        uint8_t c = e->bytes[i];
        uint32_t length = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4, cp = length == 1 ? c : c & (0xFFu >> (length + 1));
        for (uint32_t k = 1; k < length; k++) cp = cp << 6 | (e->bytes[i + k] & 0x3Fu);
        print(out, cp);
        i += length;
    }
}

static void ebnf_character(page *out, uint32_t cp) {
    if (cp >= '0' && cp <= 'z' && cp != '\\')
        page_print(out, "%c", (char)cp);
    else
        page_print(out, cp < 0x100 ? "\\x%02x" : "\\u{%X}", (unsigned)cp);
}

static void ebnf_literal(const node *e, page *out) {
    page_print(out, "\"");
    each_character(e, out, ebnf_character);
    page_print(out, "\"");
}

static void regex_character(page *out, uint32_t cp) { page_print(out, "\\u{%X}", (unsigned)cp); }

static void json_character(page *out, uint32_t cp) {
    if (cp >= 0x10000) {
        page_print(out, "\\u%04X\\u%04X", (unsigned)(0xD7C0 + (cp >> 10)), (unsigned)(0xDC00 + (cp & 0x3FF)));
    } else if (cp >= ' ' && cp < 0x7F && cp != '"' && cp != '\\') {
        page_print(out, "%c", (char)cp);
    } else {
        page_print(out, "\\u%04X", (unsigned)cp);
    }
}

static void json_string(const node *e, page *out) {
    page_print(out, "\"");
    each_character(e, out, json_character);
    page_print(out, "\"");
}

static void spell_counts(const node *e, page *out) {
    if (e->max == WITHOUT_END && e->min < 2)
        page_print(out, e->min == 0 ? "*" : "+");
    else if (e->max == WITHOUT_END)
        page_print(out, "{%u,}", e->min);
    else if (e->min == e->max)
        page_print(out, "{%u}", e->min);
    else
        page_print(out, "{%u,%u}", e->min, e->max);
}

/* ---- structural tags ---- */

static void spell_list(const small_grammar *g, spelling how, const uint32_t *parts, uint32_t n, page *out) {
    page_print(out, "[");
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0) page_print(out, ",");
        if (how == SPELL_CHOICE)
            json_string(&g->nodes[parts[k]], out);
        else
            spell(g, how, parts[k], out);
    }
    page_print(out, "]");
}

static void strings(const small_grammar *g, const char *key, const uint32_t *parts, uint32_t n, page *out) {
    page_print(out, ",\"%s\":", key);
    spell_list(g, SPELL_CHOICE, parts, n, out);
}

static void spell_format(const small_grammar *g, const node *e, page *out) {
    switch (e->kind) {
    case NODE_LITERAL:
        page_print(out, "{\"type\":\"const_string\",\"value\":");
        json_string(e, out);
        break;
    case NODE_CLASS: /* in JSON a backslash is doubled */
        page_print(out, "{\"type\":\"regex\",\"pattern\":\"[%s", e->negated ? "^" : "");
        for (uint32_t k = 0; k < e->n; k++)
            page_print(out, "\\\\u{%X}-\\\\u{%X}", (unsigned)e->ranges[k].lo, (unsigned)e->ranges[k].hi);
        page_print(out, "]\"");
        break;
    case NODE_SEQUENCE:
    case NODE_CHOICE:
        page_print(out, "{\"type\":\"%s\",\"elements\":", e->kind == NODE_SEQUENCE ? "sequence" : "or");
        spell_list(g, SPELL_TAG, e->parts, e->n, out);
        break;
    case NODE_REPEAT:
        page_print(out, "{\"type\":\"repeat\",\"min\":%u,\"max\":%d,\"content\":", e->min, (int)e->max);
        spell(g, SPELL_TAG, e->parts[0], out);
        break;
    case NODE_TEXT:
        page_print(out, "{\"type\":\"any_text\"");
        strings(g, "excludes", e->ends, e->n_ends - e->inherited, out);
        break;
    case NODE_TAG:
        page_print(out, "{\"type\":\"tag\",\"begin\":");
        json_string(&g->nodes[e->parts[0]], out);
        page_print(out, ",\"content\":");
        spell(g, SPELL_TAG, e->parts[1], out);
        strings(g, "end", g->nodes[e->parts[2]].parts, g->nodes[e->parts[2]].n, out);
        break;
    case NODE_TRIGGERED:
        page_print(out, "{\"type\":\"triggered_tags\",\"tags\":");
        spell_list(g, SPELL_TAG, e->parts, e->n, out);
        strings(g, "triggers", e->triggers, e->n_triggers, out);
        strings(g, "excludes", e->ends, e->n_ends - e->inherited, out);
        page_print(out, ",\"at_least_one\":%s,\"stop_after_first\":%s", e->at_least_one ? "true" : "false",
                   e->stop_after_first ? "true" : "false");
        break;
    case NODE_RULE:
        break;
    }
    page_print(out, "}");
}

/* ---- one node ---- */

static void spell_text(const small_grammar *g, spelling how, const node *e, page *out) {
    const char *open = how == SPELL_EBNF ? "(" : "(?:";
    switch (e->kind) {
    case NODE_LITERAL:
        if (how == SPELL_EBNF)
            ebnf_literal(e, out);
        else
            each_character(e, out, regex_character);
        break;
    case NODE_CLASS:
        spell_class(e, out);
        break;
    case NODE_SEQUENCE:
    case NODE_CHOICE:
        page_print(out, "%s", open);
        for (uint32_t k = 0; k < e->n; k++) {
            if (k > 0) page_print(out, e->kind == NODE_CHOICE ? "|" : how == SPELL_EBNF ? " " : "");
            spell(g, how, e->parts[k], out);
        }
        page_print(out, ")");
        break;
    case NODE_REPEAT:
        page_print(out, "%s", open);
        spell(g, how, e->parts[0], out);
        page_print(out, ")");
        spell_counts(e, out);
        break;
    default:
        page_print(out, "r%u", e->min);
        break;
    }
}

static void spell(const small_grammar *g, spelling how, uint32_t number, page *out) {
    if (how == SPELL_TAG)
        spell_format(g, &g->nodes[number], out);
    else
        spell_text(g, how, &g->nodes[number], out);
}

void grammar_spell(const small_grammar *g, spelling how, page *out) {
    if (how == SPELL_CHOICE) {
        spell_list(g, how, g->nodes[g->root].parts, g->nodes[g->root].n, out);
    } else if (how == SPELL_TAG) {
        page_print(out, "{\"format\":");
        spell(g, how, g->root, out);
        page_print(out, "}");
    } else if (how == SPELL_REGEX) {
        spell(g, how, g->root, out);
    } else {
        for (uint32_t r = 0; r < g->n_rules; r++) {
            page_print(out, "r%u ::= ", r);
            spell(g, how, g->rules[r], out);
            page_print(out, "\n");
        }
    }
}

/* ---- JSON Schema ---- */

static void schema(tape *t, uint32_t depth, page *out);

static void counts(tape *t, const char *low, const char *high, page *out) {
    uint32_t shape = tape_byte(t), from = shape / 4 % 4;
    if (shape % 2 == 1) page_print(out, ",\"%s\":%u", low, from);
    if (shape / 2 % 2 == 1) page_print(out, ",\"%s\":%u", high, from + shape / 16 % 8 * (shape / 16 % 8));
}

static void members(tape *t, uint32_t depth, page *out) {
    static const char *const names[] = {"a", "b", "\\u00E9", "ab", ""};
    uint32_t n = tape_below(t, 4), required = tape_byte(t);
    page_print(out, ",\"properties\":{");
    for (uint32_t k = 0; k < n; k++) {
        page_print(out, "%s\"%s\":", k == 0 ? "" : ",", names[k]);
        schema(t, depth - 1, out);
    }
    page_print(out, "},\"required\":[");
    for (uint32_t k = 0, some = 0; k < 5; k++)
        if ((required >> k & 1) != 0) page_print(out, "%s\"%s\"", some++ == 0 ? "" : ",", names[k]);
    page_print(out, "]");
    if (required >= 64) {
        page_print(out, ",\"additionalProperties\":");
        if (required < 192)
            page_print(out, "false");
        else
            schema(t, depth - 1, out);
    }
}

static void schema(tape *t, uint32_t depth, page *out) {
    static const char *const patterns[] = {"^[a-c]*$", "a|b0", "^(?:ab|\\\\u{E9}){1,40}$", "[^\\\\u0000-\\\\u007F]"};
    uint32_t kind = tape_byte(t);
    if (depth == 0) kind %= 5;
    switch (kind % 11) {
    case 0:
        page_print(out, "{\"type\":[\"boolean\",\"null\"]}");
        return;
    case 1:
        page_print(out, "{\"enum\":[true,0.1,\"ab\",{\"a\":[1]},\"\\u20AC\"]}");
        return;
    case 2:
        page_print(out, "{\"type\":\"string\"");
        counts(t, "minLength", "maxLength", out);
        if (kind >= 128) page_print(out, ",\"pattern\":\"%s\"", patterns[tape_below(t, 4)]);
        break;
    case 3:
        page_print(out, "{\"type\":\"%s\"", kind < 128 ? "integer" : "number");
        counts(t, "minimum", "maximum", out);
        break;
    case 4:
        page_print(out, "{\"type\":\"string\",\"pattern\":\"%s\"", patterns[tape_below(t, 4)]);
        break;
    case 5:
    case 6:
        page_print(out, "{\"type\":\"object\"");
        members(t, depth, out);
        break;
    case 7:
    case 8:
        page_print(out, "{\"type\":\"array\",\"items\":");
        schema(t, depth - 1, out);
        counts(t, "minItems", "maxItems", out);
        break;
    case 9:
        page_print(out, "{\"anyOf\":[");
        schema(t, depth - 1, out);
        page_print(out, ",");
        schema(t, depth - 1, out);
        page_print(out, "]");
        break;
    default:
        page_print(out, kind < 128 ? "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]" : "{");
        break;
    }
    page_print(out, "}");
}

void schema_spell(tape *t, page *out) { schema(t, 3, out); }

void schema_tag_spell(tape *t, page *out) {
    uint32_t shape = tape_byte(t);
    page_print(out, "{\"format\":{\"type\":\"%s\"", shape % 2 == 0 ? "tags_with_separator" : "triggered_tags");
    page_print(out, shape % 2 == 0 ? ",\"separator\":\"%s\"" : ",\"triggers\":[\"%s\"]", shape % 4 < 2 ? "<|a|>" : "a");
    page_print(out, ",\"tags\":[");
    for (uint32_t k = 0; k < 1 + shape / 4 % 2; k++) {
        page_print(out, "%s{\"begin\":\"%s%u\",\"content\":{\"type\":\"json_schema\",\"json_schema\":", k == 0 ? "" : ",",
                   shape % 4 < 2 ? "<|a|>" : "a", k);
        schema(t, 2, out);
        page_print(out, "},\"end\":\"%s\"}", shape / 8 % 2 == 0 ? "</s>" : "b");
    }
    page_print(out, "]}}");
}
