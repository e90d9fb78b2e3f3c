"""Corners of JSON Schema that each took a decision: docs/JSON_SCHEMA.md."""

from __future__ import annotations

from typing import Any

import pytest

from engine_native import Matcher, SchemaError
from tests.engine.vocabularies import accepts, compiler

DRAFT_4 = "http://json-schema.org/draft-04/schema#"

CORNERS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "negated unevaluatedProperties": (
        {"not": {"anyOf": [True, {"properties": {"foo": True}}], "unevaluatedProperties": False}},
        ['{"bar": 1}', '{"foo": 1, "bar": 2}'],
        ['{"foo": 1}', "{}", "5"],
    ),
    "negated unevaluatedItems": (
        {"not": {"prefixItems": [{"type": "integer"}], "unevaluatedItems": {"type": "string"}}},
        ["[1, 2]", '["a"]', '[1, "a", 1]'],
        ['[1, "a"]', "[]", "5"],
    ),
    "unevaluatedItems, where contains evaluates": (
        {"not": {"contains": {"type": "integer"}, "unevaluatedItems": {"type": "string"}}},
        ['["a"]', '[1, "a", true]', "[]"],
        ["[1, 2]", '[1, "a"]', "5"],
    ),
    "unevaluated keywords beside listed values": (
        {
            "enum": [{"a": 1, "b": 2}, {"a": 1}, [1, 2], [1]],
            "properties": {"a": True},
            "prefixItems": [True],
            "unevaluatedProperties": False,
            "unevaluatedItems": False,
        },
        ['{"a": 1}', "[1]"],
        ['{"a": 1, "b": 2}', "[1, 2]"],
    ),
    "unevaluated keywords negated beside listed values": (
        {
            "enum": [{"a": 1, "b": 2}, {"a": 1}, [1, 2], [1]],
            "not": {
                "properties": {"a": True},
                "prefixItems": [True],
                "unevaluatedProperties": False,
                "unevaluatedItems": False,
            },
        },
        ['{"a": 1, "b": 2}', "[1, 2]"],
        ['{"a": 1}', "[1]"],
    ),
    "listed objects in any order": (
        {"enum": [{"a": 1, "b": [{"c": 1, "d": 2}]}]},
        ['{"a": 1, "b": [{"c": 1, "d": 2}]}', '{"b": [{"d": 2, "c": 1}], "a": 1.0}'],
        ['{"a": 1}', '{"a": 1, "a": 1, "b": [{"c": 1, "d": 2}]}'],
    ),
    "listed integers of draft 4": (
        {"$schema": DRAFT_4, "type": "integer", "enum": [1, 2.0]},
        ["1", "2"],
        ["1.0", "2.0"],
    ),
    "listed numbers of draft 4": ({"$schema": DRAFT_4, "enum": [1]}, ["1", "1.0"], ["2"]),
    "keys of an if come where it declares them": (
        {
            "if": {"properties": {"k": {"const": "n"}}, "required": ["k"]},
            "then": {"properties": {"list": {"type": "array"}}},
            "else": {"properties": {"list": {"type": "string"}}},
        },
        ['{"k": "n", "list": []}', '{"k": "s", "list": "a"}', '{"list": "a", "k": "s"}'],
        ['{"k": "s", "list": []}', '{"k": "n", "list": "a"}'],
    ),
    "the type any": (
        {"type": "object", "properties": {"a": {"type": "any", "minimum": 2}}, "required": ["a"]},
        ['{"a": []}', '{"a": 2}', '{"a": null}'],
        ['{"a": 1}', "{}"],
    ),
    "white space in an empty array of unique items": (
        {"type": "array", "prefixItems": [{"enum": [1, 2]}], "uniqueItems": True},
        ["[]", "[ ]", "[ 1 ]", '[1, "a"]'],
        ["[3]", "[1, 1]"],
    ),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corner(name: str) -> None:
    schema, right, wrong = CORNERS[name]
    grammar = compiler().compile_json_schema(schema)

    assert [text for text in right if not accepts(Matcher(grammar), text)] == []
    assert [text for text in wrong if accepts(Matcher(grammar), text)] == []


def test_the_type_any_is_noted() -> None:
    notes = compiler().compile_json_schema({"properties": {"a": {"type": "any"}}}).notes

    assert [note for note in notes if note.startswith("/properties/a/type: ")]


def test_schema_without_values_names_the_first_place_that_has_none() -> None:
    list_of_strings = {"type": "array", "items": {"type": "string"}, "enum": ["one", "two"]}
    schema = {"type": "object", "properties": {"a": {}, "metrics": list_of_strings}, "required": ["metrics"]}

    with pytest.raises(SchemaError, match="no value satisfies the schema at /properties/metrics"):
        compiler().compile_json_schema(schema)
