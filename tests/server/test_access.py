"""API keys, models, version."""

from __future__ import annotations

from pathlib import Path

import openai
import pytest

import server as package
from server.settings import SettingsError
from tests.server.bodies import body
from tests.server.running import running

pytestmark = pytest.mark.anyio

KEY = "s3cret-ключ"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x"])
async def test_wrong_key_is_a_401_with_openais_body(header: str | None) -> None:
    headers = {} if header is None else {b"authorization": header.encode("utf-8")}
    async with running(api_key=KEY) as server:
        answer = await server.http.post("/v1/chat/completions", json=body(), headers=headers)
        models = await server.http.get("/v1/models", headers=headers)

    for response in (answer, models):
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["code"] == "invalid_api_key"
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert server.engine.requests == []


async def test_right_key_is_let_in_and_operations_need_none() -> None:
    headers = {b"authorization": f"Bearer {KEY}".encode()}
    async with running(api_key=KEY) as server:
        answer = await server.http.post("/v1/chat/completions", json=body(), headers=headers)
        open_paths = [await server.http.get(path) for path in ("/health", "/ready", "/metrics")]

    assert answer.status_code == 200
    assert [response.status_code for response in open_paths] == [200, 200, 200]


@pytest.mark.parametrize("key", ["first", "second", KEY, "in-the-file", "last"])
@pytest.mark.parametrize("name", [b"authorization", b"x-api-key"])
async def test_each_of_several_keys_is_let_in(tmp_path: Path, key: str, name: bytes) -> None:
    (tmp_path / "keys").write_text("# ours\nin-the-file\n\n  last  \n")
    sent = key.encode() if name == b"x-api-key" else b"Bearer " + key.encode()
    async with running(api_key=["first", "second", KEY], api_key_file=str(tmp_path / "keys")) as server:
        right = await server.http.get("/v1/models", headers={name: sent})
        wrong = await server.http.get("/v1/models", headers={name: sent + b"x"})

    assert (right.status_code, wrong.status_code) == (200, 401)


async def test_comment_of_the_key_file_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# ours\nkey")
    async with running(api_key_file=str(tmp_path / "keys")) as server:
        assert (await server.http.get("/v1/models", headers={"x-api-key": "# ours"})).status_code == 401


@pytest.mark.parametrize("text", [None, "", "# nothing\n"])
async def test_key_file_without_keys_does_not_open_the_server(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "keys").write_text(text)
    with pytest.raises(SettingsError, match=r"server\.api_key_file"):
        async with running(api_key_file=str(tmp_path / "keys")):
            pass


@pytest.mark.parametrize("path", ["/version", "/v1/models", "/nothing", "/playground", "/health/", "//health"])
async def test_paths_that_are_not_named_open_need_a_key(path: str) -> None:
    async with running(api_key="k") as server:
        assert (await server.http.get(f"http://test{path}")).status_code == 401


async def test_open_paths_are_a_setting() -> None:
    async with running(api_key="k", open_paths=["/version"]) as server:
        answers = [(await server.http.get(path)).status_code for path in ("/version", "/health", "/metrics")]

    assert answers == [200, 401, 401]


async def test_official_client_sees_authentication_error() -> None:
    async with running(api_key="right") as server:
        wrong = server.client.with_options(api_key="wrong")
        with pytest.raises(openai.AuthenticationError):
            await wrong.models.list()
        assert [model.id async for model in server.client.models.list()] == ["scripted"]


async def test_models_lists_the_one_model() -> None:
    async with running(max_model_len=77) as server:
        listed = (await server.http.get("/v1/models")).json()
        single = (await server.http.get("/v1/models/scripted")).json()
        unknown = await server.http.get("/v1/models/org/other")

    assert listed == {"object": "list", "data": [single]}
    assert isinstance(single.pop("created"), int)
    assert single == {
        "id": "scripted",
        "object": "model",
        "owned_by": "strictserve",
        "root": "scripted",
        "parent": None,
        "max_model_len": 77,
    }
    assert unknown.status_code == 404
    assert unknown.json()["error"]["code"] == "model_not_found"


async def test_version_is_the_packages() -> None:
    async with running() as server:
        assert (await server.http.get("/version")).json() == {"version": package.__version__}
