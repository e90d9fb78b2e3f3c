"""What a good request gets back, and that streaming changes nothing but the pace."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from server.engines.scripted import Script
from tests.server.bodies import (
    ANSWER_TAG,
    JSON_SCHEMA_FORMAT,
    LEGACY_TAG,
    NAMED,
    SCHEMAS,
    TOOLS,
    WEATHER_SCHEMA,
    body,
)
from tests.server.running import PHRASES, running

pytestmark = pytest.mark.anyio

SPOKEN = Script(text="Grüße, 世界 🙂!", phrases=PHRASES)


async def test_plain_text_answer_has_openais_shape() -> None:
    async with running(SPOKEN) as server:
        answer = (await server.chat(**body())).json()

    prompt = len(server.engine.prompts[0].encode("utf-8"))
    tokens = len(SPOKEN.text.encode("utf-8")) + 1
    assert re.fullmatch(r"chatcmpl-[0-9a-f]{32}", answer.pop("id"))
    assert isinstance(answer.pop("created"), int)
    assert re.fullmatch(r"fp_[0-9a-f]{12}", answer.pop("system_fingerprint"))
    assert answer == {
        "object": "chat.completion",
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": SPOKEN.text, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": prompt + tokens,
            "prompt_tokens_details": {"cached_tokens": prompt // 2},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


async def test_stream_sends_role_then_text_then_finish_then_usage_then_done() -> None:
    async with running(Script(text="ab")) as server:
        response = await server.chat(
            **body(stream=True, stream_options={"include_usage": True, "include_obfuscation": False})
        )

    assert response.headers["content-type"].startswith("text/event-stream")
    *events, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 3
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    assert choices[0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert [choice["delta"] for choice in choices[1:-1]] == [{"content": "a"}, {"content": "b"}]
    assert choices[-1]["delta"] == {}
    assert [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
    assert choices[-1]["finish_reason"] == "stop"


async def test_stream_without_include_usage_has_no_usage_key() -> None:
    async with running() as server:
        response = await server.chat(**body(stream=True))

    assert '"usage"' not in response.text
    assert response.text.endswith("data: [DONE]\n\n")


async def test_tool_call_deltas_carry_index_always_and_id_and_name_once() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        response = await server.chat(**body(tools=TOOLS, tool_choice="required", stream=True))

    deltas = []
    for event in response.text.split("\n\n")[:-2]:
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            deltas.extend(choice["delta"].get("tool_calls", ()))
    assert deltas
    begun = [delta["index"] for delta in deltas if "id" in delta]
    assert begun == list(range(len(begun)))
    for delta in deltas:
        assert ("id" in delta) == ("name" in delta["function"])
        assert isinstance(delta["function"]["arguments"], str)
        if "id" in delta:
            assert delta["type"] == "function"
            assert re.fullmatch(r"call_[0-9a-f]{24}", delta["id"])


CASES: dict[str, dict[str, Any]] = {
    "text": {},
    "two-stops": {"stop": ["世界", "zzz"]},
    "length": {"max_tokens": 5},
    "logprobs": {"logprobs": True, "top_logprobs": 3},
    "auto": {"tools": TOOLS},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "named": {"tools": TOOLS, "tool_choice": NAMED},
    "one-call": {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
    "cut-call": {"tools": TOOLS, "tool_choice": "required", "max_tokens": 60},
    "json-schema": {"response_format": JSON_SCHEMA_FORMAT},
    "json-object": {"response_format": {"type": "json_object"}, "max_tokens": 400},
    "tag": {"response_format": ANSWER_TAG},
    "legacy-tag": {"response_format": LEGACY_TAG},
    "tools-and-format": {"tools": TOOLS, "response_format": JSON_SCHEMA_FORMAT},
    "thinking": {"extra_body": {"chat_template_kwargs": {"enable_thinking": True}}},
    "thinking-call": {"tools": TOOLS, "tool_choice": "required", "reasoning_effort": "high"},
    "three-choices": {"tools": TOOLS, "n": 3},
    "three-logprobs": {"tools": TOOLS, "n": 3, "logprobs": True},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tool_format", ["hermes", "qwen3"])
async def test_stream_folded_by_official_client_equals_single_answer(case: str, tool_format: str) -> None:
    async with running(SPOKEN, tool_format=tool_format) as server:
        for seed in range(4):
            request = {"stream_options": {"include_usage": True}, **body(**CASES[case])}
            request["seed"] = seed
            folded = await server.folded(**request)
            request.pop("stream_options")
            single = await server.single(**request)

            assert folded == single


@pytest.mark.parametrize("choice", ["auto", "required", NAMED])
async def test_calls_name_a_tool_and_arguments_follow_its_schema(choice: Any) -> None:
    seen = 0
    async with running(Script(phrases=PHRASES)) as server:
        for seed in range(40):
            request = body(tools=TOOLS, tool_choice=choice, seed=seed, max_tokens=4000)
            answer = (await server.chat(**request)).json()["choices"][0]
            if answer["finish_reason"] == "length":
                continue
            calls = answer["message"].get("tool_calls", [])
            assert answer["finish_reason"] == ("tool_calls" if calls else "stop")
            assert choice == "auto" or calls
            for call in calls:
                name = call["function"]["name"]
                assert choice != NAMED or name == "draw-points"
                jsonschema.validate(json.loads(call["function"]["arguments"]), SCHEMAS[name])
                seen += 1
    assert seen >= (5 if choice == "auto" else 30)


async def test_only_calls_means_null_content_and_ids_are_unique() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        ids: list[str] = []
        for seed in range(10):
            request = body(tools=TOOLS, tool_choice="required", seed=seed)
            message = (await server.chat(**request)).json()["choices"][0]["message"]
            assert message["content"] is None or message["content"].strip() == ""
            ids.extend(call["id"] for call in message["tool_calls"])
    assert len(set(ids)) == len(ids) >= 10


async def test_parallel_tool_calls_false_gives_exactly_one_call() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        for seed in range(20):
            request = body(tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=seed)
            message = (await server.chat(**request)).json()["choices"][0]["message"]
            assert len(message["tool_calls"]) == 1


async def test_tool_choice_none_gives_text_and_the_prompt_knows_no_tools() -> None:
    async with running(SPOKEN) as server:
        answer = (await server.chat(**body(tools=TOOLS, tool_choice="none"))).json()

    assert "tool_calls" not in answer["choices"][0]["message"]
    assert "tools:" not in server.engine.prompts[0]


async def test_length_is_never_hidden_by_a_call() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        request = body(tools=TOOLS, tool_choice="required", max_completion_tokens=70)
        answer = (await server.chat(**request)).json()

    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 70


async def test_stop_string_inside_a_call_is_no_finished_call() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        request = body(tools=TOOLS, tool_choice=NAMED, stop='"points"')
        answer = (await server.chat(**request)).json()["choices"][0]

    (call,) = answer["message"]["tool_calls"]
    assert answer["finish_reason"] == "stop"
    assert call["function"]["arguments"].strip() == "{"


async def test_json_schema_answer_validates() -> None:
    async with running() as server:
        for seed in range(20):
            request = body(response_format=JSON_SCHEMA_FORMAT, seed=seed)
            message = (await server.chat(**request)).json()["choices"][0]["message"]
            jsonschema.validate(json.loads(message["content"]), WEATHER_SCHEMA)


async def test_json_object_answer_is_an_object() -> None:
    async with running() as server:
        for seed in range(10):
            request = body(response_format={"type": "json_object"}, seed=seed, max_tokens=4000)
            choice = (await server.chat(**request)).json()["choices"][0]
            if choice["finish_reason"] == "stop":
                assert isinstance(json.loads(choice["message"]["content"]), dict)


async def test_structural_tag_answer_is_inside_its_markers() -> None:
    async with running() as server:
        for seed in range(20):
            request = body(response_format=ANSWER_TAG, seed=seed)
            text = (await server.chat(**request)).json()["choices"][0]["message"]["content"]
            inside = re.fullmatch(r"<answer>(.*)</answer>", text, re.DOTALL)
            assert inside is not None
            jsonschema.validate(json.loads(inside.group(1)), WEATHER_SCHEMA)


async def test_legacy_structural_tag_is_free_text_with_strict_tags() -> None:
    seen = 0
    async with running(Script(phrases=("<answer",))) as server:
        for seed in range(40):
            request = body(response_format=LEGACY_TAG, seed=seed)
            text = (await server.chat(**request)).json()["choices"][0]["message"]["content"]
            for inside in re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL):
                jsonschema.validate(json.loads(inside), WEATHER_SCHEMA)
                seen += 1
            assert "<answer" not in re.sub(r"<answer>.*?</answer>", "", text, flags=re.DOTALL)
    assert seen >= 5


async def test_logprobs_are_finite_and_forbidden_tokens_sit_at_the_floor() -> None:
    async with running() as server:
        request = body(response_format=ANSWER_TAG, logprobs=True, top_logprobs=2)
        entries = (await server.chat(**request)).json()["choices"][0]["logprobs"]["content"]

    assert entries[0] == {
        "token": "<",
        "logprob": 0.0,
        "bytes": [60],
        "top_logprobs": [
            {"token": "<", "logprob": 0.0, "bytes": [60]},
            {"token": "\x00", "logprob": -9999.0, "bytes": [0]},
        ],
    }
    assert bytes(b for entry in entries for b in entry["bytes"]).endswith(b"</answer>")


async def test_n_choices_are_independent_and_indexed() -> None:
    async with running() as server:
        request = body(response_format=JSON_SCHEMA_FORMAT, n=4)
        choices = (await server.chat(**request)).json()["choices"]

    assert [choice["index"] for choice in choices] == [0, 1, 2, 3]
    assert len({choice["message"]["content"] for choice in choices}) > 1


async def test_choices_of_a_stream_begin_in_order_of_their_index() -> None:
    """A choice that begins inside a character has nothing to show while later ones have."""
    async with running(Script(phrases=PHRASES)) as server:
        for seed in range(30):
            response = await server.chat(**body(tools=TOOLS, n=4, seed=seed, max_tokens=8, stream=True))
            order = []
            for event in response.text.split("\n\n")[:-2]:
                (choice,) = json.loads(event.removeprefix("data: "))["choices"]
                if choice["index"] not in order:
                    order.append(choice["index"])
                    assert choice["delta"]["role"] == "assistant"
            assert order == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("switch", "thinks"),
    [
        ({"chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"reasoning_effort": "low"}, True),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}}, True),
    ],
)
async def test_reasoning_is_switched_per_request(switch: dict[str, Any], thinks: bool) -> None:
    async with running(Script(phrases=PHRASES), tool_format="qwen3") as server:
        request = body(tools=TOOLS, tool_choice="required", **switch)
        message = (await server.chat(**request)).json()["choices"][0]["message"]

    assert server.engine.prompts[0].endswith("think: ") == thinks
    assert "reasoning" not in message or thinks
    assert message.get("reasoning") == message.get("reasoning_content")


async def test_conversation_with_calls_and_results_reaches_the_template_as_objects() -> None:
    async with running() as server:
        first = await server.single(**body(tools=TOOLS, tool_choice=NAMED))
        name, arguments = first["choices"][0]["calls"][0][1:]
        history = [
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": "Draw."},
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                "reasoning_content": "hm",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": name, "arguments": arguments},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ]
        response = await server.chat(**body(messages=history))

    assert response.status_code == 200
    assert server.engine.prompts[-1] == "system: Be brief.\nuser: Draw.\nassistant: \ntool: done\nassistant: "


async def test_harmless_fields_are_accepted_and_ignored() -> None:
    async with running() as server:
        response = await server.chat(
            **body(
                user="u",
                metadata={"a": "b"},
                store=True,
                service_tier="auto",
                safety_identifier="s",
                prompt_cache_key="k",
                frequency_penalty=0,
                presence_penalty=0.0,
                logit_bias={},
                modalities=["text"],
                temperature=None,
                stop=None,
                tools=None,
                response_format={"type": "text"},
            )
        )

    assert response.status_code == 200


async def test_sampling_options_reach_the_engine() -> None:
    async with running(max_model_len=1000) as server:
        await server.chat(**body(temperature=0.5, top_p=0, n=2, stop="x", max_completion_tokens=7))
        await server.chat(**body())

    first, second = (request.sampling for request in server.engine.requests)
    assert (first.temperature, first.n, first.stop, first.max_tokens) == (0.5, 2, ("x",), 7)
    assert first.top_p == pytest.approx(1e-6)
    assert (first.seed, first.logprobs) == (1, None)
    assert second.max_tokens == 1000 - len(server.engine.requests[1].prompt_token_ids)
