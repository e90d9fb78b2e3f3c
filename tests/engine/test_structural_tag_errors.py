"""A structural tag that is wrong is refused with a pointer to what is wrong."""

from __future__ import annotations

import json

import pytest

from engine_native import EngineError, Matcher, StructuralTagError, UnsupportedSchemaError
from tests.engine.schemas import Json
from tests.engine.vocabularies import accepts, compiler

_CONST: dict[str, Json] = {"type": "const_string", "value": "x"}
_TAG: dict[str, Json] = {"type": "tag", "begin": "<a>", "content": _CONST, "end": "</a>"}


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
