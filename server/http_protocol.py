"""uvicorn's HTTP/1.1 protocol with what it leaves open: slow or endless headers, bodies that nobody reads any more,
and an error body of ours for bytes that are no HTTP.

uvicorn bounds only the idle time between requests. Without bounds a client that sends a header line an hour, or one
that never ends, holds a connection (and in the second case memory) for as long as it likes.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.errors import ApiError

_LONGEST_HEADERS = 64 << 10
"""Bytes of request line and headers together."""
_LINGER_SECONDS = 2.0
"""After an early answer the rest of the body is thrown away for so long, so that the client reads the answer before
the connection is cut."""


def protocol(headers_seconds: float) -> type[asyncio.Protocol]:
    """The protocol class for `uvicorn.Config(http=...)`: headers must be there within `headers_seconds`."""

    class Bounded(BoundedProtocol):
        limit = headers_seconds

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Between requests nothing is timed here: uvicorn's keep-alive time counts."""

    limit: float

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._in_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._arm(self.limit, self._headers_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if not self._in_body:
            self._header_bytes += len(data)
            if self._deadline is None:
                self._arm(self.limit, self._headers_late)
        super().data_received(data)
        if not self._in_body and self._header_bytes > _LONGEST_HEADERS and not self.transport.is_closing():
            self._refuse(ApiError(f"request line and headers are longer than {_LONGEST_HEADERS} bytes", status=431))

    def on_headers_complete(self) -> None:
        self._disarm()
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._header_bytes = 0
        super().on_message_complete()
        if not self._answering():  # the rest of a body whose answer went out before: the connection can be used again
            self._arm(self.timeout_keep_alive, self.transport.close)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._arm(_LINGER_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self._refuse(ApiError("this is no HTTP/1.1 request"))

    def _answering(self) -> bool:
        """Whether a request of this connection has no whole answer yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _headers_late(self) -> None:
        if self._answering():  # an early next request; its time begins after this one
            self._arm(self.limit, self._headers_late)
        elif not self.transport.is_closing():
            self._refuse(ApiError(f"the headers did not arrive within {self.limit:g} s", status=408))

    def _refuse(self, error: ApiError) -> None:
        """Answer without the app, which has no request to answer, and close; only close inside of another answer."""
        if self._answering():
            self.transport.close()
            return
        body = json.dumps(error.body()).encode("ascii")
        head = f"HTTP/1.1 {error.status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode("ascii") + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _arm(self, seconds: float, late: Any) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(seconds, late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
