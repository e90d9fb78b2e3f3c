"""Hermes 2 Pro and what follows it (Qwen 2.5, our template for SmolLM2): one JSON object per call between
two marker lines.

    <tool_call>
    {"name": "f", "arguments": {"x": 1}}
    </tool_call>

Sources, read 2026-11-30:
- call layout and the line break before each call: the loops over `message.tool_calls` in
  NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja and Qwen-Qwen2.5-7B-Instruct.jinja
  (github.com/ikawrakow/ik_llama.cpp, models/templates, commit 8337e4cd);
- neither template knows reasoning;
- the reasoning block of `hermes_thinking` is Qwen3's (see `qwen3`), for a model whose prompt asks it to open
  the block itself: configs/chat_templates/smollm2_tools.jinja with `enable_thinking`.
"""

from __future__ import annotations

from structural_tags.formats.base import CallSyntax, ModelFormat, Reasoning

JSON_IN_TOOL_CALL = CallSyntax(
    begin='<tool_call>\n{"name": "',
    middle='", "arguments": ',
    end="}\n</tool_call>",
    separator="\n",
)

THINK = Reasoning(begin="<think>", end="</think>", in_prompt=False, pad="\n", after="\n\n")

HERMES = ModelFormat(
    name="hermes",
    call=JSON_IN_TOOL_CALL,
    trigger="<tool_call>",
    reasoning=None,
    source="chat templates of Hermes 2 Pro (Llama 3 8B, tool_use) and Qwen2.5-7B-Instruct",
)

HERMES_THINKING = ModelFormat(
    name="hermes_thinking",
    call=JSON_IN_TOOL_CALL,
    trigger="<tool_call>",
    reasoning=THINK,
    source="as hermes; reasoning as in configs/chat_templates/smollm2_tools.jinja",
)
