"""A request's tools, tool_choice, reasoning and response format -> one structural tag.

The only place that knows `tool_choice`. What each choice lets the model write after the reasoning:

    auto          free text in which calls may appear; with a response format: either calls or the response
    required      one call or more, and nothing else
    NamedTool     exactly one call of that function, and nothing else
    AllowedTools  auto or required, with some of the tools
    none          free text without calls; with a response format: the response

Where a call begins, a call of a known tool with well-formed arguments must follow; for strict tools they must
satisfy the schema. `parallel_tool_calls=False` ends the answer after its first call.

`required` and named choices win over the response format, because a call's arguments have a schema of their
own and the answer has no other text. A response that may contain free text (`any_text`, `triggered_tags`, or what a
`regex` lets through) must not spell the trigger when it stands beside calls, as it would be read as one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from structural_tags.formats.arguments import ArgumentStyle, Fields, Json
from structural_tags.formats.base import (
    WORD,
    Arguments,
    Calls,
    CallSyntax,
    Identifier,
    Index,
    Marked,
    ModelFormat,
    Name,
    Part,
    Reasoning,
    Word,
    written_name,
)
from structural_tags.tools import AllowedTools, NamedTool, TextArgument, Tool, ToolChoice

__all__ = [
    "AllowedTools",
    "NamedTool",
    "Node",
    "ReasoningMode",
    "Tool",
    "ToolChoice",
    "build_tag",
    "call_openings",
    "takes_text",
    "tools_of_choice",
]

Node = dict[str, Any]
"""A format node of the structural-tag language, as JSON."""

ReasoningMode = bool | Literal["auto"]
"""The answer begins with the format's reasoning block, does not, or as the model likes."""

_INDEX = "0|[1-9][0-9]{0,5}"
_LAYOUT = r"[ \n]{0,2}"
_BLANK = r"(?: |\n {0,8})?"
"""Between tokens of JSON."""
_WORD = f"{WORD}{{1,64}}"


def build_tag(
    fmt: ModelFormat,
    *,
    tools: Sequence[Tool],
    tool_choice: ToolChoice,
    parallel_tool_calls: bool = True,
    reasoning: ReasoningMode,
    response: Node | None = None,
    max_reasoning_tokens: int | None = None,
) -> Node | None:
    """The structural tag that the model's text must match, or None when nothing constrains it.

    Args:
        reasoning: Where the prompt opens the block, "auto" is True.
        response: The format node that the answer follows; None is free text.
        max_reasoning_tokens: The block's text ends after so many tokens at the latest.

    Raises:
        ValueError: two tools of one name, a name that the format cannot write, a choice that the tools or the
            format cannot satisfy, or reasoning for a format that has none. The message names the place.
    """
    _check_tools(tools, tool_choice)
    _check_names(fmt, tools)
    tools, choice = _narrowed(tools, tool_choice)
    if fmt.calls is None and (tools and choice != "none"):
        raise ValueError(f"tools: format {fmt.name!r} has no tool calls")
    block = fmt.reasoning
    if reasoning and block is None:
        raise ValueError(f"reasoning: format {fmt.name!r} has none")
    optional = reasoning == "auto" and block is not None and not block.in_prompt
    excluded = (block.begin,) if optional and block is not None else ()
    begun = fmt.answer_in_prompt and not reasoning
    answer = _Answer(fmt, tools, parallel_tool_calls, response, excluded, begun).node(choice)
    if reasoning and block is not None:
        inside = block.ended_by_calls and bool(tools) and choice != "none"
        triggers = (fmt.calls.trigger,) if inside and fmt.calls is not None else ()
        nodes = _reasoning(block, max_reasoning_tokens, *triggers)
        if block.answer is None and not inside:
            nodes = [_optional(_sequence(nodes))] if optional else nodes
            return _tag(_sequence([*nodes, answer or _free_text(*excluded)]))
        ways = [_sequence([*nodes, _marked(block, answer or _free_text())])]
        if inside:
            ways.append(_ended_by_calls(fmt, tools, choice, parallel_tool_calls, max_reasoning_tokens))
        if optional:
            ways.append(_maybe_marked(block, answer or _free_text(*excluded)))
        return _tag(_either(ways))
    if answer is not None and block is not None:
        answer = _maybe_marked(block, answer)
    if block is not None and block.off:
        return _tag(_sequence([_constant(block.off), answer or _free_text()]))
    return None if answer is None else _tag(answer)


