"""`POST /v1/messages`: the request, checked, and the chat request that it makes.

Source of fields and bounds: anthropic-sdk-python 2.14.0, `types/message_create_params.py`, and for `temperature`,
`top_p` and `top_k` the versions before, which had them. As for `/v1/responses`, every other field is the chat
request's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from server.errors import ApiError, refuse
from server.wire.anthropic.content import AssistantMessage, Message, TextBlock, refuse_foreign, text_of, to_chat
from server.wire.base import Body, Items, TextOr, Wire
from server.wire.chat_request import ChatRequest, parse_chat_request
from server.wire.renaming import Names
from server.wire.unknown_fields import validate


class Tool(Wire):
    """A tool of the client's own. The last five fields are about caching, hosted tools and the pace of streams."""

    name: str
    input_schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None
    type: Literal["custom"] | None = None
    cache_control: dict[str, Any] | None = None
    allowed_callers: list[Any] | None = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    input_examples: list[Any] | None = None

    def chat(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": {**function, "strict": self.strict}}


class ModeChoice(Wire):
    """`auto` and `any`; `none` has nothing to disable."""

    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool | None = None


class NoneChoice(Wire):
    type: Literal["none"]


class ToolChoice(Wire):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = None


Choice = Annotated[ModeChoice | NoneChoice | ToolChoice, Discriminator("type")]


class ThinkingEnabled(Wire):
    """`display` "omitted" leaves the text out of the answer; there are no summaries, so "summarized" is the text."""

    type: Literal["enabled"]
    budget_tokens: int = Field(ge=1, lt=1 << 31)
    display: Literal["summarized", "omitted"] | None = None


class ThinkingAdaptive(Wire):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class ThinkingDisabled(Wire):
    type: Literal["disabled"]


Thinking = Annotated[ThinkingEnabled | ThinkingAdaptive | ThinkingDisabled, Discriminator("type")]


class JsonFormat(Wire):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Wire):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JsonFormat | None = None


class Metadata(Wire):
    user_id: str | None = None


class CountRequest(Body):
    """What makes the prompt, as `count_tokens` wants it. None: the client left the field out or sent null."""

    messages: Items[Message] = Field(min_length=1)
    model: str | None = None
    system: TextOr[TextBlock] | None = None
    tools: Items[Tool] | None = None
    tool_choice: Choice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: JsonFormat | None = None
    """The older place of `output_config.format`."""
    cache_control: dict[str, Any] | None = None

    @property
    def shows_thinking(self) -> bool:
        return getattr(self.thinking, "display", None) != "omitted"


class MessagesRequest(CountRequest):
    max_tokens: int = Field(ge=1)
    stop_sequences: Items[str] | None = None
    stream: bool | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    speed: Literal["standard", "fast"] | None = None
    inference_geo: str | None = None
    diagnostics: dict[str, Any] | None = None
    user_profile_id: str | None = None
    workspace_id: str | None = None


_ABSENT = {"container": "there are no containers", "mcp_servers": "call them from the client and offer their tools"}
"""Fields that are accepted only with null, and why."""

_INSTEAD = {
    "max_completion_tokens": "use max_tokens",
    "response_format": "use output_config.format",
    "stop": "use stop_sequences",
    "reasoning_effort": "use output_config.effort",
    "parallel_tool_calls": "use tool_choice.disable_parallel_tool_use",
    "chat_template_kwargs": "use thinking",
    "max_reasoning_tokens": "use thinking.budget_tokens",
    "logprobs": "answers of this endpoint have none",
    "top_logprobs": "answers of this endpoint have none",
    "n": "there is one answer",
    "functions": "use tools",
    "function_call": "use tool_choice",
    "prompt_logprobs": "answers of this endpoint have none",
    "return_token_ids": "answers of this endpoint have none",
    "echo": "answers begin where the model does",
    "stream_options": "streams of this endpoint always tell the usage",
}
"""Fields of a chat request that are called otherwise here, or have no place in the answer."""

_PLACES = (
    (r"tools\[(\d+)\]\.function\.parameters", r"tools[\1].input_schema"),
    (r"tools\[(\d+)\]\.function", r"tools[\1]"),
    (r"tool_choice\.function", "tool_choice"),
    (r"response_format\.json_schema", "output_config.format"),
    (r"response_format", "output_config.format"),
    (r"max_completion_tokens", "max_tokens"),
    (r"max_reasoning_tokens", "thinking.budget_tokens"),
    (r"reasoning_effort", "output_config.effort"),
    (r"stop", "stop_sequences"),
)

