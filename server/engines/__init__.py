"""Engines behind the server: `base` is the protocol, the other modules implement it."""
