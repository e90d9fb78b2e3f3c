"""Worked examples: each keyword alone and beside others, each format, the usual mistakes."""

from __future__ import annotations

import pytest

from engine_native import Matcher
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

Example = tuple["dict[str, Json]", tuple[str, ...], tuple[str, ...]]
"""A schema, JSON texts that it accepts, and texts that it refuses."""


def _object(**keywords: Json) -> dict[str, Json]:
    return {"type": "object", **keywords}


_EXAMPLES: dict[str, Example] = {
    "control characters must be escaped": (
        {"type": "string", "minLength": 1},
        ('"a\\n"', '"\\t"', '"é"'),
        ('"\t"', '""', '"\\ud800"'),
    ),
    "required names that nobody declares": (
        _object(required=["a"], additionalProperties=True),
        ('{"a":1}', '{"b":1,"a":1}'),
        ("{}", '{"b":1}'),
    ),
    "properties beside anyOf": (
        _object(properties={"a": {"type": "integer"}}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        ('{"a":1}', '{"b":"x"}', '{"a":1,"b":1}'),
        ('"x"', "{}", '{"a":"x"}'),
    ),
    "all of two": ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, ("3",), ("2", '"x"', "3.5")),
    "type beside enum": ({"type": "string", "enum": ["a", 1]}, ('"a"',), ("1",)),
    "keywords beside a reference": (
        {"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}},
        ('"ab"',),
        ('"abc"', "1"),
    ),
    "a property that must not be there": (_object(properties={"a": False}), ("{}", '{"b":1}'), ('{"a":1}',)),
    "a pattern is a search": ({"type": "string", "pattern": "b"}, ('"b"', '"abc"'), ('"ac"',)),
    "pattern and lengths": (
        {"type": "string", "pattern": "^a+$", "minLength": 2, "maxLength": 3},
        ('"aa"', '"aaa"'),
        ('"a"', '"aaaa"', '"ab"'),
    ),
    "pattern beside a huge length": (
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 1000000},
        ('"ab"',),
        ('""', '"A"'),
    ),
    "characters under a pattern may need escapes": (
        {"type": "string", "pattern": '^["\\\\\\n\\u0001]+$'},
        ('"\\"\\\\\\n\\u0001"',),
        ('"\\u0022"', '"a"', '"\n"'),
    ),
    "an escape does not pass a pattern": ({"type": "string", "pattern": "^[^a]*$"}, ('"b"',), ('"a"', '"\\u0061"')),
    "negative lookahead": ({"type": "string", "pattern": "^(?!a)[a-z]+$"}, ('"bc"',), ('"abc"',)),
    "unique listed values": (
        {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True},
        ("[]", '["b","a"]', '[1,"a","b"]'),
        ('["a","a"]', "[1,1.0]"),
    ),
    "unique booleans": (
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
        ("[true,false]",),
        ("[true,true]",),
    ),
    "contains": ({"type": "array", "contains": {"type": "integer"}}, ('["a",1]', "[1,2]"), ("[]", '["a"]')),
    "contains, counted": (
        {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        ("[1,1]", '[1,"x",1,1]'),
        ("[1]", "[1,1,1,1]"),
    ),
    "integers": ({"type": "integer"}, ("1", "-0", "1.0", "-7.000"), ("1.5", "01", "1.")),
    "integers of draft 4": (
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"},
        ("1",),
        ("1.0",),
    ),
    "numbers from zero": ({"type": "number", "minimum": 0}, ("1e3", "0.1234567", "0", "-0"), ("-1", "-0.5")),
    "fractional multiples": ({"type": "number", "multipleOf": 0.5}, ("0.5", "-3", "2.50", "0"), ("0.3", "0.25")),
    "multiples under a bound": ({"type": "integer", "multipleOf": 5, "minimum": 1}, ("5", "100"), ("0", "3", "7")),
    "multiples with trailing zeros": (
        {"type": "integer", "multipleOf": 300},
        ("0", "300", "-1200"),
        ("100", "30", "350"),
    ),
    "cents": ({"type": "number", "multipleOf": 0.01}, ("0.1", "12.34", "5", "0.010"), ("0.001", "12.345")),
    "exclusive bounds of draft 4": (
        {"minimum": 1, "exclusiveMinimum": True, "maximum": 3, "type": "integer"},
        ("2", "3"),
        ("1", "4"),
    ),
    "not": ({"not": {"type": ["integer", "null"]}}, ('"a"', "1.5", "[]"), ("1", "null", "2.0")),
    "not a pattern": ({"type": "string", "not": {"pattern": "^a"}}, ('""', '"ba"'), ('"a"',)),
    "not a long pattern": (
        {"type": "string", "not": {"pattern": "^a", "minLength": 2, "maxLength": 40000}},
        ('""', '"a"', '"bb"'),
        ('"aa"', '"abc"'),
    ),
    "not a length": ({"type": "string", "not": {"maxLength": 1}}, ('"ab"',), ('""', '"a"')),
    "a prefix and a long tail": (
        {"type": "string", "pattern": "^(x|yy):[a-z]*$", "minLength": 4, "maxLength": 100000},
        ('"x:ab"', '"yy:a"'),
        ('"x:a"', '"yy:"', '"z:ab"'),
    ),
    "few multiples between bounds": (
        {
            "multipleOf": 6.75,
            "allOf": [{"multipleOf": 2}],
            "minimum": -60,
            "maximum": 60,
            "type": "number",
            "not": {"const": -54},
        },
        ("0", "54", "54.00", "-0"),
        ("-54", "-54.0", "27", "6.75", "13.5", "108"),
    ),
    "not a listed number": ({"type": "integer", "not": {"enum": [2, 4]}}, ("1", "3", "22"), ("2", "4.0", "2.00")),
    "not a listed object": (
        {"not": {"const": {"a": 1}}},
        ("{}", '{"a":2}', '{"a":1,"b":1}', "1"),
        ('{"a":1}', '{"a":1.0}'),
    ),
    "not a listed array": ({"not": {"const": [1, 2]}}, ("[]", "[1]", "[1,3]", "[1,2,3]"), ("[1,2]",)),
    "one of overlapping schemas": (
        {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]},
        ("1", "2.5"),
        ("2", "3", "0.5"),
    ),
    "one of two required keys": (
        _object(oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        ('{"a":1}', '{"x":1,"b":1}'),
        ("{}", '{"a":1,"b":1}'),
    ),
    "one of objects with a discriminator": (
        {
            "oneOf": [
                _object(properties={"k": {"const": "x"}, "v": {"type": "integer"}}, required=["k"]),
                _object(properties={"k": {"const": "y"}, "v": {"type": "string"}}, required=["k"]),
            ]
        },
        ('{"k":"x","v":1}', '{"k":"y","v":"s"}'),
        ('{"k":"x","v":"s"}', '{"k":"z"}', "{}"),
    ),
    "if, then, else": (
        {
            "type": "object",
            "properties": {"k": {"type": "string"}, "a": {}, "b": {}},
            "required": ["k"],
            "if": {"properties": {"k": {"const": "x"}}},
            "then": {"required": ["a"]},
            "else": {"required": ["b"]},
        },
        ('{"k":"x","a":1}', '{"k":"y","b":1}'),
        ('{"k":"x","b":1}', '{"k":"y"}', '{"k":"x"}'),
    ),
    "dependent keys": (
        _object(dependentRequired={"a": ["b"]}),
        ("{}", '{"b":1}', '{"a":1,"b":1}', '{"b":1,"a":1}'),
        ('{"a":1}',),
    ),
    "dependent schemas": (
        _object(properties={"a": {}, "b": {}}, dependentSchemas={"a": {"properties": {"b": {"type": "integer"}}}}),
        ('{"a":1,"b":2}', '{"b":"x"}', '{"a":1}'),
        ('{"a":1,"b":"x"}',),
    ),
    "patterns of keys that overlap": (
        _object(
            properties={"ab": {"minimum": 0}},
            patternProperties={"^a": {"type": "integer"}, "b$": {"maximum": 9}},
            additionalProperties={"type": "string"},
        ),
        ('{"ab":5}', '{"a":100}', '{"xb":8.5,"c":"s"}', '{"aab":9}'),
        ('{"ab":-1}', '{"ab":10}', '{"ab":5.5}', '{"a":1.5}', '{"xb":10}', '{"c":1}', '{"aab":10}'),
    ),
    "names of keys": (
        _object(propertyNames={"pattern": "^[a-z]+$", "maxLength": 2}),
        ("{}", '{"ab":1,"c":2}'),
        ('{"abc":1}', '{"A":1}', '{"":1}'),
    ),
    "counts of members": (
        _object(minProperties=1, maxProperties=2),
        ('{"a":1}', '{"a":1,"b":2}'),
        ("{}", '{"a":1,"b":2,"c":3}'),
    ),
    "many members": (_object(maxProperties=1000), ("{}", '{"a":1}'), ("1",)),
    "unevaluated keys": (
        _object(
            properties={"a": {}},
            anyOf=[{"properties": {"b": {"const": 1}}, "required": ["b"]}, {"properties": {"c": {}}}],
            unevaluatedProperties=False,
        ),
        ('{"a":1,"b":1,"c":1}', '{"a":1,"c":2}'),
        ('{"a":1,"b":2}', '{"d":1}'),
    ),
    "unevaluated items": (
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}],
            "allOf": [{"prefixItems": [True, {}]}],
            "unevaluatedItems": False,
        },
        ("[]", "[1]", '[1,"x"]'),
        ("[1,2,3]", '["x"]'),
    ),
    "tuples of the older drafts": (
        {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}, "type": "array"},
        ("[]", "[1]", '[1,"a"]'),
        ('["a"]', "[1,2]"),
    ),
    "anchors": (
        {"$ref": "#s", "$defs": {"a": {"$anchor": "s", "type": "integer"}}},
        ("1",),
        ('"a"',),
    ),
    "identifiers inside": (
        {
            "$id": "https://example.com/root.json",
            "properties": {"a": {"$ref": "item.json"}, "b": {"$ref": "/other/../item.json#/$defs/n"}},
            "$defs": {"i": {"$id": "item.json", "type": "string", "$defs": {"n": {"type": "null"}}}},
            "type": "object",
        },
        ('{"a":"x","b":null}',),
        ('{"a":1}', '{"b":1}'),
    ),
    "dynamic references": (
        {
            "$id": "https://example.com/tree",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"next": {"$dynamicRef": "#node"}},
            "additionalProperties": False,
        },
        ('{"next":{"next":{}}}',),
        ('{"next":1}', '{"x":1}'),
    ),
    "a listed object may have spaces": ({"const": {"a": [1, 2]}}, ('{"a":[1,2]}', '{"a": [1, 2]}'), ('{"a":[1]}',)),
}


