"""Limits on how many requests run and for how long: 429 and 504, as answers or as a stream's last event."""

from __future__ import annotations

import asyncio
import json

import pytest

from server.engines.scripted import Script
from tests.server.asgi_client import Call
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio

STALLED = Script(text="abcdef", stall_after=2)


async def test_request_past_the_limit_is_a_429_with_retry_after_and_later_ones_are_served() -> None:
    async with running(STALLED, max_requests=2) as server:
        calls = [Call(server.app, body(stream=True)) for _ in range(2)]
        for call in calls:
            await asyncio.wait_for(call.got_body.wait(), 5)
        refused = await server.chat(**body())
        calls[0].hang_up()
        await calls[0].ended()
        server.engine.script = Script()
        served = await server.chat(**body())
        calls[1].hang_up()
        await calls[1].ended()

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    error = refused.json()["error"]
    assert (error["type"], error["code"]) == ("rate_limit_error", "too_many_requests")
    assert served.status_code == 200
    assert server.app.state.server.admission.running == 0


async def test_requests_that_come_together_are_counted_one_by_one() -> None:
    async with running(max_requests=3) as server:
        answers = await asyncio.gather(*(server.chat(**body()) for _ in range(12)))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[:3] == [200, 200, 200]
    assert set(statuses) <= {200, 429}
    assert server.app.state.server.admission.running == 0


async def test_late_answer_is_a_504_and_is_aborted() -> None:
    async with running(STALLED, request_timeout_seconds=0.2) as server:
        response = await server.chat(**body())

    assert response.status_code == 504
    assert response.json()["error"]["code"] == "request_timeout"
    assert server.engine.aborted == [request.request_id for request in server.engine.requests]
    assert server.engine.running == set()


async def test_late_stream_ends_with_an_error_event() -> None:
    async with running(STALLED, request_timeout_seconds=0.2) as server:
        response = await server.chat(**body(stream=True))

    assert response.status_code == 200
    *_, last, rest = response.text.split("\n\n")
    assert rest == ""
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "request_timeout"
    assert server.engine.running == set()


async def test_request_that_is_in_time_is_not_disturbed() -> None:
    async with running(request_timeout_seconds=30) as server:
        response = await server.chat(**body())

    assert response.status_code == 200
