"""`POST /v1/completions`: each prompt is a request of its own to the engine; their choices are numbered one after the
other."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from server import serving, sse
from server.answer import Shown
from server.errors import ApiError, refuse
from server.generation import Generation, PromptTokens, check_engine, start_text
from server.merge import merged
from server.state import ServerState, state_of
from server.text_answer import TextAnswer
from server.wire.body import parse_object
from server.wire.chat_response import CompletionTokensDetails, PromptTokensDetails, Usage
from server.wire.completion_request import CompletionRequest, Prompt, parse_completion_request
from server.wire.completion_response import TextChoice, TextCompletion
from structural_tags.formats import FORMATS

router = APIRouter()

_TEXT = FORMATS["plain"]
"""Nothing in the text is a call or a mark, whatever the model."""


@router.post("/v1/completions")
async def completions(request: Request) -> Response:
    """Go on with one text or several, as JSON or as a stream of events."""
    state = state_of(request)
    return await serving.answer(state, _respond(state, request))


async def _respond(state: ServerState, request: Request) -> Response:
    arrived = time.perf_counter()
    wanted = await serving.checked_body(state, request, lambda raw: _parse(state, raw))
    state.check_model(wanted.model)
    work = serving.in_time(state, _start(state, wanted, arrived), arrived)
    answer = await sse.until_disconnect(request.receive, work)
    if wanted.stream:
        response: Response = await serving.stream(state, request, answer)
    else:
        await sse.until_disconnect(request.receive, serving.drain_all(answer.generations))
        response = Response(answer.whole().to_json(), media_type="application/json")
    serving.add_headers(response, answer.generations[0])
    return response


def _parse(state: ServerState, raw: bytes) -> CompletionRequest:
    server = state.settings.server
    body = parse_object(raw, max_depth=server.max_json_depth)
    return parse_completion_request(body, max_depth=server.max_json_depth, strict=server.strict_fields)


async def _start(state: ServerState, wanted: CompletionRequest, arrived: float) -> _Answer:
    check_engine(state, wanted)
    chat = wanted.as_chat()
    shows = Shown(
        token_ids=wanted.return_token_ids is True,
        tokens_by_id=wanted.return_tokens_as_token_ids is True,
    )
    generations, answers = [], []
    for number, prompt in enumerate(wanted.prompt):
        param = f"prompt[{number}]" if len(wanted.prompt) > 1 else "prompt"
        token_ids = await asyncio.to_thread(_token_ids, state, wanted, prompt, param)
        generation = await start_text(
            state,
            chat,
            PromptTokens(token_ids, param),
            _TEXT,
            reasoning=False,
            shows=shows,
            arrived=arrived,
            kind="cmpl",
        )
        echo = first = ""
        if wanted.echo:
            used = generation.prompt_token_ids
            first = state.engine.text_of(used[:1])
            # The tokens of a text may have one more at the beginning, and fewer when it was cut.
            echo = prompt if isinstance(prompt, str) and len(used) == len(token_ids) else state.engine.text_of(used)
        per_prompt = len(generation.answers)
        answers.append([TextAnswer(number * per_prompt + choice, wanted, echo, first) for choice in range(per_prompt)])
        generations.append(generation)
    return _Answer(state, wanted, generations, answers)


def _token_ids(state: ServerState, wanted: CompletionRequest, prompt: Prompt, param: str) -> Sequence[int]:
    if isinstance(prompt, str):
        prompt = tuple(state.engine.encode(prompt, special_tokens=wanted.add_special_tokens is not False))
        if not prompt:
            refuse(param, "is empty")
    size = state.engine.vocabulary.vocab_size
    for place, token in enumerate(prompt):
        if token >= size:
            refuse(f"{param}[{place}]", f"the model has {size} tokens, {token} is none of them")
    return prompt


class _Answer:
    """All choices of all prompts, whole or as the events of a stream."""

    def __init__(
        self,
        state: ServerState,
        wanted: CompletionRequest,
        generations: Sequence[Generation],
        answers: Sequence[Sequence[TextAnswer]],
    ) -> None:
        self.generations = generations
        self._state = state
        self._wanted = wanted
        self._answers = answers
        self._id = f"cmpl-{uuid.uuid4().hex}" if len(generations) > 1 else generations[0].id
        self._untold = set(range(len(generations)))
        """Prompts whose tokens the client waits for."""

    def whole(self) -> TextCompletion:
        """After all generations are drained."""
        choices = []
        for number, (generation, answers) in enumerate(zip(self.generations, self._answers, strict=True)):
            for answer, made in zip(answers, generation.answers, strict=True):
                choices.append(answer.whole(made.choice(), generation.prompt_logprobs))
                self._tell_prompt(number, choices[-1], once=False)
        return self._completion(choices, usage=self._usage())

    async def events(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(merged([generation.chunks() for generation in self.generations])) as chunks:
            async for number, chunk in chunks:
                answer = self._answers[number][chunk.index]
                piece = answer.piece(chunk, self.generations[number].prompt_logprobs)
                if piece is None:
                    continue
                self._tell_prompt(number, piece, once=True)
                usage = self._usage() if self._wanted.continuous_usage else None
                yield self._event([piece], usage)

    def closing(self) -> Sequence[bytes]:
        usage = [self._event([], self._usage())] if self._wanted.include_usage else []
        return [*usage, sse.DONE]

    def failing(self, error: ApiError) -> Sequence[bytes]:
        return [sse.error_event(error.body())]

    def _tell_prompt(self, number: int, choice: TextChoice, *, once: bool) -> None:
        """vLLM's `prompt_token_ids`: of each choice, or in the first piece of each prompt."""
        if self._wanted.return_token_ids and (not once or number in self._untold):
            choice.prompt_token_ids = list(self.generations[number].prompt_token_ids)
            self._untold.discard(number)

    def _event(self, choices: list[TextChoice], usage: Usage | None) -> bytes:
        completion = self._completion(choices)
        if self._wanted.include_usage:
            completion.usage = usage
        return sse.event(completion.to_json())

    def _completion(self, choices: list[TextChoice], usage: Usage | None = None) -> TextCompletion:
        completion = TextCompletion(
            id=self._id,
            object="text_completion",
            created=self.generations[0].created,
            model=self._state.engine.model_id,
            choices=choices,
            system_fingerprint=self._state.system_fingerprint,
        )
        if usage is not None:
            completion.usage = usage
        return completion

    def _usage(self) -> Usage:
        parts = [generation.usage for generation in self.generations]
        prompt = sum(part.prompt_tokens for part in parts)
        completion = sum(part.completion_tokens for part in parts) if self._wanted.generates else 0
        cached = sum(part.prompt_tokens_details.cached_tokens for part in parts)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=cached),
            completion_tokens_details=CompletionTokensDetails(reasoning_tokens=0),
        )
