"""`complete_within_budget`: whole at max_tokens, or told beforehand, and a truncation is never called an end."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import openai
import pytest

from server.engines.scripted import Script
from tests.server.bodies import ANSWER_TAG, JSON_SCHEMA_FORMAT, NAMED, SCHEMAS, TOOLS, WEATHER_SCHEMA, body, tool
from tests.server.running import PHRASES, Running, running
from tests.server.test_command_line import serving

pytestmark = pytest.mark.anyio


TALKATIVE = Script(phrases=PHRASES)
UNIQUE = {"type": "json_schema", "json_schema": {"name": "u", "schema": {"type": "array", "uniqueItems": True}}}
TWO_KEYS = tool("f", {"type": "object", "minProperties": 2})

CASES: dict[str, dict[str, Any]] = {
    "schema": {"response_format": JSON_SCHEMA_FORMAT},
    "object": {"response_format": {"type": "json_object"}},
    "tag": {"response_format": ANSWER_TAG},
    "regex": {"structured_outputs": {"regex": "[a-z]{3,9}(-[0-9]{2,30})*"}},
    "choice": {"guided_choice": ["yes", "no", "I cannot say"]},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "named": {"tools": TOOLS, "tool_choice": NAMED},
    "both": {"tools": TOOLS, "response_format": JSON_SCHEMA_FORMAT},
}


def check(choice: dict[str, Any], name: str, schemas: dict[str, Any] = SCHEMAS) -> None:
    """The answer is whole, and said to be."""
    message = choice["message"]
    calls = message.get("tool_calls") or ()
    assert choice["finish_reason"] == ("tool_calls" if calls else "stop")
    for call in calls:
        jsonschema.validate(json.loads(call["function"]["arguments"]), schemas[call["function"]["name"]])
    if name in ("schema", "both") and not calls:
        jsonschema.validate(json.loads(message["content"]), WEATHER_SCHEMA)
    if name == "object":
        assert isinstance(json.loads(message["content"]), dict)
    if name == "tag":
        text = re.fullmatch(r"<answer>(.*)</answer>", message["content"], re.DOTALL)
        assert text is not None
        jsonschema.validate(json.loads(text[1]), WEATHER_SCHEMA)
    if name == "regex":
        assert re.fullmatch(CASES["regex"]["structured_outputs"]["regex"], message["content"])
    if name == "choice":
        assert message["content"] in CASES["choice"]["guided_choice"]
    if name in ("required", "named"):
        assert calls


async def fewest(server: Running, **fields: Any) -> int:
    """How many tokens the server says are needed."""
    response = await server.chat(**body(max_tokens=1, complete_within_budget=True, **fields))
    error = response.json()["error"]
    assert (response.status_code, error["param"], error["code"]) == (400, "max_tokens", "token_budget_too_small")
    found = re.search(r"at least (\d+) tokens", error["message"])
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("tool_format", ["hermes", "kimi_k2", "glm_4_7", "harmony"])
@pytest.mark.parametrize("name", CASES)
async def test_whole_at_any_number_of_tokens_that_is_enough(name: str, tool_format: str) -> None:
    full = 0
    async with running(TALKATIVE, tool_format=tool_format) as server:
        off = {"reasoning_effort": "none", **CASES[name]}
        schemas = {each["function"]["name"]: each["function"]["parameters"] for each in off.get("tools", ())}
        least = await fewest(server, **off)
        for size in (least, least + 1, least + 2, least + 9, least + 40):
            for seed in range(6):
                request = body(max_tokens=size, seed=seed, complete_within_budget=True, **off)
                answer = (await server.chat(**request)).json()
                check(answer["choices"][0], name, schemas)
                full += answer["usage"]["completion_tokens"] == size
    assert full, "no answer came near its end"


@pytest.mark.parametrize("name", ["schema", "required", "both"])
async def test_streams_and_several_choices_are_whole(name: str) -> None:
    async with running(TALKATIVE) as server:
        least = await fewest(server, **CASES[name])
        request = body(max_tokens=least + 3, n=4, extra_body={"complete_within_budget": True}, **CASES[name])
        folded = await server.folded(**request, stream_options={"include_usage": True})
        single = await server.single(**request)

    assert folded == single
    for choice in folded["choices"]:
        assert choice["finish_reason"] in ("stop", "tool_calls")
        if not choice["calls"]:
            jsonschema.validate(json.loads(choice["content"]), WEATHER_SCHEMA)


@pytest.mark.parametrize("tool_format", ["qwen3", "harmony", "deepseek_r1"])
@pytest.mark.parametrize("name", ["schema", "object"])
async def test_reasoning_ends_early_enough_for_the_answer(name: str, tool_format: str) -> None:
    reasoned = 0
    async with running(Script(), tool_format=tool_format) as server:
        fields = {"reasoning_effort": "high", **CASES[name]}
        least = await fewest(server, **fields)
        for size in (least, least + 5, least + 50):
            for seed in range(5):
                request = body(max_tokens=size, seed=seed, complete_within_budget=True, **fields)
                choice = (await server.chat(**request)).json()["choices"][0]
                check(choice, name)
                reasoned += bool(choice["message"].get("reasoning"))
    assert reasoned, "nothing was said before the answer"


@pytest.mark.parametrize("tool_format", ["qwen3", "harmony", "deepseek_r1", "glm_4_7"])
@pytest.mark.parametrize("name", ["schema", "required", "tag"])
@pytest.mark.parametrize("most", [0, 1, 4, 20])
async def test_reasoning_is_bounded_and_ends_before_the_budget(name: str, tool_format: str, most: int) -> None:
    """One character is one token here. Both bounds hold: the block's own, and what the answer leaves of the tokens."""
    longest = 0
    async with running(Script(), tool_format=tool_format) as server:
        fields = {"reasoning_effort": "high", "max_reasoning_tokens": most, **CASES[name]}
        least = await fewest(server, **{**fields, "max_reasoning_tokens": 0})
        for size in (least, least + 2, least + 50):
            for seed in range(4):
                request = body(max_tokens=max(size, most + 1), seed=seed, complete_within_budget=True, **fields)
                choice = (await server.chat(**request)).json()["choices"][0]
                check(choice, name)
                reasoning = choice["message"].get("reasoning") or ""
                assert len(reasoning) <= most
                longest = max(longest, len(reasoning))
    assert longest == most or (most == 20 and longest > 5), "the bound was never met"


