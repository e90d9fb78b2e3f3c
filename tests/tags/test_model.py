"""The typed language: JSON out and in, and where a mistake is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from structural_tags.choice import NamedTool, Tool, ToolChoice, build_tag
from structural_tags.formats import get_format
from structural_tags.model import (
    AnyText,
    AnyTokens,
    ConstString,
    Dispatch,
    ExcludeToken,
    Grammar,
    InvalidTagError,
    JsonSchema,
    Optional,
    Or,
    Plus,
    Regex,
    Repeat,
    Sequence,
    Star,
    StructuralTag,
    Tag,
    TagsWithSeparator,
    Token,
    TokenDispatch,
    TokenTriggeredTags,
    TriggeredTags,
    from_legacy,
)

TAG = Tag(begin="<a>", content=AnyText(), end="</a>")
TAG_JSON = {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}

NODES = [
    (ConstString(value=""), {"type": "const_string", "value": ""}),
    (ConstString(value="x", capture="é"), {"type": "const_string", "value": "x", "capture": "é"}),
    (
        Tag(begin="<", content=AnyText(capture="in"), end=">", capture="out"),
        {"type": "tag", "begin": "<", "content": {"type": "any_text", "capture": "in"}, "end": ">", "capture": "out"},
    ),
    (JsonSchema(json_schema=True), {"type": "json_schema", "json_schema": True}),
    (JsonSchema(json_schema={"type": "null"}), {"type": "json_schema", "json_schema": {"type": "null"}}),
    (
        JsonSchema(json_schema=True, any_order=True),
        {"type": "json_schema", "json_schema": True, "any_order": True},
    ),
    (
        JsonSchema(json_schema=True, style="qwen_xml", max_whitespace_cnt=2, excludes=("x",)),
        {
            "type": "json_schema",
            "json_schema": True,
            "style": "qwen_xml",
            "max_whitespace_cnt": 2,
            "excludes": ["x"],
        },
    ),
    (Grammar(grammar="root ::= []"), {"type": "grammar", "grammar": "root ::= []"}),
    (Grammar(grammar="start:", syntax="lark"), {"type": "grammar", "grammar": "start:", "syntax": "lark"}),
    (AnyText(max_tokens=0, max_chars=9), {"type": "any_text", "max_tokens": 0, "max_chars": 9}),
    (
        Dispatch(rules=(("<", TAG), ("x", AnyText())), loop=False, excludes=("y",)),
        {"type": "dispatch", "rules": [["<", TAG_JSON], ["x", {"type": "any_text"}]], "loop": False, "excludes": ["y"]},
    ),
    (
        Tag(begin=Token(token=7), content=AnyTokens(), end=Token(token="<e>")),
        {
            "type": "tag",
            "begin": {"type": "token", "token": 7},
            "content": {"type": "any_tokens"},
            "end": {"type": "token", "token": "<e>"},
        },
    ),
    (
        TokenTriggeredTags(trigger_tokens=(7, "a"), tags=(TAG,), exclude_tokens=(1,), at_least_one=True),
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [7, "a"],
            "tags": [TAG_JSON],
            "exclude_tokens": [1],
            "at_least_one": True,
        },
    ),
    (TokenDispatch(rules=((7, TAG),)), {"type": "token_dispatch", "rules": [[7, TAG_JSON]]}),
    (Regex(pattern="é+"), {"type": "regex", "pattern": "é+"}),
    (AnyText(excludes=("x",)), {"type": "any_text", "excludes": ["x"]}),
    (Token(token="<s>"), {"type": "token", "token": "<s>"}),
    (ExcludeToken(exclude_tokens=(3, "a")), {"type": "exclude_token", "exclude_tokens": [3, "a"]}),
    (AnyTokens(max_tokens=7), {"type": "any_tokens", "max_tokens": 7}),
    (Sequence(elements=(AnyText(), TAG)), {"type": "sequence", "elements": [{"type": "any_text"}, TAG_JSON]}),
    (Or(elements=(AnyText(),)), {"type": "or", "elements": [{"type": "any_text"}]}),
    (Optional(content=TAG), {"type": "optional", "content": TAG_JSON}),
    (Star(content=TAG), {"type": "star", "content": TAG_JSON}),
    (Plus(content=TAG), {"type": "plus", "content": TAG_JSON}),
    (Repeat(min=0, max=-1, content=TAG), {"type": "repeat", "min": 0, "max": -1, "content": TAG_JSON}),
    (
        Tag(begin="", content=AnyText(), end=("x", "y")),
        {"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": ["x", "y"]},
    ),
    (
        TriggeredTags(triggers=("<",), tags=(TAG,)),
        {"type": "triggered_tags", "triggers": ["<"], "tags": [TAG_JSON]},
    ),
    (
        TriggeredTags(triggers=("<",), tags=(TAG,), at_least_one=True, stop_after_first=True, excludes=("x",)),
        {
            "type": "triggered_tags",
            "triggers": ["<"],
            "tags": [TAG_JSON],
            "at_least_one": True,
            "stop_after_first": True,
            "excludes": ["x"],
        },
    ),
    (
        TagsWithSeparator(tags=(TAG,), separator=""),
        {"type": "tags_with_separator", "tags": [TAG_JSON], "separator": ""},
    ),
]


@pytest.mark.parametrize(("node", "written"), NODES, ids=[type(node).__name__ for node, _ in NODES])
def test_node_is_written_without_its_defaults_and_read_back(node: Any, written: dict[str, Any]) -> None:
    tag = StructuralTag(format=node)

    text = tag.to_json()

    assert json.loads(text) == {"type": "structural_tag", "format": written}
    assert StructuralTag.from_json(text) == tag
    assert StructuralTag.from_json(json.loads(text)) == tag


def test_json_is_compact_and_not_escaped() -> None:
    text = StructuralTag(format=ConstString(value="é")).to_json()

    assert text == '{"type":"structural_tag","format":{"type":"const_string","value":"é"}}'


def test_type_may_be_left_out_where_there_is_no_choice() -> None:
    bare = {"begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}
    value = {"format": {"type": "triggered_tags", "triggers": ["<"], "tags": [bare]}}

    assert StructuralTag.from_json(value).format == TriggeredTags(triggers=("<",), tags=(TAG,))


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ({"value": "x"}, ConstString),
        ({"begin": "a", "content": {"value": "x"}, "end": "b"}, Tag),
        ({"json_schema": True}, JsonSchema),
        ({"elements": [{"value": "x"}]}, Sequence),
        ({"content": {"value": "x"}}, Optional),
        ({"min": 0, "max": 1, "content": {"value": "x"}}, Repeat),
        ({"triggers": ["<"], "tags": [{"begin": "<", "content": {"value": "x"}, "end": "b"}]}, TriggeredTags),
        ({"tags": [{"begin": "<", "content": {"value": "x"}, "end": "b"}], "separator": ""}, TagsWithSeparator),
        ({"rules": [["x", {"value": "x"}]]}, Dispatch),
        ({"rules": [[1, {"value": "x"}]], "exclude_tokens": [2]}, TokenDispatch),
    ],
)
def test_node_without_a_type_is_the_first_that_its_fields_fit(written: dict[str, Any], kind: type) -> None:
    assert type(StructuralTag.from_json({"format": written}).format) is kind


def test_nodes_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TAG.__setattr__("begin", "x")


@pytest.mark.parametrize(
    ("node", "path", "message"),
    [
        ({"type": "any_text", "exclude": []}, "/format/exclude", "unknown field"),
        ({"type": "any_text", "content": 1}, "/format/content", "unknown field"),
        ({"type": "const_string", "value": "x", "a/b~": 1}, "/format/a~1b~0", "unknown field"),
        ({"type": "const_string", "value": 1}, "/format/value", "should be a valid string"),
        ({"type": "const_string"}, "/format/value", "Field required"),
        ({"type": "text"}, "/format/type", "type 'text' found using 'type' does not match"),
        ({"values": "x"}, "/format/type", "the node has no type, and no format has its fields"),
        ({"type": "or", "elements": []}, "/format/elements", "at least 1 item"),
        ({"type": "regex", "pattern": ""}, "/format/pattern", "at least 1 character"),
        ({"type": "json_schema", "json_schema": "{}"}, "/format/json_schema", "must be an object or a boolean"),
        ({**TAG_JSON, "end": []}, "/format/end", "a string, a token or a non-empty array of strings"),
        ({**TAG_JSON, "end": ["x", 1]}, "/format/end", "a string, a token or a non-empty array of strings"),
        ({**TAG_JSON, "end": {"type": "token"}}, "/format/end/token", "Field required"),
        ({**TAG_JSON, "begin": 1}, "/format/begin", "a string or a token"),
        ({**TAG_JSON, "begin": {"type": "token", "token": -1}}, "/format/begin/token", "an id or a text"),
        ({"type": "any_tokens", "exclude_tokens": [1, ""]}, "/format/exclude_tokens/1", "an id or a text"),
        ({"type": "any_text", "max_chars": 2**31}, "/format/max_chars", "less than 2147483648"),
        ({"type": "json_schema", "json_schema": True, "style": "xml"}, "/format/style", "'json'"),
        ({"type": "dispatch", "rules": [["x", {"type": "star"}]]}, "/format/rules/0/1/content", "Field required"),
        ({"type": "dispatch", "rules": [["", TAG_JSON]]}, "/format/rules/0/0", "at least 1 character"),
        ({"type": "dispatch", "rules": [["x"]]}, "/format/rules/0/1", "Field required"),
        ({**TAG_JSON, "content": {"type": "any_text", "tag": 1}}, "/format/content/tag", "unknown field"),
        (
            {"type": "or", "elements": [{"type": "any_text"}, {"type": "star", "content": {**TAG_JSON, "tag": 1}}]},
            "/format/elements/1/content/tag",
            "unknown field",
        ),
        (
            {"type": "triggered_tags", "triggers": ["<"], "tags": [TAG_JSON, {**TAG_JSON, "x": 1}]},
            "/format/tags/1/x",
            "unknown field",
        ),
        (
            {"type": "triggered_tags", "triggers": ["<"], "tags": [TAG_JSON], "at_least_one": "yes"},
            "/format/at_least_one",
            "should be a valid boolean",
        ),
        (
            {"type": "repeat", "min": 3, "max": 2, "content": TAG_JSON},
            "/format",
            "max is 2, less than min, 3",
        ),
        ({"type": "repeat", "min": True, "max": 2, "content": TAG_JSON}, "/format/min", "should be a valid integer"),
        ({"type": "repeat", "min": 0, "max": -2, "content": TAG_JSON}, "/format/max", "greater than or equal to -1"),
    ],
)
def test_mistake_in_a_node_is_named_with_its_place(node: object, path: str, message: str) -> None:
    with pytest.raises(InvalidTagError) as caught:
        StructuralTag.from_json({"type": "structural_tag", "format": node})

    assert caught.value.path == path
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ("[1", "", "not JSON: Expecting ',' delimiter at character 2"),
        ("1", "", "should be a valid dictionary"),
        ("[" * 200_000, "", "nested too deeply"),
        ({}, "/format", "Field required"),
        ({"type": "tag", "format": TAG_JSON}, "/type", "should be 'structural_tag'"),
        ({"format": TAG_JSON, "tags": []}, "/tags", "unknown field"),
    ],
)
def test_value_that_is_no_structural_tag_is_refused(value: Any, path: str, message: str) -> None:
    with pytest.raises(InvalidTagError) as caught:
        StructuralTag.from_json(value)

    assert caught.value.path == path
    assert message in caught.value.message


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_nesting_without_end_is_refused(depth: int) -> None:
    text = '{"format":' + '{"type":"star","content":' * depth + '{"type":"any_text"}' + "}" * depth + "}"

    with pytest.raises(InvalidTagError, match="nested too deeply"):
        StructuralTag.from_json(text).to_json()


@pytest.mark.parametrize("choice", ["auto", "required", "none", NamedTool("f")])
def test_tags_of_build_tag_are_in_the_language(choice: ToolChoice) -> None:
    tools = (Tool("f", {"type": "object"}), Tool("g"))
    tag = build_tag(get_format("qwen3"), tools=tools, tool_choice=choice, reasoning=True)

    assert tag is not None
    assert json.loads(StructuralTag.from_json(tag).to_json()) == tag


def test_legacy_shape_becomes_triggered_tags() -> None:
    legacy = {
        "type": "structural_tag",
        "structures": [
            {"begin": "<f>", "schema": {"type": "object"}, "end": "</f>"},
            {"begin": "<g>", "schema": True, "end": "</g>"},
        ],
        "triggers": ["<f", "<g"],
    }

    tag = from_legacy(legacy)

    assert json.loads(tag.to_json()) == {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<f", "<g"],
            "tags": [
                {
                    "type": "tag",
                    "begin": "<f>",
                    "content": {"type": "json_schema", "json_schema": {"type": "object"}},
                    "end": "</f>",
                },
                {
                    "type": "tag",
                    "begin": "<g>",
                    "content": {"type": "json_schema", "json_schema": True},
                    "end": "</g>",
                },
            ],
        },
    }


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"format": TAG_JSON}, "/format", "unknown field"),
        ({"triggers": []}, "/triggers", "at least 1 item"),
        ({"triggers": ["<", ""]}, "/triggers/1", "at least 1 character"),
        ({"structures": [{"begin": "<", "schema": {}, "end": ">", "x": 1}]}, "/structures/0/x", "unknown field"),
        ({"structures": [{"begin": "<", "end": ">"}]}, "/structures/0/schema", "Field required"),
        ({"structures": [{"begin": "<", "schema": 1, "end": ">"}]}, "/structures/0/schema", "must be an object"),
    ],
)
def test_mistake_in_the_legacy_shape_is_named_with_its_place(change: dict[str, Any], path: str, message: str) -> None:
    legacy = {
        "type": "structural_tag",
        "structures": [{"begin": "<", "schema": {}, "end": ">"}],
        "triggers": ["<"],
    }

    with pytest.raises(InvalidTagError) as caught:
        from_legacy({**legacy, **change})

    assert caught.value.path == path
    assert message in caught.value.message
