"""LongCat Flash: Hermes' object between marks of its own; later models: GLM's keys and values in such marks.

<longcat_tool_call>get_weather
<longcat_arg_key>city</longcat_arg_key>
<longcat_arg_value>Paris</longcat_arg_value>
</longcat_tool_call>
"""

from __future__ import annotations

from structural_tags.formats.arguments import JSON, LONGCAT
from structural_tags.formats.base import BARE, QUOTED_NAME, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

LONGCAT_FLASH = ModelFormat(
    name="longcat_flash",
    calls=Calls(
        (
            CallSyntax(
                *('<longcat_tool_call>\n{"name": "', QUOTED_NAME),
                *('", "arguments": ', Arguments(JSON), "}\n</longcat_tool_call>"),
            ),
            CallSyntax(
                *('<longcat_tool_call>{"name": "', QUOTED_NAME),
                *('", "arguments": ', Arguments(JSON), "}</longcat_tool_call>"),
            ),
        ),
        trigger="<longcat_tool_call>",
        separator="\n",
        lead="\n",
    ),
    signs=(Signs(("<longcat_tool_call>",), ("<longcat_arg_key>",)),),
    sources=(
        "vLLM, tests/tool_parsers/test_longcat_tool_parser.py, commit 41c5903d: objects in marks, a line break between",
        "LongCat-Flash's prompt as its model card quotes it: line breaks inside of the marks",
    ),
)

LONGCAT_THINKING = ModelFormat(
    name="longcat_thinking",
    calls=Calls(
        (CallSyntax("<longcat_tool_call>", BARE, "\n", Arguments(LONGCAT), "</longcat_tool_call>"),),
        trigger="<longcat_tool_call>",
        separator="\n",
        lead="\n",
    ),
    reasoning=Reasoning("<longcat_think>", "</longcat_think>", in_prompt=True, pad="\n", after="\n"),
    signs=(Signs(("<longcat_tool_call>", "<longcat_arg_key>")),),
    sources=(
        "README of LongCat-Flash-Thinking-2601 (github.com/meituan-longcat): what its chat template writes for a "
        "generation prompt, and the answer after it",
        "mlx-openai-server, parser of LongCat Flash Lite: the form of a call as the model's prompt states it",
    ),
)
