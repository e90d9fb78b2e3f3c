"""`POST /v1/chat/completions`: the request, checked field by field.

Source of fields and bounds: openai-openapi 2.3.0, `CreateChatCompletionRequest`, and the types of
openai-python 3.57. Unknown fields are errors, so that a client never believes a constraint holds that
we did not read. Fields that cannot change the answer are accepted and dropped (`_IGNORED`); fields
that could, and that we do not have, are accepted only with the value that means "off" (`_NEUTRAL`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from server.errors import ApiError, refuse
from server.wire.base import Items, Wire
from server.wire.messages import Message
from server.wire.places import from_validation
from server.wire.structural_tag import StructuralTagFormat, check_structural_tag
from server.wire.structured_outputs import (
    WHITE_SPACE_INSTEAD,
    Constraint,
    Kind,
    StructuredOutputs,
    constraints_in,
    read_texts,
)

_IGNORED = frozenset(
    (
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
        "verbosity",
        "prediction",
        "guided_decoding_backend",  # whoever enforces a constraint, it is the same constraint
    )
)

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "modalities": (None, ["text"]),
    "audio": (None,),
    "moderation": (None,),
    "web_search_options": (None,),
    "functions": (None,),
    "function_call": (None,),
    "guided_whitespace_pattern": (None,),
}

_REPLACED = {
    "functions": "use tools",
    "function_call": "use tool_choice",
    "guided_whitespace_pattern": WHITE_SPACE_INSTEAD,
}

TokenId = Annotated[int, Field(ge=0)]

_LONGEST_ID = 10
"""Digits; more would be a number that no vocabulary has."""

_MOST_IDS = 1024
"""Entries of a list of tokens: vLLM's own tables on a GPU are as long."""

_MOST_WORDS = 64
"""... and of words, of which vLLM forbids two spellings each."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$", min_length=1, max_length=128)]
"""Function and schema names. OpenAI allows 64 of `[A-Za-z0-9_-]`; MCP servers use dots and more length."""


class FunctionDefinition(Wire):
    """`parameters` is a JSON Schema; leaving it out means a function without arguments."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Wire):
    type: Literal["function"]
    function: FunctionDefinition


class FunctionName(Wire):
    name: str


class NamedToolChoice(Wire):
    type: Literal["function"]
    function: FunctionName


class AllowedTools(Wire):
    mode: Literal["auto", "required"]
    tools: Items[NamedToolChoice] = Field(min_length=1)


class AllowedToolsChoice(Wire):
    """Some of the tools; the others stay in the prompt."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _choice_branch(value: Any) -> str:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "allowed" if kind == "allowed_tools" else "object"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedToolChoice, Tag("object")]
    | Annotated[AllowedToolsChoice, Tag("allowed")],
    Discriminator(_choice_branch),
]


class TextFormat(Wire):
    type: Literal["text"]


class JsonObjectFormat(Wire):
    type: Literal["json_object"]


class JsonSchema(Wire):
    """`strict` is read and not obeyed: every schema is enforced."""

    name: Name
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Wire):
    type: Literal["json_schema"]
    json_schema: JsonSchema


ResponseFormat = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat,
    Field(discriminator="type"),
]


class StreamOptions(Wire):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatTemplateKwargs(Wire):
    enable_thinking: bool | None = None


def _stop_list(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if value is None or isinstance(value, list):
        return value
    raise PydanticCustomError("stop_type", "must be a string or an array of strings")


class ChatRequest(Wire):
    """A checked request. None means that the client left the field out or sent null."""

    messages: Items[Message] = Field(min_length=1)
    model: str | None = None
    tools: Items[ToolDefinition] | None = Field(default=None, min_length=1)
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | None = None
    guided_regex: str | None = None
    guided_choice: Items[str] | None = Field(default=None, min_length=1)
    guided_grammar: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    max_reasoning_tokens: int | None = Field(default=None, ge=0, lt=1 << 31)
    complete_within_budget: bool | None = None
    stop: Annotated[list[Annotated[str, StringConstraints(min_length=1)]] | None, BeforeValidator(_stop_list)] = Field(
        default=None, max_length=4
    )
    stop_token_ids: Items[TokenId] | None = Field(default=None, max_length=_MOST_IDS)
    min_tokens: int | None = Field(default=None, ge=0)
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = Field(default=None, max_length=_MOST_IDS)
    allowed_token_ids: Items[TokenId] | None = Field(default=None, min_length=1, max_length=_MOST_IDS)
    bad_words: Items[Annotated[str, StringConstraints(min_length=1)]] | None = Field(
        default=None, max_length=_MOST_WORDS
    )
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 63)
    n: int | None = Field(default=None, ge=1, le=128)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    chat_template_kwargs: ChatTemplateKwargs | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None

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
        return self.stream_options is not None and self.stream_options.include_usage is True

    @property
    def token_limit(self) -> int | None:
        """Most tokens to generate per choice, under either of its two names."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def token_limit_name(self) -> str:
        return "max_tokens" if self.max_completion_tokens is None else "max_completion_tokens"

    @property
    def demands_call(self) -> bool:
        """Whether the tool choice leaves nothing but calls."""
        choice = self.tool_choice
        if isinstance(choice, AllowedToolsChoice):
            return choice.allowed_tools.mode == "required"
        return choice == "required" or isinstance(choice, NamedToolChoice)

    @property
    def thinking(self) -> bool | None:
        """Whether the client switched reasoning on or off; None when it did not say."""
        template = self.chat_template_kwargs
        if template is not None and template.enable_thinking is not None:
            return template.enable_thinking
        return None if self.reasoning_effort is None else self.reasoning_effort != "none"


