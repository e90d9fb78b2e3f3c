"""The package exports the names of its contract, and nothing that it does not list."""

from __future__ import annotations

import engine_native

CONTRACT = {
    *("Vocabulary", "Compiler", "Grammar", "Matcher", "Limits"),
    *("EngineError", "SchemaError", "UnsupportedSchemaError", "GrammarSyntaxError", "StructuralTagError", "LimitError"),
    *("allocate_bitmask", "fill_bitmask_batch", "accept_token_batch", "apply_bitmask"),
}


def test_all_names_the_contract() -> None:
    assert set(engine_native.__all__) >= CONTRACT
    assert [name for name in engine_native.__all__ if not hasattr(engine_native, name)] == []


def test_errors_form_one_tree() -> None:
    for name in CONTRACT:
        if name.endswith("Error"):
            assert issubclass(getattr(engine_native, name), engine_native.EngineError)
