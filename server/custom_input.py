"""The input of a custom tool's call, out of the arguments that the model writes: `{"input": "..."}`, as it comes.

The arguments are one JSON object with one string, whatever a family's own style is (`structural_tags.output`), so the
text is what stands between the quotes after the colon, with its escapes undone.
"""

from __future__ import annotations

import json
import re

_OPENING = re.compile(r'\s*\{\s*"input"\s*:\s*"')
_DIGITS = "[0-9a-fA-F]"
_HELD = re.compile(rf"\\(?:u[dD][89abAB]{_DIGITS}{{2}}(?:\\(?:u{_DIGITS}{{0,3}})?)?|u{_DIGITS}{{0,3}})?$")
"""What may still become an escape, or the second half of one."""


class InputReader:
    """State of one call. Pieces may be cut anywhere, also inside an escape."""

    def __init__(self) -> None:
        self._opened = False
        self._closed = False
        self._held = ""

    def feed(self, text: str) -> str:
        """What is certain of the input after `text`."""
        if self._closed:
            return ""
        self._held += text
        if not self._opened:
            opening = _OPENING.match(self._held)
            if opening is None:
                return ""
            self._opened = True
            self._held = self._held[opening.end() :]
        return self._read()

    def _read(self) -> str:
        body = self._held
        end = _closing_quote(body)
        if end is not None:
            self._closed = True
            self._held = ""
            return _meaning(body[:end])
        cut = len(body)
        held = _HELD.search(body)
        if held is not None and _backslashes(body, held.start()) % 2 == 0:
            cut = held.start()
        self._held = body[cut:]
        return _meaning(body[:cut])


def _backslashes(text: str, at: int) -> int:
    """How many backslashes stand right before `at`."""
    return at - len(text[:at].rstrip("\\"))


def _closing_quote(text: str) -> int | None:
    """Where the string ends, if it does."""
    at = text.find('"')
    while at >= 0 and _backslashes(text, at) % 2 == 1:
        at = text.find('"', at + 1)
    return at if at >= 0 else None


def _meaning(body: str) -> str:
    """The text of a JSON string's inside; half of a surrogate pair becomes "?", and what is no JSON stays."""
    if "\\" not in body:
        return body
    try:
        text: str = json.loads(f'"{body}"', strict=False)
    except ValueError:
        return body
    return text.encode("utf-8", "replace").decode("utf-8")
