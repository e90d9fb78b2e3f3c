"""The structural-tag language as frozen pydantic models, for people who write tags in Python.

    StructuralTag(
        format=TriggeredTags(
            triggers=["<f>"],
            tags=[Tag(begin="<f>", content=JsonSchema(json_schema={"type": "object"}), end="</f>")],
        )
    ).to_json()

Semantics are the engine's; here is the shape, plus the bounds that need no engine. What a whole tag means (a
tag whose begin has no trigger, content that can never end) is checked where it is compiled.

Source of the language: the structural-tag documentation of xgrammar 0.2.9. `docs/STRUCTURAL_TAGS.md` describes
it, with our differences; one of them is that an unknown field is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic import Tag as PydanticTag
from pydantic_core import PydanticCustomError, PydanticSerializationError

UNBOUNDED = -1
"""`Repeat.max` for "any number"."""


class InvalidTagError(ValueError):
    """The value is not a structural tag. `path` is a JSON pointer (RFC 6901) into it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(f"{message} (at {path})" if path else message)
        self.message = message
        self.path = path


def _schema(value: Any) -> Any:
    if not isinstance(value, (dict, bool)):
        raise PydanticCustomError("json_schema", "a JSON Schema must be an object or a boolean")
    return value


def _begin(value: Any) -> Any:
    if isinstance(value, (str, dict, BaseModel)):
        return value
    raise PydanticCustomError("begin", "must be a string or a token")


def _end(value: Any) -> Any:
    if isinstance(value, (str, dict, BaseModel)):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise PydanticCustomError("end", "must be a string, a token or a non-empty array of strings")


def _which_end(value: Any) -> str:
    return "token" if isinstance(value, (dict, BaseModel)) else "text" if isinstance(value, str) else "texts"


NonEmpty = Annotated[StrictStr, Field(min_length=1)]
Count = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Schema = Annotated[dict[str, Any] | bool, BeforeValidator(_schema)]
"""A JSON Schema. The dict is not copied: do not change it after the node is made."""


