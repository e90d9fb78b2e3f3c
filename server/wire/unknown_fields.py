"""Fields that the server does not know: named to the client, or refused.

A misspelt `temprature` changes nothing and should not pass in silence; an SDK's newest hint should not fail every
request. So unknown fields are left out and named, or, with `server.strict_fields`, are a 400 each. Where a constraint
or a choice of tools is described, or seems to be, nothing is ever left out: what was not read might be part of what was
wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from server.wire.base import Body
from server.wire.places import from_validation, path

B = TypeVar("B", bound=Body)

_LENIENT = frozenset(("messages", "input", "system", "tools", "stream_options"))
"""Objects at the top of a body in which unknown fields change no constraint."""

_SCHEMA_STEPS = frozenset(("format", "parameters"))
"""... but for these, which describe what a tool takes."""

_CONSTRAINTS = ("guided_", "structured_", "response_", "tool", "json_", "regex", "grammar")
"""How names begin that are likely to be misspelt constraints."""

_MOST = 32
"""Different unknown fields; more of them are a mistake of another kind."""


def validate(model: type[B], body: dict[str, Any], *, strict: bool, unknown: Sequence[str] = ()) -> B:
    """The checked body; its `unknown` names what was left out, after what was `unknown` before.

    Raises:
        ApiError: 400, the first fault.

    Cost: one more pass over the body for each different unknown field.
    """
    left_out: list[str] = []
    while True:
        try:
            request = model.model_validate(body)
        except ValidationError as error:
            removed = None if strict or len(left_out) >= _MOST else _without(body, error)
            if removed is None:
                raise from_validation(error, body) from error
            body, names = removed
            left_out.extend(names)
            continue
        request._unknown = (*unknown, *left_out)
        return request


def _without(body: dict[str, Any], error: ValidationError) -> tuple[dict[str, Any], list[str]] | None:
    """The body without the unknown fields of the error, each in all items of its lists; None if there are none that may
    be left out."""
    names: list[str] = []
    for detail in error.errors(include_url=False, include_input=False):
        if detail["type"] != "extra_forbidden":
            continue
        steps = path(body, detail["loc"], of_key=True)
        if not _may_be_left_out(steps):
            continue
        general = ["[]" if isinstance(step, int) else step for step in steps]
        body = _pruned(body, general)
        names.append(".".join(general).replace(".[]", "[]"))
    return (body, names) if names else None


def _may_be_left_out(steps: list[int | str]) -> bool:
    if len(steps) == 1:
        return not str(steps[0]).startswith(_CONSTRAINTS)
    return steps[0] in _LENIENT and _SCHEMA_STEPS.isdisjoint(steps)


def _pruned(value: Any, steps: list[str]) -> Any:
    """A copy without what `steps` lead to; "[]" leads to every item."""
    step, *rest = steps
    if step == "[]":
        return [_pruned(item, rest) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or step not in value:
        return value
    if not rest:
        return {key: item for key, item in value.items() if key != step}
    return {**value, step: _pruned(value[step], rest)}
