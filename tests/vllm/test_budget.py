"""Token budgets through real vLLM: whole at max_tokens, for every choice, after a preemption, and with drafts."""

from __future__ import annotations

import contextlib
import json
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from engine_native import Compiler, Matcher, Vocabulary
from server.engines.base import EngineError, GenerationRequest
from tests.vllm.conftest import Choice, LiveEngine, needs_vllm
from tests.vllm.tags import CITY, schema, tag

pytestmark = needs_vllm

OPEN = {
    "type": "object",
    "properties": {"story": {"type": "string"}, "done": {"type": "boolean"}},
    "required": ["story", "done"],
    "additionalProperties": False,
}


def whole(request: GenerationRequest) -> GenerationRequest:
    return replace(request, complete_within_budget=True)


def least(live: LiveEngine, text: str) -> int:
    found = Matcher(Compiler(live.engine.vocabulary).compile_structural_tag(text)).least_tokens()
    assert found is not None
    return found


def check(choice: Choice, wanted: dict[str, Any], most: int) -> None:
    assert choice.finish_reason == "stop", choice
    assert len(choice.token_ids) <= most
    jsonschema.validate(json.loads(choice.text), wanted)


def test_choices_are_whole_at_any_number_of_tokens_that_is_enough(live: LiveEngine) -> None:
    wanted = schema(OPEN)
    fewest = least(live, wanted) + 1
    sizes = [fewest, fewest + 1, fewest + 2, fewest + 5, fewest + 12]
    requests = [live.request("Tell me a long story.", wanted, max_tokens=size, n=2) for size in sizes]
    for size, choices in zip(sizes, live.generate(*map(whole, requests)), strict=True):
        for choice in choices:
            check(choice, OPEN, size)
    cut = [choice for choices in live.generate(*requests) for choice in choices if choice.finish_reason == "length"]
    assert cut, "without a budget nothing was cut, so nothing was shown"


def test_the_room_left_by_the_prompt_is_the_budget_without_max_tokens(live: LiveEngine) -> None:
    wanted = schema(OPEN)
    room = least(live, wanted) + 3
    prompt = (5,) * (live.engine.max_model_len - room)
    [[choice]] = live.generate(whole(live.request(prompt, wanted, max_tokens=None)))
    check(choice, OPEN, room)


def test_a_preempted_request_keeps_its_budget(live: LiveEngine) -> None:
    request = whole(live.request("Tell me a long story.", schema(OPEN), max_tokens=60))

    async def interrupted() -> Choice:
        choice = Choice()
        assert live.engine._llm is not None
        async for delta in live.engine.generate(request):
            choice.add(delta)
            if len(choice.token_ids) in (10, 30, 50):
                assert await live.engine._llm.reset_prefix_cache(reset_running_requests=True)
        return choice

    before = live.metric("vllm:num_preemptions_total")
    check(live.run(interrupted()), OPEN, 60)
    assert live.metric("vllm:num_preemptions_total") > before


def test_too_few_tokens_fail_their_request_only(live: LiveEngine) -> None:
    # The front end refuses them; here they reach the engine process all the same.
    bad = whole(live.request("Hello", tag({"type": "regex", "pattern": "[0-9]{60}"}), max_tokens=5))

    async def reason() -> str | None:
        found = None
        async for delta in live.engine.generate(bad):
            found = delta.finish_reason
        return found

    with contextlib.suppress(EngineError):
        assert live.run(reason()) == "error"
    [[choice]] = live.generate(whole(live.request("The weather?", schema(CITY))))
    check(choice, CITY, 64)


TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"<end>"]
END = 6
PATTERNS = ("(ab|bc)*c", "a[bc]{2,9}", "(a|b){3}c*", "[abc]*abc")


def world() -> Any:
    """As much of vLLM's manager as makes grammars and rows, with our parts in it."""
    from vllm.v1.structured_output import StructuredOutputManager

    from server.vllm_plugin.backend import NativeBackend, RequestGrammar
    from server.vllm_plugin.batch_fill import BatchFill
    from server.vllm_plugin.budget import CreateGrammar

    compiler = Compiler(world_vocabulary())
    manager: Any = object.__new__(StructuredOutputManager)
    manager.vllm_config = SimpleNamespace(
        num_speculative_tokens=4,
        scheduler_config=SimpleNamespace(max_num_seqs=8),
        model_config=SimpleNamespace(is_diffusion=False, max_model_len=20),
    )
    manager.enable_in_reasoning = False
    manager.reasoner_cls = None
    backend: Any = object.__new__(NativeBackend)
    backend.vocab_size, backend.stats = len(TOKENS), None
    manager._create_grammar = lambda request: RequestGrammar(Matcher(compiler.compile_regex(request.pattern)))
    manager._create_grammar = CreateGrammar(manager)
    manager.grammar_bitmask = BatchFill(manager, backend)
    return manager


