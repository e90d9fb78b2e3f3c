"""API key check: everything under `/v1` needs the bearer token; health, metrics and version stay open."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.errors import ApiError


class ApiKeyMiddleware:
    """Plain ASGI, so that `receive` reaches the routes untouched and a disconnect is seen there."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._expected = api_key.encode("utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _protected(scope["path"]) and not self._authorised(scope):
            await _unauthorised().response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _authorised(self, scope: Scope) -> bool:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        # Header bytes arrive decoded as latin-1; undo that so that any UTF-8 key can be compared.
        given = token.strip().encode("latin-1")
        return scheme.lower() == "bearer" and hmac.compare_digest(given, self._expected)


def _protected(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def _unauthorised() -> ApiError:
    return ApiError(
        "missing or wrong API key: send it as 'Authorization: Bearer KEY'",
        status=401,
        kind="authentication_error",
        code="invalid_api_key",
    )
