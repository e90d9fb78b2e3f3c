"""The worker's side: forbid in the logits what the step's mask rows forbid, in place.

`apply_grammar_bitmask` takes the place of vLLM's function of that name in its V1 model runner, which the CPU
uses too. The engine's rows come compacted, in the scheduler's order; here each finds its row of the logits.
On the CPU the engine does the work for float32, float16 and bfloat16; on a GPU one Triton kernel does.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from engine_native import apply_bitmask
from server.vllm_plugin.empty_rows import keep_in_v1_samplers

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import GrammarOutput, SchedulerOutput
    from vllm.v1.worker.gpu_input_batch import InputBatch

RUNNER_MODULE = "vllm.v1.worker.gpu_model_runner"
SOURCE_MODULE = "vllm.v1.structured_output.utils"


def logits_rows(
    batch: Sequence[str], masked: Sequence[str], drafts: Mapping[str, Sequence[int]]
) -> tuple[list[int], list[int]]:
    """Which logits row each mask row is for.

    Args:
        batch: request ids in the order of the logits; each has 1 + its drafts rows.
        masked: request ids in the order of the mask; each has 1 + its drafts rows.
        drafts: request id -> scheduled draft tokens.

    Returns:
        (mask rows, logits rows), equally long. A masked request that is not in the batch has none.
    """
    first = {}
    row = 0
    for request_id in batch:
        first[request_id] = row
        row += 1 + len(drafts.get(request_id, ()))
    mask_rows: list[int] = []
    rows: list[int] = []
    mask_row = 0
    for request_id in masked:
        count = 1 + len(drafts.get(request_id, ()))
        if request_id in first:
            mask_rows.extend(range(mask_row, mask_row + count))
            rows.extend(range(first[request_id], first[request_id] + count))
        mask_row += count
    return mask_rows, rows


def apply_grammar_bitmask(
    scheduler_output: SchedulerOutput,
    grammar_output: GrammarOutput,
    input_batch: InputBatch,
    logits: torch.Tensor,
) -> None:
    """Set forbidden logits, (rows, vocabulary), to minus infinity. Signature of vLLM's function."""
    mask_rows, rows = logits_rows(
        input_batch.req_ids,
        grammar_output.structured_output_request_ids,
        scheduler_output.scheduled_spec_decode_tokens,
    )
    if not rows:
        return
    bitmask = grammar_output.grammar_bitmask
    if logits.is_cpu:
        apply_bitmask(logits, bitmask, rows, mask_indices=mask_rows)
        return
    if len(mask_rows) < bitmask.shape[0]:
        bitmask = bitmask[mask_rows]
    from server.vllm_plugin.triton_apply import apply_rows

    apply_rows(logits, bitmask, rows)


def replace_in_v1_runner() -> None:
    """Make the V1 model runner of this process use `apply_grammar_bitmask`, whether it is imported yet or not.

    Raises:
        AttributeError: vLLM has no function to replace; the version guard should have stopped before.
    """
    source = importlib.import_module(SOURCE_MODULE)
    modules: list[Any] = [source]
    if RUNNER_MODULE in sys.modules:
        modules.append(sys.modules[RUNNER_MODULE])
    for module in modules:
        getattr(module, "apply_grammar_bitmask")  # noqa: B009 - a missing name must raise
        module.apply_grammar_bitmask = apply_grammar_bitmask
    keep_in_v1_samplers()
