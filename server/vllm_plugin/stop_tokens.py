"""Which tokens end an answer of a model: what vLLM adds to every request's own stop tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm.config import ModelConfig


def stop_token_ids(model_config: ModelConfig, tokenizer: Any) -> list[int]:
    """As `SamplingParams.update_from_generation_config` does: the tokenizer's, and those of the generation config."""
    found: set[int] = set()
    if tokenizer.eos_token_id is not None:
        found.add(int(tokenizer.eos_token_id))
    named = model_config.try_get_generation_config().get("eos_token_id")
    if named is not None:
        found.update([named] if isinstance(named, int) else named)
    return sorted(token for token in found if token < model_config.get_vocab_size())
