"""`POST /v1/completions`: the request, checked field by field.

Source of fields and bounds: openai-openapi 2.3.0, `CreateCompletionRequest`, and vLLM 0.32.0 for its extensions. A
text completion has the sampling and the constraints of a chat completion, and no messages, tools or reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from server.errors import refuse
from server.wire.chat_request import ChatRequest
from server.wire.sampling import NEUTRAL, SamplingFields, check_sampling, without_neutral
from server.wire.structured_outputs import read_texts
from server.wire.unknown_fields import validate

Prompt = str | tuple[int, ...]
"""A text, or the ids of its tokens."""

_DEFAULT_TOKENS = 16
"""OpenAI's, for requests without `max_tokens`."""

_MOST_CHOICES = 1024
"""Of one request, all prompts together."""

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    **{name: values for name, values in NEUTRAL.items() if name != "best_of"},
    "suffix": (None, ""),
    "prompt_embeds": (None,),
}


def _prompts(value: Any) -> list[Prompt]:
    """OpenAI's four shapes as one."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        if _are_ids(value):
            return [tuple(value)]
        if all(isinstance(item, str) for item in value):
            return value
        if all(_are_ids(item) for item in value):
            return [tuple(item) for item in value]
    raise PydanticCustomError(
        "prompt_type", "must be a string, an array of strings, an array of token ids, or an array of such arrays"
    )


def _are_ids(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in value)
    )


_IDS = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
_SHAPES = [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}, _IDS]


class CompletionRequest(SamplingFields):
    """A checked request."""

    prompt: Annotated[
        list[Prompt],
        BeforeValidator(_prompts),
        WithJsonSchema({"anyOf": [*_SHAPES, {"type": "array", "items": _IDS, "minItems": 1}]}),
    ]
    max_tokens: int | None = Field(default=None, ge=0)
    """0 is only for `echo`."""
    echo: bool | None = None
    logprobs: int | None = Field(default=None, ge=0, le=20)
    best_of: int | None = Field(default=None, ge=1)
    add_special_tokens: bool | None = None

    @property
    def generates(self) -> bool:
        return self.max_tokens != 0

    def as_chat(self) -> ChatRequest:
        """The same wishes as those of a chat; there are no messages to be read."""
        shared = {name: getattr(self, name) for name in SamplingFields.model_fields}
        limit = _DEFAULT_TOKENS if self.max_tokens is None else max(self.max_tokens, 1)
        told = self.prompt_logprobs
        if self.echo and self.logprobs is not None:
            told = max(self.logprobs, told or 0)
        shared.update(max_tokens=limit, prompt_logprobs=told)
        chat = ChatRequest.model_construct(
            messages=[], logprobs=self.logprobs is not None, top_logprobs=self.logprobs, **shared
        )
        chat._unknown = self.unknown
        return chat


def parse_completion_request(body: dict[str, Any], *, max_depth: int, strict: bool) -> CompletionRequest:
    """The checked request, or ApiError (400) with the first place that is wrong."""
    known = read_texts(without_neutral(body, _NEUTRAL), max_depth=max_depth)
    request = validate(CompletionRequest, known, strict=strict)
    check_sampling(request)
    choices = request.n or 1
    if request.best_of is not None and request.best_of != choices:
        refuse("best_of", "must be n: all choices that are made are returned", code="unsupported_parameter")
    if len(request.prompt) * choices > _MOST_CHOICES:
        refuse("prompt", f"{len(request.prompt)} prompts with {choices} choices each; at most {_MOST_CHOICES} in all")
    if not request.generates and not request.echo:
        refuse("max_tokens", "must be at least 1 without echo")
    return request
