"""Text of limited length: characters and tokens are counted exactly, wherever the text begins and ends."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from engine_native import Compiler, Grammar, Matcher, Vocabulary, allocate_bitmask
from tests.property.cases import fill

_WORDS = (b"abc", b"c]", b"[a", b"\xe6\x97", b"\xa5b", b"ab", b"b]x")
_WORD = {word: 257 + index for index, word in enumerate(_WORDS)}


@cache
def _compiler() -> Compiler:
    """All bytes, a stop token, some words that cross the borders of texts and characters."""
    tokens = [*(bytes((byte,)) for byte in range(256)), b"</s>", *_WORDS]
    return Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))


def _grammar(**limits: Any) -> Grammar:
    content = {"type": "any_text", **limits}
    tag = {"type": "tag", "begin": "[", "content": content, "end": "]"}
    return _compiler().compile_structural_tag({"type": "structural_tag", "format": tag})


def _tokens(*parts: str | bytes) -> list[int]:
    """A word is one token, other text a token for each byte."""
    ids: list[int] = []
    for part in parts:
        ids += [_WORD[part]] if isinstance(part, bytes) else part.encode()
    return ids


def _accepts(grammar: Grammar, tokens: list[int]) -> bool:
    """Whether the masks allow every token and the text may end after the last."""
    matcher = Matcher(grammar)
    row = allocate_bitmask(1, matcher.vocab_size)
    for token in tokens:
        matcher.fill_bitmask(row[0])
        allowed = bool(row[0, token // 32] >> (token % 32) & 1)
        assert allowed == bool(matcher.validate_tokens([token]))
        if not matcher.accept_token(token):
            return False
        assert allowed
    return matcher.can_terminate()


@pytest.mark.parametrize(
    ("parts", "accepted"),
    [
        (("[]",), True),
        (("[abc]",), True),
        (("[日本é]",), True),
        (("[abcd]",), False),
        (("[", b"abc", "]"), True),
        (("[a", b"abc"), False),
        (("[ab", b"c]"), True),
        (("[abc", b"c]"), False),
        ((b"[a", "bc]"), True),
        ((b"[a", b"abc"), False),
        (("[ab", b"\xe6\x97", b"\xa5b"), False),
        (("[a", b"\xe6\x97", b"\xa5b", "]"), True),
        (("[a", b"\xe6\x97", b"\xa5b", "c]"), False),
    ],
)
def test_max_chars_counts_code_points(parts: tuple[str | bytes, ...], accepted: bool) -> None:
    assert _accepts(_grammar(max_chars=3), _tokens(*parts)) == accepted


@pytest.mark.parametrize(
    ("parts", "accepted"),
    [
        (("[]",), True),
        (("[ab]",), True),
        (("[abc]",), False),
        (("[", b"abc", b"abc", "]"), True),
        (("[", b"abc", b"abc", b"c]"), False),
        (("[", b"abc", b"c]"), True),
        (("[a", b"\xe6\x97"), False),
        (("[", b"\xe6\x97", b"\xa5b", "]"), True),
        ((b"[a", b"c]"), True),
        ((b"[a", "b]"), True),
        ((b"[a", "bc"), False),
    ],
)
def test_max_tokens_counts_tokens_that_have_a_byte_in_the_text(parts: tuple[str | bytes, ...], accepted: bool) -> None:
    assert _accepts(_grammar(max_tokens=2), _tokens(*parts)) == accepted


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_no_token_leaves_a_character_open_that_the_limit_cannot_close(most: int) -> None:
    """Where every token is one byte the text can always go on, whatever is taken first."""
    tokens = [bytes((byte,)) for byte in range(256)] + [b"</s>"]
    engine = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    tag = {"type": "tag", "begin": "[", "content": {"type": "any_text", "max_tokens": most}, "end": "]"}
    grammar = engine.compile_structural_tag({"format": tag})
    for first in (0x61, 0xC3, 0xE6, 0xF0):
        matcher = Matcher(grammar)
        assert matcher.accept_token(ord("["))
        length = {0x61: 1, 0xC3: 2, 0xE6: 3, 0xF0: 4}[first]
        assert matcher.accept_token(first) == (length <= most)
        while not matcher.can_terminate():
            allowed = fill(matcher, 257)[0]
            assert allowed, (first, most)
            assert matcher.accept_token(max(allowed))


def test_both_limits_hold_together() -> None:
    grammar = _grammar(max_tokens=2, max_chars=4)

    assert _accepts(grammar, _tokens("[", b"abc", "d]"))
    assert not _accepts(grammar, _tokens("[", b"abc", b"abc"))
    assert not _accepts(grammar, _tokens("[abc]"))


@pytest.mark.parametrize("limit", ["max_chars", "max_tokens"])
def test_limit_of_zero_leaves_no_text_and_null_is_no_limit(limit: str) -> None:
    assert _accepts(_grammar(**{limit: 0}), _tokens("[]"))
    assert not _accepts(_grammar(**{limit: 0}), _tokens("[a"))
    assert _accepts(_grammar(**{limit: None}), _tokens("[" + "a" * 300 + "]"))


@pytest.mark.parametrize("limit", ["max_chars", "max_tokens"])
@pytest.mark.parametrize("most", [1, 5, 300, 2**31 - 1])
def test_limit_is_exact_whatever_it_is(limit: str, most: int) -> None:
    grammar = _grammar(**{limit: most})
    shown = min(most, 400)

    assert _accepts(grammar, _tokens("[" + "x" * shown + "]"))
    if most < 400:
        assert not _accepts(grammar, _tokens("[" + "x" * (most + 1)))


def test_rollback_and_fork_keep_the_count() -> None:
    matcher = Matcher(_grammar(max_tokens=3))
    assert matcher.accept_tokens(_tokens("[ab")) == 3

    matcher.rollback(1)
    other = matcher.fork()

    for each in (matcher, other):
        assert each.accept_tokens(_tokens("bcd")) == 2
        assert each.accept_token(ord("]"))


def test_excluded_strings_and_limits_hold_together() -> None:
    grammar = _grammar(max_chars=4, excludes=["no"])

    assert _accepts(grammar, _tokens("[n o!]"))
    assert not _accepts(grammar, _tokens("[no"))
    assert _accepts(grammar, _tokens("[nnnn]"))


def test_limited_text_is_captured() -> None:
    content = {"type": "any_text", "max_tokens": 2, "capture": "in"}
    after = {"type": "any_text", "capture": "after"}
    tag = {"type": "sequence", "elements": [content, after]}
    matcher = Matcher(_compiler().compile_structural_tag({"type": "structural_tag", "format": tag}))
    assert matcher.accept_tokens(_tokens("abcd")) == 4

    captures = dict(matcher.captures())

    assert len(captures["in"]) <= 2
    assert captures["in"] + captures["after"] == b"abcd"


@pytest.mark.parametrize("limits", [{"max_chars": 4}, {"max_tokens": 3}, {"max_chars": 4, "max_tokens": 3}, {}])
@pytest.mark.parametrize("budget", [2, 3, 4, 5, 6, 9])
def test_limited_text_ends_within_a_token_budget_as_well(limits: dict[str, int], budget: int) -> None:
    matcher, free = Matcher(_grammar(**limits)), Matcher(_grammar(**limits))
    assert matcher.least_tokens() == 2
    matcher.set_token_budget(budget)
    used = 0
    while not matcher.can_terminate():
        allowed = fill(matcher, matcher.vocab_size)[0]
        assert allowed <= fill(free, free.vocab_size)[0]
        assert used < budget
        token = max(allowed - {ord("]")}, key=lambda each: (0xE0 <= each <= 0xF4, each), default=ord("]"))
        assert matcher.accept_token(token)
        assert free.accept_token(token)
        used += 1
    assert used == (budget if not limits else min(used, budget))
    assert used > 2 or budget == 2


RAW_STYLES = {
    "qwen_xml": ("<parameter=a>", "</parameter>"),
    "qwen_padded_xml": ("<parameter=a>\n", "\n</parameter>"),
    "glm_xml": ("<arg_key>a</arg_key><arg_value>", "</arg_value>"),
    "kimi_k3_xml": ('<|open|>argument key="a" type="string"<|sep|>', "<|close|>argument<|sep|>"),
    "minimax_m3_xml": ("]<]minimax[>[<a>", "]<]minimax[>[</a>"),
    "gemma": ('{a:<|"|>', '<|"|>}'),
}


def _raw_string(style: str, **lengths: int) -> Grammar:
    schema = {"type": "object", "properties": {"a": {"type": "string", **lengths}}, "required": ["a"]}
    node = {"type": "json_schema", "style": style, "json_schema": schema | {"additionalProperties": False}}
    return _compiler().compile_structural_tag({"format": node})


LENGTHS = pytest.mark.parametrize(
    "lengths", [(0, 0), (0, 2), (1, 1), (2, 2), (3, 3), (2, 4), (5, 9), (30, 30), (3, None), (90, None), (90, 95)]
)


@pytest.mark.parametrize("style", RAW_STYLES)
@LENGTHS
def test_no_beginning_of_a_mark_is_a_dead_end_for_a_string_of_bounded_length(
    style: str, lengths: tuple[int, int | None]
) -> None:
    """A mark begun too early for the least length must not be gone on with where the most leaves no other way."""
    least, most = lengths
    grammar = _raw_string(style, minLength=least, **({} if most is None else {"maxLength": most}))
    before, close = RAW_STYLES[style]
    for seed in range(8):
        dice = random.Random(f"{style} {lengths} {seed}")
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(before.encode())
        text = ""
        while not matcher.can_terminate() and len(text) < 150:
            allowed = {token for token in fill(matcher, matcher.vocab_size)[0] if 0x20 <= token < 0x7F or token == 0x0A}
            assert allowed, (text, seed)
            assert all(matcher.validate_tokens([token]) == 1 for token in allowed), (text, seed)
            wanted = [ord(sign) for sign in close if ord(sign) in allowed]
            shared = [close[n] for n in range(len(close)) if text.endswith(close[:n]) and ord(close[n]) in allowed]
            token = ord(shared[-1]) if shared and dice.random() < 0.8 else dice.choice(wanted or sorted(allowed))
            assert matcher.accept_token(token)
            text += chr(token)
        value = text.partition(close.removesuffix("}"))[0]
        if matcher.can_terminate():
            assert least <= len(value) <= (most if most is not None else 300), (text, seed)


@pytest.mark.parametrize("style", RAW_STYLES)
@LENGTHS
def test_string_of_bounded_length_is_whole_within_any_token_budget_that_is_enough(
    style: str, lengths: tuple[int, int | None]
) -> None:
    least, most = lengths
    grammar = _raw_string(style, minLength=least, **({} if most is None else {"maxLength": most}))
    before, close = RAW_STYLES[style]
    needed = Matcher(grammar).least_tokens()
    assert needed is not None
    assert len(before + close) + least - 9 <= needed <= len(before + close) + least + 12
    for budget in (needed, needed + 1, needed + 3, needed + 40):
        for seed in range(3):
            dice = random.Random(f"{style} {lengths} {budget} {seed}")
            matcher = Matcher(grammar)
            matcher.set_token_budget(budget)
            used = 0
            while not matcher.can_terminate():
                allowed = fill(matcher, matcher.vocab_size)[0]
                assert allowed, (used, budget, seed)
                assert used < budget
                likely = [token for token in allowed if chr(token) in close] if dice.random() < 0.7 else []
                assert matcher.accept_token(dice.choice(sorted(likely) or sorted(allowed)))
                used += 1


@pytest.mark.parametrize(
    ("style", "before", "close"),
    [
        ("qwen_xml", "<parameter=a>", "</parameter>"),
        ("glm_xml", "<arg_key>a</arg_key><arg_value>", "</arg_value>"),
        ("deepseek_xml", '<\uff5cDSML\uff5cparameter name="a" string="true">', "</\uff5cDSML\uff5cparameter>"),
        ("gemma", '{a:<|"|>', '<|"|>'),
    ],
)
@pytest.mark.parametrize("least", [1, 2, 3])
def test_raw_string_cannot_close_before_it_is_long_enough(style: str, before: str, close: str, least: int) -> None:
    """Not even where the closing mark would be too short a text: what follows it could not be reached."""
    tokens = [*(bytes((byte,)) for byte in range(256)), b"</s>", close.encode(), ("x" + close).encode()]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": least}}, "required": ["a"]}
    node = {"type": "json_schema", "style": style, "json_schema": {**schema, "additionalProperties": False}}
    grammar = compiler.compile_structural_tag({"type": "structural_tag", "format": node})

    for length in range(5):
        matcher = Matcher(grammar)
        assert matcher.accept_bytes((before + "x" * length).encode())
        row = allocate_bitmask(1, matcher.vocab_size)
        matcher.fill_bitmask(row[0])
        allowed = [bool(row[0, token // 32] >> (token % 32) & 1) for token in (257, 258)]
        assert allowed == [length >= least, length + 1 >= least]
        assert matcher.accept_bytes(close.encode()[:-1])
        assert matcher.accept_bytes(close.encode()[-1:]) == (length >= least)
        assert matcher.fill_bitmask(row[0])
        assert row.any()


@pytest.mark.parametrize("least", [1, 2, 300])
def test_raw_string_cannot_close_with_a_special_token_before_it_is_long_enough(least: int) -> None:
    close = "</parameter>"
    tokens = [*(bytes((byte,)) for byte in range(256)), b"</s>", close.encode()]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256, 257], stop_token_ids=[256]))
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": least}}, "required": ["a"]}
    node = {"type": "json_schema", "style": "qwen_xml", "json_schema": {**schema, "additionalProperties": False}}
    grammar = compiler.compile_structural_tag({"type": "structural_tag", "format": node})

    for length in (0, least - 1, least, least + 1):
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(b"<parameter=a>" + b"x" * length)
        row = allocate_bitmask(1, matcher.vocab_size)
        matcher.fill_bitmask(row[0])
        assert bool(row[0, 257 // 32] >> (257 % 32) & 1) == (length >= least)
        assert matcher.accept_token(257) == (length >= least)
