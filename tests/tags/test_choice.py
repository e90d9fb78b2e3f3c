"""build_tag, choice by choice, with the expected tags written out."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from structural_tags.choice import NamedTool, Tool, ToolChoice, build_tag
from structural_tags.formats import get_format

HERMES = get_format("hermes")
QWEN3 = get_format("qwen3")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = (Tool("f", SCHEMA), Tool("g"))
RESPONSE = {"type": "json_schema", "json_schema": {"type": "object"}}

F = {
    "type": "tag",
    "begin": '<tool_call>\n{"name": "f", "arguments": ',
    "content": {
        "type": "json_schema",
        "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
    "end": "}\n</tool_call>",
}
G = {
    "type": "tag",
    "begin": '<tool_call>\n{"name": "g", "arguments": ',
    "content": {"type": "json_schema", "json_schema": {"type": "object"}},
    "end": "}\n</tool_call>",
}
AUTO = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [F, G]}
REQUIRED = {"type": "tags_with_separator", "tags": [F, G], "separator": "\n", "at_least_one": True}
NO_CALLS = {"type": "any_text", "excludes": ["<tool_call>"]}
THINK = [
    {"type": "tag", "begin": "<think>\n", "content": {"type": "any_text"}, "end": "</think>"},
    {"type": "const_string", "value": "\n\n"},
]


def _format_of(choice: ToolChoice, tools: tuple[Tool, ...] = TOOLS, **options: Any) -> object:
    """The format node, or None where nothing is constrained."""
    options = {"fmt": HERMES, "reasoning": False, "response": None, **options}
    fmt = options.pop("fmt")
    tag = build_tag(fmt, tools=tools, tool_choice=choice, **options)
    if tag is None:
        return None
    assert set(tag) == {"type", "format"}
    assert tag["type"] == "structural_tag"
    return tag["format"]


def test_auto_is_text_in_which_calls_may_appear() -> None:
    assert _format_of("auto") == AUTO


def test_auto_without_parallel_calls_ends_after_the_first() -> None:
    assert _format_of("auto", parallel_tool_calls=False) == {**AUTO, "stop_after_first": True}


def test_required_is_calls_and_nothing_else() -> None:
    assert _format_of("required") == REQUIRED


def test_required_without_parallel_calls_is_one_of_the_tags() -> None:
    assert _format_of("required", parallel_tool_calls=False) == {"type": "or", "elements": [F, G]}
    assert _format_of("required", TOOLS[:1], parallel_tool_calls=False) == F


@pytest.mark.parametrize("parallel", [True, False])
def test_named_is_one_call_of_that_function(parallel: bool) -> None:
    assert _format_of(NamedTool("g"), parallel_tool_calls=parallel) == G


def test_none_is_text_without_calls() -> None:
    assert _format_of("none") == NO_CALLS


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_tools_text_is_not_constrained(choice: ToolChoice) -> None:
    assert _format_of(choice, ()) is None


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_tools_the_response_is_followed(choice: ToolChoice) -> None:
    assert _format_of(choice, (), response=RESPONSE) == RESPONSE


def test_none_with_a_response_is_the_response() -> None:
    assert _format_of("none", response=RESPONSE) == RESPONSE


def test_auto_with_a_response_is_calls_or_the_response() -> None:
    assert _format_of("auto", response=RESPONSE) == {"type": "or", "elements": [REQUIRED, RESPONSE]}


def test_auto_with_a_response_and_one_call_is_that_call_or_the_response() -> None:
    tag = _format_of("auto", TOOLS[:1], response=RESPONSE, parallel_tool_calls=False)

    assert tag == {"type": "or", "elements": [F, RESPONSE]}


def test_free_text_of_a_response_beside_calls_cannot_spell_one() -> None:
    inner = {"type": "tag", "begin": "<a>", "content": {"type": "any_text", "excludes": ["x"]}, "end": "</a>"}
    response = {
        "type": "sequence",
        "elements": [inner, {"type": "triggered_tags", "triggers": ["<b"], "tags": [inner]}, RESPONSE],
    }
    guarded = {**inner, "content": {"type": "any_text", "excludes": ["x", "<tool_call>"]}}

    tag = _format_of("auto", response=response)

    assert tag == {
        "type": "or",
        "elements": [
            REQUIRED,
            {
                "type": "sequence",
                "elements": [
                    guarded,
                    {
                        "type": "triggered_tags",
                        "triggers": ["<b"],
                        "tags": [guarded],
                        "excludes": ["<tool_call>"],
                    },
                    RESPONSE,
                ],
            },
        ],
    }
    assert inner["content"] == {"type": "any_text", "excludes": ["x"]}


def test_pattern_beside_calls_matches_the_same_texts_but_calls() -> None:
    """Python's `re` reads these patterns as the engine does."""
    texts = ["", "ab", "AB", "a\nb", "<tool_call>", "a<tool_call>b", "ab\n<tool_call>", "<tool_call", "x"]
    for pattern in ("(?s:.*)", "ab|(?s:.*)<tool_call>b|x", "(?i:a)(?s:.)*", "[^x]*$"):
        inner = {"type": "regex", "pattern": pattern}
        response = {"type": "sequence", "elements": [inner, {"type": "const_string", "value": ""}]}

        tag: Any = _format_of("auto", response=response)

        guarded = tag["elements"][1]["elements"][0]["pattern"]
        for text in texts:
            wanted = re.fullmatch(pattern, text) is not None and "<tool_call>" not in text
            assert (re.fullmatch(guarded, text) is not None) == wanted, (guarded, text)
        assert inner["pattern"] == pattern
        assert _format_of("none", response=response) == response


