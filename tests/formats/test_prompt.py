"""Whether a prompt has opened or closed the reasoning, and that formats say of their templates what is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from structural_tags.formats import FORMATS, get_format, reasoning_switches
from structural_tags.formats.prompt import as_prompted
from tests.formats.families import FAMILIES
from tests.formats.templates import USER, render, stored_templates

WITH_REASONING = [name for name, family in FAMILIES.items() if FORMATS[family.format].reasoning is not None]


@pytest.mark.parametrize(
    ("name", "end", "wanted", "in_prompt", "off", "reasons"),
    [
        ("qwen3", "assistant\n", True, False, "", True),
        ("qwen3", "assistant\n", False, False, "", False),
        ("qwen3", "assistant\n<think>\n\n</think>\n\n", True, False, "", False),
        ("qwen3", "assistant\n<think>\n", True, True, "", True),
        ("qwen3", "assistant\n<think>\n", False, True, "\n</think>\n\n", False),
        ("minimax_m2", "ai\n<think>\n", True, True, "\n</think>\n\n", True),
        ("minimax_m2", "ai\n<think>\n", False, True, "\n</think>\n\n", False),
        ("minimax_m2", "ai\n<think></think>", True, True, "", False),
        ("deepseek_v3_1", "<think>", True, True, "", True),
        ("deepseek_v3_1", "<think></think>", True, True, "", False),
        ("deepseek_v3_1", "", True, False, "", True),
        ("glm_4_5", "<|assistant|>\n<think></think>", False, False, "\n", False),
        ("glm_4_5", "<|assistant|>", True, False, "\n", True),
        ("apriel_1_6", "Here are my reasoning steps:\n", True, True, "\n[BEGIN FINAL RESPONSE]\n", True),
    ],
)
def test_end_of_the_prompt_decides_over_the_format(
    name: str, end: str, wanted: bool, in_prompt: bool, off: str, reasons: bool
) -> None:
    fmt, reasoning = as_prompted(get_format(name), "user: </think> hello\n" + end, reasoning=wanted)

    assert fmt.reasoning is not None
    assert (fmt.reasoning.in_prompt, fmt.reasoning.off, reasoning) == (in_prompt, off, reasons)


def test_format_without_reasoning_is_left_alone() -> None:
    assert as_prompted(get_format("hermes"), "<think>", reasoning=False) == (get_format("hermes"), False)


def _generation_prompt(shared: Path, name: str, reasoning: bool) -> str:
    variables = dict.fromkeys(reasoning_switches(), reasoning) | FAMILIES[name].variables
    messages = [{"role": "user", "content": USER}]
    return render(stored_templates(shared)[name], messages, None, add_generation_prompt=True, **variables)


@pytest.mark.parametrize("name", [name for name in WITH_REASONING if "command-r7b" not in name])
def test_format_knows_how_its_template_ends_a_prompt_with_reasoning(shared: Path, name: str) -> None:
    """But of Command R7B, whose two templates differ and have no switch."""
    fmt = get_format(FAMILIES[name].format)
    assert fmt.reasoning is not None

    read, reasoning = as_prompted(fmt, _generation_prompt(shared, name, True)[-200:], reasoning=True)

    assert read.reasoning is not None
    assert (read.reasoning.in_prompt, reasoning) == (fmt.reasoning.in_prompt, True)


@pytest.mark.parametrize("name", WITH_REASONING)
def test_prompt_without_reasoning_never_begins_the_answer_inside_an_open_block(shared: Path, name: str) -> None:
    fmt = get_format(FAMILIES[name].format)

    read, reasoning = as_prompted(fmt, _generation_prompt(shared, name, False)[-200:], reasoning=False)

    assert not reasoning
    assert read.reasoning is not None
    opened = read.reasoning.in_prompt and bool(read.reasoning.off.strip())
    assert opened == (name.partition(":")[2] in ("StepFun3.5-Flash", "Apriel-1.6-15b-Thinker-fixed"))