async def test_without_max_tokens_the_context_is_the_budget() -> None:
    async with running(TALKATIVE) as server:
        prompt = (await server.chat(**body())).json()["usage"]["prompt_tokens"]
    async with running(TALKATIVE, max_model_len=prompt + 32) as server:
        for seed in range(5):
            answer = await server.chat(**body(seed=seed, complete_within_budget=True, **CASES["schema"]))
            check(answer.json()["choices"][0], "schema")
    async with running(TALKATIVE, max_model_len=prompt + 20) as server:
        refused = (await server.chat(**body(complete_within_budget=True, **CASES["schema"]))).json()["error"]

    assert (refused["param"], refused["code"]) == ("messages", "context_length_exceeded")
    assert "needs at least 30 tokens" in refused["message"]
    assert "leaves 20" in refused["message"]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"response_format": UNIQUE}, "response_format.json_schema.schema: "),
        ({"tools": [TOOLS[0], TWO_KEYS], "tool_choice": "required"}, "tools[1].function.parameters: "),
        ({"tools": [TOOLS[0]]}, "tools[0].function.parameters, as this model writes calls: "),
        ({**CASES["schema"], "stop": ["}"]}, "stop: "),
    ],
)
async def test_what_cannot_be_kept_whole_is_refused_or_by_default_only_told(fields: dict[str, Any], place: str) -> None:
    fields = {"max_tokens": 150, **fields}
    family = "gemma_4" if place.endswith("calls: ") else "qwen3"
    async with running(tool_format=family, model={"complete_within_budget": True}) as server:
        refused = (await server.chat(**body(complete_within_budget=True, **fields))).json()["error"]
        told = await server.chat(**body(**fields))
        silent = await server.chat(**body(complete_within_budget=False, **fields))

    assert (refused["param"], refused["code"]) == ("complete_within_budget", "unsupported_parameter")
    assert refused["message"].startswith(f"complete_within_budget: {place}")
    assert told.status_code == silent.status_code == 200
    warning = told.headers["x-strictserve-warning"]
    if "stop" in fields:
        assert warning == "complete_within_budget: a stop string may still cut the answer"
    else:
        assert warning.startswith(f"complete_within_budget: not applied: {place}")
    assert [request.complete_within_budget for request in server.engine.requests] == ["stop" in fields, False]
    assert "x-strictserve-warning" not in silent.headers


async def test_the_servers_default_applies_unless_the_request_says_otherwise() -> None:
    async with running(TALKATIVE, model={"complete_within_budget": True}) as server:
        request = body(max_tokens=31, **CASES["schema"])
        whole = (await server.chat(**request)).json()["choices"][0]
        too_few = await server.chat(**{**request, "max_tokens": 29})
        cut = (await server.chat(**{**request, "complete_within_budget": False, "max_tokens": 29})).json()
        streamed = await server.chat(**{**request, "stream": True, "stop": "zz"})

    check(whole, "schema")
    assert too_few.json()["error"]["code"] == "token_budget_too_small"
    assert cut["choices"][0]["finish_reason"] == "length"
    assert streamed.headers["x-strictserve-warning"].endswith("may still cut the answer")


