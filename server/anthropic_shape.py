"""Errors of the Messages API in the shape that Anthropic's clients expect.

A layer outside of the routes and checks, so that the answers of the key check, of limits and of the router have that
shape as well:

    {"type": "error", "error": {"type": "invalid_request_error", "message": ...}}
"""

from __future__ import annotations

import json
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PATH = "/v1/messages"

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def error_body(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an error answer, and of a stream's error event."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


class AnthropicShape:
    """Plain ASGI, so that streams pass as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path == _PATH or path.startswith(_PATH + "/"):
            send = _Translated(send).send
        await self._app(scope, receive, send)


class _Translated:
    """Sends what it is given; of an error answer, the body in Anthropic's shape."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_error(self._start)
        else:
            await self._send(message)

    async def _send_error(self, start: Message) -> None:
        body = _error(start["status"], self._body)
        headers = [header for header in start["headers"] if header[0].lower() != b"content-length"]
        headers.append((b"content-length", str(len(body)).encode("ascii")))
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _error(status: int, body: bytes) -> bytes:
    """OpenAI's error body in Anthropic's shape; what is none stays as it is."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, TypeError, KeyError):
        return body
    return json.dumps(error_body(status, message), ensure_ascii=True).encode("ascii")
