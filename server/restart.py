"""Begin again in the same process id: the way out of an engine failure where the settings say "restart".

The process replaces itself (`exec`) by what it was started as, so nothing of the failed engine is left: no memory, no
thread, no open file. Failures in a row are told through a variable, each waits twice as long as the one before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable

VARIABLE = "STRICTSERVE_RESTARTS"
"""`COUNT TIME`: restarts in a row, and the Unix time of the last one."""

_CALM_SECONDS = 600
"""After so long without a failure the next one is the first again."""
_LONGEST_WAIT = 60


def again(*, say: Callable[[str], None]) -> None:
    """Wait, then replace this process. Returns only when a signal to stop came while it waited."""
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: signals.append(number))
    count = failures_in_a_row(os.environ.get(VARIABLE, ""), time.time()) + 1
    seconds = wait_seconds(count)
    say(f"strictserve: restart {count} in {seconds} s")
    # In short sleeps: a signal that the system gives to another thread does not end a sleep of this one.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if signals:
            return
    os.environ[VARIABLE] = f"{count} {time.time():.0f}"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


def failures_in_a_row(text: str, now: float) -> int:
    """What the variable says of restarts before this one; 0 after a calm time or from anything unreadable."""
    with contextlib.suppress(ValueError):
        count, last = (int(part) for part in text.split())
        return count if now - last < _CALM_SECONDS else 0
    return 0


def wait_seconds(count: int) -> int:
    """Before the `count`-th restart in a row: 1, 2, 4, ... up to a minute."""
    return min(_LONGEST_WAIT, 1 << min(count - 1, 6))
