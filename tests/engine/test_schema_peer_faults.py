"""JSON schemas that other engines are known to get wrong: what each must accept and refuse.

Source: probes of xgrammar 0.2.9 and the issues of its repository; each line is one of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine_native import Matcher, SchemaError, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler


@dataclass(frozen=True)
class _Fault:
    name: str
    schema: Any
    good: tuple[str, ...]
    bad: tuple[str, ...]


_A: dict[str, Json] = {"properties": {"a": {"type": "integer"}}}

_FAULTS = [
    _Fault(
        "raw tab in a string with a length", {"type": "string", "minLength": 1}, ('"a\\n"', '"\\t"'), ('"\t"', '""')
    ),
    _Fault("raw tab in a plain string", {"type": "string"}, ('"\\t"',), ('"\t"', '"\x01"')),
    _Fault(
        "required keys nobody declared",
        {"type": "object", "required": ["a"]},
        ('{"a": 1}', '{"b": 2, "a": 1}'),
        ("{}",),
    ),
    _Fault(
        "siblings of anyOf",
        {"type": "object"} | _A | {"anyOf": [{"required": ["a"]}]},
        ('{"a": 1}',),
        ('"x"', "{}", '{"a": "x"}'),
    ),
    _Fault(
        "siblings of oneOf", {"oneOf": [{"minimum": 1}, {"maximum": -1}], "type": "integer"}, ("5", "-5"), ("0", '"x"')
    ),
    _Fault("allOf of two", {"allOf": [{"type": "integer"}, {"minimum": 3}]}, ("3",), ("2", '"a"')),
    _Fault("allOf of two objects", {"allOf": [_A, {"required": ["a"]}], "type": "object"}, ('{"a": 1}',), ("{}", "7")),
    _Fault("enum beside a type", {"type": "string", "enum": ["a", 1]}, ('"a"',), ("1",)),
    _Fault(
        "siblings of $ref",
        {"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}},
        ('"ab"',),
        ('"abc"', "1"),
    ),
    _Fault("a property that must not be there", {"properties": {"a": False}}, ("{}", '{"b": 1}', "3"), ('{"a": 1}',)),
    _Fault("false in one branch", {"anyOf": [False, {"type": "null"}]}, ("null",), ("1",)),
    _Fault("pattern is a search", {"type": "string", "pattern": "b"}, ('"abc"', '"b"'), ('"ac"',)),
    _Fault(
        "pattern beside a length", {"type": "string", "pattern": "^a+$", "maxLength": 2}, ('"aa"',), ('"aaa"', '"b"')
    ),
    _Fault("format beside a length", {"format": "date", "type": "string", "maxLength": 3}, (), ('"2020-01-01"',)),
    _Fault("pattern with characters to escape", {"pattern": '^"\\\\$', "type": "string"}, ('"\\"\\\\"',), ('"\\""',)),
    _Fault("alternatives with anchors", {"type": "string", "pattern": "^a$|^b$"}, ('"a"', '"b"'), ('"ab"', '"c"')),
    _Fault("lookahead", {"type": "string", "pattern": "^(?!a)[a-z]+$"}, ('"bc"',), ('"abc"',)),
    _Fault("uniqueItems", {"type": "array", "uniqueItems": True}, ("[1, 2]", "[]"), ("[1, 1]", "[1, 1.0]")),
    _Fault("contains", {"type": "array", "contains": {"type": "null"}}, ("[1, null]",), ("[]", "[1]")),
    _Fault(
        "maxContains", {"contains": {"const": 1}, "maxContains": 1, "type": "array"}, ("[1, 2]",), ("[1, 1]", "[2]")
    ),
    _Fault("integers written otherwise", {"type": "integer"}, ("1.0", "-0", "0"), ("1.5", "01")),
    _Fault("integer with a fraction as bound", {"type": "integer", "minimum": 0.5}, ("1",), ("0", "-1")),
    _Fault("numbers of any form above 0", {"type": "number", "minimum": 0}, ("1e3", "0.1234567", "0"), ("-1", "-0.1")),
    _Fault("exclusiveMinimum 0", {"type": "number", "exclusiveMinimum": 0}, ("0.1", "0.001"), ("0", "-1", "0.0")),
    _Fault("minimum 2", {"type": "number", "minimum": 2}, ("2", "10", "2.5"), ("1", "1.9")),
    _Fault("1 to 5", {"type": "number", "minimum": 1, "maximum": 5}, ("5", "4.7", "1"), ("5.7", "0.9")),
    _Fault("integers from -5", {"type": "integer", "minimum": -5}, ("-5", "0", "12"), ("-", "-6")),
    _Fault("-4 to 4", {"type": "number", "minimum": -4, "maximum": 4}, ("-0.5", "0.5", "-4"), ("-4.5",)),
    _Fault("a point is a point", {"type": "number", "minimum": 0.5}, ("0.5",), ("0,5",)),
    _Fault(
        "bounds of different length",
        {"type": "integer", "minimum": 9, "maximum": 101},
        ("9", "10", "101"),
        ("8", "102"),
    ),
    _Fault("multiples of a half", {"type": "number", "multipleOf": 0.5}, ("0.5", "3", "-1.5"), ("0.3",)),
    _Fault("multiples above a bound", {"type": "integer", "multipleOf": 5, "minimum": 0}, ("0", "10"), ("3", "-5")),
    _Fault(
        "a key in disguise",
        _A | {"additionalProperties": True},
        ('{"a": 1}', '{"b": "x"}'),
        ('{"a": "x"}', '{"\\u0061": "x"}'),
    ),
    _Fault("a declared key twice", _A, ('{"a": 1}',), ('{"a": 1, "a": 2}', '{"a": 1, "\\u0061": 2}')),
    _Fault(
        "dependentRequired",
        {"type": "object", "dependentRequired": {"a": ["b"]}},
        ("{}", '{"b": 1}', '{"a": 1, "b": 1}'),
        ('{"a": 1}',),
    ),
    _Fault(
        "dependentSchemas",
        {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
        ("{}", '{"a": 1, "b": 1}'),
        ('{"a": 1}',),
    ),
    _Fault(
        "if and then",
        {
            "properties": {"k": {"enum": [1, 2]}, "v": True},
            "if": {"properties": {"k": {"const": 1}}},
            "then": {"required": ["v"]},
        },
        ('{"k": 2}', '{"k": 1, "v": 0}'),
        ('{"k": 1}', "{}"),
    ),
    _Fault("not", {"not": {"type": "integer"}}, ('"a"', "1.5"), ("1",)),
    _Fault(
        "days of February", {"type": "string", "format": "date"}, ('"2024-02-29"',), ('"2023-02-30"', '"2023-02-29"')
    ),
    _Fault("host names in upper case", {"type": "string", "format": "hostname"}, ('"Example.COM"',), ('"-a"',)),
    _Fault("oneOf of integer and number", {"oneOf": [{"type": "integer"}, {"type": "number"}]}, ("1.5",), ("1", "1.0")),
    _Fault(
        "minProperties",
        {"type": "object", "minProperties": 2} | _A,
        ('{"a": 1, "b": 2}',),
        ('{"a": 1}', '{"a": 1, "a": 1}'),
    ),
    _Fault("spaces in a constant", {"const": {"a": [1, 2]}}, ('{"a": [1, 2]}', '{"a":[1,2]}'), ('{"a": [1]}',)),
    _Fault("only maxItems", {"type": "array", "maxItems": 2}, ("[]", "[1]", "[1, 2]"), ("[1, 2, 3]",)),
    _Fault("only minItems", {"type": "array", "minItems": 1}, ("[1]",), ("[]",)),
    _Fault("bare object", {"type": "object"}, ("{}", '{"a": [1]}'), ("[]",)),
    _Fault("untyped bounds", {"minimum": 3}, ("3", '"a"', "null"), ("2",)),
    _Fault("untyped lengths", {"minLength": 2}, ('"ab"', "1"), ('"a"',)),
    _Fault("untyped required", {"required": ["a"]}, ('{"a": 1}', "1"), ("{}",)),
    _Fault(
        "prefixItems are not required",
        {"prefixItems": [{"type": "null"}, {"type": "integer"}]},
        ("[]", "[null]", "[null, 1, 2]"),
        ("[1]", '[null, "a"]'),
    ),
    _Fault("true among prefixItems", {"prefixItems": [True], "type": "array"}, ("[]", "[1]"), ("{}",)),
    _Fault(
        "fewer items than prefixItems",
        {"prefixItems": [True, True], "maxItems": 1, "type": "array"},
        ("[1]",),
        ("[1, 2]",),
    ),
    _Fault(
        "items and additionalItems of draft 7",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [{"type": "null"}],
            "additionalItems": {"type": "integer"},
        },
        ("[null, 1]",),
        ("[1]", '[null, "a"]'),
    ),
    _Fault(
        "propertyNames beside additionalProperties",
        {"type": "object", "propertyNames": {"pattern": "^a$|^b$"}, "additionalProperties": {"type": "integer"}},
        ('{"a": 1, "b": 2}',),
        ('{"c": 1}', '{"a": "x"}'),
    ),
    _Fault(
        "patternProperties over properties",
        {
            "properties": {"ab": {"minimum": 3}},
            "patternProperties": {"^a": {"maximum": 5}},
            "additionalProperties": False,
        },
        ('{"ab": 4}', '{"ac": 1}'),
        ('{"ab": 6}', '{"ab": 1}', '{"b": 1}'),
    ),
    _Fault("anchor", {"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "integer"}}}, ("1",), ('"a"',)),
    _Fault(
        "keys with quotes",
        {"properties": {'a"b': {"type": "null"}}, "required": ['a"b']},
        ('{"a\\"b": null}', "1"),
        ('{"a\\"b": 1}', "{}"),
    ),
    _Fault("values beyond ASCII", {"enum": ["中文"]}, ('"中文"',), ('"ä¸\xadæ\x96\x87"',)),
    _Fault(
        "escapes beside a length",
        {"type": ["string", "null"], "maxLength": 2},
        ('"\\"\\\\"', "null", '"😀😀"'),
        ('"abc"',),
    ),
]


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda fault: fault.name)
def test_what_peers_get_wrong_is_right(fault: _Fault) -> None:
    try:
        grammar = compiler().compile_json_schema(fault.schema)
    except SchemaError:
        assert not fault.good  # nothing satisfies it
        return

    assert [text for text in fault.good if not accepts(Matcher(grammar), text)] == []
    assert [text for text in fault.bad if accepts(Matcher(grammar), text)] == []


_JUDGED = [f for f in _FAULTS if "$schema" not in f.schema and f.schema.get("format") != "hostname"]
"""Of the default draft, and of formats that the validator knows by itself."""


@pytest.mark.parametrize("fault", _JUDGED, ids=lambda fault: fault.name)
def test_the_examples_are_what_a_validator_says(fault: _Fault) -> None:
    judge = Draft202012Validator(fault.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for text in fault.good:
        assert judge.is_valid(json.loads(text)), text
    for text in fault.bad:
        try:
            value = json.loads(
                text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None
            )
        except ValueError:
            continue  # no JSON at all
        assert value is None or not judge.is_valid(value), text


@pytest.mark.parametrize("reference", ["/$defs/n", "other.json", "https://example.com/x", "#missing", "#/$defs/m"])
def test_reference_that_leads_nowhere_is_an_error(reference: str) -> None:
    with pytest.raises((SchemaError, UnsupportedSchemaError), match=r"\$ref"):
        compiler().compile_json_schema({"properties": {"a": {"$ref": reference}}, "$defs": {"n": True}})


def test_empty_enum_is_an_error_where_the_value_is_wanted() -> None:
    with pytest.raises(SchemaError, match="nothing can match"):
        compiler().compile_json_schema({"type": "object", "properties": {"x": {"enum": []}}, "required": ["x"]})
    grammar = compiler().compile_json_schema({"type": "object", "properties": {"x": {"enum": []}}})
    assert accepts(Matcher(grammar), "{}")
    assert not accepts(Matcher(grammar), '{"x": }')
