"""Requests in the formats of many families: calls, ids, allowed tools, reasoning, strictness."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from server.engines.scripted import Script, ScriptedEngine
from server.model_format import KNOWN_MODELS, known_models, resolve_format
from server.pipeline import plan
from server.settings import ModelSettings, SettingsError
from server.wire.chat_request import parse_chat_request
from structural_tags.formats import FORMATS, get_format
from structural_tags.tools import Tool
from tests.formats.sampling import phrases
from tests.server.bodies import JSON_SCHEMA_FORMAT, SCHEMAS, TOOLS, body, tool
from tests.server.running import Running, running

pytestmark = pytest.mark.anyio

REPOSITORY = Path(__file__).parents[2]
FAMILIES = ("qwen3_coder", "glm_4_7", "deepseek_v3_2", "kimi_k2", "kimi_k3", "mistral_v7", "harmony", "gemma_4", "lfm2")
FAMILIES += ("minimax_m3", "functionary_3_2")
ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "draw-points"}}]},
}


def _script(name: str) -> Script:
    tools = [Tool(each["function"]["name"]) for each in TOOLS]
    return Script(phrases=tuple(phrase for phrase in phrases(get_format(name), tools) if len(phrase) > 1))


async def _answers(server: Running, seeds: int = 12, **fields: Any) -> list[dict[str, Any]]:
    """Answers that were not cut short."""
    found = []
    for seed in range(seeds):
        response = await server.chat(**body(seed=seed, max_tokens=3000, **fields))
        assert response.status_code == 200, response.text
        choice = response.json()["choices"][0]
        if choice["finish_reason"] != "length":
            found.append(choice)
    assert found
    return found


@pytest.mark.parametrize("name", FAMILIES)
async def test_required_calls_have_valid_arguments_streamed_or_not(name: str) -> None:
    async with running(_script(name), tool_format=name) as server:
        for choice in await _answers(server, tools=TOOLS, tool_choice="required"):
            assert choice["finish_reason"] == "tool_calls"
            for call in choice["message"]["tool_calls"]:
                called = call["function"]
                jsonschema.validate(json.loads(called["arguments"]), SCHEMAS[called["name"]])
        for seed in range(3):
            request = body(tools=TOOLS, seed=seed, max_tokens=400)
            assert await server.folded(**request, stream_options={"include_usage": True}) == await server.single(
                **request
            )


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("mistral_v7", r"[a-zA-Z0-9]{9}"), ("kimi_k2", r"functions\.draw-points:\d+"), ("hermes", r"call_[0-9a-f]{24}")],
)
async def test_ids_are_of_the_familys_form_and_unique(name: str, pattern: str) -> None:
    async with running(_script(name), tool_format=name) as server:
        for choice in await _answers(server, tools=TOOLS, tool_choice=ALLOWED):
            ids = [call["id"] for call in choice["message"]["tool_calls"]]
            assert len(set(ids)) == len(ids)
            assert re.fullmatch(pattern, ids[0])


async def test_allowed_tools_are_the_only_ones_called_and_all_stay_in_the_prompt() -> None:
    async with running(_script("hermes")) as server:
        for choice in await _answers(server, tools=TOOLS, tool_choice=ALLOWED):
            assert {call["function"]["name"] for call in choice["message"]["tool_calls"]} == {"draw-points"}

    assert server.engine.prompts[0].startswith("tools: get_weather, draw-points\n")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {
                "tools": TOOLS,
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "z"}}]},
                },
            },
            "tool_choice.allowed_tools.tools[0].function.name",
        ),
        (
            {"tools": TOOLS, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
            "tool_choice.allowed_tools.tools",
        ),
        ({"max_tokens": 5, "max_reasoning_tokens": 5}, "max_reasoning_tokens"),
        ({"max_reasoning_tokens": -1}, "max_reasoning_tokens"),
    ],
)
async def test_wrong_field_is_a_400_that_names_it(fields: dict[str, Any], param: str) -> None:
    async with running() as server:
        response = await server.chat(**body(**fields))

    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_reasoning_ends_after_the_tokens_that_were_asked_for() -> None:
    async with running(Script(), tool_format="qwen3") as server:
        for seed in range(10):
            request = body(seed=seed, max_reasoning_tokens=7, max_tokens=40, response_format=JSON_SCHEMA_FORMAT)
            message = (await server.chat(**request)).json()["choices"][0]["message"]
            assert len(message.get("reasoning", "").encode()) <= 7


async def test_schema_of_a_tool_that_is_not_strict_is_not_enforced() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    loose = tool("f", {**schema, "unevaluatedItems": {"format": "regex"}})
    loose["function"]["strict"] = False
    async with running(_script("hermes")) as server:
        answers = await _answers(server, seeds=30, tools=[loose], tool_choice="required")

    arguments = [
        json.loads(call["function"]["arguments"]) for each in answers for call in each["message"]["tool_calls"]
    ]
    assert all(isinstance(each, dict) for each in arguments)
    assert any("a" not in each for each in arguments)


async def test_function_without_parameters_has_no_arguments_strict_or_not() -> None:
    bare = {"type": "function", "function": {"name": "now"}}
    async with running(_script("hermes")) as server:
        answers = await _answers(server, seeds=5, tools=[bare], tool_choice="required")

    calls = [call["function"] for each in answers for call in each["message"]["tool_calls"]]
    assert [json.loads(call["arguments"]) for call in calls] == [{}] * len(calls)


async def test_setting_enforces_the_schemas_of_all_tools() -> None:
    engine = ScriptedEngine()
    tools = [tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})]
    del tools[0]["function"]["strict"]
    request = parse_chat_request(body(tools=tools, tool_choice="required"))
    from engine_native import Compiler

    plans = [
        plan(request, FORMATS["hermes"], Compiler(engine.vocabulary), reasoning=False, strict_tools=strict)
        for strict in (False, True)
    ]

    assert ["required" in (each.structural_tag or "") for each in plans] == [False, True]


async def test_answer_that_may_begin_like_a_call_is_refused_where_calls_are_json() -> None:
    wanted = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}},
        "required": ["name"],
    }
    response_format = {"type": "json_schema", "json_schema": {"name": "x", "schema": wanted}}
    async with running(tool_format="llama_3_json") as server:
        refused = await server.chat(**body(tools=TOOLS, response_format=response_format))
        fine = await server.chat(**body(tools=TOOLS, response_format=JSON_SCHEMA_FORMAT))

    assert refused.json()["error"]["param"] == "response_format"
    assert "begins a call" in refused.json()["error"]["message"]
    assert fine.status_code == 200


@pytest.mark.parametrize("name", ["hermes", "glm_4_7", "llama_3_json", "harmony", "kimi_k3", "command_a"])
async def test_tools_beside_a_response_format_are_calls_or_the_answer(name: str) -> None:
    seen = set()
    async with running(_script(name), tool_format=name) as server:
        fields = {"tools": TOOLS, "response_format": JSON_SCHEMA_FORMAT, "reasoning_effort": "none"}
        for choice in await _answers(server, seeds=30, **fields):
            message = choice["message"]
            seen.add(bool(message.get("tool_calls")))
            if not message.get("tool_calls"):
                jsonschema.validate(json.loads(message["content"]), JSON_SCHEMA_FORMAT["json_schema"]["schema"])
    assert seen == {True, False}


async def test_tools_for_a_model_without_calls_are_refused() -> None:
    async with running(tool_format="plain") as server:
        response = await server.chat(**body(tools=TOOLS))
        without = await server.chat(**body(tools=TOOLS, tool_choice="none"))

    assert response.status_code == 400
    assert response.json()["error"]["param"] == "tools"
    assert without.status_code == 200


def test_names_of_known_models_lead_to_formats(tmp_path: Path) -> None:
    known = known_models(KNOWN_MODELS)

    assert set(known.values()) <= set(FORMATS)
    for name, fmt in (
        ("Llama-4-Scout-17B-16E-Instruct", "llama_pythonic"),
        ("DeepSeek-V3.1-Terminus", "deepseek_v3_1"),
    ):
        (tmp_path / name).mkdir()
        assert resolve_format(ModelSettings(path=str(tmp_path / name))).name == fmt


def test_files_of_known_models_lie_where_the_wheel_takes_them_from() -> None:
    """A name that the build or git leaves out would be missing from the wheel only."""
    scikit = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["scikit-build"]
    ignored = (REPOSITORY / ".gitignore").read_text("utf-8").split()
    excluded = [*scikit["wheel"]["exclude"], *scikit["sdist"]["exclude"], *ignored]
    files = [Path(str(file)).relative_to(REPOSITORY) for file in KNOWN_MODELS.iterdir() if file.name.endswith(".toml")]

    assert len(files) >= 6
    for file in files:
        assert file.parts[0] in scikit["wheel"]["packages"]
        assert not any(part.match(pattern.strip("/")) for part in (file, *file.parents) for pattern in excluded)


def test_file_of_known_models_with_an_unknown_format_is_a_settings_error(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[formats]\n"*x*" = "klingon"\n')

    with pytest.raises(SettingsError, match=r"a\.toml: formats\.\*x\*: unknown model format 'klingon'"):
        resolve_format(ModelSettings(path="x", known_models=str(tmp_path)))


def test_template_whose_calls_no_format_describes_is_a_settings_error(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ tools }} <use_mcp_tool>")

    with pytest.raises(SettingsError, match="does not tell how the model calls tools; name one of apertus, "):
        resolve_format(ModelSettings(path=str(tmp_path)))
