"""An engine that hangs is seen, and one that only waits or works slowly is not taken for one."""

from __future__ import annotations

import asyncio

import pytest

from server.engines.base import Activity
from server.engines.scripted import Script, ScriptedEngine
from server.lifecycle import Lifecycle
from server.watchdog import Watchdog
from tests.server.asgi_client import Call
from tests.server.bodies import body
from tests.server.running import running


class Engine(ScriptedEngine):
    now = Activity(running=0, steps=0)

    def activity(self) -> Activity:
        return self.now


def hung(*moments: tuple[float, int, int]) -> list[bool]:
    """(time, running, steps) of each look -> whether the engine hangs, for a watch of 4 seconds."""
    time = 0.0
    engine, lifecycle = Engine(), Lifecycle()
    watchdog = Watchdog(engine, lifecycle, 4, clock=lambda: time)
    seen = []
    for time, running_now, steps in moments:  # noqa: B007 - the clock reads it
        engine.now = Activity(running_now, steps)
        watchdog.look()
        seen.append(lifecycle.hung)
    return seen


def test_no_step_while_requests_run_is_a_hang() -> None:
    assert hung((0, 1, 5), (1, 1, 5), (2, 1, 5), (3, 1, 5), (4, 1, 5), (5, 1, 5)) == [False] * 4 + [True] * 2


def test_steps_end_a_hang() -> None:
    moments = [(float(time), 1, 5 if time < 6 else 6) for time in range(11)]

    assert hung(*moments) == [False] * 4 + [True] * 2 + [False] * 4 + [True]


def test_hang_ends_with_the_requests() -> None:
    assert hung(*((float(time), 1, 5) for time in range(5)), (5, 0, 5))[-2:] == [True, False]


def test_idle_engine_does_not_hang_and_idle_time_does_not_count() -> None:
    idle = [(float(time), 0, 5) for time in range(10)]
    busy = [(float(time), 1, 5) for time in range(10, 15)]

    assert hung(*idle, *busy) == [False] * 14 + [True]


def test_slow_steps_are_no_hang() -> None:
    assert not any(hung(*((float(time), 1, time // 3) for time in range(30))))


def test_busy_event_loop_is_no_hung_engine() -> None:
    assert hung((0, 1, 5), (100, 1, 5), (101, 1, 6)) == [False, False, False]


@pytest.mark.anyio
async def test_hung_engine_is_unhealthy_and_refuses() -> None:
    async with running(Script(text="abc", stall_after=1), watchdog_seconds=0.05) as server:
        call = Call(server.app, body(stream=True))
        await asyncio.wait_for(call.got_body.wait(), 5)
        async with asyncio.timeout(5):
            while (await server.http.get("/health")).status_code == 200:
                await asyncio.sleep(0.01)
        answers = [await server.http.get("/ready"), await server.chat(**body())]
        call.hang_up()
        await call.ended()
        async with asyncio.timeout(5):
            while (await server.http.get("/health")).status_code != 200:
                await asyncio.sleep(0.01)

    for answer in answers:
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "engine_unavailable"
