"""What a schema's grammar accepts is what the jsonschema package calls valid."""

from __future__ import annotations

import json
import os
import random

import pytest
from jsonschema import Draft202012Validator

from engine_native import Grammar, Matcher, SchemaError
from engine_native.engine import Whitespace
from tests.engine.schemas import Drawn, Json, draw_instance, draw_schema, draw_value, key_orders
from tests.engine.vocabularies import accepts, compiler

SCHEMAS = int(os.environ.get("STRICTSERVE_SCHEMAS", "600"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1"))
INSTANCES = 12
ORDERS = {True: 5000, False: 24}
"""How many orders of keys are tried before a valid (invalid) instance counts as refused."""


def _writings(value: Json) -> list[str]:
    """The spellings that Python's encoder offers."""
    return [
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        json.dumps(value, indent=2, ensure_ascii=False),
    ]


def _verdicts(grammar: Grammar, value: Json, expected: bool) -> list[bool]:
    """For each spelling, whether it is accepted with some order of keys."""
    verdicts = [False] * len(_writings(value))
    for ordered in key_orders(value, ORDERS[expected]):
        accepted = [accepts(Matcher(grammar), writing) for writing in _writings(ordered)]
        verdicts = [old or new for old, new in zip(verdicts, accepted, strict=True)]
        if all(verdicts):
            break
    return verdicts


def _grammar_or_none(schema: dict[str, Json]) -> Grammar | None:
    """None when the engine says that nothing satisfies the schema."""
    try:
        return compiler().compile_json_schema(schema)
    except SchemaError:
        return None


def _instances(drawn: Drawn) -> list[Json]:
    rng = random.Random(drawn.seed)
    return [
        draw_value(rng, 2) if rng.random() < 0.1 else draw_instance(rng, drawn.schema, drawn.schema)
        for _ in range(INSTANCES)
    ]


def test_grammar_for_random_schema_accepts_exactly_the_valid_instances() -> None:
    counts = {True: 0, False: 0}
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS):
        drawn = draw_schema(seed)
        validator = Draft202012Validator(drawn.schema)
        instances = _instances(drawn)
        valid = [validator.is_valid(instance) for instance in instances]
        grammar = _grammar_or_none(drawn.schema)
        if grammar is None:
            assert not any(valid), (seed, drawn.schema, instances[valid.index(True)])
            continue
        for instance, verdict in zip(instances, valid, strict=True):
            told = (seed, json.dumps(drawn.schema), json.dumps(instance))
            assert _verdicts(grammar, instance, verdict) == [verdict] * 4, told
            counts[verdict] += 1
    assert min(counts.values()) > SCHEMAS, counts


def test_grammar_for_schema_text_equals_grammar_for_schema_object() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 60):
        drawn = draw_schema(seed)
        from_object = _grammar_or_none(drawn.schema)
        if from_object is None:
            with pytest.raises(SchemaError):
                compiler().compile_json_schema(json.dumps(drawn.schema))
            continue
        from_text = compiler().compile_json_schema(json.dumps(drawn.schema))

        for instance in _instances(drawn):
            assert _verdicts(from_text, instance, False) == _verdicts(from_object, instance, False), (seed, instance)


_ORDERED = {
    "type": "object",
    "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}, "c": {"type": "integer"}},
    "required": ["a"],
}


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ('{"a": 1}', True),
        ('{"b": 1, "a": 1}', True),
        ('{"b": 1, "a": 1, "c": 1, "x": null}', True),
        ('{"a": 1, "x": [], "y": {"a": "b"}}', True),
        ('{"a": 1, "b": 1}', False),
        ('{"x": 1, "a": 1}', False),
        ('{"a": 1, "a": 1}', False),
        ('{"b": 1}', False),
        ("{}", False),
        ('{"a": 1,}', False),
        ('{"a": 1', False),
    ],
)
def test_object_keys_come_in_declared_order_then_others(text: str, accepted: bool) -> None:
    assert accepts(Matcher(compiler().compile_json_schema(_ORDERED)), text) == accepted


def test_undeclared_key_for_the_spelling_of_a_declared_one_is_refused() -> None:
    schema = {"type": "object", "properties": {"ab": {"type": "integer"}}}
    grammar = compiler().compile_json_schema(schema)

    spellings = ('{"ab": "x"}', '{"\\u0061b": "x"}', '{"a\\u0062": "x"}')

    assert [text for text in spellings if accepts(Matcher(grammar), text)] == []
    assert accepts(Matcher(grammar), '{"abc": "x"}')
    assert accepts(Matcher(grammar), '{"a": "x"}')


