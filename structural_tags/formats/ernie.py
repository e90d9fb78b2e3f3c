"""Ernie 4.5 thinking: Hermes calls after an empty line."""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.base import ModelFormat, Reasoning
from structural_tags.formats.hermes import HERMES_CALLS

ERNIE_4_5 = ModelFormat(
    name="ernie_4_5",
    calls=replace(HERMES_CALLS, lead="\n\n\n"),
    reasoning=Reasoning("<think>", "</think>", in_prompt=True, pad="\n"),
    sources=(
        "vLLM, tool_parsers/ernie45_tool_parser.py, commit 7d8312ef: the form of the thinking model's text, "
        "with white space around the object",
    ),
)
