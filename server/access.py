"""Around every request: its id, its record, its line in the log, its trace.

An id that the client sends as `X-Request-Id` is taken if it is one word of at most 128 safe characters, else a new
one is made; the answer carries it. Plain ASGI, so that `receive` reaches the routes untouched.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import record
from server.errors import internal
from server.record import Record
from server.tracing import Tracer

log = logging.getLogger("strictserve")

_ID = re.compile(r"[A-Za-z0-9._:@+/=-]{1,128}")
_PROBES = frozenset({"/health", "/ready", "/metrics"})
_LONGEST_QUOTE = 64 << 10
"""Bytes of a request body that are logged, where bodies are."""


class AccessMiddleware:
    """The outermost one: even a refused request has an id and a line."""

    def __init__(self, app: ASGIApp, *, prompts: bool, tracer: Tracer | None) -> None:
        self._app = app
        self._prompts = prompts
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request = _Request(scope, record.begin(given if _ID.fullmatch(given) else f"req_{uuid.uuid4().hex}"))
        span: AbstractContextManager[Any] = nullcontext()
        if self._tracer is not None and scope["path"] not in _PROBES:
            span = self._tracer.request(scope["method"], scope["path"], headers, request.record)
        receiver = request.quoting(receive) if self._prompts else receive
        try:
            with span:
                await self._answer(request, scope, receiver, request.sending(send))
        finally:
            request.log()

    async def _answer(self, request: _Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if request.record.status is not None:
                raise  # what was sent cannot be taken back; the connection is cut
            await internal().response()(scope, receive, send)


class _Request:
    """One request as seen from outside."""

    def __init__(self, scope: Scope, facts: Record) -> None:
        self.record = facts
        self._scope = scope
        self._began = time.perf_counter()
        self._body: bytearray | None = None

    def sending(self, send: Send) -> Send:
        """`send`, with the id in the answer's headers."""

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.record.status = message["status"]
                self._scope["app"].state.server.metrics.responded(message["status"])
                MutableHeaders(scope=message)["x-request-id"] = self.record.request_id
            await send(message)

        return named

    def quoting(self, receive: Receive) -> Receive:
        """`receive`, remembering the body."""
        self._body = bytearray()

        async def remembered() -> Message:
            message = await receive()
            if message["type"] == "http.request" and self._body is not None:
                self._body += message.get("body", b"")[: _LONGEST_QUOTE - len(self._body)]
            return message

        return remembered

    def log(self) -> None:
        """The request's line. A request that got no answer has status 0: its client has gone."""
        scope = self._scope
        level = logging.DEBUG if scope["path"] in _PROBES and self.record.status == 200 else logging.INFO
        if not log.isEnabledFor(level):
            return
        client = scope.get("client")
        facts: dict[str, Any] = {
            "status": self.record.status or 0,
            "seconds": round(time.perf_counter() - self._began, 4),
            "client": client[0] if client else "",
        }
        for key, value in asdict(self.record).items():
            if key not in ("request_id", "status") and value is not None:
                facts[key] = round(value, 4) if isinstance(value, float) else value
        if self._body:
            facts["body"] = self._body.decode("utf-8", errors="replace")
        log.log(level, "%s %s", scope["method"], scope["path"], extra={"facts": facts})
