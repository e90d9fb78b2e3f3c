"""`POST /v1/responses`: the request, checked, and the chat request that it makes.

Source of fields and bounds: openai-python 3.57.0, `types/responses/response_create_params.py`. The fields of that API
are checked here; what they mean, and every field that both APIs share or that is ours or vLLM's (`seed`, `min_p`,
`complete_within_budget` ...), is the chat request's, so that both endpoints enforce the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, Discriminator, Field, StringConstraints, Tag

from server.errors import ApiError, refuse
from server.wire.base import Body, Items, TextOr, Wire
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.renaming import Names
from server.wire.responses.items import ITEMS, Item, MessageItem, Messages, refuse_foreign
from server.wire.unknown_fields import validate

LOGPROBS = "message.output_text.logprobs"

_HOSTED = "is a tool that runs on OpenAI's servers, and this one has none; offer a function instead"


class FunctionTool(Wire):
    """`strict` is true unless it says false, as in OpenAI's API. The last four fields are about hosted tools."""

    type: Literal["function"]
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None
    allowed_callers: list[Any] | None = None
    output_schema: dict[str, Any] | None = None
    async_: Literal[False] | None = Field(default=None, alias="async")

    @property
    def is_strict(self) -> bool:
        return self.strict is not False

    def chat(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": {**function, "strict": self.is_strict}}


class TextInput(Wire):
    type: Literal["text"]


class GrammarInput(Wire):
    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str


class CustomTool(Wire):
    """A tool whose input is text, free or after a grammar."""

    type: Literal["custom"]
    name: str
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Discriminator("type")] | None = None
    defer_loading: bool | None = None
    allowed_callers: list[Any] | None = None
    async_: Literal[False] | None = Field(default=None, alias="async")

    def chat(self) -> dict[str, Any]:
        custom: dict[str, Any] = {"name": self.name, "description": self.description}
        if isinstance(self.format, GrammarInput):
            grammar = {"syntax": self.format.syntax, "definition": self.format.definition}
            custom["format"] = {"type": "grammar", "grammar": grammar}
        return {"type": "custom", "custom": custom}


Tool = Annotated[FunctionTool | CustomTool, Discriminator("type")]


class NamedChoice(Wire):
    type: Literal["function", "custom"]
    name: str

    def chat(self) -> dict[str, Any]:
        return {"type": self.type, self.type: {"name": self.name}}


class AllowedChoice(Wire):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Items[NamedChoice] = Field(min_length=1)

    def chat(self) -> dict[str, Any]:
        tools = [tool.chat() for tool in self.tools]
        return {"type": "allowed_tools", "allowed_tools": {"mode": self.mode, "tools": tools}}


def _choice_branch(value: Any) -> str:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "allowed" if kind == "allowed_tools" else "named"


Choice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedChoice, Tag("named")]
    | Annotated[AllowedChoice, Tag("allowed")],
    Discriminator(_choice_branch),
]


class Reasoning(Wire):
    """Only `effort` changes anything: there are no summaries, the text itself is in the answer."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: str | None = None


class Text(Wire):
    """`format` is checked when the chat request's `response_format` is."""

    format: dict[str, Any] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class StreamOptions(Wire):
    include_obfuscation: bool | None = None


Metadata = dict[Annotated[str, StringConstraints(max_length=64)], Annotated[str, StringConstraints(max_length=512)]]


class ResponsesRequest(Body):
    """A checked request. None means that the client left the field out or sent null."""

    input: TextOr[Item] | None = None
    model: str | None = None
    instructions: str | None = None
    tools: Items[Tool] | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
    text: Text | None = None
    reasoning: Reasoning | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    include: Items[str] | None = None
    metadata: Metadata | None = Field(default=None, max_length=16)
    truncation: Literal["auto", "disabled"] | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    service_tier: str | None = None

    @property
    def wants_logprobs(self) -> bool:
        return bool(self.top_logprobs) or LOGPROBS in (self.include or ())

    def items(self) -> list[Item]:
        """The new input; a string is short for one message of the user."""
        if isinstance(self.input, str):
            return ITEMS.validate_python([{"type": "message", "role": "user", "content": self.input}])
        return list(self.input or ())


_ABSENT = {
    "background": "responses are made while the client waits; leave it out, or stream",
    "conversation": "there is no store of conversations; use previous_response_id, or send the items",
    "prompt": "there is no store of prompts; send input and instructions",
    "moderation": "",
    "context_management": "",
    "image": "",
    "access_programs": "",
    "background_options": "",
}
"""Fields that are accepted only with the value that means "off", and what to do instead."""

_INSTEAD = {
    "messages": "use input",
    "response_format": "use text.format",
    "max_tokens": "use max_output_tokens",
    "max_completion_tokens": "use max_output_tokens",
    "reasoning_effort": "use reasoning.effort",
    "verbosity": "use text.verbosity",
    "logprobs": 'use include with "message.output_text.logprobs"',
    "functions": "use tools",
    "function_call": "use tool_choice",
    "n": "there is one answer",
    "prompt_logprobs": "answers of this endpoint have none",
    "return_token_ids": "answers of this endpoint have none",
    "echo": "answers begin where the model does",
}
"""Fields of a chat request that are called otherwise here."""

