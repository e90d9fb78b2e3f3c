"""Tags of the other shapes of calls, written out; and what each family's grammar must refuse."""

from __future__ import annotations

import array
import functools
from typing import Any

import pytest

from engine_native import Compiler, Matcher, Vocabulary
from structural_tags.choice import AllowedTools, NamedTool, Tool, ToolChoice, build_tag, tools_of_choice
from structural_tags.formats import FORMATS, ModelFormat, get_format
from structural_tags.output import Call, OutputParser, ParsedOutput, fold, render
from tests.formats.families import events_of

TOOLS = (Tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}), Tool("g"))
STRICT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
SECTION = "<|tool_calls_section_begin|>"


def _format_of(name: str, choice: ToolChoice, **options: Any) -> Any:
    options = {"tools": TOOLS, "reasoning": False, **options}
    tag = build_tag(get_format(name), tool_choice=choice, **options)
    return None if tag is None else tag["format"]


def _kimi(name: str, schema: Any) -> dict[str, Any]:
    return {
        "type": "tag",
        "begin": f"<|tool_call_begin|>functions.{name}:",
        "content": {
            "type": "sequence",
            "elements": [
                {"type": "regex", "pattern": "0|[1-9][0-9]{0,5}"},
                {"type": "const_string", "value": "<|tool_call_argument_begin|>"},
                {"type": "json_schema", "json_schema": schema},
            ],
        },
        "end": "<|tool_call_end|>",
    }


KIMI = [_kimi("f", TOOLS[0].parameters), _kimi("g", {"type": "object"})]
CALLS = {"type": "tags_with_separator", "tags": KIMI, "separator": "", "at_least_one": True}


def test_section_is_one_tag_around_its_calls() -> None:
    section = {"type": "tag", "begin": SECTION, "content": CALLS, "end": "<|tool_calls_section_end|>"}

    assert _format_of("kimi_k2", "required") == section
    assert _format_of("kimi_k2", "auto") == {"type": "triggered_tags", "triggers": [SECTION], "tags": [section]}
    assert _format_of("kimi_k2", "none") == {"type": "any_text", "excludes": [SECTION]}


def test_section_with_one_call_has_no_other() -> None:
    section = {"type": "tag", "begin": SECTION, "content": KIMI[1], "end": "<|tool_calls_section_end|>"}

    assert _format_of("kimi_k2", NamedTool("g")) == section


def test_calls_that_only_names_tell_from_text_are_triggered_by_the_names() -> None:
    node = _format_of("llama_pythonic", "auto", tools=(Tool("f"),))

    call = {"type": "json_schema", "json_schema": {"type": "object"}, "style": "pythonic"}
    more = {"type": "tag", "begin": "f(", "content": call, "end": ")"}
    assert node == {
        "type": "triggered_tags",
        "triggers": ["[f("],
        "tags": [
            {
                "type": "tag",
                "begin": "[f(",
                "content": {
                    "type": "sequence",
                    "elements": [
                        call,
                        {"type": "const_string", "value": ")"},
                        {
                            "type": "star",
                            "content": {
                                "type": "sequence",
                                "elements": [{"type": "const_string", "value": ", "}, more],
                            },
                        },
                    ],
                },
                "end": "]",
            }
        ],
    }


def test_marked_content_is_there_instead_of_calls() -> None:
    content = {
        "type": "tag",
        "begin": "<|START_TEXT|>",
        "content": {"type": "any_text"},
        "end": "<|END_TEXT|>",
    }
    auto = _format_of("command_a", "auto")

    assert _format_of("command_a", "none") == content
    assert auto == {"type": "or", "elements": [_format_of("command_a", "required"), content]}


def test_allowed_tools_are_those_of_the_request_that_it_names() -> None:
    assert _format_of("hermes", AllowedTools("required", ("g",))) == _format_of("hermes", "required", tools=TOOLS[1:])
    assert tools_of_choice(TOOLS, AllowedTools("auto", ("g",))) == TOOLS[1:]
    assert tools_of_choice(TOOLS, NamedTool("f")) == TOOLS[:1]
    assert tools_of_choice(TOOLS, "none") == ()


