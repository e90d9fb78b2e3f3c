"""Structural tags as data, with their two readings: JSON for the engine, a grammar for the oracle.

The grammar follows from the documented meaning of each shape. One rule deserves
a sentence: the end strings of the nearest enclosing ``tag`` are excluded from
the free text inside it, so content never contains the string that ends it.

``capture`` names the span of text that a node matches (see ``captures``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tests.oracle.grammar import (
    Bytes,
    Choice,
    Dispatch,
    Expression,
    Grammar,
    Literal,
    Marked,
    Repeat,
    Sequence,
    TokenEdge,
)
from tests.oracle.regex import print_regex

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"


@dataclass(frozen=True)
class ConstString:
    """Exactly this text."""

    value: str
    capture: str | None = None


@dataclass(frozen=True)
class Regex:
    """A full match of a pattern, given as the expression it stands for."""

    pattern: Expression
    capture: str | None = None


@dataclass(frozen=True)
class EnumSchema:
    """A JSON schema that lists strings; ``values`` need no escapes in JSON."""

    values: tuple[str, ...]
    capture: str | None = None


@dataclass(frozen=True)
class AnyText:
    """Text without the excluded strings."""

    excludes: tuple[str, ...] = ()
    capture: str | None = None


MOST_TOKENS = 512
"""Ids that may be meant by tokens that are not excluded; vocabularies of tests are smaller."""


@dataclass(frozen=True)
class OneToken:
    """One token as a unit, whatever its bytes: the one of ``tokens``, or one that is not among them."""

    tokens: frozenset[int]
    excluded: bool = False
    capture: str | None = None


@dataclass(frozen=True)
class AnyTokens:
    """Up to ``most`` tokens as units, none of them among ``excludes``."""

    excludes: frozenset[int] = frozenset()
    most: int | None = None
    capture: str | None = None


@dataclass(frozen=True)
class SequenceOf:
    """All elements in order."""

    elements: tuple[Node, ...]
    capture: str | None = None


@dataclass(frozen=True)
class OneOf:
    """Any one element."""

    elements: tuple[Node, ...]
    capture: str | None = None


@dataclass(frozen=True)
class Copies:
    """``low`` to ``high`` copies of ``content``; (0, 1), (0, None), (1, None) have names of their own."""

    content: Node
    low: int
    high: int | None
    capture: str | None = None


@dataclass(frozen=True)
class Tag:
    """``begin``, content, one of ``ends``; ``excludes`` of free text inside come from ``ends``."""

    begin: str
    content: Node
    ends: tuple[str, ...]
    capture: str | None = None


@dataclass(frozen=True)
class TriggeredTags:
    """Free text in which a trigger forces one of its tags. Each begin starts with exactly one trigger."""

    triggers: tuple[str, ...]
    tags: tuple[Tag, ...]
    excludes: tuple[str, ...] = ()
    at_least_one: bool = False
    stop_after_first: bool = False
    capture: str | None = None


Leaf: TypeAlias = ConstString | Regex | EnumSchema | AnyText | OneToken | AnyTokens
Node: TypeAlias = Leaf | SequenceOf | OneOf | Copies | Tag | TriggeredTags


def with_token_ids(node: Node, number: Callable[[int], int | None]) -> Node:
    """The same with other token ids; ``None`` leaves a token out."""

    def renumbered(tokens: frozenset[int]) -> frozenset[int]:
        return frozenset(new for new in map(number, tokens) if new is not None)

    match node:
        case OneToken(tokens):
            return replace(node, tokens=renumbered(tokens))
        case AnyTokens(excludes):
            return replace(node, excludes=renumbered(excludes))
        case SequenceOf(elements) | OneOf(elements):
            return replace(node, elements=tuple(with_token_ids(each, number) for each in elements))
        case Copies(content) | Tag(content=content):
            return replace(node, content=with_token_ids(content, number))
        case TriggeredTags(tags=tags):
            return replace(node, tags=tuple(with_token_ids(tag, number) for tag in tags))
    return node


def to_json(node: Node) -> JsonObject:
    """The whole structural tag around ``node``."""
    return {"type": "structural_tag", "format": _format(node)}


def to_grammar(node: Node) -> Grammar:
    """The grammar of the text that ``node`` describes."""
    return Grammar({"root": _expression(node, ())})


def _leaf_format(node: Leaf) -> JsonObject:
    match node:
        case ConstString(value):
            return {"type": "const_string", "value": value}
        case Regex(pattern):
            return {"type": "regex", "pattern": print_regex(pattern)}
        case EnumSchema(values):
            return {"type": "json_schema", "json_schema": {"enum": list(values)}}
        case AnyText(excludes):
            return {"type": "any_text", **_listed("excludes", excludes)}
        case OneToken(tokens, excluded):
            if excluded:
                return {"type": "exclude_token", "exclude_tokens": [*sorted(tokens)]}
            return {"type": "token", "token": min(tokens)}
        case AnyTokens(excludes, most):
            return {"type": "any_tokens", "exclude_tokens": [*sorted(excludes)], "max_tokens": most}


def _format(node: Node) -> JsonObject:
    return _bare_format(node) | ({} if node.capture is None else {"capture": node.capture})


def _bare_format(node: Node) -> JsonObject:
    match node:
        case SequenceOf(elements) | OneOf(elements):
            name = "sequence" if isinstance(node, SequenceOf) else "or"
            return {"type": name, "elements": [_format(element) for element in elements]}
        case Copies():
            return _copies_format(node)
        case Tag(begin, content, ends):
            end: JsonValue = ends[0] if len(ends) == 1 else list(ends)
            return {"type": "tag", "begin": begin, "content": _format(content), "end": end}
        case TriggeredTags():
            return _triggered_format(node)
    return _leaf_format(node)


def _copies_format(node: Copies) -> JsonObject:
    content = _format(node.content)
    name = {(0, 1): "optional", (0, None): "star", (1, None): "plus"}.get((node.low, node.high))
    if name is not None:
        return {"type": name, "content": content}
    return {"type": "repeat", "min": node.low, "max": -1 if node.high is None else node.high, "content": content}


def _triggered_format(node: TriggeredTags) -> JsonObject:
    """Fields that have their default are left out."""
    written: JsonObject = {
        "type": "triggered_tags",
        "triggers": list(node.triggers),
        "tags": [_format(tag) for tag in node.tags],
        **_listed("excludes", node.excludes),
    }
    if node.at_least_one:
        written["at_least_one"] = True
    if node.stop_after_first:
        written["stop_after_first"] = True
    return written


def _listed(name: str, texts: tuple[str, ...]) -> JsonObject:
    return {name: list(texts)} if texts else {}


def _leaf_expression(node: Leaf, ends: tuple[str, ...]) -> Expression:
    match node:
        case ConstString(value):
            return Literal(value.encode())
        case Regex(pattern):
            return _without_special_tokens(pattern)
        case EnumSchema(values):
            return Choice(tuple(Bytes(b'"' + value.encode() + b'"') for value in values))
        case AnyText(excludes):
            return Dispatch(excludes=_encoded(excludes + ends))
        case OneToken(tokens, excluded):
            return TokenEdge(_others(tokens) if excluded else frozenset({min(tokens)}))
        case AnyTokens(excludes, most):
            return Repeat(TokenEdge(_others(excludes)), 0, most)


def _expression(node: Node, ends: tuple[str, ...]) -> Expression:
    """``ends``: what the nearest enclosing tag ends with."""
    return _marked(node, _unmarked(node, ends))


def _marked(node: Node, expression: Expression, lead: bytes = b"") -> Expression:
    return expression if node.capture is None else Marked(node.capture, expression, len(lead))


def _unmarked(node: Node, ends: tuple[str, ...]) -> Expression:
    match node:
        case SequenceOf(elements):
            return Sequence(tuple(_expression(element, ends) for element in elements))
        case OneOf(elements):
            return Choice(tuple(_expression(element, ends) for element in elements))
        case Copies(content, low, high):
            return Repeat(_expression(content, ends), low, high)
        case Tag(begin):
            return Sequence((Literal(begin.encode()), _after_begin(node)))
        case TriggeredTags():
            return _triggered(node, ends)
    return _leaf_expression(node, ends)


def _others(tokens: frozenset[int]) -> frozenset[int]:
    return frozenset(range(MOST_TOKENS)) - tokens


def _without_special_tokens(pattern: Expression) -> Expression:
    """Special tokens do not stand for their text in patterns."""
    match pattern:
        case Literal(value):
            return Bytes(value)
        case Sequence(parts):
            return Sequence(tuple(_without_special_tokens(part) for part in parts))
        case Choice(options):
            return Choice(tuple(_without_special_tokens(option) for option in options))
        case Repeat(body, low, high):
            return Repeat(_without_special_tokens(body), low, high)
    return pattern


def _triggered(node: TriggeredTags, ends: tuple[str, ...]) -> Expression:
    text = Dispatch(
        triggers=tuple(
            (
                trigger.encode(),
                Choice(tuple(_after_trigger(tag, trigger) for tag in node.tags if tag.begin.startswith(trigger))),
            )
            for trigger in node.triggers
        ),
        excludes=_encoded(node.excludes + ends),
        loop=not node.stop_after_first,
    )
    if not node.at_least_one:
        return text
    first = Choice(tuple(_expression(tag, ()) for tag in node.tags))
    return first if node.stop_after_first else Sequence((first, text))


def _after_trigger(tag: Tag, trigger: str) -> Expression:
    rest = Sequence((Literal(tag.begin[len(trigger) :].encode()), _after_begin(tag)))
    return _marked(tag, rest, trigger.encode())


def _after_begin(tag: Tag) -> Expression:
    content = _expression(tag.content, tag.ends)
    return Sequence((content, Choice(tuple(Literal(end.encode()) for end in tag.ends))))


def _encoded(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts if text)
