"""`/openapi.json`: every route with what it takes and gives, and examples that run.

The routes read bodies themselves (strictly, and with places for errors), so FastAPI cannot see what they take. Here
each is described by the models that check and write: one `Operation` a route, schemas from pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from server import __version__
from server.openapi_examples import (
    CHAT,
    COMPLETION,
    COUNT_TOKENS,
    DETOKENIZE,
    MESSAGES,
    RESPONSES,
    TOKENIZE,
    VALIDATE,
)
from server.wire.anthropic.error import MessagesErrorBody
from server.wire.anthropic.request import CountRequest, MessagesRequest
from server.wire.chat_request import ChatRequest
from server.wire.chat_response import ChatChunk, ChatCompletion
from server.wire.completion_request import CompletionRequest
from server.wire.completion_response import TextCompletion
from server.wire.error import ErrorBody
from server.wire.responses.request import ResponsesRequest
from server.wire.tokenize import Text, TextToTokens, Tokens, TokensToText
from server.wire.validation import Validation, ValidationRequest

if TYPE_CHECKING:
    from fastapi import FastAPI

_REFERENCE = "#/components/schemas/{model}"

_ERRORS: Mapping[str, str] = {
    "400": "Something in the request is wrong; `param` names the place.",
    "401": "The API key is missing or wrong.",
    "404": "There is no such model.",
    "413": "The body is too long.",
    "429": "There are too many requests at once; `Retry-After` says when to come again.",
    "500": "The server failed.",
    "503": "The engine is starting, stopping or dead.",
    "504": "The answer took too long.",
}


@dataclass(frozen=True)
class Operation:
    """One `POST`. Without an `answer` model the answer is any JSON object; `event` is the data of a stream's events."""

    request: type[BaseModel] | tuple[type[BaseModel], ...]
    examples: Mapping[str, Mapping[str, Any]]
    answer: type[BaseModel] | None = None
    event: type[BaseModel] | None = None
    streams: bool = False
    error: type[BaseModel] = ErrorBody


OPERATIONS: Mapping[str, Operation] = {
    "/v1/chat/completions": Operation(ChatRequest, CHAT, ChatCompletion, ChatChunk, streams=True),
    "/v1/completions": Operation(CompletionRequest, COMPLETION, TextCompletion, TextCompletion, streams=True),
    "/v1/responses": Operation(ResponsesRequest, RESPONSES, streams=True),
    "/v1/responses/input_tokens": Operation(ResponsesRequest, RESPONSES),
    "/v1/messages": Operation(MessagesRequest, MESSAGES, streams=True, error=MessagesErrorBody),
    "/v1/messages/count_tokens": Operation(CountRequest, COUNT_TOKENS, error=MessagesErrorBody),
    "/v1/structured/validate": Operation(ValidationRequest, VALIDATE, Validation),
    "/tokenize": Operation((TextToTokens, ChatRequest), TOKENIZE, Tokens),
    "/detokenize": Operation(TokensToText, DETOKENIZE, Text),
}


def install(app: FastAPI) -> None:
    """The document is made when it is first asked for."""
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(_document(app))
        return made

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="strictserve",
        version=__version__,
        summary="OpenAI's API, with tool calls and structured outputs that are right by construction.",
        routes=app.routes,
    )
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    references = _add_models(schemas)
    for path, operation in OPERATIONS.items():
        described: dict[str, Any] = document["paths"][path]["post"]
        described["requestBody"] = {"required": True, "content": {"application/json": _body(operation, references)}}
        described["responses"] = _responses(operation, references)
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            described["responses"].pop("422", None)  # FastAPI's own; here it is a 400
            if method != "post" and "{" in path:
                described["responses"]["404"] = _json(_ERRORS["404"], references[ErrorBody])
    return document


def _add_models(schemas: dict[str, Any]) -> dict[type[BaseModel], dict[str, Any]]:
    """Put the schemas of all models in place; the reference of each."""
    wanted: dict[type[BaseModel], JsonSchemaMode] = {ErrorBody: "serialization"}
    for operation in OPERATIONS.values():
        requests = operation.request if isinstance(operation.request, tuple) else (operation.request,)
        wanted.update(dict.fromkeys(requests, "validation"))
        given = (operation.answer, operation.event, operation.error)
        wanted.update({model: "serialization" for model in given if model is not None})
    by_model, definitions = models_json_schema(
        list(wanted.items()), ref_template=_REFERENCE, schema_generator=GenerateJsonSchema
    )
    schemas.update(definitions["$defs"])
    return {model: by_model[model, mode] for model, mode in wanted.items()}


def _body(operation: Operation, references: Mapping[type[BaseModel], dict[str, Any]]) -> dict[str, Any]:
    requests = operation.request if isinstance(operation.request, tuple) else (operation.request,)
    schema = references[requests[0]] if len(requests) == 1 else {"anyOf": [references[model] for model in requests]}
    return {
        "schema": schema,
        "examples": {name: {"value": dict(value)} for name, value in operation.examples.items()},
    }


def _responses(operation: Operation, references: Mapping[type[BaseModel], dict[str, Any]]) -> dict[str, Any]:
    answer = {"type": "object"} if operation.answer is None else references[operation.answer]
    responses = {"200": _json("The answer.", answer)}
    if operation.streams:
        event = {"type": "object"} if operation.event is None else references[operation.event]
        responses["200"]["content"]["text/event-stream"] = {"schema": event}
    errors = references[operation.error]
    responses.update({status: _json(description, errors) for status, description in _ERRORS.items()})
    return responses


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
