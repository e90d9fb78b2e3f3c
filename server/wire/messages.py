"""Chat messages: what clients send, and the plain form that chat templates read.

Source: openai-openapi 2.3.0, `ChatCompletionRequestMessage`. Clients send our own answers back, so an
assistant message may carry every key that we or OpenAI put into one (`refusal`, `annotations`, `audio`,
`function_call`, `reasoning`, `reasoning_content`).
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from server.wire.base import Items, Wire
from server.wire.tools import INPUT


class TextPart(Wire):
    type: Literal["text"]
    text: str


def _parts(value: Any) -> Any:
    """A bare string is short for one text part."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if value is None or isinstance(value, list):
        return value
    raise PydanticCustomError("content_type", "must be a string or an array of text parts")


Content = Annotated[Items[TextPart], BeforeValidator(_parts, json_schema_input_type=str | list[TextPart])]
OptionalContent = Annotated[
    Items[TextPart] | None, BeforeValidator(_parts, json_schema_input_type=str | list[TextPart] | None)
]


def join(content: list[TextPart] | None) -> str:
    """The text of all parts, one line break between two."""
    return "\n".join(part.text for part in content or ())


class CalledFunction(Wire):
    name: str
    arguments: str


class ToolCall(Wire):
    """`index` appears when a client folds a stream by hand and sends the result back."""

    index: int | None = None
    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class CustomCall(Wire):
    name: str
    input: str


class CustomToolCall(Wire):
    """A call of a custom tool; templates see a function with the argument `input`."""

    index: int | None = None
    id: str
    type: Literal["custom"]
    custom: CustomCall


def _call_branch(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "custom" if kind == "custom" else "function"


AnyCall = Annotated[
    Annotated[ToolCall, Tag("function")] | Annotated[CustomToolCall, Tag("custom")], Discriminator(_call_branch)
]


class SystemMessage(Wire):
    role: Literal["system", "developer"]
    content: Content
    name: str | None = None


class UserMessage(Wire):
    role: Literal["user"]
    content: Content
    name: str | None = None


class AssistantMessage(Wire):
    role: Literal["assistant"]
    content: OptionalContent = None
    tool_calls: Items[AnyCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    name: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    function_call: None = None

    @model_validator(mode="after")
    def _says_something(self) -> AssistantMessage:
        if self.content is None and not self.tool_calls and self.refusal is None:
            raise PydanticCustomError("empty_message", "needs content or tool_calls")
        return self


class ToolMessage(Wire):
    role: Literal["tool"]
    content: Content
    tool_call_id: str
    name: str | None = None


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


def for_template(message: Message) -> dict[str, Any]:
    """The message as chat templates expect it.

    Content is one string, "developer" is "system" (no open model's template knows the former), and the
    arguments of calls are objects where they parse as such, because templates write them with `tojson`.
    """
    plain: dict[str, Any] = {"role": message.role, "content": join(message.content)}
    if isinstance(message, SystemMessage):
        plain["role"] = "system"
    elif isinstance(message, ToolMessage):
        plain["tool_call_id"] = message.tool_call_id
    elif isinstance(message, AssistantMessage):
        if message.refusal is not None and message.content is None:
            plain["content"] = message.refusal
        thought = message.reasoning_content or message.reasoning
        if thought:
            plain["reasoning_content"] = thought
        if message.tool_calls:
            plain["tool_calls"] = [_call_for_template(call) for call in message.tool_calls]
    if message.name is not None:
        plain["name"] = message.name
    return plain


def _call_for_template(call: ToolCall | CustomToolCall) -> dict[str, Any]:
    if isinstance(call, CustomToolCall):
        function = {"name": call.custom.name, "arguments": {INPUT: call.custom.input}}
        return {"id": call.id, "type": "function", "function": function}
    arguments: Any = call.function.arguments
    try:
        parsed = json.loads(call.function.arguments)
        json.dumps(parsed, ensure_ascii=False).encode("utf-8")  # refuses lone surrogates
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        arguments = parsed
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.function.name, "arguments": arguments},
    }
