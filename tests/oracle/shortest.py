"""The true least number of tokens after which a text is complete: breadth first over positions."""

from __future__ import annotations

from tests.oracle.mask import MaskOracle
from tests.oracle.parser import Position

_LARGE_SET = 100
"""Items of an Earley set at which the search gives up."""


def least_tokens(oracle: MaskOracle, begin: Position, most: int) -> int | None:
    """How many tokens before a stop token may come, or the text is complete without one.

    -1 if no tokens lead there; ``None`` when more than ``most`` positions would have to be looked at.
    """
    level, seen, count = [begin], {id(begin): begin}, 0
    while level:
        if any(_may_end(oracle, position) for position in level):
            return count
        following: list[Position] = []
        for position in level:
            for token in range(oracle.vocabulary.size):
                reached = oracle.accept(position, token)
                if reached is None or id(reached) in seen:
                    continue
                if len(seen) == most or reached.size > _LARGE_SET:
                    return None
                seen[id(reached)] = reached
                following.append(reached)
        level, count = following, count + 1
    return -1


def _may_end(oracle: MaskOracle, position: Position) -> bool:
    return position.accepting or any(oracle.is_allowed(position, token) for token in oracle.vocabulary.stop)
