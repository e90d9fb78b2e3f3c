"""Finishing inside a token budget: when it is refused, what it allows, and what undoes it."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_native import (
    Compiler,
    EngineError,
    Grammar,
    LimitError,
    Limits,
    Matcher,
    Vocabulary,
    allocate_bitmask,
    fill_bitmask_batch,
)
from engine_native.tokenizer_json import read_tokens
from structural_tags.choice import Tool, build_tag
from structural_tags.formats import get_format
from tests.engine.vocabularies import STOP, accepts, compiler
from tests.property.cases import fill, tokens_of

SIZE = 267
SPECIAL = 257


def _schema(**keywords: Any) -> Matcher:
    return Matcher(compiler().compile_json_schema(keywords, whitespace="none"))


def _tokens(matcher: Matcher) -> frozenset[int]:
    return fill(matcher, SIZE)[0]


# What is enough


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("", 0),
        ("a*", 0),
        ("a", 1),
        ("abc", 1),  # one token
        ("abcab", 2),
        ("xabc", 2),
        ("abab12", 3),
        ("(abc|x)(b|zz)", 2),
        ("a{40}", 40),
        ("(abc){40,}", 40),
        ("[^a]{7}", 4),  # two blanks are one token
        ("é", 1),
        ("ü", 2),
    ],
)
def test_least_tokens_for_pattern(pattern: str, least: int) -> None:
    assert Matcher(compiler().compile_regex(pattern)).least_tokens() == least


@pytest.mark.parametrize(
    ("schema", "least"),
    [
        ({"type": "boolean"}, 1),
        ({"type": "string"}, 2),
        ({"type": "string", "minLength": 5}, 5),  # again blanks
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3}, 7),
        ({"type": "array", "items": {"const": 12}, "minItems": 100}, 201),
        ({"type": "object", "properties": {"ab": {"enum": [True]}}, "required": ["ab"]}, 6),  # {" ab " : true }
    ],
)
def test_least_tokens_for_schema(schema: dict[str, Any], least: int) -> None:
    assert _schema(**schema).least_tokens() == least


def test_least_tokens_for_left_and_right_recursion() -> None:
    for text in ('root ::= root "," item | item\nitem ::= "x" "y" | "z"', 'root ::= ("(" root ")")? "z"'):
        matcher = Matcher(compiler().compile_ebnf(text))
        assert matcher.least_tokens() == 1
    assert matcher.accept_bytes(b"((((")
    assert matcher.least_tokens() == 9  # z)z)z)z)z


def test_least_tokens_for_deep_nesting_does_not_recurse() -> None:
    matcher = Matcher(compiler().compile_ebnf('root ::= "[" root "]" | "x"'))
    assert all(matcher.accept_token(ord("[")) for _ in range(50_000))

    assert matcher.least_tokens() == 50_001


def test_least_tokens_counts_what_comes_before_a_stop_token_of_the_grammar() -> None:
    matcher = Matcher(compiler().compile_ebnf('root ::= "a" ("z" "</s>" | "x" "x" "x")'))
    assert matcher.least_tokens() == 2

    matcher.set_token_budget(2)

    assert matcher.accept_token(ord("a"))
    assert _tokens(matcher) == {ord("z")}
    assert matcher.accept_token(ord("z"))
    assert _tokens(matcher) == {STOP}
    assert matcher.accept_token(STOP)
    assert matcher.is_terminated()


def test_least_tokens_before_a_stop_token_of_the_grammar_after_many_others() -> None:
    text = 'root ::= (x y){300} "z" "</s>" w\nx ::= "x"\ny ::= "y"\nw ::= "w"*'
    matcher = Matcher(compiler().compile_ebnf(text))
    assert matcher.least_tokens() == 601
    assert matcher.accept_bytes(b"xy" * 299 + b"x")

    matcher.set_token_budget(2)

    assert _tokens(matcher) == {ord("y")}
    assert matcher.accept_token(ord("y"))
    assert _tokens(matcher) == {ord("z")}
    assert matcher.accept_token(ord("z"))
    assert _tokens(matcher) == {STOP}


def test_stop_token_in_the_middle_of_the_grammar_is_no_way_out() -> None:
    matcher = Matcher(compiler().compile_ebnf('root ::= "</s>" "a" | "<s>" "<s>" "<s>"'))

    assert matcher.least_tokens() == 3

    assert Matcher(compiler().compile_ebnf('root ::= "</s>" "a"')).least_tokens() is None


def test_stop_tokens_of_one_matcher_do_not_spell_its_text() -> None:
    grammar = compiler().compile_regex("abcx*")

    own = Matcher(grammar, stop_token_ids=[262])  # "abc"

    assert own.least_tokens() == 2
    assert Matcher(grammar).least_tokens() == 1
    own.set_token_budget(2)
    assert _tokens(own) == {261}  # "ab"; after "a" two more would be needed
    assert Matcher(grammar, stop_token_ids=[ord("a"), 261, 262]).least_tokens() is None


def test_budget_without_single_bytes_says_so_when_nothing_is_enough() -> None:
    matcher = Matcher(Compiler(Vocabulary([b"ab", b"c"])).compile_regex("ab(x|c)"))
    assert matcher.least_tokens() == 2
    assert not matcher.accept_token(5)

    matcher = Matcher(Compiler(Vocabulary([b"ab", b"c"])).compile_regex("abx"))

    assert matcher.least_tokens() is None
    with pytest.raises(ValueError, match="no budget is enough"):
        matcher.set_token_budget(1000)


# When it is refused


def test_budget_below_the_minimum_raises_names_it_and_changes_nothing() -> None:
    matcher = _schema(type="array", items={"type": "integer"}, minItems=3)
    before = _tokens(matcher)

    with pytest.raises(ValueError, match="6 tokens, but the text needs 7"):
        matcher.set_token_budget(6)

    assert _tokens(matcher) == before
    assert accepts(matcher, "[1,22,333,4444,55555]")


def test_budget_below_the_minimum_keeps_the_budget_that_was_set() -> None:
    matcher = Matcher(compiler().compile_regex("a{3,}"))
    matcher.set_token_budget(4)

    with pytest.raises(ValueError, match="needs 3"):
        matcher.set_token_budget(2)

    assert [matcher.accept_token(ord("a")) for _ in range(5)] == [True] * 4 + [False]


@pytest.mark.parametrize("n", [-1, -(2**70)])
def test_negative_budget_raises(n: int) -> None:
    with pytest.raises(ValueError, match="budget"):
        Matcher(compiler().compile_regex("a")).set_token_budget(n)


@pytest.mark.parametrize("n", [2**40, 2**64 - 1, 2**64, 2**90])
def test_huge_budget_restricts_nothing(n: int) -> None:
    matcher = Matcher(compiler().compile_regex("a{3,}"))
    matcher.set_token_budget(n)
    assert [matcher.accept_token(ord("a")) for _ in range(50)] == [True] * 50


# What it allows


def test_budget_used_up_leaves_a_complete_text_and_stop_tokens_only() -> None:
    matcher = _schema(type="array", items={"type": "integer"}, minItems=1)
    matcher.set_token_budget(4)

    assert matcher.accept_tokens(b"[") == 1
    assert _tokens(matcher) == {*b"-0123456789", 265}
    assert matcher.accept_tokens(b"7") == 1
    assert _tokens(matcher) == {*b"0123456789]", 265}  # a comma would need a number and a bracket more
    assert matcher.accept_tokens(b"7") == 1
    assert _tokens(matcher) == {ord("]")}
    assert matcher.accept_tokens(b"]") == 1

    assert _tokens(matcher) == {STOP}
    assert matcher.can_terminate()
    assert matcher.accept_token(STOP)


def test_budget_far_away_changes_no_mask() -> None:
    grammar = compiler().compile_json_schema({"type": "object", "additionalProperties": {"type": "string"}})
    free, budgeted = Matcher(grammar), Matcher(grammar)
    budgeted.set_token_budget(1000)
    for byte in b'{"a": "x\\n", "ab": ""}':
        assert fill(budgeted, SIZE) == fill(free, SIZE)
        assert budgeted.accept_token(byte)
        assert free.accept_token(byte)


def test_budget_for_free_text_ends_it_anywhere() -> None:
    free = compiler().compile_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}})
    matcher = Matcher(free)
    matcher.set_token_budget(2)

    assert SPECIAL not in _tokens(matcher)
    assert 0xE6 not in _tokens(matcher)  # three bytes, and there is no token with more of them
    assert matcher.accept_token(ord("x"))
    assert 266 in _tokens(matcher)  # a whole character
    assert 0xC3 not in _tokens(matcher)
    assert matcher.accept_token(ord("x"))
    assert _tokens(matcher) == {STOP}


def test_accept_bytes_counts_as_one_token_and_keeps_to_the_budget() -> None:
    matcher = Matcher(compiler().compile_regex("(abc)+x"))
    matcher.set_token_budget(3)

    assert matcher.accept_bytes(b"abcabc")
    assert not matcher.accept_bytes(b"abcabca")
    assert matcher.accept_bytes(b"abc")
    assert _tokens(matcher) == {ord("x")}


def test_validate_counts_what_the_budget_allows() -> None:
    matcher = Matcher(compiler().compile_regex("a{2,}b"))
    assert matcher.validate_tokens([97] * 20) == 20

    matcher.set_token_budget(5)

    assert matcher.validate_tokens([97] * 20) == 4
    assert matcher.validate_tokens([97, 97, 97, 98, STOP, STOP]) == 5
    assert matcher.validate_tokens([97] * 4 + [98, STOP]) == 6


def test_forced_tokens_stop_where_the_longest_token_is_not_the_shortest_way() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"c", b"d", b"e", b"abc", b"ab", b"cde"])
    matcher = Matcher(Compiler(vocabulary).compile_regex("abcde"))
    assert matcher.forced_tokens() == [5, 3, 4]

    matcher.set_token_budget(2)

    assert matcher.forced_tokens() == []
    assert matcher.forced_bytes() == b"abcde"
    assert fill(matcher, 8)[0] == {6}


def test_batch_and_draft_tree_keep_to_each_budget() -> None:
    grammar = compiler().compile_regex("a{2,}b")
    matchers = [Matcher(grammar) for _ in range(5)]
    for left, matcher in enumerate(matchers[1:], 3):
        matcher.set_token_budget(left)
    bitmask = np.zeros((5, 9), dtype=np.int32)
    fill_bitmask_batch(matchers, bitmask)
    for matcher, row in zip(matchers, bitmask, strict=True):
        assert tokens_of(row) == _tokens(matcher)

    #  0 - 1 a - 2 a - 3 a - 4 a - 5 b - 6 </s>
    #                      \ 7 b
    tokens = [0, 97, 97, 97, 97, 98, STOP, 98]
    child, sibling = [1, 2, 3, 4, 5, 6, -1, -1], [-1, -1, -1, -1, 7, -1, -1, -1]
    found = []
    for matcher in matchers:
        rows = np.zeros((8, 9), dtype=np.int32)
        found.append(matcher.fill_draft_tree(tokens, child, sibling, rows))
        for node, path in enumerate([[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5]]):
            fork = matcher.fork()
            fits = fork.accept_tokens(tokens[i] for i in path) == len(path)
            assert tokens_of(rows[node]) == (_tokens(fork) if fits else frozenset())
    # with a budget of 3, 4, 5 and 6: nodes 0 1 2, and 3 7, and 4 5 6
    assert found == [8, 3, 5, 8, 8]


def _check_every_way(matcher: Matcher, size: int) -> None:
    """Each token that the mask allows is accepted and no other, and every way ends complete."""
    allowed, _ = fill(matcher, size)
    assert allowed == {token for token in range(size) if matcher.validate_tokens([token]) == 1}
    assert allowed or matcher.can_terminate()
    for token in allowed:
        fork = matcher.fork()
        assert fork.accept_token(token)
        _check_every_way(fork, size)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("root ::= a b c d\n", 2),
        ('root ::= a b | "z"\n', 1),
        ('root ::= "z" a b c d\n', 3),
        # from here on a special token may come, and tokens across rules are not counted on
        ('root ::= "<s>" a b | "z"\n', 1),
        ('root ::= "<s>" a b c d\n', 5),
        ('root ::= "z" (a b c d | "<s>" "zzzzzz")\n', 5),
        ('root ::= "a" "z" | "<s>" "z" | a b c d\n', 2),
    ],
)
def test_every_way_ends_where_tokens_cross_the_borders_of_rules(text: str, least: int) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"c", b"d", b"z", b"ab", b"cd", b"bc", b"<s>"], special_token_ids=[8])
    rules = "\n".join(f'{name} ::= "{name}" | "(" {name} ")"' for name in "abcd")  # recursive: they stay rules
    grammar = Compiler(vocabulary).compile_ebnf(text + rules)
    assert Matcher(grammar).least_tokens() == least
    for budget in range(least, least + 6):
        matcher = Matcher(grammar)
        matcher.set_token_budget(budget)
        _check_every_way(matcher, 9)


# What undoes it


def test_budget_of_none_removes_it() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    matcher.set_token_budget(1)
    assert matcher.accept_token(97)
    assert not matcher.accept_token(97)

    matcher.set_token_budget(None)

    assert matcher.accept_token(97)


def test_rollback_gives_tokens_back() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    assert matcher.accept_token(97)
    matcher.set_token_budget(2)
    assert matcher.accept_tokens([97, 97, 97]) == 2

    matcher.rollback(2)

    assert matcher.accept_tokens([97, 97, 97]) == 2


def test_rollback_past_a_stop_token_keeps_the_budget() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    matcher.set_token_budget(2)
    assert matcher.accept_tokens([97, 97, STOP]) == 3
    assert _tokens(matcher) == {STOP}

    matcher.rollback(1)

    assert _tokens(matcher) == {STOP}
    assert not matcher.accept_token(97)


def test_rollback_past_the_place_where_it_was_set_removes_it() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    assert matcher.accept_tokens([97, 97]) == 2
    matcher.set_token_budget(1)
    assert matcher.accept_tokens([97, 97]) == 1

    matcher.rollback(2)

    assert matcher.accept_tokens([97] * 10) == 10


def test_reset_keeps_a_budget_that_was_set_at_the_start_only() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    matcher.set_token_budget(2)
    assert matcher.accept_tokens([97] * 10) == 2
    matcher.reset()
    assert matcher.accept_tokens([97] * 10) == 2

    matcher.rollback(1)
    matcher.set_token_budget(3)
    assert matcher.accept_tokens([97] * 10) == 3
    matcher.reset()

    assert matcher.accept_tokens([97] * 10) == 10


def test_fork_has_a_budget_of_its_own() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    matcher.set_token_budget(3)
    assert matcher.accept_token(97)

    fork = matcher.fork()
    assert matcher.accept_tokens([97] * 10) == 2
    del matcher

    assert fork.accept_tokens([97] * 10) == 2


def test_terminated_matcher_takes_any_budget() -> None:
    matcher = Matcher(compiler().compile_regex("a+"))
    assert matcher.accept_tokens([97, STOP]) == 2

    matcher.set_token_budget(0)

    assert matcher.least_tokens() == 0
    assert _tokens(matcher) == {STOP}
    matcher.rollback(1)
    assert matcher.accept_token(97)


def test_budget_lives_through_collections() -> None:
    own = Compiler(compiler().vocabulary, cache_bytes=1)
    grammar = own.compile_json_schema({"type": "array", "items": {"enum": [True, 12]}, "minItems": 2})
    matcher = Matcher(grammar)
    matcher.set_token_budget(7)
    rows = []
    for byte in b"[12, ":
        own.clear_cache()
        rows.append(_tokens(matcher))
        assert matcher.accept_token(byte)
    matcher.rollback(5)
    again = []
    for byte in b"[12, ":
        again.append(_tokens(matcher))
        assert matcher.accept_token(byte)

    assert rows == again
    assert _tokens(matcher) == {258, 265}
    del matcher, grammar
    own.clear_cache()
    assert own.stats()["rules"] == own.stats()["sets"] == own.stats()["rows"] == 0


def test_limit_of_matching_met_under_a_budget_fails_this_matcher_calmly() -> None:
    limits = Limits(match_items=300_000, match_items_per_token=1)
    own = Compiler(compiler().vocabulary, limits=limits)
    matcher = Matcher(own.compile_regex("((((a{1,100}b?){1,100}c?){1,100}d?){1,100}e?){1,100}"))
    other = Matcher(own.compile_regex("a+"))
    matcher.set_token_budget(2000)
    other.set_token_budget(2)

    steps = 0
    while _tokens(matcher) != {STOP} and matcher.accept_token(ord("a")):
        steps += 1

    assert 0 < steps < 1000
    assert isinstance(matcher.error, LimitError)
    assert _tokens(matcher) == {STOP}
    assert matcher.validate_tokens([ord("a")]) == 0
    assert other.accept_tokens([ord("a")] * 3) == 2
    matcher.rollback(1)
    assert matcher.error is None


# Real tools


def _bfcl_tools(shared: Path, compiler: Compiler, count: int) -> list[Tool]:
    tools: dict[str, Tool] = {}
    with gzip.open(shared / "data" / "bfcl.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            for tool in json.loads(line)["tools"]:
                function = tool.get("function", tool)
                try:
                    compiler.compile_json_schema(function["parameters"])
                except EngineError:
                    continue
                tools.setdefault(function["name"], Tool(function["name"], function["parameters"]))
                if len(tools) == count:
                    return list(tools.values())
    raise AssertionError("too few tools")


def test_random_tokens_of_qwen3_under_any_budget_end_as_valid_calls(shared: Path) -> None:
    path = shared / "tokenizers" / "qwen3" / "tokenizer.json"
    with open(path, encoding="utf-8") as file:
        tokens, special = read_tokens(json.load(file))
    end = tokens.index(b"<|im_end|>")
    own = Compiler(Vocabulary(tokens, special_token_ids=special, stop_token_ids=[end]))
    tools = _bfcl_tools(shared, own, 12)
    for choice in ("required", "auto"):
        tag = build_tag(get_format("qwen3"), tools=tools, tool_choice=choice, reasoning=False)
        assert tag is not None
        grammar = own.compile_structural_tag(tag)
        least = Matcher(grammar).least_tokens()
        assert least is not None
        for budget in (least, least + 1, 2 * least, 2 * least + 40):
            for seed in range(4):
                sampled = _sample(grammar, end, budget, random.Random(f"{budget} {seed}"))
                text = b"".join(tokens[token] for token in sampled)
                assert choice == "auto" or text.startswith(b"<tool_call>")
                for call in text.split(b"<tool_call>")[1:]:
                    arguments, _, _ = call.partition(b"</tool_call>")
                    assert json.loads(arguments.decode())["name"] in {tool.name for tool in tools}


def _sample(grammar: Grammar, end: int, budget: int, rng: random.Random) -> list[int]:
    """Random allowed tokens until only the stop token is left."""
    matcher = Matcher(grammar)
    matcher.set_token_budget(budget)
    row = allocate_bitmask(1, matcher.vocab_size)[0]
    tokens: list[int] = []
    while True:
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if set(allowed[:2]) <= {end}:
            break
        tokens.append(int(rng.choice(allowed[allowed != end])))
        assert matcher.accept_token(tokens[-1])
    assert len(tokens) <= budget
    assert matcher.can_terminate()
    return tokens
