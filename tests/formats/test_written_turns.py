"""Families without a stored template: one turn of each as its sources have it, written out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import Compiler, Matcher, Vocabulary
from structural_tags.choice import NamedTool, ToolChoice, build_tag
from structural_tags.formats import FORMATS, get_format
from structural_tags.output import Call, OutputParser, ParsedOutput, render
from tests.formats.families import FAMILIES, TOOLS, events_of, parsed

CALLS = (("get_weather", {"city": "Paris", "days": 3}), ("now", {}))
TURNS = {
    "hermes_thinking": (
        "<think>\nHm.\n</think>\n\nText.\n<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n<tool_call>\n'
        '{"name": "now", "arguments": {}}\n</tool_call>'
    ),
    "smollm_3": (
        "<think>\nHm.\n</think>\nText.\n<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n<tool_call>\n'
        '{"name": "now", "arguments": {}}\n</tool_call>'
    ),
    "longcat_flash": (
        'Text.\n<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n'
        '</longcat_tool_call>\n<longcat_tool_call>\n{"name": "now", "arguments": {}}\n</longcat_tool_call>'
    ),
    "longcat_thinking": (
        "Hm.\n</longcat_think>\nText.\n<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n"
        "<longcat_arg_value>Paris</longcat_arg_value>\n<longcat_arg_key>days</longcat_arg_key>\n"
        "<longcat_arg_value>3</longcat_arg_value>\n</longcat_tool_call>\n"
        "<longcat_tool_call>now\n</longcat_tool_call>"
    ),
    "dots": (
        'Text.<dots_function_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
        '<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</dots_function_call>'
    ),
    "mirothinker": (
        "<think>\nHm.\n</think>\n\nText.\n<use_mcp_tool>\n<server_name>generic-extras</server_name>\n"
        '<tool_name>get_weather</tool_name>\n<arguments>\n{"city": "Paris", "days": 3}\n</arguments>\n'
        "</use_mcp_tool>"
    ),
    "mimo_v2": (
        "<think>Hm.</think>Text.<tool_call><function=get_weather><parameter=city>Paris</parameter><"
        "parameter=days>3</parameter></function></tool_call><tool_call><function=now></function></tool_call>"
    ),
    "minimax_m2": (
        'Hm.\n</think>\n\nText.\n<minimax:tool_call>\n<invoke name="get_weather">\n'
        '<parameter name="city">Paris</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n'
        '<invoke name="now">\n</invoke>\n</minimax:tool_call>'
    ),
    "minimax_m3": (
        "<mm:think>Hm.</mm:think>Text.]<]minimax[>[<tool_call>\n"
        ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]min'
        "imax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n"
        ']<]minimax[>[<invoke name="now">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>'
    ),
    "kimi_k3": (
        "Hm.<|close|>think<|sep|><|open|>response<|sep|>Text.<|close|>response<|sep|><|open|>tools<"
        '|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="st'
        'ring"<|sep|>Paris<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>3'
        '<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="now" index="2"<|sep|><|clos'
        "e|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"
    ),
    "deepseek_v3": (
        "Text.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        '{"city": "Paris", "days": 3}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n'
        "```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek_v4_1": (
        'Hm.</think>Text.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name="get_weather">\n'
        '<｜DSML｜ parameter name="city" string="true">Paris</｜DSML｜ parameter>\n'
        '<｜DSML｜ parameter name="days" string="false">3</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n'
        '<｜DSML｜ invoke name="now">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>'
    ),
    "llama_4_json": (
        'Text.{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}{"name": "now", "parameters": {}}'
    ),
    "llama_pythonic": ('Text.[get_weather(city="Paris", days=3), now()]'),
    "lfm2": ('Text.<|tool_call_start|>[get_weather(city="Paris", days=3), now()]<|tool_call_end|>'),
    "lfm2_5": ('<think>Hm.</think>Text.<|tool_call_start|>[get_weather(city="Paris", days=3), now()]<|tool_call_end|>'),
    "olmo_3": ('<think>Hm.</think>Text.<function_calls>\nget_weather(city="Paris", days=3)\nnow()\n</function_calls>'),
    "function_gemma": (
        "Text.<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function"
        "_call><start_function_call>call:now{}<end_function_call>"
    ),
    "command_xml": (
        'Hm.<|END_THINKING|><cofl:tool_calls><cofl:tool_call id="0" name="get_weather"><cofl:value '
        'name="city" type="raw">Paris</cofl:value><cofl:value name="days" type="json">3</cofl:value'
        '></cofl:tool_call><cofl:tool_call id="1" name="now"></cofl:tool_call></cofl:tool_calls>'
    ),
    "step_3": (
        'Text.<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_'
        'weather"><steptml:parameter name="city">Paris</steptml:parameter><steptml:parameter name="'
        'days">3</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_call_begin｜>function<｜'
        'tool_sep｜><steptml:invoke name="now"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>'
    ),
    "ernie_4_5": (
        "Hm.\n</think>Text.\n\n\n<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n<tool_call>\n'
        '{"name": "now", "arguments": {}}\n</tool_call>'
    ),
    "jamba": (
        'Text.<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"na'
        'me": "now", "arguments": {}}]</tool_calls>'
    ),
    "hunyuan_a13b": (
        "<think>\nHm.\n</think><answer>\n"
        'Text.<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"na'
        'me": "now", "arguments": {}}]</tool_calls>'
        "\n</answer>"
    ),
    "hunyuan_3": (
        "Hm.</think>Text.<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n"
        "<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n"
        "<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>"
    ),
    "phi_4_mini": (
        'Text.functools[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name"'
        ': "now", "arguments": {}}]'
    ),
    "phi_4_mini_marked": (
        'Text.<|tool_call|>{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}<|/tool_call|>'
        '<|tool_call|>{"name": "now", "arguments": {}}<|/tool_call|>'
    ),
    "xlam": (
        'Text.[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "now", "arguments": {}}]'
    ),
    "granite_3": (
        "<think>Hm.</think><response>"
        'Text.<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"n'
        'ame": "now", "arguments": {}}]'
        "</response>"
    ),
    "nemotron_super": (
        "<think>\nHm.\n</think>\n\n"
        'Text.<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name'
        '": "now", "arguments": {}}]</TOOLCALL>'
    ),
    "nemotron_nano_2": (
        "Hm.\n</think>Text.\n\n"
        '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "n'
        'ow", "arguments": {}}]</TOOLCALL>'
    ),
    "plamo_3": (
        "<|plamo:begin_think:plamo|>Hm.<|plamo:end_think:plamo|>Text.<|plamo:begin_tool_requests:pl"
        "amo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>get_weather<|plamo:e"
        "nd_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg"
        '|>{"city": "Paris", "days": 3}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:p'
        "lamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>now<|plamo:end_tool"
        "_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{}<|p"
        "lamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"
    ),
    "exaone_4": (
        "Hm.\n</think>\n\nText.\n"
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}</tool_call>\n'
        '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    ),
    "gigachat_3": (
        "Text.<|message_sep|>\n\nfunction call<|role_sep|>\n"
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
    ),
    "gigachat_3_5": (
        'Hm.</think>\n\nText.\n\n<｜GCML｜tool_calls>\n<｜GCML｜invoke name="get_weather">\n'
        '<｜GCML｜parameter name="city" string="true">Paris</｜GCML｜parameter>\n'
        '<｜GCML｜parameter name="days" string="false">3</｜GCML｜parameter>\n</｜GCML｜invoke>\n'
        '<｜GCML｜invoke name="now">\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>'
    ),
    "internlm_2": (
        "Text.<|action_start|><|plugin|>\n"
        '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}<|action_end|>'
    ),
    "granite_4": (
        'Text.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n'
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    ),
}


def test_every_family_has_a_template_or_stands_here() -> None:
    named = {name for name, fmt in FORMATS.items() if fmt.calls is not None}

    assert set(TURNS) == named - {family.format for family in FAMILIES.values()}


@pytest.mark.parametrize("name", TURNS)
def test_turn_is_accepted_and_read_and_written(name: str) -> None:
    fmt, turn = get_format(name), TURNS[name]
    assert fmt.calls is not None
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    reasons = fmt.reasoning is not None
    tag = build_tag(fmt, tools=TOOLS, tool_choice="auto", reasoning=reasons)
    assert tag is not None
    calls = list(CALLS[: 1 if fmt.calls.single else 2])
    content = "Text." if "Text." in turn else ""
    answer = ParsedOutput(
        "Hm." if reasons else "", content, tuple(Call(name, json.dumps(values)) for name, values in calls)
    )

    matcher = Matcher(compiler.compile_structural_tag(tag))
    events = events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasons), [turn])

    assert matcher.accept_bytes(turn.encode())
    assert matcher.can_terminate()
    assert parsed(events) == (answer.reasoning, content, calls)
    assert render(answer, fmt, reasoning=reasons) == turn


def _reads(name: str, text: str, *, choice: ToolChoice = "auto", reasoning: bool = True) -> Any:
    """What the parser reads; the grammar's refusal is "refused"."""
    fmt = get_format(name)
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    tag = build_tag(fmt, tools=TOOLS, tool_choice=choice, reasoning=reasoning)
    assert tag is not None
    matcher = Matcher(compiler.compile_structural_tag(tag))
    whole = parsed(events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasoning), [text]))
    assert parsed(events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasoning), list(text))) == whole
    return whole if matcher.accept_bytes(text.encode()) and matcher.can_terminate() else "refused"


