"""`complete_within_budget`: whether an answer can be kept whole within its tokens, told before it begins.

A budget only makes sense where something can be whole or not: calls, or an answer with a format. One token of
`max_tokens` is the stop token's, so that an answer that ends inside its budget ends like any other, with "stop".

A request that asks for it gets it or a 400. Where it is the server's default, what cannot have it is answered
without it, and with a warning; only an answer that is sure to be cut is refused there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from engine_native import Compiler, Grammar, LimitError, Matcher, UnsupportedSchemaError
from server.errors import ApiError
from server.pipeline import Plan
from server.wire.chat_request import ChatRequest
from structural_tags.choice import NamedTool, build_tag
from structural_tags.formats import ModelFormat

FIELD = "complete_within_budget"


@dataclass(frozen=True)
class Budget:
    """What was decided. `warning` is one sentence for the client, or None."""

    applies: bool
    warning: str | None = None


NO_BUDGET = Budget(applies=False)


def wants_budget(request: ChatRequest, plan: Plan, *, by_default: bool) -> bool:
    """Whether the answer can be whole or not, and is wanted whole."""
    wanted = by_default if request.complete_within_budget is None else request.complete_within_budget
    return wanted and plan.grammar is not None and bool(plan.response or plan.tools)


def decide(
    request: ChatRequest,
    plan: Plan,
    model_format: ModelFormat,
    compiler: Compiler,
    *,
    max_tokens: int,
    stop_token_ids: Sequence[int] | None = None,
) -> Budget:
    """Whether an answer that is wanted whole can be kept within `max_tokens`, its stop token included.

    `model_format` and `compiler` are the plan's. `stop_token_ids`: all that end an answer; None for the vocabulary's.

    Raises:
        ApiError: 400, asked for and impossible, or fewer tokens than any answer needs.

    Cost: the first call for a grammar measures its rules. Never call it on the event loop.
    """
    assert plan.grammar is not None
    asked = request.complete_within_budget is True
    if asked and request.stop:
        _refuse("stop: a stop string may cut the answer anywhere; leave it out")
    try:
        least = Matcher(plan.grammar, stop_token_ids=stop_token_ids).least_tokens()
    except (UnsupportedSchemaError, LimitError) as error:
        return _without(f"{_culprit(request, plan, model_format, compiler)}: {error.message}", asked=asked)
    if least is None:
        return _without("the model's vocabulary has no tokens that complete the answer", asked=asked)
    if least >= max_tokens:
        raise _too_few(request, least + 1, max_tokens)
    warning = f"{FIELD}: a stop string may still cut the answer" if request.stop else None
    return Budget(applies=True, warning=warning)


def _without(reason: str, *, asked: bool) -> Budget:
    if asked:
        _refuse(reason)
    return Budget(applies=False, warning=f"{FIELD}: not applied: {reason}")


def _refuse(reason: str) -> NoReturn:
    raise ApiError(f"{FIELD}: {reason}", param=FIELD, code="unsupported_parameter")


def _too_few(request: ChatRequest, needed: int, given: int) -> ApiError:
    advice = f"ask for more, or set {FIELD} to false"
    if request.token_limit is None:
        return ApiError(
            f"messages: the answer needs at least {needed} tokens to be whole, and the prompt leaves {given}; "
            f"shorten it, or set {FIELD} to false",
            param="messages",
            code="context_length_exceeded",
        )
    name = request.token_limit_name
    return ApiError(
        f"{name}: the answer needs at least {needed} tokens to be whole, {given} are not enough; {advice}",
        param=name,
        code="token_budget_too_small",
    )


def _culprit(request: ChatRequest, plan: Plan, model_format: ModelFormat, compiler: Compiler) -> str:
    """The part of the request that cannot be measured, by itself or as the model writes it."""
    for param, grammar in plan.parts:
        if not _measurable(grammar):
            return param
    for tool in plan.tools or ():
        alone = build_tag(model_format, tools=(tool,), tool_choice=NamedTool(tool.name), reasoning=False)
        if alone is not None and not _measurable(compiler.compile_structural_tag(alone)):
            index = next(i for i, each in enumerate(request.tools or ()) if each.function.name == tool.name)
            return f"tools[{index}].function.parameters, as this model writes calls"
    return "tools" if plan.tools else "the answer"


def _measurable(grammar: Grammar) -> bool:
    try:
        Matcher(grammar).least_tokens()
    except (UnsupportedSchemaError, LimitError):
        return False
    return True
