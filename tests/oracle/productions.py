"""From a grammar to plain context-free productions over symbols.

A production is ``left -> right``; ``right`` is a tuple of non-terminals (``int``)
and terminals (a ``frozenset`` of symbols, any one of which matches). Every
construct is written out: a bounded repeat as a chain of non-terminals, a
dispatch as one non-terminal per state of its text automaton. Non-terminals that
derive no string at all are then removed together with the productions that use
them, so that whatever the parser keeps alive can be completed.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Ordered
from dataclasses import dataclass

from tests.oracle import utf8
from tests.oracle.grammar import (
    BOUNDARY,
    MAX_CODE_POINT,
    TOKEN_BASE,
    ByteRange,
    Bytes,
    Characters,
    Choice,
    Dispatch,
    Expression,
    Grammar,
    Literal,
    Marked,
    Reference,
    Repeat,
    Sequence,
    TokenEdge,
    token_symbol,
)

Terminal = frozenset[int]
Part = int | Terminal
Right = tuple[Part, ...]
Spelled = tuple[Terminal, ...]

SpecialTexts = Mapping[bytes, frozenset[int]]


@dataclass(frozen=True, eq=False)
class Production:
    """``left -> right``; compared by identity, each pair exists once."""

    left: int
    right: Right


@dataclass(frozen=True)
class Productions:
    """All productions by non-terminal; ``nullable`` are those that derive the empty string.

    ``start`` is ``None`` when the language is empty. ``boundaries``: every token of a text ends with ``BOUNDARY``.
    """

    of: Mapping[int, tuple[Production, ...]]
    nullable: frozenset[int]
    start: int | None
    boundaries: bool = False


MARK_BASE = 1 << 32
"""Symbol of the first mark; past all tokens."""

Marks = dict[tuple[str, int], int]
"""(name, lead) of a marked span -> the symbol before it; the next symbol stands after it."""


def lower(grammar: Grammar, special_texts: SpecialTexts, marks: Marks | None = None) -> Productions:
    """Write ``grammar`` out. KeyError when a reference names no rule.

    With ``marks``, which is filled, marked spans stand between two symbols of their own.
    """
    return _Lowering(grammar, special_texts, marks).run()


def spell(value: bytes, special_texts: SpecialTexts) -> Spelled:
    """``value`` as terminals: at each place the longest special token's text is one unit."""
    spelled: list[Terminal] = []
    at = 0
    while at < len(value):
        texts = [text for text in special_texts if value.startswith(text, at)]
        if texts:
            longest = max(texts, key=len)
            spelled.append(frozenset(token_symbol(token) for token in special_texts[longest]))
            at += len(longest)
        else:
            spelled.append(frozenset((value[at],)))
            at += 1
    return tuple(spelled)


