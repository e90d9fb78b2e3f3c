"""How many requests are here at once: past the limit a client is told to come again, instead of waiting unseen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.errors import ApiError


class Admission:
    """Counts the requests that generate or wait for the engine. Belongs to the event loop's thread."""

    def __init__(self, most: int | None) -> None:
        """`most`: None is no limit."""
        self._most = most
        self.running = 0

    def check(self) -> None:
        """ApiError (429) if one more would be too many."""
        if self._most is not None and self.running >= self._most:
            raise ApiError(
                f"the server has {self.running} requests already, and takes {self._most} at once; try again soon",
                status=429,
                kind="rate_limit_error",
                code="too_many_requests",
            )

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """One request's time in the engine; ApiError (429) if it would be too many."""
        self.check()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
