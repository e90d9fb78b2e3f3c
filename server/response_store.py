"""Responses that clients may come back to: by `previous_response_id`, or to read or delete them.

In memory and bounded: past its bounds the store forgets what was longest not used. Each entry is whole by itself, the
conversation before it included, so that a chain goes on when its beginning is forgotten. Entries are kept as JSON text,
whose length is what `max_bytes` bounds. One event loop, no locks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class StoredResponse:
    """`response` is the object that the client got, `input_items` the JSON array of all items before its output."""

    response: bytes
    input_items: bytes

    @property
    def size(self) -> int:
        return len(self.response) + len(self.input_items)


class ResponseStore:
    """At most `max_entries` responses of `max_bytes` together; with 0 entries nothing is kept."""

    def __init__(self, *, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, StoredResponse] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, response_id: str, entry: StoredResponse) -> None:
        """Keep the entry; one that is longer than the store is not kept."""
        if entry.size > self._max_bytes:
            return
        self._entries[response_id] = entry
        self._bytes += entry.size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            _, forgotten = self._entries.popitem(last=False)
            self._bytes -= forgotten.size

    def get(self, response_id: str) -> StoredResponse | None:
        entry = self._entries.get(response_id)
        if entry is not None:
            self._entries.move_to_end(response_id)
        return entry

    def delete(self, response_id: str) -> bool:
        """Whether it was there."""
        entry = self._entries.pop(response_id, None)
        if entry is None:
            return False
        self._bytes -= entry.size
        return True
