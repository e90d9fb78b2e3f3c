"""One request in the engine: prompt and plan in, choices out, everything counted once.

Life: `start` (plan and prompt, checked; nothing runs yet) -> `chunks()` drained by the route -> the choices
and the usage. The outcome is counted when `chunks()` ends, whichever way it ends.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from server import record
from server.answer import ChoiceAnswer
from server.budget import NO_BUDGET, Budget, decide, wants_budget
from server.captures import CaptureReader, names_parts
from server.engines.base import (
    Delta,
    EngineError,
    EngineUnavailable,
    GenerationRequest,
    SamplingOptions,
)
from server.errors import ApiError, refuse, unavailable
from server.pipeline import Plan, offers_tools, plan, wants_reasoning
from server.state import ServerState
from server.wire.chat_request import ChatRequest
from server.wire.chat_response import ChunkChoice, Usage
from server.wire.messages import for_template
from structural_tags.formats import ModelFormat
from structural_tags.formats.prompt import as_prompted
from structural_tags.output import OutputParser

_GREEDY_TOP_P = 1e-6
"""OpenAI allows top_p 0, samplers want more than 0; this keeps the single most likely token."""


_END_TOKENS = 64
"""As many tokens as the longest mark of a format may have, and the white space around it."""


class Generation:
    """One request's choices while they are made. Belongs to one task at a time."""

    def __init__(
        self,
        state: ServerState,
        request: GenerationRequest,
        answers: list[ChoiceAnswer],
        arrived: float,
        *,
        warning: str | None = None,
    ) -> None:
        self.id = request.request_id
        self.warning = warning
        """One sentence about what was not done as wished, for a header."""
        self.created = int(time.time())
        self.answers = answers
        self._state = state
        self._request = request
        self._arrived = arrived
        self._completion_tokens = 0
        self._record = record.current()
        self._record.response_id = request.request_id
        self._record.model = state.engine.model_id
        self._record.constrained = request.structural_tag is not None
        self._record.prompt_tokens = len(request.prompt_token_ids)
        self._record.planned_seconds = time.perf_counter() - arrived

    @property
    def usage(self) -> Usage:
        prompt, completion = len(self._request.prompt_token_ids), self._completion_tokens
        return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)

    async def chunks(self) -> AsyncGenerator[ChunkChoice, None]:
        """Deltas of all choices as clients see them; the engine's request is freed when this ends.

        Raises:
            EngineUnavailable, EngineError: the engine gave up; choices may be incomplete.
        """
        metrics = self._state.metrics
        metrics.prompt(len(self._request.prompt_token_ids))
        try:
            with metrics.running():
                async with aclosing(self._state.engine.generate(self._request)) as deltas:
                    async for delta in deltas:
                        self._count(delta)
                        await self.answers[delta.index].read_captures(delta)
                        for chunk in self._push(delta):
                            yield chunk
        finally:
            metrics.request_took(time.perf_counter() - self._arrived)
            metrics.generated(self._completion_tokens)
            self._record.completion_tokens = self._completion_tokens
        for answer in self.answers:
            if answer.finish_reason is None:
                raise EngineError("the engine ended before the choice was complete")
            metrics.choice_finished(answer.finish_reason)
        self._record.finish_reason = ",".join(str(answer.finish_reason) for answer in self.answers)

    def _push(self, delta: Delta) -> list[ChunkChoice]:
        """The delta's chunks; openai-python keeps choices in a list and needs them to begin in order."""
        chunks = self.answers[delta.index].push(delta)
        if not chunks:
            return []
        earlier = self.answers[: delta.index]
        return [opening for answer in earlier for opening in answer.opening()] + chunks

    def _count(self, delta: Delta) -> None:
        if delta.finish_reason == "abort":
            raise EngineUnavailable("the engine stopped while it generated")
        if delta.finish_reason == "error":
            raise EngineError("the engine failed while it generated")
        if delta.token_ids and self._completion_tokens == 0:
            self._record.first_token_seconds = time.perf_counter() - self._arrived
            self._state.metrics.first_token(self._record.first_token_seconds)
        self._completion_tokens += len(delta.token_ids)


async def start(state: ServerState, request: ChatRequest, *, arrived: float) -> Generation:
    """Plan, prompt and sampling of a checked request.

    `arrived` is `time.perf_counter()` at the request's arrival.

    Raises:
        ApiError: 400 for what cannot be enforced or does not fit, 503 when the engine is down.
        PromptError: the chat template refuses the messages.
    """
    if not state.is_available():
        raise unavailable()
    loop = asyncio.get_running_loop()
    wanted = wants_reasoning(request, state.model_format, by_default=state.default_reasoning)
    prompt, end = await asyncio.to_thread(_prompt, state, request, wanted)
    model_format, reasoning = as_prompted(state.model_format, end, reasoning=wanted)
    planned = await loop.run_in_executor(state.compile_threads, _plan, state, request, model_format, reasoning)
    _check_tokens(state, request, constrained=planned.structural_tag is not None)
    sampling = _sampling(state, request, len(prompt))
    budget = NO_BUDGET
    if wants_budget(request, planned, by_default=state.settings.model.complete_within_budget):
        budget = await loop.run_in_executor(
            state.compile_threads, _budget, state, request, planned, model_format, sampling
        )
    parsers = [
        OutputParser(
            model_format,
            tools=planned.tools,
            reasoning=planned.reasoning,
            response=planned.response,
        )
        for _ in range(sampling.n)
    ]
    readers = _readers(state, planned, sampling)
    answers = [
        ChoiceAnswer(
            index,
            parser,
            logprobs=sampling.logprobs is not None,
            id_length=model_format.id_length,
            text_ends_at=sampling.max_tokens if budget.applies and planned.free_text else None,
            captures=next(readers, None),
        )
        for index, parser in enumerate(parsers)
    ]
    engine_request = GenerationRequest(
        request_id=f"chatcmpl-{uuid.uuid4().hex}",
        prompt_token_ids=tuple(prompt),
        sampling=sampling,
        structural_tag=planned.structural_tag,
        complete_within_budget=budget.applies,
    )
    return Generation(state, engine_request, answers, arrived, warning=budget.warning)


