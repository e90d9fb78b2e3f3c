"""`/v1/messages` judged by the official client, over a socket."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import jsonschema
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import BaseModel, TypeAdapter

from tests.clients.listening import CALL, Listening, listening
from tests.server.bodies import SCHEMAS, TOOLS

OWN_TOOLS: Any = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
        "strict": True,
    }
    for tool in TOOLS
]
PHRASES = {"phrases": ("</think>", "<tool_call>")}
WEATHER = {"city": "Paris", "unit": "celsius"}
ASK: Any = [{"role": "user", "content": "Weather in Paris?"}]


EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


class Place(BaseModel):
    city: str
    country: str | None


def client_of(server: Listening, key: str = "none") -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0)


def create(client: anthropic.Anthropic, **fields: Any) -> Any:
    return client.messages.create(**{"model": "scripted", "max_tokens": 3000, "messages": ASK, **fields})


def test_create_has_the_shape_that_the_client_knows() -> None:
    with listening("Hello.") as server, client_of(server) as client:
        raw = client.messages.with_raw_response.create(
            model="scripted",
            max_tokens=50,
            system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            messages=ASK,
            metadata={"user_id": "u"},
        )

    message = raw.parse()
    Message.model_validate(json.loads(raw.text()))  # the client itself is lenient
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "Hello."}]
    assert (message.stop_reason, message.stop_sequence, message.role) == ("end_turn", None, "assistant")
    assert prompt_tokens(message) == len(server.engine.prompts[0])
    assert message.usage.output_tokens == len("Hello.") + 1
    assert message._request_id is not None
    assert server.engine.prompts == ["system: Be brief.\nuser: Weather in Paris?\nassistant: "]


def prompt_tokens(message: Any) -> int:
    """Of the prompt, those that were computed and those that the engine had."""
    return message.usage.input_tokens + message.usage.cache_read_input_tokens


CASES: dict[str, dict[str, Any]] = {
    "text": {},
    "auto": {"tools": OWN_TOOLS},
    "any": {"tools": OWN_TOOLS, "tool_choice": {"type": "any"}},
    "one": {"tools": OWN_TOOLS, "tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
    "cut": {"tools": OWN_TOOLS, "tool_choice": {"type": "any"}, "max_tokens": 60},
    "thinking": {"thinking": {"type": "enabled", "budget_tokens": 40}},
    "hidden": {"thinking": {"type": "enabled", "budget_tokens": 40, "display": "omitted"}},
    "format": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMAS["get_weather"]}}},
    "stop": {"stop_sequences": ["l"]},
}


@pytest.mark.parametrize("case", CASES)
def test_folded_stream_is_the_single_answer_and_events_are_in_order(case: str) -> None:
    with (
        listening(script={"text": "Hello.", **PHRASES}, tool_format="qwen3") as server,
        client_of(server) as client,
    ):
        for seed in range(3):
            request: Any = {"model": "scripted", "max_tokens": 3000, "messages": ASK, **CASES[case]}
            request["extra_body"] = {"seed": seed}
            single = client.messages.create(**request)
            with client.messages.stream(**request) as stream:
                folded = stream.get_final_message()
            raw = list(client.messages.create(**request, stream=True))
            for event in raw:  # the client itself is lenient
                EVENTS.validate_python(event.to_dict())

            assert comparable(folded) == comparable(single)
            assert_grammar_of_events(raw, comparable(single)["content"])
            assert_case(case, single)


def assert_case(case: str, message: Any) -> None:
    kinds = [block.type for block in message.content]
    reasons = {"stop": "stop_sequence", "cut": "max_tokens", "any": "tool_use", "one": "tool_use"}
    if case != "auto":
        assert message.stop_reason == reasons.get(case, "end_turn")
    assert ("thinking" in kinds) == (case in ("thinking", "hidden"))
    if case in ("any", "one"):
        for block in message.content:
            jsonschema.validate(block.input, SCHEMAS[block.name])
        assert case == "any" or len(kinds) == 1
    if case == "format":
        jsonschema.validate(json.loads(message.content[0].text), SCHEMAS["get_weather"])
    if case == "stop":
        assert (message.content[0].text, message.stop_sequence) == ("He", "l")
    if case == "hidden":
        assert message.content[0].thinking == ""


def comparable(message: Any) -> dict[str, Any]:
    """Without ids, and without what only the streaming helper adds."""
    plain = message.to_dict()
    plain.pop("id")
    for block in plain["content"]:
        block.pop("id", None)
        block.pop("parsed_output", None)
    return plain


def assert_grammar_of_events(events: list[Any], content: list[dict[str, Any]]) -> None:
    types = [event.type for event in events]
    assert types[0] == "message_start"
    assert types[-2:] == ["message_delta", "message_stop"]
    inner = iter(events[1:-2])
    for index, block in enumerate(content):
        start = next(inner)
        assert (start.type, start.index, start.content_block.type) == ("content_block_start", index, block["type"])
        for event in inner:
            assert event.index == index
            if event.type == "content_block_stop":
                break
            assert event.type == "content_block_delta"
    assert next(inner, None) is None


def test_tools_are_called_and_results_go_back_as_blocks() -> None:
    with (
        listening(CALL % ("get_weather", json.dumps(WEATHER)), "It is 20 degrees.") as server,
        client_of(server) as client,
    ):
        first = create(client, tools=OWN_TOOLS)
        (call,) = first.content
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "20"}]}
        history = [
            *ASK,
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]},
        ]
        second = create(client, messages=history, tools=OWN_TOOLS)

    assert (first.stop_reason, call.name, call.input) == ("tool_use", "get_weather", WEATHER)
    assert second.content[0].text == "It is 20 degrees."
    assert server.engine.prompts[-1].endswith("assistant: \ntool: 20\nuser: Well?\nassistant: ")


def test_thoughts_go_back_and_are_off_unless_asked_for() -> None:
    with (
        listening("<think>\nHm.\n</think>\n\nYes.", "No.", script=PHRASES, tool_format="qwen3") as server,
        client_of(server) as client,
    ):
        first = create(client, thinking={"type": "adaptive"})
        history = [*ASK, {"role": "assistant", "content": first.content}, *ASK]
        second = create(client, messages=history)

    assert [block.type for block in first.content] == ["thinking", "text"]
    assert first.content[0].thinking.strip() == "Hm."
    assert [block.text for block in second.content] == ["No."]
    assert server.engine.prompts[-1].endswith("assistant: Yes.\nuser: Weather in Paris?\nassistant: ")


def test_answer_goes_on_with_the_assistants_last_message() -> None:
    with listening("is 4.") as server, client_of(server) as client:
        message = create(client, messages=[*ASK, {"role": "assistant", "content": "2 + 2 "}])

    assert [block.text for block in message.content] == ["is 4."]
    assert server.engine.prompts[-1].endswith("assistant: 2 + 2 ")


def test_parse_gives_a_model() -> None:
    with listening('{"city": "Oslo", "country": null}') as server, client_of(server) as client:
        message = client.messages.parse(model="scripted", max_tokens=500, messages=ASK, output_format=Place)

    assert message.parsed_output == Place(city="Oslo", country=None)


def test_more_tokens_than_fit_end_at_the_context() -> None:
    with listening("Hello, my friend.", max_model_len=50) as server, client_of(server) as client:
        message = create(client, max_tokens=10_000)

    assert message.stop_reason == "model_context_window_exceeded"
    assert prompt_tokens(message) + message.usage.output_tokens == 50


def test_count_tokens_counts_the_prompt_that_create_makes() -> None:
    with listening("Hello.") as server, client_of(server) as client:
        count = client.messages.count_tokens(model="scripted", messages=ASK, tools=OWN_TOOLS, system="Be brief.")
        message = create(client, tools=OWN_TOOLS, system="Be brief.")

    assert count.input_tokens == prompt_tokens(message)
    assert len(server.engine.requests) == 1


def test_key_is_taken_from_the_clients_header_and_errors_have_its_classes() -> None:
    with listening("a", server={"api_key": "right"}) as server:
        with client_of(server, "wrong") as client, pytest.raises(anthropic.AuthenticationError) as denied:
            create(client)
        with client_of(server, "right") as client:
            assert create(client).content[0].text == "a"
            with pytest.raises(anthropic.NotFoundError) as missing:
                create(client, model="other")
            with pytest.raises(anthropic.BadRequestError) as wrong:
                create(client, tools=[{"name": "f g", "input_schema": {}}])

    for caught, kind in (
        (denied, "authentication_error"),
        (missing, "not_found_error"),
        (wrong, "invalid_request_error"),
    ):
        body: Any = caught.value.body
        assert body["type"] == "error"
        assert body["error"]["type"] == kind
    assert wrong.value.message.count("tools[0].name") >= 1


def test_failing_stream_raises_in_the_client() -> None:
    with listening("abcdef", script={"fail_after": 3}) as server, client_of(server) as client:
        text = []
        with (
            pytest.raises(anthropic.APIStatusError, match="server had an error"),
            client.messages.stream(model="scripted", max_tokens=50, messages=ASK) as stream,
        ):
            text.extend(stream.text_stream)
        assert "".join(text) == "abc"
        assert server.engine.running == set()
