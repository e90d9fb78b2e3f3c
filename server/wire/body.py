"""Bytes of a request body, or a JSON text inside of one -> JSON value, strictly.

Python's reader is more generous than RFC 8259: it takes NaN, turns 1e999 into infinity, lets lone
surrogates through and guesses encodings. Each of those would surface later as a 500, so they end here.

Cost: one pass of the C reader plus one walk over the value; linear in the
length, which `read_body` bounds.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from server.errors import ApiError, too_large

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_body(request: Request, *, max_bytes: int) -> bytes:
    """The whole body; ApiError (413) past `max_bytes`."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise too_large(max_bytes)
        chunks.append(chunk)
    return b"".join(chunks)


def parse_object(body: bytes, *, max_depth: int) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        ApiError: 400 for anything that is not one JSON object in UTF-8 with finite numbers, at most
            `max_depth` containers deep.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(f"byte {error.start} is not UTF-8") from error
    try:
        value = parse_text(text, max_depth=max_depth)
    except ValueError as error:
        raise _invalid(str(error)) from error
    if not isinstance(value, dict):
        raise _invalid("it must be an object")
    return value


def parse_text(text: str, *, max_depth: int) -> Any:
    """Any one JSON value under the same rules; ValueError says what is wrong with it."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from error
    _check(value, max_depth)
    return value


def _invalid(reason: str) -> ApiError:
    return ApiError(f"the request body is not valid JSON: {reason}", code="invalid_json")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise ValueError(f"the number {shown} is out of range")
    return number


def _check(value: Any, max_depth: int) -> None:
    """Refuse deep nesting and lone surrogates. A loop, not recursion: depth is the client's choice."""
    level = [value]
    depth = 0
    while level:
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                for key in item:
                    _check_text(key)
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        depth += 1
        if deeper and depth > max_depth:
            raise _too_deep(max_depth)
        level = deeper


def _too_deep(max_depth: int) -> ValueError:
    return ValueError(f"nested deeper than {max_depth} levels")


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        unit = ord(text[error.start])
        raise ValueError(f"\\u{unit:04x} is half of a surrogate pair") from error
