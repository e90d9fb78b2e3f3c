"""Arrays of unique items: what a matcher does with them beyond masks (``tests/property/test_unique_items.py``)."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from engine_native import Compiler, EngineError, Grammar, Matcher, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, byte_vocabulary, compiler


def _unique(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items, "uniqueItems": True}


def _grammar(items: Json) -> Grammar:
    return compiler().compile_json_schema(_unique(items))


@pytest.mark.parametrize(
    ("items", "accepted", "refused"),
    [
        (
            {"type": "string"},
            ['["a","A","",","]', '["\\n","n"]'],
            ['["é","\\u00e9"]', '["\\n","\\u000a"]', '["😀","\\ud83d\\uDE00"]'],
        ),
        (
            {"type": "number"},
            ["[1,10,0.1,-1]", "[1e2,1e-2]"],
            ["[0,-0]", "[100,1e2]", "[0.10,1E-1]", "[12e0,1.2e+1]", "[0,0e9]"],
        ),
        (  # of 4 and of what begins like it there is one value, in spellings without end
            {"type": "number", "minimum": 2, "maximum": 4},
            ["[4]", "[4e0,3]", "[3,3.5,4]", "[4.00,2]", "[3,4e-00]"],
            ["[4,4.0]", "[4,4e00]", "[4e+0,4.0]", "[3e00,3]"],
        ),
        (
            True,
            ['["1",1,true,[1],{"1":1}]'],
            ['[{"a":[1,{}]},{"a":[1.0,{}]}]', '[{"a":1,"b":2},{"b":2,"a":1}]', "[[],[ ]]"],
        ),
        ({"enum": [[n] for n in range(20)]}, ["[[1],[2]]"], ["[[1],[1]]", "[[20]]"]),
    ],
)
def test_items_are_compared_by_value(items: Json, accepted: list[str], refused: list[str]) -> None:
    for text in accepted:
        assert accepts(Matcher(_grammar(items)), text), text
    for text in refused:
        assert not accepts(Matcher(_grammar(items)), text), text


def test_only_the_unique_alternative_forbids_repetition() -> None:
    either = {"anyOf": [_unique({"type": "string"}), {"type": "array", "items": {"type": "string"}, "maxItems": 2}]}
    grammar = compiler().compile_json_schema(either)

    assert accepts(Matcher(grammar), '["a","a"]')
    assert accepts(Matcher(grammar), '["a","b","c"]')
    assert not accepts(Matcher(grammar), '["a","a","c"]')


def test_rollback_and_fork_within_an_element_know_the_same_values() -> None:
    matcher = Matcher(_grammar({"type": "string"}))
    assert matcher.accept_bytes(b'["ab","cd","a')
    fork = matcher.fork()

    assert not matcher.accept_bytes(b'b"')
    assert matcher.accept_bytes(b'"')
    matcher.rollback(1)

    assert matcher.accept_bytes(b'","ef"]')
    assert not fork.accept_bytes(b'b"')
    assert fork.accept_bytes(b'c","a","b"]')
    assert fork.can_terminate()


def test_draft_tree_within_elements_is_what_steps_allow() -> None:
    matcher = Matcher(_grammar({"type": "string"}))
    assert matcher.accept_bytes(b'["a","')
    draft = [ord('"'), ord("a"), ord('"'), ord("b"), ord('"')]  # the root, then "a" with its end, or "b" with its end
    rows = np.zeros((5, (byte_vocabulary().vocab_size + 31) // 32), dtype=np.int32)

    valid = matcher.fill_draft_tree(draft, [1, 2, -1, 4, -1], [-1, 3, -1, -1, -1], rows)

    assert valid == 4
    assert not rows[2].any()
    assert rows[4].any()


def test_token_budget_is_refused() -> None:
    with pytest.raises(EngineError, match="unique values"):
        Matcher(_grammar({"type": "string"})).set_token_budget(100)


def test_captures_are_refused() -> None:
    content: dict[str, Json] = {"type": "json_schema", "json_schema": _unique({"type": "string"})}
    tag: dict[str, Json] = {"type": "tag", "begin": "<a>", "content": content, "end": "</a>"}
    matcher = Matcher(compiler().compile_structural_tag({"format": tag}))

    assert matcher.accept_bytes(b'<a>["x","y"]</a>')
    with pytest.raises(UnsupportedSchemaError, match="uniqueItems"):
        compiler().compile_structural_tag({"format": {**tag, "capture": "name"}})


def test_arrays_nested_too_deep_fail_calmly() -> None:
    grammar = compiler().compile_json_schema({"type": "array", "items": {"$ref": "#"}, "uniqueItems": True})
    matcher = Matcher(grammar)

    assert matcher.accept_bytes(b"[" * 80)
    assert not matcher.accept_bytes(b"[" * 80)
    assert "limit" in str(matcher.error)
    assert accepts(Matcher(grammar), "[" * 80 + "]" * 80)


def test_memory_of_elements_goes_with_the_matcher() -> None:
    own = Compiler(byte_vocabulary())
    grammar = own.compile_json_schema(_unique({"type": ["string", "object"]}))
    row = np.zeros((byte_vocabulary().vocab_size + 31) // 32, dtype=np.int32)
    held, left = [], []
    for _ in range(3):
        matcher = Matcher(grammar)
        for number in range(200):
            assert matcher.accept_bytes((b"[" if number == 0 else b",") + b'"word %d"' % number)
            matcher.fill_bitmask(row)
        held.append(own.stats()["bytes"])
        del matcher
        gc.collect()
        own.clear_cache()
        left.append(own.stats()["bytes"])

    assert held[0] > left[0] + 100_000
    assert left == [left[0]] * 3


def test_how_many_items_may_be_required_does_not_depend_on_what_was_compiled_before() -> None:
    own = Compiler(byte_vocabulary())
    for least in (2, 3):
        grammar = own.compile_json_schema({**_unique({"type": ["string", "number"]}), "minItems": least})

        assert accepts(Matcher(grammar), '["a",1,"b"]')
