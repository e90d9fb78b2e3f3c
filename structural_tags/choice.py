"""A request's tools, tool_choice, reasoning and response format -> one structural tag.

The only place that knows `tool_choice`. What each choice lets the model write after the reasoning:

    auto        free text in which calls may appear; with a response format: either calls or the response
    required    one call or more, and nothing else
    NamedTool   exactly one call of that function, and nothing else
    none        free text without calls; with a response format: the response

Calls are strict in all of them: the trigger cannot be written unless a call of a known tool with valid
arguments follows. `parallel_tool_calls=False` ends the answer after its first call.

`required` and named choices win over the response format, because a call's arguments have a schema of their
own and the answer has no other text. A response that may contain free text (`any_text`, `triggered_tags`, or what a
`regex` lets through) must not spell the trigger when it stands beside calls, as it would be read as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from structural_tags.formats import ModelFormat

Node = dict[str, Any]
"""A format node of the structural-tag language, as JSON."""


@dataclass(frozen=True)
class Tool:
    """A function the model may call.

    `parameters` is the JSON Schema of its arguments and must allow objects only; True is any object.
    """

    name: str
    parameters: Mapping[str, Any] | bool = True


@dataclass(frozen=True)
class NamedTool:
    """The choice of one function by name."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedTool


def build_tag(
    fmt: ModelFormat,
    *,
    tools: Sequence[Tool],
    tool_choice: ToolChoice,
    parallel_tool_calls: bool = True,
    reasoning: bool,
    response: Node | None = None,
) -> Node | None:
    """The structural tag that the model's text must match, or None when nothing constrains it.

    Args:
        reasoning: The answer begins with the format's reasoning block.
        response: The format node that the answer follows; None is free text.

    Raises:
        ValueError: two tools of one name, a choice that the tools cannot satisfy, or reasoning for a format
            that has none. The message names the place.
    """
    _check_tools(tools, tool_choice)
    answer = _answer(fmt, tools, tool_choice, parallel_tool_calls, response)
    if reasoning:
        return _tag({"type": "sequence", "elements": [*_reasoning(fmt), answer or _free_text()]})
    return None if answer is None else _tag(answer)


def _answer(
    fmt: ModelFormat,
    tools: Sequence[Tool],
    choice: ToolChoice,
    parallel: bool,
    response: Node | None,
) -> Node | None:
    """What follows the reasoning; None is free text."""
    if isinstance(choice, NamedTool):
        return next(_call(fmt, tool) for tool in tools if tool.name == choice.name)
    if choice == "required":
        return _calls_only(fmt, tools, parallel)
    if not tools:
        return response
    if choice == "none":
        return _free_text(fmt.trigger) if response is None else response
    if response is None:
        return _text_with_calls(fmt, tools, parallel)
    beside = _without(response, fmt.trigger)
    return {"type": "or", "elements": [_calls_only(fmt, tools, parallel), beside]}


def _check_tools(tools: Sequence[Tool], choice: ToolChoice) -> None:
    places: dict[str, int] = {}
    for index, tool in enumerate(tools):
        if not tool.name:
            raise ValueError(f"tools[{index}]: the name is empty")
        if tool.name in places:
            raise ValueError(f"tools[{index}]: the name {tool.name!r} is taken by tools[{places[tool.name]}]")
        places[tool.name] = index
    if choice == "required" and not tools:
        raise ValueError("tool_choice: 'required' needs at least one tool")
    if isinstance(choice, NamedTool) and choice.name not in places:
        raise ValueError(f"tool_choice: there is no tool named {choice.name!r}")


def _tag(node: Node) -> Node:
    return {"type": "structural_tag", "format": node}


def _free_text(*excludes: str) -> Node:
    return {"type": "any_text", "excludes": list(excludes)} if excludes else {"type": "any_text"}


def _reasoning(fmt: ModelFormat) -> list[Node]:
    """The block and what stands between it and the answer. The tag's end is excluded from its content."""
    block = fmt.reasoning
    if block is None:
        raise ValueError(f"reasoning: format {fmt.name!r} has none")
    begin = "" if block.in_prompt else block.begin + block.pad
    nodes: list[Node] = [{"type": "tag", "begin": begin, "content": _free_text(), "end": block.end}]
    if block.after:
        nodes.append({"type": "const_string", "value": block.after})
    return nodes


def _call(fmt: ModelFormat, tool: Tool) -> Node:
    schema = {"type": "object"} if tool.parameters is True else tool.parameters
    return {
        "type": "tag",
        "begin": fmt.call.opening(tool.name),
        "content": {"type": "json_schema", "json_schema": schema},
        "end": fmt.call.end,
    }


def _calls_only(fmt: ModelFormat, tools: Sequence[Tool], parallel: bool) -> Node:
    """At least one call and nothing but calls; the answer can end only after a call."""
    tags = [_call(fmt, tool) for tool in tools]
    if parallel:
        separator = fmt.call.separator
        return {"type": "tags_with_separator", "tags": tags, "separator": separator, "at_least_one": True}
    return tags[0] if len(tags) == 1 else {"type": "or", "elements": tags}


def _text_with_calls(fmt: ModelFormat, tools: Sequence[Tool], parallel: bool) -> Node:
    node: Node = {
        "type": "triggered_tags",
        "triggers": [fmt.trigger],
        "tags": [_call(fmt, tool) for tool in tools],
    }
    if not parallel:
        node["stop_after_first"] = True
    return node


def _without(node: Node, text: str) -> Node:
    """`node` with `text` excluded from its free text and patterns. Strings of JSON cannot spell a call: its begin
    holds a quotation mark, which they escape. A tag of the client's own that is triggered by `text` is left alone."""
    changed = dict(node)
    if node.get("type") == "regex" and isinstance(node.get("pattern"), str):
        changed["pattern"] = rf"(?![\s\S]*{re.escape(text)})(?:{node['pattern']})"
    if node.get("type") in ("any_text", "triggered_tags"):
        excludes = list(node.get("excludes", ()))
        if text not in excludes and text not in node.get("triggers", ()):
            changed["excludes"] = [*excludes, text]
    if isinstance(node.get("content"), dict):
        changed["content"] = _without(node["content"], text)
    for key in ("elements", "tags"):
        if isinstance(node.get(key), list):
            changed[key] = [_without(child, text) for child in node[key]]
    return changed