class _Node(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`type`, and each other field that says something."""
        fields = type(self).model_fields
        return {
            key: value
            for key, value in write(self).items()
            if key == "type" or getattr(self, key) != fields[key].default
        }


class _Format(_Node):
    capture: NonEmpty | None = None
    """A name for the span of text that the format matches; `Matcher.captures` tells them."""


class ConstString(_Format):
    """Exactly `value`."""

    type: Literal["const_string"] = "const_string"
    value: StrictStr


Style: TypeAlias = Literal[
    "json",
    "qwen_xml",
    "qwen_padded_xml",
    "minimax_xml",
    "minimax_m3_xml",
    "step_xml",
    "deepseek_xml",
    "deepseek_v4_1_xml",
    "gigachat_xml",
    "glm_xml",
    "longcat_xml",
    "cohere_xml",
    "kimi_k3_xml",
    "gemma",
    "function_gemma",
    "pythonic",
]
"""How a value is written: JSON, or as a model family writes the arguments of a call."""


class JsonSchema(_Format):
    """A value that satisfies `json_schema`."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: Schema
    style: Style = "json"
    any_order: StrictBool = False
    """Object keys in any order instead of the declared one."""
    max_whitespace_cnt: Annotated[StrictInt, Field(ge=1, le=63)] | None = None
    """The most white space between two parts of the value."""
    excludes: tuple[NonEmpty, ...] = ()
    """Must not occur in a string or a key, as they are written."""


class QwenXmlParameter(_Format):
    """An older spelling of `JsonSchema` with the style `qwen_xml`."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: Schema


class Grammar(_Format):
    """What the rule `root` (of Lark: `start`) of a grammar matches, as it is or as a JSON string."""

    type: Literal["grammar"] = "grammar"
    grammar: NonEmpty
    syntax: Literal["ebnf", "lark"] = "ebnf"
    written: Literal["text", "json_string"] = "text"
    excludes: tuple[NonEmpty, ...] = ()


class Regex(_Format):
    """Text that matches `pattern` as a whole."""

    type: Literal["regex"] = "regex"
    pattern: NonEmpty


class AnyText(_Format):
    """Any text without one of `excludes`. Inside a tag, the tag's `end` is excluded as well."""

    type: Literal["any_text"] = "any_text"
    excludes: tuple[NonEmpty, ...] = ()
    max_tokens: Count | None = None
    """The most tokens that have a byte in it."""
    max_chars: Count | None = None


def _token_name(value: Any) -> Any:
    if (isinstance(value, str) and value) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise PydanticCustomError("token", "a token must be an id or a text that is not empty")


TokenName: TypeAlias = Annotated[int | str, BeforeValidator(_token_name)]
"""A token by its id or its text."""


class Token(_Format):
    """One token as a unit, whatever its bytes."""

    type: Literal["token"] = "token"
    token: TokenName


class ExcludeToken(_Format):
    """One token as a unit that is none of `exclude_tokens`."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: tuple[TokenName, ...] = ()


class AnyTokens(_Format):
    """Tokens as units, at most `max_tokens` of them, none of `exclude_tokens`."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: tuple[TokenName, ...] = ()
    max_tokens: Count | None = None


class Sequence(_Format):
    """`elements`, one after the other."""

    type: Literal["sequence"] = "sequence"
    elements: tuple[Node, ...] = Field(min_length=1)


class Or(_Format):
    """One of `elements`."""

    type: Literal["or"] = "or"
    elements: tuple[Node, ...] = Field(min_length=1)


class Optional(_Format):
    """`content` or nothing."""

    type: Literal["optional"] = "optional"
    content: Node


class Star(_Format):
    """`content` any number of times."""

    type: Literal["star"] = "star"
    content: Node


class Plus(_Format):
    """`content` once or more."""

    type: Literal["plus"] = "plus"
    content: Node


class Repeat(_Format):
    """`content` at least `min` and at most `max` times."""

    type: Literal["repeat"] = "repeat"
    min: StrictInt = Field(ge=0)
    max: StrictInt = Field(ge=UNBOUNDED)
    content: Node

    @model_validator(mode="after")
    def _ordered(self) -> Repeat:
        if self.max != UNBOUNDED and self.max < self.min:
            raise PydanticCustomError(
                "repeat", "max is {max}, less than min, {min}", {"max": self.max, "min": self.min}
            )
        return self


Begin: TypeAlias = Annotated[
    Annotated[StrictStr, PydanticTag("text")] | Annotated[Token, PydanticTag("token")],
    Discriminator(_which_end),
    BeforeValidator(_begin),
]
End: TypeAlias = Annotated[
    Annotated[StrictStr, PydanticTag("text")]
    | Annotated[tuple[StrictStr, ...], PydanticTag("texts")]
    | Annotated[Token, PydanticTag("token")],
    Discriminator(_which_end),
    BeforeValidator(_end),
]


class Tag(_Format):
    """`begin`, `content`, `end`; a list of ends is a choice."""

    type: Literal["tag"] = "tag"
    begin: Begin
    content: Node
    end: End


class TriggeredTags(_Format):
    """Free text; once a trigger is complete, the rest of a tag that begins with it must follow."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: tuple[NonEmpty, ...] = Field(min_length=1)
    tags: tuple[Tag, ...] = Field(min_length=1)
    at_least_one: StrictBool = False
    """The text starts with a tag."""
    stop_after_first: StrictBool = False
    """The text ends after the first tag."""
    excludes: tuple[NonEmpty, ...] = ()


class TagsWithSeparator(_Format):
    """Tags with `separator` between two of them and no other text."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: tuple[Tag, ...] = Field(min_length=1)
    separator: StrictStr
    at_least_one: StrictBool = False
    stop_after_first: StrictBool = False


class Dispatch(_Format):
    """Free text; once a pattern is complete, its format must follow."""

    type: Literal["dispatch"] = "dispatch"
    rules: tuple[tuple[NonEmpty, Node], ...] = Field(min_length=1)
    loop: StrictBool = True
    """After a format comes text again; else the end."""
    excludes: tuple[NonEmpty, ...] = ()


class TokenTriggeredTags(_Format):
    """Free tokens; a trigger token begins one of the tags."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: tuple[TokenName, ...] = Field(min_length=1)
    tags: tuple[Tag, ...] = Field(min_length=1)
    exclude_tokens: tuple[TokenName, ...] = ()
    at_least_one: StrictBool = False
    stop_after_first: StrictBool = False


class TokenDispatch(_Format):
    """Free tokens; after a token of a rule its format must follow."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: tuple[tuple[TokenName, Node], ...] = Field(min_length=1)
    loop: StrictBool = True
    exclude_tokens: tuple[TokenName, ...] = ()


def _typed(value: Any) -> Any:
    """A node without a type is the first that has all its required fields and knows all others."""
    if not isinstance(value, dict) or "type" in value:
        return value
    for node in _FITTING:
        fields = node.model_fields
        if value.keys() <= fields.keys() and all(key in value for key, field in fields.items() if field.is_required()):
            return {"type": fields["type"].default, **value}
    return value


_FITTING: tuple[type[_Format], ...] = (
    *(Tag, ConstString, JsonSchema, Sequence, Or, TriggeredTags, TagsWithSeparator, Optional, Plus, Star, Repeat),
    *(Dispatch, TokenDispatch),
)
"""In the order in which the engine tries them."""

Node = Annotated[
    ConstString
    | JsonSchema
    | QwenXmlParameter
    | Regex
    | Grammar
    | AnyText
    | Token
    | ExcludeToken
    | AnyTokens
    | Sequence
    | Or
    | Optional
    | Star
    | Plus
    | Repeat
    | Tag
    | TriggeredTags
    | TagsWithSeparator
    | Dispatch
    | TokenTriggeredTags
    | TokenDispatch,
    Field(discriminator="type"),
    BeforeValidator(_typed),
]


class StructuralTag(_Node):
    """A whole structural tag, as `response_format` and the engine take it."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Node

    def to_json(self) -> str:
        """Compact JSON; fields that have their default are left out.

        Raises:
            InvalidTagError: formats or a schema are nested deeper than pydantic's about 250 levels.
        """
        try:
            plain = self.model_dump(mode="json")
        except PydanticSerializationError as error:
            raise InvalidTagError("nested too deeply", "") from error
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, value: str | Mapping[str, Any]) -> StructuralTag:
        """The tag in JSON text or in its parsed form.

        Raises:
            InvalidTagError: with the place of the first mistake.
        """
        if not isinstance(value, str):
            return _validated(cls, value)
        try:
            return _validated(cls, json.loads(value))
        except RecursionError:
            raise InvalidTagError("nested too deeply", "") from None
        except json.JSONDecodeError as error:
            raise InvalidTagError(f"not JSON: {error.msg} at character {error.pos}", "") from error


def _schema_or_text(value: Any) -> Any:
    if not isinstance(value, str):
        return _schema(value)
    try:
        return _schema(json.loads(value))
    except json.JSONDecodeError as error:
        raise PydanticCustomError("json_schema", "not the text of a JSON Schema") from error


class _LegacyItem(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    begin: StrictStr
    schema_: Annotated[dict[str, Any] | bool, BeforeValidator(_schema_or_text)] = Field(alias="schema")
    end: StrictStr


class _LegacyTag(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["structural_tag"] = "structural_tag"
    structures: tuple[_LegacyItem, ...] = Field(min_length=1, validation_alias=AliasChoices("structures", "tags"))
    triggers: tuple[NonEmpty, ...] = Field(min_length=1)


def from_legacy(value: Mapping[str, Any]) -> StructuralTag:
    """The older shape, `structures` (or `tags`) of begin, schema and end plus `triggers`, as triggered tags.

    Raises:
        InvalidTagError: with the place of the first mistake, in the older shape.
    """
    legacy = _validated(_LegacyTag, value)
    tags = tuple(
        Tag(begin=item.begin, content=JsonSchema(json_schema=item.schema_), end=item.end) for item in legacy.structures
    )
    return StructuralTag(format=TriggeredTags(triggers=legacy.triggers, tags=tags))


M = TypeVar("M", bound=BaseModel)


def _validated(model: type[M], value: Any) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise InvalidTagError(_message(first["type"], first["msg"]), _pointer(first["type"], first["loc"])) from error


def _message(kind: str, message: str) -> str:
    if kind.startswith("recursion"):
        return "nested too deeply"
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "union_tag_not_found":
        return "the node has no type, and no format has its fields"
    return message.removeprefix("Input ").replace("tag '", "type '", 1)


def _pointer(kind: str, loc: tuple[int | str, ...]) -> str:
    """A JSON pointer from pydantic's location, which also names the chosen type wherever a `Node` stands."""
    keys: list[str] = []
    skip = False
    before: tuple[int | str, int | str] = ("", "")
    for item in loc:
        if not skip:
            keys.append(str(item).replace("~", "~0").replace("/", "~1"))
        listed = isinstance(item, int) and (before[1] == "elements" or (before[0] == "rules" and item == 1))
        skip = not skip and (item in ("format", "content", "begin", "end") or listed)
        before = (before[1], item)
    if kind.startswith("union_tag"):
        keys.append("type")
    return "".join(f"/{key}" for key in keys)
