"""A request's deadline: each wait for the engine ends there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from server.errors import ApiError

T = TypeVar("T")


async def within(items: AsyncGenerator[T, None], until: float) -> AsyncGenerator[T, None]:
    """The items, which are closed at the end, as long as each comes before `until` (`time.perf_counter()`).

    Raises:
        ApiError: 504. The generator that the wait was for has been cancelled then.
    """
    async with aclosing(items):
        while True:
            try:
                async with asyncio.timeout(until - time.perf_counter()):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise timed_out() from error
            yield item


def timed_out() -> ApiError:
    """The request took longer than the server allows."""
    return ApiError(
        "the request took longer than this server allows",
        status=504,
        kind="server_error",
        code="request_timeout",
    )
