"""A deterministic engine without a model: real masks, seeded dice instead of logits.

For tests of everything around a model. With a structural tag it draws tokens that the mask of
`engine_native` allows, so what it says is as valid, and as odd, as the grammar permits. Without one it replays
a script. Tokens are single bytes and one end token; what a request asked for, and what happened to it, is
recorded.

The dice lean towards ending: a stop token is taken half of the time where allowed, bytes that close
something are preferred, and `phrases` (reasoning's end, a call's beginning) are spelled out now and then, which
single random bytes would never do.
"""

from __future__ import annotations

import array
import asyncio
import codecs
import itertools
import math
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engine_native import Compiler, Matcher, Vocabulary
from server.engines.base import (
    PLAIN_TEMPLATE,
    Activity,
    Delta,
    EngineError,
    EngineUnavailable,
    FinishReason,
    GenerationRequest,
    PromptError,
    SamplingOptions,
    TemplateOptions,
    TokenLogprob,
)

T = TypeVar("T")

END = 256
"""The id of the end token; ids below are bytes."""

_CLOSING = frozenset(b'"}]>\n')
_PRINTABLE = frozenset(range(0x20, 0x7F))


def byte_vocabulary() -> Vocabulary:
    """256 single bytes and the end token."""
    tokens = [bytes([value]) for value in range(256)] + [b"<|endoftext|>"]
    return Vocabulary(tokens, special_token_ids=[END], stop_token_ids=[END])


@dataclass(frozen=True)
class Script:
    """What the engine says and when it fails. Counts are tokens per choice."""

    text: str = "Hello."
    """Said when nothing constrains the answer."""
    phrases: tuple[str, ...] = ()
    """Spelled out now and then where the grammar allows them."""
    answers: tuple[str, ...] = ()
    """What the first requests are answered, in order, as far as the grammar allows it; then the dice go on."""
    fail_after: int | None = None
    """Raise EngineError after that many tokens."""
    die_after: int | None = None
    """Become unhealthy and raise EngineUnavailable after that many tokens."""
    stall_after: int | None = None
    """Say nothing more after that many tokens, until the request is aborted."""
    step_seconds: float = 0.0
    """How long a step takes."""
    remembers: bool = True
    """Whether requests, prompts and aborts are kept for tests to read; not in a long run."""


_DEFAULT = Script()


