"""Token budgets in the engine process: a request that asks for one is whole within its `max_tokens`.

The wish travels in vLLM's `extra_args` of the sampling parameters (`vllm_xargs` over vLLM's own HTTP server),
because those reach the engine process unchanged; the number is the request's own, so that nothing can disagree
with it. The matcher keeps the rest: its masks, forks for draft tokens and rollbacks know what is left, and a
preempted request keeps its matcher.

One token is left for the stop token. Where vLLM's own reasoning parser keeps text away from the grammar, a budget
would count from the wrong place: such a request fails.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from engine_native import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

    from engine_native import Grammar
    from server.vllm_plugin.backend import RequestGrammar

log = logging.getLogger("vllm.strictserve")

COMPLETE_WITHIN_BUDGET = "complete_within_budget"
"""The key in `extra_args`; a true value asks for a budget."""


def content_tokens(request: Request, max_model_len: int) -> int | None:
    """How many tokens of text the request may have before its stop token; None if it asked for no budget."""
    if not _wished(request.sampling_params):
        return None
    return max(0, min(request.max_tokens, max_model_len - request.num_prompt_tokens) - 1)


def _wished(params: SamplingParams | None) -> bool:
    extra: dict[str, Any] = (params.extra_args if params is not None else None) or {}
    return bool(extra.get(COMPLETE_WITHIN_BUDGET))


def check_budget(params: SamplingParams, grammar: Grammar) -> None:
    """Where plain vLLM checks a request, so that the client is told.

    Raises:
        engine_native.EngineError: the grammar cannot be kept to a budget.
        ValueError: no answer is whole within the tokens.
    """
    if not _wished(params):
        return
    least = Matcher(grammar).least_tokens()
    if least is None:
        raise ValueError(f"{COMPLETE_WITHIN_BUDGET}: no tokens of the vocabulary complete the answer")
    if params.max_tokens is not None and least >= params.max_tokens:
        raise ValueError(f"max_tokens: the answer needs at least {least + 1} tokens to be whole")


class CreateGrammar:
    """Takes the place of `StructuredOutputManager._create_grammar`, which compiles on a thread of vLLM's."""

    def __init__(self, manager: StructuredOutputManager) -> None:
        self._manager = manager
        self._create: Callable[[Request], Any] = manager._create_grammar

    def __call__(self, request: Request) -> RequestGrammar:
        """
        Raises:
            engine_native.EngineError: the grammar cannot be compiled, or not be kept to a budget.
            ValueError: too few tokens for any text of the grammar, or vLLM parses the reasoning.
        """
        grammar: RequestGrammar = self._create(request)
        budget = content_tokens(request, self._manager.vllm_config.model_config.max_model_len)
        if budget is not None:
            try:
                self._set(request, grammar, budget)
            except Exception as error:
                log.error("request %s: %s: %s", request.request_id, COMPLETE_WITHIN_BUDGET, error)
                raise
        return grammar

    def _set(self, request: Request, grammar: RequestGrammar, budget: int) -> None:
        if self._manager._get_constraint_bounds(request, ()).constraint_start != 0:
            raise ValueError("vLLM's reasoning parser keeps text from the grammar")
        grammar.set_budget(budget)
