"""Command R+: a list of actions in a fence. Command R7B and Command A: thinking, then either actions (a JSON list) or a
marked response; the template after them writes the actions as marks inside of marks."""

from __future__ import annotations

from structural_tags.formats.arguments import COHERE, JSON
from structural_tags.formats.base import (
    BARE,
    QUOTED_NAME,
    Arguments,
    Calls,
    CallSyntax,
    Index,
    Marked,
    ModelFormat,
    Reasoning,
    Signs,
)

_ACTIONS = Calls(
    (
        CallSyntax(
            *('{"tool_call_id": "', Index(), '", "tool_name": "', QUOTED_NAME),
            *('", "parameters": ', Arguments(JSON), "}"),
        ),
    ),
    trigger="<|START_ACTION|>",
    begin="<|START_ACTION|>[\n    ",
    separator=",\n    ",
    end="\n]<|END_ACTION|>",
)
_STOPS = ("<|END_OF_TURN_TOKEN|>",)

COMMAND_R_PLUS = ModelFormat(
    name="command_r_plus",
    calls=Calls(
        (
            CallSyntax(
                *('    {\n        "tool_name": "', QUOTED_NAME),
                *('",\n        "parameters": ', Arguments(JSON), "\n    }"),
            ),
        ),
        trigger="Action:\n```json\n[",
        begin="Action:\n```json\n[\n",
        separator=",\n",
        end="\n]```",
        lead="\n",
        lead_always=True,
    ),
    stops=_STOPS,
    signs=(Signs(("\\nAction:\\n```json\\n[\\n",)),),
    sources=(
        "CohereForAI-c4ai-command-r-plus-tool_use.jinja (ik_llama.cpp 8337e4cd): message.tool_calls; its tool "
        "`directly-answer` is none of a request's, so an answer without calls is text",
    ),
)

COMMAND_R7B = ModelFormat(
    name="command_r7b",
    calls=_ACTIONS,
    reasoning=Reasoning("<|START_THINKING|>", "<|END_THINKING|>", by_default=False, switch=""),
    answer=Marked("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    stops=_STOPS,
    signs=(Signs(("<|START_ACTION|>", "<|START_RESPONSE|>")),),
    sources=(
        "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja (ik_llama.cpp 8337e4cd; ggml-org/llama.cpp c392e509): "
        "message.tool_calls, format; the second leaves the thinking to the model",
    ),
)

COMMAND_A = ModelFormat(
    name="command_a",
    calls=_ACTIONS,
    reasoning=Reasoning("<|START_THINKING|>", "<|END_THINKING|>", in_prompt=True, switch="reasoning"),
    answer=Marked("<|START_TEXT|>", "<|END_TEXT|>"),
    stops=_STOPS,
    signs=(Signs(("<|START_ACTION|>", "<|START_TEXT|>")),),
    sources=("Cohere2MoE.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, tool_calls, text",),
)

COMMAND_XML = ModelFormat(
    name="command_xml",
    calls=Calls(
        (
            CallSyntax(
                *('<cofl:tool_call id="', Index(), '" name="', BARE, '">'),
                *(Arguments(COHERE), "</cofl:tool_call>"),
            ),
        ),
        trigger="<cofl:tool_calls>",
        begin="<cofl:tool_calls>",
        end="</cofl:tool_calls>",
    ),
    reasoning=COMMAND_A.reasoning,
    answer=COMMAND_A.answer,
    stops=_STOPS,
    signs=(Signs(("<cofl:tool_call", "<cofl:value")),),
    sources=(
        "xgrammar 0.2.9, builtin_structural_tag.py: `cohere` (calls, ids, reasoning)",
        "Cohere's parsers, github.com/cohere-ai/melody, parsing/cofl_nested_filter.rs: the nested values; the tests of "
        "its cmd5 filter: the thinking, and answers between the marks of text",
    ),
)
