"""Request -> plan: what the engine must generate, checked by compiling it before the model sees anything.

The plan's structural tag is built by `structural_tags.choice` from the model's format, the tools and the
response format. Compiling it here, with the same engine that later makes the masks, turns everything a
client can get wrong into a 400. To say *where*, each schema is first compiled alone (cheap: the compiler
finds it again by content), so that the engine's JSON pointer is relative to a place in the request.

Cost: compile time, bounded by the compiler's limits. Never call `plan` on the event loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from engine_native import (
    Compiler,
    EngineError,
    Grammar,
    GrammarSyntaxError,
    LimitError,
    Matcher,
    SchemaError,
    StructuralTagError,
    UnsupportedSchemaError,
)
from server.errors import ApiError, refuse
from server.wire.chat_request import ChatRequest
from server.wire.response_format import JsonObjectFormat, JsonSchemaFormat
from server.wire.structural_tag import StructuralTagFormat
from server.wire.structured_outputs import Constraint
from server.wire.tools import INPUT, AllowedToolsChoice, CustomToolDefinition, FunctionDefinition, chosen_name
from structural_tags.choice import (
    AllowedTools,
    NamedTool,
    Tool,
    ToolChoice,
    build_tag,
    call_openings,
    takes_text,
    tools_of_choice,
)
from structural_tags.formats import ModelFormat
from structural_tags.tools import TextArgument

Timer = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Plan:
    """What to ask of the engine and how to read its answer."""

    structural_tag: str | None
    """JSON text for the engine; None when nothing is constrained."""
    tools: tuple[Tool, ...] | None
    """The tools that may be called, so that the parser looks for calls; None: the answer has none."""
    response: bool
    """The answer follows a response format, so that its text is no call and no mark, whatever it holds."""
    reasoning: bool
    """Whether the answer begins with reasoning."""
    grammar: Grammar | None = None
    """The tag, compiled."""
    parts: tuple[tuple[str, Grammar], ...] = ()
    """What the client sent of it, each compiled alone, with its place in the request."""
    free_text: bool = False
    """The answer may be text of any length, which no grammar can call whole."""


def plan(
    request: ChatRequest,
    model_format: ModelFormat,
    compiler: Compiler,
    *,
    reasoning: bool,
    strict_tools: bool = False,
    timer: Timer = nullcontext,
) -> Plan:
    """The plan of a checked request.

    `reasoning`: the answer begins with reasoning (`wants_reasoning`, and what the prompt says).
    `strict_tools`: the arguments of all tools satisfy their schema, not of those only that ask for it.
    `timer` makes a context manager that is entered around every compile.

    Raises:
        ApiError: 400 with the place in the request, for a schema or a tag that cannot be enforced.
    """
    checked = _CheckedCompile(compiler, timer)
    tools = _tools(request, model_format, checked, strict=strict_tools)
    response = _response(request, checked)
    choice = _choice(request) if tools else "none"
    callable_tools = tools_of_choice(tools, choice)
    beside_calls = response is not None and bool(callable_tools) and not request.demands_call
    if beside_calls and response is not None:
        _check_no_call(request, response, call_openings(model_format, callable_tools), checked)
    tag = build_tag(
        model_format,
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=request.parallel_tool_calls is not False,
        reasoning=reasoning,
        response=response,
        max_reasoning_tokens=request.max_reasoning_tokens,
    )
    text = grammar = None
    parts = tuple(checked.parts)
    if tag is not None:
        text = _dump(tag)
        grammar = checked.tag(text, _whole(request, beside_calls=beside_calls))
    return Plan(
        structural_tag=text,
        tools=callable_tools or None,
        response=response is not None,
        reasoning=reasoning,
        grammar=grammar,
        parts=parts,
        free_text=response is None and not (callable_tools and request.demands_call),
    )


def wants_reasoning(request: ChatRequest, model_format: ModelFormat, *, by_default: bool) -> bool:
    """Whether the prompt is to invite reasoning."""
    wanted = by_default if request.thinking is None else request.thinking
    return wanted and model_format.reasoning is not None


def offers_tools(request: ChatRequest) -> bool:
    """Whether the answer may hold calls, so that the prompt shows the tools."""
    return bool(request.tools) and request.tool_choice != "none"


def _choice(request: ChatRequest) -> ToolChoice:
    """The tool choice of a request with tools."""
    choice = request.tool_choice
    if isinstance(choice, AllowedToolsChoice):
        names = tuple(name for allowed in choice.allowed_tools.tools if (name := chosen_name(allowed)) is not None)
        return AllowedTools(choice.allowed_tools.mode, names)
    if isinstance(choice, str):
        return choice
    name = chosen_name(choice)
    return "auto" if name is None else NamedTool(name)


@dataclass(frozen=True)
class Place:
    """Where in the request an engine's JSON pointer starts: `strip` is cut off, `param` names the rest."""

    param: str
    strip: str = ""
    rewrites: tuple[tuple[str, str], ...] = ()
    """(pattern, template of what follows `param`) pairs for tags that we build from another shape; the
    first full match of the pointer wins and its last group is the pointer that is left."""

    def locate(self, pointer: str) -> tuple[str, str]:
        """(param, JSON pointer below it) for a pointer into what was compiled."""
        for pattern, template in self.rewrites:
            match = re.fullmatch(pattern, pointer, re.DOTALL)
            if match:
                return self.param + match.expand(template), match.group(match.re.groups)
        return self.param, pointer.removeprefix(self.strip)


