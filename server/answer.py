"""One choice while it is generated: engine deltas in, OpenAI deltas out, and the same folded to a message.

Streaming sends what `push` returns; the non-streaming answer is `choice()` after the last push. Both come
from one pass, so a client that folds the stream gets exactly the non-streaming answer.

Order of one choice's deltas: the first carries the role alone; then reasoning, content and calls as they appear;
the last carries the finish reason. `content` stays null until there is text; a choice that ends without text
and without calls gets "" in its last delta.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from server.captures import CaptureReader
from server.custom_input import InputReader
from server.engines.base import LOGPROB_FLOOR, Delta, FinishReason, TokenLogprob
from server.wire import chat_response as wire
from structural_tags.output import (
    CallArguments,
    CallBegin,
    CallEnd,
    ContentDelta,
    Event,
    OutputParser,
    ReasoningDelta,
)


@dataclass(frozen=True)
class Shown:
    """What of a choice the client wants to see."""

    reasoning: bool = True
    token_ids: bool = False
    tokens_by_id: bool = False
    """Tokens of log probabilities are written `token_id:7`."""
    echo: str = ""
    """Text that the answer begins with, as it goes on from it."""


class ChoiceAnswer:
    """State of one choice. Not shared between tasks."""

    def __init__(
        self,
        index: int,
        parser: OutputParser,
        *,
        logprobs: bool,
        id_length: int = 0,
        text_ends_at: int | None = None,
        captures: CaptureReader | None = None,
        custom_tools: frozenset[str] = frozenset(),
        reasons: bool = False,
        shows: Shown = Shown(),
    ) -> None:
        """
        Args:
            text_ends_at: At this many tokens a budget ends free text, by a stop token that nobody chose.
            custom_tools: Names of tools whose calls have a text instead of arguments.
            reasons: The answer may begin with reasoning, whose tokens are counted.
        """
        self._index = index
        self._id_length = id_length
        self._text_ends_at = text_ends_at
        self._reader = captures
        self._captures: list[tuple[str, str]] | None = []
        self._tokens = 0
        self._within_text = True
        self._parser = parser
        self._wants_logprobs = logprobs
        self._unsent_logprobs: list[wire.LogprobEntry] = []
        self._logprobs: list[wire.LogprobEntry] = []
        self._started = False
        self._content: list[str] | None = None
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._custom_tools = custom_tools
        self._shows = shows
        self._echo = shows.echo
        self._unsent_tokens: list[int] = []
        self._token_ids: list[int] = []
        self._reasons = reasons
        self._reasoned = False
        self.reasoning_tokens = 0
        """Up to the end of the reasoning, its marks included."""
        self.finish_reason: wire.FinishReason | None = None
        self.stop_string: str | None = None
        """The stop string that ended the choice; it is not part of the text."""

    def opening(self, *, text: bool = False) -> list[wire.ChunkChoice]:
        """The role chunk if nothing was sent yet; `text` says that content follows at once.

        It carries no log probabilities: openai-python counts those of a choice's first chunk twice
        when the choice is not the first one (`_accumulate_chunk`, read in 3.57.0).
        """
        if self._started:
            return []
        self._started = True
        role = wire.MessageDelta(role="assistant", content="" if text else None, refusal=None)
        return [wire.ChunkChoice(index=self._index, delta=role, logprobs=None, finish_reason=None)]

    async def read_captures(self, delta: Delta) -> None:
        """Before `push` of the same delta: follow its tokens; at the end, find the captures off the event loop."""
        if self._reader is None:
            return
        self._reader.feed(delta.token_ids)
        if delta.finish_reason is not None:
            self._captures = await asyncio.to_thread(self._reader.read)

    def push(self, delta: Delta) -> list[wire.ChunkChoice]:
        """What the client sees of `delta`; may be empty while text is held back."""
        self._tokens += len(delta.token_ids)
        events: list[Event] = list(self._parser.feed(delta.text)) if delta.text else []
        if delta.finish_reason is not None:
            events.extend(self._parser.finish())
        self._count_reasoning(events, len(delta.token_ids))
        if self._echo:
            events.insert(0, ContentDelta(self._echo))
            self._echo = ""
        messages = [message for event in events if (message := self._apply(event)) is not None]
        chunks = []
        if messages or delta.finish_reason is not None:
            chunks = self.opening(text=not messages or messages[0].content is not None)
        if self._wants_logprobs:
            self._unsent_logprobs.extend(_entry(token, by_id=self._shows.tokens_by_id) for token in delta.logprobs)
        if self._shows.token_ids:
            self._unsent_tokens.extend(delta.token_ids)
        chunks.extend(self._chunk(message) for message in messages)
        if delta.finish_reason is not None:
            self.finish_reason = self._final_reason(delta.finish_reason, delta.stop_reason)
            if isinstance(delta.stop_reason, str):
                self.stop_string = delta.stop_reason
            last = self._chunk(self._closing())
            self._add_captures(last)
            chunks.append(last)
        return chunks

    def _count_reasoning(self, events: Sequence[Event], tokens: int) -> None:
        """All tokens up to the one that ends the reasoning; none where there was no reasoning at all."""
        if not self._reasons:
            return
        self._reasoned = self._reasoned or any(isinstance(event, ReasoningDelta) for event in events)
        self.reasoning_tokens += tokens
        self._reasons = self._parser.reasons
        if not self._reasons and not self._reasoned:
            self.reasoning_tokens = 0

    def choice(self) -> wire.Choice:
        """The whole choice; only after a delta with a finish reason."""
        assert self.finish_reason is not None
        text = None if self._content is None else "".join(self._content)
        message = wire.Message(role="assistant", content=text, refusal=None)
        if self._reasoning and self._shows.reasoning:
            message.reasoning_content = message.reasoning = "".join(self._reasoning)
        if self._calls:
            message.tool_calls = [call.whole() for call in self._calls]
        logprobs = wire.Logprobs(content=self._logprobs, refusal=None)
        choice = wire.Choice(
            index=self._index,
            message=message,
            logprobs=logprobs if self._wants_logprobs else None,
            finish_reason=self.finish_reason,
        )
        self._add_captures(choice)
        if self._shows.token_ids:
            choice.token_ids = self._token_ids
        return choice

    def is_whole(self, call: int) -> bool:
        """Whether the end of a call was seen, so that it was not cut short."""
        return self._calls[call].complete

    def _add_captures(self, choice: wire.Choice | wire.ChunkChoice) -> None:
        """The key is there when something was captured, or null when that cannot be told."""
        if self._captures is None:
            choice.captures = None
        elif self._captures:
            choice.captures = [wire.Capture(name=name, text=text) for name, text in self._captures]

    def _apply(self, event: Event) -> wire.MessageDelta | None:
        """Fold one event into the state; the delta to send for it, if there is something to say."""
        self._within_text = isinstance(event, ContentDelta | ReasoningDelta)
        if isinstance(event, ContentDelta):
            self._content = self._content or []
            self._content.append(event.text)
            return wire.MessageDelta(content=event.text)
        if isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
            if not self._shows.reasoning:
                return None
            return wire.MessageDelta(reasoning_content=event.text, reasoning=event.text)
        if isinstance(event, CallBegin):
            call = _Call(event.name, self._new_id(event.identifier), custom=event.name in self._custom_tools)
            self._calls.append(call)
            return call.begin(event.index)
        if isinstance(event, CallArguments):
            return self._calls[event.index].more(event.index, event.text)
        assert isinstance(event, CallEnd)
        self._calls[event.index].complete = True
        return None

    def _closing(self) -> wire.MessageDelta:
        """The last delta; where there was neither text nor a call it makes the content "" for good."""
        if self._content is None and not self._calls:
            self._content = []
            return wire.MessageDelta(content="")
        return wire.MessageDelta()

    def _new_id(self, given: str) -> str:
        """The model's own id if it is not taken, else one of the length that the model's family wants."""
        if given and all(call.id != given for call in self._calls):
            return given
        made = uuid.uuid4().hex
        return made[: self._id_length] if self._id_length else f"call_{made[:24]}"

    def _chunk(self, message: wire.MessageDelta) -> wire.ChunkChoice:
        chunk = self._bare_chunk(message)
        if self._shows.token_ids:
            chunk.token_ids = self._unsent_tokens
            self._token_ids.extend(self._unsent_tokens)
            self._unsent_tokens = []
        return chunk

    def _bare_chunk(self, message: wire.MessageDelta) -> wire.ChunkChoice:
        logprobs = None
        if self._unsent_logprobs:
            logprobs = wire.Logprobs(content=self._unsent_logprobs, refusal=None)
            self._logprobs.extend(self._unsent_logprobs)
            self._unsent_logprobs = []
        return wire.ChunkChoice(
            index=self._index,
            delta=message,
            logprobs=logprobs,
            finish_reason=self.finish_reason,
        )

    def _final_reason(self, reason: FinishReason, stop_reason: int | str | None) -> wire.FinishReason:
        """`length` is never hidden, not by a budget either, and calls count only when each of them is whole."""
        if reason == "length":
            return "length"
        used_up = self._text_ends_at is not None and self._tokens >= self._text_ends_at
        if used_up and self._within_text and not isinstance(stop_reason, str):
            return "length"
        if self._calls and all(call.complete for call in self._calls):
            return "tool_calls"
        return "stop"


class _Call:
    """A tool call that grows. `complete` once its closing marker was seen."""

    def __init__(self, name: str, call_id: str, *, custom: bool) -> None:
        self.id = call_id
        self.name = name
        self._texts: list[str] = []
        """Pieces of the arguments, or of a custom tool's input."""
        self._input = InputReader() if custom else None
        self.complete = False

    def begin(self, index: int) -> wire.MessageDelta:
        """The first delta: everything but what the call is about."""
        if self._input is not None:
            custom = wire.CustomDelta(name=self.name, input="")
            call = wire.CustomToolCallDelta(index=index, id=self.id, type="custom", custom=custom)
            return wire.MessageDelta(tool_calls=[call])
        function = wire.FunctionDelta(name=self.name, arguments="")
        return wire.MessageDelta(
            tool_calls=[wire.ToolCallDelta(index=index, id=self.id, type="function", function=function)]
        )

    def more(self, index: int, arguments: str) -> wire.MessageDelta | None:
        """The delta for more text of the arguments."""
        if self._input is None:
            self._texts.append(arguments)
            function = wire.FunctionDelta(arguments=arguments)
            return wire.MessageDelta(tool_calls=[wire.ToolCallDelta(index=index, function=function)])
        text = self._input.feed(arguments)
        if not text:
            return None
        self._texts.append(text)
        return wire.MessageDelta(
            tool_calls=[wire.CustomToolCallDelta(index=index, custom=wire.CustomDelta(input=text))]
        )

    def whole(self) -> wire.ToolCall | wire.CustomToolCall:
        text = "".join(self._texts)
        if self._input is not None:
            return wire.CustomToolCall(id=self.id, type="custom", custom=wire.Custom(name=self.name, input=text))
        return wire.ToolCall(id=self.id, type="function", function=wire.Function(name=self.name, arguments=text))


