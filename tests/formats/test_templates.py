"""Against reality: what a model's own chat template writes for an answer, the format's grammar accepts, its parser
reads as that answer, and `render` writes as well."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from engine_native import Compiler, Grammar, Matcher, Vocabulary
from structural_tags.choice import build_tag
from structural_tags.formats import FORMATS, get_format
from structural_tags.formats.arguments import Json
from structural_tags.output import OutputParser, ParsedOutput, render
from tests.formats.families import (
    CALLS,
    FAMILIES,
    TOOLS,
    Family,
    events_of,
    made_calls,
    message_of,
    parsed,
    tools_for_template,
)
from tests.formats.templates import assistant_turn, stored_templates

CASES = [
    (name, reasoning, content, count)
    for name, family in FAMILIES.items()
    for reasoning in ("", "Hm. Two\nlines")
    for content in ("", "Some text")
    for count in range(1, family.most_calls + 1)
    if not (reasoning and (family.drops_reasoning or FORMATS[family.format].reasoning is None))
    if not (content and family.drops_content)
]


@functools.cache
def _grammar(name: str, reasoning: bool) -> Grammar:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>"]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    tag = build_tag(get_format(name), tools=TOOLS, tool_choice="auto", reasoning=reasoning)
    assert tag is not None
    return compiler.compile_structural_tag(tag)


def _turn(shared: Path, name: str, answer: ParsedOutput) -> str:
    """The assistant's turn, from where the model goes on after the generation prompt."""
    family = FAMILIES[name]
    variables = dict(family.variables)
    if family.switch:
        variables[family.switch] = bool(answer.reasoning)
    turn = assistant_turn(
        stored_templates(shared)[name],
        message_of(answer, family),
        tools_for_template() if family.lists_tools else [],
        *(family.head, family.ends),
        **variables,
    )
    block = get_format(family.format).reasoning
    if answer.reasoning and block is not None and block.in_prompt:
        return turn.removeprefix(block.begin).removeprefix(block.pad)
    return turn if answer.reasoning else turn.removeprefix(family.without_reasoning)


def _off(family: Family) -> str:
    """Templates write a past turn without the mark that the model must write where it shall not reason."""
    block = get_format(family.format).reasoning
    return block.off if block is not None and block.off.strip() else ""


@pytest.mark.parametrize(("name", "reasoning", "content", "count"), CASES)
def test_what_the_template_writes_is_accepted_and_read_as_the_answer(
    shared: Path, name: str, reasoning: str, content: str, count: int
) -> None:
    family = FAMILIES[name]
    fmt = get_format(family.format)
    calls = CALLS[:count]
    answer = ParsedOutput(reasoning, content, made_calls(calls))
    turn = _turn(shared, name, answer)
    if not reasoning:
        turn = _off(family) + turn
    matcher = Matcher(_grammar(family.format, bool(reasoning)))

    accepted = matcher.accept_bytes(turn.encode()) and matcher.can_terminate()
    events = events_of(OutputParser(fmt, tools=TOOLS, reasoning=bool(reasoning)), [turn])

    assert accepted, turn
    assert parsed(events) == (reasoning, content, [(name, values) for name, values in calls]), turn


def _shapes(family: Family) -> dict[str, tuple[str, dict[str, Any]]]:
    """Calls that are hard to write: without arguments, deep ones, and strings with signs, lines and marks in them."""
    calls = get_format(family.format).calls
    assert calls is not None
    own = calls.begin + calls.syntaxes[0].first + calls.end
    shapes: dict[str, tuple[str, dict[str, Any]]] = {
        "no arguments": ("now", {}),
        "signs": ("search", {"query": "a \"b\" 'c' \\ {d} [e] (f), g: h=i </x> <|y|>"}),
        "lines": ("search", {"query": "one\n\n  two\t\n"}),
        "scripts": ("search", {"query": "Zürich 東京 🦊 \u200d"}),
        "json": ("search", {"query": '{"name": "now", "arguments": {}}'}),
        "marks": ("search", {"query": own if isinstance(calls.syntaxes[0].arguments, Json) else "<tool>{}</tool>"}),
        "empty": ("search", {"query": ""}),
        "deep": ("search", {"query": "q", "options": {"deep": False, "note": 'x "y"\nz'}, "tags": ["", "y"]}),
        "apostrophes": ("search", {"query": "it's", "tags": ["it's", '"', "it's \"", "\u200d\x07", "</parameter>"]}),
        "words": ("search", {"query": "null", "options": {"deep": True}, "tags": [None], "limit": None}),
        "nothing": ("search", {"query": "None", "limit": None}),
        "switch": ("get_weather", {"city": "True", "metric": True}),
    }
    return shapes


@pytest.mark.parametrize("name", FAMILIES)
def test_calls_of_every_shape_are_accepted_and_read_as_they_were_made(shared: Path, name: str) -> None:
    family = FAMILIES[name]
    fmt = get_format(family.format)
    missed = []
    for shape, (function, values) in _shapes(family).items():
        turn = _off(family) + _turn(shared, name, ParsedOutput("", "", made_calls([(function, values)])))
        matcher = Matcher(_grammar(family.format, False))

        accepted = matcher.accept_bytes(turn.encode()) and matcher.can_terminate()
        answer = parsed(events_of(OutputParser(fmt, tools=TOOLS, reasoning=False), [turn]))

        if not accepted or answer != ("", "", [(function, values)]):
            missed.append((shape, accepted, turn, answer))

    assert not missed


OTHERWISE = (
    *("google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved", "Reka-Edge"),
    "CohereForAI-c4ai-command-r-plus-tool_use",
)
"""Templates that sort keys and write content after calls; that escape what is not ASCII; that indent arguments."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.partition(":")[2] not in OTHERWISE])
def test_render_writes_what_the_template_writes(shared: Path, name: str) -> None:
    family = FAMILIES[name]
    content = "" if family.drops_content else "Some text"
    reasoned = FORMATS[family.format].reasoning is not None and not family.drops_reasoning
    calls = made_calls(CALLS[: family.most_calls])
    answer = ParsedOutput("Hm." if reasoned else "", content, calls)

    turn = _turn(shared, name, answer)

    written = render(answer, get_format(family.format), reasoning=reasoned)
    assert turn == (written if reasoned else written.removeprefix(_off(family)))
