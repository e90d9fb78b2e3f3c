"""Reads a model's text as it is generated.

The text is a walk through these parts; each is one method that takes the text at hand, reports what is
certain, and returns what it left for the next part:

    [opening -> pad -> reasoning -> after] -> (text -> header -> arguments -> tail -> between calls)*

Families that mark their content (`ModelFormat.answer`) have *borders* instead of free text: there a mark of
content, a call or the end must follow.

Text that may still turn out to be a marker is held back, and nothing more: `_held` is shorter than the
longest marker. What has been reported is never taken back, so any way of cutting the text into pieces gives
the same answer.

A *run* is the text between two calls, or before the first or after the last. White space alone (`BLANKS`) is
not content where it touches a call, so a run's leading white space waits in `_blank` until something else
follows; and one `lead` or `separator` right before a call belongs to the format.

The parser never fails. A header that does not fit the format (no grammar was used, or the text ends inside it)
is content; once a call's arguments have begun, the call stays, however it goes on.

Cost: every character is looked at a bounded number of times. Feeds are cut into pieces of `_PIECE`
characters, so that handing on the rest of a text never copies more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from structural_tags.choice import ReasoningMode
from structural_tags.formats.arguments import Braces, Json
from structural_tags.formats.base import BLANKS, Calls, CallSyntax, ModelFormat, Reasoning
from structural_tags.output.arguments import ArgumentReader, reader_of
from structural_tags.output.arguments.base import mark_ahead, start_of_marker
from structural_tags.output.collect import Collector
from structural_tags.output.events import CallBegin, CallEnd, Event
from structural_tags.output.parts import Alternatives, State
from structural_tags.tools import Tool

_PIECE = 1024
_MOST_LAYOUT = 64
"""White space before the mark of an answer that is held back until the mark comes."""


class OutputParser:
    """State of one answer; not shared between threads.

    Args:
        tools: Those that may be called; None: do not look for calls, their text is content. A call of another
            function is reported too, unless only the names of tools tell calls from text, or beside a `response`.
        reasoning: The answer may begin with a reasoning block (if the prompt opens it, it does).
        response: The content follows a response format and may hold any text: calls may stand only where the
            answer begins, and marked content ends only where the text ends.

    Raises:
        ValueError: `reasoning` for a format that has none.
    """

    def __init__(
        self,
        fmt: ModelFormat,
        *,
        tools: Sequence[Tool] | None,
        reasoning: ReasoningMode,
        response: bool = False,
    ) -> None:
        if reasoning and fmt.reasoning is None:
            raise ValueError(f"format {fmt.name!r} has no reasoning")
        self._fmt = fmt
        self._calls = fmt.calls if fmt.calls is not None else Calls(())
        self._find_calls = tools is not None and fmt.calls is not None
        self._tools = {tool.name: tool for tool in tools or ()}
        self._response = response
        firsts = {syntax.first for syntax in self._calls.syntaxes}
        self._openings = tuple(sorted((self._calls.begin + first for first in firsts), key=len, reverse=True))
        between = "" if self._calls.is_section else self._calls.separator
        self._leads = tuple(sorted({self._calls.lead, between} - {""}, key=len, reverse=True))
        self._held_back = (*(lead + text for lead in self._leads for text in self._openings), *self._openings)
        self._out = Collector()
        self._held = ""
        self._finished = False
        self._number = 0
        self._opening = ""
        self._header = Alternatives([()])
        self._tail = Alternatives([()])
        self._syntaxes: list[CallSyntax] = []
        """The ways to write a call that fit the text so far."""
        self._reader: ArgumentReader | None = None
        self._blank: list[str] | None = None
        self._gap = ""
        self._inside_end = ""
        self._inside_until = ""
        self._inside_empty = True
        self._block = fmt.reasoning if reasoning else None
        self._after = ""
        self._part: Callable[[str], str] = self._read_text
        self._prompted = fmt.prompted
        """What the prompt wrote of the answer, before the first part of it is read."""
        self._unread = self._prompted
        self._closing = ""
        """The mark that closes the answer, if it is the last text of all."""
        self._closes = False
        self._last = ""
        """The end of the text so far that may be the closing mark."""
        self._start(fmt.reasoning, reasoning)

    def _start(self, block: Reasoning | None, reasoning: ReasoningMode) -> None:
        self._start_run()
        if self._fmt.answer_in_prompt and not reasoning:
            assert self._fmt.answer is not None
            self._open_content(self._fmt.answer.begin)
        if block is None:
            return
        if block.answer is not None:
            self._closing = block.answer.end
            self._part = self._read_answer_mark
        if reasoning:
            self._after = block.after
            self._part = self._read_reasoning if block.in_prompt else self._read_opening
        elif block.off:
            self._after = block.off
            self._part = self._read_after

    @property
    def reasons(self) -> bool:
        """Whether the text so far ends inside the reasoning, or before it."""
        return self._part in (self._read_opening, self._read_pad, self._read_reasoning)

    def feed(self, text: str) -> list[Event]:
        """What is certain after `text`; neighbouring events of one kind are joined."""
        if self._finished:
            raise RuntimeError("feed after finish")
        text, self._unread = (self._unread + text, "") if text else ("", self._unread)
        text = self._keep_last(text)
        for start in range(0, len(text), _PIECE):
            self._advance(text[start : start + _PIECE])
        return self._out.take()

    def _keep_last(self, text: str) -> str:
        """All but what may be the closing mark; the mark itself is known when no more text comes."""
        closing = self._closing
        if not closing:
            return text
        text = self._last + text
        at = len(text) - len(closing) if text.endswith(closing) else start_of_marker(text, (closing,))
        self._last = text[at:]
        return text[:at]

    def finish(self) -> list[Event]:
        """The rest, when no more text comes: what was held back is text of the part it stands in.

        An end marker that was cut off belongs to its call and is dropped; the call has no `CallEnd`.
        """
        self._finished = True
        if self._last and not (self._closes and self._last == self._closing):
            self._advance(self._last)
        while self._part == self._read_header:
            self._advance(self._refuse())
        if self._part in (self._read_pad, self._read_reasoning):
            self._out.reasoning(self._held)
        elif self._part == self._read_arguments:
            assert self._reader is not None
            self._out.arguments(self._number, self._reader.finish())
        elif self._part == self._read_inside:
            whole = self._response and self._held == self._inside_end + self._fmt.close
            self._out.content("" if whole else self._held)
        elif self._part not in (self._read_tail, self._read_between_calls):
            if self._blank is not None and (self._held or not self._number):
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
        assert self._block is not None
        begin = self._block.begin
        if text.startswith(begin):
            self._part = self._read_pad
            return text[len(begin) :]
        if begin.startswith(text):
            return self._hold(text)
        self._start_answer()
        return text

    def _read_pad(self, text: str) -> str:
        assert self._block is not None
        pad = self._block.pad
        if pad.startswith(text) and text != pad:
            return self._hold(text)
        self._part = self._read_reasoning
        return text.removeprefix(pad)

    def _read_reasoning(self, text: str) -> str:
        block = self._block
        assert block is not None
        at = text.find(block.end)
        begins = self._open_texts() if block.ended_by_calls else ()
        called = min((found for begin in begins if (found := text.find(begin)) >= 0), default=-1)
        if called >= 0 and not 0 <= at < called:
            self._out.reasoning(text[:called])
            self._start_run()
            return text[called:]
        if at >= 0:
            self._out.reasoning(text[:at].removesuffix(block.pad))
            self._after = block.after
            self._part = self._read_after
            return text[at + len(block.end) :]
        at = start_of_marker(text, (block.pad + block.end, block.end, *begins))
        self._out.reasoning(text[:at])
        return self._hold(text[at:])

    def _read_after(self, text: str) -> str:
        """Drop as much of `after` as is there: models that stop early in it are read the same way."""
        n = 0
        while n < min(len(text), len(self._after)) and text[n] == self._after[n]:
            n += 1
        self._after = self._after[n:]
        if n < len(text) or not self._after:
            self._start_answer()
        return text[n:]

    def _start_answer(self) -> None:
        """After the block, or where there is none."""
        self._start_run()
        if self._closing:
            self._part = self._read_answer_mark

    def _read_answer_mark(self, text: str) -> str:
        """The mark that opens the answer, or the answer itself."""
        block = self._fmt.reasoning
        assert block is not None
        assert block.answer is not None
        ahead = mark_ahead(text, (block.answer.begin,), BLANKS)
        if ahead is not None and ahead[1] > _MOST_LAYOUT:
            ahead = None
        if ahead is not None and not ahead[0]:
            return self._hold(text)
        self._start_run()
        if ahead is None:
            return text
        self._closes = True
        return text[ahead[1] + len(block.answer.begin) :]

    # Marked content.

    def _read_border(self, text: str) -> str:
        """Between marked parts. What is no mark is content up to the end of the text."""
        fmt = self._fmt
        marks: dict[str, Callable[[str], None]] = dict.fromkeys((fmt.close, *fmt.stops), self._skip)
        if self._block is not None and not self._block.in_prompt:
            marks[self._block.begin] = self._open_reasoning
        for marked in (fmt.answer, fmt.preamble):
            if marked is not None:
                marks[marked.begin] = self._open_content
        marks |= dict.fromkeys(self._open_texts(), self._open_call)
        ahead = mark_ahead(text, tuple(marks), BLANKS)
        if ahead is not None:
            mark, at = ahead
            if not mark:
                return self._hold(text[at:])
            marks[mark](mark)
            return text[at + len(mark) :]
        self._blank = None
        self._part = self._read_text
        return text.lstrip(BLANKS).removeprefix(self._prompted)

    def _open_texts(self) -> tuple[str, ...]:
        return self._openings if self._find_calls else ()

    def _open_content(self, mark: str) -> None:
        fmt = self._fmt
        marked = fmt.answer if fmt.answer is not None and mark == fmt.answer.begin else fmt.preamble
        assert marked is not None
        self._prompted = ""
        self._inside_end = marked.end
        self._inside_until = "" if self._response else marked.until
        self._inside_empty = True
        self._part = self._read_inside

    def _open_reasoning(self, _: str) -> None:
        self._part = self._read_pad

    def _skip(self, _: str) -> None:
        """A mark without a meaning of its own."""

    def _read_inside(self, text: str) -> str:
        end = self._inside_end or self._inside_until
        if not end:
            self._out.content(text)
            return ""
        if self._response and self._inside_end:
            return self._read_inside_to_the_end(text, end + self._fmt.close)
        at = text.find(end)
        if at >= 0:
            self._out.content(text[:at])
            self._part = self._read_border
            return text[at + len(self._inside_end) :]
        at = start_of_marker(text, (end,))
        self._out.content(text[:at])
        return self._hold(text[at:])

    def _read_inside_to_the_end(self, text: str, end: str) -> str:
        """Content in which the mark may occur: only the last one ends it. Or there is none, and calls follow."""
        at = max(0, len(text) - len(end))
        while not end.startswith(text[at:]):
            at += 1
        if self._inside_empty and self._fmt.answer_and_calls:
            calls = [self._inside_end + opening for opening in self._open_texts()]
            if any(text.startswith(call) for call in calls):
                self._part = self._read_border
                return text[len(self._inside_end) :]
            if any(call.startswith(text) for call in calls):
                return self._hold(text)
        self._inside_empty = False
        self._out.content(text[:at])
        return self._hold(text[at:])

    # A run, and the calls between runs.

    def _start_run(self) -> None:
        if self._fmt.answer is not None:
            self._part = self._read_border
            return
        self._part = self._read_text
        self._blank = [] if self._find_calls else None

    def _read_text(self, text: str) -> str:
        if not self._find_calls or self._fmt.answer is not None:
            self._out.content(text)
            return ""
        if self._blank is not None:
            bare = text.lstrip(BLANKS)
            self._blank.append(text[: len(text) - len(bare)])
            text = bare
        at, opening = self._next_opening(text)
        gap = next((lead for lead in self._leads if text[:at].endswith(lead)), "") if opening else ""
        certain = at - len(gap) if opening else start_of_marker(text, self._held_back)
        if certain > 0 and self._blank is not None:
            self._out.content("".join(self._blank))
            self._blank = None
        if certain > 0 and self._response:
            self._find_calls = False
            return text
        if not opening:
            self._out.content(text[:certain])
            return self._hold(text[certain:])
        self._gap = gap
        self._out.content(text[:certain])
        self._open_call(opening)
        return text[at + len(opening) :]

    def _next_opening(self, text: str) -> tuple[int, str]:
        """The first opening in `text`, the longest of those that begin there; "" if there is none."""
        best, opening = len(text), ""
        for candidate in self._openings:
            at = text.find(candidate)
            if 0 <= at < best:
                best, opening = at, candidate
        return best, opening

    def _open_call(self, opening: str) -> None:
        """`opening` is the text up to the first slot of the call."""
        calls = self._calls
        self._opening = opening
        starts = (calls.begin, calls.separator)
        self._syntaxes = [each for each in calls.syntaxes if opening in (start + each.first for start in starts)]
        heads = [each.head[1:] if each.first else each.head for each in self._syntaxes]
        braced = isinstance(self._syntaxes[0].arguments, Json | Braces)
        self._header = Alternatives(heads, then="{" if braced else "")
        self._part = self._read_header

    def _read_header(self, text: str) -> str:
        rest = text[self._header.read(text) :]
        header = self._header
        if header.state is State.REFUSED or (header.name and not self._may_call(header.name)):
            return self._refuse() + rest
        if header.state is State.COMPLETE:
            self._begin_arguments()
        return rest

    def _may_call(self, name: str) -> bool:
        return name in self._tools or (bool(self._calls.trigger) and not self._response)

    def _begin_arguments(self) -> None:
        header = self._header
        self._syntaxes = [self._syntaxes[number] for number in header.chosen]
        syntax = self._syntaxes[0]
        identifier = header.identifier
        if self._fmt.id_template and header.index:
            identifier = self._fmt.id_template.format(name=header.name, index=header.index)
        self._blank = None
        self._prompted = ""
        self._out.add(CallBegin(self._number, header.name, identifier))
        tool = self._tools.get(header.name)
        end = syntax.tail[0] if syntax.tail and isinstance(syntax.tail[0], str) else ""
        schema = True if tool is None else tool.parameters
        self._reader = reader_of(syntax.arguments, end, schema, strict=tool is not None and tool.strict)
        self._part = self._read_arguments

    def _refuse(self) -> str:
        """This was no call: its first marker is content, and what came after it is read again as text."""
        self._out.content("".join(self._blank or ()) + self._gap + self._opening.removeprefix(self._prompted))
        self._prompted = ""
        self._blank = None
        self._gap = ""
        self._part = self._read_text
        return self._header.text

    def _read_arguments(self, text: str) -> str:
        assert self._reader is not None
        written, rest = self._reader.read(text)
        self._out.arguments(self._number, written)
        if rest is None:
            return ""
        self._tail = Alternatives([syntax.tail for syntax in self._syntaxes])
        self._part = self._read_tail
        return rest if self._tail.state is State.OPEN else self._end_call(rest)

    def _read_tail(self, text: str) -> str:
        rest = text[self._tail.read(text) :]
        if self._tail.state is State.OPEN:
            return rest
        return self._end_call(rest)

    def _end_call(self, rest: str) -> str:
        whole = self._tail.state is State.COMPLETE
        if whole:
            self._out.add(CallEnd(self._number))
        self._number += 1
        self._start_run()
        if self._calls.is_section and whole:
            self._part = self._read_between_calls
        return rest if whole else self._tail.text + rest

    def _read_between_calls(self, text: str) -> str:
        """In a section: its end, or the next call; anything else ends it as well."""
        calls = self._calls
        nexts = tuple(calls.separator + syntax.first for syntax in calls.syntaxes)
        ahead = mark_ahead(text, (calls.end, *nexts), BLANKS)
        if ahead is None:
            self._start_run()
            return text.lstrip(BLANKS)
        mark, at = ahead
        if not mark:
            return self._hold(text[at:])
        if mark == calls.end:
            self._start_run()
        else:
            self._gap = ""
            self._open_call(mark)
        return text[at + len(mark) :]
