"""langchain-openai against the server: a loop of tools, structured output, streams, over both of OpenAI's APIs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pydantic import BaseModel

from tests.clients.listening import CALL, Listening, listening

os.environ.setdefault("LANGSMITH_TRACING", "false")
langchain_openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
messages = pytest.importorskip("langchain_core.messages")
tools = pytest.importorskip("langchain_core.tools")

APIS = pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])


class Place(BaseModel):
    """A place."""

    city: str
    country: str | None


@tools.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def model_of(server: Listening, responses: bool, **options: Any) -> Any:
    return langchain_openai.ChatOpenAI(
        model="scripted",
        base_url=server.v1,
        api_key="none",
        max_retries=0,
        use_responses_api=responses,
        **options,
    )


@APIS
def test_loop_of_tools(responses: bool) -> None:
    with listening(CALL % ("add", '{"a": 2, "b": 3}'), "It is 5.") as server:
        model = model_of(server, responses).bind_tools([add], strict=True)
        history: list[Any] = [messages.HumanMessage("2 + 3?")]
        answer = model.invoke(history)
        history += [answer, *(add.invoke(call) for call in answer.tool_calls)]
        final = model.invoke(history)

    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("add", {"a": 2, "b": 3})]
    assert final.text == "It is 5."
    assert "tool: 5\n" in server.engine.prompts[-1]
    assert final.usage_metadata["output_tokens"] == len("It is 5.") + 1


@APIS
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(responses: bool, method: str) -> None:
    place = '{"city": "Oslo", "country": null}'
    with listening(CALL % ("Place", place) if method == "function_calling" else place) as server:
        model = model_of(server, responses).with_structured_output(Place, method=method, strict=True)
        assert model.invoke("Where?") == Place(city="Oslo", country=None)


@APIS
def test_stream_is_the_single_answer(responses: bool) -> None:
    answer = "Grüße, 世界!"
    with listening(answer, answer) as server:
        model = model_of(server, responses)
        single = model.invoke("hi")
        pieces = list(model.stream("hi"))

    assert single.text == answer
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces) == answer
