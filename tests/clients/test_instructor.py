"""instructor's loop against the server: models out of calls and out of schemas, with its retries."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel, Field, field_validator

from tests.clients.listening import CALL, Listening, listening

instructor = pytest.importorskip("instructor", reason="instructor is not installed")

ASK: Any = [{"role": "user", "content": "Who is it?"}]
PERSON = '{"name": "Ann", "age": 41}'


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


class Adult(Person):
    @field_validator("age")
    @classmethod
    def _is_adult(cls, value: int) -> int:
        if value < 18:
            raise ValueError("must be an adult")
        return value


def client_of(server: Listening, mode: Any) -> Any:
    return instructor.from_openai(openai.OpenAI(base_url=server.v1, api_key="none", max_retries=0), mode=mode)


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        ("TOOLS", CALL % ("Person", PERSON)),
        ("JSON_SCHEMA", PERSON),
        ("JSON", PERSON),
    ],
)
def test_model_comes_back(mode: str, answer: str) -> None:
    with listening(answer) as server:
        client = client_of(server, getattr(instructor.Mode, mode))
        person = client.chat.completions.create(model="scripted", messages=ASK, response_model=Person, max_retries=0)

    assert (person.name, person.age) == ("Ann", 41)
    assert server.engine.requests[0].structural_tag is not None


def test_model_comes_back_through_anthropics_client() -> None:
    with listening(CALL % ("Person", PERSON)) as server:
        client = instructor.from_anthropic(anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0))
        person = client.chat.completions.create(
            model="scripted", max_tokens=500, messages=ASK, response_model=Person, max_retries=0
        )

    assert (person.name, person.age) == ("Ann", 41)


def test_retry_tells_the_model_what_was_wrong() -> None:
    young = '{"name": "Bo", "age": 7}'
    with listening(CALL % ("Adult", young), CALL % ("Adult", PERSON)) as server:
        client = client_of(server, instructor.Mode.TOOLS)
        adult = client.chat.completions.create(model="scripted", messages=ASK, response_model=Adult, max_retries=1)

    assert (adult.name, adult.age) == ("Ann", 41)
    assert "must be an adult" in server.engine.prompts[1]


def test_items_of_a_stream_come_one_by_one() -> None:
    people = '{"tasks": [' + PERSON + ', {"name": "Bo", "age": 7}]}'
    with listening(CALL % ("IterablePerson", people)) as server:
        client = client_of(server, instructor.Mode.TOOLS)
        found = list(client.chat.completions.create_iterable(model="scripted", messages=ASK, response_model=Person))

    assert found == [Person(name="Ann", age=41), Person(name="Bo", age=7)]
