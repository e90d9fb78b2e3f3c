"""Everything that touches vLLM's internals.

Two ways in:

- our own server names `server.vllm_plugin.scheduler.make_scheduler` as `scheduler_cls` and a worker of
  `server.vllm_plugin.cpu_worker` or `cuda_worker` as `worker_cls`: strings that reach every process and fail loudly;
- plain `vllm serve` loads `server.vllm_plugin.plugin.register` through the entry-point group `vllm.general_plugins`.

Importing this package imports neither vLLM nor torch.
"""
