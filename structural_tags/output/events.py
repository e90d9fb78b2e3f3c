"""What the parser reports, and the same folded into one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True)
class ContentDelta:
    text: str


@dataclass(frozen=True)
class CallBegin:
    """A call of `name` starts. Calls are numbered from 0 and never interleave.

    `identifier` is the id that the model gave the call, "" in families where it gives none.
    """

    index: int
    name: str
    identifier: str = ""


@dataclass(frozen=True)
class CallArguments:
    """More text of the JSON object that holds the arguments of call `index`."""

    index: int
    text: str


@dataclass(frozen=True)
class CallEnd:
    """Call `index` is whole: its end marker was read. A call that was cut short has no such event."""

    index: int


Event = ReasoningDelta | ContentDelta | CallBegin | CallArguments | CallEnd


@dataclass(frozen=True)
class Call:
    """`arguments` is JSON text: as the model wrote it, or made from what it wrote in a family's own style."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ParsedOutput:
    """A whole answer. Empty text means that the part is absent; where content stood between calls is lost."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()


def fold(events: Iterable[Event]) -> ParsedOutput:
    """The answer that `events` report, in the order of one parser."""
    reasoning: list[str] = []
    content: list[str] = []
    names: list[str] = []
    arguments: list[list[str]] = []
    for event in events:
        match event:
            case ReasoningDelta(text):
                reasoning.append(text)
            case ContentDelta(text):
                content.append(text)
            case CallBegin(_, name, _):
                names.append(name)
                arguments.append([])
            case CallArguments(index, text):
                arguments[index].append(text)
            case CallEnd():
                pass
    calls = (Call(name, "".join(parts)) for name, parts in zip(names, arguments, strict=True))
    return ParsedOutput("".join(reasoning), "".join(content), tuple(calls))
