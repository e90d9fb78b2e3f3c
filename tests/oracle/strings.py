"""All strings of a language up to a length, by fixpoint: a second definition, to check the parser with.

The sets grow from the bottom up, expression by expression, with nothing in
common with parsing: no items, no positions, no productions. Usable only for
tiny alphabets and lengths. Dispatch is defined here by its words: look at every
text, cut it where the first trigger ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from tests.oracle.grammar import (
    ByteRange,
    Bytes,
    Characters,
    Choice,
    Dispatch,
    Expression,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
)

Strings = frozenset[bytes]


def language(grammar: Grammar, most: int, alphabet: bytes) -> Strings:
    """Every string of at most ``most`` bytes of ``alphabet`` that ``grammar`` derives. No special tokens."""
    universe = [bytes(text) for length in range(most + 1) for text in product(alphabet, repeat=length)]
    known: dict[str, Strings] = {name: frozenset() for name in grammar.rules}
    while True:
        grown = {name: _strings(rule, known, universe, most) for name, rule in grammar.rules.items()}
        if grown == known:
            return known[grammar.root]
        known = grown


def _strings(expression: Expression, rules: Mapping[str, Strings], universe: list[bytes], most: int) -> Strings:
    match expression:
        case Literal(value) | Bytes(value):
            return frozenset(text for text in universe if text == value)
        case ByteRange(low, high):
            return frozenset(text for text in universe if len(text) == 1 and low <= text[0] <= high)
        case Characters():
            return frozenset(text for text in universe if _is_character(text, expression))
        case Sequence(parts):
            strings: Strings = frozenset((b"",))
            for part in parts:
                strings = _joined(strings, _strings(part, rules, universe, most), most)
            return strings
        case Choice(options):
            return frozenset().union(*(_strings(option, rules, universe, most) for option in options))
        case Repeat(body, low, high):
            return _repeated(_strings(body, rules, universe, most), low, high, most)
        case Reference(name):
            return rules[name]
        case Dispatch():
            bodies = [(trigger, _strings(body, rules, universe, most)) for trigger, body in expression.triggers]
            return frozenset(text for text in universe if _dispatches(text, expression, bodies))
    raise TypeError(f"not enumerable: {type(expression).__name__}")


def _joined(firsts: Strings, seconds: Strings, most: int) -> Strings:
    return frozenset(first + second for first in firsts for second in seconds if len(first + second) <= most)


def _repeated(body: Strings, low: int, high: int | None, most: int) -> Strings:
    """Copies beyond ``low + most`` add nothing: only empty ones would fit."""
    copies: Strings = frozenset((b"",))
    for _ in range(low):
        copies = _joined(copies, body, most)
    total = copies
    for _ in range(most if high is None else min(high - low, most)):
        copies = _joined(copies, body, most)
        total |= copies
    return total


def _is_character(text: bytes, characters: Characters) -> bool:
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return False
    if len(decoded) != 1:
        return False
    inside = any(low <= ord(decoded) <= high for low, high in characters.ranges)
    return inside != characters.negated


def _dispatches(text: bytes, dispatch: Dispatch, bodies: list[tuple[bytes, Strings]]) -> bool:
    """Cut ``text`` at the first place where a trigger or an excluded string ends."""
    for end in range(1, len(text) + 1):
        if any(text[:end].endswith(exclude) for exclude in dispatch.excludes):
            return False
        fired = [strings for trigger, strings in bodies if text[:end].endswith(trigger)]
        if fired:
            if _goes_on_longer(text, end, dispatch, bodies):
                return True
            return _is_utf8(text[:end]) and any(
                text[end:stop] in strings
                and (_dispatches(text[stop:], dispatch, bodies) if dispatch.loop else stop == len(text))
                for strings in fired
                for stop in range(end, len(text) + 1)
            )
    return _is_utf8(text)


def _goes_on_longer(text: bytes, end: int, dispatch: Dispatch, bodies: list[tuple[bytes, Strings]]) -> bool:
    """Whether a longer trigger is there, which begins with the longest one that ends at ``end``, and its body."""
    begun = max((trigger for trigger, _ in bodies if text[:end].endswith(trigger)), key=len)
    for trigger, strings in bodies:
        after = end - len(begun) + len(trigger)
        if len(trigger) <= len(begun) or not trigger.startswith(begun) or text[end - len(begun) : after] != trigger:
            continue
        if any(text[:at].endswith(each) for at in range(end, after + 1) for each in dispatch.excludes):
            continue
        for stop in range(after, len(text) + 1):
            if text[after:stop] in strings and (
                _dispatches(text[stop:], dispatch, bodies) if dispatch.loop else stop == len(text)
            ):
                return _is_utf8(text[: end - len(begun)])
    return False


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
