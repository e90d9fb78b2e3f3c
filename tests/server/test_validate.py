"""`/v1/structured/validate`: everything up to the model, and nothing of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.bodies import JSON_SCHEMA_FORMAT, MESSAGES, TOOLS, WEATHER_SCHEMA, tool
from tests.server.running import Running, running

pytestmark = pytest.mark.anyio


async def validate(server: Running, **body: Any) -> Any:
    response = await server.http.post("/v1/structured/validate", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def test_tools_are_compiled_for_the_models_format_and_the_model_does_not_run() -> None:
    async with running(tool_format="qwen3") as server:
        told = await validate(server, tools=TOOLS, tool_choice="required")
        again = await validate(server, tools=TOOLS, tool_choice="required")
        await server.chat(messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=1, max_tokens=5)

    assert (told["valid"], told["format"], told["constrained"]) == (True, "qwen3", True)
    assert "<tool_call>" in str(told["structural_tag"])
    assert [part["param"] for part in told["parts"]] == [f"tools[{i}].function.parameters" for i in (0, 1)]
    assert told["memory_bytes"] > 0
    assert told["least_tokens"] > 40
    assert 0 < told["cache"]["compile_seconds"] <= told["seconds"]
    assert told["cache"]["levels"]["grammar"]["misses"] >= 3
    assert again["cache"]["levels"]["grammar"]["misses"] == 0
    assert again["structural_tag"] == told["structural_tag"]
    assert len(server.engine.requests) == 1


async def test_notes_name_annotations_that_are_not_enforced() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "colour"}}}
    async with running() as server:
        told = await validate(server, guided_json=schema)

    (part,) = told["parts"]
    assert part["param"] == "guided_json"
    assert any("colour" in note for note in part["notes"])


async def test_free_text_is_not_constrained() -> None:
    async with running() as server:
        told = await validate(server, messages=MESSAGES, mood=1)

    assert (told["valid"], told["constrained"], told["structural_tag"]) == (True, False, None)
    assert told["warnings"] == ["unknown field: mood"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"tools": [*TOOLS, tool("c", {"properties": {"a/b": {"format": "idn-hostname"}}})]},
            {
                "param": "tools[2].function.parameters",
                "code": "unsupported_schema",
                "pointer": "/properties/a~1b/format",
            },
        ),
        (
            {"structured_outputs": {"grammar": "root ::= a\na ::= [0-9"}},
            {"param": "structured_outputs.grammar", "code": "invalid_grammar", "line": 2},
        ),
        ({"guided_regex": "ab("}, {"param": "guided_regex", "code": "invalid_grammar", "offset": 2}),
        (
            {"response_format": {"type": "structural_tag", "format": {"type": "sequence", "elements": []}}},
            {"param": "response_format.format", "code": "invalid_structural_tag", "pointer": "/elements"},
        ),
        ({"tools": TOOLS, "tool_choice": "maybe"}, {"param": "tool_choice", "code": "invalid_value"}),
        ({"tools": [{"type": "function"}]}, {"param": "tools[0].function", "code": "missing_required_parameter"}),
        (
            {"response_format": JSON_SCHEMA_FORMAT, "max_tokens": 5, "complete_within_budget": True},
            {"param": "max_tokens", "code": "token_budget_too_small"},
        ),
    ],
)
async def test_error_is_the_one_that_a_chat_request_gets_with_its_place(
    body: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with running() as server:
        told = await validate(server, **body)
        refused = await server.chat(messages=MESSAGES, **body)

    assert told["valid"] is False
    assert "structural_tag" not in told
    error = told["error"]
    assert {key: error.get(key) for key in expected} == expected
    assert refused.status_code == 400
    assert refused.json()["error"] == {key: error[key] for key in ("message", "type", "param", "code")}


async def test_body_that_is_no_json_and_an_unknown_model_are_errors_as_elsewhere() -> None:
    async with running() as server:
        broken = await server.http.post("/v1/structured/validate", content=b"{")
        unknown = await server.http.post("/v1/structured/validate", json={"model": "x"})

    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "invalid_json")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")


async def test_least_tokens_are_enough_and_one_less_is_not() -> None:
    async with running() as server:
        least = (await validate(server, guided_json=WEATHER_SCHEMA))["least_tokens"]
        budget = {"messages": MESSAGES, "guided_json": WEATHER_SCHEMA, "complete_within_budget": True}
        enough = await server.chat(**budget, max_tokens=least)
        short = await server.chat(**budget, max_tokens=least - 1)

    assert (enough.status_code, short.status_code) == (200, 400)
