"""Captures of an answer: the texts of the named parts of the client's structural tag.

The tokens of a choice are read a second time here, beside the engine that made them, by a matcher of the grammar
that the plan has compiled. Tokens and not text: a special token is told from text that spells it.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine_native import Grammar, LimitError, Matcher


class CaptureReader:
    """One choice. Belongs to one task at a time; `read` may run on another thread while nothing is fed."""

    def __init__(self, grammar: Grammar, stop_token_ids: Sequence[int] | None) -> None:
        """`stop_token_ids`: all that end an answer; None for the vocabulary's."""
        self._matcher = Matcher(grammar, stop_token_ids=stop_token_ids)

    def feed(self, token_ids: Sequence[int]) -> None:
        """Tokens of the choice; what comes after its end is ignored."""
        self._matcher.accept_tokens(token_ids)

    def read(self) -> list[tuple[str, str]] | None:
        """(name, text) in order of where they begin, outer ones first; of an answer that was cut also the part that was
        cut, as far as it goes. None if there are too many ways to read the text.

        Cost: two microseconds a token in texts that are not ambiguous.
        """
        try:
            return [(name, text.decode("utf-8", "replace")) for name, text in self._matcher.captures()]
        except LimitError:
            return None


def names_parts(structural_tag: str) -> bool:
    """Whether the tag may have captures, Lark's in it included; one that only spells the word has none."""
    return "capture" in structural_tag
