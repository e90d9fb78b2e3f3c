"""The mask application on a GPU: one Triton kernel over (mask rows, blocks of the vocabulary).

Layout: logits (rows, vocabulary) with unit stride along the vocabulary, any float type; mask (m, words)
int32, bit t % 32 of word t / 32 is 1 where token t is allowed; `targets` (m) int32 on the device says which
logits row each mask row is for, so nothing but the masks and that list is copied to the device in a step.

A program stores minus infinity at the forbidden tokens of its block and touches nothing else; logits are
never read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

BLOCK = 8192
"""Tokens per program; a multiple of 32."""


@triton.jit
def forbid_kernel(  # type: ignore[no-untyped-def]  # Triton reads annotations itself
    logits,
    logits_stride,
    targets,
    first_row,
    mask,
    mask_stride,
    vocab_size,
    PER_REQUEST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """PER_REQUEST == 0: targets[i] is a logits row. PER_REQUEST == k > 0: targets[i] is request * k + position, the row
    is first_row[request] + position, and a position past first_row[request + 1] is skipped."""
    row = tl.load(targets + tl.program_id(0))
    end = vocab_size
    if PER_REQUEST > 0:
        request = row // PER_REQUEST
        position = row % PER_REQUEST
        begin = tl.load(first_row + request)
        row = begin + position
        end = tl.where(row < tl.load(first_row + request + 1), vocab_size, 0)
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = token < end
    words = mask + tl.program_id(0).to(tl.int64) * mask_stride
    # 32 neighbours load the same word; the loads coalesce.
    word = tl.load(words + token // 32, mask=inside, other=-1)
    forbidden = ((word >> (token % 32)) & 1) == 0
    tl.store(logits + row.to(tl.int64) * logits_stride + token, -float("inf"), mask=inside & forbidden)


def launch(
    logits: torch.Tensor,
    mask: torch.Tensor,
    targets: torch.Tensor,
    first_row: torch.Tensor | None = None,
    per_request: int = 0,
) -> None:
    """Run the kernel on tensors of one device. Shapes and meaning as in the module's and the kernel's docstrings.

    Raises:
        ValueError: shapes do not fit, or the logits' vocabulary axis is not contiguous.
    """
    vocab_size = logits.shape[-1]
    if logits.stride(-1) != 1:
        raise ValueError("logits: the vocabulary axis must be contiguous")
    if mask.shape[1] * 32 < vocab_size or mask.shape[0] != targets.shape[0]:
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not fit {vocab_size} tokens and {targets.shape[0]} rows"
        )
    grid = (targets.shape[0], triton.cdiv(vocab_size, BLOCK))
    forbid_kernel[grid](
        logits,
        logits.stride(0),
        targets,
        targets if first_row is None else first_row,
        mask,
        mask.stride(0),
        vocab_size,
        PER_REQUEST=per_request,
        BLOCK=BLOCK,
    )


def apply_rows(logits: torch.Tensor, bitmask: npt.NDArray[np.int32], rows: Sequence[int]) -> None:
    """Mask row i (host memory) applies to logits row rows[i]; both are copied without waiting."""
    device = logits.device
    mask = torch.from_numpy(np.ascontiguousarray(bitmask))
    targets = torch.tensor(rows, dtype=torch.int32)
    if device.type == "cuda":
        # A pinned copy of our own: the caller's rows are rewritten by the next step.
        mask, targets = mask.pin_memory(), targets.pin_memory()
    launch(logits, mask.to(device, non_blocking=True), targets.to(device, non_blocking=True))
