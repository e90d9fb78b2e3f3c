"""Masks where an item takes runs of characters, whole or of so many: each bit is what accept_token takes.

The vocabulary has what covers and regions distinguish: characters beyond ASCII that patterns leave out and those that
they do not, tokens that end within one, tokens longer than regions hold, and enough others for a walk to look for runs.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from engine_native import Compiler, Grammar, Matcher, Vocabulary

_LEFT_OUT = "\x80\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_KEPT = "¡éÿߤࠀᙿ\u1681\u200b\u2027\u202a\u2030\u205e\u2060\u2fff\u3001あ中\ud7ff\ue000\ufefe\uff00😀\U0010ffff"


@cache
def _compiler() -> Compiler:
    chance = random.Random(5)
    letters = "etaoinshrdlucmfwypvbgkjqxzETAOINS0123456789-_./:"
    tokens = [bytes((byte,)) for byte in range(256)]
    while len(tokens) < 5000:
        text = "".join(chance.choices(letters, k=chance.randrange(2, 9)))
        kind = chance.randrange(10)
        if kind == 0:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(_LEFT_OUT + _KEPT) + text[at:]
        elif kind == 1:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(['"', '",', "\\", "\\n", "\\u00", "\n", " ", ' "', "@", "\t"]) + text[at:]
        elif kind < 4:
            text = (
                text[: chance.randrange(1, 4)]
                + chance.choice([",", ")", "!", "(", ">", "-", ",(", "!<", "><", "),", " "])
                + text[4:]
            )
        elif kind == 4:
            text = "".join(chance.choices("abcdefghijklm", k=chance.randrange(2, 14)))
        data = text.encode()
        tokens.append(b" " + data if kind > 6 else data)
    for one in _LEFT_OUT + _KEPT:
        data = one.encode()
        tokens += [data[:2] + b"a", data, b"ab" + data[:1], data[:2], data * 3, data[-1:] + b"x", b" " + data]
    tokens += [
        b"a" * 33,
        b"a" * 34,
        b" " * 40,
        b"-" * 64,
        b"a" * 31 + b'"',
        b"a" * 40 + b'",',
        "é".encode() * 20,
        b" " + b"b" * 31,
    ]
    unique = list(dict.fromkeys(tokens))
    return Compiler(Vocabulary([*unique, b"</s>"], special_token_ids=[len(unique)], stop_token_ids=[len(unique)]))


def _string(pattern: str, **limits: int) -> dict[str, object]:
    return {"type": "string", "pattern": pattern, **limits}


def _keys(n: int) -> dict[str, object]:
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {f"{c}key{i}": {"const": i}},
                "required": [f"{c}key{i}"],
                "patternProperties": {f"^{c}_": {"type": "string"}},
            }
            for i, c in enumerate("abcdefghijklmnop"[:n])
        ]
    }


_SCHEMAS = {
    "hexadecimal digits somewhere": _string("[0-9a-f]+"),
    "any line": _string(r"^.*@.*\..*$"),
    "no white space": _string(r"^\S+$"),
    "no white space or nothing": _string(r"^[^\s]*$", maxLength=20),
    "words": _string(r"^(?:\S+\s+){0,4}\S+$"),
    "words of a limited text": _string(r"^(?:\S+\s+){0,9}\S+$", maxLength=120),
    "few words of a limited text": _string(r"^(?:\S+\s+){0,9}\S+$", maxLength=35, minLength=30),
    "groups of letters": _string("^[0-9A-Za-z]{8}-[0-9A-Za-z]{4}-[0-9A-Za-z]{12}$"),
    "letters of which the last are small": _string("^[a-z][a-zA-Z]{6}([a-z]{6})?[0-9]$"),
    "letters that may go on by few": _string("^[a-zA-Z]{6}(?:[a-m]{6}|[A-M]{6})?[0-9]$"),
    "words before a sign": _string(r"^(?:\S+\s+){0,9}[a-z]{9}!$", maxLength=70),
    "a slug": _string(r"^([\w\/-]|[\w-][\w\/-]*[\w-])$", maxLength=60),
    "a slug near its end": _string(r"^[a-zA-Z0-9_-]{1,12}$"),
    "no controls, no signs": _string(r"^[^<>\x00-\x1f\x7f-\x9f]*$", maxLength=200),
    "an address, then anything": _string("^https://[a-z]+/.*?$"),
    "keys of many objects": _keys(12),
    "keys of some objects": _keys(5),
    "names of some shape": {
        "type": "object",
        "patternProperties": {r"^[a-zA-Z_][\w.:-]+$": {"type": "integer"}},
        "additionalProperties": False,
    },
}

_GRAMMARS = {
    "names that may end anywhere": (
        'root ::= item | root " " item\nitem ::= name | "(" root ")" | "[" name? "]"\n'
        "name ::= [a-zA-Z0-9_é-] name | [a-zA-Z0-9_-]"
    ),
    "words with others in them": (
        "root ::= text\ntext ::= part | part text\n"
        'part ::= [a-zA-Z0-9/.-]+ "!" | other | "<" text ">"\nother ::= [a-zA-Z0-9]+ ("." other)?'
    ),
    "counted words": 'root ::= (word ","){50,200}\nword ::= ([a-zA-Z0-9] [a-zA-Z0-9./-])+ | "(" word ")"',
    "operands": "root ::= sum\nsum ::= value | sum [-+/] value\n"
    'value ::= [a-zA-Z_.]+ | [0-9]+ | "\\"" [^"\\\\\\n]* "\\"" | "-" value',
}


@cache
def _grammar(name: str) -> Grammar:
    if name in _GRAMMARS:
        return _compiler().compile_ebnf(_GRAMMARS[name])
    return _compiler().compile_json_schema(_SCHEMAS[name])


def _allowed(matcher: Matcher) -> set[int]:
    row = np.zeros((matcher.vocab_size + 31) // 32, dtype=np.int32)
    matcher.fill_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))) & set(range(matcher.vocab_size))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*_SCHEMAS, *_GRAMMARS])
def test_mask_along_random_tokens_is_what_is_accepted(name: str, seed: int) -> None:
    chance = random.Random(seed)
    matcher = Matcher(_grammar(name))
    seen = 0
    while not matcher.is_terminated() and seen < 12:
        allowed = _allowed(matcher)
        taken = {token for token in range(matcher.vocab_size) if matcher.validate_tokens([token]) == 1}
        assert allowed == taken, seen
        seen += 1
        if not allowed:
            break
        assert matcher.accept_token(int(chance.choice(sorted(allowed))))
    assert seen > 2
