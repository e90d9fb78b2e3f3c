"""`POST /v1/chat/completions`.

A request's life: body -> checked request -> plan and prompt (`generation.start`) -> engine -> answer. Until
the first event of a stream is ready, failures are ordinary error answers; after it they are the last event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from server import sse
from server.engines.base import EngineUnavailable, PromptError
from server.errors import ApiError, internal, unavailable
from server.generation import Generation, start
from server.metrics import Outcome
from server.state import ServerState, state_of
from server.wire.body import parse_object, read_body
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.chat_response import ChatChunk, ChatCompletion, ChunkChoice, Usage

log = logging.getLogger("strictserve")
router = APIRouter()

_CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a request whose client has gone; nobody reads it but the access log."""


_LONG_BODY = 64 << 10
"""Bytes; longer ones are parsed off the event loop (about 0.2 s per MB at worst, measured)."""


@router.post("/v1/chat/completions")
async def chat_completions(request: Request) -> Response:
    """Answer one chat request, as JSON or as a stream of events."""
    state = state_of(request)
    try:
        response = await _respond(state, request)
    except (sse.ClientGone, ClientDisconnect):
        state.metrics.request_ended("disconnect")
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    except Exception as error:
        failure = _api_error(error)
        state.metrics.request_ended("invalid" if failure.status < 500 else "error")
        raise failure from error
    if not isinstance(response, sse.EventStream):
        state.metrics.request_ended("success")
    return response


async def _respond(state: ServerState, request: Request) -> Response:
    arrived = time.perf_counter()
    raw = await read_body(request, max_bytes=state.settings.server.max_body_bytes)
    if len(raw) > _LONG_BODY:
        chat = await asyncio.to_thread(_parse, state, raw)
    else:
        chat = _parse(state, raw)
    state.check_model(chat.model)
    generation = await sse.until_disconnect(request.receive, start(state, chat, arrived=arrived))
    if chat.stream:
        events = _Events(state, generation, include_usage=chat.include_usage)
        # Started here, under the watch, so that its clean-up runs however the response ends.
        stream = events.run()
        first = await sse.until_disconnect(request.receive, anext(stream))
        response: Response = sse.EventStream(first, stream)
    else:
        work = _complete(state, generation)
        completion = await sse.until_disconnect(request.receive, work)
        response = Response(completion.to_json(), media_type="application/json")
    if generation.warning is not None:
        one_line = " ".join(generation.warning.encode("ascii", "backslashreplace").decode("ascii").split())
        response.headers["x-strictserve-warning"] = one_line
    return response


def _parse(state: ServerState, raw: bytes) -> ChatRequest:
    depth = state.settings.server.max_json_depth
    return parse_chat_request(parse_object(raw, max_depth=depth), max_depth=depth)


async def _complete(state: ServerState, generation: Generation) -> ChatCompletion:
    async with aclosing(generation.chunks()) as chunks:
        async for _ in chunks:
            pass  # the answers fold what they return
    return ChatCompletion(
        id=generation.id,
        object="chat.completion",
        created=generation.created,
        model=state.engine.model_id,
        choices=[answer.choice() for answer in generation.answers],
        usage=generation.usage,
        system_fingerprint=state.system_fingerprint,
    )


class _Events:
    """The events of one stream, and how the stream ended."""

    def __init__(self, state: ServerState, generation: Generation, *, include_usage: bool) -> None:
        self._state = state
        self._generation = generation
        self._include_usage = include_usage

    async def run(self) -> AsyncGenerator[bytes, None]:
        """Raises only before the first event; the route counts that. Later failures are events."""
        sent = False
        outcome: Outcome = "disconnect"  # what it is if we are closed at a yield
        try:
            async with aclosing(self._generation.chunks()) as chunks:
                async for choice in chunks:
                    event = self._event([choice], None)
                    sent = True
                    yield event
            if self._include_usage:
                yield self._event([], self._generation.usage)
            outcome = "success"
            yield sse.DONE
        except Exception as error:
            if not sent:
                raise
            outcome = "error"
            yield sse.error_event(_api_error(error).body())
        finally:
            if sent:
                self._state.metrics.request_ended(outcome)

    def _event(self, choices: list[ChunkChoice], usage: Usage | None) -> bytes:
        chunk = ChatChunk(
            id=self._generation.id,
            object="chat.completion.chunk",
            created=self._generation.created,
            model=self._state.engine.model_id,
            choices=choices,
            system_fingerprint=self._state.system_fingerprint,
        )
        if self._include_usage:
            chunk.usage = usage
        return sse.event(chunk.to_json())


def _api_error(error: Exception) -> ApiError:
    """What the client is told; our own faults go to the log whole and to the client as one sentence."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, EngineUnavailable):
        return unavailable()
    if isinstance(error, PromptError):
        return ApiError(f"messages: {error}", param="messages", code="invalid_value")
    log.error("a chat request failed", exc_info=error)
    return internal()
