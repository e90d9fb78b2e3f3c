"""The schema of a tag is shared by its text and built when text enters it; nobody may notice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from engine_native import (
    Compiler,
    EngineError,
    Grammar,
    LimitError,
    Limits,
    Matcher,
    SchemaError,
    UnsupportedSchemaError,
    allocate_bitmask,
)
from tests.engine.schemas import Json, draw_schema, draw_value
from tests.engine.vocabularies import accepts, byte_vocabulary

SCHEMAS = 150


def _tag(schema: Json, name: str = "f") -> dict[str, Json]:
    return {
        "type": "tag",
        "begin": f"<{name}>",
        "content": {"type": "json_schema", "json_schema": schema},
        "end": "</>",
    }


def _tags(*tags: Json) -> dict[str, Json]:
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": list(tags)}}


def _outcome(make: Callable[[Any], Grammar], source: object) -> Grammar | tuple[type, str]:
    try:
        return make(source)
    except EngineError as error:
        return type(error), str(error.message)


def _mask(matcher: Matcher) -> bytes:
    row = allocate_bitmask(1, matcher.vocab_size)
    matcher.fill_bitmask(row[0])
    return bytes(row.tobytes())


def test_tag_for_random_schema_masks_and_fails_like_the_schema_alone() -> None:
    entered = 0
    for seed in range(SCHEMAS):
        schema = draw_schema(seed).schema
        compiler = Compiler(byte_vocabulary())
        alone = _outcome(Compiler(byte_vocabulary()).compile_json_schema, schema)
        tagged = _outcome(compiler.compile_structural_tag, _tags(_tag(schema)))
        if not isinstance(alone, Grammar):
            assert not isinstance(tagged, Grammar), (seed, schema)
            assert tagged[0] is alone[0], (seed, schema, tagged)
            continue
        assert isinstance(tagged, Grammar), (seed, schema, tagged)
        rng = random.Random(seed)
        for value in [draw_value(rng, 3) for _ in range(12)]:
            text = json.dumps(value, ensure_ascii=False).encode()
            inside, outside = Matcher(tagged), Matcher(alone)
            assert inside.accept_bytes(b"text <f>")
            for byte in text:
                assert inside.error is None
                if not outside.can_terminate():
                    assert _mask(inside)[: 256 // 8] == _mask(outside)[: 256 // 8], (seed, schema, text)
                accepted = outside.accept_token(byte)
                if outside.can_terminate() and not accepted:
                    break
                assert inside.accept_token(byte) == accepted, (seed, schema, text)
                if not accepted:
                    break
                entered += 1
    assert entered > SCHEMAS * 10


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, SchemaError),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, SchemaError),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, SchemaError),
        ({"type": "integer", "minimum": 2, "maximum": 1}, SchemaError),
        ({"type": "integer", "minimum": 0.5, "maximum": 0.6}, SchemaError),
        ({"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 2}, "minItems": 1}, SchemaError),
        ({"type": "string", "enum": [1, 2]}, SchemaError),
        ({"type": [], "description": "nothing"}, SchemaError),
        ({"$ref": "https://example.com/elsewhere"}, UnsupportedSchemaError),
    ],
)
def test_tag_for_schema_that_cannot_be_kept_is_refused_before_any_text(schema: Json, kind: type[EngineError]) -> None:
    with pytest.raises(kind):
        Compiler(byte_vocabulary()).compile_structural_tag(_tags(_tag({"type": "integer"}), _tag(schema, "g")))


def test_malformed_json_inside_a_schema_is_reported_at_its_place() -> None:
    text = json.dumps(_tags(_tag({"type": "object", "properties": {}})))
    broken = text.replace('"properties": {}', '"properties": {1}')
    with pytest.raises(EngineError) as caught:
        Compiler(byte_vocabulary()).compile_structural_tag(broken)
    assert caught.value.offset == broken.index("1}")
    for cut in range(text.index("json_schema"), len(text), 7):
        with pytest.raises(EngineError):
            Compiler(byte_vocabulary()).compile_structural_tag(text[:cut])


def test_schema_texts_are_shared_between_tags_and_survive_collections() -> None:
    compiler = Compiler(byte_vocabulary())
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    first = compiler.compile_structural_tag(_tags(_tag(schema), _tag(schema, "g")))
    second = compiler.compile_structural_tag(_tags(_tag(schema, "other")))

    assert compiler.stats()["levels"]["text"] == {"hits": 2, "misses": 1}
    compiler.clear_cache()
    matcher = Matcher(first)
    assert matcher.accept_bytes(b"<g>{")
    compiler.clear_cache()
    assert accepts(matcher, '"a": true}</>')
    assert accepts(Matcher(second), '<other>{"a": false}</> and <other>{"a":true}</>')
    built = compiler.stats()["rules"]
    del matcher, first, second
    compiler.clear_cache()
    assert compiler.stats()["rules"] < built
    assert compiler.stats()["rules"] == 0


def test_building_past_a_limit_of_compiling_fails_the_matcher_alone() -> None:
    compiler = Compiler(byte_vocabulary(), limits=Limits(states=700))
    schema: dict[str, Json] = {"type": "object", "properties": {f"key{i}": {"type": "integer"} for i in range(200)}}
    matcher = Matcher(compiler.compile_structural_tag(_tags(_tag(schema), _tag({"type": "null"}, "n"))))
    other = matcher.fork()

    assert matcher.accept_bytes(b"<f")
    assert not matcher.accept_bytes(b">{")
    assert isinstance(matcher.error, LimitError)
    assert accepts(other, "<n>null</>")


def test_every_limit_of_states_ends_in_a_grammar_or_a_limit_error() -> None:
    """A limit may be met at any place, also while rules are being shared."""
    outcomes = set()
    for states in range(1, 400):
        compiler = Compiler(byte_vocabulary(), limits=Limits(states=states))
        outcomes.add(
            isinstance(_outcome(compiler.compile_ebnf, 'root ::= "a" | "(" root ")" | x\nx ::= [0-9]+ root'), Grammar)
        )
        assert accepts(Matcher(Compiler(byte_vocabulary()).compile_choice(["a"])), "a")
    assert outcomes == {True, False}
