"""Tokens as units in structural tags: one by id or text, all but some, any number."""

from __future__ import annotations

from typing import Any

import pytest

from engine_native import Compiler, Matcher, StructuralTagError, Vocabulary, allocate_bitmask
from tests.engine.vocabularies import SPECIAL, STOP, byte_vocabulary

AB, TRUE = 261, 258  # "ab", "true" of the vocabulary


def _matcher(*elements: dict[str, Any]) -> Matcher:
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": list(elements)}}
    return Matcher(Compiler(byte_vocabulary()).compile_structural_tag(tag))


def _allowed(matcher: Matcher) -> set[int]:
    row = allocate_bitmask(1, matcher.vocab_size)
    matcher.fill_bitmask(row[0])
    return {t for t in range(matcher.vocab_size) if row[0, t // 32] >> (t % 32) & 1}


@pytest.mark.parametrize(("name", "token"), [(AB, AB), ("ab", AB), ("<s>", SPECIAL), (SPECIAL, SPECIAL), ("a", 97)])
def test_token_is_this_token_as_a_unit(name: int | str, token: int) -> None:
    matcher = _matcher({"type": "token", "token": name}, {"type": "const_string", "value": "!"})

    assert _allowed(matcher) == {token}
    assert not matcher.accept_bytes(b"ab")
    assert matcher.accept_token(token)
    assert _allowed(matcher) == {ord("!")}


def test_exclude_token_is_any_other_token_once() -> None:
    matcher = _matcher(
        {"type": "exclude_token", "exclude_tokens": ["ab", 97, "<s>"]}, {"type": "const_string", "value": "!"}
    )

    assert _allowed(matcher) == set(range(matcher.vocab_size)) - {AB, 97, SPECIAL, STOP}
    assert matcher.accept_token(TRUE)
    assert _allowed(matcher) == {ord("!")}


@pytest.mark.parametrize("most", [None, 0, 1, 3, 1000])
def test_any_tokens_are_so_many_tokens_whatever_their_bytes(most: int | None) -> None:
    content = {"type": "any_tokens", "exclude_tokens": ["!"], "max_tokens": most}
    matcher = _matcher(content, {"type": "const_string", "value": "!"})

    for _ in range(most if most is not None and most < 10 else 10):
        assert _allowed(matcher) == set(range(matcher.vocab_size)) - {STOP}
        assert matcher.accept_token(TRUE)
    if most is not None and most < 10:
        assert _allowed(matcher) == {ord("!")}
    assert matcher.accept_token(ord("!"))
    assert _allowed(matcher) == {STOP}


@pytest.mark.parametrize("name", [True, None, -1, 1.5, "", [], "no such token", 10_000])
def test_token_that_is_none_is_refused_at_its_place(name: object) -> None:
    for element in ({"type": "token", "token": name}, {"type": "any_tokens", "exclude_tokens": ["a", name]}):
        with pytest.raises(StructuralTagError) as caught:
            _matcher({"type": "const_string", "value": "x"}, element)
        assert caught.value.path.startswith("/format/elements/1/")


def test_tokens_without_bytes_are_no_tokens() -> None:
    vocabulary = Vocabulary([b"a", b"", b"b", b"</s>"], stop_token_ids=[3])
    tag = {"type": "structural_tag", "format": {"type": "exclude_token", "exclude_tokens": ["a"]}}

    assert _allowed(Matcher(Compiler(vocabulary).compile_structural_tag(tag))) == {2, 3}
