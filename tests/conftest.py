"""What all tests share: where the repository and its prepared inputs are."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real tokenizers and schemas that lies next to the repository; skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no prepared inputs at {folder}")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that run side by side do so file by file; those with a real model, first and never beside each other."""

    def with_model(item: pytest.Item) -> bool:
        return item.path.parent == REPOSITORY / "tests" / "vllm"

    for item in items:
        item.add_marker(pytest.mark.xdist_group("vllm" if with_model(item) else str(item.path)))
    items.sort(key=with_model, reverse=True)