def tools_of_choice(tools: Sequence[Tool], choice: ToolChoice) -> tuple[Tool, ...]:
    """The tools that may be called."""
    if choice == "none":
        return ()
    return tuple(_narrowed(tools, choice)[0])


def call_openings(fmt: ModelFormat, tools: Sequence[Tool]) -> tuple[str, ...]:
    """How an answer begins that is a call: for each tool, the text up to the first slot after its name."""
    if fmt.calls is None:
        return ()
    return tuple(fmt.calls.begin + _call(syntax, tool)["begin"] for tool in tools for syntax in fmt.calls.syntaxes)


def _narrowed(tools: Sequence[Tool], choice: ToolChoice) -> tuple[Sequence[Tool], ToolChoice]:
    if isinstance(choice, AllowedTools):
        return [tool for tool in tools if tool.name in choice.names], choice.mode
    if isinstance(choice, NamedTool):
        return [tool for tool in tools if tool.name == choice.name], choice
    return tools, choice


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
    wanted: tuple[str, ...] = ()
    if isinstance(choice, NamedTool):
        wanted = (choice.name,)
    if isinstance(choice, AllowedTools):
        wanted = choice.names
        if not wanted:
            raise ValueError("tool_choice: no tool is allowed")
    for name in wanted:
        if name not in places:
            raise ValueError(f"tool_choice: there is no tool named {name!r}")


def _check_names(fmt: ModelFormat, tools: Sequence[Tool]) -> None:
    """No call may begin like the content."""
    for index, tool in enumerate(tools):
        begins = call_openings(fmt, (tool,)) if fmt.answer is not None else ()
        if fmt.answer is not None and any(begin.startswith(fmt.answer.begin) for begin in begins):
            raise ValueError(f"tools[{index}]: {tool.name!r} cannot be a function's name in this model's format")


def _tag(node: Node) -> Node:
    return {"type": "structural_tag", "format": node}


def _free_text(*excludes: str) -> Node:
    return {"type": "any_text", "excludes": list(excludes)} if excludes else {"type": "any_text"}


def _constant(text: str) -> Node:
    return {"type": "const_string", "value": text}


