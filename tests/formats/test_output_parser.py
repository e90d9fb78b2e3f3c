"""The parser by example: layout, truncation, malformed text, what is held back, and cost."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from structural_tags.formats import get_format
from structural_tags.output import (
    Call,
    CallArguments,
    CallBegin,
    CallEnd,
    ContentDelta,
    OutputParser,
    ParsedOutput,
    ReasoningDelta,
    fold,
)
from structural_tags.tools import Tool
from tests.formats.answers import events_of, parse_pieces

HERMES = get_format("hermes")
QWEN3 = get_format("qwen3")
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
F = Call("f", '{"a": 1}')


def test_events_of_a_whole_answer_come_in_the_order_of_the_text() -> None:
    text = f"<think>\nhm\n</think>\n\nHello\n{CALL}\n{CALL}"

    events = events_of([text], QWEN3, reasoning=True)

    assert events == [
        ReasoningDelta("hm"),
        ContentDelta("Hello"),
        CallBegin(0, "f"),
        CallArguments(0, '{"a": 1}'),
        CallEnd(0),
        CallBegin(1, "f"),
        CallArguments(1, '{"a": 1}'),
        CallEnd(1),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ParsedOutput()),
        (" \n", ParsedOutput(content=" \n")),
        ("a\n", ParsedOutput(content="a\n")),
        (CALL, ParsedOutput(calls=(F,))),
        (f"\n\n{CALL}\n \n{CALL}\n", ParsedOutput(calls=(F, F))),
        (f"a{CALL}", ParsedOutput(content="a", calls=(F,))),
        (f"a\n{CALL}", ParsedOutput(content="a", calls=(F,))),
        (f"a\n\n{CALL}", ParsedOutput(content="a\n", calls=(F,))),
        (f" a {CALL}", ParsedOutput(content=" a ", calls=(F,))),
        (f"{CALL}\nb\n{CALL}", ParsedOutput(content="\nb", calls=(F, F))),
        (f"a\n{CALL}\nb", ParsedOutput(content="a\nb", calls=(F,))),
    ],
)
def test_white_space_around_calls_is_content_only_beside_text(text: str, expected: ParsedOutput) -> None:
    assert parse_pieces([text], HERMES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\na\n</think>\n\nb", ParsedOutput("a", "b")),
        ("<think>a</think>b", ParsedOutput("a", "b")),
        ("<think>\n\na\n\n</think>\n\n\nb", ParsedOutput("\na\n", "\nb")),
        ("<think>\n\n</think>\n\nb", ParsedOutput("", "b")),
        ("<think>\n</think>\nb", ParsedOutput("", "b")),
        ("<think></think>", ParsedOutput()),
        ("<think>\na", ParsedOutput("a")),
        ("<think>\na\n</thi", ParsedOutput("a\n</thi")),
        ("<thi", ParsedOutput(content="<thi")),
        ("b<think>a</think>", ParsedOutput(content="b<think>a</think>")),
        (f"<think>\n{CALL}\n</think>\n\n{CALL}", ParsedOutput(CALL, calls=(F,))),
        (f"<think>\na\n</think>\n\n{CALL}", ParsedOutput("a", calls=(F,))),
    ],
)
def test_reasoning_loses_its_markers_and_one_line_break_at_each_end(text: str, expected: ParsedOutput) -> None:
    assert parse_pieces([text], QWEN3, reasoning=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "parameters": {}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": "x"}\n</tool_call>',
        '<tool_call>\n{"name": "", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "\\q", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "\\ud800", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "a\nb", "arguments": {}}\n</tool_call>',
        "<tool_call>",
        '<tool_call>\n{"name": "get_w',
        '<tool_call>\n{"name": "f", "arguments": ',
    ],
)
@pytest.mark.parametrize("before", ["", "a", "\n", "a\n"])
def test_text_that_is_no_call_is_content(before: str, text: str) -> None:
    assert parse_pieces([before + text], HERMES) == ParsedOutput(content=before + text)


def test_call_after_text_that_is_no_call_is_found() -> None:
    broken = '<tool_call>\n{"name": "<tool_call>\n'

    assert parse_pieces([broken + CALL], HERMES) == ParsedOutput(content=broken[:-1], calls=(F,))


@pytest.mark.parametrize(
    ("arguments", "delivered"),
    [('{"a', '{"a'), ('{"a": "}}', '{"a": "}}'), ('{"a": {}}', '{"a": {}}'), ('{"a": {}}}\n</too', '{"a": {}}')],
)
@pytest.mark.parametrize("before", ["", "\n"])
def test_call_cut_short_is_delivered_as_far_as_it_came(before: str, arguments: str, delivered: str) -> None:
    text = before + '<tool_call>\n{"name": "f", "arguments": ' + arguments

    events = events_of([text], HERMES)

    assert events == [CallBegin(0, "f"), CallArguments(0, delivered)]


def test_call_with_another_end_marker_stays_but_is_not_whole() -> None:
    text = CALL.replace("}\n</tool_call>", "} </tool_call>") + CALL

    events = events_of([text], HERMES)

    assert events == [
        CallBegin(0, "f"),
        CallArguments(0, '{"a": 1}'),
        ContentDelta("} </tool_call>"),
        CallBegin(1, "f"),
        CallArguments(1, '{"a": 1}'),
        CallEnd(1),
    ]


def test_name_is_decoded_from_json() -> None:
    text = CALL.replace('"f"', '"a\\"\\u00e9\\ud83e\\udd8a"')

    assert parse_pieces([text], HERMES).calls == (Call('a"é🦊', '{"a": 1}'),)


def test_arguments_may_hold_braces_escapes_and_markers_in_strings() -> None:
    arguments = '{"a": "}\\"{\\\\", "b": [{"c": "}\\n</tool_call>"}]}'
    text = '<tool_call>\n{"name": "f", "arguments": ' + arguments + "}\n</tool_call>"

    assert parse_pieces([text], HERMES).calls == (Call("f", arguments),)


def test_every_character_of_arguments_is_reported_at_once() -> None:
    parser = OutputParser(HERMES, tools=(), reasoning=False)
    arguments = '{"a": "x}\\"y", "b": {"c": [1]}}'

    assert parser.feed('<tool_call>\n{"name": "f", "arguments": ') == []
    assert parser.feed("{") == [CallBegin(0, "f"), CallArguments(0, "{")]
    for character in arguments[1:]:
        assert parser.feed(character) == [CallArguments(0, character)]


@pytest.mark.parametrize(
    ("text", "reported"),
    [("Hello", "Hello"), ("Hello\n", "Hello"), ("a < b", "a < b"), ("a <tool_cal", "a "), ("a\n<tool_call>\n{", "a")],
)
def test_content_is_held_back_only_where_a_call_may_begin(text: str, reported: str) -> None:
    parser = OutputParser(HERMES, tools=(), reasoning=False)

    assert parser.feed(text) == [ContentDelta(reported)]


@pytest.mark.parametrize(("text", "reported"), [("hm", "hm"), ("hm\n", "hm"), ("hm</b", "hm</b"), ("hm</t", "hm")])
def test_reasoning_is_held_back_only_where_its_end_may_begin(text: str, reported: str) -> None:
    parser = OutputParser(QWEN3, tools=(), reasoning=True)

    assert parser.feed("<think>\n" + text) == [ReasoningDelta(reported)]


def test_feed_after_finish_is_an_error() -> None:
    parser = OutputParser(HERMES, tools=(), reasoning=False)
    parser.finish()

    with pytest.raises(RuntimeError, match="feed after finish"):
        parser.feed("a")


def test_reasoning_for_a_format_without_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="'hermes' has no reasoning"):
        OutputParser(HERMES, tools=(), reasoning=True)


@pytest.mark.parametrize(
    "unit",
    ["a", "\n", "<", "<tool_call>\n", '<tool_call>\n{"name": "', '<tool_call>\n{"name": "f\n', CALL, CALL[:-1]],
)
@pytest.mark.parametrize("piece", [1, 1 << 30])
def test_work_grows_with_the_text_and_not_faster(unit: str, piece: int) -> None:
    small = _calls_made(unit * (6000 // len(unit)), piece)
    large = _calls_made(unit * (24000 // len(unit)), piece)

    assert large < 4.5 * small


_STYLED = {
    "qwen3_coder": ("<tool_call>\n<function=f>\n<parameter=a>\n", "</para", '{"x": "</parameter>", ', "<"),
    "glm_4_7": ("<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg", "5", "\n"),
    "deepseek_v4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="b" string="false">',
        "</｜DSML",
    ),
    "gemma_4": ('<|tool_call>call:f{a:<|"|>', "<|", "x,", "{"),
    "lfm2": ('<|tool_call_start|>[f(a="', "\\n", "x", "[", ")]"),
    "llama_pythonic": ("", "[", "[f", "[f(", "x"),
    "harmony": ("<|channel|>final<|message|>", "<|channel|>", "x"),
    "kimi_k2": ("", " ", "\n<|tool_call", "x"),
    "deepseek_v3_1": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        " ",
        "\n",
        "<｜tool",
    ),
    "command_r7b": ("", " ", "\n", "<|START"),
    "command_a": ("<|START_TEXT|>", "<|END_TEX", "x"),
    "kimi_k3": ("<|open|>response<|sep|>", "<|close|>resp", "x"),
    "minimax_m3": (
        *(']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>', "x", "]<", "]<]minimax"),
        *(" ", "]<]minimax[>[<item>", "]<]minimax[>[</a>]<]minimax[>[<b>"),
    ),
    "command_xml": (
        '<cofl:tool_calls><cofl:tool_call id="0" name="f"><cofl:value name="b" type="json">["',
        *("x", "</cofl:value>", "</cofl:val"),
    ),
    "functionary_3_2": ("all\n", ">>", ">>>f\n{}", "x"),
    "hunyuan_a13b": ("", "\n</answe", " ", "\n</answer>"),
}


@pytest.mark.parametrize(("name", "unit"), [(name, unit) for name, units in _STYLED.items() for unit in units[1:]])
@pytest.mark.parametrize("piece", [1, 5000])
def test_work_grows_with_the_text_and_not_faster_in_other_styles(name: str, unit: str, piece: int) -> None:
    begin = _STYLED[name][0]
    made = [_calls_made(begin + unit * (size // len(unit)), piece, name) for size in (1500, 6000)]

    assert made[1] < 4.6 * made[0]


def _calls_made(text: str, piece: int, name: str = "hermes") -> int:
    """Function calls, of Python and C, that parsing `text` in pieces makes."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    tools = (Tool("f", {"properties": {"a": {"type": "string"}, "b": {"type": "array"}}}),)
    parser = OutputParser(get_format(name), tools=tools, reasoning=False)
    sys.setprofile(count)
    try:
        for start in range(0, len(text), piece):
            parser.feed(text[start : start + piece])
        parser.finish()
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize("blanks", [0, 2, 64, 65, 300])
def test_white_space_before_the_mark_of_an_answer_is_layout_up_to_a_length(blanks: int) -> None:
    fmt = get_format("hunyuan_a13b")
    text = "<think>\na\n</think>" + " " * blanks + "<answer>\nb\n</answer>"
    expected = "b" if blanks <= 64 else " " * blanks + "<answer>\nb\n</answer>"

    for pieces in ([text], list(text)):
        parser = OutputParser(fmt, tools=(), reasoning=True)
        answer = fold([event for piece in pieces for event in parser.feed(piece)] + parser.finish())
        assert (answer.reasoning, answer.content) == ("a", expected)


