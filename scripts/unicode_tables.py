"""Write engine_native/src/unicode_data.c: Unicode properties, scripts and simple case folding as packed tables.

Usage: python scripts/unicode_tables.py > engine_native/src/unicode_data.c

The facts come from the tables inside the ``regex`` package (requirements/dev.txt pins it; it says which Unicode
version it carries): every property is asked for every code point. So that all tables are of one version, the
interpreter's own ``unicodedata``, which is older, is not used; the tests compare the two where they overlap.

Simple case folding is not a property there, so it is found by matching every cased letter against all others with
IGNORECASE, which folds simply. That package also pairs the dotted and dotless i with i (Turkish); CaseFolding.txt marks
those T, and neither ECMA-262 nor we fold them.
"""

from __future__ import annotations

import sys

import regex
from regex import _regex

_TURKISH = "\u0130\u0131"
_TEXT = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)

# The binary properties of ECMA-262 (table "Binary Unicode property aliases"), short and long names.
_BINARY = {
    "ASCIIHexDigit": "AHex", "Alphabetic": "Alpha", "BidiControl": "BidiC", "BidiMirrored": "BidiM",
    "CaseIgnorable": "CI", "Cased": "", "ChangesWhenCasefolded": "CWCF", "ChangesWhenCasemapped": "CWCM",
    "ChangesWhenLowercased": "CWL", "ChangesWhenTitlecased": "CWT", "ChangesWhenUppercased": "CWU", "Dash": "",
    "DefaultIgnorableCodePoint": "DI", "Deprecated": "Dep", "Diacritic": "Dia", "Emoji": "", "EmojiComponent": "EComp",
    "EmojiModifier": "EMod", "EmojiModifierBase": "EBase", "EmojiPresentation": "EPres",
    "ExtendedPictographic": "ExtPict", "Extender": "Ext", "GraphemeBase": "GrBase", "GraphemeExtend": "GrExt",
    "HexDigit": "Hex", "IDSBinaryOperator": "IDSB", "IDSTrinaryOperator": "IDST", "IDContinue": "IDC",
    "IDStart": "IDS", "Ideographic": "Ideo", "JoinControl": "JoinC", "LogicalOrderException": "LOE",
    "Lowercase": "Lower", "Math": "", "NoncharacterCodePoint": "NChar", "PatternSyntax": "PatSyn",
    "PatternWhiteSpace": "PatWS", "QuotationMark": "QMark", "Radical": "", "RegionalIndicator": "RI",
    "SentenceTerminal": "STerm", "SoftDotted": "SD", "TerminalPunctuation": "Term", "UnifiedIdeograph": "UIdeo",
    "Uppercase": "Upper", "VariationSelector": "VS", "WhiteSpace": "space", "XIDContinue": "XIDC", "XIDStart": "XIDS",
}  # fmt: skip

# Properties with values, by the letter that their names in the table begin with.
_VALUED = {
    "g": "GENERALCATEGORY",
    "s": "SCRIPT",
    "x": "SCRIPTEXTENSIONS",
    "c": "GRAPHEMECLUSTERBREAK",
    "w": "WORDBREAK",
    "n": "SENTENCEBREAK",
}


def _ranges(query: str) -> list[tuple[int, int]]:
    found = []
    for match in regex.finditer(rf"\p{{{query}}}+", _TEXT):
        low, high = ord(match[0][0]), ord(match[0][-1])
        if low < 0xD800 and high > 0xDFFF:  # the text skips the surrogates, a range must not hide them
            found.extend([(low, 0xD7FF), (0xE000, high)])
        else:
            found.append((low, high))
    return found


def _varint(value: int) -> list[int]:
    out = []
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return [*out, value]


class _Table:
    """Names to packed range lists; equal lists are stored once."""

    def __init__(self) -> None:
        self.packed: list[int] = []
        self.places: dict[tuple[tuple[int, int], ...], int] = {}
        self.names: dict[str, tuple[int, int]] = {}

    def add(self, names: list[str], ranges: list[tuple[int, int]]) -> None:
        key = tuple(ranges)
        if key not in self.places:
            self.places[key] = len(self.packed)
            at = 0
            for low, high in ranges:
                self.packed += [*_varint(low - at), *_varint(high - low)]
                at = high + 1
        for name in names:
            self.names[name] = (self.places[key], len(ranges))


def _properties() -> _Table:
    table = _Table()
    for prefix, name in _VALUED.items():
        by_value: dict[int, list[str]] = {}
        for alias, value in _regex.get_properties()[name][1].items():
            by_value.setdefault(value, []).append(alias.lower())
        for aliases in by_value.values():
            table.add([f"{prefix}:{a}" for a in aliases if a != "assigned"], _ranges(f"{name}={aliases[0]}"))
    for name, short in _BINARY.items():
        table.add([f"b:{n.lower()}" for n in (name, short) if n], _ranges(name))
    return table


def _next_in_orbit() -> dict[int, int]:
    """Each letter with other cases -> the next one of its class, in a cycle."""
    letters = "".join(m[0] for m in regex.finditer(r"[\p{CWCM}\p{CWCF}\p{Cased}]+", _TEXT))
    following = {}
    for letter in letters:
        if letter in _TURKISH:
            continue
        orbit = sorted(ord(c) for c in regex.findall(regex.escape(letter), letters, regex.I) if c not in _TURKISH)
        if len(orbit) > 1:
            following[ord(letter)] = orbit[(orbit.index(ord(letter)) + 1) % len(orbit)]
    return following


def _runs(following: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """(first, last, stride, delta): every stride-th code point of first..last goes to itself + delta."""
    runs: list[list[int]] = []
    for cp in sorted(following):
        delta = following[cp] - cp
        for run in runs[-2:]:  # pairs of upper and lower case interleave
            gap = cp - run[1]
            if run[3] == delta and ((run[0] == run[1] and gap <= 2) or gap == run[2]):
                run[1], run[2] = cp, gap
                break
        else:
            runs.append([cp, cp, 1, delta])
    return sorted((a, b, c, d) for a, b, c, d in runs)


def _rows(values: list[str], width: int = 118) -> str:
    lines, line = [], ""
    for value in values:
        if len(line) + len(value) + 1 > width - 4:
            lines.append(line)
            line = ""
        line += value + ","
    return "\n".join(f"    {line}" for line in [*lines, line] if line)


def main() -> int:
    """Print the file."""
    table, runs = _properties(), _runs(_next_in_orbit())
    names = [f'{{"{n}",{at},{count}}}' for n, (at, count) in sorted(table.names.items())]
    print(f"""\
/* unicode_data.c - generated by scripts/unicode_tables.py; see unicode_data.h.
 * From regex {regex.__version__} (Unicode 18.0.0). */
#include "unicode_data.h"

/* clang-format off */
const uint8_t unicode_packed[] = {{
{_rows([str(v) for v in table.packed])}
}};

const unicode_name unicode_names[] = {{
{_rows(names)}
}};
const uint32_t unicode_n_names = sizeof unicode_names / sizeof *unicode_names;

const unicode_run unicode_runs[] = {{
{_rows([f"{{{a},{b},{c},{d}}}" for a, b, c, d in runs])}
}};
const uint32_t unicode_n_runs = sizeof unicode_runs / sizeof *unicode_runs;""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
