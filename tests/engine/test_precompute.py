"""Rows computed ahead are the rows; the computation can be stopped."""

from __future__ import annotations

import threading
import time

import pytest

from engine_native import Cancellation, Compiler, Grammar, Matcher, allocate_bitmask
from tests.engine.vocabularies import byte_vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["ab", "true"]}, "on": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["name", "on", "note"],
    "additionalProperties": False,
}
TEXT = b'{"name": "ab", "on": true, "note": "x"}'


def _rows(grammar: Grammar) -> list[bytes]:
    matcher = Matcher(grammar)
    row = allocate_bitmask(1, matcher.vocab_size)[0]
    rows = []
    for byte in TEXT:
        matcher.fill_bitmask(row)
        rows.append(bytes(row.tobytes()))
        assert matcher.accept_token(byte)
    return rows


@pytest.mark.parametrize("rows", [0, 1, 5, 10_000])
def test_precompute_changes_no_row_and_saves_computing_them(rows: int) -> None:
    cold = Compiler(byte_vocabulary())
    expected = _rows(cold.compile_json_schema(SCHEMA))
    compiler = Compiler(byte_vocabulary())
    grammar = compiler.compile_json_schema(SCHEMA)

    made = grammar.precompute(rows)

    assert made == rows if rows < 10 else 10 < made < rows
    before = compiler.stats()["levels"]["row"]["misses"]
    assert _rows(grammar) == expected
    met = compiler.stats()["levels"]["row"]["misses"] - before
    alone = cold.stats()["levels"]["row"]["misses"]
    assert met == alone if rows == 0 else met < alone
    assert grammar.precompute(rows) == made


def test_precompute_after_cancellation_stops() -> None:
    grammar = Compiler(byte_vocabulary()).compile_ebnf('root ::= "a" root "b" | [c-z] root [0-9] | "."')
    cancellation = Cancellation()
    made: list[int] = []
    worker = threading.Thread(target=lambda: made.append(grammar.precompute(1 << 30, cancellation=cancellation)))
    worker.start()
    time.sleep(0.05)
    matcher = Matcher(grammar)
    assert matcher.accept_bytes(b"ac.")
    cancellation.cancel()
    worker.join(10)

    assert not worker.is_alive()
    assert made[0] > 0
    assert grammar.precompute(5, cancellation=cancellation) == 0


def test_precompute_for_a_negative_number_raises() -> None:
    with pytest.raises(ValueError, match="-1"):
        Compiler(byte_vocabulary()).compile_choice(["a"]).precompute(-1)
