"""Two ways to reach the same state give the same mask: rollback, fork, batch, bytes, caches."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from engine_native import Compiler, EngineError, Grammar, Matcher, accept_token_batch, fill_bitmask_batch
from tests.property.cases import Case, Kind, draw, fill, over, random_walk, tokens_of

CASES = int(os.environ.get("STRICTSERVE_CASES", "250"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1")) + 1_000_000

MOST_ITEMS = 250
"""Of the first Earley set."""

KINDS = pytest.mark.parametrize("kind", ["ebnf", "tag"])


@cache
def _cases(kind: Kind) -> tuple[Case, ...]:
    """``CASES`` cases whose language is neither empty nor very ambiguous."""
    cases: list[Case] = []
    seed = FIRST_SEED
    while len(cases) < CASES:
        case = draw(kind, seed)
        begin = case.oracle().begin()
        if begin is not None and begin.size <= MOST_ITEMS:
            cases.append(case)
        seed += 1
    return tuple(cases)


def _compiled(kind: Kind) -> Iterator[tuple[Case, Compiler, Grammar, random.Random]]:
    """Each case with a cold compiler, its grammar and a generator of its own."""
    for case in _cases(kind):
        compiler = case.compiler()
        yield case, compiler, case.compile(compiler), random.Random(case.seed)


def _has_units(case: Case) -> bool:
    """Whether ordinary tokens stand for more than their bytes."""
    return case.kind == "tag" and ('"exclude_tokens"' in case.source() or '"type": "token' in case.source())


def _replayed(grammar: Grammar, tokens: list[int]) -> Matcher:
    matcher = Matcher(grammar)
    assert matcher.accept_tokens(tokens) == len(tokens)
    return matcher


@KINDS
def test_rollback_for_random_steps_equals_replay(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        tokens = random_walk(case, matcher, rng, 10)
        for _ in range(3):
            back = rng.randint(0, len(tokens))

            matcher.rollback(back)

            tokens = tokens[: len(tokens) - back]
            replayed = fill(_replayed(grammar, tokens), case.tokens.size)
            assert fill(matcher, case.tokens.size) == replayed, case.reproduction()
            tokens += random_walk(case, matcher, rng, 3)


@KINDS
def test_rollback_for_stop_token_undoes_the_end(kind: Kind) -> None:
    ended = 0
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        for _ in range(30):
            if matcher.can_terminate() or not random_walk(case, matcher, rng, 1):
                break
        if not (case.tokens.stop and matcher.can_terminate()):
            continue
        ended += 1
        before = fill(matcher, case.tokens.size)

        assert matcher.accept_token(min(case.tokens.stop))

        assert matcher.is_terminated()
        assert fill(matcher, case.tokens.size)[0] <= case.tokens.stop
        for token in sorted(set(range(case.tokens.size)) - case.tokens.stop):
            assert not matcher.accept_token(token), case.reproduction()
        matcher.rollback(1)
        assert not matcher.is_terminated()
        assert fill(matcher, case.tokens.size) == before, case.reproduction()
    assert ended > CASES // 10


@KINDS
def test_rollback_for_more_steps_than_taken_raises_and_changes_nothing(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        tokens = random_walk(case, matcher, rng, 4)
        before = fill(matcher, case.tokens.size)

        with pytest.raises((ValueError, EngineError)):
            matcher.rollback(len(tokens) + 1)

        assert fill(matcher, case.tokens.size) == before


@KINDS
def test_fork_for_random_state_lives_its_own_life(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        tokens = random_walk(case, matcher, rng, rng.randint(0, 6))

        fork = matcher.fork()

        ours, theirs = random_walk(case, matcher, rng, 4), random_walk(case, fork, rng, 4)
        size = case.tokens.size
        assert fill(matcher, size) == fill(_replayed(grammar, tokens + ours), size), case.reproduction()
        assert fill(fork, size) == fill(_replayed(grammar, tokens + theirs), size), case.reproduction()
        fork.rollback(len(tokens) + len(theirs))
        assert fill(fork, size) == fill(Matcher(grammar), size), case.reproduction()


@KINDS
def test_reset_after_random_steps_equals_a_matcher_that_never_moved(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        random_walk(case, matcher, rng, 6)

        matcher.reset()

        assert fill(matcher, case.tokens.size) == fill(Matcher(grammar), case.tokens.size), case.reproduction()


@KINDS
def test_batch_for_matchers_in_random_states_equals_one_by_one(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matchers = [Matcher(grammar) for _ in range(rng.randint(1, 5))]
        for matcher in matchers:
            random_walk(case, matcher, rng, rng.randint(0, 6))
        expected = [fill(matcher, case.tokens.size)[0] for matcher in matchers]
        rows = rng.sample(range(8), len(matchers))
        bitmask = np.full((8, (case.tokens.size + 31) // 32), -1, dtype=np.int32)

        fill_bitmask_batch(matchers, bitmask, rows, threads=rng.choice((None, 1, 2)))

        assert [tokens_of(bitmask[row]) for row in rows] == expected, case.reproduction()
        assert all((bitmask[row] == -1).all() for row in set(range(8)) - set(rows))
        fill_bitmask_batch(matchers, bitmask)
        assert [tokens_of(row) for row in bitmask[: len(matchers)]] == expected


@KINDS
def test_accept_token_batch_for_random_tokens_equals_one_by_one(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matchers = [Matcher(grammar) for _ in range(3)]
        for matcher in matchers:
            random_walk(case, matcher, rng, rng.randint(0, 4))
        others = [matcher.fork() for matcher in matchers]
        tokens = [rng.randrange(case.tokens.size) for _ in matchers]

        accepted = accept_token_batch(matchers, tokens)

        assert list(accepted) == [other.accept_token(token) for other, token in zip(others, tokens, strict=True)]
        assert [fill(each, case.tokens.size) for each in matchers] == [fill(each, case.tokens.size) for each in others]


@KINDS
def test_accept_bytes_for_the_bytes_of_tokens_equals_accept_token(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        if _has_units(case):
            continue
        by_token, by_bytes = Matcher(grammar), Matcher(grammar)
        for token in random_walk(case, Matcher(grammar), rng, 8):
            assert by_token.accept_token(token)
            if token in case.tokens.special:
                assert by_bytes.accept_token(token)
                continue
            text = case.tokens.tokens[token]
            whole = '"max_tokens"' in case.source()  # what is accepted at once counts as one token
            cut = len(text) if whole else rng.randint(0, len(text))
            assert by_bytes.accept_bytes(text[:cut]), case.reproduction()
            assert by_bytes.accept_bytes(text[cut:]), case.reproduction()
        assert fill(by_bytes, case.tokens.size) == fill(by_token, case.tokens.size), case.reproduction()


@KINDS
def test_accept_bytes_for_forbidden_text_changes_nothing(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        random_walk(case, matcher, rng, 4)
        before = fill(matcher, case.tokens.size)
        text = bytes(rng.choices(b"ab<\xff\xc3", k=rng.randint(1, 6)))

        if not matcher.fork().accept_bytes(text):
            assert not matcher.accept_bytes(text)
            assert fill(matcher, case.tokens.size) == before, case.reproduction()


@KINDS
def test_validate_tokens_for_random_tokens_counts_what_accept_would_take(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        random_walk(case, matcher, rng, 3)
        before = fill(matcher, case.tokens.size)
        tokens = random_walk(case, matcher.fork(), rng, rng.randint(0, 5))
        tokens += [rng.randrange(case.tokens.size) for _ in range(3)]
        count = 0
        fork = matcher.fork()
        while count < len(tokens) and fork.accept_token(tokens[count]):
            count += 1

        assert matcher.validate_tokens(tokens) == count, case.reproduction()
        assert fill(matcher, case.tokens.size) == before
        assert matcher.accept_tokens(tokens) == count, case.reproduction()
        assert fill(matcher, case.tokens.size) == fill(fork, case.tokens.size)


@KINDS
def test_masks_for_warm_cold_cleared_and_starved_caches_are_equal(kind: Kind) -> None:
    for case, compiler, grammar, rng in _compiled(kind):
        tokens = random_walk(case, Matcher(grammar), rng, 8)
        cold = _masks(case, grammar, tokens)

        assert _masks(case, grammar, tokens) == cold, case.reproduction()
        assert _masks(case, case.compile(compiler), tokens) == cold, case.reproduction()
        compiler.clear_cache()
        assert _masks(case, grammar, tokens) == cold, case.reproduction()
        assert _masks(case, case.compile(compiler), tokens) == cold, case.reproduction()
        assert _masks(case, case.compile(case.compiler(cache_bytes=1)), tokens) == cold, case.reproduction()


def _masks(case: Case, grammar: Grammar, tokens: list[int]) -> list[tuple[frozenset[int], bool]]:
    """The mask before each token and after the last."""
    matcher = Matcher(grammar)
    masks = [fill(matcher, case.tokens.size)]
    for token in tokens:
        assert matcher.accept_token(token)
        masks.append(fill(matcher, case.tokens.size))
    return masks


def test_masks_for_grammars_of_one_compiler_do_not_depend_on_what_it_compiled_before() -> None:
    """Cases of equal tokens share one compiler, whose caches hold the rules of all others."""
    base = draw("tag", FIRST_SEED)
    shared = base.compiler(cache_bytes=1 << 16)
    for drawn in _cases("tag")[: CASES // 4]:
        case = over(drawn, base.tokens)
        alone = case.compile(case.compiler())
        tokens = random_walk(case, Matcher(alone), random.Random(case.seed), 8)

        assert _masks(case, case.compile(shared), tokens) == _masks(case, alone, tokens), case.reproduction()


@KINDS
def test_draft_tree_for_random_tree_equals_sequential_steps(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        matcher = Matcher(grammar)
        random_walk(case, matcher, rng, 2)
        root = random_walk(case, matcher, rng, 1)
        parents, tokens = [-1], [root[0] if root else 0]
        for node in range(1, rng.randint(1, 8)):
            parents.append(rng.randrange(node))
            allowed = sorted(fill(matcher, case.tokens.size)[0])
            tokens.append(rng.choice(allowed) if allowed and rng.random() < 0.7 else rng.randrange(case.tokens.size))
        children = [[node for node in range(len(parents)) if parents[node] == parent] for parent in range(len(parents))]
        siblings = {left: right for each in children for left, right in pairwise(each)}
        bitmask = np.full((len(parents), (case.tokens.size + 31) // 32), -1, dtype=np.int32)
        before = fill(matcher, case.tokens.size)

        matcher.fill_draft_tree(
            tokens,
            [each[0] if each else -1 for each in children],
            [siblings.get(node, -1) for node in range(len(parents))],
            bitmask,
        )

        for node in range(len(parents)):
            assert tokens_of(bitmask[node]) == _sequential(case, matcher, parents, tokens, node), case.reproduction()
        assert fill(matcher, case.tokens.size) == before


def _sequential(case: Case, matcher: Matcher, parents: list[int], tokens: list[int], node: int) -> frozenset[int]:
    """The mask after the path from the root (already accepted) to ``node``; empty where it is refused."""
    path: list[int] = []
    while node != 0:
        path.insert(0, tokens[node])
        node = parents[node]
    fork = matcher.fork()
    if fork.accept_tokens(path) != len(path):
        return frozenset()
    return fill(fork, case.tokens.size)[0]


@KINDS
def test_forced_tokens_for_random_state_are_accepted_and_spell_the_forced_bytes(kind: Kind) -> None:
    for case, _, grammar, rng in _compiled(kind):
        if _has_units(case):
            continue
        matcher = Matcher(grammar)
        random_walk(case, matcher, rng, rng.randint(0, 4))
        forced, tokens = matcher.forced_bytes(), matcher.forced_tokens()

        assert matcher.validate_tokens(tokens) == len(tokens), case.reproduction()
        special = [at for at, token in enumerate(tokens) if token in case.tokens.special]
        text = b"".join(case.tokens.tokens[token] for token in tokens[: min(special, default=None)])
        assert forced.startswith(text), case.reproduction()
        assert matcher.accept_bytes(forced), case.reproduction()
