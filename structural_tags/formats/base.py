"""The shape of a model format: data that both the grammar and the output parser are made from.

One answer looks like this (reasoning and calls are optional, `|` only separates the parts):

    begin | pad | REASONING | pad | end | after | CONTENT | separator | CALL | separator | CALL
    CALL = call.begin | NAME | call.middle | ARGUMENTS | call.end

ARGUMENTS is one JSON object. NAME is the inside of a JSON string (RFC 8259, section 7), so `call.begin`
ends with a quotation mark and `call.middle` starts with one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

BLANKS = " \t\r\n"
"""White space of JSON (RFC 8259, section 2); text made of it alone is layout where it touches a call."""


@dataclass(frozen=True)
class Reasoning:
    """Text between `begin` and `end`, before the answer."""

    begin: str
    end: str
    in_prompt: bool
    """The chat template already wrote `begin` and `pad`: the model's text starts inside the block."""
    pad: str = ""
    """Written by the template after `begin` and before `end`; not part of the reasoning."""
    after: str = ""
    """Written by the template between `end` and the answer."""


@dataclass(frozen=True)
class CallSyntax:
    """One tool call: `begin` NAME `middle` ARGUMENTS `end`."""

    begin: str
    middle: str
    end: str
    separator: str = ""
    """Written between two calls, and between content and the first call."""

    def __post_init__(self) -> None:
        if not (self.begin.endswith('"') and self.middle.startswith('"')):
            raise ValueError("the name of a call must stand between quotation marks")
        if self.begin[0] in BLANKS:
            raise ValueError("a call must not begin with white space")
        if not self.end:
            raise ValueError("a call needs an end marker")

    def opening(self, name: str) -> str:
        """Everything before the arguments of a call of `name`."""
        return self.begin + json.dumps(name, ensure_ascii=False)[1:-1] + self.middle


@dataclass(frozen=True)
class ModelFormat:
    """One model family.

    `trigger` starts `call.begin` and is what free text must not contain unless a call follows.
    `source` says where these facts were read.
    """

    name: str
    call: CallSyntax
    trigger: str
    reasoning: Reasoning | None
    source: str

    def __post_init__(self) -> None:
        if not self.trigger or not self.call.begin.startswith(self.trigger):
            raise ValueError(f"format {self.name!r}: a call must begin with the trigger")