@pytest.mark.parametrize(
    ("fmt", "tools", "choice", "message"),
    [
        ("hermes", TOOLS, AllowedTools("auto", ("h",)), "there is no tool named 'h'"),
        ("hermes", TOOLS, AllowedTools("auto", ()), "no tool is allowed"),
        ("plain", TOOLS, "auto", "'plain' has no tool calls"),
        ("kimi_k2", (Tool("a b"),), "auto", "the name 'a b' cannot be written"),
        ("lfm2", (Tool("a(b"),), "required", r"the name 'a\(b' cannot be written"),
    ],
)
def test_choice_that_the_format_cannot_satisfy_is_an_error(
    fmt: str, tools: tuple[Tool, ...], choice: ToolChoice, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _format_of(fmt, choice, tools=tools)


def test_reasoning_that_may_be_left_out_cannot_be_begun_in_the_text() -> None:
    node = _format_of("qwen3", "auto", reasoning="auto")

    assert node["elements"][0]["type"] == "optional"
    assert node["elements"][1]["excludes"] == ["<think>"]


def test_reasoning_that_the_prompt_opened_is_not_left_out() -> None:
    assert _format_of("glm_4_7", "auto", reasoning="auto") == _format_of("glm_4_7", "auto", reasoning=True)


def test_block_that_the_prompt_always_opens_is_closed_where_there_is_no_reasoning() -> None:
    node = _format_of("minimax_m2", "none", reasoning=False)

    assert node["elements"][0] == {"type": "const_string", "value": "\n</think>\n\n"}


def test_reasoning_is_bounded_in_tokens() -> None:
    node = _format_of("qwen3", "none", tools=(), reasoning=True, max_reasoning_tokens=7)

    assert node["elements"][0]["content"] == {"type": "any_text", "max_tokens": 7}


def test_schema_of_a_tool_that_is_not_strict_is_any_object() -> None:
    node = _format_of("hermes", NamedTool("f"), tools=(Tool("f", TOOLS[0].parameters, strict=False),))

    assert node["content"] == {"type": "json_schema", "json_schema": {"type": "object"}}


@functools.cache
def _compiler() -> Compiler:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    return Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))


def _accepts(fmt: ModelFormat, choice: ToolChoice, text: str, *, parallel: bool = True) -> bool:
    tools = (Tool("f", STRICT), Tool("g", STRICT))
    tag = build_tag(fmt, tools=tools, tool_choice=choice, parallel_tool_calls=parallel, reasoning=False)
    assert tag is not None
    matcher = Matcher(_compiler().compile_structural_tag(tag))
    return matcher.accept_bytes(text.encode()) and matcher.can_terminate()


WITH_CALLS = [fmt for fmt in FORMATS.values() if fmt.calls is not None]


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_every_family_refuses_what_breaks_the_choices_promise(fmt: ModelFormat) -> None:
    assert fmt.calls is not None
    one = render(ParsedOutput(calls=(Call("f", '{"a": 1}'),)), fmt, reasoning=False)
    wrong = render(ParsedOutput(calls=(Call("f", '{"a": true}'),)), fmt, reasoning=False)
    unknown = render(ParsedOutput(calls=(Call("h", '{"a": 1}'),)), fmt, reasoning=False)
    without = render(ParsedOutput(calls=(Call("f", "{}"),)), fmt, reasoning=False)
    text = render(ParsedOutput(content="text"), fmt, reasoning=False)
    two = render(ParsedOutput(calls=(Call("f", '{"a": 1}'), Call("g", '{"a": 2}'))), fmt, reasoning=False)
    demands: tuple[ToolChoice, ...] = ("required", NamedTool("f"), AllowedTools("required", ("f",)))

    for choice in demands:
        assert _accepts(fmt, choice, one), choice
        assert not any(_accepts(fmt, choice, each) for each in (wrong, without, unknown, text, "", one[:-1])), choice
    assert not _accepts(fmt, NamedTool("g"), one)
    assert not _accepts(fmt, "none", one)
    assert _accepts(fmt, "none", text)
    assert _accepts(fmt, "auto", one)
    assert _accepts(fmt, "auto", text)
    assert not any(_accepts(fmt, "auto", each) for each in (wrong, without))
    several = not fmt.calls.single
    assert _accepts(fmt, "auto", two) == _accepts(fmt, "required", two) == several
    assert not _accepts(fmt, "auto", two, parallel=False)
    assert not _accepts(fmt, "required", two, parallel=False)
    assert not _accepts(fmt, NamedTool("f"), two)
    if fmt.calls.trigger:
        assert not _accepts(fmt, AllowedTools("auto", ("g",)), one)
        assert not _accepts(fmt, "auto", unknown)


