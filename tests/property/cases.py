"""One random case: a source that the engine compiles, a vocabulary, and what the oracle says.

A case is named by its kind and seed; ``draw`` gives the same one every time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine_native import Compiler, Grammar, Limits, Matcher, Vocabulary
from tests.oracle import structural_tag
from tests.oracle.ebnf import print_ebnf
from tests.oracle.generate import draw_alphabet, draw_characters, draw_grammar, draw_vocabulary
from tests.oracle.generate_tags import Shapes, draw_node, draw_tag_alphabet
from tests.oracle.grammar import Characters
from tests.oracle.grammar import Grammar as OracleGrammar
from tests.oracle.lark import print_lark, terminals, with_ignored
from tests.oracle.mask import MaskOracle
from tests.oracle.vocabulary import TokenList

Kind = Literal["ebnf", "lark", "tag"]
ALL_SHAPES = Shapes()
Row = NDArray[np.int32]


@dataclass(frozen=True)
class Case:
    """``described`` is the oracle's data; the engine gets it as text."""

    kind: Kind
    seed: int
    described: OracleGrammar | structural_tag.Node
    tokens: TokenList
    ignored: Characters | None = None
    """Of a Lark grammar: characters that may follow every lexeme."""

    def oracle(self) -> MaskOracle:
        """The slow reference."""
        if isinstance(self.described, OracleGrammar):
            if self.ignored is None:
                return MaskOracle(self.described, self.tokens)
            return MaskOracle(with_ignored(self.described, self.ignored, self._terminals()), self.tokens)
        return MaskOracle(structural_tag.to_grammar(self.described), self.tokens)

    def source(self) -> str:
        """EBNF or Lark text, or the JSON text of a structural tag."""
        if isinstance(self.described, OracleGrammar):
            style = random.Random(self.seed)
            if self.kind == "lark":
                return print_lark(self.described, style, self._terminals(), self.ignored)
            return print_ebnf(self.described, style)
        return json.dumps(structural_tag.to_json(self.described))

    def _terminals(self) -> frozenset[str]:
        assert isinstance(self.described, OracleGrammar)
        return terminals(self.described, random.Random(self.seed))

    def vocabulary(self) -> Vocabulary:
        """The engine's vocabulary."""
        return Vocabulary(
            list(self.tokens.tokens),
            special_token_ids=sorted(self.tokens.special),
            stop_token_ids=sorted(self.tokens.stop),
        )

    def compiler(self, *, cache_bytes: int = 256 << 20) -> Compiler:
        """A cold compiler. Random grammars may be as ambiguous as they like."""
        return Compiler(self.vocabulary(), cache_bytes=cache_bytes, limits=Limits(match_items=10**12))

    def compile(self, compiler: Compiler) -> Grammar:
        """EngineError when the engine refuses the source."""
        if self.kind == "ebnf":
            return compiler.compile_ebnf(self.source(), root="root")
        if self.kind == "lark":
            return compiler.compile_lark(self.source())
        return compiler.compile_structural_tag(self.source())

    def reproduction(self) -> str:
        """A program that builds this case."""
        call = {"ebnf": "compile_ebnf", "lark": "compile_lark", "tag": "compile_structural_tag"}[self.kind]
        return (
            f"# case kind={self.kind} seed={self.seed}\n"
            f"vocabulary = Vocabulary({list(self.tokens.tokens)!r}, "
            f"special_token_ids={sorted(self.tokens.special)}, stop_token_ids={sorted(self.tokens.stop)})\n"
            f"matcher = Matcher(Compiler(vocabulary).{call}({self.source()!r}))"
        )

    def with_tokens(self, kept: Sequence[int]) -> Case:
        """The case with only the tokens ``kept``, renumbered in that order."""
        number = {token: index for index, token in enumerate(kept)}
        tokens = TokenList(
            tuple(self.tokens.tokens[token] for token in kept),
            frozenset(number[token] for token in kept if token in self.tokens.special),
            frozenset(number[token] for token in kept if token in self.tokens.stop),
        )
        described = self.described
        if not isinstance(described, OracleGrammar):
            described = structural_tag.with_token_ids(described, number.get)
        return replace(self, described=described, tokens=tokens)


def over(case: Case, tokens: TokenList) -> Case:
    """The case over another vocabulary. Tokens that it names as units have bytes; empty ones match nothing."""
    described = case.described
    usable = [token for token in range(tokens.size) if tokens.tokens[token]] or [0]
    if not isinstance(described, OracleGrammar):
        described = structural_tag.with_token_ids(described, lambda token: usable[token % len(usable)])
    return replace(case, described=described, tokens=tokens)


def with_single_bytes(case: Case) -> Case:
    """The case with every single byte among its ordinary tokens."""
    old = case.tokens
    ordinary = {old.tokens[token] for token in range(old.size) if token not in old.special | old.stop}
    missing = [each for each in (bytes((byte,)) for byte in range(256)) if each not in ordinary]
    return replace(case, tokens=TokenList((*old.tokens, *missing), old.special, old.stop))


def draw(kind: Kind, seed: int, shapes: Shapes = ALL_SHAPES) -> Case:
    """The case of this kind and seed."""
    rng = random.Random(f"{kind} {seed}")
    if kind != "tag":
        alphabet = draw_alphabet(rng)
        grammar = draw_grammar(rng, alphabet)
        ignored = draw_characters(rng, alphabet) if kind == "lark" and rng.random() < 0.5 else None
        return Case(kind, seed, grammar, draw_vocabulary(rng, alphabet, grammar), ignored)
    alphabet = draw_tag_alphabet(rng)
    node = draw_node(rng, alphabet, shapes)
    tokens = draw_vocabulary(rng, alphabet, structural_tag.to_grammar(node))
    return over(Case(kind, seed, node, tokens), tokens)


def fill(matcher: Matcher, size: int) -> tuple[frozenset[int], bool]:
    """The allowed tokens of ``matcher`` and what ``fill_bitmask`` returned."""
    row = np.full((size + 31) // 32, 0x5A5A5A5A, dtype=np.int32)
    restricted = matcher.fill_bitmask(row)
    return tokens_of(row), restricted


def tokens_of(row: Row) -> frozenset[int]:
    """The set bits of a mask row, past the vocabulary too."""
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return frozenset(int(token) for token in np.flatnonzero(bits))


def random_walk(case: Case, matcher: Matcher, rng: random.Random, most: int) -> list[int]:
    """Let ``matcher`` accept up to ``most`` random allowed tokens that do not stop it; returns them."""
    walked: list[int] = []
    for _ in range(most):
        content = sorted(fill(matcher, case.tokens.size)[0] - case.tokens.stop)
        if not content:
            break
        token = rng.choice(content)
        assert matcher.accept_token(token)
        walked.append(token)
    return walked
