"""Hunyuan A13B: a JSON list of calls; Hunyuan 3: GLM's keys and values in a section.

<tool_calls>
<tool_call>get_weather<tool_sep>
<arg_key>city</arg_key>
<arg_value>Paris</arg_value>
</tool_call>
</tool_calls>
"""

from __future__ import annotations

from structural_tags.formats.arguments import GLM_LINES, JSON
from structural_tags.formats.base import (
    BARE,
    QUOTED_NAME,
    Arguments,
    Calls,
    CallSyntax,
    Marked,
    ModelFormat,
    Reasoning,
    Signs,
)

HUNYUAN_A13B = ModelFormat(
    name="hunyuan_a13b",
    calls=Calls(
        (CallSyntax('{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}"),),
        trigger="<tool_calls>",
        begin="<tool_calls>[",
        separator=", ",
        end="]</tool_calls>",
    ),
    reasoning=Reasoning("<think>", "</think>", pad="\n", answer=Marked("<answer>\n", "\n</answer>")),
    signs=(Signs(('<tool_calls>[{"name": "func_name1"', "<|extra_0|>")),),
    sources=(
        "vLLM, reasoning/hunyuan_a13b_reasoning_parser.py, commit 0011c743: the block, and the marks around the answer",
        "tool_chat_template_hunyuan_a13b.jinja (vLLM, examples, commit 630fe7e7): message['tool_calls']",
        'vLLM 0.32, parser hunyuan_a13b: <tool_calls>[{"name", "arguments"}]</tool_calls>',
    ),
)

HUNYUAN_3 = ModelFormat(
    name="hunyuan_3",
    calls=Calls(
        (CallSyntax("<tool_call>", BARE, "<tool_sep>\n", Arguments(GLM_LINES), "</tool_call>\n"),),
        trigger="<tool_calls>",
        begin="<tool_calls>\n",
        end="</tool_calls>",
    ),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, by_default=False, switch=""),
    signs=(Signs(("<tool_sep>", "<arg_key>")),),
    sources=(
        "chat_template.jinja of Hy3-preview (github.com/Fisher-Ju/Hy3-preview, commit f06e5e76): "
        "message['tool_calls'], add_generation_prompt; reasoning_effort (no_think, low, high) opens or closes it",
    ),
)
