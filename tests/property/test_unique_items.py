"""Arrays of unique items: masks, ends and values against judges that know nothing of the engine."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from engine_native import Compiler, EngineError, Grammar, Matcher, SchemaError, Vocabulary
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

CASES = int(os.environ.get("STRICTSERVE_CASES", "250"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1")) + 2_000_000

STRING: dict[str, Json] = {"type": "string"}
FLAG: dict[str, Json] = {"type": "boolean"}


def _unique(items: Json, **more: Json) -> dict[str, Json]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def _closed(required: list[Json], **properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


ITEMS: tuple[Json, ...] = (
    STRING,
    {"type": "string", "minLength": 1},
    {"type": "string", "maxLength": 1, "pattern": "^[ab]*$"},
    {"type": "string", "pattern": "^(any|[0-9]+)$"},
    {"type": "string", "pattern": "^a[ab]?$"},
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 40},
    {"type": "string", "format": "date"},
    {"type": ["string", "null"], "maxLength": 2},
    {"type": "number"},
    {"type": "integer"},
    {"type": "integer", "minimum": 1, "maximum": 3},
    {"type": "number", "minimum": 0, "maximum": 0},
    {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 1},
    {"type": "number", "minimum": 0},
    FLAG,
    {"type": ["boolean", "null"]},
    {"enum": [letter * 2 for letter in "abcdefghijklmno"]},
    {"enum": ["a" * length for length in range(14)]},
    {"enum": [1, 2, 3, "1", "2", "3", None, True, False, [], {}, [1], {"a": 1}, "x", "y"]},
    True,
    {"type": ["string", "array"]},
    {"type": "object"},
    _closed(["a"], a=STRING),
    _closed(["a", "b"], a={"enum": ["x", "y"]}, b=FLAG),
    _closed([], a={"enum": ["x", "y"]}, b=FLAG),
    {"type": "object", "properties": {"a": STRING, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": FLAG},
    {"oneOf": [STRING, _closed(["f"], f=STRING)]},
    {"anyOf": [{"type": "integer"}, {"type": "number"}, _closed([], k={"type": "null"})]},
    _unique(STRING),
    _unique(FLAG),
    _unique({"enum": list(range(14))}, maxItems=2),
    _unique(_unique({"type": "integer"})),
    _closed(["t"], t=_unique(STRING), n=STRING),
    _closed(["t"], t=_unique(FLAG)),
    {"type": "array", "items": FLAG, "maxItems": 2},
    {"type": "array", "prefixItems": [STRING, FLAG], "items": False, "minItems": 1},
    {"$ref": "#/$defs/chain"},
)
DEFINITIONS: dict[str, Json] = {"chain": _closed(["v"], v=FLAG, c={"$ref": "#/$defs/chain"})}

PIECES = rb""""," ", ,_" "],[" },{ 1,2 ,1 true,true e, "a","a" ": ","a a","a ],[ null, 0,0""".replace(
    b"_", b"\t"
).split(b" ")
"""Tokens that end an element, begin another, or hold a whole one."""

LIKELY = b'"",,]}:{[0123456789abtfnxy'
CLOSING = (b'"', b"]", b"}", b"0", b"e", b"l", b"u")
FAR = re.compile(rb"[eE][+-]?\d{3,}|\d[\d.]{14,}")
"""Numbers that a double, and so the judge, does not tell apart."""


@dataclass(frozen=True)
class Drawn:
    """A schema with unique items somewhere, and how to spell it."""

    seed: int
    schema: dict[str, Json]
    whitespace: Literal["none", "bounded", "any"]

    def grammar(self, over: Compiler) -> Grammar:
        return over.compile_json_schema(self.schema, whitespace=self.whitespace)


def _draw(seed: int) -> Drawn:
    rng = random.Random(f"unique {seed}")
    bounds: dict[str, Json] = {}
    least = rng.choice((0, 0, 0, 1, 2, 3))
    if least:
        bounds["minItems"] = least
    if rng.random() < 0.3:
        bounds["maxItems"] = rng.randint(max(2, least), 4)
    schema = _unique(rng.choice(ITEMS), **bounds)
    match rng.choice(("itself",) * 5 + ("member", "or string", "or unique", "or list")):
        case "member":
            schema = _closed(["p"], p=schema, q=STRING)
        case "or string":
            schema = {"anyOf": [STRING, schema]}
        case "or unique":
            schema = {"anyOf": [schema, _unique(rng.choice(ITEMS))]}
        case "or list":
            schema = {"anyOf": [schema, {"type": "array", "items": FLAG}]}
    layouts: tuple[Literal["none", "bounded", "any"], ...] = ("none", "none", "bounded", "any")
    return Drawn(seed, schema | {"$defs": DEFINITIONS}, rng.choice(layouts))


class _RepeatedKeyError(Exception):
    """Undeclared keys may repeat in a text; no value says what that means."""


def _without_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _RepeatedKeyError
    return dict(pairs)


class Walk:
    """Random sampling from the masks, over tokens of which the last one stops."""

    def __init__(self, drawn: Drawn, tokens: list[bytes], rng: random.Random, cache_bytes: int) -> None:
        self.drawn, self.tokens, self.rng = drawn, tokens, rng
        self.stop = len(tokens)
        vocabulary = Vocabulary([*tokens, b"</s>"], special_token_ids=(self.stop,), stop_token_ids=(self.stop,))
        self.grammar = drawn.grammar(Compiler(vocabulary, cache_bytes=cache_bytes))
        self.matcher = Matcher(self.grammar)
        self.row = np.zeros((len(tokens) + 32) // 32, dtype=np.int32)
        self.text = b""

    def allowed(self) -> list[int]:
        self.matcher.fill_bitmask(self.row)
        bits = np.unpackbits(self.row.view(np.uint8), bitorder="little")
        return [int(token) for token in np.flatnonzero(bits)]

    def check_mask(self, allowed: list[int]) -> None:
        assert (self.stop in allowed) == self.matcher.can_terminate(), self
        for token in range(len(self.tokens)):
            accepted = self.matcher.accept_token(token)
            if accepted:
                self.matcher.rollback(1)
            assert accepted == (token in allowed), (self, self.tokens[token])

    def step(self, weights: list[float], choices: list[int]) -> None:
        token = self.rng.choices(choices, weights)[0]
        assert self.matcher.accept_token(token)
        self.text += self.tokens[token]

    def _weight(self, token: int) -> float:
        piece = self.tokens[token]
        return 4 if len(piece) > 1 else 3 if piece[0] in LIKELY else 0.05

    def run(self, steps: int, *, check: bool) -> None:
        """Some random steps, then on to the end; there always is one."""
        for _ in range(steps):
            allowed = self.allowed()
            if check:
                self.check_mask(allowed)
            choices = [token for token in allowed if token != self.stop]
            if not choices or (self.stop in allowed and self.rng.random() < 0.15):
                break
            self.step([self._weight(token) for token in choices], choices)
        for _ in range(400):
            if self.matcher.can_terminate():
                return
            choices = self.allowed()
            assert choices, ("dead end", self)
            closing = [token for token in choices if self.tokens[token] in CLOSING]
            choices = closing if closing and self.rng.random() < 0.6 else choices
            self.step([1.0] * len(choices), choices)

    def __repr__(self) -> str:
        return f"{self.drawn} after {self.text!r}"


def _bytes_and(rng: random.Random, text: bytes) -> list[bytes]:
    """All bytes, pieces of a text, and pieces that cross elements."""
    tokens = [bytes((byte,)) for byte in range(256)]
    for _ in range(60):
        begin = rng.randrange(len(text))
        tokens.append(text[begin : begin + rng.randint(2, 9)])
    return tokens + rng.sample(PIECES, rng.randint(0, len(PIECES)))


def _judge(walk: Walk, plain: Grammar) -> bool:
    """Whether the text that a walk ended with says something about the grammar; and that it says the right thing."""
    if not walk.matcher.can_terminate() or FAR.search(walk.text):
        return False
    try:
        value = json.loads(walk.text, object_pairs_hook=_without_repeats)
    except _RepeatedKeyError:
        return False
    assert accepts(Matcher(plain), walk.text), walk
    assert Draft202012Validator(walk.drawn.schema).is_valid(value), walk
    return True


def test_mask_for_random_arrays_of_unique_items_is_what_is_accepted_and_always_leads_to_an_end() -> None:
    judged = 0
    for seed in range(FIRST_SEED, FIRST_SEED + CASES):
        drawn, rng = _draw(seed), random.Random(f"walk {seed}")
        try:
            plain = drawn.grammar(compiler())
        except EngineError:
            continue
        probes = [Walk(drawn, [bytes((byte,)) for byte in range(256)], rng, 1 << 28) for _ in range(3)]
        for probe in probes:
            probe.run(rng.randint(5, 80), check=False)
        tokens = _bytes_and(rng, b"".join(probe.text for probe in probes))
        for _ in range(2):
            walk = Walk(drawn, tokens, rng, rng.choice((1 << 28, 200_000)))
            walk.run(rng.randint(5, 60), check=True)
            judged += _judge(walk, plain)
        judged += sum(_judge(probe, plain) for probe in probes)
    assert judged > CASES * 2


def _respelled(rng: random.Random, value: Json) -> str:
    """The value with other white space, another order of keys, another spelling of numbers."""
    if isinstance(value, dict):
        members = list(value.items())
        return "{" + ",".join(f"{json.dumps(key)}: {_respelled(rng, inner)}" for key, inner in members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_respelled(rng, inner) for inner in value) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return rng.choice((str(value), f"{value}.0"))
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)


VALUES: list[Json] = json.loads(
    r"""["", "a", "ab", "é", "\"", "\n", 0, 1, -1, 10, 0.5, true, false, null, [], [1], ["a"], [[]], ["a", 1], [1, "a"],
    {}, {"a": 1}, {"a": 2}, {"a": 1, "b": []}, {"é": "é"}]"""
)


def test_array_of_any_unique_values_is_accepted_and_with_one_twice_is_not() -> None:
    grammar = compiler().compile_json_schema(_unique(True))
    for seed in range(CASES):
        rng = random.Random(f"values {seed}")
        chosen = rng.sample(VALUES, rng.randint(2, 8))
        again = [*chosen, rng.choice(chosen)]
        rng.shuffle(again)

        assert accepts(Matcher(grammar), "[" + ",".join(_respelled(rng, value) for value in chosen) + "]"), chosen
        assert not accepts(Matcher(grammar), "[" + ",".join(_respelled(rng, value) for value in again) + "]"), again


FINITE: tuple[tuple[Json, str], ...] = (
    ({"type": "string", "pattern": "^a[ab]?$"}, '"a" "aa" "ab"'),
    ({"type": "string", "pattern": "^(|b|bb|ab)$"}, '"" "b" "bb" "ab"'),
    ({"type": "integer", "minimum": 9, "maximum": 12}, "9 10 11 12"),
    ({"type": "integer", "minimum": 1, "maximum": 4}, "1 2 3 4"),
    ({"type": ["boolean", "null"]}, "true false null"),
    (_closed(["a"], a=FLAG, b={"enum": ["z"]}), '{"a":true} {"a":false} {"a":true,"b":"z"} {"a":false,"b":"z"}'),
    (
        _closed(["a", "b"], a={"enum": ["x", "y"]}, b={"enum": ["x", "xx"]}),
        '{"a":"x","b":"x"} {"a":"x","b":"xx"} {"a":"y","b":"x"} {"a":"y","b":"xx"}',
    ),
    (_unique({"type": "string", "pattern": "^[ab]$"}), '[] ["a"] ["b"] ["a","b"] ["b","a"]'),
    ({"type": "array", "items": FLAG, "maxItems": 1}, "[] [true] [false]"),
)
"""Items with all their spellings, one for each value (draft 4 spells integers without a fraction)."""


COUNTED = ({"type": "integer", "minimum": 1, "maximum": 4}, {"type": ["boolean", "null"]})
"""Items of which it is known that there are three values and more, so that as many may be required."""


@pytest.mark.parametrize(
    ("items", "spellings", "bounds"),
    [(items, spellings, bounds) for items, spellings in FINITE for bounds in ((0, None), (1, 2), (0, 3))]
    + [(items, spellings, bounds) for items, spellings in FINITE if items in COUNTED for bounds in ((2, 3), (3, 3))],
)
def test_finite_items_allow_exactly_the_beginnings_of_all_arrays(
    items: Json, spellings: str, bounds: tuple[int, int | None]
) -> None:
    least, most = bounds
    spelled = spellings.split()
    sizes = range(least, min(len(spelled), most or len(spelled)) + 1)
    texts = {"[" + ",".join(chosen) + "]" for size in sizes for chosen in permutations(spelled, size)}
    beginnings = {text[:end].encode() for text in texts for end in range(len(text) + 1)}
    limits: dict[str, Json] = {"minItems": least} if most is None else {"minItems": least, "maxItems": most}
    schema = _unique(items, **limits) | {"$schema": "http://json-schema.org/draft-04/schema#"}
    grammar = compiler().compile_json_schema(schema, whitespace="none")

    for beginning in sorted(beginnings):
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(beginning), beginning
        assert matcher.can_terminate() == (beginning.decode() in texts)
        for byte in range(128):
            longer = beginning + bytes((byte,))
            assert matcher.accept_bytes(longer[-1:]) == (longer in beginnings), longer
            if longer in beginnings:
                matcher.rollback(1)


def test_more_items_than_there_are_values_satisfy_nothing() -> None:
    with pytest.raises(SchemaError):
        compiler().compile_json_schema(_unique({"enum": list(range(20))}, minItems=21))
