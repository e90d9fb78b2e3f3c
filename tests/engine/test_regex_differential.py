"""Random patterns and texts: compile_regex accepts what the ``regex`` package fully matches.

Where the two dialects differ on purpose (docs/REGEX.md) the pattern that the package sees says what ours means:
``$`` is the very end; line ends and ``\\s`` are those of ECMA-262, ``\\w``, ``\\d`` and ``\\b`` know ASCII only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
import regex

from engine_native import GrammarSyntaxError, Matcher
from tests.engine.vocabularies import accepts, compiler

_LINE_ENDS = r"\n\r\u2028\u2029"
_SPACES = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_WORD = "0-9A-Za-z_"
_LETTERS = "abcABk1 _-\n\ré\u2028\u017f\u212a😀"


@dataclass(frozen=True)
class _Pattern:
    ours: str
    theirs: str


def _same(text: str) -> _Pattern:
    return _Pattern(text, text)


def _boundary(word: str) -> str:
    return f"(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))"


_ATOMS = (
    *map(_same, ["a", "b", "c", "k", "é", "1", "_", "😀", r"\n"]),
    *map(_same, ["[ab]", "[^a]", "[a-c1-]", r"\p{Lu}", r"\P{L}", r"[^\p{L}1]"]),
    _Pattern(r"\w", f"[{_WORD}]"),
    _Pattern(r"\W", f"[^{_WORD}]"),
    _Pattern(r"[^\w-]", f"[^{_WORD}-]"),
    _Pattern(r"\d", "[0-9]"),
    _Pattern(r"[\D]", "[^0-9]"),
    _Pattern(r"(?u:\w)", r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"),
    _Pattern(".", f"[^{_LINE_ENDS}]"),
    _Pattern(r"\s", f"[{_SPACES}]"),
    _Pattern(r"\S", f"[^{_SPACES}]"),
    *map(_same, [r"\x6b", r"\u00e9", r"[\101\x62]", r"\p{Greek}", r"\P{Script=Latin}", r"\p{Nd}", r"\-", r"\t"]),
    _Pattern("[[:alpha:]]", "[A-Za-z]"),
    _Pattern("[^[:alpha:]]", "(?:(?![A-Za-z])(?s:.))"),  # the package joins [^...] with what stands beside it
    _Pattern(r"\u{1F600}", "😀"),
    _Pattern(r"\x{e9}", "é"),
    _Pattern(r"\pL", r"\p{L}"),
    _Pattern(r"\p{^L}", r"\P{L}"),
    _Pattern(r"[^\P{L}a]", r"(?:(?!a)\p{L})"),
    _Pattern(r"(?u:\d)", r"\p{Nd}"),
    _Pattern(r"(?u:\s)", r"\p{White_Space}"),
    _Pattern("[^]", "(?s:.)"),
    _Pattern("(?s:.)", "(?s:.)"),
    _Pattern("(?R:.)", f"[^{_LINE_ENDS}]"),
    _Pattern("(?x: a # b\n )", "a"),
    _Pattern("(?x:[ a] \\  b?)", "[ a] b?"),
    _Pattern("a(?# a comment )", "a"),
    _Pattern(r"(?-i:K)", "(?-i:K)"),
)
_POINTS = (
    _Pattern("^", r"\A"),
    _Pattern("$", r"\Z"),
    *map(_same, [r"\A", r"\Z"]),
    _Pattern(r"\b", _boundary(_WORD)),
    _Pattern(r"\B", f"(?!{_boundary(_WORD)})"),
    _Pattern(r"(?u:\b)", _boundary(r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}")),
    _Pattern("(?m:^)", rf"(?:\A|(?<=[{_LINE_ENDS}]))"),
    _Pattern("(?m:$)", rf"(?=[{_LINE_ENDS}]|\Z)"),
    _Pattern(r"\z", r"\Z"),
    _Pattern(r"\b{start}", f"(?<![{_WORD}])(?=[{_WORD}])"),
    _Pattern(r"\b{end}", f"(?<=[{_WORD}])(?![{_WORD}])"),
    _Pattern(r"\b{start-half}", f"(?<![{_WORD}])"),
    _Pattern(r"\b{end-half}", f"(?![{_WORD}])"),
)
_GROUPS = ("(", "(?:", "(?<{0}>", "(?P<{0}>", "(?'{0}'", "(?x-x:", "(?U:")
_FOLDING = ("(?i:", "(?:(?i)", "(?i-x:", "(?iU:", "((?x)(?i)(?-x)")
_REPEATS = ("*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?", "??", "{1,2}?")


def _wrap(before: str, inner: _Pattern, after: str) -> _Pattern:
    return _Pattern(before + inner.ours + after, before + inner.theirs + after)


def _join(first: _Pattern, between: str, second: _Pattern) -> _Pattern:
    return _Pattern(first.ours + between + second.ours, first.theirs + between + second.theirs)


def _random_pattern(random_: random.Random, depth: int, *, behind: bool = False) -> _Pattern:
    kind = random_.random()
    if depth <= 0 or kind < 0.3:
        return random_.choice(_ATOMS)
    if kind < 0.42:
        return random_.choice(_POINTS)
    inner = _random_pattern(random_, depth - 1, behind=behind or kind >= 0.9)
    if kind < 0.56:
        return _join(inner, "", _random_pattern(random_, depth - 1, behind=behind))
    if kind < 0.66:
        return _wrap("(?:", _join(inner, "|", _random_pattern(random_, depth - 1, behind=behind)), ")")
    if kind < 0.7:
        return _wrap("(", inner, "|)")
    if kind < 0.8:
        return _wrap("(?:", inner, ")" + random_.choice(_REPEATS))
    if kind < 0.82:
        return _Pattern(random_.choice(_FOLDING) + inner.ours + ")", f"(?i:{inner.theirs})")
    if kind < 0.84:
        group = random_.choice(_GROUPS).format(f"n{random_.randrange(1 << 60)}")
        return _Pattern(group + inner.ours + ")", f"(?:{inner.theirs})")
    if kind < 0.9 and not behind:
        return _wrap("(?" + random_.choice("=!"), inner, ")")
    return _wrap("(?<" + random_.choice("=!"), inner, ")")


def _random_text(random_: random.Random) -> str:
    letters = _LETTERS if random_.random() < 0.5 else "abc"
    return "".join(random_.choice(letters) for _ in range(random_.randint(0, 6)))


@pytest.mark.parametrize("seed", range(20))
def test_random_pattern_accepts_what_the_regex_package_matches(seed: int) -> None:
    random_ = random.Random(seed)
    matched = 0
    for _ in range(100):
        pattern = _random_pattern(random_, random_.randint(1, 6))
        reference = regex.compile(pattern.theirs)
        texts = ["", *(_random_text(random_) for _ in range(15))]
        expected = [reference.fullmatch(text) is not None for text in texts]
        matched += sum(expected)
        assert _fully_matched(pattern.ours, texts) == expected, pattern
    assert matched > 100  # neither side rejects everything


def _fully_matched(pattern: str, texts: list[str]) -> list[bool]:
    try:
        grammar = compiler().compile_regex(pattern)
    except GrammarSyntaxError as error:
        if "nothing can match" not in str(error):
            raise
        return [False] * len(texts)
    return [accepts(Matcher(grammar), text) for text in texts]


_GROUPED = ("a", "b", "ab", "a|b", "a|ab|", "[ab]", "[a-c]b?", "a{0,2}", "(?:b|ca){1,2}", "é|😀", "")


def _referring(random_: random.Random, depth: int, taken: list[int], counter: list[int]) -> str:
    """A pattern whose references are to groups that surely matched before: ``taken`` are these, ``counter[0]`` all."""
    parts = []
    for _ in range(random_.randint(1, 4)):
        kind = random_.random()
        if kind < 0.3 and depth > 0:
            counter[0] += 1
            index = counter[0]
            inner = random_.choice(_GROUPED) if random_.random() < 0.7 else _referring(random_, 0, list(taken), counter)
            parts.append(f"(?<g{index}>{inner})")
            taken.append(index)
        elif kind < 0.6 and taken:
            index = random_.choice(taken)
            spelled = random_.choice([f"(?:\\{index})", f"\\k<g{index}>", f"(?P=g{index})"])
            parts.append(spelled if random_.random() < 0.8 else f"(?i:{spelled})")
        elif kind < 0.8 and depth > 0:
            before, after = random_.choice(
                [("(?:", ")*"), ("(?=", ")"), ("(?!", ")"), ("(?:", "|c)"), ("(?:", "){2}"), ("(?i:", ")")]
            )
            parts.append(before + _referring(random_, depth - 1, list(taken), counter) + after)
        else:
            parts.append(
                random_.choice(["a", "b", "[ab]", ","] if depth == 0 else ["a", "b", ".", "[ab]", ",", ".*", "$", ""])
            )
    return "".join(parts)


@pytest.mark.parametrize("seed", range(10))
def test_random_back_references_match_what_the_regex_package_matches(seed: int) -> None:
    random_ = random.Random(seed)
    matched = referred = 0
    for _ in range(150):
        pattern = _referring(random_, 2, [], [0])
        referred += "g" in pattern.replace("(?<g", "")
        texts = [
            "",
            *(_random_text(random_) for _ in range(15)),
            *("".join(random_.choice("ab,A") for _ in range(8)) for _ in range(10)),
        ]
        texts += [text * 2 for text in texts[:8]]
        reference = regex.compile(pattern.replace(r"\k<", r"\g<").replace("$", r"\Z").replace(".", f"[^{_LINE_ENDS}]"))
        expected = [reference.fullmatch(text) is not None for text in texts]
        matched += sum(expected)
        assert _fully_matched(pattern, texts) == expected, pattern
    assert matched > 100
    assert referred > 20
