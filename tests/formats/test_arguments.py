"""Arguments in every style, read by the schema: types, streaming, text that is no such arguments, text cut short."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_native import Compiler, EngineError, Matcher, Vocabulary
from structural_tags.choice import build_tag
from structural_tags.formats import get_format
from structural_tags.formats.arguments import STYLES, ArgumentStyle, Fields, Json
from structural_tags.output import (
    Call,
    CallArguments,
    CallBegin,
    CallEnd,
    ContentDelta,
    OutputParser,
    ParsedOutput,
    fold,
    render,
)
from structural_tags.output.arguments import reader_of
from structural_tags.output.arguments.fits import fits
from structural_tags.output.arguments.write import write_arguments
from structural_tags.tools import Tool
from tests.formats.families import events_of
from tests.formats.sampling import tokenised
from tests.property.schemas import draw_schema, draw_value

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def _read(style: ArgumentStyle, text: str, schema: Any, *, strict: bool = True, pieces: int = 0) -> Any:
    """The value of arguments that are followed by `)`, read whole or in pieces of so many characters."""
    reader = reader_of(style, ")", schema, strict=strict)
    text += ")"
    written, rest = "", None
    for piece in [text[at : at + pieces] for at in range(0, len(text), pieces)] if pieces else [text]:
        if rest is None:
            made, rest = reader.read(piece)
            written += made
        else:
            rest += piece
    assert rest == ")"
    return json.loads(written)


def _field(value: str, key: str = "a") -> str:
    return f"<parameter={key}>{value}</parameter>"


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "boolean"}, "True", True),
        ({"type": ["boolean", "null"]}, "\nNone\n", None),
        ({"type": ["string", "null"]}, "None", "None"),
        ({}, "False", "False"),
    ],
)
def test_words_of_python_are_read_where_no_string_can_stand(schema: Any, text: str, expected: Any) -> None:
    style = next(style for style in STYLES if style.style == "minimax_xml")
    text = f'<parameter name="a">{text}</parameter>'

    assert _read(style, text, {"properties": {"a": schema}}, strict=False) == {"a": expected}


QWEN = next(style for style in STYLES if style.style == "qwen_xml")
PADDED = next(style for style in STYLES if style.style == "qwen_padded_xml")


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "boolean"}, "True", True),
        ({"type": ["boolean", "null"]}, " None", None),
        ({"enum": ["a", False]}, "False", False),
        ({"type": ["string", "null"]}, "None", None),
        ({"type": ["string", "null"]}, "none", "none"),
        ({"type": "string"}, "True", "True"),
        ({"enum": ["True", True]}, "True", True),
        ({"anyOf": [{"const": "True"}, {"type": "integer"}]}, "True", "True"),
        ({"type": "array"}, "[true]", [True]),
    ],
)
@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize("strict", [True, False])
def test_words_of_python_count_as_words_of_json_where_templates_print_them(
    schema: Any, text: str, expected: Any, pieces: int, strict: bool
) -> None:
    root = {"properties": {"a": schema}}

    assert _read(PADDED, f"<parameter=a>\n{text}\n</parameter>", root, strict=strict, pieces=pieces) == {"a": expected}


@pytest.mark.parametrize("pieces", [0, 1])
def test_null_of_gemma_is_read_in_either_spelling_and_strings_stay(pieces: int) -> None:
    style = next(style for style in STYLES if style.style == "gemma")
    text = '{a:None,b:[None,null,<|"|>None<|"|>],None:{c: None }}'

    assert _read(style, text, True, pieces=pieces) == {"a": None, "b": [None, None, "None"], "None": {"c": None}}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (STRING, "5", "5"),
        (STRING, " null ", " null "),
        (STRING, "", ""),
        (INTEGER, "5", 5),
        (INTEGER, "\n5\n", 5),
        ({"type": "number"}, "-1.5e3", -1500.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, '[1, "x"]', [1, "x"]),
        ({"type": "object"}, '{"b": {}}', {"b": {}}),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "nullable", "nullable"),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, "5.5", "5.5"),
        ({"anyOf": [STRING, {"type": "integer", "minimum": 10}]}, "5", "5"),
        ({"anyOf": [STRING, {"type": "integer", "minimum": 10}]}, "50", 50),
        ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "object"}]}, "{}", {}),
        ({"enum": ["a", 1, "2", None]}, "1", 1),
        ({"enum": ["a", 1, "2", None]}, "2", "2"),
        ({"enum": ["a", 1, "2", None]}, " a\n", "a"),
        ({"enum": [" a ", "a"]}, " a ", " a "),
        ({"const": "5"}, "5", "5"),
        ({"$ref": "#/$defs/s"}, "5", "5"),
        ({"$ref": "#/$defs/n"}, "5", 5),
        ({"$ref": "#/$defs/none"}, "5", 5),
        ({"allOf": [{}, STRING]}, "5", "5"),
        ({"oneOf": [STRING, {"type": "string", "minLength": 1}]}, "5", "5"),
        ({}, "5", 5),
        ({}, "five", "five"),
        ({}, '"five"', '"five"'),
        ({}, "NaN", "NaN"),
        (True, "[1]", [1]),
        ({"type": ["string", "array"]}, "[1", "[1"),
    ],
)
@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize("strict", [True, False])
def test_text_without_a_label_is_read_by_the_schema(
    schema: Any, text: str, expected: Any, pieces: int, strict: bool
) -> None:
    root = {"properties": {"a": schema}, "$defs": {"s": STRING, "n": INTEGER}}

    assert _read(QWEN, _field(text), root, strict=strict, pieces=pieces) == {"a": expected}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"additionalProperties": STRING}, "5"),
        ({"additionalProperties": INTEGER}, 5),
        ({"patternProperties": {"^a": STRING}, "additionalProperties": INTEGER}, "5"),
        ({"patternProperties": {"^b": STRING, "(": INTEGER}}, 5),
        ({"allOf": [{"properties": {"a": STRING}}]}, "5"),
        ({"anyOf": [{"properties": {"a": STRING}}, {"properties": {"a": {"const": "5"}}}]}, "5"),
        ({"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"a": STRING}}}}, "5"),
        (True, 5),
    ],
)
def test_schema_of_a_key_is_found_wherever_it_stands(schema: Any, expected: Any) -> None:
    assert _read(QWEN, _field("5"), schema) == {"a": expected}


@pytest.mark.parametrize("style", [style for style in STYLES if isinstance(style, Fields)], ids=lambda s: s.style)
@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_closing_mark_in_a_string_of_json_is_text(style: Fields, pieces: int) -> None:
    values = {"l": ['\\"' + style.close, style.close + "]"], "n": 5, "o": {style.close: "}"}}

    assert _read(style, _written(style, values), SCHEMA, pieces=pieces) == values


@pytest.mark.parametrize("pieces", [0, 1, 7])
def test_closing_mark_ends_what_may_be_a_string_even_where_json_would_go_on(pieces: int) -> None:
    text = _field('{"x') + _field("1", "n")
    loose = {"properties": {"a": {"type": ["string", "object"]}}}
    tight = {"properties": {"a": {"anyOf": [{"const": "x"}, {"type": "object"}]}}}

    assert _read(QWEN, text, loose, pieces=pieces) == {"a": '{"x', "n": 1}
    assert _read(QWEN, text, SCHEMA | loose, strict=False, pieces=pieces) == {"a": '{"x', "n": 1}
    assert _read(QWEN, _field('{"x</parameter>": 1}'), tight, pieces=pieces) == {"a": {"x</parameter>": 1}}


def test_value_that_is_not_what_the_schema_says_is_still_json() -> None:
    assert _read(QWEN, _field("five"), {"properties": {"a": INTEGER}}, strict=False) == {"a": "five"}


VALUES: dict[str, Any] = {
    "s": 'Zürich\n"5" \\ {} <a> ]]',
    "n": 5,
    "f": -0.5,
    "t": True,
    "z": None,
    "l": [1, "x", [None, False], {"k": "v"}],
    "o": {"k": {"m": [True]}, "s": "y"},
}
SCHEMA = {
    "properties": {
        "s": STRING,
        "n": INTEGER,
        "f": {"type": "number"},
        "t": {"type": "boolean"},
        "z": {"type": "null"},
        "l": {"type": "array"},
        "o": {"type": "object"},
    }
}


def _written(style: ArgumentStyle, values: dict[str, Any]) -> str:
    return write_arguments(style, json.dumps(values, ensure_ascii=False))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.style)
@pytest.mark.parametrize("pieces", [0, 1, 3])
@pytest.mark.parametrize("strict", [True, False])
def test_all_kinds_of_values_are_read_back(style: ArgumentStyle, pieces: int, strict: bool) -> None:
    text = _written(style, VALUES)

    assert _read(style, text, SCHEMA, strict=strict, pieces=pieces) == VALUES


@pytest.mark.parametrize("style", [style for style in STYLES if not isinstance(style, Json)], ids=lambda s: s.style)
def test_text_of_a_string_is_handed_on_at_once(style: ArgumentStyle) -> None:
    text = _written(style, {"s": "x" * 100})
    start = text.index("x" * 100)
    reader = reader_of(style, ")", SCHEMA, strict=True)
    reader.read(text[:start])

    assert [reader.read("x") for _ in range(100)] == [("x", None)] * 100


def test_json_written_under_a_schema_is_handed_on_at_once() -> None:
    reader = reader_of(PADDED, ")", SCHEMA, strict=True)
    written = [reader.read(character)[0] for character in "<parameter=l>\n [1, 2] \n</parameter>"]

    assert "".join(written) == '{"l": [1, 2]'
    assert written[len("<parameter=l>\n")] == ""
    assert written[len("<parameter=l>\n [1, ")] == " 2"


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "array"}, "['a', \"it's\", None, {'k': True}]", ["a", "it's", None, {"k": True}]),
        ({"type": "object"}, "{'</parameter>': '\\x07\\u200d\\U0001f98a\\n'}", {"</parameter>": "\x07\u200d🦊\n"}),
        ({"type": "array"}, '["a", "it\'s </parameter>", null]', ["a", "it's </parameter>", None]),
        ({"type": "array"}, "[]", []),
        ({"type": ["string", "array"]}, "['a']", ["a"]),
        ({"type": ["string", "array"]}, "['a", "['a"),
        ({"type": "string"}, "['a']", "['a']"),
        ({"type": "array"}, "['a'] x", "['a'] x"),
        ({"type": "array"}, "[f()]", "[f()]"),
        ({"type": "array"}, "[], y=[]", "[], y=[]"),
        ({"type": "array"}, "[], x=[]", "[], x=[]"),
        ({"type": "array"}, "[], []", "[], []"),
        ({"type": "array"}, "[]) []", "[]) []"),
        ({"type": "object"}, "{'a': 1}}", "{'a': 1}}"),
        ({"type": "array"}, "[" * 20_000 + "'" + "]" * 20_000, "[" * 20_000 + "'" + "]" * 20_000),
        ({"type": "array"}, "['", "['"),
    ],
)
@pytest.mark.parametrize("pieces", [0, 1])
def test_arrays_and_objects_as_python_prints_them_are_read(schema: Any, text: str, expected: Any, pieces: int) -> None:
    root = {"properties": {"a": schema}}
    strict = isinstance(expected, list | dict)

    assert _read(QWEN, _field(text), root, strict=strict, pieces=pieces) == {"a": expected}


@pytest.mark.parametrize(
    ("text", "arguments", "content"),
    [
        ("<parameter=city>Par", '{"city": "Par', ""),
        ("<parameter=city>Paris</para", '{"city": "Paris</para', ""),
        ("<parameter=days>1", '{"days": 1', ""),
        ("<parameter=ci", '{"ci', ""),
        ("oops</function>", "{}", "oops</function>"),
        ("<parameter=city>a</parameter>oops", '{"city": "a"}', "oops"),
    ],
)
def test_call_in_fields_that_is_no_call_stays_as_far_as_it_came(text: str, arguments: str, content: str) -> None:
    tool = Tool("f", {"properties": {"city": STRING, "days": INTEGER}})
    parser = OutputParser(get_format("seed_oss"), tools=(tool,), reasoning=False)

    events = events_of(parser, ["<seed:tool_call>\n<function=f>\n" + text])

    expected = [CallBegin(0, "f"), CallArguments(0, arguments)]
    assert events == [*expected, ContentDelta(content)] if content else expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a="x", b=\'y "q" \\\' \\n\'', {"a": "x", "b": 'y "q" \' \n'}),
        ('a="\\u00e9\\ud83e\\udd8a\\x41"', {"a": "é🦊A"}),
        ('a="\\ud83e"', {"a": "\ufffd"}),
        ('a="(),=[]{}#"', {"a": "(),=[]{}#"}),
        ("a=[True, None],b={'k': False}", {"a": [True, None], "b": {"k": False}}),
        ("a=-1.5e3 , b=(1, 2)", {"a": -1500.0, "b": [1, 2]}),
        ("", {}),
    ],
)
@pytest.mark.parametrize("pieces", [0, 1])
def test_pythons_literals_are_read(text: str, expected: Any, pieces: int) -> None:
    style = next(style for style in STYLES if style.style == "pythonic")

    assert _read(style, text, True, pieces=pieces) == expected


_FAMILIES = ("qwen3_coder", "mimo_v2", "glm_4_7", "minimax_m2", "deepseek_v4", "kimi_k3", "gemma_4", "lfm2", "step_3")
_FAMILIES += ("gigachat_3_5", "command_xml", "minimax_m3", "seed_oss")


@pytest.mark.parametrize("name", _FAMILIES)
def test_what_the_grammar_of_a_random_schema_accepts_is_read_as_a_valid_value(name: str) -> None:
    """With unions, references, listed values: a text that can be read in two ways is read in one that is valid."""
    fmt = get_format(name)
    assert fmt.calls is not None
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    read = 0
    for seed in range(100):
        rng = random.Random(f"{name} {seed}")
        schema = draw_schema(seed) | {"type": "object"}
        tool = Tool("f", schema)
        try:
            tag = build_tag(fmt, tools=(tool,), tool_choice="required", reasoning=False)
            assert tag is not None
            grammar = compiler.compile_structural_tag(tag)
        except EngineError:
            continue
        for _ in range(6):
            value = draw_value(rng, 3)
            if not isinstance(value, dict):
                continue
            text = render(ParsedOutput(calls=(Call("f", json.dumps(value, ensure_ascii=False)),)), fmt)
            matcher = Matcher(grammar)
            if not (matcher.accept_bytes(text.encode()) and matcher.can_terminate()):
                continue
            events = events_of(OutputParser(fmt, tools=(tool,), reasoning=False), [text])
            assert isinstance(events[-1], CallEnd)
            arguments = json.loads(fold(events).calls[0].arguments)
            jsonschema.Draft202012Validator(schema).validate(arguments)
            read += 1
    assert read >= 20


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab1 ", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 400), _values)
def test_fits_never_contradicts_the_validator(seed: int, value: Any) -> None:
    schema = draw_schema(seed)

    answer = fits(value, schema, schema)

    assert answer is None or answer == jsonschema.Draft202012Validator(schema).is_valid(value)


M3, COHERE = (next(style for style in STYLES if style.style == name) for name in ("minimax_m3_xml", "cohere_xml"))
DEEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "o": {"type": "object", "properties": {"item": STRING, "n": INTEGER}},
        "l": {"type": "array", "prefixItems": [INTEGER], "items": {"type": "array", "items": {"$ref": "#/$defs/s"}}},
        "u": {"type": ["string", "array"], "items": INTEGER},
        "e": {"enum": ["a", " b", 1]},
        "t": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"x": {"type": "boolean"}}}]},
    },
    "$defs": {"s": STRING},
}
DEEP_VALUES = (
    {"o": {"item": "5", "n": 5}, "l": [1, ["2", " x\n"], []], "u": "[1]", "e": "a", "t": {"x": True}},
    {"o": {}, "l": [], "u": "", "e": 1, "t": None},
    {"u": [1, 2], "t": {}, "l": [7], "e": " b"},
)


@pytest.mark.parametrize("style", [M3, COHERE], ids=lambda style: style.style)
@pytest.mark.parametrize("pieces", [0, 1, 5])
@pytest.mark.parametrize("value", DEEP_VALUES)
def test_values_in_marks_inside_of_marks_are_read_by_the_schema(style: ArgumentStyle, pieces: int, value: Any) -> None:
    text = _written(style, value)

    assert _read(style, text, DEEP, pieces=pieces) == value


def _draw_closed(rng: random.Random, depth: int) -> tuple[dict[str, Any], Any]:
    """A schema that names everything, and a value that satisfies it."""
    kinds = ["text", "count", "switch", "listed", "either", *(["array", "object"] if depth else [])]
    match rng.choice(kinds):
        case "text":
            return {"type": "string"}, rng.choice(["", "5", " a ", "null", "<b>", "[1]", "{}", "ü\n"])
        case "count":
            return {"type": "integer"}, rng.randint(-9, 99)
        case "switch":
            return {"type": ["boolean", "null"]}, rng.choice([True, False, None])
        case "listed":
            return {"enum": ["a", "b c", 7]}, rng.choice(["a", "b c", 7])
        case "either":
            return {"type": ["string", "number"]}, rng.choice(["x", "x 1", 2.5])
        case "array":
            items, one = _draw_closed(rng, depth - 1)
            return {"type": "array", "items": items}, [one] * rng.randint(0, 2)
        case _:
            members = {key: _draw_closed(rng, depth - 1) for key in ("item", "a", "b_c")[: rng.randint(0, 3)]}
            schema = {key: inner for key, (inner, _) in members.items()}
            return {"type": "object", "properties": schema}, {key: value for key, (_, value) in members.items()}


@pytest.mark.parametrize("name", ["minimax_m3", "command_xml"])
def test_what_is_written_in_marks_inside_of_marks_is_accepted_and_read(name: str) -> None:
    fmt = get_format(name)
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    compiler = Compiler(Vocabulary(tokens, special_token_ids=[256], stop_token_ids=[256]))
    for seed in range(150):
        rng = random.Random(seed)
        members = {key: _draw_closed(rng, 3) for key in ("x", "item", "y")}
        closed = {"type": "object", "properties": {key: schema for key, (schema, _) in members.items()}}
        tool = Tool("f", closed)
        values = {key: value for key, (_, value) in members.items()}
        tag = build_tag(fmt, tools=(tool,), tool_choice="required", reasoning=False)
        assert tag is not None
        text = render(ParsedOutput(calls=(Call("f", json.dumps(values)),)), fmt)

        matcher = Matcher(compiler.compile_structural_tag(tag))
        answer = fold(events_of(OutputParser(fmt, tools=(tool,), reasoning=False), [text]))

        assert matcher.accept_bytes(text.encode()), text
        assert matcher.can_terminate()
        assert json.loads(answer.calls[0].arguments) == values, text


def _m3(text: str) -> str:
    """`<x>` and `</x>` stand for the marks."""
    return re.sub("<(?=[/a-z>])", "]<]minimax[>[<", text)


@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a>5</a><b> x </b>", {"a": 5, "b": " x "}),
        ("<a><b>5</b></a>", {"a": {"b": 5}}),
        ("<a><item>x</item><item>2</item></a>", {"a": ["x", 2]}),
        ("<a></a>", {"a": ""}),
        ("\n <a>\n <b>\n <item>1</item> </b>\n</a>\n", {"a": {"b": [1]}}),
        ("<a>1</b>", {"a": 1}),
    ],
)
def test_marks_without_a_schema_are_items_where_they_are_called_so(text: str, expected: Any, pieces: int) -> None:
    assert _read(M3, _m3(text), True, pieces=pieces) == expected


@pytest.mark.parametrize("pieces", [0, 1])
@pytest.mark.parametrize(
    ("text", "arguments", "content"),
    [
        ("<city>Par", '{"city": "Par', ""),
        ("<city>Paris</", '{"city": "Paris"', ""),
        ("<city>Paris<oops>1</oops></city>", '{"city": "Paris"}', "<oops>1</oops></city>"),
        ("<tags><item>1</item>oops</tags>", '{"tags": [1]}', "oops</tags>"),
        ("<tags><item>1", '{"tags": [1', ""),
        ("oops</invoke>", "{}", "oops</invoke>"),
    ],
)
def test_call_in_nested_marks_that_is_no_call_stays_as_far_as_it_came(
    text: str, arguments: str, content: str, pieces: int
) -> None:
    tool = Tool("f", {"properties": {"city": STRING, "tags": {"type": "array"}}})
    parser = OutputParser(get_format("minimax_m3"), tools=(tool,), reasoning=False)
    text = _m3('<tool_call>\n<invoke name="f">' + text)

    answer = fold(events_of(parser, list(text) if pieces else [text]))

    assert answer.calls[0].arguments == arguments
    assert answer.content == _m3(content)


def test_arguments_of_a_tool_that_is_not_strict_are_any_nested_marks() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>", b"]<]minimax[>["]
    tool = Tool("f", {"properties": {"a": INTEGER}}, strict=False)
    tag = build_tag(get_format("minimax_m3"), tools=(tool,), tool_choice="required", reasoning=False)
    assert tag is not None
    for known in (tokens[:257], tokens):
        vocabulary = Vocabulary(known, special_token_ids=range(256, len(known)), stop_token_ids=[256])
        grammar = Compiler(vocabulary).compile_structural_tag(tag)
        for inside, allowed in (
            ("<a>]<]mini]<</a><b><c></c></b>", True),
            ("", True),
            ("<a>x<b>1</b></a>", False),
            ("<a>1", False),
            ("<>1</a>", False),
        ):
            text = _m3(f'<tool_call>\n<invoke name="f">{inside}</invoke>\n</tool_call>')
            ids = tokenised(text.encode(), known)
            matcher = Matcher(grammar)
            assert (matcher.accept_tokens(ids) == len(ids) and matcher.can_terminate()) == allowed, text


@pytest.mark.parametrize(
    ("values", "valid"),
    [
        ({"a": 1, "é ü": "x", "b-2": [1, "y", {"k": "v"}], "o": {"p": {"q": True}}}, True),
        ({"item": "x"}, True),
        ({"a": "x"}, False),
        ({"n": {"limit": 5}}, True),
        ({"n": {"limit": "five"}}, False),
        ({"n": {"x": "y"}}, True),
    ],
)
def test_strict_tool_with_an_open_schema_can_be_called_in_nested_marks(values: dict[str, Any], valid: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"a": INTEGER, "n": {"type": "object", "properties": {"limit": INTEGER}}},
    }
    tool, fmt = Tool("f", schema), get_format("minimax_m3")
    tag = build_tag(fmt, tools=(tool,), tool_choice="required", reasoning=False)
    assert tag is not None
    compiler = Compiler(
        Vocabulary(
            [bytes([byte]) for byte in range(256)] + [b"<the end>"], special_token_ids=[256], stop_token_ids=[256]
        )
    )
    text = render(ParsedOutput(calls=(Call("f", json.dumps(values, ensure_ascii=False)),)), fmt)

    matcher = Matcher(compiler.compile_structural_tag(tag))
    accepted = matcher.accept_bytes(text.encode()) and matcher.can_terminate()
    answer = fold(events_of(OutputParser(fmt, tools=(tool,), reasoning=False), list(text)))

    assert accepted == valid
    assert json.loads(answer.calls[0].arguments) == values


def test_styles_are_those_of_the_formats() -> None:
    assert all(isinstance(style, Fields | Json) or style.style for style in STYLES)
