"""Generation through real vLLM: what the Engine protocol promises, with and without a grammar."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import jsonschema
import pytest

from server.engines.base import LOGPROB_FLOOR, EngineError, PromptError
from tests.vllm.conftest import TRIPWIRES, LiveEngine
from tests.vllm.tags import CITY, schema, tag

OTHER_ENGINES = ("xgrammar", "llguidance", "outlines", "outlines_core", "lmformatenforcer")


def test_masks_come_from_our_engine_and_from_no_other(live: LiveEngine) -> None:
    filled = live.metric("strictserve_mask_fill_seconds_count", engine="0")
    [[choice]] = live.generate(live.request("The weather?", schema(CITY)))
    jsonschema.validate(json.loads(choice.text), CITY)
    assert live.metric("strictserve_mask_fill_seconds_count", engine="0") >= filled + len(choice.token_ids)
    assert live.engine._llm is not None
    for worker in live.run(live.engine._llm.collective_rpc("mask_application")):
        assert worker["ours"]
        found = {name: worker["modules"][name] for name in OTHER_ENGINES if name in worker["modules"]}
        # vLLM imports two of them by itself; what it got are the stand-ins, which raise when they are used.
        assert set(found) <= {"xgrammar", "llguidance"}
        assert all(str(file).startswith(str(TRIPWIRES)) for file in found.values()), found


def test_free_text_is_not_constrained_and_a_seed_repeats_it(live: LiveEngine) -> None:
    first, again, other = live.generate(
        live.request("Tell me a story.", seed=5, max_tokens=20),
        live.request("Tell me a story.", seed=5, max_tokens=20),
        live.request("Tell me a story.", seed=6, max_tokens=20),
    )
    assert first == again
    assert first != other


def test_ends_with_the_stop_token_when_the_grammar_is_complete(live: LiveEngine) -> None:
    [[choice]] = live.generate(live.request("The weather?", schema(CITY)))
    end = live.engine._tokenizer.eos_token_id
    assert (choice.finish_reason, choice.token_ids[-1]) == ("stop", end)
    assert choice.text == choice.text.strip()
    assert end not in choice.token_ids[:-1]


def test_choices_share_one_compiled_grammar(live: LiveEngine) -> None:
    def compiled(kind: str) -> float:
        return live.metric(f"strictserve_engine_cache_{kind}_total", engine="0", level="grammar")

    hits, misses = compiled("hits"), compiled("misses")
    wanted = tag({"type": "regex", "pattern": "[0-9]{3}-[a-c]{4}"})
    [choices] = live.generate(live.request("A code, please.", wanted, n=3))
    assert len({choice.text for choice in choices}) > 1
    for choice in choices:
        assert choice.finish_reason == "stop"
        assert len(choice.text) == 8
        assert choice.text[3] == "-"
    assert (compiled("hits") - hits, compiled("misses") - misses) == (2, 1)


def test_max_tokens_truncates(live: LiveEngine) -> None:
    [[choice]] = live.generate(live.request("Count.", tag({"type": "regex", "pattern": "[0-9]{60}"}), max_tokens=7))
    assert (choice.finish_reason, len(choice.token_ids)) == ("length", 7)
    assert choice.text.isdigit()


def test_stop_string_ends_a_choice_and_is_not_part_of_it(live: LiveEngine) -> None:
    wanted = tag({"type": "const_string", "value": "one two STOP three"})
    [[choice]] = live.generate(live.request("Say it.", wanted, stop=("STOP",)))
    assert (choice.text, choice.finish_reason, choice.stop_reason) == ("one two ", "stop", "STOP")


def test_special_tokens_are_part_of_the_text(live: LiveEngine) -> None:
    wanted = tag({"type": "const_string", "value": "a<|im_start|>b"})
    [[choice]] = live.generate(live.request("Say it.", wanted))
    assert choice.text == "a<|im_start|>b"
    assert live.engine._tokenizer.convert_tokens_to_ids("<|im_start|>") in choice.token_ids


def test_logprobs_have_bytes_and_no_infinities(live: LiveEngine) -> None:
    [[choice]] = live.generate(live.request("The weather?", schema(CITY), logprobs=3))
    assert len(choice.logprobs) == len(choice.token_ids)
    assert b"".join(entry.bytes for entry in choice.logprobs[:-1]).decode() == choice.text
    for entry in choice.logprobs:
        assert LOGPROB_FLOOR <= entry.logprob <= 0
        assert len(entry.top) == 3
        assert [other.logprob for other in entry.top] == sorted((o.logprob for o in entry.top), reverse=True)
    # At the end only the stop token is left: the mask has given the others minus infinity.
    assert [other.logprob for other in choice.logprobs[-1].top] == [0.0, LOGPROB_FLOOR, LOGPROB_FLOOR]


def test_a_tag_that_does_not_compile_fails_its_request_only(live: LiveEngine) -> None:
    # The front end refuses such a tag; here it reaches the engine process all the same.
    bad = live.request("Hello", tag({"type": "regex", "pattern": "("}))

    async def run_bad() -> str | None:
        reason = None
        async for delta in live.engine.generate(bad):
            reason = delta.finish_reason
        return reason

    try:
        reason = live.run(run_bad())
    except EngineError:
        reason = "error"
    assert reason == "error"
    [[choice]] = live.generate(live.request("The weather?", schema(CITY)))
    assert choice.finish_reason == "stop"


def test_closing_the_generator_frees_the_request(live: LiveEngine) -> None:
    async def read_one_delta() -> int:
        deltas = live.engine.generate(live.request("Count.", max_tokens=2000, n=2))
        await anext(deltas)
        await deltas.aclose()
        assert live.engine._llm is not None
        return live.engine._llm.get_num_unfinished_requests()

    assert live.run(read_one_delta()) == 0
    live.generate(live.request("One more.", max_tokens=3))
    assert live.metric("vllm:num_requests_running") == 0


def test_a_prompt_that_leaves_no_room_is_the_clients_error(live: LiveEngine) -> None:
    too_long = (5,) * live.engine.max_model_len

    async def ask() -> None:
        async for _ in live.engine.generate(live.request(too_long)):
            pytest.fail("something was generated")

    with pytest.raises(PromptError, match=f"the prompt has {len(too_long)} tokens"):
        live.run(ask())


def test_omitted_max_tokens_fills_the_context(live: LiveEngine) -> None:
    room = 9
    prompt = (5,) * (live.engine.max_model_len - room)
    wanted = tag({"type": "regex", "pattern": "[a-z]{40}"})
    [[choice]] = live.generate(live.request(prompt, wanted, max_tokens=None))
    assert (choice.finish_reason, len(choice.token_ids)) == ("length", room)


def test_a_seed_holds_while_a_long_prompt_is_prefilled_in_pieces(live: LiveEngine) -> None:
    assert live.engine._llm is not None
    piece = live.engine._llm.vllm_config.scheduler_config.max_num_batched_tokens
    prompt = live.prompt("Tell me a story. " * 220)
    assert piece < len(prompt) < live.engine.max_model_len - 20
    [alone] = live.generate(live.request(prompt, seed=3, max_tokens=8))
    # The prefix is cached now, so that nothing is left to cut: the same seed must give the same answer.
    [again] = live.generate(live.request(prompt, seed=3, max_tokens=8))
    assert alone == again


def test_messages_that_the_template_refuses_are_the_clients_error(live: LiveEngine) -> None:
    live.engine._template, kept = "{{ raise_exception('no roles today') }}", live.engine._template
    try:
        with pytest.raises(PromptError, match="no roles today"):
            live.prompt("Hello")
    finally:
        live.engine._template = kept


def test_health_and_metrics_while_running(live: LiveEngine) -> None:
    assert live.engine.is_healthy()
    live.generate(*(live.request("The weather?", schema(CITY)) for _ in range(4)))
    steps = live.metric("strictserve_mask_rows_count", engine="0")
    assert 0 < steps < live.metric("strictserve_mask_rows_sum", engine="0")
    assert live.metric("strictserve_mask_fill_seconds_sum", engine="0") > 0
    assert live.metric("strictserve_engine_compile_seconds_count", engine="0") >= 4
    assert live.metric("strictserve_engine_grammars_alive", engine="0") >= 1
    assert live.metric("strictserve_engine_cache_bytes", engine="0") > 0


def test_generate_before_start_is_unavailable(model_directory: object) -> None:
    from server.engines.base import EngineUnavailable, GenerationRequest, SamplingOptions
    from server.engines.vllm import VllmEngine
    from server.settings import Settings

    engine = VllmEngine(Settings.model_validate({"model": {"path": str(model_directory)}}))
    assert not engine.is_healthy()

    async def ask() -> None:
        await anext(engine.generate(GenerationRequest("x", (1,), SamplingOptions())))

    with pytest.raises(EngineUnavailable):
        asyncio.run(ask())


@pytest.mark.parametrize("name", ["scheduler_cls", "worker_cls", "model"])
def test_settings_cannot_take_the_masks_away(name: str, model_directory: object) -> None:
    from server.engines.base import EngineUnavailable
    from server.engines.vllm import VllmEngine
    from server.settings import Settings

    engine = VllmEngine(Settings.model_validate({"model": {"path": str(model_directory)}, "vllm": {name: "x"}}))
    with pytest.raises(EngineUnavailable, match=rf"\[vllm\] must not set {name}"):
        asyncio.run(engine.start())


@pytest.fixture(autouse=True)
def nothing_is_left_running(live: LiveEngine) -> Iterator[None]:
    yield
    assert not live.engine._running
