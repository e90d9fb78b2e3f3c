"""Automaton operations of grammars against their definitions, on all short texts.

``&``, ``~``, lazy, suffix, max_chars and Substring say which texts they allow in
terms of simpler sets of texts. Here the sets come from Python: ``re`` for what a
pattern matches, and comprehensions for the rest.
"""

from __future__ import annotations

import itertools
import random
import re

import pytest

from engine_native import Compiler, EngineError, Matcher, Vocabulary
from tests.engine.vocabularies import accepts

_LETTERS = "ab;"
_LONGEST = 5
_TEXTS = ["".join(each) for n in range(_LONGEST + 1) for each in itertools.product(_LETTERS, repeat=n)]
_SEEDS = range(150)


def _compiler() -> Compiler:
    return Compiler(Vocabulary([letter.encode() for letter in _LETTERS]))


def _pattern(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(["a", "b", ";", "ab", "[ab]", "[^a]", "a*", "b+", "(?:a|;)?", "[ab;]*"])
    kind = rng.randrange(3)
    first, second = _pattern(rng, depth - 1), _pattern(rng, depth - 1)
    return (
        f"{first}{second}",
        f"(?:{first}|{second})",
        f"(?:{first}){rng.choice(['*', '+', '?', '{2}', '{1,3}', '{0,40}'])}",
    )[kind]


def _matches(pattern: str) -> set[str]:
    return {text for text in _TEXTS if re.fullmatch(pattern, text)}


def _allowed(text: str, compiler: Compiler) -> set[str]:
    try:
        grammar = compiler.compile_lark(text)
    except EngineError as error:
        if "nothing can match" not in error.message:
            raise
        return set()
    return {each for each in _TEXTS if accepts(Matcher(grammar), each)}


def _shortest(texts: set[str]) -> set[str]:
    return {text for text in texts if not any(text[:n] in texts for n in range(len(text)))}


@pytest.mark.parametrize("seed", _SEEDS)
def test_intersection_and_complement(seed: int) -> None:
    rng = random.Random(f"both {seed}")
    a, b, c = _pattern(rng), _pattern(rng), _pattern(rng)
    compiler = _compiler()

    assert _allowed(f"start: T\nT: /{a}/ & /{b}/ | /{c}/", compiler) == _matches(a) & _matches(b) | _matches(c)
    assert _allowed(f"start: T\nT: /{a}/ & ~/{b}/", compiler) == _matches(a) - _matches(b)


@pytest.mark.parametrize("seed", _SEEDS)
def test_lazy_and_suffix(seed: int) -> None:
    rng = random.Random(f"lazy {seed}")
    a, suffix = _pattern(rng), rng.choice([";", "a;", "ab", ";;"])
    compiler = _compiler()

    assert _allowed(f"start[lazy]: /{a}/", compiler) == _shortest(_matches(a))
    ended = _shortest(_matches(f"(?:{a})(?:{suffix})"))
    assert _allowed(f'start: r\nr[suffix="{suffix}"]: /{a}/', compiler) == ended
    assert _allowed(f'start: r\nr[capture, suffix="{suffix}", stop_capture="s"]: /{a}/', compiler) == ended


@pytest.mark.parametrize("seed", _SEEDS)
def test_max_chars(seed: int) -> None:
    rng = random.Random(f"chars {seed}")
    a, most = _pattern(rng), rng.randint(1, 4)

    expected = {text for text in _matches(a) if len(text) <= most}
    assert _allowed(f"start[max_chars={most}]: /{a}/", _compiler()) == expected


@pytest.mark.parametrize("seed", _SEEDS)
def test_substring(seed: int) -> None:
    rng = random.Random(f"substring {seed}")
    chunks = ["".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 1, 1, 2)))) for _ in range(rng.randint(0, 7))]
    listed = ", ".join(f'"{chunk}"' for chunk in chunks)
    grammar = _compiler().compile_ebnf(f"root ::= Substring({listed})")

    runs = {"".join(chunks[i:k]) for i in range(len(chunks) + 1) for k in range(i, len(chunks) + 1)}
    assert {each for each in _TEXTS if accepts(Matcher(grammar), each)} == {run for run in runs if len(run) <= _LONGEST}


@pytest.mark.parametrize("seed", range(60))
def test_text_with_tools_takes_the_first_trigger(seed: int) -> None:
    rng = random.Random(f"tools {seed}")
    triggers = {name: "".join(rng.choices(_LETTERS, k=rng.randint(1, 2))) for name in ("f", "g")[: rng.randint(1, 2)]}
    bodies = {name: rng.choice(_LETTERS) for name in triggers}
    tools = "".join(f'{n}_head[lazy]: TEXT "{t}"\n{n}: {n}_head "{bodies[n]}"\n' for n, t in triggers.items())
    text = f"start: ({' | '.join(triggers)})* tail\ntail: TEXT\nTEXT: /(.|\\n)*/\n{tools}"

    def allowed(rest: str) -> bool:
        ends = [rest.find(t) + len(t) for t in triggers.values() if t in rest]
        if not ends:
            return True
        end = min(ends)
        return any(
            rest[:end].endswith(t) and rest[end : end + 1] == bodies[name] and allowed(rest[end + 1 :])
            for name, t in triggers.items()
        )

    assert _allowed(text, _compiler()) == {each for each in _TEXTS if allowed(each)}


@pytest.mark.parametrize("seed", _SEEDS)
def test_lazy_repeat_takes_no_more_than_it_must(seed: int) -> None:
    rng = random.Random(f"lazy repeat {seed}")
    before, repeated, after = (
        _pattern(rng, 1).replace("{0,40}", "{0,4}") for _ in range(3)
    )  # counts beside counts: limits
    low, high, mark = rng.choice([(0, None, "*?"), (1, None, "+?"), (0, 1, "??"), (1, 3, "{1,3}?")])
    runs = _matches(f"(?:{repeated}){{{low},{'' if high is None else high}}}")
    afters = _matches(after)

    def ends_there(text: str, n: int) -> bool:
        return text[:n] in runs and any(text[n:end] in afters for end in range(n, len(text) + 1))

    def shortest(text: str) -> bool:
        splits = [n for n in range(len(text) + 1) if ends_there(text, n)]
        return bool(splits) and text[splits[0] :] in afters

    befores = _matches(before)
    expected = {
        text for text in _TEXTS if any(text[:n] in befores and shortest(text[n:]) for n in range(len(text) + 1))
    }
    compiler = _compiler()
    assert _allowed(f"start: T\nT: /(?:{before})(?:{repeated}){mark}(?:{after})/", compiler) == expected
    assert _allowed(f"start: T\nT: /{before}/ R /{after}/\nR: /(?:{repeated}){mark}/", compiler) == expected
