"""Fields that nobody knows: named in a header and left out, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.bodies import JSON_SCHEMA_FORMAT, MESSAGES, TOOLS, body
from tests.server.running import running

pytestmark = pytest.mark.anyio

HEADER = "x-strictserve-warning"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"temprature": 1}, "temprature"),
        ({"top-p": None}, "top-p"),
        ({"stream": True, "stream_options": {"x": 1}}, "stream_options.x"),
        ({"messages": [{**MESSAGES[0], "mood": 1}, {**MESSAGES[0], "mood": 2}]}, "messages[].mood"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]}]},
            "messages[].content[].cache_control",
        ),
        ({"tools": [{**TOOLS[0], "defer_loading": False}]}, "tools[].defer_loading"),
    ],
)
async def test_unknown_field_is_named_in_a_header_or_refused_when_strict(changes: dict[str, Any], named: str) -> None:
    async with running() as server:
        lenient = await server.chat(**body(**changes))
    async with running(strict_fields=True) as server:
        strict = await server.chat(**body(**changes))

    assert lenient.status_code == 200, lenient.text
    assert lenient.headers[HEADER] == f"unknown field: {named}"
    assert strict.status_code == 400
    error = strict.json()["error"]
    assert error["code"] == "unknown_parameter"
    assert error["param"].replace("[0]", "[]") == named


async def test_several_unknown_fields_are_all_named() -> None:
    async with running() as server:
        response = await server.chat(**body(colour=1, flavour=2))

    assert response.headers[HEADER] == "unknown field: colour; unknown field: flavour"


async def test_known_fields_leave_no_header() -> None:
    async with running() as server:
        response = await server.chat(**body(user="u", metadata={"a": "b"}))

    assert HEADER not in response.headers


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"guided_jsn": {}}, "guided_jsn"),
        ({"response_fromat": {"type": "json_object"}}, "response_fromat"),
        ({"structured_outputs": {"json": {}, "rgex": "x"}}, "structured_outputs.rgex"),
        ({"response_format": {**JSON_SCHEMA_FORMAT, "strict": True}}, "response_format.strict"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}, "y": 1}}, "tool_choice.y"),
    ],
)
async def test_what_may_be_a_constraint_is_never_left_out(changes: dict[str, Any], param: str) -> None:
    async with running() as server:
        response = await server.chat(**body(**changes))

    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_fault_beside_an_unknown_field_is_the_one_that_is_told() -> None:
    async with running() as server:
        response = await server.chat(**body(aaa=1, temperature="hot"))

    assert response.json()["error"]["param"] == "temperature"


async def test_number_of_unknown_fields_is_limited() -> None:
    async with running() as server:
        response = await server.chat(**body(**{f"x{i}": 1 for i in range(33)}))
        messages = [{**MESSAGES[0], f"m{i}": 1} for i in range(200)]
        nested = await server.chat(**body(messages=messages))

    assert response.status_code == 200  # all of one level are one fault
    assert nested.status_code == 400
