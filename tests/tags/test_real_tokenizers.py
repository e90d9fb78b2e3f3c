"""Answers as real tokenizers cut them: the masks allow every token, wherever a token crosses a border between
free text, markers and arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from engine_native import Compiler, Matcher, Vocabulary, allocate_bitmask
from structural_tags.choice import Tool, build_tag
from structural_tags.formats import get_format
from structural_tags.output import Call, OutputParser, ParsedOutput, fold, render

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


FAMILIES = [
    *(("deepseek_v3", "deepseek_v3"), ("deepseek_v3", "deepseek_r1"), ("deepseek_v3", "deepseek_v3_1")),
    *(("gptoss", "harmony"), ("llama3_1", "llama_3_json"), ("qwen3", "qwen3_coder"), ("gemma3", "function_gemma")),
]


@pytest.mark.parametrize(("tokenizer", "name"), FAMILIES)
def test_masks_allow_every_token_of_a_familys_answer(shared: Path, tokenizer: str, name: str) -> None:
    path = shared / "tokenizers" / tokenizer / "tokenizer.json"
    fmt = get_format(name)
    assert fmt.calls is not None
    calls = ANSWER.calls[: 1 if fmt.calls.single else 3]
    content = "" if fmt.answer is not None else ANSWER.content
    answer = ParsedOutput(ANSWER.reasoning if fmt.reasoning is not None else "", content, calls)
    text = render(answer, fmt)
    ids = Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids
    tag = build_tag(fmt, tools=TOOLS, tool_choice="auto", reasoning=fmt.reasoning is not None)
    assert tag is not None
    vocabulary = Vocabulary.from_tokenizer_json(str(path))
    matcher = Matcher(Compiler(vocabulary).compile_structural_tag(tag))
    mask = allocate_bitmask(1, vocabulary.vocab_size)

    for at, token in enumerate(ids):
        matcher.fill_bitmask(mask[0])
        assert mask[0][token // 32] >> (token % 32) & 1, f"token {at} of {ids}"
        assert matcher.accept_token(token)

    assert matcher.can_terminate()
    parser = OutputParser(fmt, tools=TOOLS, reasoning=fmt.reasoning is not None)
    read = fold([*parser.feed(text), *parser.finish()])
    assert (read.reasoning, read.content) == (answer.reasoning, answer.content)
    assert [json.loads(call.arguments) for call in read.calls] == [json.loads(call.arguments) for call in calls]


def test_mark_that_is_a_special_token_is_written_as_that(shared: Path) -> None:
    """A demanded call begins with ` to` or the token `<|channel|>`, whose text no other tokens can spell."""
    path = shared / "tokenizers" / "gptoss" / "tokenizer.json"
    tag = build_tag(get_format("harmony"), tools=TOOLS, tool_choice="required", reasoning=False)
    assert tag is not None
    vocabulary = Vocabulary.from_tokenizer_json(str(path))
    matcher = Matcher(Compiler(vocabulary).compile_structural_tag(tag))
    mask = allocate_bitmask(1, vocabulary.vocab_size)
    assert matcher.fill_bitmask(mask[0])
    real = Tokenizer.from_file(str(path))

    allowed = {id_ for id_ in range(vocabulary.vocab_size) if mask[0][id_ // 32] >> (id_ % 32) & 1}

    assert {id_ for id_ in allowed if (real.id_to_token(id_) or "").startswith("<")} == {
        real.token_to_id("<|channel|>")
    }