@pytest.mark.parametrize("key", ["a", "a" * 256, "a" * 257])
def test_key_of_a_closing_mark_ends(key: str) -> None:
    text = f']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>1]<]minimax[>[</{key}>'

    for pieces in ([text], list(text)):
        parser = OutputParser(get_format("minimax_m3"), tools=(Tool("f"),), reasoning=False)
        answer = fold([event for piece in pieces for event in parser.feed(piece)] + parser.finish())
        assert answer.content == ("" if len(key) <= 256 else f"{key}>")


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("all\nHi", "Hi", []),
        ('all\nHi>>>f\n{"a": 1}>>>f\n{}', "Hi", ['{"a": 1}', "{}"]),
        ('f\n{"a": 1}', "", ['{"a": 1}']),
        ("all\na >>> b", "a >>> b", []),
        ("oops", "oops", []),
        ("", "", []),
    ],
)
def test_first_mark_that_the_prompt_has_written_is_no_text(text: str, content: str, calls: list[str]) -> None:
    fmt = get_format("functionary_3_2")
    for pieces in ([text], list(text)):
        parser = OutputParser(fmt, tools=(Tool("f"),), reasoning=False)
        answer = fold([event for piece in pieces for event in parser.feed(piece)] + parser.finish())

        assert answer.content == content
        assert [call.arguments for call in answer.calls] == calls


def test_response_format_may_spell_the_mark_of_a_call() -> None:
    parser = OutputParser(get_format("functionary_3_2"), tools=(Tool("f"),), reasoning=False, response=True)

    answer = fold([*parser.feed('all\n{"a": ">>>f\\n{}"}'), *parser.finish()])

    assert answer == ParsedOutput("", '{"a": ">>>f\\n{}"}')
