"""`/v1/messages`: a chat request in Anthropic's words, its answer as content blocks.

A request's life: body -> Messages request -> chat request -> the same generation as a chat completion -> blocks and
events (`wire/anthropic/reply.py`). Errors get Anthropic's shape outside of the app (`anthropic_shape.py`).
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from server import record, serving, sse
from server.anthropic_shape import error_body
from server.engines.base import EngineError
from server.errors import ApiError
from server.generation import Generation, count_prompt, start
from server.state import ServerState, state_of
from server.wire.anthropic.reply import Event, MessageWriter
from server.wire.anthropic.request import CountRequest, MessagesRequest, Parsed, parse
from server.wire.body import parse_object
from server.wire.json_bytes import to_bytes

router = APIRouter()


@router.post("/v1/messages")
async def create_message(request: Request) -> Response:
    """Answer one request, as JSON or as a stream of events."""
    state = state_of(request)
    return await serving.answer(state, _respond(state, request))


@router.post("/v1/messages/count_tokens")
async def count_tokens(request: Request) -> dict[str, Any]:
    """Tokens of the prompt that a request would make; nothing is generated."""
    state = state_of(request)
    parsed = await serving.checked_body(state, request, lambda raw: _parse(state, raw, CountRequest))
    state.check_model(parsed.chat.model)
    try:
        return {"input_tokens": await count_prompt(state, parsed.chat)}
    except EngineError as error:
        raise parsed.names.told(serving.api_error(error)) from error


async def _respond(state: ServerState, request: Request) -> Response:
    arrived = time.perf_counter()
    parsed = await serving.checked_body(state, request, lambda raw: _parse(state, raw, MessagesRequest))
    state.check_model(parsed.chat.model)
    try:
        begun = serving.in_time(state, _begin(state, parsed, arrived), arrived)
        generation, limit_reason = await sse.until_disconnect(request.receive, begun)
        made = _Making(state, generation, parsed, limit_reason)
        if parsed.chat.stream:
            response: Response = await serving.stream(state, request, made)
        else:
            response = await sse.until_disconnect(request.receive, made.whole())
    except (ApiError, EngineError) as error:
        raise parsed.names.told(serving.api_error(error)) from error
    serving.add_headers(response, generation, parsed.names.text)
    response.headers["request-id"] = record.current().request_id
    return response


def _parse(state: ServerState, raw: bytes, model: type[CountRequest]) -> Parsed:
    server = state.settings.server
    body = parse_object(raw, max_depth=server.max_json_depth)
    return parse(body, model=model, max_depth=server.max_json_depth, strict=server.strict_fields)


async def _begin(state: ServerState, parsed: Parsed, arrived: float) -> tuple[Generation, str]:
    """The generation, and what it means when it is cut.

    `max_tokens` may be more than fits: clients of this API send what the largest models write. The context is the limit
    then, and the answer says so.
    """
    try:
        return await start(state, parsed.chat, arrived=arrived), "max_tokens"
    except ApiError as error:
        if error.code != "context_length_exceeded" or error.param != "max_completion_tokens":
            raise
    chat = parsed.chat.model_copy(update={"max_completion_tokens": None})
    return await start(state, chat, arrived=arrived), "model_context_window_exceeded"


class _Making:
    """One message while it is generated, as events or whole."""

    def __init__(self, state: ServerState, generation: Generation, parsed: Parsed, limit_reason: str) -> None:
        self._generation = generation
        self._names = parsed.names
        self._writer = MessageWriter(
            message_id="msg_" + generation.id.rpartition("-")[2],
            model=state.engine.model_id,
            shows_thinking=parsed.request.shows_thinking,
            limit_reason=limit_reason,
        )
        record.current().response_id = self._writer.message["id"]

    async def events(self) -> AsyncGenerator[bytes, None]:
        begun = False
        async with aclosing(self._generation.chunks()) as chunks:
            async for chunk in chunks:
                opening = [] if begun else self._writer.begin(self._generation.usage)
                begun = True
                for event in [*opening, *self._writer.push(chunk)]:
                    yield _encoded(event)

    def closing(self) -> Sequence[bytes]:
        return [_encoded(event) for event in self._finish()]

    def failing(self, error: ApiError) -> Sequence[bytes]:
        told = self._names.told(error)
        return [_encoded(error_body(told.status, told.message))]

    async def whole(self) -> Response:
        async with aclosing(self._generation.chunks()) as chunks:
            async for chunk in chunks:
                self._writer.push(chunk)
        self._finish()
        return Response(to_bytes(self._writer.message), media_type="application/json")

    def _finish(self) -> list[Event]:
        (answer,) = self._generation.answers
        return self._writer.finish(answer, self._generation.usage)


def _encoded(event: Event) -> bytes:
    return sse.named_event(event["type"], to_bytes(event))
