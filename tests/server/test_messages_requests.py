"""`/v1/messages`: what is refused, by the client's own name for it, in Anthropic's shape."""

from __future__ import annotations

from typing import Any

import pytest

from server.engines.scripted import Script
from tests.server.running import running

pytestmark = pytest.mark.anyio

ASK = [{"role": "user", "content": "x"}]
GOOD: dict[str, Any] = {"max_tokens": 50, "messages": ASK}
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
BAD_SCHEMA = {"type": "object", "properties": {"a": {"format": "idn-hostname"}}}
RESULT = {"type": "tool_result", "tool_use_id": "t"}


def said(*blocks: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [*ASK, {"role": role, "content": list(blocks)}]}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no max_tokens": ({"max_tokens": None}, "max_tokens: "),
    "no messages": ({"messages": []}, "messages: "),
    "wrong content": ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content: "),
    "role": ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role: "),
    "image": (said({"type": "image", "source": {}}), "messages[1].content[0].type: 'image'"),
    "document": (said({"type": "document", "source": {}}), "messages[1].content[0].type: 'document'"),
    "image of a tool": (
        said({**RESULT, "content": [{"type": "image", "source": {}}]}),
        "messages[1].content[0].content[0].type: 'image'",
    ),
    "call by the user": (
        said({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
        "messages[1].content[0].type",
    ),
    "input that is no object": (
        said({"type": "tool_use", "id": "t", "name": "f", "input": 5}, role="assistant"),
        "messages[1].content[0].input: must be an object",
    ),
    "unknown key": (said({"type": "text", "text": "x", "colour": 1}), "messages[1].content[0].colour: unknown field"),
    "hosted tool": ({"tools": [TOOL, {"type": "web_search_20250305", "name": "w"}]}, "tools[1].type: 'web_search"),
    "name of a tool": ({"tools": [{**TOOL, "name": "f g"}]}, "tools[0].name: "),
    "same name": ({"tools": [TOOL, TOOL]}, "tools[1].name: "),
    "schema of a tool": ({"tools": [{**TOOL, "strict": True, "input_schema": BAD_SCHEMA}]}, "tools[0].input_schema: "),
    "unknown choice": ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name: "),
    "choice without tools": ({"tool_choice": {"type": "any"}}, "tool_choice: "),
    "kind of choice": ({"tools": [TOOL], "tool_choice": {"type": "x"}}, "tool_choice.type: "),
    "schema of the answer": (
        {"output_config": {"format": {"type": "json_schema", "schema": BAD_SCHEMA}}},
        "output_config.format.schema: ",
    ),
    "budget": (
        {"thinking": {"type": "enabled", "budget_tokens": 50}},
        "thinking.budget_tokens: must be less than max_tokens",
    ),
    "no budget": ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens: is required"),
    "kind of thinking": ({"thinking": {"type": "between_tools"}}, "thinking.type: "),
    "stop": ({"stop_sequences": list("abcde")}, "stop_sequences: "),
    "container": ({"container": "c"}, "container: not supported"),
    "chat's name": ({"response_format": {"type": "json_object"}}, "response_format: "),
    "unknown field": ({"colour": 1}, "colour: unknown field"),
    "too much input": ({"messages": [{"role": "user", "content": "x" * 3000}]}, "messages: "),
    "prompt that the template refuses": (said({"type": "thinking", "thinking": "x"}, role="assistant"), "messages: "),
}


@pytest.mark.parametrize("case", WRONG)
async def test_wrong_request_is_a_400_that_names_the_place_in_it(case: str) -> None:
    changes, message = WRONG[case]
    async with running(max_model_len=2000, strict_fields=True) as server:
        response = await server.http.post("/v1/messages", json={**GOOD, **changes})

    body = response.json()
    assert response.status_code == 400, body
    assert set(body) == {"type", "error"}
    assert body["type"] == "error"
    assert set(body["error"]) == {"type", "message"}
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["message"].startswith(message), body
    assert server.engine.requests == []


async def test_unknown_fields_are_named_in_a_header() -> None:
    blocks = [{"type": "text", "text": "x", "shade": 1}]
    body = {**GOOD, "messages": [{"role": "user", "content": blocks}], "colour": 1}
    async with running() as server:
        response = await server.http.post("/v1/messages", json=body)

    assert response.status_code == 200
    warning = response.headers["x-strictserve-warning"]
    assert warning == "unknown field: messages[].content[].shade; unknown field: colour"


async def test_answers_that_no_route_makes_have_the_shape_too() -> None:
    async with running(api_key="k", max_body_bytes=100) as server:
        key = {"x-api-key": "k"}
        answers = {
            401: await server.http.post("/v1/messages", json=GOOD),
            404: await server.http.post("/v1/messages/other", json=GOOD, headers=key),
            405: await server.http.get("/v1/messages", headers=key),
            413: await server.http.post("/v1/messages", json={**GOOD, "x": "x" * 100}, headers=key),
        }
        other = await server.http.post("/v1/chat/completions", json={}, headers=key)

    kinds = {
        401: "authentication_error",
        404: "not_found_error",
        405: "invalid_request_error",
        413: "request_too_large",
    }
    for status, response in answers.items():
        assert response.status_code == status
        assert response.json()["error"]["type"] == kinds[status]
        assert response.headers["content-length"] == str(len(response.content))
    assert answers[401].headers["www-authenticate"] == "Bearer"
    assert set(other.json()["error"]) == {"message", "type", "param", "code"}


async def test_dead_engine_is_a_503_in_the_shape() -> None:
    async with running(Script(text="abc", die_after=1)) as server:
        response = await server.http.post("/v1/messages", json=GOOD)

    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert response.json()["error"]["type"] == "overloaded_error"


async def test_blocks_of_a_message_become_messages_of_the_template() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "so", "citations": None},
        {**call, "cache_control": {"type": "ephemeral"}},
    ]
    messages = [
        {"role": "system", "content": "Be brief."},
        *ASK,
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{**RESULT, "is_error": True, "content": "no"}, {"type": "text", "text": "and"}]},
    ]
    async with running() as server:
        seen: list[Any] = []
        render = server.engine.render_chat

        def spy(messages: Any, *rest: Any, **more: Any) -> list[int]:
            seen.extend(messages)
            return render(messages, *rest, **more)

        server.engine.render_chat = spy  # type: ignore[method-assign]
        response = await server.http.post("/v1/messages", json={**GOOD, "messages": messages})

    assert response.status_code == 200, response.text
    assert [message["role"] for message in seen] == ["system", "user", "assistant", "tool", "user"]
    turn = seen[2]
    assert (turn["content"], turn["reasoning_content"]) == ("so", "hm")
    assert turn["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": [1]}}
    assert seen[3] == {"role": "tool", "content": "no", "tool_call_id": "t"}


