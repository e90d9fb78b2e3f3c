"""`X-Request-Id` in and out, on every kind of answer."""

from __future__ import annotations

import pytest

from server.engines.scripted import Script
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("stream", [False, True])
async def test_clients_id_comes_back(stream: bool) -> None:
    async with running() as server:
        answer = await server.http.post(
            "/v1/chat/completions", json=body(stream=stream), headers={"x-request-id": "my-id:1/2"}
        )

    assert answer.headers.get_list("x-request-id") == ["my-id:1/2"]


@pytest.mark.parametrize("given", [None, "", "two words", "x" * 129, "ü", "a\tb"])
async def test_other_ids_are_replaced(given: str | None) -> None:
    headers = {} if given is None else {b"x-request-id": given.encode()}
    async with running() as server:
        first, second = [(await server.http.get("/version", headers=headers)).headers["x-request-id"] for _ in range(2)]

    assert first.startswith("req_")
    assert first != second


async def test_errors_have_ids_too() -> None:
    async with running(Script(fail_after=0), api_key="k") as server:
        refused = await server.http.get("/v1/models")
        right = {"authorization": "Bearer k"}
        unknown = await server.http.get("/nothing", headers=right)
        failed = await server.http.post("/v1/chat/completions", json=body(), headers=right)

    assert [answer.status_code for answer in (refused, unknown, failed)] == [401, 404, 500]
    assert all(answer.headers["x-request-id"].startswith("req_") for answer in (refused, unknown, failed))


async def test_own_fault_outside_of_generation_is_a_500_with_openais_body(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as server:
        monkeypatch.setattr(server.engine, "metrics", lambda: 1 / 0)
        answer = await server.http.get("/metrics", headers={"x-request-id": "mine"})

    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert answer.headers["x-request-id"] == "mine"


async def test_official_client_reads_it() -> None:
    async with running() as server:
        completion = await server.client.chat.completions.create(
            **body(), extra_headers={"x-request-id": "from-the-client"}
        )

    assert completion._request_id == "from-the-client"
