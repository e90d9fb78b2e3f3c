"""What all routes share: made when the engine is up, dropped when the server stops."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.requests import Request

from engine_native import Compiler
from server.admission import Admission
from server.engines.base import Engine
from server.errors import ApiError
from server.lifecycle import Lifecycle
from server.metrics import Metrics
from server.response_store import ResponseStore
from server.settings import Settings
from structural_tags.formats import ModelFormat


@dataclass(frozen=True)
class ServerState:
    """Immutable references to objects that are safe to share between requests."""

    settings: Settings
    engine: Engine
    model_format: ModelFormat
    default_reasoning: bool
    compiler: Compiler
    compile_threads: ThreadPoolExecutor
    """Compiles run here, so that slow ones delay each other and not the event loop."""
    metrics: Metrics
    admission: Admission
    lifecycle: Lifecycle
    responses: ResponseStore
    system_fingerprint: str
    started: int
    """Unix time, the `created` of the model card."""

    def is_available(self) -> bool:
        """Whether a request that comes now can be answered."""
        return self.engine.is_healthy() and not self.lifecycle.hung

    def is_ready(self) -> bool:
        """Whether new requests are welcome."""
        return self.is_available() and not self.lifecycle.draining

    def check_model(self, name: str | None) -> None:
        """ApiError (404) when a client asks for a model that is not the one served."""
        if name is not None and name != self.engine.model_id:
            raise ApiError(
                f"the model {name[:256]!r} does not exist; this server has {self.engine.model_id!r}",
                status=404,
                param="model",
                code="model_not_found",
            )


def state_of(request: Request) -> ServerState:
    """The state of the app that serves `request`."""
    state = request.app.state.server
    assert isinstance(state, ServerState)
    return state
