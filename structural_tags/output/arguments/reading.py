"""What a tool's schema says about the text of one argument: a string as it stands, JSON, or either.

Styles without labels write the string 3 and the number 3 alike. The schema decides, as it decided when the text was
written: where it allows no strings the text is JSON, where it allows nothing else the text is a string. Where it
allows both, JSON that the schema can mean is read as such, and all else as a string.

The types that a schema allows are found from its keywords; what cannot be told is taken to be allowed. Only
references into the same schema are followed, up to a depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Schema = Mapping[str, Any] | bool
"""A JSON Schema; only `true`, `false` and objects are schemas, anything else is taken for `true`."""

TYPES = frozenset(("string", "number", "boolean", "null", "array", "object"))
_DEEPEST = 32


class Kind(Enum):
    STRING = "string"
    JSON = "json"
    EITHER = "either"


@dataclass(frozen=True)
class Reading:
    """How to read one argument. `listed`: the values that the schema lists, None where it lists none."""

    kind: Kind
    types: frozenset[str] = TYPES
    listed: tuple[Any, ...] | None = None

    @property
    def whole(self) -> bool:
        """The text must be read as a whole before anything can be said."""
        return self.kind is Kind.EITHER or self.listed is not None

    def value(self, raw: str) -> str:
        """The JSON text that `raw` means."""
        if self.listed is not None:
            for candidate in _candidates(raw):
                if any(_same(candidate, value) for value in self.listed):
                    return json.dumps(candidate, ensure_ascii=False)
        if self.kind is not Kind.STRING:
            parsed = _parsed(raw)
            if parsed and (self.kind is Kind.JSON or type_of(parsed[0]) in self.types - {"string"}):
                return raw.strip()
        return json.dumps(raw, ensure_ascii=False)


def reading_of(schema: Schema, key: str, *, label: Kind | None = None) -> Reading:
    """The reading of argument `key` under a tool's schema. A label of the style decides between string and JSON."""
    types = _types_of_property(schema, key, schema, 0)
    listed = _listed(schema, key)
    if label is not None:
        return Reading(label, types, listed if label is Kind.STRING else None)
    if types == {"string"}:
        return Reading(Kind.STRING, types, listed)
    if "string" not in types:
        return Reading(Kind.JSON, types)
    return Reading(Kind.EITHER, types, listed)


def type_of(value: Any) -> str:
    """The name of a JSON value's type; integers are numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _candidates(raw: str) -> Iterator[Any]:
    yield raw
    yield raw.strip()
    yield from _parsed(raw)


def _parsed(raw: str) -> list[Any]:
    """The value that `raw` is as JSON, but a JSON string; or nothing."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return []
    return [] if isinstance(value, str) else [value]


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _same(one: Any, two: Any) -> bool:
    return type_of(one) == type_of(two) and bool(one == two)


def _resolved(schema: Schema, root: Schema, depth: int) -> Schema:
    """The schema that a local reference means; True when it cannot be told."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if reference is None:
        return schema
    if not isinstance(reference, str) or not reference.startswith("#") or depth > _DEEPEST:
        return True
    at: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, Mapping) and step in at:
            at = at[step]
        elif isinstance(at, list) and step.isdecimal() and int(step) < len(at):
            at = at[int(step)]
        else:
            return True
    return at if isinstance(at, Mapping | bool) else True


def _types(schema: Any, root: Schema, depth: int) -> frozenset[str]:
    """The types that values of the schema may have."""
    if schema is False:
        return frozenset()
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return TYPES
    types = _named_types(schema.get("type"))
    listed = schema.get("enum")
    if "const" in schema:
        listed = [schema["const"]]
    if isinstance(listed, list):
        types &= {type_of(value) for value in listed}
    if "$ref" in schema:
        types &= _types(_resolved(schema, root, depth), root, depth + 1)
    for part in _list(schema, "allOf"):
        types &= _types(part, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        parts = _list(schema, keyword)
        if parts:
            types &= frozenset().union(*(_types(part, root, depth + 1) for part in parts))
    return types


def _named_types(named: Any) -> frozenset[str]:
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list):
        return TYPES
    return frozenset("number" if name == "integer" else name for name in names if isinstance(name, str))


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    parts = schema.get(keyword)
    return parts if isinstance(parts, list) else []


def _property(schema: Mapping[str, Any], key: str) -> list[Any]:
    """The subschemas that the object schema itself has for `key`."""
    found = []
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        found.append(properties[key])
    patterns = schema.get("patternProperties")
    for pattern, subschema in patterns.items() if isinstance(patterns, Mapping) else ():
        if _matches(pattern, key):
            found.append(subschema)
    if not found and "additionalProperties" in schema:
        found.append(schema["additionalProperties"])
    return found


def _matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False


def _types_of_property(schema: Any, key: str, root: Schema, depth: int) -> frozenset[str]:
    """The types that the value of `key` may have in objects of the schema."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return TYPES
    types = TYPES
    for subschema in _property(schema, key):
        types &= _types(subschema, root, depth + 1)
    if "$ref" in schema:
        types &= _types_of_property(_resolved(schema, root, depth), key, root, depth + 1)
    for part in _list(schema, "allOf"):
        types &= _types_of_property(part, key, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        parts = _list(schema, keyword)
        if parts:
            types &= frozenset().union(*(_types_of_property(part, key, root, depth + 1) for part in parts))
    return types


def _listed(schema: Schema, key: str) -> tuple[Any, ...] | None:
    """The values of `key` that the schema lists in `enum` or `const`."""
    if not isinstance(schema, Mapping):
        return None
    found = _property(schema, key)
    values: list[Any] = []
    for subschema in found:
        values += _listed_in(subschema, schema, 0)
    return tuple(values) if values else None


def _listed_in(schema: Any, root: Schema, depth: int) -> list[Any]:
    schema = _resolved(schema, root, depth) if isinstance(schema, Mapping) else schema
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return []
    if "const" in schema:
        return [schema["const"]]
    values = list(_list(schema, "enum"))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in _list(schema, keyword):
            values += _listed_in(part, root, depth + 1)
    return values
