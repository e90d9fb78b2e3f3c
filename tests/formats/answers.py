"""Random answers and random model text, rich in markers and in pieces of markers."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable

from hypothesis import strategies as st

from structural_tags.formats import ModelFormat, get_format
from structural_tags.formats.base import BLANKS
from structural_tags.output import (
    Call,
    CallArguments,
    ContentDelta,
    Event,
    OutputParser,
    ParsedOutput,
    ReasoningDelta,
    fold,
)

_QWEN3 = get_format("qwen3")
assert _QWEN3.reasoning is not None
assert _QWEN3.calls is not None
WIDE = dataclasses.replace(
    _QWEN3,
    name="wide",
    calls=dataclasses.replace(_QWEN3.calls, separator="\n\n", lead="\n\n"),
    reasoning=dataclasses.replace(_QWEN3.reasoning, pad="\n-\n", after="\n \n"),
)
"""A made-up format whose layout is longer than one character everywhere."""
FORMATS = (get_format("hermes"), get_format("hermes_thinking"), _QWEN3, WIDE)
THINKING = tuple(fmt for fmt in FORMATS if fmt.reasoning is not None)

_PIECES = (
    '<tool_call>\n{"name": "',
    '", "arguments": ',
    "{",
    "}",
    "}\n</tool_call>",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "\n</think>\n\n",
    "\n-",
    "-\n",
    "</think>",
    "<",
    "<tool",
    "</thi",
    "\n",
    " ",
    "\t",
    '"',
    "\\",
    "f",
    "é",
    "🦊",
    '<tool_call>\n{"name": "f", "arguments": {"a": "}"}}\n</tool_call>',
)

model_text = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=3)), max_size=14).map("".join)

# What no canonical content holds: a header of a call, whatever its name. Written here without the parser.
_HEADER = re.compile(r'<tool_call>\n\{"name": "(?:[^"\\\x00-\x1f]|\\.)*", "arguments": \{', re.DOTALL)

_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | model_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _dump(arguments: dict[str, object], ascii_only: bool, indent: int | None) -> str:
    return json.dumps(arguments, ensure_ascii=ascii_only, indent=indent)


arguments_text = st.builds(
    _dump,
    st.dictionaries(st.text(max_size=4), _json_values, max_size=3),
    st.booleans(),
    st.sampled_from([None, 2]),
)
calls = st.builds(Call, st.text(min_size=1, max_size=6) | st.just('a", "arguments": {'), arguments_text)


@st.composite
def answers(draw: st.DrawFn, fmt: ModelFormat) -> ParsedOutput:
    """A canonical answer of `fmt` (see `render`)."""
    reasoning = ""
    if fmt.reasoning is not None:
        reasoning = draw(model_text.map(lambda text: text.replace("</think>", "</thought>")))
    called = draw(st.lists(calls, max_size=3))
    content = draw(model_text.filter(lambda text: _HEADER.search(text) is None))
    if called and not content.strip(BLANKS):
        content = ""
    return ParsedOutput(reasoning, content, tuple(called))


def parse_pieces(pieces: list[str], fmt: ModelFormat, *, tools: bool = True, reasoning: bool = False) -> ParsedOutput:
    return fold(events_of(pieces, fmt, tools=tools, reasoning=reasoning))


def events_of(pieces: list[str], fmt: ModelFormat, *, tools: bool = True, reasoning: bool = False) -> list[Event]:
    """The events of `pieces`, with neighbours of one kind joined."""
    parser = OutputParser(fmt, tools=() if tools else None, reasoning=reasoning)
    return joined([event for piece in pieces for event in parser.feed(piece)] + parser.finish())


def joined(events: Iterable[Event]) -> list[Event]:
    """The events with neighbours of one kind joined."""
    made: list[Event] = []
    for event in events:
        match made[-1] if made else None, event:
            case ContentDelta(before), ContentDelta(text):
                made[-1] = ContentDelta(before + text)
            case ReasoningDelta(before), ReasoningDelta(text):
                made[-1] = ReasoningDelta(before + text)
            case CallArguments(index, before), CallArguments(_, text):
                made[-1] = CallArguments(index, before + text)
            case _:
                made.append(event)
    return made
