"""The shape of a model format: data that the grammar, the output parser and the renderer are all made from.

One answer looks like this; every part is optional, and `|` only separates them:

    reasoning.begin | pad | REASONING | pad | reasoning.end | after |
    CONTENT | lead | calls.begin | CALL | separator | CALL | calls.end

A CALL is written as a template: texts with slots between them (`Name`, `Arguments`, and where a family has them
`Index`, `Identifier` and `Word`). Hermes calls are

    CallSyntax('<tool_call>\\n{"name": "', QUOTED_NAME, '", "arguments": ', Arguments(JSON), "}\\n</tool_call>")

Families that mark their text too have `answer`: the content stands between its marks, and nothing outside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import pairwise

from structural_tags.formats.arguments import ArgumentStyle, Fields, Keywords, Nested

BLANKS = " \t\r\n"
"""White space of JSON (RFC 8259, section 2); text made of it alone is layout where it touches a call."""

BARE_NAME = r"[^\s<>(){}\[\]\"',:=|\\/]"
"""A character of a name that stands without quotation marks: none that could begin what follows it."""


WORD = "[A-Za-z0-9_.-]"
"""A character of a `Word`."""


def _check_end(end: str) -> None:
    """Where the end of an end mark may be the beginning of the next one, it cannot be told where a text ends."""
    if any(end.endswith(end[:n]) for n in range(1, len(end))):
        raise ValueError(f"the mark {end!r} overlaps itself")


@dataclass(frozen=True)
class Marked:
    """Text between marks. An empty `end` is the end of the turn, or where a call begins (`until`)."""

    begin: str
    end: str
    until: str = ""
    """What cannot stand in the text, because a call begins with it."""

    def __post_init__(self) -> None:
        _check_end(self.end)


@dataclass(frozen=True)
class Reasoning:
    """Text between `begin` and `end`, before the answer."""

    begin: str
    end: str
    in_prompt: bool = False
    """The chat template already wrote `begin` and `pad`: the model's text starts inside the block."""
    pad: str = ""
    """Written by the template after `begin` and before `end`; not part of the reasoning."""
    after: str = ""
    """Written by the template between `end` and the answer."""
    by_default: bool = True
    """Whether requests that do not say so reason."""
    switch: str = "enable_thinking"
    """The chat template's variable that turns reasoning on and off."""
    off: str = ""
    """What the model itself writes first when it shall not reason, because the prompt has opened the block."""
    answer: Marked | None = None
    """Marks around everything after the block, white space before them; where there is no block they may be missing."""
    ended_by_calls: bool = False
    """Calls may begin inside of the block, and end it in the place of `end`."""

    def __post_init__(self) -> None:
        _check_end(self.end)


@dataclass(frozen=True)
class Name:
    """The function's name: the inside of a JSON string, or as it is."""

    quoted: bool


@dataclass(frozen=True)
class Index:
    """A number: the model counts its calls. Any number is read; rendering counts from `first`."""

    first: int = 0


