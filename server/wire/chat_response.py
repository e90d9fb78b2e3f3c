"""`chat.completion` and `chat.completion.chunk`: what clients get back.

Source: openai-openapi 2.3.0, `CreateChatCompletionResponse` and `CreateChatCompletionStreamResponse`.
Written with `exclude_unset`: a key appears exactly when it was given here, so `content: null` and
`usage: null` can be told from a missing key. `reasoning_content` (DeepSeek, SGLang, llama.cpp) and
`reasoning` (vLLM) are the two names under which clients look for reasoning text.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FinishReason = Literal["stop", "length", "tool_calls"]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def to_json(self) -> str:
        return self.model_dump_json(exclude_unset=True)


class Function(_Wire):
    name: str
    arguments: str


class ToolCall(_Wire):
    id: str
    type: Literal["function"]
    function: Function


class Custom(_Wire):
    name: str
    input: str


class CustomToolCall(_Wire):
    id: str
    type: Literal["custom"]
    custom: Custom


class Message(_Wire):
    role: Literal["assistant"]
    content: str | None
    refusal: None
    tool_calls: list[ToolCall | CustomToolCall] = []
    reasoning_content: str = ""
    reasoning: str = ""


class TopLogprob(_Wire):
    token: str
    logprob: float
    bytes: list[int]


class LogprobEntry(_Wire):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class Logprobs(_Wire):
    content: list[LogprobEntry]
    refusal: None


class Capture(_Wire):
    """The text of a part of the answer that the client's structural tag names."""

    name: str
    text: str


class Choice(_Wire):
    index: int
    message: Message
    logprobs: Logprobs | None
    finish_reason: FinishReason
    captures: list[Capture] | None = None
    token_ids: list[int] = []


class PromptTokensDetails(_Wire):
    cached_tokens: int


class CompletionTokensDetails(_Wire):
    reasoning_tokens: int


class Usage(_Wire):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails


class PromptLogprob(_Wire):
    """vLLM's shape: `rank` counts from 1."""

    logprob: float
    rank: int | None
    decoded_token: str


class ChatCompletion(_Wire):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str
    prompt_logprobs: list[dict[int, PromptLogprob] | None] | None = None
    prompt_token_ids: list[int] = []


class FunctionDelta(_Wire):
    name: str = ""
    arguments: str


class ToolCallDelta(_Wire):
    index: int
    id: str = ""
    type: Literal["function"] = "function"
    function: FunctionDelta


class CustomDelta(_Wire):
    name: str = ""
    input: str


class CustomToolCallDelta(_Wire):
    index: int
    id: str = ""
    type: Literal["custom"] = "custom"
    custom: CustomDelta


class MessageDelta(_Wire):
    role: Literal["assistant"] = "assistant"
    content: str | None = None
    refusal: None = None
    tool_calls: list[ToolCallDelta | CustomToolCallDelta] = []
    reasoning_content: str = ""
    reasoning: str = ""


class ChunkChoice(_Wire):
    index: int
    delta: MessageDelta
    logprobs: Logprobs | None
    finish_reason: FinishReason | None
    captures: list[Capture] | None = None
    token_ids: list[int] = []


class ChatChunk(_Wire):
    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    system_fingerprint: str
    usage: Usage | None = None
    prompt_token_ids: list[int] = []
