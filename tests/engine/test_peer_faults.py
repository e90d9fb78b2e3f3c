"""Mistakes that other engines are known for, made impossible here: each is a tag, and what it must mean.

Source: probes of xgrammar 0.2.9, whose verdict on each of these differs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from engine_native import Compiler, Matcher, SchemaError, StructuralTagError, Vocabulary
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

_SPECIALS = (b"<a>", b"</a>", b"<b>", b"</b>")
_ID = {text: 257 + index for index, text in enumerate(_SPECIALS)}


@cache
def _token_compiler() -> Compiler:
    tokens = [*(bytes((byte,)) for byte in range(256)), b"</s>", *_SPECIALS]
    return Compiler(Vocabulary(tokens, special_token_ids=range(256, 261), stop_token_ids=[256]))


def _matcher(node: dict[str, Any]) -> Matcher:
    return Matcher(_token_compiler().compile_structural_tag({"type": "structural_tag", "format": node}))


def _token(name: str) -> dict[str, Any]:
    return {"type": "token", "token": name}


def _region(name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tag", "begin": _token(f"<{name}>"), "content": content, "end": _token(f"</{name}>")}


@pytest.mark.parametrize(
    "content",
    [
        {"type": "any_tokens"},
        {"type": "plus", "content": {"type": "exclude_token"}},
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [0],
            "tags": [
                {"begin": {"type": "token", "token": 0}, "content": {"type": "const_string", "value": ""}, "end": ""}
            ],
        },
    ],
)
def test_equal_regions_with_different_ends_each_end_at_their_own(content: dict[str, Any]) -> None:
    matcher = _matcher({"type": "sequence", "elements": [_region("a", content), _region("b", content)]})
    text = [_ID[b"<a>"], 1, _ID[b"</b>"], _ID[b"</a>"], _ID[b"<b>"], 1, _ID[b"</a>"], _ID[b"</b>"]]

    assert matcher.accept_tokens(text) == len(text)
    assert matcher.can_terminate()
    assert not matcher.accept_token(1)


def test_text_of_a_token_under_a_repeat_is_found() -> None:
    matcher = _matcher({"type": "repeat", "min": 2, "max": 3, "content": _token("<a>")})

    assert matcher.accept_tokens([_ID[b"<a>"]] * 4) == 3


@pytest.mark.parametrize(
    ("rules", "excludes"),
    [([""], []), (["x", ""], []), (["x", "x"], []), (["xy"], ["x"]), (["xy"], ["y"]), (["xyz"], ["y"])],
)
def test_dispatch_with_a_pattern_that_cannot_occur_raises(rules: list[str], excludes: list[str]) -> None:
    then = {"type": "const_string", "value": "!"}

    with pytest.raises(StructuralTagError):
        _matcher({"type": "dispatch", "rules": [[pattern, then] for pattern in rules], "excludes": excludes})


def test_dispatch_ends_where_its_tag_ends() -> None:
    content = {"type": "dispatch", "rules": [["x", {"type": "const_string", "value": "!"}]]}
    grammar = compiler().compile_structural_tag(
        {"format": {"type": "tag", "begin": "<", "content": content, "end": ">"}},
    )

    assert accepts(Matcher(grammar), "<ax!b>")
    assert not Matcher(grammar).accept_bytes(b"<a>>")


def test_wrong_tag_raises_its_own_kind_of_error() -> None:
    with pytest.raises(StructuralTagError) as caught:
        compiler().compile_structural_tag({"format": {"type": "or", "elements": []}})

    assert caught.value.path == "/format/elements"


def _object(**keywords: Any) -> dict[str, Json]:
    return {"type": "object", **keywords}


_A: Json = {"a": {"type": "integer"}}

_SCHEMAS: dict[str, tuple[Json, tuple[str, ...], tuple[str, ...]]] = {
    "raw control characters": ({"type": "string", "minLength": 1}, ('"a\\n"',), ('"\t"', '""')),
    "required but not declared": (_object(required=["a"], additionalProperties=True), ('{"a":1}',), ("{}",)),
    "required alone": (_object(required=["a"]), ('{"a":1}', '{"b":1,"a":2}'), ("{}",)),
    "anyOf beside properties": (_object(properties=_A, anyOf=[{"required": ["a"]}]), ('{"a":1}',), ('"x"', "{}")),
    "allOf of two": ({"allOf": [{"type": "string"}, {"maxLength": 1}]}, ('"a"',), ("1", '"ab"')),
    "type beside enum": ({"type": "string", "enum": ["a", 1]}, ('"a"',), ("1",)),
    "keywords beside $ref": (
        {"$ref": "#/$defs/s", "maxLength": 1, "$defs": {"s": {"type": "string"}}},
        ('"a"',),
        ('"ab"', "1"),
    ),
    "a property that is false": (_object(properties={"a": False, "b": True}), ('{"b":1}', "{}"), ('{"a":1}',)),
    "pattern is a search": ({"type": "string", "pattern": "b"}, ('"abc"',), ('"ac"',)),
    "pattern with lookahead": ({"type": "string", "pattern": "^(?!a)[a-z]+$"}, ('"bca"',), ('"abc"',)),
    "contains": ({"type": "array", "contains": {"type": "integer"}}, ('["a",1]',), ('["a"]', "[]")),
    "uniqueItems": ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, ("[1,2]",), ("[1,1]",)),
    "maxItems alone": ({"type": "array", "maxItems": 2}, ("[1]", "[]"), ("[1,2,3]",)),
    "minItems alone": ({"type": "array", "minItems": 1}, ("[1]",), ("[]",)),
    "integers with a fraction of zero": ({"type": "integer"}, ("1", "1.0", "-0"), ("1.5",)),
    "numbers above a bound": ({"type": "number", "minimum": 0}, ("0.1234567", "12"), ("-0.5",)),
    "fractional multiples": ({"type": "number", "multipleOf": 0.5}, ("1.5", "2"), ("0.3",)),
    "multiples above a bound": ({"type": "integer", "multipleOf": 5, "minimum": 0}, ("0", "15"), ("3", "-5")),
    "a declared key in disguise": (
        _object(properties=_A, additionalProperties={"type": "string"}),
        ('{"a":1}',),
        ('{"\\u0061":"x"}', '{"a":1,"a":2}'),
    ),
    "dependentRequired": (_object(dependentRequired={"a": ["b"]}), ('{"a":1,"b":1}', "{}"), ('{"a":1}',)),
    "if and then": (
        _object(properties=_A, **{"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        ('{"a":1,"b":1}', "{}"),
        ('{"a":1}',),
    ),
    "not": ({"not": {"type": "string"}}, ("1", "[]"), ('"a"',)),
    "oneOf that overlaps": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, ("1.5",), ("1", '"a"')),
    "dates that do not exist": ({"type": "string", "format": "date"}, ('"2024-02-29"',), ('"2023-02-30"',)),
    "upper case in hostnames": ({"type": "string", "format": "hostname"}, ('"Example.COM"',), ('"a..b"',)),
    "keys are counted once": (_object(minProperties=2, properties=_A), ('{"a":1,"b":2}',), ('{"a":1}',)),
    "listed objects with white space": ({"const": {"a": 1}}, ('{"a":1}', '{"a": 1}'), ('{"a":2}',)),
    "false in one alternative": ({"anyOf": [False, {"type": "null"}]}, ("null",), ("1",)),
}


@pytest.mark.parametrize(("schema", "accepted", "refused"), _SCHEMAS.values(), ids=_SCHEMAS)
def test_schema_inside_a_tag_means_what_it_says(
    schema: Json, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    content: dict[str, Json] = {"type": "json_schema", "json_schema": schema}
    tag: dict[str, Json] = {"format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}}
    grammar = compiler().compile_structural_tag(tag)

    assert [text for text in accepted if not accepts(Matcher(grammar), f"<f>{text}</f>")] == []
    assert [text for text in refused if accepts(Matcher(grammar), f"<f>{text}</f>")] == []


def test_schema_that_nothing_satisfies_raises_with_the_place() -> None:
    tag: dict[str, Json] = {"format": {"type": "json_schema", "json_schema": {"allOf": [False]}}}

    with pytest.raises(SchemaError) as caught:
        compiler().compile_structural_tag(tag)

    assert caught.value.path.startswith("/format/json_schema")


@pytest.mark.parametrize("style", ["qwen_xml", "minimax_xml", "glm_xml", "kimi_k3_xml", "deepseek_xml", "cohere_xml"])
def test_tool_without_arguments_has_no_room_to_loop_in(style: str) -> None:
    schema = _object(properties={}, additionalProperties=False)
    content: dict[str, Json] = {"type": "json_schema", "json_schema": schema, "style": style}
    tag: dict[str, Json] = {"format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}}
    grammar = compiler().compile_structural_tag(tag)

    assert accepts(Matcher(grammar), "<f></f>")
    assert accepts(Matcher(grammar), "<f>\n</f>")
    assert not Matcher(grammar).accept_bytes(b"<f>\n\n")
    assert not Matcher(grammar).accept_bytes(b"<f>\t")


def test_white_space_between_arguments_ends() -> None:
    schema = _object(properties={"a": {"type": "integer"}}, required=["a"])
    grammar = compiler().compile_structural_tag(
        {"format": {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}}
    )

    for blank in (b" ", b"\n", b"\t", b"\r"):
        matcher = Matcher(grammar)
        assert sum(matcher.accept_bytes(blank) for _ in range(200)) < 70


@pytest.mark.parametrize("count", [50, 2000])
def test_closing_mark_is_no_part_of_a_string_of_limited_length(count: int) -> None:
    schema = _object(properties={"a": {"type": "string", "minLength": 3, "maxLength": count}}, required=["a"])
    grammar = compiler().compile_structural_tag(
        {"format": {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}}
    )
    begin, end = "<parameter=a>", "</parameter>"

    assert accepts(Matcher(grammar), begin + "x" * count + end)
    assert accepts(Matcher(grammar), begin + "</parameter" + end)
    assert not accepts(Matcher(grammar), begin + "xx" + end)
    assert not Matcher(grammar).accept_bytes((begin + "x" * (count + 1)).encode())
    assert not accepts(Matcher(grammar), begin + "xxx" + end + "x" + end)
