"""vLLM's V2 model runner (its default on GPUs): its mask application replaced by our kernel.

That runner knows the logits' row offsets only on the device, so a mask row is addressed as request * stride +
position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from vllm.v1.worker.gpu import structured_outputs

from server.vllm_plugin.empty_rows import keep_in_v2_sampler
from server.vllm_plugin.triton_apply import launch

if TYPE_CHECKING:
    from vllm.v1.worker.gpu.input_batch import InputBatch


def replace_in_v2_runner() -> None:
    """Make the V2 model runner of this process use our kernel.

    Raises:
        AttributeError: vLLM has no method to replace; the version guard should have stopped before.
    """
    worker = structured_outputs.StructuredOutputsWorker
    getattr(worker, "apply_grammar_bitmask")  # noqa: B009 - a missing name must raise
    worker.apply_grammar_bitmask = _apply_grammar_bitmask
    keep_in_v2_sampler()


def _apply_grammar_bitmask(
    self: structured_outputs.StructuredOutputsWorker,
    logits: torch.Tensor,
    input_batch: InputBatch,
    grammar_req_ids: list[str],
    grammar_bitmask: npt.NDArray[np.int32],
) -> None:
    """Copy rows and targets on the worker's side stream, then forbid in place."""
    if not grammar_req_ids:
        return
    targets = structured_outputs._build_grammar_mapping(
        input_batch.req_ids,
        grammar_req_ids,
        input_batch.cu_num_logits_np,
        input_batch.num_draft_tokens_per_req,
        self.num_bonus_tokens,
        self.mask_stride,
    )
    count = len(targets)
    main = torch.cuda.current_stream()
    with torch.cuda.stream(self.copy_stream):
        mask = self.grammar_bitmask[:count]
        mask.copy_(torch.from_numpy(grammar_bitmask).pin_memory(), non_blocking=True)
        rows = self.logits_indices[:count]
        rows.copy_(torch.tensor(targets, dtype=torch.int32).pin_memory(), non_blocking=True)
    main.wait_stream(self.copy_stream)
    launch(logits, mask, rows, input_batch.cu_num_logits, self.mask_stride)
    # The buffers are reused by the next step's copies, which must wait for the kernel.
    self.copy_stream.wait_stream(main)
