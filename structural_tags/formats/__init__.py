"""Model formats by name. To add a family, add a file and list its formats here (docs/FORMATS.md)."""

from __future__ import annotations

from structural_tags.formats.base import (
    Arguments,
    Calls,
    CallSyntax,
    Identifier,
    Index,
    Marked,
    ModelFormat,
    Name,
    Reasoning,
    Signs,
    Word,
)
from structural_tags.formats.cohere import COMMAND_A, COMMAND_R7B, COMMAND_R_PLUS, COMMAND_XML
from structural_tags.formats.deepseek import (
    DEEPSEEK_R1,
    DEEPSEEK_V3,
    DEEPSEEK_V3_1,
    DEEPSEEK_V3_2,
    DEEPSEEK_V4,
    DEEPSEEK_V4_1,
)
from structural_tags.formats.ernie import ERNIE_4_5
from structural_tags.formats.gemma import FUNCTION_GEMMA, GEMMA_4
from structural_tags.formats.gigachat import GIGACHAT_3, GIGACHAT_3_1, GIGACHAT_3_5
from structural_tags.formats.glm import GLM_4_5, GLM_4_7
from structural_tags.formats.harmony import HARMONY
from structural_tags.formats.hermes import BIELIK, HERMES, HERMES_THINKING, REKA_EDGE, SMOLLM_3
from structural_tags.formats.hunyuan import HUNYUAN_3, HUNYUAN_A13B
from structural_tags.formats.json_lists import (
    APERTUS,
    APRIEL_1_5,
    APRIEL_1_6,
    FIREFUNCTION_V2,
    GRANITE_3,
    JAMBA,
    NEMOTRON_NANO_2,
    NEMOTRON_SUPER,
    PHI_4_MINI,
    PHI_4_MINI_MARKED,
    XLAM,
)
from structural_tags.formats.json_objects import (
    EXAONE_4,
    FUNCTIONARY_3_1,
    FUNCTIONARY_3_2,
    GRANITE_4,
    INTERNLM_2,
)
from structural_tags.formats.kimi_k2 import KIMI_K2, KIMI_K2_THINKING
from structural_tags.formats.kimi_k3 import KIMI_K3
from structural_tags.formats.llama import LLAMA_3_JSON, LLAMA_4_JSON, LLAMA_PYTHONIC
from structural_tags.formats.longcat import LONGCAT_FLASH, LONGCAT_THINKING
from structural_tags.formats.minimax import DOTS, MINIMAX_M2, MINIMAX_M3
from structural_tags.formats.mirothinker import MIROTHINKER
from structural_tags.formats.mistral import MISTRAL_CALL_ID, MISTRAL_REASONING, MISTRAL_V7, MISTRAL_V11
from structural_tags.formats.plain import PLAIN, PLAIN_THINKING
from structural_tags.formats.plamo import PLAMO_3
from structural_tags.formats.pythonic import LFM2, LFM2_5, OLMO_3
from structural_tags.formats.qwen3 import QWEN3, QWQ
from structural_tags.formats.qwen_xml import MIMO_V2, NEMOTRON_3, QWEN3_5, QWEN3_CODER, STEP_3_5
from structural_tags.formats.seed_oss import SEED_OSS
from structural_tags.formats.step import STEP_3

__all__ = [
    "FORMATS",
    "Arguments",
    "CallSyntax",
    "Calls",
    "Identifier",
    "Index",
    "Marked",
    "ModelFormat",
    "Name",
    "Reasoning",
    "Signs",
    "Word",
    "get_format",
    "reasoning_switches",
]

_ALL = (
    *(
        HERMES,
        HERMES_THINKING,
        SMOLLM_3,
        BIELIK,
        REKA_EDGE,
        LONGCAT_FLASH,
        LONGCAT_THINKING,
        MIROTHINKER,
        QWEN3,
        QWQ,
        QWEN3_CODER,
        QWEN3_5,
        NEMOTRON_3,
        STEP_3_5,
        MIMO_V2,
    ),
    *(SEED_OSS, GLM_4_5, GLM_4_7, MINIMAX_M2, MINIMAX_M3, DOTS, KIMI_K2, KIMI_K2_THINKING, KIMI_K3),
    *(DEEPSEEK_V3, DEEPSEEK_R1, DEEPSEEK_V3_1, DEEPSEEK_V3_2, DEEPSEEK_V4, DEEPSEEK_V4_1),
    *(
        LLAMA_3_JSON,
        LLAMA_4_JSON,
        LLAMA_PYTHONIC,
        LFM2,
        LFM2_5,
        OLMO_3,
        MISTRAL_V7,
        MISTRAL_V11,
        MISTRAL_CALL_ID,
        MISTRAL_REASONING,
    ),
    *(HARMONY, GEMMA_4, FUNCTION_GEMMA, COMMAND_R_PLUS, COMMAND_R7B, COMMAND_A, COMMAND_XML, STEP_3, ERNIE_4_5),
    *(
        APRIEL_1_5,
        APRIEL_1_6,
        APERTUS,
        JAMBA,
        HUNYUAN_A13B,
        HUNYUAN_3,
        PHI_4_MINI,
        PHI_4_MINI_MARKED,
        FIREFUNCTION_V2,
        XLAM,
    ),
    *(GRANITE_3, NEMOTRON_SUPER, NEMOTRON_NANO_2, PLAMO_3),
    *(EXAONE_4, GIGACHAT_3, GIGACHAT_3_1, GIGACHAT_3_5, INTERNLM_2, FUNCTIONARY_3_1, FUNCTIONARY_3_2, GRANITE_4),
    *(PLAIN, PLAIN_THINKING),
)

FORMATS: dict[str, ModelFormat] = {model_format.name: model_format for model_format in _ALL}


def reasoning_switches() -> frozenset[str]:
    """The names of all variables by which chat templates turn reasoning on and off."""
    return frozenset(fmt.reasoning.switch for fmt in FORMATS.values() if fmt.reasoning is not None) - {""}


def get_format(name: str) -> ModelFormat:
    """The format called `name`.

    Raises:
        ValueError: no such format; the message lists the known names.
    """
    if name not in FORMATS:
        raise ValueError(f"unknown model format {name!r}; known: {', '.join(sorted(FORMATS))}")
    return FORMATS[name]
