"""`/v1/responses` judged by the official client, over a socket."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from tests.clients.listening import CALL, Listening, listening
from tests.server.bodies import SCHEMAS, TOOLS, WEATHER_SCHEMA

FUNCTIONS: Any = [{"type": "function", **tool["function"]} for tool in TOOLS]
PHRASES = {"phrases": ("</think>", "<tool_call>")}
WEATHER = '{"city": "Paris", "unit": "celsius"}'
USER = {"role": "user", "content": "Weather in Paris?"}


EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


class Weather(BaseModel):
    city: str
    days: int | None


class GetWeather(BaseModel):
    city: str


def client_of(server: Listening, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.v1, api_key="none", max_retries=0, **options)


def test_create_has_the_shape_that_the_client_knows() -> None:
    with listening("Hello.") as server, client_of(server) as client:
        raw = client.responses.with_raw_response.create(
            model="scripted",
            input="Say hello.",
            instructions="Be brief.",
            metadata={"a": "b"},
            max_output_tokens=50,
        )

    response = raw.parse()
    Response.model_validate(json.loads(raw.text))  # the client itself is lenient
    assert response.output_text == "Hello."
    assert (response.status, response.error, response.incomplete_details) == ("completed", None, None)
    assert (response.metadata, response.max_output_tokens, response.instructions) == ({"a": "b"}, 50, "Be brief.")
    assert response.usage is not None
    assert response.usage.output_tokens == len("Hello.") + 1
    assert server.engine.prompts == ["system: Be brief.\nuser: Say hello.\nassistant: "]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": FUNCTIONS, "tool_choice": "required"},
        {"tools": FUNCTIONS},
        {"text": {"format": {"type": "json_schema", "name": "w", "strict": True, "schema": WEATHER_SCHEMA}}},
        {"tools": FUNCTIONS, "tool_choice": "required", "max_output_tokens": 90},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "max_output_tokens": 30},
    ],
    ids=["text", "calls", "auto", "schema", "cut", "logprobs"],
)
def test_folded_stream_is_the_single_answer_and_events_are_in_order(fields: dict[str, Any]) -> None:
    with listening(script=PHRASES, tool_format="qwen3") as server, client_of(server) as client:
        for seed in range(3):
            request: Any = {"model": "scripted", "input": "hi", "extra_body": {"seed": seed}, **fields}
            single = client.responses.create(**request)
            with client.responses.stream(**request) as stream:
                events = list(stream)
            for raw in client.responses.create(**request, stream=True):  # the client itself is lenient
                EVENTS.validate_python(raw.to_dict())

            last: Any = events[-1]
            assert last.type == f"response.{single.status}"
            assert comparable(last.response) == comparable(single)
            assert [event.sequence_number for event in events] == list(range(len(events)))
            assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
            assert_grammar_of_events([event.type for event in events[2:-1]])
            assert joined_deltas(events) == [text_of(item) for item in comparable(single)["output"]]


def assert_grammar_of_events(types: list[str]) -> None:
    """Every item is added, written and done before the next one is."""
    names = iter(name.removeprefix("response.") for name in types)
    for name in names:
        assert name == "output_item.added"
        name = next(names)
        has_parts = name == "content_part.added"
        if has_parts:
            name = next(names)
        while name.endswith(".delta"):
            name = next(names)
        assert name.endswith(".done")
        if has_parts:
            assert next(names) == "content_part.done"
        assert next(names) == "output_item.done"


def joined_deltas(events: list[Any]) -> list[str]:
    texts: dict[int, str] = {}
    for event in events:
        if event.type == "response.output_item.added":
            texts[event.output_index] = ""
        elif event.type.endswith(".delta"):
            texts[event.output_index] += event.delta
    return [texts[index] for index in sorted(texts)]


def text_of(item: dict[str, Any]) -> str:
    return item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"]


def comparable(response: Any) -> dict[str, Any]:
    """Without ids and times, and without what only the parsing helper adds."""
    plain = response.to_dict()
    for key in ("id", "created_at", "completed_at"):
        plain.pop(key, None)
    for item in plain["output"]:
        item.pop("id")
        item.pop("call_id", None)
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    return plain


def test_calls_are_valid_and_results_go_back_as_items() -> None:
    with listening(CALL % ("get_weather", WEATHER), "It is 20 degrees.") as server, client_of(server) as client:
        conversation: list[Any] = [USER]
        first = client.responses.create(model="scripted", input=conversation, tools=FUNCTIONS)
        (call,) = first.output
        assert call.type == "function_call"
        jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
        conversation += first.output
        conversation.append({"type": "function_call_output", "call_id": call.call_id, "output": "20"})
        second = client.responses.create(model="scripted", input=conversation, tools=FUNCTIONS)

    assert second.output_text == "It is 20 degrees."
    assert server.engine.prompts[-1].endswith("user: Weather in Paris?\nassistant: \ntool: 20\nassistant: ")


def test_previous_response_goes_on_and_the_store_can_be_read() -> None:
    with listening("One.", "Two.", "Three.") as server, client_of(server) as client:
        first = client.responses.create(model="scripted", input="a", instructions="Once.")
        second = client.responses.create(model="scripted", input="b", previous_response_id=first.id)
        unstored = client.responses.create(model="scripted", input="c", previous_response_id=second.id, store=False)

        assert server.engine.prompts[-1] == "user: a\nassistant: One.\nuser: b\nassistant: Two.\nuser: c\nassistant: "
        assert client.responses.retrieve(second.id) == second
        pages = client.responses.input_items.list(second.id, order="asc", limit=2)
        assert [item.content[0].text for item in pages] == ["a", "One.", "b"]  # type: ignore[union-attr]
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(unstored.id)
        client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.delete(first.id)
        with pytest.raises(openai.BadRequestError, match="background"):
            client.responses.cancel(second.id)
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model="scripted", input="d", previous_response_id=first.id)
        assert caught.value.code == "previous_response_not_found"


def test_parse_gives_models_of_text_and_of_arguments() -> None:
    answers = ('{"city": "Oslo", "days": null}', CALL % ("GetWeather", '{"city": "Rome"}'))
    with listening(*answers) as server, client_of(server) as client:
        text = client.responses.parse(model="scripted", input="hi", text_format=Weather)
        tool = openai.pydantic_function_tool(GetWeather)["function"]
        function: Any = {"type": "function", **tool}
        call = client.responses.parse(model="scripted", input="hi", tools=[function], tool_choice="required")
        with client.responses.stream(model="scripted", input="hi", text_format=Weather) as stream:
            streamed = stream.get_final_response()

    assert text.output_parsed == Weather(city="Oslo", days=None)
    assert call.output[0].parsed_arguments == {"city": "Rome"}  # type: ignore[union-attr]
    assert isinstance(streamed.output_parsed, Weather)


def test_reasoning_is_an_item_and_is_taken_back() -> None:
    with (
        listening("<think>\nHm.\n</think>\n\nYes.", "No.", script=PHRASES, tool_format="qwen3") as server,
        client_of(server) as client,
    ):
        first = client.responses.create(model="scripted", input="hi", reasoning={"effort": "high", "summary": "auto"})
        history: Any = [USER, *first.output, USER]
        second = client.responses.create(model="scripted", input=history, reasoning={"effort": "none"})

    thought, message = first.output
    assert (thought.type, message.type) == ("reasoning", "message")
    assert thought.content is not None
    assert thought.content[0].text.strip() == "Hm."
    assert first.output_text == "Yes."
    assert {item.type for item in second.output} == {"message"}


def test_allowed_tools_and_named_choice_hold() -> None:
    allowed: Any = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "draw-points"}]}
    named: Any = {"type": "function", "name": "get_weather"}
    with listening(script=PHRASES) as server, client_of(server) as client:
        for choice, name in ((allowed, "draw-points"), (named, "get_weather")):
            response = client.responses.create(
                model="scripted", input="hi", tools=FUNCTIONS, tool_choice=choice, parallel_tool_calls=False
            )
            (call,) = response.output
            assert call.type == "function_call"
            assert call.name == name


LARK = 'start: "on" | "off" | "dim " /[1-9][0-9]?/'
CUSTOM: Any = [
    {"type": "custom", "name": "lamp", "format": {"type": "grammar", "syntax": "lark", "definition": LARK}},
    {"type": "custom", "name": "day", "format": {"type": "grammar", "syntax": "regex", "definition": "20[0-9]{2}"}},
    {"type": "custom", "name": "say"},
]


def test_custom_tools_get_text_of_their_grammar_and_take_results_back() -> None:
    texts = {"lamp": r"on|off|dim [1-9][0-9]?", "day": r"20[0-9]{2}", "say": r"(?s).*"}
    with listening(script=PHRASES) as server, client_of(server) as client:
        for name, pattern in texts.items():
            request: Any = {"model": "scripted", "input": [USER], "tools": CUSTOM, "parallel_tool_calls": False}
            request["tool_choice"] = {"type": "custom", "name": name}
            events: list[Any] = list(client.responses.create(**request, stream=True))
            for event in events:
                EVENTS.validate_python(event.to_dict())
            (call,) = events[-1].response.output
            assert (call.type, call.name) == ("custom_tool_call", name)
            assert re.fullmatch(pattern, call.input)
            assert joined_deltas(events) == [call.input]
            assert [event.type for event in events].count("response.custom_tool_call_input.done") == 1
            output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "done"}
            client.responses.create(model="scripted", input=[USER, call, output], tools=CUSTOM, tool_choice="none")
            assert server.engine.prompts[-1].endswith("tool: done\nassistant: ")


def test_failing_stream_has_an_error_and_a_failed_response() -> None:
    with listening("abcdef", script={"fail_after": 3}) as server, client_of(server) as client:
        events: list[Any] = list(client.responses.create(model="scripted", input="hi", stream=True))
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(events[-1].response.id)

    assert [event.type for event in events[-2:]] == ["error", "response.failed"]
    assert "server had an error" in events[-2].message
    assert events[-1].response.status == "failed"
    assert events[-1].response.error.code == "server_error"
    assert events[-1].response.output[0].content[0].text == "abc"


def test_truncation_auto_drops_the_first_turns() -> None:
    turns: Any = [{"role": "user", "content": str(digit) * 100} for digit in range(5)]
    with listening("Yes.", max_model_len=300) as server, client_of(server) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model="scripted", input=turns)
        response = client.responses.create(model="scripted", input=turns, truncation="auto")

    assert caught.value.param == "input"
    assert response.output_text == "Yes."
    assert server.engine.prompts[-1] == f"user: {'3' * 100}\nuser: {'4' * 100}\nassistant: "


def test_input_tokens_counts_the_prompt_that_create_makes() -> None:
    with listening("Hello.") as server, client_of(server) as client:
        count = client.responses.input_tokens.count(model="scripted", input="hi", tools=FUNCTIONS)
        response = client.responses.create(model="scripted", input="hi", tools=FUNCTIONS)

    assert response.usage is not None
    assert count.input_tokens == response.usage.input_tokens
    assert len(server.engine.requests) == 1
