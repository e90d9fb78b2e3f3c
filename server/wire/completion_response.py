"""`text_completion`, whole and in pieces: what clients get back.

Source: openai-openapi 2.3.0, `CreateCompletionResponse`. Keys appear exactly when they were given, as in
`chat_response`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from server.wire.base import Answer
from server.wire.chat_response import Capture, PromptLogprob, Usage


class TextLogprobs(Answer):
    """Lists of equal length, a place for each token; of a prompt's first token nothing is known."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]
    """Where the token begins in the text, in characters."""


class TextChoice(Answer):
    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Literal["stop", "length"] | None
    captures: list[Capture] | None = None
    token_ids: list[int] = Field(default_factory=list)
    prompt_token_ids: list[int] = Field(default_factory=list)
    prompt_logprobs: list[dict[int, PromptLogprob] | None] | None = None


class TextCompletion(Answer):
    """`usage` is null in the pieces of a stream, and missing there if it was not asked for."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    system_fingerprint: str
    usage: Usage | None = None
