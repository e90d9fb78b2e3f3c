"""Answers as real tokenizers cut them: the masks allow every token, wherever a token crosses a border between
free text, markers and arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from engine_native import Compiler, Matcher, Vocabulary, allocate_bitmask
from structural_tags.choice import Tool, build_tag
from structural_tags.formats import get_format
from structural_tags.output import Call, ParsedOutput, render

TOOLS = (
    Tool("get_weather", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    Tool("now", {"type": "object", "properties": {}, "additionalProperties": False}),
)
ANSWER = ParsedOutput(
    reasoning="The user wants <b>two</b> cities\n\n- Zürich\n- 東京 🦊 </thin\n",
    content="Let me look at both:\n\n",
    calls=(
        Call("get_weather", '{"city": "Zürich \\"HB\\""}'),
        Call("now", "{}"),
        Call("get_weather", '{"city": "東京 🦊\\n</tool_call>"}'),
    ),
)


@pytest.mark.parametrize("name", ["gemma3", "llama3_1", "qwen3"])
def test_masks_allow_every_token_of_a_rendered_answer(shared: Path, name: str) -> None:
    path = shared / "tokenizers" / name / "tokenizer.json"
    ids = Tokenizer.from_file(str(path)).encode(render(ANSWER, get_format("qwen3")), add_special_tokens=False).ids
    tag = build_tag(get_format("qwen3"), tools=TOOLS, tool_choice="auto", reasoning=True)
    assert tag is not None
    vocabulary = Vocabulary.from_tokenizer_json(str(path))
    matcher = Matcher(Compiler(vocabulary).compile_structural_tag(tag))
    mask = allocate_bitmask(1, vocabulary.vocab_size)

    for at, token in enumerate(ids):
        assert matcher.fill_bitmask(mask[0])
        assert mask[0][token // 32] >> (token % 32) & 1, f"token {at} of {ids}"
        assert matcher.accept_token(token)

    assert matcher.can_terminate()
