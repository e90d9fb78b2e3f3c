"""Model text -> reasoning, content and tool calls, incrementally, driven by a model format; and back."""

from __future__ import annotations

from structural_tags.output.events import (
    Call,
    CallArguments,
    CallBegin,
    CallEnd,
    ContentDelta,
    Event,
    ParsedOutput,
    ReasoningDelta,
    fold,
)
from structural_tags.output.parser import OutputParser
from structural_tags.output.render import render

__all__ = [
    "Call",
    "CallArguments",
    "CallBegin",
    "CallEnd",
    "ContentDelta",
    "Event",
    "OutputParser",
    "ParsedOutput",
    "ReasoningDelta",
    "fold",
    "render",
]
