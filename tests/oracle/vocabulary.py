"""The vocabularies of the oracle: what a token is made of and how it can match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TokenList:
    """Token ``t`` is ``tokens[t]``.

    A special token never matches through its bytes; a literal that spells its text
    matches it as a unit. A stop token ends the match: where the text is complete, or
    as a unit that completes it. An empty token matches nothing.
    """

    tokens: tuple[bytes, ...]
    special: frozenset[int] = frozenset()
    stop: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """The number of token ids."""
        return len(self.tokens)

    def special_texts(self) -> dict[bytes, frozenset[int]]:
        """Text of special tokens -> the tokens with that text."""
        texts: dict[bytes, frozenset[int]] = {}
        for token in sorted(self.special):
            text = self.tokens[token]
            if text:
                texts[text] = texts.get(text, frozenset()) | {token}
        return texts


def only_bytes(tokens: Sequence[bytes]) -> TokenList:
    """A vocabulary without special and stop tokens."""
    return TokenList(tuple(tokens))
