"""References: metaschemas, documents that are given, resources with drafts of their own, dynamic anchors, "id"."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)

from engine_native import Matcher, SchemaError, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler
from tests.property.schemas import draw_schema, draw_value, mutate

_DRAFTS: dict[str, Any] = {
    "http://json-schema.org/draft-04/schema#": Draft4Validator,
    "http://json-schema.org/draft-06/schema#": Draft6Validator,
    "http://json-schema.org/draft-07/schema": Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
}


def _fits(schema: Json, value: Json, **options: Any) -> bool:
    grammar = compiler().compile_json_schema(schema, **options)  # type: ignore[arg-type]
    return accepts(Matcher(grammar), json.dumps(value, ensure_ascii=False))


def _broken(rng: random.Random, schema: Json) -> Json:
    """The schema with a keyword somewhere that may be of the wrong kind."""
    if not isinstance(schema, dict) or not schema:
        return draw_value(rng)
    key = rng.choice(list(schema))
    inner = schema[key]
    deeper = isinstance(inner, (dict, list)) and rng.random() < 0.6
    if deeper and isinstance(inner, list):
        inner = [_broken(rng, item) if rng.random() < 0.5 else item for item in inner]
    return schema | {key: _broken(rng, inner) if deeper and isinstance(inner, dict) else draw_value(rng)}


@pytest.mark.parametrize("uri", _DRAFTS)
def test_metaschema_accepts_exactly_the_schemas_of_its_draft(uri: str) -> None:
    grammar = compiler().compile_json_schema({"$ref": uri}, property_order="any")
    judge = _DRAFTS[uri](_DRAFTS[uri].META_SCHEMA)
    rng = random.Random(uri)
    verdicts = {True: 0, False: 0}
    for seed in range(80):
        drawn: Json = draw_schema(seed)
        values: list[Json] = [drawn, *(_broken(rng, drawn) for _ in range(4)), mutate(rng, drawn)]
        for value in values:
            valid = judge.is_valid(value)
            assert accepts(Matcher(grammar), json.dumps(value, ensure_ascii=False)) == valid, (seed, value, valid)
            verdicts[valid] += 1
    assert min(verdicts.values()) > 50, verdicts


@pytest.mark.parametrize(
    ("pointer", "good", "bad"),
    [
        ("http://json-schema.org/draft-04/schema#/properties/multipleOf", 0.5, 0),
        ("http://json-schema.org/draft-07/schema#/definitions/simpleTypes", "array", "tuple"),
        ("https://json-schema.org/draft/2020-12/meta/validation#/$defs/stringArray", ["a"], ["a", "a"]),
        ("https://json-schema.org/draft/2019-09/meta/core#/properties/$anchor", "a-b", "1a"),
    ],
)
def test_pointer_into_a_metaschema(pointer: str, good: Json, bad: Json) -> None:
    assert _fits({"$ref": pointer}, good)
    assert not _fits({"$ref": pointer}, bad)


def test_metaschema_of_a_vocabulary_lets_dynamic_references_lead_to_the_whole() -> None:
    schema: dict[str, Any] = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    part: dict[str, Any] = {"$ref": "https://json-schema.org/draft/2020-12/meta/applicator"}
    value: Json = {"properties": {"a": {"minLength": -1}}}

    assert not _fits(schema, value)
    assert _fits(part, value)  # alone, it knows nothing of minLength
    assert not _fits(part, {"properties": {"a": {"properties": 1}}})


def test_reference_to_a_document_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnsupportedSchemaError, match=r"does not point into this schema") as caught:
        compiler().compile_json_schema({"properties": {"a": {"$ref": "https://example.com/b.json"}}})
    assert caught.value.path == "/properties/a/$ref"


def test_given_documents_are_found_by_uri_and_by_their_own_id() -> None:
    documents: dict[str, Any] = {
        "https://example.com/b.json": {
            "$id": "other.json",
            "$defs": {"n": {"type": "integer"}},
            "items": {"$ref": "#/$defs/n"},
        },
        "https://example.com/dir/c.json#": {"$ref": "../b.json"},
    }
    schema: dict[str, Any] = {
        "$id": "https://example.com/dir/a.json",
        "properties": {"x": {"$ref": "c.json"}, "y": {"$ref": "../other.json#/$defs/n"}},
    }

    assert _fits(schema, {"x": [1], "y": 2}, documents=documents)
    assert not _fits(schema, {"x": ["1"]}, documents=documents)
    assert not _fits(schema, {"y": "2"}, documents=documents)
    with pytest.raises(UnsupportedSchemaError):
        compiler().compile_json_schema(schema)  # the same text without them is another grammar


def test_documents_that_are_no_schemas_are_refused_by_name() -> None:
    with pytest.raises(SchemaError, match="documents") as caught:
        compiler().compile_json_schema(True, documents={"https://example.com/b": [1]})  # type: ignore[dict-item]
    assert caught.value.path == "/https:~1~1example.com~1b"


def test_each_resource_is_read_in_its_own_draft() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"old": {"$ref": "https://example.com/old"}, "new": {"prefixItems": [{"type": "null"}]}},
        "$defs": {
            "old": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "https://example.com/old",
                "definitions": {"n": {"type": "number"}},
                "prefixItems": [False],
                "items": [{"$ref": "#/definitions/n", "maximum": 0}, {"not": {"const": 3}}],
                "dependentRequired": {"a": ["b"]},
            }
        },
    }

    assert _fits(schema, {"old": [7, 2]})  # siblings of $ref and prefixItems are void in draft 7
    assert not _fits(schema, {"old": ["7"]})
    assert not _fits(schema, {"old": [7, 3]})
    assert _fits(schema, {"old": {"a": 1}})
    assert not _fits(schema, {"new": [7]})


def test_metaschema_of_draft_4_keeps_its_integers() -> None:
    schema: dict[str, Any] = {
        "properties": {"four": {"$ref": "http://json-schema.org/draft-04/schema#"}, "n": {"type": "integer"}}
    }

    assert not accepts(Matcher(compiler().compile_json_schema(schema)), '{"four": {"minLength": 1.0}}')
    assert accepts(Matcher(compiler().compile_json_schema(schema)), '{"n": 1.0}')


def _lists(dynamic: str) -> dict[str, Any]:
    """Generic lists, and two kinds of them: what an item is depends on the way to it."""
    anchor = {"$dynamicAnchor": "item"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/main",
        "properties": {"numbers": {"$ref": "numbers"}, "words": {"$ref": "words"}, "any": {"$ref": "generic"}},
        "$defs": {
            "generic": {
                "$id": "generic",
                "items": {"$dynamicRef": dynamic},
                "$defs": {"item": anchor},
            },
            "numbers": {"$id": "numbers", "$defs": {"item": anchor | {"type": "number"}}, "$ref": "generic"},
            "words": {"$id": "words", "$defs": {"item": anchor | {"type": "string"}}, "$ref": "generic"},
        },
    }


def test_dynamic_reference_goes_to_the_first_resource_entered_that_has_the_anchor() -> None:
    schema = _lists("#item")

    assert _fits(schema, {"numbers": [1], "words": ["a"], "any": [1, "a", None]})
    assert not _fits(schema, {"numbers": ["a"]})
    assert not _fits(schema, {"words": [1]})


def test_dynamic_reference_to_a_pointer_is_a_plain_one() -> None:
    assert _fits(_lists("#/$defs/item"), {"numbers": ["a"], "words": [1]})


def test_dynamic_reference_under_a_negation() -> None:
    schema = _lists("#item")
    schema["not"] = {"properties": {"numbers": {"$ref": "words"}}, "required": ["numbers"]}

    assert _fits(schema, {"numbers": [1]})
    assert not _fits(schema, {"numbers": []})  # an empty list is one of words, too


def test_recursive_reference_goes_to_the_first_resource_that_says_so() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://example.com/main",
        "properties": {"strict": {"$ref": "strict"}, "loose": {"$ref": "tree"}},
        "$defs": {
            "tree": {
                "$id": "tree",
                "$recursiveAnchor": True,
                "type": "object",
                "properties": {"children": {"items": {"$recursiveRef": "#"}}},
            },
            "strict": {"$id": "strict", "$recursiveAnchor": True, "$ref": "tree", "required": ["name"]},
        },
    }

    assert _fits(schema, {"loose": {"children": [{}]}})
    assert _fits(schema, {"strict": {"children": [{"name": 1}], "name": 1}})
    assert not _fits(schema, {"strict": {"children": [{}], "name": 1}})


def test_id_of_draft_4_counts_where_no_draft_is_named_and_nothing_else_is_meant() -> None:
    schema: dict[str, Any] = {
        "id": "http://example.com/root.json",
        "properties": {"a": {"$ref": "part.json"}, "b": {"$ref": "#word"}, "id": {"type": "null"}},
        "definitions": {"part": {"id": "part.json", "type": "integer"}, "word": {"id": "#word", "type": "string"}},
    }

    assert _fits(schema, {"a": 1, "b": "x", "id": None})
    assert not _fits(schema, {"a": "1"})
    assert not _fits(schema, {"b": 1})
    with pytest.raises((SchemaError, UnsupportedSchemaError)):
        compiler().compile_json_schema({"$schema": "http://json-schema.org/draft-07/schema#"} | schema)


def test_draft_that_a_subschema_names_without_an_id_means_nothing() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"$schema": "http://json-schema.org/draft-04/schema#", "id": "other", "$ref": "#/$defs/n"}},
        "$defs": {"n": {"const": 1}},
    }

    assert _fits(schema, {"a": 1})
    assert not _fits(schema, {"a": 2})  # draft 4 does not know "const"


def test_pointers_are_not_disturbed_by_an_id_without_a_meaning() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"id": "/properties/a", "$ref": "#/definitions/n"}},
        "definitions": {"n": {"type": "integer"}},
    }

    assert _fits(schema, {"a": 1})
    assert not _fits(schema, {"a": "1"})
