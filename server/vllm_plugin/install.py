"""Put our backend and our batched fill into vLLM's structured-output manager, in the engine process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.vllm_plugin.backend import NativeBackend
from server.vllm_plugin.batch_fill import BatchFill
from server.vllm_plugin.budget import CreateGrammar

if TYPE_CHECKING:
    from vllm.v1.structured_output import StructuredOutputManager


def install(manager: StructuredOutputManager) -> None:
    """Make `manager` compile and fill with our engine. A second call on the same manager does nothing.

    A backend that is set before the first request keeps vLLM from choosing one by name.
    """
    if isinstance(manager.backend, NativeBackend):
        return
    config = manager.vllm_config
    backend = NativeBackend(config, tokenizer=manager.tokenizer, vocab_size=config.model_config.get_vocab_size())
    manager.backend = backend
    manager.grammar_bitmask = BatchFill(manager, backend)
    manager._create_grammar = CreateGrammar(manager)
