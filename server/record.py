"""What is known of the request at hand, for its line in the log and its trace.

The middleware of `server/access.py` makes one per request and puts it into a context variable, which every task that
the request starts inherits. Whoever learns something writes it down: `record.current().prompt_tokens = 12`.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Record:
    """Facts of one request; None where there is nothing to know. Seconds count from the request's arrival."""

    request_id: str = ""
    status: int | None = None
    response_id: str | None = None
    """The id in the answer's body."""
    model: str | None = None
    constrained: bool | None = None
    """Whether a grammar constrains the answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    planned_seconds: float | None = None
    """Prompt made and grammar compiled."""
    first_token_seconds: float | None = None
    finish_reason: str | None = None
    error: str | None = None
    """The code of an error answer or event."""


_current: ContextVar[Record | None] = ContextVar("record", default=None)


def current() -> Record:
    """The record of the request that this task works for; outside of requests one that nobody reads."""
    return _current.get() or Record()


def begin(request_id: str) -> Record:
    """A new record, current in this task and those that it starts."""
    record = Record(request_id)
    _current.set(record)
    return record
