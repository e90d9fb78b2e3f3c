"""`/tokenize` and `/detokenize`, in vLLM's shapes."""

from __future__ import annotations

from typing import Any

import pytest

from server.engines.scripted import END
from tests.server.bodies import MESSAGES, TOOLS
from tests.server.running import running

pytestmark = pytest.mark.anyio


async def test_text_becomes_tokens_and_text_again() -> None:
    async with running(max_model_len=77) as server:
        plain = (await server.http.post("/tokenize", json={"prompt": "aé", "model": "scripted"})).json()
        bare = (await server.http.post("/tokenize", json={"prompt": "a", "add_special_tokens": False})).json()
        named = (await server.http.post("/tokenize", json={"prompt": "a", "return_token_strs": True})).json()
        back = (await server.http.post("/detokenize", json={"tokens": plain["tokens"]})).json()

    assert plain == {"count": 4, "max_model_len": 77, "tokens": [END, 97, 195, 169]}
    assert bare["tokens"] == [97]
    assert named["token_strs"] == ["<|endoftext|>", "0x61"]
    assert back == {"prompt": "aé"}


async def test_chat_becomes_the_prompt_that_a_request_would_have() -> None:
    chat = {"messages": MESSAGES, "tools": TOOLS, "chat_template_kwargs": {"persona": "x"}}
    async with running() as server:
        told = (await server.http.post("/tokenize", json=chat)).json()
        await server.chat(**chat)
        without = (await server.http.post("/tokenize", json={**chat, "add_generation_prompt": False})).json()

    assert told["tokens"] == list(server.engine.requests[0].prompt_token_ids)
    assert told["count"] == len(told["tokens"]) == without["count"] + len("assistant: ")


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/tokenize", {}, 400, "prompt"),
        ("/tokenize", {"prompt": 3}, 400, "prompt"),
        ("/tokenize", {"prompt": "a", "messages": MESSAGES}, 400, "prompt"),
        ("/tokenize", {"messages": [{"role": "assistant", "content": "x"}]}, 400, "messages"),
        ("/tokenize", {"messages": MESSAGES, "return_token_strs": 1}, 400, "return_token_strs"),
        ("/tokenize", {"messages": MESSAGES, "chat_template": "x"}, 400, "chat_template"),
        ("/tokenize", {"prompt": "a", "model": "b"}, 404, "model"),
        ("/detokenize", {}, 400, "tokens"),
        ("/detokenize", {"tokens": "a"}, 400, "tokens"),
        ("/detokenize", {"tokens": [1, -1]}, 400, "tokens[1]"),
        ("/detokenize", {"tokens": [1, 257]}, 400, "tokens[1]"),
        ("/detokenize", {"tokens": [1], "model": "b"}, 404, "model"),
    ],
)
async def test_wrong_request_names_the_place(path: str, body: dict[str, Any], status: int, param: str) -> None:
    async with running() as server:
        response = await server.http.post(path, json=body)

    assert response.status_code == status
    assert response.json()["error"]["param"] == param