class ScriptedEngine:
    """See the module. One event loop; `requests`, `aborted` and `running` are for tests to read."""

    def __init__(
        self,
        script: Script = _DEFAULT,
        *,
        model_id: str = "scripted",
        max_model_len: int = 1 << 20,
    ) -> None:
        self.script = script
        self.model_id = model_id
        self.max_model_len = max_model_len
        self.vocabulary = byte_vocabulary()
        self.requests: list[GenerationRequest] = []
        self.prompts: list[str] = []
        self.aborted: list[str] = []
        self.running: set[str] = set()
        self.has_priorities = True
        self._compiler = Compiler(self.vocabulary)
        self._healthy = False
        self._closed = asyncio.Event()
        self._steps = 0
        self._acting = 0
        self._asked = 0

    def _remember(self, kept: list[T], one: T) -> None:
        if self.script.remembers:
            kept.append(one)

    async def start(self) -> None:
        self._healthy = True

    async def close(self) -> None:
        self._healthy = False
        self._closed.set()

    def is_healthy(self) -> bool:
        return self._healthy

    def activity(self) -> Activity:
        return Activity(running=self._acting, steps=self._steps)

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        *,
        reasoning: bool,
        template: TemplateOptions = PLAIN_TEMPLATE,
    ) -> list[int]:
        """One line per message; refuses a conversation that ends with the assistant, unless it is to go on."""
        if messages[-1]["role"] == "assistant" and not template.continue_final_message:
            raise PromptError("the last message must not be the assistant's")
        lines = [f"{message['role']}: {message['content']}\n" for message in messages]
        if tools:
            lines.insert(0, f"tools: {', '.join(tool['function']['name'] for tool in tools)}\n")
        for document in template.documents or ():
            lines.insert(0, f"document: {document}\n")
        lines[:0] = [f"{name}: {value}\n" for name, value in template.variables.items()]
        prompt = "".join(lines)
        if template.continue_final_message:
            prompt = prompt.removesuffix("\n")
        elif template.generation_prompt:
            prompt += "think: " if reasoning else "assistant: "
        self._remember(self.prompts, prompt)
        return self.encode(prompt, special_tokens=template.special_tokens)

    def encode(self, text: str, *, special_tokens: bool) -> list[int]:
        return [*([END] if special_tokens else []), *text.encode("utf-8")]

    def text_of(self, token_ids: Sequence[int]) -> str:
        return bytes(token for token in token_ids if token != END).decode("utf-8", errors="replace")

    def names_of(self, token_ids: Sequence[int]) -> list[str]:
        return ["<|endoftext|>" if token == END else f"0x{token:02X}" for token in token_ids]

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Delta, None]:
        if not self._healthy:
            raise EngineUnavailable("the scripted engine is not running")
        self._asked += 1
        self._remember(self.requests, request)
        self.running.add(request.request_id)
        finished = False
        choices = [
            _Choice(index, request.sampling, self._tokens(request, index)) for index in range(request.sampling.n)
        ]
        try:
            step = 0
            about_prompt = _about_prompt(request)
            while running := [choice for choice in choices if not choice.finished]:
                await self._act(step)
                step += 1
                for choice in running:
                    yield replace(choice.aborted() if self._closed.is_set() else choice.step(), **about_prompt)
                    about_prompt = {}
            finished = not self._closed.is_set()
        finally:
            self.running.discard(request.request_id)
            if not finished:
                self._remember(self.aborted, request.request_id)

    def metrics(self) -> bytes:
        """One gauge, enough to see that the engine's text reaches the scrape."""
        return (
            b"# HELP scripted_requests_running Requests in the scripted engine.\n"
            b"# TYPE scripted_requests_running gauge\n"
            b"scripted_requests_running %d.0" % len(self.running)
        )

    async def _act(self, step: int) -> None:
        """Let others run, then fail or stall if the script says so."""
        self._acting += 1
        try:
            await asyncio.sleep(self.script.step_seconds)
            if step == self.script.stall_after:
                await self._closed.wait()
        finally:
            self._acting -= 1
        self._steps += 1
        if step == self.script.fail_after:
            raise EngineError("the script says so")
        if step == self.script.die_after:
            self._healthy = False
            raise EngineUnavailable("the script says so")

    def _tokens(self, request: GenerationRequest, index: int) -> _Tokens:
        asked = self._asked
        answer = self.script.answers[asked - 1] if asked <= len(self.script.answers) else None
        if request.structural_tag is None:
            text = self.script.text if answer is None else answer
            return _Replayed(text.encode("utf-8"), again=request.sampling.ignore_eos)
        grammar = self._compiler.compile_structural_tag(request.structural_tag)
        dice = random.Random(f"{request.sampling.seed}/{index}")
        phrases = tuple(phrase.encode("utf-8") for phrase in self.script.phrases)
        matcher = Matcher(grammar)
        if request.complete_within_budget:
            assert request.sampling.max_tokens is not None
            matcher.set_token_budget(request.sampling.max_tokens - 1)  # one is left for the end token
        spelling = [] if answer is None else [*answer.encode("utf-8"), END]
        return _Drawn(matcher, self.vocabulary.vocab_size, dice, phrases, _Wishes(request.sampling), spelling)


