"""Forty requests over real tools at temperature 1: every call that ends by itself satisfies its schema."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine_native import Compiler, EngineError
from structural_tags.choice import NamedTool, Tool, build_tag
from structural_tags.formats import get_format
from structural_tags.output import OutputParser, fold
from tests.vllm.conftest import LiveEngine

REQUESTS = 40


def cases(shared: Path) -> list[dict[str, Any]]:
    path = shared / "data" / "bfcl.dev.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no tools at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    # Short prompts: prefill on a CPU is what takes long. Every tenth, so that categories mix.
    return [row for row in rows if row.get("tools") and len(json.dumps(row["tools"])) < 1500][::10]


def tools_of(row: dict[str, Any]) -> tuple[Tool, ...]:
    functions = [tool["function"] for tool in row["tools"]]
    return tuple(Tool(name=function["name"], parameters=function["parameters"]) for function in functions)


def enforceable(compiler: Compiler, tools: tuple[Tool, ...]) -> bool:
    try:
        for tool in tools:
            compiler.compile_json_schema(tool.parameters)
    except EngineError:
        return False
    return True


def test_every_finished_call_validates(live: LiveEngine, shared: Path) -> None:
    hermes = get_format("hermes")
    compiler = Compiler(live.engine.vocabulary)
    asked: list[tuple[tuple[Tool, ...], str | None]] = []
    requests = []
    for row in cases(shared):
        tools = tools_of(row)
        if not enforceable(compiler, tools):
            continue
        named = tools[0].name if len(asked) % 2 else None
        tag = build_tag(
            hermes,
            tools=tools,
            tool_choice="required" if named is None else NamedTool(named),
            parallel_tool_calls=False,
            reasoning=False,
            response=None,
        )
        prompt = tuple(live.engine.render_chat(row["messages"], row["tools"], reasoning=False))
        if len(prompt) > 1000:
            continue
        requests.append(live.request(prompt, json.dumps(tag), max_tokens=160))
        asked.append((tools, named))
        if len(requests) == REQUESTS:
            break
    assert len(requests) == REQUESTS, "too few of the tools can be enforced"
    finished = 0
    for (tools, named), [choice] in zip(asked, live.generate(*requests), strict=True):
        assert choice.finish_reason in ("stop", "length")
        if choice.finish_reason == "length":
            continue
        finished += 1
        parser = OutputParser(hermes, tools=tools, reasoning=False)
        answer = fold([*parser.feed(choice.text), *parser.finish()])
        assert len(answer.calls) == 1, choice.text
        [call] = answer.calls
        schemas = {tool.name: tool.parameters for tool in tools}
        assert call.name in schemas
        assert named is None or call.name == named
        jsonschema.validate(json.loads(call.arguments), schemas[call.name])
    assert finished >= REQUESTS // 2, f"only {finished} of {REQUESTS} ended by themselves"
