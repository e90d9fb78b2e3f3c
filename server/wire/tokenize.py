"""`POST /tokenize` and `/detokenize`: vLLM's bodies and answers.

Source: vLLM 0.32.0, `TokenizeCompletionRequest`, `TokenizeChatRequest`, `DetokenizeRequest`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from server.errors import refuse
from server.wire.base import Body, Items
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.sampling import TokenId
from server.wire.unknown_fields import validate


class TextToTokens(Body):
    """`add_special_tokens` is true unless said otherwise."""

    prompt: str
    model: str | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class TokensToText(Body):
    tokens: Items[TokenId]
    model: str | None = None


class Tokens(BaseModel):
    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


class Text(BaseModel):
    prompt: str


def parse_tokenize_request(
    body: dict[str, Any], *, max_depth: int, strict: bool
) -> tuple[TextToTokens | ChatRequest, bool]:
    """A text, or what makes a chat prompt; and whether the tokens are wanted as the vocabulary writes them too."""
    if "messages" not in body:
        text = validate(TextToTokens, body, strict=strict)
        return text, text.return_token_strs is True
    if "prompt" in body:
        refuse("prompt", "is not allowed together with messages")
    known = dict(body)
    strings = known.pop("return_token_strs", None)
    if not isinstance(strings, bool | None):
        refuse("return_token_strs", "must be true or false", code="invalid_type")
    return parse_chat_request(known, max_depth=max_depth, strict=strict), strings is True
