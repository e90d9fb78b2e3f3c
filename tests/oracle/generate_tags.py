"""Random structural tags: markers that overlap, contain and begin each other."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TypeVar

from tests.oracle.generate import Alphabet, draw_expression
from tests.oracle.grammar import Expression
from tests.oracle.regex import print_regex
from tests.oracle.structural_tag import (
    AnyText,
    AnyTokens,
    ConstString,
    Copies,
    DispatchOf,
    EnumSchema,
    Node,
    OneOf,
    OneToken,
    Regex,
    SequenceOf,
    Tag,
    TokenDispatchOf,
    TokenTriggeredTags,
    TriggeredTags,
)

_CHARACTERS = ("<", ">", "/", "a", "b", "\n", "é", "日")
_MARKER = "<s>"
_LIMITS = ((1, None), (None, 1), (None, 2), (3, None), (2, 2), (40, 3), (None, 9), (0, None))
"""Of characters and of tokens."""


@dataclass(frozen=True)
class Shapes:
    """Which node types may be drawn besides the primitive ones."""

    copies: bool = True
    tokens: bool = True
    limits: bool = True
    """Text of limited length."""


def draw_tag_alphabet(rng: random.Random) -> Alphabet:
    """Two to four characters that are good for markers, so that texts and markers run into each other."""
    return Alphabet(("<", "a", *rng.sample((*_CHARACTERS[4:], ">", "/"), rng.randint(0, 2))), (_MARKER,))


def draw_node(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int = 3) -> Node:
    """A random format, nested at most ``depth`` deep."""
    kinds = ["const", "regex", "text", "text", "schema", *["tokens"] * shapes.tokens]
    kinds += ["limited"] * 2 * shapes.limits
    if depth > 0:
        kinds += ["sequence"] * 2 + ["or"] * 2 + ["tag"] * 5 + ["triggered"] * 6 + ["copies"] * 2 * shapes.copies
        kinds += ["dispatch"] * 3 + ["around tokens"] * 4 * shapes.tokens
    match kind := rng.choice(kinds):
        case "sequence":
            return SequenceOf(_draw_nodes(rng, alphabet, shapes, depth, rng.randint(1, 3)))
        case "or":
            return OneOf(_draw_nodes(rng, alphabet, shapes, depth, rng.randint(1, 3)))
        case "tag":
            return _draw_tag(rng, alphabet, shapes, depth, alphabet.text(rng, 2))
        case "triggered":
            return _draw_triggered(rng, alphabet, shapes, depth)
        case "dispatch":
            return _draw_dispatch(rng, alphabet, shapes, depth)
        case "around tokens":
            return _draw_around_tokens(rng, alphabet, shapes, depth)
        case "copies":
            low = rng.choice((0, 0, 1, 2))
            high = rng.choice((None, low + 1, low + rng.randint(0, 12)))
            return Copies(draw_node(rng, alphabet, shapes, depth - 1), low, high)
    return _draw_leaf(rng, alphabet, kind)


def _draw_around_tokens(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int) -> Node:
    """Tokens that lead to a format, or that end one."""
    match rng.choice(("dispatch", "triggered", "triggered", "tag")):
        case "dispatch":
            taken = rng.sample(range(16), rng.randint(1, 3))
            rules = tuple((OneToken(frozenset({each})), draw_node(rng, alphabet, shapes, depth - 1)) for each in taken)
            return TokenDispatchOf(rules, _draw_others(rng, taken), rng.random() < 0.6)
        case "triggered":
            return _draw_token_triggered(rng, alphabet, shapes, depth)
    begin, end = (OneToken(frozenset({rng.randrange(16)})) for _ in range(2))
    return Tag(rng.choice((begin, "<")), draw_node(rng, alphabet, shapes, depth - 1), end)


def _draw_leaf(rng: random.Random, alphabet: Alphabet, kind: str) -> Node:
    match kind:
        case "const":
            return ConstString(alphabet.text(rng, 3))
        case "regex":
            return Regex(_draw_pattern(rng, alphabet))
        case "text":
            return AnyText(_draw_markers(rng, alphabet, rng.choice((0, 0, 1, 2))))
        case "limited":
            excludes = _draw_markers(rng, alphabet, rng.choice((0, 0, 1, 2)))
            chars, tokens = rng.choice(
                ((1, None), (None, 1), (None, 2), (3, None), (2, 2), (40, 3), (None, 9), (0, None))
            )
            return AnyText(excludes, chars, tokens)
        case "tokens":
            picked = frozenset(rng.sample(range(16), rng.randint(1, 3)))  # of ids that the vocabulary will have
            most = rng.choice((None, None, 0, 1, 3, 100))
            return rng.choice((OneToken(picked), OneToken(picked, excluded=True), AnyTokens(picked, most)))
        case _:
            return EnumSchema(tuple(sorted(set(rng.choices(("a", "b", "<", "/a"), k=2)))))


def draw_captures(rng: random.Random, node: Node) -> Node:
    """``node`` with names on some of the formats in it.

    A repeat of what may be empty gets no lower bound: how often nothing stands there is nobody's business.
    """
    match node:
        case SequenceOf(elements) | OneOf(elements):
            node = replace(node, elements=tuple(draw_captures(rng, each) for each in elements))
        case Copies(content):
            node = replace(node, content=draw_captures(rng, content), low=0)
        case Tag():
            node = _capture_inside(rng, node)
        case TriggeredTags(_, tags) | TokenTriggeredTags(_, tags):
            node = replace(node, tags=tuple(_capture(rng, _capture_inside(rng, tag)) for tag in tags))
        case DispatchOf(rules):
            node = replace(node, rules=tuple((mark, draw_captures(rng, each)) for mark, each in rules))
        case TokenDispatchOf(token_rules):
            node = replace(node, rules=tuple((mark, draw_captures(rng, each)) for mark, each in token_rules))
    return _capture(rng, node)


def _capture_inside(rng: random.Random, tag: Tag) -> Tag:
    return replace(tag, content=draw_captures(rng, tag.content))


N = TypeVar("N", bound=Node)


def _capture(rng: random.Random, node: N) -> N:
    return replace(node, capture=rng.choice(("a", "b", "é"))) if rng.random() < 0.35 else node


def _draw_pattern(rng: random.Random, alphabet: Alphabet) -> Expression:
    """An expression whose pattern is not the empty text, which a regex node may not have."""
    while True:
        expression = draw_expression(rng, Alphabet(alphabet.characters, ("a",)), (), depth=2)
        if print_regex(expression):
            return expression


def _draw_nodes(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int, count: int) -> tuple[Node, ...]:
    return tuple(draw_node(rng, alphabet, shapes, depth - 1) for _ in range(count))


def _draw_marker(rng: random.Random, alphabet: Alphabet) -> str:
    marker = "".join(rng.choices(alphabet.characters, k=rng.choice((1, 2, 2, 3))))
    if rng.random() < 0.85:
        return marker
    return rng.choice((_MARKER, _MARKER, _MARKER + marker, marker + _MARKER, marker[:1] + _MARKER + marker[1:]))


def _draw_markers(rng: random.Random, alphabet: Alphabet, count: int) -> tuple[str, ...]:
    return tuple(sorted({_draw_marker(rng, alphabet) for _ in range(count)}))


def _draw_tag(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int, begin: str) -> Tag:
    ends = _draw_markers(rng, alphabet, rng.choice((1, 1, 1, 2)))
    return Tag(begin, draw_node(rng, alphabet, shapes, depth - 1), ends)


def _draw_triggered(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int) -> TriggeredTags:
    """Triggers of which none begins another, and at least one tag for each."""
    triggers: list[str] = []
    for marker in _draw_markers(rng, alphabet, rng.choice((1, 1, 2, 3))):
        if not any(marker.startswith(other) or other.startswith(marker) for other in triggers):
            triggers.append(marker)
    begins = [trigger + _tail(rng, alphabet) for trigger in triggers for _ in range(rng.choice((1, 1, 2)))]
    return TriggeredTags(
        triggers=tuple(triggers),
        tags=tuple(_draw_tag(rng, alphabet, shapes, depth, begin) for begin in begins),
        excludes=_draw_markers(rng, alphabet, rng.choice((0, 0, 0, 1))),
        at_least_one=rng.random() < 0.3,
        stop_after_first=rng.random() < 0.3,
    )


def _draw_dispatch(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int) -> DispatchOf:
    """Patterns that can all come about: none inside another one, but for its beginning or its end; none excluded."""
    patterns: list[str] = []
    for marker in _draw_markers(rng, alphabet, rng.choice((1, 1, 2, 3))):
        if not any(_inside(marker, other) or _inside(other, marker) for other in patterns):
            patterns.append(marker)
    excludes = tuple(
        each
        for each in _draw_markers(rng, alphabet, rng.choice((0, 0, 1)))
        if not any(each in pattern for pattern in patterns)
    )
    rules = tuple((pattern, draw_node(rng, alphabet, shapes, depth - 1)) for pattern in patterns)
    return DispatchOf(rules, excludes, rng.random() < 0.6)


def _inside(part: str, whole: str) -> bool:
    return part in whole[1:-1]


def _draw_others(rng: random.Random, taken: list[int]) -> frozenset[int]:
    return frozenset(rng.sample(sorted(set(range(16)) - set(taken)), rng.choice((0, 0, 1, 2))))


def _draw_token_triggered(rng: random.Random, alphabet: Alphabet, shapes: Shapes, depth: int) -> TokenTriggeredTags:
    triggers = rng.sample(range(16), rng.randint(1, 2))
    begins = [OneToken(frozenset({trigger})) for trigger in triggers for _ in range(rng.choice((1, 1, 2)))]
    tags = tuple(replace(_draw_tag(rng, alphabet, shapes, depth, ""), begin=begin) for begin in begins)
    return TokenTriggeredTags(
        frozenset(triggers), tags, _draw_others(rng, triggers), rng.random() < 0.3, rng.random() < 0.3
    )


def _tail(rng: random.Random, alphabet: Alphabet) -> str:
    return "".join(rng.choices(alphabet.characters, k=rng.randint(0, 2)))
