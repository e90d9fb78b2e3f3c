"""The body of every error answer, as a model for descriptions; `server.errors` writes it."""

from __future__ import annotations

from pydantic import BaseModel


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    """The place in the request."""
    code: str | None


class ErrorBody(BaseModel):
    error: ErrorDetail