APERTUS_CALL = '<|tools_prefix|>[{"now": {}}]<|tools_suffix|>'


@pytest.mark.parametrize(
    ("text", "choice", "read"),
    [
        (f"<|inner_prefix|>Hm.{APERTUS_CALL}", "auto", ("Hm.", "", [("now", {})])),
        (f"<|inner_prefix|>Hm.{APERTUS_CALL}", "required", ("Hm.", "", [("now", {})])),
        (f"<|inner_prefix|>Hm.{APERTUS_CALL}", NamedTool("search"), "refused"),
        (f"<|inner_prefix|>Hm.<|inner_suffix|>{APERTUS_CALL}", "required", ("Hm.", "", [("now", {})])),
        ("<|inner_prefix|>Hm.<|inner_suffix|>Hi.", "auto", ("Hm.", "Hi.", [])),
        ("<|inner_prefix|>Hm.", "auto", "refused"),
        (f"<|inner_prefix|>Hm.{APERTUS_CALL}", "none", "refused"),
    ],
)
def test_calls_may_end_the_block_where_the_family_calls_inside_of_it(text: str, choice: ToolChoice, read: Any) -> None:
    assert _reads("apertus", text, choice=choice) == read


HUNYUAN_CALL = '<tool_calls>[{"name": "now", "arguments": {}}]</tool_calls>'


