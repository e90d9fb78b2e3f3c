"""`strictserve serve`: bind, load the model, serve, and leave with an exit code that tells the truth.

Exit codes: 0 after a signal to stop, 1 when it could not start or the engine died while serving.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
import time
from collections.abc import Callable

import uvicorn

from server.app import create_app
from server.engines.base import Engine, EngineError
from server.settings import Settings, SettingsError

Say = Callable[[str], None]


def serve(engine: Engine, settings: Settings, *, say: Say = print) -> int:
    """Serve until a signal comes or the engine dies; the process's exit code.

    `say` prints one line of progress. Must run in the main thread, which receives the signals.

    Raises:
        SettingsError: the address cannot be bound or the tool format is unknown. Nothing was loaded.
    """
    address = _bind(settings.server.host, settings.server.port)
    app = create_app(engine, settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        timeout_graceful_shutdown=settings.server.shutdown_seconds,
        lifespan="on",
    )
    # uvicorn raises the signal again after its clean shutdown; by then it has done its work.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop_loading)
    try:
        return asyncio.run(_serve(_Server(config, engine, settings, address, say), engine, say))
    except KeyboardInterrupt:
        say("strictserve: stopped while loading")
        return 0
    finally:
        address.close()


def _stop_loading(number: int, frame: object) -> None:
    raise KeyboardInterrupt


async def _serve(server: _Server, engine: Engine, say: Say) -> int:
    say(f"strictserve: loading {engine.model_id} ...")
    began = time.monotonic()
    try:
        await engine.start()
    except EngineError as error:
        say(f"strictserve: the engine did not start: {error}")
        await engine.close()
        return 1
    except BaseException:
        await engine.close()
        raise
    say(f"strictserve: loaded in {time.monotonic() - began:.1f} s")
    # From here on uvicorn has its own handlers; ours is only reached when it raises again at the end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
    try:
        await server.serve(sockets=[server.address])
    finally:
        await engine.close()
    if server.engine_died:
        say("strictserve: the engine died; leaving")
        return 1
    say("strictserve: stopped")
    return 0


class _Server(uvicorn.Server):
    """uvicorn's server, plus a line when it is ready and an eye on the engine."""

    def __init__(
        self,
        config: uvicorn.Config,
        engine: Engine,
        settings: Settings,
        address: socket.socket,
        say: Say,
    ) -> None:
        super().__init__(config)
        self.address = address
        self.engine_died = False
        self._engine = engine
        self._settings = settings
        self._say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._say(ready_line(self._engine.model_id, self._settings, self.address))

    async def on_tick(self, counter: int) -> bool:
        if not self._engine.is_healthy():
            self.engine_died = not self.should_exit
            return True
        return await super().on_tick(counter)


def _bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: a taken port is noticed before the model loads, and
    until the model is ready clients are refused instead of kept waiting."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(where)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise SettingsError(f"cannot bind {host} port {port}: {error.strerror or error}") from error
    return bound


_EXAMPLE_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 40},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}


def ready_line(model_id: str, settings: Settings, address: socket.socket) -> str:
    """Where the server is, and a request to paste into a shell of this machine."""
    name, port = address.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    body = {
        "model": model_id,
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [_EXAMPLE_TOOL],
        "tool_choice": "required",
        "max_tokens": 128,
    }
    key = ""
    if settings.server.api_key is not None:
        key = ' -H "Authorization: Bearer $STRICTSERVE_API_KEY"'
    return (
        f"strictserve: ready on {url}, model {model_id}. Try:\n\n"
        f"curl {url}/v1/chat/completions{key} -H 'Content-Type: application/json' "
        f"-d {shlex.quote(json.dumps(body))}\n"
    )