_WORDS = (
    (r"tools\[(\d+)\]\.function\.parameters", r"tools[\1].input_schema"),
    (r"response_format\.json_schema", "output_config.format"),
    ("max_reasoning_tokens", "thinking.budget_tokens"),
    ("max_completion_tokens", "max_tokens"),
    ("response_format", "output_config.format"),
)


@dataclass(frozen=True)
class Parsed:
    """One request in both forms, and how places of the one are called in the other."""

    request: CountRequest
    chat: ChatRequest
    names: Names


def parse(
    body: dict[str, Any], *, model: type[CountRequest] = MessagesRequest, max_depth: int = 128, strict: bool = True
) -> Parsed:
    """A body of `model`'s fields; without `strict` unknown ones are named in the chat request.

    Raises:
        ApiError: 400 with the first place that is wrong.
    """
    for key, reason in _ABSENT.items():
        if body.get(key) is not None:
            refuse(key, f"not supported by this server: {reason}", code="unsupported_parameter")
    for key, instead in _INSTEAD.items():
        if body.get(key) is not None:
            refuse(key, f"is not a field of this endpoint; {instead}", code="unknown_parameter")
    if isinstance(body.get("messages"), list):
        refuse_foreign(body["messages"])
    _refuse_hosted(body.get("tools"))
    own = {key: value for key, value in body.items() if key in model.model_fields}
    request = validate(model, own, strict=strict)
    beside = {*own, *_ABSENT, *_INSTEAD}
    rest = {key: value for key, value in body.items() if key not in beside}
    messages, sources = _messages(request)
    names = Names(_PLACES, _WORDS, sources)
    fields = {**rest, **_fields(request), "messages": messages}
    try:
        chat = parse_chat_request(fields, max_depth=max_depth, strict=strict, unknown=request.unknown)
    except ApiError as error:
        raise names.told(error) from error
    return Parsed(request, chat, names)


def _messages(request: CountRequest) -> tuple[list[dict[str, Any]], list[str]]:
    """The chat messages, and where each came from."""
    messages: list[dict[str, Any]] = []
    sources: list[str] = []

    def add(message: dict[str, Any], source: str) -> None:
        messages.append(message)
        sources.append(source)

    if request.system:
        add({"role": "system", "content": text_of(request.system)}, "system")
    to_chat(request.messages, add)
    return messages, sources


def _fields(request: CountRequest) -> dict[str, Any]:
    """The chat request's fields but for messages; what is None was not said."""
    fields: dict[str, Any] = {
        "model": request.model,
        "tools": [tool.chat() for tool in request.tools or ()] or None,
        "chat_template_kwargs": {"enable_thinking": _thinks(request.thinking)},
        "response_format": _response_format(request),
    }
    if request.output_config is not None:
        fields["reasoning_effort"] = request.output_config.effort
    if isinstance(request.thinking, ThinkingEnabled):
        fields["max_reasoning_tokens"] = request.thinking.budget_tokens
    if _is_begun(request.messages[-1]):
        fields["continue_final_message"] = True
    if isinstance(request, MessagesRequest):
        fields.update(
            max_completion_tokens=request.max_tokens, stop=request.stop_sequences or None, stream=request.stream
        )
    fields["tool_choice"] = _tool_choice(request)
    if getattr(request.tool_choice, "disable_parallel_tool_use", None):
        fields["parallel_tool_calls"] = False
    return {key: value for key, value in fields.items() if value is not None}


def _tool_choice(request: CountRequest) -> Any:
    match request.tool_choice:
        case ModeChoice(type="any"):
            return "required"
        case ModeChoice():
            return "auto" if request.tools else None
        case NoneChoice():
            return "none" if request.tools else None
        case ToolChoice(name=name):
            return {"type": "function", "function": {"name": name}}
    return None


def _is_begun(last: Message) -> bool:
    """Whether the last message is the beginning of the answer, which the model goes on with."""
    if not isinstance(last, AssistantMessage):
        return False
    if isinstance(last.content, str):
        return last.content != ""
    return bool(last.content) and all(isinstance(block, TextBlock) for block in last.content)


def _thinks(thinking: Thinking | None) -> bool:
    """Without the field there is no thinking in this API, whatever the model usually does."""
    return not isinstance(thinking, ThinkingDisabled | None)


def _response_format(request: CountRequest) -> dict[str, Any] | None:
    wanted = request.output_format
    if request.output_config is not None and request.output_config.format is not None:
        wanted = request.output_config.format
    if wanted is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "output", "strict": True, "schema": wanted.schema_}}


def _refuse_hosted(tools: Any) -> None:
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if isinstance(kind, str) and kind != "custom":
            refuse(
                f"tools[{index}].type",
                f"{kind[:64]!r} is a tool of Anthropic's, which this server does not have; "
                "offer one of your own, with a name and an input_schema",
                code="unsupported_parameter",
            )
