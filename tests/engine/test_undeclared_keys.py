"""Keys that an open object does not declare: their rule is made when text may enter the object (json_others.c)."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from engine_native import Compiler, Matcher, allocate_bitmask
from tests.engine.vocabularies import accepts, byte_vocabulary, compiler

_PLAIN = ["", "a", "b", "ab", "abc", "abd", "b c", "!", "~", "#", "[", "]", "/", "k" * 300]
_KEYS = [*_PLAIN, "é", 'q"', "b\\", "\n", "\x7f", "😀", "\x00"]


def _nested(keys: list[str]) -> dict[str, object]:
    inner = {"type": "object", "properties": {key: {"const": 1} for key in keys}}
    return {"type": "object", "properties": {"x": {"const": 0}, "inner": inner}, "required": ["inner"]}


@pytest.mark.parametrize("seed", range(40))
def test_undeclared_key_is_any_string_but_the_declared_ones(seed: int) -> None:
    random_ = random.Random(seed)
    declared = random_.sample(_KEYS, random_.randint(0, 6))
    grammar = compiler().compile_json_schema(_nested(declared), whitespace="none")
    for key in [*_KEYS, "ax", "abcd", "é!", "".join(random_.choices('abc é\\"', k=4))]:
        text = '{"inner":{' + json.dumps(key, ensure_ascii=random_.random() < 0.5) + ":2}}"
        assert accepts(Matcher(grammar), text) == (key not in declared), (declared, key)
    for key in declared:
        assert accepts(Matcher(grammar), '{"inner":{' + json.dumps(key) + ":1}}"), (declared, key)


def test_mask_within_an_object_first_entered_is_what_is_accepted() -> None:
    vocabulary = byte_vocabulary()
    matcher = Matcher(Compiler(vocabulary).compile_json_schema(_nested(["ab", "abd", "b"]), whitespace="none"))
    mask = allocate_bitmask(1, vocabulary.vocab_size)[0]
    for byte in b'{"inner":{"abdx":"':
        matcher.fill_bitmask(mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocabulary.vocab_size]
        accepted = [token for token in range(vocabulary.vocab_size) if matcher.fork().accept_token(token)]
        assert accepted == bits.nonzero()[0].tolist()
        assert matcher.accept_token(byte)


def test_rule_of_an_object_is_made_when_it_is_entered() -> None:
    own = Compiler(byte_vocabulary())
    matcher = Matcher(own.compile_json_schema(_nested(["name", "value"]), whitespace="none"))
    before = own.stats()["rules"]
    assert matcher.accept_bytes(b'{"inner":{')
    assert own.stats()["rules"] > before


def test_unique_objects_have_enough_values_though_their_keys_are_not_made_yet() -> None:
    schema = {
        "properties": {"first": {"type": "object", "properties": {"a": {"const": 1}}}},
        "items": {"type": "object", "properties": {"b": {"const": 1}}, "required": ["b"]},
        "type": ["object", "array"],
        "uniqueItems": True,
        "minItems": 3,
    }
    grammar = compiler().compile_json_schema(schema, whitespace="none")
    assert accepts(Matcher(grammar), '[{"b":1},{"b":1,"c":2},{"b":1,"c":3}]')
    assert not accepts(Matcher(grammar), '[{"b":1},{"b":1,"c":2},{"b":1,"c":2}]')


def test_objects_count_their_undeclared_keys_though_the_rule_of_others_is_named() -> None:
    inner = {"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 3}
    schema = {"type": "object", "properties": {"x": {"type": "object"}, "inner": inner}}
    grammar = compiler().compile_json_schema(schema, whitespace="none")
    assert accepts(Matcher(grammar), '{"inner":{"a":1,"b":2,"c":3}}')
    assert not accepts(Matcher(grammar), '{"inner":{"a":1,"b":2}}')
