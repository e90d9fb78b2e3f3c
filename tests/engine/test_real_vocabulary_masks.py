"""On a real vocabulary each mask bit equals acceptance, token by token.

Masks take shortcuts (rows of the token index, shared local parts); accepting one token takes none of them.
"""

from __future__ import annotations

import functools
import pathlib
import random
from typing import Any

import numpy as np
import pytest

from engine_native import Compiler, Grammar, Matcher, Vocabulary

_TOKENIZERS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "tokenizers"

_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [
            {
                "begin": f'<tool_call>{{"name": "{name}", "arguments": ',
                "content": {
                    "type": "json_schema",
                    "json_schema": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}, "n": {"type": "integer", "minimum": 3}},
                        "required": ["city"],
                    },
                },
                "end": "}</tool_call>",
            }
            for name in ("get_weather", "get_time")
        ],
        "excludes": ["</s", "é"],
    },
}


def _text(**limits: int) -> dict[str, Any]:
    content = {"type": "any_text", **limits}
    return {"format": {"type": "tag", "begin": "<think>", "content": content, "end": "</think>"}}


def _styled(style: str) -> dict[str, Any]:
    properties = {"a": {"type": "string", "minLength": 4, "maxLength": 60}, "b": {"type": "string"}}
    return {
        "format": {"type": "json_schema", "style": style, "json_schema": {"type": "object", "properties": properties}}
    }


def _grammars(compiler: Compiler) -> dict[str, Grammar]:
    schema = compiler.compile_json_schema
    return {
        "string": schema({"type": "string"}),
        "short string": schema({"type": "string", "maxLength": 5}),
        "long string": schema({"type": "string", "minLength": 40, "maxLength": 4000}),
        "open object": schema({"type": "object", "properties": {"name": {"type": "string"}, "näme": True}}),
        "string of few": schema({"type": "string", "minLength": 1, "maxLength": 3}),
        "search": schema({"type": "string", "pattern": "[0-9a-f]{3}-x"}),
        "search not at the start": schema({"type": "string", "pattern": "a", "not": {"pattern": "^a"}}),
        "searched keys": schema(
            {"type": "object", "patternProperties": {"^x-": {"type": "null"}, "e": {"type": "string"}}}
        ),
        "eager keys": schema(
            {"type": "object", "properties": {key: {"type": "string"} for key in ("e", "ee", "Q", "7up")}}
        ),
        "any order": schema(
            {
                "type": "object",
                "properties": {k: {"type": "null"} for k in ("a", "ab", "b", "name", "e")},
                "required": ["b"],
            },
            property_order="any",
        ),
        "nested": schema({"type": "array", "items": {"type": ["string", "null"], "minLength": 2}, "maxItems": 3}),
        "tag": compiler.compile_structural_tag(_TAG),
        "text until": compiler.compile_structural_tag(
            {
                "format": {
                    "type": "tag",
                    "begin": "<think>",
                    "content": {"type": "any_text"},
                    "end": ["</think>", "\n\n\n"],
                }
            }
        ),
        "limited text": compiler.compile_structural_tag(_text(max_chars=9)),
        "text of a few tokens": compiler.compile_structural_tag(_text(max_tokens=3)),
        "text limited twice": compiler.compile_structural_tag(_text(max_tokens=2, max_chars=300)),
        "raw strings": compiler.compile_structural_tag(_styled("qwen_xml")),
        "labelled raw strings": compiler.compile_structural_tag(_styled("deepseek_xml")),
        "raw strings of a style with bare keys": compiler.compile_structural_tag(_styled("gemma")),
        "class": compiler.compile_regex(r"[^<>]{3,60}|\w+"),
        "unicode": compiler.compile_regex(r"[^\u0000-\u007f]{2,9}x"),
        "recursive words": compiler.compile_ebnf('root ::= word (" " root)?\nword ::= [^ "] word | [^ "]'),
    }


@functools.cache
def _compiler(name: str) -> Compiler:
    path = _TOKENIZERS / name / "tokenizer.json"
    if not path.exists():
        pytest.skip("the shared tokenizers are not here")
    return Compiler(Vocabulary.from_tokenizer_json(path))


@pytest.mark.parametrize("tokenizer", ["qwen3", "llama2"])
def test_mask_on_real_vocabulary_equals_acceptance_of_every_token(tokenizer: str) -> None:
    compiler = _compiler(tokenizer)
    size = compiler.vocabulary.vocab_size
    row = np.zeros((size + 31) // 32, dtype=np.int32)
    rng = random.Random(5)
    for name, grammar in _grammars(compiler).items():
        matcher = Matcher(grammar)
        for _ in range(5):
            matcher.fill_bitmask(row)
            mask = np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)
            truth = np.fromiter((matcher.validate_tokens((t,)) for t in range(size)), dtype=bool, count=size)
            wrong = np.nonzero(mask != truth)[0]
            assert wrong.size == 0, (
                f"{name}: token {wrong[0]} is {'allowed' if mask[wrong[0]] else 'forbidden'} by the mask"
            )
            allowed = np.nonzero(mask)[0]
            if allowed.size == 0:  # the text is complete, and there are no stop tokens here
                assert matcher.can_terminate()
                break
            assert matcher.accept_token(int(rng.choice(allowed)))


