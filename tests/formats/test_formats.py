"""The registry, what a format must satisfy, and that each format is what the models' own templates write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from structural_tags.formats import FORMATS, CallSyntax, ModelFormat, get_format
from structural_tags.output import Call, ParsedOutput, render
from tests.formats.chat_template import render_template

ANSWERS = [
    ParsedOutput(content="Hello"),
    ParsedOutput(content="Hello", calls=(Call("f", '{"a": "é"}'),)),
    ParsedOutput(calls=(Call("f", "{}"), Call("g", '{"b": [1, 2]}'))),
    ParsedOutput(content="Two", calls=(Call("f", "{}"), Call("g", "{}"))),
]


def test_get_format_of_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"unknown model format 'x'; known: hermes, hermes_thinking, qwen3$"):
        get_format("x")


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_format_names_its_source(fmt: ModelFormat) -> None:
    assert get_format(fmt.name) is fmt
    assert fmt.source


@pytest.mark.parametrize(
    ("begin", "middle", "end", "message"),
    [
        ("<c>", '", "arguments": ', "</c>", "quotation marks"),
        ('<c>"', ", ", "</c>", "quotation marks"),
        ('\n<c>"', '": ', "</c>", "white space"),
        ('<c>"', '": ', "", "end marker"),
    ],
)
def test_call_syntax_that_cannot_be_parsed_back_is_refused(begin: str, middle: str, end: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CallSyntax(begin=begin, middle=middle, end=end)


def test_format_whose_calls_do_not_begin_with_the_trigger_is_refused() -> None:
    call = get_format("hermes").call

    with pytest.raises(ValueError, match="'x': a call must begin with the trigger"):
        ModelFormat(name="x", call=call, trigger="<call>", reasoning=None, source="none")


@pytest.mark.parametrize("answer", ANSWERS, ids=["text", "text_call", "calls", "text_calls"])
def test_hermes_is_what_the_qwen2_5_template_writes(shared: Path, answer: ParsedOutput) -> None:
    template = _stored_template(shared, "Qwen-Qwen2.5-7B-Instruct")

    assert _assistant_turn(template, answer) == render(answer, get_format("hermes"))


def test_hermes_is_what_the_hermes_2_pro_template_writes(shared: Path) -> None:
    template = _stored_template(shared, "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use")
    answer = ParsedOutput(calls=(Call("f", "{}"), Call("g", '{"b": [1, 2]}')))

    assert _assistant_turn(template, answer, tools=[]) == render(answer, get_format("hermes"))


@pytest.mark.parametrize("answer", ANSWERS, ids=["text", "text_call", "calls", "text_calls"])
def test_qwen3_is_what_the_qwen3_template_writes(shared: Path, answer: ParsedOutput) -> None:
    config = json.loads((shared / "tokenizers" / "qwen3" / "tokenizer_config.json").read_text("utf-8"))
    thought = ParsedOutput("Think. Twice.", answer.content, answer.calls)

    written = _assistant_turn(config["chat_template"], thought)

    assert written == render(thought, get_format("qwen3"))


def test_qwen3_markers_are_tokens_that_match_through_their_text(shared: Path) -> None:
    config = json.loads((shared / "tokenizers" / "qwen3" / "tokenizer_config.json").read_text("utf-8"))
    special = {token["content"]: token["special"] for token in config["added_tokens_decoder"].values()}

    assert {marker: special[marker] for marker in ("<tool_call>", "</tool_call>", "<think>", "</think>")} == {
        "<tool_call>": False,
        "</tool_call>": False,
        "<think>": False,
        "</think>": False,
    }


def _stored_template(shared: Path, name: str) -> str:
    with gzip.open(shared / "data" / "chat_templates.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            stored = json.loads(line)
            if stored["id"].endswith(":" + name):
                return str(stored["text"])
    raise LookupError(name)


def _assistant_turn(template: str, answer: ParsedOutput, tools: list[object] | None = None) -> str:
    """What `template` writes between the assistant's header and the end of the turn."""
    message: dict[str, object] = {"role": "assistant", "content": answer.content}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": json.loads(call.arguments)}}
            for call in answer.calls
        ]
    written = render_template(template, [{"role": "user", "content": "?"}, message], tools=tools)
    _, _, turn = written.rpartition("<|im_start|>assistant\n")
    return turn.partition("<|im_end|>")[0]