class _CheckedCompile:
    """Compiles under the timer and turns the engine's refusal into a 400 that names the place."""

    def __init__(self, compiler: Compiler, timer: Timer) -> None:
        self._compiler = compiler
        self._timer = timer
        self.parts: list[tuple[str, Grammar]] = []
        """What was compiled, with its place in the request."""

    def schema(self, schema: dict[str, Any], where: Place) -> Grammar:
        return self._compiled(where, lambda: self._compiler.compile_json_schema(schema))

    def tag(self, text: str, where: Place) -> Grammar:
        return self._compiled(where, lambda: self._compiler.compile_structural_tag(text))

    def regex(self, pattern: str, where: Place) -> Grammar:
        return self._compiled(where, lambda: self._compiler.compile_regex(pattern))

    def choice(self, choices: list[str], where: Place) -> Grammar:
        return self._compiled(where, lambda: self._compiler.compile_choice(choices))

    def grammar(self, text: str, *, lark: bool, where: Place) -> Grammar:
        compile_grammar = self._compiler.compile_lark if lark else self._compiler.compile_ebnf
        return self._compiled(where, lambda: compile_grammar(text))

    def _compiled(self, where: Place, work: Callable[[], Grammar]) -> Grammar:
        with self._timer(), _naming(where):
            grammar = work()
        self.parts.append((where.param, grammar))
        return grammar


@contextmanager
def _naming(where: Place) -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        raise _refused(error, where) from error


def _refused(error: EngineError, where: Place) -> Exception:
    """A 400, or the error itself when the client is not to blame (memory ran out)."""
    code = _error_code(error)
    if code is None:
        return error
    param, pointer = where.locate(error.path or "")
    at = f" (at {pointer})" if pointer else ""
    return ApiError(f"{param}: {error.message}{at}", param=param, code=code, pointer=pointer)


def _error_code(error: EngineError) -> str | None:
    if isinstance(error, UnsupportedSchemaError):
        return "unsupported_schema"
    if isinstance(error, SchemaError):
        return "invalid_schema"
    if isinstance(error, GrammarSyntaxError):
        return "invalid_grammar"
    if isinstance(error, StructuralTagError):
        return "invalid_structural_tag"
    if isinstance(error, LimitError):
        return "schema_too_complex"
    return None


def _tools(
    request: ChatRequest, model_format: ModelFormat, checked: _CheckedCompile, *, strict: bool
) -> tuple[Tool, ...]:
    tools = []
    if request.tools and model_format.calls is None and request.tool_choice != "none":
        refuse(
            "tools", f"the format {model_format.name!r} of this model has no tool calls", code="unsupported_parameter"
        )
    for index, tool in enumerate(request.tools or ()):
        if isinstance(tool, CustomToolDefinition):
            tools.append(_custom_tool(tool, f"tools[{index}].custom.format.grammar.definition", model_format, checked))
            continue
        schema = arguments_schema(tool.function)
        if not (strict or tool.function.strict or tool.function.parameters is None):
            tools.append(Tool(name=tool.function.name, parameters=schema, strict=False))
            continue
        where = Place(f"tools[{index}].function.parameters")
        grammar = checked.schema(schema, where)
        if schema.get("type") != "object" and _allows_other_than_object(grammar):
            raise ApiError(
                f"{where.param}: must allow objects only, as the arguments of a call are an object",
                param=where.param,
                code="invalid_schema",
            )
        tools.append(Tool(name=tool.function.name, parameters=schema))
    return tuple(tools)


