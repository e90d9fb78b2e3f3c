"""Fields that chat and text completions share: how to sample, what to constrain, what to send back.

Source of fields and bounds: openai-openapi 2.3.0 and, for the extensions, vLLM 0.32.0 (`SamplingParams` and its
request models). None means that the client left the field out or sent null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from server.errors import ApiError, refuse
from server.wire.base import Body, Items, Wire
from server.wire.response_format import ResponseFormat, TextFormat
from server.wire.structural_tag import StructuralTagFormat, check_structural_tag
from server.wire.structured_outputs import (
    WHITE_SPACE_INSTEAD,
    Constraint,
    Kind,
    StructuredOutputs,
    constraints_in,
)

TokenId = Annotated[int, Field(ge=0)]

_LONGEST_ID = 10
"""Digits; more would be a number that no vocabulary has."""

_MOST_IDS = 1024
"""Entries of a list of tokens: vLLM's own tables on a GPU are as long."""

_MOST_WORDS = 64
"""... and of words, of which vLLM forbids two spellings each."""

_SALT = r"^[^@/\\\x00]{1,128}$"
"""vLLM makes a key of it, in which these characters have a meaning."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "guided_whitespace_pattern": (None,),
    "guided_json_object": (None, False),
    "regex": (None,),
    "ebnf": (None,),
    "json_schema": (None,),
    "grammar": (None,),
    "stop_regex": (None,),
    "use_beam_search": (None, False),
    "length_penalty": (None, 1),
    "best_of": (None, 1),
    "truncation_side": (None, "left"),
    "logprob_token_ids": (None,),
    "repetition_detection": (None,),
    "kv_transfer_params": (None,),
    "vllm_xargs": (None, {}),
}
"""Fields that could change the answer, and that we do not have: accepted only with a value that means "off"."""

REPLACED = {
    "guided_whitespace_pattern": WHITE_SPACE_INSTEAD,
    "guided_json_object": "use structured_outputs.json_object",
    "regex": "use structured_outputs.regex",
    "ebnf": "use structured_outputs.grammar",
    "json_schema": "use structured_outputs.json",
    "grammar": "use structured_outputs.grammar",
}


StopString = Annotated[str, StringConstraints(min_length=1)]


class StreamOptions(Wire):
    """`include_obfuscation` is accepted: nothing is padded."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None
    include_obfuscation: bool | None = None


def _stop_list(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if value is None or isinstance(value, list):
        return value
    raise PydanticCustomError("stop_type", "must be a string or an array of strings")


class AcceptedFields(Body):
    """Fields that are checked and change nothing: there are no accounts, tiers or stores here."""

    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: Any = None
    prompt_cache_options: Any = None
    prediction: dict[str, Any] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    guided_decoding_backend: Any = None
    """Whoever enforces a constraint, it is the same constraint."""


class SamplingFields(AcceptedFields):
    """See the module."""

    model: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=-1, lt=1 << 31)
    """0 and -1 mean all tokens."""
    min_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    repetition_penalty: float | None = Field(default=None, gt=0, le=100)
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 63)
    n: int | None = Field(default=None, ge=1, le=128)
    max_tokens: int | None = Field(default=None, ge=1)
    min_tokens: int | None = Field(default=None, ge=0)
    stop: Annotated[
        list[StopString] | None,
        BeforeValidator(_stop_list, json_schema_input_type=StopString | list[StopString] | None),
    ] = Field(default=None, max_length=4)
    stop_token_ids: Items[TokenId] | None = Field(default=None, max_length=_MOST_IDS)
    include_stop_str_in_output: bool | None = None
    ignore_eos: bool | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = Field(default=None, max_length=_MOST_IDS)
    allowed_token_ids: Items[TokenId] | None = Field(default=None, min_length=1, max_length=_MOST_IDS)
    bad_words: Items[Annotated[str, StringConstraints(min_length=1)]] | None = Field(
        default=None, max_length=_MOST_WORDS
    )
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool | None = None
    prompt_logprobs: int | None = Field(default=None, ge=0, le=20)
    truncate_prompt_tokens: int | None = Field(default=None, ge=-1, lt=1 << 31)
    cache_salt: str | None = Field(default=None, pattern=_SALT)
    priority: int | None = Field(default=None, ge=-(1 << 31), lt=1 << 31)
    return_token_ids: bool | None = None
    return_tokens_as_token_ids: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | None = None
    guided_regex: str | None = None
    guided_choice: Items[str] | None = Field(default=None, min_length=1)
    guided_grammar: str | None = None
    complete_within_budget: bool | None = None

    @property
    def constraint(self) -> Constraint | None:
        """What the answer must match, from `structured_outputs` or the older `guided_*`."""
        return next(iter(self.constraints()), None)

    def constraints(self) -> list[Constraint]:
        """All that were sent; in a checked request at most one."""
        older: dict[Kind, Any] = {
            "json": self.guided_json,
            "regex": self.guided_regex,
            "choice": self.guided_choice,
            "grammar": self.guided_grammar,
        }
        newer = self.structured_outputs
        return [*(newer.constraints() if newer is not None else ()), *constraints_in(older, "guided_")]

    @property
    def biases(self) -> tuple[tuple[int, float], ...]:
        """`logit_bias` by number; in a checked request every key is one."""
        return tuple((int(token), bias) for token, bias in (self.logit_bias or {}).items())

    @property
    def include_usage(self) -> bool:
        options = self.stream_options
        return options is not None and (options.include_usage is True or options.continuous_usage_stats is True)

    @property
    def continuous_usage(self) -> bool:
        """Whether each event tells the tokens so far."""
        return self.stream_options is not None and self.stream_options.continuous_usage_stats is True

    @property
    def token_limit(self) -> int | None:
        """Most tokens to generate per choice."""
        return self.max_tokens

    @property
    def token_limit_name(self) -> str:
        return "max_tokens"


