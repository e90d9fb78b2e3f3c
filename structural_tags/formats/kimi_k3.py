"""Kimi K3: everything stands in marks, the answer too; arguments carry their type."""

from __future__ import annotations

from structural_tags.formats.arguments import KIMI_K3 as KIMI_ARGUMENTS
from structural_tags.formats.base import (
    BARE,
    Arguments,
    Calls,
    CallSyntax,
    Index,
    Marked,
    ModelFormat,
    Reasoning,
    Signs,
)

KIMI_K3 = ModelFormat(
    name="kimi_k3",
    calls=Calls(
        (
            CallSyntax(
                *('<|open|>call tool="', BARE, '" index="', Index(first=1), '"<|sep|>'),
                *(Arguments(KIMI_ARGUMENTS), "<|close|>call<|sep|>"),
            ),
        ),
        trigger="<|open|>tools<|sep|>",
        begin="<|open|>tools<|sep|>",
        end="<|close|>tools<|sep|>",
    ),
    reasoning=Reasoning("<|open|>think<|sep|>", "<|close|>think<|sep|>", in_prompt=True, switch="thinking"),
    answer=Marked("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    answer_in_prompt=True,
    answer_and_calls=True,
    close="<|close|>message<|sep|>",
    stops=("<|end_of_msg|>",),
    signs=(Signs(("open_tag('think')", "<|open|>")),),
    sources=(
        "Kimi-K3.jinja (github.com/ggml-org/llama.cpp, models/templates, commit 181a4a8f): render_assistant, "
        "escape_attr, xtml_type; add_generation_prompt opens `think`, or `response` without thinking",
    ),
)
