"""Models without tool calls, or whose calls no template shows: text."""

from __future__ import annotations

from structural_tags.formats.base import ModelFormat, Reasoning, Signs

PLAIN = ModelFormat(
    name="plain",
    sources=("gemma2, gemma3, Phi-3.5, RWKV World: their templates know no tools",),
)

PLAIN_THINKING = ModelFormat(
    name="plain_thinking",
    reasoning=Reasoning("<think>", "</think>", pad="\n", after="\n"),
    signs=(Signs(('reasoning_mode == "/think"',), ("tool_call",)),),
    sources=("HuggingFaceTB-SmolLM3-3B.jinja (ik_llama.cpp 8337e4cd): reasoning_mode, no tools",),
)
