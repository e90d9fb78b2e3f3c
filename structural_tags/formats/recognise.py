"""Which format a model speaks, told from its chat template and vocabulary.

Each format lists the signs that tell it (`ModelFormat.signs`). A template that fits several formats is taken for the
one whose signs are the most text, as those say the most.
"""

from __future__ import annotations

from collections.abc import Container

from structural_tags.formats import FORMATS, ModelFormat


def recognise(template: str, *, tokens: Container[str] | None = None) -> ModelFormat | None:
    """The format, or None when nothing tells it.

    Args:
        template: The model's chat template.
        tokens: The texts of the vocabulary's tokens; None when they are not known.
    """
    fitting = [
        (sum(map(len, signs.having + signs.tokens)), fmt)
        for fmt in FORMATS.values()
        for signs in fmt.signs
        if signs.fit(template, tokens)
    ]
    if fitting:
        return max(fitting, key=lambda each: each[0])[1]
    return None if knows_tools(template) else FORMATS["plain"]


def knows_tools(template: str) -> bool:
    """Whether a chat template shows tools to the model or prints calls."""
    return "tools" in template or "tool_calls" in template
