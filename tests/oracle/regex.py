"""The oracle's expressions as regular expressions, for patterns and for checks against ``re``."""

from __future__ import annotations

from tests.oracle.grammar import Characters, Choice, Expression, Literal, Repeat, Sequence


def print_regex(expression: Expression) -> str:
    """A pattern that fully matches the expression's language. TypeError when there is no such pattern."""
    match expression:
        case Literal(value):
            return "".join(_character(char) for char in value.decode())
        case Characters(ranges, negated):
            return "[" + "^" * negated + "".join(_range(low, high) for low, high in ranges) + "]"
        case Sequence(parts):
            return "".join(_atom(part) for part in parts)
        case Choice(options) if options:
            return "|".join(print_regex(option) for option in options)
        case Repeat(body, low, high):
            return _atom(body) + _bounds(low, high)
    raise TypeError(f"a regular expression cannot say {type(expression).__name__}")


def _atom(expression: Expression) -> str:
    text = print_regex(expression)
    return text if isinstance(expression, Characters) else f"(?:{text})"


def _bounds(low: int, high: int | None) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short is not None:
        return short
    if high is None:
        return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _range(low: int, high: int) -> str:
    first, last = _character(chr(low)), _character(chr(high))
    return first if low == high else f"{first}-{last}"


def _character(char: str) -> str:
    if char.isascii() and not char.isprintable():
        return f"\\x{ord(char):02x}"
    return "\\" + char if char in r"\^$.|?*+()[]{}-/" else char
