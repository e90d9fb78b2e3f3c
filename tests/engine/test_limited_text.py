"""Text of limited length: characters and tokens are counted exactly, wherever the text begins and ends."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from engine_native import Compiler, EngineError, Grammar, Matcher, UnsupportedSchemaError, Vocabulary, allocate_bitmask

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


def test_token_budget_beside_limited_text_is_refused() -> None:
    matcher = Matcher(_grammar(max_chars=4))

    with pytest.raises(EngineError, match="text of limited length") as caught:
        matcher.set_token_budget(9)

    assert isinstance(caught.value, UnsupportedSchemaError)


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
