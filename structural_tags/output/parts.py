"""Reads the texts and slots of a call's template, piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import Enum

from structural_tags.formats.base import BARE_NAME, WORD, Identifier, Index, Name, Part, Word

_QUOTED = re.compile(r'["\\\x00-\x1f]')
_BARE_END = re.compile(f"(?!{BARE_NAME})", re.DOTALL)
_WORD_END = re.compile(f"(?!{WORD})", re.DOTALL)
_DIGITS_END = re.compile("[^0-9]")
_LETTERS_END = re.compile("[^A-Za-z0-9]")
_MOST_BARE = 256
"""Characters of a bare name, an index, an identifier or a word: text that is no call must not be held back for long."""


class State(Enum):
    OPEN = "open"
    COMPLETE = "complete"
    REFUSED = "refused"


class PartsReader:
    """Matches `parts` against the text, one after the other; `then` is what must follow them, and is not read.

    `text` is everything read so far, for the caller to give back when this turns out not to be a call. Looks at
    every character once.
    """

    def __init__(self, parts: Sequence[Part], *, then: str = "") -> None:
        self._parts = parts
        self._then = then
        self._part = 0
        self._matched = 0
        self._escaped = False
        self._pieces: list[str] = []
        self._slot: list[str] = []
        self._slot_length = 0
        self.state = State.OPEN
        self.name = ""
        self.index = ""
        self.identifier = ""
        self._settle()

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def read(self, text: str) -> int:
        """How many characters of `text` were read; all of them while the parts stay open."""
        at = 0
        while at < len(text) and self.state is State.OPEN:
            if self._part == len(self._parts):
                self.state = State.COMPLETE if text[at] == self._then else State.REFUSED
                break
            part = self._parts[self._part]
            at = self._match(part, text, at) if isinstance(part, str) else self._read_slot(part, text, at)
        self._pieces.append(text[:at])
        return at

    def _settle(self) -> None:
        """Nothing is left to read, and nothing to look ahead for."""
        if self._part == len(self._parts) and not self._then:
            self.state = State.COMPLETE

    def _next(self) -> None:
        self._part += 1
        self._matched = 0
        self._slot, self._slot_length = [], 0
        self._settle()

    def _match(self, part: str, text: str, at: int) -> int:
        while at < len(text) and self._matched < len(part):
            if text[at] != part[self._matched]:
                self.state = State.REFUSED
                return at
            self._matched += 1
            at += 1
        if self._matched == len(part):
            self._next()
        return at

    def _read_slot(self, part: Part, text: str, at: int) -> int:
        if isinstance(part, Name) and part.quoted:
            return self._read_quoted(text, at)
        found = _end_of(part).search(text, at)
        end = len(text) if found is None or found.start() == len(text) else found.start()
        most = part.length if isinstance(part, Identifier) else _MOST_BARE
        end = min(end, at + most - self._slot_length)
        self._slot.append(text[at:end])
        self._slot_length += end - at
        full = isinstance(part, Identifier) and self._slot_length == most
        if end < len(text) or full:
            self._close_slot(part)
        return end

    def _close_slot(self, part: Part) -> None:
        written = "".join(self._slot)
        if not written or (isinstance(part, Identifier) and len(written) != part.length):
            self.state = State.REFUSED
            return
        match part:
            case Name():
                self.name = written
            case Index():
                self.index = written
            case Identifier():
                self.identifier = written
        self._next()

    def _read_quoted(self, text: str, at: int) -> int:
        """Up to the quotation mark that the next part begins with."""
        if self._escaped:
            self._escaped = False
            self._slot.append(text[at])
            return at + 1
        found = _QUOTED.search(text, at)
        end = len(text) if found is None else found.start()
        self._slot.append(text[at:end])
        if found is None:
            return end
        match found.group():
            case '"':
                self._decode()
            case "\\":
                self._escaped = True
                self._slot.append("\\")
                return end + 1
            case _:
                self.state = State.REFUSED
        return end

    def _decode(self) -> None:
        """The name, or a refusal: a bad escape, a lone surrogate (no such text can be sent) or no name at all."""
        try:
            name = json.loads(f'"{"".join(self._slot)}"')
            name.encode("utf-8")
        except ValueError:
            name = ""
        self.name = name
        if not name:
            self.state = State.REFUSED
            return
        self._next()


def _end_of(part: Part) -> re.Pattern[str]:
    """Finds the first character that is not the slot's."""
    match part:
        case Name():
            return _BARE_END
        case Word():
            return _WORD_END
        case Index():
            return _DIGITS_END
        case _:
            return _LETTERS_END


class Alternatives:
    """Several templates read side by side; they differ where the text decides between them.

    `chosen` are the numbers of those that are complete, all with the same parts.
    """

    def __init__(self, templates: Sequence[Sequence[Part]], *, then: str = "") -> None:
        self._readers = [PartsReader(parts, then=then) for parts in templates]
        self._open = list(range(len(templates)))
        self._last = self._readers[0]
        self.chosen: tuple[int, ...] = ()
        self._settle(self._open)

    @property
    def state(self) -> State:
        if self.chosen:
            return State.COMPLETE
        return State.OPEN if self._open else State.REFUSED

    @property
    def text(self) -> str:
        return self._last.text

    @property
    def name(self) -> str:
        return self._last.name

    @property
    def index(self) -> str:
        return self._last.index

    @property
    def identifier(self) -> str:
        return self._last.identifier

    def read(self, text: str) -> int:
        """How many characters of `text` were read, as by `PartsReader.read`."""
        read = {number: self._readers[number].read(text) for number in self._open}
        furthest = max(read, key=lambda number: read[number])
        self._last = self._readers[furthest]
        self._settle(list(read))
        if self.chosen:
            return read[self.chosen[0]]
        return len(text) if self._open else read[furthest]

    def _settle(self, numbers: Sequence[int]) -> None:
        states = {number: self._readers[number].state for number in numbers}
        self.chosen = tuple(number for number, state in states.items() if state is State.COMPLETE)
        self._open = [number for number, state in states.items() if state is State.OPEN]
        if self.chosen or self._open:
            self._last = self._readers[(self.chosen or self._open)[0]]
