"""Arguments of a Python call: `city="Paris", metric=True` -> `{"city": "Paris", "metric": true}`.

Strings may stand between either quotation marks. Their escapes are Python's; what JSON writes means the same
there, but for `\\/`, which is read as JSON means it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from structural_tags.formats.base import BLANKS
from structural_tags.output.arguments.base import PYTHON_WORDS, escaped

_OTHER = re.compile(r"""["'\[\](){},:=]""")
_STRING = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]")}
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0", "\n": ""}
_CODES = {"x": 2, "u": 4, "U": 8}


class KeywordsReader:
    """See `ArgumentReader`. `end` is the bracket that closes the call."""

    def __init__(self, end: str) -> None:
        self._end = end
        self._open: list[str] = []
        self._begun = False
        self._word: list[str] = []
        self._fields = 0
        self._quote = ""
        self._escape: str | None = None
        self._high = ""
        self._out: list[str] = []
        self._part: Callable[[str, int], int] = self._read_key

    def read(self, text: str) -> tuple[str, str | None]:
        if not self._begun:
            self._out.append("{")
            self._begun = True
        at = 0
        ended = False
        while at < len(text) and not ended:
            if not self._quote and not self._open and self._ends(text, at):
                self._close_word()
                self._out.append("}")
                ended = True
                break
            at = self._part(text, at)
        written = "".join(self._out)
        self._out.clear()
        return written, text[at:] if ended else None

    def finish(self) -> str:
        if self._part == self._read_value:
            self._close_word()
        elif self._part == self._read_key:
            key = "".join(self._word).strip(BLANKS + ",")
            self._out.append((", " if self._fields else "") + '"' + escaped(key) if key else "")
        elif self._escape:
            self._write("\\" + self._escape)
        written = "".join(self._out)
        self._out.clear()
        return written

    def _ends(self, text: str, at: int) -> bool:
        return text[at] == self._end

    def _read_key(self, text: str, at: int) -> int:
        """Up to `=`."""
        found = _OTHER.search(text, at)
        end = len(text) if found is None else found.start()
        self._word.append(text[at:end])
        if found is None or found.group() == self._end:
            return end
        if found.group() == "=":
            key = "".join(self._word).strip(BLANKS + ",")
            self._word.clear()
            self._out.append((", " if self._fields else "") + '"' + escaped(key) + '": ')
            self._fields += 1
            self._part = self._read_value
        return end + 1

    def _read_value(self, text: str, at: int) -> int:
        found = _OTHER.search(text, at)
        end = len(text) if found is None else found.start()
        self._word.append(text[at:end])
        if found is None or (not self._open and found.group() == self._end):
            return end
        self._close_word()
        sign = found.group()
        if sign in "\"'":
            self._out.append('"')
            self._quote = sign
            self._part = self._read_string
        elif sign in "[{(":
            self._open.append(sign)
            self._out.append("{" if sign == "{" else "[")
        elif sign in "]})":
            if self._open:
                self._open.pop()
            self._out.append("}" if sign == "}" else "]")
        elif sign == "," and not self._open:
            self._part = self._read_key
        else:
            self._out.append(sign + " ")
        return end + 1

    def _close_word(self) -> None:
        word = "".join(self._word).strip()
        self._word.clear()
        self._out.append(PYTHON_WORDS.get(word, word))

    def _read_string(self, text: str, at: int) -> int:
        if self._escape is not None:
            return self._read_escape(text, at)
        found = _STRING[self._quote].search(text, at)
        end = len(text) if found is None else found.start()
        self._write(text[at:end])
        if found is None:
            return end
        if found.group() == "\\":
            self._escape = ""
        else:
            self._flush()
            self._out.append('"')
            self._quote = ""
            self._part = self._read_value
        return end + 1

    def _read_escape(self, text: str, at: int) -> int:
        assert self._escape is not None
        self._escape += text[at]
        kind, digits = self._escape[0], self._escape[1:]
        if kind in _CODES:
            if len(digits) == _CODES[kind]:
                self._code(digits)
                self._escape = None
        else:
            self._write(_PLAIN_ESCAPES.get(kind, kind))
            self._escape = None
        return at + 1

    def _code(self, digits: str) -> None:
        """A code point, or one half of a pair as JSON spells it."""
        try:
            code = int(digits, 16)
            character = chr(code)
        except (ValueError, OverflowError):
            return self._write(f"\\{self._escape}")
        if 0xD800 <= code < 0xDC00:
            self._flush()
            self._high = character
        elif 0xDC00 <= code < 0xE000:
            pair = (self._high + character).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self._high = ""
            self._write(pair)
        else:
            self._write(character)
        return None

    def _write(self, text: str) -> None:
        if text:
            self._flush()
            self._out.append(escaped(text))

    def _flush(self) -> None:
        """A first half without a second one."""
        if self._high:
            self._out.append("\ufffd")
            self._high = ""
