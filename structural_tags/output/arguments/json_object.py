"""Arguments that are JSON already: found, and handed on as they are."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r'["{}]')
_INSIDE = re.compile(r'["\\]')


class JsonReader:
    """Finds where a JSON object ends. Feed it from the opening brace on.

    Only braces outside strings are counted, which is exact for valid JSON and always finite state: text
    that is not JSON ends at the matching brace or not at all.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def read(self, text: str) -> tuple[str, str | None]:
        end = self._scan(text)
        return (text, None) if end is None else (text[:end], text[end:])

    def finish(self) -> str:
        return ""

    def _scan(self, text: str) -> int | None:
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
