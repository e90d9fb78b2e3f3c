"""The body of every error answer of the Messages API, and the data of a stream's error event."""

from __future__ import annotations

from typing import Literal

from server.wire.base import Answer


class ErrorDetail(Answer):
    type: Literal[
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "rate_limit_error",
        "api_error",
        "overloaded_error",
        "timeout_error",
    ]
    message: str


class MessagesErrorBody(Answer):
    type: Literal["error"]
    error: ErrorDetail
