"""Messages and content blocks of the Messages API, and the chat messages that they make.

Source: anthropic-sdk-python 2.14.0, `types/message_param.py` and `types/content_block_param.py`. Clients send our own
answers back, so a block may carry every key that we or Anthropic put into one. `cache_control` and `citations` say
nothing about the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from server.errors import refuse
from server.wire.base import Items, TextOr, Wire


class TextBlock(Wire):
    type: Literal["text"]
    text: str
    cache_control: dict[str, Any] | None = None
    citations: Items[Any] | None = None


class ToolUseBlock(Wire):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]
    cache_control: dict[str, Any] | None = None
    caller: dict[str, Any] | None = None
    toolset_name: None = None


class ToolResultBlock(Wire):
    """`is_error` has no place in chat templates: the content tells the model what went wrong."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: TextOr[TextBlock] | None = None
    is_error: bool | None = None
    cache_control: dict[str, Any] | None = None
    toolset_name: None = None


class ThinkingBlock(Wire):
    """The signature is not checked: whoever can send a conversation can make it up."""

    type: Literal["thinking"]
    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(Wire):
    """Thoughts that only Anthropic can read; left out."""

    type: Literal["redacted_thinking"]
    data: str


UserBlock = Annotated[TextBlock | ToolResultBlock, Discriminator("type")]
AssistantBlock = Annotated[TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock, Discriminator("type")]


class UserMessage(Wire):
    role: Literal["user"]
    content: TextOr[UserBlock]


class AssistantMessage(Wire):
    role: Literal["assistant"]
    content: TextOr[AssistantBlock]


class SystemMessage(Wire):
    role: Literal["system"]
    content: TextOr[TextBlock]


Message = Annotated[UserMessage | AssistantMessage | SystemMessage, Field(discriminator="role")]

_BLOCKS = {
    "user": ("text", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "system": ("text",),
}


def refuse_foreign(messages: Sequence[Any]) -> None:
    """ApiError (400) for the first block of a kind that cannot stand there or that this server does not have."""
    for index, message in enumerate(messages):
        if isinstance(message, dict) and isinstance(message.get("role"), str):
            allowed = _BLOCKS.get(message["role"])
            if allowed is not None:
                _refuse_blocks(message.get("content"), allowed, f"messages[{index}].content")


def _refuse_blocks(blocks: Any, allowed: Sequence[str], place: str) -> None:
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind not in allowed:
            refuse(
                f"{place}[{index}].type",
                f"{kind[:64]!r} is not supported here; this server reads {', '.join(allowed)}",
                code="unsupported_parameter",
            )
        if kind == "tool_result":
            _refuse_blocks(block.get("content"), ("text",), f"{place}[{index}].content")


def to_chat(messages: Sequence[Message], add: Callable[[dict[str, Any], str], None]) -> None:
    """Give `add` each chat message and the place that it came from.

    Results of tools are messages of their own there, and so is the text after them.
    """
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        if isinstance(message, AssistantMessage):
            add(_assistant(message), place)
        elif isinstance(message, SystemMessage):
            add({"role": "system", "content": text_of(message.content)}, place)
        else:
            _add_user(message, place, add)


def text_of(content: str | Sequence[TextBlock] | None) -> str:
    """The text of all blocks, one line break between two."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text for block in content)


def _add_user(message: UserMessage, place: str, add: Callable[[dict[str, Any], str], None]) -> None:
    if isinstance(message.content, str):
        add({"role": "user", "content": message.content}, place)
        return
    texts: list[TextBlock] = []
    first = 0
    for index, block in enumerate(message.content):
        if isinstance(block, TextBlock):
            first = first if texts else index
            texts.append(block)
            continue
        if texts:
            add({"role": "user", "content": text_of(texts)}, f"{place}.content[{first}]")
            texts = []
        result = {"role": "tool", "tool_call_id": block.tool_use_id, "content": text_of(block.content)}
        add(result, f"{place}.content[{index}]")
    if texts or not message.content:
        add({"role": "user", "content": text_of(texts)}, place)


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": "assistant", "content": message.content}
    texts, thoughts, calls = [], [], []
    for block in message.content:
        match block:
            case TextBlock():
                texts.append(block)
            case ThinkingBlock():
                thoughts.append(block.thinking)
            case ToolUseBlock():
                function = {"name": block.name, "arguments": json.dumps(block.input, ensure_ascii=False)}
                calls.append({"id": block.id, "type": "function", "function": function})
            case RedactedThinkingBlock():
                pass
    chat: dict[str, Any] = {"role": "assistant", "content": text_of(texts)}
    if thoughts:
        chat["reasoning_content"] = "\n".join(thoughts)
    if calls:
        chat["tool_calls"] = calls
    return chat
