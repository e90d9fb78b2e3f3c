"""A matcher answers calmly whatever it is asked, and in whatever state."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from engine_native import (
    Compiler,
    EngineError,
    Matcher,
    Vocabulary,
    accept_token_batch,
    allocate_bitmask,
    fill_bitmask_batch,
)
from tests.engine.vocabularies import SPECIAL, STOP, accepts, byte_vocabulary, compiler
from tests.property.cases import fill

SIZE = 267


def _ended() -> Matcher:
    matcher = Matcher(compiler().compile_regex("ab"))
    assert matcher.accept_tokens([ord("a"), ord("b"), STOP]) == 3
    return matcher


def test_terminated_matcher_for_every_token_answers_false_and_stays() -> None:
    matcher = _ended()

    assert [token for token in range(SIZE) if token != STOP and matcher.accept_token(token)] == []

    assert matcher.is_terminated()
    assert matcher.can_terminate()


def test_terminated_matcher_for_every_question_answers() -> None:
    matcher = _ended()

    assert fill(matcher, SIZE)[0] <= {STOP}
    assert matcher.forced_bytes() == b""
    assert list(matcher.forced_tokens()) == []
    assert matcher.validate_tokens([ord("a")]) == 0
    assert matcher.accept_tokens([ord("a")]) == 0
    assert not matcher.accept_bytes(b"a")
    assert matcher.fork().is_terminated()


def test_terminated_matcher_after_reset_starts_again() -> None:
    matcher = _ended()

    matcher.reset()

    assert not matcher.is_terminated()
    assert matcher.accept_token(ord("a"))


def test_complete_text_is_terminated_only_by_a_stop_token() -> None:
    matcher = Matcher(compiler().compile_regex("ab"))

    assert matcher.accept_bytes(b"ab")

    assert matcher.can_terminate()
    assert not matcher.is_terminated()
    assert fill(matcher, SIZE) == (frozenset({STOP}), True)


@pytest.mark.parametrize("token", [-1, -(2**31), -(2**63), SIZE, 2**31, 2**32, 2**32 + 97, 2**63])
def test_accept_token_for_number_outside_the_vocabulary_is_false(token: int) -> None:
    matcher = Matcher(compiler().compile_regex("a*"))

    assert matcher.accept_token(token) is False
    assert matcher.validate_tokens([token]) == 0
    assert matcher.accept_tokens([ord("a"), token]) == 1
    assert accepts(matcher, "a")


@pytest.mark.parametrize("token", ["a", None, 1.5, b"a", [1]])
def test_accept_token_for_something_else_raises_type_error(token: object) -> None:
    with pytest.raises(TypeError):
        Matcher(compiler().compile_regex("a")).accept_token(token)  # type: ignore[arg-type]


def test_accept_bytes_for_text_raises_type_error() -> None:
    with pytest.raises(TypeError):
        Matcher(compiler().compile_regex("a")).accept_bytes("a")  # type: ignore[arg-type]


def test_accept_bytes_for_no_bytes_is_true() -> None:
    matcher = Matcher(compiler().compile_regex("a"))

    assert matcher.accept_bytes(b"")
    assert accepts(matcher, "a")


def test_accept_bytes_for_the_text_of_special_tokens_is_plain_text() -> None:
    free = compiler().compile_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}})

    assert accepts(Matcher(free), "x<s></s>")
    assert fill(Matcher(free), SIZE)[0].isdisjoint({SPECIAL})


def test_literal_for_special_token_takes_the_token_only() -> None:
    node = {"type": "tag", "begin": "<s>", "content": {"type": "any_text"}, "end": "."}
    matcher = Matcher(compiler().compile_structural_tag({"type": "structural_tag", "format": node}))

    assert fill(matcher, SIZE)[0] == {SPECIAL}
    assert not matcher.accept_bytes(b"<s>")
    assert matcher.accept_token(SPECIAL)
    assert accepts(matcher, "x.")


@pytest.mark.parametrize("count", [-1, 1, 2**31, 2**32, 2**64])
def test_rollback_for_impossible_count_raises_and_changes_nothing(count: int) -> None:
    matcher = Matcher(compiler().compile_regex("ab"))

    with pytest.raises((ValueError, OverflowError, EngineError)):
        matcher.rollback(count)

    assert accepts(matcher, "ab")


@pytest.mark.parametrize(
    "row",
    [
        np.zeros(8, dtype=np.int32),
        np.zeros(10, dtype=np.int32),
        np.zeros(9, dtype=np.int64),
        np.zeros(18, dtype=np.int16),
        np.zeros(18, dtype=np.int32)[::2],
        np.zeros((9, 1), dtype=np.int32)[::-1],
        bytes(36),
        [0] * 9,
        None,
    ],
    ids=["short", "long", "int64", "int16", "strided", "reversed", "read-only bytes", "list", "none"],
)
def test_fill_for_unsuitable_row_raises(row: object) -> None:
    matcher = Matcher(compiler().compile_regex("a"))

    with pytest.raises((ValueError, TypeError, BufferError)):
        matcher.fill_bitmask(row)


def test_fill_for_torch_row_equals_numpy_row() -> None:
    torch = pytest.importorskip("torch")
    matcher = Matcher(compiler().compile_regex("[a-f]+"))
    row, mask = np.zeros(9, dtype=np.int32), torch.zeros((2, 9), dtype=torch.int32)

    matcher.fill_bitmask(row)
    matcher.fill_bitmask(mask[1])

    assert mask[1].tolist() == row.tolist()
    assert mask[0].tolist() == [0] * 9


def test_batch_for_row_outside_raises() -> None:
    matchers = [Matcher(compiler().compile_regex("a")) for _ in range(2)]
    for rows in ([0, 2], [-1, 0], [0], [0, 1, 1]):
        with pytest.raises((ValueError, IndexError)):
            fill_bitmask_batch(matchers, np.zeros((2, 9), dtype=np.int32), rows)
    with pytest.raises(ValueError, match="2 matchers for 1 rows"):
        fill_bitmask_batch(matchers, np.zeros((1, 9), dtype=np.int32))
    with pytest.raises(ValueError, match="8 words"):
        fill_bitmask_batch(matchers, np.zeros((2, 8), dtype=np.int32))


def test_batch_for_no_matchers_does_nothing() -> None:
    bitmask = np.full((2, 9), 7, dtype=np.int32)

    fill_bitmask_batch([], bitmask)

    assert (bitmask == 7).all()
    assert list(accept_token_batch([], [])) == []


def test_batch_for_one_matcher_twice_is_refused_or_right() -> None:
    matcher = Matcher(compiler().compile_regex("a"))
    bitmask = np.zeros((2, 9), dtype=np.int32)

    fill_bitmask_batch([matcher, matcher], bitmask, threads=2)

    assert bitmask[0].tolist() == bitmask[1].tolist()
    assert bitmask[0].any()


def test_matcher_for_own_stop_tokens_uses_them_instead() -> None:
    matcher = Matcher(compiler().compile_regex("a"), stop_token_ids=[ord("z"), SPECIAL])
    assert matcher.accept_token(ord("a"))

    assert fill(matcher, SIZE)[0] == {ord("z"), SPECIAL}
    assert not matcher.accept_token(STOP)
    assert matcher.accept_token(ord("z"))
    assert matcher.is_terminated()


@pytest.mark.parametrize("stops", [[-1], [SIZE], [2**40], ["a"]])
def test_matcher_for_stop_token_outside_the_vocabulary_raises(stops: list[int]) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, EngineError)):
        Matcher(compiler().compile_regex("a"), stop_token_ids=stops)


def test_matcher_outlives_its_grammar_compiler_and_vocabulary() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"</s>"], stop_token_ids=[2])
    matcher = Matcher(Compiler(vocabulary).compile_regex("(ab)+"))
    del vocabulary
    gc.collect()

    assert matcher.accept_tokens([0, 1]) == 2
    assert fill(matcher, 3)[0] == {0, 2}


def test_constructors_for_other_types_raise_type_error() -> None:
    with pytest.raises(TypeError):
        Matcher(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Compiler(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Vocabulary(["a"])  # type: ignore[list-item]
    with pytest.raises((TypeError, ValueError)):
        Vocabulary(3)  # type: ignore[arg-type]


def test_stats_count_hits_of_equal_texts() -> None:
    own = Compiler(byte_vocabulary())
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    first = own.stats()

    own.compile_json_schema(schema)
    own.compile_json_schema(schema)

    assert first != own.stats()
    grammar = own.compile_json_schema(schema)
    assert grammar.memory_bytes > 0
    assert list(grammar.notes) == []


def test_fill_speed_of_long_text_does_not_grow_with_its_length() -> None:
    grammar = compiler().compile_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}})
    matcher = Matcher(grammar)

    assert all(matcher.accept_bytes(b"some text, and ") for _ in range(5000))

    assert fill(matcher, SIZE) == fill(Matcher(grammar), SIZE)


def test_threads_with_matchers_over_one_compiler_give_the_masks_of_one_thread() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"enum": ["x", 1, {"y": None}]}}, "b": {"type": "number"}},
        "required": ["a"],
    }
    text = b'{"a": ["x", 1, {"y": null}, "x"], "b": -1.5e3}'

    def masks(own: Compiler) -> list[frozenset[int]]:
        matcher = Matcher(own.compile_json_schema(schema))
        found = [fill(matcher, SIZE)[0]]
        for byte in text:
            assert matcher.accept_token(byte)
            found.append(fill(matcher, SIZE)[0])
        assert matcher.accept_token(STOP)
        return found

    expected = masks(Compiler(byte_vocabulary()))
    for cache_bytes in (256 << 20, 1):
        shared = Compiler(byte_vocabulary(), cache_bytes=cache_bytes)
        results: list[list[frozenset[int]]] = []

        def work(own: Compiler = shared, into: list[list[frozenset[int]]] = results) -> None:
            for turn in range(20):
                into.append(masks(own))
                if turn % 5 == 0:
                    own.clear_cache()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(results) == 80
        assert all(result == expected for result in results)


@pytest.mark.parametrize(
    ("first_child", "next_sibling"),
    [([1, 1, -1], [-1, -1, -1]), ([1, -1, -1], [-1, 2, 1]), ([1, 0, -1], [-1, -1, -1]), ([1, -1, -1], [2, 2, -1])],
)
def test_draft_tree_that_is_no_tree_raises_and_writes_nothing(first_child: list[int], next_sibling: list[int]) -> None:
    matcher = Matcher(compiler().compile_regex("[ab]*"))
    bitmask = np.full((3, (matcher.vocab_size + 31) // 32), 0x5A5A5A5A, dtype=np.int32)

    with pytest.raises(ValueError, match=r"tree|range"):
        matcher.fill_draft_tree([97, 97, 98], first_child, next_sibling, bitmask)
    assert (bitmask == 0x5A5A5A5A).all()


def test_fill_says_that_nothing_is_forbidden_in_a_vocabulary_of_one() -> None:
    grammar = Compiler(Vocabulary([b"a"], special_token_ids=[0], stop_token_ids=[0])).compile_ebnf('root ::= ""')

    assert Matcher(grammar).fill_bitmask(allocate_bitmask(1, 1)[0]) is False
