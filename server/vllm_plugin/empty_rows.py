"""A token is always left: where what a client forbids leaves nothing, the grammar's own choice stands.

vLLM applies a request's `allowed_token_ids` and `bad_words` after the grammar's mask, by minus infinity. When both
together forbid every token, its sampler works on rows without a number in them and takes a token that the grammar
refuses, which ends the request with an error. Here such a row gets back what it had before.

The others cannot empty a row: `logit_bias` is finite, and for `min_tokens` vLLM itself gives the stop tokens back.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def refilled(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """`after`, (rows, vocabulary), with the rows of `before` where nothing is left. Does not wait for the device."""
    empty = torch.isneginf(after).all(dim=-1, keepdim=True)
    return torch.where(empty, before.to(after.dtype), after)


def keep_in_v1_samplers() -> None:
    """For the samplers of the V1 model runner of this process, with drafts and without. Idempotent."""
    from vllm.v1.sample.rejection_sampler import RejectionSampler
    from vllm.v1.sample.sampler import Sampler

    _wrap(Sampler, "apply_logits_processors", _asks_v1)
    _wrap(RejectionSampler, "apply_logits_processors", _asks_v1)


def keep_in_v2_sampler() -> None:
    """For the sampler of the V2 model runner of this process. Idempotent."""
    from vllm.v1.worker.gpu.sample.sampler import Sampler

    _wrap(Sampler, "apply_sampling_params", _asks_v2)


def _asks_v1(sampler: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    metadata: Any = named["sampling_metadata"] if "sampling_metadata" in named else arguments[0]
    return metadata.allowed_token_ids_mask is not None or bool(metadata.bad_words_token_ids)


def _asks_v2(sampler: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    rows = named["idx_mapping_np"] if "idx_mapping_np" in named else arguments[2]
    counts = (
        getattr(processor, name)
        for processor in sampler.logits_processors
        for name in ("num_bad_words", "num_allowed_token_ids")
        if hasattr(processor, name)
    )
    return any(bool(np.any(count.np[rows])) for count in counts)


def _wrap(owner: type, name: str, asks: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]) -> None:
    """Refill what the method `name(self, logits, ...) -> logits` empties, in batches where `asks` says it could.

    Raises:
        AttributeError: vLLM has no such method; the version guard should have stopped before.
    """
    original = getattr(owner, name)
    if hasattr(original, "strictserve"):
        return

    @functools.wraps(original)
    def keeping(self: Any, logits: torch.Tensor, *arguments: Any, **named: Any) -> torch.Tensor:
        if not asks(self, arguments, named):
            unchanged: torch.Tensor = original(self, logits, *arguments, **named)
            return unchanged
        before = logits.clone()  # the method works in place
        return refilled(before, original(self, logits, *arguments, **named))

    keeping.strictserve = True  # type: ignore[attr-defined]
    setattr(owner, name, keeping)
