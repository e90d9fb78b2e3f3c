"""Structural tags as data, with their two readings: JSON for the engine, a grammar for the oracle.

The grammar follows from the documented meaning of each shape. One rule deserves
a sentence: the end strings of the nearest enclosing ``tag`` are excluded from
the free text inside it, so content never contains the string that ends it.

``capture`` names the span of text that a node matches (see ``captures``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

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
    """Text without the excluded strings, at most so many characters and tokens of it."""

    excludes: tuple[str, ...] = ()
    most_chars: int | None = None
    most_tokens: int | None = None
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

    begin: str | OneToken
    content: Node
    ends: tuple[str, ...] | OneToken
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


@dataclass(frozen=True)
class DispatchOf:
    """Free text in which a pattern leads to a format."""

    rules: tuple[tuple[str, Node], ...]
    excludes: tuple[str, ...] = ()
    loop: bool = True
    capture: str | None = None


@dataclass(frozen=True)
class TokenDispatchOf:
    """Free tokens, among which a token leads to a format."""

    rules: tuple[tuple[OneToken, Node], ...]
    excludes: frozenset[int] = frozenset()
    loop: bool = True
    capture: str | None = None


@dataclass(frozen=True)
class TokenTriggeredTags:
    """Free tokens; the first token of a tag, which is a trigger, leads to the rest of it."""

    triggers: frozenset[int]
    tags: tuple[Tag, ...]
    excludes: frozenset[int] = frozenset()
    at_least_one: bool = False
    stop_after_first: bool = False
    capture: str | None = None


Leaf: TypeAlias = ConstString | Regex | EnumSchema | AnyText | OneToken | AnyTokens
Node: TypeAlias = (
    Leaf | SequenceOf | OneOf | Copies | Tag | TriggeredTags | DispatchOf | TokenDispatchOf | TokenTriggeredTags
)

Ends: TypeAlias = "tuple[str, ...] | OneToken"

N = TypeVar("N", bound=Node)


def with_token_ids(node: N, number: Callable[[int], int | None]) -> N:
    """The same with other token ids, of which several may be equal; ``None`` leaves a token out."""
    return cast("N", _with_token_ids(node, number))


def _renumbered(tokens: frozenset[int], number: Callable[[int], int | None]) -> frozenset[int]:
    return frozenset(new for new in map(number, tokens) if new is not None)


def _with_token_ids(node: Node, number: Callable[[int], int | None]) -> Node:
    match node:
        case SequenceOf(elements) | OneOf(elements):
            return replace(node, elements=tuple(with_token_ids(each, number) for each in elements))
        case Copies(content):
            return replace(node, content=with_token_ids(content, number))
        case Tag(begin, content, ends):
            new_begin = with_token_ids(begin, number) if isinstance(begin, OneToken) else begin
            new_ends = with_token_ids(ends, number) if isinstance(ends, OneToken) else ends
            return Tag(new_begin, with_token_ids(content, number), new_ends, node.capture)
        case DispatchOf(rules):
            return replace(node, rules=tuple((text, with_token_ids(each, number)) for text, each in rules))
        case TriggeredTags(tags=tags):
            return replace(node, tags=tuple(with_token_ids(tag, number) for tag in tags))
    return _token_node_with_ids(node, number)


def _token_node_with_ids(node: Node, number: Callable[[int], int | None]) -> Node:
    match node:
        case OneToken(tokens):
            return replace(node, tokens=_renumbered(tokens, number))
        case AnyTokens(excludes):
            return replace(node, excludes=_renumbered(excludes, number))
        case TokenDispatchOf(rules, excludes):
            new = {with_token_ids(token, number): with_token_ids(each, number) for token, each in rules}
            taken = frozenset(each for token in new for each in token.tokens)
            return replace(node, rules=tuple(new.items()), excludes=_renumbered(excludes, number) - taken)
        case TokenTriggeredTags(triggers, tags, excludes):
            taken = _renumbered(triggers, number)
            new_tags = tuple(with_token_ids(tag, number) for tag in tags)
            return replace(node, triggers=taken, tags=new_tags, excludes=_renumbered(excludes, number) - taken)
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
        case AnyText(excludes, chars, tokens):
            limits = {"max_chars": chars, "max_tokens": tokens}
            return {
                "type": "any_text",
                **_listed("excludes", excludes),
                **{name: most for name, most in limits.items() if most is not None},
            }
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
            return {"type": "tag", "begin": _marker(begin), "content": _format(content), "end": _marker(ends)}
        case TriggeredTags():
            return _triggered_format(node)
        case DispatchOf(rules, excludes):
            written: JsonObject = {"type": "dispatch", "rules": [[text, _format(each)] for text, each in rules]}
            return written | _listed("excludes", excludes) | ({} if node.loop else {"loop": False})
        case TokenDispatchOf(rules, tokens):
            written = {"type": "token_dispatch", "rules": [[min(token.tokens), _format(each)] for token, each in rules]}
            return written | _listed("exclude_tokens", tuple(sorted(tokens))) | ({} if node.loop else {"loop": False})
        case TokenTriggeredTags(triggers, tags, tokens):
            written = {
                "type": "token_triggered_tags",
                "trigger_tokens": [*sorted(triggers)],
                "tags": [_format(tag) for tag in tags],
                **_listed("exclude_tokens", tuple(sorted(tokens))),
            }
            return written | _flags(node)
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
    return written | _flags(node)


def _flags(node: TriggeredTags | TokenTriggeredTags) -> JsonObject:
    return {name: True for name in ("at_least_one", "stop_after_first") if getattr(node, name)}


def _marker(mark: str | tuple[str, ...] | OneToken) -> JsonValue:
    if isinstance(mark, OneToken):
        return _leaf_format(mark)
    return mark if isinstance(mark, str) else mark[0] if len(mark) == 1 else list(mark)


def _listed(name: str, texts: tuple[str, ...] | tuple[int, ...]) -> JsonObject:
    return {name: list(texts)} if texts else {}


def _leaf_expression(node: Leaf, ends: Ends) -> Expression:
    match node:
        case ConstString(value):
            return Literal(value.encode())
        case Regex(pattern):
            return _without_special_tokens(pattern)
        case EnumSchema(values):
            return Choice(tuple(Bytes(b'"' + value.encode() + b'"') for value in values))
        case AnyText(excludes, chars, tokens):
            return Dispatch(excludes=_encoded(excludes + _texts(ends)), most_chars=chars, most_tokens=tokens)
        case OneToken(tokens, excluded):
            return _other_token(tokens, ends) if excluded else TokenEdge(frozenset({min(tokens)}))
        case AnyTokens(excludes, most):
            return Repeat(_other_token(excludes, ends), 0, most)


def _texts(ends: Ends) -> tuple[str, ...]:
    return () if isinstance(ends, OneToken) else ends


def _other_token(tokens: frozenset[int], ends: Ends) -> TokenEdge:
    """One token that is neither of these nor an end; a text that is one special token ends like it."""
    if isinstance(ends, OneToken):
        return TokenEdge(_others(tokens | {min(ends.tokens)}))
    return TokenEdge(_others(tokens), _encoded(ends))


def _expression(node: Node, ends: Ends) -> Expression:
    """``ends``: what the nearest enclosing tag ends with."""
    return _marked(node, _unmarked(node, ends))


def _marked(node: Node, expression: Expression, lead: bytes = b"") -> Expression:
    return expression if node.capture is None else Marked(node.capture, expression, len(lead))


def _unmarked(node: Node, ends: Ends) -> Expression:
    match node:
        case SequenceOf(elements):
            return Sequence(tuple(_expression(element, ends) for element in elements))
        case OneOf(elements):
            return Choice(tuple(_expression(element, ends) for element in elements))
        case Copies(content, low, high):
            return Repeat(_expression(content, ends), low, high)
        case Tag(begin):
            return Sequence((_mark_expression(begin), _after_begin(node)))
        case TriggeredTags():
            return _triggered(node, ends)
        case DispatchOf(rules, excludes, loop):
            triggers = tuple((text.encode(), _expression(each, ends)) for text, each in rules)
            return Dispatch(triggers, _encoded(excludes + _texts(ends)), loop)
        case TokenDispatchOf(rules, excludes, loop):
            then: list[Expression] = [
                Sequence((_unless(token, ends), _expression(each, ends))) for token, each in rules
            ]
            return _token_text(frozenset(min(token.tokens) for token, _ in rules) | excludes, then, loop, ends)
        case TokenTriggeredTags():
            return _token_triggered(node, ends)
    return _leaf_expression(node, ends)


def _mark_expression(mark: str | OneToken) -> Expression:
    return Literal(mark.encode()) if isinstance(mark, str) else TokenEdge(frozenset({min(mark.tokens)}))


def _unless(token: OneToken, ends: Ends) -> TokenEdge:
    """A token that leads to a format, unless it ends what stands around."""
    tokens = frozenset({min(token.tokens)})
    return TokenEdge(
        tokens - frozenset({min(ends.tokens)}) if isinstance(ends, OneToken) else tokens, _encoded(_texts(ends))
    )


def _token_text(taken: frozenset[int], then: list[Expression], loop: bool, ends: Ends) -> Expression:
    free = Repeat(_other_token(taken, ends), 0, None)
    return Sequence(
        (free, Repeat(Sequence((Choice(tuple(then)), free if loop else Sequence(()))), 0, None if loop else 1))
    )


def _token_triggered(node: TokenTriggeredTags, ends: Ends) -> Expression:
    first = Choice(tuple(_expression(tag, ()) for tag in node.tags))
    if node.at_least_one and node.stop_after_first:
        return first
    then: list[Expression] = []
    for tag in node.tags:
        assert isinstance(tag.begin, OneToken)
        then.append(_marked(tag, Sequence((_unless(tag.begin, ends), _after_begin(tag)))))
    text = _token_text(node.triggers | node.excludes, then, not node.stop_after_first, ends)
    return Sequence((first, text)) if node.at_least_one else text


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


def _triggered(node: TriggeredTags, ends: Ends) -> Expression:
    text = Dispatch(
        triggers=tuple(
            (
                trigger.encode(),
                Choice(tuple(_after_trigger(tag, trigger) for tag in node.tags if str(tag.begin).startswith(trigger))),
            )
            for trigger in node.triggers
        ),
        excludes=_encoded(node.excludes + _texts(ends)),
        loop=not node.stop_after_first,
    )
    if not node.at_least_one:
        return text
    first = Choice(tuple(_expression(tag, ()) for tag in node.tags))
    return first if node.stop_after_first else Sequence((first, text))


def _after_trigger(tag: Tag, trigger: str) -> Expression:
    assert isinstance(tag.begin, str)
    rest = Sequence((Literal(tag.begin[len(trigger) :].encode()), _after_begin(tag)))
    return _marked(tag, rest, trigger.encode())


def _after_begin(tag: Tag) -> Expression:
    content = _expression(tag.content, tag.ends)
    ends = (tag.ends,) if isinstance(tag.ends, OneToken) else tag.ends
    return Sequence((content, Choice(tuple(_mark_expression(end) for end in ends))))


def _encoded(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts if text)
