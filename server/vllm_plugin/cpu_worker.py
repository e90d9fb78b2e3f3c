"""`worker_cls` on the CPU: vLLM's worker, with our mask application in its model runner."""

from __future__ import annotations

import sys
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker as VllmWorker

from server.vllm_plugin import version
from server.vllm_plugin.apply import RUNNER_MODULE, apply_grammar_bitmask, replace_in_v1_runner


class CpuWorker(VllmWorker):  # type: ignore[misc]
    """Raises UnsupportedVllm when this vLLM was not tested."""

    def init_device(self) -> None:
        version.check()
        super().init_device()
        replace_in_v1_runner()

    def mask_application(self) -> dict[str, Any]:
        """For tests, through `collective_rpc`: what applies the masks in this process, and what it has imported."""
        runner = sys.modules[RUNNER_MODULE]
        return {
            "ours": runner.apply_grammar_bitmask is apply_grammar_bitmask,  # type: ignore[attr-defined]
            "modules": sorted(sys.modules),
        }
