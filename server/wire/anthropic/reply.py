"""The message, and the events of its stream, while a chat answer arrives.

Source: anthropic-sdk-python 2.14.0, `types/message.py` and `types/raw_message_stream_event.py`.

    message_start, ping,
      content_block_start, content_block_delta ..., content_block_stop     (each block)
    message_delta, message_stop

One pass makes both: the events are for a client that streams, `message` is the object for one that does not. Blocks
appear in the order in which the model writes them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson
from pydantic_core import from_json

from server.answer import ChoiceAnswer
from server.wire.chat_response import ChunkChoice, ToolCallDelta, Usage

Event = dict[str, Any]


class MessageWriter:
    """One message. Call `begin`, `push` for each chunk, then `finish`; each returns the events.

    `limit_reason` is the stop reason of an answer that was cut: by `max_tokens`, or by the model's context.
    """

    def __init__(
        self, *, message_id: str, model: str, shows_thinking: bool = True, limit_reason: str = "max_tokens"
    ) -> None:
        self._shows_thinking = shows_thinking
        self._limit_reason = limit_reason
        self._open: _Block | None = None
        self.message: dict[str, Any] = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "usage": None,
        }

    def begin(self, usage: Usage) -> list[Event]:
        start = {**self.message, "content": [], "usage": usage_of(usage)}
        return [{"type": "message_start", "message": start}, {"type": "ping"}]

    def push(self, chunk: ChunkChoice) -> list[Event]:
        delta = chunk.delta
        events: list[Event] = []
        if delta.reasoning_content:
            events += self._write_thinking(delta.reasoning_content)
        if delta.content:
            events += self._write("text", delta.content)
        for call in delta.tool_calls:
            assert isinstance(call, ToolCallDelta)  # all tools of this API are functions
            events += self._write_call(call)
        if "captures" in chunk.model_fields_set:
            captures = chunk.captures
            self.message["captures"] = None if captures is None else [each.model_dump() for each in captures]
        return events

    def finish(self, answer: ChoiceAnswer, usage: Usage) -> list[Event]:
        """The choice has its finish reason: close what is open, and the message."""
        events = self._end_block()
        if not self.message["content"]:
            events += [
                *self._begin_block(_Block("text", 0, {})),
                *self._end_block(),
            ]  # an empty answer is an empty text
        reason, sequence = self._stop(answer)
        self.message.update(stop_reason=reason, stop_sequence=sequence, usage=usage_of(usage))
        delta = {"stop_reason": reason, "stop_sequence": sequence, "stop_details": None}
        last = {"type": "message_delta", "delta": delta, "usage": self.message["usage"]}
        if "captures" in self.message:
            last["captures"] = self.message["captures"]
        return [*events, last, {"type": "message_stop"}]

    def _stop(self, answer: ChoiceAnswer) -> tuple[str, str | None]:
        if answer.finish_reason == "length":
            return self._limit_reason, None
        if answer.finish_reason == "tool_calls":
            return "tool_use", None
        if answer.stop_string is not None:
            return "stop_sequence", answer.stop_string
        return "end_turn", None

    def _write_thinking(self, text: str) -> list[Event]:
        if self._shows_thinking:
            return self._write("thinking", text)
        return [] if self._open is not None and self._open.kind == "thinking" else self._begin("thinking")

    def _write(self, kind: str, text: str) -> list[Event]:
        events = [] if self._open is not None and self._open.kind == kind else self._begin(kind)
        return [*events, self._delta(text)]

    def _write_call(self, call: ToolCallDelta) -> list[Event]:
        events = []
        if call.id:
            events = self._begin("tool_use", id=call.id, name=call.function.name)
        if call.function.arguments:
            events.append(self._delta(call.function.arguments))
        return events

    def _begin(self, kind: str, **fields: str) -> list[Event]:
        closing = self._end_block()
        return [*closing, *self._begin_block(_Block(kind, len(self.message["content"]), fields))]

    def _begin_block(self, block: _Block) -> list[Event]:
        self._open = block
        return [{"type": "content_block_start", "index": block.index, "content_block": block.content()}]

    def _delta(self, text: str) -> Event:
        block = self._open
        assert block is not None
        block.pieces.append(text)
        kind, key = _DELTAS[block.kind]
        return {"type": "content_block_delta", "index": block.index, "delta": {"type": kind, key: text}}

    def _end_block(self) -> list[Event]:
        block = self._open
        if block is None:
            return []
        self._open = None
        content = block.content()
        self.message["content"].append(content)
        events: list[Event] = []
        if block.kind == "thinking":
            delta = {"type": "signature_delta", "signature": content["signature"]}
            events.append({"type": "content_block_delta", "index": block.index, "delta": delta})
        return [*events, {"type": "content_block_stop", "index": block.index}]


_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}


class _Block:
    """The content block that grows."""

    def __init__(self, kind: str, index: int, fields: dict[str, str]) -> None:
        self.kind = kind
        self.index = index
        self.pieces: list[str] = []
        self._fields = fields

    def content(self) -> dict[str, Any]:
        """The block as it is. The input of a whole call is the model's own JSON, so that numbers and escapes stay as
        they are; that of a call that was cut holds what there is of it, as the client reads it."""
        text = "".join(self.pieces)
        if self.kind == "text":
            return {"type": "text", "text": text}
        if self.kind == "thinking":
            digest = hashlib.sha256(text.encode("utf-8")).hexdigest() if text else ""
            return {"type": "thinking", "thinking": text, "signature": digest}
        return {"type": "tool_use", **self._fields, "input": _object(text)}


def usage_of(usage: Usage) -> dict[str, Any]:
    """`input_tokens` are those that had to be computed; the others were found in the engine's cache of prefixes."""
    cached = usage.prompt_tokens_details.cached_tokens
    return {
        "input_tokens": usage.prompt_tokens - cached,
        "output_tokens": usage.completion_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens_details": {"thinking_tokens": usage.completion_tokens_details.reasoning_tokens},
    }


def _object(text: str) -> orjson.Fragment | dict[str, Any]:
    try:
        json.loads(text)
    except ValueError:
        return _partial_object(text)
    return orjson.Fragment(text.encode("utf-8"))


def _partial_object(text: str) -> dict[str, Any]:
    try:
        value = from_json(text, allow_partial=True)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
