"""Keys that no schema names: where they must differ, and what may come of it if they do not."""

from __future__ import annotations

from typing import Any

import pytest

from engine_native import Matcher, UnsupportedSchemaError
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


def test_a_map_that_wants_more_keys_than_there_are_is_refused() -> None:
    schema = {"minProperties": 2, "patternProperties": {"^a$": {}}, "additionalProperties": False, "type": "object"}
    with pytest.raises(UnsupportedSchemaError, match="minProperties") as caught:
        compiler().compile_json_schema(schema)
    assert caught.value.path == "/minProperties"


def test_what_a_repeated_key_may_count_for_is_noted() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "minProperties": 3}
    grammar = compiler().compile_json_schema(schema)

    assert any("counts again" in note for note in grammar.notes)
    assert not compiler().compile_json_schema(schema | {"additionalProperties": False} | {"minProperties": 1}).notes


def test_a_repeated_key_does_not_take_back_what_made_a_schema_fail() -> None:
    schema = {"not": {"additionalProperties": {"type": "integer"}}}

    assert _accepts(schema, '{"a": 1, "b": "x"}')
    assert _accepts(schema, '{"a": 1, "a": "x"}')
    assert not _accepts(schema, '{"a": "x", "a": 1}')  # a reader that keeps the last would see integers only
    assert not _accepts(schema, '{"a": 1}')