async def test_input_of_a_call_is_the_models_own_json() -> None:
    said = '{"n": 123456789012345678901234567890, "s": "\\ud83d\\ude00", "f": 1e999}'
    tool = {**TOOL, "input_schema": {"type": "object"}}
    async with running(Script(answers=(f'<tool_call>\n{{"name": "f", "arguments": {said}}}\n</tool_call>',))) as server:
        body = {**GOOD, "tools": [tool], "tool_choice": {"type": "any"}, "max_tokens": 200}
        response = await server.http.post("/v1/messages", json=body)

    assert response.json()["stop_reason"] == "tool_use"
    assert f'"input":{said}' in response.text


async def test_warnings_speak_of_fields_of_this_endpoint() -> None:
    two_keys = {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}
    tool = {**TOOL, "strict": True, "input_schema": two_keys}
    body = {**GOOD, "tools": [tool], "tool_choice": {"type": "any"}}
    async with running(model={"complete_within_budget": True}) as server:
        response = await server.http.post("/v1/messages", json=body)

    warning = response.headers["x-strictserve-warning"]
    assert warning.startswith("complete_within_budget: not applied: tools[0].input_schema: ")


async def test_call_that_was_cut_holds_what_there_is_of_it() -> None:
    tool = {
        **TOOL,
        "strict": True,
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    said = '<tool_call>\n{"name": "f", "arguments": {"city": "Paris"'
    async with running(Script(answers=(said,))) as server:
        body = {**GOOD, "tools": [tool], "tool_choice": {"type": "any"}, "max_tokens": len(said)}
        message = (await server.http.post("/v1/messages", json=body)).json()

    assert message["stop_reason"] == "max_tokens"
    assert message["content"][0]["name"] == "f"
    assert message["content"][0]["input"] == {"city": "Paris"}
