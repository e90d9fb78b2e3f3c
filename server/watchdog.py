"""Sees an engine that hangs: requests run, and no step is made.

An engine whose process is dead says so itself. One that is stuck (a kernel that never returns, a stopped process)
looks alive from outside; only the missing steps tell.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from server.engines.base import Engine
from server.lifecycle import Lifecycle

log = logging.getLogger("strictserve")


class Watchdog:
    """Compares the engine's activity over time. One event loop."""

    def __init__(
        self,
        engine: Engine,
        lifecycle: Lifecycle,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._lifecycle = lifecycle
        self._seconds = seconds
        self._clock = clock
        self._steps = -1
        self._idle = True
        self._last = clock()
        self._still = 0.0

    def look(self) -> None:
        """Compare with the look before; sets and clears `lifecycle.hung`.

        The time between two looks counts for a quarter of the limit at most: an event loop that was busy elsewhere has
        not read what the engine said meanwhile.
        """
        activity = self._engine.activity()
        now = self._clock()
        if self._idle or activity.steps != self._steps:
            self._still = 0.0
        else:
            self._still += min(now - self._last, self._seconds / 4)
        self._idle, self._steps, self._last = activity.running == 0, activity.steps, now
        hung = not self._idle and self._still >= self._seconds
        if hung and not self._lifecycle.hung:
            log.error("no step for %.0f s while %d requests run: the engine hangs", self._still, activity.running)
        if self._lifecycle.hung and not hung:
            log.warning("the engine steps again")
        self._lifecycle.hung = hung

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await asyncio.sleep(min(1.0, self._seconds / 4))
            self.look()
