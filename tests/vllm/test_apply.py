"""The worker's mask application on CPU tensors, and which logits row each mask row is for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.vllm.conftest import needs_vllm

pytestmark = needs_vllm

VOCAB = 70  # three words, the last one partly used


def mask_of(*allowed: set[int]) -> Any:
    import numpy as np

    rows = np.zeros((len(allowed), 3), dtype=np.int32)
    view = rows.view(np.uint32)
    for row, tokens in enumerate(allowed):
        for token in tokens:
            view[row, token // 32] |= np.uint32(1 << (token % 32))
    return rows


def apply(logits: Any, batch: list[str], masked: list[str], mask: Any, drafts: dict[str, list[int]]) -> None:
    from server.vllm_plugin.apply import apply_grammar_bitmask

    arguments: tuple[Any, ...] = (
        SimpleNamespace(scheduled_spec_decode_tokens=drafts),
        SimpleNamespace(structured_output_request_ids=masked, grammar_bitmask=mask),
        SimpleNamespace(req_ids=batch),
    )
    apply_grammar_bitmask(*arguments, logits)


def allowed_rows(logits: Any) -> list[set[int]]:
    import torch

    return [set(torch.nonzero(row != -torch.inf).flatten().tolist()) for row in logits]


ALL = set(range(VOCAB))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_in_place_and_only_where_forbidden(dtype: str) -> None:
    import torch

    logits = torch.arange(3 * VOCAB).reshape(3, VOCAB).to(getattr(torch, dtype))
    before, address = logits.clone(), logits.data_ptr()
    apply(logits, ["a", "b", "c"], ["c", "a"], mask_of({0, 31, 69}, {32}), {})
    assert allowed_rows(logits) == [{32}, ALL, {0, 31, 69}]
    kept = logits != -torch.inf
    assert torch.equal(logits[kept], before[kept])
    assert logits.data_ptr() == address


def test_draft_positions_follow_each_request() -> None:
    import torch

    logits = torch.zeros(6, VOCAB)
    masks = mask_of({1}, {2}, {3}, {4})
    apply(logits, ["a", "b", "c"], ["c", "b"], masks, {"a": [7], "c": [8, 9]})
    assert allowed_rows(logits) == [ALL, ALL, {4}, {1}, {2}, {3}]


def test_a_masked_request_that_is_not_in_the_batch_is_skipped() -> None:
    import torch

    logits = torch.zeros(1, VOCAB)
    apply(logits, ["b"], ["gone", "b"], mask_of({1}, {2}), {})
    assert allowed_rows(logits) == [{2}]
    apply(logits, ["b"], ["gone"], mask_of({1}), {})
    assert allowed_rows(logits) == [{2}]


def test_the_runner_is_replaced_before_and_after_its_import(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    from vllm.v1.structured_output import utils

    from server.vllm_plugin import apply as module

    runner = types.ModuleType(module.RUNNER_MODULE)
    runner.apply_grammar_bitmask = utils.apply_grammar_bitmask  # type: ignore[attr-defined]
    monkeypatch.setattr(utils, "apply_grammar_bitmask", utils.apply_grammar_bitmask)  # restores it afterwards
    monkeypatch.setitem(sys.modules, module.RUNNER_MODULE, runner)
    module.replace_in_v1_runner()
    assert utils.apply_grammar_bitmask is module.apply_grammar_bitmask
    assert runner.apply_grammar_bitmask is module.apply_grammar_bitmask
    del runner.apply_grammar_bitmask
    with pytest.raises(AttributeError):
        module.replace_in_v1_runner()
