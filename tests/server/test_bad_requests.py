"""What a client can get wrong, and the place that the 400 names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from server.errors import ApiError
from server.wire.body import parse_object
from server.wire.chat_request import parse_chat_request
from tests.server.bodies import JSON_SCHEMA_FORMAT, MESSAGES, TOOLS, body, tool
from tests.server.running import running

pytestmark = pytest.mark.anyio


def schema_format(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


def tag_format(node: Any) -> dict[str, Any]:
    return {"type": "structural_tag", "format": node}


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [*MESSAGES, fields]}


def call(**changes: Any) -> dict[str, Any]:
    whole = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, **changes}
    return message(role="assistant", tool_calls=[whole])


UNSUPPORTED = {"type": "object", "properties": {"a": {"format": "idn-hostname"}}}
"""`not` cannot be enforced by the engine."""

WRONG: list[tuple[str, dict[str, Any], str | None, str]] = [
    # (what the case is, changes to a good body, param, code)
    ("no messages", {"messages": []}, "messages", "invalid_value"),
    ("messages null", {"messages": None}, "messages", "invalid_type"),
    ("messages text", {"messages": "hi"}, "messages", "invalid_type"),
    ("message text", {"messages": ["hi"]}, "messages[0]", "invalid_type"),
    (
        "role missing",
        {"messages": [{"content": "x"}]},
        "messages[0].role",
        "missing_required_parameter",
    ),
    ("role unknown", message(role="wizard", content="x"), "messages[1].role", "invalid_value"),
    ("content missing", message(role="user"), "messages[1].content", "missing_required_parameter"),
    ("content number", message(role="user", content=3), "messages[1].content", "invalid_value"),
    (
        "image part",
        message(role="user", content=[{"type": "image_url", "image_url": {"url": "x"}}]),
        "messages[1].content[0].type",
        "invalid_value",
    ),
    ("empty assistant", message(role="assistant"), "messages[1]", "invalid_value"),
    (
        "tool id missing",
        message(role="tool", content="x"),
        "messages[1].tool_call_id",
        "missing_required_parameter",
    ),
    (
        "call arguments object",
        call(function={"name": "f", "arguments": {}}),
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    ("template refuses", message(role="assistant", content="x"), "messages", "invalid_value"),
    ("model type", {"model": 3}, "model", "invalid_type"),
    ("unknown choice of tools", {"tool_chioce": "none"}, "tool_chioce", "unknown_parameter"),
    ("functions", {"functions": []}, "functions", "unsupported_parameter"),
    ("penalty high", {"frequency_penalty": 2.5}, "frequency_penalty", "invalid_value"),
    ("logit bias", {"logit_bias": {"x": 5}}, "logit_bias", "invalid_value"),
    ("penalty false", {"presence_penalty": False}, "presence_penalty", "invalid_type"),
    ("temperature text", {"temperature": "1"}, "temperature", "invalid_type"),
    ("temperature bool", {"temperature": True}, "temperature", "invalid_type"),
    ("temperature high", {"temperature": 2.1}, "temperature", "invalid_value"),
    ("top_p high", {"top_p": 1.1}, "top_p", "invalid_value"),
    ("max_tokens zero", {"max_tokens": 0}, "max_tokens", "invalid_value"),
    ("max_tokens huge", {"max_tokens": 10**30}, "max_tokens", "context_length_exceeded"),
    ("max_tokens fraction", {"max_tokens": 1.5}, "max_tokens", "invalid_type"),
    ("two limits", {"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens", "invalid_value"),
    (
        "too long answer",
        {"max_completion_tokens": 5000},
        "max_completion_tokens",
        "context_length_exceeded",
    ),
    (
        "too long prompt",
        {"messages": [{"role": "user", "content": "x" * 5000}]},
        "messages",
        "context_length_exceeded",
    ),
    ("stop number", {"stop": 5}, "stop", "invalid_value"),
    ("stop object", {"stop": {"a": "b"}}, "stop", "invalid_value"),
    ("stop item", {"stop": ["a", 5]}, "stop[1]", "invalid_type"),
    ("stop empty", {"stop": [""]}, "stop[0]", "invalid_value"),
    ("five stops", {"stop": list("abcde")}, "stop", "invalid_value"),
    ("seed huge", {"seed": 2**63}, "seed", "invalid_value"),
    ("n zero", {"n": 0}, "n", "invalid_value"),
    ("n greedy", {"n": 2, "temperature": 0}, "n", "invalid_value"),
    ("top_logprobs alone", {"top_logprobs": 2}, "top_logprobs", "invalid_value"),
    ("top_logprobs high", {"logprobs": True, "top_logprobs": 21}, "top_logprobs", "invalid_value"),
    ("logprobs number", {"logprobs": 1}, "logprobs", "invalid_type"),
    ("stream text", {"stream": "yes"}, "stream", "invalid_type"),
    ("stream_options alone", {"stream_options": {}}, "stream_options", "invalid_value"),
    (
        "template kwarg",
        {"chat_template_kwargs": {"chat_template": "x"}},
        "chat_template_kwargs",
        "invalid_value",
    ),
    ("effort", {"reasoning_effort": "huge"}, "reasoning_effort", "invalid_value"),
    ("tools empty", {"tools": []}, "tools", "invalid_value"),
    ("tools object", {"tools": {}}, "tools", "invalid_type"),
    ("tool unknown", {"tools": [{"type": "magic", "magic": {}}]}, "tools[0].type", "invalid_value"),
    (
        "function missing",
        {"tools": [{"type": "function"}]},
        "tools[0].function",
        "missing_required_parameter",
    ),
    ("function name", {"tools": [tool("a b", {})]}, "tools[0].function.name", "invalid_value"),
    (
        "function name twice",
        {"tools": [tool("a", {}), tool("a", {})]},
        "tools[1].function.name",
        "invalid_value",
    ),
    ("parameters list", {"tools": [tool("a", [])]}, "tools[0].function.parameters", "invalid_type"),  # type: ignore[arg-type]
    (
        "parameters string",
        {"tools": [tool("a", {"type": "string"})]},
        "tools[0].function.parameters",
        "invalid_schema",
    ),
    (
        "parameters union",
        {"tools": [tool("a", {"anyOf": [{"type": "object"}, {"type": "integer"}]})]},
        "tools[0].function.parameters",
        "invalid_schema",
    ),
    (
        "unsupported keyword",
        {"tools": [*TOOLS, tool("c", UNSUPPORTED)]},
        "tools[2].function.parameters",
        "unsupported_schema",
    ),
    (
        "type of type",
        {"tools": [*TOOLS, tool("c", {"type": "object", "properties": {"a": {"type": "strng"}}})]},
        "tools[2].function.parameters",
        "invalid_schema",
    ),
    ("choice without tools", {"tool_choice": "auto"}, "tool_choice", "invalid_value"),
    ("choice unknown", {"tools": TOOLS, "tool_choice": "maybe"}, "tool_choice", "invalid_value"),
    ("choice number", {"tools": TOOLS, "tool_choice": 1}, "tool_choice", "invalid_type"),
    (
        "choice of no tool",
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "z"}}},
        "tool_choice.function.name",
        "invalid_value",
    ),
    (
        "choice nameless",
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {}}},
        "tool_choice.function.name",
        "missing_required_parameter",
    ),
    (
        "parallel text",
        {"tools": TOOLS, "parallel_tool_calls": "no"},
        "parallel_tool_calls",
        "invalid_type",
    ),
    ("format text", {"response_format": "json"}, "response_format", "invalid_type"),
    (
        "format unknown",
        {"response_format": {"type": "xml"}},
        "response_format.type",
        "invalid_value",
    ),
    (
        "format typeless",
        {"response_format": {}},
        "response_format.type",
        "missing_required_parameter",
    ),
    (
        "json_schema missing",
        {"response_format": {"type": "json_schema"}},
        "response_format.json_schema",
        "missing_required_parameter",
    ),
    (
        "schema missing",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        "response_format.json_schema.schema",
        "missing_required_parameter",
    ),
    (
        "schema name",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "", "schema": {}}}},
        "response_format.json_schema.name",
        "invalid_value",
    ),
    (
        "schema text",
        {"response_format": schema_format("{}")},
        "response_format.json_schema.schema",
        "invalid_type",
    ),
    (
        "schema unsupported",
        {"response_format": schema_format(UNSUPPORTED)},
        "response_format.json_schema.schema",
        "unsupported_schema",
    ),
    (
        "tag empty",
        {"response_format": {"type": "structural_tag"}},
        "response_format.format",
        "missing_required_parameter",
    ),
    (
        "tag both shapes",
        {"response_format": {**tag_format({"type": "any_text"}), "triggers": ["x"]}},
        "response_format.triggers",
        "invalid_value",
    ),
    (
        "tag half legacy",
        {"response_format": {"type": "structural_tag", "structures": []}},
        "response_format.triggers",
        "missing_required_parameter",
    ),
    (
        "tag unknown node",
        {"response_format": tag_format({"type": "sequence", "elements": [{"type": "wat"}]})},
        "response_format.format",
        "invalid_structural_tag",
    ),
]


@pytest.mark.parametrize(("changes", "param", "code"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
async def test_wrong_request_is_a_400_that_names_the_place(
    changes: dict[str, Any], param: str | None, code: str
) -> None:
    async with running(max_model_len=4000) as server:
        response = await server.chat(**body(**changes))

    error = openai_error(response, 400)
    assert (error["param"], error["code"]) == (param, code)
    assert error["message"].startswith(f"{param}: ")
    assert server.engine.requests == []


@pytest.mark.parametrize(
    ("changes", "param", "keyword", "pointer"),
    [
        (
            {"tools": [tool("c", UNSUPPORTED)], "tool_choice": "required"},
            "tools[0].function.parameters",
            "format",
            "/properties/a",
        ),
        (
            {"tools": [*TOOLS, tool("c", {"type": "object", "format": "idn-hostname"})]},
            "tools[2].function.parameters",
            "format",
            "",
        ),
        (
            {"response_format": schema_format({"properties": {"a/b": {"format": "idn-hostname"}}})},
            "response_format.json_schema.schema",
            "format",
            "/properties/a~1b",
        ),
        (
            {
                "response_format": tag_format(
                    {
                        "type": "tag",
                        "begin": "<a>",
                        "content": {"type": "json_schema", "json_schema": {"items": {"format": "idn-hostname"}}},
                        "end": "</a>",
                    }
                )
            },
            "response_format.format",
            "format",
            "/content/json_schema/items",
        ),
        (
            {
                "response_format": {
                    "type": "structural_tag",
                    "triggers": ["<"],
                    "structures": [
                        {"begin": "<a>", "schema": {}, "end": "</a>"},
                        {"begin": "<b>", "schema": {"items": {"format": "idn-hostname"}}, "end": "</b>"},
                    ],
                }
            },
            "response_format.structures[1].schema",
            "format",
            "/items",
        ),
    ],
)
async def test_unsupported_keyword_is_named_with_its_json_pointer(
    changes: dict[str, Any], param: str, keyword: str, pointer: str
) -> None:
    async with running() as server:
        error = openai_error(await server.chat(**body(**changes)), 400)

    assert error["param"] == param
    assert keyword in error["message"]
    assert pointer in error["message"]
    assert server.engine.requests == []


async def test_unknown_model_is_a_404() -> None:
    async with running() as server:
        error = openai_error(await server.chat(**body(model="gpt-5")), 404)

    assert (error["param"], error["code"]) == ("model", "model_not_found")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "line 1, column 1"),
        (b'{"messages": [', "line 1, column 15"),
        (b"\xff\xfe{}", "byte 0 is not UTF-8"),
        (b'{"a": "\xc3"}', "is not UTF-8"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1e999}', "out of range"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"\\udc00": 1}', "half of a surrogate pair"),
        (b"[]", "must be an object"),
        (b"null", "must be an object"),
        (b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", "nested deeper than 128 levels"),
        (b"[" * 100_000, "nested deeper than 128 levels"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
    ],
)
async def test_body_that_is_not_json_is_a_400(raw: bytes, reason: str) -> None:
    async with running() as server:
        response = await server.http.post("/v1/chat/completions", content=raw)

    error = openai_error(response, 400)
    assert error["code"] == "invalid_json"
    assert reason in error["message"]


async def test_too_long_body_is_a_413() -> None:
    async with running(max_body_bytes=100) as server:
        response = await server.http.post("/v1/chat/completions", content=b" " * 101)

    assert openai_error(response, 413)["code"] == "request_too_large"


async def test_unknown_path_and_method_have_openais_error_body() -> None:
    async with running() as server:
        assert openai_error(await server.http.get("/v1/nothing"), 404)["code"] == "not_found"
        wrong_method = await server.http.get("/v1/chat/completions")
        assert openai_error(wrong_method, 405)["code"] == "method_not_allowed"
        assert wrong_method.headers["allow"] == "POST"


async def test_schema_past_a_limit_is_a_400_and_the_next_request_works() -> None:
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"type": "object", "properties": {"a": deep}}
    endless = {"type": "string", "minLength": 10**9}
    async with running(max_json_depth=64) as server:
        nested = openai_error(await server.chat(**body(response_format=schema_format(deep))), 400)
        long = await server.chat(**body(response_format=schema_format(endless), max_tokens=5))
        good = await server.chat(**body(response_format=JSON_SCHEMA_FORMAT))

    assert nested["code"] == "invalid_json"
    assert long.status_code in (200, 400)
    assert good.status_code == 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted(
    {"messages", "tools", "tool_choice", "response_format", "stop", "n", "seed", "temperature"}
    | {"stream", "stream_options", "logprobs", "top_logprobs", "max_tokens", "reasoning_effort"}
    | {"structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar"}
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FIELDS), json_values)
def test_any_json_in_any_field_is_taken_or_refused_by_name(field: str, value: Any) -> None:
    raw = json.dumps(body(**{field: value})).encode("utf-8", errors="surrogatepass")
    error = refusal(lambda: parse_chat_request(parse_object(raw, max_depth=128)))

    if error is not None:
        assert error.status == 400
        assert error.param is None or error.message.startswith(error.param)
        assert json.loads(bytes(error.response().body))["error"]["message"] == error.message


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_a_400(raw: bytes) -> None:
    error = refusal(lambda: parse_object(raw, max_depth=128))

    if error is not None:
        assert (error.status, error.code) == (400, "invalid_json")


schemas = st.dictionaries(
    st.sampled_from(["type", "properties", "items", "enum", "$ref", "anyOf", "minLength", "x"]),
    json_values,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(schemas, st.booleans())
def test_any_schema_is_enforced_or_refused_with_its_place(schema: dict[str, Any], as_tool: bool) -> None:
    async def ask() -> httpx.Response:
        changes = {"tools": [tool("f", schema)]} if as_tool else {"response_format": schema_format(schema)}
        async with running() as server:
            return await server.chat(**body(max_tokens=3, **changes))

    raw = json.dumps(schema, ensure_ascii=False)
    assume(raw.isprintable())
    response = asyncio.run(ask())

    if response.status_code != 200:
        place = "tools[0].function.parameters" if as_tool else "response_format.json_schema.schema"
        assert openai_error(response, 400)["param"] == place


def refusal(work: Callable[[], object]) -> ApiError | None:
    try:
        work()
    except ApiError as error:
        return error
    return None


def openai_error(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error object, after checking the answer's form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error"}
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    return error


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/structured/validate"])
async def test_numbers_longer_than_64_bits_are_taken_everywhere(path: str) -> None:
    long = 10**30
    schema = {
        "type": "object",
        "properties": {"n": {"const": long}},
        "required": ["n"],
        "additionalProperties": False,
    }
    chat = {"messages": MESSAGES, "response_format": schema_format(schema), "metadata": {"a": "b"}}
    response = {"input": "x", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}}
    async with running() as server:
        answer = await server.http.post(path, json=response if path.endswith("responses") else chat)
        again = None
        if path.endswith("responses"):
            again = await server.http.get(f"{path}/{answer.json()['id']}")

    assert answer.status_code == 200, answer.text
    assert str(long) in answer.text
    assert again is None or again.json() == answer.json()