@pytest.mark.parametrize(
    ("text", "choice", "reasoning", "read"),
    [
        ("<think>\nHm.\n</think>\n<answer>\nHi.\n</answer>", "auto", True, ("Hm.", "Hi.", [])),
        (f"<think>\nHm.\n</think>\n<answer>\n{HUNYUAN_CALL}\n</answer>", "auto", True, ("Hm.", "", [("now", {})])),
        (f"<think>\nHm.\n</think>\n<answer>\n{HUNYUAN_CALL}\n</answer>", "required", True, ("Hm.", "", [("now", {})])),
        ("<think>\nHm.\n</think>\nHi.", "auto", True, "refused"),
        ("<think>\nHm.\n</think>\n<answer>\nHi.", "auto", True, "refused"),
        ("<answer>\nHi.\n</answer>", "auto", False, ("", "Hi.", [])),
        (HUNYUAN_CALL, "required", False, ("", "", [("now", {})])),
        (f"<answer>\n{HUNYUAN_CALL}\n</answer>", "required", False, ("", "", [("now", {})])),
        ("Hi.\n</answer>", "auto", False, ("", "Hi.\n</answer>", [])),
    ],
)
def test_answer_after_a_block_stands_in_marks_where_the_family_has_them(
    text: str, choice: ToolChoice, reasoning: bool, read: Any
) -> None:
    assert _reads("hunyuan_a13b", text, choice=choice, reasoning=reasoning) == read


def test_closing_mark_in_the_middle_of_an_answer_is_text() -> None:
    fmt = get_format("granite_3")
    text = "<think>a</think>\n<response>x </response> y</response>"

    for pieces in ([text], list(text)):
        assert parsed(events_of(OutputParser(fmt, tools=TOOLS, reasoning=True), pieces)) == ("a", "x </response> y", [])
