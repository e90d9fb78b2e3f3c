"""`response_format`: OpenAI's three kinds, and structural tags."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from server.wire.base import Wire
from server.wire.structural_tag import StructuralTagFormat

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$", min_length=1, max_length=128)]
"""Function and schema names. OpenAI allows 64 of `[A-Za-z0-9_-]`; MCP servers use dots and more length."""


class TextFormat(Wire):
    type: Literal["text"]


class JsonObjectFormat(Wire):
    type: Literal["json_object"]


class JsonSchema(Wire):
    """`strict` is read and not obeyed: every schema is enforced."""

    name: Name
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Wire):
    type: Literal["json_schema"]
    json_schema: JsonSchema


ResponseFormat = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat,
    Field(discriminator="type"),
]