def asking(pattern: str, *, max_tokens: int, extra: dict[str, Any] | None, prompt: int = 3) -> Any:
    return SimpleNamespace(
        request_id="r",
        pattern=pattern,
        max_tokens=max_tokens,
        num_prompt_tokens=prompt,
        prompt_token_ids=[0] * prompt,
        sampling_params=SimpleNamespace(extra_args=extra),
        structured_output_request=SimpleNamespace(reasoning_ended=True, reasoner=None),
        use_structured_output=True,
    )


WISH = {"complete_within_budget": True}


@pytest.mark.parametrize(
    ("max_tokens", "extra", "prompt", "expected"),
    [
        (9, WISH, 3, 8),
        (30, WISH, 3, 16),
        (9, WISH, 19, 0),
        (9, {"complete_within_budget": 0}, 3, None),
        (9, None, 3, None),
    ],
)
def test_budget_is_what_the_request_may_write_before_its_stop_token(
    max_tokens: int, extra: dict[str, Any] | None, prompt: int, expected: int | None
) -> None:
    from server.vllm_plugin.budget import content_tokens

    assert content_tokens(asking("a", max_tokens=max_tokens, extra=extra, prompt=prompt), 20) == expected


def test_rows_of_drafts_keep_to_what_is_left_at_each_of_them() -> None:
    manager, compiler = world(), Compiler(world_vocabulary())
    dice = random.Random(3)
    restricted = 0
    for _ in range(300):
        request = asking(dice.choice(PATTERNS), max_tokens=dice.randint(5, 8), extra=WISH)
        request.structured_output_request.grammar = manager._create_grammar(request)
        matcher = request.structured_output_request.grammar.matcher
        free = Matcher(compiler.compile_regex(request.pattern))
        budget = request.max_tokens - 1
        while dice.random() < 0.6 and not matcher.is_terminated():
            token = dice.randrange(len(TOKENS))
            if matcher.accept_token(token):
                assert free.accept_token(token)
                budget -= token != END
        wanted = [dice.randrange(len(TOKENS)) for _ in range(4)]
        drafts = wanted[: matcher.validate_tokens(wanted)]
        rows = manager.grammar_bitmask({"r": request}, ["r"], {"r": drafts})
        for i, row in enumerate(rows):
            if free.is_terminated():
                assert row[0] == -1
                break
            allowed = {token for token in range(len(TOKENS)) if row[0] >> token & 1}
            assert allowed == {token for token in range(len(TOKENS)) if fits(free, token, budget)}
            restricted += allowed != {token for token in range(len(TOKENS)) if free.validate_tokens([token])}
            if i < len(drafts):
                assert free.accept_token(drafts[i])
                budget -= drafts[i] != END
    assert restricted > 50, "the budgets hardly ever mattered"


def world_vocabulary() -> Vocabulary:
    return Vocabulary(TOKENS, special_token_ids=[END], stop_token_ids=[END])


def fits(free: Matcher, token: int, left: int) -> bool:
    """Whether the token is allowed and what then is missing fits in what is left after it."""
    after = free.fork()
    if not after.accept_token(token):
        return False
    least = 0 if token == END else after.least_tokens()
    return token == END or (least is not None and least < left)


def test_reset_keeps_the_budget() -> None:
    grammar = world()._create_grammar(asking("[ab]{0,9}", max_tokens=3, extra=WISH))
    for _ in range(2):
        assert grammar.validate_tokens([0, 0, 0]) == [0, 0]
        assert grammar.accept_tokens("r", [0, 0, END])
        grammar.reset()


def test_a_grammar_that_begins_after_vllms_reasoning_takes_no_budget() -> None:
    manager = world()
    manager.reasoner_cls = lambda tokenizer: SimpleNamespace(is_reasoning_end=lambda ids: False)
    manager.tokenizer = None
    request = asking("a", max_tokens=5, extra=WISH)
    request.structured_output_request.reasoning_ended = None
    request.structured_output_request.reasoning_parser_kwargs = None

    with pytest.raises(ValueError, match="reasoning parser"):
        manager._create_grammar(request)
    assert manager._create_grammar(asking("a", max_tokens=5, extra=None)).matcher is not None
