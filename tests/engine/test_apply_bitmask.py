"""``apply_bitmask`` against numpy, for every type of logits and awkward sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine_native import allocate_bitmask, apply_bitmask

SIZES = (1, 7, 31, 32, 33, 63, 64, 65, 255, 257, 1000, 4099)


def _mask(rng: np.random.Generator, rows: int, size: int) -> NDArray[np.int32]:
    words = rng.integers(0, 1 << 32, (rows, (size + 31) // 32), dtype=np.uint32)
    kind = rng.integers(0, 4, words.shape)
    words = np.where(kind == 0, np.uint32(0), np.where(kind == 1, np.uint32(0xFFFFFFFF), words))
    return np.ascontiguousarray(words.view(np.int32))


def _allowed(mask: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little")
    return bits[:, :size].astype(bool)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", SIZES)
def test_apply_for_numpy_logits_sets_forbidden_ones_to_minus_infinity(dtype: Any, size: int) -> None:
    rng = np.random.default_rng(size)
    logits = rng.standard_normal((5, size)).astype(dtype)
    logits[0, 0] = np.inf
    logits[1, size - 1] = np.nan
    mask = _mask(rng, 5, size)
    expected = np.where(_allowed(mask, size), logits, dtype(-np.inf))

    apply_bitmask(logits, mask)

    np.testing.assert_array_equal(logits.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("size", SIZES)
def test_apply_for_torch_logits_sets_forbidden_ones_to_minus_infinity(name: str, size: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(size)
    logits = torch.randn((4, size), generator=torch.Generator().manual_seed(size)).to(getattr(torch, name))
    mask = _mask(rng, 4, size)
    expected = logits.masked_fill(~torch.from_numpy(_allowed(mask, size)), float("-inf"))

    apply_bitmask(logits, torch.from_numpy(mask))

    assert torch.equal(logits, expected)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_apply_for_indices_touches_only_those_rows(name: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    logits = torch.randn((6, 100)).to(getattr(torch, name))
    mask = _mask(rng, 6, 100)
    allowed = torch.from_numpy(_allowed(mask, 100))
    expected = logits.clone()
    for row in (4, 1):
        expected[row].masked_fill_(~allowed[row], float("-inf"))

    apply_bitmask(logits, torch.from_numpy(mask), [4, 1])

    assert torch.equal(logits, expected)


def test_apply_for_one_row_accepts_vectors() -> None:
    logits = np.zeros(40, dtype=np.float32)
    mask = np.array([1, 2], dtype=np.int32)

    apply_bitmask(logits, mask)

    assert list(np.flatnonzero(np.isfinite(logits))) == [0, 33]


def test_apply_for_logits_wider_than_the_mask_raises() -> None:
    with pytest.raises(ValueError, match="65"):
        apply_bitmask(np.zeros((1, 65), dtype=np.float32), np.zeros((1, 2), dtype=np.int32))


@pytest.mark.parametrize("view", ["every_second_column", "transposed"])
def test_apply_for_strided_logits_raises_and_writes_nothing(view: str) -> None:
    whole = np.zeros((64, 64), dtype=np.float32)
    logits = whole[:, ::2] if view == "every_second_column" else whole.T

    with pytest.raises(ValueError, match="contiguous"):
        apply_bitmask(logits, np.zeros((64, 2), dtype=np.int32))

    assert (whole == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
def test_apply_for_other_types_raises(dtype: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        apply_bitmask(np.zeros((1, 32), dtype=dtype), np.zeros((1, 1), dtype=np.int32))


def test_apply_for_mask_of_another_type_raises() -> None:
    for mask in (np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.float32), [[1]]):
        with pytest.raises((ValueError, TypeError)):
            apply_bitmask(np.zeros((1, 32), dtype=np.float32), mask)


def test_apply_for_read_only_logits_raises() -> None:
    logits = np.zeros((1, 32), dtype=np.float32)
    logits.flags.writeable = False

    with pytest.raises((ValueError, TypeError, BufferError)):
        apply_bitmask(logits, np.zeros((1, 1), dtype=np.int32))


@pytest.mark.parametrize("indices", [[5], [-1], [0, 1, 9]])
def test_apply_for_index_outside_raises_and_writes_nothing(indices: list[int]) -> None:
    logits = np.zeros((5, 32), dtype=np.float32)

    with pytest.raises((ValueError, IndexError)):
        apply_bitmask(logits, np.zeros((5, 1), dtype=np.int32), indices)

    assert (logits == 0).all()


def test_allocate_bitmask_has_a_row_of_words_for_each_sequence() -> None:
    bitmask = np.asarray(allocate_bitmask(3, 65))

    assert bitmask.shape == (3, 3)
    assert bitmask.dtype == np.int32
