"""What the printers write, character by character."""

from __future__ import annotations

import json

import pytest

from tests.oracle.ebnf import print_ebnf
from tests.oracle.grammar import (
    Characters,
    Choice,
    Dispatch,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from tests.oracle.lark import print_lark, with_ignored
from tests.oracle.parser import Parser
from tests.oracle.productions import lower
from tests.oracle.regex import print_regex
from tests.oracle.structural_tag import (
    AnyText,
    ConstString,
    Copies,
    EnumSchema,
    Node,
    OneOf,
    Regex,
    SequenceOf,
    Tag,
    TriggeredTags,
    to_grammar,
    to_json,
)


def test_print_ebnf_for_every_construct_writes_the_dialect() -> None:
    grammar = Grammar(
        {
            "root": Choice((Sequence((Reference("a-b"), Literal(b'x"\\\n\x00'))), Sequence(()))),
            "a-b": Sequence((Characters(((0x61, 0x63), (0x5D, 0x5D)), True), Repeat(Literal(b"y"), 0, None))),
            "c": Repeat(Choice((Literal(b"a"), Repeat(Literal("é".encode()), 2, 2))), 1, 3),
        }
    )

    assert print_ebnf(grammar) == (
        'root ::= a-b "x\\"\\\\\\n\\x00" | ""\na-b ::= [^a-c\\x5d] ("y"*)\nc ::= ("a" | "é"{2}){1,3}\n'
    )


def test_print_ebnf_for_dispatch_raises() -> None:
    with pytest.raises(TypeError, match="Dispatch"):
        print_ebnf(Grammar({"root": Dispatch()}))


def test_print_lark_for_every_construct_writes_the_dialect() -> None:
    grammar = Grammar(
        {
            "root": Choice((Sequence((Reference("a_b"), Literal(b'x"\\\n\x00'))), Sequence(()))),
            "a_b": Repeat(Characters(((0x61, 0x63), (0x5D, 0x5D)), True), 0, None),
            "c": Repeat(Choice((Literal(b"a"), Repeat(Literal("é".encode()), 2, 2))), 1, 3),
        }
    )

    assert print_lark(grammar, upper=frozenset({"a_b"}), ignored=Characters(((0x20, 0x20),))) == (
        '%ignore /[ ]/\nstart: A-B-X "x\\"\\\\\\x0a\\x00" | \nA-B-X: /[^a-c\\]]/*\nc-x: ("a" | "é"{2}){1,3}\n'
    )


def test_with_ignored_puts_it_after_each_lexeme() -> None:
    grammar = Grammar({"root": Sequence((Reference("t"), Literal(b"b"), Literal(b""))), "t": Literal(b"xy")})
    parser = Parser(lower(with_ignored(grammar, Characters(((0x20, 0x20),)), frozenset({"t"})), {}))

    assert [text for text in ("xyb", "xy  b ", "xyb ") if not parser.accepts(text.encode())] == []
    assert [text for text in (" xyb", "x yb") if parser.accepts(text.encode())] == []


def test_print_regex_for_nested_choice_groups_it() -> None:
    expression = Sequence((Choice((Literal(b"a."), Literal(b"b"))), Repeat(Characters(((0x5D, 0x5D),)), 2, None)))

    assert print_regex(expression) == r"(?:a\.|b)(?:[\]]{2,})"


def test_to_json_for_every_shape_writes_the_documented_fields() -> None:
    tag = Tag("<a>", SequenceOf((AnyText(("x",)), OneOf((ConstString("c"), EnumSchema(("d",)))))), ("</a>",))
    node = TriggeredTags(("<",), (tag,), ("no",), at_least_one=True, stop_after_first=True)

    assert to_json(node) == json.loads(
        """{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "excludes": ["no"],
        "at_least_one": true, "stop_after_first": true, "tags": [{"type": "tag", "begin": "<a>", "end": "</a>",
        "content": {"type": "sequence", "elements": [{"type": "any_text", "excludes": ["x"]}, {"type": "or",
        "elements": [{"type": "const_string", "value": "c"},
        {"type": "json_schema", "json_schema": {"enum": ["d"]}}]}]}}]}}"""
    )
    assert [to_json(Copies(ConstString("c"), low, high))["format"] for low, high in ((0, 1), (0, None), (2, None))] == [
        {"type": "optional", "content": {"type": "const_string", "value": "c"}},
        {"type": "star", "content": {"type": "const_string", "value": "c"}},
        {"type": "repeat", "min": 2, "max": -1, "content": {"type": "const_string", "value": "c"}},
    ]


_CALL = Tag("<f>", Regex(Repeat(Characters(((0x30, 0x39),)), 1, None)), ("</f>",))


@pytest.mark.parametrize(
    ("node", "accepted", "refused"),
    [
        (Tag("[", AnyText(), ("]",)), ("[]", "[x[]"), ("[]]", "[", "]")),
        (Tag("[", AnyText(), ("]", "!")), ("[x]", "[x!"), ("[x!]", "[]!")),
        (Tag("[", OneOf((AnyText(), Tag("(", AnyText(), (")",)))), ("]",)), ("[(]", "[(])]"), ("[])]",)),
        (TriggeredTags(("<f",), (_CALL,)), ("", "x", "x<f>1</f>y<f>2</f>", "<"), ("<f", "<f>", "<fx")),
        (TriggeredTags(("<f",), (_CALL,), at_least_one=True), ("<f>1</f>", "<f>1</f>x<f>2</f>"), ("", "x<f>1</f>")),
        (TriggeredTags(("<f",), (_CALL,), stop_after_first=True), ("x", "x<f>1</f>"), ("<f>1</f>x",)),
        (
            TriggeredTags(("<f",), (_CALL,), at_least_one=True, stop_after_first=True),
            ("<f>1</f>",),
            ("", "<f>1</f>x", "<f>1</f><f>1</f>"),
        ),
        (TriggeredTags(("<f",), (_CALL,), excludes=("no",)), ("n<f>1</f>o",), ("no", "xno<f>1</f>")),
        (Tag("{", TriggeredTags(("<f",), (_CALL,)), ("}",)), ("{x}", "{<f>1</f>}"), ("{}}", "{<f>1}", "{x}<f>1</f>")),
        (Copies(ConstString("ab"), 1, 2), ("ab", "abab"), ("", "ababab")),
        (EnumSchema(("a", "b")), ('"a"',), ("a", '"c"')),
    ],
)
def test_to_grammar_for_tag_describes_its_texts(
    node: Node, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    parser = Parser(lower(to_grammar(node), {}))

    assert [text for text in accepted if not parser.accepts(text.encode())] == []
    assert [text for text in refused if parser.accepts(text.encode())] == []