def _about_prompt(request: GenerationRequest) -> dict[str, Any]:
    """All tokens of a prompt are equally likely, and half of them are in a cache."""
    about: dict[str, Any] = {"cached_tokens": len(request.prompt_token_ids) // 2}
    wanted = request.sampling.prompt_logprobs
    if wanted is not None:
        each = -math.log(END + 1)
        rest = request.prompt_token_ids[1:]
        top = tuple(_logprob(token, each) for token in range(wanted))
        about["prompt_logprobs"] = (None, *(_logprob(token, each, top) for token in rest))
    return about


class _Tokens:
    """Where a choice's tokens come from: `draw` gives (token, ids that were allowed)."""

    def draw(self) -> tuple[int, Sequence[int]]:
        raise NotImplementedError


class _Replayed(_Tokens):
    """The script's bytes, then the end token, or the text `again` and again; every token was allowed."""

    def __init__(self, text: bytes, *, again: bool = False) -> None:
        self._rest = itertools.cycle(text) if again else iter(text)

    def draw(self) -> tuple[int, Sequence[int]]:
        return next(self._rest, END), range(END + 1)


class _Wishes:
    """What a request asks of its tokens beside the tag: it narrows what the tag allows, and never to nothing."""

    def __init__(self, sampling: SamplingOptions) -> None:
        self._least = sampling.min_tokens
        self._only = sampling.allowed_token_ids
        self._words = [word.encode("utf-8") for word in sampling.bad_words]
        self._avoided = {token for token, bias in sampling.logit_bias if bias <= -100}

    def narrowed(self, allowed: list[int], said: bytes) -> list[int]:
        """Of the allowed tokens those that are wanted after `said`."""
        for unwanted in (self._forbidden, self._discouraged):
            allowed = [token for token in allowed if not unwanted(token, said)] or allowed
        return allowed

    def _forbidden(self, token: int, said: bytes) -> bool:
        if self._only is not None and token not in self._only:
            return True
        if token == END:
            return len(said) < self._least
        return any((said + bytes([token])).endswith(word) for word in self._words)

    def _discouraged(self, token: int, said: bytes) -> bool:
        return token in self._avoided


class _Drawn(_Tokens):
    """Random tokens out of the matcher's mask."""

    def __init__(
        self,
        matcher: Matcher,
        size: int,
        dice: random.Random,
        phrases: tuple[bytes, ...],
        wishes: _Wishes,
        spelling: list[int],
    ) -> None:
        """`spelling`: the tokens to begin with."""
        self._wishes = wishes
        self._said = b""
        self._matcher = matcher
        self._size = size
        self._dice = dice
        self._phrases = phrases
        self._spelling = spelling
        self._row = array.array("i", bytes(4 * ((size + 31) // 32)))

    def draw(self) -> tuple[int, Sequence[int]]:
        allowed = self._wishes.narrowed(self._allowed(), self._said)
        token = self._pick(allowed)
        if token != END:
            self._said += bytes([token])
        if not self._matcher.accept_token(token):
            raise EngineError(f"the mask allows token {token}, the matcher does not")
        return token, allowed

    def _allowed(self) -> list[int]:
        if not self._matcher.fill_bitmask(self._row):
            return list(range(self._size))
        words = [word & 0xFFFFFFFF for word in self._row]
        allowed = [t for t in range(self._size) if words[t // 32] >> (t % 32) & 1]
        if not allowed:
            raise EngineError("the mask allows no token at all")
        return allowed

    def _pick(self, allowed: list[int]) -> int:
        if self._spelling and self._spelling[0] in allowed:
            return self._spelling.pop(0)
        self._spelling = []
        if END in allowed and self._dice.random() < 0.5:
            return END
        if self._phrases and self._dice.random() < 0.2:
            phrase = self._dice.choice(self._phrases)
            if phrase[0] in allowed and self._matcher.fork().accept_tokens(phrase) == len(phrase):
                self._spelling = list(phrase)
                return self._spelling.pop(0)
        closing = [token for token in allowed if token in _CLOSING]
        if closing and self._dice.random() < 0.4:
            return self._dice.choice(closing)
        if self._dice.random() < 0.9:
            allowed = [token for token in allowed if token in _PRINTABLE] or allowed
        return self._dice.choice(allowed)


class _Choice:
    """One choice's text: bytes decoded as they come, stop strings cut off."""

    def __init__(self, index: int, sampling: SamplingOptions, tokens: _Tokens) -> None:
        self._index = index
        self._sampling = sampling
        self._tokens = tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._count = 0
        self.finished = False

    def step(self) -> Delta:
        token, allowed = self._tokens.draw()
        self._count += 1
        ended = token == END
        self._held += self._decoder.decode(b"" if ended else bytes([token]), final=ended)
        reason, stop_reason = self._ending(ended)
        text = self._held if reason is not None else self._released()
        self._held = self._held[len(text) :]
        self.finished = reason is not None
        return Delta(
            index=self._index,
            text=text,
            token_ids=(token,),
            logprobs=self._logprobs(token, allowed),
            finish_reason=reason,
            stop_reason=stop_reason,
        )

    def aborted(self) -> Delta:
        """The last delta of a choice that the engine gave up."""
        self.finished = True
        return Delta(index=self._index, text="", finish_reason="abort")

    def _ending(self, ended: bool) -> tuple[FinishReason | None, int | str | None]:
        """Why the choice ends here, if it does; a stop string and what follows leave the text."""
        found = [(self._held.find(stop), stop) for stop in self._sampling.stop if stop in self._held]
        if found:
            place, stop = min(found)
            kept = len(stop) if self._sampling.include_stop_str_in_output else 0
            self._held = self._held[: place + kept]
            return "stop", stop
        if ended:
            return "stop", END
        if self._count == self._sampling.max_tokens:
            self._held += self._decoder.decode(b"", final=True)
            return "length", None
        return None, None

    def _released(self) -> str:
        """Text that no stop string can claim any more."""
        longest = max((len(stop) for stop in self._sampling.stop), default=1)
        return self._held[: max(0, len(self._held) - (longest - 1))]

    def _logprobs(self, token: int, allowed: Sequence[int]) -> tuple[TokenLogprob, ...]:
        """All allowed tokens are equally likely, the others have probability zero."""
        wanted = self._sampling.logprobs
        if wanted is None:
            return ()
        each = -math.log(len(allowed))
        top = [_logprob(t, each) for t in allowed[:wanted]]
        for t in range(END + 1):
            if len(top) >= wanted:
                break
            if t not in allowed:
                top.append(_logprob(t, -math.inf))
        return (_logprob(token, each, tuple(top)),)


def _logprob(token: int, logprob: float, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
    raw = b"" if token == END else bytes([token])
    text = "<|endoftext|>" if token == END else raw.decode("utf-8", errors="replace")
    return TokenLogprob(token=text, bytes=raw, logprob=logprob, top=top, id=token, rank=1)
