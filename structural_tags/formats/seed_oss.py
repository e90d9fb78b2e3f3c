"""Seed-OSS: Qwen's parameters in marks of its own, without line breaks around values."""

from __future__ import annotations

from structural_tags.formats.arguments import QWEN
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

SEED_OSS = ModelFormat(
    name="seed_oss",
    calls=Calls(
        (CallSyntax("<seed:tool_call>\n<function=", BARE, ">\n", Arguments(QWEN), "</function>\n</seed:tool_call>"),),
        trigger="<seed:tool_call>",
        separator="\n",
        lead="\n\n",
    ),
    reasoning=Reasoning("<seed:think>", "</seed:think>", after="\n"),
    signs=(Signs(("<seed:tool_call>", "<seed:think>")),),
    sources=("ByteDance-Seed-OSS.jinja (ik_llama.cpp 8337e4cd): think_begin_token, toolcall_begin_token, tool_calls",),
)