class _Lowering:
    """One lowering run; non-terminals are numbered as they are met."""

    def __init__(self, grammar: Grammar, special_texts: SpecialTexts, marks: Marks | None) -> None:
        self._marks = marks
        self._grammar = grammar
        self._special_texts = special_texts
        self._boundaries = _counts_tokens(grammar)
        self._rights: dict[int, list[Right]] = {}
        self._boundary = self._fresh() if self._boundaries else -1
        self._rule_symbols: dict[str, int] = {}

    def run(self) -> Productions:
        if self._boundaries:
            self._rights[self._boundary] = [(), (frozenset((BOUNDARY,)),)]
        for name in self._grammar.rules:
            self._rule_symbols[name] = self._fresh()
        for name, expression in self._grammar.rules.items():
            self._add(self._rule_symbols[name], self._right(expression))
        root = self._rule_symbols[self._grammar.root]
        return _without_unproductive(self._rights, root, self._boundaries)

    def _fresh(self) -> int:
        symbol = len(self._rights)
        self._rights[symbol] = []
        return symbol

    def _add(self, left: int, right: Right) -> None:
        """Where tokens are counted, one may end after any symbol."""
        if self._boundaries:
            right = tuple(each for part in right for each in self._with_boundary(part))
        self._add_exactly(left, right)

    def _with_boundary(self, part: Part) -> Right:
        return (part,) if isinstance(part, int) or min(part, default=0) >= MARK_BASE else (part, self._boundary)

    def _add_exactly(self, left: int, right: Right) -> None:
        if right not in self._rights[left]:
            self._rights[left].append(right)

    def _right(self, expression: Expression) -> Right:
        """The right-hand side that matches ``expression``."""
        match expression:
            case Literal(value):
                return spell(value, self._special_texts)
            case Bytes(value):
                return tuple(frozenset((byte,)) for byte in value)
            case ByteRange(low, high):
                return (frozenset(range(low, high + 1)),)
            case TokenEdge(tokens, unless):
                without = [token for text in unless for token in self._special_texts.get(text, ())]
                return (frozenset(token_symbol(token) for token in tokens.difference(without)),)
            case Reference(name):
                return (self._rule_symbols[name],)
            case Sequence(parts):
                return tuple(part for each in parts for part in self._right(each))
            case Marked():
                return self._marked(expression)
            case Characters() | Choice() | Repeat() | Dispatch():
                return (self._non_terminal(expression),)
        raise TypeError(f"not an expression: {expression!r}")

    def _marked(self, marked: Marked) -> Right:
        body = self._right(marked.body)
        if self._marks is None:
            return body
        mark = self._marks.setdefault((marked.name, marked.lead), MARK_BASE + 2 * len(self._marks))
        return (frozenset((mark,)), *body, frozenset((mark + 1,)))

    def _non_terminal(self, expression: Characters | Choice | Repeat | Dispatch) -> int:
        match expression:
            case Characters(ranges, negated):
                left = self._fresh()
                inside = utf8.complement(ranges) if negated else ranges
                for low, high in inside:
                    for product in utf8.encoded_ranges(low, min(high, MAX_CODE_POINT)):
                        self._add(left, tuple(frozenset(range(a, b + 1)) for a, b in product))
                return left
            case Choice(options):
                left = self._fresh()
                for option in options:
                    self._add(left, self._right(option))
                return left
            case Repeat():
                return self._repeat(expression)
            case Dispatch(most_chars=None, most_tokens=None):
                return self._dispatch(expression)
            case Dispatch():
                return self._limited(expression)

    def _repeat(self, repeat: Repeat) -> int:
        """A chain: the k-th non-terminal matches what may follow k copies."""
        body = self._right(repeat.body)
        last = repeat.low if repeat.high is None else repeat.high
        chain = [self._fresh() for _ in range(last + 1)]
        for count, left in enumerate(chain):
            if count >= repeat.low:
                self._add(left, ())
            if count < last:
                self._add(left, (*body, chain[count + 1]))
            elif repeat.high is None:
                self._add(left, (*body, left))
        return chain[0]

    def _dispatch(self, dispatch: Dispatch) -> int:
        """One non-terminal per state of the text (see ``_Text``)."""
        text = _Text(
            triggers=[(spell(trigger, self._special_texts), self._right(body)) for trigger, body in dispatch.triggers],
            excludes=[spell(exclude, self._special_texts) for exclude in dispatch.excludes],
        )
        start: _TextState = ((), ())
        states = {start: self._fresh()}
        todo = [start]
        inside: dict[tuple[Spelled, Spelled], int] = {}
        while todo:
            state = todo.pop()
            left = states[state]
            if text.may_end(state):
                self._add(left, ())
            plain: dict[int, set[int]] = defaultdict(set)
            for terminal in text.alphabet():
                fired = text.fired(state, terminal)
                for body in fired:
                    self._add(left, (terminal, *body, states[start]) if dispatch.loop else (terminal, *body))
                if fired:
                    end = states[start] if dispatch.loop else None
                    seen = (*state[0], terminal)
                    self._add(left, (terminal, self._longer(text, text.longest(seen), seen, inside, end)))
                following = None if fired else text.after(state, terminal)
                if following is None:
                    continue
                if following not in states:
                    states[following] = self._fresh()
                    todo.append(following)
                plain[states[following]] |= terminal
            for target, symbols in plain.items():
                self._add(left, (frozenset(symbols), target))
        return states[start]

    def _longer(
        self, text: _Text, begun: Spelled, seen: Spelled, inside: dict[tuple[Spelled, Spelled], int], end: int | None
    ) -> int:
        """What may follow ``begun``, the end of ``seen``, inside longer triggers; nothing, if there are none."""
        seen = text.kept(seen)
        if (begun, seen) in inside:
            return inside[begun, seen]
        left = inside[begun, seen] = self._fresh()
        for terminal in text.longer(begun, seen):
            for pattern, body in text.triggers:
                if pattern == (*begun, terminal):
                    self._add(left, (terminal, *body) if end is None else (terminal, *body, end))
            self._add(left, (terminal, self._longer(text, (*begun, terminal), (*seen, terminal), inside, end)))
        return left

    def _limited(self, dispatch: Dispatch) -> int:
        """Text alone; a non-terminal per state and count: characters, tokens, whether this token is counted."""
        text = _Text(triggers=[], excludes=[spell(exclude, self._special_texts) for exclude in dispatch.excludes])
        start: _LimitedState = (((), ()), 0, 0, False)
        states = {start: self._fresh()}
        todo = [start]

        def number(state: _LimitedState) -> int:
            if state not in states:
                states[state] = self._fresh()
                todo.append(state)
            return states[state]

        while todo:
            state = todo.pop()
            left = states[state]
            (place, chars, tokens, counted) = state
            if text.may_end(place):
                self._add_exactly(left, ())
            if counted and len(place[1]) <= (dispatch.most_tokens or 0) - tokens:
                self._add_exactly(left, (frozenset((BOUNDARY,)), number((place, chars, tokens, False))))
            plain: dict[int, set[int]] = defaultdict(set)
            for terminal in text.alphabet():
                following = text.after(place, terminal)
                if following is None:
                    continue
                read = chars + (dispatch.most_chars is not None and not place[1])
                begun = tokens + (dispatch.most_tokens is not None and not counted)
                if read > (dispatch.most_chars or 0) or begun > (dispatch.most_tokens or 0):
                    continue
                plain[number((following, read, begun, dispatch.most_tokens is not None))] |= terminal
            for target, symbols in plain.items():
                exactly = (frozenset(symbols), target)
                self._add_exactly(left, exactly) if dispatch.most_tokens is not None else self._add(left, exactly)
        return states[start]


