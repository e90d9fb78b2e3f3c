"""``property_order="any"``: every order of keys, each key once, the required ones there."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from engine_native import Compiler, Grammar, Matcher, SchemaError, UnsupportedSchemaError, Vocabulary
from tests.engine.vocabularies import accepts, byte_vocabulary

WORDS = ["a", "ab", "abc", "name", "nam", "names", "é", "x y", "count", "id", "items", "on", "q", "r", "s", "t", "u"]
ROUNDS = 25


def _schema(rng: random.Random, keys: int) -> dict[str, Any]:
    names = rng.sample(WORDS, min(keys, len(WORDS)))
    names += [f"key{i}" for i in range(keys - len(names))]
    values = [
        {"type": "integer"},
        {"type": "boolean"},
        {"enum": ["a", "ab"]},
        {"type": "array", "items": {"type": "null"}},
    ]
    schema: dict[str, Any] = {"type": "object", "properties": {name: rng.choice(values) for name in names}}
    if rng.random() < 0.7:
        schema["required"] = rng.sample(names, rng.randint(0, min(4, keys))) + ["other"] * (rng.random() < 0.2)
    if rng.random() < 0.6 and "other" not in schema.get("required", ()):
        schema["additionalProperties"] = rng.choice([False, {"type": "null"}])
    return schema


def _value(rng: random.Random, schema: dict[str, Any], key: str) -> object:
    known = schema["properties"].get(key, schema.get("additionalProperties", True))
    choices: list[object] = [1, True, "ab", "a", [None], None]
    good = [value for value in choices if Draft202012Validator(known).is_valid(value)]
    return rng.choice(good) if good and rng.random() < 0.97 else rng.choice(choices)


def _members(rng: random.Random, schema: dict[str, Any]) -> list[tuple[str, object]]:
    names = list(schema["properties"])
    keys = rng.sample(names, rng.randint(0, len(names)))
    if rng.random() < 0.8:
        keys += [key for key in schema.get("required", ()) if key not in keys]
    if rng.random() < 0.3:
        keys.append(rng.choice(["zz", "other", "nameless", "abcd"]))
    if rng.random() < 0.2 and keys:
        keys.append(rng.choice(keys))
    rng.shuffle(keys)
    return [(key, _value(rng, schema, key)) for key in keys]


def _compile(schema: dict[str, Any], vocabulary: Vocabulary) -> Grammar:
    return Compiler(vocabulary).compile_json_schema(schema, property_order="any")


@pytest.mark.parametrize("keys", [1, 2, 3, 4, 8, 9, 17, 40, 64, 65, 130])
def test_object_accepts_every_order_and_no_key_twice(keys: int) -> None:
    verdicts = set()
    for seed in range(ROUNDS):
        rng = random.Random(f"{keys} {seed}")
        schema = _schema(rng, keys)
        grammar = _compile(schema, byte_vocabulary())
        for _ in range(20):
            members = _members(rng, schema)
            named = [key for key, _ in members if key in schema["properties"] or key in schema.get("required", ())]
            valid = len(set(named)) == len(named) and Draft202012Validator(schema).is_valid(dict(members))
            text = "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v)}" for k, v in members) + "}"
            undeclared = [key for key, _ in members if key not in named]
            if len(set(undeclared)) < len(undeclared):
                continue
            assert accepts(Matcher(grammar), text) == valid, (seed, schema, text)
            verdicts.add(valid)
    assert verdicts == {True, False}


def _pieces() -> Vocabulary:
    """Bytes, and tokens that run across keys, quotes and commas."""
    words = [f'"{word}"' for word in WORDS] + [f'{word}": ' for word in WORDS] + [f', "{word}' for word in WORDS]
    words += ['", "', '"}', "}}", ': 1, "', "1,", ' "', "na", "me", "ke", "y1", "abcd", "zz", '":', "null", "true, "]
    return Vocabulary(
        [bytes([byte]) for byte in range(256)] + [word.encode() for word in words] + [b"</s>"],
        stop_token_ids=[256 + len(words)],
    )


@pytest.mark.parametrize("keys", [3, 5, 12, 30, 64, 65, 100])
def test_mask_is_what_is_accepted_along_random_objects(keys: int) -> None:
    vocabulary = _pieces()
    row = np.zeros((vocabulary.vocab_size + 31) // 32, dtype=np.int32)
    for seed in range(8):
        rng = random.Random(f"mask {keys} {seed}")
        schema = _schema(rng, keys)
        grammar = _compile({"type": "array", "items": schema}, vocabulary)
        matcher = Matcher(grammar)
        for _ in range(60):
            matcher.fill_bitmask(row)
            allowed = [t for t in range(vocabulary.vocab_size) if row[t // 32] >> (t % 32) & 1]
            assert allowed == [t for t in range(vocabulary.vocab_size) if matcher.fork().accept_token(t)], (
                seed,
                schema,
            )
            assert allowed
            long = [token for token in allowed if token >= 256]
            assert matcher.accept_token(rng.choice(long if long and rng.random() < 0.5 else allowed))
            if matcher.is_terminated():
                break


def test_last_key_leaves_only_the_end() -> None:
    schema = {"type": "object", "properties": {k: {"type": "null"} for k in "abcd"}, "additionalProperties": False}
    grammar = Compiler(byte_vocabulary()).compile_json_schema(schema, property_order="any", whitespace="none")
    matcher = Matcher(grammar)

    assert matcher.accept_bytes(b'{"c":null,"a":null,"d":null')
    assert not matcher.accept_bytes(b',"a')
    assert matcher.accept_bytes(b",")
    assert matcher.forced_bytes() == b'"b":null}'


def test_more_keys_than_can_be_remembered_are_refused() -> None:
    schema = {"type": "object", "properties": {f"k{i}": {"type": "null"} for i in range(4097)}}
    with pytest.raises(UnsupportedSchemaError, match="up to 4096 named keys here, not 4097"):
        _compile(schema, byte_vocabulary())


def test_last_of_many_keys_leaves_only_the_end() -> None:
    names = [f"k{i}" for i in range(90)]
    schema = {"type": "object", "properties": {k: {"type": "null"} for k in names}, "additionalProperties": False}
    grammar = Compiler(byte_vocabulary()).compile_json_schema(schema, property_order="any", whitespace="none")
    matcher = Matcher(grammar)
    random.Random(1).shuffle(names)

    assert matcher.accept_bytes(("{" + ",".join(f'"{name}":null' for name in names[:-1])).encode())
    assert matcher.forced_bytes() == b""  # the end, or the last key
    assert matcher.accept_bytes(b",")
    assert matcher.forced_bytes() == f'"{names[-1]}":null}}'.encode()


def test_collections_keep_the_keys_that_live_matchers_have_seen() -> None:
    names = [f"key {i}" for i in range(100)]
    schema = {"type": "object", "properties": {k: {"type": "integer"} for k in names}, "required": names}
    compiler = Compiler(byte_vocabulary(), cache_bytes=1 << 16)
    grammar = compiler.compile_json_schema(schema, property_order="any", whitespace="none")
    row = np.zeros((byte_vocabulary().vocab_size + 31) // 32, dtype=np.int32)
    rng = random.Random(7)
    orders = [rng.sample(names, len(names)) for _ in range(4)]
    matchers = [Matcher(grammar) for _ in orders]
    for position in range(len(names)):
        for order, matcher in zip(orders, matchers, strict=True):
            assert matcher.accept_bytes((("," if position else "{") + f'"{order[position]}":{position}').encode())
            matcher.fill_bitmask(row)
            assert not matcher.fork().accept_bytes(f',"{order[rng.randrange(position + 1)]}":'.encode())
    assert compiler.stats()["evictions"] > 0
    assert all(matcher.accept_bytes(b"}") and matcher.can_terminate() for matcher in matchers)


_CLAUSES: list[dict[str, Any]] = [
    {"dependentRequired": {"k1": ["k2"], "k2": ["k3", "k9"]}},
    {"anyOf": [{"required": ["k0"]}, {"required": ["k1", "k11"]}]},
    {"oneOf": [{"required": ["k0"]}, {"required": ["k1"]}]},
    {"not": {"required": ["k2", "k3"]}, "required": ["k7"]},
    {"if": {"properties": {"k4": {"const": 1}}, "required": ["k4"]}, "then": {"required": ["k5"]}},
    {"dependentSchemas": {"k0": {"properties": {"k6": {"const": 2}}}}, "required": ["k8", "other"]},
    {"minProperties": 12, "additionalProperties": False},
]


@pytest.mark.parametrize("clause", _CLAUSES)
def test_conditions_beside_many_keys_in_any_order(clause: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {f"k{i}": {"enum": [1, 2]} for i in range(12)}} | clause
    grammar = _compile(schema, byte_vocabulary())
    judge = Draft202012Validator(schema)
    rng = random.Random(json.dumps(clause))
    verdicts = {True: 0, False: 0}
    for _ in range(600):
        names = rng.sample([*schema["properties"], "other"], rng.choice([*range(13), 12, 12]))
        value = {name: rng.choice([1, 2]) for name in names}
        valid = judge.is_valid(value)
        assert accepts(Matcher(grammar), json.dumps(value)) == valid, value
        verdicts[valid] += 1
    assert min(verdicts.values()) > 5, verdicts


@pytest.mark.parametrize("clause", _CLAUSES)
def test_every_member_that_is_taken_leaves_a_way_to_the_end(clause: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {f"k{i}": {"enum": [1, 2]} for i in range(12)}} | clause
    schema = {"additionalProperties": {"const": 3}} | schema
    grammar = Compiler(byte_vocabulary()).compile_json_schema(schema, property_order="any", whitespace="none")
    named = [f'"{key}":{value}' for key in schema["properties"] for value in (1, 2)]
    ends = 0
    for seed in range(150):
        rng = random.Random(seed)
        matcher, members = Matcher(grammar), 0
        pieces = [*named, '"other":3', '"x":3']
        rng.shuffle(pieces)
        while not (rng.random() < 0.3 and matcher.fork().accept_bytes(b"}")):
            taken = next((p for p in pieces if matcher.accept_bytes((("," if members else "{") + p).encode())), None)
            if taken is None:
                break
            pieces.remove(taken)
            members += 1
        assert matcher.accept_bytes(b"}" if members else b"{}"), (seed, members)
        ends += members < 12
    assert ends > 20 or "minProperties" in clause


@pytest.mark.parametrize("keys", [3, 70])
def test_required_key_that_no_value_fits_makes_the_object_impossible(keys: int) -> None:
    never = {
        "type": "object",
        "properties": {"x": {"allOf": [{"type": "string"}, {"type": "integer"}]}},
        "required": ["x"],
    }
    schema = {"type": "object", "properties": {f"k{i}": {"type": "null"} for i in range(keys)} | {"never": never}}

    optional = _compile(schema, byte_vocabulary())
    assert accepts(Matcher(optional), '{"k1": null}')
    assert not Matcher(optional).accept_bytes(b'{"never"')
    with pytest.raises(SchemaError, match="nothing can match"):
        _compile(schema | {"required": ["never"]}, byte_vocabulary())
    array = Matcher(_compile({"items": schema | {"required": ["never"]}, "type": "array"}, byte_vocabulary()))
    assert array.accept_bytes(b"[")
    assert not array.accept_bytes(b"{")


def test_token_budget_for_any_order_is_refused_and_changes_nothing() -> None:
    schema = {"type": "object", "properties": {k: {"type": "null"} for k in "abcd"}}
    matcher = Matcher(_compile(schema, byte_vocabulary()))
    with pytest.raises(UnsupportedSchemaError, match="any order"):
        matcher.set_token_budget(100)
    assert matcher.accept_bytes(b"{}")


def test_any_order_in_a_structural_tag() -> None:
    schema = {"type": "object", "properties": {k: {"type": "null"} for k in "abcd"}, "required": ["d"]}
    content = {"type": "json_schema", "json_schema": schema, "any_order": True}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<", "content": content, "end": ">"}}
    grammar = Compiler(byte_vocabulary()).compile_structural_tag(tag)

    assert accepts(Matcher(grammar), '<{"c": null, "d": null, "a": null}>')
    assert not accepts(Matcher(grammar), '<{"c": null, "d": null, "c": null}>')
    assert not accepts(Matcher(grammar), '<{"c": null}>')
