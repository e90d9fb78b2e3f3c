"""Grammar and parser are made from one format: the grammar of each choice accepts what the format renders, and
accepts nothing that the parser would not read as a valid answer of that choice."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from engine_native import Compiler, Grammar, Matcher, Vocabulary
from structural_tags.choice import NamedTool, Tool, ToolChoice, build_tag
from structural_tags.formats import ModelFormat, get_format
from structural_tags.output import Call, ParsedOutput, render
from tests.formats.answers import FORMATS, model_text, parse_pieces

SCHEMAS: dict[str, dict[str, Any]] = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "units": {"enum": ["C", "F"]},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    "f": {
        "type": "object",
        "properties": {"xs": {"type": "array", "items": {"type": ["boolean", "null"]}, "minItems": 1}},
        "required": ["xs"],
        "additionalProperties": False,
    },
    'odd"name\\': {"type": "object", "properties": {}, "additionalProperties": False},
}
TOOLS = tuple(Tool(name, schema) for name, schema in SCHEMAS.items())
RESPONSE = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
CHOICES: tuple[ToolChoice, ...] = ("auto", "required", "none", NamedTool("f"))
STOP = 256

tokens = [bytes([byte]) for byte in range(256)] + [b"<|im_end|>"]
tokens += [b"<tool_call>", b"</tool_call>", b"<think>", b"</think>", b"\n\n", b"}\n", b'{"', b'": ', b'", "', b"<tool"]


@functools.cache
def _compiler() -> Compiler:
    return Compiler(Vocabulary(tokens, special_token_ids=[STOP], stop_token_ids=[STOP]))


@functools.cache
def _grammar(fmt: ModelFormat, choice: ToolChoice, parallel: bool, reasoning: bool, respond: bool = False) -> Grammar:
    tag = build_tag(
        fmt,
        tools=TOOLS,
        tool_choice=choice,
        parallel_tool_calls=parallel,
        reasoning=reasoning,
        response=RESPONSE if respond else None,
    )
    assert tag is not None
    return _compiler().compile_structural_tag(tag)


def _accepts(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar)
    return matcher.accept_bytes(text.encode()) and matcher.can_terminate()


arguments: dict[str, st.SearchStrategy[Any]] = {
    "get_weather": st.fixed_dictionaries(
        {"city": st.text(max_size=5) | model_text},
        optional={"days": st.integers(), "units": st.sampled_from(["C", "F"])},
    ),
    "f": st.fixed_dictionaries({"xs": st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=3)}),
    'odd"name\\': st.just({}),
}
no_call = model_text.map(lambda text: text.replace("<tool_call>", "<tool-call>"))
reasonings = model_text.map(lambda text: text.replace("</think>", "</thought>") or "so")


@st.composite
def calls(draw: st.DrawFn, *, least: int, most: int, only: str | None) -> tuple[Call, ...]:
    names = draw(st.lists(st.sampled_from([only] if only else sorted(SCHEMAS)), min_size=least, max_size=most))
    return tuple(Call(name, _in_declared_order(name, draw(arguments[name]))) for name in names)


def _in_declared_order(name: str, values: dict[str, Any]) -> str:
    return json.dumps({key: values[key] for key in SCHEMAS[name]["properties"] if key in values}, ensure_ascii=False)


@st.composite
def answers(draw: st.DrawFn, choice: ToolChoice, parallel: bool, reasoning: bool) -> ParsedOutput:
    """An answer that `choice` allows."""
    most = 3 if parallel and not isinstance(choice, NamedTool) else 1
    least = 0 if choice == "auto" else 1
    only = choice.name if isinstance(choice, NamedTool) else None
    called = () if choice == "none" else draw(calls(least=least, most=most, only=only))
    content = draw(no_call) if choice in ("auto", "none") else ""
    if called and not content.strip():
        content = ""
    return ParsedOutput(draw(reasonings) if reasoning else "", content, called)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ModelFormat, ToolChoice, bool, bool, ParsedOutput]:
    fmt = draw(st.sampled_from(FORMATS))
    choice = draw(st.sampled_from(CHOICES))
    parallel = draw(st.booleans())
    reasoning = fmt.reasoning is not None and draw(st.booleans())
    return fmt, choice, parallel, reasoning, draw(answers(choice, parallel, reasoning))


def _is_valid(text: str, fmt: ModelFormat, choice: ToolChoice, parallel: bool, reasoning: bool) -> bool:
    """Whether a client that reads `text` gets what `choice` promises; by the parser, jsonschema and render."""
    answer = parse_pieces([text], fmt, reasoning=reasoning)
    if fmt.reasoning is not None and reasoning and not text.startswith(fmt.reasoning.begin + fmt.reasoning.pad):
        return False
    for call in answer.calls:
        try:
            jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
        except (ValueError, KeyError, jsonschema.ValidationError):
            return False
    if "<tool_call>" in answer.content:
        return False
    if not parallel and len(answer.calls) > 1:
        return False
    if isinstance(choice, NamedTool):
        return not answer.content and [call.name for call in answer.calls] == [choice.name]
    if choice == "required":
        return not answer.content and len(answer.calls) >= 1
    return choice == "auto" or not answer.calls


@settings(deadline=None)
@given(cases())
def test_grammar_accepts_every_rendered_answer(
    case: tuple[ModelFormat, ToolChoice, bool, bool, ParsedOutput],
) -> None:
    fmt, choice, parallel, reasoning, answer = case

    text = render(answer, fmt)

    assert _is_valid(text, fmt, choice, parallel, reasoning)
    assert _accepts(_grammar(fmt, choice, parallel, reasoning), text)


@settings(deadline=None)
@given(cases(), st.data())
def test_grammar_accepts_no_mutated_answer_that_breaks_the_promise(
    case: tuple[ModelFormat, ToolChoice, bool, bool, ParsedOutput], data: st.DataObject
) -> None:
    fmt, choice, parallel, reasoning, answer = case
    text = render(answer, fmt)
    assume(text)
    at = data.draw(st.integers(0, len(text) - 1))
    cut = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from(["", '"', "}", "{", "\n", " ", "1", ",", "x", "<tool_call>", "</tool_call>"]))
    mutated = text[:at] + put + text[at + cut :]

    accepted = _accepts(_grammar(fmt, choice, parallel, reasoning), mutated)

    event(f"accepted: {accepted}")
    assert not accepted or _is_valid(mutated, fmt, choice, parallel, reasoning)


CALL = '<tool_call>\n{"name": "f", "arguments": {"xs": [true]}}\n</tool_call>'
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
BROKEN_CALLS = [
    CALL[1:],
    CALL[:-1],
    CALL.replace("true", "1"),
    CALL.replace("true", ""),
    CALL.replace("xs", "ys"),
    CALL.replace('"f"', '"g"'),
    CALL.replace('"f"', '"get_weather"'),
    CALL.replace("arguments", "parameters"),
    CALL.replace("}}\n", "}\n"),
    CALL.replace("\n</tool_call>", "</tool_call>"),
    CALL.replace("<tool_call>\n", "<tool_call>"),
]


@pytest.mark.parametrize("text", BROKEN_CALLS)
def test_broken_call_is_refused_wherever_a_call_must_stand(text: str) -> None:
    for choice in ("required", NamedTool("f")):
        assert not _accepts(_grammar(get_format("hermes"), choice, True, False), text)


@pytest.mark.parametrize("text", [text for text in BROKEN_CALLS if "<tool_call>" in text])
def test_broken_call_is_refused_in_free_text(text: str) -> None:
    assert not _accepts(_grammar(get_format("hermes"), "auto", True, False), text)


@pytest.mark.parametrize(
    ("choice", "parallel", "accepted", "refused"),
    [
        ("auto", True, ["", "a", "a <tool", CALL, f"a\n{CALL}\nb\n{WEATHER}"], ["<tool_call>", f"{CALL}<tool_call>"]),
        ("auto", False, ["", "a", CALL, f"a\n{CALL}"], [f"{CALL}\n", f"{CALL}\n{CALL}"]),
        (
            "required",
            True,
            [CALL, f"{CALL}\n{WEATHER}\n{CALL}"],
            ["", "a", f"a\n{CALL}", f"\n{CALL}", f"{CALL}\n", f"{CALL}b", f"{CALL}{CALL}"],
        ),
        ("required", False, [CALL, WEATHER], ["", f"{CALL}\n", f"{CALL}\n{WEATHER}"]),
        (NamedTool("f"), True, [CALL], ["", WEATHER, f"{CALL}\n", f"{CALL}\n{CALL}"]),
        ("none", True, ["", "a", "<tool", "</tool_call>"], ["<tool_call>", CALL]),
    ],
)
def test_choice_decides_where_calls_may_stand(
    choice: ToolChoice, parallel: bool, accepted: list[str], refused: list[str]
) -> None:
    grammar = _grammar(get_format("hermes"), choice, parallel, False)

    assert [text for text in accepted if not _accepts(grammar, text)] == []
    assert [text for text in refused if _accepts(grammar, text)] == []


def test_auto_with_a_response_is_calls_or_the_response_but_not_both() -> None:
    grammar = _grammar(get_format("hermes"), "auto", True, False, respond=True)

    assert [text for text in ('{"a": 1}', CALL, f"{CALL}\n{WEATHER}") if not _accepts(grammar, text)] == []
    assert [text for text in ("", "a", '{"a": "x"}', '{"a": 1}' + CALL, CALL + "{}") if _accepts(grammar, text)] == []


@pytest.mark.parametrize("name", ["qwen3", "hermes_thinking"])
@pytest.mark.parametrize("choice", CHOICES)
def test_reasoning_is_written_once_and_before_the_answer(name: str, choice: ToolChoice) -> None:
    grammar = _grammar(get_format(name), choice, True, True)
    answer = "a" if choice in ("auto", "none") else CALL

    assert _accepts(grammar, f"<think>\nso {CALL}\n</think>\n\n{answer}")
    assert _accepts(grammar, f"<think>\n\n</think>\n\n{answer}")
    for broken in ("", "<think>\nso", "so\n</think>\n\n", "<think>so\n</think>\n\n", "<think>\nso\n</think>"):
        assert not _accepts(grammar, broken + answer)


@settings(deadline=None)
@given(cases())
def test_masks_allow_the_tokens_of_every_rendered_answer(
    case: tuple[ModelFormat, ToolChoice, bool, bool, ParsedOutput],
) -> None:
    fmt, choice, parallel, reasoning, answer = case
    rest = render(answer, fmt).encode()
    matcher = Matcher(_grammar(fmt, choice, parallel, reasoning))

    while rest:
        token = max((t for t in range(len(tokens)) if t != STOP and rest.startswith(tokens[t])), key=_length)
        assert _allowed(matcher, token), (tokens[token], rest)
        assert matcher.accept_token(token)
        rest = rest[len(tokens[token]) :]

    assert _allowed(matcher, STOP)


def _length(token: int) -> int:
    return len(tokens[token])


def _allowed(matcher: Matcher, token: int) -> bool:
    row = memoryview(bytearray(4 * ((len(tokens) + 31) // 32))).cast("i")
    if not matcher.fill_bitmask(row):
        return True
    return bool(row[token // 32] >> (token % 32) & 1)
