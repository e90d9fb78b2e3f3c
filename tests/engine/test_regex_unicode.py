"""The packed Unicode tables against those that they were made from, code point by code point."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest
import regex

from engine_native import Matcher
from tests.engine.vocabularies import accepts, compiler

_EVERYTHING = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)

_PROPERTIES = """
    L Lu Ll Lt LC Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn
    Script=Latin Script=Greek Script=Han Script=Common Script=Inherited Script=Hiragana sc=Arab
    scx=Deva scx=Hira scx=Zyyy Script_Extensions=Grek Script_Extensions=Arab
    Alphabetic Uppercase Lowercase White_Space Emoji Emoji_Presentation Extended_Pictographic ID_Start
    ID_Continue XID_Start XID_Continue Math Dash Hex_Digit ASCII_Hex_Digit Ideographic Cased
    gcb=LV gcb=Extend wb=ALetter Word_Break=Hebrew_Letter sb=Lower Sentence_Break=Sp
    Default_Ignorable_Code_Point Case_Ignorable Changes_When_Casefolded Regional_Indicator Any
"""


@pytest.mark.parametrize("name", _PROPERTIES.split())
def test_property_holds_exactly_the_code_points_of_the_reference(name: str) -> None:
    inside = "".join(regex.findall(rf"\p{{{name}}}+", _EVERYTHING))
    outside = "".join(regex.findall(rf"\P{{{name}}}+", _EVERYTHING))

    assert accepts(Matcher(compiler().compile_regex(rf"\p{{{name}}}*")), inside)
    assert outside == "" or accepts(Matcher(compiler().compile_regex(rf"\P{{{name}}}*")), outside)


@pytest.mark.parametrize("category", ["Lu", "Nd", "Zs", "Po", "Sm", "Mn"])
def test_category_agrees_with_the_older_tables_of_the_interpreter(category: str) -> None:
    """Both versions agree on what was assigned then; a handful of characters has been reclassified since."""
    then = {c for c in _EVERYTHING if unicodedata.category(c) == category}
    now = set("".join(regex.findall(rf"\p{{{category}}}+", _EVERYTHING)))

    assert len(then - now) <= 5
    assert accepts(Matcher(compiler().compile_regex(rf"\p{{{category}}}*")), "".join(sorted(then & now)))


@pytest.mark.parametrize(("pattern", "reference"), [(r"(?u)\d", r"\p{Nd}"), (r"(?u)\s", r"\p{White_Space}")])
def test_shorthand_under_u_is_the_unicode_set(pattern: str, reference: str) -> None:
    assert accepts(Matcher(compiler().compile_regex(pattern + "*")), "".join(regex.findall(reference, _EVERYTHING)))


@cache
def _cased() -> str:
    letters = "".join(regex.findall(r"[\p{Cased}\p{Changes_When_Casefolded}]", _EVERYTHING))
    return "".join(c for c in letters if c not in "\u0130\u0131")


@pytest.mark.parametrize("part", range(4))
def test_case_insensitive_letter_matches_the_letters_of_the_reference(part: int) -> None:
    for letter in _cased()[part::40]:
        others = "".join(c for c in regex.findall(regex.escape(letter), _cased(), regex.IGNORECASE))
        strangers = "".join(c for c in _cased()[part::97] if c not in others)

        assert accepts(Matcher(compiler().compile_regex(f"(?i)[{letter}]*")), others)
        assert accepts(Matcher(compiler().compile_regex(f"(?i)[^{letter}]*")), strangers)
        for other in others:
            assert not accepts(Matcher(compiler().compile_regex(f"(?i)[^{letter}]")), other)
