"""Each limit stops what it names, in time, and leaves other grammars alone."""

from __future__ import annotations

import json
import time

import pytest

from engine_native import Compiler, LimitError, Limits, Matcher, allocate_bitmask, fill_bitmask_batch
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


def _run(matcher: Matcher, token: int, steps: int) -> int:
    """Steps taken before the matcher failed."""
    row = allocate_bitmask(1, matcher.vocab_size)[0]
    for step in range(steps):
        matcher.fill_bitmask(row)
        if not matcher.accept_token(token):
            return step
    return steps


AMBIGUOUS = [
    ("regex", "((((a{1,100}b?){1,100}c?){1,100}d?){1,100}e?){1,100}"),
    ("ebnf", "root ::= (y){1,900}\ny ::= (x){1,900}\nx ::= [a] | x [a] x"),
]


@pytest.mark.parametrize(("kind", "text"), AMBIGUOUS)
@pytest.mark.parametrize("limits", [Limits(set_items=3000), Limits(match_items=300_000, match_items_per_token=1)])
def test_matching_past_a_limit_fails_this_matcher_calmly(kind: str, text: str, limits: Limits) -> None:
    compiler = Compiler(byte_vocabulary(), limits=limits)
    matcher = Matcher(getattr(compiler, f"compile_{kind}")(text))
    other = Matcher(compiler.compile_choice(["ab"]))
    began = time.monotonic()
    steps = _run(matcher, ord("a"), 2000)

    assert time.monotonic() - began < 10
    assert isinstance(matcher.error, LimitError)
    assert steps < 2000
    rows = allocate_bitmask(2, matcher.vocab_size)
    fill_bitmask_batch([matcher, other], rows)
    assert {t for t in range(matcher.vocab_size) if rows[0, t // 32] >> (t % 32) & 1} == set(
        compiler.vocabulary.stop_token_ids
    )
    assert [matcher.accept_token(t) for t in (ord("a"), *compiler.vocabulary.stop_token_ids)] == [False] * (
        1 + len(compiler.vocabulary.stop_token_ids)
    )
    assert matcher.validate_tokens([ord("a")]) == 0
    assert matcher.forced_bytes() == b""
    assert matcher.forced_tokens() == []
    assert isinstance(matcher.fork().error, LimitError)
    assert accepts(other, "ab")
    if steps:
        matcher.rollback(1)
        assert matcher.error is None
    matcher.reset()
    assert matcher.error is None


def test_set_items_for_a_start_of_thousands_of_nullable_rules_raises() -> None:
    compiler = Compiler(byte_vocabulary(), limits=Limits(set_items=1000))
    rules = "".join(f'r{i} ::= r{i + 1} r{i + 2} | "" | "a"\n' for i in range(2000))
    grammar = compiler.compile_ebnf(f'root ::= r0\n{rules}r2000 ::= ""\nr2001 ::= ""')

    with pytest.raises(LimitError, match="ambiguous"):
        Matcher(grammar)


def test_matcher_bytes_for_a_long_history_fails_and_rollback_frees() -> None:
    compiler = Compiler(byte_vocabulary(), limits=Limits(matcher_bytes=10_000))
    matcher = Matcher(compiler.compile_regex("[ab]{2,100000}"))
    steps = _run(matcher, ord("a"), 1000)

    assert 10 < steps < 1000
    assert isinstance(matcher.error, LimitError)
    matcher.rollback(5)
    assert matcher.error is None
    assert _run(matcher, ord("b"), 1000) == 5


def test_matching_limits_for_new_states_only_so_a_loop_runs_for_ever() -> None:
    compiler = Compiler(
        byte_vocabulary(), limits=Limits(match_items=2000, match_items_per_token=1, matcher_bytes=10_000)
    )
    matcher = Matcher(compiler.compile_regex("[ab]*"))

    assert _run(matcher, ord("a"), 10_000) == 10_000


@pytest.mark.parametrize("rules", ["((x){0,2}){0,2} | x x | [a]", "x [a] x | [a]"])
def test_uncounted_ambiguity_does_not_grow_with_the_text(rules: str) -> None:
    compiler = Compiler(byte_vocabulary())
    matcher = Matcher(compiler.compile_ebnf(f"root ::= x\nx ::= {rules}"))
    _run(matcher, ord("a"), 100)
    sets = compiler.stats()["sets"]

    assert _run(matcher, ord("a"), 2000) == 2000
    assert compiler.stats()["sets"] == sets
