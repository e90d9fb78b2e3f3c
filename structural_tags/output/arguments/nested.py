"""Arguments in marks inside of marks: `<city>Paris</city><tags><item>a</item></tags>`.

That is `{"city": "Paris", "tags": ["a"]}`. A string is handed on while it grows, other scalars when they are whole.
Labels tell types where the style has them; elsewhere the tool's schema tells strings from JSON, and objects from arrays
where both may stand: then marks called `item` are items.

Text that is no such arguments ends them where it is found, and what is open is closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from structural_tags.formats.arguments import Nested
from structural_tags.formats.base import BLANKS
from structural_tags.output.arguments.base import Strings, escaped, mark_ahead, start_of_marker
from structural_tags.output.arguments.reading import TYPES, Kind, Reading, Schema, reading_of, reading_of_item

_ITEM = "item"
_MOST_KEY = 256
"""Characters of a closing mark's key that are held back."""
_NO_KEY = re.compile(r"[<>\[\]/\x00-\x1f\x7f]")
"""What no key has, so that a closing mark ends there at the latest."""


@dataclass
class _Container:
    """An object or array that is open. `reading` is what its schema says."""

    is_array: bool
    reading: Reading
    size: int = 0


class NestedReader:
    """See `ArgumentReader`. `end` is the text after the last member."""

    def __init__(self, style: Nested, end: str, schema: Mapping[str, Any] | bool) -> None:
        self._style = style
        self._end = end
        root: Schema = schema
        self._containers = [_Container(False, Reading(Kind.JSON, root, root, root))]
        self._label_types = {label: kind for kind, label in style.labels}
        self._held = ""
        self._out: list[str] = []
        self._begun = False
        self._ended = False
        self._reading = Reading(Kind.EITHER)
        """Of the value at hand."""
        self._types = TYPES
        """Those that it may have."""
        self._key = ""
        self._member = ""
        """The text of the member at hand up to its label: no argument if none follows."""
        self._kept: list[str] = []
        """What of its text has not been handed on."""
        self._quoted = False
        """Its text is handed on as a string."""
        self._strings = Strings()
        self._part: Callable[[str], str] = self._read_between

    def read(self, text: str) -> tuple[str, str | None]:
        text = self._held + text
        self._held = ""
        if not self._begun:
            self._out.append("{")
            self._begun = True
        while text and not self._ended:
            text = self._part(text)
        return self._take(), text if self._ended else None

    def finish(self) -> str:
        if self._part in (self._read_value, self._read_after_text):
            self._more(self._held if self._part == self._read_value else "")
            if any(self._kept):
                self._out.append(self._scalar("".join(self._kept)))
        elif self._part in (self._read_key, self._read_opened):
            before = "{" if self._part == self._read_opened else ", " if self._containers[-1].size else ""
            self._out.append(before + '"' + escaped(self._unescaped("".join(self._kept) + self._held)))
        elif self._part == self._read_label and not self._containers[-1].is_array:
            self._begin_value(self._key)
        self._held = ""
        return self._take()

    def _take(self) -> str:
        written = "".join(self._out)
        self._out.clear()
        return written

    def _hold(self, text: str) -> str:
        """Nothing is left to read before more text comes."""
        self._held = text
        return ""

    def _stop(self, text: str) -> str:
        """The arguments end here, by their mark or because nothing of theirs follows."""
        while self._containers:
            self._out.append("]" if self._containers.pop().is_array else "}")
        self._ended = True
        return text

    def _read_between(self, text: str) -> str:
        """White space, then a member or an item, or the end of the container."""
        style, here = self._style, self._containers[-1]
        is_root = len(self._containers) == 1
        opening = style.item if here.is_array and style.item else style.member
        ahead = mark_ahead(text, (opening, style.close, *((self._end,) if is_root else ())), BLANKS)
        if ahead is None:
            return self._stop(text.lstrip(BLANKS))
        mark, at = ahead
        rest = text[at + len(mark) :]
        if not mark:
            return self._hold(text[at:])
        if mark == opening:
            self._member = opening
            self._part = self._read_label if here.is_array and style.item else self._read_key
            return rest
        if is_root:
            return self._stop(text[at:])
        self._out.append("]" if here.is_array else "}")
        self._containers.pop()
        return self._close(rest)

    def _close(self, rest: str) -> str:
        """After the mark that closes a value."""
        self._part = self._read_close_end if self._style.close_end else self._read_between
        return rest

    def _read_close_end(self, text: str) -> str:
        """The key again. Grammars without a schema cannot compare it, so any is taken."""
        end = _NO_KEY.search(text)
        if end is None and len(text) <= _MOST_KEY:
            return self._hold(text)
        if end is None or end.start() > _MOST_KEY or not text.startswith(self._style.close_end, end.start()):
            return self._stop(text)
        self._part = self._read_between
        return text[end.start() + len(self._style.close_end) :]

    def _until(self, text: str, marker: str, then: Callable[[str], None]) -> str:
        """What stands before the marker; short text, so it is kept whole."""
        at = text.find(marker)
        if at < 0:
            certain = start_of_marker(text, (marker,))
            self._kept.append(text[:certain])
            return self._hold(text[certain:])
        whole = "".join(self._kept) + text[:at]
        self._kept.clear()
        then(whole)
        return text[at + len(marker) :]

    def _read_key(self, text: str) -> str:
        return self._until(text, self._style.middle, self._have_key)

    def _have_key(self, written: str) -> None:
        self._key = self._unescaped(written)
        if self._style.labels:
            self._member += written + self._style.middle
            self._part = self._read_label
        else:
            self._begin_value(self._key)
            self._start_text()

    def _unescaped(self, key: str) -> str:
        for character, spelled in reversed(self._style.escapes):
            key = key.replace(spelled, character)
        return key

    def _read_label(self, text: str) -> str:
        """One of the style's labels; else this was no argument."""
        after = self._style.after_label
        ahead = mark_ahead(text, tuple(label + after for label in self._label_types), "")
        if ahead is None:
            return self._stop(self._member + text)
        mark, _ = ahead
        if not mark:
            return self._hold(text)
        self._have_label(mark.removesuffix(after))
        return text[len(mark) :]

    def _have_label(self, label: str) -> None:
        self._begin_value(self._key)
        kind = self._label_types[label]
        if kind in ("array", "object"):
            self._open(is_array=kind == "array")
            return
        self._reading = replace(self._reading, kind=Kind.STRING if kind == "string" else Kind.JSON)
        self._types = frozenset((kind,)) if kind else TYPES - {"string"}
        self._start_text()

    def _begin_value(self, key: str) -> None:
        """The comma and the key, and what the schema says of the value."""
        here = self._containers[-1]
        before = ", " if here.size else ""
        if here.is_array:
            self._out.append(before)
            self._reading = reading_of_item(here.reading, here.size)
        else:
            self._out.append(before + json.dumps(key, ensure_ascii=False) + ": ")
            self._reading = reading_of(here.reading.schema, key, root=here.reading.root)
        here.size += 1
        self._types = self._reading.types()

    def _start_text(self) -> None:
        self._kept.clear()
        self._strings = Strings()
        self._quoted = self._types == {"string"} and not self._reading.listed
        if self._quoted:
            self._out.append('"')
        self._part = self._read_value

    def _read_value(self, text: str) -> str:
        guard = self._style.guard
        at, scanned = text.find(guard), 0
        while at >= 0 and self._reading.kind is Kind.JSON and self._style.labels:
            self._strings.scan(text[scanned:at])
            scanned = at
            if not self._strings.inside:
                break
            at = text.find(guard, at + 1)
        if at >= 0:
            self._more(text[:at])
            self._part = self._read_after_text
            return text[at:]
        certain = start_of_marker(text, (guard,))
        self._strings.scan(text[scanned:certain])
        self._more(text[:certain])
        return self._hold(text[certain:])

    def _more(self, text: str) -> None:
        if self._quoted:
            self._out.append(escaped(text))
        else:
            self._kept.append(text)

    def _read_after_text(self, text: str) -> str:
        """The value's closing mark, or what makes it an object or array."""
        style = self._style
        ahead = mark_ahead(text, (style.close, style.member), "")
        if ahead is None:
            self._end_text()
            return self._stop(text)
        mark, at = ahead
        if not mark:
            return self._hold(text)
        if mark == style.close:
            self._end_text()
            return self._close(text[at + len(mark) :])
        if self._types == {"string"} or "".join(self._kept).strip(BLANKS):
            self._end_text()
            return self._stop(text)
        self._kept.clear()
        self._part = self._read_opened
        return text[at + len(mark) :]

    def _read_opened(self, text: str) -> str:
        """The key of the first mark inside of a value, which tells an object from an array where nothing else does."""
        return self._until(text, self._style.middle, self._have_first_key)

    def _have_first_key(self, key: str) -> None:
        arrays, objects = "array" in self._types, "object" in self._types
        self._open(is_array=key == _ITEM if arrays == objects else arrays)
        self._have_key(key)

    def _open(self, *, is_array: bool) -> None:
        self._out.append("[" if is_array else "{")
        self._containers.append(_Container(is_array, self._reading))
        self._part = self._read_between

    def _end_text(self) -> None:
        """The value is its text."""
        if self._quoted:
            self._out.append('"')
        else:
            self._out.append(self._scalar("".join(self._kept)))
        self._kept.clear()

    def _scalar(self, text: str) -> str:
        bare = text.strip(BLANKS)
        if self._style.labels:
            return self._reading.value(text)
        if "string" in self._types and bare[:1] in ("[", "{"):
            return replace(self._reading, kind=Kind.STRING).value(text)
        if not bare and "string" not in self._types and self._types & {"array", "object"}:
            return "{}" if "object" in self._types else "[]"
        return self._reading.value(text)
