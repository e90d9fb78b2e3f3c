"""`strictserve serve`: bind, load the model, serve, and leave with an exit code that tells the truth.

Exit codes: 0 after a signal to stop, 1 when it could not start, 3 when the engine died or hung while serving and nobody
asked to stop.

A signal to stop drains: no new connection, running requests may end for `shutdown_seconds`, then the engine aborts
what is left, which clients of streams see as an error event. A second signal skips the waiting.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import signal
import socket
import ssl
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from server import logs
from server.app import create_app
from server.engines.base import Engine, EngineError
from server.http_protocol import protocol
from server.lifecycle import Lifecycle
from server.settings import Settings, SettingsError, TlsSettings

ENGINE_FAILED = 3
"""Exit code after the engine died or hung."""

_KEEP_ALIVE_SECONDS = 75
"""How long a connection may be idle. Longer than clients keep one (httpx, and with it OpenAI's client: 5 s; load
balancers: 60 s): else we close it as they send their next request, which is lost."""
_LAST_WORDS_SECONDS = 2
"""After the engine has aborted what ran, answers may be written for so long."""
_CLOSE_SECONDS = 30
"""The engine may take so long to stop."""

log = logging.getLogger("strictserve")

Say = Callable[[str], None]


def serve(engine: Engine, settings: Settings, *, say: Say = print) -> int:
    """Serve until a signal comes or the engine dies; the process's exit code.

    `say` prints one line of progress. Must run in the main thread, which receives the signals.

    Raises:
        SettingsError: the address cannot be bound or the tool format is unknown. Nothing was loaded.
    """
    logs.configure(settings.log)
    if settings.log.format == "json":
        say = log.info
    context = _tls(settings.tls)
    address = _bind(settings.server.host, settings.server.port)
    lifecycle = Lifecycle()
    app = create_app(engine, settings, lifecycle)
    config = uvicorn.Config(
        app,
        http=protocol(settings.server.receive_seconds),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        workers=1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
        lifespan="on",
        ssl_context_factory=None if context is None else lambda config, default: context,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop_loading)
    server = _Server(config, engine, settings, lifecycle, address, say)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            code = runner.run(_serve(server, engine, say))
        return 0 if server.signals else code
    except KeyboardInterrupt:
        say("strictserve: stopped while loading")
        return 0
    finally:
        address.close()


def _stop_loading(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _tls(settings: TlsSettings) -> ssl.SSLContext | None:
    """The context of the files, or None for HTTP. Raises SettingsError when they cannot be used."""
    if settings.certfile is None:
        if settings != TlsSettings():
            raise SettingsError("tls.certfile: the other keys of [tls] need it")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # A password function, so that a missing password is an error and no question on the terminal.
    password = settings.keyfile_password or ""
    try:
        context.load_cert_chain(settings.certfile, settings.keyfile, lambda: password)
        if settings.ca_certs is not None:
            context.load_verify_locations(settings.ca_certs)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (settings.certfile, settings.keyfile, settings.ca_certs) if file)
        raise SettingsError(f"tls: {files}: {error}") from error
    return context


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
    # uvicorn has handlers of its own while it serves, and raises what they caught again at its end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: server.signals.append(number))
    try:
        await server.serve(sockets=[server.address])
    finally:
        await _close(engine)
    if server.failure is not None and not server.signals:
        say(f"strictserve: {server.failure}; leaving")
        return ENGINE_FAILED
    say("strictserve: stopped")
    return 0


async def _close(engine: Engine) -> None:
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await engine.close()
    except TimeoutError:
        log.error("the engine did not stop within %d s", _CLOSE_SECONDS)


class _Server(uvicorn.Server):
    """uvicorn's server, plus a line when it is ready, an eye on the engine and a gentle end."""

    def __init__(
        self,
        config: uvicorn.Config,
        engine: Engine,
        settings: Settings,
        lifecycle: Lifecycle,
        address: socket.socket,
        say: Say,
    ) -> None:
        super().__init__(config)
        self.address = address
        self.failure: str | None = None
        """What happened to the engine, unless a signal came first."""
        self.signals: list[int] = []
        """Signals to stop."""
        self._engine = engine
        self._settings = settings
        self._lifecycle = lifecycle
        self._say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._say(ready_line(self._engine.model_id, self._settings, self.address))

    async def on_tick(self, counter: int) -> bool:
        if not self.should_exit:
            if not self._engine.is_healthy():
                self.failure = "the engine died"
            elif self._lifecycle.hung and self._settings.server.on_hang == "exit":
                self.failure = "the engine hangs"
        return self.failure is not None or await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._lifecycle.draining = True
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.failure is None:
            await self._drain(self._settings.server.shutdown_seconds)
        await _close(self._engine)
        await super().shutdown(sockets)

    async def _drain(self, seconds: float) -> None:
        """Until no request runs, or `seconds` are over, or the engine fails, or another signal comes."""
        running = len(self.server_state.tasks)
        if running:
            self._say(f"strictserve: stopping; {running} requests may end within {seconds:g} s")
        deadline = time.monotonic() + seconds
        while (self.server_state.tasks or self.server_state.connections) and time.monotonic() < deadline:
            if self.force_exit or not self._engine.is_healthy() or self._lifecycle.hung:
                return
            await asyncio.sleep(0.05)


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
    scheme = "http" if settings.tls.certfile is None else "https"
    url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    body = {
        "model": model_id,
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [_EXAMPLE_TOOL],
        "tool_choice": "required",
        "max_tokens": 128,
    }
    key = ""
    if settings.server.api_key or settings.server.api_key_file:
        key = ' -H "Authorization: Bearer $STRICTSERVE_API_KEY"'
    return (
        f"strictserve: ready on {url}, model {model_id}. Try:\n\n"
        f"curl {url}/v1/chat/completions{key} -H 'Content-Type: application/json' "
        f"-d {shlex.quote(json.dumps(body))}\n"
    )
