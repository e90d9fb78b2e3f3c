"""Turns that break their format: cut off, marks missing or twice, pieces moved. Nothing raises, and no text is lost.

Every piece of text that an answer consists of has a word of its own in it (`z~7`), which no mark and no label can
hold. Whatever a mutation leaves of these words stands in the reasoning, in the content or in a call.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from structural_tags.formats import FORMATS, ModelFormat
from structural_tags.output import Call, OutputParser, ParsedOutput, fold, render
from structural_tags.tools import Tool
from tests.formats.answers import joined
from tests.formats.families import SCHEMAS, events_of
from tests.formats.sampling import texts

TOOLS = tuple(Tool(name, schema) for name, schema in SCHEMAS.items())
WORD = re.compile(r"[a-z]~[0-9]+")
WITH_CALLS = [fmt for fmt in FORMATS.values() if fmt.calls is not None]
SEEDS = 25


def _words() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"z~{number}"


def _turn(fmt: ModelFormat, dice: random.Random) -> tuple[str, bool]:
    """A turn as the family writes it, and whether it reasons."""
    words = _words()
    calls = (
        Call("get_weather", json.dumps({"city": f"{next(words)} <b>{next(words)}", "days": 3, "unit": "C"})),
        Call("now", "{}"),
        Call(
            "search", json.dumps({"query": next(words), "options": {"note": next(words)}, "tags": [next(words), None]})
        ),
    )
    assert fmt.calls is not None
    made = dice.sample(calls, dice.randint(1, 1 if fmt.calls.single else 3))
    reasons = fmt.reasoning is not None and dice.random() < 0.7
    content = "" if fmt.answer is not None and fmt.preamble is None and not fmt.answer_and_calls else f"{next(words)}\n"
    answer = ParsedOutput(f"{next(words)}\n{next(words)}" if reasons else "", content, tuple(made))
    return render(answer, fmt, reasoning=reasons), reasons


def _mutated(text: str, pieces: list[str], dice: random.Random) -> str:
    for _ in range(dice.randint(1, 3)):
        start = dice.randint(0, len(text))
        end = min(len(text), start + dice.randint(1, 20))
        match dice.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:]
            case 2:
                text = text[:start]
            case 3:
                text = text[:start] + dice.choice(pieces) + text[start:]
            case 4:
                text = text.replace(dice.choice(pieces), "", 1)
            case _:
                text = text[:start] + text[end:] + text[start:end]
    return text


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_broken_turn_is_read_without_loss_and_the_same_however_it_is_cut(fmt: ModelFormat) -> None:
    pieces = [*texts(fmt), '"', "{", "}", "]", ",", ":", "\\", "\n", " ", "<", "5", "z~99"]
    broken = 0
    for seed in range(SEEDS):
        dice = random.Random(f"{fmt.name} {seed}")
        whole, reasons = _turn(fmt, dice)
        text = _mutated(whole, pieces, dice)
        broken += text != whole

        events = events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasons), [text])

        answer = fold(events)
        read = [
            answer.reasoning,
            answer.content,
            *(part for call in answer.calls for part in (call.name, call.arguments)),
        ]
        missing = Counter(WORD.findall(text)) - Counter(WORD.findall("\0".join(read)))
        assert not missing, (text, answer)
        for cut in (list(text), [text[at : at + 7] for at in range(0, len(text), 7)]):
            assert joined(events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasons), cut)) == joined(events), text
    assert broken > SEEDS / 2


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_turn_cut_off_anywhere_is_read_without_loss(fmt: ModelFormat) -> None:
    for seed in range(6):
        dice = random.Random(f"{fmt.name} cut {seed}")
        whole, reasons = _turn(fmt, dice)
        for end in range(len(whole) + 1):
            answer = fold(events_of(OutputParser(fmt, tools=TOOLS, reasoning=reasons), [whole[:end]]))
            read = [answer.reasoning, answer.content, *(call.arguments for call in answer.calls)]
            missing = Counter(WORD.findall(whole[:end])) - Counter(WORD.findall("\0".join(read)))
            assert not missing, (whole[:end], answer)


@pytest.mark.parametrize("fmt", WITH_CALLS, ids=lambda fmt: fmt.name)
def test_unknown_function_is_a_call_or_text_but_never_nothing(fmt: ModelFormat) -> None:
    answer = ParsedOutput("", "", (Call("launch", json.dumps({"city": "z~1"})),))
    text = render(answer, fmt, reasoning=False)

    read = fold(events_of(OutputParser(fmt, tools=TOOLS, reasoning=False), [text]))

    if read.calls:
        assert [(call.name, json.loads(call.arguments)) for call in read.calls] == [("launch", {"city": "z~1"})]
        assert read.content.strip() == ""
    else:
        assert "launch" in read.content
        assert "z~1" in read.content
