"""The inverse of the parser: the text that a model of the format writes for an answer."""

from __future__ import annotations

from structural_tags.formats import ModelFormat
from structural_tags.output.events import ParsedOutput


def render(output: ParsedOutput, fmt: ModelFormat) -> str:
    """The assistant's text for `output`, laid out as the format's chat template does.

    A parser made with `reasoning=bool(output.reasoning)` gives `output` back if it is canonical: the reasoning
    does not contain the format's end marker, each call's arguments are a JSON object without surrounding
    white space, the content is not white space alone when there are calls, and content and reasoning do not
    themselves spell a call or a marker.

    Raises:
        ValueError: there is reasoning and the format has none.
    """
    parts = []
    if output.reasoning:
        block = fmt.reasoning
        if block is None:
            raise ValueError(f"format {fmt.name!r} has no reasoning")
        if not block.in_prompt:
            parts.append(block.begin + block.pad)
        parts.append(output.reasoning + block.pad + block.end + block.after)
    pieces = [output.content] if output.content else []
    for call in output.calls:
        pieces.append(fmt.call.opening(call.name) + call.arguments + fmt.call.end)
    parts.append(fmt.call.separator.join(pieces))
    return "".join(parts)
