"""`/v1/responses`: a chat request in other words, its answer as items, and a store to come back to it.

A request's life: body -> Responses request -> chat request, with the conversation that `previous_response_id` names
-> the same generation as a chat completion -> items and events (`wire/responses/reply.py`) -> the store.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from server import record, serving, sse
from server.engines.base import EngineError
from server.errors import ApiError, refuse
from server.generation import Generation, count_prompt, start
from server.response_store import StoredResponse
from server.state import ServerState, state_of
from server.wire.body import parse_object
from server.wire.json_bytes import from_bytes, to_bytes
from server.wire.renaming import Names
from server.wire.responses import listing
from server.wire.responses.reply import Event, ResponseWriter
from server.wire.responses.request import Parsed, ResponsesRequest, check, to_chat, turns

router = APIRouter()

Checked = tuple[ResponsesRequest, dict[str, Any]]


@router.post("/v1/responses")
async def create_response(request: Request) -> Response:
    """Answer one request, as JSON or as a stream of events."""
    state = state_of(request)
    return await serving.answer(state, _respond(state, request))


@router.post("/v1/responses/input_tokens")
async def count_input_tokens(request: Request) -> dict[str, Any]:
    """Tokens of the prompt that a request would make; nothing is generated."""
    state = state_of(request)
    own, rest = await serving.checked_body(state, request, lambda raw: _check(state, raw))
    state.check_model(own.model)
    context = _context(state, own)
    parsed = await serving.off_the_loop(state, lambda: _chat(state, own, rest, context))
    try:
        tokens = await count_prompt(state, parsed.chat)
    except Exception as error:
        raise parsed.names.told(serving.api_error(error)) from error
    return {"object": "response.input_tokens", "input_tokens": tokens}


@router.get("/v1/responses/{response_id}")
async def get_response(request: Request, response_id: str) -> Response:
    if request.query_params.get("stream", "false") != "false":
        refuse("stream", "a stored response cannot be streamed again", code="unsupported_parameter")
    return Response(_stored(state_of(request), response_id).response, media_type="application/json")


@router.delete("/v1/responses/{response_id}")
async def delete_response(request: Request, response_id: str) -> dict[str, Any]:
    if not state_of(request).responses.delete(response_id):
        raise _not_found(response_id)
    return {"id": response_id, "object": "response", "deleted": True}


@router.post("/v1/responses/{response_id}/cancel")
async def cancel_response(request: Request, response_id: str) -> None:
    """There are no background responses; one that is being made is cancelled by closing its connection."""
    _stored(state_of(request), response_id)
    refuse("response_id", "only responses that run in the background can be cancelled, and this server makes none")


@router.get("/v1/responses/{response_id}/input_items")
async def list_input_items(request: Request, response_id: str) -> dict[str, Any]:
    """The items of the conversation before the response, in pages."""
    entry = _stored(state_of(request), response_id)
    return listing.page(from_bytes(entry.input_items), request.query_params)


async def _respond(state: ServerState, request: Request) -> Response:
    arrived = time.perf_counter()
    own, rest = await serving.checked_body(state, request, lambda raw: _check(state, raw))
    state.check_model(own.model)
    context = _context(state, own)
    begun = serving.in_time(state, _begin(state, (own, rest), context, arrived), arrived)
    parsed, generation = await sse.until_disconnect(request.receive, begun)
    made = _Making(state, generation, parsed, [*context, *listing.with_ids(own.input)])
    try:
        if own.stream:
            response: Response = await serving.stream(state, request, made)
        else:
            response = await sse.until_disconnect(request.receive, made.whole())
    except EngineError as error:
        raise parsed.names.told(serving.api_error(error)) from error
    serving.add_headers(response, generation, parsed.names.text)
    return response


async def _begin(
    state: ServerState, checked: Checked, context: list[dict[str, Any]], arrived: float
) -> tuple[Parsed, Generation]:
    """A generation of the whole conversation, or with truncation "auto" of as many of its last turns as fit."""
    own, _ = checked
    try:
        return await _begin_at(state, checked, context, 0, arrived)
    except ApiError as error:
        starts = [place for place in turns(own, context) if place > 0]
        if own.truncation != "auto" or error.code != "context_length_exceeded" or not starts:
            raise
    fewest, most = 0, len(starts) - 1  # of the turns that may begin the prompt, the last one at most
    while fewest < most:
        middle = (fewest + most) // 2
        try:
            await _begin_at(state, checked, context, starts[middle], arrived)
            most = middle
        except ApiError as error:
            if error.code != "context_length_exceeded":
                raise
            fewest = middle + 1
    return await _begin_at(state, checked, context, starts[fewest], arrived)


async def _begin_at(
    state: ServerState, checked: Checked, context: list[dict[str, Any]], skip: int, arrived: float
) -> tuple[Parsed, Generation]:
    parsed = await serving.off_the_loop(state, lambda: _chat(state, *checked, context, skip))
    try:
        return parsed, await start(state, parsed.chat, arrived=arrived)
    except (ApiError, EngineError) as error:
        raise parsed.names.told(serving.api_error(error)) from error


def _check(state: ServerState, raw: bytes) -> Checked:
    server = state.settings.server
    return check(parse_object(raw, max_depth=server.max_json_depth), strict=server.strict_fields)


def _chat(
    state: ServerState,
    own: ResponsesRequest,
    rest: dict[str, Any],
    context: Sequence[dict[str, Any]],
    skip: int = 0,
) -> Parsed:
    server = state.settings.server
    return to_chat(own, rest, context=context, skip=skip, max_depth=server.max_json_depth, strict=server.strict_fields)


def _context(state: ServerState, own: ResponsesRequest) -> list[dict[str, Any]]:
    """The items of the conversation that the request goes on with, the answer to them included."""
    if own.previous_response_id is None:
        return []
    entry = state.responses.get(own.previous_response_id)
    if entry is None:
        raise ApiError(
            f"previous_response_id: no response {own.previous_response_id[:128]!r} is stored, or not any more",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    return [*from_bytes(entry.input_items), *from_bytes(entry.response)["output"]]


def _stored(state: ServerState, response_id: str) -> StoredResponse:
    entry = state.responses.get(response_id)
    if entry is None:
        raise _not_found(response_id)
    return entry


def _not_found(response_id: str) -> ApiError:
    return ApiError(
        f"no response {response_id[:128]!r} is stored",
        status=404,
        param="response_id",
        code="response_not_found",
    )


class _Making:
    """One response while it is generated, as events or whole; it is stored when it is complete."""

    def __init__(
        self, state: ServerState, generation: Generation, parsed: Parsed, input_items: list[dict[str, Any]]
    ) -> None:
        self._state = state
        self._generation = generation
        self._names: Names = parsed.names
        self._store = parsed.request.store is not False
        self._input_items = input_items
        self._writer = ResponseWriter(
            parsed.request,
            response_id="resp_" + generation.id.rpartition("-")[2],
            created=generation.created,
            model=state.engine.model_id,
        )
        record.current().response_id = self._writer.response["id"]

    async def events(self) -> AsyncGenerator[bytes, None]:
        begun = False
        async with aclosing(self._generation.chunks()) as chunks:
            async for chunk in chunks:
                opening = [] if begun else self._writer.begin()
                begun = True
                for event in [*opening, *self._writer.push(chunk)]:
                    yield _encoded(event)

    def closing(self) -> Sequence[bytes]:
        return [_encoded(event) for event in self._finish()]

    def failing(self, error: ApiError) -> Sequence[bytes]:
        return [_encoded(event) for event in self._writer.fail(self._names.told(error))]

    async def whole(self) -> Response:
        async with aclosing(self._generation.chunks()) as chunks:
            async for chunk in chunks:
                self._writer.push(chunk)
        self._finish()
        return Response(to_bytes(self._writer.response), media_type="application/json")

    def _finish(self) -> list[Event]:
        (answer,) = self._generation.answers
        events = self._writer.finish(answer, self._generation.usage)
        response = self._writer.response
        if self._store:
            entry = StoredResponse(to_bytes(response), to_bytes(self._input_items))
            self._state.responses.put(response["id"], entry)
        return events


def _encoded(event: Event) -> bytes:
    return sse.named_event(event["type"], to_bytes(event))
