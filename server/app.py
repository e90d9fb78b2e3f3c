"""The FastAPI app: one engine, its routes, and what they share.

`create_app(engine, settings)` wires; the app's lifespan starts the engine, builds the compiler on its
vocabulary, and closes both. There is no module-level app and no global state.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI

from engine_native import Compiler
from server import __version__, errors
from server.anthropic_shape import AnthropicShape
from server.auth import ApiKeyMiddleware
from server.engines.base import Engine
from server.metrics import Metrics
from server.model_format import default_reasoning, resolve_format
from server.response_store import ResponseStore
from server.routes import chat, messages, models, operations, responses
from server.settings import Settings
from server.state import ServerState


def create_app(engine: Engine, settings: Settings) -> FastAPI:
    """An app that serves `engine`. Raises SettingsError when the tool format is not known."""
    model_format = resolve_format(settings.model)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not engine.is_healthy():  # the command line starts it before it listens
            await engine.start()
        compiler = Compiler(engine.vocabulary, cache_bytes=settings.compiler.cache_bytes)
        threads = ThreadPoolExecutor(settings.compiler.threads, thread_name_prefix="compile")
        app.state.server = ServerState(
            settings=settings,
            engine=engine,
            model_format=model_format,
            default_reasoning=default_reasoning(settings.model, model_format),
            compiler=compiler,
            compile_threads=threads,
            metrics=Metrics(compiler.stats),
            responses=ResponseStore(**settings.responses.model_dump()),
            system_fingerprint=_fingerprint(engine.model_id, model_format.name),
            started=int(time.time()),
        )
        try:
            yield
        finally:
            await engine.close()
            threads.shutdown(wait=False, cancel_futures=True)

    # The routes read bodies themselves, so a generated schema would be empty: no docs pages.
    app = FastAPI(
        title="strictserve",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    if settings.server.api_key is not None:
        app.add_middleware(ApiKeyMiddleware, api_key=settings.server.api_key)
    app.add_middleware(AnthropicShape)  # the last one added is the outermost
    for module in (chat, responses, messages, models, operations):
        app.include_router(module.router)
    errors.install(app)
    return app


def _fingerprint(model_id: str, format_name: str) -> str:
    """Changes when the same seed may give another answer: another version, model or format."""
    text = "\0".join((__version__, model_id, format_name))
    return "fp_" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
