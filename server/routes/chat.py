"""`POST /v1/chat/completions`.

A request's life: body -> checked request -> plan and prompt (`generation.start`) -> engine -> answer.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from server import serving, sse
from server.answer import prompt_logprobs
from server.errors import ApiError
from server.generation import Generation, start
from server.state import ServerState, state_of
from server.wire.body import parse_object
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.chat_response import ChatChunk, ChatCompletion, ChunkChoice, Usage

router = APIRouter()


@router.post("/v1/chat/completions")
async def chat_completions(request: Request) -> Response:
    """Answer one chat request, as JSON or as a stream of events."""
    state = state_of(request)
    return await serving.answer(state, _respond(state, request))


async def _respond(state: ServerState, request: Request) -> Response:
    arrived = time.perf_counter()
    chat = await serving.checked_body(state, request, lambda raw: _parse(state, raw))
    state.check_model(chat.model)
    work = serving.in_time(state, start(state, chat, arrived=arrived), arrived)
    generation = await sse.until_disconnect(request.receive, work)
    if chat.stream:
        source = _Chunks(state, generation, chat)
        response: Response = await serving.stream(state, request, source)
    else:
        await sse.until_disconnect(request.receive, serving.drain(generation))
        response = Response(_completion(state, generation, chat).to_json(), media_type="application/json")
    serving.add_headers(response, generation)
    return response


def _parse(state: ServerState, raw: bytes) -> ChatRequest:
    server = state.settings.server
    body = parse_object(raw, max_depth=server.max_json_depth)
    return parse_chat_request(body, max_depth=server.max_json_depth, strict=server.strict_fields)


def _completion(state: ServerState, generation: Generation, chat: ChatRequest) -> ChatCompletion:
    completion = ChatCompletion(
        id=generation.id,
        object="chat.completion",
        created=generation.created,
        model=state.engine.model_id,
        choices=[answer.choice() for answer in generation.answers],
        usage=generation.usage,
        system_fingerprint=state.system_fingerprint,
    )
    if chat.prompt_logprobs is not None:
        completion.prompt_logprobs = prompt_logprobs(generation.prompt_logprobs)
    if chat.return_token_ids:
        completion.prompt_token_ids = list(generation.prompt_token_ids)
    return completion


class _Chunks:
    """The events of one stream: a chunk each, the usage if wanted, the end mark."""

    def __init__(self, state: ServerState, generation: Generation, chat: ChatRequest) -> None:
        self._state = state
        self._generation = generation
        self._include_usage = chat.include_usage
        self._continuous_usage = chat.continuous_usage
        self._tell_prompt = chat.return_token_ids is True

    async def events(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._generation.chunks()) as chunks:
            async for choice in chunks:
                yield self._event([choice], self._generation.usage if self._continuous_usage else None)

    def closing(self) -> Sequence[bytes]:
        usage = [self._event([], self._generation.usage)] if self._include_usage else []
        return [*usage, sse.DONE]

    def failing(self, error: ApiError) -> Sequence[bytes]:
        return [sse.error_event(error.body())]

    def _event(self, choices: list[ChunkChoice], usage: Usage | None) -> bytes:
        chunk = ChatChunk(
            id=self._generation.id,
            object="chat.completion.chunk",
            created=self._generation.created,
            model=self._state.engine.model_id,
            choices=choices,
            system_fingerprint=self._state.system_fingerprint,
        )
        if self._include_usage:
            chunk.usage = usage
        if self._tell_prompt:
            chunk.prompt_token_ids = list(self._generation.prompt_token_ids)
            self._tell_prompt = False
        return sse.event(chunk.to_json())
