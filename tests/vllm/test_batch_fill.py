"""One batched fill per step gives the rows that vLLM's own loop gives, draft positions and padding included."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from engine_native import Compiler, Matcher, Vocabulary
from tests.vllm.conftest import needs_vllm

pytestmark = needs_vllm

TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"1", b"12", b"<end>"]
END = 8
PATTERNS = ("(ab|bc)*c", "a[bc]{2,5}1?", "12*", "(a|b|c){3}")
MOST_DRAFTS = 4


def world() -> tuple[Any, Any, Any]:
    """(vLLM's manager as far as the loop needs it, our fill on it, the compiler)."""
    import torch
    from vllm.v1.structured_output import StructuredOutputManager

    from server.vllm_plugin.backend import NativeBackend
    from server.vllm_plugin.batch_fill import BatchFill

    vocabulary = Vocabulary(TOKENS, special_token_ids=[END], stop_token_ids=[END])
    manager: Any = object.__new__(StructuredOutputManager)
    manager.vllm_config = SimpleNamespace(
        num_speculative_tokens=MOST_DRAFTS,
        scheduler_config=SimpleNamespace(max_num_seqs=8),
        model_config=SimpleNamespace(is_diffusion=False),
    )
    manager.enable_in_reasoning = False
    manager.reasoner_cls = None
    manager.fill_bitmask_parallel_threshold = 128
    manager._grammar_bitmask = None
    manager._full_mask = torch.tensor(-1, dtype=torch.int32)
    backend: Any = object.__new__(NativeBackend)
    backend.vocab_size = len(TOKENS)
    backend.stats = None
    manager.backend = backend
    return manager, BatchFill(manager, backend), Compiler(vocabulary)


def request(grammar: Any) -> Any:
    state = SimpleNamespace(grammar=grammar, reasoning_ended=True, reasoner=None)
    return SimpleNamespace(structured_output_request=state, use_structured_output=True)


def test_same_rows_as_the_loop_for_random_drafts() -> None:
    import numpy as np

    from server.vllm_plugin.backend import RequestGrammar

    manager, fill, compiler = world()
    dice = random.Random(7)
    differing_rows = 0
    for _ in range(300):
        requests, drafts = {}, {}
        for i in range(dice.randint(1, 8)):
            matcher = Matcher(compiler.compile_regex(dice.choice(PATTERNS)))
            while dice.random() < 0.6 and not matcher.is_terminated():
                matcher.accept_token(dice.randrange(len(TOKENS)))
            requests[f"r{i}"] = request(RequestGrammar(matcher))
            if dice.random() < 0.7:
                wanted = [dice.randrange(len(TOKENS)) for _ in range(dice.randint(1, MOST_DRAFTS))]
                # vLLM only schedules drafts that the grammar allows, then padding.
                valid = matcher.validate_tokens(wanted)
                drafts[f"r{i}"] = wanted[:valid] + [-1] * dice.randint(0, MOST_DRAFTS - valid)
        order = dice.sample(list(requests), len(requests))
        ours = fill(requests, order, drafts).copy()
        theirs = type(manager).grammar_bitmask(manager, requests, order, drafts).copy()
        assert np.array_equal(ours, theirs), (order, drafts)
        differing_rows += len({row.tobytes() for row in ours}) > 1
    assert differing_rows > 100, "the trial hardly tried anything"


def test_a_refused_draft_repeats_the_last_row_and_nothing_moves() -> None:
    from server.vllm_plugin.backend import RequestGrammar

    _, fill, compiler = world()
    matcher = Matcher(compiler.compile_regex("ab1"))
    rows = fill({"r": request(RequestGrammar(matcher))}, ["r"], {"r": [0, 2, 1]})
    bits = [[token for token in range(len(TOKENS)) if row[0] >> token & 1] for row in rows]
    assert bits == [[0, 3], [1], [1], [1]]
    assert matcher.accept_tokens([3, 6, END]) == 3


def test_no_requests_no_rows() -> None:
    _, fill, _ = world()
    assert fill({}, [], {}) is None


def test_terminated_requests_are_unconstrained() -> None:
    from server.vllm_plugin.backend import RequestGrammar

    _, fill, compiler = world()
    grammar = RequestGrammar(Matcher(compiler.compile_regex("a")))
    assert grammar.accept_tokens("r", [0, END])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("r", [1]), "tokens after the end are ignored"
    assert fill({"r": request(grammar)}, ["r"], {}).tolist() == [[-1]]
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert fill({"r": request(grammar)}, ["r"], {}).tolist() == [[1 << END]]
    assert not grammar.accept_tokens("r", [1])
    assert grammar.validate_tokens([END, 1]) == [END]
    grammar.reset()
    assert grammar.validate_tokens([0, END]) == [0, END]


@pytest.mark.parametrize(
    ("kind", "text", "good", "bad"),
    [
        ("JSON", '{"enum":["abc"]}', b'"abc"', b'"ab"'),
        ("JSON_OBJECT", "", b"{}", b"[]"),
        ("REGEX", "a+", b"aa", b"b"),
        ("GRAMMAR", 'root ::= "a" | "bc"', b"bc", b"ab"),
        ("GRAMMAR", 'start: "a" | "bc"', b"bc", b"ab"),
        ("CHOICE", '["ab", "c"]', b"ab", b"a"),
        ("STRUCTURAL_TAG", '{"type":"structural_tag","format":{"type":"const_string","value":"abc"}}', b"abc", b"ab"),
    ],
)
def test_every_kind_of_vllm_compiles(kind: str, text: str, good: bytes, bad: bytes) -> None:
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    from server.vllm_plugin.backend import compile_text

    compiler = Compiler(Vocabulary([bytes([b]) for b in range(256)]))
    grammar = compile_text(compiler, StructuredOutputOptions[kind], text)
    for data, complete in ((good, True), (bad, False)):
        matcher = Matcher(grammar, stop_token_ids=[])
        assert (matcher.accept_bytes(data) and matcher.can_terminate()) == complete
