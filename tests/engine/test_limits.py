"""Each limit stops what it names, in time, and leaves other grammars alone."""

from __future__ import annotations

import json
import time

import pytest

from engine_native import Compiler, LimitError, Limits, Matcher
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, byte_vocabulary


def _compiler(limits: Limits) -> Compiler:
    return Compiler(byte_vocabulary(), limits=limits)


def _nested(depth: int) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def test_input_bytes_for_longer_text_raises_and_for_equal_length_does_not() -> None:
    text = json.dumps({"type": "integer", "description": "x" * 1000})
    compiler = _compiler(Limits(input_bytes=len(text)))

    assert accepts(Matcher(compiler.compile_json_schema(text)), "1")
    with pytest.raises(LimitError, match=str(len(text))):
        compiler.compile_json_schema(text + " ")


def test_depth_for_deeper_schema_raises() -> None:
    compiler = _compiler(Limits(depth=50))

    assert accepts(Matcher(compiler.compile_json_schema(_nested(10))), "[" * 10 + "1" + "]" * 10)
    with pytest.raises(LimitError):
        compiler.compile_json_schema(_nested(60))


@pytest.mark.parametrize("opener", ["[", '{"a":', '{"items":', '{"anyOf":[', '{"not":'])
def test_depth_for_a_hundred_thousand_brackets_raises_at_once(opener: str) -> None:
    with pytest.raises(LimitError):
        _compiler(Limits()).compile_json_schema(opener * 100_000)


@pytest.mark.parametrize("opener", ["(", "(?:"])
def test_depth_for_deep_regex_and_ebnf_groups_raises(opener: str) -> None:
    with pytest.raises(LimitError):
        _compiler(Limits()).compile_regex(opener * 100_000)
    with pytest.raises(LimitError):
        _compiler(Limits()).compile_ebnf("root ::= " + "(" * 100_000)


def test_rules_for_more_rules_raises() -> None:
    text = 'root ::= "" | ' + " | ".join(f"r{i}" for i in range(100)) + "\n"
    text += "\n".join(f'r{i} ::= "{i}" root "x"' for i in range(100))

    assert _compiler(Limits(rules=1000)).compile_ebnf(text) is not None
    with pytest.raises(LimitError):
        _compiler(Limits(rules=50)).compile_ebnf(text)


def test_states_for_long_pattern_raises() -> None:
    compiler = _compiler(Limits(states=100_000))

    assert accepts(Matcher(compiler.compile_regex("ab" * 1000)), "ab" * 1000)
    with pytest.raises(LimitError):
        compiler.compile_regex("ab" * 100_000)


def test_pattern_with_exponential_deterministic_automaton_compiles_in_time_or_raises() -> None:
    started = time.monotonic()

    try:
        grammar = _compiler(Limits(compile_seconds=2)).compile_regex("[ab]*a" + "[ab]" * 24)
    except LimitError:
        pass
    else:
        assert accepts(Matcher(grammar), "bba" + "b" * 24)
        assert not accepts(Matcher(grammar), "bbb" + "b" * 24)
    assert time.monotonic() - started < 10


def test_compile_bytes_for_hungry_grammar_raises() -> None:
    schema: dict[str, Json] = {"enum": [f"value number {i}" for i in range(20_000)]}

    with pytest.raises(LimitError):
        _compiler(Limits(compile_bytes=1 << 20)).compile_json_schema(schema)


def test_compile_seconds_for_slow_grammar_raises_in_time() -> None:
    schema: dict[str, Json] = {"enum": [f"value number {i}" for i in range(100_000)]}
    started = time.monotonic()

    with pytest.raises(LimitError):
        _compiler(Limits(compile_seconds=0.01)).compile_json_schema(schema)

    assert time.monotonic() - started < 3


def test_compiler_after_a_limit_still_compiles() -> None:
    compiler = _compiler(Limits(depth=50))
    with pytest.raises(LimitError):
        compiler.compile_json_schema(_nested(60))

    assert accepts(Matcher(compiler.compile_json_schema({"type": "integer"})), "12")


def test_huge_repeat_bounds_are_counted_not_written_out() -> None:
    grammar = _compiler(Limits()).compile_json_schema({"type": "array", "minItems": 3, "maxItems": 1_000_000})

    assert grammar.memory_bytes < 10_000_000
    assert accepts(Matcher(grammar), "[1,2,3]")
    assert not accepts(Matcher(grammar), "[1,2]")
    assert accepts(Matcher(grammar), "[" + ",".join("1" * 2000) + "]")


@pytest.mark.parametrize("name", ["input_bytes", "depth", "rules", "states", "compile_bytes", "compile_seconds"])
def test_limit_of_zero_or_less_raises(name: str) -> None:
    for value in (0, -1):
        with pytest.raises((ValueError, OverflowError)):
            _compiler(Limits(**{name: value}))