def _plan(state: ServerState, request: ChatRequest, model_format: ModelFormat, reasoning: bool) -> Plan:
    return plan(
        request,
        model_format,
        state.compiler,
        reasoning=reasoning,
        strict_tools=state.settings.model.strict_tools == "always",
        timer=state.metrics.compile_seconds.time,
    )


def _budget(
    state: ServerState, request: ChatRequest, planned: Plan, model_format: ModelFormat, sampling: SamplingOptions
) -> Budget:
    assert sampling.max_tokens is not None
    return decide(
        request,
        planned,
        model_format,
        state.compiler,
        max_tokens=sampling.max_tokens,
        stop_token_ids=_stop_tokens(state, sampling),
    )


def _stop_tokens(state: ServerState, sampling: SamplingOptions) -> tuple[int, ...] | None:
    """All that end an answer; None for the vocabulary's alone."""
    more = sampling.stop_token_ids
    return (*state.engine.vocabulary.stop_token_ids, *more) if more else None


def _readers(state: ServerState, planned: Plan, sampling: SamplingOptions) -> Iterator[CaptureReader]:
    """One for each choice; none if the client has named no part."""
    if planned.grammar is not None and planned.structural_tag is not None and names_parts(planned.structural_tag):
        for _ in range(sampling.n):
            yield CaptureReader(planned.grammar, _stop_tokens(state, sampling))


def _prompt(state: ServerState, request: ChatRequest, reasoning: bool) -> tuple[list[int], str]:
    """The prompt, and the text of its end."""
    messages = [for_template(message) for message in request.messages]
    tools = _tools_for_template(request) if offers_tools(request) else None
    prompt = state.engine.render_chat(messages, tools, reasoning=reasoning)
    return prompt, state.engine.text_of(prompt[-_END_TOKENS:])


def _tools_for_template(request: ChatRequest) -> list[dict[str, Any]]:
    """Tools as templates print them: without `strict`, which says nothing to the model."""
    tools = []
    for tool in request.tools or ():
        function: dict[str, Any] = {"name": tool.function.name}
        if tool.function.description is not None:
            function["description"] = tool.function.description
        function["parameters"] = tool.function.parameters or {"type": "object", "properties": {}}
        tools.append({"type": "function", "function": function})
    return tools


def _check_tokens(state: ServerState, request: ChatRequest, *, constrained: bool) -> None:
    """Ids are tokens of this model. A stop token that is text would be missing in answers that need the text."""
    size = state.engine.vocabulary.vocab_size
    named = {
        "stop_token_ids": request.stop_token_ids or (),
        "allowed_token_ids": request.allowed_token_ids or (),
        "logit_bias": [token for token, _ in request.biases],
    }
    for param, tokens in named.items():
        for token in tokens:
            if token >= size:
                refuse(param, f"the model has {size} tokens, {token} is none of them")
    for token in (request.stop_token_ids or ()) if constrained else ():
        if token not in state.engine.vocabulary.special_token_ids:
            refuse(
                "stop_token_ids", f"{token} is text; an answer with tools or a format can end at special tokens only"
            )


def _sampling(state: ServerState, request: ChatRequest, prompt_tokens: int) -> SamplingOptions:
    longest = state.engine.max_model_len
    room = longest - prompt_tokens
    if room < 1:
        raise ApiError(
            f"messages: the prompt has {prompt_tokens} tokens, and the model takes {longest} with the answer",
            param="messages",
            code="context_length_exceeded",
        )
    wanted = request.token_limit
    if wanted is not None and wanted > room:
        raise ApiError(
            f"{request.token_limit_name}: {wanted} tokens do not fit after a prompt of "
            f"{prompt_tokens}; the model takes {longest} together",
            param=request.token_limit_name,
            code="context_length_exceeded",
        )
    return SamplingOptions(
        temperature=request.temperature,
        top_p=_GREEDY_TOP_P if request.top_p == 0 else request.top_p,
        max_tokens=room if wanted is None else wanted,
        stop=tuple(request.stop or ()),
        seed=request.seed,
        n=request.n or 1,
        logprobs=(request.top_logprobs or 0) if request.logprobs else None,
        min_tokens=request.min_tokens or 0,
        logit_bias=request.biases,
        bad_words=tuple(request.bad_words or ()),
        allowed_token_ids=None if request.allowed_token_ids is None else tuple(request.allowed_token_ids),
        stop_token_ids=tuple(request.stop_token_ids or ()),
    )
