"""Step 3: a section of calls, parameters in `steptml` marks."""

from __future__ import annotations

from structural_tags.formats.arguments import STEP
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Signs

STEP_3 = ModelFormat(
    name="step_3",
    calls=Calls(
        (
            CallSyntax(
                *('<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="', BARE, '">'),
                *(Arguments(STEP), "</steptml:invoke><｜tool_call_end｜>"),
            ),
        ),
        trigger="<｜tool_calls_begin｜>",
        begin="<｜tool_calls_begin｜>",
        end="<｜tool_calls_end｜>",
    ),
    signs=(Signs(("steptml:invoke",)),),
    sources=("vLLM, tool_parsers/step3_tool_parser.py, commit fe3771ba: sections, calls and parameters",),
)
