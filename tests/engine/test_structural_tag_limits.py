"""Large, deep and hostile tags end well, or are refused by name inside the limits, and soon."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from engine_native import Compiler, EngineError, LimitError, Matcher, StructuralTagError, allocate_bitmask
from tests.engine.vocabularies import accepts, byte_vocabulary

MOST_SECONDS = 8.0
"""Far below what a quadratic construction takes; a compile itself may take 10 before it is stopped."""


def _const(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def _tag(begin: str, end: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"begin": begin, "content": content or {"type": "any_text"}, "end": end}


def _compiled(node: dict[str, Any]) -> Matcher:
    """In a cold compiler, with the first mask, in time."""
    compiler, begun = Compiler(byte_vocabulary()), time.monotonic()
    matcher = Matcher(compiler.compile_structural_tag({"type": "structural_tag", "format": node}))
    matcher.fill_bitmask(allocate_bitmask(1, matcher.vocab_size)[0])
    assert time.monotonic() - begun < MOST_SECONDS
    return matcher


def test_thousands_of_triggers_each_lead_to_their_tag() -> None:
    tags = [_tag(f"<t{i}>", f"</t{i}>") for i in range(4000)]
    node = {"type": "triggered_tags", "triggers": [f"<t{i}>" for i in range(4000)], "tags": tags}

    assert accepts(_compiled(node), "a<t17>x</t18></t17>b<t3999></t3999>")
    assert not accepts(_compiled(node), "<t17>x</t18>")


def test_thousands_of_tags_behind_one_trigger() -> None:
    tags = [_tag(f"<t{i}>", "</t>") for i in range(4000)]
    node = {"type": "triggered_tags", "triggers": ["<t"], "tags": tags}

    assert accepts(_compiled(node), "a<t17>x</t>b")
    assert not _compiled(node).accept_bytes(b"a<t4000")


def test_thousands_of_patterns_that_begin_each_other() -> None:
    node = {"type": "dispatch", "rules": [["x" + "y" * i, _const(f"={i}")] for i in range(1500)]}

    assert accepts(_compiled(node), "zxyyy=3,x=0")
    assert not _compiled(node).accept_bytes(b"xyyy=2")


@pytest.mark.parametrize(
    "node",
    [
        {"type": "dispatch", "rules": [["ab" * 30_000, _const("x")]]},
        {"type": "any_text", "excludes": ["ab" * 30_000]},
        {"type": "any_text", "excludes": [f"no{i}" for i in range(20_000)]},
        {"type": "any_text", "excludes": ["a" * i + "b" for i in range(1, 1000)]},
        {"type": "tag", **_tag("<", "")} | {"end": ["a" * i + "b" for i in range(1, 400)]},
        {"type": "token_dispatch", "rules": [[i, _const("x")] for i in range(250)]},
        {"type": "sequence", "elements": [{"type": "any_tokens", "exclude_tokens": [i % 200]} for i in range(500)]},
        {"type": "sequence", "elements": [{"type": "any_text"}] * 300},
        {"type": "star", "content": {"type": "star", "content": _const("")}},
        {"type": "plus", "content": {"type": "optional", "content": _const("")}},
        {"type": "star", "content": {"type": "any_text", "max_tokens": 3}},
        {"type": "sequence", "elements": [{"type": "any_text", "max_chars": i + 1} for i in range(100)]},
        {"type": "repeat", "min": 2**31 - 1, "max": 2**31 - 1, "content": {"type": "any_text", "max_chars": 2**31 - 1}},
        {"type": "or", "elements": [_const("") for _ in range(5000)]},
        {"type": "tags_with_separator", "tags": [_tag("", "", _const(""))] * 50, "separator": ""},
    ],
)
def test_large_and_empty_formats_end_well(node: dict[str, Any]) -> None:
    _compiled(node)


@pytest.mark.parametrize(
    ("node", "error"),
    [
        ({"type": "dispatch", "rules": [["a" * i, _const("x")] for i in range(1, 500)]}, StructuralTagError),
        ({"type": "dispatch", "rules": [[f"<{i % 400}>", _const("x")] for i in range(500)]}, StructuralTagError),
        (
            {"type": "json_schema", "json_schema": {"type": "string", "maxLength": 5000}, "excludes": ["ab"]},
            LimitError,
        ),
    ],
)
def test_formats_that_are_too_much_are_refused_by_name(node: dict[str, Any], error: type[EngineError]) -> None:
    with pytest.raises(error) as caught:
        _compiled(node)

    assert caught.value.path.startswith("/format")


@pytest.mark.parametrize("field", ["content", "elements"])
def test_a_hundred_thousand_levels_are_refused_at_once(field: str) -> None:
    opener = '{"type":"optional","content":' if field == "content" else '{"type":"or","elements":['

    with pytest.raises(LimitError):
        Compiler(byte_vocabulary()).compile_structural_tag('{"format":' + opener * 100_000)


def test_other_tags_do_not_notice_a_refusal() -> None:
    compiler = Compiler(byte_vocabulary())
    with pytest.raises(EngineError):
        compiler.compile_structural_tag({"format": {"type": "dispatch", "rules": [["", _const("x")]]}})

    grammar = compiler.compile_structural_tag(json.dumps({"format": _const("x")}))

    assert accepts(Matcher(grammar), "x")
