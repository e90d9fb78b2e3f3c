"""Whether the server takes requests, beyond what the engine says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Lifecycle:
    """One per server; changed on the event loop only."""

    draining: bool = False
    """A signal to stop has come: running requests end, new ones are not wanted."""
    hung: bool = False
    """The engine has made no step for too long while requests ran."""
