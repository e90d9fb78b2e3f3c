"""Vocabularies from real tokenizer files have the bytes that the tokenizer itself decodes to."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_native import Compiler, EngineError, Matcher, Vocabulary
from tests.property.cases import fill

tokenizers = pytest.importorskip("tokenizers")

FAMILIES = ("qwen3", "llama3_1", "llama2", "gemma3", "gptoss", "deepseek_v3")

TEXT = "Hello, wörld!  日本語 😀👍🏽\n\tdef f(x):\r\n    return {'a': [1, 2.5e-3]}\n\n\n€ ﬁ \u200b ε٣ <tool_call> \x07"
_CARRIER = " a"


@cache
def _tokenizer(path: Path) -> Any:
    return tokenizers.Tokenizer.from_file(str(path))


@cache
def _compiler(path: Path) -> Compiler:
    return Compiler(Vocabulary.from_tokenizer_json(path))


@pytest.fixture(params=FAMILIES)
def path(request: pytest.FixtureRequest, shared: Path) -> Path:
    """The tokenizer file of one family."""
    return shared / "tokenizers" / str(request.param) / "tokenizer.json"


def _special(path: Path) -> set[int]:
    added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    return {token["id"] for token in added if token["special"]}


def _decoded(tokenizer: Any, token: int) -> str:
    """The text of one token, after another token, so that a leading blank is kept."""
    before = tokenizer.encode(_CARRIER, add_special_tokens=False).ids
    with_it = tokenizer.decode([*before, token], skip_special_tokens=False)
    return str(with_it).removeprefix(str(tokenizer.decode(before, skip_special_tokens=False)))


def test_vocabulary_for_each_family_has_a_bit_for_every_id(path: Path) -> None:
    size = _tokenizer(path).get_vocab_size()
    free = _compiler(path).compile_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}})

    allowed, _ = fill(Matcher(free), size)

    assert max(allowed) < size
    assert len(allowed) > size // 2
    assert allowed.isdisjoint(_special(path))


def test_tokens_of_each_family_match_the_text_they_decode_to(path: Path) -> None:
    tokenizer, special = _tokenizer(path), _special(path)
    rng = random.Random(5)
    texts = {}
    for token in rng.sample(range(tokenizer.get_vocab_size()), 3000):
        text = _decoded(tokenizer, token)
        if token not in special and text and "�" not in text:
            texts[token] = text
    grammar = _compiler(path).compile_choice(sorted(set(texts.values())))

    wrong = [(token, text) for token, text in texts.items() if not _matches_exactly(grammar, token)]

    assert len(texts) > 2000
    assert wrong == []


def _matches_exactly(grammar: Any, token: int) -> bool:
    matcher = Matcher(grammar)
    return matcher.accept_token(token) and matcher.can_terminate()


def test_encoded_text_of_each_family_is_accepted_token_by_token(path: Path) -> None:
    tokenizer = _tokenizer(path)
    ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
    text = tokenizer.decode(ids, skip_special_tokens=False)
    matcher = Matcher(_compiler(path).compile_choice([text, " " + text]))

    assert matcher.accept_tokens(ids) == len(ids)
    assert matcher.can_terminate()


def test_every_single_byte_of_each_family_has_a_token(path: Path) -> None:
    """Any text can be written: a four-byte character is reachable byte by byte or at once."""
    matcher = Matcher(_compiler(path).compile_choice(["\U000f0f0f"]))
    size = _tokenizer(path).get_vocab_size()
    steps = 0
    while not matcher.can_terminate():
        allowed, _ = fill(matcher, size)
        assert allowed
        assert matcher.accept_token(min(allowed))
        steps += 1
    assert 1 <= steps <= 4


@pytest.mark.parametrize(
    ("family", "token", "text"),
    [
        ("qwen3", "Ġthe", b" the"),
        ("qwen3", "Ċ", b"\n"),
        ("qwen3", "<tool_call>", b"<tool_call>"),
        ("llama3_1", "ĠÐ", b" \xd0"),
        ("llama3_1", "Ġ", b" "),
        ("gptoss", "ĉ", b"\t"),
        ("deepseek_v3", "Ã©", "é".encode()),
        ("llama2", "▁the", b" the"),
        ("llama2", "<0x0A>", b"\n"),
        ("llama2", "<0xE2>", b"\xe2"),
        ("gemma3", "▁the", b" the"),
        ("gemma3", "<0xFF>", b"\xff"),
        ("gemma3", "▁▁▁", b"   "),
        ("gemma3", "\n\n", b"\n\n"),
    ],
)
def test_known_token_has_known_bytes(shared: Path, family: str, token: str, text: bytes) -> None:
    path = shared / "tokenizers" / family / "tokenizer.json"
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    ids = {**vocabulary["model"]["vocab"], **{added["content"]: added["id"] for added in vocabulary["added_tokens"]}}
    rest = {b" \xd0": b"\xb0", b"\xe2": b"\x82\xac", b"\xff": b""}.get(text, b"")
    if text == b"\xff":
        whole = Matcher(_compiler(path).compile_regex("."))
        assert not whole.accept_token(ids[token])
        return
    matcher = Matcher(_compiler(path).compile_choice([(text + rest).decode()]))

    assert matcher.accept_token(ids[token])
    assert matcher.accept_bytes(rest)
    assert matcher.can_terminate()


def test_vocab_size_beyond_the_tokens_pads_with_forbidden_ids(shared: Path) -> None:
    path = shared / "tokenizers" / "qwen3" / "tokenizer.json"
    count = _tokenizer(path).get_vocab_size()
    vocabulary = Vocabulary.from_tokenizer_json(path, vocab_size=151_936, stop_token_ids=[151_645])
    matcher = Matcher(Compiler(vocabulary).compile_regex("a?"))

    allowed, _ = fill(matcher, 151_936)

    assert max(allowed) < count
    assert 151_645 in allowed
    assert not matcher.accept_token(151_935)
    assert matcher.accept_token(151_645)


def test_from_tokenizer_for_transformers_object_equals_the_file(shared: Path) -> None:
    transformers = pytest.importorskip("transformers")
    for family in ("qwen3", "llama2"):
        path = shared / "tokenizers" / family / "tokenizer.json"
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
        ours = Compiler(Vocabulary.from_tokenizer(tokenizer, stop_token_ids=[2]))
        file = Compiler(Vocabulary.from_tokenizer_json(path, stop_token_ids=[2]))
        size = _tokenizer(path).get_vocab_size()
        for pattern in (".*", "[a-c]+", "é|\n| the"):
            left, right = Matcher(ours.compile_regex(pattern)), Matcher(file.compile_regex(pattern))
            assert fill(left, size) == fill(right, size)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {"type": "BPE"}}', '{"model": {"vocab": 1}}'])
def test_broken_tokenizer_file_raises_with_a_reason(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises((ValueError, EngineError)) as caught:
        Vocabulary.from_tokenizer_json(path)

    assert str(caught.value)


def test_missing_tokenizer_file_raises_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_tokenizer_json(tmp_path / "none.json")


@pytest.mark.parametrize("ids", [[-1], [3], [2**32], [2**32 + 1]])
def test_vocabulary_for_role_outside_the_tokens_raises(ids: list[int]) -> None:
    with pytest.raises(ValueError, match=f"special token {ids[0]}"):
        Vocabulary([b"a", b"b", b"c"], special_token_ids=ids)
    with pytest.raises(ValueError, match=f"stop token {ids[0]}"):
        Vocabulary([b"a", b"b", b"c"], stop_token_ids=ids)


def test_vocabulary_without_tokens_is_refused_or_useless() -> None:
    try:
        vocabulary = Vocabulary([])
    except (ValueError, EngineError):
        return
    matcher = Matcher(Compiler(vocabulary).compile_regex("a"))
    assert matcher.fill_bitmask(np.zeros(0, dtype=np.int32)) is False


def test_empty_token_is_never_allowed() -> None:
    matcher = Matcher(Compiler(Vocabulary([b"a", b"", b"b"])).compile_regex("a*"))

    assert fill(matcher, 3)[0] == {0}
    assert not matcher.accept_token(1)


def test_equal_tokens_are_allowed_together() -> None:
    matcher = Matcher(Compiler(Vocabulary([b"a", b"b", b"a", b"ab", b"ab"])).compile_regex("ab"))

    assert fill(matcher, 5)[0] == {0, 2, 3, 4}


def test_very_long_token_matches_by_all_its_bytes() -> None:
    long = b"a" * 100_000
    matcher = Matcher(Compiler(Vocabulary([long, long + b"b", b"a"])).compile_regex("a*"))

    assert fill(matcher, 3)[0] == {0, 2}
    assert matcher.accept_token(0)
