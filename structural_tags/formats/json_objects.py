"""Families with one JSON object per call that differ from Hermes in marks and names of keys."""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
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
from structural_tags.formats.hermes import HERMES_CALLS

EXAONE_4 = ModelFormat(
    name="exaone_4",
    calls=Calls(
        (CallSyntax('<tool_call>{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}</tool_call>"),),
        trigger="<tool_call>",
        separator="\n",
        lead="\n",
    ),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", after="\n\n", by_default=False),
    sources=("xgrammar 0.2.9, builtin_structural_tag.py: `exaone`",),
)

INTERNLM_2 = ModelFormat(
    name="internlm_2",
    calls=Calls(
        tuple(
            CallSyntax(
                '<|action_start|><|plugin|>\n{"name": "',
                *(QUOTED_NAME, f'", "{key}": ', Arguments(JSON), "}<|action_end|>"),
            )
            for key in ("parameters", "arguments")
        ),
        trigger="<|action_start|>",
        single=True,
    ),
    signs=(Signs(("<|action_start|><|plugin|>",)),),
    sources=(
        "github.com/InternLM/InternLM, chat/chat_format.md, commit 2270e6f0: <|action_start|><|plugin|>, a line break, "
        "the object, <|action_end|>",
        "tool_chat_template_internlm2_tool.jinja (vLLM, examples, commit 87b63520): the same with `arguments`",
    ),
)

FUNCTIONARY_3_1 = ModelFormat(
    name="functionary_3_1",
    calls=Calls((CallSyntax("<function=", BARE, ">", Arguments(JSON), "</function>"),), trigger="<function="),
    stops=("<|eot_id|>", "<|eom_id|>"),
    signs=(Signs(("<function=", "</function>", "<|eom_id|>"), ("<parameter=",)),),
    sources=("meetkai-functionary-medium-v3.1.jinja (ik_llama.cpp 8337e4cd): message['tool_calls']",),
)

FUNCTIONARY_3_2 = ModelFormat(
    name="functionary_3_2",
    calls=Calls((CallSyntax(">>>", BARE, "\n", Arguments(JSON)),), trigger=">>>"),
    answer=Marked(">>>all\n", "", until=">>>"),
    preamble=Marked(">>>all\n", "", until=">>>"),
    prompted=">>>",
    stops=("<|eot_id|>", "<|eom_id|>"),
    signs=(Signs((">>>all\\n",)),),
    sources=(
        "meetkai-functionary-medium-v3.2.jinja (ik_llama.cpp 8337e4cd): message['content'], message['tool_calls'], "
        "add_generation_prompt; its code_interpreter is not read",
    ),
)

GRANITE_4 = ModelFormat(
    name="granite_4",
    calls=HERMES_CALLS,
    sources=("vLLM 0.32, parser granite4: <tool_call>{...}</tool_call> as Hermes",),
)