_LimitedState = tuple["_TextState", int, int, bool]

_TextState = tuple[Spelled, utf8.ByteRanges]
"""The end of the text that begins a trigger or an exclusion, and the UTF-8 bytes still due."""


@dataclass(frozen=True)
class _Text:
    """What free text may go on with, state by state."""

    triggers: list[tuple[Spelled, Right]]
    excludes: list[Spelled]

    def alphabet(self) -> list[Terminal]:
        """The terminals of all patterns, and the other bytes, put together where UTF-8 does not tell them apart."""
        patterns = [*(pattern for pattern, _ in self.triggers), *self.excludes]
        named = {terminal for pattern in patterns for terminal in pattern}
        others = [alike.difference(*named) for alike in utf8.ALIKE]
        return [*named, *(terminal for terminal in others if terminal)]

    def may_end(self, state: _TextState) -> bool:
        """Whether free text may end here: after a whole code point, and not inside a trigger's special token."""
        text, pending = state
        return not pending and _all_bytes(text)

    def fired(self, state: _TextState, terminal: Terminal) -> list[Right]:
        """What may follow, when ``terminal`` completes triggers."""
        seen = (*state[0], terminal)
        if self._pending_after(state, terminal) is None or self._excluded(seen):
            return []
        return [body for pattern, body in self.triggers if self._ends(seen, pattern)]

    def longest(self, seen: Spelled) -> Spelled:
        """The longest trigger that ``seen`` ends with, all its special tokens in it."""
        return max((pattern for pattern, _ in self.triggers if self._ends(seen, pattern)), key=len, default=())

    def longer(self, begun: Spelled, seen: Spelled) -> set[Terminal]:
        """Terminals that ``begun``, with which triggers begin, may be gone on with after ``seen``."""
        following = {
            pattern[len(begun)]
            for pattern, _ in self.triggers
            if len(pattern) > len(begun) and pattern[: len(begun)] == begun
        }
        return {terminal for terminal in following if not self._excluded((*seen, terminal))}

    def kept(self, seen: Spelled) -> Spelled:
        """What of ``seen`` matters to what follows."""
        return _longest_begun(seen, [*(pattern for pattern, _ in self.triggers), *self.excludes])

    @staticmethod
    def _ends(seen: Spelled, pattern: Spelled) -> bool:
        return _ends_with(seen, pattern) and _all_bytes(seen[: len(seen) - len(pattern)])

    def after(self, state: _TextState, terminal: Terminal) -> _TextState | None:
        """The state after ``terminal``, which completes no trigger; ``None`` when it is forbidden."""
        seen = (*state[0], terminal)
        pending = self._pending_after(state, terminal)
        if pending is None or self._excluded(seen):
            return None
        kept = self.kept(seen)
        return (kept, pending) if _all_bytes(seen[: len(seen) - len(kept)]) else None

    def _excluded(self, seen: Spelled) -> bool:
        return any(_ends_with(seen, exclude) for exclude in self.excludes)

    def _pending_after(self, state: _TextState, terminal: Terminal) -> utf8.ByteRanges | None:
        symbol, pending = min(terminal), state[1]
        if symbol < TOKEN_BASE:
            return utf8.after_byte(pending, symbol)
        return None if pending else ()


