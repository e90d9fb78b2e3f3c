"""`POST /v1/structured/validate`: what a chat request would be constrained to, or why it would be refused.

The body is a chat request's; `messages` may be left out. Everything happens that happens before the model runs, and
nothing after it: the same checks, the same compiles for the model's format, the same cache.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from engine_native import EngineError, LimitError, Matcher, UnsupportedSchemaError
from server import serving
from server.errors import ApiError
from server.generation import plan_of
from server.pipeline import Plan
from server.state import ServerState, state_of
from server.wire.body import parse_object
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.validation import Cache, CompiledPart, Failure, Level, Validation

router = APIRouter()

_ANY_MESSAGE = [{"role": "user", "content": ""}]
_LINE = re.compile(r"line ([0-9]+), column ([0-9]+)")


@router.post("/v1/structured/validate", response_model_exclude_unset=True)
async def validate(request: Request) -> Validation:
    """Compile a request's tools, choice of tools and constraint for the served model, without running it."""
    state = state_of(request)
    server = state.settings.server
    body = await serving.checked_body(state, request, lambda raw: parse_object(raw, max_depth=server.max_json_depth))
    name = body.get("model")
    state.check_model(name if isinstance(name, str) else None)
    began = time.perf_counter()
    before = state.compiler.stats()
    try:
        chat = parse_chat_request(
            {"messages": _ANY_MESSAGE, **body}, max_depth=server.max_json_depth, strict=server.strict_fields
        )
        planned = await plan_of(state, chat)
        least = await _least_tokens(state, chat, planned)
    except ApiError as error:
        return Validation(
            object="structured.validation",
            valid=False,
            model=state.engine.model_id,
            format=state.model_format.name,
            seconds=time.perf_counter() - began,
            error=_failure(error),
            cache=_cache(before, state.compiler.stats()),
        )
    return Validation(
        object="structured.validation",
        valid=True,
        model=state.engine.model_id,
        format=state.model_format.name,
        seconds=time.perf_counter() - began,
        constrained=planned.structural_tag is not None,
        structural_tag=None if planned.structural_tag is None else json.loads(planned.structural_tag),
        memory_bytes=0 if planned.grammar is None else planned.grammar.memory_bytes,
        least_tokens=least,
        parts=[
            CompiledPart(param=param, memory_bytes=grammar.memory_bytes, notes=list(grammar.notes))
            for param, grammar in dict(planned.parts).items()  # once each; of two compiles of a place the last
        ],
        notes=[] if planned.grammar is None else list(planned.grammar.notes),
        warnings=[f"unknown field: {name}" for name in chat.unknown],
        cache=_cache(before, state.compiler.stats()),
    )


async def _least_tokens(state: ServerState, chat: ChatRequest, planned: Plan) -> int | None:
    """The fewest tokens of a whole answer, its stop token included; None where that cannot be told."""
    if planned.grammar is None:
        return None
    grammar = planned.grammar

    def count() -> int | None:
        try:
            return Matcher(grammar).least_tokens()
        except (UnsupportedSchemaError, LimitError):
            return None

    least = await serving.off_the_loop(state, count)
    return None if least is None else least + 1


def _failure(error: ApiError) -> Failure:
    failure = Failure(message=error.message, type=error.kind, param=error.param, code=error.code)
    if error.pointer:
        failure.pointer = error.pointer
    place = _LINE.search(error.message)
    if place is not None:
        failure.line, failure.column = int(place.group(1)), int(place.group(2))
    cause = error.__cause__
    if isinstance(cause, EngineError) and cause.offset:
        failure.offset = cause.offset
    return failure


def _cache(before: dict[str, Any], after: dict[str, Any]) -> Cache:
    """What the compiler's cache holds now; hits and misses since `before`, those of other requests included."""
    levels = {
        level: Level(
            hits=counts["hits"] - before["levels"][level]["hits"],
            misses=counts["misses"] - before["levels"][level]["misses"],
        )
        for level, counts in after["levels"].items()
    }
    return Cache(
        levels=levels,
        compile_seconds=after["compile_seconds"] - before["compile_seconds"],
        bytes=after["bytes"],
        grammars=after["grammars"],
        rules=after["rules"],
    )
