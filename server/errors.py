"""Errors as OpenAI's clients understand them.

Everything that goes wrong while a request is served becomes one `ApiError`, and every error answer is
`{"error": {"message", "type", "param", "code"}}`, all four keys present, `code` a string or null
(openai-openapi 2.3.0, schema `Error`). `param` names the place in the request, such as
`tools[1].function.parameters`. Clients retry 5xx and 429, so whatever a client can cause is another 4xx.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from server import record
from server.engines.base import EngineUnavailable

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request


class ApiError(Exception):
    """An answer other than 200. `status` is the HTTP status, `kind` the error object's `type`."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        pointer: str = "",
    ) -> None:
        """`pointer` leads, below `param`, to what is wrong (RFC 6901); the message names it too."""
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.pointer = pointer

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer, also used as the data of a stream's error event."""
        record.current().error = self.code or self.kind
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        }

    def response(self, more_headers: Mapping[str, str] | None = None) -> Response:
        """The whole answer. 401, 429 and 503 carry the header that HTTP asks for."""
        headers = dict(more_headers or {})
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.status in (429, 503):
            headers["retry-after"] = "1"
        # The message may quote what the client sent, lone surrogates included: stay in ASCII.
        return Response(
            json.dumps(self.body(), ensure_ascii=True),
            status_code=self.status,
            headers=headers,
            media_type="application/json",
        )


def refuse(param: str, reason: str, *, code: str = "invalid_value") -> NoReturn:
    """Raise the 400 for one place of the request."""
    raise ApiError(f"{param}: {reason}", param=param, code=code)


def too_large(max_bytes: int) -> ApiError:
    """The body is longer than the settings allow."""
    return ApiError(f"the request body is longer than {max_bytes} bytes", status=413, code="request_too_large")


def unavailable() -> ApiError:
    """The engine is starting, stopping or dead."""
    return ApiError(
        "the engine cannot generate at the moment",
        status=503,
        kind="server_error",
        code="engine_unavailable",
    )


def internal() -> ApiError:
    """Our own fault. The cause is in the log, not in the answer."""
    return ApiError(
        "the server had an error while processing the request",
        status=500,
        kind="server_error",
        code="internal_error",
    )


_HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


def install(app: FastAPI) -> None:
    """Give every error answer of the app OpenAI's shape, those of the router included.

    What no handler knows is our own fault, and `server/access.py` answers it, so that it has a request id too.
    """

    async def on_api_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return error.response()

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = "server_error" if error.status_code >= 500 else "invalid_request_error"
        return ApiError(
            f"{request.method} {request.url.path}: {error.detail}",
            status=error.status_code,
            kind=kind,
            code=_HTTP_CODES.get(error.status_code),
        ).response(error.headers)

    async def on_wrong_value(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return ApiError(str(error.errors()[0]["msg"]), code="invalid_value").response()

    async def on_engine_down(_: Request, error: Exception) -> Response:
        return unavailable().response()

    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_wrong_value)
    app.add_exception_handler(EngineUnavailable, on_engine_down)
