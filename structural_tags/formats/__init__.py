"""Model formats by name. To add a family, add a file and list its formats here."""

from __future__ import annotations

from structural_tags.formats.base import CallSyntax, ModelFormat, Reasoning
from structural_tags.formats.hermes import HERMES, HERMES_THINKING
from structural_tags.formats.qwen3 import QWEN3

__all__ = ["FORMATS", "CallSyntax", "ModelFormat", "Reasoning", "get_format"]

FORMATS: dict[str, ModelFormat] = {model_format.name: model_format for model_format in (HERMES, HERMES_THINKING, QWEN3)}


def get_format(name: str) -> ModelFormat:
    """The format called `name`.

    Raises:
        ValueError: no such format; the message lists the known names.
    """
    if name not in FORMATS:
        raise ValueError(f"unknown model format {name!r}; known: {', '.join(sorted(FORMATS))}")
    return FORMATS[name]
