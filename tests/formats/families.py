"""Tools and answers that the tests of all families share, and the real templates of the families.

`FAMILIES` says for each stored template which format it is, and how its assistant's turn is cut out of what it
writes: `head` stands before it, `ends` behind it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from structural_tags.output import Call, Event, OutputParser, ParsedOutput, fold
from structural_tags.tools import Tool

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["C", "F"]},
        "metric": {"type": "boolean"},
    },
    "required": ["city"],
    "additionalProperties": False,
}
SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "options": {
            "type": "object",
            "properties": {"deep": {"type": "boolean"}, "note": {"type": "string"}},
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        "limit": {"type": ["number", "null"]},
    },
    "required": ["query"],
    "additionalProperties": False,
}
NOW: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
SCHEMAS = {"get_weather": WEATHER, "search": SEARCH, "now": NOW}
TOOLS = tuple(Tool(name, schema) for name, schema in SCHEMAS.items())

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_weather", {"city": "Zürich 10", "days": 3, "unit": "C"}),
    ("search", {"query": '"5" <b>', "options": {"deep": True}, "tags": ["x", "y"], "limit": 2.5}),
    ("get_weather", {"city": "5"}),
)


@dataclass(frozen=True)
class Family:
    format: str
    head: str
    ends: tuple[str, ...] = ("<eos>",)
    drops_content: bool = False
    """The template leaves the content out where there are calls."""
    drops_reasoning: bool = False
    without_reasoning: str = ""
    """What the template puts in the place of reasoning that is not there; in generation it is part of the prompt."""
    most_calls: int = 3
    text_arguments: bool = False
    """Arguments are given to the template as JSON text."""
    lists_tools: bool = True
    variables: dict[str, Any] = field(default_factory=dict)
    switch: str = ""
    """The variable that says whether there is reasoning."""
    reasoning_key: str = "reasoning_content"


_IK = "ikawrakow/ik_llama.cpp:"
_GG = "ggml-org/llama.cpp:"
_IM = "<|im_start|>assistant\n"
_IM_END = ("<|im_end|>",)
_LLAMA = "<|start_header_id|>assistant<|end_header_id|>\n\n"
_DEEPSEEK = "<｜Assistant｜>"
_DEEPSEEK_END = ("<｜end▁of▁sentence｜>",)
_COHERE = "<|CHATBOT_TOKEN|>"
_COHERE_END = ("<|END_OF_TURN_TOKEN|>",)

FAMILIES: dict[str, Family] = {
    _IK + "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": Family(
        "hermes", _IM, _IM_END, drops_content=True, lists_tools=False
    ),
    _IK + "Qwen-Qwen2.5-7B-Instruct": Family("hermes", _IM, _IM_END),
    _IK + "MiMo-VL": Family("hermes", _IM, _IM_END),
    _IK + "Bielik-11B-v3.0-Instruct": Family("bielik", _IM, _IM_END),
    _IK + "Reka-Edge": Family("reka_edge", "<sep>assistant:", ("\n\n<sep>",), switch="enable_thinking"),
    _IK + "Qwen-Qwen3-0.6B": Family("qwen3", _IM, _IM_END, without_reasoning="<think>\n\n</think>\n\n"),
    _IK + "Qwen-QwQ-32B": Family("qwq", _IM, _IM_END, drops_reasoning=True),
    _IK + "Qwen3-Coder": Family("qwen3_coder", _IM, _IM_END),
    _IK + "Qwen3.5-4B": Family("qwen3_5", _IM, _IM_END, without_reasoning="<think>\n\n</think>\n\n"),
    _IK + "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": Family(
        "nemotron_3", _IM, ("\n<|im_end|>",), without_reasoning="<think></think>"
    ),
    _IK + "StepFun3.5-Flash": Family("step_3_5", _IM, _IM_END, without_reasoning="<think>\n\n</think>\n"),
    _IK + "ByteDance-Seed-OSS": Family("seed_oss", "<seed:bos>assistant\n", ("<seed:eos>",)),
    _IK + "GLM-4.6": Family("glm_4_5", "<|assistant|>", without_reasoning="\n<think></think>"),
    _IK + "GLM-4.7-Flash": Family("glm_4_7", "<|assistant|>", without_reasoning="</think>"),
    _IK + "GLM-5.2": Family("glm_4_7", "<|assistant|>", without_reasoning="<think></think>"),
    _IK + "moonshotai-Kimi-K2": Family("kimi_k2", "<|im_middle|>", _IM_END),
    _IK + "Kimi-K2-Instruct": Family("kimi_k2", "<|im_middle|>", _IM_END),
    _IK + "Kimi-K2-Thinking": Family("kimi_k2_thinking", "<|im_middle|>", _IM_END, without_reasoning="<think></think>"),
    _IK + "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": Family(
        "deepseek_r1", _DEEPSEEK, _DEEPSEEK_END, drops_content=True, drops_reasoning=True
    ),
    _IK + "deepseek-ai-DeepSeek-V3.1": Family(
        "deepseek_v3_1", _DEEPSEEK, _DEEPSEEK_END, drops_reasoning=True, without_reasoning="<think></think>"
    ),
    _IK + "deepseek-ai-DeepSeek-V3.2": Family(
        "deepseek_v3_2", _DEEPSEEK, _DEEPSEEK_END, without_reasoning="</think>", switch="thinking"
    ),
    _IK + "deepseek-ai-DeepSeek-V4": Family(
        "deepseek_v4", _DEEPSEEK, _DEEPSEEK_END, without_reasoning="</think>", switch="thinking"
    ),
    _IK + "meta-llama-Llama-3.1-8B-Instruct": Family(
        "llama_3_json", _LLAMA, ("<|eot_id|>",), drops_content=True, most_calls=1
    ),
    _IK + "meta-llama-Llama-3.2-3B-Instruct": Family(
        "llama_3_json", _LLAMA, ("<|eot_id|>",), drops_content=True, most_calls=1
    ),
    _IK + "meetkai-functionary-medium-v3.1": Family("functionary_3_1", _LLAMA, ("<|eom_id|>",)),
    _GG + "meetkai-functionary-medium-v3.1": Family("functionary_3_1", _LLAMA, ("<|eom_id|>",), text_arguments=True),
    _IK + "meetkai-functionary-medium-v3.2": Family(
        "functionary_3_2", _LLAMA + ">>>", ("<|eot_id|>",), text_arguments=True
    ),
    _IK + "mistralai-Mistral-Nemo-Instruct-2407": Family("mistral_v7", "[/INST]", drops_content=True),
    _IK + "Mistral-Small-3.2-24B-Instruct-2506": Family("mistral_call_id", "[/INST]", drops_content=True),
    _IK + "mistralai-Ministral-3-14B-Reasoning-2512": Family("mistral_reasoning", "[/INST]", drops_reasoning=True),
    _IK + "unsloth-mistral-Devstral-Small-2507": Family("mistral_v11", "[/INST]"),
    _IK + "openai-gpt-oss-120b": Family(
        *("harmony", "<|start|>assistant", ("<|call|>", "<|return|>")),
        drops_content=True,
        most_calls=1,
        reasoning_key="thinking",
    ),
    _IK + "google-gemma-4-31B-it": Family("gemma_4", "<|turn>model\n", ("<turn|>", "<|tool_response>")),
    _IK + "google-gemma-4-31B-it-interleaved": Family("gemma_4", "<|turn>model\n", ("<turn|>", "<|tool_response>")),
    _IK + "Cohere2MoE": Family("command_a", _COHERE, _COHERE_END, drops_content=True),
    _IK + "CohereForAI-c4ai-command-r7b-12-2024-tool_use": Family(
        *("command_r7b", _COHERE, _COHERE_END),
        drops_content=True,
        without_reasoning="<|START_THINKING|><|END_THINKING|>",
    ),
    _GG + "CohereForAI-c4ai-command-r7b-12-2024-tool_use": Family(
        *("command_r7b", _COHERE, _COHERE_END),
        drops_content=True,
        drops_reasoning=True,
        without_reasoning="<|START_THINKING|><|END_THINKING|>",
    ),
    _IK + "CohereForAI-c4ai-command-r-plus-tool_use": Family(
        "command_r_plus", _COHERE, ("\n<|START_OF_TURN_TOKEN|>",), lists_tools=False
    ),
    _IK + "unsloth-Apriel-1.5": Family("apriel_1_5", "<|assistant|>\n", ("\n<|end|>",)),
    _IK + "Apriel-1.6-15b-Thinker-fixed": Family("apriel_1_6", "<|begin_assistant|>\n", ("\n<|end|>",)),
    _IK + "Apertus-8B-Instruct": Family("apertus", "<|assistant_start|>", drops_reasoning=True),
    _IK + "GigaChat3.1-10B-A1.8B": Family(
        "gigachat_3_1", "assistant<|role_sep|>\n", ("<|message_sep|>\n\n",), most_calls=1
    ),
    _IK + "fireworks-ai-llama-3-firefunction-v2": Family(
        "firefunction_v2", _LLAMA, ("<|eot_id|>",), variables={"functions": "[]", "datetime": "now"}
    ),
}


def message_of(answer: ParsedOutput, family: Family) -> dict[str, Any]:
    """The answer as templates take it."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.content}
    if answer.reasoning:
        message[family.reasoning_key] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": f"call{number:05}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments if family.text_arguments else json.loads(call.arguments),
                },
            }
            for number, call in enumerate(answer.calls)
        ]
    return message


def tools_for_template() -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
        for name, schema in SCHEMAS.items()
    ]


def made_calls(calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[Call, ...]:
    return tuple(Call(name, json.dumps(values, ensure_ascii=False)) for name, values in calls)


def parsed(events: Sequence[Event]) -> tuple[str, str, list[tuple[str, Any]]]:
    """Reasoning, content, and the calls with their arguments as values."""
    answer = fold(events)
    return answer.reasoning, answer.content, [(call.name, json.loads(call.arguments)) for call in answer.calls]


def events_of(parser: OutputParser, pieces: Sequence[str]) -> list[Event]:
    return [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
