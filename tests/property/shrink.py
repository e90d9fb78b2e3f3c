"""Smaller variants of a case, for a reproduction that a person can read.

Works on any tree of frozen dataclasses and tuples: a node may give way to one of
its own children, and a tuple may lose an element.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tests.oracle.grammar import Grammar
from tests.property.cases import Case

_MAX_TRIALS = 2000


def shrink(case: Case, differs: Callable[[Case], bool]) -> Case:
    """The smallest variant found for which ``differs`` still holds."""
    trials = 0
    improved = True
    while improved:
        improved = False
        for smaller in _smaller_cases(case):
            trials += 1
            if trials > _MAX_TRIALS:
                return case
            if differs(smaller):
                case, improved = smaller, True
                break
    return case


def _smaller_cases(case: Case) -> Iterator[Case]:
    ids = range(case.tokens.size)
    for dropped in ids:
        if case.tokens.size > 1:
            yield case.with_tokens([token for token in ids if token != dropped])
    if isinstance(case.described, Grammar):
        for described in _smaller_grammars(case.described):
            yield dataclasses.replace(case, described=described)
    else:
        for node in _smaller(case.described):
            yield dataclasses.replace(case, described=node)  # type: ignore[arg-type]


def _smaller_grammars(grammar: Grammar) -> Iterator[Grammar]:
    for name, expression in grammar.rules.items():
        if name != grammar.root:
            yield Grammar({other: rule for other, rule in grammar.rules.items() if other != name})
        for smaller in _smaller(expression):
            yield Grammar({**grammar.rules, name: smaller})  # type: ignore[dict-item]


def _smaller(node: object) -> Iterator[object]:
    """Variants of ``node`` with one simplification somewhere inside."""
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return
    fields = {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
    for value in fields.values():
        elements = value if isinstance(value, tuple) else (value,)
        yield from (element for element in elements if dataclasses.is_dataclass(element))
    for name, value in fields.items():
        for variant in _shorter(value):
            yield dataclasses.replace(node, **{name: variant})


def _shorter(value: object) -> Iterator[object]:
    """Variants of a field: without one of its elements, or with one of them simplified."""
    if isinstance(value, (bytes, str, tuple)):
        for at in range(len(value)):
            yield _without(value, at)
    if isinstance(value, tuple):
        for at, element in enumerate(value):
            yield from ((*value[:at], variant, *value[at + 1 :]) for variant in _smaller(element))
    yield from _smaller(value)


def _without(value: Any, at: int) -> Any:
    return value[:at] + value[at + 1 :]
