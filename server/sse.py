"""Server-sent events, and noticing that the client has gone.

An event is `data: <JSON>` and an empty line; `data: [DONE]` ends a stream that went well
(WHATWG HTML, "Server-sent events"; OpenAI's convention for the end mark).

uvicorn does not tell a sender that its peer is gone: only `receive` says so. Both kinds of answer
therefore run their work and a watch on `receive` side by side (`until_disconnect`); when the client
goes, the work is cancelled, and with it the engine's generator is closed, which aborts the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

DONE = b"data: [DONE]\n\n"


class ClientGone(Exception):  # noqa: N818 - an event, not a fault
    """The client closed its connection before the answer was complete."""


def event(json_text: str) -> bytes:
    """One event. `json_text` has no raw line breaks, as any JSON writer ensures."""
    return b"data: " + json_text.encode("utf-8") + b"\n\n"


def named_event(name: str, json_text: bytes) -> bytes:
    """One event with a name, as OpenAI's Responses and Anthropic's Messages have them."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + json_text + b"\n\n"


def error_event(body: dict[str, Any]) -> bytes:
    """The last event of a stream that failed; clients raise on the key "error"."""
    return event(json.dumps(body, ensure_ascii=True))


async def until_disconnect(receive: Receive, work: Awaitable[T]) -> T:
    """The result of `work`, or ClientGone; `work` has ended, cleaned up, when this returns.

    Call it only after the request body was read: `receive` then waits for the disconnect.
    """
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        for each in (task, watch):
            each.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


class EventStream(Response):
    """A response whose body is a started generator of events; the generator is always closed.

    `first` is the event that the generator has given already: closing a generator that never ran
    would skip its clean-up. The generator handles its own failures: once the status is sent, an
    error can only be an event.
    """

    def __init__(self, first: bytes, events: AsyncGenerator[bytes, None]) -> None:
        super().__init__(media_type="text/event-stream")
        self._first = first
        self._events = events
        del self.headers["content-length"]
        # Proxies (nginx) must not collect the stream.
        self.headers["cache-control"] = "no-cache"
        self.headers["x-accel-buffering"] = "no"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await until_disconnect(receive, self._send_all(send))
        except (ClientGone, OSError):
            return
        finally:
            await self._events.aclose()

    async def _send_all(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": self._first, "more_body": True})
        async for chunk in self._events:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
