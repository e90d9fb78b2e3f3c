"""Settings of the server: one TOML file, overridden by the command line.

Every table and key is checked; an unknown key is an error that names it, so that a typing mistake never
silently leaves a default in place. `configs/server.toml` lists all keys with their defaults.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SettingsError(Exception):
    """The configuration cannot be used; the text names file and key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Table):
    """`[server]`: the HTTP side."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    """0 lets the system choose."""
    api_key: str | None = Field(default=None, min_length=1)
    """Clients must send it as a bearer token; None means no check."""
    max_body_bytes: int = Field(default=4 << 20, ge=1)
    max_json_depth: int = Field(default=128, ge=1, le=400)
    """Containers inside each other in a request body."""
    shutdown_seconds: int = Field(default=10, ge=0)
    """How long running requests may go on after the signal to stop."""


class ModelSettings(_Table):
    """`[model]`: which model, and how its text is read."""

    path: str | None = None
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
    threads: int = Field(default=8, ge=1)
    """Compiles at the same time. More than the cores: a slow one must not keep quick ones waiting."""


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
    responses: ResponsesSettings = ResponsesSettings()
    vllm: dict[str, Any] = Field(default_factory=dict)


def load_settings(path: Path | None, overrides: dict[str, dict[str, Any]]) -> Settings:
    """The file's settings (defaults without a file) with `overrides` (table -> key -> value) on top.

    Raises:
        SettingsError: the file cannot be read or a key is wrong.
    """
    tables: dict[str, Any] = {}
    if path is not None:
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{path}: {error}") from error
    for table, values in overrides.items():
        current = tables.setdefault(table, {})
        if not isinstance(current, dict):
            raise SettingsError(f"{path}: {table} must be a table")
        current.update(values)
    try:
        return Settings.model_validate(tables)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(step) for step in detail["loc"])
        raise SettingsError(f"{path or 'settings'}: {key}: {detail['msg']}") from error
