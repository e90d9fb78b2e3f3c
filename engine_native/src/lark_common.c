/* lark_common.c - the terminals of %import common, as patterns.
 *
 * What they match is what Lark's library of this name documents
 * (https://lark-parser.readthedocs.io, "Grammar Reference", read 2026-11-30). */
#include "lark.h"

const char *lark_common(const char *name, size_t n) {
    static const struct {
        const char *name, *pattern;
    } terminals[] = {
        {"DIGIT", "[0-9]"},
        {"HEXDIGIT", "[0-9a-fA-F]"},
        {"INT", "[0-9]+"},
        {"SIGNED_INT", "[+-]?[0-9]+"},
        {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
        {"_EXP", "[eE][+-]?[0-9]+"},
        {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
        {"SIGNED_FLOAT", "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
        {"NUMBER", "(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
        {"SIGNED_NUMBER", "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
        {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
        {"LCASE_LETTER", "[a-z]"},
        {"UCASE_LETTER", "[A-Z]"},
        {"LETTER", "[a-zA-Z]"},
        {"WORD", "[a-zA-Z]+"},
        {"CNAME", "[a-zA-Z_][a-zA-Z0-9_]*"},
        {"WS_INLINE", "[ \\t]+"},
        {"WS", "[ \\t\\f\\r\\n]+"},
        {"CR", "\\r"},
        {"LF", "\\n"},
        {"NEWLINE", "(?:\\r?\\n)+"},
        {"SH_COMMENT", "#[^\\n]*"},
        {"CPP_COMMENT", "//[^\\n]*"},
        {"C_COMMENT", "/\\*(?:[^*]|\\*+[^*/])*\\*+/"},
        {"SQL_COMMENT", "--[^\\n]*"},
    };
    for (size_t i = 0; i < sizeof terminals / sizeof *terminals; i++)
        if (strlen(terminals[i].name) == n && memcmp(terminals[i].name, name, n) == 0) return terminals[i].pattern;
    return NULL;
}
