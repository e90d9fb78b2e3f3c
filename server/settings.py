"""Settings of the server: defaults, under one TOML file, under the environment, under the command line.

Every table and key is checked; an unknown key is an error that names it, so that a typing mistake never
silently leaves a default in place. `configs/server.toml` lists all keys with their defaults. The docstring of a
key is its text in `strictserve serve --help`, and `server/options.py` names its flag and its variable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator


class SettingsError(Exception):
    """The configuration cannot be used; the text names file and key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_list)]
"""One text or a list of them; commas between them in a variable or a flag."""


class ServerSettings(_Table):
    """`[server]`: the HTTP side."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 lets the system choose."""
    api_key: Texts = ()
    """Clients must send one of these keys as bearer token or x-api-key; without keys there is no check."""
    api_key_file: str | None = None
    """File with more keys, one a line; empty lines and lines that begin with # do not count."""
    open_paths: Texts = ("/health", "/ready", "/metrics")
    """Paths that need no key."""
    max_body_bytes: int = Field(default=4 << 20, ge=1)
    """Longer request bodies are a 413."""
    max_json_depth: int = Field(default=128, ge=1, le=400)
    """Containers inside each other in a request body; deeper ones are a 400."""
    playground: bool = True
    """Whether the page at / is there."""
    strict_fields: bool = False
    """Whether an unknown field of a request is a 400, not only named in a header."""
    max_requests: int | None = Field(default=None, ge=1)
    """Requests that generate or wait at the same time; more are a 429. None means no limit."""
    request_timeout_seconds: float | None = Field(default=None, gt=0)
    """From a request's arrival to the end of its answer; later is a 504. None means no limit."""
    receive_seconds: float = Field(default=30, gt=0)
    """How long a client may take to send a request's headers, and then its body."""
    shutdown_seconds: int = Field(default=10, ge=0)
    """How long running requests may go on after the signal to stop."""
    workers: int = Field(default=1, ge=1)
    """Only 1: one process serves one engine."""
    watchdog_seconds: float = Field(default=120, ge=0)
    """An engine that makes no step for so long while requests run counts as hung; 0 turns the watch off."""
    on_hang: Literal["exit", "report"] = "exit"
    """What a hung engine leads to: the way of on_engine_failure, or 503 until it makes a step."""
    on_engine_failure: Literal["exit", "restart"] = "exit"
    """After the engine died: leave with exit code 3, or begin again from loading the model."""

    @field_validator("workers")
    @classmethod
    def _one_worker(cls, workers: int) -> int:
        if workers > 1:
            raise ValueError(
                "one process serves one engine, and more workers would load the model again; more GPUs: [vllm] "
                "tensor_parallel_size or data_parallel_size; more servers: one process each, behind a load balancer"
            )
        return workers


class ModelSettings(_Table):
    """`[model]`: which model, and how its text is read."""

    path: str | None = None
    """Hugging Face model directory."""
    served_name: str | None = None
    """Name for clients; None means the last part of the path."""
    tool_format: str = "auto"
    """A name from `structural_tags.formats`, or "auto": told from the model's chat template."""
    chat_template: str | None = None
    """File with a chat template that replaces the model's own."""
    max_model_len: int | None = Field(default=None, ge=1)
    """Tokens; None means the model's own limit."""
    known_models: str | None = None
    """Folder with TOML files that map names of models to formats, asked when `tool_format` is "auto"; None means the
    one that comes with the server."""
    reasoning: Literal["auto", "on", "off"] = "auto"
    """Whether requests that do not say so reason; "auto" means the model's usual way."""
    strict_tools: Literal["requested", "always"] = "requested"
    """Whether arguments satisfy the schema of tools with `strict` only, or of all; names and form always hold."""
    complete_within_budget: bool = False
    """Whether constrained answers are whole at `max_tokens`, for requests that do not say so."""


class CompilerSettings(_Table):
    """`[compiler]`: the front end's grammar compiler."""

    cache_bytes: int = Field(default=128 << 20, ge=0)
    """What is kept beyond what live grammars need."""
    threads: int = Field(default=8, ge=1)
    """Compiles at the same time. More than the cores: a slow one must not keep quick ones waiting."""


