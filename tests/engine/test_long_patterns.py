"""Strings with a pattern and a maximum length that is counted, not written out: in characters, however spelled."""

from __future__ import annotations

import json
import random
import re
from functools import cache

import numpy as np
import pytest

from engine_native import Compiler, Grammar, Matcher, Vocabulary
from tests.engine.vocabularies import accepts, compiler

_WORDS = r"^(?:\S+\s+){0,9}\S+$"
_CASES = [
    # pattern, minLength, maxLength: states times characters are many
    (_WORDS, 0, 150),
    (_WORDS, 5, 130),
    (r"^(ab|c[0-9]{3}|[x-zà-ü]{2,5}-){0,40}$", 0, 61),
    (r"^[a-z]+(\.[a-z]+){3,20}\n?\"?€*$", 0, 90),
]


@cache
def _tokens() -> list[bytes]:
    words = [b"ab", b"abc", b" a", b'a"', b"\\u", b"\\u00", b"\\n", b"xyz-", b"c123ab", b".a", b"    "]
    words += [text.encode() for text in ("é", "éa", "€€")]
    return [bytes((byte,)) for byte in range(256)] + words + [b"</s>"]


def _schema(pattern: str, least: int, most: int) -> Grammar:
    return compiler().compile_json_schema({"type": "string", "pattern": pattern, "minLength": least, "maxLength": most})


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern.removeprefix("^").removesuffix("$").replace(r"\S", r"[^\s]"), text) is not None


def _text(chance: random.Random, pattern: str) -> str:
    """A text of the pattern, of any length; sometimes with a character too many."""
    if pattern == _WORDS:
        words = [
            "".join(chance.choices('abxyz09.-"\\é€😀', k=chance.randrange(1, 40)))
            for _ in range(chance.randrange(1, 11))
        ]
        text = chance.choice([" ", "\n", " \t "]).join(words)
    elif pattern.startswith("^(ab"):
        text = "".join(chance.choices(["ab", "c123", "xyz-", "éà-", "yy-"], k=chance.randrange(0, 30)))
    else:
        text = (
            "a"
            + ".bc" * chance.randrange(3, 20)
            + chance.choice(["", "\n", '"', '\n"'])
            + "€" * chance.randrange(0, 50)
        )
    return text + ("€ " if chance.random() < 0.1 else "")


@pytest.mark.parametrize("case", _CASES)
def test_text_fits_exactly_if_it_matches_and_its_characters_are_few_enough(case: tuple[str, int, int]) -> None:
    pattern, least, most = case
    grammar, chance, outcomes = _schema(*case), random.Random(1), set()
    for _ in range(400):
        text = _text(chance, pattern)
        expected = _matches(pattern, text) and least <= len(text) <= most
        outcomes.add((expected, len(text) > most))
        for ascii_only in (True, False):
            assert accepts(Matcher(grammar), json.dumps(text, ensure_ascii=ascii_only)) == expected, text
    assert outcomes == {(True, False), (False, True), (False, False)}


_LONGEST = [
    # pattern, maxLength, a text of that length, one more character
    (_WORDS, 150, "é" * 150, "é"),
    (_WORDS, 250, "a 😀€" * 9 + "é" * 214, "\u00e9"),
    (r"^(ab|c[0-9]{3}|[x-zà-ü]{2,5}-){0,40}$", 62, "xyzzà-" * 10 + "ab", "ab"),
    (r"^[a-z]+(\.[a-z]+){3,20}\n?\"?€*$", 90, 'a.a.a.a\n"' + "€" * 81, "€"),
]


@pytest.mark.parametrize(("pattern", "most", "longest", "more"), _LONGEST)
def test_length_at_the_bound_counts_characters(pattern: str, most: int, longest: str, more: str) -> None:
    assert len(longest) == most
    grammar = _schema(pattern, 0, most)
    for ascii_only in (True, False):
        assert accepts(Matcher(grammar), json.dumps(longest, ensure_ascii=ascii_only))
        assert not accepts(Matcher(grammar), json.dumps(longest + more, ensure_ascii=ascii_only))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", _CASES)
def test_mask_is_what_is_accepted_and_every_way_ends_well(case: tuple[str, int, int], seed: int) -> None:
    pattern, least, most = case
    tokens = _tokens()
    size, stop = len(tokens), len(tokens) - 1
    vocabulary = Vocabulary(tokens, special_token_ids=(stop,), stop_token_ids=(stop,))
    schema = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
    matcher = Matcher(Compiler(vocabulary).compile_json_schema(schema))
    chance, text = random.Random(seed), b""
    row = np.zeros((size + 31) // 32, dtype=np.int32)
    for step in range(2000):
        matcher.fill_bitmask(row)
        allowed = [t for t in range(size) if row[t >> 5] >> (t & 31) & 1]
        assert allowed
        if step % 9 == 0 or len(text) > most - 8:
            taken = []
            for t in range(size):
                fork = matcher.fork()
                if fork.accept_token(t):
                    taken.append(t)
            assert allowed == taken, text
        longer = [t for t in allowed if t != stop and (b'"' not in tokens[t] or text.endswith(b"\\"))]
        token = chance.choice(longer or allowed)
        assert matcher.accept_token(token)
        if token == stop:
            break
        text += tokens[token]
    value = json.loads(text)
    assert least <= len(value) <= most
    assert len(value) > most - 12, "the walk went on as long as it could"
    assert _matches(pattern, value)


def test_length_of_a_million_beside_a_pattern_is_no_more_work_than_one_of_a_thousand() -> None:
    grammar = _schema(_WORDS, 0, 1_000_000)
    assert accepts(Matcher(grammar), json.dumps("a" * 5000))
