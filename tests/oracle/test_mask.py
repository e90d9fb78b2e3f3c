"""Masks worked out by hand: every way in which a token can and cannot match."""

from __future__ import annotations

import pytest

from tests.oracle.grammar import (
    Characters,
    Choice,
    Dispatch,
    Expression,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
    TokenEdge,
)
from tests.oracle.mask import MaskOracle
from tests.oracle.vocabulary import TokenList

_ANY = Characters(((0, 0x10FFFF),))


def _texts(expression: Expression, vocabulary: TokenList, *after: int, **rules: Expression) -> list[int]:
    oracle = MaskOracle(Grammar({"root": expression, **rules}), vocabulary)
    position = oracle.replay(after)
    assert position is not None
    return sorted(oracle.allowed(position))


def test_mask_for_token_across_rules_needs_every_byte_to_match() -> None:
    vocabulary = TokenList((b"a", b"ab", b"abc", b"abd", b"b", b""))
    root = Sequence((Reference("first"), Reference("second")))

    allowed = _texts(root, vocabulary, first=Literal(b"a"), second=Literal(b"bc"))

    assert allowed == [0, 1, 2]


def test_mask_for_cut_code_points_follows_the_bytes() -> None:
    vocabulary = TokenList(("é".encode()[:1], "é".encode()[1:], "é".encode(), b"\xe2", b"\xff"))

    assert _texts(Characters(((0xE9, 0xE9),)), vocabulary) == [0, 2]
    assert _texts(Characters(((0xE9, 0xE9),)), vocabulary, 0) == [1]
    assert _texts(_ANY, vocabulary) == [0, 2, 3]


def test_special_token_for_its_text_in_a_literal_is_the_only_way_to_spell_it() -> None:
    vocabulary = TokenList((b"<", b"s", b">", b"<s>", b"a<", b"<s>", b"a"), special=frozenset((3, 5)))

    assert _texts(Literal(b"a<s>"), vocabulary) == [6]
    assert _texts(Literal(b"a<s>"), vocabulary, 6) == [3, 5]
    assert _texts(Repeat(_ANY, 0, None), vocabulary) == [0, 1, 2, 4, 6]
    assert _texts(Literal(b"<s"), vocabulary) == [0]


def test_special_tokens_for_overlapping_texts_take_the_longest() -> None:
    vocabulary = TokenList((b"<s>", b"<s>>", b">"), special=frozenset((0, 1)))

    assert _texts(Literal(b"<s>>"), vocabulary) == [1]
    assert _texts(Literal(b"<s>a"), vocabulary) == [0]


def test_stop_token_is_allowed_exactly_where_the_text_is_complete() -> None:
    vocabulary = TokenList((b"a", b"</s>", b"a"), special=frozenset((1,)), stop=frozenset((1, 2)))

    assert _texts(Repeat(Literal(b"a"), 0, 1), vocabulary) == [0, 1, 2]
    assert _texts(Literal(b"aa"), vocabulary, 0) == [0]
    assert _texts(Literal(b"aa"), vocabulary, 0, 0) == [1, 2]


def test_stop_token_for_its_text_in_a_literal_must_complete_the_text() -> None:
    vocabulary = TokenList((b"a", b"</s>", b"<", b"/s>"), special=frozenset((1,)), stop=frozenset((1,)))

    assert _texts(Literal(b"a</s>"), vocabulary, 0) == [1]
    assert _texts(Literal(b"a</s>a"), vocabulary, 0) == []
    assert _texts(Sequence((Literal(b"a"), Repeat(Literal(b"</s>"), 0, 2))), vocabulary, 0) == [1]


def test_token_edge_matches_a_token_beside_its_bytes() -> None:
    vocabulary = TokenList((b"ab", b"a", b"b", b"<s>"), special=frozenset((3,)))
    root = Choice((Literal(b"abb"), Sequence((TokenEdge(frozenset((0, 3))), Literal(b"a")))))

    assert _texts(root, vocabulary) == [0, 1, 3]
    assert _texts(root, vocabulary, 0) == [1, 2]
    assert _texts(root, vocabulary, 1) == [2]
    assert _texts(root, vocabulary, 3) == [1]


def test_dispatch_for_special_trigger_fires_on_the_token_only() -> None:
    vocabulary = TokenList((b"<s>", b"<", b"s", b">", b"x", b"y"), special=frozenset((0,)))
    root = Dispatch(((b"<s>x", Literal(b"y")),))

    assert _texts(root, vocabulary) == [0, 1, 2, 3, 4, 5]
    assert _texts(root, vocabulary, 0) == [4]
    assert _texts(root, vocabulary, 0, 4) == [5]
    assert _texts(root, vocabulary, 1, 2, 3, 4) == [0, 1, 2, 3, 4, 5]


def test_dispatch_for_two_triggers_ending_together_allows_both_tags() -> None:
    vocabulary = TokenList((b"a", b"b", b"1", b"2"))
    root = Dispatch(((b"ab", Literal(b"1")), (b"b", Literal(b"2"))))

    assert _texts(root, vocabulary, 0, 1) == [2, 3]
    assert _texts(root, vocabulary, 1) == [3]


def test_dispatch_for_dead_tag_forbids_the_trigger() -> None:
    vocabulary = TokenList((b"a", b"b", b"ab"))

    assert _texts(Dispatch(((b"ab", Choice(())),)), vocabulary, 0) == [0]


@pytest.mark.parametrize(
    ("expression", "forced"),
    [
        (Literal(b"abc"), b"abc"),
        (Sequence((Literal(b"ab"), Choice((Literal(b"c"), Literal(b"d"))))), b"ab"),
        (Sequence((Literal(b"ab"), Repeat(Literal(b"c"), 0, 1))), b"ab"),
        (Literal(b"a<s>"), b"a"),
        (Repeat(Literal(b"a"), 0, None), b""),
    ],
)
def test_forced_bytes_stop_where_there_is_a_choice(expression: Expression, forced: bytes) -> None:
    oracle = MaskOracle(Grammar({"root": expression}), TokenList((b"<s>",), special=frozenset((0,))))
    position = oracle.begin()
    assert position is not None

    assert oracle.forced_bytes(position, 10) == forced


def test_replay_for_forbidden_token_is_none() -> None:
    oracle = MaskOracle(Grammar({"root": Literal(b"ab")}), TokenList((b"a", b"b")))

    assert oracle.replay((0, 0)) is None
    assert oracle.replay((0, 1)) is not None
