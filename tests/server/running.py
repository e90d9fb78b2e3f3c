"""A running app without sockets: the scripted engine, an HTTP client and the official client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx
import openai
from fastapi import FastAPI
from openai.lib.streaming.chat import ChatCompletionStreamState

from server.app import create_app
from server.engines.scripted import Script, ScriptedEngine
from server.settings import Settings

DEFAULT_SCRIPT = Script()
PHRASES = ("</think>", "<tool_call>")


@dataclass(frozen=True)
class Running:
    app: FastAPI
    engine: ScriptedEngine
    http: httpx.AsyncClient
    client: openai.AsyncOpenAI

    async def chat(self, **body: Any) -> httpx.Response:
        return await self.http.post("/v1/chat/completions", json=body)

    async def folded(self, **body: Any) -> dict[str, Any]:
        """The streamed answer, put together by the official client."""
        state: Any = ChatCompletionStreamState()
        async for chunk in await self.client.chat.completions.create(stream=True, **body):
            state.handle_chunk(chunk)
        return comparable(state.current_completion_snapshot.model_dump())

    async def single(self, **body: Any) -> dict[str, Any]:
        completion = await self.client.chat.completions.create(**body)
        return comparable(completion.model_dump())


@asynccontextmanager
async def running(
    script: Script = DEFAULT_SCRIPT,
    *,
    tool_format: str = "hermes",
    max_model_len: int = 1 << 20,
    model: Mapping[str, Any] = MappingProxyType({}),
    responses: Mapping[str, Any] = MappingProxyType({}),
    tables: Mapping[str, Any] = MappingProxyType({}),
    **server: Any,
) -> AsyncIterator[Running]:
    """`server` are keys of the settings' `[server]` table, `model` more keys of `[model]`, `responses` of its own,
    `tables` other tables."""
    engine = ScriptedEngine(script, max_model_len=max_model_len)
    settings = Settings.model_validate(
        {"server": server, "model": {"tool_format": tool_format, **model}, "responses": responses, **tables}
    )
    app = create_app(engine, settings)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    # openai-python names the type of httpx's successor here; it takes either.
    official_transport: Any = httpx.AsyncClient(transport=transport)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as http,
        openai.AsyncOpenAI(
            api_key=server.get("api_key", "none"),
            base_url="http://test/v1",
            max_retries=0,
            http_client=official_transport,
        ) as client,
    ):
        yield Running(app, engine, http, client)


def comparable(completion: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on streaming: everything but ids, the time, and what of the prompt was in a cache."""
    choices = []
    for choice in completion["choices"]:
        message = choice["message"]
        calls = [
            (call["type"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        choices.append(
            {
                "index": choice["index"],
                "finish_reason": choice["finish_reason"],
                "role": message["role"],
                "content": message.get("content"),
                "refusal": message.get("refusal"),
                "reasoning_content": message.get("reasoning_content"),
                "reasoning": message.get("reasoning"),
                "calls": calls,
                "logprobs": choice.get("logprobs"),
            }
        )
    return {
        "choices": choices,
        "model": completion["model"],
        "usage": {
            name: value for name, value in (completion["usage"] or {}).items() if name != "prompt_tokens_details"
        },
        "system_fingerprint": completion["system_fingerprint"],
    }
