"""`/v1/responses`: what is refused, by the client's own name for it, and what reaches the prompt."""

from __future__ import annotations

from typing import Any

import pytest

from server.engines.scripted import Script
from server.response_store import ResponseStore, StoredResponse
from tests.server.bodies import TOOLS
from tests.server.running import running

pytestmark = pytest.mark.anyio

FUNCTIONS = [{"type": "function", **tool["function"]} for tool in TOOLS]
BAD_SCHEMA = {"type": "object", "properties": {"a": {"format": "idn-hostname"}}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no input": ({}, "input", "missing_required_parameter"),
    "empty input": ({"input": []}, "input", "missing_required_parameter"),
    "wrong input": ({"input": 5}, "input", "invalid_type"),
    "no item": ({"input": [5]}, "input[0]", "invalid_type"),
    "hosted item": ({"input": [{"type": "web_search_call", "id": "x"}]}, "input[0].type", "unsupported_parameter"),
    "reference": ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type", "unsupported_parameter"),
    "image": (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        "input[0].content[0].type",
        "unsupported_parameter",
    ),
    "image of a tool": (
        {"input": [{**CALL, "type": "function_call_output", "output": [{"type": "input_image", "image_url": "x"}]}]},
        "input[0].output[0].type",
        "unsupported_parameter",
    ),
    "role": ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role", "invalid_value"),
    "call without id": (
        {"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]},
        "input[0].call_id",
        "missing_required_parameter",
    ),
    "unknown key of an item": ({"input": [{**CALL, "colour": 1}]}, "input[0].colour", "unknown_parameter"),
    "hosted tool": ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type", "unsupported_parameter"),
    "mcp": ({"input": "x", "tools": [*FUNCTIONS, {"type": "mcp"}]}, "tools[2].type", "unsupported_parameter"),
    "hosted choice": (
        {"input": "x", "tools": FUNCTIONS, "tool_choice": {"type": "file_search"}},
        "tool_choice.type",
        "unsupported_parameter",
    ),
    "schema of a tool": (
        {"input": "x", "tools": [{"type": "function", "name": "f", "parameters": BAD_SCHEMA}]},
        "tools[0].parameters",
        "unsupported_schema",
    ),
    "name of a tool": (
        {"input": "x", "tools": [{"type": "function", "name": "f g"}]},
        "tools[0].name",
        "invalid_value",
    ),
    "unknown choice": (
        {"input": "x", "tools": FUNCTIONS, "tool_choice": {"type": "function", "name": "g"}},
        "tool_choice.name",
        "invalid_value",
    ),
    "unknown allowed tool": (
        {
            "input": "x",
            "tools": FUNCTIONS,
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "g"}]},
        },
        "tool_choice.tools[0].name",
        "invalid_value",
    ),
    "required without tools": ({"input": "x", "tool_choice": "required"}, "tool_choice", "invalid_value"),
    "schema of the text": (
        {"input": "x", "text": {"format": {"type": "json_schema", "name": "n", "schema": BAD_SCHEMA}}},
        "text.format.schema",
        "unsupported_schema",
    ),
    "text without schema": (
        {"input": "x", "text": {"format": {"type": "json_schema", "name": "n"}}},
        "text.format.schema",
        "missing_required_parameter",
    ),
    "kind of text": ({"input": "x", "text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
    "no tokens": ({"input": "x", "max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
    "too many tokens": (
        {"input": "x", "max_output_tokens": 100_000},
        "max_output_tokens",
        "context_length_exceeded",
    ),
    "too much input": ({"input": "x" * 3000}, "input", "context_length_exceeded"),
    "background": ({"input": "x", "background": True}, "background", "unsupported_parameter"),
    "conversation": ({"input": "x", "conversation": "c"}, "conversation", "unsupported_parameter"),
    "stored prompt": ({"input": "x", "prompt": {"id": "p"}}, "prompt", "unsupported_parameter"),
    "chat's name": ({"input": "x", "max_tokens": 5}, "max_tokens", "unknown_parameter"),
    "chat's messages": ({"messages": []}, "messages", "unknown_parameter"),
    "metadata": ({"input": "x", "metadata": {"k": "v" * 513}}, "metadata.k", "invalid_value"),
    "model": ({"input": "x", "model": "other"}, "model", "model_not_found"),
    "prompt that the template refuses": ({"input": [CALL]}, "input", "invalid_value"),
    "constraint beside tools": (
        {"input": "x", "tools": FUNCTIONS, "structured_outputs": {"grammar": "start: /a/"}},
        "structured_outputs.grammar",
        "invalid_value",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_wrong_request_is_a_400_that_names_the_place_in_it(case: str) -> None:
    body, param, code = WRONG[case]
    async with running(max_model_len=2000, strict_fields=True) as server:
        response = await server.http.post("/v1/responses", json=body)

    error = response.json()["error"]
    assert response.status_code == (404 if case == "model" else 400), error
    assert (error["param"], error["code"]) == (param, code), error
    assert error["type"] == "invalid_request_error"
    assert server.engine.requests == []


async def test_unknown_fields_are_named_in_a_header() -> None:
    body = {"input": [{"role": "user", "content": "x", "shade": 1}], "colour": 1}
    async with running() as server:
        response = await server.http.post("/v1/responses", json=body)

    assert response.status_code == 200
    assert response.headers["x-strictserve-warning"] == "unknown field: input[].shade; unknown field: colour"


async def test_messages_of_errors_speak_of_fields_of_this_endpoint() -> None:
    fields = {"input": "x", "max_output_tokens": 5, "max_reasoning_tokens": 5}
    async with running() as server:
        error = (await server.http.post("/v1/responses", json=fields)).json()["error"]

    assert error["param"] == "max_reasoning_tokens"
    assert "less than max_output_tokens" in error["message"]


async def test_items_of_one_turn_are_one_message_of_the_template() -> None:
    items = [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
        {**CALL, "id": "i", "status": "completed"},
        {**CALL, "call_id": "d"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"type": "function_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "2"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "x"},
        {"type": "message", "role": "user", "content": "c"},
    ]
    async with running() as server:
        seen: list[Any] = []
        render = server.engine.render_chat

        def spy(messages: Any, *rest: Any, **more: Any) -> list[int]:
            seen.extend(messages)
            return render(messages, *rest, **more)

        server.engine.render_chat = spy  # type: ignore[method-assign]
        response = await server.http.post("/v1/responses", json={"input": items, "instructions": "I"})

    assert response.status_code == 200, response.text
    assert [message["role"] for message in seen] == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]
    turn = seen[3]
    assert (turn["content"], turn["reasoning_content"]) == ("ok", "hm")
    assert [call["id"] for call in turn["tool_calls"]] == ["c", "d"]
    assert [message["content"] for message in seen[4:]] == ["1", "2", "", "c"]
    assert seen[6]["reasoning_content"] == "s"
    assert seen[2]["content"] == "a\nb"


async def test_cut_answer_is_incomplete_and_so_is_its_last_item() -> None:
    fields = {"input": "x", "tools": FUNCTIONS, "tool_choice": "required", "seed": 1, "max_output_tokens": 40}
    async with running(Script(phrases=("<tool_call>",))) as server:
        response = (await server.http.post("/v1/responses", json=fields)).json()
        stopped = {**fields, "max_output_tokens": None, "stop": '"name"'}
        other = (await server.http.post("/v1/responses", json=stopped)).json()

    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output"][-1]["status"] == "incomplete"
    assert other["status"] == "completed"  # by a stop string; what it cut is no call yet


async def test_strict_is_the_default_of_tools_here() -> None:
    tool = {"type": "function", "name": "f", "parameters": BAD_SCHEMA}
    async with running(Script(text="x")) as server:
        strict = await server.http.post("/v1/responses", json={"input": "x", "tools": [tool]})
        loose = await server.http.post(
            "/v1/responses", json={"input": "x", "tools": [{**tool, "strict": False}], "max_output_tokens": 5}
        )

    assert strict.status_code == 400
    assert loose.status_code == 200
    assert loose.json()["tools"][0]["strict"] is False


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "order=up", "after=nothing", "stream=true"])
async def test_wrong_query_is_a_400(query: str) -> None:
    async with running() as server:
        made = (await server.http.post("/v1/responses", json={"input": "x"})).json()
        tail = "" if query.startswith("stream") else "/input_items"
        response = await server.http.get(f"/v1/responses/{made['id']}{tail}?{query}")

    assert response.status_code == 400
    assert response.json()["error"]["param"] == query.partition("=")[0]


async def test_input_items_come_in_pages() -> None:
    items = [{"role": "user", "content": str(number)} for number in range(5)]
    async with running() as server:
        made = (await server.http.post("/v1/responses", json={"input": items})).json()
        path = f"/v1/responses/{made['id']}/input_items"
        first = (await server.http.get(path, params={"limit": 2})).json()
        last = (await server.http.get(path, params={"limit": 3, "after": first["last_id"]})).json()

    assert [item["content"][0]["text"] for item in first["data"]] == ["4", "3"]
    assert first["has_more"] is True
    assert [item["content"][0]["text"] for item in last["data"]] == ["2", "1", "0"]
    assert last["has_more"] is False


async def test_nothing_is_kept_where_the_store_is_off() -> None:
    async with running(responses={"max_entries": 0}) as server:
        made = (await server.http.post("/v1/responses", json={"input": "x"})).json()
        response = await server.http.get(f"/v1/responses/{made['id']}")

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "response_not_found"


def test_store_forgets_what_was_longest_not_used() -> None:
    entry = StoredResponse(b"x" * 60, b"[]")
    by_number = ResponseStore(max_entries=2, max_bytes=1 << 20)
    by_bytes = ResponseStore(max_entries=100, max_bytes=150)
    for store in (by_number, by_bytes):
        store.put("a", entry)
        store.put("b", entry)
        assert store.get("a") == entry
        store.put("c", entry)
        assert (store.get("a"), store.get("b"), store.get("c")) == (entry, None, entry)
        assert (len(store), store.size) == (2, 124)
        store.put("long", StoredResponse(b"x" * (1 << 20), b"x"))
        assert store.get("long") is None
        assert len(store) == 2
        assert store.delete("a")
        assert not store.delete("a")
        assert store.size == 62
