"""`/openapi.json` describes every route, its schemas hold, and its examples run."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from fastapi.routing import APIRoute

from server.engines.scripted import Script
from server.openapi import OPERATIONS
from tests.server.bodies import JSON_SCHEMA_FORMAT, TOOLS, body
from tests.server.running import PHRASES, Running, running

pytestmark = pytest.mark.anyio

EXAMPLES = [(path, name) for path, operation in OPERATIONS.items() for name in operation.examples]

WITHOUT_BODY = ("/v1/responses/{response_id}/cancel",)
"""POST routes that read no body."""


async def document(server: Running) -> dict[str, Any]:
    response = await server.http.get("/openapi.json")
    assert response.status_code == 200
    told: dict[str, Any] = response.json()
    return told


def inlined(told: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "components": told["components"]}


@pytest.mark.parametrize(("path", "name"), EXAMPLES)
async def test_example_runs_and_request_and_answer_match_their_schemas(path: str, name: str) -> None:
    async with running(Script(phrases=PHRASES)) as server:
        told = await document(server)
        described = told["paths"][path]["post"]
        example = described["requestBody"]["content"]["application/json"]["examples"][name]["value"]
        response = await server.http.post(path, json=example)

    assert response.status_code == 200, response.text
    jsonschema.validate(example, inlined(told, described["requestBody"]["content"]["application/json"]["schema"]))
    content = described["responses"]["200"]["content"]
    if example.get("stream"):
        schema = inlined(told, content["text/event-stream"]["schema"])
        for event in response.text.split("\n\n")[:-2]:
            jsonschema.validate(json.loads(event.split("data: ", 1)[1]), schema)
        return
    jsonschema.validate(response.json(), inlined(told, content["application/json"]["schema"]))


async def test_error_body_matches_its_schema() -> None:
    async with running() as server:
        told = await document(server)
        refused = await server.chat(temperature=3)

    schema = told["paths"]["/v1/chat/completions"]["post"]["responses"]["400"]["content"]["application/json"]["schema"]
    jsonschema.validate(refused.json(), inlined(told, schema))


async def test_every_route_is_described_and_no_schema_is_missing() -> None:
    async with running() as server:
        told = await document(server)
        routes = {
            (method.lower(), route.path.replace(":path}", "}"))
            for route in server.app.routes
            if isinstance(route, APIRoute)
            for method in route.methods
        }

    assert {(method, path) for path, methods in told["paths"].items() for method in methods} == routes
    for method, path in routes:
        described = told["paths"][path][method]
        assert described["summary"] or described["description"]
        assert "422" not in described["responses"]
        assert ("requestBody" in described) == (method == "post" and path not in WITHOUT_BODY)
    text = json.dumps(told)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(told["components"]["schemas"])
    assert "#/$defs/" not in text


async def test_schema_of_a_request_takes_what_the_server_takes() -> None:
    async with running() as server:
        told = await document(server)

    schema = told["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    good = [
        body(stop="x", tools=TOOLS, tool_choice="required"),
        body(stop=["x", "y"], response_format=JSON_SCHEMA_FORMAT),
        body(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}]}]),
    ]
    for request in good:
        jsonschema.validate(request, inlined(told, schema))
    for wrong in ({}, body(temperature=3), body(messages=[{"role": "wizard", "content": "x"}])):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, inlined(told, schema))
