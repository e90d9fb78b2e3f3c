"""The engine's exceptions.

EngineError
├── SchemaError             not a valid JSON Schema, or nothing satisfies it
├── UnsupportedSchemaError  valid, but cannot be enforced exactly
├── GrammarSyntaxError      regex, EBNF or JSON text is malformed
├── StructuralTagError      not a valid structural tag
└── LimitError              a limit of ``Limits`` was reached
"""

from __future__ import annotations


class EngineError(Exception):
    """Something the engine refused.

    Attributes:
        code: Name of the kind, such as ``"unsupported"``.
        message: One line for people.
        path: JSON pointer (RFC 6901) into the text that was given; "" is its root.
        offset: Byte offset into that text, 0 where it is not known.
    """

    def __init__(self, code: str, message: str, path: str = "", offset: int = 0) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.code = code
        self.message = message
        self.path = path
        self.offset = offset


class SchemaError(EngineError):
    """The schema is malformed or unsatisfiable."""


class UnsupportedSchemaError(EngineError):
    """The schema or tag says something that cannot be enforced exactly."""


class GrammarSyntaxError(EngineError):
    """A regular expression, EBNF or JSON text is malformed."""


class StructuralTagError(EngineError):
    """The structural tag is malformed."""


class LimitError(EngineError):
    """A limit was reached; nothing else was affected."""
