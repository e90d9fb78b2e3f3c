"""The mask is the oracle's, token by token, for thousands of random states.

A triple is (grammar, vocabulary, prefix). ``STRICTSERVE_TRIPLES`` sets how many
are checked of each kind (default 5,000) and ``STRICTSERVE_SEED`` where the
seeds begin. A difference is shrunk and reported as a program to paste.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest

from engine_native import EngineError, Matcher
from tests.oracle.mask import MaskOracle
from tests.oracle.parser import Position
from tests.property.cases import Case, Kind, draw, fill
from tests.property.shrink import shrink

TRIPLES = int(os.environ.get("STRICTSERVE_TRIPLES", "5000"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1"))
LONGEST_PREFIX = 24
MOST_ITEMS = 250
"""An Earley set with more items is left alone: the oracle would take too long."""


@dataclass(frozen=True)
class Checked:
    """How many prefixes agreed; ``difference`` describes the first one that did not."""

    triples: int
    difference: str | None


def check(case: Case, longest: int = LONGEST_PREFIX) -> Checked:
    """Walk one random path and compare everything at each prefix."""
    rng = random.Random(case.seed)
    oracle = case.oracle()
    position = oracle.begin()
    try:
        grammar = case.compile(case.compiler())
    except EngineError as error:
        return Checked(0, None if position is None else f"engine refuses: {error}")
    if position is None:
        return Checked(0, "engine compiles a grammar that derives nothing")
    matcher = Matcher(grammar)
    prefix: list[int] = []
    while position.size <= MOST_ITEMS:
        found = _difference(case, oracle, position, matcher, rng)
        if found is not None:
            return Checked(len(prefix), f"after tokens {prefix}: {found}")
        following = sorted(oracle.allowed(position) - case.tokens.stop)
        if not following or len(prefix) == longest:
            return Checked(len(prefix) + 1, None)
        token = rng.choice(following)
        if not matcher.accept_token(token):
            return Checked(len(prefix), f"after tokens {prefix}: accept_token({token}) is False")
        reached = oracle.accept(position, token)
        assert reached is not None
        prefix.append(token)
        position = reached
    return Checked(len(prefix), None)


def _difference(case: Case, oracle: MaskOracle, position: Position, matcher: Matcher, rng: random.Random) -> str | None:
    size = case.tokens.size
    expected = oracle.allowed(position)
    actual, restricted = fill(matcher, size)
    if actual != expected:
        return f"mask {sorted(actual)}, oracle {sorted(expected)}"
    if restricted != (len(expected) < size):
        return f"fill_bitmask returned {restricted} with {len(expected)} of {size} tokens allowed"
    if matcher.can_terminate() != position.accepting:
        return f"can_terminate() is {matcher.can_terminate()}"
    for token in range(-1, size + 1):
        if matcher.validate_tokens([token]) != (token in expected):
            return f"validate_tokens([{token}]) is {matcher.validate_tokens([token])}"
    token = rng.randrange(size)
    if matcher.fork().accept_token(token) != (token in expected):
        return f"accept_token({token}) on a fork is {token not in expected}"
    return _forced_difference(oracle, position, matcher)


def _forced_difference(oracle: MaskOracle, position: Position, matcher: Matcher) -> str | None:
    forced = matcher.forced_bytes()
    certain = oracle.forced_bytes(position, max(len(forced), 4))
    if not certain.startswith(forced):
        return f"forced_bytes() is {forced!r}, only {certain!r} must come"
    if certain[:1].isascii() and certain and not forced:
        return f"forced_bytes() is empty, {certain!r} must come"
    return None


@pytest.mark.parametrize("kind", ["ebnf", "lark", "tag"])
def test_mask_equals_oracle_for_random_grammar_vocabulary_and_prefix(kind: Kind) -> None:
    triples, seed = 0, FIRST_SEED
    while triples < TRIPLES:
        case = draw(kind, seed)
        checked = check(case)
        if checked.difference is not None:
            pytest.fail(_report(case, checked.difference))
        triples += checked.triples
        seed += 1


def _report(case: Case, difference: str) -> str:
    """The difference, and a smaller case that shows one as well."""
    told = f"kind={case.kind} seed={case.seed}: {difference}"
    if difference.startswith("engine"):
        return f"{told}\n{case.reproduction()}"
    smaller = shrink(case, _differs)
    return f"{told}\nsmaller:\n{smaller.reproduction()}\n# {check(smaller).difference}\n# {smaller.described}"


def _differs(case: Case) -> bool:
    """Whether the case is still well formed and shows a difference in its answers."""
    try:
        difference = check(case).difference
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return difference is not None and not difference.startswith("engine")
