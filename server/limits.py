"""How much a client may send, and how slowly: a body that says it is too long is refused unread, one that does not
come is not waited for.

The length of a body that does not say it is counted where it is read (`wire/body.py`).
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.errors import ApiError, too_large


class ReceiveLimits:
    """Plain ASGI. `seconds` count from the request's headers to the end of its body."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length) > self._max_bytes:
            await too_large(self._max_bytes).response()(scope, receive, send)
            return
        await self._app(scope, self._timed(receive), send)

    def _timed(self, receive: Receive) -> Receive:
        """`receive` that raises ApiError (408) past the deadline, until the body is there."""
        deadline = asyncio.get_running_loop().time() + self._seconds
        waiting = True

        async def in_time() -> Message:
            nonlocal waiting
            if not waiting:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise ApiError(
                    f"the request body did not arrive within {self._seconds:g} s", status=408, code="request_timeout"
                ) from error
            waiting = message["type"] == "http.request" and message.get("more_body", False)
            return message

        return in_time
