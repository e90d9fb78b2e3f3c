"""Every family under every choice: whatever the masks let a model write is an answer that keeps the choice's promise,
is read without loss, and is read the same however it is cut."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import jsonschema
import pytest

from engine_native import Compiler, Matcher
from structural_tags.choice import AllowedTools, NamedTool, ReasoningMode, Tool, ToolChoice, build_tag, tools_of_choice
from structural_tags.formats import FORMATS, ModelFormat
from structural_tags.output import CallBegin, CallEnd, OutputParser, ParsedOutput, fold, render
from tests.formats.answers import joined
from tests.formats.families import NOW, SCHEMAS, SEARCH, WEATHER, events_of
from tests.formats.sampling import Sampler, phrases, texts, tokenised, vocabulary

TOOLS = (Tool("get_weather", WEATHER), Tool("search", SEARCH, strict=False), Tool("now", NOW))
CHOICES: tuple[ToolChoice, ...] = (
    "auto",
    "none",
    "required",
    NamedTool("get_weather"),
    AllowedTools("auto", ("search", "now")),
    AllowedTools("required", ("get_weather", "now")),
)
WITH_CALLS = [fmt for fmt in FORMATS.values() if fmt.calls is not None]
LIMIT = 700
SEEDS = int(os.environ.get("STRICTSERVE_DRAWS", "1"))


def _modes(fmt: ModelFormat) -> tuple[ReasoningMode, ...]:
    return (False,) if fmt.reasoning is None else (False, True, "auto")


def _check_promise(answer: ParsedOutput, choice: ToolChoice, parallel: bool) -> None:
    names = [call.name for call in answer.calls]
    allowed = [tool.name for tool in tools_of_choice(TOOLS, choice)]
    assert set(names) <= set(allowed)
    demands = choice == "required" or isinstance(choice, NamedTool) or choice == CHOICES[5]
    if demands:
        assert names
        assert answer.content.strip() == ""
    if not parallel or isinstance(choice, NamedTool):
        assert len(names) <= 1
    for call in answer.calls:
        values = json.loads(call.arguments)
        assert isinstance(values, dict)
        if call.name != "search":
            jsonschema.validate(values, SCHEMAS[call.name])


def _values(answer: ParsedOutput) -> tuple[str, str, list[Any]]:
    return answer.reasoning, answer.content, [(call.name, json.loads(call.arguments)) for call in answer.calls]


@pytest.mark.parametrize("special", [False, True], ids=["bytes", "special"])
@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_drawn_answers_keep_the_promise_and_are_read_without_loss(fmt: ModelFormat, special: bool) -> None:
    made, tokens = vocabulary(fmt, special=special)
    compiler = Compiler(made)
    seen = ended = 0
    combinations = list(product(CHOICES, (True, False), _modes(fmt)))
    for seed, (choice, parallel, reasoning) in enumerate(combinations * (SEEDS if special else 2 * SEEDS)):
        tag = build_tag(fmt, tools=TOOLS, tool_choice=choice, parallel_tool_calls=parallel, reasoning=reasoning)
        assert tag is not None
        grammar = compiler.compile_structural_tag(tag)
        dice = random.Random(f"{fmt.name} {choice} {parallel} {reasoning} {seed}")
        tools = tools_of_choice(TOOLS, choice)
        text = Sampler(grammar, tokens, phrases(fmt, tools), dice).draw(LIMIT)
        if text is None:
            continue
        ended += 1
        parsing: dict[str, Any] = {"tools": tools or None, "reasoning": reasoning}
        events = events_of(OutputParser(fmt, **parsing), [text])
        answer = fold(events)

        _check_promise(answer, choice, parallel)
        seen += len(answer.calls)
        begun = [event.index for event in events if isinstance(event, CallBegin)]
        assert begun == list(range(len(answer.calls)))
        assert sum(isinstance(event, CallEnd) for event in events) == len(answer.calls), text
        for pieces in (list(text), _cut(text, dice), _cut(text, dice)):
            assert joined(events_of(OutputParser(fmt, **parsing), pieces)) == joined(events), text
        _check_rendered(fmt, answer, Matcher(grammar), tokens, parsing)
    assert ended >= 10
    assert seen >= 5


RESPONSE = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_drawn_answers_beside_a_response_format_are_calls_or_the_response(fmt: ModelFormat) -> None:
    """Whatever marks the strings of the response hold."""
    made, tokens = vocabulary(fmt, special=False)
    compiler = Compiler(made)
    called = answered = 0
    for reasoning, choice, seed in product(_modes(fmt), ("auto", "none"), range(8)):
        response = {"type": "json_schema", "json_schema": RESPONSE}
        tag = build_tag(fmt, tools=TOOLS, tool_choice=choice, reasoning=reasoning, response=response)
        assert tag is not None
        dice = random.Random(f"{fmt.name} {reasoning} {choice} {seed}")
        grammar = compiler.compile_structural_tag(tag)
        text = Sampler(grammar, tokens, phrases(fmt, TOOLS), dice).draw(LIMIT)
        if text is None:
            continue
        parsing: dict[str, Any] = {"tools": tools_of_choice(TOOLS, choice) or None, "reasoning": reasoning}
        events = events_of(OutputParser(fmt, **parsing, response=True), [text])
        answer = fold(events)
        if answer.calls:
            called += 1
            _check_promise(answer, "required", True)
        else:
            answered += 1
            jsonschema.validate(json.loads(answer.content), RESPONSE)
        for pieces in (list(text), _cut(text, dice)):
            assert joined(events_of(OutputParser(fmt, **parsing, response=True), pieces)) == joined(events), text
    assert called >= 1
    assert answered >= 3


def _check_rendered(
    fmt: ModelFormat, answer: ParsedOutput, matcher: Matcher, tokens: Sequence[bytes], parsing: dict[str, Any]
) -> None:
    """Written as the template would, the answer is read as itself, and the grammar accepts it."""
    if answer.calls and answer.content and (fmt.answer is None or fmt.preamble is None) and fmt.answer is not None:
        return
    if any(json.loads(call.arguments) and call.name == "search" for call in answer.calls):
        return  # without a schema keys and strings may be such that no template writes them back
    reasoned = parsing["reasoning"] is True or (parsing["reasoning"] == "auto" and bool(answer.reasoning))
    if parsing["reasoning"] == "auto" and fmt.reasoning is not None and fmt.reasoning.in_prompt:
        reasoned = True
    text = render(answer, fmt, reasoning=reasoned)
    if parsing["reasoning"] == "auto" and not reasoned:
        assert fmt.reasoning is not None
        text = text.removeprefix(fmt.reasoning.off)

    again = fold(events_of(OutputParser(fmt, **parsing), [text]))

    assert _values(again) == _values(answer), text
    ids = tokenised(text.encode(), tokens)
    assert matcher.accept_tokens(ids) == len(ids), text
    assert matcher.can_terminate(), text


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_any_text_at_all_is_read_the_same_however_it_is_cut(fmt: ModelFormat) -> None:
    """Also text that no grammar allows: marks in any order, broken ones, blanks between them."""
    pieces = [
        *phrases(fmt, TOOLS),
        *texts(fmt),
        *('{"city": "x"}', '"a": 1', "5", "x", " ", "\n", "\t\n ", '"', "{", "}"),
    ]
    tight: dict[str, Any] = {"tools": TOOLS, "reasoning": False}
    for seed in range(60):
        dice = random.Random(f"{fmt.name} {seed}")
        chosen = [dice.choice(pieces) for _ in range(dice.randint(1, 14))]
        text = "".join(each[dice.randint(0, 2) :] if dice.random() < 0.2 else each for each in chosen)
        parsing = tight | {"reasoning": dice.choice(_modes(fmt)), "response": dice.random() < 0.2}
        whole = joined(events_of(OutputParser(fmt, **parsing), [text]))
        for cut in (list(text), _cut(text, dice), _cut(text, dice)):
            assert joined(events_of(OutputParser(fmt, **parsing), cut)) == whole, text


def _cut(text: str, dice: random.Random) -> list[str]:
    borders = sorted(dice.randint(0, len(text)) for _ in range(dice.randint(1, 8)))
    return [text[start:end] for start, end in zip([0, *borders], [*borders, len(text)], strict=True)]
