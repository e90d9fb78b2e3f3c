"""LongCat Flash: Hermes' object between marks of its own."""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import QUOTED_NAME, Arguments, Calls, CallSyntax, ModelFormat, Signs

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