def without_neutral(body: dict[str, Any], neutral: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """The body without fields that mean "off"; ApiError (400) for those that mean something else."""
    known = dict(body)
    for key, allowed in neutral.items():
        value = known.pop(key, None)
        if not any(isinstance(value, bool) == isinstance(each, bool) and value == each for each in allowed):
            instead = f"; {REPLACED[key]}" if key in REPLACED else ""
            raise ApiError(
                f"{key}: not supported by this server{instead}",
                param=key,
                code="unsupported_parameter",
            )
    return known


def check_sampling(request: SamplingFields) -> None:
    """Rules that span several of the fields; ApiError (400)."""
    for token in request.logit_bias or ():
        if not token.isascii() or not token.isdecimal() or len(token) > _LONGEST_ID:
            refuse("logit_bias", f"{token[:32]!r} is no token id")
    if request.stream_options is not None and not request.stream:
        refuse("stream_options", "is only allowed when stream is true")
    if request.prompt_logprobs is not None and request.stream:
        refuse("prompt_logprobs", "is not allowed when stream is true")
    if request.truncate_prompt_tokens == 0:
        refuse("truncate_prompt_tokens", "must be at least 1, or -1 for as many as fit")
    limit, least = request.token_limit, request.min_tokens
    if least is not None and limit is not None and least > limit:
        refuse("min_tokens", f"must not be more than {request.token_limit_name}")
    if (request.n or 1) > 1 and request.temperature is not None and request.temperature < 1e-5:
        refuse("n", "must be 1 at temperature 0, where all choices would be the same")
    if isinstance(request.response_format, StructuralTagFormat):
        check_structural_tag(request.response_format, "response_format")
    _check_constraint(request)


def _check_constraint(request: SamplingFields) -> None:
    """One constraint at a time."""
    if request.structured_outputs is not None and not request.structured_outputs.constraints():
        refuse("structured_outputs", "no constraint is given", code="missing_required_parameter")
    first = request.constraint
    if first is None:
        return
    for other in request.constraints()[1:]:
        refuse(other.param, f"is not allowed together with {first.param}")
    if first.kind == "json_object" and first.value is False:
        refuse(first.param, "must be true; leave it out for an answer without this constraint")
    if isinstance(first.value, StructuralTagFormat):
        check_structural_tag(first.value, first.param)
    if not isinstance(request.response_format, TextFormat | None):
        refuse(first.param, "is not allowed together with response_format")
