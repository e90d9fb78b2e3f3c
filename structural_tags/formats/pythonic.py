"""LFM2 and OLMo 3: Python calls between marks."""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.arguments import PYTHONIC
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

_CALL = CallSyntax(BARE, "(", Arguments(PYTHONIC), ")")

LFM2 = ModelFormat(
    name="lfm2",
    calls=Calls(
        (_CALL,),
        trigger="<|tool_call_start|>",
        begin="<|tool_call_start|>[",
        separator=", ",
        end="]<|tool_call_end|>",
    ),
    signs=(
        Signs(("<|tool_list_start|>",)),
        Signs(("List of tools: [", "<|im_start|>"), ("<tool_call>",), tokens=("<|tool_call_start|>",)),
    ),
    sources=(
        "LFM2-8B-A1B.jinja, LFM2.5-Instruct.jinja (ik_llama.cpp 8337e4cd): the list of tools; calls are not printed",
        "vLLM 0.32, parser lfm2: <|tool_call_start|>[f(a=1)]<|tool_call_end|>",
    ),
)

LFM2_5 = replace(
    LFM2,
    name="lfm2_5",
    reasoning=Reasoning("<think>", "</think>", switch=""),
    signs=(Signs(("<|tool_call_start|>[", "<think>", "List of tools: ")),),
    sources=(
        "LFM2.5-8B-A1B.jinja (github.com/ggml-org/llama.cpp, models/templates, commit 6f4e9f58): render_tool_calls, "
        "whose strings stand between single quotation marks (read, but double ones are enforced); message.thinking",
    ),
)

OLMO_3 = ModelFormat(
    name="olmo_3",
    calls=Calls(
        (_CALL,),
        trigger="<function_calls>",
        begin="<function_calls>\n",
        separator="\n",
        end="\n</function_calls>",
    ),
    reasoning=Reasoning("<think>", "</think>"),
    signs=(Signs(("pythonic function call wrapped in <function_calls>",)),),
    sources=(
        "tool_chat_template_olmo3.jinja (vLLM, examples, commit 2e30b474): message.tool_calls, whose strings stand in "
        "single quotation marks (read, but double ones are enforced)",
        "vLLM, tool_parsers/olmo3_tool_parser.py, commit e2fc92ec: calls of Python, one a line, in <function_calls>",
        "vLLM 0.32, reasoning parser olmo3: <think> ... </think>",
    ),
)
