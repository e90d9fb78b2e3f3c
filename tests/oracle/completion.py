"""A witness for "this text can be continued": one continuation, built from the Earley sets.

The parser claims that every position can be completed. Here is the completion:
walk from an item to the items that wait for its rule, up to the whole text, and
write the shortest string for every part that is still to come.
"""

from __future__ import annotations

from collections import deque

from tests.oracle.parser import WHOLE, Item, Position
from tests.oracle.productions import Productions

Symbols = tuple[int, ...]


def shortest_strings(productions: Productions) -> dict[int, Symbols]:
    """A string of least length for every non-terminal."""
    best: dict[int, Symbols] = {}
    changed = True
    while changed:
        changed = False
        for left, options in productions.of.items():
            for production in options:
                if all(part in best for part in production.right if isinstance(part, int)):
                    string = _string(production.right, best)
                    if left not in best or len(string) < len(best[left]):
                        best[left] = string
                        changed = True
    return best


def completion(position: Position, best: dict[int, Symbols]) -> Symbols:
    """Symbols after which the text of ``position`` is complete."""
    if position.accepting:
        return ()
    starts = [(item, (min(terminal), *_rest(item, best))) for terminal, item in position.for_symbol]
    todo: deque[tuple[Item, Symbols]] = deque(starts)
    seen = {item for item, _ in starts}
    while todo:
        item, symbols = todo.popleft()
        production, _, origin = item
        if production.left == WHOLE:
            return symbols
        for waiting in origin.for_non_terminal[production.left]:
            if waiting not in seen:
                seen.add(waiting)
                todo.append((waiting, symbols + _rest(waiting, best)))
    raise AssertionError("no item leads to the whole text")


def _rest(item: Item, best: dict[int, Symbols]) -> Symbols:
    production, dot, _ = item
    return _string(production.right[dot:], best)


def _string(right: tuple[int | frozenset[int], ...], best: dict[int, Symbols]) -> Symbols:
    string: list[int] = []
    for part in right:
        string.extend(best[part] if isinstance(part, int) else (min(part),))
    return tuple(string)
