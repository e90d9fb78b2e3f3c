"""Lark grammars that refer to others by name, other start rules, declared terminals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import Compiler, EngineError, GrammarSyntaxError, LimitError, Limits, Matcher, UnsupportedSchemaError
from tests.engine.vocabularies import accepts, byte_vocabulary, compiler

Named = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "grammars", "accepted", "refused"),
    [
        ('start: "[" @item ("," @item)* "]"', {"item": "start: /[xy]/"}, ("[x]", "[y,x]"), ("[]", "[z]", "[x,]")),
        ('start: "o:" %lark { start: "i:" @v }', {"v": "start: /[0-9]+/"}, ("o:i:12",), ("i:1", "o:1")),
        ("start: @pair", {"pair": 'start: @item ":" @item', "item": "start: /[a-z]+/"}, ("a:b",), ("a:", "a:1")),
        ("start: @j", {"j": {"enum": [1, "a"]}}, ("1", '"a"'), ("2",)),
        ("start: @j @k-2", {"j": True, "k-2": 'start: "!"'}, ("[1]!", "null!"), ("!",)),
        ('%ignore " "\nstart: @a @a "."', {"a": 'start: "x" "y"'}, ("xyxy.", "xy xy . "), ("x yxy.",)),
        ("start: x\nx: /a/ | @b", {"b": "start: x\nx: /b/\n%ignore /-/"}, ("a", "b--"), ("a-", "-")),
        ("start: @a", {"a": "start: /./", "unused": "start: /x/"}, ("é",), ("",)),
        ("start: A @b\nA: /a(?!c)/", {"b": "start: /[bc]/"}, ("ab",), ("ac",)),
    ],
)
def test_a_name_stands_for_a_grammar(
    text: str, grammars: Named, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    items: list[Named] = [{"lark_grammar": text}]
    items += [{"name": k, "lark_grammar" if isinstance(v, str) else "json_schema": v} for k, v in grammars.items()]
    beside = compiler().compile_lark(text, grammars=grammars)
    listed = compiler().compile_lark(json.dumps({"grammars": items}))

    for grammar in (beside, listed):
        assert [each for each in accepted if not accepts(Matcher(grammar), each)] == []
        assert [each for each in refused if accepts(Matcher(grammar), each)] == []


def test_equal_texts_with_other_names_are_other_grammars() -> None:
    digits = compiler().compile_lark("start: @v", grammars={"v": "start: /[0-9]/"})
    letters = compiler().compile_lark("start: @v", grammars={"v": "start: /[a-z]/"})

    assert accepts(Matcher(digits), "1")
    assert accepts(Matcher(letters), "a")
    assert not accepts(Matcher(letters), "1")


@pytest.mark.parametrize(
    ("text", "grammars", "path", "fragment"),
    [
        ("start: @no", {}, "", "line 1, column 8: unknown grammar @no"),
        ("start: @a", {"a": "start: @b", "b": "start: @a"}, "/b", "leads to itself"),
        ("start: @a", {"a": "x: /a/\n"}, "/a", 'no rule "start"'),
        ("start: @a", {"a": 'start: "x" (\n'}, "/a", "line 2, column 1"),
        ("start: /x/", {"a": 'start: "x" (\n'}, "/a", "line 2, column 1"),
        ("start: @a", {"a": {"type": "nope"}}, "/a/type", "type"),
        ("start: @a", {"a": {"x-guidance": {"nope": 1}}}, "/a/x-guidance/nope", "unknown option"),
        ("start: @a", {"a": 1}, "/a", "string of Lark or a JSON schema"),
        ("start: T\nT: @a", {"a": "start: /a/"}, "", "line 2, column 4: a grammar cannot be used in terminals"),
    ],
)
def test_a_mistake_names_the_grammar_it_is_in(text: str, grammars: Named, path: str, fragment: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_lark(text, grammars=grammars)

    assert caught.value.path == path
    assert fragment in caught.value.message


@pytest.mark.parametrize(
    ("top", "path"),
    [
        ({}, ""),
        ({"grammars": []}, "/grammars"),
        ({"grammars": [1]}, "/grammars/0"),
        ({"grammars": [{"name": "x"}]}, "/grammars/0"),
        ({"grammars": [{"lark_grammar": "start: /a/", "json_schema": {}}]}, "/grammars/0"),
        ({"grammars": [{"lark_grammar": 1}]}, "/grammars/0/lark_grammar"),
        ({"grammars": [{"lark_grammar": "start: /a/", "name": 1}]}, "/grammars/0/name"),
        ({"grammars": [{"lark_grammar": "start: /a/", "rx": "a"}]}, "/grammars/0/rx"),
        ({"grammars": [{"lark_grammar": "start: ("}]}, "/grammars/0/lark_grammar"),
        ({"grammars": [{"lark_grammar": "start: /a/"}], "max_tokens": 3}, "/max_tokens"),
        (
            {"grammars": [{"lark_grammar": "start: @a"}, *({"name": "a", "lark_grammar": "start: /a/"},) * 2]},
            "/grammars/2/lark_grammar",
        ),
    ],
)
def test_a_mistake_in_a_list_of_grammars_has_its_place(top: Any, path: str) -> None:
    with pytest.raises((GrammarSyntaxError, UnsupportedSchemaError)) as caught:
        compiler().compile_lark(json.dumps(top))

    assert caught.value.path == path


def test_null_fields_of_a_list_are_absent_ones() -> None:
    items = [{"name": None, "lark_grammar": "start: /a/", "json_schema": None}]
    grammar = compiler().compile_lark(json.dumps({"grammars": items, "max_tokens": None}))

    assert accepts(Matcher(grammar), "a")


def _tag(text: str) -> Named:
    return {"type": "structural_tag", "format": {"type": "grammar", "syntax": "lark", "grammar": text}}


def test_a_list_inside_a_structural_tag() -> None:
    items = [{"lark_grammar": "start: @b /c/"}, {"name": "b", "json_schema": {"const": 1}}]
    grammar = compiler().compile_structural_tag(_tag(json.dumps({"grammars": items})))

    assert accepts(Matcher(grammar), "1c")


@pytest.mark.parametrize(
    ("text", "path", "fragment"),
    [
        ('{"grammars": }', "/format/grammar", ""),
        ('{"grammars": [{}]}', "/format/grammar/grammars/0", "needs"),
        ('{"grammars": [{"lark_grammar": "start: ("}]}', "/format/grammar/grammars/0/lark_grammar", "line 1, column 9"),
    ],
)
def test_a_mistake_in_a_list_inside_a_tag_has_its_place(text: str, path: str, fragment: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_structural_tag(_tag(text))

    assert caught.value.path == path
    assert fragment in caught.value.message


def test_a_text_that_begins_like_a_list_is_one() -> None:
    with pytest.raises(GrammarSyntaxError, match="line 1, column 1: a list of grammars: "):
        compiler().compile_lark('{start: "a"}')


@pytest.mark.parametrize("first", [True, False])
def test_long_chains_of_names_reach_a_limit(first: bool) -> None:
    small = Compiler(byte_vocabulary(), limits=Limits(depth=20))
    chain = {f"g{i}": f"start: @g{i + 1}" for i in range(30)} | {"g30": "start: /a/"}
    if not first:  # each is known already when the next one refers to it
        chain = dict(reversed(chain.items()))
    with pytest.raises(LimitError, match="too deep"):
        small.compile_lark("start: /b/", grammars=chain)


def test_grammars_by_name_are_bounded_like_texts() -> None:
    small = Compiler(byte_vocabulary(), limits=Limits(input_bytes=100))
    with pytest.raises(LimitError, match="grammars by name"):
        small.compile_lark("start: @a", grammars={"a": "start: /a/" + " " * 100})


def test_another_rule_or_terminal_to_start_with() -> None:
    text = "word: LETTER+\nLETTER: /[a-z]/"

    assert accepts(Matcher(compiler().compile_lark(text, "word")), "abc")
    assert not accepts(Matcher(compiler().compile_lark(text, start="LETTER")), "abc")
    with pytest.raises(GrammarSyntaxError, match='no rule "start"'):
        compiler().compile_lark(text)
    with pytest.raises(GrammarSyntaxError, match='no rule "words"'):
        compiler().compile_lark(text, "words")
    with pytest.raises(UnsupportedSchemaError, match="first one"):
        compiler().compile_lark(json.dumps({"grammars": [{"lark_grammar": "start: /a/"}]}), "x")


def test_declared_terminals_matter_where_they_are_reached() -> None:
    text = '%declare _IN _OUT\nstart: "a" | {}\nblock: _IN start _OUT'

    assert accepts(Matcher(compiler().compile_lark(text.format('"b"'))), "b")
    with pytest.raises(UnsupportedSchemaError, match="_IN is declared only") as caught:
        compiler().compile_lark(text.format("block"))
    assert caught.value.message.startswith("line 3, column 8: ")
    with pytest.raises(GrammarSyntaxError, match="defined twice"):
        compiler().compile_lark(text.format("block") + "\n_IN: /x/")
