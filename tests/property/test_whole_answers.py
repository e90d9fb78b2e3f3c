"""Random schemas, random tokens, any budget that is enough, through the whole server: the answer is whole and valid."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.engines.scripted import Script
from tests.property.schemas import Json, draw_schema
from tests.server.running import Running, running

SCHEMAS = int(os.environ.get("STRICTSERVE_SCHEMAS", "700")) // 5
FIRST_SEED = int(os.environ.get("STRICTSERVE_SEED", "1")) + 4_000_000
CHOICES = 2
MORE = (0, 1, 2, 7, 30)
"""Tokens beyond the least."""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _ask(server: Running, seed: int, schema: dict[str, Json], most: int) -> Any:
    response = await server.chat(
        messages=[{"role": "user", "content": "?"}],
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
        reasoning_effort="high" if seed % 2 else "none",  # the answer alone, or what is left of the tokens for it
        complete_within_budget=True,
        max_tokens=most,
        seed=seed,
        n=CHOICES,
    )
    return response.json()


def _read(text: str) -> Json | None:
    """The value; None where the judge reads it differently from JSON Schema, or keys repeat (some may)."""
    repeats: list[Json] = []

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        repeats.extend(value for _, value in pairs[len(dict(pairs)) :])
        return dict(pairs)

    value: Json = json.loads(text, object_pairs_hook=members)
    return value if _exact(value) and not repeats else None


def _exact(value: Json) -> bool:
    """No number too large for division in floating point, and no line break, before which `$` also matches."""
    if isinstance(value, dict):
        return all(map(_exact, [*value, *value.values()]))
    if isinstance(value, list):
        return all(map(_exact, value))
    if isinstance(value, str):
        return "\n" not in value
    return not isinstance(value, (int, float)) or abs(value) < 2**30


async def test_answers_are_whole_within_any_budget_that_is_enough() -> None:
    seen: Counter[str] = Counter()
    async with running(Script(), tool_format="qwen3") as server:
        for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS):
            schema = draw_schema(seed)
            validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
            error = (await _ask(server, seed, schema, 1))["error"]
            seen[error["code"]] += 1
            if error["code"] != "token_budget_too_small":
                continue
            words = error["message"].split()
            least = int(words[words.index("least") + 1])
            for more in MORE:
                answer = await _ask(server, 2 * more + seed, schema, least + more)
                assert "choices" in answer, (seed, more, answer)
                seen["filled"] += answer["usage"]["completion_tokens"] == CHOICES * (least + more)
                for choice in answer["choices"]:
                    assert choice["finish_reason"] == "stop", (seed, more, choice)
                    value = _read(choice["message"]["content"])
                    seen["whole"] += 1
                    if value is not None:
                        seen["judged"] += 1
                        assert validator.is_valid(value), (seed, more, schema, value)
    assert seen["token_budget_too_small"] > SCHEMAS // 2, seen
    assert seen["judged"] > seen["whole"] // 2, seen
    assert seen["filled"] > SCHEMAS // 2, f"the budgets hardly ever mattered: {seen}"


FAMILIES = ("hermes", "llama_3_json", "mistral_v7", "harmony", "qwen3_coder", "glm_4_7", "deepseek_v3_2", "kimi_k3")


@pytest.mark.parametrize("family", FAMILIES)
async def test_calls_are_whole_within_any_budget_that_is_enough(family: str) -> None:
    seen: Counter[str] = Counter()
    async with running(Script(), tool_format=family) as server:
        for seed in range(FIRST_SEED, FIRST_SEED + SCHEMAS // 4):
            schema = {"type": "object", "properties": {"v": draw_schema(seed)}, "required": ["v"]}
            if "$ref" in json.dumps(schema):
                continue  # it would refer to another root
            schema["additionalProperties"] = False
            validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
            function = {"name": "f", "parameters": schema, "strict": True}
            request = {
                "messages": [{"role": "user", "content": "?"}],
                "tools": [{"type": "function", "function": function}],
                "tool_choice": "required",
                "reasoning_effort": "none",
                "complete_within_budget": True,
                "seed": seed,
            }
            error = (await server.chat(**request, max_tokens=1)).json()["error"]
            seen[error["code"]] += 1
            if error["code"] != "token_budget_too_small":
                continue
            words = error["message"].split()
            least = int(words[words.index("least") + 1])
            for more in MORE:
                answer = (await server.chat(**request, max_tokens=least + more)).json()
                assert "choices" in answer, (seed, more, answer)
                (choice,) = answer["choices"]
                assert choice["finish_reason"] == "tool_calls", (seed, more, choice)
                for call in choice["message"]["tool_calls"]:
                    value = _read(call["function"]["arguments"])
                    if value is not None:
                        seen["judged"] += 1
                        assert validator.is_valid(value), (seed, more, schema, value)
    assert seen["judged"] > SCHEMAS // 4, seen
