"""Captures of random tags are spans of a reading of the text, and of the right one."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from engine_native import Grammar, Matcher
from tests.oracle import structural_tag
from tests.oracle.captures import Named, Reading, Readings, TooManyError, least, named
from tests.oracle.generate import draw_vocabulary
from tests.oracle.generate_tags import Shapes, draw_captures, draw_node, draw_tag_alphabet
from tests.oracle.grammar import Grammar as OracleGrammar
from tests.property.cases import Case, fill, over, random_walk

CASES = int(os.environ.get("STRICTSERVE_CASES", "250"))
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1")) + 3_000_000
MOST_ITEMS = 250
MOST_TOKENS = 6


def _draw(seed: int) -> Case:
    rng = random.Random(f"captures {seed}")
    alphabet = draw_tag_alphabet(rng)
    node = draw_captures(rng, draw_node(rng, alphabet, Shapes(limits=False)))
    tokens = draw_vocabulary(rng, alphabet, structural_tag.to_grammar(node))
    return over(Case("tag", seed, node, tokens), tokens)


@cache
def _cases() -> tuple[Case, ...]:
    """``CASES`` cases with captures whose language is neither empty nor very ambiguous."""
    cases: list[Case] = []
    seed = FIRST_SEED
    while len(cases) < CASES:
        case = _draw(seed)
        begin = case.oracle().begin()
        if '"capture"' in case.source() and begin is not None and begin.size <= MOST_ITEMS:
            cases.append(case)
        seed += 1
    return tuple(cases)


def _compiled() -> Iterator[tuple[Case, Grammar, random.Random]]:
    for case in _cases():
        yield case, case.compile(case.compiler()), random.Random(case.seed)


def _node(case: Case) -> structural_tag.Node:
    assert not isinstance(case.described, OracleGrammar)
    return case.described


def _after(grammar: Grammar, tokens: list[int]) -> Named:
    matcher = Matcher(grammar)
    assert matcher.accept_tokens(tokens) == len(tokens)
    return matcher.captures()


def test_captures_after_every_token_are_a_reading_of_the_text() -> None:
    checked = 0
    for case, grammar, rng in _compiled():
        readings, matcher = Readings(_node(case), case.tokens), Matcher(grammar)
        tokens: list[int] = []
        while len(tokens) <= MOST_TOKENS:
            try:
                assert readings.allow(tokens, matcher.captures()), (tokens, matcher.captures(), case.reproduction())
            except TooManyError:
                break
            checked += 1
            step = random_walk(case, matcher, rng, 1)
            if not step:
                break
            tokens += step
    assert checked > 3 * CASES


def test_captures_of_a_complete_text_are_a_reading_of_the_whole() -> None:
    checked = 0
    for case, grammar, rng in _compiled():
        matcher = Matcher(grammar)
        tokens = random_walk(case, matcher, rng, rng.randint(0, MOST_TOKENS))
        ends = sorted(fill(matcher, case.tokens.size)[0] & case.tokens.stop) if matcher.can_terminate() else []
        if not ends:
            continue
        assert matcher.accept_token(rng.choice(ends))
        try:
            readings = Readings(_node(case), case.tokens)
            assert readings.allow(tokens, matcher.captures(), complete=True), (tokens, case.reproduction())
        except TooManyError:
            continue
        checked += 1
    assert checked > CASES // 10


def _key(reading: Reading) -> list[tuple[int, int | None]]:
    return [(begin, end) for _, begin, end in reading]


def test_captures_of_a_text_that_may_go_on_capture_least() -> None:
    """Where a whole text has several readings, which of them is the chart's business."""
    chosen = 0
    for case, grammar, rng in _compiled():
        oracle, matcher = Readings(_node(case), case.tokens), Matcher(grammar)
        tokens = random_walk(case, matcher, rng, rng.randint(0, MOST_TOKENS))
        try:
            readings = oracle.of(tokens)
            if len(readings) > 1 and oracle.is_ambiguous_after(tokens):
                continue
        except TooManyError:
            continue
        text, found = oracle.text(tokens), matcher.captures()
        expected = [_key(each) for each in readings if named(each, text) == found]
        assert _key(least(readings)) in expected, (tokens, found, case.reproduction())
        chosen += len(readings) > 1
    assert chosen > CASES // 20


