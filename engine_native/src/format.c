/* format.c - see format.h.
 *
 * Every definition is the ABNF of its RFC, written from the leaves up.  Where
 * the RFC counts (63 characters of a label) the pattern counts. */
#include "format.h"

#include <string.h>

/* ---- dates and times: RFC 3339, section 5.6 and appendix A ---- */

#define LEAP_YEAR "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
#define DAYS_28 "(?:0[1-9]|1[0-9]|2[0-8])"
#define MONTH_DAY                                                                                            \
    "(?:(?:0[13-9]|1[0-2])-(?:0[1-9]|[12][0-9]|30)|(?:0[13578]|1[02])-31|02-" DAYS_28 ")"
#define DATE "(?:[0-9]{4}-" MONTH_DAY "|" LEAP_YEAR "-02-29)"
#define HOUR_MINUTE "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
#define FRACTION "(?:\\.[0-9]+)?"
/* A leap second is 23:59:60 in UTC; here with offsets of whole and half hours. */
#define LEAP(hour, plus, minus, half) \
    hour ":59:60" FRACTION "(?:\\+" plus "|-" minus "):00|" hour ":29:60" FRACTION "(?:\\+" hour "|-" half "):30|"
#define LEAP_SECONDS                                                                                            \
    LEAP("00", "01", "23", "23") LEAP("01", "02", "22", "22") LEAP("02", "03", "21", "21")                      \
    LEAP("03", "04", "20", "20") LEAP("04", "05", "19", "19") LEAP("05", "06", "18", "18")                      \
    LEAP("06", "07", "17", "17") LEAP("07", "08", "16", "16") LEAP("08", "09", "15", "15")                      \
    LEAP("09", "10", "14", "14") LEAP("10", "11", "13", "13") LEAP("11", "12", "12", "12")                      \
    LEAP("12", "13", "11", "11") LEAP("13", "14", "10", "10") LEAP("14", "15", "09", "09")                      \
    LEAP("15", "16", "08", "08") LEAP("16", "17", "07", "07") LEAP("17", "18", "06", "06")                      \
    LEAP("18", "19", "05", "05") LEAP("19", "20", "04", "04") LEAP("20", "21", "03", "03")                      \
    LEAP("21", "22", "02", "02") LEAP("22", "23", "01", "01") LEAP("23", "00", "00", "00")                      \
    "23:59:60" FRACTION "[Zz]"
#define TIME "(?:" HOUR_MINUTE ":[0-5][0-9]" FRACTION "(?:[Zz]|[+-]" HOUR_MINUTE ")|" LEAP_SECONDS ")"
#define DURATION_TIME "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
#define DURATION_DATE "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"

/* ---- addresses: RFC 1123 2.1, RFC 2673 3.2, RFC 4291 2.2, RFC 5321 4.1.2 and 4.1.3 ---- */

#define OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 OCTET "(?:\\." OCTET "){3}"
#define H16 "[0-9A-Fa-f]{1,4}"
#define LS32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define IPV6                                                                                                 \
    "(?:(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32                \
    "|(?:(?:" H16 ":){0,1}" H16 ")?::(?:" H16 ":){3}" LS32 "|(?:(?:" H16 ":){0,2}" H16 ")?::(?:" H16         \
    ":){2}" LS32 "|(?:(?:" H16 ":){0,3}" H16 ")?::" H16 ":" LS32 "|(?:(?:" H16 ":){0,4}" H16 ")?::" LS32     \
    "|(?:(?:" H16 ":){0,5}" H16 ")?::" H16 "|(?:(?:" H16 ":){0,6}" H16 ")?::)"
#define ATEXT "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
#define SUB_DOMAIN "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
#define LOCAL_PART "(?:" ATEXT "+(?:\\." ATEXT "+)*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")"
#define GENERAL_LITERAL "[A-Za-z0-9-]*[A-Za-z0-9]:[!-Z^-~]+"
#define EMAIL                                                                                                \
    LOCAL_PART "@(?:" SUB_DOMAIN "(?:\\." SUB_DOMAIN ")*|\\[(?:" IPV4 "|IPv6:" IPV6 ")\\])"

