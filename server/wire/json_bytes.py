"""JSON of values that clients sent: their numbers may be longer than 64 bits, which orjson neither writes nor reads."""

from __future__ import annotations

import json
from typing import Any

import orjson


def to_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def from_bytes(text: bytes) -> Any:
    """What `to_bytes` wrote."""
    return json.loads(text)