def test_captures_do_not_depend_on_when_they_were_asked_for() -> None:
    for case, grammar, rng in _compiled():
        matcher = Matcher(grammar)
        tokens: list[int] = []
        for _ in range(4):
            if rng.random() < 0.4:
                matcher.captures()
            if rng.random() < 0.2:
                matcher.reset()
                tokens = []
            back = rng.randint(0, len(tokens))
            matcher.rollback(back)
            tokens = tokens[: len(tokens) - back] + random_walk(case, matcher, rng, 4)
            if rng.random() < 0.4:
                matcher = matcher.fork()

            assert matcher.fork().captures() == _after(grammar, tokens), case.reproduction()
            assert matcher.captures() == _after(grammar, tokens), case.reproduction()


def test_captures_of_a_fork_are_its_own() -> None:
    for case, grammar, rng in _compiled():
        matcher = Matcher(grammar)
        tokens = random_walk(case, matcher, rng, rng.randint(0, 5))
        matcher.captures()
        fork = matcher.fork()
        ours, theirs = random_walk(case, matcher, rng, 3), random_walk(case, fork, rng, 3)

        assert fork.captures() == _after(grammar, tokens + theirs), case.reproduction()
        assert matcher.captures() == _after(grammar, tokens + ours), case.reproduction()


def test_captures_for_bytes_equal_those_for_tokens() -> None:
    for case, grammar, rng in _compiled():
        if "token" in case.source():  # tokens as units have no bytes
            continue
        by_bytes = Matcher(grammar)
        tokens = random_walk(case, Matcher(grammar), rng, 6)
        for token in tokens:
            text = case.tokens.tokens[token]
            cut = rng.randint(0, len(text))
            if token in case.tokens.special:
                assert by_bytes.accept_token(token)
            else:
                assert by_bytes.accept_bytes(text[:cut])
                assert by_bytes.accept_bytes(text[cut:])

        assert by_bytes.captures() == _after(grammar, tokens), case.reproduction()


@pytest.mark.parametrize("shared", [False, True])
def test_masks_with_captures_equal_masks_without(shared: bool) -> None:
    """In one compiler, too: rules that differ in their captures only are not mistaken for each other."""
    for case, grammar, rng in _compiled():
        compiler = case.compiler()
        if shared:
            grammar = case.compile(compiler)
        plain = replace(case, described=_without_captures(_node(case))).compile(compiler)
        matcher, other = Matcher(grammar), Matcher(plain)
        for _ in range(6):
            assert fill(matcher, case.tokens.size) == fill(other, case.tokens.size), case.reproduction()
            assert matcher.can_terminate() == other.can_terminate()
            step = random_walk(case, matcher, rng, 1)
            assert other.accept_tokens(step) == len(step)
        assert other.captures() == []


def _without_captures(node: structural_tag.Node) -> structural_tag.Node:
    match node:
        case structural_tag.SequenceOf(elements) | structural_tag.OneOf(elements):
            node = replace(node, elements=tuple(_without_captures(each) for each in elements))
        case structural_tag.Copies(content):
            node = replace(node, content=_without_captures(content))
        case structural_tag.Tag():
            node = _plain_tag(node)
        case structural_tag.TriggeredTags(_, tags) | structural_tag.TokenTriggeredTags(_, tags):
            node = replace(node, tags=tuple(_plain_tag(tag) for tag in tags))
        case structural_tag.DispatchOf(rules):
            node = replace(node, rules=tuple((mark, _without_captures(each)) for mark, each in rules))
        case structural_tag.TokenDispatchOf(token_rules):
            node = replace(node, rules=tuple((mark, _without_captures(each)) for mark, each in token_rules))
    return replace(node, capture=None)


def _plain_tag(tag: structural_tag.Tag) -> structural_tag.Tag:
    return replace(tag, content=_without_captures(tag.content), capture=None)
