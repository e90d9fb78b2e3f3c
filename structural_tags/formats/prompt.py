"""What the end of a rendered prompt says about reasoning: opened by the template, closed, or left to the model.

A format knows how its family's template ends the prompt; a template of somebody's own, or a message with a switch in
it, may do otherwise. The prompt itself is the truth.
"""

from __future__ import annotations

from dataclasses import replace

from structural_tags.formats.base import ModelFormat, Reasoning


def as_prompted(fmt: ModelFormat, prompt_end: str, *, reasoning: bool) -> tuple[ModelFormat, bool]:
    """The format as it holds after this prompt, and whether the answer begins with reasoning.

    Args:
        prompt_end: The last characters of the prompt, more of them than the format's marks have.
        reasoning: Whether reasoning is wanted; where the prompt has closed the block there is none all the same.
    """
    block = fmt.reasoning
    if not prompt_end.endswith(fmt.prompted):
        fmt = replace(fmt, prompted="")
    if block is None:
        return fmt, False
    bare = prompt_end.rstrip()
    if _ends(bare, block.end):
        return replace(fmt, reasoning=replace(block, off=_layout(block.off))), False
    if not _ends(bare, block.begin):
        return replace(fmt, reasoning=replace(block, in_prompt=False, off=_layout(block.off))), reasoning
    if reasoning:
        return replace(fmt, reasoning=replace(block, in_prompt=True)), True
    return replace(fmt, reasoning=replace(block, in_prompt=True, off=_closing(block))), False


def _ends(text: str, mark: str) -> bool:
    return bool(mark.strip()) and text.endswith(mark.strip())


def _layout(off: str) -> str:
    """What the model writes first in any case: white space, but no mark of a block that is not open."""
    return "" if off.strip() else off


def _closing(block: Reasoning) -> str:
    """An empty block, closed by the model."""
    return block.off if block.off.strip() else block.pad + block.end + block.after
