"""Request bodies that several tests start from."""

from __future__ import annotations

from typing import Any

MESSAGES = [{"role": "user", "content": "What is the weather in Paris?"}]

WEATHER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 20},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}

POINTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 1,
            "maxItems": 3,
        },
        "label": {"anyOf": [{"type": "null"}, {"const": "main"}]},
    },
    "required": ["points", "label"],
    "additionalProperties": False,
}


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": f"calls {name}", "parameters": parameters, "strict": True},
    }


TOOLS = [tool("get_weather", WEATHER_SCHEMA), tool("draw-points", POINTS_SCHEMA)]
SCHEMAS = {"get_weather": WEATHER_SCHEMA, "draw-points": POINTS_SCHEMA}

NAMED = {"type": "function", "function": {"name": "draw-points"}}

JSON_SCHEMA_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "weather", "strict": True, "schema": WEATHER_SCHEMA},
}

ANSWER_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<answer>",
        "content": {"type": "json_schema", "json_schema": WEATHER_SCHEMA},
        "end": "</answer>",
    },
}

LEGACY_TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<answer>", "schema": WEATHER_SCHEMA, "end": "</answer>"}],
    "triggers": ["<answer"],
}


def body(**changes: Any) -> dict[str, Any]:
    """A small valid request with `changes`."""
    return {"model": "scripted", "messages": MESSAGES, "seed": 1, **changes}
