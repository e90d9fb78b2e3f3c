"""What is logged of a request, and what is not."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from server.engines.base import EngineUnavailable
from server.engines.scripted import Script
from server.logs import describe, formatter
from server.settings import LogSettings
from tests.server.bodies import JSON_SCHEMA_FORMAT, body
from tests.server.running import running

pytestmark = pytest.mark.anyio

SECRET = "the secret of the prompt"
MESSAGES = [{"role": "user", "content": SECRET}]


class Lines(logging.Handler):
    """Formatted lines of our logger."""

    def __init__(self, settings: LogSettings) -> None:
        super().__init__()
        self.setFormatter(formatter(settings))
        self.lines: list[str] = []

    def emit(self, line: logging.LogRecord) -> None:
        self.lines.append(self.format(line))

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> Iterator[Lines]:
    settings = LogSettings(**getattr(request, "param", {"format": "json"}))
    logger = logging.getLogger("strictserve")
    before = logger.level
    handler = Lines(settings)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


async def test_one_json_line_for_a_request_with_its_numbers(lines: Lines) -> None:
    async with running(Script(text="abc")) as server:
        answer = await server.http.post(
            "/v1/chat/completions", json=body(messages=MESSAGES), headers={"x-request-id": "mine"}
        )

    (entry,) = lines.entries
    assert entry["message"] == "POST /v1/chat/completions"
    assert (entry["level"], entry["request_id"], entry["status"]) == ("info", "mine", 200)
    assert entry["response_id"] == answer.json()["id"]
    usage = answer.json()["usage"]
    assert (entry["prompt_tokens"], entry["completion_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert entry["finish_reason"] == "stop"
    assert entry["constrained"] is False
    assert 0 < entry["planned_seconds"] <= entry["first_token_seconds"] <= entry["seconds"] < 60
    assert SECRET not in lines.lines[0]


async def test_stream_has_one_line_too(lines: Lines) -> None:
    async with running() as server:
        await server.chat(**body(stream=True, response_format=JSON_SCHEMA_FORMAT))

    (entry,) = lines.entries
    assert entry["constrained"] is True
    assert entry["completion_tokens"] > 0


async def test_probes_leave_no_line_unless_they_fail(lines: Lines) -> None:
    async with running() as server:
        for path in ("/health", "/ready", "/metrics"):
            await server.http.get(path)
        assert lines.lines == []
        await server.engine.close()
        await server.http.get("/health")

    assert [entry["status"] for entry in lines.entries] == [503]


async def test_refusal_tells_the_code_not_the_text(lines: Lines) -> None:
    async with running() as server:
        await server.chat(**body(messages=[{"role": SECRET, "content": "x"}]))

    (entry,) = lines.entries
    assert (entry["status"], entry["error"]) == (400, "invalid_value")
    assert SECRET not in lines.lines[0]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ({"format": "json"}, False),
        ({"format": "text"}, False),
        ({"format": "json", "prompts": True}, True),
        ({"format": "text", "prompts": True}, True),
    ],
    indirect=["lines"],
)
async def test_error_that_quotes_the_prompt_is_told_only_with_prompts(
    lines: Lines, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quote(*arguments: Any, **more: Any) -> list[int]:
        raise KeyError(arguments[0][0]["content"])

    async with running() as server:
        monkeypatch.setattr(server.engine, "render_chat", quote)
        answer = await server.chat(**body(messages=MESSAGES))

    text = "\n".join(lines.lines)
    assert answer.status_code == 500
    assert "builtins.KeyError" in text
    assert "in quote" in text  # where
    assert (SECRET in text) == told


@pytest.mark.parametrize("lines", [{"format": "json", "prompts": True}], indirect=True)
async def test_bodies_are_logged_on_request(lines: Lines) -> None:
    async with running(tables={"log": {"prompts": True}}) as server:
        await server.chat(**body(messages=MESSAGES))

    assert json.loads(lines.entries[-1]["body"])["messages"] == MESSAGES


@pytest.mark.parametrize("lines", [{"format": "text"}], indirect=True)
async def test_client_cannot_forge_a_line(lines: Lines) -> None:
    async with running() as server:
        await server.http.get("/x%0A2026-01-01 INFO forged%1b[31m\u2028")

    (line,) = lines.lines
    assert "\n" not in line
    assert "\x1b" not in line
    assert "\u2028" not in line
    assert "GET /x\\n2026" in line


def test_exceptions_whose_text_cannot_quote_are_told_with_their_cause() -> None:
    def fail() -> None:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise EngineUnavailable("the engine process is dead") from error

    with pytest.raises(EngineUnavailable) as caught:
        fail()
    text = describe(caught.value, prompts=False)

    assert SECRET not in text
    assert text.index("builtins.ValueError") < text.index("EngineUnavailable: the engine process is dead")
    assert SECRET in describe(caught.value, prompts=True)
