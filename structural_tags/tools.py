"""What a request says about functions: the tools, and which of them may or must be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class TextArgument:
    """The one argument of a tool: a string that follows a grammar."""

    name: str
    grammar: str
    syntax: Literal["lark", "ebnf"] = "lark"


@dataclass(frozen=True)
class Tool:
    """A function the model may call.

    `parameters` is the JSON Schema of its arguments and must allow objects only; True is any object. Without
    `strict` the schema is not enforced: any object is a right argument. It still tells how to read values in
    formats that write strings and numbers alike.
    """

    name: str
    parameters: Mapping[str, Any] | bool = True
    strict: bool = True
    text: TextArgument | None = None
    """What `parameters` cannot say about the one string that the tool takes; where `choice.takes_text` is true."""


@dataclass(frozen=True)
class NamedTool:
    """The choice of one function by name."""

    name: str


@dataclass(frozen=True)
class AllowedTools:
    """The choice of some of the tools: only they may be called ("auto"), or one of them must be ("required")."""

    mode: Literal["auto", "required"]
    names: tuple[str, ...]


ToolChoice = Literal["auto", "none", "required"] | NamedTool | AllowedTools
