"""What all readers of arguments do."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Protocol


class ArgumentReader(Protocol):
    """State of one call's arguments. Every character is looked at a bounded number of times."""

    def read(self, text: str) -> tuple[str, str | None]:
        """JSON text that is certain now, and what of `text` follows the arguments once they have ended.

        Text that is no such arguments (no grammar was used) ends them where it is found.
        """
        ...

    def finish(self) -> str:
        """More JSON text that is certain when no more text comes. The object stays open: the call was cut short."""
        ...


def escaped(text: str) -> str:
    """The inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def start_of_marker(text: str, markers: tuple[str, ...]) -> int:
    """Where the earliest suffix of `text` starts that is the beginning of a marker; its length if there is none.

    Cost: bounded by the markers' lengths, however long `text` is.
    """
    longest = max((len(marker) for marker in markers), default=1)
    for at in range(max(0, len(text) - longest + 1), len(text)):
        if any(marker.startswith(text[at:]) for marker in markers):
            return at
    return len(text)


def mark_ahead(text: str, marks: Sequence[str], blanks: str) -> tuple[str, int] | None:
    """The mark that `text` begins with, and where: `blanks` before it are layout.

    The mark is "" where more text must tell: what stands before the place is done with, the rest must be read again.
    None: no mark begins here, whatever follows.
    """
    for at in range(len(text) + 1):
        rest = text[at:]
        found = max((mark for mark in marks if mark and rest.startswith(mark)), key=len, default="")
        if any(len(mark) > len(rest) and mark.startswith(rest) for mark in marks):
            return "", at
        if found:
            return found, at
        if rest and rest[0] not in blanks:
            return None
    raise AssertionError("an empty rest begins every mark")


PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
"""As the templates of Qwen3-Coder and others print them in past calls, and what they are in JSON."""

_QUOTES = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]"), "": re.compile(r"[\"']")}


class Strings:
    """Whether the text so far ends inside a string of JSON; `python`: strings may stand between apostrophes as well."""

    def __init__(self, *, python: bool = False) -> None:
        self._outside = _QUOTES["" if python else '"']
        self._mark = ""
        self._escaped = False

    @property
    def inside(self) -> bool:
        return self._mark != ""

    def scan(self, text: str) -> None:
        at = 0
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            found = (_QUOTES[self._mark] if self._mark else self._outside).search(text, at)
            if found is None:
                return
            at = found.end()
            if found.group() == "\\":
                self._escaped = self.inside
            else:
                self._mark = "" if self._mark else found.group()
