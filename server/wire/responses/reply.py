"""The response object, and the events of its stream, while a chat answer arrives.

Source: openai-python 3.57.0, `types/responses/response.py` and `response_stream_event.py`.

    created, in_progress,
      output_item.added, content_part.added, DELTA ..., DONE, content_part.done, output_item.done   (text, reasoning)
      output_item.added,                     DELTA ..., DONE,                    output_item.done   (calls)
    completed | incomplete | error, failed

One pass makes both: the events are for a client that streams, `response` is the object for one that does not, so a
folded stream is the single answer. Items appear in the order in which the model writes them.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from server.answer import ChoiceAnswer
from server.errors import ApiError
from server.wire.chat_response import ChunkChoice, CustomToolCallDelta, LogprobEntry, ToolCallDelta, Usage
from server.wire.responses.request import CustomTool, FunctionTool, ResponsesRequest

Event = dict[str, Any]

_DELTAS = {
    "message": "response.output_text",
    "reasoning": "response.reasoning_text",
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}
"""Names of an item's deltas and of their end, without ".delta" and ".done"."""

_IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}

_TEXTS = {"message": "text", "reasoning": "text", "function_call": "arguments", "custom_tool_call": "input"}
"""The key of the whole text, in the item of a call and in the event that ends the deltas."""


def new_id(kind: str) -> str:
    """An id for an item of the kind (`message`, `function_call` ...)."""
    return f"{_IDS.get(kind, 'item')}_{uuid.uuid4().hex}"


class ResponseWriter:
    """One response. Call `begin`, `push` for each chunk, then `finish` or `fail`; each returns the events."""

    def __init__(self, request: ResponsesRequest, *, response_id: str, created: int, model: str) -> None:
        self.response: dict[str, Any] = {
            "id": response_id,
            "object": "response",
            "created_at": created,
            "model": model,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
            **_echo(request),
        }
        self._sequence = 0
        self._open: _Item | None = None
        self._calls = 0

    def begin(self) -> list[Event]:
        return [
            self._event("response.created", response=self._snapshot()),
            self._event("response.in_progress", response=self._snapshot()),
        ]

    def push(self, chunk: ChunkChoice) -> list[Event]:
        delta = chunk.delta
        events: list[Event] = []
        if delta.reasoning_content:
            events += self._write("reasoning", delta.reasoning_content)
        if delta.content:
            entries = chunk.logprobs.content if chunk.logprobs is not None else []
            events += self._write("message", delta.content, entries)
        for call in delta.tool_calls:
            events += self._write_call(call)
        if "captures" in chunk.model_fields_set:
            captures = chunk.captures
            self.response["captures"] = None if captures is None else [each.model_dump() for each in captures]
        return events

    def finish(self, answer: ChoiceAnswer, usage: Usage) -> list[Event]:
        """The choice has its finish reason: close what is open, and the response."""
        cut = answer.finish_reason == "length"
        events: list[Event] = []
        if self._open is None and not self.response["output"]:
            events += self._begin_item("message")  # an empty answer is an empty message
        if self._open is not None:
            is_call = self._open.kind in ("function_call", "custom_tool_call")
            whole = answer.is_whole(self._calls - 1) if is_call else not cut
            events += self._end_item("completed" if whole else "incomplete")
        self.response["status"] = "incomplete" if cut else "completed"
        if cut:
            self.response["incomplete_details"] = {"reason": "max_output_tokens"}
        else:
            self.response["completed_at"] = int(time.time())
        self.response["usage"] = _usage(usage)
        return [*events, self._event(f"response.{self.response['status']}", response=self._snapshot())]

    def fail(self, error: ApiError) -> list[Event]:
        """The response is over, and what there is of it stays."""
        if self._open is not None:
            self.response["output"].append(self._open.item("incomplete"))
            self._open = None
        self.response["status"] = "failed"
        self.response["error"] = {"code": "server_error", "message": error.message}
        return [
            self._event("error", code=error.code, message=error.message, param=error.param),
            self._event("response.failed", response=self._snapshot()),
        ]

    def _write(self, kind: str, text: str, logprobs: list[LogprobEntry] | None = None) -> list[Event]:
        events = []
        if self._open is None or self._open.kind != kind:
            events = self._begin_item(kind)
        return [*events, self._delta(text, logprobs)]

    def _write_call(self, call: ToolCallDelta | CustomToolCallDelta) -> list[Event]:
        if isinstance(call, CustomToolCallDelta):
            kind, name, text = "custom_tool_call", call.custom.name, call.custom.input
        else:
            kind, name, text = "function_call", call.function.name, call.function.arguments
        events = []
        if call.id:
            self._calls += 1
            events = self._begin_item(kind, call_id=call.id, name=name)
        if text:
            events.append(self._delta(text))
        return events

    def _begin_item(self, kind: str, **fields: str) -> list[Event]:
        events = self._end_item("completed") if self._open is not None else []
        self._open = opened = _Item(kind, len(self.response["output"]), fields)
        events.append(self._event("response.output_item.added", output_index=opened.index, item=opened.item()))
        if opened.has_parts:
            events.append(self._part_event("added", opened))
        return events

    def _delta(self, text: str, logprobs: list[LogprobEntry] | None = None) -> Event:
        opened = self._open
        assert opened is not None
        opened.pieces.append(text)
        event = self._event(f"{_DELTAS[opened.kind]}.delta", **opened.place(), delta=text)
        if opened.kind == "message":
            event["logprobs"] = [entry.model_dump() for entry in logprobs or ()]
            opened.logprobs.extend(event["logprobs"])
        return event

    def _end_item(self, status: str) -> list[Event]:
        opened = self._open
        assert opened is not None
        self._open = None
        done = self._event(f"{_DELTAS[opened.kind]}.done", **opened.place())
        done[_TEXTS[opened.kind]] = opened.text
        if opened.kind == "message":
            done["logprobs"] = opened.logprobs
        elif opened.kind == "function_call":
            done["name"] = opened.fields["name"]
        events = [done]
        if opened.has_parts:
            events.append(self._part_event("done", opened))
        item = opened.item(status)
        self.response["output"].append(item)
        return [*events, self._event("response.output_item.done", output_index=opened.index, item=item)]

    def _part_event(self, what: str, opened: _Item) -> Event:
        return self._event(f"response.content_part.{what}", **opened.place(), part=opened.part())

    def _event(self, kind: str, **fields: Any) -> Event:
        event = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return event

    def _snapshot(self) -> dict[str, Any]:
        return {**self.response, "output": list(self.response["output"])}


