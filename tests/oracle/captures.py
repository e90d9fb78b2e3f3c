"""Every reading of a text: which spans the captures of a structural tag may have.

The grammar is written out with a mark before and after each captured span
(``productions.lower``). A reading of a text is a way to put marks into it so that
the parser goes on; all of them are tried. Marks cost no text, so a repetition of
what may be empty has readings without end: ``MOST_MARKS`` of them stand at one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tests.oracle.completion import completion, shortest_strings
from tests.oracle.grammar import TOKEN_BASE, token_symbol
from tests.oracle.parser import Parser, Position
from tests.oracle.productions import MARK_BASE, Marks, lower
from tests.oracle.structural_tag import Node, to_grammar
from tests.oracle.vocabulary import TokenList

Span: TypeAlias = "tuple[str, int, int | None]"
"""(name, begin, end) in the text; ``None`` while the span is open."""

Reading: TypeAlias = "tuple[Span, ...]"
"""Spans in the order in which they begin, outer ones before inner ones."""

Named: TypeAlias = "list[tuple[str, bytes]]"
"""A reading as ``Matcher.captures`` tells it."""

Step: TypeAlias = "tuple[tuple[int, ...], ...]"
"""The ways to read one token, or one symbol."""

MOST_MARKS = 8


class TooManyError(Exception):
    """The text has more readings than one wants to look at."""


@dataclass(frozen=True)
class _Place:
    """Where a search stands: ``steps`` are begun, of the last one ``due`` is left, ``at`` bytes are read."""

    position: Position
    steps: int = 0
    due: tuple[int, ...] = ()
    at: int = 0
    spans: Reading = ()
    open: tuple[int, ...] = ()
    marks: int = 0


class Readings:
    """The readings of texts in the language of ``node``."""

    def __init__(self, node: Node, vocabulary: TokenList) -> None:
        marks: Marks = {}
        productions = lower(to_grammar(node), vocabulary.special_texts(), marks)
        self._parser = Parser(productions)
        self._shortest = shortest_strings(productions)
        self._marks = {symbol: mark for mark, symbol in marks.items()}
        self._vocabulary = vocabulary

    def text(self, tokens: Iterable[int]) -> bytes:
        """The bytes of the tokens, special ones included."""
        return b"".join(self._vocabulary.tokens[token] for token in tokens)

    def of(self, tokens: Sequence[int], *, complete: bool = False, most: int = 20_000) -> frozenset[Reading]:
        """All readings of the tokens, each read as bytes or as a unit.

        ``complete``: only those in which the text is complete. TooManyError when more
        than ``most`` places were looked at.
        """
        return frozenset(place.spans for place in _Search(self, self._steps(tokens), complete, most).run())

    def allow(self, tokens: Sequence[int], named: Named, *, complete: bool = False, most: int = 20_000) -> bool:
        """Whether ``named`` is one of the readings, with any number of marks."""
        search = _Search(self, self._steps(tokens), complete, most, (named, self.text(tokens)))
        return any(True for _ in search.run())

    def is_ambiguous_after(self, tokens: Sequence[int], *, most: int = 20_000) -> bool:
        """Whether a reading has a shortest completion after which the whole text has other readings as well."""
        steps = self._steps(tokens)
        for place in set(_Search(self, steps, False, most).run()):
            rest = [symbol for symbol in completion(place.position, self._shortest) if symbol < MARK_BASE]
            whole = [*steps, *(((symbol,),) for symbol in rest)]
            if len({end.spans for end in _Search(self, whole, True, most).run()}) > 1:
                return True
        return False

    def _steps(self, tokens: Iterable[int]) -> list[Step]:
        ordinary = set(range(self._vocabulary.size)) - self._vocabulary.special - self._vocabulary.stop
        return [
            ((tuple(self._vocabulary.tokens[token]),) if token in ordinary else ()) + ((token_symbol(token),),)
            for token in tokens
        ]

    def _length(self, symbol: int) -> int:
        if symbol < TOKEN_BASE:
            return 1
        token = symbol - TOKEN_BASE
        return len(self._vocabulary.tokens[token]) if token < self._vocabulary.size else 0


class _Search:
    """Depth first. ``wanted``: only the reading with these spans, and the text that they are of."""

    def __init__(
        self, of: Readings, steps: Sequence[Step], complete: bool, most: int, wanted: tuple[Named, bytes] | None = None
    ) -> None:
        self._of = of
        self._steps = steps
        self._complete = complete
        self._left = most
        self._wanted = wanted

    def run(self) -> Iterator[_Place]:
        begin = self._of._parser.begin()
        assert begin is not None
        todo = [_Place(begin)]
        while todo:
            self._left -= 1
            if self._left < 0:
                raise TooManyError
            place = todo.pop()
            if self._ends(place):
                yield place
            todo += self._after_text(place)
            todo += self._after_marks(place)

    def _ends(self, place: _Place) -> bool:
        """The text ends here, and it is complete or may go on with text: marks alone lead nowhere."""
        if place.due or place.steps < len(self._steps):
            return False
        symbols = self._of._parser.next_symbols(place.position)
        goes_on = not self._complete and any(symbol < MARK_BASE for symbol in symbols)
        return (place.position.accepting or goes_on) and self._is_wanted(place, ended=True)

    def _after_text(self, place: _Place) -> Iterator[_Place]:
        ways: Step = (place.due,) if place.due else ()
        steps = place.steps
        if not place.due and steps < len(self._steps):
            ways, steps = self._steps[steps], steps + 1
        for symbol, *due in ways:
            reached = self._of._parser.step(place.position, symbol)
            if reached is not None:
                at = place.at + self._of._length(symbol)
                yield replace(place, position=reached, steps=steps, due=tuple(due), at=at, marks=0)

    def _after_marks(self, place: _Place) -> Iterator[_Place]:
        for symbol in self._of._parser.next_symbols(place.position):
            if symbol < MARK_BASE or (self._wanted is None and place.marks == MOST_MARKS):
                continue
            reached = self._of._parser.step(place.position, symbol)
            assert reached is not None
            marked = replace(place, position=reached, marks=place.marks + 1)
            if symbol in self._of._marks:
                name, lead = self._of._marks[symbol]
                spans = (*place.spans, (name, place.at - lead, None))
                marked = replace(marked, spans=spans, open=(*place.open, len(place.spans)))
            else:
                number = place.open[-1]
                name, begin, _ = place.spans[number]
                spans = (*place.spans[:number], (name, begin, place.at), *place.spans[number + 1 :])
                marked = replace(marked, spans=spans, open=place.open[:-1])
            if self._is_wanted(marked, ended=False):
                yield marked

    def _is_wanted(self, place: _Place, *, ended: bool) -> bool:
        if self._wanted is None:
            return True
        wanted, text = self._wanted
        if len(place.spans) > len(wanted) or (ended and len(place.spans) < len(wanted)):
            return False
        return all(
            name == wanted_name
            and (
                text[begin:end] == wanted_text
                if ended or end is not None
                else text.startswith(wanted_text, begin) and begin + len(wanted_text) >= place.at
            )
            for (name, begin, end), (wanted_name, wanted_text) in zip(place.spans, wanted, strict=False)
        )


def named(reading: Reading, text: bytes) -> Named:
    """The reading as ``Matcher.captures`` tells it."""
    return [(name, text[begin:end]) for name, begin, end in reading]


def least(readings: Iterable[Reading]) -> Reading:
    """The reading that captures least: at the first difference it begins later, else it is shorter."""
    endless = 1 << 60
    return min(readings, key=lambda reading: [(-begin, endless if end is None else end) for _, begin, end in reading])
