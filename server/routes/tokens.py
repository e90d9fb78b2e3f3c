"""`POST /tokenize` and `/detokenize`: texts and chats to tokens, and back. The model does not run."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from server import serving
from server.errors import refuse, unavailable
from server.generation import prompt_of
from server.state import ServerState, state_of
from server.wire.body import parse_object
from server.wire.chat_request import ChatRequest
from server.wire.tokenize import Text, TextToTokens, Tokens, TokensToText, parse_tokenize_request
from server.wire.unknown_fields import validate

router = APIRouter()


@router.post("/tokenize", response_model_exclude_unset=True)
async def tokenize(request: Request) -> Tokens:
    """The tokens of a text, or of the prompt that a chat request would make."""
    state = state_of(request)
    server = state.settings.server

    def parse(raw: bytes) -> tuple[TextToTokens | ChatRequest, bool]:
        body = parse_object(raw, max_depth=server.max_json_depth)
        return parse_tokenize_request(body, max_depth=server.max_json_depth, strict=server.strict_fields)

    wanted, strings = await serving.checked_body(state, request, parse)
    _check(state, wanted.model)
    if isinstance(wanted, ChatRequest):
        try:
            token_ids = await prompt_of(state, wanted)
        except Exception as error:
            raise serving.api_error(error) from error
    else:
        special = wanted.add_special_tokens is not False
        token_ids = await asyncio.to_thread(state.engine.encode, wanted.prompt, special_tokens=special)
    tokens = Tokens(count=len(token_ids), max_model_len=state.engine.max_model_len, tokens=token_ids)
    if strings:
        tokens.token_strs = await asyncio.to_thread(state.engine.names_of, token_ids)
    return tokens


@router.post("/detokenize")
async def detokenize(request: Request) -> Text:
    """The text of tokens, special ones included."""
    state = state_of(request)
    server = state.settings.server

    def parse(raw: bytes) -> TokensToText:
        body: dict[str, Any] = parse_object(raw, max_depth=server.max_json_depth)
        return validate(TokensToText, body, strict=server.strict_fields)

    wanted = await serving.checked_body(state, request, parse)
    _check(state, wanted.model)
    size = state.engine.vocabulary.vocab_size
    for place, token in enumerate(wanted.tokens):
        if token >= size:
            refuse(f"tokens[{place}]", f"the model has {size} tokens, {token} is none of them")
    return Text(prompt=await asyncio.to_thread(state.engine.text_of, wanted.tokens))


def _check(state: ServerState, model: str | None) -> None:
    state.check_model(model)
    if not state.is_available():
        raise unavailable()
