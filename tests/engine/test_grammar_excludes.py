"""A grammar with `excludes`: none of the strings begins in its text, not even one that ends in what follows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from engine_native import EngineError, Matcher, StructuralTagError, UnsupportedSchemaError
from tests.engine.vocabularies import accepts, compiler

_CASES: dict[str, tuple[str, list[str], str]] = {
    "lines": ('start: line+\nline: /[a<>\\/]*/ "\\n"\n', ["</a>"], "a<>/\n"),
    "recursion": ('start: "<" start ">" | /[a\\/]*/ start?\n', ["</a>"], "<>a/"),
    "a string that overlaps itself": ('start: (/<+/ | "a" | "/" | ">")*\n', ["<<a"], "<a>/"),
    "counted": ('start: x~0..6\nx: "a" | "aa" | "b"\n', ["aab"], "ab"),
    "several": ("start: word*\nword: /[ab]{1,2}/ | /c/\n", ["abc", "bb", "abca", "ca"], "abc"),
}


def _tag(grammar: str, excludes: list[str], end: str) -> dict[str, Any]:
    node = {"type": "grammar", "syntax": "lark", "grammar": grammar, "excludes": excludes}
    elements = [{"type": "const_string", "value": "["}, node, {"type": "const_string", "value": end}]
    return {"type": "structural_tag", "format": {"type": "sequence", "elements": elements}}


@pytest.mark.parametrize("name", _CASES)
def test_first_string_of_the_list_is_the_one_after_the_text(name: str) -> None:
    grammar, excludes, letters = _CASES[name]
    plain = compiler().compile_lark(grammar)
    for end in excludes:
        without = compiler().compile_structural_tag(_tag(grammar, excludes, end))
        taken = 0
        for text in ("".join(word) for n in range(6) for word in itertools.product(letters, repeat=n)):
            # A shorter string may end before the one that follows does, so all are looked for in both.
            begins = [at for each in excludes if 0 <= (at := (text + end).find(each)) < len(text)]
            wanted = not begins and accepts(Matcher(plain), text)
            taken += wanted
            assert accepts(Matcher(without), f"[{text}{end}") == wanted, (end, text)
        assert taken > 0


def test_grammar_that_is_nothing_but_the_string_is_refused() -> None:
    with pytest.raises(EngineError, match="nothing can match"):
        compiler().compile_structural_tag(_tag('start: "ab"', ["b"], "b"))


@pytest.mark.parametrize(
    ("changes", "kind", "path"),
    [
        ({"excludes": [""]}, StructuralTagError, "/format/excludes/0"),
        ({"excludes": "a"}, StructuralTagError, "/format/excludes"),
        ({"excludes": ["a"], "written": "json_string"}, UnsupportedSchemaError, "/format/excludes"),
        ({"excludes": ["a"], "grammar": "start: <s>"}, UnsupportedSchemaError, "/format/grammar"),
        ({"excludes": ["a"], "grammar": 'start[capture]: "a"'}, UnsupportedSchemaError, "/format/grammar"),
        ({"excludes": ["a"], "grammar": 'start: /a(?=b)/ "b"'}, UnsupportedSchemaError, "/format/grammar"),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_place(
    changes: dict[str, Any], kind: type[EngineError], path: str
) -> None:
    node = {"type": "grammar", "syntax": "lark", "grammar": 'start: "b"', **changes}
    with pytest.raises(kind) as caught:
        compiler().compile_structural_tag({"type": "structural_tag", "format": node})

    assert caught.value.path == path


def test_empty_list_excludes_nothing() -> None:
    grammar = compiler().compile_structural_tag(_tag('start: "ab"', [], ""))
    assert accepts(Matcher(grammar), "[ab")
