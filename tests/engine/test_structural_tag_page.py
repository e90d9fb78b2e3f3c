"""The examples of the page about structural tags do what the page says."""

from __future__ import annotations

import json
import pathlib
import re
from functools import cache
from typing import Any

import pytest

from engine_native import Compiler, Matcher, Vocabulary

_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "STRUCTURAL_TAGS.md"
_EXAMPLE = re.compile(r"```json\n(.*?)```\n((?:- (?:yes|no): [^\n]*\n)+)", re.DOTALL)
_SPECIALS = ("<|call|>", "<|end|>", "<think>", "</think>")
_FORMATS = {
    *("const_string", "json_schema", "regex", "grammar", "any_text", "sequence", "or", "optional", "star", "plus"),
    *("repeat", "tag", "triggered_tags", "tags_with_separator", "dispatch", "token", "exclude_token", "any_tokens"),
    *("token_triggered_tags", "token_dispatch", "qwen_xml_parameter"),
}
_STYLES = {
    *("qwen_xml", "minimax_xml", "deepseek_xml", "deepseek_v4_1_xml", "glm_xml", "kimi_k3_xml", "cohere_xml"),
    *("minimax_m3_xml", "gemma", "qwen_padded_xml", "step_xml", "gigachat_xml", "function_gemma", "pythonic"),
    "longcat_xml",
}


@cache
def _compiler() -> Compiler:
    """A token for each byte, then the special tokens of the page and a stop token."""
    tokens = [bytes((byte,)) for byte in range(256)] + [text.encode() for text in _SPECIALS] + [b"</s>"]
    return Compiler(Vocabulary(tokens, special_token_ids=range(256, 261), stop_token_ids=[260]))


def _tokens(text: str) -> list[int]:
    parts = re.split("(" + "|".join(map(re.escape, _SPECIALS)) + ")", text)
    ids: list[int] = []
    for part in parts:
        ids += [256 + _SPECIALS.index(part)] if part in _SPECIALS else part.encode()
    return ids


def _examples() -> list[tuple[dict[str, Any], dict[str, bool]]]:
    found = []
    for source, lines in _EXAMPLE.findall(_PAGE.read_text(encoding="utf-8")):
        texts = {json.loads(line.split(": ", 1)[1]): line.startswith("- yes") for line in lines.splitlines()}
        found.append((json.loads(source), texts))
    return found


def _whole(example: dict[str, Any]) -> dict[str, Any]:
    is_whole = "structures" in example or "format" in example
    return example if is_whole else {"type": "structural_tag", "format": example}


@pytest.mark.parametrize(("example", "texts"), _examples())
def test_example_accepts_and_refuses_what_the_page_says(example: dict[str, Any], texts: dict[str, bool]) -> None:
    grammar = _compiler().compile_structural_tag(_whole(example))
    verdicts = {}
    for text in texts:
        matcher, tokens = Matcher(grammar), _tokens(text)
        verdicts[text] = matcher.accept_tokens(tokens) == len(tokens) and matcher.can_terminate()

    assert verdicts == texts


def test_page_has_an_example_of_every_format_and_style() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    blocks = "".join(source for source, _ in _EXAMPLE.findall(page))

    assert page.count("```json\n") == len(_examples())
    assert [name for name in _FORMATS if f'"type": "{name}"' not in blocks] == []
    assert [name for name in _STYLES if f'"style": "{name}"' not in blocks] == []