def test_response_that_uses_the_trigger_itself_keeps_it() -> None:
    response = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [F]}

    assert _format_of("auto", response=response) == {"type": "or", "elements": [REQUIRED, response]}


def test_required_and_named_win_over_the_response() -> None:
    assert _format_of("required", response=RESPONSE) == REQUIRED
    assert _format_of(NamedTool("f"), response=RESPONSE) == F


@pytest.mark.parametrize(
    ("choice", "answer"),
    [("auto", AUTO), ("required", REQUIRED), (NamedTool("f"), F), ("none", NO_CALLS)],
)
def test_reasoning_comes_first(choice: ToolChoice, answer: object) -> None:
    tag = _format_of(choice, fmt=QWEN3, reasoning=True)

    assert tag == {"type": "sequence", "elements": [*THINK, answer]}


def test_reasoning_before_free_text_leaves_the_text_free() -> None:
    tag = _format_of("none", (), fmt=QWEN3, reasoning=True)

    assert tag == {"type": "sequence", "elements": [*THINK, {"type": "any_text"}]}


def test_reasoning_before_a_response() -> None:
    tag = _format_of("auto", (), fmt=QWEN3, reasoning=True, response=RESPONSE)

    assert tag == {"type": "sequence", "elements": [*THINK, RESPONSE]}


def test_reasoning_that_the_prompt_opened_has_no_opening_marker() -> None:
    assert QWEN3.reasoning is not None
    block = dataclasses.replace(QWEN3.reasoning, in_prompt=True, after="")
    opened = dataclasses.replace(QWEN3, reasoning=block)

    tag = _format_of("none", (), fmt=opened, reasoning=True)

    assert tag == {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": "</think>"},
            {"type": "any_text"},
        ],
    }


def test_reasoning_for_a_format_without_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="reasoning: format 'hermes' has none"):
        build_tag(HERMES, tools=(), tool_choice="none", reasoning=True, response=None)


def test_names_are_written_as_json() -> None:
    tag = _format_of(NamedTool('a"\\é\n'), (Tool('a"\\é\n'),))

    assert isinstance(tag, dict)
    assert tag["begin"] == '<tool_call>\n{"name": "a\\"\\\\é\\n", "arguments": '


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        ((Tool("f"), Tool("g"), Tool("f")), "auto", r"tools\[2\]: the name 'f' is taken by tools\[0\]"),
        ((Tool("f"), Tool("")), "auto", r"tools\[1\]: the name is empty"),
        ((), "required", "tool_choice: 'required' needs at least one tool"),
        ((Tool("f"),), NamedTool("g"), "tool_choice: there is no tool named 'g'"),
    ],
)
def test_choice_that_tools_cannot_satisfy_is_an_error(
    tools: tuple[Tool, ...], choice: ToolChoice, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build_tag(HERMES, tools=tools, tool_choice=choice, reasoning=False)
