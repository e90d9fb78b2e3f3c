"""A grammar with `written: json_string`: JSON strings that mean the grammar's texts, and no others."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from engine_native import Matcher, UnsupportedSchemaError
from tests.engine.vocabularies import accepts, compiler

_NESTED = r"""
start: "a\"" item* "\n"
item: /[x-z"\\é\x01]{1,3}/ ";" | "(" start ")"
"""

_GRAMMARS = {
    "escapes and recursion": ("lark", _NESTED, 'a"\n', 'x\\;("\x01'),
    "words": ("lark", 'start: word (" " word)*\nword: /[ab"]+/\n', 'ab"', " ab\\"),
    "ignored white space": ("lark", '%ignore /[ \\n]+/\nstart: "a" "b" start?\n', "ab", " ab\n"),
    "counted": ("lark", 'start: line~2..3\nline: /[\\t\\\\]/ "\'"\n', "\t'\\'", "\t\\'"),
    "ebnf": ("ebnf", 'root ::= "\\"" [a-b\\n]* "\\""', '"a"', '"ab\n'),
}


def _node(syntax: str, grammar: str, **more: Any) -> dict[str, Any]:
    node = {"type": "grammar", "syntax": syntax, "grammar": grammar, **more}
    return {"type": "structural_tag", "format": node}


@pytest.mark.parametrize("name", _GRAMMARS)
def test_string_is_allowed_exactly_if_its_meaning_is_a_text_of_the_grammar(name: str) -> None:
    syntax, text, some, letters = _GRAMMARS[name]
    plain = compiler().compile_structural_tag(_node(syntax, text))
    string = compiler().compile_structural_tag(_node(syntax, text, written="json_string"))
    texts = [some, *("".join(word) for n in range(5) for word in itertools.product(letters, repeat=n))]

    found = 0
    for each in texts:
        wanted = accepts(Matcher(plain), each)
        found += wanted
        assert accepts(Matcher(string), json.dumps(each, ensure_ascii=False)) == wanted, each
        assert not accepts(Matcher(string), each) or each.startswith('"')
    assert found > 0


def test_schema_inside_the_grammar_is_escaped_as_a_whole_and_shared_rules_stay_as_they_were() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    string = compiler().compile_structural_tag(
        _node("lark", f"start: %json {json.dumps(schema)}", written="json_string")
    )
    plain = compiler().compile_json_schema(schema)

    inner = json.dumps({"a": 'q"\n'})
    assert accepts(Matcher(string), json.dumps(inner))
    assert not accepts(Matcher(string), json.dumps('{"a": 1}'))
    assert accepts(Matcher(plain), inner)
    assert not accepts(Matcher(plain), json.dumps(inner))


@pytest.mark.parametrize(
    ("grammar", "named"),
    [
        ("start: <s>", "special tokens"),
        ('start[capture]: "a"', "captures"),
        ('start: /a(?=b)/ "b"', "look at what follows"),
        ('start: %json {"type": "array", "uniqueItems": true}', "unique items"),
    ],
)
def test_what_has_no_spelling_is_refused(grammar: str, named: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=named) as caught:
        compiler().compile_structural_tag(_node("lark", grammar, written="json_string"))

    assert caught.value.path == "/format/grammar"
