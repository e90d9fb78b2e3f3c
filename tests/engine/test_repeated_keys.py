"""Keys that no schema names: where they must differ, and what may come of it if they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import Matcher, SchemaError
from tests.engine.vocabularies import accepts, compiler


def _accepts(schema: dict[str, Any], text: str, **options: Any) -> bool:
    return accepts(Matcher(compiler().compile_json_schema(schema, **options)), text)


@pytest.mark.parametrize("order", ["declared", "any"])
def test_keys_of_a_map_that_wants_several_differ(order: str) -> None:
    schema = {"type": "object", "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "integer"}}

    assert _accepts(schema, '{"a": 1, "b": 1}', property_order=order)
    assert not _accepts(schema, '{"a": 1, "a": 1}', property_order=order)
    assert not _accepts(schema, '{"a": 1, "a": 2, "b": 3}', property_order=order)
    assert not _accepts(schema, '{"a": 1, "ab": 2, "abc": 3, "b": 4}', property_order=order)
    assert not _accepts(schema, '{"a": 1}', property_order=order)
    assert not _accepts(schema, '{"a": 1, "b": "x"}', property_order=order)


def test_a_map_that_wants_more_keys_than_there_are_matches_nothing() -> None:
    schema = {"minProperties": 2, "patternProperties": {"^a$": {}}, "additionalProperties": False, "type": "object"}
    with pytest.raises(SchemaError, match="nothing can match"):
        compiler().compile_json_schema(schema)


MEMBERS = {
    # three keys beside a named one
    '{"minProperties": 3, "properties": {"a": {}}}': [
        ("abc", True),
        ("bcd", True),
        ("bcde", True),
        ("ab", False),
        ("abb", False),
        ("bcbc", False),
    ],
    # a negated upper bound is a lower one
    '{"type": "object", "not": {"maxProperties": 2}, "properties": {"a": {}}}': [
        ("abc", True),
        ("bcd", True),
        ("ab", False),
        ("bcc", False),
    ],
    # keys of several patterns
    '{"minProperties": 4, "patternProperties": {"[ab]": {}, "[cd]": {}}, "additionalProperties": false}': [
        ("abcd", True),
        ("cdab", True),
        ("abc", False),
        ("abcc", False),
        ("aabc", False),
    ],
    # so few keys that each is known
    '{"minProperties": 3, "patternProperties": {"^[a-d]$": {}}, "additionalProperties": false}': [
        ("abd", True),
        ("dcba", True),
        ("ab", False),
        ("aab", False),
    ],
    # both bounds
    '{"minProperties": 2, "maxProperties": 3, "properties": {"a": {}}}': [
        ("ab", True),
        ("bc", True),
        ("bcd", True),
        ("abcd", False),
        ("a", False),
        ("bb", False),
        ("bbb", False),
    ],
}


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("schema", MEMBERS)
def test_only_different_keys_count_for_a_lower_bound(schema: str, order: str) -> None:
    for keys, accepted in MEMBERS[schema]:
        text = "{" + ", ".join(f'"{key}": 1' for key in keys) + "}"
        assert _accepts(json.loads(schema), text, property_order=order) == accepted, text


def test_a_repeated_key_does_not_take_back_what_made_a_schema_fail() -> None:
    schema = {"not": {"additionalProperties": {"type": "integer"}}}

    assert _accepts(schema, '{"a": 1, "b": "x"}')
    assert _accepts(schema, '{"a": 1, "a": "x"}')
    assert not _accepts(schema, '{"a": "x", "a": 1}')  # a reader that keeps the last would see integers only
    assert not _accepts(schema, '{"a": 1}')