REASONING = [fmt for fmt in FORMATS.values() if fmt.reasoning is not None]


@pytest.mark.parametrize("fmt", REASONING, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("choice", ["none", "required"])
def test_block_of_every_family_ends_after_so_many_tokens(fmt: ModelFormat, choice: ToolChoice) -> None:
    """Tokens are bytes here. After the last one that is allowed only the block's end may come, and then the answer."""
    block = fmt.reasoning
    assert block is not None
    if choice == "required" and fmt.calls is None:
        return
    tools = (Tool("f", STRICT),) if fmt.calls is not None else ()
    tag = build_tag(fmt, tools=tools, tool_choice=choice, reasoning=True, max_reasoning_tokens=4)
    assert tag is not None
    grammar = _compiler().compile_structural_tag(tag)
    begin = "" if block.in_prompt else block.begin + block.pad
    calls = (Call("f", '{"a": 1}'),) if choice == "required" else ()
    answer = render(ParsedOutput("", "" if calls else "x", calls), fmt, reasoning=True).partition(block.end)[2]

    for thought, allowed in (("", True), ("a", True), ("abcd", True), ("abcde", False)):
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(begin.encode())
        taken = matcher.accept_tokens(list(thought.encode()))
        assert (taken == len(thought)) == allowed
        for byte in (block.end + answer).encode() if allowed else b"":
            assert matcher.accept_token(byte)
        assert matcher.can_terminate() == allowed


def test_function_that_is_called_as_the_content_is_marked_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"tools\[1\]: 'all' cannot be a function's name"):
        _format_of("functionary_3_2", "auto", tools=(Tool("f"), Tool("all")))


@pytest.mark.parametrize("fmt", [fmt for fmt in REASONING if fmt.calls is not None], ids=lambda fmt: fmt.name)
def test_reasoning_ends_before_a_token_budget_does(fmt: ModelFormat) -> None:
    """However long the model would think: what is left of the budget is kept for the call."""
    tag = build_tag(fmt, tools=(Tool("f", STRICT),), tool_choice="required", reasoning=True)
    assert tag is not None
    matcher = Matcher(_compiler().compile_structural_tag(tag))
    least = matcher.least_tokens()
    assert least is not None
    matcher.set_token_budget(least + 9)
    row = array.array("i", bytes(4 * 9))
    text = b""

    while not matcher.can_terminate():
        assert matcher.fill_bitmask(row)
        allowed = [token for token in range(256) if row[token // 32] >> (token % 32) & 1]
        token = ord("a") if ord("a") in allowed else allowed[0]
        assert matcher.accept_token(token)
        text += bytes([token])

    assert len(text) <= least + 9
    answer = fold(events_of(OutputParser(fmt, tools=(Tool("f", STRICT),), reasoning=True), [text.decode()]))
    assert answer.reasoning.strip("a\n") == ""
    assert len(answer.reasoning) >= 5
    assert [call.name for call in answer.calls] == ["f"]
