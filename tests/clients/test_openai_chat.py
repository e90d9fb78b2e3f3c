"""Chat completions judged by the official client, over a socket: parsing into classes, streams, tools, errors."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import openai
import pytest
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, Field

from server.engines.scripted import Script
from tests.clients.listening import CALL, Listening, listening
from tests.server.bodies import JSON_SCHEMA_FORMAT, MESSAGES, TOOLS

PHRASES = {"phrases": ("</think>", "<tool_call>")}
QUESTION: Any = MESSAGES


class Unit(StrEnum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


class Place(BaseModel):
    name: str = Field(max_length=12)
    altitude: int | None


class Weather(BaseModel):
    place: Place
    unit: Unit
    days: list[int] = Field(min_length=1, max_length=3)


class GetWeather(BaseModel):
    """The weather of a place."""

    place: Place
    unit: Unit


class SetAlarm(BaseModel):
    hour: int = Field(ge=0, le=23)


def client_of(server: Listening, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.v1, api_key="none", max_retries=0, **options)


def test_answer_is_parsed_into_the_class_that_was_asked_for() -> None:
    with listening() as server, client_of(server) as client:
        for seed in range(8):
            answer = client.chat.completions.parse(
                model="scripted", messages=QUESTION, response_format=Weather, seed=seed
            )
            message = answer.choices[0].message
            assert isinstance(message.parsed, Weather)
            assert message.refusal is None
            assert message.content is not None
            assert message.parsed == Weather.model_validate_json(message.content)


def test_answer_of_known_text_is_parsed_and_told_alike() -> None:
    text = '{"place": {"name": "Paris", "altitude": null}, "unit": "celsius", "days": [1, 2]}'
    with listening(text) as server, client_of(server) as client:
        answer = client.chat.completions.parse(model="scripted", messages=QUESTION, response_format=Weather)

    assert answer.choices[0].message.content == text
    assert answer.choices[0].message.parsed == Weather(
        place=Place(name="Paris", altitude=None), unit=Unit.CELSIUS, days=[1, 2]
    )


def test_calls_are_parsed_into_the_classes_of_their_tools() -> None:
    tools: Any = [openai.pydantic_function_tool(GetWeather), openai.pydantic_function_tool(SetAlarm)]
    seen = set()
    with listening(script=PHRASES) as server, client_of(server) as client:
        for seed in range(12):
            answer = client.chat.completions.parse(
                model="scripted", messages=QUESTION, tools=tools, tool_choice="required", seed=seed
            )
            assert answer.choices[0].finish_reason == "tool_calls"
            for call in answer.choices[0].message.tool_calls or ():
                parsed = call.function.parsed_arguments
                assert isinstance(parsed, GetWeather if call.function.name == "GetWeather" else SetAlarm)
                seen.add(type(parsed))
    assert seen == {GetWeather, SetAlarm}


def test_cut_answer_is_an_error_of_the_client_and_a_whole_one_is_not() -> None:
    with listening() as server, client_of(server) as client:
        wanted: Any = {"model": "scripted", "messages": QUESTION, "response_format": Weather, "seed": 1}
        with pytest.raises(openai.LengthFinishReasonError):
            client.chat.completions.parse(**wanted, max_tokens=20)
        whole = client.chat.completions.parse(**wanted, max_tokens=90, extra_body={"complete_within_budget": True})

    assert isinstance(whole.choices[0].message.parsed, Weather)


def test_stream_accumulates_events_to_the_parsed_answer() -> None:
    with listening() as server, client_of(server) as client:
        wanted: Any = {"model": "scripted", "messages": QUESTION, "response_format": Weather, "seed": 3}
        single = client.chat.completions.parse(**wanted)
        with client.chat.completions.stream(**wanted, logprobs=True, stream_options={"include_usage": True}) as stream:
            events = list(stream)
            final = stream.get_final_completion()

    kinds = [event.type for event in events]
    assert kinds.count("content.done") == 1
    assert kinds.count("logprobs.content.done") == 1
    deltas = [event for event in events if event.type == "content.delta"]
    assert "".join(event.delta for event in deltas) == deltas[-1].snapshot == final.choices[0].message.content
    assert final.choices[0].message.parsed == single.choices[0].message.parsed
    assert final.usage == single.usage


def test_stream_accumulates_calls() -> None:
    arguments = '{"place": {"name": "Oslo", "altitude": 23}, "unit": "celsius"}'
    said = [CALL % ("GetWeather", arguments), CALL % ("SetAlarm", '{"hour": 7}')]
    tools: Any = [openai.pydantic_function_tool(GetWeather), openai.pydantic_function_tool(SetAlarm)]
    wanted: Any = {"model": "scripted", "messages": QUESTION, "tools": tools, "tool_choice": "required"}
    with (
        listening("\n".join(said)) as server,
        client_of(server) as client,
        client.chat.completions.stream(**wanted) as stream,
    ):
        events = list(stream)
        final = stream.get_final_completion()

    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name) for event in done] == [(0, "GetWeather"), (1, "SetAlarm")]
    assert [event.parsed_arguments for event in done] == [
        GetWeather(place=Place(name="Oslo", altitude=23), unit=Unit.CELSIUS),
        SetAlarm(hour=7),
    ]
    assert final.choices[0].finish_reason == "tool_calls"
    assert [call.function.arguments for call in final.choices[0].message.tool_calls or ()] == [
        arguments,
        '{"hour": 7}',
    ]


def test_loop_of_calls_and_results_ends_with_an_answer() -> None:
    """What every agent does: call, run, tell, ask again, with the objects of the client sent back as they are."""
    tools: Any = [openai.pydantic_function_tool(SetAlarm)]
    messages: list[Any] = list(MESSAGES)
    rounds = 0
    with listening(CALL % ("SetAlarm", '{"hour": 7}'), "It is set.") as server, client_of(server) as client:
        while True:
            answer = client.chat.completions.create(model="scripted", messages=messages, tools=tools)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                assert call.type == "function"
                hour = SetAlarm.model_validate_json(call.function.arguments).hour
                messages.append({"role": "tool", "tool_call_id": call.id, "content": f"set to {hour}"})
            rounds += 1

    assert rounds == 1
    assert message.content == "It is set."
    assert "tool: set to 7" in server.engine.prompts[-1]


def test_custom_tool_is_called_with_text_and_can_be_told_its_result() -> None:
    grammar = {"syntax": "lark", "definition": 'start: WORD (" " WORD)*\nWORD: /[a-z"]{1,4}/\n'}
    tools: Any = [{"type": "custom", "custom": {"name": "say", "format": {"type": "grammar", "grammar": grammar}}}]
    said = CALL % ("say", json.dumps({"input": 'he "yo" me'}))
    with listening(said, "Done.", said) as server, client_of(server) as client:
        wanted: Any = {"model": "scripted", "tools": tools, "max_tokens": 200}
        message = client.chat.completions.create(**wanted, messages=QUESTION).choices[0].message
        (call,) = message.tool_calls or ()
        result = {"role": "tool", "tool_call_id": call.id, "content": "said"}
        after = client.chat.completions.create(**wanted, messages=[*MESSAGES, message, result])
        # The helper `stream` reads functions only (openai-python 3.57.0), plain chunks have all.
        chunks = list(client.chat.completions.create(**wanted, messages=QUESTION, stream=True))

    assert call.type == "custom"
    assert (call.custom.name, call.custom.input) == ("say", 'he "yo" me')
    assert after.choices[0].message.content == "Done."
    deltas: list[Any] = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or ()]
    assert (deltas[0].type, deltas[0].custom["name"]) == ("custom", "say")
    assert "".join(delta.custom["input"] for delta in deltas) == 'he "yo" me'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": TOOLS, "tool_choice": "required"},
        {"response_format": JSON_SCHEMA_FORMAT, "logprobs": True, "top_logprobs": 2, "n": 2},
        {"extra_body": {"return_token_ids": True, "prompt_logprobs": 1}},
    ],
    ids=["text", "tools", "schema", "extensions"],
)
def test_answers_and_chunks_are_valid_by_the_clients_types(fields: dict[str, Any]) -> None:
    with listening(script=PHRASES) as server, client_of(server) as client:
        wanted: Any = {"model": "scripted", "messages": QUESTION, "seed": 1, "max_tokens": 400, **fields}
        raw = client.chat.completions.with_raw_response.create(**wanted)
        ChatCompletion.model_validate_json(raw.text)  # the client itself is lenient
        if "prompt_logprobs" in fields.get("extra_body", {}):
            return
        with client.chat.completions.with_streaming_response.create(**wanted, stream=True) as response:
            lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    for line in lines[:-1]:
        ChatCompletionChunk.model_validate_json(line)


def test_text_completions_and_models_are_valid_by_the_clients_types() -> None:
    with listening() as server, client_of(server) as client:
        raw = client.completions.with_raw_response.create(model="scripted", prompt="Once", logprobs=2)
        models = client.models.list()
        card = client.models.with_raw_response.retrieve("scripted")

    Completion.model_validate_json(raw.text)
    assert [model.id for model in models] == ["scripted"]
    assert Model.model_validate_json(card.text).id == "scripted"


@pytest.mark.parametrize(
    ("fields", "kind", "param", "code"),
    [
        ({"temperature": 3}, openai.BadRequestError, "temperature", "invalid_value"),
        ({"model": "gpt-5"}, openai.NotFoundError, "model", "model_not_found"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strng"}}}},
            openai.BadRequestError,
            "response_format.json_schema.schema",
            "invalid_schema",
        ),
    ],
)
def test_error_is_the_one_that_the_client_knows(
    fields: dict[str, Any], kind: type[openai.APIStatusError], param: str, code: str
) -> None:
    with listening() as server, client_of(server) as client:
        wanted: Any = {"model": "scripted", "messages": QUESTION, **fields}
        with pytest.raises(kind) as caught:
            client.chat.completions.create(**wanted)
        with pytest.raises(kind):
            client.chat.completions.create(**wanted, stream=True)

    assert (caught.value.param, caught.value.code) == (param, code)
    assert caught.value.type == "invalid_request_error"


def test_too_many_requests_are_a_rate_limit_and_late_ones_an_error_that_the_client_retries() -> None:
    with listening(server={"max_requests": 1}) as server, client_of(server) as client:
        server.engine.script = Script(text="ab", stall_after=1)
        stream = client.chat.completions.create(model="scripted", messages=QUESTION, stream=True)
        next(iter(stream))
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="scripted", messages=QUESTION)
        stream.close()
    assert caught.value.response.headers["retry-after"] == "1"

    with listening(server={"request_timeout_seconds": 0.2}) as server, client_of(server) as client:
        server.engine.script = Script(text="ab", stall_after=1)
        with pytest.raises(openai.InternalServerError) as late:
            client.chat.completions.create(model="scripted", messages=QUESTION)
        with pytest.raises(openai.APIError) as event:
            list(client.chat.completions.create(model="scripted", messages=QUESTION, stream=True))
    assert late.value.status_code == 504
    assert event.value.code == "request_timeout"
