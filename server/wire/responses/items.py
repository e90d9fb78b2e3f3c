"""Input items of the Responses API, and the chat messages that they make.

Source: openai-python 3.57.0, `types/responses/response_input_param.py`. Clients send our own output items back,
so an item may carry every key that we or OpenAI put into one.

The assistant's side of a turn is several items there (reasoning, message, calls) and one message here: chat
templates write them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter

from server.errors import refuse
from server.wire.base import Items, TextOr, Wire

Status = Literal["in_progress", "completed", "incomplete"]

_TEXT_PARTS = ("input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text")


class TextPart(Wire):
    type: Literal["input_text", "output_text", "text", "reasoning_text", "summary_text"]
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None
    prompt_cache_breakpoint: dict[str, Any] | None = None


class RefusalPart(Wire):
    type: Literal["refusal"]
    refusal: str


Part = Annotated[TextPart | RefusalPart, Discriminator("type")]


class _Item(Wire):
    """What items of every kind may carry. A `caller`, a `namespace` and `async` belong to hosted tools: null."""

    id: str | None = None
    status: Status | None = None
    caller: None = None
    namespace: None = None
    async_: Literal[False] | None = Field(default=None, alias="async")


class MessageItem(_Item):
    """`phase` is OpenAI's mark for commentary between calls; what was said was said."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: TextOr[Part]
    phase: Literal["commentary", "final_answer"] | None = None


class ReasoningItem(_Item):
    """`encrypted_content` is another server's; the text is in `content`, or in `summary` where there is no other."""

    type: Literal["reasoning"]
    summary: Items[TextPart] | None = None
    content: Items[TextPart] | None = None
    encrypted_content: str | None = None


class FunctionCallItem(_Item):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class FunctionCallOutputItem(_Item):
    type: Literal["function_call_output"]
    call_id: str
    output: TextOr[Part]
    name: str | None = None


class CustomToolCallItem(_Item):
    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str


class CustomToolCallOutputItem(_Item):
    type: Literal["custom_tool_call_output"]
    call_id: str
    output: TextOr[Part]
    name: str | None = None


def _kind(value: Any) -> str:
    kind = value.get("type", "message") if isinstance(value, dict) else getattr(value, "type", "message")
    return str(kind)


Item = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[ReasoningItem, Tag("reasoning")]
    | Annotated[FunctionCallItem, Tag("function_call")]
    | Annotated[FunctionCallOutputItem, Tag("function_call_output")]
    | Annotated[CustomToolCallItem, Tag("custom_tool_call")]
    | Annotated[CustomToolCallOutputItem, Tag("custom_tool_call_output")],
    Discriminator(_kind),
]

ITEMS: TypeAdapter[list[Item]] = TypeAdapter(Items[Item])

_KINDS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
)


def refuse_foreign(items: Sequence[Any], name: Callable[[int], str]) -> None:
    """ApiError (400) for the first item or part of a kind that this server does not have; it is called by its name.

    `name` tells the place of an item. What is not even an object is left to the check of the whole.
    """
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = item.get("type", "message")
        if kind not in _KINDS:
            refuse(
                f"{name(index)}.type",
                f"{_shown(kind)} is not supported by this server; it takes {', '.join(_KINDS)}",
                code="unsupported_parameter",
            )
        for field in ("content", "output"):
            parts = item.get(field)
            for at, part in enumerate(parts if isinstance(parts, list) else ()):
                if isinstance(part, dict) and part.get("type") not in _TEXT_PARTS:
                    refuse(
                        f"{name(index)}.{field}[{at}].type",
                        f"{_shown(part.get('type'))} is not supported by this server, which reads text only",
                        code="unsupported_parameter",
                    )


def _shown(kind: Any) -> str:
    return repr(kind[:64]) if isinstance(kind, str) else "this type"


class Messages:
    """Chat messages while items are added, and for each message where it came from."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.sources: list[str] = []
        self._turn: dict[str, Any] | None = None

    def add(self, item: Item, source: str) -> None:
        """`source` is the item's place in the request."""
        match item:
            case MessageItem(role="assistant"):
                turn = self._assistant(source, unless=("content", "tool_calls"))
                turn["content"] = text_of(item.content)
            case MessageItem():
                self._other({"role": item.role, "content": text_of(item.content)}, source)
            case ReasoningItem():
                turn = self._assistant(source, unless=("content", "tool_calls", "reasoning_content"))
                turn["reasoning_content"] = text_of(item.content or item.summary or ())
            case FunctionCallItem():
                function = {"name": item.name, "arguments": item.arguments}
                self._call({"id": item.call_id, "type": "function", "function": function}, source)
            case CustomToolCallItem():
                custom = {"name": item.name, "input": item.input}
                self._call({"id": item.call_id, "type": "custom", "custom": custom}, source)
            case FunctionCallOutputItem() | CustomToolCallOutputItem():
                output = {"role": "tool", "tool_call_id": item.call_id, "content": text_of(item.output)}
                self._other(output, source)

    def add_text(self, role: str, text: str, source: str) -> None:
        self._other({"role": role, "content": text}, source)

    def finish(self) -> list[dict[str, Any]]:
        """All messages; a turn that holds nothing but reasoning says nothing."""
        for message in self.messages:
            if message["role"] == "assistant" and "tool_calls" not in message:
                message.setdefault("content", "")
        return self.messages

    def _assistant(self, source: str, *, unless: Sequence[str]) -> dict[str, Any]:
        """The assistant's message that goes on; a new one if it has one of the keys `unless`."""
        if self._turn is None or any(key in self._turn for key in unless):
            turn: dict[str, Any] = {"role": "assistant"}
            self._other(turn, source)
            self._turn = turn
        return self._turn

    def _call(self, call: dict[str, Any], source: str) -> None:
        self._assistant(source, unless=()).setdefault("tool_calls", []).append(call)

    def _other(self, message: dict[str, Any], source: str) -> None:
        self._turn = None
        self.messages.append(message)
        self.sources.append(source)


def text_of(content: str | Sequence[Part]) -> str:
    """The text of all parts, one line break between two."""
    if isinstance(content, str):
        return content
    return "\n".join(part.refusal if isinstance(part, RefusalPart) else part.text for part in content)
