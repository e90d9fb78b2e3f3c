"""A structural tag as clients send it: the language's `format`, or the older `structures` with `triggers`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from server.errors import refuse
from server.wire.base import Items, Wire


class LegacyStructure(Wire):
    """One tag of the older structural-tag shape: `begin`, a JSON value that follows `schema`, `end`."""

    begin: str
    schema_: dict[str, Any] | bool = Field(default=True, alias="schema")
    end: str


class StructuralTagFormat(Wire):
    """Either `format` (a node of the structural-tag language) or `structures` with `triggers`."""

    type: Literal["structural_tag"]
    format: dict[str, Any] | None = None
    structures: Items[LegacyStructure] | None = None
    triggers: Items[str] | None = None


def check_structural_tag(tag: StructuralTagFormat, param: str) -> None:
    """ApiError (400) unless the tag has exactly one of its two shapes. `param` is where it stands."""
    if tag.format is not None:
        for other in ("structures", "triggers"):
            if getattr(tag, other) is not None:
                refuse(f"{param}.{other}", "is not allowed together with format")
    elif tag.structures is None and tag.triggers is None:
        refuse(f"{param}.format", "is required", code="missing_required_parameter")
    elif tag.structures is None or tag.triggers is None:
        absent = "structures" if tag.structures is None else "triggers"
        refuse(f"{param}.{absent}", "is required", code="missing_required_parameter")
