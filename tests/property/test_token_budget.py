"""Whatever is sampled under a token budget ends complete, and the budget refuses no more than it must.

Cases are the random grammars of the other properties over vocabularies with all
single bytes, so that every text can be completed within some budget.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import cache

import pytest

from engine_native import Compiler, Grammar, Matcher
from tests.oracle.shortest import least_tokens
from tests.property.cases import Case, Kind, draw, fill, random_walk, with_single_bytes

CASES = int(os.environ.get("STRICTSERVE_CASES", "250")) // 2
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1")) + 2_000_000

MOST_ITEMS = 100
"""Of the first Earley set."""
MOST_POSITIONS = 2000
LONGEST = 40
"""Tokens of one text."""

KINDS = pytest.mark.parametrize("kind", ["ebnf", "tag"])


@cache
def _cases(kind: Kind) -> tuple[Case, ...]:
    cases: list[Case] = []
    seed = FIRST_SEED
    while len(cases) < CASES:
        case = with_single_bytes(draw(kind, seed))
        begin = case.oracle().begin()
        if begin is not None and begin.size <= MOST_ITEMS:
            cases.append(case)
        seed += 1
    return tuple(cases)


def _budgets(grammar: Grammar) -> list[int]:
    """From the least to a comfortable one; none where a special token is needed that no token can stand for."""
    least = Matcher(grammar).least_tokens()
    return [] if least is None else [least, least + 1, least + 2, 2 * least + 3]


@KINDS
def test_random_tokens_under_any_budget_end_complete_and_each_mask_is_acceptance(kind: Kind) -> None:
    restricted = ended = 0
    for case in _cases(kind):
        grammar = case.compile(case.compiler())
        for budget in _budgets(grammar):
            rng = random.Random(f"{case.seed} {budget}")
            matcher, free = Matcher(grammar), Matcher(grammar)
            matcher.set_token_budget(budget)
            for used in range(LONGEST):
                where = f"{case.reproduction()}  # budget {budget}, {used} used"
                allowed, _ = fill(matcher, case.tokens.size)
                accepted = {t for t in range(case.tokens.size) if matcher.validate_tokens([t]) == 1}
                assert allowed == accepted, where
                unrestricted, _ = fill(free, case.tokens.size)
                assert allowed <= unrestricted, where
                restricted += allowed != unrestricted
                content = sorted(allowed - case.tokens.stop)
                if not content:
                    ended += 1
                    assert matcher.can_terminate() or allowed, where
                    break
                assert used < budget, where
                token = rng.choice(content)
                assert matcher.accept_token(token), where
                assert free.accept_token(token), where
                if rng.random() < 0.1:
                    matcher = matcher.fork()
    assert restricted > 2 * CASES
    assert ended > 2 * CASES


@KINDS
def test_least_tokens_is_never_below_the_true_minimum_and_rarely_above(kind: Kind) -> None:
    excess: Counter[int] = Counter()
    for case in _cases(kind):
        oracle = case.oracle()
        begin = oracle.begin()
        assert begin is not None
        least = Matcher(case.compile(case.compiler())).least_tokens()
        true = least_tokens(oracle, begin, MOST_POSITIONS)
        if true is None:
            continue
        assert (least is None) == (true == -1), case.reproduction()
        if least is not None:
            assert least >= true, case.reproduction()
            excess[least - true] += 1

    assert excess.total() > CASES / 2
    assert excess[0] >= 0.97 * excess.total(), excess


@KINDS
def test_far_budget_refuses_only_what_can_never_be_completed(kind: Kind) -> None:
    """Such tokens exist where the grammar has a stop token in its middle."""
    equal = 0
    for case in _cases(kind):
        grammar = case.compile(case.compiler())
        matcher, free = Matcher(grammar), Matcher(grammar)
        if matcher.least_tokens() is None:
            continue
        matcher.set_token_budget(10**6)
        for token in random_walk(case, matcher.fork(), random.Random(case.seed), 8):
            assert matcher.accept_token(token)
            assert free.accept_token(token)
            allowed, unrestricted = fill(matcher, case.tokens.size)[0], fill(free, case.tokens.size)[0]
            equal += allowed == unrestricted
            assert allowed <= unrestricted, case.reproduction()
            for refused in unrestricted - allowed:
                after = free.fork()
                assert after.accept_token(refused)
                assert after.least_tokens() is None, case.reproduction()
    assert equal > CASES


@KINDS
def test_masks_under_a_budget_do_not_depend_on_what_is_cached(kind: Kind) -> None:
    for case in _cases(kind):
        warm = case.compile(case.compiler())
        for budget in _budgets(warm)[::3]:
            path = _path(case, warm, budget)
            expected = _masks(case, warm, budget, path)

            assert _masks(case, case.compile(case.compiler()), budget, path) == expected, case.reproduction()
            small: Compiler = case.compiler(cache_bytes=1)
            assert _masks(case, case.compile(small), budget, path) == expected, case.reproduction()


def _path(case: Case, grammar: Grammar, budget: int) -> list[int]:
    matcher = Matcher(grammar)
    matcher.set_token_budget(budget)
    return random_walk(case, matcher, random.Random(case.seed), 12)


def _masks(case: Case, grammar: Grammar, budget: int, path: list[int]) -> list[frozenset[int]]:
    """The masks along the path, then backwards again."""
    matcher = Matcher(grammar)
    matcher.set_token_budget(budget)
    masks = [fill(matcher, case.tokens.size)[0]]
    for token in path:
        assert matcher.accept_token(token)
        masks.append(fill(matcher, case.tokens.size)[0])
    for mask in masks[-2::-1]:
        matcher.rollback(1)
        assert fill(matcher, case.tokens.size)[0] == mask
    return masks
