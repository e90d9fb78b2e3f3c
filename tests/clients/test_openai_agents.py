"""The agents SDK against the server: a run with tools and a final answer of a type, over both of OpenAI's APIs."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.clients.listening import CALL, Listening, listening

agents = pytest.importorskip("agents", reason="openai-agents is not installed")

FINAL = '{"city": "Paris", "degrees": 20}'


class Report(BaseModel):
    city: str
    degrees: int


def agent_of(client: openai.AsyncOpenAI, responses: bool, **options: Any) -> Any:
    kind = agents.OpenAIResponsesModel if responses else agents.OpenAIChatCompletionsModel
    agents.set_tracing_disabled(True)

    @agents.function_tool
    def get_degrees(city: str) -> int:
        """The temperature of a city."""
        return 20 if city == "Paris" else 0

    return agents.Agent(
        name="Weather", instructions="Be brief.", tools=[get_degrees], model=kind("scripted", client), **options
    )


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_run_calls_the_tool_and_answers_with_the_type(responses: bool, streamed: bool) -> None:
    async def run(server: Listening) -> Any:
        async with openai.AsyncOpenAI(base_url=server.v1, api_key="none", max_retries=0) as client:
            agent = agent_of(client, responses, output_type=Report)
            if not streamed:
                return await agents.Runner.run(agent, "How warm is Paris?")
            result = agents.Runner.run_streamed(agent, "How warm is Paris?")
            async for _ in result.stream_events():
                pass
            return result

    with listening(CALL % ("get_degrees", '{"city": "Paris"}'), FINAL) as server:
        result = asyncio.run(run(server))

    assert result.final_output == Report(city="Paris", degrees=20)
    assert "tool: 20\n" in server.engine.prompts[-1]
    assert [item.type for item in result.new_items] == [
        "tool_call_item",
        "tool_call_output_item",
        "message_output_item",
    ]
