"""Captures: what named formats of a structural tag matched, while the text is written and after."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from engine_native import Compiler, EngineError, LimitError, Limits, Matcher, StructuralTagError, Vocabulary
from tests.engine.schemas import Json
from tests.engine.vocabularies import SPECIAL, STOP, byte_vocabulary, compiler

Named = list[tuple[str, bytes]]

_TEXT: dict[str, Json] = {"type": "any_text", "capture": "text"}
_X: dict[str, Json] = {"type": "tag", "begin": "<x>", "content": _TEXT, "end": "</x>"}


def _matcher(node: Json, *, of: Compiler | None = None) -> Matcher:
    return Matcher((of or compiler()).compile_structural_tag({"type": "structural_tag", "format": node}))


def _const(value: str, capture: str | None = None) -> dict[str, Json]:
    node: dict[str, Json] = {"type": "const_string", "value": value}
    return node if capture is None else node | {"capture": capture}


def _sequence(*elements: Json) -> dict[str, Json]:
    return {"type": "sequence", "elements": list(elements)}


def _regex(pattern: str, capture: str) -> dict[str, Json]:
    return {"type": "regex", "pattern": pattern, "capture": capture}


def _streamed(matcher: Matcher, text: str) -> list[Named]:
    """The captures after each character."""
    told = []
    for character in text:
        assert matcher.accept_bytes(character.encode())
        told.append(matcher.captures())
    return told


def _whole(node: Json, text: str) -> Named:
    matcher = _matcher(node)
    assert matcher.accept_bytes(text.encode())
    assert matcher.accept_token(STOP)
    return matcher.captures()


@pytest.mark.parametrize(
    ("node", "text", "expected"),
    [
        (_const("ab", "c"), "ab", [("c", b"ab")]),
        (_const("", "c"), "", [("c", b"")]),
        ({"type": "json_schema", "json_schema": {"type": "integer"}, "capture": "n"}, "-12", [("n", b"-12")]),
        (
            {"type": "json_schema", "json_schema": {"type": "object"}, "capture": "o"},
            '{"a":[{}]}',
            [("o", b'{"a":[{}]}')],
        ),
        (_regex("é+", "naïve"), "éé", [("naïve", "éé".encode())]),
        (_X | {"capture": "tag"}, "<x>a</x>", [("tag", b"<x>a</x>"), ("text", b"a")]),
        (_X, "<x></x>", [("text", b"")]),
        (
            _sequence(_const("a", "1"), _const("b"), _const("c", "2")) | {"capture": "0"},
            "abc",
            [("0", b"abc"), ("1", b"a"), ("2", b"c")],
        ),
        ({"type": "or", "elements": [_const("a", "1"), _const("b", "2")]}, "b", [("2", b"b")]),
        ({"type": "optional", "content": _const("a", "c")}, "", []),
        ({"type": "optional", "content": _const("a", "c"), "capture": "o"}, "", [("o", b"")]),
        ({"type": "star", "content": _const("ab", "c")}, "ababab", [("c", b"ab")] * 3),
        ({"type": "plus", "content": _X}, "<x>1</x><x>2</x>", [("text", b"1"), ("text", b"2")]),
        ({"type": "plus", "content": _regex("a?", "c")}, "", [("c", b"")]),
        ({"type": "repeat", "min": 2, "max": 500, "content": _const("a", "c")}, "a" * 70, [("c", b"a")] * 70),
        ({"type": "repeat", "min": 300, "max": 300, "content": _X}, "<x>.</x>" * 300, [("text", b".")] * 300),
        (
            {"type": "repeat", "min": 2, "max": -1, "content": _sequence(_const("a"), _regex("b*", "c"))},
            "abaabb",
            [("c", b"b"), ("c", b""), ("c", b"bb")],
        ),
        (
            {"type": "tags_with_separator", "separator": ",", "tags": [_X | {"capture": "t"}]},
            "<x>1</x>,<x></x>",
            [("t", b"<x>1</x>"), ("text", b"1"), ("t", b"<x></x>"), ("text", b"")],
        ),
        (
            {"type": "triggered_tags", "triggers": ["<x"], "tags": [_X | {"capture": "t"}], "capture": "all"},
            "a<x>b</x>c",
            [("all", b"a<x>b</x>c"), ("t", b"<x>b</x>"), ("text", b"b")],
        ),
        (
            {"type": "triggered_tags", "triggers": ["<x"], "tags": [_X | {"capture": "t"}], "at_least_one": True},
            "<x>a</x>.<x>b</x>",
            [("t", b"<x>a</x>"), ("text", b"a"), ("t", b"<x>b</x>"), ("text", b"b")],
        ),
    ],
)
def test_captures_of_a_whole_text_are_what_each_named_format_matched(node: Json, text: str, expected: Named) -> None:
    assert _whole(node, text) == expected


def test_captures_of_tags_that_differ_in_their_trigger_only_begin_with_it() -> None:
    tags: list[Json] = [
        {"begin": begin, "content": _const("x"), "end": ">", "capture": "t"} for begin in ("<a:", "<bcd:")
    ]

    found = _whole({"type": "triggered_tags", "triggers": ["<a", "<bcd"], "tags": tags}, "<bcd:x> <a:x>")

    assert found == [("t", b"<bcd:x>"), ("t", b"<a:x>")]


def test_captures_of_tags_with_one_end_name_the_right_one() -> None:
    tags: list[Json] = [{"begin": "<d>", "content": _const("x", "inside d"), "end": ">"}]
    tags += [{"begin": f"<{name}>", "content": _const("x"), "end": ">", "capture": name} for name in "abc"]

    found = _whole({"type": "triggered_tags", "triggers": ["<"], "tags": tags}, "<b>x><d>x><c>x>")

    assert found == [("b", b"<b>x>"), ("inside d", b"x"), ("c", b"<c>x>")]


def test_captures_of_empty_formats_side_by_side_are_both_there() -> None:
    maybe = _regex("a?", "c")

    assert _whole(_sequence(maybe, maybe), "") == [("c", b""), ("c", b"")]
    assert _whole({"type": "repeat", "min": 3, "max": 3, "content": maybe}, "") == [("c", b"")] * 3


def test_captures_of_endless_repetitions_of_what_may_be_empty_are_those_with_text() -> None:
    lines: Json = {"type": "repeat", "min": 2, "max": 2**31 - 1, "content": _regex("(a*b)?", "c")}

    assert _whole(lines, "ab") == [("c", b"ab")]
    assert _whole(lines, "abbaab") == [("c", b"ab"), ("c", b"b"), ("c", b"aab")]
    assert _whole(lines, "") == []


def test_captures_while_the_text_grows_leave_out_what_may_be_the_end() -> None:
    told = _streamed(_matcher(_X), "<x>a</b</x>")

    texts = [None, None, "", "a", "a", "a", "a</b", "a</b", "a</b", "a</b", "a</b"]
    assert told == [[] if text is None else [("text", text.encode())] for text in texts]


def test_captures_of_text_before_what_may_follow_grow_only() -> None:
    call = _const("<x>", "call")
    matcher = _matcher(_sequence(_TEXT | {"excludes": ["<x>"]}, {"type": "star", "content": call}))

    told = _streamed(matcher, "a<x<x><x>")

    assert [found[0][1] for found in told] == [b"a", b"a", b"a", b"a<x", b"a<x", b"a<x", b"a<x", b"a<x", b"a<x"]
    assert told[-1] == [("text", b"a<x"), ("call", b"<x>"), ("call", b"<x>")]


def test_captures_before_any_text_are_open_and_empty() -> None:
    assert _matcher(_sequence(_const("a", "1"), _const("b", "2")) | {"capture": "0"}).captures() == [
        ("0", b""),
        ("1", b""),
    ]


def test_captures_for_grammars_without_are_none() -> None:
    for grammar in (compiler().compile_regex("a*"), compiler().compile_json_object(), compiler().compile_choice(["a"])):
        matcher = Matcher(grammar)
        matcher.accept_bytes(b"a")
        assert matcher.captures() == []


def test_captures_hold_special_tokens_as_their_text_and_no_stop_token() -> None:
    matcher = _matcher(_sequence(_const("<s>", "special"), _regex("a+", "a")) | {"capture": "all"})

    assert matcher.accept_tokens([SPECIAL, ord("a")]) == 2
    assert matcher.captures() == [("all", b"<s>a"), ("special", b"<s>"), ("a", b"a")]
    assert matcher.accept_token(STOP)
    assert matcher.captures() == [("all", b"<s>a"), ("special", b"<s>"), ("a", b"a")]


def test_captures_hold_a_stop_token_that_is_content() -> None:
    matcher = _matcher(_const("a</s>", "c"))

    assert matcher.accept_tokens([ord("a"), STOP]) == 2

    assert matcher.is_terminated()
    assert matcher.captures() == [("c", b"a</s>")]


def test_captures_after_a_stop_token_are_those_of_the_complete_text() -> None:
    """Before it, `a` may be the beginning of `ab`."""
    matcher = _matcher({"type": "or", "elements": [_regex("a", "one"), _sequence(_const("a"), _const("b", "two"))]})
    assert matcher.accept_bytes(b"a")
    assert matcher.captures() == [("two", b"")]

    assert matcher.accept_token(STOP)

    assert matcher.captures() == [("one", b"a")]


def test_captures_follow_rollback_reset_and_fork() -> None:
    matcher = _matcher({"type": "plus", "content": _X})
    assert matcher.accept_bytes(b"<x>ab")
    assert matcher.accept_bytes(b"</x><x>c")
    assert matcher.captures() == [("text", b"ab"), ("text", b"c")]
    fork = matcher.fork()

    matcher.rollback(1)
    assert matcher.captures() == [("text", b"ab")]
    assert matcher.accept_bytes(b"<")
    assert matcher.accept_bytes(b"d")
    assert matcher.captures() == [("text", b"ab<d")]
    matcher.reset()
    assert matcher.captures() == []
    assert matcher.accept_bytes(b"<x>e")
    assert matcher.captures() == [("text", b"e")]
    assert fork.captures() == [("text", b"ab"), ("text", b"c")]


def test_captures_do_not_change_when_a_token_is_refused() -> None:
    matcher = _matcher(_const("abc", "c"))
    assert matcher.accept_bytes(b"a")

    assert not matcher.accept_bytes(b"bx")
    assert not matcher.accept_token(ord("x"))
    assert matcher.validate_tokens([ord("b"), ord("c")]) == 2

    assert matcher.captures() == [("c", b"a")]


def test_captures_survive_a_cleared_cache() -> None:
    own = Compiler(byte_vocabulary(), cache_bytes=1)
    schema: Json = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}
    matcher = _matcher({"type": "json_schema", "json_schema": schema, "capture": "o"}, of=own)
    assert matcher.accept_bytes(b'{"k')
    assert matcher.captures() == [("o", b'{"k')]
    own.clear_cache()

    assert matcher.accept_bytes(b'":1}')

    assert matcher.captures() == [("o", b'{"k":1}')]


def test_captures_over_a_limit_raise_and_matching_goes_on() -> None:
    own = Compiler(byte_vocabulary(), limits=Limits(matcher_bytes=200_000))
    matcher = _matcher(_X, of=own)
    assert matcher.accept_bytes(b"<x>" + b"a" * 10_000)

    with pytest.raises(LimitError, match="captures"):
        matcher.captures()

    assert matcher.error is None
    assert matcher.accept_bytes(b"</x>")
    matcher.rollback(2)
    assert matcher.captures() == []


@pytest.mark.parametrize(
    ("node", "path"),
    [
        (_const("a") | {"capture": ""}, "/format/capture"),
        (_const("a") | {"capture": 1}, "/format/capture"),
        (_const("a") | {"capture": None}, "/format/capture"),
        (_X | {"content": _const("a") | {"capture": []}}, "/format/content/capture"),
        ({"type": "triggered_tags", "triggers": ["<"], "tags": [_X | {"capture": ""}]}, "/format/tags/0/capture"),
    ],
)
def test_capture_that_is_no_name_raises_with_its_place(node: Json, path: str) -> None:
    with pytest.raises(StructuralTagError) as caught:
        _matcher(node)

    assert caught.value.path == path


@pytest.mark.parametrize(
    ("tag", "path"),
    [
        ({"type": "structural_tag", "format": _const("a"), "capture": "x"}, "/capture"),
        (
            {"structures": [{"begin": "<", "schema": {}, "end": ">", "capture": "x"}], "triggers": ["<"]},
            "/structures/0/capture",
        ),
    ],
)
def test_capture_of_what_is_no_format_raises_with_its_place(tag: dict[str, Json], path: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_structural_tag(tag)

    assert caught.value.path == path


def _call_format() -> dict[str, Json]:
    """Qwen3's tool calls, with the parts that a server wants to have."""
    weather: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    bodies: list[Json] = [
        _sequence(
            _const(name, "name"),
            _const('", "arguments": '),
            {"type": "json_schema", "json_schema": schema, "capture": "arguments"},
        )
        for name, schema in (("get_weather", weather), ("now", {"type": "object"}))
    ]
    call: Json = {
        "type": "tag",
        "begin": '<tool_call>\n{"name": "',
        "content": {"type": "or", "elements": bodies},
        "end": "}\n</tool_call>",
        "capture": "call",
    }
    think: Json = {
        "type": "tag",
        "begin": "<think>\n",
        "content": {"type": "any_text", "capture": "thought"},
        "end": "\n</think>",
    }
    return _sequence(think, {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [call]})


