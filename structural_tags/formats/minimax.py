"""MiniMax M2: a section of invocations with named parameters. The prompt always opens the reasoning.

dots writes the same invocations in a section of its own.

M3: every mark stands behind one that cannot be text, and objects and arrays are marks inside of marks.
"""

from __future__ import annotations

from structural_tags.formats.arguments import MINIMAX
from structural_tags.formats.arguments import MINIMAX_M3 as M3_ARGUMENTS
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

MINIMAX_M3 = ModelFormat(
    name="minimax_m3",
    calls=Calls(
        (
            CallSyntax(
                *(']<]minimax[>[<invoke name="', BARE, '">'),
                *(Arguments(M3_ARGUMENTS), "]<]minimax[>[</invoke>\n"),
            ),
        ),
        trigger="]<]minimax[>[<tool_call>",
        begin="]<]minimax[>[<tool_call>\n",
        end="]<]minimax[>[</tool_call>",
    ),
    reasoning=Reasoning("<mm:think>", "</mm:think>", switch=""),
    signs=(Signs(("]<]minimax[>[",)),),
    sources=(
        "vLLM, tests/tool_parsers/test_minimax_m3_tool_parser.py, commit 06726266: build_order_call, "
        "build_multiple_order_call",
        "vLLM, frontend/processing/reasoning/minimax_m3_reasoning_parser.py, commit 055e47c2: <mm:think>, written by "
        'the prompt where thinking_mode is "enabled", else by the model if it likes',
        "xgrammar 0.2.9, builtin_structural_tag.py: `minimax_m3`",
    ),
)

DOTS = ModelFormat(
    name="dots",
    calls=Calls(
        (CallSyntax('<invoke name="', BARE, '">\n', Arguments(MINIMAX), "</invoke>\n"),),
        trigger="<dots_function_call>",
        begin="<dots_function_call>\n",
        end="</dots_function_call>",
    ),
    signs=(Signs(("<dots_function_call>",)),),
    sources=(
        "vLLM, tool_parsers/dots_tool_parser.py, commit 5bf22363: the canonical form of a call, line breaks included",
    ),
)
