"""A server process, its address and what it wrote."""

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

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        """`arguments` of Python; the port is the system's choice unless they name one."""
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.popen = subprocess.Popen(
            [sys.executable, *arguments],
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

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exception: object) -> None:
        self.popen.kill()
        self.wait()
        assert self.popen.stdout is not None
        self.popen.stdout.close()

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
    """A server with the scripted engine, killed at the end if it still runs."""
    arguments = ("-m", "tests.server.scripted_server", json.dumps(script or {}), *flags)
    with Process(*arguments, environment=environment) as process:
        yield process
