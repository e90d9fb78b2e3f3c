"""A text completion's choices, made from those of a chat: one text, and log probabilities as parallel lists."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Literal

from server.answer import prompt_logprobs
from server.engines.base import TokenLogprob
from server.wire.chat_response import Choice, ChunkChoice, LogprobEntry
from server.wire.completion_request import CompletionRequest
from server.wire.completion_response import TextChoice, TextLogprobs


class TextAnswer:
    """One choice. Belongs to one task."""

    def __init__(self, index: int, request: CompletionRequest, echo: str, first: str) -> None:
        """`echo` is the prompt's text, if the answer repeats it, and `first` the text of its first token."""
        self._index = index
        self._request = request
        self._echo = echo
        self._first = first
        self._begun = False
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._offset = 0
        """Characters of the tokens so far."""

    def piece(self, chunk: ChunkChoice, prompt: Sequence[TokenLogprob | None] | None) -> TextChoice | None:
        """What a stream sends for a chunk; None if that is nothing. `prompt`: the log probabilities of the prompt."""
        text = chunk.delta.content or ""
        entries = chunk.logprobs.content if chunk.logprobs is not None else []
        if not text and not entries and chunk.finish_reason is None:
            return None
        return self._made(text, entries, chunk, [] if self._begun else prompt)

    def whole(self, choice: Choice, prompt: Sequence[TokenLogprob | None] | None) -> TextChoice:
        """The whole choice."""
        entries = choice.logprobs.content if choice.logprobs is not None else []
        return self._made(choice.message.content or "", entries, choice, prompt)

    def _made(
        self,
        text: str,
        entries: Sequence[LogprobEntry],
        source: Choice | ChunkChoice,
        prompt: Sequence[TokenLogprob | None] | None,
    ) -> TextChoice:
        if not self._request.generates:
            text, entries = "", ()
        if not self._begun:
            text = self._echo + text
        logprobs = None
        if self._request.logprobs is not None:
            logprobs = TextLogprobs(tokens=[], token_logprobs=[], top_logprobs=[], text_offset=[])
            if self._request.echo:
                self._add_prompt(logprobs, prompt or ())
            for entry in entries:
                self._add(logprobs, entry)
        self._begun = True
        made = TextChoice(index=self._index, text=text, logprobs=logprobs, finish_reason=self._reason(source))
        if "captures" in source.model_fields_set:
            made.captures = source.captures
        if self._request.return_token_ids:
            made.token_ids = source.token_ids if self._request.generates else []
        if self._request.prompt_logprobs is not None and not self._request.stream:
            made.prompt_logprobs = prompt_logprobs(prompt)
        return made

    def _reason(self, source: Choice | ChunkChoice) -> Literal["stop", "length"] | None:
        if source.finish_reason is None:
            return None
        return "length" if source.finish_reason == "length" or not self._request.generates else "stop"

    def _add_prompt(self, logprobs: TextLogprobs, tokens: Sequence[TokenLogprob | None]) -> None:
        """The prompt's tokens; of the first one nothing is known."""
        for token in tokens:
            if token is None:
                logprobs.tokens.append(self._first)
                logprobs.token_logprobs.append(None)
                logprobs.top_logprobs.append(None)
                logprobs.text_offset.append(self._offset)
                # The tokeniser may have put a special token before the text.
                self._offset += len(self._first) if self._echo.startswith(self._first) else 0
                continue
            self._append(logprobs, token.token, token.bytes, token.logprob, [(t.token, t.logprob) for t in token.top])

    def _add(self, logprobs: TextLogprobs, entry: LogprobEntry) -> None:
        top = [(each.token, each.logprob) for each in entry.top_logprobs]
        self._append(logprobs, entry.token, bytes(entry.bytes), entry.logprob, top)

    def _append(
        self, logprobs: TextLogprobs, token: str, raw: bytes, logprob: float, top: Sequence[tuple[str, float]]
    ) -> None:
        logprobs.tokens.append(token)
        logprobs.token_logprobs.append(logprob)
        logprobs.top_logprobs.append({**dict(reversed(top)), token: logprob})
        logprobs.text_offset.append(self._offset)
        self._offset += len(self._decoder.decode(raw))
