"""The page at `/`: static files without a build step, which call the API that stands beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing but what this server sends; no inline scripts, no frames."""

_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/playground.js": ("playground.js", "text/javascript; charset=utf-8"),
    "/playground.css": ("playground.css", "text/css; charset=utf-8"),
}
PATHS = tuple(_FILES)
"""Paths that need no key: the page has no secrets, and what it sends carries the key that one types into it."""


def routes() -> list[Route]:
    """GET and HEAD for each file."""
    return [Route(path, _file(name, media_type)) for path, (name, media_type) in _FILES.items()]


def _file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    content = files(__name__).joinpath(name).read_bytes()
    headers = {
        "content-security-policy": POLICY,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }

    async def answer(_request: Request) -> Response:
        return Response(content, media_type=media_type, headers=headers)

    return answer
