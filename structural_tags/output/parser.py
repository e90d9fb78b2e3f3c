"""Reads a model's text as it is generated.

The text is a walk through these parts; each is one method that takes the text at hand, reports what is
certain, and returns what it left for the next part:

    [opening -> pad -> reasoning -> after] -> (text -> header -> arguments -> call end)*

Text that may still turn out to be a marker is held back, and nothing more: `_held` is shorter than the
longest marker. What has been reported is never taken back, so any way of cutting the text into pieces gives
the same answer.

A *run* is the text between two calls, or before the first or after the last. White space alone (`BLANKS`) is
not content where it touches a call, so a run's leading white space waits in `_blank` until something else
follows; and one `separator` right before a call belongs to the format.

The parser never fails. A header that does not fit the format (no grammar was used, or the text ends inside it)
is content; once a call's arguments have begun, the call stays, however it goes on.

Cost: every character is looked at a bounded number of times. Feeds are cut into pieces of `_PIECE`
characters, so that handing on the rest of a text never copies more than that.
"""

from __future__ import annotations

from collections.abc import Callable

from structural_tags.formats.base import BLANKS, ModelFormat
from structural_tags.output.events import (
    CallArguments,
    CallBegin,
    CallEnd,
    ContentDelta,
    Event,
    ReasoningDelta,
)
from structural_tags.output.json_scan import Header, HeaderScanner, ObjectScanner

_PIECE = 1024


