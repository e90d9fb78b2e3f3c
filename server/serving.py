"""What every generating route does around its own translation: read and check the body, watch the client, tell
failures apart, count how the request ended.

A route gives a `respond` that makes the response. A stream is an `EventSource`: until its first event is ready,
failures are ordinary error answers; after it they are the stream's last events.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from server import sse
from server.deadline import timed_out
from server.engines.base import EngineUnavailable, PromptError
from server.errors import ApiError, internal, unavailable
from server.generation import Generation
from server.metrics import Outcome
from server.state import ServerState
from server.wire.body import read_body

log = logging.getLogger("strictserve")

T = TypeVar("T")

_CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a request whose client has gone; nobody reads it but the access log."""

_LONG_BODY = 64 << 10
"""Bytes; longer ones are parsed off the event loop (about 0.2 s per MB at worst, measured)."""


class EventSource(Protocol):
    """The events of one stream. `closing` and `failing` are called once, one or the other, after `events`."""

    def events(self) -> AsyncGenerator[bytes, None]:
        """All but the last ones; raises what the engine raises."""
        ...

    def closing(self) -> Sequence[bytes]:
        """What ends a stream that went well."""
        ...

    def failing(self, error: ApiError) -> Sequence[bytes]:
        """What ends a stream that failed."""
        ...


async def answer(state: ServerState, respond: Awaitable[Response]) -> Response:
    """The response of a route, its outcome counted; that of a stream is counted when it ends.

    Raises:
        ApiError: whatever went wrong.
    """
    try:
        response = await respond
    except (sse.ClientGone, ClientDisconnect):
        state.metrics.request_ended("disconnect")
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    except Exception as error:
        failure = api_error(error)
        state.metrics.request_ended("invalid" if failure.status < 500 else "error")
        raise failure from error
    if not isinstance(response, sse.EventStream):
        state.metrics.request_ended("success")
    return response


async def checked_body(state: ServerState, request: Request, parse: Callable[[bytes], T]) -> T:
    """What `parse` makes of the body, off the event loop when that may take long."""
    raw = await read_body(request, max_bytes=state.settings.server.max_body_bytes)
    if len(raw) > _LONG_BODY:
        return await asyncio.to_thread(parse, raw)
    return parse(raw)


async def off_the_loop(state: ServerState, work: Callable[[], T]) -> T:
    """The result of `work`, made on one of the threads that compile."""
    return await asyncio.get_running_loop().run_in_executor(state.compile_threads, work)


async def in_time(state: ServerState, work: Awaitable[T], arrived: float) -> T:
    """The result of `work`; ApiError (504) if the request, which came at `arrived`, takes too long."""
    seconds = state.settings.server.request_timeout_seconds
    try:
        async with asyncio.timeout(None if seconds is None else arrived + seconds - time.perf_counter()):
            return await work
    except TimeoutError as error:
        raise timed_out() from error


async def stream(state: ServerState, request: Request, source: EventSource) -> sse.EventStream:
    """A response that sends the source's events, its first one ready."""
    events = _counted(state, source)
    # Started here, under the watch, so that its clean-up runs however the response ends.
    first = await sse.until_disconnect(request.receive, anext(events))
    return sse.EventStream(first, events)


async def drain(generation: Generation) -> None:
    """Generate all of it; the answers fold what they return."""
    async with aclosing(generation.chunks()) as chunks:
        async for _ in chunks:
            pass


async def drain_all(generations: Sequence[Generation]) -> None:
    """The same for several at once; the first failure ends all of them."""
    try:
        async with asyncio.TaskGroup() as group:
            for generation in generations:
                group.create_task(drain(generation))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors


def add_headers(
    response: Response, generation: Generation, worded: Callable[[str], str] = lambda warning: warning
) -> None:
    """What was not done as wished, `worded` for the client."""
    if generation.warning is not None:
        one_line = " ".join(worded(generation.warning).encode("ascii", "backslashreplace").decode("ascii").split())
        response.headers["x-strictserve-warning"] = one_line


def api_error(error: Exception) -> ApiError:
    """What the client is told; our own faults go to the log whole and to the client as one sentence."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, EngineUnavailable):
        return unavailable()
    if isinstance(error, PromptError):
        param = error.param or "messages"
        return ApiError(f"{param}: {error}", param=param, code="invalid_value")
    log.error("a request failed", exc_info=error)
    return internal()


async def _counted(state: ServerState, source: EventSource) -> AsyncGenerator[bytes, None]:
    """Raises only before the first event; `answer` counts that. Later failures are events."""
    sent = False
    outcome: Outcome = "disconnect"  # what it is if we are closed at a yield
    try:
        async with aclosing(source.events()) as events:
            async for event in events:
                sent = True
                yield event
        last = source.closing()
        outcome = "success"
        for event in last:
            yield event
    except Exception as error:
        if not sent:
            raise
        outcome = "error"
        for event in source.failing(api_error(error)):
            yield event
    finally:
        if sent:
            state.metrics.request_ended(outcome)
