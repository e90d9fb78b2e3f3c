"""An ASGI client that can hang up, which httpx's in-process transport cannot."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import FastAPI


class Call:
    """One POST to the app, running in a task of its own."""

    def __init__(self, app: FastAPI, body: dict[str, Any], path: str = "/v1/chat/completions") -> None:
        self.status: int | None = None
        self.received = b""
        self.got_body = asyncio.Event()
        self._body: bytes | None = json.dumps(body).encode()
        self._gone = asyncio.Event()
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"content-type", b"application/json")],
            "client": ("test", 1),
            "server": ("test", 80),
        }
        self._task = asyncio.ensure_future(app(scope, self._receive, self._send))

    def hang_up(self) -> None:
        self._gone.set()

    async def ended(self) -> None:
        """The app is done with the request; fails if it is not within 5 seconds."""
        await asyncio.wait_for(self._task, 5)

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message.get("body"):
            self.received += message["body"]
            self.got_body.set()
