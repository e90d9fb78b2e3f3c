"""The oracle's grammars as EBNF text, in the dialect that the engine reads.

``print_ebnf`` needs grammars that the dialect can say: no dispatch, no token
edges, no raw bytes. With a random generator it varies what has more than one
spelling (escapes, ``?`` or ``{0,1}``, comments, blanks), without one it is plain.
"""

from __future__ import annotations

import random

from tests.oracle.grammar import (
    Characters,
    Choice,
    Expression,
    Grammar,
    Literal,
    Reference,
    Repeat,
    Sequence,
)

_NEVER = random.Random(0)


def print_ebnf(grammar: Grammar, style: random.Random | None = None) -> str:
    """``grammar`` as text. TypeError for an expression that EBNF cannot say."""
    lines: list[str] = []
    for name, expression in grammar.rules.items():
        if _may(style):
            lines.append("# " + _may_pick(style, ["next", '"not a literal', "[", "root ::= x"]))
        gap = _may_pick(style, [" ", "  ", "\t", "\n  "]) if style else " "
        lines.append(f"{name} ::={gap}{_top(expression, style)}")
    return "\n".join(lines) + "\n"


def _may(style: random.Random | None) -> bool:
    return style is not None and style.random() < 0.2


def _may_pick(style: random.Random | None, options: list[str]) -> str:
    return (style or _NEVER).choice(options)


def _top(expression: Expression, style: random.Random | None) -> str:
    if isinstance(expression, Choice) and expression.options:
        return " | ".join(_inner(option, style) for option in expression.options)
    return _inner(expression, style)


def _inner(expression: Expression, style: random.Random | None) -> str:
    match expression:
        case Sequence(parts) if parts:
            return " ".join(_atom(part, style) for part in parts)
        case Sequence():
            return '""'
        case Choice():
            return _atom(expression, style)
        case Repeat(body, low, high):
            return _atom(body, style) + _bounds(low, high, style)
    return _atom(expression, style)


def _atom(expression: Expression, style: random.Random | None) -> str:
    match expression:
        case Literal(value):
            return '"' + "".join(_character(char, '"\\', style) for char in value.decode()) + '"'
        case Characters(ranges, negated):
            return "[" + "^" * negated + "".join(_range(low, high, style) for low, high in ranges) + "]"
        case Reference(name):
            return name
        case Choice(options) if not options:
            raise TypeError("EBNF has no choice without options")
        case Sequence() | Choice() | Repeat():
            return f"({_top(expression, style)})"
    raise TypeError(f"EBNF cannot say {type(expression).__name__}")


def _bounds(low: int, high: int | None, style: random.Random | None) -> str:
    if not _may(style):
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
        if short is not None:
            return short
    if high is None:
        return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _range(low: int, high: int, style: random.Random | None) -> str:
    first, last = (_character(chr(point), "\\]^-[", style) for point in (low, high))
    return first if low == high else f"{first}-{last}"


def _character(char: str, reserved: str, style: random.Random | None) -> str:
    point = ord(char)
    if char == "\n":
        return "\\n"
    if char in '"\\' and char in reserved and not _may(style):
        return "\\" + char
    if point < 0x20 or point == 0x7F or char in reserved:
        return f"\\x{point:02x}"
    if 0xD800 <= point <= 0xDFFF or _may(style):
        return f"\\u{{{point:x}}}"
    return char
