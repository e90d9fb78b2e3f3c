"""Random schemas in every style: a text is accepted exactly when it can be read as a valid object."""

from __future__ import annotations

import json
import os
import random
from itertools import islice

import pytest
from jsonschema import Draft202012Validator

from engine_native import (
    Compiler,
    EngineError,
    Grammar,
    LimitError,
    Matcher,
    SchemaError,
    StructuralTagError,
    UnsupportedSchemaError,
    Vocabulary,
)
from tests.engine.schemas import key_orders
from tests.engine.vocabularies import accepts, compiler
from tests.oracle.style import STYLES, Json, Written, writings
from tests.property.cases import fill
from tests.property.schemas import STRINGS, draw_schema, draw_value, mutate

SCHEMAS = int(os.environ.get("STRICTSERVE_SCHEMAS", "700")) // 8
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1"))
VALUES = 8
MOST_KEYS = 3


def _tag(schema: dict[str, Json], style: str) -> dict[str, Json]:
    return {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema, "style": style}}


def _draw(style: str, seed: int) -> dict[str, Json]:
    """All keywords; or closed objects of plain values."""
    rng = random.Random(f"style {seed}")
    if rng.random() < 0.4:
        return _closed(rng, 2)
    return draw_schema(seed) | {"type": "object"}


def _closed(rng: random.Random, depth: int) -> dict[str, Json]:
    keys = rng.sample(("a", "b", "ab", "item", "é"), rng.randint(0, 3))
    properties: dict[str, Json] = {key: _value(rng, depth - 1) for key in keys}
    required: list[Json] = [key for key in properties if rng.random() < 0.5]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _value(rng: random.Random, depth: int) -> dict[str, Json]:
    kinds = ["string", "text", "number", "listed", "any of"] + ["array", "object"] * (depth > 0)
    match rng.choice(kinds):
        case "string":
            return {"type": "string", "minLength": rng.randint(0, 2), "maxLength": rng.randint(2, 4)}
        case "text":
            more: tuple[dict[str, Json], ...] = ({}, {"pattern": "^[ab]*$"}, {"minLength": 2}, {"maxLength": 0})
            return {"type": "string"} | rng.choice(more)
        case "number":
            return {"type": rng.choice(("integer", "number")), "minimum": rng.choice((-1, 0, 2))}
        case "listed":
            return {"enum": rng.sample(["a", "ab", 1, 7, None, True, "", "é"], rng.randint(1, 3))}
        case "any of":
            return {"anyOf": [_value(rng, 0), {"type": rng.choice(("null", "boolean", "integer"))}]}
        case "array":
            return {"type": "array", "items": _value(rng, depth - 1), "maxItems": 3}
        case _:
            return _closed(rng, depth - 1)


def _objects(rng: random.Random, schema: dict[str, Json]) -> list[dict[str, Json]]:
    """Random objects, and some with values of the schema's own keys."""
    properties = schema.get("properties")
    keys = list(properties) if isinstance(properties, dict) else []
    drawn: list[Json] = []
    for _ in range(VALUES):
        made = {key: draw_value(rng, 1) for key in keys if rng.random() < 0.8}
        drawn += [made, mutate(rng, made), draw_value(rng)]
    return [each for each in drawn if isinstance(each, dict) and len(each) <= MOST_KEYS and _is_written(each)]


def _is_written(value: Json) -> bool:
    """Listed strings may have white space around them; ours have none, so texts mean what they say."""
    if isinstance(value, dict):
        return all(_is_written(each) for each in value.values())
    if isinstance(value, list):
        return all(_is_written(each) for each in value)
    return not isinstance(value, str) or value == value.strip()


def _compiled(schema: dict[str, Json], style: str) -> Grammar | str:
    try:
        return compiler().compile_structural_tag(_tag(schema, style))
    except (UnsupportedSchemaError, LimitError):
        return "refused"
    except (SchemaError, StructuralTagError):
        return "empty"


def _all_writings(style: str, value: dict[str, Json], rng: random.Random) -> list[Written]:
    """With the keys in every order: declared ones come in declared order."""
    ordered = (each for each in islice(key_orders(value, 40), 40) if isinstance(each, dict))
    return [written for each in ordered for written in islice(writings(style, each, rng), 40)]


@pytest.mark.parametrize("style", STYLES)
def test_text_is_accepted_exactly_when_it_can_be_read_as_a_valid_object(style: str) -> None:
    verdicts, refused = {True: 0, False: 0}, 0
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS):
        schema, rng = _draw(style, seed), random.Random(f"values {seed}")
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        grammar = _compiled(schema, style)
        if grammar == "refused":
            refused += 1
            continue
        for value in _objects(rng, schema):
            written = _all_writings(style, value, rng)
            valid = any(validator.is_valid(each) for each in written[0].readings)
            accepted = isinstance(grammar, Grammar) and any(accepts(Matcher(grammar), each.text) for each in written)
            assert accepted == valid, (seed, json.dumps(schema), written[0], valid)
            verdicts[valid] += 1
    assert min(verdicts.values()) > SCHEMAS / 4, verdicts
    assert refused < SCHEMAS / 5, refused


@pytest.mark.parametrize("style", STYLES)
def test_mask_in_a_style_is_acceptance_of_every_token(style: str) -> None:
    compared = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS // 2):
        rng = random.Random(f"tokens {seed}")
        schema = _closed(rng, 2)
        texts = [
            written.text for value in _objects(rng, schema) for written in islice(_all_writings(style, value, rng), 3)
        ]
        pieces = {text[at : at + rng.randint(2, 6)].encode() for text in texts for at in range(0, len(text), 3)}
        tokens = [
            *(bytes((byte,)) for byte in range(256)),
            *sorted(pieces),
            *(each.encode() for each in STRINGS[1:]),
            b"",
        ]
        engine = Compiler(Vocabulary(tokens, special_token_ids=[len(tokens) - 1], stop_token_ids=[len(tokens) - 1]))
        try:
            grammar = engine.compile_structural_tag(_tag(schema, style))
        except EngineError:
            continue
        for text in rng.sample(texts, min(len(texts), 2)):
            compared += _compare_along(grammar, text.encode(), tokens, rng)
    assert compared > SCHEMAS


def _compare_along(grammar: Grammar, text: bytes, tokens: list[bytes], rng: random.Random) -> int:
    matcher, compared = Matcher(grammar), 0
    while text:
        allowed, _ = fill(matcher, len(tokens))
        accepted = {token for token in range(len(tokens)) if matcher.fork().accept_token(token)}
        assert allowed == accepted
        compared += 1
        token = rng.choice([each for each in range(len(tokens)) if tokens[each] and text.startswith(tokens[each])])
        if not matcher.accept_token(token):
            break
        text = text[len(tokens[token]) :]
    return compared
