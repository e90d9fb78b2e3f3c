"""A server process with the scripted engine, its address and what it wrote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


class Process:
    """One server process. Its output is read as it comes, so that it never waits for us."""

    def __init__(self, script: dict[str, Any], *flags: str, environment: dict[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.server.scripted_server", json.dumps(script), *flags],
            cwd=REPOSITORY,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                "STRICTSERVE_PORT": "0",
                **(environment or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        with self._changed:
            return "".join(self.lines)

    @property
    def url(self) -> str:
        """The address of the last ready line; waits for it."""
        return self.wait_for(r"ready on (https?://[^\s,]+), model").group(1)

    def wait_for(self, pattern: str, *, seconds: float = 30) -> re.Match[str]:
        """The last match of `pattern` in the output so far, once there is one."""
        found: list[re.Match[str]] = []

        def seen() -> bool:
            found[:] = re.finditer(pattern, "".join(self.lines))
            return bool(found) or not self._reader.is_alive()

        with self._changed:
            self._changed.wait_for(seen, seconds)
            assert found, f"no {pattern!r} in:\n{''.join(self.lines)}"
        return found[-1]

    def wait(self, seconds: float = 20) -> int:
        """The exit code."""
        code = self.popen.wait(seconds)
        self._reader.join(5)
        return code

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


@contextmanager
def serving(
    script: dict[str, Any] | None = None, *flags: str, environment: dict[str, str] | None = None
) -> Iterator[Process]:
    """The process, killed at the end if it still runs."""
    process = Process(script or {}, *flags, environment=environment)
    try:
        yield process
    finally:
        process.popen.kill()
        process.wait()
        assert process.popen.stdout is not None
        process.popen.stdout.close()
