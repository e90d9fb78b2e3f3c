"""A server on a real socket, for clients that are programs of their own: the scripted engine behind uvicorn."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import uvicorn

from server.app import create_app
from server.engines.scripted import Script, ScriptedEngine
from server.settings import Settings

CALL = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
"""A call as the Hermes format writes it."""


@dataclass(frozen=True)
class Listening:
    url: str
    """Without `/v1`."""
    engine: ScriptedEngine

    @property
    def v1(self) -> str:
        return f"{self.url}/v1"


@contextmanager
def listening(
    *answers: str,
    script: Mapping[str, Any] = MappingProxyType({}),
    tool_format: str = "hermes",
    max_model_len: int = 1 << 20,
    **tables: Mapping[str, Any],
) -> Iterator[Listening]:
    """`answers` are what the model says to the first requests, as far as the grammar lets it; `script` is more of the
    engine's script, `tables` are tables of the settings."""
    engine = ScriptedEngine(Script(answers=answers, **script), max_model_len=max_model_len)
    settings = Settings.model_validate({"model": {"tool_format": tool_format}, **tables})
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(engine, settings), log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server did not start in time"
            time.sleep(0.005)
        yield Listening(f"http://127.0.0.1:{bound.getsockname()[1]}", engine)
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()
