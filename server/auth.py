"""API keys: every path needs one but those that the settings leave open.

A key comes as `Authorization: Bearer KEY` (OpenAI's clients) or as `x-api-key: KEY` (Anthropic's). Digests are
compared, all of them each time, so that the time tells neither how much of a key was right nor which key it was.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterator
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.errors import ApiError
from server.settings import ServerSettings, SettingsError


def api_keys(settings: ServerSettings) -> tuple[str, ...]:
    """The keys of the settings and of the file that they name.

    Raises:
        SettingsError: the file cannot be read or has no key, which would leave the server open to everyone.
    """
    if settings.api_key_file is None:
        return settings.api_key
    try:
        lines = Path(settings.api_key_file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"server.api_key_file: {error}") from error
    keys = tuple(key for line in lines if (key := line.strip()) and not key.startswith("#"))
    if not keys:
        raise SettingsError(f"server.api_key_file: {settings.api_key_file} has no key")
    return (*settings.api_key, *keys)


class ApiKeyMiddleware:
    """Plain ASGI, so that `receive` reaches the routes untouched and a disconnect is seen there."""

    def __init__(self, app: ASGIApp, keys: Collection[str], open_paths: Collection[str]) -> None:
        self._app = app
        self._digests = [_digest(key.encode("utf-8")) for key in keys]
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self._open and not self._authorised(scope):
            await _unauthorised().response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _authorised(self, scope: Scope) -> bool:
        given = [_digest(key) for key in _given(Headers(scope=scope))]
        right = [hmac.compare_digest(one, known) for one in given for known in self._digests]
        return any(right)


def _given(headers: Headers) -> Iterator[bytes]:
    """The keys of a request. Header bytes arrive decoded as latin-1; undone, so that any UTF-8 key can be compared."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip().encode("latin-1")
    if "x-api-key" in headers:
        yield headers["x-api-key"].strip().encode("latin-1")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _unauthorised() -> ApiError:
    return ApiError(
        "missing or wrong API key: send it as 'Authorization: Bearer KEY'",
        status=401,
        kind="authentication_error",
        code="invalid_api_key",
    )
