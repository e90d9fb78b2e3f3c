"""The registry, what a description must satisfy, and telling a model's format from its chat template."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from structural_tags.formats import FORMATS, Arguments, Calls, CallSyntax, Identifier, Index, ModelFormat, get_format
from structural_tags.formats.arguments import GLM, JSON, PYTHONIC
from structural_tags.formats.base import BARE, QUOTED_NAME, Marked, Part, Word
from structural_tags.formats.recognise import recognise
from tests.formats.families import FAMILIES
from tests.formats.templates import stored_templates


def test_get_format_of_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match="unknown model format 'x'; known: ") as raised:
        get_format("x")

    assert str(raised.value).partition("known: ")[2].split(", ") == sorted(FORMATS)


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_format_names_its_sources(fmt: ModelFormat) -> None:
    assert get_format(fmt.name) is fmt
    assert all(fmt.sources)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("<c>", QUOTED_NAME, ": ", Arguments(JSON)), "quotation marks"),
        (('<c>"', QUOTED_NAME, ": ", Arguments(JSON)), "quotation marks"),
        (("<c>", BARE, "args", Arguments(JSON)), "more of it"),
        (("<c>", Arguments(JSON), BARE), "one name, and then its arguments"),
        (("<c>", BARE), "one name, and then its arguments"),
        (("<c>", BARE, ":", BARE, Arguments(JSON)), "one name, and then its arguments"),
        (("<c>", BARE, ":", Index(), Arguments(JSON)), "needs a text after it"),
        (("<c>", BARE, ":", Identifier(9), Arguments(JSON)), "needs a text after it"),
        (("<c>", Word("w"), BARE, ":", Arguments(JSON)), "needs a text after it"),
        (("<c>", Word("w"), "-", BARE, ":", Arguments(JSON)), "look like more of it"),
        (("<c>", BARE, "", Arguments(JSON)), "is empty"),
        (("<c>", BARE, "\n", Arguments(GLM)), "need a text after them"),
        (("<c>", BARE, "(", Arguments(PYTHONIC)), "need a text after them"),
        (("<c>", BARE, "\n", Arguments(GLM), "\n</c>"), "must not begin with white space"),
    ],
)
def test_call_that_cannot_be_parsed_back_is_refused(parts: tuple[Part, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CallSyntax(*parts)


def test_identifier_of_few_letters_is_refused() -> None:
    with pytest.raises(ValueError, match="at least five"):
        Identifier(4)


def test_format_whose_answers_do_not_begin_as_the_prompt_has_written_is_refused() -> None:
    calls = Calls((CallSyntax("<c>", BARE, ":", Arguments(JSON)),), trigger="<c>")

    with pytest.raises(ValueError, match="'x': every answer must begin with what the prompt has written"):
        ModelFormat(name="x", calls=calls, answer=Marked(">>>", ""), prompted=">>>", sources=("made up",))


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (Calls((CallSyntax("<c>", BARE, ":", Arguments(JSON)),), trigger="<call>"), "must begin with the trigger"),
        (Calls((CallSyntax(BARE, "(", Arguments(PYTHONIC), ")"),)), "must begin with a mark"),
        (Calls((CallSyntax("\n<c>", BARE, ":", Arguments(JSON)),), trigger="\n<c>"), "no white space"),
    ],
)
def test_format_whose_calls_cannot_be_told_from_text_is_refused(calls: Calls, message: str) -> None:
    with pytest.raises(ValueError, match=f"'x': .*{message}"):
        ModelFormat(name="x", calls=calls, sources=("made up",))


def test_format_without_sources_is_refused() -> None:
    with pytest.raises(ValueError, match="'x' names no source"):
        ModelFormat(name="x", sources=())


RECOGNISED = {name: family.format for name, family in FAMILIES.items()} | {
    "ikawrakow/ik_llama.cpp:GigaChat3-10B-A1.8B": "gigachat_3",
    "ikawrakow/ik_llama.cpp:MiroThinker": "mirothinker",
    "ikawrakow/ik_llama.cpp:LFM2-8B-A1B": "lfm2",
    "ikawrakow/ik_llama.cpp:LFM2.5-Instruct": "lfm2",
    "ikawrakow/ik_llama.cpp:deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_r1",
    "ikawrakow/ik_llama.cpp:llama-cpp-deepseek-r1": "deepseek_r1",
    "ikawrakow/ik_llama.cpp:ibm-granite-granite-3.3-2B-Instruct": "granite_3",
    "ggml-org/llama.cpp:deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_r1",
    "ggml-org/llama.cpp:llama-cpp-deepseek-r1": "deepseek_r1",
    "ggml-org/llama.cpp:fireworks-ai-llama-3-firefunction-v2": "firefunction_v2",
    "lenml:deepseek_v3": "deepseek_v3",
}
"""Templates and the formats they are told to be; beside `FAMILIES` those that print no calls, or not as models do."""
WITHOUT_TOOLS = {
    "ikawrakow/ik_llama.cpp:HuggingFaceTB-SmolLM3-3B": "plain_thinking",
    "ikawrakow/ik_llama.cpp:google-gemma-2-2b-it": "plain",
    "ikawrakow/ik_llama.cpp:llama-cpp-rwkv-world": "plain",
    "ikawrakow/ik_llama.cpp:microsoft-Phi-3.5-mini-instruct": "plain",
    "lenml:gemma3": "plain",
    "lenml:llama3_1": "plain",
}


def test_every_stored_template_is_told(shared: Path) -> None:
    told = {name: recognise(template) for name, template in stored_templates(shared).items()}

    assert {name: fmt.name if fmt else None for name, fmt in told.items()} == {
        **RECOGNISED,
        **WITHOUT_TOOLS,
    }


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("kimi_k3", "tools {{- open_tag('think') -}} '<|open|>' + tag"),
        ("gigachat_3_5", "tools 'function call' '<|role_sep|>\\n' '<｜GCML｜tool_calls>\\n'"),
        ("hunyuan_3", "tools '<tool_call>' '<tool_sep>' '<arg_key>' '<think>' '</think>'"),
        ("nemotron_nano_2", "tools '<SPECIAL_11>Assistant' '<TOOLCALL>[' '<think>'"),
        ("step_3_5", "tools '<tool_call>\\n<function=' '<|im_start|>assistant\\n<think>\\n'"),
        ("lfm2_5", 'tools "<|tool_call_start|>[" "<think>" "List of tools: "'),
        ("minimax_m2", "tools '<minimax:tool_call>' <invoke name="),
        ("minimax_m3", "tools ']<]minimax[>[' '<tool_call>' '<mm:think>'"),
        ("phi_4_mini", "tools prefix function calls with functools marker: functools[{"),
        ("phi_4_mini_marked", "tools <|tool_call|>{...}<|/tool_call|>"),
        ("llama_4_json", 'tools <|header_start|> {"name": function, "parameters": values}'),
        ("llama_pythonic", "tools <|header_start|> [func_name1(a=1), func_name2(...)]"),
        ("xlam", 'tools <|start_header_id|> xLAM [{"name": "tool_call_name", "arguments": {}}]'),
        ("hunyuan_a13b", 'tools <tool_calls>[{"name": "func_name1"}] <|extra_0|>'),
        ("internlm_2", "tools <|action_start|><|plugin|>"),
        ("smollm_3", 'xml_tools <tool_call> reasoning_mode == "/think" python_tools'),
        ("command_xml", "tools <cofl:tool_call id= <cofl:value name= <|START_TEXT|>"),
        ("longcat_flash", "tools <longcat_tool_call>"),
        ("olmo_3", "tools a pythonic function call wrapped in <function_calls></function_calls>"),
    ],
)
def test_template_that_is_not_stored_is_told_by_what_its_family_writes(name: str, template: str) -> None:
    assert recognise(template) is get_format(name)


def test_formats_without_tools_are_those_that_have_no_calls() -> None:
    assert Counter(fmt.name for fmt in FORMATS.values() if fmt.calls is None) == Counter(set(WITHOUT_TOOLS.values()))


def test_vocabulary_decides_where_the_template_shows_no_calls(shared: Path) -> None:
    template = stored_templates(shared)["ikawrakow/ik_llama.cpp:LFM2.5-Instruct"]

    assert recognise(template, tokens={"<|tool_call_start|>"}) is get_format("lfm2")
    assert recognise(template, tokens={"<|other|>"}) is None


def test_qwen3_markers_are_tokens_that_match_through_their_text(shared: Path) -> None:
    config = json.loads((shared / "tokenizers" / "qwen3" / "tokenizer_config.json").read_text("utf-8"))
    special = {token["content"]: token["special"] for token in config["added_tokens_decoder"].values()}
    markers = ("<tool_call>", "</tool_call>", "<think>", "</think>")

    assert {marker: special[marker] for marker in markers} == dict.fromkeys(markers, False)
    assert recognise(config["chat_template"]) is get_format("qwen3")
