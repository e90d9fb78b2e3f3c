"""`chat.completion` and `chat.completion.chunk`: what clients get back.

Source: openai-openapi 2.3.0, `CreateChatCompletionResponse` and `CreateChatCompletionStreamResponse`.
A key appears exactly when it was given here, so `content: null` and `usage: null` can be told from a missing key.
`reasoning_content` (DeepSeek, SGLang, llama.cpp) and `reasoning` (vLLM) are the two names under which clients look for
reasoning text.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from server.wire.base import Answer

FinishReason = Literal["stop", "length", "tool_calls"]


class Function(Answer):
    name: str
    arguments: str


class ToolCall(Answer):
    id: str
    type: Literal["function"]
    function: Function


class Custom(Answer):
    name: str
    input: str


class CustomToolCall(Answer):
    id: str
    type: Literal["custom"]
    custom: Custom


class Message(Answer):
    role: Literal["assistant"]
    content: str | None
    refusal: None
    tool_calls: list[ToolCall | CustomToolCall] = Field(default_factory=list)
    reasoning_content: str = ""
    reasoning: str = ""


class TopLogprob(Answer):
    token: str
    logprob: float
    bytes: list[int]


class LogprobEntry(Answer):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class Logprobs(Answer):
    content: list[LogprobEntry]
    refusal: None


class Capture(Answer):
    """The text of a part of the answer that the client's structural tag names."""

    name: str
    text: str


class Choice(Answer):
    index: int
    message: Message
    logprobs: Logprobs | None
    finish_reason: FinishReason
    captures: list[Capture] | None = None
    token_ids: list[int] = Field(default_factory=list)


class PromptTokensDetails(Answer):
    cached_tokens: int


class CompletionTokensDetails(Answer):
    reasoning_tokens: int


class Usage(Answer):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails


class PromptLogprob(Answer):
    """vLLM's shape: `rank` counts from 1."""

    logprob: float
    rank: int | None
    decoded_token: str


class ChatCompletion(Answer):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str
    prompt_logprobs: list[dict[int, PromptLogprob] | None] | None = None
    prompt_token_ids: list[int] = Field(default_factory=list)


class FunctionDelta(Answer):
    name: str = ""
    arguments: str


class ToolCallDelta(Answer):
    index: int
    id: str = ""
    type: Literal["function"] = "function"
    function: FunctionDelta


class CustomDelta(Answer):
    name: str = ""
    input: str


class CustomToolCallDelta(Answer):
    index: int
    id: str = ""
    type: Literal["custom"] = "custom"
    custom: CustomDelta


class MessageDelta(Answer):
    role: Literal["assistant"] = "assistant"
    content: str | None = None
    refusal: None = None
    tool_calls: list[ToolCallDelta | CustomToolCallDelta] = Field(default_factory=list)
    reasoning_content: str = ""
    reasoning: str = ""


class ChunkChoice(Answer):
    index: int
    delta: MessageDelta
    logprobs: Logprobs | None
    finish_reason: FinishReason | None
    captures: list[Capture] | None = None
    token_ids: list[int] = Field(default_factory=list)


class ChatChunk(Answer):
    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    system_fingerprint: str
    usage: Usage | None = None
    prompt_token_ids: list[int] = Field(default_factory=list)
