"""Grammars as plain data.

A grammar is a mapping from rule names to expressions. Its language is a set of
strings over *symbols*: a byte (0..255), or one whole token (``token_symbol``).
Token symbols exist because some tokens never match through their bytes.

This module says what the expressions mean; ``productions`` turns them into
plain context-free productions, and ``parser`` recognises those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

TOKEN_BASE = 256
"""Symbol number of token 0 as a unit; below it are the bytes."""

BOUNDARY = (1 << 32) - 1
"""Symbol that stands after every token of a text, where a grammar counts tokens."""

MAX_CODE_POINT = 0x10FFFF


def token_symbol(token: int) -> int:
    """The symbol that stands for token ``token`` taken as one unit."""
    return TOKEN_BASE + token


@dataclass(frozen=True)
class Literal:
    """Exactly these bytes, but a special token's text in them is that token as one unit."""

    value: bytes


@dataclass(frozen=True)
class Bytes:
    """Exactly these bytes; no special token can stand for any of them."""

    value: bytes


@dataclass(frozen=True)
class Characters:
    """One code point of ``ranges`` (inclusive), or of their complement, as UTF-8.

    Surrogates (U+D800..U+DFFF) have no UTF-8 form and are never matched.
    """

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


@dataclass(frozen=True)
class ByteRange:
    """One byte ``low..high`` (inclusive)."""

    low: int
    high: int


@dataclass(frozen=True)
class Sequence:
    """The parts one after the other; no parts is the empty string."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """Any one of the options; no options matches nothing at all."""

    options: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeat:
    """``low`` to ``high`` copies of ``body``; ``high=None`` is unbounded."""

    body: Expression
    low: int
    high: int | None


@dataclass(frozen=True)
class Reference:
    """The language of another rule."""

    name: str


@dataclass(frozen=True)
class Dispatch:
    """Free text that watches for triggers.

    Free text is valid UTF-8 in which no trigger and no excluded string occurs.
    When a trigger completes, one of the expressions paired with it must follow.
    After that, free text starts anew (``loop``) or the match ends. An excluded
    string that completes together with a trigger wins: that text is forbidden.
    Where the longest trigger that has completed begins another one, that may also
    be gone on with, to its end. Free text may be empty and may end after any whole code point.
    No triggers: plain text with exclusions; then it may also be limited to
    ``most_chars`` code points and to the bytes of ``most_tokens`` tokens: a token may leave a code point open only if
    as many tokens are left as bytes are due.
    """

    triggers: tuple[tuple[bytes, Expression], ...] = ()
    excludes: tuple[bytes, ...] = ()
    loop: bool = True
    most_chars: int | None = None
    most_tokens: int | None = None


@dataclass(frozen=True)
class TokenEdge:
    """One token of ``tokens``, whatever its bytes, but no special token whose text is one of ``unless``."""

    tokens: frozenset[int]
    unless: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Marked:
    """``body``, whose span of text has a name; the span begins ``lead`` bytes before the body."""

    name: str
    body: Expression
    lead: int = 0


Expression: TypeAlias = (
    Literal | Bytes | Characters | ByteRange | Sequence | Choice | Repeat | Reference | Dispatch | TokenEdge | Marked
)


@dataclass(frozen=True)
class Grammar:
    """Rules by name; ``root`` names the start rule. Every reference must resolve."""

    rules: Mapping[str, Expression]
    root: str = "root"
