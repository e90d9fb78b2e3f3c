"""`scheduler_cls` of our server: vLLM's own scheduler, with our backend put in first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.vllm_plugin import version
from server.vllm_plugin.install import install

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.core.sched.interface import SchedulerInterface
    from vllm.v1.structured_output import StructuredOutputManager


def make_scheduler(
    *, vllm_config: VllmConfig, structured_output_manager: StructuredOutputManager, **arguments: Any
) -> SchedulerInterface:
    """Called once by the engine process in place of a scheduler class.

    Raises:
        UnsupportedVllmError: this vLLM was not tested. The engine process does not start.
    """
    version.check()
    install(structured_output_manager)
    if vllm_config.scheduler_config.async_scheduling:
        from vllm.v1.core.sched.async_scheduler import AsyncScheduler as Scheduler
    else:
        from vllm.v1.core.sched.scheduler import Scheduler
    return Scheduler(vllm_config=vllm_config, structured_output_manager=structured_output_manager, **arguments)
