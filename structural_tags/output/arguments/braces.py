"""Arguments as Gemma writes them: `{city:<|"|>Paris<|"|>,days:3}` -> `{"city":"Paris","days":3}`.

Values that are no strings are handed on when they are whole: Python's words, which templates print, become JSON's.
"""

from __future__ import annotations

import re

from structural_tags.output.arguments.base import PYTHON_WORDS, escaped, start_of_marker

_SIGN = re.compile(r"[{}\[\]:,]")


class BracesReader:
    """See `ArgumentReader`. Feed it from the opening brace on."""

    def __init__(self, quote: str) -> None:
        self._quote = quote
        self._open: list[str] = []
        self._in_string = False
        self._key: list[str] | None = None
        """The pieces of the key at hand; None where a value stands."""
        self._plain: list[str] = []
        """The pieces of a value that is no string."""
        self._held = ""

    def read(self, text: str) -> tuple[str, str | None]:
        text = self._held + text
        self._held = ""
        out: list[str] = []
        while text:
            if self._in_string:
                text = self._read_string(text, out)
                continue
            text = self._read_plain(text, out)
            if not self._open and not self._held:
                return "".join(out), text
        return "".join(out), None

    def finish(self) -> str:
        out = [escaped(self._held)] if self._in_string else []
        self._held = ""
        self._close_value(out)
        self._close_key(out)
        return "".join(out)

    def _read_string(self, text: str, out: list[str]) -> str:
        at = text.find(self._quote)
        if at < 0:
            certain = start_of_marker(text, (self._quote,))
            out.append(escaped(text[:certain]))
            self._held = text[certain:]
            return ""
        out.append(escaped(text[:at]) + '"')
        self._in_string = False
        return text[at + len(self._quote) :]

    def _read_plain(self, text: str, out: list[str]) -> str:
        """Up to the next sign or string."""
        sign = _SIGN.search(text)
        quote = text.find(self._quote)
        if quote >= 0 and (sign is None or quote < sign.start()):
            self._value(text[:quote])
            self._close_value(out)
            self._close_key(out)
            out.append('"')
            self._in_string = True
            return text[quote + len(self._quote) :]
        if sign is None:
            certain = start_of_marker(text, (self._quote,))
            self._value(text[:certain])
            self._held = text[certain:]
            return ""
        self._value(text[: sign.start()])
        self._sign(sign.group(), out)
        return text[sign.end() :]

    def _value(self, text: str) -> None:
        (self._plain if self._key is None else self._key).append(text)

    def _close_value(self, out: list[str]) -> None:
        value = "".join(self._plain)
        self._plain.clear()
        out.append(PYTHON_WORDS.get(value.strip(), value))

    def _close_key(self, out: list[str]) -> None:
        """The key, or text where none can stand: it is a string all the same, so that nothing is lost."""
        key = "".join(self._key or ()).strip()
        if key:
            out.append('"' + escaped(key) + '"')
        self._key = None

    def _sign(self, sign: str, out: list[str]) -> None:
        if sign == ":" and self._key is not None and not "".join(self._key).strip():
            out.append('""')
        self._close_value(out)
        self._close_key(out)
        if sign in "{[":
            self._open.append(sign)
        elif sign in "}]":
            self._open.pop()
        out.append(sign)
        if sign == "{" or (sign == "," and self._open[-1] == "{"):
            self._key = []
