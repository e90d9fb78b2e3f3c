"""gpt-oss: channels. The prompt ends with `<|start|>assistant`; what the model thinks, says and calls are messages.

    <|channel|>analysis<|message|>REASONING<|end|><|start|>assistant
    <|channel|>commentary<|message|>TEXT BEFORE CALLS<|end|><|start|>assistant
    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>
    <|channel|>final<|message|>CONTENT<|return|>

(without the line breaks). `<|call|>` and `<|return|>` are stop tokens: a turn has one call.
"""

from __future__ import annotations

from structural_tags.formats.arguments import JSON
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, Marked, ModelFormat, Reasoning, Signs

_NEXT = "<|start|>assistant"

HARMONY = ModelFormat(
    name="harmony",
    calls=Calls(
        (
            CallSyntax(" to=functions.", BARE, "<|channel|>commentary json<|message|>", Arguments(JSON)),
            CallSyntax(" to=functions.", BARE, "<|channel|>commentary <|constrain|>json<|message|>", Arguments(JSON)),
            CallSyntax("<|channel|>commentary to=functions.", BARE, " <|constrain|>json<|message|>", Arguments(JSON)),
            CallSyntax("<|channel|>commentary to=functions.", BARE, "<|constrain|>json<|message|>", Arguments(JSON)),
        ),
        trigger="",
        single=True,
    ),
    reasoning=Reasoning("<|channel|>analysis<|message|>", "<|end|>", after=_NEXT, switch=""),
    answer=Marked("<|channel|>final<|message|>", ""),
    preamble=Marked("<|channel|>commentary<|message|>", "<|end|>" + _NEXT),
    stops=("<|return|>", "<|call|>"),
    signs=(Signs(("<|channel|>analysis<|message|>", "to=functions.")), Signs(("<|channel|>", "functions."))),
    sources=(
        "openai-gpt-oss-120b.jinja (ik_llama.cpp 8337e4cd): message.tool_calls, channels; the generation prompt",
        "xgrammar 0.2.9, builtin_structural_tag.py: `harmony`, the three ways to write a call's header",
        "vLLM 0.32, reasoning parser openai_gptoss: the form with a space before <|constrain|>",
    ),
)
