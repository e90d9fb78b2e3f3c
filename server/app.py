"""The FastAPI app: one engine, its routes, and what they share.

`create_app(engine, settings)` wires; the app's lifespan starts the engine, builds the compiler on its
vocabulary, and closes both. There is no module-level app and no global state.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from engine_native import Compiler
from server import __version__, errors, openapi, playground
from server.access import AccessMiddleware
from server.admission import Admission
from server.anthropic_shape import AnthropicShape
from server.auth import ApiKeyMiddleware, api_keys
from server.engines.base import Engine
from server.lifecycle import Lifecycle
from server.limits import ReceiveLimits
from server.metrics import Metrics
from server.model_format import default_reasoning, resolve_format
from server.response_store import ResponseStore
from server.routes import chat, completions, messages, models, operations, responses, structured, tokens
from server.settings import CorsSettings, Settings, SettingsError
from server.state import ServerState
from server.tracing import Tracer
from server.watchdog import Watchdog


def create_app(engine: Engine, settings: Settings, lifecycle: Lifecycle | None = None) -> FastAPI:
    """An app that serves `engine`; `lifecycle` is shared with whoever stops the server.

    Raises:
        SettingsError: the tool format is not known, keys cannot be read, or traces cannot be sent.
    """
    model_format = resolve_format(settings.model)
    lifecycle = lifecycle or Lifecycle()
    tracer = None if settings.tracing.endpoint is None else Tracer(settings.tracing)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not engine.is_healthy():  # the command line starts it before it listens
            await engine.start()
        compiler = Compiler(engine.vocabulary, cache_bytes=settings.compiler.cache_bytes)
        threads = ThreadPoolExecutor(settings.compiler.threads, thread_name_prefix="compile")
        state = ServerState(
            settings=settings,
            engine=engine,
            model_format=model_format,
            default_reasoning=default_reasoning(settings.model, model_format),
            compiler=compiler,
            compile_threads=threads,
            metrics=Metrics(compiler.stats),
            admission=Admission(settings.server.max_requests),
            lifecycle=lifecycle,
            responses=ResponseStore(**settings.responses.model_dump()),
            system_fingerprint=_fingerprint(engine.model_id, model_format.name),
            started=int(time.time()),
        )
        state.metrics.watch_ready(state.is_ready)
        state.metrics.describe(version=__version__, model=engine.model_id, format=model_format.name)
        app.state.server = state
        watch: asyncio.Task[None] | None = None
        if settings.server.watchdog_seconds:
            watch = asyncio.create_task(Watchdog(engine, lifecycle, settings.server.watchdog_seconds).run())
        try:
            yield
        finally:
            if watch is not None:
                watch.cancel()
            await engine.close()
            if tracer is not None:
                await asyncio.to_thread(tracer.close)
            threads.shutdown(wait=False, cancel_futures=True)

    # The pages that FastAPI makes of the document load scripts from elsewhere.
    app = FastAPI(
        title="strictserve",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(ReceiveLimits, max_bytes=settings.server.max_body_bytes, seconds=settings.server.receive_seconds)
    keys = api_keys(settings.server)
    if keys:
        open_paths = (*settings.server.open_paths, *(playground.PATHS if settings.server.playground else ()))
        app.add_middleware(ApiKeyMiddleware, keys=keys, open_paths=open_paths)
    app.add_middleware(AnthropicShape)  # outside of the checks, whose answers it translates
    _allow_origins(app, settings.cors)
    app.add_middleware(AccessMiddleware, prompts=settings.log.prompts, tracer=tracer)
    for module in (chat, completions, responses, messages, models, operations, structured, tokens):
        app.include_router(module.router)
    if settings.server.playground:
        app.routes.extend(playground.routes())
    errors.install(app)
    openapi.install(app)
    return app


def _allow_origins(app: FastAPI, cors: CorsSettings) -> None:
    """Around the check of keys: a browser asks for permission without one."""
    if not cors.allow_origins and cors.allow_origin_regex is None:
        return
    if cors.allow_credentials and "*" in cors.allow_origins:
        raise SettingsError(
            'cors.allow_credentials: not with the origin "*", as any page could then act for its reader'
        )
    try:
        re.compile(cors.allow_origin_regex or "")
    except re.error as error:
        raise SettingsError(f"cors.allow_origin_regex: {error}") from error
    app.add_middleware(
        CORSMiddleware,
        allow_origins=cors.allow_origins,
        allow_origin_regex=cors.allow_origin_regex,
        allow_methods=cors.allow_methods,
        allow_headers=cors.allow_headers,
        allow_credentials=cors.allow_credentials,
        max_age=cors.max_age,
        expose_headers=("x-request-id", "x-strictserve-warning"),
    )


def _fingerprint(model_id: str, format_name: str) -> str:
    """Changes when the same seed may give another answer: another version, model or format."""
    text = "\0".join((__version__, model_id, format_name))
    return "fp_" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
