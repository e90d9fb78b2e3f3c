"""What holds for every answer, every text and every way of cutting it."""

from __future__ import annotations

import dataclasses
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from structural_tags.formats import ModelFormat
from structural_tags.output import ParsedOutput, render
from tests.formats.answers import FORMATS, THINKING, answers, events_of, model_text, parse_pieces

formats = st.sampled_from(FORMATS)
answers_with_format = formats.flatmap(lambda fmt: st.tuples(st.just(fmt), answers(fmt)))


def _cut(text: str, places: list[float]) -> list[str]:
    at = sorted({0, len(text), *(int(place * len(text)) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(at)]


@settings(deadline=None)
@given(answers_with_format)
def test_parse_of_rendered_answer_gives_it_back(pair: tuple[ModelFormat, ParsedOutput]) -> None:
    fmt, answer = pair

    text = render(answer, fmt)

    assert parse_pieces([text], fmt, reasoning=bool(answer.reasoning)) == answer


@settings(deadline=None)
@given(answers_with_format)
def test_parse_of_rendered_answer_fed_by_character_gives_it_back(
    pair: tuple[ModelFormat, ParsedOutput],
) -> None:
    fmt, answer = pair

    text = render(answer, fmt)

    assert parse_pieces(list(text), fmt, reasoning=bool(answer.reasoning)) == answer


@settings(deadline=None)
@given(model_text, formats, st.booleans(), st.booleans(), st.lists(st.floats(0, 1), max_size=8))
def test_events_of_any_text_do_not_depend_on_how_it_is_cut(
    text: str, fmt: ModelFormat, tools: bool, reasoning: bool, places: list[float]
) -> None:
    reasoning = reasoning and fmt.reasoning is not None

    whole = events_of([text], fmt, tools=tools, reasoning=reasoning)

    assert events_of(_cut(text, places), fmt, tools=tools, reasoning=reasoning) == whole
    assert events_of(list(text), fmt, tools=tools, reasoning=reasoning) == whole


@settings(deadline=None)
@given(answers_with_format, st.lists(st.floats(0, 1), max_size=8), st.floats(0, 1))
def test_events_of_a_truncated_answer_do_not_depend_on_how_it_is_cut(
    pair: tuple[ModelFormat, ParsedOutput], places: list[float], kept: float
) -> None:
    fmt, answer = pair
    text = render(answer, fmt)
    text = text[: int(kept * len(text))]
    reasoning = bool(answer.reasoning)

    whole = events_of([text], fmt, reasoning=reasoning)

    assert events_of(_cut(text, places), fmt, reasoning=reasoning) == whole
    assert events_of(list(text), fmt, reasoning=reasoning) == whole


@settings(deadline=None)
@given(st.sampled_from(THINKING).flatmap(lambda fmt: st.tuples(st.just(fmt), answers(fmt))))
def test_prompt_that_opens_the_block_is_read_like_a_model_that_does(
    pair: tuple[ModelFormat, ParsedOutput],
) -> None:
    fmt, answer = pair
    answer = dataclasses.replace(answer, reasoning=answer.reasoning or "so")
    assert fmt.reasoning is not None
    opened = dataclasses.replace(fmt, reasoning=dataclasses.replace(fmt.reasoning, in_prompt=True))

    text = render(answer, opened)

    assert fmt.reasoning.begin + fmt.reasoning.pad + text == render(answer, fmt)
    assert parse_pieces([text], opened, reasoning=True) == answer


@settings(deadline=None)
@given(model_text, formats)
def test_without_tools_and_reasoning_the_text_is_content(text: str, fmt: ModelFormat) -> None:
    assert parse_pieces([text], fmt, tools=False) == ParsedOutput(content=text)
