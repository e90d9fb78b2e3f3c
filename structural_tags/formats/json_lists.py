"""Families that write their calls as one JSON list between marks of their own.

<tool_calls>[{"name": "f", "arguments": {...}}, ...]</tool_calls>
"""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import (
    QUOTED_NAME,
    Arguments,
    Calls,
    CallSyntax,
    Marked,
    ModelFormat,
    Reasoning,
    Signs,
)

_OBJECT = CallSyntax('{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}")

APRIEL_1_5 = ModelFormat(
    name="apriel_1_5",
    calls=Calls(
        (_OBJECT,),
        trigger="<tool_calls>",
        begin="<tool_calls>[",
        separator=", ",
        end="]</tool_calls>",
        lead="\n",
        lead_always=True,
    ),
    signs=(Signs(("<tool_calls>[", "ServiceNow"), ("[BEGIN FINAL RESPONSE]\\n",)),),
    sources=("unsloth-Apriel-1.5.jinja (ik_llama.cpp 8337e4cd): message['tool_calls']",),
)

APRIEL_1_6 = ModelFormat(
    name="apriel_1_6",
    calls=APRIEL_1_5.calls,
    reasoning=Reasoning(
        "Here are my reasoning steps:\n",
        "\n[BEGIN FINAL RESPONSE]",
        in_prompt=True,
        after="\n",
        off="\n[BEGIN FINAL RESPONSE]\n",
    ),
    signs=(Signs(("<tool_calls>[", "[BEGIN FINAL RESPONSE]", "Here are my reasoning steps:")),),
    sources=("Apriel-1.6-15b-Thinker-fixed.jinja (ik_llama.cpp 8337e4cd): reasoning_asst_turn_start, tool_calls",),
)

APERTUS = ModelFormat(
    name="apertus",
    calls=Calls(
        (CallSyntax('{"', QUOTED_NAME, '": ', Arguments(JSON), "}"),),
        trigger="<|tools_prefix|>",
        begin="<|tools_prefix|>[",
        separator=", ",
        end="]<|tools_suffix|>",
    ),
    reasoning=Reasoning("<|inner_prefix|>", "<|inner_suffix|>", by_default=False, ended_by_calls=True),
    signs=(Signs(("<|tools_prefix|>", "<|tools_suffix|>")),),
    sources=(
        "Apertus-8B-Instruct.jinja (ik_llama.cpp 8337e4cd): message.tool_calls; blocks: thoughts, which calls do not "
        "close, and responses, which do",
        "vLLM, reasoning/apertus_reasoning_parser.py, commit 23232cfa: the model opens the block",
    ),
)

JAMBA = ModelFormat(
    name="jamba",
    calls=Calls((_OBJECT,), trigger="<tool_calls>", begin="<tool_calls>[", separator=", ", end="]</tool_calls>"),
    sources=("vLLM, tool_parsers/jamba_tool_parser.py, commit 400ffd76: a JSON list in <tool_calls>",),
)

PHI_4_MINI = ModelFormat(
    name="phi_4_mini",
    calls=Calls((_OBJECT,), trigger="functools[", begin="functools[", separator=", ", end="]"),
    signs=(Signs(("prefix function calls with functools marker",), ("<|start_header_id|>",)),),
    sources=(
        "tool_chat_template_phi4_mini.jinja (vLLM, examples, commit 07b13497): its text asks for functools and a list",
        'vLLM 0.32, parser phi4_mini_json: functools[{"name", "arguments"}]',
    ),
)

PHI_4_MINI_MARKED = ModelFormat(
    name="phi_4_mini_marked",
    calls=Calls(
        (
            CallSyntax(
                *('<|tool_call|>{"name": "', QUOTED_NAME),
                *('", "arguments": ', Arguments(JSON), "}<|/tool_call|>"),
            ),
        ),
        trigger="<|tool_call|>",
    ),
    signs=(Signs(("<|/tool_call|>", "<|tool_call|>{")),),
    sources=(
        "llama-cpp-microsoft-Phi-4-mini-instruct.jinja (github.com/ggml-org/llama.cpp, commit 6d7822c1): "
        "tool_call['function']",
    ),
)

FIREFUNCTION_V2 = ModelFormat(
    name="firefunction_v2",
    calls=Calls(
        (_OBJECT,), trigger="functools[", begin="functools[", separator=", ", end="]", lead=" ", lead_always=True
    ),
    signs=(Signs(("functools[",)),),
    sources=("fireworks-ai-llama-3-firefunction-v2.jinja (ik_llama.cpp 8337e4cd): message['tool_calls']",),
)

NEMOTRON_SUPER = ModelFormat(
    name="nemotron_super",
    calls=Calls((_OBJECT,), trigger="<TOOLCALL>", begin="<TOOLCALL>[", separator=", ", end="]</TOOLCALL>"),
    reasoning=Reasoning("<think>", "</think>", pad="\n", after="\n\n", switch=""),
    stops=("<|eot_id|>",),
    signs=(Signs(("<TOOLCALL>[", "<|start_header_id|>")),),
    sources=(
        "nvidia-Llama-3_3-Nemotron-Super-49B-v1_5.jinja (github.com/ggml-org/llama.cpp, models/templates, commit "
        "1035d607): message.tool_calls; the system message, not a variable, turns reasoning off",
    ),
)

NEMOTRON_NANO_2 = ModelFormat(
    name="nemotron_nano_2",
    calls=Calls((_OBJECT,), trigger="<TOOLCALL>", begin="<TOOLCALL>[", separator=", ", end="]</TOOLCALL>", lead="\n\n"),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", switch=""),
    stops=("<SPECIAL_12>",),
    signs=(Signs(("<TOOLCALL>[", "<SPECIAL_11>")),),
    sources=(
        "NVIDIA-Nemotron-Nano-v2.jinja (github.com/ggml-org/llama.cpp, models/templates, commit 5801ed35) and "
        "tool_chat_template_nemotron_nano_v2.jinja (vLLM, examples, commit 385768ea): message.tool_calls, "
        "add_generation_prompt; a message with /no_think, not a variable, closes the block",
    ),
)

XLAM = ModelFormat(
    name="xlam",
    calls=Calls((_OBJECT,), begin="[", separator=", ", end="]"),
    signs=(Signs(("xLAM", '[{"name": "tool_call_name", "arguments": {')),),
    sources=(
        "tool_chat_template_xlam_llama.jinja (vLLM, examples, commit 466716c2): message.tool_calls; the answer is the "
        "list and nothing else",
    ),
)

GRANITE_3 = ModelFormat(
    name="granite_3",
    calls=Calls((_OBJECT,), trigger="<|tool_call|>", begin="<|tool_call|>[", separator=", ", end="]"),
    reasoning=Reasoning(
        "<think>", "</think>", by_default=False, switch="thinking", answer=Marked("<response>", "</response>")
    ),
    signs=(Signs(("<|tool_call|> followed by a JSON list",)),),
    sources=(
        "ibm-granite-granite-3.3-2B-Instruct.jinja (ik_llama.cpp 8337e4cd): the system message asks for <|tool_call|> "
        "and a JSON list of tools used; with `thinking`, for <think></think> and <response></response>",
        "vLLM 0.32, parser granite: the objects have name and arguments",
    ),
)