def parse_chat_request(body: dict[str, Any], *, max_depth: int = 128) -> ChatRequest:
    """The checked request, or ApiError (400) with the first place that is wrong.

    `max_depth` bounds JSON that is sent as a string, as it bounds the body.
    """
    known = {key: value for key, value in body.items() if key not in _IGNORED}
    for key, allowed in _NEUTRAL.items():
        value = known.pop(key, None)
        if isinstance(value, bool) or value not in allowed:
            instead = f"; {_REPLACED[key]}" if key in _REPLACED else ""
            raise ApiError(
                f"{key}: not supported by this server{instead}",
                param=key,
                code="unsupported_parameter",
            )
    known = read_texts(known, max_depth=max_depth)
    try:
        request = ChatRequest.model_validate(known)
    except ValidationError as error:
        raise from_validation(error, known) from error
    _check_together(request)
    return request


def _check_together(request: ChatRequest) -> None:
    """Rules that span several fields."""
    _check_tools(request)
    for token in request.logit_bias or ():
        if not token.isascii() or not token.isdecimal() or len(token) > _LONGEST_ID:
            refuse("logit_bias", f"{token[:32]!r} is no token id")
    if request.top_logprobs is not None and not request.logprobs:
        refuse("top_logprobs", "needs logprobs to be true")
    if request.stream_options is not None and not request.stream:
        refuse("stream_options", "is only allowed when stream is true")
    limits = (request.max_tokens, request.max_completion_tokens)
    if None not in limits and limits[0] != limits[1]:
        refuse("max_tokens", "contradicts max_completion_tokens; send one of them")
    most, limit = request.max_reasoning_tokens, request.token_limit
    if most is not None and limit is not None and most >= limit:
        refuse(
            "max_reasoning_tokens", f"must be less than {request.token_limit_name}, or nothing is left for the answer"
        )
    least = request.min_tokens
    if least is not None and limit is not None and least > limit:
        refuse("min_tokens", f"must not be more than {request.token_limit_name}")
    if (request.n or 1) > 1 and request.temperature is not None and request.temperature < 1e-5:
        refuse("n", "must be 1 at temperature 0, where all choices would be the same")
    if isinstance(request.response_format, StructuralTagFormat):
        check_structural_tag(request.response_format, "response_format")
    _check_constraint(request)


def _check_tools(request: ChatRequest) -> None:
    names: set[str] = set()
    for index, tool in enumerate(request.tools or ()):
        name = tool.function.name
        if name in names:
            refuse(f"tools[{index}].function.name", f"{name!r} is already taken by another tool")
        names.add(name)
    if request.tool_choice is not None and not names:
        refuse("tool_choice", "is only allowed together with tools")
    if isinstance(request.tool_choice, NamedToolChoice):
        wanted = request.tool_choice.function.name
        if wanted not in names:
            refuse("tool_choice.function.name", f"no tool is called {wanted[:128]!r}")
    if isinstance(request.tool_choice, AllowedToolsChoice):
        for index, allowed in enumerate(request.tool_choice.allowed_tools.tools):
            if allowed.function.name not in names:
                place = f"tool_choice.allowed_tools.tools[{index}].function.name"
                refuse(place, f"no tool is called {allowed.function.name[:128]!r}")


def _check_constraint(request: ChatRequest) -> None:
    """One constraint at a time, and none that the tools would make void."""
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
    if request.demands_call:
        refuse(first.param, "is not allowed together with a tool_choice that demands a call")
    if first.kind == "grammar" and request.tools and request.tool_choice != "none":
        refuse(first.param, "is not allowed together with tools, whose calls it might spell; set tool_choice to none")
