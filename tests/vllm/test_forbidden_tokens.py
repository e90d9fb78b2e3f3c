"""What a client forbids and what the grammar allows: where nothing is left the grammar wins, in real vLLM."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from tests.vllm.conftest import LiveEngine, needs_vllm
from tests.vllm.tags import tag

pytestmark = needs_vllm

CODE = tag({"type": "regex", "pattern": "[0-9]{4}"})
NAME = tag({"type": "const_string", "value": "Paris"})


def digits(live: LiveEngine) -> list[int]:
    ids = [live.engine._tokenizer.convert_tokens_to_ids(str(digit)) for digit in range(10)]
    assert len(set(ids)) == 10
    return ids


def test_what_would_leave_no_token_gives_way(live: LiveEngine) -> None:
    wishes: list[dict[str, Any]] = [
        {"allowed_token_ids": (5,)},
        {"bad_words": tuple("0123456789")},
        {"min_tokens": 30},
        {"logit_bias": tuple((token, -100.0) for token in digits(live))},
    ]
    wishes.append({name: value for wish in wishes for name, value in wish.items()})
    wishes.append({**wishes[-1], "temperature": 0.0, "logprobs": 2})
    for choices in live.generate(*(live.request("A code.", CODE, **wish) for wish in wishes)):
        assert [(choice.finish_reason, len(choice.text), choice.text.isdigit()) for choice in choices] == [
            ("stop", 4, True)
        ]
    [[name]] = live.generate(live.request("Where?", NAME, bad_words=("Paris", "Par", "P", "is"), min_tokens=9))
    assert (name.text, name.finish_reason) == ("Paris", "stop")


def test_what_leaves_tokens_is_obeyed(live: LiveEngine) -> None:
    one, two, *others = digits(live)[1:]
    wishes: list[dict[str, Any]] = [
        {"allowed_token_ids": (one, two)},
        {"bad_words": tuple("03456789")},
        {"logit_bias": tuple((token, -100.0) for token in (*others, digits(live)[0]))},
    ]
    for [choice] in live.generate(*(live.request("A code.", CODE, **wish) for wish in wishes)):
        assert set(choice.text) <= set("12")
        assert len(choice.text) == 4
    longer = tag({"type": "regex", "pattern": "[0-9]{1,40}"})
    [[least]] = live.generate(live.request("A digit.", longer, min_tokens=20))
    assert len(least.token_ids) >= 20


def test_stop_tokens_of_a_request_end_what_can_end(live: LiveEngine) -> None:
    start = live.engine._tokenizer.convert_tokens_to_ids("<|im_start|>")
    bias = ((start, 100.0),)
    [[choice]] = live.generate(live.request("A code.", CODE, stop_token_ids=(start,), logit_bias=bias))
    assert (choice.finish_reason, choice.stop_reason, len(choice.text)) == ("stop", start, 4)


def test_a_row_that_is_emptied_gets_back_what_it_had() -> None:
    import torch

    from server.vllm_plugin.empty_rows import refilled

    low = -torch.inf
    before = torch.tensor([[low, 1.0, 2.0], [low, 3.0, low], [low, low, low]])
    after = torch.tensor([[low, 9.0, low], [low, low, low], [low, low, low]])
    assert refilled(before, after).tolist() == [[low, 9.0, low], [low, 3.0, low], [low, low, low]]


@pytest.mark.parametrize("asked", [True, False])
def test_the_v2_sampler_is_kept_from_emptying_rows(asked: bool) -> None:
    import numpy as np
    import torch

    from server.vllm_plugin.empty_rows import _asks_v2, _wrap

    class Sampler:
        """The parts of vLLM's V2 sampler that are used: counts by request, and a copy that is emptied."""

        def __init__(self) -> None:
            counts = SimpleNamespace(np=np.array([0, 2 if asked else 0]))
            self.logits_processors = [SimpleNamespace(num_bad_words=counts), SimpleNamespace()]

        def apply_sampling_params(self, logits: Any, expanded: Any, mapping: Any, mapping_np: Any) -> Any:
            return torch.full_like(logits, -torch.inf)

    _wrap(Sampler, "apply_sampling_params", _asks_v2)
    kept = Sampler().apply_sampling_params(torch.ones(1, 3), None, None, np.array([1]))
    others = Sampler().apply_sampling_params(torch.ones(1, 3), None, None, np.array([0]))
    assert kept.tolist() == [[1.0] * 3 if asked else [-torch.inf] * 3]
    assert others.tolist() == [[-torch.inf] * 3]


def test_the_names_in_vllm_are_where_they_are_replaced() -> None:
    from vllm.v1.sample.rejection_sampler import RejectionSampler
    from vllm.v1.sample.sampler import Sampler
    from vllm.v1.worker.gpu.sample.bad_words import BadWordsState
    from vllm.v1.worker.gpu.sample.logit_bias import LogitBiasState
    from vllm.v1.worker.gpu.sample.sampler import Sampler as V2Sampler

    from server.vllm_plugin.empty_rows import keep_in_v1_samplers, keep_in_v2_sampler

    original = V2Sampler.apply_sampling_params
    keep_in_v1_samplers()
    keep_in_v2_sampler()
    for replaced in (
        Sampler.apply_logits_processors,
        RejectionSampler.apply_logits_processors,
        V2Sampler.apply_sampling_params,
    ):
        assert hasattr(replaced, "strictserve")
    assert list(inspect.signature(original).parameters)[:5] == [
        "self",
        "logits",
        "expanded_idx_mapping",
        "idx_mapping",
        "idx_mapping_np",
    ]
    assert "num_bad_words" in BadWordsState.add_request.__code__.co_names
    assert "num_allowed_token_ids" in LogitBiasState.add_request.__code__.co_names