def _custom_tool(tool: CustomToolDefinition, param: str, model_format: ModelFormat, checked: _CheckedCompile) -> Tool:
    """A custom tool as the function that models know. Its grammar is compiled alone first, to name line and column."""
    function, grammar = tool.function, tool.grammar
    schema = arguments_schema(function)
    if grammar is None:
        return Tool(name=function.name, parameters=schema)
    if grammar.syntax == "regex":
        checked.regex(grammar.definition, Place(param))
        checked.schema(schema, Place(param))
        return Tool(name=function.name, parameters=schema)
    if model_format.calls is not None and not takes_text(model_format):
        refuse(
            param,
            f"the format {model_format.name!r} of this model has no place for a Lark grammar; use syntax regex",
            code="unsupported_parameter",
        )
    checked.grammar(grammar.definition, lark=True, where=Place(param))
    described = Tool(name=function.name, parameters=schema, text=TextArgument(INPUT, grammar.definition))
    if model_format.calls is not None:
        # Some of what a grammar may have cannot stand inside of a call: told here, where the place is known.
        alone = build_tag(model_format, tools=(described,), tool_choice=NamedTool(described.name), reasoning=False)
        checked.tag(_dump(alone or {}), Place(param, rewrites=((r".*/grammar()", ""),)))
    return described


_TYPE_DECIDERS = frozenset(
    (
        "type",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "enum",
        "const",
    )
)


def arguments_schema(function: FunctionDefinition) -> dict[str, Any]:
    """The schema of a function's arguments: an object even where the client did not say so."""
    if function.parameters is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if _TYPE_DECIDERS.isdisjoint(function.parameters):
        return {"type": "object", **function.parameters}
    return function.parameters


def _allows_other_than_object(grammar: Grammar) -> bool:
    """Whether some value of the grammar starts like a string, array, number or literal (RFC 8259)."""
    matcher = Matcher(grammar)
    return any(matcher.accept_bytes(bytes([first])) for first in b'"[-0123456789tfn')


def _response(request: ChatRequest, checked: _CheckedCompile) -> dict[str, Any] | None:
    """The answer's node in the structural tag, or None for free text."""
    if request.constraint is not None:
        return _constrained(request.constraint, checked)
    wanted = request.response_format
    if isinstance(wanted, JsonObjectFormat):
        return {"type": "json_schema", "json_schema": {"type": "object"}}
    if isinstance(wanted, JsonSchemaFormat):
        schema = wanted.json_schema.schema_
        where = Place("response_format.json_schema.schema")
        checked.schema(schema, where)
        return {"type": "json_schema", "json_schema": schema}
    if isinstance(wanted, StructuralTagFormat):
        return _checked_tag(wanted, "response_format", checked)
    return None


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for JSON without white space, unless it says itself how that is written."""
    written = schema.get("x-guidance", {})
    if not isinstance(written, dict):
        return schema  # the engine names the mistake
    return {**schema, "x-guidance": {"whitespace_flexible": False, **written}}


def _constrained(wanted: Constraint, checked: _CheckedCompile) -> dict[str, Any]:
    """The same for vLLM's fields. Each is compiled by its own front end first, which shows line and caret."""
    where = Place(wanted.param)
    match wanted.kind:
        case "json":
            schema = _compact(wanted.value) if wanted.compact else wanted.value
            checked.schema(schema, where)
            return {"type": "json_schema", "json_schema": schema}
        case "json_object":
            anything = {"type": "object"}
            return {"type": "json_schema", "json_schema": _compact(anything) if wanted.compact else anything}
        case "regex":
            checked.regex(wanted.value, where)
            return {"type": "regex", "pattern": wanted.value or "(?:)"}  # the tag's pattern cannot be empty
        case "choice":
            checked.choice(wanted.value, where)
            return {"type": "or", "elements": [{"type": "const_string", "value": text} for text in wanted.value]}
        case "grammar":
            # As vLLM tells them apart: EBNF defines rules with "::=", Lark with ":". A list of grammars is JSON.
            lark = "::=" not in wanted.value or wanted.value.lstrip().startswith("{")
            checked.grammar(wanted.value, lark=lark, where=where)
            return {"type": "grammar", "syntax": "lark" if lark else "ebnf", "grammar": wanted.value}
        case "structural_tag":
            return _checked_tag(wanted.value, wanted.param, checked)


