"""Random grammars written as JSON strings: one is allowed exactly if the text that it means is one of the grammar."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from engine_native import Compiler, EngineError, Grammar, Matcher, Vocabulary
from tests.engine.vocabularies import accepts
from tests.oracle.ebnf import print_ebnf
from tests.oracle.generate import draw_alphabet, draw_grammar
from tests.oracle.lark import print_lark, terminals

SEEDS = range(15)


def _walk(grammar: Grammar, rng: random.Random) -> str:
    """A text that the grammar allows, or the beginning of one."""
    matcher = Matcher(grammar)
    text = b""
    for _ in range(rng.randint(1, 24)):
        following = [byte for byte in range(256) if matcher.fork().accept_bytes(bytes([byte]))]
        if not following:
            break
        byte = rng.choice(following)
        matcher.accept_bytes(bytes([byte]))
        text += bytes([byte])
    return text.decode("utf-8", "ignore")


def _sources(seed: int) -> tuple[str, dict[str, str]]:
    """The characters of a random grammar, and its texts by syntax."""
    rng = random.Random(f"string {seed}")
    alphabet = draw_alphabet(rng)
    grammar = draw_grammar(rng, alphabet)
    lark = print_lark(grammar, random.Random(seed), terminals(grammar, random.Random(seed)))
    return "".join(alphabet.characters), {"ebnf": print_ebnf(grammar, random.Random(seed)), "lark": lark}


@pytest.mark.parametrize("seed", SEEDS)
def test_strings_of_a_random_grammar_mean_its_texts(seed: int) -> None:
    compiler = Compiler(Vocabulary([bytes([byte]) for byte in range(256)]))
    characters, sources = _sources(seed)
    rng = random.Random(seed)
    for syntax, source in sources.items():
        node: dict[str, Any] = {"type": "grammar", "syntax": syntax, "grammar": source}
        try:
            plain = compiler.compile_structural_tag({"type": "structural_tag", "format": node})
        except EngineError as error:
            if "nothing can match" not in error.message:
                raise
            continue
        string = compiler.compile_structural_tag(
            {"type": "structural_tag", "format": {**node, "written": "json_string"}}
        )
        texts = {"".join(word) for n in range(4) for word in itertools.product(characters, repeat=n)}
        texts |= {_walk(plain, rng) for _ in range(20)}
        for text in texts:
            wanted = accepts(Matcher(plain), text)
            assert accepts(Matcher(string), json.dumps(text, ensure_ascii=False)) == wanted, (syntax, source, text)
