"""Several generators as one: what they give, in the order in which it appears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


async def merged(sources: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[tuple[int, T], None]:
    """(number of the source, item) of all; ends with the last one. The first source that fails ends all others.

    Sources are closed however this ends; a slow reader slows them.
    """
    arrived: asyncio.Queue[tuple[int, T]] = asyncio.Queue(maxsize=2 * len(sources))

    async def pass_on(number: int, source: AsyncGenerator[T, None]) -> None:
        async with aclosing(source):
            async for item in source:
                await arrived.put((number, item))

    async def all_of_them() -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number, source in enumerate(sources):
                    group.create_task(pass_on(number, source))
        except ExceptionGroup as group_of_errors:
            raise group_of_errors.exceptions[0] from group_of_errors

    work = asyncio.ensure_future(all_of_them())
    try:
        while True:
            getting = asyncio.ensure_future(arrived.get())
            await asyncio.wait((getting, work), return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()
                break
            yield getting.result()
        while not arrived.empty():
            yield arrived.get_nowait()
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
