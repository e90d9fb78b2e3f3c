"""Random schemas over all keywords: the grammar accepts exactly what the jsonschema package calls valid."""

from __future__ import annotations

import json
import os
import random
from itertools import islice

from jsonschema import Draft202012Validator

from engine_native import Grammar, LimitError, Matcher, SchemaError, UnsupportedSchemaError
from engine_native.engine import PropertyOrder
from tests.engine.schemas import key_orders
from tests.engine.vocabularies import STOP, accepts, byte_vocabulary, compiler
from tests.property.schemas import Json, draw_schema, draw_value, mutate

SCHEMAS = int(os.environ.get("STRICTSERVE_SCHEMAS", "700"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1"))
VALUES = 12
WALKS = 3
LONGEST_WALK = 120
MOST_KEYS = 5
"""Of one object; more have too many orders to try."""


def _grammar(schema: dict[str, Json], order: PropertyOrder = "declared") -> Grammar | str:
    """The grammar, or why there is none: "empty" or "refused"."""
    try:
        return compiler().compile_json_schema(schema, property_order=order)
    except (UnsupportedSchemaError, LimitError):
        return "refused"
    except SchemaError:
        return "empty"


def _accepted(grammar: Grammar, value: Json, orders: int) -> bool:
    """Whether some order of keys is accepted: declared keys come in declared order."""
    return any(
        accepts(Matcher(grammar), json.dumps(ordered, ensure_ascii=False))
        for ordered in islice(key_orders(value, orders), orders)
    )


def _read(text: bytearray) -> Json | None:
    """The value, the last of equal keys being the one that counts."""
    value: Json = json.loads(text)
    return None if "\\n" in json.dumps(value) else value  # Python's $ also matches before a final line break


def _widest(value: Json) -> int:
    """The most keys of one object in it."""
    if isinstance(value, dict):
        return max([len(value), *(_widest(inner) for inner in value.values())])
    return max((_widest(inner) for inner in value), default=0) if isinstance(value, list) else 0


def _divides_exactly(value: Json) -> bool:
    """Whether the judge, which divides in floating point, can be trusted with the numbers in it."""
    if isinstance(value, dict):
        return all(_divides_exactly(inner) for inner in value.values())
    if isinstance(value, list):
        return all(_divides_exactly(inner) for inner in value)
    return not isinstance(value, (int, float)) or abs(value) < 2**30


def _walk(rng: random.Random, grammar: Grammar) -> Json | None:
    """A document spelled by random allowed bytes; None if it did not end in time."""
    matcher = Matcher(grammar)
    text = bytearray()
    likely = b'"}],:{[0123456789abtfn'
    for _ in range(LONGEST_WALK):
        if matcher.can_terminate() and rng.random() < 0.7:
            return _read(text)
        order = [*rng.sample(likely, len(likely)), *rng.sample(range(STOP), STOP)]
        byte = next((byte for byte in order if matcher.accept_token(byte)), None)
        if byte is None:
            assert matcher.can_terminate(), bytes(text)  # no way leads into a dead end
            break
        text.append(byte)
    return _read(text) if matcher.can_terminate() else None


def _values(rng: random.Random, grammar: Grammar | str, validator: Draft202012Validator) -> list[Json]:
    """Drawn values; what the masks of the grammar lead to, which must be valid; and mutations of that."""
    values = [draw_value(rng) for _ in range(VALUES)]
    if isinstance(grammar, Grammar):
        walked = [value for _ in range(WALKS) if (value := _walk(rng, grammar)) is not None]
        assert all(validator.is_valid(value) for value in walked if _divides_exactly(value)), walked
        values += walked + [mutate(rng, value) for value in walked for _ in range(2)]
    return values


def test_grammar_for_random_keywords_accepts_exactly_the_valid_values() -> None:
    assert byte_vocabulary() is not None
    verdicts = {True: 0, False: 0}
    refused = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS):
        schema = draw_schema(seed)
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        rng = random.Random(f"values {seed}")
        grammar = _grammar(schema)
        values = _values(rng, grammar, validator)
        if grammar == "refused":
            refused += 1
            continue
        for value in values:
            if _widest(value) > MOST_KEYS or not _divides_exactly(value):
                continue
            valid = validator.is_valid(value)
            accepted = isinstance(grammar, Grammar) and _accepted(grammar, value, 400 if valid else 24)
            assert accepted == valid, (seed, json.dumps(schema), json.dumps(value), valid)
            verdicts[valid] += 1
    assert min(verdicts.values()) > SCHEMAS * 2, verdicts
    assert refused < SCHEMAS / 10, refused


def _shuffled(rng: random.Random, value: Json) -> Json:
    """The value with the keys of all its objects in another order."""
    if isinstance(value, list):
        return [_shuffled(rng, inner) for inner in value]
    if isinstance(value, dict):
        return {key: _shuffled(rng, value[key]) for key in rng.sample(list(value), len(value))}
    return value


def _has_negation(schema: Json) -> bool:
    return any(f'"{keyword}":' in json.dumps(schema) for keyword in ("not", "oneOf", "if", "dependentSchemas"))


def test_grammar_in_any_order_accepts_every_order_of_exactly_the_valid_values() -> None:
    verdicts = {True: 0, False: 0}
    refused = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS):
        schema = draw_schema(seed)
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        rng = random.Random(f"any order {seed}")
        grammar = _grammar(schema, "any")
        values = _values(rng, grammar, validator)
        if grammar == "refused":
            refused += 1
            continue
        for value in values:
            if not _divides_exactly(value):
                continue
            valid = validator.is_valid(value)
            for _ in range(3):
                text = json.dumps(_shuffled(rng, value), ensure_ascii=False)
                accepted = isinstance(grammar, Grammar) and accepts(Matcher(grammar), text)
                if (
                    valid and not accepted and _has_negation(schema)
                ):  # a key that makes a schema fail may have to be last
                    assert isinstance(grammar, Grammar)
                    accepted = _accepted(grammar, value, 400)
                assert accepted == valid, (seed, json.dumps(schema), text, valid)
            verdicts[valid] += 1
    assert min(verdicts.values()) > SCHEMAS * 2, verdicts
    assert refused < SCHEMAS / 10, refused
