"""Pages of other origins: refused unless the settings name them."""

from __future__ import annotations

from typing import Any

import pytest

from server.settings import SettingsError
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio

ORIGIN = "https://example.org"
PREFLIGHT = {
    "origin": ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}


async def test_no_origin_is_allowed_by_default() -> None:
    async with running() as server:
        answer = await server.http.post("/v1/chat/completions", json=body(), headers={"origin": ORIGIN})
        asked = await server.http.options("/v1/chat/completions", headers=PREFLIGHT)

    assert "access-control-allow-origin" not in answer.headers
    assert asked.status_code == 405


async def test_named_origin_may_ask_without_a_key_and_call_with_one() -> None:
    async with running(api_key="k", tables={"cors": {"allow_origins": [ORIGIN]}}) as server:
        asked = await server.http.options("/v1/chat/completions", headers=PREFLIGHT)
        called = await server.http.post(
            "/v1/chat/completions", json=body(), headers={"origin": ORIGIN, "authorization": "Bearer k"}
        )
        refused = await server.http.post("/v1/chat/completions", json=body(), headers={"origin": ORIGIN})
        other = await server.http.options(
            "/v1/chat/completions", headers={**PREFLIGHT, "origin": "https://example.com"}
        )

    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert called.status_code == 200
    assert called.headers["access-control-allow-origin"] == ORIGIN
    assert "x-request-id" in called.headers["access-control-expose-headers"]
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == ORIGIN  # so that the page can read the reason
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers


async def test_pattern_matches_whole_origins() -> None:
    async with running(tables={"cors": {"allow_origin_regex": r"https://[a-z]+[.]example[.]org"}}) as server:
        for origin, allowed in (("https://a.example.org", True), ("https://a.example.org.evil.com", False)):
            answer = await server.http.get("/v1/models", headers={"origin": origin})
            assert ("access-control-allow-origin" in answer.headers) == allowed


@pytest.mark.parametrize(
    "cors", [{"allow_origins": "*", "allow_credentials": True}, {"allow_origin_regex": "["}], ids=["all", "regex"]
)
async def test_settings_that_cannot_be_meant_are_refused(cors: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"cors\.allow_"):
        async with running(tables={"cors": cors}):
            pass
