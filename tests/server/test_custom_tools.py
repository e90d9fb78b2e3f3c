"""Custom tools: their input is text that follows a grammar, told to the client as it is."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import jsonschema
import pytest

from server.custom_input import InputReader
from server.engines.scripted import Script
from structural_tags.choice import takes_text
from structural_tags.formats import FORMATS, ModelFormat
from structural_tags.formats.arguments import Fields, Json
from structural_tags.formats.base import Arguments
from tests.server.bodies import MESSAGES, SCHEMAS, TOOLS, body
from tests.server.running import PHRASES, running

pytestmark = pytest.mark.anyio


def _arguments(fmt: ModelFormat) -> list[Arguments]:
    assert fmt.calls is not None
    return [part for syntax in fmt.calls.syntaxes for part in syntax.parts if isinstance(part, Arguments)]


def _writes_json(fmt: ModelFormat) -> bool:
    return all(isinstance(part.style, Json) for part in _arguments(fmt))


SUM = 'start: term (" + " term)*\nterm: NUMBER | "\\"" /[a-c\\n]{1,3}/ "\\"" | "(" start ")"\nNUMBER: /[0-9]{1,2}/\n'
DATE = r'"20[0-9]{2}"|\\d{1,3}\n'


def custom(name: str, syntax: str | None = None, definition: str = "") -> dict[str, Any]:
    form: dict[str, Any] = {"type": "text"}
    if syntax is not None:
        form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return {"type": "custom", "custom": {"name": name, "description": f"calls {name}", "format": form}}


def chosen(name: str) -> dict[str, Any]:
    return {"type": "custom", "custom": {"name": name}}


def is_sum(text: str) -> bool:
    """A reading of SUM by hand: parentheses are replaced from the inside out."""
    term = r'(?:[0-9]{1,2}|"[a-c\n]{1,3}")'
    while (shorter := re.sub(rf"\({term}(?: \+ {term})*\)", "0", text)) != text:
        text = shorter
    return re.fullmatch(rf"{term}(?: \+ {term})*", text) is not None


async def called(server: Any, **changes: Any) -> list[dict[str, Any]]:
    """The calls of one answer, which must be whole, streamed and not."""
    request = body(max_tokens=4000, **changes)
    choice = (await server.chat(**request)).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    calls: list[dict[str, Any]] = []
    text = (await server.chat(**request, stream=True)).text
    for event in text.split("\n\n")[:-2]:
        for delta in json.loads(event.removeprefix("data: "))["choices"][0]["delta"].get("tool_calls", ()):
            kind = "custom" if "custom" in delta else "function"
            if "id" in delta:
                assert (delta["index"], delta["type"]) == (len(calls), kind)
                calls.append({"type": kind, kind: dict(delta[kind])})
            else:
                key = "input" if kind == "custom" else "arguments"
                calls[delta["index"]][kind][key] += delta[kind][key]
    whole: list[dict[str, Any]] = choice["message"]["tool_calls"]
    assert [{key: value for key, value in call.items() if key != "id"} for call in whole] == calls
    return whole


@pytest.mark.parametrize("tool_format", ["hermes", "llama_3_json", "mistral_v11", "kimi_k2", "xlam"])
async def test_input_follows_the_lark_grammar(tool_format: str) -> None:
    async with running(Script(phrases=PHRASES), tool_format=tool_format) as server:
        seen = set()
        for seed in range(12):
            tools = [custom("add", "lark", SUM)]
            for call in await called(server, tools=tools, tool_choice=chosen("add"), seed=seed):
                assert call["custom"]["name"] == "add"
                assert is_sum(call["custom"]["input"]), call
                seen.add(call["custom"]["input"])
    assert len(seen) > 3


@pytest.mark.parametrize("tool_format", ["hermes", "qwen3_coder", "glm_4_7", "deepseek_v3_2"])
async def test_input_follows_the_pattern_in_every_style(tool_format: str) -> None:
    async with running(Script(phrases=PHRASES), tool_format=tool_format) as server:
        for seed in range(12):
            tools = [*TOOLS, custom("date", "regex", DATE)]
            for call in await called(server, tools=tools, tool_choice=chosen("date"), seed=seed):
                assert re.fullmatch(DATE, call["custom"]["input"]), call


async def test_text_input_and_functions_stand_beside_each_other() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        kinds = set()
        for seed in range(20):
            tools = [*TOOLS, custom("note")]
            for call in await called(server, tools=tools, tool_choice="required", seed=seed):
                kinds.add(call["type"])
                assert isinstance(call["custom"]["input"], str) if call["type"] == "custom" else call["function"]
    assert kinds == {"custom", "function"}


async def test_allowed_tools_may_be_custom_ones() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [chosen("note")]}}
        for seed in range(6):
            for call in await called(server, tools=[*TOOLS, custom("note")], tool_choice=choice, seed=seed):
                assert call["custom"]["name"] == "note"


async def test_the_prompt_shows_a_function_and_past_calls_are_calls_of_it() -> None:
    history = [
        *MESSAGES,
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "note", "input": "buy"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    async with running() as server:
        response = await server.chat(**body(messages=history, tools=[custom("note")]))

    assert response.status_code == 200, response.text
    assert server.engine.prompts[0].startswith("tools: note\n")


async def test_answer_that_is_cut_says_so() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        tools = [custom("add", "lark", SUM)]
        choice = (await server.chat(**body(tools=tools, tool_choice=chosen("add"), max_tokens=60))).json()["choices"][0]

    assert choice["finish_reason"] == "length"
    assert choice["message"]["tool_calls"][0]["type"] == "custom"


async def test_input_is_whole_within_a_budget() -> None:
    async with running(Script(phrases=PHRASES)) as server:
        for seed in range(8):
            request = body(tools=[custom("add", "lark", SUM)], tool_choice=chosen("add"), seed=seed)
            answer = (await server.chat(**request, max_tokens=75, complete_within_budget=True)).json()
            (call,) = answer["choices"][0]["message"]["tool_calls"]
            assert is_sum(call["custom"]["input"])


GRAMMAR = "tools[0].custom.format.grammar"


@pytest.mark.parametrize(
    ("tool", "param", "said"),
    [
        (custom("a", "lark", "start: missing\n"), f"{GRAMMAR}.definition", "line 1"),
        (custom("a", "lark", "start: <|endoftext|>\n"), f"{GRAMMAR}.definition", "special tokens"),
        (custom("a", "regex", "["), f"{GRAMMAR}.definition", ""),
        (custom("a", "ebnf", "x"), f"{GRAMMAR}.syntax", "'lark' or 'regex'"),
        (custom("a", "lark", ""), f"{GRAMMAR}.definition", ""),
        (custom("a b"), "tools[0].custom.name", ""),
        ({"type": "custom", "custom": {}}, "tools[0].custom.name", "is required"),
        ({"type": "custom"}, "tools[0].custom", "is required"),
    ],
)
async def test_wrong_tool_is_a_400_with_its_place(tool: dict[str, Any], param: str, said: str) -> None:
    async with running() as server:
        response = await server.chat(**body(tools=[tool]))

    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["param"] == param
    assert said in error["message"]


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        (chosen("b"), "tool_choice.custom.name"),
        ({"type": "function", "function": {"name": "a"}}, "tool_choice.function.name"),
        ({"type": "custom", "custom": {}}, "tool_choice.custom.name"),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [chosen("b")]}},
            "tool_choice.allowed_tools.tools[0].custom.name",
        ),
    ],
)
async def test_choice_of_a_tool_that_is_not_there_is_a_400(choice: dict[str, Any], param: str) -> None:
    async with running() as server:
        response = await server.chat(**body(tools=[custom("a")], tool_choice=choice))

    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


FIELDS = [name for name, fmt in FORMATS.items() if takes_text(fmt) and not _writes_json(fmt)]
LINES = 'start: line*\nline: " "* /[a-z<\\/>"]{0,9}/ "\\n"\n'


@pytest.mark.parametrize("tool_format", FIELDS)
async def test_input_follows_the_lark_grammar_where_arguments_are_marked_fields(tool_format: str) -> None:
    """The text is read as it is, blanks at its ends and marks that are not quite those of the format included."""
    (close,) = {part.style.close for part in _arguments(FORMATS[tool_format]) if isinstance(part.style, Fields)}
    script = Script(phrases=(*PHRASES, "\n", " ", "</", close[:-1], close))
    async with running(script, tool_format=tool_format) as server:
        seen = set()
        for seed in range(12):
            request = body(tools=[custom("add", "lark", LINES)], tool_choice=chosen("add"), seed=seed, max_tokens=4000)
            choice = (await server.chat(**request, reasoning_effort="none")).json()["choices"][0]
            assert choice["finish_reason"] == "tool_calls"
            (call,) = choice["message"]["tool_calls"]
            assert re.fullmatch(r'( *[a-z<\/>"]{0,9}\n)*', call["custom"]["input"]), call
            seen.add(call["custom"]["input"])
    assert len(seen) > 3


async def test_marked_fields_stand_beside_functions_and_are_whole_within_a_budget() -> None:
    script = Script(phrases=(*PHRASES, "</parameter>"))
    async with running(script, tool_format="qwen3_coder") as server:
        kinds = set()
        for seed in range(16):
            request = body(tools=[TOOLS[1], custom("add", "lark", LINES)], tool_choice="required", seed=seed)
            answer = (await server.chat(**request, max_tokens=300, complete_within_budget=True)).json()
            for call in answer["choices"][0]["message"]["tool_calls"]:
                kinds.add(call["type"])
                if call["type"] == "custom":
                    assert re.fullmatch(r'( *[a-z<\/>"]{0,9}\n)*', call["custom"]["input"])
                else:
                    function = call["function"]
                    jsonschema.validate(json.loads(function["arguments"]), SCHEMAS[function["name"]])
    assert kinds == {"custom", "function"}


async def test_text_of_a_marked_field_is_told_as_it_was_written() -> None:
    written = "  <a></para\n\n"
    said = f"<tool_call>\n<function=add>\n<parameter=input>\n{written}\n</parameter>\n</function>\n</tool_call>"
    async with running(Script(answers=(said, said)), tool_format="qwen3_coder") as server:
        (call,) = await called(server, tools=[custom("add", "lark", LINES)], tool_choice=chosen("add"))

    assert call["custom"]["input"] == written


async def test_lark_grammar_is_refused_where_arguments_have_marks_at_every_level() -> None:
    async with running(tool_format="minimax_m3") as server:
        response = await server.chat(**body(tools=[custom("a", "lark", SUM)]))

    assert response.status_code == 400
    assert response.json()["error"]["param"] == f"{GRAMMAR}.definition"
    assert server.engine.requests == []


@pytest.mark.parametrize("text", ["", "plain", 'a"b\\c\n\t\x01', "\\\\u0041\\", "é世𝄞", "\\n\\\\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_reader_gives_the_input_however_the_arguments_are_cut(text: str, ascii_only: bool) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=ascii_only)
    dice = random.Random(1)
    cuts = [range(1, len(arguments)), *([dice.randrange(1, len(arguments)) for _ in range(3)] for _ in range(40))]

    for cut in cuts:
        places = [0, *sorted(set(cut)), len(arguments)]
        reader = InputReader()
        pieces = [reader.feed(arguments[a:b]) for a, b in itertools.pairwise(places)]
        assert "".join(pieces) == text


def test_reader_holds_back_no_more_than_an_escape() -> None:
    reader = InputReader()
    assert reader.feed('{"input": "ab') == "ab"
    assert reader.feed("\\") == ""
    assert reader.feed("ncd\\ud834") == "\ncd"
    assert reader.feed("\\udd1e!") == "𝄞!"
    assert reader.feed('"}') == ""
