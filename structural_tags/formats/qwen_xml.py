"""Qwen3-Coder, Qwen3.5, and who took over their calls (Nemotron 3, Step 3.5, MiMo V2): parameters in marks.

    <tool_call>
    <function=f>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </tool_call>

The line breaks around a value are layout and no part of it, but in MiMo V2, which writes none.
"""

from __future__ import annotations

from structural_tags.formats.arguments import QWEN_BARE, QWEN_PADDED
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

FUNCTION = CallSyntax("<tool_call>\n<function=", BARE, ">\n", Arguments(QWEN_PADDED), "</function>\n</tool_call>")

_IN_PROMPT = Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n")

QWEN3_CODER = ModelFormat(
    name="qwen3_coder",
    calls=Calls((FUNCTION,), trigger="<tool_call>", separator="\n", lead="\n\n"),
    signs=(Signs(("<tool_call>", "<function=", "<parameter="), ("<think>",)),),
    sources=("Qwen3-Coder.jinja (ik_llama.cpp 8337e4cd): the loop over message.tool_calls",),
)

QWEN3_5 = ModelFormat(
    name="qwen3_5",
    calls=Calls((FUNCTION,), trigger="<tool_call>", separator="\n", lead="\n\n"),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n\n"),
    signs=(Signs(("<tool_call>\\n<function=", "<think>", "<think>\\n\\n</think>\\n\\n")),),
    sources=("Qwen3.5-4B.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, message.tool_calls",),
)

NEMOTRON_3 = ModelFormat(
    name="nemotron_3",
    calls=Calls((FUNCTION,), trigger="<tool_call>", separator="\n", lead="\n"),
    reasoning=_IN_PROMPT,
    signs=(Signs(("<tool_call>\\n<function=", "truncate_history_thinking")),),
    sources=("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja (ik_llama.cpp 8337e4cd): generation prompt, tool_calls",),
)

STEP_3_5 = ModelFormat(
    name="step_3_5",
    calls=Calls((FUNCTION,), trigger="<tool_call>"),
    reasoning=_IN_PROMPT,
    signs=(Signs(("<tool_call>\\n<function=", "<|im_start|>assistant\\n<think>\\n"), ("enable_thinking",)),),
    sources=("StepFun3.5-Flash.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, message.tool_calls",),
)

MIMO_V2 = ModelFormat(
    name="mimo_v2",
    calls=Calls(
        (CallSyntax("<tool_call><function=", BARE, ">", Arguments(QWEN_BARE), "</function></tool_call>"),),
        trigger="<tool_call>",
    ),
    reasoning=Reasoning("<think>", "</think>"),
    signs=(Signs(("<tool_call><function=", "<parameter=")),),
    sources=(
        "xgrammar 0.2.9, builtin_structural_tag.py: `mimo` (no line breaks; the model opens the reasoning)",
        "sglang, function_call/mimo_detector.py, commit 022b205d: values are taken without stripping",
    ),
)
