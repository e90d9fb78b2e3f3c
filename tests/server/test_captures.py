"""Captures of a structural tag in the answer: the same streamed or not, for every choice, whole or cut."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import openai
import pytest

from engine_native import Compiler, Limits
from server.answer import ChoiceAnswer
from server.captures import CaptureReader
from server.engines.base import Delta
from server.engines.scripted import Script, byte_vocabulary
from structural_tags.formats import FORMATS
from structural_tags.output import OutputParser
from tests.server.bodies import TOOLS, WEATHER_SCHEMA, body
from tests.server.running import PHRASES, running
from tests.server.test_command_line import serving

pytestmark = pytest.mark.anyio

NUMBER = {"type": "regex", "pattern": "[0-9]{2,9}", "capture": "number"}
WEATHER = {"type": "json_schema", "json_schema": WEATHER_SCHEMA, "capture": "weather"}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<é>", "content": NUMBER, "end": "</é>", "capture": "marked"},
            WEATHER,
            {
                "type": "star",
                "content": {"type": "sequence", "elements": [{"type": "const_string", "value": ";"}, NUMBER]},
            },
        ],
    },
}


def check(choice: dict[str, Any]) -> None:
    """The captures are those of the content, in its order."""
    content, captures = choice["message"]["content"], choice["captures"]
    assert [capture["name"] for capture in captures[:3]] == ["marked", "number", "weather"]
    marked, number, weather, *more = [capture["text"] for capture in captures]
    assert marked == f"<é>{number}</é>"
    jsonschema.validate(json.loads(weather), WEATHER_SCHEMA)
    assert {capture["name"] for capture in captures[3:]} <= {"number"}
    assert content == marked + weather + "".join(";" + text for text in more)


@pytest.mark.parametrize("tool_format", ["hermes", "qwen3", "harmony"])
async def test_captures_are_the_parts_of_the_content(tool_format: str) -> None:
    counts = set()
    async with running(Script(phrases=PHRASES), tool_format=tool_format) as server:
        for seed in range(6):
            request = body(response_format=TAG, n=2, seed=seed, max_tokens=400, complete_within_budget=True)
            request["reasoning_effort"] = "high" if tool_format == "qwen3" else "none"
            answer = (await server.chat(**request)).json()
            streamed = (await server.chat(**{**request, "stream": True})).text
            last = {
                choice["index"]: choice
                for event in streamed.split("\n\n")[:-2]
                for choice in json.loads(event.removeprefix("data: "))["choices"]
                if choice["finish_reason"] is not None or "captures" not in choice or pytest.fail("too early")
            }
            for choice in answer["choices"]:
                check(choice)
                assert last[choice["index"]]["captures"] == choice["captures"]
                counts.add(len(choice["captures"]))
    assert len(counts) > 1


async def test_a_cut_answer_has_the_captures_so_far() -> None:
    async with running() as server:
        for most in range(6, 16):
            choice = (await server.chat(**body(response_format=TAG, max_tokens=most))).json()["choices"][0]
            assert choice["finish_reason"] == "length"
            number = choice["captures"][1]["text"]
            assert choice["message"]["content"].encode().startswith(f"<é>{number}".encode())


async def test_without_named_parts_there_is_no_key() -> None:
    async with running() as server:
        schema = {"type": "object", "properties": {"capture": {"type": "integer"}}}
        named = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        for fields in ({}, {"tools": TOOLS}, {"response_format": named, "max_tokens": 50}):
            assert "captures" not in (await server.chat(**body(**fields))).json()["choices"][0]


async def test_captures_of_a_grammar() -> None:
    grammar = 'start: "id " number\nnumber[capture="n"]: /[0-9]{3}/\n'
    async with running() as server:
        answer = await server.chat(**body(structured_outputs={"grammar": grammar}))

    choice = answer.json()["choices"][0]
    assert choice["captures"] == [{"name": "n", "text": choice["message"]["content"].removeprefix("id ")}]


async def test_what_would_take_too_much_memory_is_null() -> None:
    compiler = Compiler(byte_vocabulary(), limits=Limits(matcher_bytes=200_000))
    node = {"type": "tag", "begin": "<", "content": {"type": "any_text"}, "end": ">", "capture": "x"}
    grammar = compiler.compile_structural_tag({"type": "structural_tag", "format": node})
    answers = []
    for size in (10, 10_000):
        parser = OutputParser(FORMATS["plain"], tools=None, reasoning=False, response=True)
        answer = ChoiceAnswer(0, parser, logprobs=False, captures=CaptureReader(grammar, None))
        text = "<" + "a" * size
        delta = Delta(0, text, tuple(text.encode()), finish_reason="length")
        await answer.read_captures(delta)
        last = answer.push(delta)[-1]
        assert last.captures == answer.choice().captures
        answers.append(json.loads(answer.choice().to_json())["captures"])

    assert answers == [[{"name": "x", "text": "<" + "a" * 10}], None]


def test_the_official_client_reads_them() -> None:
    request: dict[str, Any] = {
        "model": "scripted",
        "messages": [{"role": "user", "content": "?"}],
        "max_tokens": 300,
        "seed": 3,
        "extra_body": {"response_format": TAG, "complete_within_budget": True},
    }
    with serving() as (_, url, _), openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        whole = client.chat.completions.create(**request).choices[0]
        with client.chat.completions.stream(**request) as stream:
            chunks = [event.chunk for event in stream if event.type == "chunk"]
            streamed = stream.get_final_completion().choices[0]

    assert whole.model_extra is not None
    check({"message": {"content": whole.message.content}, "captures": whole.model_extra["captures"]})
    assert streamed.message.content == whole.message.content
    extra = chunks[-1].choices[0].model_extra
    assert extra is not None
    assert extra["captures"] == whole.model_extra["captures"]
