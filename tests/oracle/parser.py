"""A textbook Earley recogniser, one symbol at a time.

A ``Position`` is the Earley set after some text. An item is a production, how
far its right-hand side has been matched (dot), and the position where it began
(origin). Only three things happen: an item that waits for a non-terminal
predicts its productions, a finished item completes those that wait at its
origin, and a symbol moves the dot over a terminal. A non-terminal that derives
the empty string may be skipped as soon as it is predicted, which is all that
empty derivations need. Productions that derive nothing are gone beforehand
(``productions``), so a position exists exactly when its text can be continued
to a string of the language.

Positions are immutable. The input may be a lattice: ``Parser.join`` builds the
position that is reached over several edges at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from tests.oracle.productions import Production, Productions, Terminal

WHOLE = -1
"""Left-hand side of the production that stands above the start rule."""


Item: TypeAlias = "tuple[Production, int, Position]"
"""(production, dot, origin): ``dot`` parts of the right-hand side matched since ``origin``."""


class Position:
    """An Earley set of ``size`` items.

    ``for_symbol`` and ``for_non_terminal`` say what its items wait for, and hold the
    item that each becomes (dot moved) when that comes. ``after`` remembers steps.
    """

    __slots__ = ("accepting", "after", "for_non_terminal", "for_symbol", "size")

    def __init__(self) -> None:
        self.accepting = False
        self.size = 0
        self.after: dict[int, Position | None] = {}
        self.for_symbol: list[tuple[Terminal, Item]] = []
        self.for_non_terminal: dict[int, list[Item]] = {}


class Parser:
    """Recogniser of one language."""

    def __init__(self, productions: Productions) -> None:
        self._productions = productions

    def begin(self) -> Position | None:
        """The position before any text; ``None`` when the language is empty."""
        start = self._productions.start
        if start is None:
            return None
        position = Position()
        self._close(position, [(Production(WHOLE, (start,)), 0, position)])
        return position

    def step(self, position: Position, symbol: int) -> Position | None:
        """The position after one more symbol; ``None`` when no string of the language goes on so."""
        if symbol not in position.after:
            position.after[symbol] = self.join([(position, symbol)])
        return position.after[symbol]

    def join(self, edges: Iterable[tuple[Position, int]]) -> Position | None:
        """The position after any one of the (position, symbol) edges."""
        kernel = {item for position, symbol in edges for terminal, item in position.for_symbol if symbol in terminal}
        if not kernel:
            return None
        reached = Position()
        self._close(reached, kernel)
        return reached

    def next_symbols(self, position: Position) -> frozenset[int]:
        """Every symbol that ``step`` accepts here."""
        return frozenset(symbol for terminal, _ in position.for_symbol for symbol in terminal)

    def accepts(self, symbols: Iterable[int]) -> bool:
        """Whether the symbols are a string of the language."""
        position = self.begin()
        for symbol in symbols:
            if position is None:
                return False
            position = self.step(position, symbol)
        return position is not None and position.accepting

    def _close(self, position: Position, kernel: Iterable[Item]) -> None:
        productions, nullable = self._productions.of, self._productions.nullable
        todo = list(kernel)
        seen = set(todo)
        while todo:
            item = todo.pop()
            production, dot, origin = item
            found: list[Item] = []
            if dot == len(production.right):
                if production.left == WHOLE:
                    position.accepting = True
                elif origin is not position:
                    found = origin.for_non_terminal[production.left]
            else:
                part, moved = production.right[dot], (production, dot + 1, origin)
                if isinstance(part, int):
                    position.for_non_terminal.setdefault(part, []).append(moved)
                    found = [(predicted, 0, position) for predicted in productions[part]]
                    if part in nullable:
                        found.append(moved)
                else:
                    position.for_symbol.append((part, moved))
            for each in found:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        position.size = len(seen)
