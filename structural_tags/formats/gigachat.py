"""GigaChat 3: one call a turn, an object of JSON after a mark; 3.5: a section of invocations, as DeepSeek's DSML."""

from __future__ import annotations

from structural_tags.formats.arguments import GCML, JSON
from structural_tags.formats.base import BARE, QUOTED_NAME, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

GIGACHAT_3_1 = ModelFormat(
    name="gigachat_3_1",
    calls=Calls(
        (CallSyntax('<|function_call|>{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}"),),
        trigger="<|function_call|>",
        single=True,
    ),
    stops=("<|message_sep|>",),
    signs=(Signs(("<|function_call|>", "<|role_sep|>")),),
    sources=("GigaChat3.1-10B-A1.8B.jinja (ik_llama.cpp 8337e4cd): message.tool_calls, one a turn",),
)

GIGACHAT_3 = ModelFormat(
    name="gigachat_3",
    calls=Calls(
        (
            CallSyntax(
                '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "',
                *(QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}"),
            ),
        ),
        trigger="<|message_sep|>",
        single=True,
    ),
    signs=(Signs(("function call", "<|role_sep|>"), ("<|function_call|>", "GCML")),),
    sources=("GigaChat3-10B-A1.8B.jinja (ik_llama.cpp 8337e4cd): message.tool_calls, one a turn",),
)

GIGACHAT_3_5 = ModelFormat(
    name="gigachat_3_5",
    calls=Calls(
        (CallSyntax('<｜GCML｜invoke name="', BARE, '">\n', Arguments(GCML), "</｜GCML｜invoke>"),),
        trigger="<｜GCML｜tool_calls>",
        begin="<｜GCML｜tool_calls>\n",
        separator="\n",
        end="\n</｜GCML｜tool_calls>",
        lead="\n\n",
    ),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, after="\n\n", by_default=False, switch="reasoning"),
    stops=("<|message_sep|>",),
    signs=(Signs(("<｜GCML｜tool_calls>",)),),
    sources=(
        "GigaChat3.5.jinja (github.com/ggml-org/llama.cpp, models/templates, commit 44cfbebb): render_gcml_tool_calls, "
        "ns_parts, which an empty line joins; the generation prompt",
    ),
)