class OutputParser:
    """State of one answer; not shared between threads.

    `tools`: look for calls; without it their text is content. `reasoning`: the answer may begin with a
    reasoning block (if the prompt opens it, it does).

    Raises:
        ValueError: `reasoning` for a format that has none.
    """

    def __init__(self, fmt: ModelFormat, *, tools: bool, reasoning: bool) -> None:
        if reasoning and fmt.reasoning is None:
            raise ValueError(f"format {fmt.name!r} has no reasoning")
        self._call = fmt.call
        self._tools = tools
        self._out = _Events()
        self._held = ""
        self._finished = False
        self._calls = 0
        self._header = HeaderScanner(fmt.call.middle)
        self._arguments = ObjectScanner()
        self._blank: list[str] | None = None
        self._gap = ""
        self._part: Callable[[str], str] = self._read_text
        self._start_run()
        if reasoning and fmt.reasoning is not None:
            self._block = fmt.reasoning
            self._after = fmt.reasoning.after
            self._part = self._read_reasoning if fmt.reasoning.in_prompt else self._read_opening

    def feed(self, text: str) -> list[Event]:
        """What is certain after `text`; neighbouring events of one kind are joined."""
        if self._finished:
            raise RuntimeError("feed after finish")
        for start in range(0, len(text), _PIECE):
            self._advance(text[start : start + _PIECE])
        return self._out.take()

    def finish(self) -> list[Event]:
        """The rest, when no more text comes: what was held back is text of the part it stands in.

        An end marker that was cut off belongs to its call and is dropped; the call has no `CallEnd`.
        """
        self._finished = True
        while self._part == self._read_header:
            self._advance(self._refuse())
        if self._part in (self._read_pad, self._read_reasoning):
            self._out.reasoning(self._held)
        elif self._part != self._read_call_end:
            if self._blank is not None and (self._held or not self._calls):
                self._out.content("".join(self._blank))
            self._out.content(self._held)
        self._held = ""
        return self._out.take()

    def _advance(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        while text:
            text = self._part(text)

    def _hold(self, text: str) -> str:
        self._held = text
        return ""

    # The reasoning block.

    def _read_opening(self, text: str) -> str:
        """Where the block may begin; anything else is the answer already."""
        begin = self._block.begin
        if text.startswith(begin):
            self._part = self._read_pad
            return text[len(begin) :]
        if begin.startswith(text):
            return self._hold(text)
        self._part = self._read_text
        return text

    def _read_pad(self, text: str) -> str:
        pad = self._block.pad
        if pad.startswith(text) and text != pad:
            return self._hold(text)
        self._part = self._read_reasoning
        return text.removeprefix(pad)

    def _read_reasoning(self, text: str) -> str:
        block = self._block
        at = text.find(block.end)
        if at >= 0:
            self._out.reasoning(text[:at].removesuffix(block.pad))
            self._part = self._read_after
            return text[at + len(block.end) :]
        at = _start_of_marker(text, (block.pad + block.end, block.end))
        self._out.reasoning(text[:at])
        return self._hold(text[at:])

    def _read_after(self, text: str) -> str:
        """Drop as much of `after` as is there: models that stop early in it are read the same way."""
        n = 0
        while n < min(len(text), len(self._after)) and text[n] == self._after[n]:
            n += 1
        self._after = self._after[n:]
        if n < len(text) or not self._after:
            self._part = self._read_text
        return text[n:]

    # A run, and the calls between runs.

    def _start_run(self) -> None:
        self._part = self._read_text
        self._blank = [] if self._tools else None

    def _read_text(self, text: str) -> str:
        if not self._tools:
            self._out.content(text)
            return ""
        begin, separator = self._call.begin, self._call.separator
        if self._blank is not None:
            bare = text.lstrip(BLANKS)
            self._blank.append(text[: len(text) - len(bare)])
            text = bare
        at = text.find(begin)
        certain = at if at >= 0 else _start_of_marker(text, (separator + begin, begin))
        if certain > 0 and self._blank is not None:
            self._out.content("".join(self._blank))
            self._blank = None
        if at < 0:
            self._out.content(text[:certain])
            return self._hold(text[certain:])
        before = text[:at]
        self._gap = separator if before.endswith(separator) else ""
        self._out.content(before.removesuffix(self._gap))
        self._header = HeaderScanner(self._call.middle)
        self._part = self._read_header
        return text[at + len(begin) :]

    def _read_header(self, text: str) -> str:
        rest = text[self._header.scan(text) :]
        if self._header.state is Header.REFUSED:
            return self._refuse() + rest
        if self._header.state is Header.COMPLETE:
            self._blank = None
            self._out.add(CallBegin(self._calls, self._header.name))
            self._arguments = ObjectScanner()
            self._part = self._read_arguments
            return "{" + rest
        return rest

    def _refuse(self) -> str:
        """This was no call: its first marker is content, and what came after it is read again as text."""
        self._out.content("".join(self._blank or ()) + self._gap + self._call.begin)
        self._blank = None
        self._part = self._read_text
        return self._header.text

    def _read_arguments(self, text: str) -> str:
        end = self._arguments.scan(text)
        if end is None:
            self._out.arguments(self._calls, text)
            return ""
        self._out.arguments(self._calls, text[:end])
        self._part = self._read_call_end
        return text[end:]

    def _read_call_end(self, text: str) -> str:
        end = self._call.end
        if end.startswith(text) and text != end:
            return self._hold(text)
        if text.startswith(end):
            self._out.add(CallEnd(self._calls))
        self._calls += 1
        self._start_run()
        return text.removeprefix(end)


def _start_of_marker(text: str, markers: tuple[str, ...]) -> int:
    """Where the earliest suffix of `text` starts that is the beginning of a marker; its length if there is none.

    Cost: bounded by the markers' lengths, however long `text` is.
    """
    longest = max(len(marker) for marker in markers)
    for at in range(max(0, len(text) - longest + 1), len(text)):
        if any(marker.startswith(text[at:]) for marker in markers):
            return at
    return len(text)


class _Events:
    """Collects events and joins neighbours of one kind, so that a caller sends few deltas."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._pieces: list[str] = []
        self._make: Callable[[str], Event] | None = None
        self._kind: object = None

    def reasoning(self, text: str) -> None:
        self._text(text, "reasoning", ReasoningDelta)

    def content(self, text: str) -> None:
        self._text(text, "content", ContentDelta)

    def arguments(self, index: int, text: str) -> None:
        self._text(text, index, lambda joined: CallArguments(index, joined))

    def add(self, event: Event) -> None:
        self._close()
        self._events.append(event)

    def take(self) -> list[Event]:
        self._close()
        events, self._events = self._events, []
        return events

    def _text(self, text: str, kind: object, make: Callable[[str], Event]) -> None:
        if not text:
            return
        if kind != self._kind:
            self._close()
            self._kind, self._make = kind, make
        self._pieces.append(text)

    def _close(self) -> None:
        if self._make is not None:
            self._events.append(self._make("".join(self._pieces)))
        self._pieces, self._make, self._kind = [], None, None