/* RFC 6531, 3.3: UTF-8 beside ASCII, in the local part and in the labels (which are not looked up). */
#define UTF8_NON_ASCII "\\u{80}-\\u{10FFFF}"
#define IDN_ATEXT "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" UTF8_NON_ASCII "-]"
#define IDN_LABEL "[A-Za-z0-9" UTF8_NON_ASCII "](?:[A-Za-z0-9" UTF8_NON_ASCII "-]*[A-Za-z0-9" UTF8_NON_ASCII "])?"
#define IDN_EMAIL                                                                                            \
    "(?:" IDN_ATEXT "+(?:\\." IDN_ATEXT "+)*|\"(?:[ !#-\\[\\]-~" UTF8_NON_ASCII "]|\\\\[ -~])*\")"              \
    "@(?:" IDN_LABEL "(?:\\." IDN_LABEL ")*|\\[(?:" IPV4 "|IPv6:" IPV6 ")\\])"

/* ---- RFC 3986 and RFC 3987: the same grammar over two sets of characters ---- */

#define HEX "%[0-9A-Fa-f]{2}"
#define UCS                                                                                                  \
    "\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}"       \
    "\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7FFFD}" \
    "\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}" \
    "\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}"
#define PRIVATE "\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"
#define NAME(more) "A-Za-z0-9._~!$&'()*+,;=" more "-"
#define PCHAR(more) "(?:[:@" NAME(more) "]|" HEX ")"
#define SCHEME "[A-Za-z][A-Za-z0-9+.-]*"
#define AUTHORITY(more)                                                                                      \
    "(?:(?:[:" NAME(more) "]|" HEX ")*@)?(?:\\[(?:" IPV6 "|[vV][0-9A-Fa-f]+\\.[:" NAME("") "]+)\\]|(?:["      \
    NAME(more) "]|" HEX ")*)(?::[0-9]*)?"
#define ABEMPTY(more) "(?:/" PCHAR(more) "*)*"
#define ROOTLESS(more) PCHAR(more) "+" ABEMPTY(more)
#define NOSCHEME(more) "(?:[@" NAME(more) "]|" HEX ")+" ABEMPTY(more)
#define TAIL(more, private) "(?:\\?(?:[/?:@" NAME(more private) "]|" HEX ")*)?(?:#(?:[/?:@" NAME(more) "]|" HEX ")*)?"
#define ABSOLUTE(more) "/(?:" ROOTLESS(more) ")?"
/* In parts: C11 promises string literals of 4,095 characters only. */
#define URI(more, private)                                                                                   \
    SCHEME ":(?://" AUTHORITY(more), ABEMPTY(more) "|" ABSOLUTE(more), "|" ROOTLESS(more) "|)", TAIL(more, private)
#define RELATIVE(more, private)                                                                              \
    "(?://" AUTHORITY(more), ABEMPTY(more) "|" ABSOLUTE(more), "|" NOSCHEME(more) "|)", TAIL(more, private)

/* ---- RFC 6570 ---- */

/* The apostrophe: erratum 6937. */
#define TEMPLATE_LITERAL "[!#$&-;=?-\\[\\]_a-z~" UCS PRIVATE "]"
#define VARIABLE "(?:[A-Za-z0-9_]|" HEX ")(?:\\.?(?:[A-Za-z0-9_]|" HEX "))*"
#define VARSPEC VARIABLE "(?::[1-9][0-9]{0,3}|\\*)?"

/* ---- RFC 6901 and draft-bhutton-relative-json-pointer-00 ---- */

#define POINTER "(?:/(?:[^~/]|~[01])*)*"

/* Labels of up to 63 letters, digits and inner hyphens, up to 253 characters in all (RFC 1123, 2.1).  Counting
 * both exactly takes 30,000 states; so a label with its dot counts in blocks of 16, and there are 15 blocks.
 * That leaves out names of 241 to 253 characters and some of more than 15 labels. */
#define BLOCK 16u
#define BLOCKS 15u
#define LABEL 63u

static uint32_t blocks(uint32_t length) { return (length + BLOCK) / BLOCK; }

static fsm *hostname_automaton(work *w) {
    fsm *f = fsm_new(w);
    static const uint8_t alnum[3][2] = {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
    /* Per blocks before the label and length of the label: after an alphanumeric, and after a hyphen. */
    uint32_t begin[BLOCKS], after[BLOCKS][LABEL + 1][2];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        begin[b] = b == 0 ? f->start : fsm_state(f);
        for (uint32_t n = 1; n <= LABEL; n++)
            for (int k = 0; k < 2; k++) after[b][n][k] = fsm_state(f);
    }
    for (uint32_t b = 0; b < BLOCKS; b++)
        for (uint32_t n = 0; n <= LABEL && b + blocks(n) <= BLOCKS; n++)
            for (int k = 0; k < 2; k++) {
                uint32_t at = n == 0 ? begin[b] : after[b][n][k];
                if (n == 0 && k == 1) continue;
                if (n > 0 && k == 0) f->final.at[at] = 1;
                if (n > 0 && k == 0 && b + blocks(n) < BLOCKS) fsm_edge_add(f, at, '.', '.', begin[b + blocks(n)]);
                if (n == LABEL) continue;
                for (int i = 0; i < 3; i++) fsm_edge_add(f, at, alnum[i][0], alnum[i][1], after[b][n + 1][0]);
                if (n > 0) fsm_edge_add(f, at, '-', '-', after[b][n + 1][1]);
            }
    fsm_index(f);
    return f;
}

