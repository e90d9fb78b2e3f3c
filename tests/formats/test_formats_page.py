"""A newcomer's test: the made-up family of the page, added by following only the page."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from engine_native import Compiler, Matcher
from structural_tags.choice import Tool, build_tag
from structural_tags.formats import FORMATS, Arguments, Calls, CallSyntax, ModelFormat, Reasoning, Signs
from structural_tags.formats.arguments import MINIMAX
from structural_tags.formats.base import BARE
from structural_tags.output import Call, OutputParser, ParsedOutput, fold, render
from tests.formats.families import FAMILIES, NOW, WEATHER, events_of
from tests.formats.sampling import Sampler, phrases, vocabulary

PAGE = (Path(__file__).parents[2] / "docs" / "FORMATS.md").read_text("utf-8")
TOOLS = (Tool("get_weather", WEATHER), Tool("now", NOW))
ANSWER = ParsedOutput(
    "Look it up.", "Let me see.", (Call("get_weather", '{"city": "Paris", "days": 3}'), Call("now", "{}"))
)


def _owl() -> ModelFormat:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "docs/FORMATS.md", "exec"), names)
    owl = names["OWL"]
    assert isinstance(owl, ModelFormat)
    assert len(block.strip().splitlines()) <= 25
    return owl


def _text() -> str:
    (line,) = re.findall(r"^    (<\|hm\|>.*)$", PAGE, re.MULTILINE)
    return line.replace("␊", "\n")


def test_text_of_the_page_is_what_the_description_renders_and_parses() -> None:
    owl = _owl()

    assert render(ANSWER, owl) == _text()
    for pieces in ([_text()], list(_text())):
        assert fold(events_of(OutputParser(owl, tools=TOOLS, reasoning=True), pieces)) == ANSWER


@pytest.mark.parametrize("special", [False, True])
def test_grammar_of_the_description_accepts_the_text_and_draws_only_what_is_read(special: bool) -> None:
    owl = _owl()
    made, tokens = vocabulary(owl, special=special)
    tag = build_tag(owl, tools=TOOLS, tool_choice="auto", reasoning=True)
    assert tag is not None
    grammar = Compiler(made).compile_structural_tag(tag)
    calls = 0
    for seed in range(20):
        text = Sampler(grammar, tokens, phrases(owl, TOOLS), random.Random(seed)).draw(600)
        if text is not None:
            answer = fold(events_of(OutputParser(owl, tools=TOOLS, reasoning=True), [text]))
            assert "<|calls|>" not in answer.content
            calls += len(answer.calls)
    assert calls >= 5
    if not special:
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(_text().encode())
        assert matcher.can_terminate()
        assert not Matcher(grammar).accept_bytes(_text().replace("now", "then").encode())


def test_call_in_marks_of_the_page_is_rendered_accepted_and_read() -> None:
    """A family of the newcomer's own with the page's call in an XML style, reasoning opened by the prompt."""
    ((written, described),) = re.findall(
        r"Where the template writes `([^`]+)`.*?`(CallSyntax\(.*?\))`\. The", PAGE, re.DOTALL
    )
    syntax = eval(described, {"CallSyntax": CallSyntax, "BARE": BARE, "Arguments": Arguments, "MINIMAX": MINIMAX})
    heron = ModelFormat(
        name="heron",
        calls=Calls((syntax,), trigger="<do ", lead="\n"),
        reasoning=Reasoning("<muse>", "</muse>", in_prompt=True, after="\n"),
        sources=("the page",),
    )
    answer = ParsedOutput("Hm.", "Text.", (Call("get_weather", '{"city": "Paris"}'),))
    text = f"Hm.</muse>\nText.\n{written}"
    made, _ = vocabulary(heron, special=False)
    tag = build_tag(heron, tools=TOOLS, tool_choice="auto", reasoning=True)
    assert tag is not None
    matcher = Matcher(Compiler(made).compile_structural_tag(tag))

    assert render(answer, heron).replace(syntax.arguments.line + "</do>", "</do>") == text
    for pieces in ([text], list(text)):
        assert fold(events_of(OutputParser(heron, tools=TOOLS, reasoning=True), pieces)) == answer
    assert matcher.accept_bytes(text.encode())
    assert matcher.can_terminate()


def test_signs_of_the_page_tell_the_family_and_no_other() -> None:
    owl = _owl()
    template = "{{ tools }} <|calls|> <|/calls|>"

    assert [signs for signs in owl.signs if signs.fit(template, None)] == [Signs(("<|calls|>", "<|/calls|>"))]
    others = [fmt for fmt in FORMATS.values() if fmt.name != owl.name]
    assert not any(signs.fit(template, None) for fmt in others for signs in fmt.signs)


def test_table_of_the_page_lists_every_format_with_its_style() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9_]+)` \| (.*?) \|", PAGE, re.MULTILINE))

    assert set(FORMATS) <= set(rows)
    for fmt in FORMATS.values():
        if fmt.calls is None:
            assert rows[fmt.name] == "none"
            continue
        (arguments,) = (part for part in fmt.calls.syntaxes[0].parts if isinstance(part, Arguments))
        style = "JSON" if arguments.style.style == "json" else f"`{arguments.style.style}`"
        assert rows[fmt.name].endswith(style)
        assert rows[fmt.name].startswith("section") == fmt.calls.is_section


def test_table_of_the_page_says_which_formats_are_compared_with_a_template() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9_]+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE))

    compared = {name for name, source in rows.items() if source == "template, compared"}

    assert compared == {family.format for family in FAMILIES.values()}
