"""Patterns of grammars that look at what follows them."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from engine_native import Compiler, Grammar, Limits, Matcher, UnsupportedSchemaError, Vocabulary
from engine_native.errors import GrammarSyntaxError, LimitError
from tests.engine.vocabularies import STOP, accepts, byte_vocabulary, compiler


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("start: OP X*\nOP: /[+*]|[?](?![a-z])/\nX: /[a-zA-Z]/", ("+", "?", "?A", "+a", "?Aa"), ("?a", "?aA")),
        ("start: A B\nA: /a(?=b)/\nB: /b|c/", ("ab",), ("ac", "a")),
        ("start: A B*\nA: /a(?=bb)/\nB: /b|c/", ("abb", "abbc"), ("ab", "abc", "a")),
        ("start: A+\nA: /a(?=.b)|b/", ("bb", "abb"), ("ab", "aab")),
        ('start: (W " "*)+\nW: /[a-z]+\\b/', ("ab", "ab cd"), ("", "ab-")),
        ('start: KW ID\nKW: /if\\b/\nID: /[a-z]+/\n%ignore " "', ("if x", "if  x"), ("ifx", "if")),
        ('start: "a" /b(?! )/ "c"\n%ignore " "', ("abc", "a bc"), ("ab c",)),
        ("start: A{2,500}\nA: /a(?!b)|b/", ("aa", "ba", "bba", "a" * 500), ("ab", "aab", "b", "a" * 501)),
        ('start: s\ns: "(" s ")" | OP s | "b"\nOP: /a(?!b)/', ("b", "a(b)", "aa(b)", "(a(b))"), ("ab", "aab")),
        ("start: A /./\nA: /a(?![éü])/", ("aè", "ab", "aö", "a€"), ("aé", "aü")),
        ("start: A X?\nA: /a(?!b)(?=.)/s\nX: /./s", ("ac", "a\n"), ("a", "ab")),
        ("start: T X\nT: A B?\nA: /a(?=b)/\nB: /b/\nX: /[bc]*/", ("ab", "abbc"), ("a", "ac")),
        ('start: A %json {"type": "boolean"}\nA: /a(?!t)/', ("afalse",), ("atrue",)),
        (
            'start: A %json {"type": "array", "items": {"type": "string"}}\nA: /a(?!\\["t)/',
            ('a["x"]', "a[]"),
            ('a["t"]',),
        ),
        ("start: A\nA: /a(?!b)/", ("a",), ("ab",)),
        ("start: A | /c/\nA: /a(?=b)/", ("c",), ("a", "ab")),
    ],
)
def test_what_follows_decides(text: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    grammar = compiler().compile_lark(text)

    assert [each for each in accepted if not accepts(Matcher(grammar), each)] == []
    assert [each for each in refused if accepts(Matcher(grammar), each)] == []


def test_ebnf_patterns_look_ahead_too() -> None:
    grammar = compiler().compile_ebnf('root ::= Regex("a(?!b)") [a-z]*')

    assert accepts(Matcher(grammar), "acb")
    assert not Matcher(grammar).accept_bytes(b"ab")


def test_what_comes_after_a_grammar_in_a_structural_tag_counts() -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "sequence",
            "elements": [
                {"type": "grammar", "grammar": 'root ::= "x" Regex("a(?!b)")'},
                {"type": "or", "elements": [{"type": "const_string", "value": v} for v in ("b", "c")]},
            ],
        },
    }
    grammar = compiler().compile_structural_tag(tag)

    assert accepts(Matcher(grammar), "xac")
    assert not Matcher(grammar).accept_bytes(b"xab")


def test_a_special_token_is_no_text() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"<s>"], special_token_ids=[2], stop_token_ids=[])
    negative = Matcher(Compiler(vocabulary).compile_lark("start: /a(?!b)/ (<s> | /b/)"))
    positive = Matcher(Compiler(vocabulary).compile_lark("start: /a(?=b)/ (<s> | /b/)"))

    assert [negative.validate_tokens(each) for each in ([0, 2], [0, 1])] == [2, 1]
    assert [positive.validate_tokens(each) for each in ([0, 2], [0, 1])] == [1, 2]


def test_a_mask_never_leads_where_nothing_can_follow() -> None:
    matcher = Matcher(compiler().compile_lark("start: A B | A C\nA: /[ax](?!b)/\nB: /b/\nC: /c/"))

    assert matcher.accept_bytes(b"a")
    assert not matcher.accept_token(STOP)
    assert matcher.forced_bytes() == b"c"


def test_captures_stay() -> None:
    matcher = Matcher(compiler().compile_lark('start: x "c"\nx[capture]: A\nA: /a(?=c)/'))

    assert matcher.accept_bytes(b"ac")
    assert matcher.captures() == [("x", b"a")]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('start: A %json {"type": "array", "uniqueItems": true}\nA: /a(?!b)/', "unique items"),
        ("start: T\nT: A & /a./\nA: /a(?!b)/", "looks at what follows"),
        ("start: r\nr[lazy]: A\nA: /a(?!b)/", "looks at what follows"),
        ("start: r\nr[max_chars=3]: A*\nA: /a(?!b)/", "looks at what follows"),
        ("start: T\nT: A /b*?c/\nA: /a(?!b)/", "sees what follows"),
    ],
)
def test_where_it_cannot_be_exact_it_is_refused(text: str, fragment: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=fragment) as caught:
        compiler().compile_lark(text)
    assert re.match("line [23], column [0-9]+: ", caught.value.message)


def test_what_can_never_follow_is_an_empty_grammar() -> None:
    with pytest.raises(GrammarSyntaxError, match="nothing can match"):
        compiler().compile_lark("start: /a(?=b)c/")


def test_many_open_demands_reach_a_limit() -> None:
    small = Compiler(byte_vocabulary(), limits=Limits(states=20_000))
    with pytest.raises(LimitError):
        small.compile_lark("start: A*\nA: /a(?!.{11}b)|[ab]/")


ALPHABET = "ab"
LONGEST = 6
WORDS = ["".join(each) for n in range(LONGEST + 1) for each in itertools.product(ALPHABET, repeat=n)]


def _pattern(rng: random.Random) -> str:
    """A pattern of at most two characters, often with a condition on what follows."""
    body = rng.choice(["a", "b", "[ab]", "a?", "ab|b", "a|bb", "(?:a|)b?", "b(?=a)a?", ""])
    look = rng.choice(["a", "b", "ab", "[ab]a", "bb|a", "a(?!b)", ".b", "(?=a)[ab]b|b"])
    return rng.choice(["(?:{0})", "(?:{0})(?={1})", "(?:{0})(?!{1})", "(?:{0}(?!{1})|b)", "(?:{0}b)\\b"]).format(
        body, look
    )


def _grammar(rng: random.Random) -> tuple[str, str]:
    """Rules and terminals for one pattern that says the same."""
    terminals = [_pattern(rng) for _ in range(rng.randint(1, 3))]
    lines = [f"T{i}: /{pattern}/" for i, pattern in enumerate(terminals)]

    def part(depth: int) -> tuple[str, str]:
        if depth == 0 or rng.random() < 0.4:
            i = rng.randrange(len(terminals))
            return f"T{i}", f"(?:{terminals[i]})"
        left, right = part(depth - 1), part(depth - 1)
        kind = rng.randrange(4)
        if kind == 0:
            name = f"r{len(lines)}"
            lines.append(f"{name}: {left[0]} {right[0]}")
            return name, left[1] + right[1]
        if kind == 1:
            return f"({left[0]} | {right[0]})", f"(?:{left[1]}|{right[1]})"
        low = rng.randint(0, 1)
        return f"({left[0]} {right[0]})~{low}..2", f"(?:{left[1]}{right[1]}){{{low},2}}"

    start, pattern = part(3)
    return "\n".join([f"start: {start}", *lines]), pattern


@pytest.mark.parametrize("seed", range(150))
def test_a_grammar_of_terminals_is_the_pattern_of_their_patterns(seed: int) -> None:
    text, pattern = _grammar(random.Random(seed))
    words = [word for word in WORDS if re.fullmatch(pattern, word)]
    if not words:
        with pytest.raises(GrammarSyntaxError, match="nothing can match"):
            compiler().compile_lark(text)
        return
    grammar = compiler().compile_lark(text)

    assert [word for word in WORDS if accepts(Matcher(grammar), word)] == words, text
    dead = [
        word
        for word in WORDS
        if len(word) < 3 and Matcher(grammar).accept_bytes(word.encode()) and not _can_end(grammar, word)
    ]
    assert dead == [], text


def _can_end(grammar: Grammar, prefix: str) -> bool:
    """Whether letters that are accepted lead from the prefix to an end, breadth first."""
    level = [prefix]
    for _ in range(24):
        for word in level:
            matcher = Matcher(grammar)
            matcher.accept_bytes(word.encode())
            if matcher.can_terminate():
                return True
        following = [word + letter for word in level for letter in ALPHABET]
        level = [word for word in following if Matcher(grammar).accept_bytes(word.encode())][:8]
    return False


MOST = 5
"""Terminals in a sentence: of terminals that match something, a word of so many letters cannot have more."""

Sentence = tuple[int, ...]
Rules = list[list[list[int]]]
"""Alternatives of each rule: numbers of rules from 0 on, and -1 - i for terminal i."""


def _sentences(rules: Rules) -> set[Sentence]:
    """All sequences of at most MOST terminals that rule 0 gives."""
    known: list[set[Sentence]] = [set() for _ in rules]
    changed = True
    while changed:
        changed = False
        for number, alternatives in enumerate(rules):
            for parts in alternatives:
                made: set[Sentence] = {()}
                for part in parts:
                    choices = {(-1 - part,)} if part < 0 else known[part]
                    made = {a + b for a in made for b in choices if len(a) + len(b) <= MOST}
                changed = changed or not made <= known[number]
                known[number] |= made
    return known[0]


def _solid(rng: random.Random) -> str:
    """A pattern that matches no empty text."""
    body = rng.choice(["a", "b", "[ab]", "ab?", "a|bb", "b(?=a)a?"])
    return rng.choice(["(?:{0})", "(?:{0})(?={1})", "(?:{0})(?!{1})"]).format(
        body, rng.choice(["a", "b", "ab", ".b", "bb|a"])
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_recursive_grammar_is_the_patterns_of_its_sentences(seed: int) -> None:
    rng = random.Random(seed)
    terminals = [_solid(rng) for _ in range(3)]
    rules: Rules = [
        [[rng.choice((0, 1, 2, -1, -2, -3)) for _ in range(rng.randint(0, 3))] for _ in range(rng.randint(1, 3))]
        + [[-1 - rng.randrange(3)]]
        for _ in range(3)
    ]
    names = {number: f"r{number}" for number in range(3)} | {-1 - number: f"T{number}" for number in range(3)}
    lines = [f"r{n}: " + " | ".join(" ".join(names[p] for p in parts) for parts in alt) for n, alt in enumerate(rules)]
    text = "\n".join(["start: r0", *lines, *(f"T{i}: /{pattern}/" for i, pattern in enumerate(terminals))])
    patterns = {re.compile("".join(terminals[t] for t in sentence)) for sentence in _sentences(rules)}
    words = [word for word in WORDS if len(word) <= MOST and any(p.fullmatch(word) for p in patterns)]
    if not words:
        return  # it may still have longer ones
    grammar = compiler().compile_lark(text)

    assert [word for word in WORDS if len(word) <= MOST and accepts(Matcher(grammar), word)] == words, text
