"""The inverse of the parser: the text that a model of the format writes for an answer."""

from __future__ import annotations

from collections.abc import Sequence

from structural_tags.formats.base import (
    Arguments,
    Calls,
    Identifier,
    Index,
    Marked,
    ModelFormat,
    Name,
    Word,
    written_name,
)
from structural_tags.output.arguments.write import write_arguments
from structural_tags.output.events import Call, ParsedOutput


def render(output: ParsedOutput, fmt: ModelFormat, *, reasoning: bool | None = None) -> str:
    """The assistant's text for `output`, laid out as the format's chat template does.

    A parser made with the same `reasoning` gives `output` back if it is canonical: the reasoning
    does not contain the format's end marker, each call's arguments are a JSON object without surrounding
    white space (in other styles: as `json.dumps` writes it, with text for what the tool's schema calls a string), the
    content is not white space alone when there are calls, and content and reasoning do not themselves spell a
    call or a marker.

    Args:
        reasoning: Whether there is a reasoning block; None: if there is reasoning.

    Raises:
        ValueError: there is reasoning and the format has none, or the format cannot write a name or a value.
    """
    reasoned = bool(output.reasoning) if reasoning is None else reasoning
    content = _content(output, fmt, begun=fmt.answer_in_prompt and not reasoned)
    calls = "" if fmt.calls is None else _calls(fmt.calls, output.calls)
    if output.calls and fmt.calls is None:
        raise ValueError(f"format {fmt.name!r} has no tool calls")
    lead = ""
    if fmt.calls is not None and calls and (fmt.calls.lead_always or content) and fmt.answer is None:
        lead = fmt.calls.lead
    answer = content + lead + calls + fmt.close
    block = fmt.reasoning
    if reasoned and block is not None and block.answer is not None:
        answer = block.answer.begin + answer + block.answer.end
    return _reasoning(output.reasoning, fmt, reasoned) + answer.removeprefix(fmt.prompted)


def _reasoning(text: str, fmt: ModelFormat, reasoned: bool) -> str:
    block = fmt.reasoning
    if block is None:
        if reasoned:
            raise ValueError(f"format {fmt.name!r} has no reasoning")
        return ""
    if not reasoned:
        return block.off
    begin = "" if block.in_prompt else block.begin + block.pad
    return begin + text + block.pad + block.end + block.after


def _content(output: ParsedOutput, fmt: ModelFormat, *, begun: bool) -> str:
    marked: Marked | None = fmt.answer
    if marked is None:
        return output.content
    if output.calls and not fmt.answer_and_calls:
        if not output.content:
            return ""
        if fmt.preamble is None:
            raise ValueError(f"format {fmt.name!r} has content or calls, not both")
        marked = fmt.preamble
    return ("" if begun else marked.begin) + output.content + marked.end


def _calls(calls: Calls, made: Sequence[Call]) -> str:
    if not made:
        return ""
    return calls.begin + calls.separator.join(_call(calls, call, at) for at, call in enumerate(made)) + calls.end


def _call(calls: Calls, call: Call, at: int) -> str:
    pieces = []
    for part in calls.syntaxes[0].parts:
        match part:
            case Name():
                pieces.append(written_name(call.name, part))
            case Index(first):
                pieces.append(str(first + at))
            case Identifier(length):
                pieces.append(f"call{at:0{length - 4}}")
            case Word(usual):
                pieces.append(usual)
            case Arguments(style, _):
                pieces.append(write_arguments(style, call.arguments))
            case str():
                pieces.append(part)
    return "".join(pieces)
