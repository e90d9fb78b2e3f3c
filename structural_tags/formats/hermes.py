"""Hermes 2 Pro and what follows it (Qwen 2.5, MiMo-VL, our template for SmolLM2): one JSON object per call between
two marker lines.

    <tool_call>
    {"name": "f", "arguments": {"x": 1}}
    </tool_call>
"""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import QUOTED_NAME, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

JSON_IN_TOOL_CALL = CallSyntax(
    '<tool_call>\n{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}\n</tool_call>"
)

HERMES_CALLS = Calls((JSON_IN_TOOL_CALL,), trigger="<tool_call>", separator="\n", lead="\n")

THINK = Reasoning("<think>", "</think>", pad="\n", after="\n\n")
"""The block of Qwen3: the model opens it, a line break inside both marks, an empty line after it."""

HERMES = ModelFormat(
    name="hermes",
    calls=HERMES_CALLS,
    signs=(
        Signs(('<tool_call>\\n{"name": ', '"arguments": '), ("<think>", "</think>")),
        Signs(("within <tool_call></tool_call> XML tags as follows:",)),
    ),
    sources=(
        "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja, Qwen-Qwen2.5-7B-Instruct.jinja, MiMo-VL.jinja "
        "(github.com/ikawrakow/ik_llama.cpp, models/templates, commit 8337e4cd): the loops over message.tool_calls",
    ),
)

HERMES_THINKING = ModelFormat(
    name="hermes_thinking",
    calls=HERMES_CALLS,
    reasoning=Reasoning("<think>", "</think>", pad="\n", after="\n\n", by_default=False),
    signs=(
        Signs(('<tool_call>\\n{"name": ', "<think>", "enable_thinking"), ("enable_thinking is false", "<function=")),
    ),
    sources=("configs/chat_templates/smollm2_tools.jinja, whose prompt asks the model to open the block itself",),
)

SMOLLM_3 = ModelFormat(
    name="smollm_3",
    calls=HERMES_CALLS,
    reasoning=Reasoning("<think>", "</think>", pad="\n", after="\n"),
    signs=(Signs(("xml_tools", "<tool_call>", 'reasoning_mode == "/think"')),),
    sources=(
        "chat_template of SmolLM3-3B as bfcl_eval's SmolLM3Handler quotes it: xml_tools, whose text asks for Hermes' "
        "calls; reasoning_mode. Past calls are not printed; its calls in Python (python_tools) are not read",
    ),
)

BIELIK = ModelFormat(
    name="bielik",
    calls=Calls((JSON_IN_TOOL_CALL,), trigger="<tool_call>", separator="\n", lead="\n", lead_always=True),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n", by_default=False),
    signs=(Signs(('<tool_call>\\n{"name": ', "{%- if enable_thinking %}", "'<think>\\n' }}")),),
    sources=("Bielik-11B-v3.0-Instruct.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, message.tool_calls",),
)

REKA_EDGE = ModelFormat(
    name="reka_edge",
    calls=Calls((JSON_IN_TOOL_CALL,), trigger="<tool_call>", lead="\n"),
    reasoning=Reasoning(" <think>", "</think>", in_prompt=True, pad="\n", after="\n\n", off=" ", by_default=False),
    signs=(Signs(("<tool_call>", 'ns.out ~ "assistant: <think>')),),
    sources=(
        "Reka-Edge.jinja (ik_llama.cpp 8337e4cd): include_thinking, tool_calls; add_generation_prompt ends before the "
        "space that history has there",
    ),
)
