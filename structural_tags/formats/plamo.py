"""PLaMo 3: calls, names and arguments each between marks of their own, JSON inside."""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning

PLAMO_3 = ModelFormat(
    name="plamo_3",
    calls=Calls(
        (
            CallSyntax(
                *("<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>", BARE),
                "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
                *(Arguments(JSON), "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"),
            ),
        ),
        trigger="<|plamo:begin_tool_requests:plamo|>",
        begin="<|plamo:begin_tool_requests:plamo|>",
        end="<|plamo:end_tool_requests:plamo|>",
    ),
    reasoning=Reasoning("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    stops=("<|plamo:tag|>",),
    sources=(
        "vLLM, reasoning/plamo3_reasoning_parser.py, commit 3febd520: all marks; the block comes first and may be "
        "missing, and enable_thinking turns it off",
        "vLLM, tool_parsers/plamo3_tool_parser.py, commit 6e739ac5: calls follow each other without anything between",
    ),
)
