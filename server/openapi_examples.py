"""Requests that show what each route takes. Every one of them runs on every model whose format has tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Examples = Mapping[str, Mapping[str, Any]]

_QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]

_WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 40},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}

_FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "strict": True, "parameters": _WEATHER}
_TOOL = {"type": "function", "function": _FUNCTION}

_DATE_TOOL = {
    "type": "custom",
    "custom": {
        "name": "set_date",
        "description": "Sets the date of the report.",
        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "20[0-9]{2}-[01][0-9]-[0-3][0-9]"}},
    },
}

_SCHEMA_FORMAT = {"type": "json_schema", "json_schema": {"name": "weather", "strict": True, "schema": _WEATHER}}

_TAG_FORMAT = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<answer>",
        "content": {"type": "json_schema", "json_schema": _WEATHER},
        "end": "</answer>",
    },
}

CHAT: Examples = {
    "text": {"messages": _QUESTION, "max_tokens": 64},
    "stream": {"messages": _QUESTION, "max_tokens": 64, "stream": True, "stream_options": {"include_usage": True}},
    "tools": {"messages": _QUESTION, "tools": [_TOOL], "tool_choice": "required", "max_tokens": 128},
    "custom tool with a pattern": {
        "messages": _QUESTION,
        "tools": [_DATE_TOOL],
        "tool_choice": {"type": "custom", "custom": {"name": "set_date"}},
        "max_tokens": 128,
    },
    "JSON Schema, whole within its tokens": {
        "messages": _QUESTION,
        "response_format": _SCHEMA_FORMAT,
        "max_tokens": 100,
        "complete_within_budget": True,
    },
    "structural tag": {"messages": _QUESTION, "response_format": _TAG_FORMAT, "max_tokens": 128},
    "pattern": {"messages": _QUESTION, "structured_outputs": {"regex": "[A-Z]{3}-[0-9]{4}"}, "max_tokens": 32},
    "choice": {"messages": _QUESTION, "guided_choice": ["positive", "negative"], "max_tokens": 32},
    "sampling": {
        "messages": _QUESTION,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "seed": 1,
        "n": 2,
        "logprobs": True,
        "top_logprobs": 2,
        "stop": ["\n\n"],
        "max_tokens": 16,
    },
}

COMPLETION: Examples = {
    "text": {"prompt": "Once upon a time", "max_tokens": 32},
    "several prompts": {"prompt": ["Once", "Twice"], "n": 2, "temperature": 1, "max_tokens": 8},
    "log probabilities of a text": {"prompt": "Once upon a time", "echo": True, "logprobs": 1, "max_tokens": 0},
    "JSON Schema": {"prompt": "The weather in Paris as JSON: ", "response_format": _SCHEMA_FORMAT, "max_tokens": 128},
    "stream": {"prompt": "Once", "stream": True, "max_tokens": 8},
}

RESPONSES: Examples = {
    "text": {"input": "What is the weather in Paris?", "max_output_tokens": 64},
    "tools": {
        "input": "What is the weather in Paris?",
        "tools": [{"type": "function", **_FUNCTION}],
        "tool_choice": "required",
        "max_output_tokens": 128,
    },
    "JSON Schema": {
        "input": "What is the weather in Paris?",
        "text": {"format": {"type": "json_schema", "name": "weather", "strict": True, "schema": _WEATHER}},
        "max_output_tokens": 128,
    },
}

_ASKED = {
    "messages": _QUESTION,
    "tools": [
        {"name": "get_weather", "description": "The weather of a city.", "strict": True, "input_schema": _WEATHER}
    ],
}

MESSAGES: Examples = {
    "text": {"messages": _QUESTION, "system": "Be brief.", "max_tokens": 64},
    "tools": {**_ASKED, "tool_choice": {"type": "any"}, "max_tokens": 128},
    "JSON Schema": {
        "messages": _QUESTION,
        "output_config": {"format": {"type": "json_schema", "schema": _WEATHER}},
        "max_tokens": 128,
    },
    "stream": {"messages": _QUESTION, "max_tokens": 64, "stream": True},
}

COUNT_TOKENS: Examples = {"tools": _ASKED}

VALIDATE: Examples = {
    "tools": {"tools": [_TOOL, _DATE_TOOL], "tool_choice": "required"},
    "JSON Schema": {"response_format": _SCHEMA_FORMAT},
    "a schema that cannot be enforced": {"guided_json": {"properties": {"host": {"format": "idn-hostname"}}}},
    "a grammar with a mistake": {"structured_outputs": {"grammar": "root ::= item+\nitem ::= [a-z"}},
}

TOKENIZE: Examples = {
    "text": {"prompt": "Hello, world", "return_token_strs": True},
    "chat": {"messages": _QUESTION, "tools": [_TOOL]},
}

DETOKENIZE: Examples = {"tokens": {"tokens": [72, 105]}}
