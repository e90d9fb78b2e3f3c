"""Collects a parser's events and joins neighbours of one kind, so that a caller sends few deltas."""

from __future__ import annotations

from collections.abc import Callable

from structural_tags.output.events import CallArguments, ContentDelta, Event, ReasoningDelta


class Collector:
    """Events since the last `take`. Empty texts are no events."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._pieces: list[str] = []
        self._make: Callable[[str], Event] | None = None
        self._kind: object = None

    def reasoning(self, text: str) -> None:
        self._text(text, "reasoning", ReasoningDelta)

    def content(self, text: str) -> None:
        self._text(text, "content", ContentDelta)

    def arguments(self, index: int, text: str) -> None:
        self._text(text, index, lambda joined: CallArguments(index, joined))

    def add(self, event: Event) -> None:
        self._close()
        self._events.append(event)

    def take(self) -> list[Event]:
        self._close()
        events, self._events = self._events, []
        return events

    def _text(self, text: str, kind: object, make: Callable[[str], Event]) -> None:
        if not text:
            return
        if kind != self._kind:
            self._close()
            self._kind, self._make = kind, make
        self._pieces.append(text)

    def _close(self) -> None:
        if self._make is not None:
            self._events.append(self._make("".join(self._pieces)))
        self._pieces, self._make, self._kind = [], None, None
