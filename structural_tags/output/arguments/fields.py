"""Arguments in marked fields: `<parameter=city>Paris</parameter>` -> `{"city": "Paris"}`.

A string is handed on while it grows; so is JSON that was written under a schema. Where only the whole text of a
value tells what it means, it is kept until its closing mark (see `reading`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from structural_tags.formats.arguments import Fields
from structural_tags.formats.base import BLANKS
from structural_tags.output.arguments.base import Strings, escaped, mark_ahead, start_of_marker
from structural_tags.output.arguments.reading import TYPES, Kind, Reading, Schema, reading_of

_MOST_MARKS = 16
"""How often a value that may be a string or JSON is looked at as a whole; after that it is JSON."""


class FieldsReader:
    """See `ArgumentReader`. `end` is the text after the last field."""

    def __init__(self, style: Fields, end: str, schema: Mapping[str, Any] | bool, *, strict: bool) -> None:
        self._style = style
        self._end = end
        self._schema: Schema = schema
        self._strict = strict
        self._held = ""
        self._out: list[str] = []
        self._fields = 0
        self._begun = False
        self._ended = False
        self._key = ""
        self._member: list[str] = []
        """The text of the member at hand up to its value: no argument if it turns out to be something else."""
        self._label: Kind | None = None
        """What the style's label said of the value at hand."""
        self._reading = Reading(Kind.EITHER)
        self._kept: list[str] = []
        self._whole = False
        """The JSON at hand begins like something of Python's: kept, as it may be that."""
        self._blank = ""
        self._strings = Strings()
        self._marks = 0
        self._part: Callable[[str], str] = self._read_between

    def read(self, text: str) -> tuple[str, str | None]:
        text = self._held + text
        self._held = ""
        self._begin()
        while text and not self._ended:
            text = self._part(text)
        written = "".join(self._out)
        self._out.clear()
        return written, text if self._ended else None

    def finish(self) -> str:
        if self._part in (self._read_value, self._read_pad):
            self._more(self._held)
            if not self._streams_string and not self._streams_json and any(self._kept):
                self._out.append(self._reading.value("".join(self._kept)))
        elif self._part == self._read_key:
            self._write_key("".join(self._kept) + self._held, closed=False)
        elif self._part in (self._read_middle2, self._read_label):
            self._write_key(self._key)
        self._held = ""
        written = "".join(self._out)
        self._out.clear()
        return written

    def _begin(self) -> None:
        if not self._begun:
            self._out.append("{")
            self._begun = True

    def _hold(self, text: str) -> str:
        """Nothing is left to read before more text comes."""
        self._held = text
        return ""

    def _stop(self, text: str) -> str:
        self._out.append("}")
        self._ended = True
        return text

    def _read_between(self, text: str) -> str:
        """White space, then a field or the end; anything else ends the arguments as well."""
        bare = text.lstrip(BLANKS)
        member = self._style.member
        if bare.startswith(member):
            self._part = self._read_key
            self._member = [member]
            return bare[len(member) :]
        if bare.startswith(self._end):
            return self._stop(bare)
        if member.startswith(bare) or self._end.startswith(bare):
            return self._hold(bare)
        return self._stop(bare)

    def _read_key(self, text: str) -> str:
        return self._until(text, self._style.middle.rstrip(BLANKS) or self._style.middle, self._have_key)

    def _until(self, text: str, marker: str, then: Callable[[str], None]) -> str:
        """What stands before the marker; short text, so it is kept whole."""
        at = text.find(marker)
        if at < 0:
            certain = start_of_marker(text, (marker,))
            self._kept.append(text[:certain])
            return self._hold(text[certain:])
        whole = "".join(self._kept) + text[:at]
        self._kept.clear()
        self._member.append(whole + marker)
        then(whole)
        return text[at + len(marker) :]

    def _have_key(self, written: str) -> None:
        self._key = written
        if self._style.middle2:
            self._part = self._read_middle2
        elif self._style.after_label:
            self._part = self._read_label
        else:
            self._start_value(None)

    def _write_key(self, written: str, *, closed: bool = True) -> None:
        for character, spelled in reversed(self._style.escapes):
            written = written.replace(spelled, character)
        self._key = written
        text = json.dumps(written, ensure_ascii=False)
        self._out.append((", " if self._fields else "") + (text + ": " if closed else text[:-1]))
        self._fields += 1

    def _read_middle2(self, text: str) -> str:
        return self._read_one_of((self._style.middle2,), text, lambda _: self._start_value(None))

    def _read_label(self, text: str) -> str:
        style = self._style
        labels = (style.string_label, style.json_label) if style.json_label else (*TYPES, "integer")
        return self._read_one_of(tuple(label + style.after_label for label in labels), text, self._have_label)

    def _have_label(self, mark: str) -> None:
        label = mark.removesuffix(self._style.after_label)
        self._start_value(Kind.STRING if label == self._style.string_label else Kind.JSON)

    def _read_one_of(self, marks: tuple[str, ...], text: str, then: Callable[[str], None]) -> str:
        """One of the marks that must stand here, after white space; else this was no argument."""
        ahead = mark_ahead(text, marks, BLANKS)
        if ahead is None:
            return self._stop("".join(self._member) + text)
        mark, at = ahead
        if not mark:
            self._member.append(text[:at])
            return self._hold(text[at:])
        then(mark)
        return text[at + len(mark) :]

    def _start_value(self, label: Kind | None) -> None:
        self._write_key(self._key)
        style = self._style
        self._reading = reading_of(self._schema, self._key, label=label, python=style.python, literals=style.literals)
        self._whole = False
        self._blank = ""
        self._strings = Strings(python=style.literals)
        self._marks = 0
        self._label = label
        self._part = self._read_value
        if self._streams_string:
            self._out.append('"')
        pad = self._style.middle[len(self._style.middle.rstrip(BLANKS)) :]
        if pad and not self._style.middle2:
            self._part = self._read_pad

    def _read_pad(self, text: str) -> str:
        """The white space that belongs to the mark before a value."""
        middle = self._style.middle
        pad = middle[len(middle.rstrip(BLANKS)) :]
        if pad.startswith(text) and text != pad:
            return self._hold(text)
        self._part = self._read_value
        return text.removeprefix(pad)

    def _read_value(self, text: str) -> str:
        close = self._style.close
        at, scanned = self._find_close(text)
        if at < 0:
            certain = start_of_marker(text, (close,))
            self._strings.scan(text[scanned:certain])
            self._more(text[:certain])
            return self._hold(text[certain:])
        self._more(text[:at])
        self._close_value()
        self._part = self._read_between
        return text[at + len(close) :]

    def _find_close(self, text: str) -> tuple[int, int]:
        """Where the value's closing mark stands, -1 if it does not, and how far `_strings` has read."""
        close, scanned = self._style.close, 0
        at = text.find(close)
        while at >= 0:
            self._strings.scan(text[scanned:at])
            scanned = at
            if not self._is_text(text[:at]):
                break
            at = text.find(close, at + 1)
        return at, scanned

    def _is_text(self, before: str) -> bool:
        """Whether a closing mark after `before` is text of a string in JSON, which may hold it; raw strings may not."""
        if not self._strings.inside or not (self._strict or self._label is Kind.JSON):
            return False
        if self._reading.kind is not Kind.EITHER:
            return self._reading.kind is Kind.JSON
        self._marks += 1
        if self._marks > _MOST_MARKS:
            return True
        raw = "".join(self._kept) + before
        return raw.lstrip(BLANKS)[:1] in ("{", "[") and not self._reading.can_be_text(raw)

    @property
    def _streams_string(self) -> bool:
        return self._reading.kind is Kind.STRING and not self._reading.whole

    @property
    def _streams_json(self) -> bool:
        return self._reading.kind is Kind.JSON and self._strict and not self._whole

    def _more(self, text: str) -> None:
        if self._streams_string:
            self._out.append(escaped(text))
        elif self._streams_json:
            self._more_json(text)
        else:
            self._kept.append(text)

    def _more_json(self, text: str) -> None:
        """Without the white space around the value."""
        if not self._kept:
            text = text.lstrip(BLANKS)
            if not text:
                return
            style = self._style
            self._whole = (style.python and text[0] in "TFN") or (style.literals and text[0] in "[{")
            self._kept.append(text if self._whole else "")
            if self._whole:
                return
        bare = text.rstrip(BLANKS)
        if bare:
            self._out.append(self._blank + bare)
            self._blank = ""
        self._blank += text[len(bare) :]

    def _close_value(self) -> None:
        if self._streams_string:
            self._out.append('"')
        elif not self._streams_json:
            self._out.append(self._reading.value("".join(self._kept)))
        self._kept.clear()
