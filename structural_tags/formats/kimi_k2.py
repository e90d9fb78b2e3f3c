"""Kimi K2: a section of calls, each named by `functions.NAME:INDEX`, which is its id as well.

The index counts all calls of the conversation, so any number is read.
"""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, Index, ModelFormat, Reasoning, Signs

KIMI_K2 = ModelFormat(
    name="kimi_k2",
    calls=Calls(
        (
            CallSyntax(
                *("<|tool_call_begin|>functions.", BARE, ":", Index()),
                *("<|tool_call_argument_begin|>", Arguments(JSON), "<|tool_call_end|>"),
            ),
        ),
        trigger="<|tool_calls_section_begin|>",
        begin="<|tool_calls_section_begin|>",
        end="<|tool_calls_section_end|>",
    ),
    id_template="functions.{name}:{index}",
    signs=(Signs(("<|tool_calls_section_begin|>",), ("<think>",)),),
    sources=(
        "moonshotai-Kimi-K2.jinja, Kimi-K2-Instruct.jinja (ik_llama.cpp 8337e4cd): message['tool_calls'], whose ids "
        "are printed in the calls",
    ),
)

KIMI_K2_THINKING = replace(
    KIMI_K2,
    name="kimi_k2_thinking",
    reasoning=Reasoning("<think>", "</think>", switch="thinking"),
    signs=(Signs(("<|tool_calls_section_begin|>", "<think>")),),
    sources=("Kimi-K2-Thinking.jinja (ik_llama.cpp 8337e4cd): reasoning_content, render_toolcalls",),
)
