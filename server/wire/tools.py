"""Tools and the choice of tools, as clients send them: functions, and custom tools whose input is text.

Source: openai-openapi 2.3.0, `ChatCompletionTool`, `CustomToolChatCompletions`, `ChatCompletionToolChoiceOption`.

Models know functions only. So a custom tool is a function with one argument, the string `input`, until its calls are
told to the client: `function` is that view of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

from server.wire.base import Items, Wire
from server.wire.response_format import Name

INPUT = "input"
"""The argument that holds a custom tool's text."""


class FunctionDefinition(Wire):
    """`parameters` is a JSON Schema; leaving it out means a function without arguments."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Wire):
    type: Literal["function"]
    function: FunctionDefinition


class CustomGrammar(Wire):
    """What the input must match as a whole."""

    syntax: Literal["lark", "regex"]
    definition: Annotated[str, StringConstraints(min_length=1)]


class TextInput(Wire):
    type: Literal["text"]


class GrammarInput(Wire):
    type: Literal["grammar"]
    grammar: CustomGrammar


class CustomDefinition(Wire):
    name: Name
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Field(discriminator="type")] | None = None


class CustomToolDefinition(Wire):
    type: Literal["custom"]
    custom: CustomDefinition

    @property
    def grammar(self) -> CustomGrammar | None:
        return self.custom.format.grammar if isinstance(self.custom.format, GrammarInput) else None

    @property
    def function(self) -> FunctionDefinition:
        """The tool as models see it; a pattern is part of the schema, a Lark grammar is told in words."""
        text: dict[str, Any] = {"type": "string"}
        grammar = self.grammar
        if grammar is not None and grammar.syntax == "regex":
            text["pattern"] = f"^(?:{grammar.definition})$"
        elif grammar is not None:
            text["description"] = f"Text that matches this grammar (Lark):\n{grammar.definition}"
        schema = {"type": "object", "properties": {INPUT: text}, "required": [INPUT], "additionalProperties": False}
        name, description = self.custom.name, self.custom.description
        return FunctionDefinition(name=name, description=description, parameters=schema, strict=True)


AnyTool = Annotated[ToolDefinition | CustomToolDefinition, Field(discriminator="type")]


class FunctionName(Wire):
    name: str


class NamedToolChoice(Wire):
    type: Literal["function"]
    function: FunctionName


class CustomToolChoice(Wire):
    type: Literal["custom"]
    custom: FunctionName


AnyName = Annotated[NamedToolChoice | CustomToolChoice, Field(discriminator="type")]


class AllowedTools(Wire):
    mode: Literal["auto", "required"]
    tools: Items[AnyName] = Field(min_length=1)


class AllowedToolsChoice(Wire):
    """Some of the tools; the others stay in the prompt."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _choice_branch(value: Any) -> str:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if kind in ("allowed_tools", "custom") else "function"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedToolChoice, Tag("function")]
    | Annotated[CustomToolChoice, Tag("custom")]
    | Annotated[AllowedToolsChoice, Tag("allowed_tools")],
    Discriminator(_choice_branch),
]


def chosen_name(choice: object) -> str | None:
    """The name in the choice of one tool; None for other choices."""
    if isinstance(choice, NamedToolChoice):
        return choice.function.name
    return choice.custom.name if isinstance(choice, CustomToolChoice) else None