_UNIQUE = {
    "strings": (
        {"type": "string"},
        ('["', '["the", "a', '["the", "', '["the","is","th', '["\\n", "a", "', '["a",', '["a"'),
    ),
    "short strings": ({"type": "string", "minLength": 1, "maxLength": 3}, ('["a", "ab", "a', '["a","')),
    "words": ({"type": "string", "pattern": "^(any|the|[0-9]+)$"}, ('["', '["any", "', '["the", "any', '["12", "1')),
    "numbers": ({"type": "number"}, ("[", "[1, 12, ", "[1,12,1", "[10, 1", "[0.5,0")),
    "listed": (
        {"enum": [f"{a}{b}" for a in ("re", "un", "") for b in range(9)]},
        ('["', '["re1", "', '["un1","re2","u'),
    ),
    "few": (
        {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False},
        ("[{}, ", '[{"a":'),
    ),
    "objects": (
        {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
        ('[{"name": "a"}, {"name": "a"', '[{"name": "a", "n": 1}, {"name": "a', '[{"name": "a"},{}', "[{},{"),
    ),
    "anything": (True, ("[", '[{"a": 1}, [], "a", ', '[[], [1], ["a"', '[{"a": [1]}, {"a": [1]', "[true, ")),
    "arrays": (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ('[["a"], ["a"', '[["a"],["a","', "[[]"),
    ),
}
"""Items, and beginnings of arrays of them."""


@pytest.mark.parametrize("tokenizer", ["qwen3", "llama2"])
@pytest.mark.parametrize("items", _UNIQUE)
def test_mask_among_unique_items_on_real_vocabulary_equals_acceptance_of_every_token(
    tokenizer: str, items: str
) -> None:
    compiler = _compiler(tokenizer)
    size = compiler.vocabulary.vocab_size
    row = np.zeros((size + 31) // 32, dtype=np.int32)
    schema, beginnings = _UNIQUE[items]
    grammar = compiler.compile_json_schema({"type": "array", "items": schema, "uniqueItems": True})
    for beginning in beginnings:
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(beginning.encode())

        matcher.fill_bitmask(row)

        mask = np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)
        truth = np.fromiter((matcher.validate_tokens((t,)) for t in range(size)), dtype=bool, count=size)
        assert np.nonzero(mask != truth)[0].tolist() == [], beginning


_PROGRAMS = {
    "statements": (
        r"""
start: statement+
statement: NAME "=" expression ";" | "return" expression? ";" | "if" "(" expression ")" statement | NAME type ";"
expression: expression OP expression | NAME | NUMBER | STRING | "new" NAME | NAME "(" expression ("," expression)* ")"
type: NAME | "int" | "interface"
OP: /[-+*<>]|instanceof/
NAME: /[A-Za-z_][A-Za-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"|'([^'])+'|''/
COMMENT: /\/\/[^\n]*/ | /\/\*(.|\n)*?\*\//
%ignore /[ \t\n]+/
%ignore COMMENT
""",
        (
            "",
            "re",
            "x =",
            "x = a",
            "x = a +",
            "x = new",
            "x = f(a",
            'x = "a',
            "x = 'a",
            "x = 1",
            "if (",
            "x // a",
            "x /* a",
            "x in",
        ),
    ),
    "words of several alphabets": (
        r"""
start: (WORD | SHOUT | WORD "." CODE)+
WORD: /[a-zé]+|[^\x00-\x7f]+/
SHOUT: /[A-Z][A-Za-z]*!/
CODE: /[A-Z]{2}[a-z0-9]*/
%ignore " "
""",
        ("", "a", "é", "A", "Ab", "a.", "a.A", "a.AB", "a "),
    ),
}
"""Lark grammars in which many tokens can be read in several ways, and beginnings of their texts."""


@pytest.mark.parametrize("tokenizer", ["qwen3", "llama2"])
@pytest.mark.parametrize("grammar", _PROGRAMS)
def test_mask_of_ambiguous_grammar_on_real_vocabulary_equals_acceptance_of_every_token(
    tokenizer: str, grammar: str
) -> None:
    compiler = _compiler(tokenizer)
    size = compiler.vocabulary.vocab_size
    row = np.zeros((size + 31) // 32, dtype=np.int32)
    text, beginnings = _PROGRAMS[grammar]
    compiled = compiler.compile_lark(text)
    for beginning in beginnings:
        matcher = Matcher(compiled)
        assert matcher.accept_bytes(beginning.encode())

        matcher.fill_bitmask(row)

        mask = np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)
        truth = np.fromiter((matcher.validate_tokens((t,)) for t in range(size)), dtype=bool, count=size)
        assert np.nonzero(mask != truth)[0].tolist() == [], beginning
