"""For those who run the server: `/health`, `/ready`, `/metrics`, `/version`."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from server import __version__
from server.errors import unavailable
from server.metrics import CONTENT_TYPE
from server.state import state_of

router = APIRouter()


@router.get("/health")
async def health(request: Request) -> dict[str, str]:
    """200 only while the engine can generate; 503 otherwise: the process is to be replaced."""
    if not state_of(request).is_available():
        raise unavailable()
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request) -> dict[str, str]:
    """200 only while new requests are welcome; 503 otherwise, also while running ones end before a stop."""
    if not state_of(request).is_ready():
        raise unavailable()
    return {"status": "ok"}


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus text: the server's families, then the engine's."""
    state = state_of(request)
    return Response(state.metrics.exposition(state.engine.metrics()), media_type=CONTENT_TYPE)


@router.get("/version")
async def version() -> dict[str, str]:
    return {"version": __version__}