@pytest.mark.parametrize("name", _EXAMPLES)
def test_example_accepts_and_refuses(name: str) -> None:
    schema, accepted, refused = _EXAMPLES[name]
    grammar = compiler().compile_json_schema(schema)

    assert [text for text in accepted if not accepts(Matcher(grammar), text)] == []
    assert [text for text in refused if accepts(Matcher(grammar), text)] == []


_LONG = ".".join(["a" * 63] * 3)

_FORMATS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "date": (
        ("2024-02-29", "2000-02-29", "1999-12-31"),
        ("2023-02-29", "1900-02-29", "2023-02-30", "2023-4-1", "2023-13-01"),
    ),
    "time": (
        ("23:59:59Z", "00:00:00.123+01:00", "23:59:60Z", "15:59:60-08:00", "01:29:60+01:30"),
        ("24:00:00Z", "12:00:00", "22:59:60Z", "23:59:60+01:00", "12:00Z"),
    ),
    "date-time": (
        ("2020-01-02T03:04:05Z", "1998-12-31T15:59:60.1-08:00"),
        ("2020-01-02 03:04:05Z", "2020-02-30T00:00:00Z"),
    ),
    "duration": (("P4DT12H30M5S", "P1Y2M3D", "PT36H", "P4W"), ("P", "PT", "P1D2H", "P2D1Y", "P1Y2W", "4D")),
    "email": (
        ("a.b+c@example.com", '"x y"@a.b', "a@[1.2.3.4]", "a@[IPv6:::1]"),
        ("a", ".a@b.c", "a..b@c.d", "a@-b.c", "a@b_c.d"),
    ),
    "hostname": (
        ("Example.COM", "a", "xn--nxasmq6b", f"{_LONG}.com"),
        ("-a", "a-", "a..b", "a_b", "a" * 64, f"{_LONG}.{'a' * 63}"),
    ),
    "ipv4": (("1.2.3.4", "255.255.255.255"), ("256.1.1.1", "01.2.3.4", "1.2.3")),
    "ipv6": (
        ("::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4"),
        (":", "1:2:3:4:5:6:7", "1::2::3", "12345::", "::1%eth0"),
    ),
    "uri": (("http://a@b:8/c/d?e#f", "urn:x:y", "mailto:a@b"), ("/a/b", "a b:", "http://a b", "http://a/\\u0000")),
    "uri-reference": (("/a/b", "//a/b", "", "#f", "a%20b"), ("a b", "%zz", ":a")),
    "iri": (("http://é/ü?ö#ä",), ("é",)),
    "iri-reference": (("é/ü",), ("é ü",)),
    "uri-template": (("/a/{b}{?c,d*}{e:3}",), ("/a/{b", "{}", "{b:0}")),
    "uuid": (
        ("123e4567-E89B-12d3-a456-426614174000",),
        ("123e4567-e89b-12d3-a456-42661417400", "123e4567e89b12d3a456426614174000"),
    ),
    "regex": (
        ("", "^a.*$", "(a|b)+?", "[a-z0-9_-]*", "\\\\d{1,3}", "(?:x(?=y)|[^\\\\]])", "a||b", "(((a)))", "é{2,}"),
        ("(", "a**", "[", "\\\\", "a)", "[z-a]", "{2}", "a{3,2}", "(?", "\\\\q", "+a", "[a", "a{10,2}"),
    ),
    "json-pointer": (("", "/a~1b/~0", "/"), ("a", "/~2", "/~")),
    "relative-json-pointer": (("0", "1/a", "2#"), ("01", "-1", "/a", "1#/a")),
}


