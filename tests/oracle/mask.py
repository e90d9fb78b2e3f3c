"""Which tokens may come next: every token is tried, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.grammar import BOUNDARY, TOKEN_BASE, Grammar, token_symbol
from tests.oracle.parser import Parser, Position
from tests.oracle.productions import Productions, lower
from tests.oracle.vocabulary import TokenList

Route = tuple[int, ...]


class MaskOracle:
    """The answers of a grammar over a vocabulary; a state is an immutable ``Position``."""

    def __init__(self, grammar: Grammar, vocabulary: TokenList) -> None:
        productions = lower(grammar, vocabulary.special_texts())
        self.vocabulary = vocabulary
        self.parser = Parser(productions)
        self._boundary = (BOUNDARY,) if productions.boundaries else ()
        unit_tokens = _unit_tokens(productions)
        self._routes = [self._routes_of(token, token in unit_tokens) for token in range(vocabulary.size)]

    def begin(self) -> Position | None:
        """The state before any token; ``None`` when the language is empty."""
        return self.parser.begin()

    def accept(self, position: Position, token: int) -> Position | None:
        """The state after one more token, or ``None``: forbidden, or the match has ended."""
        return None if token in self.vocabulary.stop else self._after(position, token)

    def _after(self, position: Position, token: int) -> Position | None:
        edges: list[tuple[Position, int]] = []
        for *leading, last in self._routes[token]:
            reached: Position | None = position
            for symbol in leading:
                if reached is not None:
                    reached = self.parser.step(reached, symbol)
            if reached is not None:
                edges.append((reached, last))
        return self.parser.step(*edges[0]) if len(edges) == 1 else self.parser.join(edges)

    def allowed(self, position: Position) -> frozenset[int]:
        """Every token that may come next."""
        return frozenset(token for token in range(self.vocabulary.size) if self.is_allowed(position, token))

    def is_allowed(self, position: Position, token: int) -> bool:
        """Whether this token may come next. A stop token must leave the text complete."""
        if token not in self.vocabulary.stop:
            return self.accept(position, token) is not None
        ended = self._after(position, token)
        return position.accepting or (ended is not None and ended.accepting)

    def replay(self, tokens: Iterable[int]) -> Position | None:
        """The state after the tokens from the beginning."""
        position = self.begin()
        for token in tokens:
            if position is None:
                return None
            position = self.accept(position, token)
        return position

    def forced_bytes(self, position: Position, limit: int) -> bytes:
        """The longest common beginning, up to ``limit`` bytes, of all continuations written as bytes.

        Ends before a place where the match may end or where a whole token may stand.
        """
        forced = bytearray()
        while len(forced) < limit and not position.accepting:
            symbols = self.parser.next_symbols(position) - {BOUNDARY}
            if len(symbols) != 1 or min(symbols) >= TOKEN_BASE:
                break
            forced += bytes(symbols)
            following = self.parser.step(position, min(symbols))
            assert following is not None
            position = following
        return bytes(forced)

    def _routes_of(self, token: int, is_unit: bool) -> tuple[Route, ...]:
        """The symbol sequences that the token can be read as."""
        vocabulary = self.vocabulary
        routes: list[Route] = []
        if token not in vocabulary.special | vocabulary.stop and vocabulary.tokens[token]:
            routes.append((*vocabulary.tokens[token], *self._boundary))
        if is_unit and vocabulary.tokens[token]:
            routes.append((token_symbol(token), *self._boundary))
        return tuple(routes)


def _unit_tokens(productions: Productions) -> frozenset[int]:
    """The tokens that stand as units anywhere in the grammar."""
    return frozenset(
        symbol - TOKEN_BASE
        for options in productions.of.values()
        for production in options
        for part in production.right
        if not isinstance(part, int)
        for symbol in part
        if TOKEN_BASE <= symbol < BOUNDARY
    )
