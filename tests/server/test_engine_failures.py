"""What clients see when the engine fails, early or late."""

from __future__ import annotations

import json

import openai
import pytest

from server.engines.scripted import Script
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio


async def test_failure_in_a_stream_is_an_error_event_and_the_end() -> None:
    async with running(Script(text="abcdef", fail_after=3)) as server:
        response = await server.chat(**body(stream=True))

    events = response.text.split("\n\n")
    assert response.status_code == 200
    assert json.loads(events[-2].removeprefix("data: "))["error"]["code"] == "internal_error"
    assert "the script says so" not in response.text
    assert "[DONE]" not in response.text
    assert len(server.engine.aborted) == 1


async def test_official_client_raises_on_a_failing_stream() -> None:
    async with running(Script(text="abcdef", fail_after=3)) as server:
        with pytest.raises(openai.APIError, match="the server had an error"):
            await server.folded(**body())


@pytest.mark.parametrize("stream", [False, True])
async def test_failure_before_the_first_token_is_a_500(stream: bool) -> None:
    async with running(Script(fail_after=0)) as server:
        response = await server.chat(**body(stream=stream))

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"


async def test_dead_engine_is_a_503_and_health_says_so() -> None:
    async with running(Script(text="abc", die_after=1)) as server:
        assert (await server.http.get("/health")).status_code == 200
        dying = await server.chat(**body())
        after = await server.chat(**body())
        health = await server.http.get("/health")

    for response in (dying, after, health):
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert response.json()["error"]["code"] == "engine_unavailable"


async def test_death_in_a_stream_is_an_error_event() -> None:
    async with running(Script(text="abc", die_after=2)) as server:
        response = await server.chat(**body(stream=True))

    last = response.text.split("\n\n")[-2].removeprefix("data: ")
    assert json.loads(last)["error"]["code"] == "engine_unavailable"
