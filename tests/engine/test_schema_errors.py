"""A schema that cannot be enforced is refused, with the keyword and the place."""

from __future__ import annotations

import pytest

from engine_native import EngineError, GrammarSyntaxError, Matcher, SchemaError, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

_OBJECT: dict[str, Json] = {"type": "object"}

_UNSUPPORTED: list[tuple[str, dict[str, Json]]] = [
    ("uniqueItems", {"uniqueItems": True, "contains": {"type": "string"}}),
    ("uniqueItems", {"uniqueItems": True, "prefixItems": [{"type": "string"}]}),
    ("uniqueItems", {"not": {"uniqueItems": True}}),
    ("uniqueItems", {"uniqueItems": True, "minItems": 3, "items": {"type": "string", "pattern": "^[ab]$"}}),
    ("format", {"not": {"format": "regex"}}),
    ("format", {"format": "idn-hostname"}),
    ("$ref", {"$ref": "https://example.com/schema"}),
]
"""Keywords that stay refused, and a schema with each."""


@pytest.mark.parametrize(("keyword", "inner"), _UNSUPPORTED)
def test_unsupported_keyword_raises_with_keyword_and_pointer(keyword: str, inner: dict[str, Json]) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"a/b": {"type": "array", "items": inner}}}

    with pytest.raises(UnsupportedSchemaError) as caught:
        compiler().compile_json_schema(schema)

    assert keyword in caught.value.message
    assert caught.value.path.startswith("/properties/a~1b/items/")
    assert caught.value.path.endswith(f"/{keyword}")
    assert keyword in str(caught.value)


def test_if_without_then_and_else_says_nothing() -> None:
    grammar = compiler().compile_json_schema({"type": "integer", "if": {"minimum": 3}})

    assert accepts(Matcher(grammar), "1")


@pytest.mark.parametrize("keyword", ["title", "description", "default", "examples", "$comment", "x-anything"])
def test_annotation_keyword_is_ignored(keyword: str) -> None:
    grammar = compiler().compile_json_schema({"type": "integer", keyword: ["anything"]})

    assert accepts(Matcher(grammar), "1")
    assert not accepts(Matcher(grammar), '"anything"')


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"type": "integer"', 18),
        ('{"type" "integer"}', 8),
        ('{"type": integer}', 9),
        ('{"type": "integer"} x', 20),
        ('["a",]', 5),
        ("", 0),
        ('{"a": 01}', 7),
        ('{"a": "\\q"}', 8),
        ('{"a": "\n"}', 7),
    ],
)
def test_malformed_json_raises_with_the_offset(text: str, offset: int) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_json_schema(text)

    assert caught.value.offset in (offset, offset - 1, offset + 1)


