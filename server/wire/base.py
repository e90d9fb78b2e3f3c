"""The base of everything that clients send."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, FailFast, PrivateAttr, Tag

T = TypeVar("T")


class _StopAtFirst(FailFast):
    """pydantic's marker, made hashable so that `Items[X] | None` can be written."""

    __hash__ = object.__hash__


Items = Annotated[list[T], _StopAtFirst()]
"""A list whose checking stops at the first wrong item: a body of a million wrong items must not become a
million error objects."""


def _text_or_array(value: Any) -> str:
    return "text" if isinstance(value, str) else "array"


TextOr = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[T], _StopAtFirst(), Tag("array")], Discriminator(_text_or_array)
]
"""A string, or a list like `Items`: decided first, so that a fault is told where it is."""


class Wire(BaseModel):
    """No coercion ("1" is no number), no unknown fields, no change after checking."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Body(Wire):
    """A whole request."""

    _unknown: tuple[str, ...] = PrivateAttr(default=())

    @property
    def unknown(self) -> tuple[str, ...]:
        """Fields that were left out because nobody knows them (`unknown_fields.validate`)."""
        return self._unknown


class Answer(BaseModel):
    """What clients get back. A key appears exactly when it was given."""

    model_config = ConfigDict(extra="forbid")

    def to_json(self) -> str:
        return self.model_dump_json(exclude_unset=True)
