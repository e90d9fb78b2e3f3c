"""Readers of a call's arguments, one for each kind of style: model text -> the text of one JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structural_tags.formats.arguments import ArgumentStyle, Braces, Fields, Json, Keywords, Nested
from structural_tags.output.arguments.base import ArgumentReader
from structural_tags.output.arguments.braces import BracesReader
from structural_tags.output.arguments.fields import FieldsReader
from structural_tags.output.arguments.json_object import JsonReader
from structural_tags.output.arguments.keywords import KeywordsReader
from structural_tags.output.arguments.nested import NestedReader

__all__ = ["ArgumentReader", "reader_of"]


def reader_of(style: ArgumentStyle, end: str, schema: Mapping[str, Any] | bool, *, strict: bool) -> ArgumentReader:
    """A reader of one call's arguments.

    Args:
        end: What follows the arguments.
        schema: The tool's; True where it is not known.
        strict: The text was written under the schema.
    """
    match style:
        case Json():
            return JsonReader()
        case Fields():
            return FieldsReader(style, end, schema, strict=strict)
        case Nested():
            return NestedReader(style, end, schema)
        case Braces():
            return BracesReader(style.quote)
        case Keywords():
            return KeywordsReader(end[0])
