"""Readings worked out by hand."""

from __future__ import annotations

import pytest

from tests.oracle.captures import Readings, TooManyError, least, named
from tests.oracle.structural_tag import AnyText, ConstString, Copies, SequenceOf, Tag, TriggeredTags
from tests.oracle.vocabulary import TokenList

VOCABULARY = TokenList((b"a", b"b", b"<", b">", b"<s>"), special=frozenset((4,)))
A, B, OPEN, CLOSE, SPECIAL = range(5)


def test_readings_for_text_that_may_end_are_open_and_closed() -> None:
    readings = Readings(SequenceOf((AnyText(("<>",), capture="x"), ConstString("<>"))), VOCABULARY)

    assert readings.of([A, OPEN]) == {(("x", 0, None),), (("x", 0, 1),), (("x", 0, 2),)}
    assert readings.of([A, OPEN, CLOSE]) == {(("x", 0, 1),)}
    assert least(readings.of([A, OPEN])) == (("x", 0, 1),)


def test_readings_for_tag_of_a_trigger_begin_with_the_trigger() -> None:
    tag = Tag("<s>a", AnyText(capture="in"), (">",), capture="tag")
    readings = Readings(TriggeredTags(("<s>",), (tag,)), VOCABULARY)

    assert readings.of([B, SPECIAL]) == {(("tag", 1, None),)}
    assert readings.of([B, SPECIAL, A, B, CLOSE], complete=True) == {(("tag", 1, 7), ("in", 5, 6))}
    assert named((("tag", 1, 7), ("in", 5, 6)), readings.text([B, SPECIAL, A, B, CLOSE])) == [
        ("tag", b"<s>ab>"),
        ("in", b"b"),
    ]


def test_allow_for_any_other_spans_is_false() -> None:
    readings = Readings(Copies(SequenceOf((ConstString("a"), AnyText(("a",), capture="x"))), 0, None), VOCABULARY)

    assert readings.allow([A, B, A], [("x", b"b"), ("x", b"")])
    assert readings.allow([A, B, A], [("x", b"b")], complete=False) is False
    assert not readings.allow([A, B, A], [("x", b"b"), ("x", b"a")])
    assert not readings.allow([A, B, A], [("y", b"b"), ("x", b"")])
    assert not readings.allow([A, B, A], [("x", b"b"), ("x", b""), ("x", b"")])


def test_is_ambiguous_for_two_texts_side_by_side() -> None:
    two = SequenceOf((AnyText(capture="x"), AnyText(capture="y")))

    assert Readings(two, VOCABULARY).is_ambiguous_after([A, B])
    assert not Readings(AnyText(capture="x"), VOCABULARY).is_ambiguous_after([A, B])


def test_readings_for_too_many_raises() -> None:
    node = Copies(AnyText(capture="x"), 0, None)

    with pytest.raises(TooManyError):
        Readings(node, VOCABULARY).of([A] * 10, most=1000)