def _entry(token: TokenLogprob, *, by_id: bool) -> wire.LogprobEntry:
    return wire.LogprobEntry(
        token=_written(token, by_id=by_id),
        logprob=_finite(token.logprob),
        bytes=list(token.bytes),
        top_logprobs=[
            wire.TopLogprob(token=_written(t, by_id=by_id), logprob=_finite(t.logprob), bytes=list(t.bytes))
            for t in token.top
        ],
    )


def _written(token: TokenLogprob, *, by_id: bool) -> str:
    return f"token_id:{token.id}" if by_id else token.token


def _finite(logprob: float) -> float:
    """JSON has no minus infinity: a forbidden token's log probability is the floor (OpenAI's convention)."""
    return max(logprob, LOGPROB_FLOOR) if math.isfinite(logprob) else LOGPROB_FLOOR


def prompt_logprobs(tokens: Sequence[TokenLogprob | None] | None) -> list[dict[int, wire.PromptLogprob] | None]:
    """By token id the token of the prompt and the most likely ones, for each place of the prompt but the first."""
    return [
        None
        if token is None
        else {
            each.id: wire.PromptLogprob(logprob=_finite(each.logprob), rank=each.rank, decoded_token=each.token)
            for each in (*token.top, token)
        }
        for token in tokens or ()
    ]
