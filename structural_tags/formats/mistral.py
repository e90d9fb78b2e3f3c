"""Mistral: `[TOOL_CALLS]` and a JSON list (tokenizers v3 and v7), or name and arguments (v11 and later).

Ids of calls are nine letters and digits, and the chat templates refuse any others.
"""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import (
    BARE,
    QUOTED_NAME,
    Arguments,
    Calls,
    CallSyntax,
    Identifier,
    ModelFormat,
    Reasoning,
    Signs,
)

_WITHOUT_ID = CallSyntax('{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}")
_WITH_ID = CallSyntax('{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), ', "id": "', Identifier(9), '"}')

MISTRAL_V7 = ModelFormat(
    name="mistral_v7",
    calls=Calls((_WITH_ID, _WITHOUT_ID), trigger="[TOOL_CALLS]", begin="[TOOL_CALLS][", separator=", ", end="]"),
    id_length=9,
    signs=(Signs(("[TOOL_CALLS]", '"id": ')), Signs(("[TOOL_CALLS][",))),
    sources=(
        "mistralai-Mistral-Nemo-Instruct-2407.jinja (ik_llama.cpp 8337e4cd): message.tool_calls with ids of 9 letters",
        'vLLM 0.32, parser mistral: [TOOL_CALLS][{"name", "arguments"}], the id is not generated',
    ),
)

MISTRAL_V11 = ModelFormat(
    name="mistral_v11",
    calls=Calls((CallSyntax("[TOOL_CALLS]", BARE, "[ARGS]", Arguments(JSON)),), trigger="[TOOL_CALLS]"),
    id_length=9,
    signs=(Signs(("[TOOL_CALLS]", "[ARGS]"), ("[CALL_ID]", "[THINK]")),),
    sources=("unsloth-mistral-Devstral-Small-2507.jinja (ik_llama.cpp 8337e4cd): message.tool_calls",),
)

MISTRAL_CALL_ID = replace(
    MISTRAL_V11,
    name="mistral_call_id",
    calls=Calls(
        (CallSyntax("[TOOL_CALLS]", BARE, "[CALL_ID]", Identifier(9), "[ARGS]", Arguments(JSON)),),
        trigger="[TOOL_CALLS]",
    ),
    signs=(Signs(("[TOOL_CALLS]", "[CALL_ID]")),),
    sources=("Mistral-Small-3.2-24B-Instruct-2506.jinja (ik_llama.cpp 8337e4cd): message.tool_calls",),
)

MISTRAL_REASONING = replace(
    MISTRAL_V11,
    name="mistral_reasoning",
    reasoning=Reasoning("[THINK]", "[/THINK]"),
    signs=(Signs(("[TOOL_CALLS]", "[ARGS]", "[THINK]")),),
    sources=("mistralai-Ministral-3-14B-Reasoning-2512.jinja (ik_llama.cpp 8337e4cd): block['thinking'], tool_calls",),
)
