"""configs/chat_templates/smollm2_tools.jinja: the prompt is what was designed, and calls are written as the
format renders them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structural_tags.formats import get_format
from structural_tags.output import Call, ParsedOutput, render
from tests.conftest import REPOSITORY
from tests.formats.chat_template import render_template

TEMPLATE = (REPOSITORY / "configs" / "chat_templates" / "smollm2_tools.jinja").read_text("utf-8")
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
NOW = {"type": "function", "function": {"name": "now"}}
TOOLS_TEXT = """\
Functions you can call:
<tools>
{"name": "get_weather", "description": "Weather of a city", "parameters": {"type": "object", \
"properties": {"city": {"type": "string"}}, "required": ["city"]}}
{"name": "now"}
</tools>
Call a function by writing its name and arguments as JSON:
<tool_call>
{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}
</tool_call>"""


def _call(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_conversation_without_tools_is_what_the_models_own_template_writes() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye\n"},
    ]

    prompt = render_template(TEMPLATE, messages, add_generation_prompt=True)

    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n"
        "<|im_start|>user\nBye\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_conversation_with_calls_and_results_is_written_in_the_same_syntax() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Weather in Zürich and Paris?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [_call("get_weather", {"city": "Zürich"}), _call("get_weather", '{"city":"Paris"}')],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sun"},
        {"role": "tool", "tool_call_id": "call_2", "content": "rain"},
        {"role": "assistant", "content": "Sun and rain."},
    ]

    prompt = render_template(TEMPLATE, messages, tools=[WEATHER, NOW])

    assert prompt == (
        f"<|im_start|>system\n{TOOLS_TEXT}<|im_end|>\n"
        "<|im_start|>user\nWeather in Zürich and Paris?<|im_end|>\n"
        "<|im_start|>assistant\nLet me look.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "get_weather", "arguments": {"city":"Paris"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nsun\n</tool_response>\n"
        "<tool_response>\nrain\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nSun and rain.<|im_end|>\n"
    )


def test_system_message_tools_and_thinking_share_one_turn() -> None:
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]

    prompt = render_template(TEMPLATE, messages, tools=[WEATHER, NOW], enable_thinking=True, add_generation_prompt=True)

    assert prompt == (
        f"<|im_start|>system\nBe brief.\n\n{TOOLS_TEXT}\n\n"
        "First think between <think> and </think>, then answer.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_thinking_switched_off_changes_nothing() -> None:
    messages = [{"role": "user", "content": "Hi"}]

    off = render_template(TEMPLATE, messages, enable_thinking=False, add_generation_prompt=True)

    assert off == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_text_parts_are_joined_by_line_breaks() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    prompt = render_template(TEMPLATE, [{"role": "user", "content": parts}])

    assert prompt == "<|im_start|>user\na\nb<|im_end|>\n"


def test_part_that_is_not_text_is_an_error() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:,"}}]

    with pytest.raises(Exception, match="this model reads text only, not image_url"):
        render_template(TEMPLATE, [{"role": "user", "content": parts}])


@pytest.mark.parametrize("content", ["", None, "Hello"])
def test_assistant_turn_equals_render_of_the_format(content: str | None) -> None:
    arguments = {"city": 'a"b\n', "days": [1, None]}
    answer = ParsedOutput(content=content or "", calls=(Call('odd"name', json.dumps(arguments)), Call("now", "{}")))
    calls = [_call('odd"name', arguments), _call("now", {})]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": content, "tool_calls": calls},
    ]

    prompt = render_template(TEMPLATE, messages, tools=[NOW])

    turn = prompt.rpartition("<|im_start|>assistant\n")[2].removesuffix("<|im_end|>\n")
    assert turn == render(answer, get_format("hermes"))
