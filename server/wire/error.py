"""The bodies of error answers, as models for descriptions; `server.errors` and `server.anthropic_shape` write them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    """The place in the request."""
    code: str | None


class ErrorBody(BaseModel):
    error: ErrorDetail


class AnthropicErrorDetail(BaseModel):
    type: str
    message: str


class AnthropicErrorBody(BaseModel):
    """Of `/v1/messages` and what is below it."""

    type: Literal["error"]
    error: AnthropicErrorDetail