def _all_bytes(text: Spelled) -> bool:
    """Whether ``text`` can stand in free text: special tokens belong to triggers only."""
    return all(min(terminal) < TOKEN_BASE for terminal in text)


def _ends_with(text: Spelled, pattern: Spelled) -> bool:
    return len(text) >= len(pattern) and text[len(text) - len(pattern) :] == pattern


def _longest_begun(text: Spelled, patterns: Iterable[Spelled]) -> Spelled:
    """The longest end of ``text`` that is a proper beginning of a pattern."""
    for start in range(len(text)):
        rest = text[start:]
        if any(pattern[: len(rest)] == rest for pattern in patterns):
            return rest
    return ()


def _counts_tokens(value: object) -> bool:
    """Whether a dispatch somewhere in the grammar has a limit of tokens."""
    if isinstance(value, Dispatch) and value.most_tokens is not None:
        return True
    if isinstance(value, tuple):
        return any(_counts_tokens(each) for each in value)
    if isinstance(value, Grammar):
        return any(_counts_tokens(rule) for rule in value.rules.values())
    if dataclasses.is_dataclass(value):
        return any(_counts_tokens(getattr(value, each.name)) for each in dataclasses.fields(value))
    return False


def _fixpoint(rights: Mapping[int, Ordered[Right]], holds: Callable[[Part, set[int]], bool]) -> set[int]:
    """The least set of non-terminals with a right-hand side of which every part holds."""
    known: set[int] = set()
    grown = True
    while grown:
        grown = False
        for left, options in rights.items():
            if left not in known and any(all(holds(part, known) for part in right) for right in options):
                known.add(left)
                grown = True
    return known


def _without_unproductive(rights: Mapping[int, Ordered[Right]], root: int, boundaries: bool) -> Productions:
    productive = _fixpoint(rights, lambda part, known: part in known if isinstance(part, int) else bool(part))
    kept = {
        left: [
            right
            for right in rights[left]
            if all(part in productive if isinstance(part, int) else part for part in right)
        ]
        for left in productive
    }
    nullable = _fixpoint(kept, lambda part, known: isinstance(part, int) and part in known)
    productions = {left: tuple(Production(left, right) for right in options) for left, options in kept.items()}
    return Productions(productions, frozenset(nullable), root if root in productive else None, boundaries)
