"""JSON with each item and member on a line of its own: exactly what ``json.dumps(value, indent=n)`` writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import Matcher
from engine_native.engine import PropertyOrder
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

VALUES: list[Json] = [{}, [], {"a": []}, {"a": {"b": [1, {"c": {}}]}, "b": "x"}, [[], [1, [2]], {}], 5, "x\n"]
LISTED: list[Json] = [{"a": {"b": [1, {}]}, "c": 2}, [1, [2, {"x": 1}]], []]

SCHEMAS: list[tuple[dict[str, Any], list[Json], list[Json]]] = [
    ({}, VALUES, []),
    ({"enum": LISTED}, LISTED, [{}, [1, [2, {"x": 2}]]]),
    ({"enum": LISTED, "not": {"type": "object"}}, LISTED[1:], LISTED[:1]),
    (
        {"type": "object", "minProperties": 2, "properties": {"a": {}}},
        [{"x": 1, "y": [2]}, {"a": 1, "y": [2]}],
        [{"a": 1}],
    ),
    ({"type": "object", "minProperties": 2}, [{"x": 1, "y": [2]}], [{"a": 1}, {}]),
    ({"type": "object", "maxProperties": 20}, [{}, {"x": {}}], []),
    ({"type": "array", "uniqueItems": True}, [[], [1, [1]]], [[1, 1]]),
    ({"type": "array", "uniqueItems": True, "minItems": 1}, [[1, [1]]], [[], [1, 1]]),
    ({"type": "array", "uniqueItems": True, "prefixItems": [{"enum": [[1], 2]}]}, [[], [[1], [2]], [2]], [[2, 2], [3]]),
    ({"type": "array", "uniqueItems": True, "items": {"enum": [1, [2]]}}, [[], [1, [2]]], [[1, 1]]),
    ({"type": "array", "contains": {"const": 3}}, [[3, [2]]], [[], [2, 2]]),
    (
        {"type": "array", "prefixItems": [{"type": "object", "required": ["x"]}], "items": False},
        [[], [{"x": []}]],
        [[{}]],
    ),
]


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("indent", [0, 2, 3])
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_value_is_accepted_as_json_dumps_writes_it(number: int, indent: int, order: PropertyOrder) -> None:
    schema, right, wrong = SCHEMAS[number]
    grammar = compiler().compile_json_schema(schema, indent=indent, property_order=order)

    for value in right:
        text = json.dumps(value, indent=indent)
        assert accepts(Matcher(grammar), text), text
        assert accepts(Matcher(grammar), json.dumps(value, indent=indent + 1)) == (
            text == json.dumps(value, indent=indent + 1)
        )
        assert accepts(Matcher(grammar), json.dumps(value)) == (text == json.dumps(value))
    for value in wrong:
        assert not accepts(Matcher(grammar), json.dumps(value, indent=indent)), value


def test_the_separator_after_keys_may_be_given() -> None:
    grammar = compiler().compile_json_schema({}, indent=2, separators=(",", " :"))

    assert accepts(Matcher(grammar), json.dumps(VALUES[3], indent=2, separators=(",", " :")))
    assert not accepts(Matcher(grammar), json.dumps(VALUES[3], indent=2))


@pytest.mark.parametrize(("indent", "separators"), [(2, (", ", ": ")), (16, None), (-1, None)])
def test_what_cannot_be_is_refused(indent: int, separators: tuple[str, str] | None) -> None:
    with pytest.raises(ValueError, match=r"indent"):
        compiler().compile_json_schema({}, indent=indent, separators=separators)


def _nest(levels: int) -> Json:
    value: Json = []
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_has_an_end_that_is_noted() -> None:
    grammar = compiler().compile_json_schema({}, indent=1)

    assert accepts(Matcher(grammar), json.dumps(_nest(39), indent=1))
    assert not accepts(Matcher(grammar), json.dumps(_nest(41), indent=1))
    assert any("nested at most 40 levels" in note for note in grammar.notes)
    assert not compiler().compile_json_schema({"type": "array", "items": {"type": "integer"}}, indent=1).notes
