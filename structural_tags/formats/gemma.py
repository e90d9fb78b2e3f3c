"""Gemma 4 and FunctionGemma: `call:NAME{key:value}` with strings between marks. Gemma 2 and 3 have no tool calls."""

from __future__ import annotations

from structural_tags.formats.arguments import FUNCTION_GEMMA as FUNCTION_GEMMA_ARGUMENTS
from structural_tags.formats.arguments import GEMMA
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

GEMMA_4 = ModelFormat(
    name="gemma_4",
    calls=Calls(
        (CallSyntax("<|tool_call>call:", BARE, Arguments(GEMMA, any_order=True), "<tool_call|>"),),
        trigger="<|tool_call>",
    ),
    reasoning=Reasoning("<|channel>thought", "<channel|>", pad="\n", by_default=False),
    stops=("<turn|>", "<|tool_response>"),
    signs=(Signs(("<|tool_call>call:",)),),
    sources=(
        "google-gemma-4-31B-it.jinja and -interleaved.jinja (ik_llama.cpp 8337e4cd): format_argument, tool_calls, "
        "which sort the keys; add_generation_prompt: without enable_thinking the prompt has an empty block",
    ),
)

FUNCTION_GEMMA = ModelFormat(
    name="function_gemma",
    calls=Calls(
        (
            CallSyntax(
                "<start_function_call>call:",
                BARE,
                Arguments(FUNCTION_GEMMA_ARGUMENTS, any_order=True),
                "<end_function_call>",
            ),
        ),
        trigger="<start_function_call>",
    ),
    stops=("<end_of_turn>", "<start_function_response>"),
    signs=(Signs(("<start_function_call>",)),),
    sources=("vLLM, tool_parsers/functiongemma_tool_parser.py, commit fe3771ba: the form of a call",),
)