class _Item:
    """The output item that grows."""

    def __init__(self, kind: str, index: int, fields: dict[str, str]) -> None:
        self.kind = kind
        self.index = index
        self.fields = fields
        self.pieces: list[str] = []
        self.logprobs: list[dict[str, Any]] = []
        self._id = new_id(kind)

    @property
    def has_parts(self) -> bool:
        return self.kind in ("message", "reasoning")

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def place(self) -> dict[str, Any]:
        """The keys by which an event says what it is about."""
        place: dict[str, Any] = {"item_id": self._id, "output_index": self.index}
        return {**place, "content_index": 0} if self.has_parts else place

    def part(self) -> dict[str, Any]:
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": self.text}
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": list(self.logprobs)}

    def item(self, status: str = "in_progress") -> dict[str, Any]:
        """The item as it is; one that has just begun has no parts yet."""
        item: dict[str, Any] = {"id": self._id, "type": self.kind, "status": status, **self.fields}
        if not self.has_parts:
            return {**item, _TEXTS[self.kind]: self.text}
        item["content"] = [] if status == "in_progress" else [self.part()]
        return {**item, "role": "assistant"} if self.kind == "message" else {**item, "summary": []}


def _tool(tool: FunctionTool | CustomTool) -> dict[str, Any]:
    plain = tool.model_dump(by_alias=True, exclude_none=True)
    return {**plain, "strict": tool.is_strict} if isinstance(tool, FunctionTool) else plain


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.prompt_tokens_details.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.completion_tokens_details.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _echo(request: ResponsesRequest) -> dict[str, Any]:
    """What the response repeats of its request, with what is the case where it said nothing."""
    reasoning, text, choice = request.reasoning, request.text, request.tool_choice
    return {
        "instructions": request.instructions,
        "metadata": request.metadata or {},
        "tools": [_tool(tool) for tool in request.tools or ()],
        "tool_choice": "auto" if choice is None else choice if isinstance(choice, str) else choice.model_dump(),
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_logprobs": request.top_logprobs or 0,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "previous_response_id": request.previous_response_id,
        "reasoning": {
            "effort": None if reasoning is None else reasoning.effort,
            "summary": None if reasoning is None else reasoning.summary,
        },
        "text": {
            "format": {"type": "text"} if text is None or text.format is None else text.format,
            "verbosity": None if text is None else text.verbosity,
        },
        "truncation": request.truncation or "disabled",
        "background": False,
        "store": request.store is not False,
        "service_tier": "default",
        "user": request.user,
        "safety_identifier": request.safety_identifier,
        "prompt_cache_key": request.prompt_cache_key,
    }