@dataclass(frozen=True)
class Identifier:
    """The call's id, so many letters and digits."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 5:
            raise ValueError("an identifier needs at least five letters and digits")


@dataclass(frozen=True)
class Word:
    """A word that the model chooses and nobody reads; `usual` is the one that rendering writes."""

    usual: str


@dataclass(frozen=True)
class Arguments:
    """The arguments; `any_order`: not in the order in which the schema declares them."""

    style: ArgumentStyle
    any_order: bool = False


QUOTED_NAME = Name(quoted=True)
BARE = Name(quoted=False)

Part = str | Name | Index | Identifier | Word | Arguments


class CallSyntax:
    """One tool call as a template of texts and slots. Exactly one name, and the arguments after it."""

    parts: tuple[Part, ...]
    head: tuple[Part, ...]
    """The parts before the arguments."""
    tail: tuple[Part, ...]
    """The parts after them."""
    arguments: ArgumentStyle

    def __init__(self, *parts: Part) -> None:
        names = [at for at, part in enumerate(parts) if isinstance(part, Name)]
        arguments = [at for at, part in enumerate(parts) if isinstance(part, Arguments)]
        if len(names) != 1 or len(arguments) != 1 or names[0] > arguments[0]:
            raise ValueError("a call has one name, and then its arguments")
        if any(not part for part in parts if isinstance(part, str)):
            raise ValueError("a text of a call is empty")
        at = arguments[0]
        self.parts = parts
        self.head, self.tail = parts[:at], parts[at + 1 :]
        found = parts[at]
        assert isinstance(found, Arguments)
        self.arguments = found.style
        self._check(parts, names[0])

    def _check(self, parts: tuple[Part, ...], name: int) -> None:
        before = parts[name - 1] if name > 0 else ""
        after = parts[name + 1]
        name_slot = parts[name]
        assert isinstance(name_slot, Name)
        if name_slot.quoted and not (str(before).endswith('"') and str(after).startswith('"')):
            raise ValueError("a quoted name must stand between quotation marks")
        if not name_slot.quoted and isinstance(after, str) and re.match(BARE_NAME, after):
            raise ValueError("what follows a bare name must not look like more of it")
        for one, two in pairwise(parts):
            if isinstance(one, Index | Identifier | Word) and not isinstance(two, str):
                raise ValueError("an index, an identifier or a word needs a text after it")
            if isinstance(one, Word) and re.match(WORD, str(two)):
                raise ValueError("what follows a word must not look like more of it")
        if isinstance(self.arguments, Fields | Nested | Keywords) and not (self.tail and isinstance(self.tail[0], str)):
            raise ValueError("arguments in this style need a text after them")
        if self.tail and isinstance(self.tail[0], str) and self.tail[0][0] in BLANKS and self.arguments.style != "json":
            raise ValueError("what follows the arguments must not begin with white space")

    def __repr__(self) -> str:
        return f"CallSyntax{self.parts!r}"

    @property
    def first(self) -> str:
        """The text that the call begins with, "" if it begins with its name."""
        return self.parts[0] if isinstance(self.parts[0], str) else ""

    @property
    def name(self) -> Name:
        return next(part for part in self.parts if isinstance(part, Name))


@dataclass(frozen=True)
class Calls:
    """The calls of an answer: `begin` CALL `separator` CALL ... `end`."""

    syntaxes: tuple[CallSyntax, ...]
    """All ways to write a call; the first is the one that templates write."""
    trigger: str = ""
    """What text must not contain unless a call follows: the first call begins with it. "" where no marker tells a
    call from text: then it is the beginning of a call of each tool, with the tool's name."""
    begin: str = ""
    separator: str = ""
    """Between two calls."""
    end: str = ""
    lead: str = ""
    """Written by the template between content and the first call."""
    lead_always: bool = False
    """... and before the first call even where there is no content."""
    single: bool = False
    """The family makes one call at a time."""

    @property
    def is_section(self) -> bool:
        """The calls stand together between marks; else each is found by itself."""
        return bool(self.begin or self.end)


@dataclass(frozen=True)
class Signs:
    """What tells a family: `having` occur in its chat template, `lacking` do not; its vocabulary has `tokens`."""

    having: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()

    def fit(self, template: str, tokens: Container[str] | None) -> bool:
        """Whether they do. `tokens`: the vocabulary's, None when it is not known."""
        return (
            all(text in template for text in self.having)
            and not any(text in template for text in self.lacking)
            and (tokens is None or all(token in tokens for token in self.tokens))
        )


@dataclass(frozen=True)
class ModelFormat:
    """One model family. `sources` say where these facts were read."""

    name: str
    sources: tuple[str, ...]
    calls: Calls | None = None
    """None: the family has no tool calls."""
    reasoning: Reasoning | None = None
    answer: Marked | None = None
    """The content's marks; None: it is free text, and calls may stand in it."""
    preamble: Marked | None = None
    """Marks of text before calls, in families that have `answer`."""
    answer_in_prompt: bool = False
    """Without reasoning the chat template has already written `answer.begin`."""
    prompted: str = ""
    """The beginning of the answer that the generation prompt has already written, whatever the answer is."""
    answer_and_calls: bool = False
    """The marked content may come before calls; else there is one or the other."""
    close: str = ""
    """Written after everything else."""
    id_template: str = ""
    """The id of a call made from its "{name}" and "{index}", where the family expects that."""
    id_length: int = 0
    """Ids of calls are so many letters and digits; 0: any text."""
    stops: tuple[str, ...] = ()
    """Tokens that end the model's turn."""
    signs: tuple[Signs, ...] = ()
    """Each by itself tells the family."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError(f"format {self.name!r} names no source")
        calls = self.calls
        if calls is None:
            return
        if calls.trigger and not all(
            (calls.begin + syntax.first).startswith(calls.trigger) for syntax in calls.syntaxes
        ):
            raise ValueError(f"format {self.name!r}: a call must begin with the trigger")
        if self.prompted and not all(
            text.startswith(self.prompted)
            for text in (
                *(marked.begin for marked in (self.answer, self.preamble) if marked is not None),
                *(calls.begin + syntax.first for syntax in calls.syntaxes),
            )
        ):
            raise ValueError(f"format {self.name!r}: every answer must begin with what the prompt has written")
        if self.answer is None and any((calls.begin + syntax.first)[:1] in ("", *BLANKS) for syntax in calls.syntaxes):
            raise ValueError(f"format {self.name!r}: the first call must begin with a mark that is no white space")


def written_name(name: str, slot: Name) -> str:
    """The name as it stands in a call.

    Raises:
        ValueError: it cannot stand there.
    """
    if slot.quoted:
        return json.dumps(name, ensure_ascii=False)[1:-1]
    if not re.fullmatch(BARE_NAME + "+", name):
        raise ValueError(f"the name {name!r} cannot be written in this model's format")
    return name