async def test_free_text_that_the_budget_ends_is_cut() -> None:
    reasons = set()
    async with running(TALKATIVE) as server:
        for size in (1, 2, 3, 100, 140):
            for seed in range(12):
                request = body(tools=TOOLS, max_tokens=size, seed=seed, complete_within_budget=True)
                answer = (await server.chat(**request)).json()
                (choice,) = answer["choices"]
                calls = choice["message"].get("tool_calls") or ()
                for call in calls:
                    jsonschema.validate(json.loads(call["function"]["arguments"]), SCHEMAS[call["function"]["name"]])
                reason = choice["finish_reason"]
                used_up = answer["usage"]["completion_tokens"] == size
                assert reason != "length" or used_up
                assert reason != "stop" or not used_up, "text that fills its tokens may be cut"
                reasons.add(reason)
    assert reasons == {"stop", "length", "tool_calls"}


async def test_text_that_nothing_constrains_is_left_alone() -> None:
    async with running(Script(text="abcdef")) as server:
        answer = (await server.chat(**body(max_tokens=4, complete_within_budget=True))).json()["choices"][0]

    assert (answer["message"]["content"], answer["finish_reason"]) == ("abcd", "length")
    assert not server.engine.requests[0].complete_within_budget


async def test_stop_tokens_beside_a_budget_end_whole_answers_only() -> None:
    async with running(TALKATIVE) as server:
        for seed in range(5):
            request = body(seed=seed, max_tokens=33, stop_token_ids=[256], complete_within_budget=True)
            check((await server.chat(**request, **CASES["schema"])).json()["choices"][0], "schema")
        refused = await server.chat(**body(stop_token_ids=[125], **CASES["schema"]))
        free = await server.chat(**body(stop_token_ids=[125]))

    assert refused.json()["error"]["param"] == "stop_token_ids"
    assert free.status_code == 200


WISHES: dict[str, dict[str, Any]] = {
    "allowed": {"allowed_token_ids": [1, 2]},
    "words": {"bad_words": ['"', "{", "c", "city", "celsius"]},
    "least": {"min_tokens": 31},
    "bias": {"logit_bias": {str(token): -100 for token in b'{}":,'}},
}
WISHES["all"] = {key: value for wish in list(WISHES.values()) for key, value in wish.items()}


@pytest.mark.parametrize("budget", [True, False])
@pytest.mark.parametrize("wish", WISHES)
async def test_whatever_is_forbidden_the_answer_is_whole(wish: str, budget: bool) -> None:
    async with running(TALKATIVE) as server:
        for seed in range(8):
            size = {"max_tokens": 31 + seed % 3} if budget else {"max_tokens": 900}
            request = body(seed=seed, complete_within_budget=budget, **size, **WISHES[wish], **CASES["schema"])
            response = await server.chat(**request)
            assert response.status_code == 200
            check(response.json()["choices"][0], "schema")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logit_bias": {"257": 1}}, "logit_bias"),
        ({"logit_bias": {"-1": 1}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias.1"),
        ({"allowed_token_ids": []}, "allowed_token_ids"),
        ({"allowed_token_ids": [257]}, "allowed_token_ids"),
        ({"bad_words": [""]}, "bad_words[0]"),
        ({"stop_token_ids": [-1]}, "stop_token_ids[0]"),
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens"),
        ({"complete_within_budget": 1}, "complete_within_budget"),
    ],
)
async def test_a_wrong_field_is_a_400_that_names_it(fields: dict[str, Any], param: str) -> None:
    async with running() as server:
        response = await server.chat(**body(**fields))

    assert (response.status_code, response.json()["error"]["param"]) == (400, param)


def test_the_official_client_over_a_socket_gets_whole_answers() -> None:
    with serving() as (_, url, _), openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        for seed in range(6):
            request: dict[str, Any] = {
                "model": "scripted",
                "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
                "max_tokens": 31,
                "seed": seed,
                "response_format": JSON_SCHEMA_FORMAT,
                "extra_body": {"complete_within_budget": True},
            }
            whole = client.chat.completions.create(**request)
            with client.chat.completions.stream(**request) as stream:
                streamed = stream.get_final_completion()
            for answer in (whole, streamed):
                assert answer.choices[0].finish_reason == "stop"
                jsonschema.validate(json.loads(answer.choices[0].message.content or ""), WEATHER_SCHEMA)
        with pytest.raises(openai.LengthFinishReasonError):
            client.chat.completions.parse(**{**request, "extra_body": {}, "max_tokens": 20})
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.create(**{**request, "max_tokens": 20})
    assert (refused.value.param, refused.value.code) == ("max_tokens", "token_budget_too_small")
