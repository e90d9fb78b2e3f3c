"""Two scanners over JSON text that arrives in pieces. Each looks at every character once and keeps O(1) state
beside the text it must give back."""

from __future__ import annotations

import json
import re
from enum import Enum

_OUTSIDE = re.compile(r'["{}]')
_INSIDE = re.compile(r'["\\]')
_NAME = re.compile(r'["\\\x00-\x1f]')


class ObjectScanner:
    """Finds where a JSON object ends. Feed it from the opening brace on.

    Only braces outside strings are counted, which is exact for valid JSON and always finite state: text
    that is not JSON ends at the matching brace or not at all.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def scan(self, text: str) -> int | None:
        """How many characters of `text` belong to the object if it ends in `text`, else None."""
        at = 0
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = (_INSIDE if self._in_string else _OUTSIDE).search(text, at)
            if found is None:
                return None
            at = found.end()
            match found.group():
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    self._escaped = True
                case "{":
                    self._depth += 1
                case "}":
                    self._depth -= 1
                    if self._depth <= 0:
                        return at
        return None


class Header(Enum):
    OPEN = "open"
    COMPLETE = "complete"
    REFUSED = "refused"


class HeaderScanner:
    """Reads a call's NAME, the text `middle` and the brace that opens the arguments.

    `text` is everything read so far, for the caller to give back when this turns out not to be a call.
    """

    def __init__(self, middle: str) -> None:
        self._expected = middle + "{"
        self._matched = 0
        self._escaped = False
        self._pieces: list[str] = []
        self.state = Header.OPEN
        self.name = ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def scan(self, text: str) -> int:
        """How many characters of `text` were read; all of them while the header stays open.

        On COMPLETE, `name` is set and the opening brace is the last character read. On REFUSED, the
        character that did not fit is not read.
        """
        at = 0
        while at < len(text) and self.state is Header.OPEN:
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._matched:
                at = self._match(text, at)
            else:
                at = self._read_name(text, at)
        self._pieces.append(text[:at])
        if self.state is Header.COMPLETE:
            self._decode()
        return at

    def _read_name(self, text: str, at: int) -> int:
        found = _NAME.search(text, at)
        if found is None:
            return len(text)
        match found.group():
            case '"':
                self._matched = 1  # the quotation mark that `middle` starts with
            case "\\":
                self._escaped = True
            case _:
                self.state = Header.REFUSED
                return found.start()
        return found.end()

    def _match(self, text: str, at: int) -> int:
        if text[at] != self._expected[self._matched]:
            self.state = Header.REFUSED
            return at
        self._matched += 1
        if self._matched == len(self._expected):
            self.state = Header.COMPLETE
        return at + 1

    def _decode(self) -> None:
        """Set `name`, or refuse: a bad escape, a lone surrogate (no such text can be sent) or no name at all."""
        body = self.text[: -len(self._expected)]
        try:
            self.name = json.loads(f'"{body}"')
            self.name.encode("utf-8")
        except ValueError:
            self.name = ""
        if not self.name:
            self.state = Header.REFUSED
