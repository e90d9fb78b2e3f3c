"""``x-guidance``: a schema says how its JSON is written."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from engine_native import Compiler, Matcher, SchemaError, UnsupportedSchemaError
from tests.engine.vocabularies import accepts, byte_vocabulary, compiler

CONTAINERS = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "object"}}}


def _split(options: dict[str, Any], schema: dict[str, Any], texts: tuple[str, ...]) -> list[str]:
    grammar = compiler().compile_json_schema({**schema, "x-guidance": options})
    return [text for text in texts if accepts(Matcher(grammar), text)]


COMPACT, SPACED = '{"a":[1,2],"b":{}}', '{"a": [1, 2], "b": {}}'
WIDE, HOLLOW = '{ "a" : [ 1 , 2 ] , "b" : { } }', '{"a":[    ]}'
LAYOUTS = (COMPACT, SPACED, WIDE, HOLLOW)


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({}, [COMPACT, SPACED, WIDE]),
        ({"whitespace_flexible": True}, [COMPACT, SPACED, WIDE, HOLLOW]),
        ({"whitespace_flexible": False}, [COMPACT]),
        ({"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}, [SPACED]),
        ({"whitespace_flexible": False, "item_separator": "\\s?,\\s?", "key_separator": " ?: ?"}, [COMPACT, SPACED]),
        ({"whitespace_pattern": "[ ]{1,4}"}, [COMPACT, SPACED, WIDE, HOLLOW]),
        ({"whitespace_pattern": "[ ]{1,3}", "whitespace_flexible": True}, [COMPACT, SPACED, WIDE]),
        ({"whitespace_pattern": None, "whitespace_flexible": False}, [COMPACT]),
        ({"key_separator": ": "}, [SPACED, WIDE]),
        ({"item_separator": "[,;]", "whitespace_flexible": False}, [COMPACT]),
    ],
)
def test_white_space_and_separators(options: dict[str, Any], accepted: list[str]) -> None:
    assert _split(options, CONTAINERS, LAYOUTS) == accepted


SHORT, CONTROL, LETTER, WIDE_LETTER, PAIR = '"\\n"', '"\\u001e"', '"\\u0041"', '"\\u00e9"', '"\\uD83D\\uDE00"'
SLASH, NEWLINE, RAW, QUOTE = '"\\/"', '"\\u000a"', '"é😀"', '"\\""'
SPELLINGS = (SHORT, CONTROL, LETTER, WIDE_LETTER, PAIR, SLASH, NEWLINE, RAW, QUOTE)


@pytest.mark.parametrize(
    ("options", "schema", "accepted"),
    [
        ({}, {"type": "string"}, list(SPELLINGS)),
        ({"json_allow_general_unicode_escapes": False}, {"type": "string"}, [SHORT, CONTROL, NEWLINE, RAW, QUOTE]),
        (
            {"json_allow_general_unicode_escapes": True},
            {"type": "string"},
            [SHORT, CONTROL, LETTER, WIDE_LETTER, PAIR, NEWLINE, RAW, QUOTE],
        ),
        (
            {"json_allow_general_unicode_escapes": True},
            {"type": "string", "maxLength": 1},
            [SHORT, CONTROL, LETTER, WIDE_LETTER, PAIR, NEWLINE, QUOTE],
        ),
        ({"json_allowed_escapes": 'nrbtf\\"'}, {"type": "string"}, [SHORT, RAW, QUOTE]),
        ({"json_allowed_escapes": "u"}, {"type": "string"}, [CONTROL, NEWLINE, RAW]),
        ({"json_allowed_escapes": ""}, {"type": "string"}, [RAW]),
        (
            {"json_allow_general_unicode_escapes": True},
            {"pattern": "^[^a]{1,2}$", "type": "string"},
            [SHORT, CONTROL, RAW, QUOTE],
        ),
        ({"json_allowed_escapes": "u"}, {"enum": ["\n", '"', "é😀"]}, [NEWLINE, RAW]),
        ({"json_allow_general_unicode_escapes": True}, {"const": "é"}, []),
    ],
)
def test_escapes(options: dict[str, Any], schema: dict[str, Any], accepted: list[str]) -> None:
    assert _split(options, schema, SPELLINGS) == accepted


def test_no_key_comes_twice_in_another_spelling() -> None:
    schema = {
        "type": "object",
        "properties": {"é\n": {"const": 1}},
        "x-guidance": {"json_allowed_escapes": "u", "json_allow_general_unicode_escapes": True},
    }
    grammar = compiler().compile_json_schema(schema)

    assert accepts(Matcher(grammar), '{"é\\u000a":1,"è":2}')
    for twice in ('{"\\u00e9\\u000a":2}', '{"é\\n":2}', '{"é\\u000a":2}'):
        assert not accepts(Matcher(grammar), twice)


@pytest.mark.parametrize("option", ["coerce_one_of", "lenient"])
def test_one_of_as_any_of(option: str) -> None:
    choice = {"oneOf": [{"type": "integer"}, {"minimum": 3}]}

    assert _split({option: True}, choice, ("1", "3", "2.5")) == ["1", "3"]
    assert _split({option: False}, choice, ("1", "3", "2.5")) == ["1"]
    assert _split({option: True}, {"not": choice}, ("1", "3", "2.5")) == ["2.5"]
    assert _split({option: True}, {"enum": [1, 3, 2.5], "allOf": [choice]}, ("1", "3", "2.5")) == ["1", "3"]


def test_lenient_is_noted() -> None:
    grammar = compiler().compile_json_schema({"type": "null", "x-guidance": {"lenient": True}})

    assert [note.split(":")[0] for note in grammar.notes] == ["/x-guidance/lenient"]


@pytest.mark.parametrize(
    ("options", "kind", "path"),
    [
        (1, SchemaError, "/x-guidance"),
        ({"nope": 1}, UnsupportedSchemaError, "/x-guidance/nope"),
        ({"whitespace_flexible": 1}, SchemaError, "/x-guidance/whitespace_flexible"),
        ({"whitespace_pattern": 1}, SchemaError, "/x-guidance/whitespace_pattern"),
        ({"whitespace_pattern": "x"}, SchemaError, "/x-guidance/whitespace_pattern"),
        ({"item_separator": ";"}, SchemaError, "/x-guidance/item_separator"),
        ({"item_separator": ",,"}, SchemaError, "/x-guidance/item_separator"),
        ({"key_separator": "[^\\s\\S]"}, SchemaError, "/x-guidance/key_separator"),
        ({"json_allowed_escapes": "nx"}, SchemaError, "/x-guidance/json_allowed_escapes"),
        ({"json_allowed_escapes": 1}, SchemaError, "/x-guidance/json_allowed_escapes"),
        ({"json_allow_general_unicode_escapes": 1}, SchemaError, "/x-guidance/json_allow_general_unicode_escapes"),
        ({"lenient": None}, SchemaError, "/x-guidance/lenient"),
    ],
)
def test_a_wrong_option_is_named(options: Any, kind: type[Exception], path: str) -> None:
    with pytest.raises(kind) as caught:
        compiler().compile_json_schema({"type": "string", "x-guidance": options})

    assert getattr(caught.value, "path", None) == path


def test_only_the_top_of_a_schema_has_options() -> None:
    schema = {"type": "array", "items": {"type": "array", "x-guidance": {"whitespace_flexible": False}}}
    grammar = compiler().compile_json_schema(schema)

    assert accepts(Matcher(grammar), "[[ ]]")


def test_other_schemas_do_not_notice() -> None:
    own = Compiler(byte_vocabulary())
    plain = {"type": "object", "properties": {"s": {"type": "string"}, "d": {"type": "string", "format": "date"}}}
    own.compile_json_schema({**plain, "x-guidance": {"json_allowed_escapes": "", "whitespace_flexible": False}})
    for schema in (plain, {"type": "string"}, {}):
        grammar = own.compile_json_schema(schema)
        assert accepts(Matcher(grammar), '{"s": "\\u00e9\\n"}' if schema != {"type": "string"} else '"\\u00e9\\n"')


def test_inside_a_structural_tag() -> None:
    schema = {"type": "array", "items": {"type": "null"}, "x-guidance": {"whitespace_flexible": False}}

    def tag(style: dict[str, str]) -> dict[str, Any]:
        return {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema, **style}}

    grammar = compiler().compile_structural_tag(tag({}))
    assert accepts(Matcher(grammar), "[null,null]")
    assert not accepts(Matcher(grammar), "[null, null]")
    with pytest.raises(UnsupportedSchemaError, match="x-guidance"):
        compiler().compile_structural_tag(tag({"style": "qwen_xml"}))


def _value(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([1, -2.5, True, None, "", "a\nb", 'é"\\/\x1f😀'])
    if rng.random() < 0.5:
        return [_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {key: _value(rng, depth - 1) for key in rng.sample(["a", "b\t", "é"], rng.randint(0, 3))}


@pytest.mark.parametrize("seed", range(20))
def test_what_json_dumps_writes_with_these_separators_is_accepted_and_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    value = _value(rng, 3)
    layouts = list(itertools.product((",", ", "), (":", ": ")))
    for comma, colon in layouts:
        options = {"whitespace_flexible": False, "item_separator": comma, "key_separator": colon}
        grammar = compiler().compile_json_schema({"x-guidance": options})
        for other in layouts:
            text = json.dumps(value, separators=other, ensure_ascii=False)
            same = text == json.dumps(value, separators=(comma, colon), ensure_ascii=False)
            assert accepts(Matcher(grammar), text) == same, (text, comma, colon)
