"""A structural tag that is wrong is refused with a pointer to what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_native import EngineError, GrammarSyntaxError, Matcher, StructuralTagError, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

_CONST: dict[str, Any] = {"type": "const_string", "value": "x"}
_TAG: dict[str, Any] = {"type": "tag", "begin": "<a>", "content": _CONST, "end": "</a>"}


def _token(name: int | str) -> dict[str, Any]:
    return {"type": "token", "token": name}


def _styled(style: str, properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "json_schema", "style": style, "json_schema": {"type": "object", "properties": properties}}


def _whole(node: Json) -> dict[str, Json]:
    return {"type": "structural_tag", "format": node}


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ({"type": "const_text", "value": "x"}, "/format/type"),
        ({"type": 1}, "/format/type"),
        ({"type": "const_string"}, "/format"),
        ({"type": "const_string", "value": 1}, "/format/value"),
        ({"type": "const_string", "value": "x", "extra": 1}, "/format/extra"),
        ({"type": "regex", "pattern": ""}, "/format/pattern"),
        ({"type": "any_text", "excludes": ["a", 1]}, "/format/excludes/1"),
        ({"type": "any_text", "excludes": [""]}, "/format/excludes/0"),
        ({"type": "any_text", "excludes": "a"}, "/format/excludes"),
        ({"type": "sequence", "elements": []}, "/format/elements"),
        ({"type": "sequence", "elements": [_CONST, {"type": "nope"}]}, "/format/elements/1/type"),
        ({"type": "or", "elements": []}, "/format/elements"),
        ({"type": "or", "elements": _CONST}, "/format/elements"),
        ({"type": "tag", "begin": "a", "content": _CONST}, "/format"),
        ({"type": "tag", "begin": 1, "content": _CONST, "end": "b"}, "/format/begin"),
        ({"type": "tag", "begin": "a", "content": 1, "end": "b"}, "/format/content"),
        ({"type": "tag", "begin": "a", "content": _CONST, "end": []}, "/format/end"),
        ({"type": "tag", "begin": "a", "content": _CONST, "end": ["b", 2]}, "/format/end/1"),
        ({"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": ""}, "/format/end"),
        ({"type": "triggered_tags", "triggers": [], "tags": [_TAG]}, "/format/triggers"),
        ({"type": "triggered_tags", "triggers": [""], "tags": [_TAG]}, "/format/triggers/0"),
        ({"type": "triggered_tags", "triggers": ["<a"], "tags": []}, "/format/tags"),
        ({"type": "triggered_tags", "triggers": ["<b"], "tags": [_TAG]}, "/format/tags/0/begin"),
        ({"type": "triggered_tags", "triggers": ["<", "<a"], "tags": [_TAG]}, "/format/tags/0/begin"),
        ({"type": "triggered_tags", "triggers": ["<a"], "tags": [_TAG, 1]}, "/format/tags/1"),
        ({"type": "triggered_tags", "triggers": ["<a"], "tags": [_TAG], "at_least_one": 1}, "/format/at_least_one"),
        ({"type": "json_schema", "json_schema": "{}"}, "/format/json_schema"),
        ({"type": "json_schema", "json_schema": {"type": "x"}}, "/format/json_schema/type"),
        ({"type": "any_text", "max_chars": -1}, "/format/max_chars"),
        ({"type": "any_text", "max_tokens": 1.5}, "/format/max_tokens"),
        ({"type": "any_text", "max_tokens": 2**31}, "/format/max_tokens"),
        ({"type": "any_text", "max_chars": "4"}, "/format/max_chars"),
        ({"type": "any_tokens", "max_tokens": True}, "/format/max_tokens"),
        ({"type": "repeat", "min": 1, "max": 0, "content": _CONST}, "/format/max"),
        ({"type": "repeat", "min": -1, "max": 0, "content": _CONST}, "/format/min"),
        ({"type": "repeat", "min": 0, "max": -2, "content": _CONST}, "/format/max"),
        ({"type": "star"}, "/format"),
        ({"type": "grammar", "grammar": ""}, "/format/grammar"),
        ({"type": "grammar", "grammar": 1}, "/format/grammar"),
        ({"type": "grammar", "grammar": 'start ::= "a"'}, "/format/grammar"),
        ({"type": "grammar", "grammar": 'root ::= "a', "syntax": "ebnf"}, "/format/grammar"),
        ({"type": "grammar", "grammar": 'root ::= "a"', "syntax": "bnf"}, "/format/syntax"),
        ({"type": "regex", "pattern": "("}, "/format/pattern"),
        ({"type": "dispatch", "rules": []}, "/format/rules"),
        ({"type": "dispatch"}, "/format"),
        ({"type": "dispatch", "rules": ["a"]}, "/format/rules/0"),
        ({"type": "dispatch", "rules": [["a", _CONST, 1]]}, "/format/rules/0"),
        ({"type": "dispatch", "rules": [["a", _CONST], ["", _CONST]]}, "/format/rules/1/0"),
        ({"type": "dispatch", "rules": [[1, _CONST]]}, "/format/rules/0/0"),
        ({"type": "dispatch", "rules": [["a", {"type": "nope"}]]}, "/format/rules/0/1/type"),
        ({"type": "dispatch", "rules": [["a", _CONST], ["b", _CONST], ["a", _CONST]]}, "/format/rules/2/0"),
        ({"type": "dispatch", "rules": [["a", _CONST], ["xab", _CONST]]}, "/format/rules/1/0"),
        ({"type": "dispatch", "rules": [["xab", _CONST]], "excludes": ["y", "xa"]}, "/format/rules/0/0"),
        ({"type": "dispatch", "rules": [["ab", _CONST]], "excludes": ["b"]}, "/format/rules/0/0"),
        ({"type": "dispatch", "rules": [["ab", _CONST]], "excludes": [""]}, "/format/excludes/0"),
        ({"type": "dispatch", "rules": [["ab", _CONST]], "loop": 1}, "/format/loop"),
        ({"type": "dispatch", "rules": [["ab", _CONST]], "triggers": ["a"]}, "/format/triggers"),
        ({"type": "token_dispatch", "rules": [["", _CONST]]}, "/format/rules/0/0"),
        ({"type": "token_dispatch", "rules": [[0, _CONST], ["\0", _CONST]]}, "/format/rules/1/0"),
        ({"type": "token_dispatch", "rules": [[0, _CONST]], "exclude_tokens": [0]}, "/format/rules/0/0"),
        ({"type": "token_dispatch", "rules": [[0, _CONST]], "exclude_tokens": [1e9]}, "/format/exclude_tokens/0"),
        ({"type": "token_triggered_tags", "tags": []}, "/format"),
        ({"type": "token_triggered_tags", "trigger_tokens": [97]}, "/format"),
        ({"type": "token_triggered_tags", "trigger_tokens": [], "tags": [_TAG]}, "/format/trigger_tokens"),
        ({"type": "token_triggered_tags", "trigger_tokens": [97], "tags": [_TAG]}, "/format/tags/0/begin"),
        (
            {"type": "token_triggered_tags", "trigger_tokens": [97], "tags": [{**_TAG, "begin": _token(98)}]},
            "/format/tags/0/begin",
        ),
        (
            {"type": "token_triggered_tags", "trigger_tokens": [97, "a"], "tags": [{**_TAG, "begin": _token(97)}]},
            "/format/trigger_tokens/1",
        ),
        (
            {"type": "triggered_tags", "triggers": ["<a"], "tags": [{**_TAG, "begin": _token(97)}]},
            "/format/tags/0/begin",
        ),
        ({**_TAG, "begin": {"type": "token"}}, "/format/begin"),
        ({**_TAG, "begin": {"type": "token", "token": -1}}, "/format/begin/token"),
        ({**_TAG, "begin": _CONST}, "/format/begin"),
        ({**_TAG, "end": [_token(97)]}, "/format/end/0"),
        ({**_TAG, "end": _token("no such token")}, "/format/end/token"),
        ({**_TAG, "content": {"type": "dispatch", "rules": [["a", _CONST]]}, "end": ""}, "/format/end"),
        ({**_TAG, "content": {"type": "repeat", "min": 0, "max": -1, "content": _CONST}, "end": ""}, "/format/end"),
        ({**_TAG, "content": {"elements": [_CONST, {"type": "any_text"}]}, "end": ["", ""]}, "/format/end"),
        ({"type": "json_schema", "json_schema": True, "style": "xml"}, "/format/style"),
        ({"type": "json_schema", "json_schema": True, "style": 1}, "/format/style"),
        ({"type": "json_schema", "json_schema": True, "max_whitespace_cnt": 0}, "/format/max_whitespace_cnt"),
        ({"type": "json_schema", "json_schema": True, "max_whitespace_cnt": 64}, "/format/max_whitespace_cnt"),
        ({"type": "json_schema", "json_schema": True, "any_order": "yes"}, "/format/any_order"),
        ({"type": "json_schema", "json_schema": True, "excludes": ["a", ""]}, "/format/excludes/1"),
        (
            {"type": "json_schema", "json_schema": True, "excludes": ["a", " b"], "style": "qwen_xml"},
            "/format/excludes/1",
        ),
        ({"type": "json_schema", "json_schema": True, "excludes": ["a"], "style": "cohere_xml"}, "/format/excludes"),
        ({"type": "qwen_xml_parameter", "json_schema": True, "style": "json"}, "/format/style"),
        (_styled("qwen_xml", {"a>": {}}), "/format/json_schema/properties/a>"),
        (_styled("gemma", {"a b": {}}), "/format/json_schema/properties/a b"),
        (_styled("glm_xml", {"": {}}), "/format/json_schema/properties/"),
        (_styled("minimax_m3_xml", {"a/b": {}}), "/format/json_schema/properties/a~1b"),
        (_styled("qwen_xml", {"a": {"format": "regex"}}), "/format/json_schema/properties/a"),
        ({"extra": 1, "value": "x"}, "/format"),
        ({}, "/format"),
        (1, "/format"),
        (None, "/format"),
    ],
)
def test_wrong_tag_raises_with_pointer(node: Json, path: str) -> None:
    for tag in (_whole(node), json.dumps(_whole(node))):
        with pytest.raises(EngineError) as caught:
            compiler().compile_structural_tag(tag)
        assert caught.value.path == path


@pytest.mark.parametrize("tag", [{}, {"type": "structural_tag"}, {"type": "tag", "format": _CONST}, [], "[]", "3"])
def test_wrong_outer_object_raises(tag: Json) -> None:
    with pytest.raises((StructuralTagError, TypeError)):
        compiler().compile_structural_tag(tag)  # type: ignore[arg-type]


def test_unsupported_keyword_inside_a_tag_raises_with_the_whole_pointer() -> None:
    node: Json = {
        "type": "tag",
        "begin": "<",
        "content": {"type": "json_schema", "json_schema": {"format": "idn-hostname"}},
        "end": ">",
    }

    with pytest.raises(UnsupportedSchemaError) as caught:
        compiler().compile_structural_tag(_whole(node))

    assert caught.value.path == "/format/content/json_schema/format"


def test_malformed_json_text_raises_with_offset() -> None:
    text = json.dumps(_whole(_CONST))[:-1]

    with pytest.raises(EngineError) as caught:
        compiler().compile_structural_tag(text)

    assert abs(caught.value.offset - len(text)) <= 1


def test_legacy_shape_means_triggered_tags() -> None:
    legacy: dict[str, Json] = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
        "triggers": ["<f"],
    }
    grammar = compiler().compile_structural_tag(legacy)

    assert [text for text in ("", "x", "a<f>1</f>b<f>-2</f>") if not accepts(Matcher(grammar), text)] == []
    assert [text for text in ("<f", "<f>", "<f>x</f>", "<fx") if accepts(Matcher(grammar), text)] == []


@pytest.mark.parametrize(
    ("legacy", "path"),
    [
        ({"structures": [], "triggers": ["<f"]}, "/structures"),
        ({"structures": [{"begin": "<f", "end": ""}], "triggers": ["<f"]}, "/structures/0"),
        ({"structures": [{"begin": "<f", "schema": 1, "end": ""}], "triggers": ["<f"]}, "/structures/0/schema"),
        ({"structures": [{"begin": "<f", "schema": "{", "end": ""}], "triggers": ["<f"]}, "/structures/0/schema"),
        ({"tags": [{"begin": "<f", "schema": '{"type":"x"}', "end": ""}], "triggers": ["<f"]}, "/tags/0/schema/type"),
        ({"tags": [{"begin": "<g", "schema": True, "end": ""}], "triggers": ["<f"]}, "/tags/0/begin"),
        (
            {"tags": [{"begin": "<f", "schema": True, "end": "", "type": "tag", "x": 1}], "triggers": ["<f"]},
            "/tags/0/x",
        ),
        ({"structures": [{"begin": "<f", "schema": True, "end": ""}]}, ""),
        ({"structures": [{"begin": "<f", "schema": True, "end": ""}], "triggers": ["<f"], "format": _CONST}, "/format"),
    ],
)
def test_wrong_legacy_tag_raises_with_pointer(legacy: dict[str, Json], path: str) -> None:
    with pytest.raises(EngineError) as caught:
        compiler().compile_structural_tag(legacy)

    assert caught.value.path == path


def test_legacy_tags_with_the_text_of_a_schema_mean_triggered_tags() -> None:
    legacy: dict[str, Json] = {
        "tags": [{"begin": "<f>", "schema": '{"type": "integer"}', "end": "!"}],
        "triggers": ["<f"],
    }
    grammar = compiler().compile_structural_tag(legacy)

    assert accepts(Matcher(grammar), "a<f>1!b")
    assert not accepts(Matcher(grammar), "a<f>x!b")


def test_error_in_a_grammar_tells_the_place_in_its_text() -> None:
    node: Json = {"type": "grammar", "grammar": 'root ::= "a"\nother ::= "b'}

    with pytest.raises(GrammarSyntaxError, match="line 2, column 11"):
        compiler().compile_structural_tag(_whole(node))


def test_tool_tag_for_streamed_call_forces_what_follows_the_trigger() -> None:
    node: Json = {
        "type": "triggered_tags",
        "triggers": ["<call>"],
        "tags": [
            {
                "type": "tag",
                "begin": '<call>{"name": "add", "arguments": ',
                "content": {
                    "type": "json_schema",
                    "json_schema": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}},
                        "required": ["a"],
                        "additionalProperties": False,
                    },
                },
                "end": "}</call>",
            }
        ],
    }
    matcher = Matcher(compiler().compile_structural_tag(_whole(node)))

    assert matcher.accept_bytes(b"I will add. <call>")
    assert matcher.forced_bytes() == b'{"name": "add", "arguments": {'
    assert matcher.accept_bytes(b'{"name": "add", "arguments": {"a": 12}')
    assert not matcher.can_terminate()
    assert accepts(matcher, "}</call> done")
