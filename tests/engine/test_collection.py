"""Over its byte budget the cache lets go of what nobody needs, and keeps what is used."""

from __future__ import annotations

import pytest

from engine_native import Compiler, Grammar, Matcher, allocate_bitmask
from tests.engine.vocabularies import byte_vocabulary

TEXT = b'{"a": "some text", "b": [1, 2]}'


def _walk(grammar: Grammar) -> None:
    matcher = Matcher(grammar)
    row = allocate_bitmask(1, matcher.vocab_size)[0]
    for byte in TEXT:
        matcher.fill_bitmask(row)
        assert matcher.accept_token(byte)


@pytest.mark.parametrize("budget", [290_000, 300_000, 310_000])  # collections come at other moments
def test_cache_over_budget_collects_and_keeps_local_parts_in_use(budget: int) -> None:
    compiler = Compiler(byte_vocabulary(), cache_bytes=budget)
    grammar = compiler.compile_json_object()
    most = 0
    for i in range(400):
        other = Matcher(compiler.compile_regex(f"[a-z]{{{i + 1}}}(x{i}|y){{3,9}}"))
        row = allocate_bitmask(1, other.vocab_size)[0]
        for byte in b"abc"[: i + 1]:
            other.fill_bitmask(row)
            other.accept_token(byte)
        before = compiler.stats()["levels"]["local"]["misses"]
        _walk(grammar)
        if i > 0:
            assert compiler.stats()["levels"]["local"]["misses"] == before
        most = max(most, compiler.stats()["bytes"])
    stats = compiler.stats()

    assert stats["evictions"] > 3
    assert most < 2_000_000
    assert stats["grammars"] < 100


def test_cleared_cache_forgets_local_parts_too() -> None:
    compiler = Compiler(byte_vocabulary())
    grammar = compiler.compile_json_object()
    _walk(grammar)
    before = compiler.stats()["levels"]["local"]["misses"]
    compiler.clear_cache()
    _walk(grammar)

    assert compiler.stats()["levels"]["local"]["misses"] == 2 * before
