"""`vllm.general_plugins` entry point: plain `vllm serve` gets our backend.

vLLM calls `register` in every process before it builds an engine or a worker. Set `STRICTSERVE_VLLM_PLUGIN=0`
to leave a vLLM that merely shares the environment alone; our own server does so, because it passes config
strings instead.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Any

from server.vllm_plugin import version

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

SWITCH = "STRICTSERVE_VLLM_PLUGIN"


def register() -> None:
    """Replace the few names that vLLM's structured outputs go through. Idempotent.

    Raises:
        SystemExit: this vLLM was not tested. An ordinary exception while a plugin loads is only logged by vLLM, and
            requests would go on without our backend.
    """
    if os.environ.get(SWITCH) == "0":
        return
    try:
        version.check()
    except version.UnsupportedVllmError as error:
        raise SystemExit(f"{error} (or set {SWITCH}=0 to run vLLM without strictserve)") from None
    _replace_manager()
    _replace_validation()
    _replace_application()


def _replace_manager() -> None:
    from vllm.v1.structured_output import StructuredOutputManager

    original = StructuredOutputManager.grammar_init
    if hasattr(original, "strictserve"):
        return

    @functools.wraps(original)
    def grammar_init(self: StructuredOutputManager, request: Request) -> None:
        if request.structured_output_request is not None and self.backend is None:
            from server.vllm_plugin.install import install

            install(self)
        original(self, request)

    grammar_init.strictserve = True  # type: ignore[attr-defined]
    StructuredOutputManager.grammar_init = grammar_init


def _replace_validation() -> None:
    from vllm.sampling_params import SamplingParams

    original = SamplingParams._validate_structured_outputs
    if hasattr(original, "strictserve"):
        return

    @functools.wraps(original)
    def validate(self: SamplingParams, model_config: Any, config: Any, tokenizer: Any) -> None:
        if self.structured_outputs is None:
            return
        if model_config.is_diffusion or tokenizer is None:  # vLLM refuses these with a sentence of its own
            original(self, model_config, config, tokenizer)
            return
        _compile_for_errors(self, model_config, tokenizer)

    validate.strictserve = True  # type: ignore[attr-defined]
    SamplingParams._validate_structured_outputs = validate


_compilers: dict[int, tuple[Any, Any]] = {}
"""id of a tokenizer -> (that tokenizer, kept so that the id stays its own; its compiler)."""
_compilers_lock = threading.Lock()


def _compile_for_errors(params: SamplingParams, model_config: Any, tokenizer: Any) -> None:
    """Compile in the front end, so that what a client can get wrong is a 400 before the engine sees it."""
    from vllm.exceptions import VLLMValidationError
    from vllm.v1.structured_output.request import get_structured_output_key

    from engine_native import Compiler, EngineError, Vocabulary
    from server.vllm_plugin.backend import compile_text
    from server.vllm_plugin.budget import check_budget
    from server.vllm_plugin.stop_tokens import stop_token_ids

    with _compilers_lock:
        if id(tokenizer) not in _compilers:
            stop = stop_token_ids(model_config, tokenizer)
            vocabulary = Vocabulary.from_tokenizer(
                tokenizer, vocab_size=model_config.get_vocab_size(), stop_token_ids=stop
            )
            _compilers[id(tokenizer)] = (tokenizer, Compiler(vocabulary))
        _, compiler = _compilers[id(tokenizer)]
    assert params.structured_outputs is not None
    try:
        kind, text = get_structured_output_key(params.structured_outputs)
        check_budget(params, compile_text(compiler, kind, text))
    except (EngineError, ValueError) as error:
        raise VLLMValidationError(str(error), parameter="structured_outputs") from error


def _replace_application() -> None:
    from vllm.platforms import current_platform

    from server.vllm_plugin.apply import replace_in_v1_runner

    replace_in_v1_runner()
    if current_platform.is_cuda():
        from server.vllm_plugin.v2_runner import replace_in_v2_runner

        replace_in_v2_runner()
