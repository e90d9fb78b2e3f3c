"""What the server asks of an engine: token ids in, text deltas out.

The HTTP side knows nothing of the model behind this protocol. Everything that crosses it is a
frozen dataclass, so an engine may hand the same object to several tasks.

Flow: `start()` once, then any number of concurrent `generate()` calls, then `close()`. All methods
run on the event loop's thread except `render_chat`, `encode`, `text_of` and `names_of`, which the server calls
from a worker thread (chat templates and tokenisers are slow) and which must therefore be safe to call concurrently.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from engine_native import Vocabulary

FinishReason = Literal["stop", "length", "abort", "error"]

LOGPROB_FLOOR = -9999.0
"""Log probability reported for a token that the mask forbids: JSON knows no minus infinity."""


class EngineError(Exception):
    """The engine failed while it worked on one request; the client sees a 500 or an error event."""


class EngineUnavailable(EngineError):  # noqa: N818 - a state, shared with every engine
    """The engine cannot generate at all (starting, stopped or dead); the client sees a 503."""


class PromptError(EngineError):
    """The prompt cannot be made or used (the chat template or the engine refuses it); the client sees a 400.

    `param` is the field of the request that is to blame, if that is known.
    """

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True)
class SamplingOptions:
    """How to sample. None means "the model's own default", not zero.

    `max_tokens` counts generated tokens and is always set by the server before it calls `generate`.
    `logprobs`: None is off; k >= 0 is the sampled token's log probability plus the k most likely ones.

    What forbids tokens never forbids the last one that a structural tag allows: where `allowed_token_ids`, `bad_words`
    and `min_tokens` (which forbids stop tokens) leave nothing, the tag alone decides. `logit_bias` is added to logits.
    `stop_token_ids` end a choice beside the model's own; with `ignore_eos`, which is only for free text, the model's
    own end nothing. `top_k` 0 is all tokens. `prompt_logprobs` is like `logprobs`, for the tokens of the prompt.
    `skip_special_tokens` leaves special tokens out of the text.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    logprobs: int | None = None
    min_tokens: int = 0
    logit_bias: tuple[tuple[int, float], ...] = ()
    bad_words: tuple[str, ...] = ()
    allowed_token_ids: tuple[int, ...] | None = None
    stop_token_ids: tuple[int, ...] = ()
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    prompt_logprobs: int | None = None
    skip_special_tokens: bool = False
    spaces_between_special_tokens: bool = False


@dataclass(frozen=True)
class TemplateOptions:
    """How a chat template is asked for a prompt."""

    generation_prompt: bool = True
    """The prompt ends where the assistant's message begins."""
    continue_final_message: bool = False
    """... or inside of the last message, which is the assistant's."""
    special_tokens: bool = False
    """The tokeniser adds its own, beside those that the template wrote."""
    documents: tuple[Mapping[str, Any], ...] | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    """More of the template's variables."""


PLAIN_TEMPLATE = TemplateOptions()


@dataclass(frozen=True)
class GenerationRequest:
    """One prompt with `sampling.n` choices. `structural_tag` is JSON text, or None for free text.

    `complete_within_budget`: each choice keeps to the tag as a whole within `sampling.max_tokens`, the last of which
    is the stop token's. The server has checked that the engine's grammar takes such a budget.
    `cache_salt`: prompts share cached computations only with those of equal salt. `priority`: lower ones come first.
    """

    request_id: str
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingOptions
    structural_tag: str | None = None
    complete_within_budget: bool = False
    cache_salt: str | None = None
    priority: int = 0


@dataclass(frozen=True)
class TokenLogprob:
    """One token. `bytes` are its own bytes, which need not be whole UTF-8 characters.

    `logprob` is natural and finite (`LOGPROB_FLOOR` stands for minus infinity). `top` holds the most
    likely tokens of the same position, most likely first, each with an empty `top`. `rank` is 1 for the most likely
    token of all, None if that is not known.
    """

    token: str
    bytes: bytes
    logprob: float
    top: tuple[TokenLogprob, ...] = ()
    id: int = -1
    rank: int | None = None


@dataclass(frozen=True)
class Delta:
    """What one choice gained in one step.

    `text` and `token_ids` are increments; text may lag behind the tokens while a character is
    incomplete or a stop string may be forming. `token_ids` include a closing stop token, whose
    text is never part of `text`. `finish_reason` is set on the last delta of the choice `index`,
    exactly once. `stop_reason` is the stop token's id or the stop string that ended the choice
    (the stop string itself is not part of `text`, unless the request wants it there).

    About the prompt: `cached_tokens` of it were not computed anew; its log probabilities, None for the first token,
    come once, with the request's first delta.
    """

    index: int
    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None
    cached_tokens: int = 0
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None


@dataclass(frozen=True)
class Activity:
    """What the engine is at: a count of steps that stands still while requests run means that it hangs."""

    running: int
    """Requests that it has not finished, those that wait for their turn included."""
    steps: int
    """Steps since the start, of all requests together."""


class Engine(Protocol):
    """A model that can be asked for text. See the module docstring for threads and order of calls."""

    @property
    def model_id(self) -> str:
        """Name that clients use as `model`."""
        ...

    @property
    def max_model_len(self) -> int:
        """Most tokens of prompt and answer together."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The engine-native vocabulary whose size is the width of the model's logits, with the model's stop tokens."""
        ...

    async def start(self) -> None:
        """Load the model. Raises EngineUnavailable with one sentence when that cannot work."""
        ...

    async def close(self) -> None:
        """Stop and free everything; running requests end with finish_reason "abort". Idempotent."""
        ...

    def is_healthy(self) -> bool:
        """True only while `generate` can produce tokens."""
        ...

    def activity(self) -> Activity:
        """Cheap enough to be asked every second."""
        ...

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        *,
        reasoning: bool,
        template: TemplateOptions = PLAIN_TEMPLATE,
    ) -> list[int]:
        """Chat template plus tokeniser: the prompt's token ids.

        `messages` and `tools` are in OpenAI's wire form, except that a tool call's `arguments`
        are already parsed to an object where they are one. Raises PromptError when the template
        refuses the messages.
        """
        ...

    @property
    def has_priorities(self) -> bool:
        """Whether requests with a `priority` are scheduled by it."""
        ...

    def encode(self, text: str, *, special_tokens: bool) -> list[int]:
        """The tokens of a text; with `special_tokens` also those that the tokeniser adds."""
        ...

    def text_of(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, special ones included."""
        ...

    def names_of(self, token_ids: Sequence[int]) -> list[str]:
        """The tokens as the tokeniser's own vocabulary writes them."""
        ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[Delta, None]:
        """Deltas of all choices as they appear; ends after the last choice's finish_reason.

        Closing the generator early (`aclose`, or cancelling the task that waits in it) aborts the
        request in the engine. Raises EngineUnavailable, PromptError or EngineError.
        """
        ...

    def metrics(self) -> bytes:
        """The engine's own metrics in Prometheus text format, to be appended to the server's.

        May be empty. Family names must not begin with `strictserve_` unless they are the engine
        side's (mask-fill seconds, rows per step), and must be unique.
        """
        ...