@pytest.mark.parametrize(
    ("text", "bounded", "none", "any_number"),
    [
        ('{"a":[1,2]}', True, True, True),
        ('{"a": [1, 2]}', True, False, True),
        ('{\n  "a": [\n    1,\n    2\n  ]\n}', True, False, True),
        ('{"a":  [1,2]}', False, False, True),
        ('{"a":[1,\n\n\n2]}', False, False, True),
        ('{"a":[1\t,2]}', False, False, True),
        ('{"a" :[1,2]}', None, False, True),
        ('{"a":[1,2]}x', False, False, False),
        ('{"a":[1, \x0b2]}', False, False, False),
    ],
)
def test_whitespace_for_each_option_is_as_wide_as_it_says(
    text: str, bounded: bool | None, none: bool, any_number: bool
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    wanted: list[tuple[Whitespace, bool | None]] = [("bounded", bounded), ("none", none), ("any", any_number)]

    for whitespace, accepted in wanted:
        grammar = compiler().compile_json_schema(schema, whitespace=whitespace)
        if accepted is not None:
            assert accepts(Matcher(grammar), text) == accepted, whitespace


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "integer"}, ["0", "-1", "10"], ["01", "+1", "1.5", "-", "", "1e", "0x1"]),
        ({"type": "number"}, ["0.5", "1e3", "-1E-2", "10"], [".5", "1.", "01", "NaN", "Infinity", "1e"]),
        ({"type": "integer", "minimum": 7, "maximum": 120}, ["7", "10", "99", "120"], ["6", "121", "-7", "1200"]),
        ({"type": "integer", "minimum": -12, "maximum": 3}, ["-12", "-9", "0", "3"], ["-13", "4", "-120"]),
        ({"type": "number", "minimum": 0.5}, ["0.5", "0.51", "1", "100.25"], ["0.49", "0", "-1", "-0.5"]),
        ({"type": "string"}, ['"\\u00e9"', '"\\n"', '"\\ud83d\\ude00"'], ['"\n"', '"\\x"', '"', "'a'", '"\x01"']),
        ({"type": "string", "maxLength": 1}, ['"\\ud83d\\ude00"', '"\\n"', '""', '"😀"'], ['"ab"', '"\\n\\n"']),
        ({"type": "string", "minLength": 2}, ['"ab"', '"\\"\\""', '"😀😀"'], ['"a"', '"\\ud83d\\ude00"', '"😀"']),
        ({"enum": ["é", 'a"b', 1, None]}, ['"é"', '"a\\"b"', "1", "null"], ['"e"', "2", '"a"b"', "true"]),
        ({"type": ["string", "null"], "maxLength": 0}, ['""', "null"], ['"a"', "1"]),
        ({"type": "string", "enum": ["a", 1]}, ['"a"'], ["1"]),
        (
            {"type": "object", "required": ["k"]},
            ['{"k": 1}', '{"j": 2, "k": 1}'],
            ["{}", '{"j": 1}', '{"k": 1, "k": 1}'],
        ),
        ({"properties": {"a": {"const": 0}}, "anyOf": [{"required": ["a"]}]}, ['{"a": 0}', "1"], ["{}", '{"a": 1}']),
        ({"type": "array", "maxItems": 2}, ["[]", "[1]", "[1, [2]]"], ["[1, 2, 3]", "[,]", "[1,]"]),
        (True, ["null", '{"a": [1, {"b": "c"}]}'], ["", "nul", "{a: 1}"]),
    ],
)
def test_schema_by_hand_accepts_and_refuses(schema: dict[str, Json], accepted: list[str], refused: list[str]) -> None:
    grammar = compiler().compile_json_schema(schema)

    assert [text for text in accepted if not accepts(Matcher(grammar), text)] == []
    assert [text for text in refused if accepts(Matcher(grammar), text)] == []


def test_recursive_schema_for_deep_instance_accepts_it() -> None:
    schema = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
    }
    grammar = compiler().compile_json_schema(schema)
    text = '{"kids": [' * 500 + "]}" * 500

    assert accepts(Matcher(grammar), text)
    assert not accepts(Matcher(grammar), text[:-1])


def test_json_object_for_any_value_accepts_objects_only() -> None:
    grammar = compiler().compile_json_object()

    assert [text for text in ("{}", '{"a": [1, "b", null]}') if not accepts(Matcher(grammar), text)] == []
    assert [text for text in ("[]", "1", '"a"', "", "{") if accepts(Matcher(grammar), text)] == []


def test_choice_for_strings_accepts_exactly_those() -> None:
    grammar = compiler().compile_choice(["yes", "no", "nothing", "é"])

    assert [text for text in ("yes", "no", "nothing", "é") if not accepts(Matcher(grammar), text)] == []
    assert [text for text in ("", "y", "not", "yesno") if accepts(Matcher(grammar), text)] == []


@pytest.mark.parametrize("length", range(1, 70))
def test_key_and_value_of_every_length_are_accepted(length: int) -> None:
    name = "k" * length
    grammar = compiler().compile_json_schema({"properties": {name: {"enum": [name]}}, "required": [name]})

    assert accepts(Matcher(grammar), f'{{"{name}": "{name}"}}')
    assert not accepts(Matcher(grammar), f'{{"{name}": "{name}k"}}')
