"""`POST /v1/structured/validate`: what it takes and what it answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from server.wire.base import Items
from server.wire.chat_request import ChatRequest
from server.wire.messages import Message


class ValidationRequest(ChatRequest):
    """A chat request; nobody reads the messages."""

    messages: Items[Message] = Field(default_factory=list)


class CompiledPart(BaseModel):
    """One schema, pattern, grammar or tag of the request, compiled alone."""

    param: str
    """Its place in the request."""
    memory_bytes: int
    notes: list[str]
    """Annotations that are not enforced, such as an unknown `format`."""


class Level(BaseModel):
    hits: int
    misses: int


class Cache(BaseModel):
    """The compiler's cache: by level what this request found, and what it holds now."""

    levels: dict[str, Level]
    compile_seconds: float
    bytes: int
    grammars: int
    rules: int


class Failure(BaseModel):
    """The error that the chat request would get, and its place in more detail where that is known."""

    message: str
    type: str
    param: str | None
    code: str | None
    pointer: str | None = None
    """JSON pointer below `param`."""
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    """Bytes from the beginning of the text of a pattern, a grammar or a JSON text."""


class Validation(BaseModel):
    object: Literal["structured.validation"]
    valid: bool
    model: str
    format: str
    """The model's format, for which tools and reasoning were compiled."""
    seconds: float
    """Checks and compiles together."""
    constrained: bool | None = None
    """False: nothing constrains the answer."""
    structural_tag: dict[str, Any] | None = None
    """What the answer must match as a whole."""
    memory_bytes: int | None = None
    least_tokens: int | None = None
    """Of a whole answer, its stop token included; null where that cannot be told."""
    parts: list[CompiledPart] | None = None
    notes: list[str] | None = None
    warnings: list[str] | None = None
    error: Failure | None = None
    cache: Cache
