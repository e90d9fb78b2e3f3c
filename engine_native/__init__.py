"""Grammar engine: which token may come next, exactly.

The names below are the public interface; everything else may change.
"""

from __future__ import annotations

from engine_native.engine import (
    Cancellation,
    Compiler,
    Grammar,
    Limits,
    Matcher,
    Vocabulary,
    accept_token_batch,
    allocate_bitmask,
    apply_bitmask,
    fill_bitmask_batch,
)
from engine_native.errors import (
    EngineError,
    GrammarSyntaxError,
    LimitError,
    SchemaError,
    StructuralTagError,
    UnsupportedSchemaError,
)

__all__ = [
    "Cancellation",
    "Compiler",
    "EngineError",
    "Grammar",
    "GrammarSyntaxError",
    "LimitError",
    "Limits",
    "Matcher",
    "SchemaError",
    "StructuralTagError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "accept_token_batch",
    "allocate_bitmask",
    "apply_bitmask",
    "fill_bitmask_batch",
]
