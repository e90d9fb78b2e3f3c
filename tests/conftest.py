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
    """Tests that run side by side do so file by file, and those with a real model never beside each other."""
    for item in items:
        folder = item.path.relative_to(REPOSITORY / "tests").parts[0]
        item.add_marker(pytest.mark.xdist_group("vllm" if folder == "vllm" else str(item.path)))
