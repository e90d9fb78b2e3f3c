"""Captures and other extensions of chats reach the answers of `/v1/responses` and `/v1/messages`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.engines.scripted import Script
from tests.server.running import running

pytestmark = pytest.mark.anyio

TAG: dict[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "const_string", "value": "id="},
            {"type": "regex", "pattern": "[0-9]{3}", "capture": "number"},
        ],
    },
}
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/responses": {"input": "x", "text": {"format": TAG}},
    "/v1/messages": {
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "x"}],
        "structured_outputs": {"structural_tag": TAG},
    },
}


@pytest.mark.parametrize("path", REQUESTS)
async def test_captures_are_told_whole_and_in_the_stream(path: str) -> None:
    async with running(Script(answers=("id=123", "id=123"))) as server:
        single = (await server.http.post(path, json=REQUESTS[path])).json()
        stream = await server.http.post(path, json={**REQUESTS[path], "stream": True})

    events = [json.loads(line.removeprefix("data: ")) for line in stream.text.split("\n") if line.startswith("data: ")]
    expected = [{"name": "number", "text": "123"}]
    assert single["captures"] == expected
    told = events[-1]["response"] if path == "/v1/responses" else events[-2]
    assert told["captures"] == expected


@pytest.mark.parametrize("path", REQUESTS)
async def test_sampling_fields_of_chats_reach_the_engine(path: str) -> None:
    fields = {"seed": 7, "min_p": 0.1, "top_k": 5, "stop_token_ids": [256], "complete_within_budget": True}
    async with running(Script(answers=("id=123",))) as server:
        response = await server.http.post(path, json={**REQUESTS[path], **fields})

    assert response.status_code == 200, response.text
    (request,) = server.engine.requests
    assert (request.sampling.seed, request.sampling.min_p, request.sampling.top_k) == (7, 0.1, 5)
    assert request.sampling.stop_token_ids == (256,)
    assert request.complete_within_budget