def test_json_that_is_not_utf8_text_raises() -> None:
    with pytest.raises((EngineError, UnicodeEncodeError)):
        compiler().compile_json_schema('{"const": "\ud800"}')


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "whole"}, "/type"),
        ({"type": 3}, "/type"),
        ({"type": ["string", "text"]}, "/type/1"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a": 1}}, "/properties/a"),
        ({"required": "a"}, "/required"),
        ({"required": [1]}, "/required/0"),
        ({"items": [1]}, "/items/0"),
        ({"minItems": -1}, "/minItems"),
        ({"minItems": 1.5}, "/minItems"),
        ({"maxLength": "3"}, "/maxLength"),
        ({"minimum": "3"}, "/minimum"),
        ({"anyOf": []}, "/anyOf"),
        ({"anyOf": {}}, "/anyOf"),
        ({"enum": "a"}, "/enum"),
        ({"$ref": 1}, "/$ref"),
        ({"additionalProperties": 1}, "/additionalProperties"),
        ({"pattern": "("}, "/pattern"),
        ({"pattern": 1}, "/pattern"),
        ({"patternProperties": {"[": {}}}, "/patternProperties/["),
        ({"propertyNames": 1}, "/propertyNames"),
        ({"not": 1}, "/not"),
        ({"oneOf": []}, "/oneOf"),
        ({"if": 1}, "/if"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"multipleOf": -1}, "/multipleOf"),
        ({"uniqueItems": 1}, "/uniqueItems"),
        ({"minContains": -1, "contains": {}}, "/minContains"),
        ({"dependentRequired": {"a": [1]}}, "/dependentRequired/a"),
        ({"dependentSchemas": {"a": 1}}, "/dependentSchemas/a"),
        ({"$ref": "#nowhere"}, "/$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "/properties/a/$ref"),
    ],
)
def test_invalid_schema_raises_with_pointer(schema: dict[str, Json], path: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compiler().compile_json_schema(schema)

    assert caught.value.path == path or path.startswith(f"{caught.value.path}/")
    assert caught.value.path != ""


@pytest.mark.parametrize("reference", ["other.json", "https://example.com/schema", "other.json#/a"])
def test_reference_to_another_document_is_unsupported(reference: str) -> None:
    with pytest.raises((UnsupportedSchemaError, SchemaError)) as caught:
        compiler().compile_json_schema({"items": {"$ref": reference}})

    assert caught.value.path == "/items/$ref"


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "string", "enum": [1, 2]},
        {"enum": []},
        {"anyOf": [False, {"type": "integer", "const": "a"}]},
        {"not": {}},
        {"type": "string", "pattern": "^a", "const": "b"},
        {"type": "string", "pattern": "^a$", "minLength": 2},
        {"allOf": [{"pattern": "^a"}, {"pattern": "^b"}], "type": "string"},
        {"type": "integer", "multipleOf": 10, "minimum": 1, "maximum": 9},
        {"oneOf": [{}, {}]},
        {"type": "object", "minProperties": 1, "propertyNames": False},
        {"type": "array", "minItems": 1, "contains": {}, "maxContains": 0},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"], **_OBJECT}},
        },
    ],
)
def test_schema_that_nothing_satisfies_raises(schema: dict[str, Json] | bool) -> None:
    with pytest.raises(SchemaError):
        compiler().compile_json_schema(schema)


def test_schema_of_another_python_type_raises() -> None:
    for schema in (None, 3, b"{}", [1]):
        with pytest.raises((TypeError, EngineError)):
            compiler().compile_json_schema(schema)  # type: ignore[arg-type]


@pytest.mark.parametrize("whitespace", ["", "some", "Any", None])
def test_unknown_whitespace_option_raises(whitespace: str | None) -> None:
    with pytest.raises((ValueError, TypeError)):
        compiler().compile_json_schema({}, whitespace=whitespace)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "offset"), [("a(b", 3), ("a)b", 1), ("[a", 2), ("*a", 0), ("a{3,2}", 1), ("\\", 1), ("[b-a]", 1)]
)
def test_malformed_regex_raises_with_the_offset(pattern: str, offset: int) -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        compiler().compile_regex(pattern)

    assert abs(caught.value.offset - offset) <= 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "root ::= ",
        'root ::= "a',
        "root ::= [a",
        "root ::= (",
        "root ::= other",
        'root = "a"',
        'root ::= "a"{3,2}',
        'root ::= "\\q"',
        'other ::= "a"',
        'root ::= "a"\nroot ::= "b"',
        "root ::= *",
        'root ::= "a" "b',
    ],
)
def test_malformed_ebnf_raises(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_ebnf(text)

    assert caught.value.message


def test_ebnf_error_on_a_later_line_names_its_offset() -> None:
    text = 'root ::= a\na ::= "x" b\n'

    with pytest.raises(EngineError) as caught:
        compiler().compile_ebnf(text)

    assert caught.value.offset == text.index(" b") + 1


def test_error_fields_are_in_the_text() -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        compiler().compile_json_schema({"items": {"format": "idn-hostname"}})

    assert "format" in str(caught.value)
    assert "/items" in str(caught.value)
    assert isinstance(caught.value, EngineError)
    assert isinstance(caught.value.code, (int, str))
