"""`worker_cls` on the CPU: vLLM's worker, with our mask application in its model runner."""

from __future__ import annotations

import sys
from typing import Any

from vllm.v1.worker.cpu_worker import CPUWorker as VllmWorker

from server.vllm_plugin import version
from server.vllm_plugin.apply import RUNNER_MODULE, apply_grammar_bitmask, replace_in_v1_runner
from server.vllm_plugin.cpu_seeds import keep_seeds


class CpuWorker(VllmWorker):
    """Raises UnsupportedVllmError when this vLLM was not tested."""

    def init_device(self) -> None:
        version.check()
        super().init_device()
        replace_in_v1_runner()
        if not self.use_v2_model_runner:
            keep_seeds(self.model_runner)

    def mask_application(self) -> dict[str, Any]:
        """For tests, through `collective_rpc`: whether this process applies masks with our function ("ours"), and which
        top-level modules it has imported, each with its file ("modules")."""
        runner = sys.modules[RUNNER_MODULE]
        modules = {
            name: getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if "." not in name
        }
        return {"ours": runner.apply_grammar_bitmask is apply_grammar_bitmask, "modules": modules}
