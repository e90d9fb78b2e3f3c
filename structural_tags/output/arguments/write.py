"""A JSON object in a style: the inverse of the readers, where text that looks like JSON was meant to be."""

from __future__ import annotations

import json
from typing import Any

from structural_tags.formats.arguments import ArgumentStyle, Braces, Fields, Json, Keywords, Nested
from structural_tags.output.arguments.fits import type_of


def write_arguments(style: ArgumentStyle, text: str) -> str:
    """The object of a JSON text as a model writes it."""
    if isinstance(style, Json):
        return text
    values: dict[str, Any] = json.loads(text)
    match style:
        case Fields():
            return "".join(_field(style, key, value) for key, value in values.items())
        case Nested():
            return _members(style, values)
        case Braces():
            return _braces(style, values)
        case Keywords():
            return ", ".join(f"{key}={_python(value)}" for key, value in values.items())


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _field(style: Fields, key: str, value: Any) -> str:
    for character, spelled in style.escapes:
        key = key.replace(character, spelled)
    label = ""
    if style.after_label:
        label = style.string_label if isinstance(value, str) else style.json_label or type_of(value)
    is_python = style.python if value is None or isinstance(value, bool) else style.literals
    written = str(value) if isinstance(value, str) or is_python else _dump(value)
    parts = (style.member, key, style.middle, style.middle2, label, style.after_label, written, style.close, style.line)
    return "".join(parts)


def _members(style: Nested, values: dict[str, Any]) -> str:
    return "".join(_member(style, key, value) for key, value in values.items())


def _member(style: Nested, key: str, value: Any, *, is_item: bool = False) -> str:
    spelled = key
    for character, written in style.escapes:
        spelled = spelled.replace(character, written)
    begin = style.item if is_item and style.item else style.member + spelled + style.middle
    label = ""
    if style.labels:
        labels = dict(style.labels)
        label = labels.get(type_of(value), labels[""]) + style.after_label
    match value:
        case dict():
            inside = _members(style, value)
        case list():
            inside = "".join(_member(style, "item", each, is_item=True) for each in value)
        case str():
            inside = value
        case _:
            inside = _dump(value)
    return begin + label + inside + style.close + (spelled + style.close_end if style.close_end else "")


def _braces(style: Braces, value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_braces(style, each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_braces(style, each) for each in value) + "]"
    if value is None:
        return style.null
    return style.quote + value + style.quote if isinstance(value, str) else _dump(value)


def _python(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_dump(key)}: {_python(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_python, value)) + "]"
    return str(value) if value is None or isinstance(value, bool) else _dump(value)
