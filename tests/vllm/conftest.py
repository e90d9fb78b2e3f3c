"""One real engine for all tests of this folder: vLLM on the CPU with the small model, started once."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from server.engines.base import Delta, GenerationRequest, SamplingOptions, TokenLogprob
from server.settings import Settings
from tests.conftest import REPOSITORY

T = TypeVar("T")

TRIPWIRES = Path(__file__).resolve().parent / "tripwires"
"""Stand-ins for other grammar engines; they come first on the path of every process of the engine."""

MODEL = Path(os.environ.get("STRICTSERVE_TEST_MODEL", REPOSITORY / "models" / "smollm2-135m"))

needs_vllm = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")


@dataclass
class Choice:
    """One choice, put together from its deltas."""

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: int | str | None = None

    def add(self, delta: Delta) -> None:
        assert self.finish_reason is None, "a delta after the last one"
        self.text += delta.text
        self.token_ids.extend(delta.token_ids)
        self.logprobs.extend(delta.logprobs)
        self.finish_reason = delta.finish_reason
        self.stop_reason = delta.stop_reason


class LiveEngine:
    """The engine on an event loop of its own, in a thread, so that tests are plain functions."""

    def __init__(self, settings: Settings) -> None:
        from server.engines.vllm import VllmEngine

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine", daemon=True)
        self._thread.start()
        self._count = 0
        self.engine = VllmEngine(settings)
        self.run(self.engine.start(), seconds=600)

    def run(self, work: Coroutine[Any, Any, T], *, seconds: float = 300) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def close(self) -> None:
        self.run(self.engine.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def prompt(self, text: str, tools: list[dict[str, Any]] | None = None) -> tuple[int, ...]:
        return tuple(self.engine.render_chat([{"role": "user", "content": text}], tools, reasoning=False))

    def request(self, prompt: tuple[int, ...] | str, tag: str | None = None, **sampling: Any) -> GenerationRequest:
        self._count += 1
        ids = self.prompt(prompt) if isinstance(prompt, str) else prompt
        options = SamplingOptions(**{"temperature": 1.0, "max_tokens": 64, "seed": self._count, **sampling})
        return GenerationRequest(f"test-{self._count}", ids, options, tag)

    def generate(self, *requests: GenerationRequest) -> list[list[Choice]]:
        """All requests at once; per request its choices in order of the index."""

        async def all_of_them() -> list[list[Choice]]:
            return list(await asyncio.gather(*map(self._one, requests)))

        return self.run(all_of_them(), seconds=900)

    async def _one(self, request: GenerationRequest) -> list[Choice]:
        choices = [Choice() for _ in range(request.sampling.n)]
        async with aclosing(self.engine.generate(request)) as deltas:
            async for delta in deltas:
                choices[delta.index].add(delta)
        return choices

    def metric(self, name: str, **labels: str) -> float:
        """One sample of the engine's metrics; 0 if there is none."""
        from prometheus_client.parser import text_string_to_metric_families

        for family in text_string_to_metric_families(self.engine.metrics().decode()):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return float(sample.value)
        return 0.0


@pytest.fixture(scope="session")
def model_directory() -> Path:
    if not (MODEL / "config.json").is_file():
        pytest.skip(f"no model at {MODEL}: `make model` prepares it")
    return MODEL


@pytest.fixture(scope="session")
def live(model_directory: Path) -> Iterator[LiveEngine]:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed")
    sys.path.insert(0, str(TRIPWIRES))  # child processes get this process's path
    try:
        # Small pieces, so that ordinary prompts are prefilled in several.
        settings = {
            "model": {"path": str(model_directory), "max_model_len": 1280},
            "vllm": {"max_num_batched_tokens": 512},
        }
        engine = LiveEngine(Settings.model_validate(settings))
        try:
            yield engine
        finally:
            engine.close()
    finally:
        sys.path.remove(str(TRIPWIRES))
