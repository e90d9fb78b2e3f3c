"""The GPU's mask application without a GPU: arithmetic in Triton's interpreter, the build for sm_90 by its compiler."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None,
    reason="Triton or torch is not installed",
)


def run(code: str, **environment: str) -> str:
    """A process of its own: the interpreter is chosen when the kernel is defined."""
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


INTERPRETED = """
import numpy as np, torch
from server.vllm_plugin import triton_apply
from server.vllm_plugin.triton_apply import apply_rows, launch

triton_apply.BLOCK = 64  # several blocks, the last one partly used
dice = np.random.default_rng(1)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for vocab in (1, 31, 64, 200, 257):
        words = (vocab + 31) // 32
        mask = dice.integers(-2**31, 2**31, size=(3, words + 1), dtype=np.int64).astype(np.int32)[:, :words]
        octets = np.ascontiguousarray(mask).view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")[:, :vocab].astype(bool)
        base = torch.arange(6 * (vocab + 5), dtype=torch.float32).reshape(6, -1).to(dtype)

        logits, expected = base.clone()[:, :vocab], base.clone()[:, :vocab]
        rows = [4, 0, 5]
        for row, allowed in zip(rows, bits):
            expected[row][torch.from_numpy(~allowed)] = -torch.inf
        apply_rows(logits, mask, rows)
        assert torch.equal(logits, expected), (dtype, vocab)

        # Addressed by request * 2 + position; request 1 begins at row 2 and has one row, so its position 1 is skipped.
        logits, expected = base.clone()[:, :vocab], base.clone()[:, :vocab]
        first = torch.tensor([0, 2, 3], dtype=torch.int32)
        targets = torch.tensor([1, 2, 3], dtype=torch.int32)
        for row, allowed in zip((1, 2), bits):
            expected[row][torch.from_numpy(~allowed)] = -torch.inf
        launch(logits, torch.from_numpy(np.ascontiguousarray(mask)), targets, first, 2)
        assert torch.equal(logits, expected), ("per request", dtype, vocab)

logits = torch.zeros(2, 64)
for mask, rows, message in (
    (np.zeros((1, 1), np.int32), [0], "does not fit"),
    (np.zeros((2, 2), np.int32), [0], "does not fit"),
):
    try:
        apply_rows(logits, mask, rows)
    except ValueError as error:
        assert message in str(error)
    else:
        raise AssertionError("accepted")
print("same")
"""


def test_arithmetic_in_the_interpreter() -> None:
    assert run(INTERPRETED, TRITON_INTERPRET="1") == "same"


COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from server.vllm_plugin.triton_apply import forbid_kernel

target = GPUTarget("cuda", 90, 32)
for dtype in ("fp32", "fp16", "bf16"):
    for per_request in (0, 4):
        signature = {
            "logits": "*" + dtype, "logits_stride": "i32", "targets": "*i32", "first_row": "*i32", "mask": "*i32",
            "mask_stride": "i32", "vocab_size": "i32", "PER_REQUEST": "constexpr", "BLOCK": "constexpr",
        }
        source = triton.compiler.ASTSource(
            fn=forbid_kernel, signature=signature, constexprs={"PER_REQUEST": per_request, "BLOCK": 8192}
        )
        built = triton.compile(source, target=target)
        assert ".target sm_90" in built.asm["ptx"]
        print(len(built.asm["cubin"]) > 0)
"""


def test_compiles_for_sm_90() -> None:
    assert run(COMPILED, TRITON_INTERPRET="0").split() == ["True"] * 6
