"""`/v1/completions`: prompts in, texts out, in OpenAI's older shape."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from server.engines.scripted import END, Script
from tests.server.bodies import JSON_SCHEMA_FORMAT, WEATHER_SCHEMA
from tests.server.running import Running, running

pytestmark = pytest.mark.anyio


async def complete(server: Running, **body: Any) -> Any:
    response = await server.http.post("/v1/completions", json={"model": "scripted", "seed": 1, **body})
    return response if response.status_code != 200 or body.get("stream") else response.json()


async def folded(server: Running, **body: Any) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """The choices of a stream put together, and all its events."""
    response = await complete(server, stream=True, **body)
    *events, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        assert chunk["object"] == "text_completion"
        for piece in chunk["choices"]:
            choice = choices.setdefault(piece["index"], {"text": "", "finish_reason": None, "logprobs": None})
            assert choice["finish_reason"] is None
            choice["text"] += piece["text"]
            choice["finish_reason"] = piece["finish_reason"]
            if piece["logprobs"] is not None:
                lists = choice["logprobs"] or {key: [] for key in piece["logprobs"]}
                choice["logprobs"] = {key: lists[key] + values for key, values in piece["logprobs"].items()}
    return choices, chunks


async def test_answer_has_openais_shape_and_16_tokens_unless_more_are_wanted() -> None:
    async with running(Script(text="a" * 40)) as server:
        answer = await complete(server, prompt="Once")

    assert re.fullmatch("cmpl-[0-9a-f]{32}", answer.pop("id"))
    assert answer.pop("created") > 0
    assert answer.pop("system_fingerprint").startswith("fp_")
    assert answer == {
        "object": "text_completion",
        "model": "scripted",
        "choices": [{"index": 0, "text": "a" * 16, "logprobs": None, "finish_reason": "length"}],
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 16,
            "total_tokens": 21,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        ("ab", [[END, 97, 98]]),
        (["ab", "c"], [[END, 97, 98], [END, 99]]),
        ([97, 98], [[97, 98]]),
        ([[97], [98, 99]], [[97], [98, 99]]),
    ],
)
async def test_prompt_has_four_shapes(prompt: Any, tokens: list[list[int]]) -> None:
    async with running(Script(text="x")) as server:
        answer = await complete(server, prompt=prompt, n=2)

    assert [list(request.prompt_token_ids) for request in server.engine.requests] == tokens
    assert [choice["index"] for choice in answer["choices"]] == list(range(2 * len(tokens)))
    assert answer["usage"]["prompt_tokens"] == sum(map(len, tokens))
    assert answer["usage"]["completion_tokens"] == 4 * len(tokens)


async def test_tokens_of_a_text_have_none_added_on_request() -> None:
    async with running() as server:
        await complete(server, prompt="ab", add_special_tokens=False)

    assert server.engine.requests[0].prompt_token_ids == (97, 98)


CASES: dict[str, dict[str, Any]] = {
    "text": {"prompt": "Once"},
    "several": {"prompt": ["Once", "Twice"], "n": 2},
    "echo": {"prompt": ["Once ", [72, 105]][0], "echo": True},
    "echo and logprobs": {"prompt": "é b", "echo": True, "logprobs": 2},
    "only the echo": {"prompt": "Once", "echo": True, "logprobs": 0, "max_tokens": 0},
    "logprobs": {"prompt": "Once", "logprobs": 3},
    "schema": {"prompt": "Once", "response_format": JSON_SCHEMA_FORMAT, "max_tokens": 400},
    "stop": {"prompt": "Once", "stop": ["wor"]},
}


@pytest.mark.parametrize("case", CASES)
async def test_stream_folded_equals_single_answer(case: str) -> None:
    async with running(Script(text="Hello, wörld!")) as server:
        answer = await complete(server, **CASES[case])
        choices, chunks = await folded(server, stream_options={"include_usage": True}, **CASES[case])

    for choice in answer["choices"]:
        assert choices[choice.pop("index")] == choice
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == answer["usage"]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)


async def test_logprobs_are_parallel_lists_with_offsets_into_the_text() -> None:
    async with running(Script(text="añb")) as server:
        logprobs = (await complete(server, prompt="x", logprobs=1))["choices"][0]["logprobs"]

    assert logprobs["tokens"] == ["a", "\ufffd", "\ufffd", "b", "<|endoftext|>"]
    assert logprobs["text_offset"] == [0, 1, 1, 2, 3]
    assert all(-20 < value < 0 for value in logprobs["token_logprobs"])
    assert sorted(logprobs["top_logprobs"][0]) == ["\x00", "a"]


async def test_echo_repeats_prompt_and_its_log_probabilities() -> None:
    async with running(Script(text="c")) as server:
        choice = (await complete(server, prompt="ab", echo=True, logprobs=0, add_special_tokens=False))["choices"][0]

    assert choice["text"] == "abc"
    logprobs = choice["logprobs"]
    assert logprobs["tokens"] == ["a", "b", "c", "<|endoftext|>"]
    assert logprobs["token_logprobs"][0] is None
    assert logprobs["top_logprobs"][0] is None
    assert logprobs["text_offset"] == [0, 1, 2, 3]


async def test_echo_alone_generates_nothing() -> None:
    async with running(Script(text="c")) as server:
        answer = await complete(server, prompt=[97, 98], echo=True, logprobs=0, max_tokens=0)

    (choice,) = answer["choices"]
    assert (choice["text"], choice["finish_reason"]) == ("ab", "length")
    assert choice["logprobs"]["tokens"] == ["a", "b"]
    assert answer["usage"]["completion_tokens"] == 0


@pytest.mark.parametrize(
    "constraint",
    [
        {"response_format": JSON_SCHEMA_FORMAT},
        {"structured_outputs": {"json": WEATHER_SCHEMA}},
        {"guided_json": WEATHER_SCHEMA},
        {"guided_json": json.dumps(WEATHER_SCHEMA)},
    ],
)
async def test_constraint_holds_in_every_spelling(constraint: dict[str, Any]) -> None:
    async with running() as server:
        for seed in range(5):
            answer = await complete(server, prompt=["a", "b"], max_tokens=4000, **{**constraint, "seed": seed})
            for choice in answer["choices"]:
                jsonschema.validate(json.loads(choice["text"]), WEATHER_SCHEMA)


async def test_answer_is_whole_within_a_budget() -> None:
    async with running() as server:
        for seed in range(5):
            wanted = {"response_format": JSON_SCHEMA_FORMAT, "complete_within_budget": True, "seed": seed}
            answer = await complete(server, prompt="a", max_tokens=60, **wanted)
            jsonschema.validate(json.loads(answer["choices"][0]["text"]), WEATHER_SCHEMA)


async def test_text_that_looks_like_a_call_is_text() -> None:
    text = '<think>x</think><tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    async with running(Script(text=text)) as server:
        answer = await complete(server, prompt="a", max_tokens=400)

    assert answer["choices"][0]["text"] == text


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({}, "prompt"),
        ({"prompt": ""}, None),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a", 1]}, "prompt"),
        ({"prompt": [True]}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [1, 257]}, "prompt[1]"),
        ({"prompt": [[1], [2, 300]]}, "prompt[1][1]"),
        ({"prompt": "a", "suffix": "b"}, "suffix"),
        ({"prompt": "a", "best_of": 2}, "best_of"),
        ({"prompt": "a", "n": 2, "best_of": 1}, "best_of"),
        ({"prompt": ["a"] * 100, "n": 100}, "prompt"),
        ({"prompt": "a", "logprobs": 21}, "logprobs"),
        ({"prompt": "a", "logprobs": True}, "logprobs"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "a", "max_tokens": -1}, "max_tokens"),
        ({"prompt": "a" * 4000}, "prompt"),
        ({"prompt": ["b", "a" * 4000]}, "prompt[1]"),
        ({"prompt": "a", "stream_options": {}}, "stream_options"),
        ({"prompt": "a", "tools": []}, "tools"),
        ({"prompt": "a", "response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"prompt": "a", "guided_regex": "["}, "guided_regex"),
    ],
)
async def test_wrong_request_is_a_400_that_names_the_place(changes: dict[str, Any], param: str | None) -> None:
    async with running(max_model_len=4000) as server:
        response = await complete(server, **changes)

    if param is None:  # one token is left, which the tokeniser adds
        assert isinstance(response, dict)
        return
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param
    assert server.engine.requests == []


async def test_best_of_n_is_n() -> None:
    async with running() as server:
        answer = await complete(server, prompt="a", n=2, best_of=2)

    assert len(answer["choices"]) == 2


async def test_failure_of_one_prompt_ends_the_stream_with_an_error_and_frees_the_others() -> None:
    async with running(Script(text="abcdef", fail_after=3)) as server:
        response = await complete(server, prompt=["a", "b", "c"], stream=True)
        single = await complete(server, prompt=["a", "b", "c"])

    assert "[DONE]" not in response.text
    assert '"error"' in response.text.split("\n\n")[-2]
    assert single.status_code == 500
    assert server.engine.running == set()


async def test_unknown_field_is_named() -> None:
    async with running() as server:
        response = await server.http.post("/v1/completions", json={"prompt": "a", "colour": 1})

    assert response.status_code == 200
    assert response.headers["x-strictserve-warning"] == "unknown field: colour"


async def test_prompt_token_ids_and_logprobs_are_told_on_request() -> None:
    async with running(Script(text="x")) as server:
        answer = await complete(server, prompt=[[97], [98]], return_token_ids=True, prompt_logprobs=0)
        _, chunks = await folded(server, prompt=[[97], [98]], return_token_ids=True)

    assert [choice["prompt_token_ids"] for choice in answer["choices"]] == [[97], [98]]
    assert [choice["token_ids"] for choice in answer["choices"]] == [[120, END]] * 2
    assert [choice["prompt_logprobs"] for choice in answer["choices"]] == [[None], [None]]
    told = [(c["index"], c.get("prompt_token_ids")) for chunk in chunks for c in chunk["choices"]]
    assert [each for each in told if each[1]] == [(0, [97]), (1, [98])]


async def test_official_client_reads_it() -> None:
    async with running(Script(text="Hi")) as server:
        answer = await server.client.completions.create(model="scripted", prompt="a", logprobs=1)
        stream = await server.client.completions.create(model="scripted", prompt="a", stream=True)
        text = "".join([chunk.choices[0].text async for chunk in stream])

    assert answer.choices[0].text == text == "Hi"
    assert answer.choices[0].logprobs is not None
    assert answer.choices[0].logprobs.tokens == ["H", "i", "<|endoftext|>"]
