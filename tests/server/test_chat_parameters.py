"""What each parameter of a chat request changes: in the prompt, in the engine's options, in the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.engines.scripted import END, Script
from tests.server.bodies import JSON_SCHEMA_FORMAT, MESSAGES, TOOLS, body
from tests.server.running import PHRASES, running

pytestmark = pytest.mark.anyio

BEGUN = [*MESSAGES, {"role": "assistant", "content": "It is"}]


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("top_k", 7, 7),
        ("top_k", -1, 0),
        ("min_p", 0.25, 0.25),
        ("presence_penalty", -2, -2),
        ("frequency_penalty", 1.5, 1.5),
        ("repetition_penalty", 1.2, 1.2),
        ("include_stop_str_in_output", True, True),
        ("prompt_logprobs", 3, 3),
        ("seed", 5, 5),
        ("n", 2, 2),
        ("min_tokens", 3, 3),
    ],
)
async def test_sampling_parameter_reaches_the_engine(name: str, value: Any, taken: Any) -> None:
    async with running() as server:
        response = await server.chat(**body(**{name: value}))
        await server.chat(**body())

    assert response.status_code == 200
    with_it, without = (request.sampling for request in server.engine.requests)
    assert getattr(with_it, name) == taken
    assert getattr(without, name) != taken or name in ("seed", "n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top_k", -2),
        ("min_p", 1.1),
        ("presence_penalty", 2.1),
        ("frequency_penalty", -2.1),
        ("repetition_penalty", 0),
        ("prompt_logprobs", -1),
        ("prompt_logprobs", 21),
        ("truncate_prompt_tokens", 0),
        ("truncate_prompt_tokens", -2),
        ("cache_salt", ""),
        ("cache_salt", "a/b"),
        ("cache_salt", "x" * 129),
        ("priority", 1 << 31),
        ("min_tokens", -1),
        ("verbosity", "loud"),
        ("metadata", "x"),
        ("user", 3),
        ("documents", {}),
        ("use_beam_search", True),
        ("best_of", 2),
        ("chat_template", "{{ messages }}"),
        ("regex", "[0-9]+"),
        ("function_call", "auto"),
    ],
)
async def test_value_out_of_range_is_a_400_with_the_param(name: str, value: Any) -> None:
    async with running() as server:
        response = await server.chat(**body(**{name: value}))

    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == name
    assert server.engine.requests == []


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ({"messages": BEGUN, "continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
        ({"continue_final_message": True}, "continue_final_message"),
        ({"messages": BEGUN, "continue_final_message": True, "reasoning_effort": "high"}, "continue_final_message"),
        ({"ignore_eos": True, "response_format": JSON_SCHEMA_FORMAT}, "ignore_eos"),
        ({"ignore_eos": True, "tools": TOOLS}, "ignore_eos"),
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens"),
    ],
)
async def test_parameters_that_exclude_each_other_are_a_400(changes: dict[str, Any], param: str) -> None:
    async with running() as server:
        response = await server.chat(**body(**changes))

    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param


async def test_priority_is_a_400_where_the_engine_has_none() -> None:
    async with running() as server:
        taken = await server.chat(**body(priority=-3))
        server.engine.has_priorities = False
        refused = await server.chat(**body(priority=-3))
        neutral = await server.chat(**body(priority=0))

    assert [taken.status_code, refused.status_code, neutral.status_code] == [200, 400, 200]
    assert refused.json()["error"]["param"] == "priority"
    assert [request.priority for request in server.engine.requests] == [-3, 0]


async def test_answer_goes_on_with_the_last_message_and_repeats_it_on_echo() -> None:
    async with running(Script(text=" sunny.")) as server:
        request = body(messages=BEGUN, continue_final_message=True)
        plain = await server.single(**_official(request))
        echoed = await server.single(**_official({**request, "echo": True}))
        streamed = await server.folded(**_official({**request, "echo": True}))

    assert server.engine.prompts[0].endswith("assistant: It is")
    assert plain["choices"][0]["content"] == " sunny."
    assert echoed["choices"][0]["content"] == streamed["choices"][0]["content"] == "It is sunny."


async def test_continued_answer_keeps_its_constraint() -> None:
    async with running(tool_format="qwen3") as server:
        request = body(messages=BEGUN, continue_final_message=True, response_format=JSON_SCHEMA_FORMAT)
        message = (await server.chat(**request)).json()["choices"][0]["message"]

    assert "city" in json.loads(message["content"])


async def test_prompt_is_made_as_the_request_says() -> None:
    async with running() as server:
        await server.chat(
            **body(
                documents=[{"title": "t"}],
                chat_template_kwargs={"persona": "pirate"},
                reasoning_effort="low",
                add_special_tokens=True,
            )
        )
        await server.chat(**body(add_generation_prompt=False))

    first, second = server.engine.prompts
    assert first.startswith("document: {'title': 't'}\n") or "document: {'title': 't'}\n" in first
    assert "persona: pirate\n" in first
    assert "reasoning_effort: low\n" in first
    assert server.engine.requests[0].prompt_token_ids[0] == END
    assert second == "user: What is the weather in Paris?\n"


@pytest.mark.parametrize(("most", "kept"), [(5, 5), (-1, 39), (10_000, 47)])
async def test_prompt_is_cut_at_its_beginning(most: int, kept: int) -> None:
    async with running(max_model_len=60) as server:
        limit = 13 if most == 10_000 else 21
        response = await server.chat(**body(truncate_prompt_tokens=most, max_tokens=limit))

    assert response.status_code == 200, response.text
    (request,) = server.engine.requests
    assert len(request.prompt_token_ids) == kept
    assert bytes(request.prompt_token_ids).endswith(b"assistant: "[-kept:])


async def test_cache_salt_reaches_the_engine() -> None:
    async with running() as server:
        await server.chat(**body(cache_salt="tenant-7"))

    assert server.engine.requests[0].cache_salt == "tenant-7"


async def test_stop_string_is_part_of_the_text_on_request() -> None:
    async with running(Script(text="one two three")) as server:
        kept = (await server.chat(**body(stop="two", include_stop_str_in_output=True))).json()
        cut = (await server.chat(**body(stop="two"))).json()

    assert kept["choices"][0]["message"]["content"] == "one two"
    assert cut["choices"][0]["message"]["content"] == "one "


async def test_ignore_eos_goes_on_up_to_the_limit() -> None:
    async with running(Script(text="abc")) as server:
        choice = (await server.chat(**body(ignore_eos=True, max_tokens=8))).json()["choices"][0]

    assert (choice["message"]["content"], choice["finish_reason"]) == ("abcabcab", "length")


async def test_special_tokens_are_left_out_only_where_nothing_is_told_by_them() -> None:
    async with running() as server:
        await server.chat(**body())
        await server.chat(**body(skip_special_tokens=False))
        await server.chat(**body(tools=TOOLS, skip_special_tokens=True))

    assert [request.sampling.skip_special_tokens for request in server.engine.requests] == [True, False, False]


async def test_prompt_logprobs_are_told_by_token() -> None:
    async with running() as server:
        answer = (await server.chat(**body(prompt_logprobs=1))).json()

    told = answer["prompt_logprobs"]
    assert len(told) == answer["usage"]["prompt_tokens"]
    assert told[0] is None
    second = told[1][str(ord("s"))]
    assert (second["decoded_token"], second["rank"]) == ("s", 1)
    assert second["logprob"] < 0


async def test_token_ids_are_returned_streamed_or_not() -> None:
    async with running(Script(text="ab")) as server:
        answer = (await server.chat(**body(return_token_ids=True))).json()
        response = await server.chat(**body(return_token_ids=True, stream=True))

    prompt = list(server.engine.requests[0].prompt_token_ids)
    assert answer["prompt_token_ids"] == prompt
    assert answer["choices"][0]["token_ids"] == [ord("a"), ord("b"), END]
    chunks = [json.loads(event.removeprefix("data: ")) for event in response.text.split("\n\n")[:-2]]
    assert [chunk.get("prompt_token_ids") for chunk in chunks] == [prompt] + [None] * (len(chunks) - 1)
    sent = [token for chunk in chunks for token in chunk["choices"][0].get("token_ids", ())]
    assert sent == [ord("a"), ord("b"), END]


async def test_tokens_of_logprobs_are_told_by_id_on_request() -> None:
    async with running(Script(text="a")) as server:
        request = body(logprobs=True, top_logprobs=1, return_tokens_as_token_ids=True)
        first = (await server.chat(**request)).json()["choices"][0]["logprobs"]["content"][0]

    assert first["token"] == "token_id:97"
    assert first["top_logprobs"][0]["token"] == "token_id:0"


async def test_usage_is_told_in_every_event_on_request() -> None:
    async with running(Script(text="ab")) as server:
        options = {"include_usage": True, "continuous_usage_stats": True, "include_obfuscation": True}
        response = await server.chat(**body(stream=True, stream_options=options))

    chunks = [json.loads(event.removeprefix("data: ")) for event in response.text.split("\n\n")[:-2]]
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 3)


async def test_reasoning_is_left_out_on_request_and_its_tokens_are_counted() -> None:
    async with running(Script(phrases=PHRASES), tool_format="qwen3") as server:
        request = body(tools=TOOLS, tool_choice="required", reasoning_effort="high", max_tokens=4000, seed=3)
        shown = (await server.chat(**request)).json()
        hidden = (await server.chat(**request, include_reasoning=False)).json()
        streamed = (await server.chat(**request, include_reasoning=False, stream=True)).text

    thought = shown["choices"][0]["message"]["reasoning"]
    assert "reasoning" not in hidden["choices"][0]["message"]
    assert "reasoning" not in streamed
    assert hidden["usage"] == shown["usage"]
    # Tokens are bytes here: the thought, the mark that ends it, and the line breaks around both.
    count = shown["usage"]["completion_tokens_details"]["reasoning_tokens"]
    marks = len(thought.encode()) + len("<think>") + len("</think>")
    assert marks <= count <= marks + 4


async def test_cached_tokens_are_told() -> None:
    async with running() as server:
        usage = (await server.chat(**body())).json()["usage"]

    assert usage["prompt_tokens_details"] == {"cached_tokens": usage["prompt_tokens"] // 2}


async def test_reasoning_limit_of_vllm_is_the_same_as_ours() -> None:
    async with running(Script(phrases=PHRASES), tool_format="qwen3") as server:
        both = [
            (await server.chat(**body(reasoning_effort="high", seed=2, **{name: 3}))).json()["choices"][0]["message"]
            for name in ("max_reasoning_tokens", "thinking_token_budget")
        ]

    assert both[0] == both[1]
    assert len(both[0].get("reasoning", "")) <= 3


def _official(request: dict[str, Any]) -> dict[str, Any]:
    """Extensions move to where the official client takes them."""
    known = ("model", "messages", "seed")
    extra = {name: value for name, value in request.items() if name not in known}
    return {**{name: request[name] for name in known}, "extra_body": extra}