def _sequence(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else {"type": "sequence", "elements": list(nodes)}


def _optional(node: Node) -> Node:
    return {"type": "optional", "content": node}


def _either(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else {"type": "or", "elements": list(nodes)}


def _reasoning(block: Reasoning, max_tokens: int | None, *excludes: str) -> list[Node]:
    """The block and what stands between it and the answer. The tag's end is excluded from its content."""
    nodes = [_block(block, block.end, max_tokens, *excludes)]
    return [*nodes, _constant(block.after)] if block.after else nodes


def _block(block: Reasoning, end: str, max_tokens: int | None, *excludes: str) -> Node:
    text = _free_text(*excludes)
    if max_tokens is not None:
        text["max_tokens"] = max_tokens
    begin = "" if block.in_prompt else block.begin + block.pad
    return {"type": "tag", "begin": begin, "content": text, "end": end}


def _marked(block: Reasoning, answer: Node) -> Node:
    """What follows the block, in its marks."""
    if block.answer is None:
        return answer
    return _sequence([{"type": "regex", "pattern": _LAYOUT}, _between(block.answer, answer)])


def _maybe_marked(block: Reasoning, answer: Node) -> Node:
    return answer if block.answer is None else _either([_between(block.answer, answer), answer])


def _ended_by_calls(
    fmt: ModelFormat, tools: Sequence[Tool], choice: ToolChoice, parallel: bool, max_tokens: int | None
) -> Node:
    """A block that is not closed, because calls begin inside of it."""
    assert fmt.reasoning is not None
    assert fmt.calls is not None
    trigger = fmt.calls.trigger
    calls = replace(fmt.calls, begin=fmt.calls.begin.removeprefix(trigger), trigger="")
    alone = _Answer(replace(fmt, calls=calls), tools, parallel, None, (), False)
    single = isinstance(choice, NamedTool)
    return _sequence(
        [_block(fmt.reasoning, trigger, max_tokens, fmt.reasoning.end), alone.calls_only(calls, single=single)]
    )


@dataclass(frozen=True)
class _Answer:
    """What follows the reasoning."""

    fmt: ModelFormat
    tools: Sequence[Tool]
    parallel: bool
    response: Node | None
    excluded: tuple[str, ...]
    """What free text must not contain, so that it cannot begin like reasoning."""
    begun: bool
    """The prompt has written the mark before the content."""

    def node(self, choice: ToolChoice) -> Node | None:
        """None is free text."""
        calls = self.fmt.calls
        answer: Node | None
        if calls is None or (not self.tools and not isinstance(choice, NamedTool)):
            answer = self._without_calls(None)
        elif isinstance(choice, NamedTool):
            answer = self._alone(calls, single=True)
        elif choice == "required":
            answer = self._alone(calls)
        elif choice == "none":
            answer = self._without_calls(calls)
        else:
            answer = self._with_calls(calls)
        if answer is not None and self.fmt.close:
            answer = _sequence([answer, _constant(self.fmt.close)])
        return answer if answer is None else _after_prompt(answer, self.fmt.prompted)

    def _without_calls(self, calls: Calls | None) -> Node | None:
        excludes = (*self.excluded, *(_triggers(calls, self.tools) if calls is not None else ()))
        if self.fmt.answer is not None:
            return self._content(self.fmt.answer, self.response)
        if self.response is not None:
            return _without(self.response, self.excluded)
        return _free_text(*excludes) if excludes else None

    def _with_calls(self, calls: Calls) -> Node:
        answer = self.fmt.answer
        if answer is None and self.response is None:
            return self._text_with_calls(calls)
        alone = self._led(calls, self.calls_only(calls))
        if answer is None:
            assert self.response is not None
            return _either([alone, _without(self.response, (*self.excluded, *_triggers(calls, self.tools)))])
        if self.fmt.answer_and_calls:
            either = self._content(answer, _constant("") if self.response is not None else None)
            together = _sequence([either, alone if self.response is not None else _optional(alone)])
            return together if self.response is None else _either([together, self._content(answer, self.response)])
        if self.response is None and self.fmt.preamble is not None:
            alone = _sequence([_optional(_between(self.fmt.preamble, None)), alone])
        return _either([alone, self._content(answer, self.response)])

    def _content(self, answer: Marked, node: Node | None) -> Node:
        """The marked content: the node, or any text."""
        begin = "" if self.begun else answer.begin
        return _between(Marked(begin, answer.end, answer.until), node)

    def _alone(self, calls: Calls, *, single: bool = False) -> Node:
        """Calls and no content, where the answer may have nothing else."""
        node = self._led(calls, self.calls_only(calls, single=single))
        if self.fmt.answer is not None and self.fmt.answer_and_calls:
            return _sequence([self._content(self.fmt.answer, _constant("")), node])
        return node

    def _led(self, calls: Calls, node: Node) -> Node:
        if not (calls.lead and calls.lead_always):
            return node
        return _sequence([_optional(_constant(calls.lead)), node])

    def _tags(self, calls: Calls) -> list[Node]:
        return [_call(syntax, tool) for tool in self.tools for syntax in calls.syntaxes]

    def calls_only(self, calls: Calls, *, single: bool = False) -> Node:
        """At least one call and nothing but calls; the answer can end only after a call."""
        tags = self._tags(calls)
        several: Node = {
            "type": "tags_with_separator",
            "tags": tags,
            "separator": calls.separator,
            "at_least_one": True,
        }
        inner = several if self.parallel and not single and not calls.single else _either(tags)
        return _between(Marked(calls.begin, calls.end), inner) if calls.is_section else inner

    def _text_with_calls(self, calls: Calls) -> Node:
        if not calls.is_section:
            tags = self._tags(calls)
        elif calls.trigger:
            tags = [{"type": "tag", "begin": calls.begin, "content": self._inner(calls), "end": calls.end}]
        else:
            tags = self._sections_by_first_call(calls)
        node: Node = {"type": "triggered_tags", "triggers": list(_triggers(calls, self.tools)), "tags": tags}
        if self.excluded:
            node["excludes"] = list(self.excluded)
        if not self.parallel or calls.single:
            node["stop_after_first"] = True
        return node

    def _inner(self, calls: Calls) -> Node:
        tags = self._tags(calls)
        if not self.parallel or calls.single:
            return _either(tags)
        return {"type": "tags_with_separator", "tags": tags, "separator": calls.separator, "at_least_one": True}

    def _sections_by_first_call(self, calls: Calls) -> list[Node]:
        """Where nothing but the first call tells that calls begin: a section for each function that may come first."""
        sections = []
        for tool in self.tools:
            for syntax in calls.syntaxes:
                first = _call(syntax, tool)
                parts = [first["content"], _constant(first["end"])]
                if self.parallel and not calls.single:
                    more = _sequence([_constant(calls.separator), _either(self._tags(calls))])
                    parts.append({"type": "star", "content": more})
                sections.append(
                    {
                        "type": "tag",
                        "begin": calls.begin + first["begin"],
                        "content": _sequence(parts),
                        "end": calls.end,
                    }
                )
        return sections


def _between(marked: Marked, content: Node | None) -> Node:
    """The content, None for any text, in its marks. Where no mark ends it there is no tag."""
    if content is None:
        content = _free_text(*((marked.until,) if marked.until else ()))
    if marked.end:
        return {"type": "tag", "begin": marked.begin, "content": content, "end": marked.end}
    return _sequence([_constant(marked.begin), content]) if marked.begin else content


def _after_prompt(node: Node, written: str) -> Node:
    """What is left of an answer of which the prompt has written the beginning."""
    if not written:
        return node
    match node["type"]:
        case "const_string":
            return _constant(node["value"].removeprefix(written))
        case "tag":
            return {**node, "begin": node["begin"].removeprefix(written)}
        case "or":
            return _either([_after_prompt(each, written) for each in node["elements"]])
        case "tags_with_separator":
            more = _sequence([_constant(node["separator"]), _either(node["tags"])])
            first = _either([_after_prompt(tag, written) for tag in node["tags"]])
            return _sequence([first, {"type": "star", "content": more}])
    first, *rest = node["elements"]
    if first["type"] == "optional":
        return _either([_after_prompt(_sequence([*with_it, *rest]), written) for with_it in ([first["content"]], [])])
    return _sequence([_after_prompt(first, written), *rest])


def _triggers(calls: Calls, tools: Sequence[Tool]) -> tuple[str, ...]:
    if calls.trigger:
        return (calls.trigger,)
    return tuple(calls.begin + _call(syntax, tool)["begin"] for tool in tools for syntax in calls.syntaxes)


def _call(syntax: CallSyntax, tool: Tool) -> Node:
    """The tag of a call: as much of it as is fixed text at both ends, and what is left between."""
    nodes: list[Node] = []
    for part in syntax.parts:
        node = _part(part, tool)
        if nodes and node["type"] == "const_string" and nodes[-1]["type"] == "const_string":
            nodes[-1] = _constant(nodes[-1]["value"] + node["value"])
        else:
            nodes.append(node)
    begin = nodes.pop(0)["value"]
    end = nodes.pop()["value"] if nodes[-1]["type"] == "const_string" else ""
    return {"type": "tag", "begin": begin, "content": _sequence(nodes), "end": end}


def _part(part: Part, tool: Tool) -> Node:
    match part:
        case Name():
            return _constant(written_name(tool.name, part))
        case Index():
            return {"type": "regex", "pattern": _INDEX}
        case Identifier(length):
            return {"type": "regex", "pattern": f"[a-zA-Z0-9]{{{length}}}"}
        case Word():
            return {"type": "regex", "pattern": _WORD}
        case Arguments():
            return _arguments(part, tool)
        case str():
            return _constant(part)


def takes_text(fmt: ModelFormat) -> bool:
    """Whether the text of a tool (`Tool.text`) can be described in every way that the format writes arguments."""
    if fmt.calls is None:
        return False
    parts = (part for syntax in fmt.calls.syntaxes for part in syntax.parts if isinstance(part, Arguments))
    return all(isinstance(part.style, Json | Fields) for part in parts)


def _text_argument(style: ArgumentStyle, text: TextArgument) -> Node:
    """The one argument of a tool, as a JSON string or up to the mark that closes it."""
    grammar: Node = {"type": "grammar", "syntax": text.syntax, "grammar": text.grammar}
    if isinstance(style, Json):
        opening = {"type": "regex", "pattern": rf"\{{{_BLANK}{re.escape(json.dumps(text.name))}:{_BLANK}"}
        closing = {"type": "regex", "pattern": rf"{_BLANK}\}}"}
        return _sequence([opening, {**grammar, "written": "json_string"}, closing])
    if not isinstance(style, Fields):
        raise ValueError(f"tools: the text {text.name!r} cannot be described in this model's format")
    layout = {"type": "regex", "pattern": _LAYOUT}
    label = style.string_label + style.after_label
    if style.middle2:
        opened = [_constant(style.member + text.name + style.middle), layout, _constant(style.middle2 + label)]
    else:
        opened = [_constant(style.member + text.name + style.middle + label)]
    return _sequence([layout, *opened, {**grammar, "excludes": [style.close]}, _constant(style.close), layout])


def _arguments(part: Arguments, tool: Tool) -> Node:
    """What the tool's schema allows if it is strict, else any object."""
    style, schema = part.style, tool.parameters
    if tool.text is not None:
        return _text_argument(style, tool.text)
    if schema is True or not tool.strict:
        schema = {"type": "object"}
    node: Node = {"type": "json_schema", "json_schema": schema}
    if style.style != "json":
        node["style"] = style.style
    if part.any_order and tool.strict:
        node["any_order"] = True
    return node


def _without(node: Node, texts: Sequence[str]) -> Node:
    """`node` with `texts` excluded from its free text and patterns. Strings of JSON are left alone: beside a response
    calls are looked for only where the answer begins. So is a tag of the client's own that is triggered by a text."""
    if not texts:
        return node
    changed = dict(node)
    if node.get("type") == "regex" and isinstance(node.get("pattern"), str):
        spelled = "|".join(map(re.escape, texts))
        changed["pattern"] = rf"(?![\s\S]*{spelled if len(texts) == 1 else f'(?:{spelled})'})(?:{node['pattern']})"
    if node.get("type") in ("any_text", "triggered_tags"):
        excludes = list(node.get("excludes", ()))
        known = (*excludes, *node.get("triggers", ()))
        changed["excludes"] = [*excludes, *(text for text in texts if text not in known)]
        if not changed["excludes"]:
            del changed["excludes"]
    if isinstance(node.get("content"), dict):
        changed["content"] = _without(node["content"], texts)
    for key in ("elements", "tags"):
        if isinstance(node.get(key), list):
            changed[key] = [_without(child, texts) for child in node[key]]
    return changed