def _check_no_call(
    request: ChatRequest, response: Mapping[str, Any], openings: tuple[str, ...], checked: _CheckedCompile
) -> None:
    """Beside calls an answer must not begin like one: it would be reported as a call that nobody checked.

    Free text and patterns are kept clear of calls by the tag itself.
    """
    wanted = request.constraint
    if wanted is not None and wanted.kind == "choice":
        for index, text in enumerate(wanted.value):
            for opening in openings:
                if text.startswith(opening):
                    refuse(
                        f"{wanted.param}[{index}]", f"must not begin with {opening!r}, which begins a call of a tool"
                    )
    if response.get("type") != "json_schema" or not openings[0].startswith(("{", "[")):
        return
    param = "response_format" if wanted is None else wanted.param
    grammar = checked.schema(response["json_schema"], Place(param))
    for opening in openings:
        if Matcher(grammar).accept_bytes(opening.encode("utf-8")):
            refuse(param, f"must not allow answers that begin with {opening!r}, which begins a call of a tool")


_LEGACY_PLACES = (
    (r"/format/tags/(\d+)/content/json_schema((?:/.*)?)", r".structures[\1].schema"),
    (r"/format/tags/(\d+)/(begin|end)((?:/.*)?)", r".structures[\1].\2"),
    (r"/format/tags/(\d+)((?:/.*)?)", r".structures[\1]"),
    (r"/format/triggers/(\d+)((?:/.*)?)", r".triggers[\1]"),
    (r"/format/triggers((?:/.*)?)", ".triggers"),
    (r"/format/tags((?:/.*)?)", ".structures"),
    (r"/format((?:/.*)?)", ""),
)


def _checked_tag(wanted: StructuralTagFormat, param: str, checked: _CheckedCompile) -> dict[str, Any]:
    node, where = _tag_node(wanted, param)
    checked.tag(_dump({"type": "structural_tag", "format": node}), where)
    return node


def _tag_node(wanted: StructuralTagFormat, param: str) -> tuple[dict[str, Any], Place]:
    """The format node, and where its pointers lie. The older shape is triggered tags around schemas."""
    if wanted.format is not None:
        return wanted.format, Place(f"{param}.format", strip="/format")
    tags = [
        {
            "type": "tag",
            "begin": item.begin,
            "content": {"type": "json_schema", "json_schema": item.schema_},
            "end": item.end,
        }
        for item in wanted.structures or ()
    ]
    node = {"type": "triggered_tags", "triggers": list(wanted.triggers or ()), "tags": tags}
    return node, Place(param, rewrites=_LEGACY_PLACES)


_BESIDE_CALLS = r"/format(?:/elements/[1-9])?/elements/1(?:/.*)?()"
"""Where `build_tag` puts the answer that may come instead of calls: the second of two, maybe after reasoning."""


def _whole(request: ChatRequest, *, beside_calls: bool) -> Place:
    """Each part compiled alone; what is left is their sum (a limit, markers that collide), and an answer that
    must not spell a call beside calls."""
    answer = "response_format" if request.constraint is None else request.constraint.param
    if not request.tools:
        return Place(answer, strip="/format")
    if beside_calls:
        return Place("", rewrites=((_BESIDE_CALLS, answer), (r"(?:/format)?(.*)", "tools")))
    return Place("tools", strip="/format")


def _dump(tag: Mapping[str, Any]) -> str:
    return json.dumps(tag, ensure_ascii=False, separators=(",", ":"))
