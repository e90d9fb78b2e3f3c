"""Random texts out of the masks of a grammar, and what a family's tokenizer may have as special tokens."""

from __future__ import annotations

import array
import random
import re
from collections.abc import Sequence

from engine_native import Grammar, Matcher, Vocabulary
from structural_tags.choice import call_openings
from structural_tags.formats import ModelFormat
from structural_tags.formats.arguments import ArgumentStyle, Braces, Fields, Nested
from structural_tags.tools import Tool

END = 256
_MARK = re.compile(r"<[|｜][^<>]*[|｜]>|</?[a-z:_]+>|<[a-z]+\|>|<\|[a-z]+>|\[/?[A-Z_]+\]|\]<\]minimax\[>\[")
_CLOSING = frozenset(b'"}])>\n')
_PRINTABLE = frozenset(range(0x20, 0x7F))


def marks(fmt: ModelFormat) -> list[str]:
    """The marks in the format's texts, each of which a tokenizer may have as one token."""
    return sorted({mark for text in texts(fmt) for mark in _MARK.findall(text)})


def texts(fmt: ModelFormat) -> list[str]:
    """All fixed texts of the format."""
    found = [fmt.close]
    if fmt.reasoning is not None:
        found += [fmt.reasoning.begin, fmt.reasoning.end, fmt.reasoning.after]
    for marked in (fmt.answer, fmt.preamble):
        found += [marked.begin, marked.end] if marked is not None else []
    if fmt.calls is not None:
        found += [fmt.calls.begin, fmt.calls.end]
        found += [part for syntax in fmt.calls.syntaxes for part in syntax.parts if isinstance(part, str)]
    return [text for text in found if text]


def vocabulary(fmt: ModelFormat, *, special: bool) -> tuple[Vocabulary, list[bytes]]:
    """Single bytes, an end token, and the format's marks as special tokens."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"<the end>"]
    tokens += [mark.encode() for mark in marks(fmt)] if special else []
    return Vocabulary(tokens, special_token_ids=range(END, len(tokens)), stop_token_ids=[END]), tokens


def phrases(fmt: ModelFormat, tools: Sequence[Tool]) -> list[str]:
    """What random bytes would never spell."""
    found = [*call_openings(fmt, tools), *(text for text in texts(fmt) if len(text) > 1)]
    if fmt.calls is not None and fmt.calls.is_section:
        found += [fmt.calls.end, fmt.calls.separator]
    if fmt.reasoning is not None:
        found += [fmt.reasoning.end + fmt.reasoning.after] * 5
    for syntax in fmt.calls.syntaxes if fmt.calls is not None else ():
        found += _ends_of(syntax.arguments)
    return [phrase for phrase in found if phrase]


def _ends_of(style: ArgumentStyle) -> list[str]:
    """What ends a value; several times, so that values end often."""
    match style:
        case Fields():
            return [style.close] * 5
        case Nested():
            return [style.close] * 5
        case Braces():
            return [style.quote] * 5
        case _:
            return []


def tokenised(text: bytes, tokens: Sequence[bytes]) -> list[int]:
    """Special tokens first, then bytes; none of them is the end token."""
    ids, at = [], 0
    special = sorted(range(END + 1, len(tokens)), key=lambda token: -len(tokens[token]))
    while at < len(text):
        found = next((token for token in special if text.startswith(tokens[token], at)), text[at])
        ids.append(found)
        at += len(tokens[found])
    return ids


class Sampler:
    """Draws texts that a grammar allows; leans towards ending them."""

    def __init__(self, grammar: Grammar, tokens: Sequence[bytes], likely: Sequence[str], dice: random.Random) -> None:
        self._matcher = Matcher(grammar)
        self._tokens = tokens
        self._likely = [tokenised(phrase.encode(), tokens) for phrase in likely]
        self._dice = dice
        self._row = array.array("i", bytes(4 * ((len(tokens) + 31) // 32)))
        self._spelling: list[int] = []
        self._text = b""

    def draw(self, limit: int) -> str | None:
        """A whole text; None if it has not ended after `limit` tokens."""
        for _ in range(limit):
            token = self._pick(self._allowed())
            assert self._matcher.accept_token(token), (self._text, token)
            if token == END:
                return self._text.decode(errors="strict")
            self._text += self._tokens[token]
        return None

    def _allowed(self) -> list[int]:
        if not self._matcher.fill_bitmask(self._row):
            return list(range(len(self._tokens)))
        words = [word & 0xFFFFFFFF for word in self._row]
        allowed = [token for token in range(len(self._tokens)) if words[token // 32] >> (token % 32) & 1]
        assert allowed, self._text
        return allowed

    def _pick(self, allowed: list[int]) -> int:
        if self._spelling:
            return self._spelling.pop(0)
        dice = self._dice.random()
        if END in allowed and dice < 0.3:
            return END
        if dice < 0.6 and self._likely:
            self._spell(self._dice.choice(self._likely))
            if self._spelling:
                return self._spelling.pop(0)
        special = [token for token in allowed if token > END]
        if special and self._dice.random() < 0.4:
            return self._dice.choice(special)
        closing = [token for token in allowed if token in _CLOSING]
        if closing and self._dice.random() < 0.5:
            return self._dice.choice(closing)
        plain = [token for token in allowed if token in _PRINTABLE]
        rest = [token for token in allowed if token != END]
        return self._dice.choice((plain if self._dice.random() < 0.9 else rest) or rest or allowed)

    def _spell(self, phrase: list[int]) -> None:
        """Its tokens, if the grammar allows them all."""
        if self._matcher.validate_tokens(phrase) == len(phrase):
            self._spelling = list(phrase)
