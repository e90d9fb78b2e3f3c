"""vLLM's extension of a chat request: a constraint on the answer, under either of its two spellings.

    {"structured_outputs": {"regex": "[0-9]+"}}         {"guided_regex": "[0-9]+"}

Source: vLLM 0.32.0, `StructuredOutputsParams` (`sampling_params.py`) and the checks of
`ChatCompletionRequest`; the `guided_*` fields are those of earlier releases, which that one ignores.
Of the options beside the constraint `disable_any_whitespace` is obeyed for JSON and void for other
constraints, as in vLLM; the rest are accepted only with the value that means "off".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from server.errors import refuse
from server.wire.base import Items, Wire
from server.wire.body import parse_text
from server.wire.structural_tag import StructuralTagFormat

Kind = Literal["json", "regex", "choice", "grammar", "json_object", "structural_tag"]

WHITE_SPACE_INSTEAD = '"x-guidance" in the schema can say it'
"""Backends disagree on where a pattern for white space must match, and on whether it must."""

_OPTIONS = {"disable_additional_properties": "", "whitespace_pattern": f"; {WHITE_SPACE_INSTEAD}"}


@dataclass(frozen=True)
class Constraint:
    """One constraint. `value` has the type of the field of its kind, `param` is the field's name."""

    kind: Kind
    value: Any
    param: str
    compact: bool = False
    """JSON without white space between its tokens."""


class StructuredOutputs(Wire):
    """Exactly one constraint; `constraints` says which are there."""

    json_: dict[str, Any] | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: Items[str] | None = Field(default=None, min_length=1)
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: StructuralTagFormat | None = None
    disable_any_whitespace: bool | None = None

    def constraints(self) -> list[Constraint]:
        fields: dict[Kind, Any] = {
            "json": self.json_,
            "regex": self.regex,
            "choice": self.choice,
            "grammar": self.grammar,
            "json_object": self.json_object,
            "structural_tag": self.structural_tag,
        }
        return constraints_in(fields, "structured_outputs.", compact=self.disable_any_whitespace is True)


def constraints_in(fields: Mapping[Kind, Any], prefix: str, *, compact: bool = False) -> list[Constraint]:
    """The fields that are there; each is called by its kind, with `prefix` before it."""
    return [Constraint(kind, value, prefix + kind, compact) for kind, value in fields.items() if value is not None]


def read_texts(body: dict[str, Any], *, max_depth: int) -> dict[str, Any]:
    """The body with what may be JSON or its text as JSON, and without options that are off.

    Raises:
        ApiError: 400 for a text that is no JSON, or an option that is on.
    """
    changed = dict(body)
    if isinstance(changed.get("guided_json"), str):
        changed["guided_json"] = _read(changed["guided_json"], "guided_json", max_depth)
    if isinstance(changed.get("structured_outputs"), dict):
        changed["structured_outputs"] = _read_fields(changed["structured_outputs"], max_depth)
    return changed


def _read_fields(fields: dict[str, Any], max_depth: int) -> dict[str, Any]:
    changed = dict(fields)
    for option, instead in _OPTIONS.items():
        value = changed.pop(option, None)
        if value is not None and value is not False:
            message = f"not supported by this server{instead}"
            refuse(f"structured_outputs.{option}", message, code="unsupported_parameter")
    for name in ("json", "structural_tag"):
        if isinstance(changed.get(name), str):
            changed[name] = _read(changed[name], f"structured_outputs.{name}", max_depth)
    tag = changed.get("structural_tag")
    if isinstance(tag, dict):
        changed["structural_tag"] = {"type": "structural_tag", **tag}
    return changed


def _read(text: str, param: str, max_depth: int) -> Any:
    try:
        return parse_text(text, max_depth=max_depth)
    except ValueError as error:
        refuse(param, f"is not valid JSON: {error}")
