"""Llama 3.x, and 4 on request: one JSON object that is the whole answer; Llama 4, and 3.2 on request: a list of Python
calls."""

from __future__ import annotations

from structural_tags.formats.arguments import JSON, PYTHONIC
from structural_tags.formats.base import BARE, QUOTED_NAME, Arguments, Calls, CallSyntax, ModelFormat, Signs

_STOPS = ("<|eot_id|>", "<|eom_id|>")

_CALL = CallSyntax('{"name": "', QUOTED_NAME, '", "parameters": ', Arguments(JSON), "}")

LLAMA_3_JSON = ModelFormat(
    name="llama_3_json",
    calls=Calls(
        (_CALL,),
        trigger='{"name": "',
        separator="; ",
    ),
    stops=_STOPS,
    signs=(Signs(('{"name": ', '"parameters": ', "<|start_header_id|>"), ("<tool_call>", "functools", "<function=")),),
    sources=(
        "meta-llama-Llama-3.1-8B-Instruct.jinja, meta-llama-Llama-3.2-3B-Instruct.jinja (ik_llama.cpp 8337e4cd): "
        "message.tool_calls, one call a turn",
        "vLLM 0.32, parser llama3_json: several calls are joined by '; '",
    ),
)

LLAMA_4_JSON = ModelFormat(
    name="llama_4_json",
    calls=Calls((_CALL,), trigger='{"name": "'),
    stops=("<|eot|>", "<|eom|>"),
    signs=(Signs(('{"name": ', '"parameters": ', "<|header_start|>")),),
    sources=(
        "tool_chat_template_llama4_json.jinja (vLLM, examples, commit 97ce4234): message.tool_calls, content before, "
        "nothing between calls",
    ),
)

LLAMA_PYTHONIC = ModelFormat(
    name="llama_pythonic",
    calls=Calls((CallSyntax(BARE, "(", Arguments(PYTHONIC), ")"),), begin="[", separator=", ", end="]"),
    stops=(*_STOPS, "<|eot|>", "<|eom|>"),
    signs=(Signs(("[func_name1(",)),),
    sources=(
        "tool_chat_template_llama4_pythonic.jinja (vLLM, examples, commit 0471aed1): its text, message.tool_calls",
        'vLLM 0.32, parsers llama4_pythonic and pythonic: the answer is `[f(a=1, b="x"), g()]`',
    ),
)
