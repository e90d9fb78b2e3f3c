"""vLLM's constraints on the answer, `structured_outputs` and `guided_*`, through the official client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import jsonschema
import pytest

from server.engines.scripted import Script
from tests.server.bodies import ANSWER_TAG, LEGACY_TAG, NAMED, SCHEMAS, TOOLS, WEATHER_SCHEMA, body
from tests.server.running import PHRASES, running

pytestmark = pytest.mark.anyio

CODE = r"[A-Z]{3}-[0-9]{4}"
CHOICES = ["yes", 'no, "never"', "vielleicht später"]
EBNF = 'root ::= pair ("," pair)*\npair ::= [a-z] "=" [0-9]'
LARK = 'start: pair ("," pair)*\npair: /[a-z]/ "=" /[0-9]/'
GRAMMARS = json.dumps(
    {"grammars": [{"lark_grammar": 'start: @p ("," @p)*'}, {"name": "p", "lark_grammar": 'start: /[a-z]/ "=" /[0-9]/'}]}
)
PAIRS = re.compile("[a-z]=[0-9](,[a-z]=[0-9])*")

Check = Callable[[str], object]


def is_weather(text: str) -> None:
    jsonschema.validate(json.loads(text), WEATHER_SCHEMA)


def is_answer(text: str) -> None:
    found = re.fullmatch("<answer>(.*)</answer>", text, re.DOTALL)
    assert found, text
    is_weather(found[1])


def matches(pattern: str) -> Check:
    def check(text: str) -> None:
        assert re.fullmatch(pattern, text), text

    return check


def is_choice(text: str) -> None:
    assert text in CHOICES


def is_object(text: str) -> None:
    assert isinstance(json.loads(text), dict)


def is_compact(text: str) -> None:
    assert re.fullmatch(r'(?:[^"\s]|"(?:[^"\\]|\\.)*")*', text), text
    is_object(text)


def is_compact_weather(text: str) -> None:
    is_compact(text)
    is_weather(text)


SENT: dict[str, tuple[dict[str, Any], Check]] = {
    "json": ({"structured_outputs": {"json": WEATHER_SCHEMA}}, is_weather),
    "json text": ({"structured_outputs": {"json": json.dumps(WEATHER_SCHEMA)}}, is_weather),
    "regex": ({"structured_outputs": {"regex": CODE}}, matches(CODE)),
    "regex with alternatives": ({"structured_outputs": {"regex": "ab|cd"}}, matches("ab|cd")),
    "choice": ({"structured_outputs": {"choice": CHOICES}}, is_choice),
    "grammar, EBNF": ({"structured_outputs": {"grammar": EBNF}}, matches(PAIRS.pattern)),
    "grammar, Lark": ({"structured_outputs": {"grammar": LARK}}, matches(PAIRS.pattern)),
    "json_object": ({"structured_outputs": {"json_object": True}}, is_object),
    "structural_tag": ({"structured_outputs": {"structural_tag": ANSWER_TAG}}, is_answer),
    "structural_tag text": ({"structured_outputs": {"structural_tag": json.dumps(ANSWER_TAG)}}, is_answer),
    "structural_tag without type": (
        {"structured_outputs": {"structural_tag": {"format": ANSWER_TAG["format"]}}},
        is_answer,
    ),
    "guided_json": ({"guided_json": WEATHER_SCHEMA}, is_weather),
    "guided_json text": ({"guided_json": json.dumps(WEATHER_SCHEMA)}, is_weather),
    "guided_regex": ({"guided_regex": CODE}, matches(CODE)),
    "guided_choice": ({"guided_choice": CHOICES}, is_choice),
    "guided_grammar, EBNF": ({"guided_grammar": EBNF}, matches(PAIRS.pattern)),
    "guided_grammar, Lark": ({"guided_grammar": LARK}, matches(PAIRS.pattern)),
    "others null": (
        {"structured_outputs": {"regex": CODE, "json": None, "disable_any_whitespace": False}, "guided_json": None},
        matches(CODE),
    ),
    "grammars by name": ({"structured_outputs": {"grammar": GRAMMARS}}, matches(PAIRS.pattern)),
    "json without white space": (
        {"structured_outputs": {"json": WEATHER_SCHEMA, "disable_any_whitespace": True}},
        is_compact_weather,
    ),
    "json_object without white space": (
        {"structured_outputs": {"json_object": True, "disable_any_whitespace": True}},
        is_compact,
    ),
    "backend named": (
        {"guided_regex": CODE, "guided_decoding_backend": "outlines", "guided_whitespace_pattern": None},
        matches(CODE),
    ),
    "beside text": ({"guided_regex": CODE, "response_format": {"type": "text"}}, matches(CODE)),
    "beside tools that are off": (
        {"structured_outputs": {"grammar": EBNF}, "tools": TOOLS, "tool_choice": "none"},
        matches(PAIRS.pattern),
    ),
}


@pytest.mark.parametrize(("fields", "check"), SENT.values(), ids=SENT.keys())
async def test_answer_follows_the_constraint_streamed_or_not(fields: dict[str, Any], check: Check) -> None:
    async with running() as server:
        for seed in range(8):
            request = {**body(seed=seed), "extra_body": fields}
            single = await server.single(**request)
            assert (await server.folded(**request))["choices"] == single["choices"]
            (choice,) = single["choices"]
            assert (choice["finish_reason"], choice["calls"]) == ("stop", [])
            check(choice["content"])


@pytest.mark.parametrize("field", ["structured_outputs", "guided_"])
@pytest.mark.parametrize(
    ("kind", "value", "check"),
    [
        ("regex", CODE, matches(CODE)),
        ("choice", CHOICES, is_choice),
        ("grammar", EBNF, matches(PAIRS.pattern)),
        ("json", WEATHER_SCHEMA, is_weather),
    ],
)
async def test_answer_follows_the_constraint_after_reasoning(field: str, kind: str, value: Any, check: Check) -> None:
    fields = {field + kind: value} if field == "guided_" else {field: {kind: value}}
    thought = 0
    async with running(Script(phrases=PHRASES), tool_format="qwen3") as server:
        for seed in range(8):
            response = await server.chat(**body(seed=seed, max_tokens=3000, **fields))
            (choice,) = response.json()["choices"]
            if choice["finish_reason"] == "stop":
                check(choice["message"]["content"])
                thought += bool(choice["message"].get("reasoning"))
    assert thought > 0


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"structured_outputs": {"json": WEATHER_SCHEMA}}, is_weather),
        ({"structured_outputs": {"choice": CHOICES}}, is_choice),
        ({"guided_regex": r"[^!]{0,200}"}, matches(r"(?!.*<tool_call>)[^!]{0,200}")),
    ],
)
async def test_beside_tools_the_answer_is_calls_or_follows_the_constraint(fields: dict[str, Any], check: Check) -> None:
    calls = answers = 0
    async with running(Script(phrases=PHRASES)) as server:
        for seed in range(30):
            (choice,) = (await server.single(**body(seed=seed, tools=TOOLS), extra_body=fields))["choices"]
            for _, name, arguments in choice["calls"]:
                jsonschema.validate(json.loads(arguments), SCHEMAS[name])
            if choice["calls"]:
                calls += 1
                assert (choice["finish_reason"], choice["content"]) == ("tool_calls", None)
            else:
                answers += 1
                assert choice["finish_reason"] == "stop"
                check(choice["content"] or "")
    assert calls > 0
    assert answers > 0


async def test_constraint_may_allow_the_empty_answer_only() -> None:
    async with running() as server:
        (choice,) = (await server.single(**body(), extra_body={"guided_regex": ""}))["choices"]

    assert choice["finish_reason"] == "stop"
    assert not choice["content"]


CALL_OF_A_TOOL = '<tool_call>\n{"name": "get_weather", "arguments": {}'
CLASH = "is not allowed together with"
LATE = {"properties": {"a": {"format": "idn-hostname"}}}

WRONG: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # what the case is: (fields, param, code, what the message says)
    "not an object": ({"structured_outputs": "x"}, "structured_outputs", "invalid_type", "must be an object"),
    "empty": ({"structured_outputs": {}}, "structured_outputs", "missing_required_parameter", "no constraint"),
    "only nulls": (
        {"structured_outputs": {"json": None}},
        "structured_outputs",
        "missing_required_parameter",
        "no constraint",
    ),
    "unknown kind": (
        {"structured_outputs": {"jason": {}}},
        "structured_outputs.jason",
        "unknown_parameter",
        "unknown field",
    ),
    "unknown guided": ({"guided_jason": {}}, "guided_jason", "unknown_parameter", "unknown field"),
    "two kinds": (
        {"structured_outputs": {"regex": "a", "choice": ["a"]}},
        "structured_outputs.choice",
        "invalid_value",
        f"{CLASH} structured_outputs.regex",
    ),
    "two guided": (
        {"guided_json": {}, "guided_grammar": EBNF},
        "guided_grammar",
        "invalid_value",
        f"{CLASH} guided_json",
    ),
    "both spellings": (
        {"structured_outputs": {"regex": "a"}, "guided_regex": "a"},
        "guided_regex",
        "invalid_value",
        f"{CLASH} structured_outputs.regex",
    ),
    "response_format too": (
        {"structured_outputs": {"json": {}}, "response_format": {"type": "json_object"}},
        "structured_outputs.json",
        "invalid_value",
        f"{CLASH} response_format",
    ),
    "a named tool": (
        {"structured_outputs": {"json": {}}, "tools": TOOLS, "tool_choice": NAMED},
        "structured_outputs.json",
        "invalid_value",
        "demands a call",
    ),
    "a required call": (
        {"guided_regex": "a", "tools": TOOLS, "tool_choice": "required"},
        "guided_regex",
        "invalid_value",
        "demands a call",
    ),
    "a grammar beside calls": (
        {"guided_grammar": EBNF, "tools": TOOLS},
        "guided_grammar",
        "invalid_value",
        f"{CLASH} tools",
    ),
    "a choice that is a call": (
        {"guided_choice": ["a", CALL_OF_A_TOOL], "tools": TOOLS},
        "guided_choice[1]",
        "invalid_value",
        "<tool_call>",
    ),
    "a regex that cannot be kept from spelling a call": (
        {"guided_regex": "(?x)a # b", "tools": TOOLS},
        "guided_regex",
        "invalid_grammar",
        "a group is not closed",
    ),
    "json number": ({"guided_json": 3}, "guided_json", "invalid_type", "must be an object"),
    "json text of a number": (
        {"structured_outputs": {"json": "3"}},
        "structured_outputs.json",
        "invalid_type",
        "must be an object",
    ),
    "json text broken": (
        {"structured_outputs": {"json": '{\n"type": }'}},
        "structured_outputs.json",
        "invalid_value",
        "is not valid JSON: Expecting value at line 2, column 9",
    ),
    "json text empty": ({"guided_json": ""}, "guided_json", "invalid_value", "line 1, column 1"),
    "json text with NaN": ({"guided_json": '{"const": NaN}'}, "guided_json", "invalid_value", "NaN"),
    "json text too deep": (
        {"guided_json": '{"a":' * 200 + "1" + "}" * 200},
        "guided_json",
        "invalid_value",
        "nested deeper than 128 levels",
    ),
    "json that is no schema": (
        {"structured_outputs": {"json": {"properties": {"a": {"type": "strng"}}}}},
        "structured_outputs.json",
        "invalid_schema",
        "(at /properties/a",
    ),
    "json unsupported": ({"guided_json": LATE}, "guided_json", "unsupported_schema", "(at /properties/a"),
    "json text unsupported": (
        {"structured_outputs": {"json": json.dumps(LATE)}},
        "structured_outputs.json",
        "unsupported_schema",
        "(at /properties/a",
    ),
    "regex number": (
        {"structured_outputs": {"regex": 1}},
        "structured_outputs.regex",
        "invalid_type",
        "must be a string",
    ),
    "regex broken": (
        {"structured_outputs": {"regex": "ab(c"}},
        "structured_outputs.regex",
        "invalid_grammar",
        "a group is not closed\nab(c\n  ^",
    ),
    "guided_regex broken": ({"guided_regex": "a{2,1}"}, "guided_regex", "invalid_grammar", "line 1, column 2"),
    "choice empty": ({"guided_choice": []}, "guided_choice", "invalid_value", "at least 1"),
    "choice text": (
        {"structured_outputs": {"choice": "a"}},
        "structured_outputs.choice",
        "invalid_type",
        "must be an array",
    ),
    "choice of numbers": (
        {"structured_outputs": {"choice": ["1", 2]}},
        "structured_outputs.choice[1]",
        "invalid_type",
        "must be a string",
    ),
    "EBNF broken": (
        {"structured_outputs": {"grammar": 'root ::= "a" x'}},
        "structured_outputs.grammar",
        "invalid_grammar",
        'line 1, column 14: undefined rule x\nroot ::= "a" x\n             ^',
    ),
    "Lark broken": (
        {"guided_grammar": 'start: "a" x'},
        "guided_grammar",
        "invalid_grammar",
        'line 1, column 12: unknown name x\nstart: "a" x\n           ^',
    ),
    "grammar empty": ({"guided_grammar": " "}, "guided_grammar", "invalid_grammar", 'no rule "start"'),
    "json_object false": (
        {"structured_outputs": {"json_object": False}},
        "structured_outputs.json_object",
        "invalid_value",
        "must be true",
    ),
    "tag without format": (
        {"structured_outputs": {"structural_tag": {}}},
        "structured_outputs.structural_tag.format",
        "missing_required_parameter",
        "is required",
    ),
    "tag of another type": (
        {"structured_outputs": {"structural_tag": {"type": "json_object"}}},
        "structured_outputs.structural_tag.type",
        "invalid_value",
        "must be 'structural_tag'",
    ),
    "tag broken": (
        {"structured_outputs": {"structural_tag": json.dumps({"format": {"type": "sequence", "elements": []}})}},
        "structured_outputs.structural_tag.format",
        "invalid_structural_tag",
        "(at /elements)",
    ),
    "tag, older shape, broken": (
        {
            "structured_outputs": {
                "structural_tag": {**LEGACY_TAG, "structures": [{"begin": "<answer>", "schema": LATE, "end": ""}]}
            }
        },
        "structured_outputs.structural_tag.structures[0].schema",
        "unsupported_schema",
        "(at /properties/a",
    ),
    "white space": (
        {"structured_outputs": {"json": {}, "disable_any_whitespace": "yes"}},
        "structured_outputs.disable_any_whitespace",
        "invalid_type",
        "must be true or false",
    ),
    "options in a schema": (
        {"structured_outputs": {"json": {"x-guidance": 1}, "disable_any_whitespace": True}},
        "structured_outputs.json",
        "invalid_schema",
        "must be an object (at /x-guidance",
    ),
    "additional properties": (
        {"structured_outputs": {"json": {}, "disable_additional_properties": True}},
        "structured_outputs.disable_additional_properties",
        "unsupported_parameter",
        "not supported",
    ),
    "list of grammars broken": (
        {"guided_grammar": '{"grammars": [{"lark_grammar": "start: ("}]}'},
        "guided_grammar",
        "invalid_grammar",
        "line 1, column 9",
    ),
    "white space pattern": (
        {"structured_outputs": {"json": {}, "whitespace_pattern": " ?"}},
        "structured_outputs.whitespace_pattern",
        "unsupported_parameter",
        'not supported by this server; "x-guidance" in the schema can say it',
    ),
    "guided white space pattern": (
        {"guided_json": {}, "guided_whitespace_pattern": ""},
        "guided_whitespace_pattern",
        "unsupported_parameter",
        'not supported by this server; "x-guidance" in the schema can say it',
    ),
}


@pytest.mark.parametrize(("fields", "param", "code", "message"), WRONG.values(), ids=WRONG.keys())
async def test_wrong_constraint_is_a_400_that_names_the_field(
    fields: dict[str, Any], param: str, code: str, message: str
) -> None:
    async with running() as server:
        response: httpx.Response = await server.chat(**body(**fields))

    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert (error["param"], error["code"]) == (param, code)
    assert error["message"].startswith(f"{param}: ")
    assert message in error["message"]
    assert server.engine.requests == []
