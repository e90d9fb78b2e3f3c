"""From a pydantic error to OpenAI's: which place in the request, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server.errors import ApiError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_TYPES = {
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be an array",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
}


def place(body: Any, loc: Sequence[int | str], *, of_key: bool = False) -> str:
    """The error's location in the form `tools[1].function.name`.

    Pydantic puts the names of union branches between the keys; see `path`. `of_key`: the last element is a key,
    whether it is there or missing.
    """
    written = ""
    for step in path(body, loc, of_key=of_key):
        written += f"[{step}]" if isinstance(step, int) else f".{step}" if written else step
    return written


def path(body: Any, loc: Sequence[int | str], *, of_key: bool = False) -> list[int | str]:
    """The same as keys and indices.

    Branches are told apart by walking the body along. The branch of a discriminated union is called like the object's
    `type` or `role`, and comes once, before any key of the object; of other branches there is no such key.
    """
    steps: list[int | str] = []
    here, branched = body, False
    for step, element in enumerate(loc):
        is_key = of_key and step == len(loc) - 1
        if isinstance(here, dict) and isinstance(element, str):
            if not branched and not is_key and _is_branch(here, loc[step : step + 2]):
                branched = True
            elif element in here or is_key:
                steps.append(element)
                here, branched = here.get(element), False
        elif isinstance(here, list) and isinstance(element, int):
            steps.append(element)
            here, branched = here[element] if element < len(here) else None, False
    return steps


def _is_branch(here: dict[Any, Any], ahead: Sequence[int | str]) -> bool:
    """Whether the next element, although it may be a key of `here`, is the name of a union's branch: it is the object's
    `type` or `role`; or its value has no inside, and what follows is a key beside it."""
    if ahead[0] in (here.get("type"), here.get("role")):
        return True
    value = here.get(ahead[0])
    return len(ahead) == 2 and value is not None and not isinstance(value, dict | list) and ahead[1] in here


def from_validation(error: ValidationError, body: Any) -> ApiError:
    """The first fault of the request as a 400."""
    detail = error.errors(include_url=False, include_input=False)[0]
    kind = detail["type"]
    param = place(body, detail["loc"], of_key=kind in ("missing", "extra_forbidden"))
    if kind.startswith("union_tag_"):
        field = detail.get("ctx", {}).get("discriminator", "'type'").strip("'")
        param = f"{param}.{field}" if param else field
    return ApiError(f"{param}: {_reason(detail)}", param=param or None, code=_code(kind))


def _reason(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "missing" or kind == "union_tag_not_found":
        return "is required"
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "union_tag_invalid":
        return f"must be one of {context['expected_tags']}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def _code(kind: str) -> str:
    if kind in ("missing", "union_tag_not_found"):
        return "missing_required_parameter"
    if kind == "extra_forbidden":
        return "unknown_parameter"
    return "invalid_type" if kind in _TYPES else "invalid_value"
