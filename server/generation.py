"""One request in the engine: prompt and plan in, choices out, everything counted once.

Life: `start` or `start_text` (plan and prompt, checked; nothing runs yet) -> `chunks()` drained by the route -> the
choices and the usage. The outcome is counted when `chunks()` ends, whichever way it ends.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from server import record
from server.answer import ChoiceAnswer, Shown
from server.budget import NO_BUDGET, Budget, decide, wants_budget
from server.captures import CaptureReader, names_parts
from server.deadline import within
from server.engines.base import (
    Delta,
    EngineError,
    EngineUnavailable,
    GenerationRequest,
    PromptError,
    SamplingOptions,
    TemplateOptions,
    TokenLogprob,
)
from server.errors import ApiError, refuse, unavailable
from server.pipeline import Plan, offers_tools, plan, wants_reasoning
from server.state import ServerState
from server.wire.chat_request import ChatRequest
from server.wire.chat_response import (
    ChunkChoice,
    CompletionTokensDetails,
    PromptTokensDetails,
    Usage,
)
from server.wire.messages import for_template, join
from server.wire.sampling import SamplingFields
from structural_tags.formats import ModelFormat, reasoning_switches
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
        param: str = "messages",
    ) -> None:
        """`param` is the field that the prompt comes from."""
        self.id = request.request_id
        self.warning = warning
        """What was not done as wished, for a header."""
        self.created = int(time.time())
        self.answers = answers
        self.prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None
        self._state = state
        self._request = request
        self._arrived = arrived
        self._param = param
        self._completion_tokens = 0
        self._cached_tokens = 0
        self._record = record.current()
        self._record.response_id = request.request_id
        self._record.model = state.engine.model_id
        self._record.constrained = request.structural_tag is not None
        self._record.prompt_tokens = len(request.prompt_token_ids)
        self._record.planned_seconds = time.perf_counter() - arrived

    @property
    def prompt_token_ids(self) -> tuple[int, ...]:
        return self._request.prompt_token_ids

    @property
    def usage(self) -> Usage:
        """Of what was generated so far."""
        prompt, completion = len(self._request.prompt_token_ids), self._completion_tokens
        reasoning = sum(answer.reasoning_tokens for answer in self.answers)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=self._cached_tokens),
            completion_tokens_details=CompletionTokensDetails(reasoning_tokens=reasoning),
        )

    async def chunks(self) -> AsyncGenerator[ChunkChoice, None]:
        """Deltas of all choices as clients see them; the engine's request is freed when this ends.

        Raises:
            ApiError: 429, too many requests are here already; 504, the request took too long.
            EngineUnavailable, EngineError: the engine gave up; choices may be incomplete.
        """
        metrics = self._state.metrics
        with self._state.admission.admitted(), metrics.running():
            metrics.prompt(len(self._request.prompt_token_ids))
            try:
                async with aclosing(self._deltas()) as deltas:
                    async for delta in deltas:
                        self._count(delta)
                        await self.answers[delta.index].read_captures(delta)
                        for chunk in self._push(delta):
                            yield chunk
            except PromptError as error:
                raise PromptError(str(error), param=error.param or self._param) from error
            finally:
                metrics.request_took(time.perf_counter() - self._arrived)
                metrics.generated(self._completion_tokens)
                self._record.completion_tokens = self._completion_tokens
        for answer in self.answers:
            if answer.finish_reason is None:
                raise EngineError("the engine ended before the choice was complete")
            metrics.choice_finished(answer.finish_reason)
        self._record.finish_reason = ",".join(str(answer.finish_reason) for answer in self.answers)

    def _deltas(self) -> AsyncGenerator[Delta, None]:
        deltas = self._state.engine.generate(self._request)
        seconds = self._state.settings.server.request_timeout_seconds
        return deltas if seconds is None else within(deltas, self._arrived + seconds)

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
        self._cached_tokens = max(self._cached_tokens, delta.cached_tokens)
        if delta.prompt_logprobs is not None:
            self.prompt_logprobs = delta.prompt_logprobs


async def start(state: ServerState, request: ChatRequest, *, arrived: float) -> Generation:
    """Plan, prompt and sampling of a checked request.

    `arrived` is `time.perf_counter()` at the request's arrival.

    Raises:
        ApiError: 400 for what cannot be enforced or does not fit, 503 when the engine is down.
        PromptError: the chat template refuses the messages.
    """
    check_engine(state, request)
    wanted = wants_reasoning(request, state.model_format, by_default=state.default_reasoning)
    if request.continued is not None and state.model_format.answer is not None:
        refuse("continue_final_message", f"not supported by the format {state.model_format.name!r} of this model")
    prompt, end = await asyncio.to_thread(_prompt, state, request, wanted)
    if request.continued is not None:
        model_format, reasoning = replace(state.model_format, reasoning=None, prompted=""), False
    else:
        model_format, reasoning = as_prompted(state.model_format, end, reasoning=wanted)
    continued = request.continued if request.echo else None
    shows = Shown(
        reasoning=request.include_reasoning is not False,
        token_ids=request.return_token_ids is True,
        tokens_by_id=request.return_tokens_as_token_ids is True,
        echo="" if continued is None else join(continued.content),
    )
    return await start_text(
        state,
        request,
        PromptTokens(prompt, "messages"),
        model_format,
        reasoning=reasoning,
        shows=shows,
        arrived=arrived,
    )


class PromptTokens:
    """The tokens of a prompt, and the field of the request that they come from."""

    def __init__(self, token_ids: Sequence[int], param: str) -> None:
        self.token_ids = token_ids
        self.param = param


async def start_text(
    state: ServerState,
    request: ChatRequest,
    prompt: PromptTokens,
    model_format: ModelFormat,
    *,
    reasoning: bool,
    shows: Shown,
    arrived: float,
    kind: str = "chatcmpl",
) -> Generation:
    """The same for a prompt that is there already, after which the model writes in `model_format`.

    `kind` begins the request's id.

    Raises:
        ApiError: as above.
    """
    loop = asyncio.get_running_loop()
    planned = await loop.run_in_executor(state.compile_threads, _plan, state, request, model_format, reasoning)
    _check_tokens(state, request, constrained=planned.structural_tag is not None)
    token_ids = _truncated(prompt.token_ids, request, state.engine.max_model_len)
    sampling = _sampling(state, request, len(token_ids), prompt.param)
    if _needs_no_marks(planned, model_format):
        sampling = replace(
            sampling,
            skip_special_tokens=request.skip_special_tokens is not False,
            spaces_between_special_tokens=request.spaces_between_special_tokens is True,
        )
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
            custom_tools=request.custom_tools,
            reasons=planned.reasoning,
            shows=shows,
        )
        for index, parser in enumerate(parsers)
    ]
    engine_request = GenerationRequest(
        request_id=f"{kind}-{uuid.uuid4().hex}",
        prompt_token_ids=tuple(token_ids),
        sampling=sampling,
        structural_tag=planned.structural_tag,
        complete_within_budget=budget.applies,
        cache_salt=request.cache_salt,
        priority=request.priority or 0,
    )
    warnings = [f"unknown field: {name}" for name in request.unknown]
    if budget.warning is not None:
        warnings.append(budget.warning)
    return Generation(state, engine_request, answers, arrived, warning="; ".join(warnings) or None, param=prompt.param)


def check_engine(state: ServerState, request: SamplingFields) -> None:
    """ApiError (503, 429, 400) if the request cannot be served now, or not here."""
    if not state.is_available():
        raise unavailable()
    state.admission.check()
    if request.priority and not state.engine.has_priorities:
        refuse("priority", "must be 0: this server schedules requests as they come", code="unsupported_parameter")


def _needs_no_marks(planned: Plan, model_format: ModelFormat) -> bool:
    """Whether nothing in the answer is told from text by special tokens."""
    marked = model_format.answer is not None or bool(model_format.close)
    return planned.structural_tag is None and planned.tools is None and not planned.reasoning and not marked


def _truncated(prompt: Sequence[int], request: SamplingFields, longest: int) -> Sequence[int]:
    """The end of the prompt, if the client wants no more than that."""
    most = request.truncate_prompt_tokens
    if most is None:
        return prompt
    if most == -1:
        most = longest - (request.token_limit or 1)
    return prompt[-most:] if most > 0 else prompt


async def count_prompt(state: ServerState, request: ChatRequest) -> int:
    """Tokens of the prompt that a checked request makes. Raises PromptError when the chat template refuses it."""
    wanted = wants_reasoning(request, state.model_format, by_default=state.default_reasoning)
    prompt, _ = await asyncio.to_thread(_prompt, state, request, wanted)
    return len(prompt)


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


async def plan_of(state: ServerState, request: ChatRequest) -> Plan:
    """What a checked request would be constrained to, if its prompt ends as the model's format says.

    Raises:
        ApiError: 400 for what cannot be enforced, or does not fit in the tokens that the request allows.
    """
    loop = asyncio.get_running_loop()
    wanted = wants_reasoning(request, state.model_format, by_default=state.default_reasoning)
    planned = await loop.run_in_executor(state.compile_threads, _plan, state, request, state.model_format, wanted)
    _check_tokens(state, request, constrained=planned.structural_tag is not None)
    by_default = state.settings.model.complete_within_budget
    if request.token_limit is not None and wants_budget(request, planned, by_default=by_default):
        sampling = SamplingOptions(max_tokens=request.token_limit, stop_token_ids=tuple(request.stop_token_ids or ()))
        await loop.run_in_executor(
            state.compile_threads, _budget, state, request, planned, state.model_format, sampling
        )
    return planned


async def prompt_of(state: ServerState, request: ChatRequest) -> list[int]:
    """The prompt of a checked request. Raises PromptError when the chat template refuses it."""
    wanted = wants_reasoning(request, state.model_format, by_default=state.default_reasoning)
    prompt, _ = await asyncio.to_thread(_prompt, state, request, wanted)
    return prompt


def _prompt(state: ServerState, request: ChatRequest, reasoning: bool) -> tuple[list[int], str]:
    """The prompt, and the text of its end."""
    messages = [for_template(message) for message in request.messages]
    tools = _tools_for_template(request) if offers_tools(request) else None
    template = _template_options(request)
    thinks = reasoning and not template.continue_final_message
    prompt = state.engine.render_chat(messages, tools, reasoning=thinks, template=template)
    return prompt, state.engine.text_of(prompt[-_END_TOKENS:])


def _template_options(request: ChatRequest) -> TemplateOptions:
    """The switches of reasoning are left out: the server sets them all alike."""
    switches = reasoning_switches()
    variables = {name: value for name, value in (request.chat_template_kwargs or {}).items() if name not in switches}
    if request.reasoning_effort not in (None, "none"):
        variables.setdefault("reasoning_effort", request.reasoning_effort)
    continued = request.continue_final_message is True
    return TemplateOptions(
        generation_prompt=request.add_generation_prompt is not False and not continued,
        continue_final_message=continued,
        special_tokens=request.add_special_tokens is True,
        documents=None if request.documents is None else tuple(request.documents),
        variables=variables,
    )


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
    if constrained and request.ignore_eos:
        refuse("ignore_eos", "an answer with tools, a format or reasoning ends where it is complete")
    for token in (request.stop_token_ids or ()) if constrained else ():
        if token not in state.engine.vocabulary.special_token_ids:
            refuse(
                "stop_token_ids", f"{token} is text; an answer with tools or a format can end at special tokens only"
            )


def _sampling(state: ServerState, request: ChatRequest, prompt_tokens: int, param: str) -> SamplingOptions:
    longest = state.engine.max_model_len
    room = longest - prompt_tokens
    if room < 1:
        raise ApiError(
            f"{param}: the prompt has {prompt_tokens} tokens, and the model takes {longest} with the answer",
            param=param,
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
        top_k=None if request.top_k is None else max(request.top_k, 0),
        min_p=request.min_p,
        presence_penalty=request.presence_penalty,
        frequency_penalty=request.frequency_penalty,
        repetition_penalty=request.repetition_penalty,
        include_stop_str_in_output=request.include_stop_str_in_output is True,
        ignore_eos=request.ignore_eos is True,
        prompt_logprobs=request.prompt_logprobs,
    )