def test_captures_of_tool_calls_streamed_by_the_tokens_of_qwen3(shared: Path) -> None:
    path = str(shared / "tokenizers" / "qwen3" / "tokenizer.json")
    first, second = '{"city": "Zürich \\"HB\\" 東京"}', '{"zone": ["UTC", {"dst": false}]}'
    calls = [
        f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
        for name, arguments in (("get_weather", first), ("now", second))
    ]
    text = f"<think>\nTwo <b>calls</b>\n</thin\n</think>\n\nHere: {calls[0]}\n{calls[1]} 🦊"
    expected = [
        ("thought", "Two <b>calls</b>\n</thin"),
        *(("call", calls[0]), ("name", "get_weather"), ("arguments", first)),
        *(("call", calls[1]), ("name", "now"), ("arguments", second)),
    ]
    vocabulary = Vocabulary.from_tokenizer_json(path)
    matcher = _matcher(_call_format(), of=Compiler(vocabulary))

    before: Named = []
    for token in Tokenizer.from_file(path).encode(text, add_special_tokens=False).ids:
        assert matcher.accept_token(token)
        now = matcher.captures()
        assert len(now) >= len(before)
        for (old_name, old), (name, found) in zip(before, now, strict=False):
            assert name == old_name
            assert found.startswith(old)
        before = now

    assert before == [(name, part.encode()) for name, part in expected]


@pytest.mark.parametrize("kind", ["text", "json"])
def test_captures_of_a_long_text_cost_its_length(kind: str) -> None:
    """Memory is what can be measured without a clock: the same for each byte."""
    rng = random.Random(1)
    if kind == "text":
        node: dict[str, Json] = _X
        body = "".join(rng.choices("ab <>/\né日", k=40_000))
    else:
        node = _X | {"content": {"type": "json_schema", "json_schema": {}, "capture": "text"}}
        body = json.dumps([{"id": i, "tags": [rng.random(), "a\n"]} for i in range(1_000)])
    own = Compiler(byte_vocabulary())
    matcher, held = _matcher(node, of=own), []
    text = f"<x>{body}".encode()
    for begin in range(0, len(text) - 8192, 8192):
        assert matcher.accept_bytes(text[begin : begin + 8192])
        assert len(matcher.captures()[0][1]) in range(begin + 8185, begin + 8190)
        held.append(own.stats()["bytes"])

    assert matcher.accept_bytes(text[begin + 8192 :] + b"</x>")
    assert matcher.captures() == [("text", text[3:])]
    assert held[-1] - held[0] < 200 * len(text)
