"""The whole server on the real model, through the official client: a stream, folded, is the single answer."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from server.app import create_app
from server.settings import Settings
from tests.server.running import comparable
from tests.vllm.conftest import LiveEngine

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS, "strict": True}}]
ANSWER = {"type": "json_schema", "json_schema": {"name": "answer", "schema": PARAMETERS}}

CITIES = ["Paris", "Île-de-France", "I cannot say"]
DATE = "20[0-9]{2}-(0[1-9]|1[0-2])"


class Borrowed:
    """The engine of all tests, for an app that would close its own."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def close(self) -> None:
        """Stays open for the other tests."""


@pytest.mark.parametrize(
    "extra",
    [
        {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": TOOLS, "tool_choice": "auto"},
        {"response_format": ANSWER, "n": 2, "logprobs": True, "top_logprobs": 2},
        {"tools": TOOLS, "tool_choice": "required", "max_tokens": 48, "extra_body": {"complete_within_budget": True}},
        {"extra_body": {"structured_outputs": {"choice": CITIES}}},
        {"extra_body": {"guided_regex": DATE}},
        {},
    ],
    ids=["required", "auto", "json_schema", "whole", "choice", "regex", "text"],
)
def test_stream_folded_by_the_client_equals_the_single_answer(live: LiveEngine, extra: dict[str, Any]) -> None:
    engine: Any = Borrowed(live.engine)
    app = create_app(engine, Settings.model_validate({"model": {"tool_format": "hermes"}}))
    body = {
        "model": live.engine.model_id,
        "messages": [{"role": "user", "content": "How is the weather in Paris for the next three days?"}],
        "temperature": 1.0,
        "seed": 7,
        "max_tokens": 120,
        **extra,
    }

    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        transport: Any = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
        async with (
            app.router.lifespan_context(app),
            openai.AsyncOpenAI(base_url="http://test/v1", api_key="none", http_client=transport) as client,
        ):
            single: Any = await client.chat.completions.create(**body)
            state: Any = ChatCompletionStreamState()
            stream: Any = await client.chat.completions.create(
                stream=True, stream_options={"include_usage": True}, **body
            )
            async for chunk in stream:
                state.handle_chunk(chunk)
            return single.model_dump(), state.current_completion_snapshot.model_dump()

    single, folded = live.run(both())

    assert comparable(folded) == comparable(single)
    for choice in single["choices"]:
        message = choice["message"]
        if choice["finish_reason"] == "tool_calls":
            for call in message["tool_calls"]:
                jsonschema.validate(json.loads(call["function"]["arguments"]), PARAMETERS)
        elif choice["finish_reason"] == "stop" and "response_format" in extra:
            jsonschema.validate(json.loads(message["content"]), PARAMETERS)
        elif "extra_body" in extra:
            assert choice["finish_reason"] == "stop"
            assert message["content"] in CITIES or re.fullmatch(DATE, message["content"])


def test_other_endpoints_and_custom_tools_on_the_real_model(live: LiveEngine) -> None:
    engine: Any = Borrowed(live.engine)
    app = create_app(engine, Settings.model_validate({"model": {"tool_format": "hermes"}}))
    grammar = {"syntax": "lark", "definition": 'start: NAME (", " NAME)*\nNAME: /[a-z"]{2,6}/\n'}
    tool = {"type": "custom", "custom": {"name": "greet", "format": {"type": "grammar", "grammar": grammar}}}
    question = [{"role": "user", "content": "Greet Ann and Bob."}]

    async def ask() -> tuple[Any, Any, Any, Any]:
        transport: Any = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
        async with (
            app.router.lifespan_context(app),
            openai.AsyncOpenAI(base_url="http://test/v1", api_key="none", http_client=transport) as client,
        ):
            called: Any = await client.chat.completions.create(
                model=live.engine.model_id,
                messages=question,  # type: ignore[arg-type]
                tools=[tool],  # type: ignore[list-item]
                tool_choice="required",
                parallel_tool_calls=False,
                max_tokens=60,
                seed=3,
                extra_body={"complete_within_budget": True},
            )
            text = await client.completions.create(
                model=live.engine.model_id,
                prompt="One, two, three,",
                logprobs=1,
                echo=True,
                max_tokens=4,
                temperature=0,
            )
            ids = (await transport.post("http://test/tokenize", json={"messages": question})).json()
            told = (await transport.post("http://test/v1/structured/validate", json={"tools": [tool]})).json()
            return called, text, ids, told

    called, text, ids, told = live.run(ask())

    (call,) = called.choices[0].message.tool_calls
    assert called.choices[0].finish_reason == "tool_calls"
    assert re.fullmatch(r'[a-z"]{2,6}(, [a-z"]{2,6})*', call.custom.input)
    choice = text.choices[0]
    assert choice.text.startswith("One, two, three,")
    assert "".join(choice.logprobs.tokens) == choice.text
    assert choice.logprobs.text_offset == [
        len("".join(choice.logprobs.tokens[:place])) for place in range(len(choice.logprobs.tokens))
    ]
    assert choice.logprobs.token_logprobs[0] is None
    assert ids["count"] == len(ids["tokens"]) == len(live.prompt("Greet Ann and Bob."))
    assert (told["valid"], told["format"]) == (True, "hermes")
