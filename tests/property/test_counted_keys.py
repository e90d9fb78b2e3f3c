"""Objects that want several different keys: masks are acceptance, texts are valid, nothing leads into a dead end."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine_native import Compiler, Grammar, Matcher, Vocabulary
from engine_native.engine import PropertyOrder
from tests.property.cases import fill

WALKS = max(7, int(os.environ.get("STRICTSERVE_SCHEMAS", "700")) // 100)
LONGEST_WALK = 40

SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "minProperties": 3,
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": {"enum": [1, "b"]},
    },
    {"type": "object", "not": {"maxProperties": 2}, "properties": {"a": {}, "b": {"const": 1}}},
    {
        "type": "object",
        "minProperties": 4,
        "patternProperties": {"^a": {"type": "integer"}, "^b": {"type": "string"}},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "minProperties": 2,
        "maxProperties": 3,
        "properties": {"a": {}},
        "propertyNames": {"maxLength": 2},
    },
    {"type": "object", "minProperties": 3, "required": ["b"], "additionalProperties": {"type": ["integer", "object"]}},
]

PIECES = (
    b'{"a": 1, "',
    b'{"',
    b'a": 1',
    b'b": 1, "a',
    b'", "',
    b'": 1, "',
    b'": 1}',
    b"ab",
    b'a": 1, "a": 1',
    b'ba": "b", "bb": "b"}',
    b'": {"a": 1}, "',
    b"}",
    b": 1, ",
)


def _vocabulary(rng: random.Random) -> tuple[Vocabulary, list[bytes]]:
    singles = [bytes((byte,)) for byte in b'{}":, ab1xy2[]']
    tokens = [*singles, *rng.sample(PIECES, rng.randint(4, len(PIECES))), b"</s>"]
    stop = len(tokens) - 1
    return Vocabulary(tokens, special_token_ids=(stop,), stop_token_ids=(stop,)), tokens


def _walk(rng: random.Random, grammar: Grammar, tokens: list[bytes]) -> bytes | None:
    """A text drawn from the masks, each of which is compared with acceptance; None if it did not end in time."""
    matcher, text, stop = Matcher(grammar), b"", len(tokens) - 1
    for _ in range(LONGEST_WALK):
        allowed = [token for token in range(stop + 1) if matcher.fork().accept_token(token)]
        assert fill(matcher, len(tokens))[0] == frozenset(allowed), text
        assert allowed, text
        if stop in allowed:
            return text
        token = rng.choice(allowed)
        assert matcher.accept_token(token)
        text += tokens[token]
    return None


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_masks_of_counted_keys_are_acceptance_and_lead_to_valid_objects(number: int, order: PropertyOrder) -> None:
    rng = random.Random(f"counted {number} {order}")
    ended = 0
    for _ in range(WALKS):
        vocabulary, tokens = _vocabulary(rng)
        grammar = Compiler(vocabulary).compile_json_schema(
            SCHEMAS[number], property_order=order, separators=(", ", ": ")
        )
        for _ in range(4):
            text = _walk(rng, grammar, tokens)
            if text is not None:
                ended += 1
                assert Draft202012Validator(SCHEMAS[number]).is_valid(json.loads(text)), text
    assert ended > 0
