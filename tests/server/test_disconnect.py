"""A client that goes away frees its request in the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from server.engines.scripted import Script
from tests.server.asgi_client import Call
from tests.server.bodies import body
from tests.server.running import Running, running

pytestmark = pytest.mark.anyio


async def until(condition: Callable[[], object]) -> None:
    """Give the loop turns until `condition` holds; fails after 5 seconds."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


def assert_freed(server: Running) -> None:
    (request,) = server.engine.requests
    assert server.engine.aborted == [request.request_id]
    assert server.engine.running == set()
    text = server.app.state.server.metrics.exposition(b"").decode()
    assert 'strictserve_requests_total{outcome="disconnect"} 1.0' in text
    assert 'strictserve_requests_total{outcome="success"} 0.0' in text


@pytest.mark.parametrize("n", [1, 3])
async def test_hang_up_while_waiting_for_a_single_answer_aborts(n: int) -> None:
    async with running(Script(text="abc", stall_after=2)) as server:
        call = Call(server.app, body(n=n))
        await until(lambda: server.engine.running)
        call.hang_up()
        await call.ended()

        assert_freed(server)
        assert call.received == b""


async def test_hang_up_in_the_middle_of_a_stream_aborts() -> None:
    async with running(Script(text="abc", stall_after=2)) as server:
        call = Call(server.app, body(stream=True))
        await asyncio.wait_for(call.got_body.wait(), 5)
        call.hang_up()
        await call.ended()

        assert_freed(server)
        assert call.status == 200
        assert b"[DONE]" not in call.received


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/responses", {"input": "x"}),
        ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_hang_up_aborts_in_the_other_apis_too(path: str, fields: dict[str, Any], stream: bool) -> None:
    async with running(Script(text="abc", stall_after=2)) as server:
        call = Call(server.app, {**fields, "stream": stream}, path)
        await until(lambda: server.engine.running)
        if stream:
            await asyncio.wait_for(call.got_body.wait(), 5)
        call.hang_up()
        await call.ended()

        assert_freed(server)


async def test_hang_up_before_the_first_token_of_a_stream_aborts() -> None:
    async with running(Script(text="abc", stall_after=0)) as server:
        call = Call(server.app, body(stream=True))
        await until(lambda: server.engine.running)
        call.hang_up()
        await call.ended()

        assert_freed(server)


async def test_client_that_stays_is_not_aborted() -> None:
    async with running(Script(text="abc")) as server:
        call = Call(server.app, body(stream=True))
        await call.ended()

        assert call.received.endswith(b"data: [DONE]\n\n")
        assert server.engine.aborted == []
