"""MiniMax M2: a section of invocations with named parameters. The prompt always opens the reasoning."""

from __future__ import annotations

from structural_tags.formats.arguments import MINIMAX
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

MINIMAX_M2 = ModelFormat(
    name="minimax_m2",
    calls=Calls(
        (CallSyntax('<invoke name="', BARE, '">\n', Arguments(MINIMAX), "</invoke>\n"),),
        trigger="<minimax:tool_call>",
        begin="<minimax:tool_call>\n",
        end="</minimax:tool_call>",
        lead="\n",
        lead_always=True,
    ),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n\n", off="\n</think>\n\n"),
    signs=(Signs(("<minimax:tool_call>", "<invoke name=")),),
    sources=(
        "unsloth-MiniMax-M2.jinja (github.com/ggml-org/llama.cpp, models/templates, commit a21f05af): the generation "
        "prompt ends with <think> whatever is asked; reasoning_content, message.tool_calls",
    ),
)
