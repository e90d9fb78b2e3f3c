"""Structural tags that tests send, as JSON text."""

from __future__ import annotations

import json
from typing import Any


def tag(node: dict[str, Any]) -> str:
    return json.dumps({"type": "structural_tag", "format": node})


def schema(value: Any) -> str:
    return tag({"type": "json_schema", "json_schema": value})


CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "degrees": {"type": "integer", "minimum": 0, "maximum": 40}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