@pytest.mark.parametrize("name", _FORMATS)
def test_format_accepts_and_refuses(name: str) -> None:
    accepted, refused = _FORMATS[name]
    grammar = compiler().compile_json_schema({"type": "string", "format": name})

    assert [text for text in accepted if not accepts(Matcher(grammar), f'"{_escaped(text)}"')] == []
    assert [text for text in refused if accepts(Matcher(grammar), f'"{_escaped(text)}"')] == []


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def test_unknown_format_is_noted() -> None:
    grammar = compiler().compile_json_schema({"properties": {"a": {"format": "colour"}}})

    assert any("/properties/a/format" in note and "colour" in note for note in grammar.notes)
    assert accepts(Matcher(grammar), '{"a": 1}')


def test_any_order_takes_every_order_once() -> None:
    schema = _object(properties={"a": {"type": "integer"}, "b": {}}, required=["a"])
    grammar = compiler().compile_json_schema(schema, property_order="any")

    accepted = ('{"b": 1, "a": 2}', '{"a": 1}', '{"x": 1, "a": 1, "b": 1}', '{"a": 1, "x": 1, "b": 1}')
    refused = ('{"b": 1}', '{"a": 1, "a": 1}', '{"a": 1, "b": 1, "a": 1}', '{"a": "x"}')
    assert [text for text in accepted if not accepts(Matcher(grammar), text)] == []
    assert [text for text in refused if accepts(Matcher(grammar), text)] == []


