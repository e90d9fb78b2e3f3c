"""`POST /v1/chat/completions`: the request, checked field by field.

Source of fields and bounds: openai-openapi 2.3.0, `CreateChatCompletionRequest`, the types of openai-python 3.57, and
vLLM 0.32.0 for its extensions. What chat shares with text completions is in `sampling.py`. Fields that nobody knows
are named in the answer or refused (`unknown_fields.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from server.errors import refuse
from server.wire.base import Items
from server.wire.messages import AssistantMessage, Message
from server.wire.sampling import NEUTRAL, SamplingFields, check_sampling, without_neutral
from server.wire.structured_outputs import read_texts
from server.wire.tools import (
    AllowedToolsChoice,
    AnyTool,
    CustomToolChoice,
    CustomToolDefinition,
    NamedToolChoice,
    ToolChoice,
    chosen_name,
)
from server.wire.unknown_fields import validate
from structural_tags.formats import reasoning_switches

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    **NEUTRAL,
    "modalities": (None, ["text"]),
    "audio": (None,),
    "moderation": (None,),
    "web_search_options": (None,),
    "functions": (None,),
    "function_call": (None,),
    "chat_template": (None,),
    "mm_processor_kwargs": (None, {}),
    "media_io_kwargs": (None, {}),
}

_OURS = frozenset(
    (
        "messages",
        "conversation",
        "tools",
        "documents",
        "chat_template",
        "add_generation_prompt",
        "continue_final_message",
        "tokenize",
        "padding",
        "truncation",
        "max_length",
        "return_tensors",
        "return_dict",
        "return_assistant_tokens_mask",
        "tokenizer_kwargs",
    )
)
"""What the server itself tells the chat template, or the function that renders it."""


class ChatRequest(SamplingFields):
    """A checked request."""

    messages: Items[Message] = Field(min_length=1)
    tools: Items[AnyTool] | None = Field(default=None, min_length=1)
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)
    max_reasoning_tokens: int | None = Field(default=None, ge=0, lt=1 << 31)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    add_special_tokens: bool | None = None
    echo: bool | None = None
    documents: Items[dict[str, Any]] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    include_reasoning: bool | None = None

    @field_validator("chat_template_kwargs")
    @classmethod
    def _leaves_ours_alone(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for name in value or ():
            if name in _OURS:
                raise PydanticCustomError("template_kwarg", "must not set {name}", {"name": name})
        for name in reasoning_switches():
            if value is not None and not isinstance(value.get(name), bool | None):
                raise PydanticCustomError("template_kwarg", "{name} must be true or false", {"name": name})
        return value

    @property
    def token_limit(self) -> int | None:
        """Most tokens to generate per choice, under either of its two names."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def token_limit_name(self) -> str:
        return "max_tokens" if self.max_completion_tokens is None else "max_completion_tokens"

    @property
    def demands_call(self) -> bool:
        """Whether the tool choice leaves nothing but calls."""
        choice = self.tool_choice
        if isinstance(choice, AllowedToolsChoice):
            return choice.allowed_tools.mode == "required"
        return choice == "required" or chosen_name(choice) is not None

    @property
    def thinking(self) -> bool | None:
        """Whether the client switched reasoning on or off; None when it did not say."""
        for name in reasoning_switches():
            value = (self.chat_template_kwargs or {}).get(name)
            if isinstance(value, bool):
                return value
        return None if self.reasoning_effort is None else self.reasoning_effort != "none"

    @property
    def custom_tools(self) -> frozenset[str]:
        """The names of the tools whose calls have a text instead of arguments."""
        return frozenset(tool.custom.name for tool in self.tools or () if isinstance(tool, CustomToolDefinition))

    @property
    def continued(self) -> AssistantMessage | None:
        """The last message, if the answer goes on with it."""
        last = self.messages[-1]
        return last if self.continue_final_message and isinstance(last, AssistantMessage) else None


def parse_chat_request(
    body: dict[str, Any], *, max_depth: int = 128, strict: bool = True, unknown: Sequence[str] = ()
) -> ChatRequest:
    """The checked request, or ApiError (400) with the first place that is wrong.

    `max_depth` bounds JSON that is sent as a string, as it bounds the body. Without `strict` the names of unknown
    fields are in the request's `unknown` instead, after those that were `unknown` before.
    """
    known = without_neutral(body, _NEUTRAL)
    budget = known.pop("thinking_token_budget", None)
    if budget is not None:
        known.setdefault("max_reasoning_tokens", budget)
    known = read_texts(known, max_depth=max_depth)
    request = validate(ChatRequest, known, strict=strict, unknown=unknown)
    _check_together(request)
    return request


def _check_together(request: ChatRequest) -> None:
    """Rules that span several fields."""
    _check_tools(request)
    if request.top_logprobs is not None and not request.logprobs:
        refuse("top_logprobs", "needs logprobs to be true")
    limits = (request.max_tokens, request.max_completion_tokens)
    if None not in limits and limits[0] != limits[1]:
        refuse("max_tokens", "contradicts max_completion_tokens; send one of them")
    most, limit = request.max_reasoning_tokens, request.token_limit
    if most is not None and limit is not None and most >= limit:
        refuse(
            "max_reasoning_tokens", f"must be less than {request.token_limit_name}, or nothing is left for the answer"
        )
    check_sampling(request)
    _check_prompt(request)
    first = request.constraint
    if first is None:
        return
    if request.demands_call:
        refuse(first.param, "is not allowed together with a tool_choice that demands a call")
    if first.kind == "grammar" and request.tools and request.tool_choice != "none":
        refuse(first.param, "is not allowed together with tools, whose calls it might spell; set tool_choice to none")


def _check_prompt(request: ChatRequest) -> None:
    if request.continue_final_message:
        if request.add_generation_prompt:
            refuse("continue_final_message", "is not allowed together with add_generation_prompt")
        if request.continued is None or request.continued.tool_calls or request.continued.content is None:
            refuse("continue_final_message", "needs a last message of the assistant's, with content and without calls")
        if request.thinking:
            refuse("continue_final_message", "is not allowed together with reasoning, which the message is past")


def _check_tools(request: ChatRequest) -> None:
    names: dict[str, str] = {}
    for index, tool in enumerate(request.tools or ()):
        name = tool.function.name
        if name in names:
            refuse(f"tools[{index}].{tool.type}.name", f"{name!r} is already taken by another tool")
        names[name] = tool.type
    choice = request.tool_choice
    if choice is not None and not names:
        refuse("tool_choice", "is only allowed together with tools")
    if isinstance(choice, NamedToolChoice | CustomToolChoice):
        _check_name(choice, "tool_choice", names)
    if isinstance(choice, AllowedToolsChoice):
        for index, allowed in enumerate(choice.allowed_tools.tools):
            _check_name(allowed, f"tool_choice.allowed_tools.tools[{index}]", names)


def _check_name(choice: NamedToolChoice | CustomToolChoice, place: str, names: Mapping[str, str]) -> None:
    name = chosen_name(choice)
    if name is not None and names.get(name) != choice.type:
        kind = "tool" if choice.type == "function" else "custom tool"
        refuse(f"{place}.{choice.type}.name", f"no {kind} is called {name[:128]!r}")