static const format formats[] = {
    {"date", NULL, {DATE}},
    {"time", NULL, {TIME}},
    {"date-time", NULL, {DATE "[Tt]" TIME}},
    {"duration", NULL, {"P(?:[0-9]+W|" DURATION_DATE "(?:" DURATION_TIME ")?|" DURATION_TIME ")"}},
    {"email", NULL, {EMAIL}},
    {"idn-email", NULL, {IDN_EMAIL}},
    {"hostname", hostname_automaton, {NULL}},
    {"ipv4", NULL, {IPV4}},
    {"ipv6", NULL, {IPV6}},
    {"uri", NULL, {URI("", "")}},
    {"uri-reference", NULL, {"(?:", URI("", ""), "|", RELATIVE("", ""), ")"}},
    {"iri", NULL, {URI(UCS, PRIVATE)}},
    {"iri-reference", NULL, {"(?:", URI(UCS, PRIVATE), "|", RELATIVE(UCS, PRIVATE), ")"}},
    {"uri-template", NULL, {"(?:" TEMPLATE_LITERAL "|" HEX "|\\{[+#./;?&=,!@|]?" VARSPEC "(?:," VARSPEC ")*\\})*"}},
    {"regex", NULL, {NULL}}, /* see format_regex_pattern */
    {"uuid", NULL, {"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"}},
    {"json-pointer", NULL, {POINTER}},
    {"relative-json-pointer", NULL, {"(?:0|[1-9][0-9]*)(?:#|" POINTER ")"}},
};

/* ---- ECMA-262 regular expressions: the part that needs no counting of groups ----
 *
 * Without back-references, named groups and property escapes; ranges between letters of one case or digits;
 * counts of up to four digits.  All that is accepted is an expression. */

#define N "\\u{10FFFE}"
#define REGEX_ESCAPE                                                                              \
    "\\\\(?:[dDwWsStnvfr^$\\\\.*+?()\\[\\]{}|/]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2}))"
#define REGEX_QUANTIFIER                                                                          \
    "(?:(?:[*+?]|\\{(?:[0-9]{1,4},?|0,[0-9]|1,[1-9]|2,[2-9]|3,[3-9]|4,[4-9]|5,[5-9]|6,[6-9]|7,[7-9]|8,[89]|9,9|"  \
    "[0-9],[1-9][0-9]{1,3}|[1-9][0-9],[1-9][0-9]{2,3}|1[0-9],[2-9][0-9]|2[0-9],[3-9][0-9]|3[0-9],[4-9][0-9])\\})\\?" "?)?"

static char *put(char *to, const char *text) {
    size_t n = strlen(text);
    memcpy(to, text, n + 1);
    return to + n;
}

char *format_regex_pattern(arena *mem) {
    char *text = arena_alloc(mem, 4096, 1), *to = text;
    to = put(to, "(?:[|^$]|\\\\[bB]|\\(\\?<?[=!]" N "\\)|(?:[^\\^$\\\\.*+?()\\[\\]{}|" N "]|\\.|" REGEX_ESCAPE "|\\((?:\\?:)?" N "\\)|");
    to = put(to, "\\[\\^?-?(?:[^\\\\\\]\\[\\-^" N "]|" REGEX_ESCAPE);
    static const char ends[3][2] = {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
    for (int k = 0; k < 3; k++)
        for (char lo = ends[k][0]; lo <= ends[k][1]; lo++) to = put(to, (char[]){'|', lo, '-', '[', lo, '-', ends[k][1], ']', '\0'});
    to = put(to, ")*-?\\])" REGEX_QUANTIFIER ")*");
    return text;
}

bool format_is_nested(const char *name) { return strcmp(name, "regex") == 0; }

const format *format_find(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0) return &formats[i];
    return NULL;
}

const char *format_refusal(const char *name) {
    if (strcmp(name, "idn-hostname") == 0) return "is no regular language: a label is valid by the length and the decoding of its Punycode";
    return NULL;
}
