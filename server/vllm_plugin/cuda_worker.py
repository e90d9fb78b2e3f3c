"""`worker_cls` on a GPU: vLLM's worker, with our mask application in its model runner, of either generation."""

from __future__ import annotations

from vllm.v1.worker.gpu_worker import Worker as VllmWorker

from server.vllm_plugin import version
from server.vllm_plugin.apply import replace_in_v1_runner


class CudaWorker(VllmWorker):
    """Raises UnsupportedVllmError when this vLLM was not tested."""

    def init_device(self) -> None:
        version.check()
        super().init_device()
        if self.use_v2_model_runner:
            from server.vllm_plugin.v2_runner import replace_in_v2_runner

            replace_in_v2_runner()
        else:
            replace_in_v1_runner()