class CorsSettings(_Table):
    """`[cors]`: which pages of other origins may call from a browser."""

    allow_origins: Texts = ()
    """Origins such as https://example.org; "*" is every origin; none means that no page of another origin may."""
    allow_origin_regex: str | None = None
    """A pattern that matches more origins whole."""
    allow_methods: Texts = ("GET", "POST", "DELETE", "OPTIONS")
    """Methods that such pages may use."""
    allow_headers: Texts = ("*",)
    """Request headers that such pages may send."""
    allow_credentials: bool = False
    """Whether such pages may send cookies; not with the origin "*"."""
    max_age: int = Field(default=600, ge=0)
    """Seconds for which browsers may remember the answer."""


class TlsSettings(_Table):
    """`[tls]`: HTTPS in place of HTTP."""

    certfile: str | None = None
    """PEM file with the certificate and its chain."""
    keyfile: str | None = None
    """PEM file with the private key; None means that it is in the certificate's file."""
    keyfile_password: str | None = None
    """Password of the private key."""
    ca_certs: str | None = None
    """PEM file of authorities; clients must show a certificate of one of them."""


class LogSettings(_Table):
    """`[log]`: what is written to standard error."""

    format: Literal["text", "json"] = "text"
    """One line of text, or one JSON object a line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """At info there is a line for each request but those to /health, /ready and /metrics; at debug for all."""
    prompts: bool = False
    """Whether request bodies, and errors that may quote them, are logged whole."""


class TracingSettings(_Table):
    """`[tracing]`: OpenTelemetry."""

    endpoint: str | None = None
    """OTLP over HTTP, such as http://localhost:4318; None means no traces."""
    service_name: str = "strictserve"
    """The resource attribute service.name."""


class ResponsesSettings(_Table):
    """`[responses]`: what `/v1/responses` remembers, for `previous_response_id` and to be read again."""

    max_entries: int = Field(default=1000, ge=0)
    """Past it the ones longest not used are forgotten; 0: nothing is kept."""
    max_bytes: int = Field(default=64 << 20, ge=0)
    """Of all of them, conversations included."""


class Settings(_Table):
    """All of it. `vllm` is handed to vLLM's engine arguments as it is."""

    server: ServerSettings = ServerSettings()
    model: ModelSettings = ModelSettings()
    compiler: CompilerSettings = CompilerSettings()
    cors: CorsSettings = CorsSettings()
    tls: TlsSettings = TlsSettings()
    log: LogSettings = LogSettings()
    tracing: TracingSettings = TracingSettings()
    responses: ResponsesSettings = ResponsesSettings()
    vllm: dict[str, Any] = Field(default_factory=dict)
    """Engine arguments of vLLM."""


Tables = dict[str, dict[str, Any]]
"""table -> key -> value, as a settings file has them."""


def load_settings(path: Path | None, *layers: tuple[Mapping[tuple[str, str], str], Tables]) -> Settings:
    """The file's settings (defaults without a file) with `layers` on top, the last one topmost.

    A layer is (names, tables): `names` says for (table, key) how the layer calls it, for error messages.
    Tables of settings merge key by key, a value replaces the one below it whole.

    Raises:
        SettingsError: the file cannot be read or a key is wrong.
    """
    merged: dict[str, Any] = {}
    if path is not None:
        try:
            merged = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{path}: {error}") from error
    origins: dict[tuple[str, ...], str] = {}
    for names, tables in layers:
        for table, values in tables.items():
            current = merged.setdefault(table, {})
            if not isinstance(current, dict):
                raise SettingsError(f"{path}: {table} must be a table")
            current.update(values)
            origins.update({(table, key): names.get((table, key), f"{table}.{key}") for key in values})
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        loc = tuple(str(step) for step in detail["loc"])
        place = origins.get(loc[:2]) or f"{path or 'settings'}: {'.'.join(loc)}"
        raise SettingsError(f"{place}: {detail['msg']}") from error