_PLACES = (
    (r"tools\[(\d+)\]\.(?:function|custom)\.format\.grammar", r"tools[\1].format"),
    (r"tools\[(\d+)\]\.(?:function|custom)", r"tools[\1]"),
    (r"tool_choice\.allowed_tools\.tools\[(\d+)\]\.(?:function|custom)", r"tool_choice.tools[\1]"),
    (r"tool_choice\.allowed_tools", "tool_choice"),
    (r"tool_choice\.(?:function|custom)", "tool_choice"),
    (r"response_format\.json_schema", "text.format"),
    (r"response_format", "text.format"),
    (r"max_completion_tokens", "max_output_tokens"),
    (r"reasoning_effort", "reasoning.effort"),
    (r"messages", "input"),
)

_WORDS = (
    (r"tools\[(\d+)\]\.(?:function|custom)", r"tools[\1]"),
    (r"response_format\.json_schema", "text.format"),
    ("response_format", "text.format"),
    ("max_completion_tokens", "max_output_tokens"),
)


@dataclass(frozen=True)
class Parsed:
    """One request in both forms, and how places of the one are called in the other."""

    request: ResponsesRequest
    chat: ChatRequest
    names: Names


def check(body: dict[str, Any], *, strict: bool = True) -> tuple[ResponsesRequest, dict[str, Any]]:
    """The fields of the Responses API, checked, and the rest of the body, which is for the chat request.

    Without `strict` the names of unknown fields are in the request's `unknown` instead.

    Raises:
        ApiError: 400 with the first place that is wrong.
    """
    for key, instead in _ABSENT.items():
        if body.get(key) not in (None, False):
            _unsupported(key, instead)
    for key, instead in _INSTEAD.items():
        if body.get(key) is not None:
            refuse(key, f"is not a field of this endpoint; {instead}", code="unknown_parameter")
    if isinstance(body.get("input"), list):
        refuse_foreign(body["input"], lambda index: f"input[{index}]")
    _refuse_hosted(body)
    own = {key: value for key, value in body.items() if key in ResponsesRequest.model_fields}
    request = validate(ResponsesRequest, own, strict=strict)
    if not request.input and request.previous_response_id is None:
        refuse("input", "is required", code="missing_required_parameter")
    beside = {*own, *_ABSENT, *_INSTEAD}
    return request, {key: value for key, value in body.items() if key not in beside}


def to_chat(
    request: ResponsesRequest,
    rest: dict[str, Any],
    *,
    context: Sequence[dict[str, Any]] = (),
    skip: int = 0,
    max_depth: int = 128,
    strict: bool = True,
) -> Parsed:
    """The chat request of a checked request.

    `context`: the items of the conversation so far. `skip`: that many of all items are left out, the first ones.

    Raises:
        ApiError: 400 with the place in the Responses request.
    """
    messages = Messages()
    if request.instructions:
        messages.add_text("system", request.instructions, "instructions")
    for at, item in enumerate(_all_items(request, context)):
        new = at - len(context)
        source = "input" if isinstance(request.input, str) else f"input[{new}]"
        if at >= skip:
            messages.add(item, "previous_response_id" if new < 0 else source)
    names = Names(_PLACES, _WORDS, messages.sources)
    body: dict[str, Any] = {**rest, **_fields(request), "messages": messages.finish()}
    try:
        chat = parse_chat_request(body, max_depth=max_depth, strict=strict, unknown=request.unknown)
    except ApiError as error:
        raise names.told(error) from error
    return Parsed(request, chat, names)


def turns(request: ResponsesRequest, context: Sequence[dict[str, Any]]) -> list[int]:
    """Where the user's turns begin among all items: what is before such a place can be left out as a whole."""
    items = _all_items(request, context)
    return [at for at, item in enumerate(items) if isinstance(item, MessageItem) and item.role == "user"]


def _all_items(request: ResponsesRequest, context: Sequence[dict[str, Any]]) -> list[Item]:
    return [*ITEMS.validate_python(list(context)), *request.items()]


def _fields(request: ResponsesRequest) -> dict[str, Any]:
    """The chat request's fields but for messages; what is None was not said."""
    fields: dict[str, Any] = {
        "model": request.model,
        "tools": [tool.chat() for tool in request.tools or ()] or None,
        "parallel_tool_calls": request.parallel_tool_calls,
        "response_format": _response_format(request.text),
        "reasoning_effort": None if request.reasoning is None else request.reasoning.effort,
        "max_completion_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
    }
    choice = request.tool_choice
    if isinstance(choice, BaseModel):
        fields["tool_choice"] = choice.chat()
    elif request.tools or choice == "required":  # clients send "auto" without tools, too
        fields["tool_choice"] = choice
    if request.wants_logprobs:
        fields.update(logprobs=True, top_logprobs=request.top_logprobs or 0)
    return {key: value for key, value in fields.items() if value is not None}


def _response_format(text: Text | None) -> dict[str, Any] | None:
    """`text.format` as `response_format`: what describes a JSON Schema stands one level deeper there."""
    if text is None or text.format is None:
        return None
    if text.format.get("type") != "json_schema":
        return text.format
    described = {key: value for key, value in text.format.items() if key != "type"}
    return {"type": "json_schema", "json_schema": described}


def _refuse_hosted(body: dict[str, Any]) -> None:
    tools = body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if isinstance(kind, str) and kind not in ("function", "custom"):
            refuse(f"tools[{index}].type", f"{kind[:64]!r} {_HOSTED}", code="unsupported_parameter")
    choice = body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if isinstance(kind, str) and kind not in ("function", "custom", "allowed_tools"):
        refuse("tool_choice.type", f"{kind[:64]!r} {_HOSTED}", code="unsupported_parameter")


def _unsupported(key: str, instead: str) -> NoReturn:
    refuse(key, "not supported by this server" + (f"; {instead}" if instead else ""), code="unsupported_parameter")
