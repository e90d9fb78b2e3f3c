"""The oracle's grammars as Lark text, and what ``%ignore`` adds to them.

``print_lark`` needs grammars without dispatch, token edges and raw bytes, as
``print_ebnf`` does. Rules that refer to nothing may be written as terminals
(``terminals`` says which); ``with_ignored`` gives the grammar that the engine
should see when characters are ignored after every lexeme.
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
from tests.oracle.regex import print_regex

_NEVER = random.Random(0)


def terminals(grammar: Grammar, style: random.Random) -> frozenset[str]:
    """The rules that are to be written as terminals: about half of those that refer to nothing."""
    free = [name for name, rule in grammar.rules.items() if name != grammar.root and not _refers(rule)]
    return frozenset(name for name in free if style.random() < 0.5)


def _refers(expression: Expression) -> bool:
    match expression:
        case Reference():
            return True
        case Sequence(parts) | Choice(parts):
            return any(_refers(part) for part in parts)
        case Repeat(body):
            return _refers(body)
    return False


def with_ignored(grammar: Grammar, ignored: Characters, upper: frozenset[str]) -> Grammar:
    """``grammar`` with any run of ``ignored`` after each string, class and terminal of ``upper``."""
    run = Repeat(ignored, 0, None)

    def lexemes(expression: Expression) -> Expression:
        match expression:
            case Literal(b""):
                return expression
            case Reference(name):
                return Sequence((expression, run)) if name in upper else expression
            case Sequence(parts):
                return Sequence(tuple(lexemes(part) for part in parts))
            case Choice(options):
                return Choice(tuple(lexemes(option) for option in options))
            case Repeat(body, low, high):
                return Repeat(lexemes(body), low, high)
        return Sequence((expression, run))

    rules = {name: rule if name in upper else lexemes(rule) for name, rule in grammar.rules.items()}
    return Grammar(rules, grammar.root)


def print_lark(
    grammar: Grammar,
    style: random.Random | None = None,
    upper: frozenset[str] = frozenset(),
    ignored: Characters | None = None,
) -> str:
    """``grammar`` as text; its root becomes ``start``. TypeError for an expression that Lark cannot say."""
    names = {name: _name(name, name in upper) for name in grammar.rules}
    names[grammar.root] = "start"
    printer = _Printer(names, style)
    lines = [] if ignored is None else [f"%ignore {printer.atom(ignored)}"]
    for name, expression in grammar.rules.items():
        if printer.may():
            lines.append(printer.pick(["// next", '# "not a string', "", "//", "  # x: y"]))
        prefix = "?" if name not in upper and printer.may() else ""
        lines.append(f"{prefix}{names[name]}{printer.pick(['', ' '])}: {printer.top(expression)}")
    return "\n".join(lines) + "\n"


def _name(name: str, upper: bool) -> str:
    plain = name.replace("_", "-").strip("-") + "-x"
    return plain.upper() if upper else plain.lower()


class _Printer:
    def __init__(self, names: dict[str, str], style: random.Random | None) -> None:
        self._names = names
        self._style = style

    def may(self) -> bool:
        return self._style is not None and self._style.random() < 0.2

    def pick(self, options: list[str]) -> str:
        return (self._style or _NEVER).choice(options) if self._style else options[0]

    def top(self, expression: Expression) -> str:
        if isinstance(expression, Choice) and expression.options:
            return self.pick([" | ", "|", "\n    | "]).join(self._alternative(option) for option in expression.options)
        return self._alternative(expression)

    def _alternative(self, expression: Expression) -> str:
        return self._inner(expression) + (" -> name" if self.may() else "")

    def _inner(self, expression: Expression) -> str:
        match expression:
            case Sequence(parts):
                return " ".join(self.atom(part) for part in parts)
            case Repeat(body, 0, 1) if self.may():
                return f"[{self.top(body)}]"
            case Repeat(body, low, high):
                return self.atom(body) + self._bounds(low, high)
        return self.atom(expression)

    def atom(self, expression: Expression) -> str:
        match expression:
            case Literal(value):
                return '"' + "".join(self._character(char) for char in value.decode()) + '"'
            case Characters(((low, high),), False) if self.may():
                return f'"{self._character(chr(low))}".."{self._character(chr(high))}"'
            case Characters():
                return f"/{print_regex(expression)}/".replace("\n", "\\n")
            case Reference(name):
                return self._names[name]
            case Choice(options) if not options:
                raise TypeError("Lark has no choice without options")
            case Sequence() | Choice() | Repeat():
                return f"({self.top(expression)})"
        raise TypeError(f"Lark cannot say {type(expression).__name__}")

    def _bounds(self, low: int, high: int | None) -> str:
        if not self.may():
            short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            if short is not None:
                return short
        if high is None:
            return f"{{{low},}}"
        if low == high:
            return self.pick([f"{{{low}}}", f"~{low}"])
        if low == 0 and self.may():
            return f"{{,{high}}}"
        return self.pick([f"{{{low},{high}}}", f"~{low}..{high}"])

    def _character(self, char: str) -> str:
        point = ord(char)
        if char in '"\\':
            return "\\" + char
        if point < 0x20 or point == 0x7F:
            return f"\\x{point:02x}"
        if not self.may():
            return char
        return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
