"""The oracle is checked against definitions it shares nothing with: ``re`` and enumeration."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from itertools import product

import pytest

from tests.oracle.completion import completion, shortest_strings
from tests.oracle.generate import Alphabet, draw_expression, draw_grammar
from tests.oracle.grammar import (
    ByteRange,
    Choice,
    Dispatch,
    Expression,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from tests.oracle.parser import Parser, Position
from tests.oracle.productions import lower
from tests.oracle.regex import print_regex
from tests.oracle.strings import language

_REGULAR = Alphabet(("a", "b", "é"), ("ab",))
_ASCII = Alphabet(("a", "b"), ("ab",))


def _parser(expression: Expression, **rules: Expression) -> Parser:
    return Parser(lower(Grammar({"root": expression, **rules}), {}))


def _after(parser: Parser, symbols: Iterable[int]) -> Position | None:
    position = parser.begin()
    for symbol in symbols:
        if position is None:
            return None
        position = parser.step(position, symbol)
    return position


@pytest.mark.parametrize("seed", range(80))
def test_parser_for_random_regular_expression_accepts_what_re_matches(seed: int) -> None:
    expression = draw_expression(random.Random(seed), _REGULAR, (), depth=3)
    parser, pattern = _parser(expression), re.compile(print_regex(expression), re.DOTALL)

    for length in range(6):
        for text in product("abé", repeat=length):
            string = "".join(text)
            assert parser.accepts(string.encode()) == bool(pattern.fullmatch(string)), (expression, string)


@pytest.mark.parametrize("seed", range(80))
def test_parser_for_random_grammar_accepts_the_enumerated_language(seed: int) -> None:
    grammar = draw_grammar(random.Random(seed), _ASCII)
    parser, strings = Parser(lower(grammar, {})), language(grammar, 5, b"ab")

    for length in range(6):
        for text in product(b"ab", repeat=length):
            assert parser.accepts(text) == (bytes(text) in strings), (grammar, bytes(text))


@pytest.mark.parametrize("seed", range(80))
def test_parser_for_random_grammar_keeps_exactly_the_beginnings_that_can_be_completed(seed: int) -> None:
    grammar = draw_grammar(random.Random(seed), _ASCII)
    productions = lower(grammar, {})
    parser, best = Parser(productions), shortest_strings(productions)
    begun = {string[:end] for string in language(grammar, 5, b"ab") for end in range(len(string) + 1)}

    for length in range(6):
        for text in product(b"ab", repeat=length):
            position = _after(parser, text)
            if bytes(text) in begun:
                assert position is not None, (grammar, bytes(text))
            if position is not None:
                assert parser.accepts(text + completion(position, best)), (grammar, bytes(text))


@pytest.mark.parametrize("seed", range(120))
def test_parser_for_random_dispatch_accepts_the_enumerated_language(seed: int) -> None:
    rng = random.Random(seed)

    def marker() -> bytes:
        return bytes(rng.choices(b"ab", k=rng.choice((1, 2, 2, 3))))

    dispatch = Dispatch(
        triggers=tuple(
            (marker(), draw_expression(rng, Alphabet(("a", "b"), ("",)), (), depth=1)) for _ in range(rng.randint(0, 3))
        ),
        excludes=tuple(marker() for _ in range(rng.choice((0, 0, 1, 2)))),
        loop=rng.random() < 0.7,
    )
    root = Sequence((Literal(b"b" * rng.randint(0, 1)), dispatch, Literal(marker()[: rng.randint(0, 2)])))
    parser, strings = _parser(root), language(Grammar({"root": root}), 6, b"ab")

    for length in range(7):
        for text in product(b"ab", repeat=length):
            assert parser.accepts(text) == (bytes(text) in strings), (root, bytes(text))


def test_dispatch_for_any_bytes_is_utf8() -> None:
    parser = _parser(Dispatch())

    for lead in range(256):
        for second in (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0):
            for rest in (b"", b"\x80", b"\x80\xbf"):
                text = bytes((lead, second)) + rest
                assert parser.accepts(text) == _decodes(text), text


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_left_recursion_for_nullable_rules_terminates_and_accepts() -> None:
    parser = _parser(
        Choice((Sequence((Reference("empty"), Reference("root"), Literal(b"a"))), Reference("root"), Literal(b"b"))),
        empty=Choice((Sequence(()), Sequence((Reference("empty"), Reference("empty"))))),
    )

    assert [parser.accepts(text) for text in (b"b", b"baaa", b"", b"ab")] == [True, True, False, False]


def test_unproductive_option_for_its_only_byte_is_dead() -> None:
    parser = _parser(Choice((Literal(b"a"), Sequence((Literal(b"b"), Reference("never"))))), never=Reference("never"))

    assert _after(parser, b"a") is not None
    assert _after(parser, b"b") is None


def test_grammar_that_derives_nothing_has_no_begin() -> None:
    assert _parser(Reference("root")).begin() is None
    assert _parser(Choice(())).begin() is None


def test_repeat_with_bounds_accepts_exactly_the_counts_between() -> None:
    parser = _parser(Repeat(ByteRange(0x61, 0x62), 3, 70))

    accepted = [count for count in range(80) if parser.accepts(b"ab" * (count // 2) + b"a" * (count % 2))]

    assert accepted == list(range(3, 71))
