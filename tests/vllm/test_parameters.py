"""Parameters of chat requests in the real engine: each does what it says, under a grammar and without."""

from __future__ import annotations

import math
from typing import Any

import pytest

from server.engines.base import PromptError, TemplateOptions
from tests.vllm.conftest import Choice, LiveEngine, needs_vllm

pytestmark = needs_vllm

TAG = '{"type":"structural_tag","format":{"type":"regex","pattern":"[ab]{24}"}}'


def one(live: LiveEngine, prompt: str, tag: str | None = None, **sampling: Any) -> Choice:
    ((choice,),) = live.generate(live.request(prompt, tag, **{"temperature": 0.0, **sampling}))
    return choice


def test_penalties_change_the_choice_of_tokens_and_keep_to_the_mask(live: LiveEngine) -> None:
    plain = one(live, "Say ab.", TAG)
    for penalty in ({"frequency_penalty": 2.0}, {"presence_penalty": 2.0}, {"repetition_penalty": 5.0}):
        text = one(live, "Say ab.", TAG, **penalty).text
        assert len(text) == 24
        assert set(text) <= {"a", "b"}
    assert one(live, "Say ab.", TAG, frequency_penalty=2.0).text != plain.text


def test_top_k_and_min_p_of_one_are_greedy(live: LiveEngine) -> None:
    greedy = one(live, "Tell me a story.", max_tokens=12)
    for narrow in ({"top_k": 1}, {"min_p": 1.0}):
        assert one(live, "Tell me a story.", temperature=1.5, max_tokens=12, **narrow).token_ids == greedy.token_ids


def test_stop_string_stays_in_the_text_on_request(live: LiveEngine) -> None:
    tag = '{"type":"structural_tag","format":{"type":"const_string","value":"one two three"}}'
    assert one(live, "Count.", tag, stop=(" two",)).text == "one"
    assert one(live, "Count.", tag, stop=(" two",), include_stop_str_in_output=True).text == "one two"


def test_ignore_eos_goes_on_up_to_the_limit(live: LiveEngine) -> None:
    choice = one(live, "Say yes.", ignore_eos=True, max_tokens=60)
    assert (len(choice.token_ids), choice.finish_reason) == (60, "length")


def test_prompt_logprobs_come_once_for_every_token_but_the_first(live: LiveEngine) -> None:
    request = live.request("Count to ten.", prompt_logprobs=2, max_tokens=3)
    deltas = live.run(collect(live, request))

    (told,) = [delta.prompt_logprobs for delta in deltas if delta.prompt_logprobs is not None]
    assert told[0] is None
    assert [token.id for token in told[1:] if token is not None] == list(request.prompt_token_ids[1:])
    for token in told[1:]:
        assert token is not None
        assert math.isfinite(token.logprob)
        assert len(token.top) == 2
        assert token.rank is not None
        assert (token.rank == 1) == (token.top[0].id == token.id)


def test_cached_tokens_are_those_of_prompts_with_the_same_salt(live: LiveEngine) -> None:
    prompt = "Tell me about the sea. " * 60
    counts = []
    for salt in ("a", "a", "b"):
        request = live.request(prompt, max_tokens=1)
        salted = type(request)(**{**request.__dict__, "cache_salt": salt})
        counts.append(max(delta.cached_tokens for delta in live.run(collect(live, salted))))
    assert counts[0] == counts[2] == 0
    assert counts[1] > 0


def test_conversation_goes_on_inside_of_the_last_message(live: LiveEngine) -> None:
    messages = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "one, two"}]
    template = TemplateOptions(generation_prompt=False, continue_final_message=True)
    prompt = live.engine.render_chat(messages, None, reasoning=False, template=template)

    assert live.engine.text_of(prompt).endswith("one, two")
    with pytest.raises(PromptError):
        live.engine.render_chat([*messages[:1], {"role": "tool"}], None, reasoning=False, template=template)


def test_text_and_tokens_lead_to_each_other(live: LiveEngine) -> None:
    text = "Île, naïve <|im_end|>"
    ids = live.engine.encode(text, special_tokens=False)

    assert live.engine.text_of(ids) == text
    assert len(live.engine.names_of(ids)) == len(ids)
    assert live.engine.names_of(ids)[-1] == "<|im_end|>"


async def collect(live: LiveEngine, request: Any) -> list[Any]:
    return [delta async for delta in live.engine.generate(request)]
