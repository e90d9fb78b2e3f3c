"""Whether a value satisfies a schema, as far as common keywords tell: for texts that can be read in two ways.

Not a validator: the grammar engine is. `fits` answers None where a keyword, or a reference out of the schema, is not
known here, and the caller decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

_DEEPEST = 32
_ANNOTATIONS = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema"),
        *("$id", "$defs", "definitions", "format", "contentEncoding", "contentMediaType"),
    )
)


_OF_ARRAYS = (
    "uniqueItems",
    "unevaluatedItems",
    "prefixItems",
    "items",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
)
_OF_OBJECTS = ("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties")


def type_of(value: Any) -> str:
    """The name of a JSON value's type; integers are numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float() | Decimal():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def same(one: Any, two: Any) -> bool:
    """Equal JSON values: 1 is 1.0, and neither is true."""
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return type_of(one) == type_of(two) and bool(one == two)


def resolved(schema: Any, root: Any) -> Any:
    """The schema that a local `$ref` means; None when it cannot be told."""
    reference = schema["$ref"]
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    at = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, Mapping) and step in at:
            at = at[step]
        elif isinstance(at, list) and step.isdecimal() and int(step) < len(at):
            at = at[int(step)]
        else:
            return None
    return at


def fits(value: Any, schema: Any, root: Any, depth: int = 0) -> bool | None:
    """Whether the value satisfies the schema; None when that cannot be told here. References point into `root`."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    answers = [_keyword(value, name, said, schema, root, depth) for name, said in schema.items()]
    return _all(answers)


def _all(answers: list[bool | None]) -> bool | None:
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


def _any(answers: list[bool | None]) -> bool | None:
    if any(answer is True for answer in answers):
        return True
    return None if any(answer is None for answer in answers) else False


def _keyword(value: Any, name: str, said: Any, schema: Mapping[str, Any], root: Any, depth: int) -> bool | None:
    if name in _ANNOTATIONS:
        return True
    try:
        if name in _OF_ANY:
            return _OF_ANY[name](value, said)
        if name in _OF_SIZE:
            kind, holds = _OF_SIZE[name]
            return type_of(value) != kind or holds(value, said)
        return _composed(value, name, said, schema, root, depth)
    except (TypeError, ValueError, ArithmeticError, re.error):
        return None


def _type(value: Any, said: Any) -> bool:
    names = [said] if isinstance(said, str) else said
    kind = type_of(value)
    return kind in names or (kind == "number" and "integer" in names and value == int(value))


def _multiple(value: Any, said: Any) -> bool:
    return Decimal(str(value)) % Decimal(str(said)) == 0


_OF_ANY: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": _type,
    "enum": lambda value, said: any(same(value, each) for each in said),
    "const": same,
}
_OF_SIZE: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("number", lambda value, said: value >= said),
    "maximum": ("number", lambda value, said: value <= said),
    "exclusiveMinimum": ("number", lambda value, said: value > said),
    "exclusiveMaximum": ("number", lambda value, said: value < said),
    "multipleOf": ("number", _multiple),
    "minLength": ("string", lambda value, said: len(value) >= said),
    "maxLength": ("string", lambda value, said: len(value) <= said),
    "pattern": ("string", lambda value, said: re.search(said, value) is not None),
    "minItems": ("array", lambda value, said: len(value) >= said),
    "maxItems": ("array", lambda value, said: len(value) <= said),
    "minProperties": ("object", lambda value, said: len(value) >= said),
    "maxProperties": ("object", lambda value, said: len(value) <= said),
    "required": ("object", lambda value, said: all(key in value for key in said)),
}


def _composed(value: Any, name: str, said: Any, schema: Mapping[str, Any], root: Any, depth: int) -> bool | None:
    """Keywords that hold schemas."""

    def inner(each: Any, part: Any) -> bool | None:
        return fits(each, part, root, depth + 1)

    match name:
        case "$ref":
            return inner(value, resolved(schema, root))
        case "allOf":
            return _all([inner(value, part) for part in said])
        case "anyOf":
            return _any([inner(value, part) for part in said])
        case "oneOf":
            answers = [inner(value, part) for part in said]
            return None if None in answers else answers.count(True) == 1
        case "not":
            answer = inner(value, said)
            return None if answer is None else not answer
        case _:
            parts = _inside(value, name, said, schema)
            return None if parts is None else _all([inner(each, part) for each, part in parts])


def _inside(value: Any, name: str, said: Any, schema: Mapping[str, Any]) -> list[tuple[Any, Any]] | None:
    """The values inside of `value` that the keyword speaks of, with their schemas; None for an unknown keyword."""
    if name == "items" and not isinstance(said, list) and "prefixItems" not in schema:
        return [(each, said) for each in value] if isinstance(value, list) else []
    if name == "properties":
        return [(value[key], part) for key, part in said.items() if key in value] if isinstance(value, dict) else []
    if name == "additionalProperties" and "patternProperties" not in schema:
        declared = schema.get("properties", {})
        return [(value[key], said) for key in value if key not in declared] if isinstance(value, dict) else []
    kind = "array" if name in _OF_ARRAYS else "object" if name in _OF_OBJECTS else type_of(value)
    return None if type_of(value) == kind else []
