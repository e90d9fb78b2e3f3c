"""Seeds on the CPU: a discarded sample must not use up a request's random numbers, nor kill the engine.

While a long prompt is prefilled in pieces, vLLM samples after every piece and throws the token away; then it
turns the request's generator back by an offset, which only CUDA generators have. On the CPU that is an
exception in the step loop. Here the generator's state is kept before such a sample and put back after it, so
a seed gives the same answer however the prompt was cut.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner


def keep_seeds(runner: CPUModelRunner) -> None:
    """Wrap the two methods of `runner` that sample and that turn generators back.

    Raises:
        AttributeError: vLLM has no such methods; the version guard should have stopped before.
    """
    sample, bookkeep = runner._sample, runner._bookkeeping_sync

    @functools.wraps(sample)
    def keeping_sample(*arguments: Any, **keywords: Any) -> Any:
        with _unchanged(_discarded(runner)):
            return sample(*arguments, **keywords)

    @functools.wraps(bookkeep)
    def bookkeep_without_turning_back(*arguments: Any, **keywords: Any) -> Any:
        batch = runner.input_batch
        generators, batch.generators = batch.generators, {}
        try:
            return bookkeep(*arguments, **keywords)
        finally:
            batch.generators = generators

    runner._sample = keeping_sample
    runner._bookkeeping_sync = bookkeep_without_turning_back


def _discarded(runner: CPUModelRunner) -> list[Any]:
    """Generators of the requests whose sample of this step is thrown away."""
    batch = runner.input_batch
    rows = np.nonzero(runner.discard_request_mask.np[: batch.num_reqs])[0]
    return [batch.generators[int(row)] for row in rows if int(row) in batch.generators]


@contextmanager
def _unchanged(generators: list[Any]) -> Iterator[None]:
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
