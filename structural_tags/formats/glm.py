"""GLM 4.5 to 5: keys and values in marks.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Paris</arg_value>
    </tool_call>

From 4.7 on without the line breaks. Strings as they are, all else JSON.
"""

from __future__ import annotations

from structural_tags.formats.arguments import GLM, GLM_LINES
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

GLM_4_5 = ModelFormat(
    name="glm_4_5",
    calls=Calls(
        (CallSyntax("<tool_call>", BARE, "\n", Arguments(GLM_LINES), "</tool_call>"),),
        trigger="<tool_call>",
        separator="\n",
        lead="\n",
    ),
    reasoning=Reasoning("\n<think>", "</think>", after="\n", off="\n"),
    stops=("<|user|>", "<|observation|>"),
    signs=(Signs(("<arg_key>", "\\n<think></think>")), Signs(("<arg_key>", "/nothink"))),
    sources=(
        "GLM-4.6.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, reasoning_content, m.tool_calls",
        "<|user|> and <|observation|> begin the next turn in that template; generation ends there",
    ),
)

GLM_4_7 = ModelFormat(
    name="glm_4_7",
    calls=Calls((CallSyntax("<tool_call>", BARE, Arguments(GLM), "</tool_call>"),), trigger="<tool_call>"),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True),
    stops=("<|user|>", "<|observation|>"),
    signs=(Signs(("<arg_key>", "else '<think>'")),),
    sources=("GLM-4.7-Flash.jinja, GLM-5.2.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, m.tool_calls",),
)
