"""Schemas that could take much time or memory: compiled, or refused by name, within a fixed amount of work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import Compiler, Grammar, LimitError, Limits, Matcher
from tests.engine.vocabularies import accepts, byte_vocabulary

MIB = 1 << 20


def _compile(schema: dict[str, Any], *, states: int, mebibytes: int) -> Grammar | str:
    """The grammar, or why it was refused; never for want of the work or memory that is granted here."""
    compiler = Compiler(byte_vocabulary(), limits=Limits(states=states, compile_bytes=mebibytes * MIB))
    try:
        return compiler.compile_json_schema(schema)
    except LimitError as error:
        if "automaton states" in str(error) or "bytes of memory" in str(error):
            pytest.fail(str(error))
        return str(error)


def _objects(group: int, n: int) -> list[Any]:
    return [{"properties": {f"k{group}{i}": {"type": "integer"}}, "required": [f"k{group}{i}"]} for i in range(n)]


def _nested(depth: int) -> dict[str, Any]:
    if depth == 0:
        return {"type": "string"}
    keys = [f"p{depth}{i}" for i in range(4)]
    return {"type": "object", "oneOf": [{"properties": {key: _nested(depth - 1)}, "required": [key]} for key in keys]}


REFUSED: dict[str, tuple[dict[str, Any], int, int]] = {
    "anyOf of objects, 12 beside each other": ({"allOf": [{"anyOf": _objects(k, 10)} for k in range(12)]}, 500_000, 64),
    "14 patterns that count": (
        {"type": "string", "allOf": [{"pattern": f"{chr(97 + i)}.{{{i}}}b"} for i in range(14)]},
        500_000,
        128,
    ),
    "14 negated patterns": (
        {"type": "string", "allOf": [{"not": {"pattern": f"{chr(97 + i)}.{{{i}}}b.*c"}} for i in range(14)]},
        1_500_000,
        192,
    ),
    "multiples of five primes": (
        {"type": "number", "allOf": [{"not": {"multipleOf": p}} for p in (7, 11, 13, 17, 19)]},
        10_000,
        16,
    ),
    "20 patterns for keys": (
        {"patternProperties": {f"{chr(97 + i)}.*{chr(98 + i)}": {"minimum": i} for i in range(20)}},
        1_000_000,
        64,
    ),
    "60 different keys of 6 kinds": (
        {
            "minProperties": 60,
            "patternProperties": {"^a": {"type": "integer"}, "^b": {}, "c$": {}},
            "properties": {"a": {}},
        },
        10_000,
        16,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_product_is_refused_before_it_grows(name: str) -> None:
    schema, states, mebibytes = REFUSED[name]
    assert isinstance(_compile(schema, states=states, mebibytes=mebibytes), str)


COMPILED: dict[str, tuple[dict[str, Any], Any, int, int]] = {
    "oneOf four deep": (_nested(4), {"p43": {"p32": {"p21": {"p10": "x"}}}}, 300_000, 32),
    "800 objects told apart by a key": (
        {
            "type": "object",
            "oneOf": [
                {"properties": {"t": {"const": f"v{i}"}, "w": {"type": "integer"}}, "required": ["t"]}
                for i in range(800)
            ],
        },
        {"t": "v799", "w": 1},
        400_000,
        64,
    ),
    "5,000 strings": ({"enum": [f"value {i * 7919 % 5000}" for i in range(5000)]}, "value 4999", 200_000, 32),
    "5,000 objects": ({"enum": [{"a": i, "b": [i]} for i in range(5000)]}, {"a": 17, "b": [17]}, 800_000, 64),
    "a million characters": ({"type": "string", "maxLength": 1_000_000}, "x", 1_000, 4),
    "a million items": ({"type": "array", "maxItems": 1_000_000}, [1], 1_000, 4),
    "2,000 keys": ({"type": "object", "minProperties": 2000}, {f"k{i}": i for i in range(2000)}, 5_000, 4),
    "schemas that refer to each other": (
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"oneOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
                "b": {
                    "type": "object",
                    "properties": {"x": {"$ref": "#/$defs/a"}},
                    "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
                },
            },
        },
        {"x": {"x": {"x": "end"}}},
        10_000,
        4,
    ),
    "900 kB": (
        {
            "type": "object",
            "properties": {
                f"key {i}": {"type": "string", "minLength": 3, "description": "d" * 100} for i in range(5500)
            },
        },
        {"key 17": "abc", "key 5499": "abc"},
        1_500_000,
        300,
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_large_schema_is_compiled_with_little_work(name: str) -> None:
    schema, instance, states, mebibytes = COMPILED[name]
    grammar = _compile(schema, states=states, mebibytes=mebibytes)

    assert isinstance(grammar, Grammar), grammar
    assert accepts(Matcher(grammar), json.dumps(instance))
    assert not accepts(Matcher(grammar), '{"key 17": "ab", "p43": 1, "t": 1, "x": 1}')