@pytest.mark.parametrize(
    ("separators", "text"),
    [
        ((", ", ": "), '{"a": [1, 2], "b": {}}'),
        ((",", ":"), '{"a":[1,2],"b":{}}'),
        ((" , ", " : "), '{"a" : [1 , 2] , "b" : {}}'),
    ],
)
def test_separators_are_exact(separators: tuple[str, str], text: str) -> None:
    grammar = compiler().compile_json_schema({"type": "object"}, separators=separators)

    assert accepts(Matcher(grammar), text)
    for other in (
        text.replace("[1", "[ 1"),
        text.replace(",", ",\n"),
        text.replace(":", ":  "),
        text.replace("}}", "} }"),
    ):
        assert not accepts(Matcher(grammar), other)


@pytest.mark.parametrize("separators", [(",", ";"), ("", ":"), (",\n", ":"), ("," + " " * 16, ":")])
def test_separators_that_are_none_raise(separators: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="separator"):
        compiler().compile_json_schema({}, separators=separators)


def test_thirty_conditions_on_one_key_are_thirty_branches() -> None:
    rules: list[Json] = [
        {"if": {"properties": {"k": {"const": f"v{i}"}}}, "then": {"properties": {"x": {"const": i}}}}
        for i in range(30)
    ]
    grammar = compiler().compile_json_schema(_object(properties={"k": {}, "x": {}}, required=["k", "x"], allOf=rules))

    assert accepts(Matcher(grammar), '{"k": "v7", "x": 7}')
    assert accepts(Matcher(grammar), '{"k": "other", "x": 99}')
    assert not accepts(Matcher(grammar), '{"k": "v7", "x": 8}')


def test_five_thousand_values_of_an_enum_compile() -> None:
    grammar = compiler().compile_json_schema({"enum": [f"value {i}" for i in range(5000)]})

    assert accepts(Matcher(grammar), '"value 4321"')
    assert not accepts(Matcher(grammar), '"value 5000"')


def test_two_thousand_constants_of_which_one_is_listed_twice() -> None:
    constants: list[Json] = [{"const": f"value {i}"} for i in range(2000)]
    grammar = compiler().compile_json_schema({"oneOf": [*constants, {"enum": ["value 7", "other"]}]})
    distinct = compiler().compile_json_schema({"oneOf": constants})

    assert accepts(Matcher(distinct), '"value 7"')
    assert accepts(Matcher(grammar), '"value 8"')
    assert accepts(Matcher(grammar), '"other"')
    assert not accepts(Matcher(grammar), '"value 7"')
